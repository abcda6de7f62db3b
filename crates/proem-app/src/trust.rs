//! The project files that this user trusts, by hash, kept in the user's state folder.
//!
//! Trust is a set of hashes for each repository (its common git folder) and path, so that
//! switching branches asks nothing again. A copy of the last trusted bytes is kept, so that a
//! review can show what changed since.
//!
//! Invariants: a store that is unreadable is never overwritten; whoever changes it holds its lock, so of several
//! processes none loses what another wrote.

pub mod candidates;
pub mod locked_files;
mod place;
mod states;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proem_guard::{credential, show};
use proem_runtime::files::{self, FileAccess, FileContent};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::state_file::lock_folder;

pub use self::place::{Before, EditingOffer, FileReview, Revocation, RevokeScope, TrustPlace};
pub use self::states::{TrustEntry, TrustState, trust_entries};

const FILE: &str = "trust.json";
const LOCK: &str = "trust.lock";
const COPIES: &str = "trusted";
const MAX_STORE_BYTES: usize = 16 * 1024 * 1024;

/// The largest file that can be trusted, in bytes. Nobody reviews more at once.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;

/// How long trust given while editing lasts, in seconds.
pub const EDITING_SECONDS: i64 = 24 * 60 * 60;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    repositories: BTreeMap<String, RepositoryEntry>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RepositoryEntry {
    files: BTreeMap<String, Trusted>,
    editing: Vec<EditingGrant>,
    /// The hashes of what `proem init` wrote, by path. It makes nothing trusted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    written: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trusted {
    hashes: BTreeSet<String>,
    last: String,
}

/// A file or folder that is trusted while it is being edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditingGrant {
    /// The work tree it is edited in. Others of the same repository are not concerned.
    pub root: String,
    /// Relative to that root.
    pub path: String,
    /// The commit at which it began. None before the first commit.
    pub head: Option<String>,
    /// When it ends, in seconds since 1970.
    pub until: i64,
}

