//! The one sink of notes and of the published document that carries them.
//!
//! A note is printed when it comes, unless `--quiet` hides it. A document of JSON with a published schema is held until
//! the command ends, so that it has the notes that come after the result, too. Both have them in the same order.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proem_app::{Note, NoteKind, WithNotes};
use proem_text::json;
use serde_json::{Value as Json, json};

use super::output::{Printed, Shapes, exact_output, is_document_printed, write_to_stdout};
use super::{CYAN, aside, style_text, terminal_safe};
use crate::failure::CommandFailure;
use crate::hints;

/// The member of a published document that has the notes.
pub(crate) const NOTES: &str = "notes";
/// The most notes in a document: a command that runs for days keeps no more of them. Standard error has all.
const MAX_KEPT: usize = 200;

static SINK: Mutex<NoteSink> =
    Mutex::new(NoteSink { visibility: NoteVisibility::Shown, kept: Vec::new(), more: 0, document: None });

/// Whether notes are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteVisibility {
    Shown,
    /// None but those on privacy: each is said once for each server, so that a hidden one would never be seen.
    Hidden,
}

/// A document of JSON whose schema is published.
#[derive(Debug)]
pub(crate) enum PublishedDocument {
    /// Printed with indentation.
    Pretty(Json),
    /// Printed on one line: the members as JSON, since numbers of programs are larger than [`Json`] holds.
    Line(BTreeMap<String, String>),
}

#[derive(Debug)]
struct NoteSink {
    visibility: NoteVisibility,
    /// The notes of a document, at most [`MAX_KEPT`].
    kept: Vec<Json>,
    /// The number of notes after those.
    more: u64,
    document: Option<PublishedDocument>,
}

fn sink() -> MutexGuard<'static, NoteSink> {
    SINK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets, before any note comes, whether notes are printed.
pub(crate) fn set_note_visibility(visibility: NoteVisibility) {
    sink().visibility = visibility;
}

/// One line of a command about its own result.
pub(crate) fn print_note(text: &str) {
    print_notes(&[Note::new(NoteKind::Command, text)]);
}

/// One line about the moment, such as a wait.
pub(crate) fn print_progress_note(text: &str) {
    print_notes(&[Note::new(NoteKind::Progress, text)]);
}

/// Prints the notes beside a result, a line each.
pub(crate) fn print_notes<'n>(notes: impl IntoIterator<Item = &'n Note>) {
    for note in notes {
        sink().take(note);
    }
}

/// Says what there is to say beside a result, and hands it over.
pub(crate) fn print_notes_of<T>(noted: WithNotes<T>) -> T {
    print_notes(&noted.notes);
    noted.value
}

/// Holds the document until the command ends. One that is held already is printed with the notes that it has.
///
/// # Errors
///
/// If that one can't be written.
pub(crate) fn print_published_document(document: PublishedDocument) -> Result<(), CommandFailure> {
    let earlier = sink().document.replace(document);
    earlier.map_or(Ok(()), |earlier| write_document(earlier, sink().document_notes()))
}

/// Whether this process printed a document of JSON, or holds one.
pub(crate) fn has_printed_document() -> bool {
    is_document_printed() || sink().document.is_some()
}

/// Prints the document that is held, if there is one.
///
/// # Errors
///
/// If it can't be written.
pub(crate) fn finish_document() -> Result<(), CommandFailure> {
    let (document, notes) = {
        let mut sink = sink();
        (sink.document.take(), sink.document_notes())
    };
    document.map_or(Ok(()), |document| write_document(document, notes))
}

fn write_document(document: PublishedDocument, notes: Vec<Json>) -> Result<(), CommandFailure> {
    let text = document_text(document, notes);
    write_to_stdout(Printed::Document, &format!("{text}\n")).map(|_| ())
}

