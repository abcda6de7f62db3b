//! Records of contents, kept from one run to the next.
//!
//! One file of the form that cached imports have, under a name of its own: it is replaced as a whole, and whatever is not
//! exactly what was written is read anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proem_select::context::FileRecord;

use crate::files::{self, FileContent};
use crate::structure::{StructureCacheKey, keep_entries, parse_entries};

/// The file's name; another form gets another one.
const NAME: &str = "context-2.bin";

/// The name of the form before.
const OLDER: &str = "context-1.bin";

/// The largest file that is read, in bytes: a record takes about 3 kB.
const MOST_BYTES: usize = 512 << 20;

/// How many records stay that this run had no use for, beside as many as it had use for: other branches have theirs.
const SPARE: usize = 5_000;

/// The records of one repository.
#[derive(Debug, Default)]
pub(super) struct KeptRecords {
    folder: Option<PathBuf>,
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
    used: BTreeSet<Vec<u8>>,
    changed: bool,
}

impl KeptRecords {
    /// Opens what is kept in `folder`; without one it holds what this run reads. What can't be read is made anew.
    pub(super) fn open(folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return Self::default() };
        let kept = match files::read_regular(&folder.join(NAME), MOST_BYTES) {
            Ok(Some(FileContent::Whole(bytes))) => parse_entries(&bytes),
            Ok(_) | Err(_) => None,
        };
        Self { folder: Some(folder.to_path_buf()), entries: kept.unwrap_or_default(), ..Self::default() }
    }

    pub(super) fn get(&mut self, key: &StructureCacheKey) -> Option<FileRecord> {
        let record = FileRecord::from_bytes(self.entries.get(key.as_bytes())?)?;
        self.used.insert(key.as_bytes().to_vec());
        Some(record)
    }

    pub(super) fn put(&mut self, key: &StructureCacheKey, record: &FileRecord) {
        self.used.insert(key.as_bytes().to_vec());
        self.entries.insert(key.as_bytes().to_vec(), record.to_bytes());
        self.changed = true;
    }

    /// Writes what changed; why that was not possible, in our words.
    pub(super) fn save(&mut self) -> Option<String> {
        let folder = self.folder.clone().filter(|_| self.changed)?;
        self.changed = false;
        // What an earlier version kept is of no use to this one; one that is not there needs no removing.
        let _ = std::fs::remove_file(folder.join(OLDER));
        let spare = self.used.len().saturating_add(SPARE);
        let saved = keep_entries(&folder, NAME, &mut self.entries, spare, |key| self.used.contains(key));
        saved.err().map(|error| format!("what was read of the files could not be kept: {error}"))
    }
}