impl EditingGrant {
    fn covers(&self, path: &str) -> bool {
        path == self.path || path.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// The files that this user trusts in one repository.
#[derive(Debug, Clone, Default)]
pub struct RepositoryTrust {
    files: BTreeMap<String, Trusted>,
    editing: Vec<EditingGrant>,
    written: BTreeMap<String, BTreeSet<String>>,
}

impl RepositoryTrust {
    /// Whether exactly these bytes of `path` are trusted.
    pub fn is_trusted(&self, path: &str, hash: &str) -> bool {
        self.is_trusted_by_hash(path, hash) || self.while_editing(path)
    }

    /// Whether exactly these bytes of `path` were trusted, and not only while they are edited.
    pub fn is_trusted_by_hash(&self, path: &str, hash: &str) -> bool {
        self.files.get(path).is_some_and(|trusted| trusted.hashes.contains(hash))
    }

    /// Whether `path` is trusted whatever it holds, for the time being.
    pub fn while_editing(&self, path: &str) -> bool {
        self.editing.iter().any(|editing| editing.covers(path))
    }

    /// When trust in `path` while it is edited ends at the latest.
    pub fn ends(&self, path: &str) -> Option<i64> {
        self.editing.iter().filter(|editing| editing.covers(path)).map(|editing| editing.until).max()
    }

    /// Whether any version of `path` was ever trusted.
    pub fn knows(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The files that are being edited.
    pub fn editing(&self) -> &[EditingGrant] {
        &self.editing
    }

    /// The paths that `proem init` wrote, with the hashes of what it wrote.
    pub fn written(&self) -> impl Iterator<Item = (&str, &str)> {
        self.written.iter().flat_map(|(path, hashes)| hashes.iter().map(move |hash| (path.as_str(), hash.as_str())))
    }

    /// The trusted paths and their hashes.
    pub fn hashes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().flat_map(|(path, file)| file.hashes.iter().map(move |hash| (path.as_str(), hash.as_str())))
    }
}

impl EditingGrant {
    /// Whether it began at this commit and isn't over.
    fn lasts(&self, head: Option<&str>, now: i64) -> bool {
        self.head.as_deref() == head && now < self.until
    }
}

/// The trust store of this user.
#[derive(Debug, Clone)]
pub struct TrustStore {
    folder: PathBuf,
}

impl TrustStore {
    /// The store in this folder. Nothing is read or written yet.
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The trusted files of the repository called `key`, as far as the work tree `root` is concerned.
    ///
    /// Trust while editing that has ended is removed for good: it doesn't come back with its commit.
    /// `head` is asked only if something is being edited there.
    ///
    /// # Errors
    ///
    /// If the store can't be read or written.
    pub fn trust_of(
        &self,
        key: &str,
        root: &str,
        now: i64,
        head: impl FnOnce() -> Result<Option<String>, Error>,
    ) -> Result<RepositoryTrust, Error> {
        let repository = self.read()?.repositories.remove(key).unwrap_or_default();
        let editing: Vec<EditingGrant> =
            repository.editing.into_iter().filter(|editing| editing.root == root).collect();
        if editing.is_empty() {
            return Ok(RepositoryTrust { files: repository.files, editing, written: repository.written });
        }
        let head = head()?;
        let (live, over): (Vec<EditingGrant>, Vec<EditingGrant>) =
            editing.into_iter().partition(|editing| editing.lasts(head.as_deref(), now));
        if !over.is_empty() {
            self.change(|stored| {
                if let Some(repository) = stored.repositories.get_mut(key) {
                    repository.editing.retain(|editing| !over.contains(editing));
                }
                Ok(())
            })?;
        }
        Ok(RepositoryTrust { files: repository.files, editing: live, written: repository.written })
    }

    /// The files trusted by hash in the repository called `key`, for callers that can't ask for the checked-out commit.
    /// Trust while a file is edited is not among them, and nothing is removed.
    ///
    /// # Errors
    ///
    /// If the store can't be read.
    pub fn hashed(&self, key: &str) -> Result<RepositoryTrust, Error> {
        let repository = self.read()?.repositories.remove(key).unwrap_or_default();
        Ok(RepositoryTrust { files: repository.files, editing: Vec::new(), written: repository.written })
    }

    /// Whether the store can be read. One that isn't there yet can.
    ///
    /// # Errors
    ///
    /// If the store is there and can't be read.
    pub fn check(&self) -> Result<(), Error> {
        self.read().map(|_| ())
    }

    /// The bytes that were trusted last for a path, to show a difference against.
    pub fn last(&self, trust: &RepositoryTrust, path: &str) -> Option<Vec<u8>> {
        let last = &trust.files.get(path)?.last;
        match files::read_beneath(&self.folder, &Path::new(COPIES).join(last), MAX_FILE_BYTES) {
            Ok(Some(FileContent::Whole(bytes))) if sha256_hex(&bytes) == *last => Some(bytes),
            _ => None,
        }
    }

    /// Trusts files with these bytes.
    ///
    /// # Errors
    ///
    /// If the store can't be written.
    pub fn trust(&self, key: &str, trusted: &[(String, Vec<u8>)]) -> Result<(), Error> {
        self.change(|stored| {
            let repository = stored.repositories.entry(key.to_owned()).or_default();
            for (path, bytes) in trusted {
                let hash = sha256_hex(bytes);
                // A file with a credential is trusted without a copy. Its next version is shown in full.
                if credential::find_credentials(&String::from_utf8_lossy(bytes)).is_empty() {
                    files::replace_file(&self.folder, &Path::new(COPIES).join(&hash), bytes, FileAccess::Private)?;
                }
                let file = repository.files.entry(path.clone()).or_default();
                file.hashes.insert(hash.clone());
                file.last = hash;
            }
            Ok(())
        })
    }

    /// Remembers files that `proem init` wrote with these bytes.
    ///
    /// # Errors
    ///
    /// If the store can't be written.
    pub fn wrote(&self, key: &str, files: &[(&str, &[u8])]) -> Result<(), Error> {
        self.change(|stored| {
            let written = &mut stored.repositories.entry(key.to_owned()).or_default().written;
            for (path, bytes) in files {
                written.entry((*path).to_owned()).or_default().insert(sha256_hex(bytes));
            }
            Ok(())
        })
    }

    /// Trusts a path while it is being edited.
    ///
    /// # Errors
    ///
    /// If the store can't be written.
    pub fn edit(&self, key: &str, editing: &EditingGrant) -> Result<(), Error> {
        self.change(|stored| {
            let repository = stored.repositories.entry(key.to_owned()).or_default();
            repository.editing.retain(|other| (&other.root, &other.path) != (&editing.root, &editing.path));
            repository.editing.push(editing.clone());
            Ok(())
        })
    }

    /// Takes trust back. The paths that were trusted.
    ///
    /// # Errors
    ///
    /// If the store can't be written.
    pub fn revoke(&self, key: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
        let mut revoked = BTreeSet::new();
        self.change(|stored| {
            let Some(repository) = stored.repositories.get_mut(key) else { return Ok(()) };
            repository.files.retain(|path, _| !wanted(path) || !revoked.insert(path.clone()));
            repository.editing.retain(|editing| !wanted(&editing.path) || !revoked.insert(editing.path.clone()));
            Ok(())
        })?;
        Ok(revoked.into_iter().collect())
    }

    fn read(&self) -> Result<TrustFile, Error> {
        let path = self.folder.join(FILE);
        let shown = show::terminal_str(&path.display().to_string()).into_string();
        let bytes = match files::read_regular(&path, MAX_STORE_BYTES)? {
            None => return Ok(TrustFile { version: 1, ..TrustFile::default() }),
            Some(FileContent::Whole(bytes)) => bytes,
            Some(FileContent::Cut(_)) => {
                let problem = format!(
                    "`{shown}` is larger than {MAX_STORE_BYTES} bytes; move it elsewhere and trust the files again"
                );
                return Err(Error::invalid(problem));
            }
        };
        self.closed_to_others()?;
        let stored: TrustFile = serde_json::from_slice(&bytes).map_err(|e| {
            Error::invalid(format!("`{shown}` can't be read ({e}); move it elsewhere and trust the files again"))
        })?;
        if stored.version != 1 {
            let version = stored.version;
            return Err(Error::invalid(format!(
                "`{shown}` was written by a newer Proem (version {version}); update Proem"
            )));
        }
        Ok(stored)
    }

    /// Refuses a store that somebody else may have written to.
    fn closed_to_others(&self) -> Result<(), Error> {
        for (path, wanted) in [(self.folder.clone(), "700"), (self.folder.join(FILE), "600")] {
            let shown = show::terminal_str(&path.display().to_string()).into_string();
            let metadata = path.metadata().map_err(|e| Error::outside(format!("could not look at `{shown}`: {e}")))?;
            let mode = metadata.permissions().mode() & 0o777;
            if mode & 0o022 != 0 {
                let problem =
                    format!("other users can change `{shown}` (mode {mode:03o}); run `chmod {wanted} '{shown}'`");
                return Err(Error::invalid(problem));
            }
        }
        Ok(())
    }

    /// Reads, changes and replaces the store while holding its lock.
    fn change(&self, change: impl FnOnce(&mut TrustFile) -> Result<(), Error>) -> Result<(), Error> {
        let _lock = lock_folder(&self.folder, LOCK)?;
        let mut stored = self.read()?;
        change(&mut stored)?;
        let json = serde_json::to_value(&stored).map_err(|e| Error::bug("could not write JSON", e))?;
        let mut text = proem_text::json::pretty(&json);
        text.push('\n');
        files::replace_file(&self.folder, Path::new(FILE), text.as_bytes(), FileAccess::Private)?;
        self.remove_old_copies(&stored);
        Ok(())
    }

    /// Removes copies that no difference will be shown against any more.
    fn remove_old_copies(&self, stored: &TrustFile) {
        let files = stored.repositories.values().flat_map(|repository| repository.files.values());
        let wanted: BTreeSet<&str> = files.map(|file| file.last.as_str()).collect();
        let Ok(copies) = std::fs::read_dir(self.folder.join(COPIES)) else { return };
        for copy in copies.flatten() {
            if copy.file_name().to_str().is_none_or(|name| !wanted.contains(name)) {
                // A copy that remains costs only space.
                _ = std::fs::remove_file(copy.path());
            }
        }
    }
}

/// SHA-256, hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    proem_text::hex::encode_hex(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editing(head: Option<&str>, until: i64) -> EditingGrant {
        EditingGrant { root: "/a".into(), path: ".proem/book".into(), head: head.map(str::to_owned), until }
    }

