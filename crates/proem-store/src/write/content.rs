//! Texts and other bytes, each kept once.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::record::HashedContent;
use crate::sql::{Tables, ToBound as _};

/// Writes contents that aren't there. Those of which only the hash is to be kept are none.
pub(super) fn write_contents<'c>(
    tables: &Tables,
    contents: impl IntoIterator<Item = &'c HashedContent>,
) -> Result<(), Error> {
    let with_bytes = |content: &'c HashedContent| Some((&*content.hash, content.bytes.as_deref()?));
    let mut missing: BTreeMap<&str, &[u8]> = contents.into_iter().filter_map(with_bytes).collect();
    // Most are there already, and to look for credentials in them once more would cost the most.
    let is_there = ("SELECT hash FROM contents WHERE hash IN (", ")");
    let asked: Vec<_> = missing.keys().map(|hash| vec![hash.to_bound()]).collect();
    for known in tables.rows_about(is_there, asked, |row| row.get::<_, String>(0))? {
        missing.remove(&*known);
    }
    insert_contents(tables, missing)
}

/// Writes contents of which most are not there, by their hashes.
pub(super) fn insert_contents<'c>(
    tables: &Tables,
    contents: impl IntoIterator<Item = (&'c str, &'c [u8])>,
) -> Result<(), Error> {
    let lines = contents.into_iter().map(|(hash, bytes)| vec![hash.to_bound(), bytes.to_bound()]).collect();
    tables.insert_lines("INSERT INTO contents (hash, bytes)", lines, " ON CONFLICT DO NOTHING")
}
