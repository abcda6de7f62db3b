//! What reaches a screen, a pipe or a log of a text.
//!
//! Everything that is printed goes through here once, as a whole, so that no command can forget it:
//! - a loaded secret is printed nowhere, in no form that [`SecretFinder`] knows;
//! - a credential that is told by its shape is on no terminal and not on standard error, but stays in
//!   what was asked for on a pipe or as JSON;
//! - a CI runner obeys no text in a report ([`show::report`]).

use std::borrow::Cow;
use std::io::IsTerminal as _;

use proem_guard::{credential, show};
use proem_llm::secret::SecretFinder;
use proem_text::json;

/// Whether credentials by shape may stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shapes {
    /// A person, or a log, reads it.
    Cut,
    /// A program asked for it.
    Stay,
}

impl Shapes {
    /// What holds for standard output.
    pub(super) fn of_stdout() -> Self {
        if std::io::stdout().is_terminal() { Self::Cut } else { Self::Stay }
    }
}

/// What was asked for, as exact as it may be.
pub(super) fn exact(text: &str, shapes: Shapes) -> Cow<'_, str> {
    let known = without(text, |finder| finder.redact_lines(text));
    match shapes {
        Shapes::Stay => known,
        Shapes::Cut => credential::redact(&known).map_or(known, Cow::Owned),
    }
}

/// A report, list or note.
pub(crate) fn report(text: &str, shapes: Shapes) -> String {
    show::report(&exact(text, shapes)).into_owned()
}

/// A report on standard output.
pub(crate) fn report_on_stdout(text: &str) -> String {
    report(text, Shapes::of_stdout())
}

/// A document of JSON, or one on each line.
pub(crate) fn document(text: &str) -> String {
    let clean = without(text, |finder| {
        let line = |line: &str| {
            let (json, end) = line.strip_suffix('\n').map_or((line, ""), |json| (json, "\n"));
            value(finder, json).unwrap_or_else(|| finder.redact_lines(json).unwrap_or_else(|| json.to_owned())) + end
        };
        Some(value(finder, text).unwrap_or_else(|| text.split_inclusive('\n').map(line).collect()))
    });
    show::report_json(&clean).into_owned()
}

/// A value of JSON without loaded credentials, on as many lines as before; `None` if it is none.
fn value(finder: &SecretFinder<'_>, text: &str) -> Option<String> {
    let value = serde_json::from_str(text).ok()?;
    let clean = finder.redact_json(&value).unwrap_or(value);
    Some(if text.trim_end().contains('\n') { json::pretty(&clean) } else { json::compact(&clean) })
}

/// Whether a loaded credential is among these bytes.
pub(super) fn holds_credential(bytes: &[u8]) -> bool {
    let loaded = proem_app::secrets::loaded();
    SecretFinder::new(&loaded).find(bytes).is_some()
}

/// The text without loaded credentials, which `redact` takes out if there are any.
fn without<'t>(text: &'t str, redact: impl FnOnce(&SecretFinder<'_>) -> Option<String>) -> Cow<'t, str> {
    let loaded = proem_app::secrets::loaded();
    if loaded.is_empty() {
        return Cow::Borrowed(text);
    }
    let finder = SecretFinder::new(&loaded);
    finder.find(text.as_bytes()).and_then(|_| redact(&finder)).map_or(Cow::Borrowed(text), Cow::Owned)
}
