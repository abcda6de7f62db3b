//! Persons' judgements of signals.

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;

use super::values::{ReadFault, all_rows, column_value};
use crate::Store;
use crate::error::Error;
use crate::record::Project;
use crate::sql::Row;

/// The judgement of a signal that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgementRow {
    /// The signal.
    pub id: SignalRevision,
    /// The actor that judged, as stored.
    pub actor: String,
    /// When the person judged.
    pub at: Time,
    /// How much it matters, as it is stored.
    pub importance: String,
    /// How much it mattered before any person judged it, as it is stored.
    pub before: String,
    /// The signal's category, as stored.
    pub category: String,
    /// The address of the stakeholder who sent it. Empty for everybody else.
    pub sender: String,
    /// The person's own words. `None` without any, and once they are gone.
    pub note: Option<String>,
}

impl Store {
    /// The last judgement of each signal of a project that persons judged, in the order in which they were written.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn signal_judgements(&self, project: &Project) -> Result<Vec<JudgementRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = "SELECT j.id, j.revision, j.actor, j.at, j.importance, j.category, j.sender, j.note, \
                       (SELECT f.before FROM signal_judgements f WHERE (f.project, f.id, f.revision) = \
                       (j.project, j.id, j.revision) ORDER BY f.seq LIMIT 1) AS before \
                       FROM signal_judgements j WHERE j.project = ?1 AND j.seq IN (SELECT max(seq) \
                       FROM signal_judgements WHERE project = ?1 GROUP BY id, revision) ORDER BY j.seq";
            all_rows(reader, sql, [&project.0], judgement)
        })
        .await
    }
}

fn judgement(row: &Row<'_>) -> Result<JudgementRow, ReadFault> {
    Ok(JudgementRow {
        id: SignalRevision { id: column_value(row, "id")?, revision: column_value(row, "revision")? },
        actor: column_value(row, "actor")?,
        at: Time(column_value(row, "at")?),
        importance: column_value(row, "importance")?,
        before: column_value(row, "before")?,
        category: column_value(row, "category")?,
        sender: column_value(row, "sender")?,
        note: column_value(row, "note")?,
    })
}
