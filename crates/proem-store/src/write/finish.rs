//! The end of a run: what came of it, and how good it was.

use proem_engine::run::{EffectId, Time};
use proem_text::json::compact;
use serde_json::json;

use super::call::CallPlace;
use super::content::write_contents;
use super::evaluation::{Judge, Judgement};
use super::event::RunEvent;
use super::run::{RunLines, no_run};
use super::settlement::{pass_settlement, settle_attempt};
use super::tool;
use crate::error::Error;
use crate::failpoint;
use crate::record::RunFinish;
use crate::sql::{Tables, Transaction, Write};
use crate::store::Store;

impl Store {
    /// Writes the end of a run. Its snapshot goes. A second end changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written.
    pub async fn finish(&self, finish: RunFinish) -> Result<(), Error> {
        let settles = finish.settles.is_some();
        pass_settlement("before-settlement", settles);
        failpoint::pass("before-finish");
        self.write(finish).await?;
        pass_settlement("after-settlement", settles);
        failpoint::pass("after-finish");
        Ok(())
    }
}

impl Write for RunFinish {
    type Answer = ();
    const NAME: &'static str = "finish";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let (at, run) = (to.at(self.at), &self.run);
        if let Some(settlement) = &self.settles {
            settle_attempt(to, settlement)?;
        }
        RunLines { run, begins: self.begins.as_deref(), steps: &self.steps, snapshot: None }.write(to, at)?;
        let state: Option<String> = to.tables.row("SELECT state FROM runs WHERE id = ?", [&run.0], |row| row.get(0))?;
        if state.ok_or_else(|| no_run(run))? == "ended" {
            return Ok(());
        }
        if let Some(new) = &self.assembly {
            CallPlace { run, effect: EffectId(0), at }.assembly(to.tables, new)?;
        }
        finish_calls(to.tables, self, at)?;
        for evaluation in &self.evaluations {
            Judgement { run, at, judge: Judge::Code, evaluation }.write(to.tables)?;
        }
        write_run_end(to.tables, self)?;
        RunEvent { run, at, what: "ended", details: json!({ "outcome": self.outcome.as_str() }) }.write(to.tables)
    }
}

/// Writes what was found out about a run's calls, and ends those that are still pending.
fn finish_calls(tables: &Tables, RunFinish { run, calls, .. }: &RunFinish, at: Time) -> Result<(), Error> {
    for call in calls {
        tables.execute(
            "UPDATE calls SET repairs = ?, problems = ? WHERE run = ? AND effect = ?",
            (compact(&call.repairs), compact(&call.problems), &run.0, call.effect.0),
        )?;
    }
    // A call that is still pending was never sent, unless an attempt of it is open.
    tables.execute(
        "UPDATE calls SET ended = ?, state = CASE WHEN EXISTS (SELECT 1 FROM attempts WHERE attempts.run = calls.run \
         AND attempts.effect = calls.effect AND attempts.state IN ('open', 'unknown')) THEN 'unknown' ELSE 'failed' END \
         WHERE run = ? AND state = 'pending'",
        (at.0, &run.0),
    )?;
    tool::doubt_tool_calls(tables, "SELECT id FROM runs WHERE id = ?", &run.0, at)
}

/// Writes the end into the run's own line.
fn write_run_end(tables: &Tables, finish: &RunFinish) -> Result<(), Error> {
    write_contents(tables, &finish.value)?;
    for table in ["snapshots", "states"] {
        tables.execute(&format!("DELETE FROM {table} WHERE run = ?"), [&finish.run.0])?;
    }
    tables.execute(
        "UPDATE runs SET state = 'ended', ended = ?, outcome = ?, because = ?, value = ?, numbers = ?, \
         replayable = coalesce(?, replayable) WHERE id = ?",
        (
            finish.at.0,
            finish.outcome.as_str(),
            finish.because.as_ref().map(compact),
            finish.value.as_ref().map(|value| &value.hash),
            compact(&json!(finish.numbers)),
            &finish.not_replayable,
            &finish.run.0,
        ),
    )?;
    Ok(())
}
