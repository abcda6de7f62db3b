//! Statistics of runs, each with the number of its observations.
//!
//! A call counts once it was sent, and by its own prompt, together with its usage, cost and answer. Properties of a run
//! (its end, the guard's findings, persons' feedback) count by the run's prompt. Percentiles are exact, by nearest
//! rank: of `n` values in order the one at place `⌈n · p / 100⌉`, so that each is a value that was measured. No text is
//! read, and SQLite adds up: it returns one row for each prompt, role and tool.

mod tally;

use std::collections::BTreeMap;

use proem_engine::run::Time;
use serde::Serialize;

use self::tally::{AttemptTally, CallTally, CountedSum, RunTally, StatisticsTally};
use super::values::{ReadFault, all_rows, column_count, column_json, column_value};
use crate::Store;
use crate::error::Error;
use crate::record::Project;
use crate::sql::{Row, Tables};

/// The runs that are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatisticsWanted {
    /// Of which project. `None` is all.
    pub project: Option<Project>,
    /// Started at or after.
    pub since: Option<Time>,
    /// Of which agent. `None` is all.
    pub agent: Option<String>,
}

/// A figure and how many values it was made from. `None` where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CountedFigure {
    /// The figure, in the unit of what it is a figure of.
    pub value: Option<f64>,
    /// How many values it was made from.
    pub n: u64,
}

/// The figures of one group of runs. Rates are shares from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunGroup {
    /// Their common property: `agent/prompt@version`, a tool, a role.
    pub name: String,
    /// How many runs: of a prompt those that were started with it, of a tool those that called it.
    pub runs: u64,
    /// How many calls: of a prompt those that were made with it, in whatever run.
    pub calls: u64,
    /// The share of calls that this group has of all.
    pub share: CountedFigure,
    /// Tokens of prompts in all, over the attempts that reported them.
    pub input_tokens: CountedFigure,
    /// Tokens of answers in all.
    pub output_tokens: CountedFigure,
    /// Tokens read from the cache over tokens of prompts.
    pub cache_hit_rate: CountedFigure,
    /// Calls whose answer met its contract at once over calls that were answered. A refusal and an answer that
    /// was cut off meet none.
    pub success_rate: CountedFigure,
    /// Answers that broke their contract.
    pub schema_failures: CountedFigure,
    /// Repaired places of answers.
    pub repairs: CountedFigure,
    /// Runs that ended with the prompt's own value, over runs that ended and were to ask a model.
    pub fallback_rate: CountedFigure,
    /// The median time of an answered attempt, in milliseconds.
    pub latency_p50_ms: CountedFigure,
    /// The time that 95 of 100 stay below.
    pub latency_p95_ms: CountedFigure,
    /// The median time of assembling, in milliseconds.
    pub assembly_p50_ms: CountedFigure,
    /// Tokens saved against the prompt that lists everything, over that prompt's tokens.
    pub saved_rate: CountedFigure,
    /// Calls of an embedding model, for each run.
    pub embedding_calls: CountedFigure,
    /// Texts that the guard kept out.
    pub filtered: CountedFigure,
    /// Texts with a finding at or above flag, over texts that were looked at.
    pub threat_rate: CountedFigure,
    /// Runs that asked a person, over the same.
    pub escalation_rate: CountedFigure,
    /// Their total cost in dollars.
    pub cost: CountedFigure,
    /// How many persons said `good`, over all that said something.
    pub approval_rate: CountedFigure,
}

/// All figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    /// All runs.
    pub all: RunGroup,
    /// By version of each prompt: its runs, and its calls.
    pub prompts: Vec<RunGroup>,
    /// By tool, which is the name of the contract that an answer is bound to.
    pub tools: Vec<RunGroup>,
    /// The same figures for each role of a model.
    pub roles: Vec<RunGroup>,
    /// Calls on each day, oldest first.
    pub days: Vec<(String, u64)>,
}

impl Store {
    /// The figures.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn statistics(&self, wanted: &StatisticsWanted) -> Result<Statistics, Error> {
        let wanted = wanted.clone();
        self.read(move |reader, _site| statistics(reader, &wanted)).await
    }
}

