//! Going on with a run of a process that is gone: as that run, or as a fork of it.

use proem_engine::run::Time;
use serde_json::json;

use super::epochs;
use super::event::RunEvent;
use super::run::no_run;
use crate::error::Error;
use crate::record::{RunId, Snapshot, StatePart};
use crate::sql::{Row, SqlResult, Transaction, Write};
use crate::store::Store;

/// A run to go on with.
#[derive(Debug)]
struct TakeOver {
    run: RunId,
    at: Time,
    way: Way,
}

/// The way on from a run's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As that run.
    On,
    /// As a fork. The run stays as it is.
    Apart,
}

impl Store {
    /// Takes a run over to go on with it in this process: its epoch becomes this one's.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if it has ended, or its process is still alive.
    pub async fn take_over(&self, run: &RunId, at: Time) -> Result<Snapshot, Error> {
        self.write(TakeOver { run: run.clone(), at, way: Way::On }).await
    }

    /// The state that a fork of a run goes on from. The run itself stays as it is.
    ///
    /// # Errors
    ///
    /// As [`Self::take_over`].
    pub async fn fork(&self, run: &RunId, at: Time) -> Result<Snapshot, Error> {
        self.write(TakeOver { run: run.clone(), at, way: Way::Apart }).await
    }
}

/// A run with its state, as far as they are there.
struct Found {
    state: String,
    epoch: String,
    /// Whether its process is gone.
    is_over: bool,
    snapshot: Option<FoundState>,
}

struct FoundState {
    step: i64,
    at: Time,
    sealed: Vec<u8>,
}

impl Found {
    fn read(row: &Row<'_>) -> SqlResult<Self> {
        let snapshot = match row.get(3)? {
            Some(step) => Some(FoundState { step, at: Time(row.get(4)?), sealed: row.get(5)? }),
            None => None,
        };
        Ok(Self { state: row.get(0)?, epoch: row.get(1)?, is_over: row.get(2)?, snapshot })
    }
}

impl Write for TakeOver {
    type Answer = Snapshot;
    const NAME: &'static str = "take-over";

    fn write(&self, to: &mut Transaction<'_>) -> Result<Snapshot, Error> {
        let (at, run) = (to.at(self.at), &self.run);
        // A run whose process is gone is free as soon as that is known, and here it is known.
        epochs::bury(to, at)?;
        let found = to.tables.row(
            "SELECT runs.state, runs.epoch, epochs.ended IS NOT NULL, snapshots.step, snapshots.at, \
             snapshots.sealed FROM runs LEFT JOIN epochs ON epochs.id = runs.epoch \
             LEFT JOIN snapshots ON snapshots.run = runs.id WHERE runs.id = ?",
            [&run.0],
            Found::read,
        )?;
        let found = found.ok_or_else(|| no_run(run))?;
        if found.state == "ended" {
            return Err(Error::Conflict(format!("run `{run}` has ended; start it again")));
        }
        if !found.is_over && (found.epoch != to.epoch_id() || found.state != "asking") {
            return Err(Error::Conflict(format!("the process of run `{run}` is still alive; end it, then resume")));
        }
        let Some(FoundState { step, at: when, sealed }) = found.snapshot else {
            return Err(Error::Conflict(format!("run `{run}` has no saved state to resume from; start it again")));
        };
        let what = match self.way {
            Way::On => {
                let taken = "UPDATE runs SET epoch = ?, state = 'running' WHERE id = ?";
                to.tables.execute(taken, (to.epoch_id(), &run.0))?;
                "taken-over"
            }
            Way::Apart => "forked",
        };
        RunEvent { run, at, what, details: json!({ "from": found.epoch, "step": step }) }.write(to.tables)?;
        let step = u32::try_from(step).map_err(|_| Error::Conflict(format!("run `{run}` has a step `{step}`")))?;
        let parts = to.tables.rows("SELECT name, sealed FROM states WHERE run = ? ORDER BY name", [&run.0], |row| {
            Ok(StatePart { name: row.get(0)?, sealed: Some(row.get::<_, Vec<u8>>(1)?.into()) })
        })?;
        Ok(Snapshot { step, at: when, sealed, parts })
    }
}
