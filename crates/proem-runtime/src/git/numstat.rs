//! Reads `git diff --numstat -z`.
//!
//! A record is `added TAB removed TAB path NUL`, or `added TAB removed TAB NUL from NUL to NUL` for a rename. Both
//! counts are `-` where git counts no lines (git-diff(1), "Other diff formats").

use crate::{
    Extent,
    git::status::{decimal_number, nul_field, split_at_byte},
};

/// The contents of a numstat listing.
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
    /// Its bytes, as whoever made the repository chose them. After a rename, the new ones.
    pub path: Vec<u8>,
    /// Lines added and removed. `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// Reads a numstat listing as far as it can be read.
#[must_use]
pub fn parse_numstat(bytes: &[u8]) -> NumstatListing {
    let mut listing = NumstatListing { entries: Vec::new(), extent: Extent::Whole };
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some((entry, after)) = numstat_record(rest) else {
            listing.extent = Extent::Cut;
            break;
        };
        listing.entries.push(entry);
        rest = after;
    }
    listing
}

fn numstat_record(bytes: &[u8]) -> Option<(NumstatEntry, &[u8])> {
    let (added, rest) = split_at_byte(bytes, b'\t')?;
    let (removed, rest) = split_at_byte(rest, b'\t')?;
    let lines = match (added, removed) {
        (b"-", b"-") => None,
        _ => Some((decimal_number(added)?, decimal_number(removed)?)),
    };
    let (path, rest) = match nul_field(rest)? {
        (b"", renamed) => {
            let (from, to) = nul_field(renamed)?;
            if from.is_empty() {
                return None;
            }
            nul_field(to)?
        }
        plain => plain,
    };
    (!path.is_empty()).then(|| (NumstatEntry { path: path.to_vec(), lines }, rest))
}
