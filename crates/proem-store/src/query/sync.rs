//! How far the sources of signals were read.

use proem_engine::run::Time;

use super::actions::read_optional_time;
use super::values::{all_rows, column_value};
use crate::Store;
use crate::error::Error;
use crate::record::Project;

/// How far a source of signals was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncSourceRow {
    /// The source, by the name that the user's configuration gives it.
    pub source: String,
    /// The time of the last reading.
    pub at: Time,
    /// The place where the next reading goes on, as JSON.
    pub cursor: String,
    /// The time when everything was last read. `None` before that.
    pub ended: Option<Time>,
    /// Why the last reading broke off, in words of ours. `None` if it did not.
    pub failure: Option<String>,
}

impl Store {
    /// The sources of a project that were ever read, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn sync_sources(&self, project: &Project) -> Result<Vec<SyncSourceRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = "SELECT source, at, cursor, ended, failure FROM sync_sources WHERE project = ? ORDER BY source";
            all_rows(reader, sql, [&project.0], |row| {
                Ok(SyncSourceRow {
                    source: column_value(row, "source")?,
                    at: Time(column_value(row, "at")?),
                    cursor: column_value(row, "cursor")?,
                    ended: read_optional_time(row, "ended")?,
                    failure: column_value(row, "failure")?,
                })
            })
        })
        .await
    }
}
