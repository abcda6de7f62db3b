//! A person's corrections to the ledger. Usage never changes: a correction is a line beside it.

use proem_engine::call::NanoDollars;
use proem_engine::run::Time;
use serde_json::json;

use super::amount::stored_number;
use super::event::RunEvent;
use crate::error::Error;
use crate::record::{Actor, AttemptId, RunId};
use crate::sql::{Row, SqlResult, Tables, Transaction, Write};
use crate::store::Store;

/// A person's correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// Of which attempt.
    pub attempt: AttemptId,
    /// The real cost.
    pub nanos: NanoDollars,
    /// How that is known, in the words of who says so.
    pub why: String,
    /// The actor that corrects it.
    pub actor: Actor,
    /// When it was said.
    pub at: Time,
}

impl Store {
    /// Puts right what is booked for an attempt. Only a person at a terminal may.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an attempt, [`Error::Conflict`] while it is open.
    pub async fn correct(&self, correction: Correction) -> Result<(), Error> {
        self.write(correction).await
    }
}

/// The column of an attempt's booking: the last correction, or what was booked.
const BOOKED: &str = "coalesce((SELECT corrections.nanos FROM corrections WHERE corrections.attempt = attempts.id \
                      ORDER BY corrections.seq DESC LIMIT 1), usage.nanos)";

/// An attempt before it is put right.
struct Found {
    run: RunId,
    state: String,
    booked: Option<i64>,
    is_corrected: bool,
}

impl Found {
    fn read(row: &Row<'_>) -> SqlResult<Self> {
        Ok(Self { run: RunId(row.get(0)?), state: row.get(1)?, booked: row.get(2)?, is_corrected: row.get(3)? })
    }
}

impl Write for Correction {
    type Answer = ();
    const NAME: &'static str = "correct";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let (at, AttemptId(id), nanos) = (to.at(self.at), self.attempt, stored_number(self.nanos.0));
        let found = to.tables.row(
            &format!(
                "SELECT attempts.run, attempts.state, {BOOKED}, EXISTS (SELECT 1 FROM corrections WHERE attempt = \
                 attempts.id) FROM attempts LEFT JOIN usage ON usage.attempt = attempts.id WHERE attempts.id = ?"
            ),
            [id],
            Found::read,
        )?;
        let found = found.ok_or_else(|| Error::NotFound(format!("no attempt `{id}`").into()))?;
        if found.state == "open" {
            return Err(Error::Conflict(format!("attempt `{id}` is still in progress; wait until it has ended")));
        }
        let actor = self.actor.to_string();
        to.tables.execute(
            "INSERT INTO corrections (attempt, project, actor, at, nanos, why) \
             SELECT id, project, ?, ?, ?, ? FROM attempts WHERE id = ?",
            (&actor, at.0, nanos, &self.why, id),
        )?;
        correct_sums(to.tables, id, nanos, &found)?;
        let (run, before) = (&found.run, found.booked);
        let details = json!({ "attempt": id, "before": before, "nanos": nanos, "why": self.why, "actor": actor });
        RunEvent { run, at, what: "corrected", details }.write(to.tables)
    }
}

/// Puts right the sums that an attempt is in: its day's by the difference, its run's anew.
fn correct_sums(tables: &Tables, attempt: i64, nanos: i64, before: &Found) -> Result<(), Error> {
    let more = nanos.saturating_sub(before.booked.unwrap_or(0));
    let was_unknown = before.state == "unknown" && !before.is_corrected;
    tables.execute(
        "UPDATE spend SET nanos = max(0, nanos + ?), unknown = unknown - ?, unpriced = unpriced - ? \
         WHERE (day, project, model, endpoint, agent, prompt) = (SELECT attempts.day, attempts.project, \
         coalesce(calls.model, runs.model), coalesce(calls.endpoint, runs.endpoint), \
         coalesce(calls.agent, runs.agent), coalesce(calls.prompt, runs.prompt) \
         FROM attempts JOIN runs ON runs.id = attempts.run \
         LEFT JOIN calls ON calls.run = attempts.run AND calls.effect = attempts.effect WHERE attempts.id = ?)",
        (more, was_unknown, before.booked.is_none(), attempt),
    )?;
    let ours = "WITH RECURSIVE callers_of (id) AS (SELECT ? UNION SELECT caller FROM callers JOIN callers_of ON run = id) \
                SELECT id FROM callers_of";
    let ours: Vec<String> = tables.rows(ours, [&before.run.0], |row| row.get(0))?;
    // Unknown or open amounts without a correction leave the run's sum unknown: a difference to an unknown amount would
    // turn it into a number.
    let sum = format!(
        "UPDATE runs SET nanos = (SELECT CASE WHEN count(*) = count(booked) THEN sum(booked) END FROM (SELECT \
             CASE WHEN attempts.state <> 'unknown' OR EXISTS (SELECT 1 FROM corrections WHERE attempt = attempts.id) \
             THEN {BOOKED} END AS booked FROM attempts JOIN usage ON usage.attempt = attempts.id \
             WHERE attempts.run IN (WITH RECURSIVE started (id) AS (SELECT ?1 UNION SELECT run FROM callers \
             JOIN started ON caller = id) SELECT id FROM started)) AS bookings) WHERE id = ?1"
    );
    ours.iter().try_for_each(|run| tables.execute(&sum, [run]).map(drop))
}
