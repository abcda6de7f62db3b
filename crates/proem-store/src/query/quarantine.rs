//! Fields in quarantine, and how many there are of each sender.

use proem_engine::run::Time;
use proem_guard::Verdict;
use serde_json::Value as Json;

use super::values::{ReadFault, all_rows, column_count, column_json, column_value, column_word};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, QuarantineId, QuarantineState};
use crate::sql::Row;

/// A field of a signal that is or was in quarantine.
#[derive(Debug, Clone, PartialEq)]
pub struct QuarantinedItem {
    /// The quarantined field.
    pub id: QuarantineId,
    /// Since when.
    pub at: Time,
    /// The actor that found it, as stored.
    pub actor: String,
    /// Its text in its written form. `None` once it is gone.
    pub text: Option<String>,
    /// The guard's finds, as a list.
    pub findings: Json,
    /// The strictest answer of the guard about the text.
    pub verdict: Verdict,
    /// The sender of the text.
    pub sender: String,
    /// Waiting, released or dismissed by a person.
    pub state: QuarantineState,
    /// When a person said what it is.
    pub settled: Option<Time>,
    /// The actor that settled it, as stored.
    pub settled_by: Option<String>,
}

/// How much of one sender's is in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderRow {
    /// The address or account, as its source says.
    pub sender: String,
    /// How many fields nobody has looked at.
    pub quarantined: u64,
    /// How many a person released.
    pub released: u64,
    /// How many a person dismissed.
    pub dismissed: u64,
}

impl Store {
    /// Fields of a project in quarantine by sender, the oldest of each first. `state` narrows them.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn quarantined(
        &self,
        project: &Project,
        state: Option<QuarantineState>,
    ) -> Result<Vec<QuarantinedItem>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            all_rows(
                reader,
                "SELECT q.signal, q.revision, q.field, q.at, q.actor, CAST(c.bytes AS TEXT) AS text, q.findings, \
                 q.verdict, q.sender, q.state, q.settled, q.settled_by FROM quarantined q \
                 LEFT JOIN contents c ON c.hash = q.text WHERE q.project = ? AND q.state = coalesce(?, q.state) \
                 ORDER BY q.sender, q.at, q.signal, q.revision, q.field",
                (&project.0, state.map(QuarantineState::as_str)),
                read_quarantined_item,
            )
        })
        .await
    }

    /// How much of each sender's is in quarantine, who has most of it first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn quarantined_senders(&self, project: &Project) -> Result<Vec<SenderRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            all_rows(
                reader,
                "SELECT sender, sum(state = 'quarantined') AS quarantined, sum(state = 'released') AS released, \
                 sum(state = 'dismissed') AS dismissed FROM quarantined WHERE project = ? AND sender <> '' \
                 GROUP BY sender ORDER BY quarantined DESC, sender",
                [&project.0],
                |row| {
                    Ok(SenderRow {
                        sender: column_value(row, "sender")?,
                        quarantined: column_count(row, "quarantined")?,
                        released: column_count(row, "released")?,
                        dismissed: column_count(row, "dismissed")?,
                    })
                },
            )
        })
        .await
    }
}

pub(super) fn read_verdict(row: &Row<'_>) -> Result<Verdict, ReadFault> {
    let verdict: String = column_value(row, "verdict")?;
    Verdict::parse(&verdict).ok_or_else(|| ReadFault::Odd(format!("`verdict` is `{verdict}`")))
}

fn read_quarantined_item(row: &Row<'_>) -> Result<QuarantinedItem, ReadFault> {
    Ok(QuarantinedItem {
        id: QuarantineId {
            signal: column_value(row, "signal")?,
            revision: column_value(row, "revision")?,
            field: column_value(row, "field")?,
        },
        at: Time(column_value(row, "at")?),
        actor: column_value(row, "actor")?,
        text: column_value(row, "text")?,
        findings: column_json(row, "findings")?,
        verdict: read_verdict(row)?,
        sender: column_value(row, "sender")?,
        state: column_word(row, "state")?,
        settled: column_value::<Option<i64>>(row, "settled")?.map(Time),
        settled_by: column_value(row, "settled_by")?,
    })
}
