//! Calls of tools: written before they are made, and as each of them ends.
//!
//! Invariant: a call that has ended stays as it is, but for one that may have happened: what a second attempt under the
//! same key gives takes its place.

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::amount::stored_number;
use super::content::write_contents;
use super::run::{RunLines, no_run};
use crate::error::Error;
use crate::failpoint;
use crate::record::{NewToolCall, RunId, ToolEnd, ToolIntent, ToolRefusal};
use crate::sql::{Tables, Transaction, Write, params};
use crate::store::Store;

impl Store {
    /// Writes calls of tools that are about to be made, with what the run did before.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the run has ended or is another process's, or a call has ended. [`Error::Unusable`] if it
    /// can't be written. Then nothing of it is, and no call may be made.
    pub async fn intend_tools(&self, intent: ToolIntent) -> Result<(), Error> {
        failpoint::pass("before-tool-intent");
        self.write(intent).await?;
        failpoint::pass("after-tool-intent");
        Ok(())
    }

    /// Writes what became of a call of a tool.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written. The call is unknown once this process is gone.
    pub async fn end_tool(&self, end: ToolEnd) -> Result<(), Error> {
        failpoint::pass("before-tool-outcome");
        self.write(end).await?;
        failpoint::pass("after-tool-outcome");
        Ok(())
    }

    /// Writes a call that is not made.
    ///
    /// # Errors
    ///
    /// As [`Store::intend_tools`].
    pub async fn refuse_tool(&self, refusal: ToolRefusal) -> Result<(), Error> {
        self.write(refusal).await
    }
}

impl Write for ToolRefusal {
    type Answer = ();
    const NAME: &'static str = "tool-refusal";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        self.intent.write(to)?;
        self.end.write(to)
    }
}

impl Write for ToolIntent {
    type Answer = ();
    const NAME: &'static str = "tool-intent";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.at);
        let (run, begins, snapshot) = (&self.run, self.begins.as_deref(), self.snapshot.as_ref());
        RunLines { run, begins, steps: &self.steps, snapshot }.write(to, at)?;
        must_be_ours(to, run)?;
        let running = "UPDATE runs SET state = 'running' WHERE id = ? AND state = 'asking'";
        to.tables.execute(running, [&run.0])?;
        self.calls.iter().try_for_each(|call| write_tool_intent(to.tables, run, call, at))
    }
}

/// Fails if the run has ended or belongs to another process.
fn must_be_ours(to: &Transaction<'_>, run: &RunId) -> Result<(), Error> {
    let found: Option<(String, String)> =
        to.tables.row("SELECT state, epoch FROM runs WHERE id = ?", [&run.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (state, epoch) = found.ok_or_else(|| no_run(run))?;
    if state == "ended" {
        return Err(Error::Conflict(format!("run `{run}` has ended; start it again")));
    }
    if epoch != to.epoch_id() {
        return Err(Error::Conflict(format!("run `{run}` belongs to another process; resume it to continue it here")));
    }
    Ok(())
}

fn write_tool_intent(tables: &Tables, run: &RunId, call: &NewToolCall, at: Time) -> Result<(), Error> {
    write_contents(tables, [&call.arguments])?;
    let written = tables.execute(
        "INSERT INTO tool_calls (run, effect, project, actor, at, tool, power, key, arguments, labels, state, took_ms, \
         attempts) SELECT id, ?, project, actor, ?, ?, ?, ?, ?, ?, 'pending', 0, 0 FROM runs WHERE id = ? \
         ON CONFLICT (run, effect) DO UPDATE SET state = 'pending', ended = NULL \
         WHERE tool_calls.state IN ('pending', 'unknown') AND tool_calls.key = excluded.key \
         AND tool_calls.power <> 'effectful'",
        params![
            call.effect.0,
            at.0,
            call.tool,
            call.power.as_str(),
            call.key,
            call.arguments.hash,
            compact(&json!(call.labels)),
            run.0,
        ],
    )?;
    if written == 0 {
        let effect = call.effect.0;
        return Err(Error::Conflict(format!("call {effect} of run `{run}` was made before; it is not made again")));
    }
    Ok(())
}

impl Write for ToolEnd {
    type Answer = ();
    const NAME: &'static str = "tool-outcome";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.at);
        write_contents(to.tables, [&self.result])?;
        to.tables.execute(
            "UPDATE tool_calls SET ended = ?, state = ?, result = ?, sealed = ?, took_ms = ?, attempts = attempts + ? \
             WHERE run = ? AND effect = ? AND state IN ('pending', 'unknown')",
            params![
                at.0,
                self.state.as_str(),
                self.result.hash,
                self.sealed,
                stored_number(self.took_ms),
                self.attempts,
                self.run.0,
                self.effect.0,
            ],
        )?;
        Ok(())
    }
}

/// Calls of ended processes and runs may have happened. Nobody will say.
pub(super) fn doubt_tool_calls(tables: &Tables, runs: &str, of: &str, at: Time) -> Result<(), Error> {
    let sql = format!("UPDATE tool_calls SET state = 'unknown', ended = ? WHERE state = 'pending' AND run IN ({runs})");
    tables.execute(&sql, (at.0, of)).map(drop)
}
