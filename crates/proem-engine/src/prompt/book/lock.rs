//! Versions that are locked: what `book.lock` says, and whether it still holds.
//!
//! A lock speaks of the files of its own layer. That a lower layer has other files on another machine, or that some of
//! this layer's don't count there, makes another combination, which nobody locked. It changes nothing that was.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{Book, Closure, LockState, version_numbers};
use crate::error::{Error, ErrorKind};
use crate::prompt::origin::Origin;

/// The contents of `book.lock`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BookLock {
    /// The closure's hash of each version, by `agent/name@version`.
    #[serde(default)]
    versions: BTreeMap<String, String>,
    /// The hash of each file of this layer that they use, by path. A lock that was written before files
    /// were named has none.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// The files that a `book.lock` pins, by their path in its book, each with the SHA-256 of its text.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] if the text is no lock, or one that was written before files were named.
pub fn pinned_files(lock: &str) -> Result<BTreeMap<String, String>, Error> {
    let lock: BookLock = toml::from_str(lock)
        .map_err(|error| Error::new(ErrorKind::InvalidFile, format!("not a book.lock: {}", error.message())))?;
    if lock.files.is_empty() {
        let problem = "the lock names no files; write it anew with `proem book lock`";
        return Err(Error::new(ErrorKind::InvalidFile, problem));
    }
    Ok(lock.files)
}

impl Book {
    pub(super) fn state(&self, prompt: &str, version: &str, closure: &Closure) -> LockState {
        if self.is_locked(prompt, version, closure) {
            LockState::Locked
        } else if self.changes(prompt, version, closure).is_empty() {
            LockState::Unlocked
        } else {
            LockState::Edited
        }
    }

    fn is_locked(&self, prompt: &str, version: &str, closure: &Closure) -> bool {
        let key = format!("{prompt}@{version}");
        self.locks.iter().any(|lock| lock.versions.get(&key) == Some(&closure.hash))
    }

    /// The changes after a version was locked, in words with the remedy. `None` if there are none.
    pub(crate) fn edited(&self, prompt: &str, version: &str, closure: &Closure) -> Option<String> {
        if self.is_locked(prompt, version, closure) {
            return None;
        }
        let changes = self.changes(prompt, version, closure);
        if changes.is_empty() {
            return None;
        }
        let what: Vec<String> = changes.iter().map(LockDifference::in_words).collect();
        Some(format!(
            "`{prompt}` {version} is locked, but {} since then\n  restore the locked files, or create a new version \
             with the change, such as {}, and lock that",
            what.join("; "),
            self.next(prompt)
        ))
    }

