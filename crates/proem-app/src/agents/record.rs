//! A record that a run is read back from.

use proem_runtime::installation_key;
use proem_store::Store;
use proem_store::query::RunDetail;

use crate::error::Error;
use crate::places::Places;

/// A record that a run is read back from.
#[derive(Debug, Clone, Copy)]
pub struct RunRecord<'r> {
    /// The store of the record.
    pub store: &'r Store,
    /// The record of the run.
    pub detail: &'r RunDetail,
    /// The folders of this user's files, the installation's key among them.
    pub places: &'r Places,
}

impl RunRecord<'_> {
    /// The id of the installation's key today.
    ///
    /// # Errors
    ///
    /// If there is none that can be used.
    pub fn key(&self) -> Result<String, Error> {
        Ok(installation_key(&self.places.key())?.id())
    }
}
