//! Named places at which a test can stop the process or make a write fail.
//!
//! Without the feature `failpoints` every place is empty and costs nothing.

use crate::error::Error;

/// The places, in the order in which a call passes them.
pub const NAMES: [&str; 8] = [
    "before-intent",
    "after-intent",
    "before-call",
    "after-call",
    "before-settlement",
    "after-settlement",
    "before-finish",
    "after-finish",
];

/// What is written about effects and has a place before and after it, in the order in which an action that a person
/// approves passes them; between the last two lies the effect.
pub const EFFECTS: [&str; 6] = ["proposal", "require-approval", "approve", "epoch", "take-up", "sent"];

/// The place of an upgrade to a newer form, between its statements and their commit.
pub const UPGRADE: &str = "during-upgrade";

/// Passes a place: stops the process there (as `kill -9` would) if `PROEM_FAILPOINT` names it.
#[cfg(feature = "failpoints")]
pub fn pass(name: &str) {
    if std::env::var("PROEM_FAILPOINT").is_ok_and(|wanted| wanted == name) {
        std::process::abort();
    }
}

/// Passes a place.
#[cfg(not(feature = "failpoints"))]
pub const fn pass(name: &str) {
    _ = name;
}

/// Passes the place before or after what is written of that name, such as `before-take-up`.
#[cfg(feature = "failpoints")]
pub(crate) fn beside(side: &str, what: &str) {
    pass(&format!("{side}-{what}"));
}

/// Passes a place.
#[cfg(not(feature = "failpoints"))]
pub(crate) const fn beside(side: &str, what: &str) {
    _ = (side, what);
}

/// Fails if `PROEM_FAILPOINT` is `fail:` and this name: `intent`, `settle`, `pause`, `finish`, or any
/// other write's.
#[cfg(feature = "failpoints")]
pub(crate) fn write(name: &str, path: &std::path::Path) -> Result<(), Error> {
    let wanted = std::env::var("PROEM_FAILPOINT").ok();
    if wanted.as_deref().and_then(|wanted| wanted.strip_prefix("fail:")) == Some(name) {
        let why = format!("failpoint `{name}`");
        return Err(crate::error::Unusable::Unwritable { path: path.to_owned(), why }.into());
    }
    Ok(())
}

/// Never fails.
#[cfg(not(feature = "failpoints"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
pub(crate) const fn write(name: &str, path: &std::path::Path) -> Result<(), Error> {
    _ = (name, path);
    Ok(())
}
