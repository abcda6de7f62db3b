//! Texts and other bytes, each kept once.

use crate::error::Error;
use crate::record::HashedContent;
use crate::sqlite::Tables;

/// Writes contents that aren't there; those of which only the hash is to be kept are none.
pub(super) fn contents<'c>(
    tables: &Tables,
    contents: impl IntoIterator<Item = &'c HashedContent>,
) -> Result<(), Error> {
    for HashedContent { hash, bytes } in contents {
        if let Some(bytes) = bytes {
            tables.execute("INSERT OR IGNORE INTO contents (hash, bytes) VALUES (?, ?)", (hash, &**bytes))?;
        }
    }
    Ok(())
}
