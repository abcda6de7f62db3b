//! Runs with all that is shown of them in a trace, in pages, and how many runs wait behind a place.

use std::collections::BTreeMap;

use proem_engine::run::Time;

use super::actions::{COLUMNS, read_action_row};
use super::detail::{by_run, read_calls_of, run_ids};
use super::run_calls::read_run_page;
use super::runs::{self, Alive, RunPosition, RunRow};
use super::tools::read_tool_calls_of;
use super::values::{ReadFault, all_rows, column_count, column_value, first_row};
use super::{ActionRow, CallRow, RunsWanted, ToolCallRow};
use crate::Store;
use crate::epoch;
use crate::error::Error;
use crate::record::{Project, RunId};
use crate::sql::Tables;

/// How many callers a run has at most, one above the other, before the search for the first of them ends.
const MOST_CALLERS: usize = 64;

/// A run with its calls and effects.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTrace {
    /// Its line.
    pub row: RunRow,
    /// The first of the runs that called each other, down to this one. Without a caller, it is the run itself.
    pub root: RunId,
    /// The file of its agent, if it is a mission's. The path is of the machine that it ran on.
    pub agent_file: Option<String>,
    /// Its calls to models, in order.
    pub calls: Vec<CallRow>,
    /// Its calls of tools, in order.
    pub tools: Vec<ToolCallRow>,
    /// The actions that its model proposed, in order of their time.
    pub actions: Vec<ActionRow>,
}

/// Some runs with their calls and effects.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTracesBatch {
    /// The runs, the oldest first.
    pub runs: Vec<RunTrace>,
    /// The place behind the last of them, or where the reading began.
    pub last: RunPosition,
    /// The same, if there may be more.
    pub next: Option<RunPosition>,
}

/// The runs behind a place, all but those that only assembled a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunBacklog {
    /// Those that are too old or too many.
    pub dropped: u64,
    /// The place behind them.
    pub behind: RunPosition,
    /// Those behind that place.
    pub waiting: u64,
}

impl Store {
    /// Runs behind a place with their calls and effects, as they were at one moment. `limit` says how many runs at most.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn run_traces(&self, wanted: &RunsWanted, behind: RunPosition) -> Result<RunTracesBatch, Error> {
        let wanted = wanted.clone();
        let read = move |reader: &Tables| {
            let page = read_run_page(reader, &wanted, behind, &|epoch| epoch::is_alive(reader, epoch))?;
            Ok(RunTracesBatch { runs: read_traces(reader, page.rows)?, last: page.last, next: page.next })
        };
        self.read(move |reader, _site| read(reader)).await
    }

    /// These runs with their calls and effects. Those that are no longer there are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn run_traces_of(&self, ids: &[RunId]) -> Result<Vec<RunTrace>, Error> {
        let ids = ids.to_vec();
        let read = move |reader: &Tables| {
            let rows = read_runs_by_id(reader, &ids, &|epoch| epoch::is_alive(reader, epoch))?;
            read_traces(reader, rows)
        };
        self.read(move |reader, _site| read(reader)).await
    }

    /// The runs of a project behind a place. Those that started before `oldest`, and all but the newest `most`, are
    /// counted as dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn run_backlog(
        &self,
        project: &Project,
        behind: RunPosition,
        oldest: Time,
        most: u64,
    ) -> Result<RunBacklog, Error> {
        let project = project.clone();
        self.read(move |reader, _site| read_backlog(reader, (&project, behind), oldest, most)).await
    }
}

fn read_runs_by_id(reader: &Tables, ids: &[RunId], alive: Alive<'_>) -> Result<Vec<RunRow>, ReadFault> {
    let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
    let sql = format!(
        "SELECT {} FROM runs r LEFT JOIN epochs e ON e.id = r.epoch LEFT JOIN callers c ON c.run = r.id \
         WHERE r.id IN (SELECT value FROM json_each(?)) ORDER BY r.seq",
        runs::COLUMNS
    );
    all_rows(reader, &sql, [proem_text::json::compact(&serde_json::Value::from(ids))], |line| {
        runs::read_run_row(line, alive)
    })
}

