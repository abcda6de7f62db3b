//! Texts and other bytes, each kept once.

use crate::error::Error;
use crate::record::HashedContent;
use crate::sql::Tables;

/// Writes contents that aren't there. Those of which only the hash is to be kept are none.
pub(super) fn write_contents<'c>(
    tables: &Tables,
    contents: impl IntoIterator<Item = &'c HashedContent>,
) -> Result<(), Error> {
    for HashedContent { hash, bytes } in contents {
        // Most are there already, and to look for credentials in them once more would cost the most.
        let is_there = || tables.row("SELECT 1 FROM contents WHERE hash = ?", [hash], |_| Ok(()));
        if let Some(bytes) = bytes
            && is_there()?.is_none()
        {
            tables
                .execute("INSERT INTO contents (hash, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING", (hash, &**bytes))?;
        }
    }
    Ok(())
}
