//! Finds the callers and importers that a deletion, a rename or another signature breaks.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{Advice, Raw, Search, command_word, counted_noun, sentence_with_names};
use crate::change::{Change, ChangedFile, FileStatus};
use crate::graph::EdgeKind;
use crate::metric::{Sentence, SentencePart};
use crate::patch::{FilePatch, Hunk};
use crate::path::{FileRole, RepoPath};
use crate::signal::SignalName;
use crate::tree::{FileTree, Imports};

/// From how many importers on a deletion or rename is worth a word though all of them change along.
const MANY: usize = 5;
/// The shortest name of a function that is looked for: a shorter one stands everywhere.
const SHORTEST: usize = 4;
/// The most functions of a change that are looked for.
const FUNCTIONS: usize = 8;

/// A function whose signature a change replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFunction {
    /// Its file, by its place in the change.
    pub file: u32,
    /// Its name. From outside.
    pub name: String,
    /// The line of the new signature.
    pub line: u32,
}

/// One with the files that call it at the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledFunction {
    /// Which.
    pub function: ChangedFunction,
    /// The files that have its name.
    pub callers: Vec<RepoPath>,
}

pub(super) fn importer_findings(search: Search<'_>) -> Vec<Raw> {
    let Some(base) = search.facts.finding.base else { return Vec::new() };
    let numbered = || (0_u32..).zip(&search.facts.change.files);
    let gone = numbered().filter(|(_, file)| matches!(file.status, FileStatus::Deleted | FileStatus::Renamed));
    let mut found: Vec<Raw> = gone.filter_map(|(index, file)| moved_or_gone(search, base, (index, file))).collect();
    found.extend(search.facts.finding.called.iter().filter_map(|called| other_signature(search, base, called)));
    found
}

fn moved_or_gone(search: Search<'_>, base: &FileTree, (index, file): (u32, &ChangedFile)) -> Option<Raw> {
    if !matches!(file.class.role, FileRole::Code | FileRole::Configuration) {
        return None;
    }
    let importers = importers_of(base, file.base_path())?;
    let broken: Vec<String> =
        importers.iter().filter(|path| is_broken(search, base, path)).map(RepoPath::to_text).collect();
    if broken.is_empty() && importers.len() < MANY {
        return None;
    }
    let names: Vec<String> = importers.iter().map(RepoPath::to_text).collect();
    let done = if file.status == FileStatus::Deleted { "is deleted" } else { "is renamed" };
    let old = file.base_path().to_text();
    let import = if importers.len() == 1 { "file imports" } else { "files import" };
    let start = Sentence::default()
        .then(SentencePart::Path(old.clone()))
        .and(format!(" {done}; {} {import} it at the base: ", importers.len()));
    let sentence = sentence_with_names(start, &names);
    let evidence = if broken.is_empty() {
        sentence.and("; all of them find what they import afterwards")
    } else {
        sentence_with_names(sentence.and(format!("; {} no longer find what they import: ", broken.len())), &broken)
    };
    let first = broken.first().or_else(|| names.first()).cloned().unwrap_or_default();
    let advice = Advice {
        sentence: Sentence::ours("build and test what imports ")
            .then(SentencePart::Path(old.clone()))
            .and(format!(", {} in all, beginning with ", counted_noun(names.len(), "file")))
            .then(SentencePart::Path(first)),
        command: module_stem(file.base_path())
            .filter(|_| command_word(&old).is_some())
            .map(|stem| format!("git grep -n -w {stem}")),
    };
    let raw = Raw::new(SignalName::BrokenImporters, index, evidence);
    Some(Raw { count: importers.len(), advice: Some(advice), ..raw })
}

/// The last part of a path up to its first dot, if it is a plain word.
fn module_stem(path: &RepoPath) -> Option<String> {
    let name = String::from_utf8_lossy(path.name()).to_string();
    let stem = name.split('.').next().unwrap_or_default();
    command_word(stem).map(str::to_string)
}

/// The files that import a file of a tree, tests among them.
fn importers_of(tree: &FileTree, path: &RepoPath) -> Option<Vec<RepoPath>> {
    let edges = tree.graph.importers(tree.find(path)?).iter().filter(|edge| edge.kind != EdgeKind::Ownership);
    let file = |index: u32| usize::try_from(index).ok().and_then(|index| tree.files.get(index));
    Some(edges.filter_map(|edge| file(edge.file)).map(|file| file.path.clone()).collect())
}

/// Whether more of a file's imports lead nowhere, or out, with the change than before it.
fn is_broken(search: Search<'_>, base: &FileTree, path: &RepoPath) -> bool {
    let lost = |tree: &FileTree| {
        let file = tree.find(path).and_then(|at| tree.files.get(usize::try_from(at).ok()?))?;
        match file.imports {
            Imports::Read { unresolved, external, .. } => Some(unresolved.saturating_add(external)),
            Imports::None | Imports::NoParser | Imports::Unread => None,
        }
    };
    let after = search.facts.tree.and_then(lost);
    after.zip(lost(base)).is_some_and(|(after, before)| after > before)
}

