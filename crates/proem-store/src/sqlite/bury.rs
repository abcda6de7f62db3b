//! Processes that are gone, and what they left open; the end of this one.

use proem_engine::run::Time;
use serde_json::json;

use super::begin::{event, no_run};
use super::book::{ATTEMPT, Attempt, book_in_full};
use super::place;
use super::script::Script;
use super::writer::Writing;
use crate::epoch;
use crate::error::Error;
use crate::record::{RunId, Snapshot};

/// Which way it goes on from a run's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Going {
    /// As that run.
    On,
    /// As a fork; the run stays as it is.
    Apart,
}

impl Writing {
    /// Settles in full what processes that are gone left open.
    pub(super) async fn bury(&mut self, at: Time) -> Result<u64, Error> {
        let at = self.at(at);
        self.bury_at(at).await
    }

    /// The same at a time of the ledger.
    pub(super) async fn bury_at(&mut self, at: Time) -> Result<u64, Error> {
        let own = self.epoch_id();
        let mut script = Script::new();
        script.add("SELECT id FROM epochs WHERE ended IS NULL AND id <> ?").with(&own);
        let rows = self.link.run(script).await?;
        let mut settled = 0_u64;
        for row in &rows {
            let id: String = self.link.get(row, 0)?;
            let lock = epoch::dead(self.path(), &id).map_err(|error| place::unwritable(self.path(), &error))?;
            if let Some(lock) = lock {
                settled = settled.saturating_add(self.end(&id, "dead", at).await?);
                self.buried.push(lock);
            }
        }
        Ok(settled)
    }

    /// Ends this process's epoch.
    pub(super) async fn end_epoch(&mut self) -> Result<(), Error> {
        let (id, at) = (self.epoch_id(), Time(self.seen.max(super::opening::clock().0)));
        self.end(&id, "closed", at).await.map(drop)
    }

    /// Ends an epoch: what it left open is booked in full, and its calls are unknown.
    async fn end(&mut self, id: &str, how: &'static str, at: Time) -> Result<u64, Error> {
        let mut script = Script::new();
        script.add(&format!("{ATTEMPT} WHERE state = 'open' AND epoch = ? ORDER BY id")).with(id);
        let rows = self.link.run(script).await?;
        let attempts: Vec<Attempt> = rows.iter().map(|row| self.attempt(row)).collect::<Result<_, Error>>()?;
        let mut script = Script::new();
        book_in_full(&mut script, &attempts, at);
        script.add(
            "UPDATE calls SET state = 'unknown', ended = ? WHERE state = 'pending' AND run IN \
             (SELECT id FROM runs WHERE epoch = ? AND state = 'running')",
        );
        script.with(at).with(id);
        script.add("UPDATE epochs SET ended = ?, how = ? WHERE id = ?").with(at).with(how).with(id);
        let settled = u64::try_from(attempts.len()).unwrap_or(u64::MAX);
        if settled > 0 {
            let details = json!({ "epoch": id, "how": how, "attempts": settled });
            script.add(
                "INSERT INTO events (at, project, actor, what, details) \
                 SELECT ?, project, actor, 'epoch-ended', ? FROM epochs WHERE id = ?",
            );
            script.with(at).with(proem_text::json::compact(&details)).with(id);
        }
        self.link.run(script).await?;
        Ok(settled)
    }

    /// Takes a run over, or what a fork of it needs.
    pub(super) async fn take_over(&mut self, run: &RunId, at: Time, going: Going) -> Result<Snapshot, Error> {
        let (at, own) = (self.at(at), self.epoch_id());
        self.bury_at(at).await?;
        let mut script = Script::new();
        script.add(
            "SELECT runs.state, runs.epoch, epochs.ended IS NOT NULL, snapshots.step, snapshots.at, snapshots.sealed \
             FROM runs LEFT JOIN epochs ON epochs.id = runs.epoch LEFT JOIN snapshots ON snapshots.run = runs.id \
             WHERE runs.id = ?",
        );
        script.with(&run.0);
        let rows = self.link.run(script).await?;
        let Some(row) = rows.first() else { return Err(no_run(run)) };
        let (state, epoch): (String, String) = (self.link.get(row, 0)?, self.link.get(row, 1)?);
        let is_free = self.link.get::<bool>(row, 2)? || (epoch == own && state == "asking");
        if state == "ended" {
            return Err(Error::Conflict(format!("run `{run}` has ended; start it again")));
        }
        if !is_free {
            return Err(Error::Conflict(format!("the process of run `{run}` is still alive; end it, then resume")));
        }
        let (step, when, sealed): (Option<i64>, Option<i64>, Option<Vec<u8>>) =
            (self.link.get(row, 3)?, self.link.get(row, 4)?, self.link.get(row, 5)?);
        let (Some(step), Some(when), Some(sealed)) = (step, when, sealed) else {
            return Err(Error::Conflict(format!("run `{run}` kept no state to go on from; start it again")));
        };
        let mut script = Script::new();
        let what = match going {
            Going::On => {
                script.add("UPDATE runs SET epoch = ?, state = 'running' WHERE id = ?").with(&own).with(&run.0);
                "taken-over"
            }
            Going::Apart => "forked",
        };
        event(&mut script, run, at, what, &json!({ "from": epoch, "step": step }));
        self.link.run(script).await?;
        let step = u32::try_from(step).map_err(|_| Error::Conflict(format!("run `{run}` has a step `{step}`")))?;
        Ok(Snapshot { step, at: Time(when), sealed })
    }
}
