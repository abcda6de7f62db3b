//! The records of sources, kept from one run to the next.
//!
//! One file: a mark with the version, a count, entries of key and value with their lengths, and the CRC-32 of all that,
//! which shows damage: it is in a folder of the user's own, and every start that needs it looks. It is replaced as a
//! whole, so a reader sees all of an old one or all of a new one. Of two processes that save at the same time the later
//! one's entries stay.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use proem_imports::SourceFacts;
use sha2::{Digest, Sha256};

use crate::{
    files::{self, FileAccess},
    structure::{listing::SourceContent, source_reading::SourceReading, want::Want},
};

/// The file's name. Another form gets another one.
const NAME: &str = "structure-2.bin";
/// The file of an earlier version, in another form.
const OLDER: &str = "structure-1.bin";
const MARK: &[u8; 8] = b"proemst2";
/// The largest file that is read, in bytes: facts take about 500 for each source.
const MAX_BYTES: usize = 512 << 20;
/// How many entries stay that this run had no use for, beside as many as it had use for: other branches have theirs.
const SPARE: usize = 10_000;

/// A content, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StructureCacheKey(Vec<u8>);

impl StructureCacheKey {
    /// `apart` tells files of the same content apart.
    pub(crate) fn new(want: Want, content: &SourceContent, apart: Option<usize>) -> Self {
        let mut key = vec![want.code()];
        match content {
            SourceContent::Blob(id) => key.extend_from_slice(id.as_bytes()),
            SourceContent::Bytes(bytes) => key.extend_from_slice(&Sha256::digest(bytes)),
            SourceContent::Unread(_) => {}
        }
        key.extend(apart.into_iter().flat_map(usize::to_le_bytes));
        Self(key)
    }

    /// The key as it is written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The cache of one repository.
#[derive(Debug, Default)]
pub(super) struct StructureCache {
    folder: Option<PathBuf>,
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The entries that this run used.
    used: BTreeMap<Vec<u8>, SourceReading>,
    changed: bool,
    /// Why one that is there isn't used.
    note: Option<String>,
}

impl StructureCache {
    /// Opens the cache in `folder`; without one it holds what this run reads.
    pub(super) fn open(folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return Self::default() };
        let mut cache = Self { folder: Some(folder.to_path_buf()), ..Self::default() };
        cache.note = match files::read_regular(&folder.join(NAME), MAX_BYTES) {
            Ok(None) => None,
            Ok(Some(files::FileContent::Whole(bytes))) => match parse_kept_entries(&bytes) {
                Some(entries) => {
                    cache.entries = entries;
                    None
                }
                None => Some("the cached imports were damaged; the sources are read again".to_owned()),
            },
            Ok(Some(files::FileContent::Cut(_))) => {
                Some("the cache of imports was too large; the sources are read again".to_owned())
            }
            Err(error) => Some(format!("the stored imports are not used: {error}")),
        };
        // A damaged file is replaced even without new entries.
        cache.changed = cache.note.is_some();
        cache
    }

    /// Why a cache that is there isn't used. Said once.
    pub(super) fn note(&mut self) -> Option<String> {
        self.note.take()
    }

    pub(super) fn get(&mut self, key: &StructureCacheKey, want: Want) -> Option<SourceReading> {
        if let Some(found) = self.used.get(&key.0) {
            return Some(found.clone());
        }
        let value = self.entries.get(&key.0)?;
        let found = match want {
            Want::Facts(language) => {
                let facts = SourceFacts::from_bytes(value).ok().filter(|facts| facts.language == language)?;
                SourceReading::Facts(Arc::new(facts))
            }
            Want::Lines => SourceReading::Lines(u32::from_le_bytes(value.as_slice().try_into().ok()?)),
            Want::Manifest | Want::Record(_) => return None,
        };
        self.used.insert(key.0.clone(), found.clone());
        Some(found)
    }

    pub(super) fn put(&mut self, key: &StructureCacheKey, found: &SourceReading) {
        self.used.insert(key.0.clone(), found.clone());
        if self.folder.is_none() {
            return;
        }
        let value = match found {
            SourceReading::Facts(facts) => facts.to_bytes(),
            SourceReading::Lines(lines) => lines.to_le_bytes().to_vec(),
        };
        self.entries.insert(key.0.clone(), value);
        self.changed = true;
    }

