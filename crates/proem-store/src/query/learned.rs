//! What is learned from: results and failures.

use proem_engine::profile::{Issue, Recorded};
use proem_engine::run::Time;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::values::{Fault, get, json, word};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, RunId};

/// A failure that is learned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRow {
    /// Which run.
    pub run: RunId,
    /// What was recorded.
    pub recorded: Recorded,
    /// Who found it.
    pub found: Found,
    /// When it was cleared.
    pub cleared: Option<Time>,
}

/// Who found a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// Code, in an answer.
    Answer,
    /// A person, who said so.
    Person,
}

impl Store {
    /// Failures of a project, the newest first, cleared ones too; `agent` narrows them.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn failures(&self, project: &Project, agent: Option<&str>) -> Result<Vec<FailureRow>, Error> {
        let mut reader = self.sqlite.reader().await?;
        failures(&mut reader, project, agent).await.map_err(|fault| self.failed(fault))
    }

    /// Results of an agent in a project that are not older than `since`, oldest first, without
    /// cleared failures: what a profile is made from.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn history(&self, project: &Project, agent: &str, since: Time) -> Result<Vec<Recorded>, Error> {
        let mut reader = self.sqlite.reader().await?;
        history(&mut reader, project, agent, since).await.map_err(|fault| self.failed(fault))
    }
}

pub(crate) async fn failures(
    reader: &mut SqliteConnection,
    project: &Project,
    agent: Option<&str>,
) -> Result<Vec<FailureRow>, Fault> {
    let rows = sqlx::query(
        "SELECT run, at, agent, kind, issue, source, cleared FROM failures \
         WHERE project = ?1 AND (?2 IS NULL OR agent = ?2) ORDER BY at DESC, seq DESC",
    )
    .bind(&project.0)
    .bind(agent)
    .fetch_all(reader)
    .await?;
    let read = |row: &SqliteRow| {
        let issue = json::<Issue>(row, "issue")?;
        Ok(FailureRow {
            run: RunId(get(row, "run")?),
            recorded: recorded(row, issue)?,
            found: word("source", get(row, "source")?)?,
            cleared: get::<Option<i64>>(row, "cleared")?.map(Time),
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn history(
    reader: &mut SqliteConnection,
    project: &Project,
    agent: &str,
    since: Time,
) -> Result<Vec<Recorded>, Fault> {
    let rows = sqlx::query(
        "SELECT o.run, o.at, o.agent, o.kind, o.quality, o.completeness, o.risks FROM outcomes o \
         WHERE o.project = ? AND o.agent = ? AND o.at >= ? \
         AND NOT EXISTS (SELECT 1 FROM failures f \
         WHERE (f.run, f.agent, f.source) = (o.run, o.agent, o.source) AND f.cleared IS NOT NULL) \
         ORDER BY o.at, o.run",
    )
    .bind(&project.0)
    .bind(agent)
    .bind(since.0)
    .fetch_all(reader)
    .await?;
    let read = |row: &SqliteRow| {
        let issue = Issue {
            quality: word("quality", get(row, "quality")?)?,
            completeness: word("completeness", get(row, "completeness")?)?,
            risks: json(row, "risks")?,
        };
        recorded(row, issue)
    };
    rows.iter().map(read).collect()
}

fn recorded(row: &SqliteRow, issue: Issue) -> Result<Recorded, Fault> {
    Ok(Recorded {
        run: get(row, "run")?,
        at: Time(get(row, "at")?),
        kind: get(row, "kind")?,
        agent: get(row, "agent")?,
        issue,
    })
}
