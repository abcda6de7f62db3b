//! Reads `git diff --numstat -z`.
//!
//! A record is `added TAB removed TAB path NUL`, or `added TAB removed TAB NUL from NUL to NUL`
//! for a rename; both counts are `-` where git counts no lines (git-diff(1), "Other diff formats").

use crate::{
    Extent,
    git::status::{field, number, split},
};

/// What a numstat listing says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumstatListing {
    /// The changed paths, in git's order.
    pub entries: Vec<NumstatEntry>,
    /// Whether the listing could be read to its end; if not, it was read to the first record that isn't one.
    pub extent: Extent,
}

/// The changes of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumstatEntry {
    /// Its bytes, as whoever made the repository chose them; after a rename, the new ones.
    pub path: Vec<u8>,
    /// Lines added and removed; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// Reads a numstat listing as far as it can be read.
#[must_use]
pub fn parse_numstat(bytes: &[u8]) -> NumstatListing {
    let mut listing = NumstatListing { entries: Vec::new(), extent: Extent::Whole };
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some((entry, after)) = record(rest) else {
            listing.extent = Extent::Cut;
            break;
        };
        listing.entries.push(entry);
        rest = after;
    }
    listing
}

fn record(bytes: &[u8]) -> Option<(NumstatEntry, &[u8])> {
    let (added, rest) = split(bytes, b'\t')?;
    let (removed, rest) = split(rest, b'\t')?;
    let lines = match (added, removed) {
        (b"-", b"-") => None,
        _ => Some((number(added)?, number(removed)?)),
    };
    let (path, rest) = match field(rest)? {
        (b"", renamed) => {
            let (from, to) = field(renamed)?;
            if from.is_empty() {
                return None;
            }
            field(to)?
        }
        plain => plain,
    };
    (!path.is_empty()).then(|| (NumstatEntry { path: path.to_vec(), lines }, rest))
}
