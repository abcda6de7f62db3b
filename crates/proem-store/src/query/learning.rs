//! The inputs of learning: results and failures.

use proem_engine::profile::{Issue, ResultRecord};
use proem_engine::run::Time;
use serde::{Deserialize, Serialize};

use super::values::{ReadFault, all_rows, column_json, column_value, column_word};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, RunId};
use crate::sql::{Row, Tables};

/// A failure that is learned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRow {
    /// The run that it belongs to.
    pub run: RunId,
    /// The recorded result.
    pub recorded: ResultRecord,
    /// The source that found it.
    pub found: FailureSource,
    /// When it was cleared.
    pub cleared: Option<Time>,
}

/// The source that found a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureSource {
    /// Code, in an answer.
    Answer,
    /// A person, who said so.
    Person,
}

impl Store {
    /// Failures of a project, the newest first, cleared ones too. `agent` narrows them.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn failures(&self, project: &Project, agent: Option<&str>) -> Result<Vec<FailureRow>, Error> {
        let (project, agent) = (project.clone(), agent.map(str::to_owned));
        self.read(move |reader, _site| failures(reader, &project, agent.as_deref())).await
    }

    /// Results of an agent in a project that are not older than `since`, oldest first, without
    /// cleared failures: what a profile is made from.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn history(&self, project: &Project, agent: &str, since: Time) -> Result<Vec<ResultRecord>, Error> {
        let (project, agent) = (project.clone(), agent.to_owned());
        self.read(move |reader, _site| read_history(reader, &project, &agent, since)).await
    }
}

pub(crate) fn failures(reader: &Tables, project: &Project, agent: Option<&str>) -> Result<Vec<FailureRow>, ReadFault> {
    all_rows(
        reader,
        "SELECT run, at, agent, kind, issue, source, cleared FROM failures \
         WHERE project = ?1 AND (?2 IS NULL OR agent = ?2) ORDER BY at DESC, seq DESC",
        (&project.0, agent),
        |row| {
            let issue = column_json::<Issue>(row, "issue")?;
            Ok(FailureRow {
                run: RunId(column_value(row, "run")?),
                recorded: read_result(row, issue)?,
                found: column_word(row, "source")?,
                cleared: column_value::<Option<i64>>(row, "cleared")?.map(Time),
            })
        },
    )
}

pub(crate) fn read_history(
    reader: &Tables,
    project: &Project,
    agent: &str,
    since: Time,
) -> Result<Vec<ResultRecord>, ReadFault> {
    all_rows(
        reader,
        "SELECT o.run, o.at, o.agent, o.kind, o.quality, o.completeness, o.risks FROM outcomes o \
         WHERE o.project = ? AND o.agent = ? AND o.at >= ? \
         AND NOT EXISTS (SELECT 1 FROM failures f \
         WHERE (f.run, f.agent, f.source) = (o.run, o.agent, o.source) AND f.cleared IS NOT NULL) \
         ORDER BY o.at, o.run",
        (&project.0, agent, since.0),
        |row| {
            let issue = Issue {
                quality: column_word(row, "quality")?,
                completeness: column_word(row, "completeness")?,
                risks: column_json(row, "risks")?,
            };
            read_result(row, issue)
        },
    )
}

fn read_result(row: &Row<'_>, issue: Issue) -> Result<ResultRecord, ReadFault> {
    Ok(ResultRecord {
        run: column_value(row, "run")?,
        at: Time(column_value(row, "at")?),
        kind: column_value(row, "kind")?,
        agent: column_value(row, "agent")?,
        issue,
    })
}
