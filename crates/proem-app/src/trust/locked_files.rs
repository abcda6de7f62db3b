//! Files that are trusted by the lock that pins them: one decision for all of a book's prompts.
//!
//! Invariants: a file counts only if the lock has the SHA-256 of the very bytes that were read, and only as a part of
//! the book. Configuration, policies, rules and what replaces the book's own texts take decisions of their own.

use std::path::Path;

use proem_engine::prompt::book::pinned_files;
use proem_guard::show;

use super::candidates::{Candidates, TrustCandidate, TrustUse};
use super::place::TrustPlace;
use crate::error::Error;
use crate::project::BOOK;

/// A lock with what it pins.
#[derive(Debug)]
pub struct LockedFiles<'c> {
    /// The lock itself.
    pub lock: &'c TrustCandidate,
    /// The files that it pins, by path, each as it was read.
    pub files: Vec<&'c TrustCandidate>,
    /// The files of the book that it doesn't pin, by path.
    pub unpinned: Vec<&'c str>,
}

impl TrustPlace {
    /// The lock at `file` with the files that it pins, as `candidates` were read.
    ///
    /// # Errors
    ///
    /// If it is not the lock of the project's book, or a file is missing, is another one than the lock pins, or is more
    /// than a part of the book.
    pub fn locked<'c>(&self, candidates: &'c Candidates, file: &Path) -> Result<LockedFiles<'c>, Error> {
        let path = self.path(file)?;
        let own = format!("{BOOK}/book.lock");
        if path != own {
            let shown = show::terminal_str(&path);
            return Err(Error::invalid(format!("`{shown}` is not the lock of the project's book; name `{own}`")));
        }
        let lock = candidates.get(&path)?;
        let pins = pinned_files(&lock.text).map_err(|error| Error::invalid(format!("`{own}`: {error}")))?;
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        for (name, hash) in &pins {
            let path = format!("{BOOK}/{name}");
            let shown = show::terminal_str(&path).into_string();
            match candidates.files.iter().find(|candidate| candidate.path == path) {
                None => problems.push(format!("`{shown}` is not there, or is no file that can be trusted")),
                Some(file) if file.uses != [TrustUse::Book] => {
                    problems.push(format!("`{shown}` is more than a part of the book; review it by itself"));
                }
                Some(file) if file.hash != *hash => {
                    problems.push(format!(
                        "`{shown}` is not the file that the lock pins: it has the SHA-256 {}",
                        file.hash
                    ));
                }
                Some(file) => files.push(file),
            }
        }
        if !problems.is_empty() {
            return Err(Error::negative(format!("nothing was trusted: {}", problems.join("\n  "))));
        }
        let is_pinned =
            |path: &str| path.strip_prefix(BOOK).is_some_and(|name| pins.contains_key(name.trim_start_matches('/')));
        let of_book = candidates.files.iter().filter(|file| file.uses.contains(&TrustUse::Book) && file.path != own);
        let unpinned = of_book.map(|file| file.path.as_str()).filter(|path| !is_pinned(path)).collect();
        Ok(LockedFiles { lock, files, unpinned })
    }
}
