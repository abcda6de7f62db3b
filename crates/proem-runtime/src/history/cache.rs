//! Keeps a history from one reading to the next.
//!
//! A file is what it was read for, a line each, and the history behind a NUL. A reader sees one whole file or none. Of
//! two writers the last one wins, and either wrote a history that is right.

use std::path::{Path, PathBuf};

use proem_risk::history::{History, ObjectId};
use proem_text::hex;
use sha2::{Digest as _, Sha256};

use crate::{
    Error,
    files::{FileAccess, FileContent, read_regular, replace_file},
    git::Repository,
};

/// The form of the file, and of what is read from messages.
const FORM: &str = "proem history 2";

/// How the file begins in the form before, in which closing an issue was a fix.
const BEFORE: &[u8] = b"proem history 1\n";

/// The most that a kept history may have, in bytes.
const LARGEST: usize = 2 << 30;

/// The dependencies of a kept history besides the commits.
pub(super) struct HistoryCacheKey {
    /// The name of the file.
    name: String,
    /// The lines that must be the same.
    lines: String,
}

/// A history that was kept.
pub(super) struct CachedHistory {
    /// The commits that it was read for.
    pub(super) tips: Vec<ObjectId>,
    pub(super) history: History,
}

/// The file of one repository.
pub(super) struct HistoryCache<'a> {
    folder: &'a Path,
    key: &'a HistoryCacheKey,
}

impl HistoryCacheKey {
    /// The key of a repository with this mailmap and this list of commits without parents. A history that is
    /// cut holds for one number of commits only.
    pub(super) fn of(repository: &Repository, mailmap: &[u8], shallow: &[u8], most: u32) -> Self {
        let name = cache_file_name("history", repository);
        Self { name, lines: format!("{FORM}\n{}\n{}\n{most}\n", short_hash(mailmap), short_hash(shallow)) }
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

    /// The kept history. `None` if there is none of use, with a note if that is news.
    pub(super) fn read(&self, notes: &mut Vec<String>) -> Option<CachedHistory> {
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
        let kept = self.parse(&bytes);
        // A file that an earlier Proem wrote is nobody's mistake, and no news.
        if kept.is_none() && !bytes.starts_with(BEFORE) {
            notes.push(
                "the cached history was damaged or made with other settings, so the history was read again".to_owned(),
            );
        }
        kept
    }

    fn parse(&self, bytes: &[u8]) -> Option<CachedHistory> {
        let rest = bytes.strip_prefix(self.key.lines.as_bytes())?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        let (tips, history) = rest.split_at_checked(end)?;
        let tips = tips.split(|&byte| byte == b' ').map(ObjectId::parse).collect::<Option<Vec<_>>>()?;
        let history = History::from_bytes(history.get(1..)?).ok()?;
        tips.iter().all(|tip| history.find(tip).is_some()).then_some(CachedHistory { tips, history })
    }

    pub(super) fn write(&self, tips: &[ObjectId], history: &History) -> Result<(), Error> {
        let tips: Vec<String> = tips.iter().map(ObjectId::to_string).collect();
        let mut bytes = format!("{}{}\0", self.key.lines, tips.join(" ")).into_bytes();
        bytes.append(&mut history.to_bytes());
        std::fs::create_dir_all(self.folder).map_err(Error::io("create", self.folder))?;
        replace_file(self.folder, Path::new(&self.key.name), &bytes, FileAccess::Private)
    }
}
