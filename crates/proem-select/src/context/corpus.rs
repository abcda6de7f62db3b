//! The corpus to rank: the files of a repository, and the commits that touched them.

use core::fmt;
use std::collections::BTreeSet;

use super::record::FileRecord;
use super::words::{Term, WordForm, each_word};
use crate::embedding::Embedder;

/// Code, test, document or configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePurpose {
    /// Code that runs in production.
    Code,
    /// Tests, and what they need.
    Test,
    /// Text for people.
    Documentation,
    /// Configuration and manifests.
    Configuration,
    /// Made by a program, or somebody else's.
    Foreign,
}

/// One file as the corpus knows it.
#[derive(Debug, Clone, Copy)]
pub struct CorpusFile<'c> {
    /// Its path from the root, lossy where it isn't UTF-8.
    pub path: &'c str,
    /// Its purpose.
    pub used_for: FilePurpose,
    /// Its record. `None` if it was not read.
    pub record: Option<&'c FileRecord>,
    /// Whether the work tree differs from the last commit there.
    pub changed: bool,
}

/// One commit as the corpus knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusCommit<'c> {
    /// The first line of its message.
    pub subject: &'c str,
    /// The words of its subject, sorted and distinct.
    pub terms: Vec<Term>,
    /// The files that it touched and that are still there, by their places in [`Corpus::files`].
    pub files: Vec<u32>,
    /// Whether whoever asks wrote it.
    pub is_own: bool,
}

/// A commit touches as many files at most to say something of them. A wider one is a clean-up.
pub const MOST_TOUCHED: usize = 40;

/// Files and commits.
#[derive(Debug, Clone, Default)]
pub struct Corpus<'c> {
    /// The files, sorted by path.
    pub files: Vec<CorpusFile<'c>>,
    /// The commits, newest first, none of them wider than [`MOST_TOUCHED`].
    pub commits: Vec<CorpusCommit<'c>>,
    /// The model for the closeness of the task and a commit's subject in meaning, if there is one. Weights were learned
    /// with the one that ships with Proem.
    pub meaning: Option<SubjectModel<'c>>,
}

/// The place that a word must have for a repository to have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPlace {
    /// In the code or the path of a file of code. Comments and texts are left out, for the texts of a program may have been
    /// translated into many languages.
    Code,
    /// In any file, or in its path.
    Anywhere,
}

impl Corpus<'_> {
    /// Those of some words, sorted by number, that the files have.
    pub(super) fn words_among(&self, terms: &[Term], place: WordPlace) -> BTreeSet<Term> {
        let mut found = BTreeSet::new();
        let is_anywhere = place == WordPlace::Anywhere;
        for file in self.files.iter().filter(|file| is_anywhere || file.used_for == FilePurpose::Code) {
            let count = |term: &Term| file.record.and_then(|record| record.count(*term));
            let has = |term: &&Term| count(term).is_some_and(|count| is_anywhere || count.code > 0);
            found.extend(terms.iter().filter(has).copied());
            each_word(file.path.as_bytes(), &mut |term, _| {
                found.extend(terms.binary_search(&term).is_ok().then_some(term));
            });
        }
        found
    }
}

/// A model that says how near texts are in meaning.
#[derive(Clone, Copy)]
pub struct SubjectModel<'c>(pub &'c (dyn Embedder + Sync));

impl fmt::Debug for SubjectModel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SubjectModel").field(self.0.model()).finish()
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct PathWords {
    /// The words of folders and name, sorted and distinct.
    pub(super) all: Vec<Term>,
    /// The words of the name without its ending, sorted and distinct.
    pub(super) name: Vec<Term>,
    /// The words of folders and file, its ending as well, in their order.
    pub(super) ordered: Vec<Term>,
    /// The name without its ending, and without what marks it as a test: what a test and its subject share.
    pub(super) subject: Option<Term>,
}

impl PathWords {
    pub(super) fn new(path: &str) -> Self {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = file.split_once('.').map_or(file, |(stem, _)| if stem.is_empty() { file } else { stem });
        let ending = file.get(stem.len()..).unwrap_or_default();
        let (mut all, mut name, mut ordered) = (Vec::new(), Vec::new(), Vec::new());
        for (text, is_name, is_counted) in [(folder, false, true), (stem, true, true), (ending, false, false)] {
            each_word(text.as_bytes(), &mut |term, form| {
                ordered.extend((form == WordForm::Part).then_some(term));
                all.extend(is_counted.then_some(term));
                name.extend(is_name.then_some(term));
            });
        }
        for terms in [&mut all, &mut name] {
            terms.sort_unstable();
            terms.dedup();
        }
        Self { all, name, ordered, subject: subject_of(stem) }
    }
}

/// The words of a text in their order, and names by their parts alone.
pub(super) fn name_parts(text: &str) -> Vec<Term> {
    let mut parts = Vec::new();
    each_word(text.as_bytes(), &mut |term, form| parts.extend((form == WordForm::Part).then_some(term)));
    parts
}

/// The subject of a name, without `test` and its like.
fn subject_of(stem: &str) -> Option<Term> {
    let lower = stem.to_ascii_lowercase();
    let mut bare = lower.as_str();
    for mark in ["test_", "tests_", "spec_"] {
        bare = bare.strip_prefix(mark).unwrap_or(bare);
    }
    for mark in ["_tests", "_test", "_spec", "-test", "-spec", "tests", "testcase", "test", "spec"] {
        bare = bare.strip_suffix(mark).filter(|rest| !rest.is_empty()).unwrap_or(bare);
    }
    let mut joined = Vec::new();
    each_word(bare.as_bytes(), &mut |term, form| joined.push((term, form)));
    let whole = joined.iter().find(|(_, form)| *form == WordForm::Whole).or_else(|| joined.first());
    whole.map(|(term, _)| *term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_and_its_subject_share_a_name() {
        let subject = |path: &str| PathWords::new(path).subject;
        assert_eq!(subject("src/printer.rs"), subject("tests/test_printer.py"));
        assert_eq!(subject("a/error_handler.go"), subject("a/error_handler_test.go"));
        assert_eq!(subject("a/Widget.java"), subject("b/WidgetTest.java"));
        assert_ne!(subject("a/Widget.java"), subject("b/GadgetTest.java"));
    }
}
