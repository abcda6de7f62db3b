//! Texts and other bytes, each kept once.

use crate::error::Error;
use crate::record::Content;
use crate::sqlite::Tables;

/// Writes contents that aren't there; those of which only the hash is to be kept are none.
pub(super) fn contents<'c>(tables: &Tables, contents: impl IntoIterator<Item = &'c Content>) -> Result<(), Error> {
    for Content { hash, bytes } in contents {
        if let Some(bytes) = bytes {
            tables.execute("INSERT OR IGNORE INTO contents (hash, bytes) VALUES (?, ?)", (hash, &**bytes))?;
        }
    }
    Ok(())
}
