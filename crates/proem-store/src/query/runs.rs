//! Runs as lines of a list, and how one is named.

use proem_engine::assembly::PromptId;
use proem_engine::call::NanoDollars;
use proem_engine::run::{EffectId, Time};
use serde::{Deserialize, Serialize};

use super::values::{ReadFault, all_rows, column_json, column_value, count_or_null, first_row, word_or_null};
use crate::Store;
use crate::epoch;
use crate::error::{Absence, AbsenceRemedy, Error};
use crate::record::{Numbers, Project, RunCaller, RunId, RunOutcome};
use crate::sql::{BoundValue, Row, Tables};

/// How many runs an ambiguous id names.
const NAMED: usize = 5;

/// The columns of a [`RunRow`], with `r` for the run and `e` for its epoch.
pub(super) const COLUMNS: &str = "r.id, r.project, r.actor, r.kind, r.parent, c.caller, c.effect AS caller_effect, r.agent, r.prompt, r.version, r.closure, \
     r.role, r.model, r.endpoint, r.line, r.started, r.ended, r.state, r.outcome, r.input_tokens, \
     r.cache_read_tokens, r.output_tokens, r.nanos, r.numbers, CASE WHEN e.ended IS NULL THEN e.id END AS epoch, \
     EXISTS (SELECT 1 FROM attempts o WHERE o.run = r.id AND o.state = 'open') AS open";

/// Whether somebody lives in an epoch that has not ended.
pub(crate) type Alive<'a> = &'a dyn Fn(&str) -> bool;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Its process is alive.
    Running,
    /// It waits for an answer.
    Asking,
    /// Its process is gone. It can be resumed.
    Interrupted,
    /// It is over.
    Ended(RunOutcome),
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The id by which commands name it.
    pub id: RunId,
    /// The owner of the records it is in.
    pub project: Project,
    /// The actor that started it, as stored.
    pub actor: String,
    /// `prompt`, `assemble` or an agent's name.
    pub kind: String,
    /// The run that it is a fork of.
    pub parent: Option<RunId>,
    /// The call that started it, if a run did.
    pub caller: Option<RunCaller>,
    /// The prompt's name and version.
    pub prompt: PromptId,
    /// The requested role.
    pub role: String,
    /// The model behind the role.
    pub model: String,
    /// The endpoint that was asked.
    pub endpoint: String,
    /// The line of a batch.
    pub line: Option<u32>,
    /// When it started.
    pub started: Time,
    /// When it ended.
    pub ended: Option<Time>,
    /// How far it is.
    pub state: RunState,
    /// Tokens of prompts, cached ones included. `None` where an attempt didn't say.
    pub input_tokens: Option<u64>,
    /// Those of them that were read from the cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens of answers.
    pub output_tokens: Option<u64>,
    /// The cost of all its attempts together. `None` if one of them has no known cost.
    pub cost: Option<NanoDollars>,
    /// Sums and counts.
    pub numbers: Numbers,
}

/// The runs that count in a list, and behind `last`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunScope {
    /// All that are recorded.
    #[default]
    Any,
    /// All but the calls of clients.
    Own,
    /// Those that asked a model or changed something. A prompt that was only assembled did neither, nor did a client's
    /// call.
    Acted,
    /// Those that have not ended and could go on. A client's call can't.
    Unfinished,
}

impl RunScope {
    /// The condition of the query, which an index decides. A run that is unfinished has no outcome.
    const fn condition(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Own => " AND agent <> 'client:mcp'",
            Self::Acted => " AND outcome IS DISTINCT FROM 'assembled' AND agent <> 'client:mcp'",
            Self::Unfinished => " AND outcome IS NULL AND agent <> 'client:mcp'",
        }
    }
}

/// The conditions that a listed run has to meet, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsWanted {
    /// Of which project. `None` is all.
    pub project: Option<Project>,
    /// Started at or after.
    pub since: Option<Time>,
    /// `agent` or `agent/prompt`.
    pub prompt: Option<String>,
    /// Only those that ended like this.
    pub outcome: Option<RunOutcome>,
    /// Whether those count that asked nobody.
    pub listed: RunScope,
    /// The most.
    pub limit: Option<u32>,
}

impl Store {
    /// Runs, the newest first: those that were recorded last.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn runs(&self, wanted: &RunsWanted) -> Result<Vec<RunRow>, Error> {
        let wanted = wanted.clone();
        self.read(move |reader, _site| list_runs(reader, &wanted, &|epoch| epoch::is_alive(reader, epoch))).await
    }

    /// The run whose id begins like that. `last` is the newest of `project` (of all projects with `None`) among those
    /// that are `listed`, `last~1` the one before, as a list of them counts.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if none or several do. It names those.
    pub async fn find(&self, project: Option<&Project>, listed: RunScope, id: &str) -> Result<RunId, Error> {
        let (project, id) = (project.cloned(), id.to_owned());
        self.read(move |reader, _site| find_run_id(reader, project.as_ref(), listed, &id)).await
    }

    /// The run before `id` with the same prompt and project that called a model, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn before(&self, id: &RunId) -> Result<Option<RunId>, Error> {
        let id = id.clone();
        self.read(move |reader, _site| run_before(reader, &id)).await
    }
}