/// The tallies that are gathered while rows go by.
#[derive(Debug, Default)]
struct GroupTallies {
    all: StatisticsTally,
    prompts: BTreeMap<String, StatisticsTally>,
    tools: BTreeMap<String, StatisticsTally>,
    roles: BTreeMap<String, StatisticsTally>,
}

impl GroupTallies {
    /// Adds to all groups that a row belongs to, by its prompt, its role and its tool.
    fn each(&mut self, row: &Row<'_>, mut add: impl FnMut(&mut StatisticsTally)) -> Result<(), ReadFault> {
        let (agent, prompt, version): (String, String, String) =
            (column_value(row, "agent")?, column_value(row, "prompt")?, column_value(row, "version")?);
        add(&mut self.all);
        add(self.prompts.entry(format!("{agent}/{prompt}@{version}")).or_default());
        add(self.roles.entry(column_value(row, "role")?).or_default());
        if let Some(tool) = column_value(row, "tool")? {
            add(self.tools.entry(tool).or_default());
        }
        Ok(())
    }
}

pub(crate) fn statistics(reader: &Tables, wanted: &StatisticsWanted) -> Result<Statistics, ReadFault> {
    let mut gathered = GroupTallies::default();
    gather_runs(reader, wanted, &mut gathered)?;
    gather_calls(reader, wanted, &mut gathered)?;
    attempts(reader, wanted, &mut gathered)?;
    gather_feedback(reader, wanted, &mut gathered)?;
    let days = read_calls_per_day(reader, wanted)?;
    let calls = gathered.all.calls();
    let finish = |tallies: BTreeMap<String, StatisticsTally>| {
        tallies.into_iter().map(|(name, tally)| tally.finish(name, calls)).collect::<Vec<_>>()
    };
    Ok(Statistics {
        all: gathered.all.finish("all".to_owned(), calls),
        prompts: finish(gathered.prompts),
        tools: finish(gathered.tools),
        roles: finish(gathered.roles),
        days,
    })
}

/// A question of sums: `columns` of each group of `by`, from `tables`, whose runs are `r`.
#[derive(Debug, Clone, Copy)]
struct Sums<'s> {
    by: &'s [&'s str],
    columns: &'s str,
    tables: &'s str,
}

impl Sums<'_> {
    /// Reads a row for each group.
    fn each(
        &self,
        reader: &Tables,
        wanted: &StatisticsWanted,
        read: impl FnMut(&Row<'_>) -> Result<(), ReadFault>,
    ) -> Result<(), ReadFault> {
        let Sums { by, columns, tables } = self;
        let groups = (1..=by.len()).map(|place| place.to_string()).collect::<Vec<_>>().join(", ");
        let by = by.join(", ");
        let sql = format!("SELECT {by}, {columns} FROM {tables} WHERE {WANTED} GROUP BY {groups}");
        all_rows(reader, &sql, statistics_bounds(wanted), read).map(drop)
    }
}

/// The conditions on runs, `r`.
const WANTED: &str = "(?1 IS NULL OR r.project = ?1) AND r.started >= ?2 AND (?3 IS NULL OR r.agent = ?3)";

/// Their values: the project, the first time, the agent.
fn statistics_bounds(wanted: &StatisticsWanted) -> (Option<&str>, i64, Option<&str>) {
    let project = wanted.project.as_ref().map(|project| project.0.as_str());
    (project, wanted.since.map_or(i64::MIN, |since| since.0), wanted.agent.as_deref())
}

/// The sums of runs. A run that was only assembled asked no model, so it could neither fall back nor escalate.
const RAN: &str = "count(*) AS runs, count(*) FILTER (WHERE r.state = 'ended' AND r.outcome <> 'assembled') AS ended, \
     total(r.state = 'ended' AND r.outcome = 'fell-back') AS fell_back, \
     total(r.state = 'ended' AND CAST(r.numbers ->> 'escalated' AS TEXT) IN ('1', 'true')) AS escalated, \
     json_group_array(CAST(r.numbers ->> 'assembledUs' AS INTEGER)) FILTER (WHERE r.numbers ->> 'assembledUs' IS NOT NULL) AS assembled, \
     total(r.numbers ->> 'embeddingCalls') AS embeddings, count(r.numbers ->> 'embeddingCalls') AS embeddings_n, \
     total(r.numbers ->> 'filtered') AS filtered, count(r.numbers ->> 'filtered') AS filtered_n, \
     total(r.numbers ->> 'threats') FILTER (WHERE r.numbers ->> 'scanned' IS NOT NULL) AS threats, \
     CAST(total(r.numbers ->> 'scanned') FILTER (WHERE r.numbers ->> 'threats' IS NOT NULL) AS INTEGER) AS scanned";

