//! Keeps a history from one reading to the next.
//!
//! A file is what the history depends on, a line each, and the history behind a NUL. A reader sees one whole file or none. Of
//! two writers the last one wins, and either wrote a history that is right.

use std::path::{Path, PathBuf};

use proem_risk::history::History;
use proem_risk::identity::Mailmap;
use proem_text::hex;
use sha2::{Digest as _, Sha256};

use crate::{
    Error,
    files::{FileAccess, FileContent, read_regular, replace_file},
    git::Repository,
};

/// The form of the file, and of what is read from messages.
const FORM: &str = "proem history 3";

/// How the file begins in earlier forms: in the first, closing an issue was a fix. The second held for one mailmap.
const BEFORE: [&[u8]; 2] = [b"proem history 1\n", b"proem history 2\n"];

/// The most that a kept history may have, in bytes.
const LARGEST: usize = 2 << 30;

/// The dependencies of a kept history besides the commits.
pub(super) struct HistoryCacheKey {
    /// The name of the file.
    name: String,
    /// The lines that must be the same.
    lines: String,
}

/// The file of one repository.
pub(super) struct HistoryCache<'a> {
    folder: &'a Path,
    key: &'a HistoryCacheKey,
}

impl HistoryCacheKey {
    /// The key of a repository with this list of commits without parents. A history that is cut holds for one number
    /// of commits only.
    pub(super) fn of(repository: &Repository, shallow: &[u8], most: u32) -> Self {
        let name = cache_file_name("history", repository);
        Self { name, lines: format!("{FORM}\n{}\n{most}\n", short_hash(shallow)) }
    }
}

/// The name of the file that keeps `what` of a repository.
pub(crate) fn cache_file_name(what: &str, repository: &Repository) -> String {
    format!("{what}-{}", short_hash(repository.common_dir.as_os_str().as_encoded_bytes()))
}

fn short_hash(bytes: &[u8]) -> String {
    hex::encode_hex(Sha256::digest(bytes)).chars().take(32).collect()
}

impl<'a> HistoryCache<'a> {
    pub(super) const fn new(folder: &'a Path, key: &'a HistoryCacheKey) -> Self {
        Self { folder, key }
    }

    /// The kept history, with the persons that `mailmap` finds. `None` if there is none of use, with a note if that is news.
    pub(super) fn read(&self, mailmap: &Mailmap, notes: &mut Vec<String>) -> Option<History> {
        let path: PathBuf = self.folder.join(&self.key.name);
        let bytes = match read_regular(&path, LARGEST) {
            Ok(Some(FileContent::Whole(bytes))) => bytes,
            Ok(None) => return None,
            Ok(Some(FileContent::Cut(_))) => {
                notes.push("the cached history is too large, so the history was read again".to_owned());
                return None;
            }
            Err(error) => {
                notes.push(format!("the cached history could not be read, so it was read again from git: {error}"));
                return None;
            }
        };
        let kept = self.parse(&bytes, mailmap);
        // A file that an earlier Proem wrote is nobody's mistake, and no news.
        if kept.is_none() && !BEFORE.iter().any(|before| bytes.starts_with(before)) {
            notes.push(
                "the cached history was damaged or made with other settings, so the history was read again".to_owned(),
            );
        }
        kept
    }

    fn parse(&self, bytes: &[u8], mailmap: &Mailmap) -> Option<History> {
        let history = bytes.strip_prefix(self.key.lines.as_bytes())?.strip_prefix(b"\0")?;
        History::from_bytes(history, mailmap).ok()
    }

    pub(super) fn write(&self, history: &History) -> Result<(), Error> {
        let mut bytes = format!("{}\0", self.key.lines).into_bytes();
        bytes.append(&mut history.to_bytes());
        std::fs::create_dir_all(self.folder).map_err(Error::io("create", self.folder))?;
        replace_file(self.folder, Path::new(&self.key.name), &bytes, FileAccess::Private)
    }
}