/// The document with its notes. Without any it has no such member, and a list of its own keeps the name.
fn document_text(document: PublishedDocument, notes: Vec<Json>) -> String {
    match document {
        PublishedDocument::Pretty(mut value) => {
            if let Some(members) = value.as_object_mut().filter(|_| !notes.is_empty()) {
                members.entry(NOTES).or_insert(Json::Array(notes));
            }
            json::pretty(&value)
        }
        PublishedDocument::Line(mut members) => {
            if !notes.is_empty() {
                members.entry(NOTES.to_owned()).or_insert_with(|| json::compact(&Json::Array(notes)));
            }
            let members = members.iter().map(|(name, value)| format!("{}:{value}", json::quote_json(name)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
    }
}

impl PublishedDocument {
    /// An object that is printed on one line.
    pub(crate) fn line_of(value: &Json) -> Self {
        let members = value.as_object().into_iter().flatten();
        Self::Line(members.map(|(name, member)| (name.clone(), json::compact(member))).collect())
    }
}

impl NoteSink {
    /// Prints a note as `--quiet` says, and keeps it for a document. The lock is held, so that both have one order.
    fn take(&mut self, note: &Note) {
        let line = terminal_safe(&hints::of_note(note));
        if self.visibility == NoteVisibility::Shown || note.kind == NoteKind::Privacy {
            aside(&match note.kind {
                NoteKind::Learned => format!("{}\n", hints::of_note(note)),
                _ => format!("{} {line}\n", style_text(CYAN, "note:")),
            });
        }
        self.keep(note.kind, &line);
    }

    fn keep(&mut self, kind: NoteKind, line: &str) {
        if kind == NoteKind::Progress {
            return;
        }
        if self.kept.len() == MAX_KEPT {
            self.more = self.more.saturating_add(1);
            return;
        }
        // A name in a note is nobody's requested data, so a credential by its shape goes, as it does on a screen.
        self.kept.push(json!({ "kind": kind.as_str(), "words": exact_output(line, Shapes::Cut) }));
    }

    fn document_notes(&self) -> Vec<Json> {
        let more = (self.more > 0).then(|| {
            let words = format!("{} more notes are on standard error", self.more);
            json!({ "kind": NoteKind::Command.as_str(), "words": words })
        });
        self.kept.iter().cloned().chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink_with(notes: &[(NoteKind, &str)]) -> NoteSink {
        let mut sink = NoteSink { visibility: NoteVisibility::Hidden, kept: Vec::new(), more: 0, document: None };
        notes.iter().for_each(|(kind, line)| sink.keep(*kind, line));
        sink
    }

    #[test]
    fn a_document_has_its_notes_in_the_order_in_which_they_came() {
        let sink = sink_with(&[(NoteKind::Records, "b"), (NoteKind::Command, "a"), (NoteKind::Records, "b")]);
        let text = document_text(PublishedDocument::line_of(&json!({ "z": 1, "a": 2 })), sink.document_notes());
        let notes = r#"[{"kind":"records","words":"b"},{"kind":"command","words":"a"},{"kind":"records","words":"b"}]"#;
        assert_eq!(text, format!(r#"{{"a":2,"notes":{notes},"z":1}}"#));
    }

    #[test]
    fn a_document_without_notes_has_no_such_member() {
        let sink = sink_with(&[(NoteKind::Progress, "waiting 3 s, as the server asked")]);
        let line = document_text(PublishedDocument::line_of(&json!({ "a": 1 })), sink.document_notes());
        assert_eq!(line, r#"{"a":1}"#);
        let pretty = document_text(PublishedDocument::Pretty(json!({ "a": 1 })), sink.document_notes());
        assert_eq!(pretty, "{\n  \"a\": 1\n}");
    }

    #[test]
    fn a_flood_of_notes_is_counted() {
        let flood = vec![(NoteKind::Command, "x"); MAX_KEPT + 7];
        let notes = sink_with(&flood).document_notes();
        assert_eq!(notes.len(), MAX_KEPT + 1);
        assert_eq!(notes.last().unwrap()["words"], "7 more notes are on standard error");
    }

    #[test]
    fn a_credential_in_a_name_is_in_no_document() {
        let key = format!("sk-ant-api03-{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY".repeat(3));
        let notes = sink_with(&[(NoteKind::Configuration, &format!("`{key}` is ignored"))]).document_notes();
        assert!(!json::compact(&Json::Array(notes)).contains(&key));
    }

    #[test]
    fn a_list_of_the_document_keeps_its_name() {
        let own = json!({ "notes": ["its own"] });
        let sink = sink_with(&[(NoteKind::Command, "x")]);
        let text = document_text(PublishedDocument::line_of(&own), sink.document_notes());
        assert_eq!(text, r#"{"notes":["its own"]}"#);
    }
}
