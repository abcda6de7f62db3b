//! Calls of tools, as they are kept.

use std::collections::BTreeMap;

use proem_engine::run::{EffectId, Time, ToolLabels, ToolPower};

use super::detail::{by_run, run_ids};
use super::runs::{RunRow, RunState};
use super::values::{ReadFault, all_rows, column_count, column_json, column_value, word_or_null};
use crate::Store;
use crate::error::Error;
use crate::record::{RunId, ToolCallState};
use crate::sql::{Row, Tables};

/// One call of a tool as the store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRow {
    /// The effect's number within its run.
    pub effect: EffectId,
    /// When it was intended.
    pub at: Time,
    /// As the catalogue names it.
    pub tool: String,
    /// The effects that it may have.
    pub power: ToolPower,
    /// The key that was sent along.
    pub key: String,
    /// Its arguments as JSON, by hash.
    pub arguments: String,
    /// The origin of its arguments, and of the decision to make it.
    pub labels: ToolLabels,
    /// How far it is.
    pub state: ToolCallState,
    /// Its outcome as JSON, by hash.
    pub result: Option<String>,
    /// The same, sealed, if the text is not what it was.
    pub sealed: Option<Vec<u8>>,
    /// When it ended.
    pub ended: Option<Time>,
    /// How long it took.
    pub took_ms: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// The run that it started, if it is an agent's.
    pub child: Option<RunId>,
}

/// How often a tool was called, and how that went.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolTally {
    /// As the catalogue names it.
    pub tool: String,
    /// How many calls.
    pub calls: u64,
    /// How many of them gave no result, or may have.
    pub failed: u64,
    /// How long all of them took.
    pub took_ms: u64,
}

impl Store {
    /// How often each tool was called since then, the most called first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn tool_tallies(&self, project: Option<&str>, since: Option<Time>) -> Result<Vec<ToolTally>, Error> {
        let (project, since) = (project.map(str::to_owned), since.map(|since| since.0));
        self.read(move |reader, _site| {
            let tallies = "SELECT tool, count(*) AS calls, sum(state IN ('failed', 'unknown')) AS failed, \
                           sum(took_ms) AS took_ms FROM tool_calls WHERE project = coalesce(?, project) \
                           AND at >= coalesce(?, at) GROUP BY tool ORDER BY calls DESC, tool";
            all_rows(reader, tallies, (project, since), |row| {
                Ok(ToolTally {
                    tool: column_value(row, "tool")?,
                    calls: column_count(row, "calls")?,
                    failed: column_count(row, "failed")?,
                    took_ms: column_count(row, "took_ms")?,
                })
            })
        })
        .await
    }
}

/// The calls of a run, in order. One without an end is under way only as long as its run is.
pub(super) fn read_tool_calls(reader: &Tables, run: &RunId, state: RunState) -> Result<Vec<ToolCallRow>, ReadFault> {
    let sql = format!("{TOOL_CALLS} WHERE t.run = ? ORDER BY t.effect");
    all_rows(reader, &sql, [&run.0], |row| Ok(read_tool_call(row)?.seen_from(state)))
}

/// The same of several runs, by one query for all of them. A run without such a call is not there.
pub(super) fn read_tool_calls_of(
    reader: &Tables,
    runs: &[&RunRow],
) -> Result<BTreeMap<RunId, Vec<ToolCallRow>>, ReadFault> {
    let states: BTreeMap<&str, RunState> = runs.iter().map(|run| (run.id.0.as_str(), run.state)).collect();
    let sql = format!("{TOOL_CALLS} WHERE t.run IN (SELECT value FROM json_each(?)) ORDER BY t.run, t.effect");
    let calls = all_rows(reader, &sql, [run_ids(runs)], |row| {
        let run: String = column_value(row, "run")?;
        let state = states.get(run.as_str()).copied().unwrap_or(RunState::Interrupted);
        Ok((run, read_tool_call(row)?.seen_from(state)))
    })?;
    Ok(by_run(calls))
}

const TOOL_CALLS: &str = "SELECT t.*, c.run AS started FROM tool_calls t LEFT JOIN callers c ON c.caller = t.run \
    AND c.effect = t.effect";

impl ToolCallRow {
    /// The call as its run's state shows it: nobody ends a pending one once its run does not run.
    fn seen_from(self, state: RunState) -> Self {
        let is_lost = self.state == ToolCallState::Pending && !matches!(state, RunState::Running);
        Self { state: if is_lost { ToolCallState::Unknown } else { self.state }, ..self }
    }
}

fn read_tool_call(row: &Row<'_>) -> Result<ToolCallRow, ReadFault> {
    let odd = |what: &str| ReadFault::Odd(format!("a call of a tool has no known {what}"));
    Ok(ToolCallRow {
        effect: EffectId(column_count(row, "effect")?),
        at: Time(column_value(row, "at")?),
        tool: column_value(row, "tool")?,
        power: word_or_null(row, "power")?.ok_or_else(|| odd("power"))?,
        key: column_value(row, "key")?,
        arguments: column_value(row, "arguments")?,
        labels: column_json(row, "labels")?,
        state: word_or_null(row, "state")?.ok_or_else(|| odd("state"))?,
        result: column_value(row, "result")?,
        sealed: column_value(row, "sealed")?,
        ended: column_value::<Option<i64>>(row, "ended")?.map(Time),
        took_ms: column_count(row, "took_ms")?,
        attempts: column_count(row, "attempts")?,
        child: column_value::<Option<String>>(row, "started")?.map(RunId),
    })
}
