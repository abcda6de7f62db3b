//! A state to go on from: before a question, or a wait.

use serde_json::json;

use super::event::RunEvent;
use super::run::{RunLines, must_be_there};
use super::settlement::settle_attempt;
use crate::error::Error;
use crate::record::{NewRun, NewStep, RunId, Settlement, Snapshot};
use crate::sql::{Transaction, Write};
use crate::store::Store;

/// A run that pauses.
#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    /// The run that pauses.
    pub run: RunId,
    /// Its line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// Events that it took meanwhile.
    pub steps: Vec<NewStep>,
    /// The outcome of the run's previous attempt, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// The state to go on from.
    pub snapshot: Snapshot,
    /// Its questions, if they are the reason.
    pub questions: Vec<String>,
}

impl Store {
    /// Writes a state to go on from: before a question, or a wait.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written.
    pub async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.write(pause).await
    }
}

impl Write for Pause {
    type Answer = ();
    const NAME: &'static str = "pause";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.snapshot.at);
        if let Some(settlement) = &self.settles {
            settle_attempt(to, settlement)?;
        }
        let (run, begins) = (&self.run, self.begins.as_deref());
        RunLines { run, begins, steps: &self.steps, snapshot: Some(&self.snapshot) }.write(to, at)?;
        must_be_there(to.tables, run)?;
        let state = if self.questions.is_empty() { "running" } else { "asking" };
        to.tables.execute("UPDATE runs SET state = ? WHERE id = ? AND state <> 'ended'", (state, &run.0))?;
        let details = json!({ "step": self.snapshot.step, "questions": self.questions });
        RunEvent { run, at, what: "paused", details }.write(to.tables)
    }
}
