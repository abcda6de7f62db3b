//! What persons said of runs of one kind, with what the runs were started with.

use proem_engine::run::Time;
use serde_json::Value as Json;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::detail::FeedbackRow;
use super::values::{Fault, get, json};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, RunId};

/// What a person said of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRow {
    /// The run.
    pub run: RunId,
    /// What it was started with.
    pub settings: Json,
    /// What was said.
    pub feedback: FeedbackRow,
}

impl Store {
    /// What was said of a project's runs of a kind since a time, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn judged(&self, project: &Project, kind: &str, since: Time) -> Result<Vec<JudgedRow>, Error> {
        let mut reader = self.sqlite.reader().await?;
        judged(&mut reader, project, kind, since).await.map_err(|fault| self.failed(fault))
    }
}

pub(crate) async fn judged(
    reader: &mut SqliteConnection,
    project: &Project,
    kind: &str,
    since: Time,
) -> Result<Vec<JudgedRow>, Fault> {
    let rows = sqlx::query(
        "SELECT f.run, r.settings, f.at, f.actor, f.verdict, f.note FROM feedback f JOIN runs r ON r.id = f.run \
         WHERE f.project = ? AND r.kind = ? AND f.at >= ? ORDER BY f.at, f.seq",
    )
    .bind(&project.0)
    .bind(kind)
    .bind(since.0)
    .fetch_all(reader)
    .await?;
    let read = |row: &SqliteRow| {
        let feedback = FeedbackRow {
            at: Time(get(row, "at")?),
            actor: get(row, "actor")?,
            verdict: get(row, "verdict")?,
            note: get(row, "note")?,
        };
        Ok(JudgedRow { run: RunId(get(row, "run")?), settings: json(row, "settings")?, feedback })
    };
    rows.iter().map(read).collect()
}