/// The tools of runs: a run belongs to each that one of its calls was bound to.
const TOOLS: &str = "(SELECT DISTINCT run, tool FROM calls WHERE tool IS NOT NULL)";

fn gather_runs(reader: &Tables, wanted: &StatisticsWanted, gathered: &mut GroupTallies) -> Result<(), ReadFault> {
    let by = ["r.agent", "r.prompt", "r.version", "r.role", "NULL AS tool"];
    Sums { by: &by, columns: RAN, tables: "runs r" }.each(reader, wanted, |row| {
        let ran = ran(row)?;
        gathered.each(row, |tally| tally.runs(&ran))
    })?;
    let tables = format!("{TOOLS} t JOIN runs r ON r.id = t.run");
    Sums { by: &["t.tool"], columns: RAN, tables: &tables }.each(reader, wanted, |row| {
        gathered.tools.entry(column_value(row, "tool")?).or_default().runs(&ran(row)?);
        Ok(())
    })
}

fn ran(row: &Row<'_>) -> Result<RunTally, ReadFault> {
    let ended = column_count(row, "ended")?;
    Ok(RunTally {
        runs: column_count(row, "runs")?,
        fell_back: CountedSum { total: read_total(row, "fell_back")?, n: ended },
        escalated: CountedSum { total: read_total(row, "escalated")?, n: ended },
        assembly_us: column_json(row, "assembled")?,
        embedding_calls: read_counted_sum(row, "embeddings", "embeddings_n")?,
        filtered: read_counted_sum(row, "filtered", "filtered_n")?,
        threats: read_counted_sum(row, "threats", "scanned")?,
    })
}

/// The role that a call was made in: that of its run, unless the run names a large model beside its own and asked that.
const OF_ROLE: &str = "CASE WHEN c.model <> r.model AND c.model = r.settings ->> '$.large.model' \
     AND c.endpoint = r.settings ->> '$.large.endpoint' THEN 'large' ELSE r.role END AS role";

/// The groups of a call, or of an assembly without one.
const CALLED_BY: [&str; 5] = [
    "coalesce(c.agent, r.agent) AS agent",
    "coalesce(c.prompt, r.prompt) AS prompt",
    "coalesce(c.version, r.version) AS version",
    OF_ROLE,
    "c.tool",
];

fn gather_calls(reader: &Tables, wanted: &StatisticsWanted, gathered: &mut GroupTallies) -> Result<(), ReadFault> {
    let columns = "count(a.id) AS sent, count(*) FILTER (WHERE c.state = 'answered') AS answered, \
         total(c.state = 'answered' AND coalesce(c.finish, '') NOT IN ('refusal', 'length') \
         AND json_array_length(c.problems) = 0) AS at_once, \
         total(json_array_length(c.problems) > 0) FILTER (WHERE c.state = 'answered') AS broken, \
         total(json_array_length(c.repairs)) FILTER (WHERE c.state = 'answered') AS repairs, \
         total(s.tokens) FILTER (WHERE s.monolithic_tokens IS NOT NULL) AS assembled, \
         total(s.monolithic_tokens) AS monolithic, count(s.monolithic_tokens) AS monolithic_n";
    // An assembly without a call counts for what it saved.
    let tables = "assemblies s JOIN runs r ON r.id = s.run LEFT JOIN calls c ON c.run = s.run AND c.effect = s.effect \
         LEFT JOIN attempts a ON a.run = s.run AND a.effect = s.effect AND a.attempt = 0";
    Sums { by: &CALLED_BY, columns, tables }.each(reader, wanted, |row| {
        let n = column_count(row, "answered")?;
        let at_once = CountedSum { total: read_total(row, "at_once")?, n };
        let called = CallTally {
            sent: column_count(row, "sent")?,
            at_once,
            broken: CountedSum { total: read_total(row, "broken")?, n },
            repairs: CountedSum { total: read_total(row, "repairs")?, n },
            assembled: read_total(row, "assembled")?,
            monolithic: read_counted_sum(row, "monolithic", "monolithic_n")?,
        };
        gathered.each(row, |tally| tally.calls_of(&called))
    })
}