pub(crate) fn list_runs(reader: &Tables, wanted: &RunsWanted, alive: Alive<'_>) -> Result<Vec<RunRow>, ReadFault> {
    let Listing { sql, values } = run_listing(wanted, ListingOrder::NewestFirst);
    all_rows(reader, &sql, values, |line| read_run_row(line, alive))
}

/// A place in the order in which runs were recorded. The default is in front of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunPosition(pub(crate) i64);

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListingOrder {
    /// Those that were recorded last come first.
    NewestFirst,
    /// Those behind a place, in the order in which they were recorded.
    OldestBehind(RunPosition),
}

impl ListingOrder {
    const fn words(self) -> &'static str {
        match self {
            Self::NewestFirst => " ORDER BY seq DESC",
            Self::OldestBehind(_) => " ORDER BY seq",
        }
    }
}

/// A query of runs, while it is put together.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) sql: String,
    pub(crate) values: Vec<BoundValue<'static>>,
}

impl Listing {
    fn push(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    /// Adds SQL with the value of a place behind it.
    fn push_with(&mut self, sql: &str, value: impl Into<BoundValue<'static>>) {
        self.push(sql);
        self.push("?");
        self.values.push(value.into());
    }

    /// Adds whose runs they are, by the index that answers a list's conditions.
    fn push_project(&mut self, project: &Project) {
        self.push_with(" INDEXED BY runs_by_project WHERE project = ", project.0.clone());
    }
}

/// The query of a list: which runs are wanted is decided in an index, and only their rows are read.
pub(crate) fn run_listing(wanted: &RunsWanted, order: ListingOrder) -> Listing {
    let mut query = Listing::default();
    query.push("SELECT r.seq, ");
    query.push(COLUMNS);
    query.push(" FROM runs r LEFT JOIN epochs e ON e.id = r.epoch LEFT JOIN callers c ON c.run = r.id WHERE r.seq IN (SELECT seq FROM runs");
    // Most runs count as listed: the newest rows are found soonest in the table's own order.
    let narrow = wanted.since.is_some() || wanted.prompt.is_some() || wanted.outcome.is_some();
    match &wanted.project {
        Some(project) => query.push_project(project),
        // The oldest rows behind a place are found soonest in the table's own order, too.
        None if narrow && order == ListingOrder::NewestFirst => {
            query.push(" INDEXED BY runs_by_project WHERE true");
        }
        None => query.push(" WHERE true"),
    }
    if let ListingOrder::OldestBehind(place) = order {
        query.push_with(" AND seq > ", place.0);
    }
    if let Some(since) = wanted.since {
        query.push_with(" AND started >= ", since.0);
    }
    if let Some(prompt) = &wanted.prompt {
        let (agent, name) = prompt.split_once('/').map_or((prompt.as_str(), None), |(agent, name)| (agent, Some(name)));
        query.push_with(" AND agent = ", agent.to_owned());
        if let Some(name) = name {
            query.push_with(" AND prompt = ", name.to_owned());
        }
    }
    if let Some(outcome) = wanted.outcome {
        query.push_with(" AND outcome = ", outcome.as_str().to_owned());
    }
    query.push(wanted.listed.condition());
    query.push(order.words());
    if let Some(limit) = wanted.limit {
        query.push_with(" LIMIT ", i64::from(limit));
    }
    query.push(")");
    query.push(order.words());
    query
}

pub(super) fn read_run_row(row: &Row<'_>, alive: Alive<'_>) -> Result<RunRow, ReadFault> {
    // Usage of an open attempt is unknown and not yet part of the sums.
    let open: bool = column_value(row, "open")?;
    let caller = column_value::<Option<String>>(row, "caller")?.map(RunId);
    let effect = count_or_null::<u32>(row, "caller_effect")?.map(EffectId);
    let settled = |column| if open { Ok(None) } else { count_or_null(row, column) };
    Ok(RunRow {
        id: RunId(column_value(row, "id")?),
        project: Project(column_value(row, "project")?),
        actor: column_value(row, "actor")?,
        kind: column_value(row, "kind")?,
        parent: column_value::<Option<String>>(row, "parent")?.map(RunId),
        caller: caller.zip(effect).map(|(run, effect)| RunCaller { run, effect }),
        prompt: PromptId {
            agent: column_value(row, "agent")?,
            name: column_value(row, "prompt")?,
            version: column_value(row, "version")?,
            closure: column_value(row, "closure")?,
        },
        role: column_value(row, "role")?,
        model: column_value(row, "model")?,
        endpoint: column_value(row, "endpoint")?,
        line: count_or_null(row, "line")?,
        started: Time(column_value(row, "started")?),
        ended: column_value::<Option<i64>>(row, "ended")?.map(Time),
        state: read_run_state(row, alive)?,
        input_tokens: settled("input_tokens")?,
        cache_read_tokens: settled("cache_read_tokens")?,
        output_tokens: settled("output_tokens")?,
        cost: settled("nanos")?.map(NanoDollars),
        numbers: column_json(row, "numbers")?,
    })
}

fn read_run_state(row: &Row<'_>, alive: Alive<'_>) -> Result<RunState, ReadFault> {
    match (column_value::<String>(row, "state")?.as_str(), word_or_null::<RunOutcome>(row, "outcome")?) {
        ("ended", Some(outcome)) => Ok(RunState::Ended(outcome)),
        ("asking", None) => Ok(RunState::Asking),
        ("running", None) if column_value::<Option<String>>(row, "epoch")?.is_some_and(|epoch| alive(&epoch)) => {
            Ok(RunState::Running)
        }
        ("running", None) => Ok(RunState::Interrupted),
        (state, outcome) => {
            let outcome = outcome.map_or("none", RunOutcome::as_str);
            Err(ReadFault::Odd(format!("a run is `{state}` with outcome `{outcome}`")))
        }
    }
}

pub(crate) fn find_run_id(
    reader: &Tables,
    project: Option<&Project>,
    listed: RunScope,
    id: &str,
) -> Result<RunId, ReadFault> {
    if let Some(back) = steps_back(id) {
        return match nth_newest_run(reader, project, listed, back)? {
            Some(found) => Ok(found),
            None => Err(ReadFault::Missing(none(project, listed, id, back))),
        };
    }
    let shown = || proem_guard::show::terminal_str(id).into_string();
    let beginning = id.to_ascii_lowercase();
    if beginning.is_empty() || !beginning.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let problem = format!("`{}` is not a run; write the beginning of an id, `last`, or `last~1`", shown());
        return Err(ReadFault::Missing(problem.into()));
    }
    // `g` follows the last hexadecimal digit.
    let most = i64::try_from(NAMED).unwrap_or(i64::MAX).saturating_add(1);
    let begins = "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2";
    let found: Vec<String> = all_rows(reader, begins, (beginning, most), |row| column_value(row, "id"))?;
    match found.as_slice() {
        [] => {
            let problem = format!("no run id begins with `{}`", shown());
            Err(ReadFault::Missing(Absence::remedied(problem, AbsenceRemedy::ListRuns)))
        }
        [one] => Ok(RunId(one.clone())),
        several => {
            let names: Vec<String> = several.iter().take(NAMED).map(|id| format!("`{id}`")).collect();
            let more = if several.len() > NAMED { " and others" } else { "" };
            let problem =
                format!("several run ids begin with `{}`: {}{more}; give more digits", shown(), names.join(", "));
            Err(ReadFault::Missing(problem.into()))
        }
    }
}

