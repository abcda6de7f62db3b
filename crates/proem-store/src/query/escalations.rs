//! Escalations with their options and decisions.

use proem_engine::effect::key::EffectKey;
use proem_engine::run::Time;

use super::values::{ReadFault, all_rows, column_value, column_word, digest_or_null, first_row};
use crate::Store;
use crate::error::Error;
use crate::record::{EscalationId, EscalationOption, EscalationState, Project};
use crate::sql::{Row, Tables};

/// One question to a person as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationRow {
    /// The id by which a person answers it.
    pub id: EscalationId,
    /// Of which project it is.
    pub project: Project,
    /// The actor that asks, as stored.
    pub actor: String,
    /// Since when.
    pub at: Time,
    /// The action that it is about.
    pub action: Option<EffectKey>,
    /// Why a person has to decide. Empty once its texts are gone.
    pub reason: String,
    /// How pressing it is.
    pub sensitivity: String,
    /// Until when it should be decided.
    pub deadline: Option<Time>,
    /// Open, answered or expired.
    pub state: EscalationState,
    /// When it was decided or withdrawn.
    pub ended: Option<Time>,
    /// The possible decisions, in order. Empty once its texts are gone.
    pub options: Vec<EscalationOption>,
    /// The decision, once there is one.
    pub decision: Option<DecisionRow>,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// The actor, as stored.
    pub actor: String,
    /// When the person decided.
    pub at: Time,
    /// The option's id.
    pub option: String,
    /// The person's own words.
    pub words: String,
}

pub(super) const COLUMNS: &str =
    "SELECT id, project, actor, at, action, reason, sensitivity, deadline, state, ended FROM escalations";

impl Store {
    /// Escalations of a project, those with the nearest deadline first. `state` narrows them.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn escalations(
        &self,
        project: &Project,
        state: Option<EscalationState>,
    ) -> Result<Vec<EscalationRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = format!("{COLUMNS} WHERE project = ? ORDER BY deadline IS NULL, deadline, at, id");
            let found = all_rows(reader, &sql, [&project.0], read_escalation_row)?;
            let found = found.into_iter().filter(|row| state.is_none_or(|state| state == row.state));
            found.map(|row| fill_escalation(reader, row)).collect()
        })
        .await
    }

    /// An escalation.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an escalation, [`Error::Unusable`].
    pub async fn escalation(&self, project: &Project, id: &EscalationId) -> Result<EscalationRow, Error> {
        let (project, id) = (project.clone(), id.clone());
        self.read(move |reader, _site| {
            let found = first_row(
                reader,
                &format!("{COLUMNS} WHERE (project, id) = (?, ?)"),
                (&project.0, &id.0),
                read_escalation_row,
            )?;
            let missing = || {
                ReadFault::Missing(format!("no escalation has the id `{}` here; look at those there are", id.0).into())
            };
            fill_escalation(reader, found.ok_or_else(missing)?)
        })
        .await
    }
}

/// An escalation's own line.
pub(super) fn read_escalation_row(row: &Row<'_>) -> Result<EscalationRow, ReadFault> {
    Ok(EscalationRow {
        id: EscalationId(column_value(row, "id")?),
        project: Project(column_value(row, "project")?),
        actor: column_value(row, "actor")?,
        at: Time(column_value(row, "at")?),
        action: digest_or_null(row, "action")?.map(EffectKey::of_bytes),
        reason: column_value(row, "reason")?,
        sensitivity: column_value(row, "sensitivity")?,
        deadline: column_value::<Option<i64>>(row, "deadline")?.map(Time),
        state: column_word(row, "state")?,
        ended: column_value::<Option<i64>>(row, "ended")?.map(Time),
        options: Vec::new(),
        decision: None,
    })
}

/// The same with its options and its decision.
pub(super) fn fill_escalation(reader: &Tables, mut row: EscalationRow) -> Result<EscalationRow, ReadFault> {
    let of = (&row.project.0, &row.id.0);
    row.options = all_rows(
        reader,
        "SELECT o.id, o.label, CAST(c.bytes AS TEXT) AS form FROM escalation_options o \
         LEFT JOIN contents c ON c.hash = o.form WHERE (o.project, o.escalation) = (?, ?) ORDER BY o.place",
        of,
        |row| {
            Ok(EscalationOption {
                id: column_value(row, "id")?,
                label: column_value(row, "label")?,
                action: column_value(row, "form")?,
            })
        },
    )?;
    row.decision = first_row(
        reader,
        "SELECT actor, at, option, words FROM decisions WHERE (project, escalation) = (?, ?)",
        of,
        |row| {
            Ok(DecisionRow {
                actor: column_value(row, "actor")?,
                at: Time(column_value(row, "at")?),
                option: column_value(row, "option")?,
                words: column_value(row, "words")?,
            })
        },
    )?;
    Ok(row)
}