fn attempts(reader: &Tables, wanted: &StatisticsWanted, gathered: &mut GroupTallies) -> Result<(), ReadFault> {
    let columns = "json_group_array(u.took_ms) FILTER (WHERE u.status IS NOT NULL AND u.failed IS NULL) AS took, \
         total(u.input_tokens) AS input, count(u.input_tokens) AS input_n, \
         total(u.output_tokens) AS output, count(u.output_tokens) AS output_n, \
         total(u.cache_read_tokens) FILTER (WHERE u.input_tokens IS NOT NULL) AS cached, \
         total(u.input_tokens) FILTER (WHERE u.cache_read_tokens IS NOT NULL) AS cacheable, \
         count(*) FILTER (WHERE u.input_tokens IS NOT NULL AND u.cache_read_tokens IS NOT NULL) AS cached_n, \
         total(coalesce(k.nanos, u.nanos)) AS booked, count(coalesce(k.nanos, u.nanos)) AS booked_n";
    // Of a correction the last counts.
    let tables = "usage u JOIN attempts a ON a.id = u.attempt JOIN runs r ON r.id = a.run \
         LEFT JOIN calls c ON c.run = a.run AND c.effect = a.effect \
         LEFT JOIN corrections k ON k.seq = (SELECT max(seq) FROM corrections WHERE attempt = a.id)";
    Sums { by: &CALLED_BY, columns, tables }.each(reader, wanted, |row| {
        let sent = AttemptTally {
            latencies: column_json(row, "took")?,
            input: read_counted_sum(row, "input", "input_n")?,
            output: read_counted_sum(row, "output", "output_n")?,
            cached: read_counted_sum(row, "cached", "cached_n")?,
            cacheable: read_total(row, "cacheable")?,
            nanos: read_counted_sum(row, "booked", "booked_n")?,
        };
        gathered.each(row, |tally| tally.attempts(&sent))
    })
}

fn gather_feedback(reader: &Tables, wanted: &StatisticsWanted, gathered: &mut GroupTallies) -> Result<(), ReadFault> {
    let by = ["r.agent", "r.prompt", "r.version", "r.role", "NULL AS tool"];
    let columns = "total(f.verdict = 'good') AS good, count(*) AS verdicts";
    let tables = "feedback f JOIN runs r ON r.id = f.run";
    Sums { by: &by, columns, tables }.each(reader, wanted, |row| {
        let good = read_counted_sum(row, "good", "verdicts")?;
        gathered.each(row, |tally| tally.verdicts(good))
    })?;
    let tables = format!("feedback f JOIN {TOOLS} t ON t.run = f.run JOIN runs r ON r.id = f.run");
    Sums { by: &["t.tool"], columns, tables: &tables }.each(reader, wanted, |row| {
        gathered
            .tools
            .entry(column_value(row, "tool")?)
            .or_default()
            .verdicts(read_counted_sum(row, "good", "verdicts")?);
        Ok(())
    })
}

/// A total of values that are never negative.
fn read_total(row: &Row<'_>, column: &str) -> Result<f64, ReadFault> {
    let value: f64 = column_value(row, column)?;
    if value >= 0.0 { Ok(value) } else { Err(ReadFault::Odd(format!("`{column}` adds up to {value}"))) }
}

/// A total, and how many values it is of.
fn read_counted_sum(row: &Row<'_>, column: &str, n: &str) -> Result<CountedSum, ReadFault> {
    Ok(CountedSum { total: read_total(row, column)?, n: column_count(row, n)? })
}

/// Calls on each day, by the day that their first attempt is booked to.
fn read_calls_per_day(reader: &Tables, wanted: &StatisticsWanted) -> Result<Vec<(String, u64)>, ReadFault> {
    all_rows(
        reader,
        &format!(
            "SELECT a.day, count(*) AS calls FROM attempts a JOIN runs r ON r.id = a.run \
             WHERE a.attempt = 0 AND {WANTED} GROUP BY a.day ORDER BY a.day"
        ),
        statistics_bounds(wanted),
        |row| Ok((column_value(row, "day")?, column_count(row, "calls")?)),
    )
}
