//! The journal of a book: who decided what, when and why, one line each.
//!
//! The file is `journal.jsonl` beside `book.toml`. Lines are only appended, and git merges two journals line by line.
//! Each decision about a prompt's current version names the decisions that it followed. If two machines decided from
//! the same state, neither decision follows the other, which [`Journal::conflicts`] finds in any order of the lines.
//!
//! A journal is text from whoever wrote the book. It is a record for people, and nothing is permitted because of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proem_engine::run::Time;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_text::json;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::places::Places;
use crate::state_file::lock_folder;
use crate::trust::sha256_hex;
use crate::when::rfc3339;

/// The journal's name in a book.
pub const JOURNAL: &str = "journal.jsonl";
/// The attributes by which git merges two journals line by line.
const ATTRIBUTES: (&str, &str) = (".gitattributes", "journal.jsonl merge=union\n");
/// The lock that every writer of a journal holds, in the state folder.
const LOCK: &str = "journal.lock";
/// The largest journal that is read, in bytes: some 50,000 decisions.
const MAX_BYTES: usize = 16 << 20;
/// The hexadecimal digits by which a line names another.
const ID_DIGITS: usize = 16;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// When, by RFC 3339.
    pub at: String,
    /// The person who decided.
    pub by: String,
    /// The prompt, `agent/name`, or the setting that it is about.
    pub about: String,
    /// The person's choice.
    pub decision: JournalDecision,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// SHA-256 of the evidence that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The ids of the decisions about the same prompt's current version that it follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
}

/// A decision of a person about a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum JournalDecision {
    /// A version became the current one.
    Promoted {
        /// The version that was current before.
        from: String,
        /// The version that is current from then on.
        to: String,
        /// The change of `book.toml`.
        edit: ManifestEdit,
    },
    /// A promotion was taken back.
    Demoted {
        /// The version that was current before.
        from: String,
        /// The version that is current from then on.
        to: String,
    },
    /// A proposal was approved.
    Approved {
        /// Its id.
        proposal: String,
    },
    /// A proposal was rejected.
    Rejected {
        /// Its id.
        proposal: String,
    },
    /// An experiment was started.
    ExperimentStarted {
        /// Its name.
        experiment: String,
    },
    /// An experiment was stopped.
    ExperimentStopped {
        /// Its name.
        experiment: String,
    },
}

/// A change of `book.toml` that can be taken back to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestEdit {
    /// The byte at which the text changed.
    pub at: usize,
    /// The text that stood there.
    pub removed: String,
    /// The text that stands there instead.
    pub inserted: String,
    /// SHA-256 of the file before. `None` if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// SHA-256 of the file after.
    pub after: String,
}

/// A decision to append.
#[derive(Debug, Clone, Copy)]
pub struct NewDecision<'d> {
    /// When.
    pub at: Time,
    /// The person who decided.
    pub by: &'d str,
    /// The prompt, `agent/name`, or the setting that it is about.
    pub about: &'d str,
    /// The person's choice.
    pub decision: &'d JournalDecision,
    /// The person's reason.
    pub because: Option<&'d str>,
    /// SHA-256 of the evidence that the person saw.
    pub evidence: Option<&'d str>,
}

/// The lines of a journal.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Its lines in their order, each with its id. A line that a merge doubled is there once.
    pub entries: Vec<(String, JournalEntry)>,
    /// Lines that are not of this form, in words with their numbers.
    pub problems: Vec<String>,
}

/// Decisions about one prompt that were made from the same state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalConflict {
    /// `agent/name`.
    pub prompt: String,
    /// Each decision that no other follows, in words.
    pub decisions: Vec<String>,
}

impl JournalDecision {
    /// Whether it moved the current version of a prompt.
    #[must_use]
    pub const fn moves_current(&self) -> bool {
        matches!(self, Self::Promoted { .. } | Self::Demoted { .. })
    }
}