    /// Writes what changed. A note says why that was not possible.
    pub(super) fn save(&mut self) -> Option<String> {
        let folder = self.folder.clone().filter(|_| self.changed)?;
        self.changed = false;
        let spare = self.used.len().saturating_add(SPARE);
        // Whether there was one doesn't matter.
        drop(std::fs::remove_file(folder.join(OLDER)));
        let saved = keep_entries(&folder, NAME, &mut self.entries, spare, |key| self.used.contains_key(key));
        saved.err().map(|error| format!("the imports could not be stored: {error}"))
    }
}

/// Replaces the file `name` in a folder by the entries that were used, and at most `spare` of the others.
///
/// # Errors
///
/// If the folder or the file can't be written.
pub(crate) fn keep_entries<K: AsRef<[u8]> + Ord, V: AsRef<[u8]>>(
    folder: &Path,
    name: &str,
    entries: &mut BTreeMap<K, V>,
    mut spare: usize,
    is_used: impl Fn(&[u8]) -> bool,
) -> Result<(), crate::Error> {
    entries.retain(|key, _| {
        is_used(key.as_ref()) || {
            let stays = spare > 0;
            spare = spare.saturating_sub(1);
            stays
        }
    });
    let bytes = entries_as_bytes(entries);
    std::fs::create_dir_all(folder)
        .map_err(crate::Error::io("create", folder))
        .and_then(|()| files::replace_file(folder, Path::new(name), &bytes, FileAccess::Private))
}

/// Entries as the bytes of a file, for [`parse_kept_entries`].
pub(crate) fn entries_as_bytes<K: AsRef<[u8]>, V: AsRef<[u8]>>(entries: &BTreeMap<K, V>) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    bytes.extend(length(entries.len()));
    for (key, value) in entries {
        for piece in [key.as_ref(), value.as_ref()] {
            bytes.extend(length(piece.len()));
            bytes.extend_from_slice(piece);
        }
    }
    let sum = crc32fast::hash(&bytes).to_le_bytes();
    bytes.extend_from_slice(&sum);
    bytes
}

/// The entries of such a file. `None` for any other bytes.
pub(crate) fn parse_kept_entries(bytes: &[u8]) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
    let piece = |range: Range<usize>| bytes.get(range).unwrap_or_default().to_vec();
    Some(places(bytes)?.into_iter().map(|place| (piece(place.key), piece(place.value))).collect())
}

/// The place of an entry in the bytes of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryPlace {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// The places of the entries of such a file, by their keys. `None` for any other bytes.
pub(crate) fn places(bytes: &[u8]) -> Option<Vec<EntryPlace>> {
    let (body, sum) = bytes.split_last_chunk()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = body.strip_prefix(MARK)?;
    let count = take_number(&mut rest)?;
    let mut piece = || {
        let length = take_number(&mut rest)?;
        let (_, after) = rest.split_at_checked(length)?;
        rest = after;
        let end = body.len().saturating_sub(after.len());
        Some(end.saturating_sub(length)..end)
    };
    let places = (0..count).map(|_| Some(EntryPlace { key: piece()?, value: piece()? })).collect::<Option<Vec<_>>>()?;
    let key = |place: &EntryPlace| body.get(place.key.clone()).unwrap_or_default();
    (rest.is_empty() && places.is_sorted_by(|a, b| key(a) < key(b))).then_some(places)
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_read_back_and_damage_is_seen() {
        let entries = BTreeMap::from([(b"a".to_vec(), b"one".to_vec()), (b"b".to_vec(), Vec::new())]);
        let bytes = entries_as_bytes(&entries);
        assert_eq!(parse_kept_entries(&bytes), Some(entries));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(parse_kept_entries(&damaged), None, "byte {at}");
            assert_eq!(parse_kept_entries(&bytes[..at]), None, "cut at {at}");
        }
        assert_eq!(parse_kept_entries(&entries_as_bytes(&BTreeMap::<Vec<u8>, Vec<u8>>::new())), Some(BTreeMap::new()));
    }
}
