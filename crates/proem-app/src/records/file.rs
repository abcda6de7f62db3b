//! The file that runs are recorded in, as a whole: who made it, what is in it, and what a person may change of it.

use proem_engine::run::Time;
use proem_store::query::{StatusRow, WitnessList};
use proem_store::{AdoptionCounts, Store, StoreAccess, StoreCreator};

use super::{open_records, records_location};
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::operator::Operator;
use crate::project::OpenProject;
use crate::when;

/// The file of the records, open.
#[derive(Debug)]
pub struct RecordsFile {
    /// The store's creator.
    pub origin: StoreCreator,
    /// Its contents.
    pub status: StatusRow,
    /// The effects that its witness knows.
    pub witness: WitnessList,
    store: Store,
}

impl RecordsFile {
    /// Opens it. `None` if there is none. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If it can't be opened or read.
    pub async fn open(
        project: &OpenProject,
        access: StoreAccess,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Self>, Error> {
        if !records_location(project)?.may_hold_records() {
            return Ok(None);
        }
        let opened = open_records(project, access).await?;
        if opened.is_blank {
            opened.store.close().await;
            return Ok(None);
        }
        notes.extend(opened.notes.into_iter().map(|words| Note::new(NoteKind::Records, words)));
        let status = opened.store.status().await?;
        let witness = opened.store.witness_list().await?;
        Ok(Some(Self { origin: opened.origin, status, witness, store: opened.store }))
    }

    /// Takes it over from the installation that made it, with what its witness knows, and closes it.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub async fn adopt(self, operator: &Operator) -> Result<AdoptionCounts, Error> {
        let done = self.store.adopt(operator.actor().clone(), when::time_now()).await;
        self.store.close().await;
        Ok(done?)
    }

    /// Sets the time that was last seen back to `now`, and closes it.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub async fn reset_clock(self, operator: &Operator, now: Time) -> Result<(), Error> {
        let done = self.store.reset_clock(operator.actor().clone(), now).await;
        self.store.close().await;
        Ok(done?)
    }

    /// Waits until all that was handed over is written, and lets the file go.
    pub async fn close(self) {
        self.store.close().await;
    }
}