fn read_traces(reader: &Tables, rows: Vec<RunRow>) -> Result<Vec<RunTrace>, ReadFault> {
    let all: Vec<&RunRow> = rows.iter().collect();
    let mut calls = read_calls_of(reader, &all)?;
    let mut tools = read_tool_calls_of(reader, &all)?;
    let mut actions = read_actions_of(reader, &all)?;
    let mut files = read_agent_files_of(reader, &all)?;
    let mut known = BTreeMap::new();
    let roots = rows.iter().map(|row| read_root(reader, row, &mut known)).collect::<Result<Vec<_>, ReadFault>>()?;
    let trace = |(row, root): (RunRow, RunId)| RunTrace {
        calls: calls.remove(&row.id).unwrap_or_default(),
        tools: tools.remove(&row.id).unwrap_or_default(),
        actions: actions.remove(&row.id).unwrap_or_default(),
        agent_file: files.remove(&row.id).and_then(|mut found| found.pop()),
        row,
        root,
    };
    Ok(rows.into_iter().zip(roots).map(trace).collect())
}

fn read_actions_of(reader: &Tables, runs: &[&RunRow]) -> Result<BTreeMap<RunId, Vec<ActionRow>>, ReadFault> {
    let sql =
        format!("SELECT {COLUMNS} WHERE a.run IN (SELECT value FROM json_each(?)) ORDER BY a.run, a.created, a.key");
    let actions = all_rows(reader, &sql, [run_ids(runs)], |row| {
        Ok((column_value::<String>(row, "run")?, read_action_row(row)?))
    })?;
    Ok(by_run(actions))
}

fn read_agent_files_of(reader: &Tables, runs: &[&RunRow]) -> Result<BTreeMap<RunId, Vec<String>>, ReadFault> {
    let sql = "SELECT id, settings ->> '$.agent' AS file FROM runs WHERE id IN (SELECT value FROM json_each(?)) \
               AND settings ->> '$.agent' IS NOT NULL";
    let files =
        all_rows(reader, sql, [run_ids(runs)], |row| Ok((column_value(row, "id")?, column_value(row, "file")?)))?;
    Ok(by_run(files))
}

/// The first of the runs that called each other. `known` has the callers that were read already.
fn read_root(reader: &Tables, row: &RunRow, known: &mut BTreeMap<String, Option<String>>) -> Result<RunId, ReadFault> {
    let Some(caller) = &row.caller else { return Ok(row.id.clone()) };
    let mut root = caller.run.0.clone();
    for _ in 0..MOST_CALLERS {
        let above = match known.get(&root) {
            Some(above) => above.clone(),
            None => {
                let sql = "SELECT caller FROM callers WHERE run = ?";
                let above = first_row(reader, sql, [&root], |line| column_value::<String>(line, "caller"))?;
                known.insert(root.clone(), above.clone());
                above
            }
        };
        match above {
            Some(above) => root = above,
            None => break,
        }
    }
    Ok(RunId(root))
}

fn read_backlog(
    reader: &Tables,
    (project, behind): (&Project, RunPosition),
    oldest: Time,
    most: u64,
) -> Result<RunBacklog, ReadFault> {
    const ACTED: &str = "FROM runs INDEXED BY runs_by_project WHERE project = ? AND seq > ? \
        AND outcome IS DISTINCT FROM 'assembled'";
    let place = (&project.0, behind.0);
    let late = format!("SELECT max(seq) AS seq {ACTED} AND started < ?");
    let late = first_row(reader, &late, (place.0, place.1, oldest.0), |line| column_value::<Option<i64>>(line, "seq"))?;
    let beyond = format!("SELECT seq {ACTED} ORDER BY seq DESC LIMIT 1 OFFSET ?");
    let beyond = first_row(reader, &beyond, (place.0, place.1, super::actions::limit(Some(most))), |line| {
        column_value::<i64>(line, "seq")
    })?;
    let from = late.flatten().into_iter().chain(beyond).fold(behind.0, i64::max);
    let count = |behind: i64| {
        let sql = format!("SELECT count(*) AS runs {ACTED}");
        let found = first_row(reader, &sql, (&project.0, behind), |line| column_count::<u64>(line, "runs"))?;
        Ok::<_, ReadFault>(found.unwrap_or(0))
    };
    let waiting = count(from)?;
    Ok(RunBacklog { dropped: count(behind.0)?.saturating_sub(waiting), behind: RunPosition(from), waiting })
}