    #[test]
    fn editing_ends_with_its_commit_or_its_time_and_stays_ended() {
        let folder = tempfile::tempdir().unwrap();
        for (began, head, now, lasts) in [
            (Some("a"), Some("a"), 99, true),
            (Some("a"), Some("a"), 100, false),
            (Some("a"), Some("b"), 1, false),
            (Some("a"), None, 1, false),
            (None, None, 99, true),
            (None, Some("a"), 1, false),
        ] {
            let store = TrustStore::new(folder.path().join("proem"));
            store.edit("key", &editing(began, 100)).unwrap();
            let covers = |root: &str, head: Option<&str>, now: i64| {
                let trust = store.trust_of("key", root, now, || Ok(head.map(str::to_owned))).unwrap();
                trust.is_trusted(".proem/book/x.json", "0")
            };
            assert!(!covers("/b", head, now), "another work tree is not concerned");
            assert_eq!(covers("/a", head, now), lasts, "{began:?} {head:?} {now}");
            assert_eq!(covers("/a", began, 1), lasts, "{began:?} {head:?} {now}: what ended stays ended");
        }
    }

    #[test]
    fn a_folder_covers_what_is_below_it() {
        let trust = RepositoryTrust { editing: vec![editing(None, 1)], ..RepositoryTrust::default() };
        for (path, covered) in
            [(".proem/book", true), (".proem/book/a/b", true), (".proem/bookish", false), (".proem", false)]
        {
            assert_eq!(trust.while_editing(path), covered, "{path}");
        }
    }
}