impl JournalEntry {
    /// The line in words, as it can be shown.
    #[must_use]
    pub fn in_words(&self) -> String {
        let shown = |text: &str| show::terminal_str(text).into_string();
        let about = shown(&self.about);
        let what = match &self.decision {
            JournalDecision::Promoted { from, to, .. } => format!("promoted {about} {} → {}", shown(from), shown(to)),
            JournalDecision::Demoted { from, to } => format!("demoted {about} {} → {}", shown(from), shown(to)),
            JournalDecision::Approved { proposal } => format!("approved proposal {} of {about}", shown(proposal)),
            JournalDecision::Rejected { proposal } => format!("rejected proposal {} of {about}", shown(proposal)),
            JournalDecision::ExperimentStarted { experiment } => {
                format!("started experiment {} of {about}", shown(experiment))
            }
            JournalDecision::ExperimentStopped { experiment } => {
                format!("stopped experiment {} of {about}", shown(experiment))
            }
        };
        let because = self.because.as_ref().map_or_else(String::new, |why| format!(": {}", shown(why)));
        format!("{} {} {what}{because}", shown(&self.at), shown(&self.by))
    }
}

impl Journal {
    /// Reads the lines of a journal.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut journal = Self::default();
        let mut seen = BTreeSet::new();
        for (line, number) in text.lines().zip(1_usize..) {
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str::<JournalEntry>(line) {
                Ok(entry) => {
                    let id = journal_line_id(line);
                    if seen.insert(id.clone()) {
                        journal.entries.push((id, entry));
                    }
                }
                Err(error) => journal.problems.push(format!(
                    "{JOURNAL}, line {number}: {}",
                    show::terminal_str(&error.to_string()).into_string()
                )),
            }
        }
        journal
    }

    /// Reads the journal of a book. A book without one has no decisions.
    ///
    /// # Errors
    ///
    /// If the file is there and can't be read, or is too large.
    pub fn load(book: &Path) -> Result<Self, Error> {
        Ok(Self::parse(&journal_text(book)?))
    }

    /// The decisions that moved a prompt's current version and that no other follows, in the order of the lines. More
    /// than one is a conflict.
    #[must_use]
    pub fn heads(&self, prompt: &str) -> Vec<&(String, JournalEntry)> {
        let moves = |entry: &JournalEntry| entry.about == prompt && entry.decision.moves_current();
        let of_prompt = self.entries.iter().filter(|(_, entry)| moves(entry));
        let followed: BTreeSet<&String> = of_prompt.clone().flat_map(|(_, entry)| &entry.follows).collect();
        of_prompt.filter(|(id, _)| !followed.contains(id)).collect()
    }

    /// The prompts about which two machines decided from the same state.
    #[must_use]
    pub fn conflicts(&self) -> Vec<JournalConflict> {
        let moves = || self.entries.iter().filter(|(_, entry)| entry.decision.moves_current());
        let mut followed: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
        for (_, entry) in moves() {
            followed.entry(&entry.about).or_default().extend(&entry.follows);
        }
        let mut heads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (id, entry) in moves() {
            let about = entry.about.as_str();
            if followed.get(about).is_none_or(|followed| !followed.contains(id)) {
                heads.entry(about).or_default().push(entry.in_words());
            }
        }
        let conflicts = heads.into_iter().filter(|(_, decisions)| decisions.len() > 1);
        conflicts.map(|(prompt, decisions)| JournalConflict { prompt: prompt.to_owned(), decisions }).collect()
    }

    /// Whether a proposal was approved or rejected.
    #[must_use]
    pub fn verdict(&self, id: &str) -> Option<&JournalEntry> {
        let entries = self.entries.iter().map(|(_, entry)| entry);
        entries.rev().find(|entry| match &entry.decision {
            JournalDecision::Approved { proposal } | JournalDecision::Rejected { proposal } => proposal == id,
            _ => false,
        })
    }
}

