//! Recent finished actions, newest first, whatever is still due.

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::actions::{COLUMNS, limit, read_action_row as action};
use super::escalations::{COLUMNS as ESCALATIONS, fill_escalation, read_escalation_row as escalation};
use super::triage::{SIGNALS, read_signal_row};
use super::values::all_rows;
use super::{ActionRow, EscalationRow, SignalRow};
use crate::Store;
use crate::error::Error;
use crate::record::Project;

impl Store {
    /// Actions of a project that were proposed since a time, the newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn actions_since(&self, project: &Project, since: Time, most: u64) -> Result<Vec<ActionRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = format!(
                "SELECT {COLUMNS} WHERE a.project = ? AND a.created >= ? ORDER BY a.created DESC, a.key LIMIT ?"
            );
            all_rows(reader, &sql, (&project.0, since.0, limit(Some(most))), action)
        })
        .await
    }

    /// Actions of a project that have ended, the last one first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn ended_actions(&self, project: &Project, most: u64) -> Result<Vec<ActionRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = format!(
                "SELECT {COLUMNS} WHERE a.project = ? AND a.ended IS NOT NULL ORDER BY a.ended DESC, a.key LIMIT ?"
            );
            all_rows(reader, &sql, (&project.0, limit(Some(most))), action)
        })
        .await
    }

    /// Escalations of a project that a person decided, the last one first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn decided_escalations(&self, project: &Project, most: u64) -> Result<Vec<EscalationRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = format!("{ESCALATIONS} WHERE project = ? AND state = 'decided' ORDER BY ended DESC, id LIMIT ?");
            let found = all_rows(reader, &sql, (&project.0, limit(Some(most))), escalation)?;
            found.into_iter().map(|row| fill_escalation(reader, row)).collect()
        })
        .await
    }

    /// Those signals of a project that are kept, in the order in which they came.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn signals_named(&self, project: &Project, names: &[SignalRevision]) -> Result<Vec<SignalRow>, Error> {
        let project = project.clone();
        let names: Vec<_> = names.iter().map(|name| json!([name.id, name.revision])).collect();
        let names = compact(&json!(names));
        self.read(move |reader, _site| {
            let sql = format!(
                "{SIGNALS} WHERE s.project = ? AND (s.id, s.revision) IN \
                 (SELECT value ->> 0, value ->> 1 FROM json_each(?)) ORDER BY s.seq"
            );
            all_rows(reader, &sql, (&project.0, names), read_signal_row)
        })
        .await
    }
}
