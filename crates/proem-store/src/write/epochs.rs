//! Processes: the beginning and the end of this one's epoch, and the burial of those that are gone.
//!
//! Invariant: who ends an epoch holds its lock, so nobody lives in it.

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::amount::length_as_u64;
use super::booking::{book_attempt, open_of};
use super::tool;
use crate::epoch::{self, Epoch};
use crate::error::Error;
use crate::sql::{Company, Tables, Transaction, Write};

/// The end of this process's epoch, with its store.
#[derive(Debug)]
pub(crate) struct EpochEnd {
    /// When the store was closed.
    pub(crate) at: Time,
}

impl Write for EpochEnd {
    type Answer = ();
    const NAME: &'static str = "close";
    const COMPANY: Company = Company::None;

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = self.at.max(to.seen());
        end_epoch(to.tables, &Ending { epoch: to.epoch_id(), how: "closed", at }).map(drop)
    }
}

/// How an epoch ends.
struct Ending<'e> {
    epoch: &'e str,
    how: &'static str,
    at: Time,
}

/// Begins an epoch of this process.
pub(crate) fn begin_epoch(to: &mut Transaction<'_>, at: Time) -> Result<(), Error> {
    let path = to.tables.path();
    let epoch = Epoch::begin(to.tables, epoch::new_id(path)?)?;
    let (project, actor) = (&to.opening.project.0, to.opening.actor.to_string());
    let line = "INSERT INTO epochs (id, project, actor, began) VALUES (?, ?, ?, ?)";
    let written = to.tables.execute(line, (&epoch.id, project, actor, at.0));
    // The transaction has it in any case, for that is who takes its lock away if there is no commit.
    to.begin(epoch);
    written.map(drop)
}

/// Removes locks whose epochs are not written down. How many.
pub(crate) fn remove_unknown_locks(to: &Transaction<'_>) -> Result<usize, Error> {
    let known: Vec<String> = to.tables.rows("SELECT id FROM epochs WHERE ended IS NULL", [], |row| row.get(0))?;
    Ok(epoch::remove_dead_locks(to.tables, &known))
}

/// Settles in full what processes that are gone left open, at a time of the ledger. How many attempts.
pub(crate) fn bury(to: &mut Transaction<'_>, at: Time) -> Result<u64, Error> {
    let others = "SELECT id FROM epochs WHERE ended IS NULL AND id <> ?";
    let others: Vec<String> = to.tables.rows(others, [to.epoch_id()], |row| row.get(0))?;
    let mut settled = 0_u64;
    for epoch in others {
        // Its lock shows whether its process lives. The holder keeps the lock until the commit, so that no other
        // process buries the same one meanwhile.
        if let Some(lock) = epoch::dead(to.tables, &epoch)? {
            settled = settled.saturating_add(end_epoch(to.tables, &Ending { epoch: &epoch, how: "dead", at })?);
            to.bury(lock);
        }
    }
    Ok(settled)
}

/// Ends an epoch: what it left open is booked in full, and its calls are unknown.
fn end_epoch(tables: &Tables, Ending { epoch, how, at }: &Ending<'_>) -> Result<u64, Error> {
    let open = open_of(tables, epoch)?;
    for reservation in &open {
        book_attempt(tables, reservation, *at, None)?;
    }
    tables.execute(
        "UPDATE calls SET state = 'unknown', ended = ? WHERE state = 'pending' AND run IN \
         (SELECT id FROM runs WHERE epoch = ? AND state = 'running')",
        (at.0, epoch),
    )?;
    tool::doubt_tool_calls(tables, "SELECT id FROM runs WHERE epoch = ? AND state = 'running'", epoch, *at)?;
    tables.execute("UPDATE epochs SET ended = ?, how = ? WHERE id = ?", (at.0, how, epoch))?;
    let settled = length_as_u64(open.len());
    if settled > 0 {
        let details = compact(&json!({ "epoch": epoch, "how": how, "attempts": settled }));
        tables.execute(
            "INSERT INTO events (at, project, actor, what, details) \
             SELECT ?, project, actor, 'epoch-ended', ? FROM epochs WHERE id = ?",
            (at.0, details, epoch),
        )?;
    }
    Ok(settled)
}
