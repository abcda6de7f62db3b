//! What the language has: one entry for each form and function, read from the tables that run it.

use crate::{
    builtins::{self, Example},
    resolve::FORMS,
};
use alloc::{format, string::String};

/// A form or function with its documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Whether its arguments are all evaluated.
    pub kind: EntryKind,
    /// Its arguments: `?` marks one that may be missing, `&` those that may follow.
    pub signature: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Sources with the values that they give.
    pub examples: &'static [Example],
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A form, which decides itself what it evaluates.
    Form,
    /// A function, which is a value too.
    Function,
}

impl Entry {
    /// How it is written, such as `(get coll key default?)`.
    #[must_use]
    pub fn usage(&self) -> String {
        let space = if self.signature.is_empty() { "" } else { " " };
        format!("({}{space}{})", self.name, self.signature)
    }
}

/// All forms and then all functions, family by family.
pub fn entries() -> impl Iterator<Item = Entry> {
    let forms = FORMS.iter().map(|row| Entry {
        name: row.name,
        kind: EntryKind::Form,
        signature: row.signature,
        doc: row.doc,
        examples: row.examples,
    });
    let functions = builtins::rows().map(|(_, row)| Entry {
        name: row.name,
        kind: EntryKind::Function,
        signature: row.signature,
        doc: row.doc,
        examples: row.examples,
    });
    forms.chain(functions.filter(|entry| !entry.doc.is_empty()))
}

/// The entry of a name, also under the names that its namespace has in Clojure.
#[must_use]
pub fn entry(name: &str) -> Option<Entry> {
    let name = builtins::id_of(name).and_then(builtins::row).map_or(name, |row| row.name);
    entries().find(|entry| entry.name == name)
}
