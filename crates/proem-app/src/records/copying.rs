//! Copying all records between the file in the user's state and a database.

use std::fmt;

use proem_runtime::installation_key;
use proem_store::{CopyProgress, CopySummary, StoreCopy};

use super::location::{RecordsDatabase, RecordsLocation};
use crate::error::Error;
use crate::project::OpenProject;

/// Where a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyDirection {
    /// From the file to a database.
    ToDatabase,
    /// From a database to the file.
    FromDatabase,
}

/// A copy that is about to be made.
#[derive(Debug)]
pub struct RecordsCopy {
    copy: StoreCopy,
    to: RecordsLocation,
}

impl RecordsCopy {
    /// A copy between the file in the user's state and the database at an address. Its password is where
    /// `store.password` says.
    ///
    /// # Errors
    ///
    /// If the address is wrong, its password can't be loaded, this build reaches no database, or there is no key.
    pub fn prepare(project: &OpenProject, direction: CopyDirection, url: &str) -> Result<Self, Error> {
        let places = &project.places;
        let file = RecordsLocation::File(places.records());
        let (flag, is_to) = match direction {
            CopyDirection::ToDatabase => ("`--to`", true),
            CopyDirection::FromDatabase => ("`--from`", false),
        };
        let database = RecordsLocation::Database(RecordsDatabase::parse(flag, url, places, &project.config)?);
        let (from, to) = if is_to { (file, database) } else { (database, file) };
        let key = installation_key(&places.key())?;
        Ok(Self { copy: StoreCopy { from: from.in_store(), to: to.in_store(), key }, to })
    }

    /// Copies, and waits for it. Must not be called by a task of a runtime.
    ///
    /// # Errors
    ///
    /// Those of [`StoreCopy::run`].
    pub fn run(&self, progress: &mut dyn FnMut(CopyProgress<'_>)) -> Result<CopySummary, Error> {
        Ok(self.copy.run(progress)?)
    }

    /// The place that gets the records.
    #[must_use]
    pub fn target(&self) -> impl fmt::Display {
        &self.to
    }
}
