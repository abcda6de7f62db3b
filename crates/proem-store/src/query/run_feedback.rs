//! Feedback on runs of one kind, with the settings the runs were started with.

use proem_engine::run::Time;
use serde_json::Value as Json;

use super::detail::{FeedbackRow, feedback_row};
use super::values::{ReadFault, all_rows, column_json, column_value};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, RunId};
use crate::sql::Tables;

/// A person's feedback on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRow {
    /// The run that was judged.
    pub run: RunId,
    /// The settings that it was started with.
    pub settings: Json,
    /// The person's judgement, with its time.
    pub feedback: FeedbackRow,
}

impl Store {
    /// The feedback on a project's runs of a kind since a time, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn judged(&self, project: &Project, kind: &str, since: Time) -> Result<Vec<JudgedRow>, Error> {
        let (project, kind) = (project.clone(), kind.to_owned());
        self.read(move |reader, _site| read_judged_runs(reader, &project, &kind, since)).await
    }
}

fn read_judged_runs(reader: &Tables, project: &Project, kind: &str, since: Time) -> Result<Vec<JudgedRow>, ReadFault> {
    all_rows(
        reader,
        "SELECT f.run, r.settings, f.at, f.actor, f.verdict, f.note FROM feedback f JOIN runs r ON r.id = f.run \
         WHERE f.project = ? AND r.kind = ? AND f.at >= ? ORDER BY f.at, f.seq",
        (&project.0, kind, since.0),
        |row| {
            let feedback = feedback_row(row)?;
            Ok(JudgedRow { run: RunId(column_value(row, "run")?), settings: column_json(row, "settings")?, feedback })
        },
    )
}