/// Appends a decision to the journal of a book, and makes the journal if this is the first one.
///
/// Of several processes that append at once, none loses another's line.
///
/// # Errors
///
/// If the journal can't be read or written.
pub fn append_decision(book: &Path, places: &Places, decision: &NewDecision<'_>) -> Result<JournalEntry, Error> {
    let _lock = lock_folder(&places.state, LOCK)?;
    make_book(book)?;
    let mut text = journal_text(book)?;
    if text.is_empty() && book.join(ATTRIBUTES.0).symlink_metadata().is_err() {
        files::write_new(book, Path::new(ATTRIBUTES.0), ATTRIBUTES.1.as_bytes(), FileAccess::Shared)?;
    }
    let follows = if decision.decision.moves_current() {
        let journal = Journal::parse(&text);
        journal.heads(decision.about).into_iter().map(|(id, _)| id.clone()).collect()
    } else {
        Vec::new()
    };
    let entry = JournalEntry {
        at: rfc3339(decision.at),
        by: decision.by.to_owned(),
        about: decision.about.to_owned(),
        decision: decision.decision.clone(),
        because: decision.because.map(str::to_owned),
        evidence: decision.evidence.map(str::to_owned),
        follows,
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let value = serde_json::to_value(&entry).map_err(|error| Error::bug(JOURNAL, error))?;
    text.push_str(&json::compact(&value));
    text.push('\n');
    files::replace_file(book, Path::new(JOURNAL), text.as_bytes(), FileAccess::Shared)?;
    Ok(entry)
}

/// Makes the folder of a book that has no file yet: its versions are those that ship.
///
/// # Errors
///
/// If it can't be made.
pub(super) fn make_book(book: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(book).map_err(|error| {
        Error::outside(format!("could not create `{}`: {error}", show::terminal_str(&book.display().to_string())))
    })
}

fn journal_text(book: &Path) -> Result<String, Error> {
    let shown = || show::terminal_str(&book.join(JOURNAL).display().to_string()).into_string();
    match files::read_beneath(book, Path::new(JOURNAL), MAX_BYTES)? {
        None => Ok(String::new()),
        Some(FileContent::Whole(bytes)) => {
            String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{}` is not UTF-8", shown())))
        }
        Some(FileContent::Cut(_)) => Err(Error::invalid(format!(
            "`{}` is larger than {MAX_BYTES} bytes; move its older lines to another file",
            shown()
        ))),
    }
}

/// The name by which a line is named in others.
fn journal_line_id(line: &str) -> String {
    sha256_hex(line.trim_end().as_bytes()).chars().take(ID_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promotion(from: &str, to: &str, follows: &[&str]) -> JournalEntry {
        let edit = ManifestEdit {
            at: 0,
            removed: String::new(),
            inserted: String::new(),
            before: None,
            after: "00".to_owned(),
        };
        JournalEntry {
            at: "2026-11-30T10:00:00Z".to_owned(),
            by: "ada".to_owned(),
            about: "reviews/triage".to_owned(),
            decision: JournalDecision::Promoted { from: from.to_owned(), to: to.to_owned(), edit },
            because: None,
            evidence: None,
            follows: follows.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn line(entry: &JournalEntry) -> String {
        json::compact(&serde_json::to_value(entry).unwrap())
    }

    #[test]
    fn two_decisions_from_the_same_state_are_a_conflict_in_any_order_of_the_lines() {
        let first = line(&promotion("1.0.0", "1.1.0", &[]));
        let here = line(&promotion("1.1.0", "1.2.0", &[&journal_line_id(&first)]));
        let there = line(&promotion("1.1.0", "1.3.0", &[&journal_line_id(&first)]));
        let conflicts = |lines: &[&String]| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            Journal::parse(&text).conflicts().len()
        };
        assert_eq!(conflicts(&[&first, &here]), 0);
        assert_eq!(conflicts(&[&first, &here, &there]), 1);
        assert_eq!(conflicts(&[&there, &here, &first]), 1);
        assert_eq!(conflicts(&[&first, &here, &here]), 0, "a merge that doubled a line is no conflict");
        let settled = line(&promotion("1.3.0", "1.2.0", &[&journal_line_id(&here), &journal_line_id(&there)]));
        assert_eq!(conflicts(&[&first, &here, &there, &settled]), 0, "a decision after both settles it");
    }

    #[test]
    fn a_line_of_another_form_is_a_problem_and_hides_no_other() {
        let first = line(&promotion("1.0.0", "1.1.0", &[]));
        let journal = Journal::parse(&format!("{first}\n<<<<<<< HEAD\n\n{{\"at\":1}}\n"));
        assert_eq!(journal.entries.len(), 1);
        assert_eq!(journal.problems.len(), 2, "{:?}", journal.problems);
        assert!(journal.problems[0].starts_with("journal.jsonl, line 2: "), "{:?}", journal.problems);
    }

    #[test]
    fn words_of_a_journal_reach_a_screen_without_controls() {
        let mut entry = promotion("1.0.0", "1.1.0\u{1b}[2J", &[]);
        entry.because = Some("fine\n2026 ada promoted".to_owned());
        let words = entry.in_words();
        assert!(!words.contains(['\u{1b}', '\n']), "{words:?}");
    }
}
