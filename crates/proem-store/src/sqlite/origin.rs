//! The owner of a store.

use proem_guard::InstallationKey;
use proem_text::hex;

use super::place;
use crate::error::Error;
use crate::opening::StoreCreator;
use crate::sql::{DatabaseKind, Tables};

/// A seal about that store that only the installation with this key can write.
pub(crate) fn creator_seal(key: &InstallationKey, id: &str) -> String {
    hex::encode_hex(key.seal("proem store", id.as_bytes()))
}

/// The store's own id. Empty if it says none.
pub(crate) fn store_id(tables: &Tables) -> Result<String, Error> {
    let id = tables.row("SELECT value FROM meta WHERE key = 'store_id'", [], |row| row.get(0))?;
    Ok(id.unwrap_or_default())
}

pub(crate) fn creator_of_store(tables: &Tables, key: &InstallationKey) -> Result<StoreCreator, Error> {
    let sealed: Option<(String, String)> = tables.row(
        "SELECT id.value, seal.value FROM meta id, meta seal WHERE id.key = 'store_id' AND seal.key = 'seal'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let own = sealed.is_some_and(|(id, found)| creator_seal(key, &id) == found);
    Ok(if own { StoreCreator::Own } else { StoreCreator::Foreign })
}

/// Writes down beside a store that it is there.
pub(crate) fn note_store_beside(tables: &Tables) -> Result<(), Error> {
    match tables.kind() {
        DatabaseKind::File => place::mark_store_id(tables.path(), &store_id(tables)?),
        // A server's database is no file that somebody empties.
        DatabaseKind::Server => Ok(()),
    }
}
