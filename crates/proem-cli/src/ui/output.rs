//! The one writer: what reaches a screen, a pipe or a log of a text.
//!
//! Everything that is printed goes through here once, as a whole, so that no command can forget it:
//! - a loaded secret is printed nowhere, in no form that [`SecretFinder`] knows;
//! - a credential that is told by its shape is on no terminal and not on standard error, but stays in
//!   what was asked for on a pipe or as JSON;
//! - a CI runner obeys no text in a report ([`show::safe_report`]) or in a document ([`show::report_json`]).
//!
//! Each printing call names its kind of text by a [`Printed`]. Only text that was requested literally stays literal.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use proem_guard::{credential, show};
use proem_llm::secret::SecretFinder;
use proem_text::json;

use crate::failure::CommandFailure;

/// The kind of a text on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Exactly what was asked for: a prompt, an answer, a text without its attacks.
    Exact,
    /// Words of ours about texts from outside, which somebody else renders.
    Report,
    /// A table or a list, coloured on a terminal.
    Listing,
    /// A document of JSON, or one on each line.
    Document,
}

/// Writes a text to standard output in full. Breaks off if nobody reads any more.
///
/// # Errors
///
/// If it can't be written.
pub(crate) fn write_to_stdout(printed: Printed, text: &str) -> Result<ControlFlow<()>, CommandFailure> {
    let plain = |text: &str| write_and_flush(&mut std::io::stdout().lock(), text.as_bytes());
    match printed {
        Printed::Exact => plain(&exact_output(text, Shapes::of_stdout())),
        Printed::Report => plain(&report_output(text, Shapes::of_stdout())),
        Printed::Listing => {
            write_and_flush(&mut anstream::stdout().lock(), report_output(text, Shapes::of_stdout()).as_bytes())
        }
        Printed::Document => {
            HAS_DOCUMENT.store(true, Ordering::Relaxed);
            plain(&document_output(text))
        }
    }
}

/// Whether a document of JSON was printed.
static HAS_DOCUMENT: AtomicBool = AtomicBool::new(false);

/// Whether this process printed a document of JSON: a second one would make the first unreadable.
pub(super) fn is_document_printed() -> bool {
    HAS_DOCUMENT.load(Ordering::Relaxed)
}

/// Writes bytes to standard output exactly as they are.
///
/// # Errors
///
/// If they hold a loaded credential, or can't be written.
pub(super) fn write_bytes_to_stdout(bytes: &[u8]) -> Result<(), CommandFailure> {
    if holds_credential(bytes) {
        return Err(CommandFailure::finding("they hold a credential of your configuration, which is printed nowhere"));
    }
    write_and_flush(&mut std::io::stdout().lock(), bytes).map(|_| ())
}

fn write_and_flush(out: &mut dyn Write, bytes: &[u8]) -> Result<ControlFlow<()>, CommandFailure> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        // The reader of the output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(CommandFailure::outside(format!("could not write the output: {error}"))),
    }
}

/// Whether credentials by shape may be in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shapes {
    /// A person, or a log, reads it.
    Cut,
    /// A program asked for it.
    Stay,
}

impl Shapes {
    /// The properties of standard output.
    fn of_stdout() -> Self {
        if std::io::stdout().is_terminal() { Self::Cut } else { Self::Stay }
    }
}

/// The requested text, as exact as it may be.
pub(super) fn exact_output(text: &str, shapes: Shapes) -> Cow<'_, str> {
    let known = redact_credentials(text, |finder| finder.redact_lines(text));
    match shapes {
        Shapes::Stay => known,
        Shapes::Cut => credential::redact_credentials(&known).map_or(known, Cow::Owned),
    }
}

/// A report, list or note.
pub(super) fn report_output(text: &str, shapes: Shapes) -> String {
    show::safe_report(&exact_output(text, shapes)).into_owned()
}

/// A document of JSON, or one on each line.
pub(crate) fn document_output(text: &str) -> String {
    let clean = redact_credentials(text, |finder| {
        let line = |line: &str| {
            let (json, end) = line.strip_suffix('\n').map_or((line, ""), |json| (json, "\n"));
            redacted_json(finder, json).unwrap_or_else(|| finder.redact_lines(json).unwrap_or_else(|| json.to_owned()))
                + end
        };
        let (whole, end) = text.strip_suffix('\n').map_or((text, ""), |whole| (whole, "\n"));
        let clean = redacted_json(finder, whole).map(|clean| clean + end);
        Some(clean.unwrap_or_else(|| text.split_inclusive('\n').map(line).collect()))
    });
    show::report_json(&clean).into_owned()
}

/// A value of JSON without loaded credentials, on as many lines as before. `None` if it is none.
fn redacted_json(finder: &SecretFinder<'_>, text: &str) -> Option<String> {
    let value = serde_json::from_str(text).ok()?;
    let clean = finder.redact_json(&value).unwrap_or(value);
    Some(if text.trim_end().contains('\n') { json::pretty(&clean) } else { json::compact(&clean) })
}

/// Whether a loaded credential is among these bytes.
fn holds_credential(bytes: &[u8]) -> bool {
    let loaded = proem_app::secrets::loaded_secrets();
    SecretFinder::new(&loaded).find(bytes).is_some()
}

/// The text without loaded credentials, which `redact` takes out if there are any.
fn redact_credentials<'t>(text: &'t str, redact: impl FnOnce(&SecretFinder<'_>) -> Option<String>) -> Cow<'t, str> {
    let loaded = proem_app::secrets::loaded_secrets();
    if loaded.is_empty() {
        return Cow::Borrowed(text);
    }
    let finder = SecretFinder::new(&loaded);
    finder.find(text.as_bytes()).and_then(|_| redact(&finder)).map_or(Cow::Borrowed(text), Cow::Owned)
}
