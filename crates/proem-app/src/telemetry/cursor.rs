//! Up to where an endpoint has the runs of a project.
//!
//! The cursor is kept in the records, so machines that share them share it.

use proem_engine::run::Time;
use proem_runtime::Environment;
use proem_store::query::RunPosition;
use proem_store::record::{Project as Owner, RunId};
use proem_store::{Store, SyncEnd, SyncProgress};
use serde::{Deserialize, Serialize};

use super::SpanExport;
use crate::error::Error;
use crate::places::Channel;
use crate::project::OpenProject;
use crate::records::{actor, records_owner};
use crate::when;

/// The oldest run that still waits, in milliseconds.
pub(super) const MOST_AGE: i64 = 7 * when::DAY;

/// The most runs of a project that wait for an endpoint.
pub(super) const MOST_WAITING: u64 = 10_000;

/// The most unfinished runs that are remembered: each is looked at with every export.
pub(super) const MOST_UNFINISHED: usize = 1_000;

/// Up to where an endpoint has everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExportCursor {
    /// The place behind the last run that was looked at.
    pub(super) position: RunPosition,
    /// Runs before that place which had not ended, the oldest first.
    pub(super) unfinished: Vec<RunId>,
    /// The runs that were too old or too many, since the first export.
    pub(super) dropped: u64,
    /// The spans that the endpoint refused, since the first export.
    pub(super) rejected: u64,
    /// Nothing is sent before this time, because the endpoint failed.
    pub(super) retry: Option<Time>,
}

/// The cursor of a project at an endpoint, with where it is kept.
pub(super) struct CursorPlace {
    pub(super) owner: Owner,
    pub(super) channel: Channel,
    /// The endpoint, as the name of a source in the records.
    name: String,
}

impl CursorPlace {
    pub(super) fn new(owner: Owner, channel: Channel, url: &str) -> Self {
        Self { owner, channel, name: cursor_name(url) }
    }

    /// Reads the cursor. The first time, everything that started before `began` counts as sent.
    pub(super) async fn load(&self, store: &Store, began: Time) -> Result<ExportCursor, Error> {
        let rows = store.sync_sources(&self.owner).await?;
        if let Some(row) = rows.into_iter().find(|row| row.source == self.name) {
            // A cursor of another form is as good as none: spans that are sent twice do no harm.
            return Ok(serde_json::from_str(&row.cursor).unwrap_or_default());
        }
        let before = store.run_backlog(&self.owner, RunPosition::default(), began, u64::MAX).await?;
        Ok(ExportCursor { position: before.behind, ..ExportCursor::default() })
    }

    pub(super) async fn keep(&self, store: &Store, cursor: &ExportCursor, end: SyncEnd) -> Result<(), Error> {
        let cursor = serde_json::to_value(cursor).map_err(|error| Error::bug("could not write a cursor", error))?;
        let progress = SyncProgress {
            project: self.owner.clone(),
            source: self.name.clone(),
            actor: actor(&Environment::inherited(), self.channel),
            at: when::time_now(),
            cursor: proem_text::json::compact(&cursor),
            end,
        };
        Ok(store.keep_sync_progress(progress).await?)
    }
}

/// The name of an endpoint's cursor among those of signal sources, whose names have no colon.
fn cursor_name(url: &str) -> String {
    format!("otlp:{url}")
}

/// How far the runs of a project were exported to the endpoint of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportProgress {
    /// When everything was last sent. `None` before that.
    pub complete: Option<Time>,
    /// Why the last export broke off. `None` if it did not.
    pub failure: Option<String>,
    /// The runs that wait, unfinished ones included.
    pub waiting: u64,
    /// The runs that were dropped since the first export, because they were too old or too many.
    pub dropped: u64,
    /// The spans that the endpoint refused since the first export.
    pub rejected: u64,
}

/// How far the runs of a project were exported to an endpoint. `None` before the first export.
///
/// # Errors
///
/// If the records can't be read.
pub async fn export_progress(
    store: &Store,
    project: &OpenProject,
    export: &SpanExport,
) -> Result<Option<ExportProgress>, Error> {
    let owner = records_owner(project);
    let name = cursor_name(export.target.endpoint.url());
    let Some(row) = store.sync_sources(&owner).await?.into_iter().find(|row| row.source == name) else {
        return Ok(None);
    };
    let cursor: ExportCursor = serde_json::from_str(&row.cursor).unwrap_or_default();
    let oldest = Time(when::time_now().0.saturating_sub(MOST_AGE));
    let behind = store.run_backlog(&owner, cursor.position, oldest, MOST_WAITING).await?;
    let unfinished = u64::try_from(cursor.unfinished.len()).unwrap_or(u64::MAX);
    Ok(Some(ExportProgress {
        complete: row.ended,
        failure: row.failure,
        waiting: behind.waiting.saturating_add(unfinished),
        dropped: cursor.dropped.saturating_add(behind.dropped),
        rejected: cursor.rejected,
    }))
}