fn other_signature(search: Search<'_>, base: &FileTree, called: &CalledFunction) -> Option<Raw> {
    let CalledFunction { function, callers } = called;
    let changed = search.facts.change.files.get(usize::try_from(function.file).ok()?)?;
    let importers: BTreeSet<RepoPath> = importers_of(base, changed.base_path())?.into_iter().collect();
    let is_changed = |path: &RepoPath| search.facts.change.files.iter().any(|file| file.base_path() == path);
    let left = callers.iter().filter(|path| importers.contains(path) && !is_changed(path));
    let names: Vec<String> = left.map(RepoPath::to_text).collect();
    if names.is_empty() {
        return None;
    }
    let path = search.path(function.file);
    let verb = if names.len() == 1 { "file that names it does" } else { "files that name it do" };
    let start = Sentence::default()
        .then(SentencePart::Path(path))
        .and(" changes the signature of ")
        .then(SentencePart::Message(function.name.clone()))
        .and(format!(", and {} {verb} not change: ", names.len()));
    let advice = Advice {
        sentence: sentence_with_names(Sentence::ours("check the calls in "), &names).and(" against the new signature"),
        command: command_word(&function.name).map(|name| format!("git grep -n -w {name}")),
    };
    let raw = Raw::new(SignalName::ChangedSignature, function.file, sentence_with_names(start, &names));
    Some(Raw { line: Some(function.line), count: names.len(), advice: Some(advice), ..raw })
}

/// The functions of code whose signature a change replaces, first come first.
#[must_use]
pub fn functions_changed_by(change: &Change) -> Vec<ChangedFunction> {
    let numbered = (0_u32..).zip(&change.files).filter(|(_, file)| file.class.role == FileRole::Code);
    let of_file = |(index, file): (u32, &ChangedFile)| {
        let patch = change.patch(&file.path).cloned().unwrap_or_default();
        functions_of(&patch).into_iter().map(move |(name, line)| ChangedFunction { file: index, name, line })
    };
    numbered.flat_map(of_file).take(FUNCTIONS).collect()
}

fn functions_of(patch: &FilePatch) -> Vec<(String, u32)> {
    let of_hunk = |hunk: &Hunk| {
        let removed: Vec<(&str, &str)> = hunk.removed.iter().filter_map(|line| function_signature(line)).collect();
        let added =
            (hunk.new_start..).zip(&hunk.added).filter_map(|(number, line)| Some((number, function_signature(line)?)));
        let changed = |(number, (name, new)): (u32, (&str, &str))| {
            let (_, old) = removed.iter().find(|(other, _)| *other == name)?;
            (breaks_calls(old, new) && name.len() >= SHORTEST).then(|| (name.to_string(), number))
        };
        added.filter_map(changed).collect::<Vec<_>>()
    };
    patch.hunks.iter().flat_map(of_hunk).collect()
}

/// The name of a function and its parameters, if a line begins with its definition and has all of them.
fn function_signature(line: &[u8]) -> Option<(&str, &str)> {
    let line = core::str::from_utf8(line).ok()?;
    let text = line.trim();
    let marks = ["fn ", "def ", "func ", "function "];
    let behind = marks.iter().find_map(|mark| {
        let at = text.find(mark)?;
        let before = text.get(..at)?;
        let is_start =
            before.split_whitespace().all(|word| word.chars().all(|c| c.is_alphanumeric() || "()_".contains(c)));
        is_start.then(|| text.get(at.saturating_add(mark.len())..)).flatten()
    });
    // C: it begins the line, and what follows the parameters is a body.
    let is_c = !line.starts_with(char::is_whitespace) && text.ends_with('{') && !text.contains('=');
    let behind = behind.or_else(|| is_c.then_some(text))?;
    let behind =
        behind.strip_prefix('(').and_then(|receiver| receiver.split_once(')')).map_or(behind, |(_, rest)| rest);
    let (head, rest) = behind.split_once('(')?;
    let name = head.split(['<', '[']).next()?.trim().rsplit([' ', '*', '&']).next()?;
    let parameters = rest.rsplit_once(')')?.0;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_keyword = matches!(name, "if" | "for" | "while" | "switch" | "return");
    (is_name && !is_keyword).then_some((name, parameters))
}

/// Whether calls have to change: parameters with a default at the end break none.
fn breaks_calls(old: &str, new: &str) -> bool {
    let parts = |text: &str| {
        let parts = text.split(',').map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        parts.filter(|part| !part.is_empty()).collect::<Vec<String>>()
    };
    let (old, new) = (parts(old), parts(new));
    let (same, more) = (new.get(..old.len()), new.get(old.len()..).unwrap_or_default());
    old.len() != new.len() && !(same == Some(old.as_slice()) && more.iter().all(|part| part.contains('=')))
}