    /// The differences from the locks of the layers that have files in this closure.
    fn changes<'c>(&self, prompt: &str, version: &str, closure: &'c Closure) -> Vec<LockDifference<'c>> {
        let key = format!("{prompt}@{version}");
        let named = self.locks.iter().enumerate().filter(|(_, lock)| lock.versions.contains_key(&key));
        named.filter_map(|(index, lock)| self.changes_of(index, lock, closure)).collect()
    }

    fn changes_of<'c>(&self, index: usize, lock: &BookLock, closure: &'c Closure) -> Option<LockDifference<'c>> {
        let layer = self.layers.get(index)?;
        let is_own = |path: &str| self.found(path).is_some_and(|(found, ..)| found == index);
        let own = closure.files.iter().map(|(path, _)| path.as_str()).filter(|path| is_own(path));
        let origin = layer.origin;
        if lock.files.is_empty() {
            // The shipped files never change, and the user's own all count.
            let is_known = |path: &str, by: Origin| is_own(path) || (origin, by) == (Origin::User, Origin::Embedded);
            let all_known = closure.files.iter().all(|(path, by)| is_known(path, *by));
            let own: Vec<&str> = own.collect();
            return (all_known && !own.is_empty()).then_some(LockDifference { origin, files: own, is_exact: false });
        }
        let is_changed = |path: &&str| {
            let text = layer.files.get(*path).map(|text| locked_hash(text.as_str()));
            text.as_ref() != lock.files.get(*path)
        };
        let files: Vec<&str> = own.filter(is_changed).collect();
        (!files.is_empty()).then_some(LockDifference { origin, files, is_exact: true })
    }

    /// The problem of a locked version, with its remedy.
    pub(super) fn in_locked(&self, prompt: &str, version: &str, error: &Error) -> Error {
        let remedy =
            format!("`{prompt}` {version} is locked as it is; mend it in a new version, such as {}", self.next(prompt));
        Error::all(error.kind(), error.problems().iter().cloned().chain([remedy]).collect())
    }

    /// The version number after a prompt's newest.
    fn next(&self, prompt: &str) -> String {
        let versions = self.version_paths().into_iter().filter(|(name, _)| name == prompt).map(|(_, version)| version);
        let mut newest = versions.map(|version| version_numbers(&version)).max().unwrap_or_default();
        if let Some(last) = newest.last_mut() {
            *last = last.saturating_add(1);
        }
        newest.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
    }

    /// The text of `book.lock` for one layer: its versions as they are, and the versions of lower
    /// layers that it changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Edited`] naming every version that was locked with other content. Give it a new number instead.
    pub fn lock(&self, origin: Origin) -> Result<String, Error> {
        let Some(index) = self.layers.iter().position(|layer| layer.origin == origin) else {
            return Err(Error::new(ErrorKind::NotFound, format!("there is no {} book", origin.as_str())));
        };
        // Layers above this one are none of its business. A project's lock goes to other users.
        let below = self.layers.iter().take(index.saturating_add(1));
        let layers: Vec<_> =
            below.filter(|layer| layer.origin != Origin::User || origin == Origin::User).cloned().collect();
        let index = layers.len().saturating_sub(1);
        let book = Self::new(layers)?;
        let (mut versions, mut files) = (String::new(), BTreeMap::new());
        let mut edited = Vec::new();
        for version in book.versions()? {
            let closure = book.closure(&version.prompt, &version.version)?;
            if closure.top != index {
                continue;
            }
            edited.extend(book.edited(&version.prompt, &version.version, &closure));
            _ = writeln!(versions, "\"{}@{}\" = \"{}\"", version.prompt, version.version, version.closure);
            for (path, _) in closure.files.iter().filter(|(_, by)| *by == origin) {
                files.insert(
                    path.clone(),
                    book.file(path).map_or_else(String::new, |(text, _)| locked_hash(text.as_str())),
                );
            }
        }
        if !edited.is_empty() {
            return Err(Error::all(ErrorKind::Edited, edited));
        }
        let mut text = format!("{HEAD}[versions]\n{versions}");
        // Nobody can change a shipped file without the program.
        if origin != Origin::Embedded && !files.is_empty() {
            text.push_str("\n# The hash of each file that they use.\n\n[files]\n");
            files.iter().for_each(|(path, hash)| _ = writeln!(text, "\"{path}\" = \"{hash}\""));
        }
        Ok(text)
    }
}

const HEAD: &str = "\
# The hash of each version, over its file, partials and schemas.
# Written by `proem book lock`; versions are immutable.

";

/// The differences from the lock of one layer.
struct LockDifference<'c> {
    origin: Origin,
    /// Files of the layer, by path.
    files: Vec<&'c str>,
    /// Whether all of them were changed. Otherwise at least one was.
    is_exact: bool,
}

impl LockDifference<'_> {
    fn in_words(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|path| format!("`{path}`")).collect();
        let (one_of, were) = match (self.is_exact, files.len()) {
            (_, 1) => ("", "was"),
            (false, _) => ("one of ", "was"),
            (true, _) => ("", "were"),
        };
        format!("{one_of}{} of {} {were} changed", files.join(", "), whose(self.origin))
    }
}

const fn whose(origin: Origin) -> &'static str {
    match origin {
        Origin::Embedded => "the shipped book",
        Origin::User => "your book",
        Origin::Project => "the project's book",
        Origin::Configured => "your configuration",
        Origin::Named => "the folder of the prompt file",
    }
}

fn locked_hash(text: &str) -> String {
    proem_text::hex::encode_hex(Sha256::digest(text))
}
