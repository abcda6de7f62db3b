//! How far a source of signals was read.

use proem_engine::run::Time;

use crate::error::Error;
use crate::failpoint;
use crate::record::{Actor, Project};
use crate::sql::{Transaction, Write};
use crate::store::Store;

/// How far a source of signals was read. It replaces what was known of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncProgress {
    /// Of which project.
    pub project: Project,
    /// The source, by the name that the user's configuration gives it.
    pub source: String,
    /// The actor that reads.
    pub actor: Actor,
    /// The time of the reading.
    pub at: Time,
    /// The place where the next reading goes on, as JSON. Everything before it must be stored already.
    pub cursor: String,
    /// The end of the source, if it was reached at `at`.
    pub end: SyncEnd,
}

/// The end of a reading of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncEnd {
    /// There is more.
    Open,
    /// Everything was read.
    Reached,
    /// It broke off, for a reason in words of ours.
    Failed(String),
}

impl Store {
    /// Keeps how far a source was read. Signals are taken in before, so that an end in between means that some of them
    /// are read again, never that one is missed.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn keep_sync_progress(&self, progress: SyncProgress) -> Result<(), Error> {
        failpoint::beside("before", "sync-progress");
        self.write(progress).await?;
        failpoint::beside("after", "sync-progress");
        Ok(())
    }
}

impl Write for SyncProgress {
    type Answer = ();
    const NAME: &'static str = "keep-sync-progress";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.at).0;
        let (ended, failure) = match &self.end {
            SyncEnd::Open => (None, None),
            SyncEnd::Reached => (Some(at), None),
            SyncEnd::Failed(why) => (None, Some(why)),
        };
        // An end that was reached once stays known until the next one.
        to.tables.execute(
            "INSERT INTO sync_sources (project, source, actor, at, cursor, ended, failure) VALUES (?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (project, source) DO UPDATE SET actor = excluded.actor, at = excluded.at, \
             cursor = excluded.cursor, ended = coalesce(excluded.ended, sync_sources.ended), failure = excluded.failure",
            (&self.project.0, &self.source, self.actor.to_string(), at, &self.cursor, ended, failure),
        )?;
        Ok(())
    }
}
