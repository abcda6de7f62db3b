//! Records of contents, kept from one run to the next.
//!
//! One file of the form that cached imports have, under a name of its own: it is replaced as a whole, and whatever is
//! not exactly what was written is read anew. Records are read where they are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proem_select::context::{FileRecord, SharedSlice};

use crate::files::{self, FileContent};
use crate::structure::{EntryPlace, StructureCacheKey, entry_places, keep_entries};

/// The file's name. Another form gets another one.
const NAME: &str = "context-6.bin";

/// The names of the forms before.
const OLDER: [&str; 5] = ["context-1.bin", "context-2.bin", "context-3.bin", "context-4.bin", "context-5.bin"];

/// The largest file that is read, in bytes: a record takes about 3 kB.
const MOST_BYTES: usize = 512 << 20;

/// How many records stay that this run had no use for, beside as many as it had use for: other branches have theirs.
const SPARE: usize = 5_000;

/// The records of one repository.
#[derive(Debug, Default)]
pub(super) struct KeptRecords {
    folder: Option<PathBuf>,
    /// The file of an earlier run: its bytes, and the places of its entries, by their keys.
    bytes: Arc<Vec<u8>>,
    places: Vec<EntryPlace>,
    /// The entries that this run read.
    new: BTreeMap<Vec<u8>, FileRecord>,
    /// The earlier entries that this run used, by their places.
    used: BTreeSet<usize>,
    changed: bool,
}

/// A record that is there.
#[derive(Debug)]
pub(super) struct FoundRecord {
    record: FileRecord,
    /// Its place in what an earlier run kept.
    kept_at: Option<usize>,
}

impl FoundRecord {
    /// The record, of which this run makes no further use.
    pub(super) fn into_record(self) -> FileRecord {
        self.record
    }
}

impl KeptRecords {
    /// Opens the records in `folder`; without one it holds the entries that this run reads. An unreadable file is made
    /// anew.
    pub(super) fn open(folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return Self::default() };
        let empty = Self { folder: Some(folder.to_path_buf()), ..Self::default() };
        match files::read_regular(&folder.join(NAME), MOST_BYTES) {
            Ok(Some(FileContent::Whole(bytes))) => {
                let places = entry_places(&bytes).unwrap_or_default();
                Self { places, bytes: Arc::new(bytes), ..empty }
            }
            Ok(_) | Err(_) => empty,
        }
    }

    /// The record of a content.
    pub(super) fn find(&self, key: &StructureCacheKey) -> Option<FoundRecord> {
        let key = key.as_bytes();
        if let Some(record) = self.new.get(key) {
            return Some(FoundRecord { record: record.clone(), kept_at: None });
        }
        let at = self.places.binary_search_by(|place| self.key(place).cmp(key)).ok()?;
        let range = self.places.get(at)?.value.clone();
        let record = FileRecord::from_bytes(SharedSlice::within(&self.bytes, range)?)?;
        Some(FoundRecord { record, kept_at: Some(at) })
    }

    /// The record, of which this run has use.
    pub(super) fn take_up(&mut self, found: FoundRecord) -> FileRecord {
        self.used.extend(found.kept_at);
        found.record
    }

    pub(super) fn put(&mut self, key: &StructureCacheKey, record: &FileRecord) {
        self.new.insert(key.as_bytes().to_vec(), record.clone());
        self.changed = true;
    }

    /// Writes what changed. Why that was not possible, in our words.
    pub(super) fn save(&mut self) -> Option<String> {
        let folder = self.folder.clone().filter(|_| self.changed)?;
        self.changed = false;
        // The file of an earlier version is of no use to this one. A missing one needs no removing.
        OLDER.iter().for_each(|older| drop(std::fs::remove_file(folder.join(older))));
        let value = |place: &EntryPlace| self.bytes.get(place.value.clone()).unwrap_or_default();
        let kept = self.places.iter().map(|place| (self.key(place), value(place)));
        let new = self.new.iter().map(|(key, record)| (key.as_slice(), record.as_bytes()));
        let mut entries: BTreeMap<&[u8], &[u8]> = kept.chain(new).collect();
        let used: BTreeSet<&[u8]> =
            self.used.iter().filter_map(|at| self.places.get(*at)).map(|place| self.key(place)).collect();
        let bytes: usize = entries.iter().map(|(key, value)| key.len().saturating_add(value.len())).sum();
        if bytes >= MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Some(format!("what was read of the files is more than the {most} MiB that are kept"));
        }
        let is_used = |key: &[u8]| used.contains(key) || self.new.contains_key(key);
        let spare = used.len().saturating_add(self.new.len()).saturating_add(SPARE);
        let saved = keep_entries(&folder, NAME, &mut entries, spare, is_used);
        saved.err().map(|error| format!("what was read of the files could not be kept: {error}"))
    }

    fn key(&self, place: &EntryPlace) -> &[u8] {
        self.bytes.get(place.key.clone()).unwrap_or_default()
    }
}
