//! Named places at which a test can stop the process, hold it up or make a write fail, and a clock that a test sets.
//!
//! Without the feature `failpoints` every place is empty and costs nothing, and the clock is the system's.

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

/// The writes about effects that have a failpoint before and after them, in the order of an action that a person
/// approves. The effect itself is between the last two.
pub const EFFECTS: [&str; 6] = ["proposal", "require-approval", "approve", "epoch", "take-up", "sent"];

/// The places of a performer around and within an effect, in the order in which it passes them: when the bytes are
/// recorded, the witness has the intent and the moment was looked at. When a new file, such as an outbox's, has its
/// bytes and not its name yet, and when it has both before its folder is saved. When a mail server has said 354, and
/// when it has answered. When the witness does not have what became of it, and when the records don't.
pub const SWEEP: [&str; 8] = [
    "intent-witnessed",
    "before-effect",
    "new-file-written",
    "new-file-linked",
    "before-mail",
    "after-mail",
    "after-effect",
    "outcome-witnessed",
];

/// The places around a call of a tool, in the order in which one that may change something passes them.
pub const TOOLS: [&str; 6] = [
    "before-tool-intent",
    "after-tool-intent",
    "before-tool",
    "after-tool",
    "before-tool-outcome",
    "after-tool-outcome",
];

/// The place of an upgrade to a newer form, between its statements and their commit.
pub const UPGRADE: &str = "during-upgrade";

/// Passes a place: stops the process there (as `kill -9` would) if `PROEM_FAILPOINT` names it, the third time for
/// `NAME#3`, and waits there if it is
/// `wait:` and the name: the file that `PROEM_FAILPOINT_FILE` names is made, and its end is waited for.
#[cfg(feature = "failpoints")]
pub fn pass(name: &str) {
    let Ok(wanted) = std::env::var("PROEM_FAILPOINT") else { return };
    static PASSED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let (place, time) = wanted.split_once('#').unwrap_or((wanted.as_str(), "1"));
    if place == name {
        let passed = PASSED.fetch_add(1, std::sync::atomic::Ordering::SeqCst).saturating_add(1);
        if passed.to_string() == time {
            std::process::abort();
        }
    }
    if wanted.strip_prefix("wait:") == Some(name)
        && let Some(file) = std::env::var_os("PROEM_FAILPOINT_FILE")
    {
        // A test that can't make it hears nothing of this process and says so.
        _ = crate::file::open_plain_file(std::path::Path::new(&file), crate::file::OpenMode::New);
        while std::path::Path::new(&file).exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
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

/// The name of a new file, such as an outbox's, for [`full`]. Any other is a transition's.
pub const NEW_FILE: &str = "new-file";

/// Fails as a full disk does if `PROEM_FAILPOINT` is `full:` and a list of names with commas that has this one.
///
/// # Errors
///
/// `ENOSPC`, if so.
#[cfg(feature = "failpoints")]
pub fn full(name: &str) -> std::io::Result<()> {
    let wanted = std::env::var("PROEM_FAILPOINT").unwrap_or_default();
    let is_full = wanted.strip_prefix("full:").is_some_and(|names| names.split(',').any(|one| one == name));
    if is_full { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

/// Never fails.
///
/// # Errors
///
/// None.
#[cfg(not(feature = "failpoints"))]
pub const fn full(name: &str) -> std::io::Result<()> {
    _ = name;
    Ok(())
}

/// The id of this machine: `PROEM_MACHINE` if that is set, and `system` otherwise.
#[cfg(feature = "failpoints")]
pub(crate) fn machine(system: String) -> String {
    std::env::var("PROEM_MACHINE").unwrap_or(system)
}

/// The id of this machine: `system`.
#[cfg(not(feature = "failpoints"))]
pub(crate) const fn machine(system: String) -> String {
    system
}

/// The time in milliseconds since 1970: `PROEM_CLOCK` if that is a number, and `system` otherwise.
#[cfg(feature = "failpoints")]
#[must_use]
pub fn clock(system: i64) -> i64 {
    std::env::var("PROEM_CLOCK").ok().and_then(|set| set.parse().ok()).unwrap_or(system)
}

/// The time in milliseconds since 1970: `system`.
#[cfg(not(feature = "failpoints"))]
#[must_use]
pub const fn clock(system: i64) -> i64 {
    system
}