/// How far back `last` or `last~N` goes.
fn steps_back(id: &str) -> Option<u32> {
    match id.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// The run that is so many places behind the newest.
fn nth_newest_run(
    reader: &Tables,
    project: Option<&Project>,
    listed: RunScope,
    back: u32,
) -> Result<Option<RunId>, ReadFault> {
    let mut query = Listing::default();
    query.push("SELECT id FROM runs");
    match project {
        Some(project) => query.push_project(project),
        None => query.push(" WHERE true"),
    }
    query.push(listed.condition());
    // A run that a call started belongs to its caller, which is the one that a person means.
    query.push(" AND NOT EXISTS (SELECT 1 FROM callers WHERE callers.run = runs.id");
    query.push_with(" AND callers.effect <> ", i64::from(RunCaller::CHAINED.0));
    query.push(")");
    query.push_with(" ORDER BY seq DESC LIMIT 1 OFFSET ", i64::from(back));
    Ok(first_row(reader, &query.sql, query.values, |row| column_value(row, "id"))?.map(RunId))
}

/// That there is no run so many places back.
fn none(project: Option<&Project>, listed: RunScope, id: &str, back: u32) -> Absence {
    let whose = if project.is_some() { " of this project" } else { "" };
    match (back, listed) {
        (0, RunScope::Any) => format!("no run{whose} is recorded").into(),
        (0, RunScope::Acted) => Absence::remedied(format!("no run{whose} asked a model"), AbsenceRemedy::ListAllRuns),
        (0, RunScope::Unfinished) => Absence::remedied(format!("every run{whose} has ended"), AbsenceRemedy::ListRuns),
        _ => {
            let problem = format!("there is no `{id}`, because there are fewer runs{whose}");
            Absence::remedied(problem, AbsenceRemedy::ListRuns)
        }
    }
}

pub(crate) fn run_before(reader: &Tables, id: &RunId) -> Result<Option<RunId>, ReadFault> {
    let found = first_row(
        reader,
        "SELECT r.id FROM runs l CROSS JOIN runs r INDEXED BY runs_by_project \
         ON r.project = l.project AND r.seq < l.seq AND r.agent = l.agent AND r.prompt = l.prompt \
         WHERE l.id = ? AND EXISTS (SELECT 1 FROM calls c WHERE c.run = r.id) ORDER BY r.seq DESC LIMIT 1",
        [&id.0],
        |row| column_value(row, "id"),
    )?;
    Ok(found.map(RunId))
}
