//! The content of the language: one entry for each form and function, read from the tables that run it, and the text
//! about it for prompts.

mod prompt;

use crate::{
    builtins::{self, Example, FAMILIES, Row},
    resolve::{self, FORMS},
};
use alloc::{format, string::String, vec, vec::Vec};
pub use prompt::PromptReference;

/// A form or function with its documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// As programs write it.
    pub name: &'static str,
    /// Whether its arguments are all evaluated.
    pub kind: EntryKind,
    /// Its arguments: `?` marks one that may be missing, `&` those that may follow.
    pub signature: &'static str,
    /// Its description, in a sentence.
    pub doc: &'static str,
    /// Sources with the values that they give.
    pub examples: &'static [Example],
}

/// A form or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A form, which decides itself what it evaluates.
    Form,
    /// A function, which is a value too.
    Function,
}

/// Entries about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    /// The subject, such as "Regular expressions".
    pub title: &'static str,
    /// The entries, the most common first.
    pub entries: Vec<Entry>,
}

impl Entry {
    /// How it is written, such as `(get coll key default?)`.
    #[must_use]
    pub fn usage(&self) -> String {
        let space = if self.signature.is_empty() { "" } else { " " };
        format!("({}{space}{})", self.name, self.signature)
    }

    /// The entry of a row. `None` for a function that only our own rewriting calls.
    fn of_row(row: &Row) -> Option<Self> {
        let Row { name, signature, doc, examples, .. } = *row;
        (!doc.is_empty()).then_some(Self { name, kind: EntryKind::Function, signature, doc, examples })
    }
}

/// All forms and then all functions, by subject.
#[must_use]
pub fn chapters() -> Vec<Chapter> {
    let forms = FORMS.iter().map(|row| Entry {
        name: row.name,
        kind: EntryKind::Form,
        signature: row.signature,
        doc: row.doc,
        examples: row.examples,
    });
    let mut chapters = vec![Chapter { title: "Forms", entries: forms.collect() }];
    for (title, rows) in FAMILIES {
        let entries = rows.iter().filter_map(Entry::of_row);
        match chapters.last_mut().filter(|chapter| chapter.title == *title) {
            Some(chapter) => chapter.entries.extend(entries),
            None => chapters.push(Chapter { title, entries: entries.collect() }),
        }
    }
    chapters
}

/// The entries of all chapters.
pub fn entries() -> impl Iterator<Item = Entry> {
    chapters().into_iter().flat_map(|chapter| chapter.entries)
}

/// The entry of a name, also under the names that its namespace has in Clojure.
#[must_use]
pub fn entry(name: &str) -> Option<Entry> {
    let name = builtins::id_of(name).and_then(builtins::row).map_or(name, |row| row.name);
    entries().find(|entry| entry.name == name)
}

/// The entries whose name or description holds a word, whatever its case.
#[must_use]
pub fn entries_with(word: &str) -> Vec<Entry> {
    let word = word.to_lowercase();
    let holds = |text: &str| text.to_lowercase().contains(&word);
    entries().filter(|entry| holds(entry.name) || holds(entry.doc)).collect()
}

/// The documented name that needs the fewest changes, if these are few for its length.
#[must_use]
pub fn nearest_name(name: &str) -> Option<&'static str> {
    let names: Vec<&'static str> = entries().map(|entry| entry.name).collect();
    nearest_of(name, names.into_iter())
}

/// The one of these names that needs the fewest changes, if these are few for its length.
#[must_use]
pub fn nearest_of<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    resolve::nearest(name, names)
}

/// The replacement for a part of Clojure that this language doesn't have.
#[must_use]
pub fn alternative(name: &str) -> Option<&'static str> {
    resolve::missing_feature(name)
}
