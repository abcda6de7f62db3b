//! What runs were like, in numbers, each with how many it was made from.

//!
//! A call counts once it was sent. Percentiles are exact, by nearest rank: of `n` values in order the
//! one at place `⌈n · p / 100⌉`, so that each is a value that was measured. No text is read.

mod tally;

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use proem_engine::run::Time;
use serde::Serialize;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use self::tally::{Called, Ran, Sent, Tally};
use super::values::{Fault, count, count_or_null, get, json};
use crate::Store;
use crate::error::Error;
use crate::record::Project;

/// Which runs are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatisticsWanted {
    /// Of which project; `None` is all.
    pub project: Option<Project>,
    /// Started at or after.
    pub since: Option<Time>,
}

/// A figure and how many values it was made from; `None` where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// It.
    pub value: Option<f64>,
    /// How many.
    pub n: u64,
}

/// The figures of one group of runs. Rates are shares from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// What they have in common: `agent/prompt@version`, a tool, a role.
    pub name: String,
    /// How many runs.
    pub runs: u64,
    /// How many calls.
    pub calls: u64,
    /// The share of calls that this group has of all.
    pub share: Summary,
    /// Tokens of prompts in all, over the attempts that reported them.
    pub input_tokens: Summary,
    /// Tokens of answers in all.
    pub output_tokens: Summary,
    /// Tokens read from the cache over tokens of prompts.
    pub cache_hit_rate: Summary,
    /// Calls whose answer met its contract at once over calls that were answered.
    pub success_rate: Summary,
    /// Answers that broke their contract.
    pub schema_failures: Summary,
    /// Repaired places of answers.
    pub repairs: Summary,
    /// Runs that ended with the prompt's own value, over runs that ended.
    pub fallback_rate: Summary,
    /// The median time of an answered attempt, in milliseconds.
    pub latency_p50_ms: Summary,
    /// The time that 95 of 100 stay below.
    pub latency_p95_ms: Summary,
    /// The median time of assembling, in milliseconds.
    pub assembly_p50_ms: Summary,
    /// Tokens saved against the prompt that lists everything, over that prompt's tokens.
    pub saved_rate: Summary,
    /// Calls of an embedding model, for each run.
    pub embedding_calls: Summary,
    /// Texts that the guard kept out.
    pub filtered: Summary,
    /// Texts with a finding at or above flag, over texts that were looked at.
    pub threat_rate: Summary,
    /// Runs that asked a person, over runs that ended.
    pub escalation_rate: Summary,
    /// What it cost in all, in dollars.
    pub cost: Summary,
    /// How many persons said `good`, over all that said something.
    pub approval_rate: Summary,
}

/// All figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    /// All runs.
    pub all: Group,
    /// By version of each prompt.
    pub prompts: Vec<Group>,
    /// By tool, which is the name of the contract that an answer is bound to.
    pub tools: Vec<Group>,
    /// By role.
    pub roles: Vec<Group>,
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
        let mut reader = self.sqlite.reader().await?;
        statistics(&mut reader, wanted).await.map_err(|fault| self.failed(fault))
    }
}

/// What is gathered while rows go by.
#[derive(Debug, Default)]
struct Gathered {
    all: Tally,
    prompts: BTreeMap<String, Tally>,
    tools: BTreeMap<String, Tally>,
    roles: BTreeMap<String, Tally>,
}

impl Gathered {
    /// Adds to all groups that a row belongs to, by its prompt, its role and its tool.
    fn each(&mut self, row: &SqliteRow, mut add: impl FnMut(&mut Tally)) -> Result<(), Fault> {
        let (agent, prompt, version): (&str, &str, &str) =
            (get(row, "agent")?, get(row, "prompt")?, get(row, "version")?);
        add(&mut self.all);
        add(group(&mut self.prompts, &format!("{agent}/{prompt}@{version}")));
        add(group(&mut self.roles, get(row, "role")?));
        if let Some(tool) = get::<Option<&str>>(row, "tool")? {
            add(group(&mut self.tools, tool));
        }
        Ok(())
    }
}

fn group<'t>(tallies: &'t mut BTreeMap<String, Tally>, name: &str) -> &'t mut Tally {
    if !tallies.contains_key(name) {
        tallies.insert(name.to_owned(), Tally::default());
    }
    tallies.entry(name.to_owned()).or_default()
}

pub(crate) async fn statistics(reader: &mut SqliteConnection, wanted: &StatisticsWanted) -> Result<Statistics, Fault> {
    sqlx::query("BEGIN").execute(&mut *reader).await?;
    let mut gathered = Gathered::default();
    runs(reader, wanted, &mut gathered).await?;
    runs_of_tools(reader, wanted, &mut gathered).await?;
    calls(reader, wanted, &mut gathered).await?;
    attempts(reader, wanted, &mut gathered).await?;
    feedback(reader, wanted, &mut gathered).await?;
    let days = days(reader, wanted).await?;
    let calls = gathered.all.calls();
    let finish = |tallies: BTreeMap<String, Tally>| {
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

/// Binds which runs are wanted, as `?1` and `?2`.
macro_rules! wanted {
    ($wanted:expr, $sql:expr) => {
        sqlx::query(concat!($sql, " WHERE (?1 IS NULL OR r.project = ?1) AND r.started >= ?2"))
            .bind($wanted.project.as_ref().map(|project| project.0.as_str()))
            .bind($wanted.since.map_or(i64::MIN, |since| since.0))
    };
}

async fn runs(reader: &mut SqliteConnection, wanted: &StatisticsWanted, all: &mut Gathered) -> Result<(), Fault> {
    let mut rows = wanted!(
        wanted,
        "SELECT r.agent, r.prompt, r.version, r.role, NULL AS tool, r.state, r.outcome, r.numbers FROM runs r"
    )
    .fetch(reader);
    while let Some(row) = rows.try_next().await? {
        let ran = ran(&row)?;
        all.each(&row, |tally| tally.run(&ran))?;
    }
    Ok(())
}

/// A run belongs to each tool that one of its calls was bound to.
async fn runs_of_tools(
    reader: &mut SqliteConnection,
    wanted: &StatisticsWanted,
    all: &mut Gathered,
) -> Result<(), Fault> {
    let mut rows = wanted!(
        wanted,
        "SELECT t.tool, r.state, r.outcome, r.numbers FROM \
         (SELECT DISTINCT run, tool FROM calls WHERE tool IS NOT NULL) t JOIN runs r ON r.id = t.run"
    )
    .fetch(reader);
    while let Some(row) = rows.try_next().await? {
        group(&mut all.tools, get(&row, "tool")?).run(&ran(&row)?);
    }
    Ok(())
}

fn ran(row: &SqliteRow) -> Result<Ran, Fault> {
    Ok(Ran {
        ended: get::<&str>(row, "state")? == "ended",
        fell_back: get::<Option<&str>>(row, "outcome")? == Some("fell-back"),
        numbers: json(row, "numbers")?,
    })
}

async fn calls(reader: &mut SqliteConnection, wanted: &StatisticsWanted, all: &mut Gathered) -> Result<(), Fault> {
    // An assembly without a call counts for what it saved.
    let mut rows = wanted!(
        wanted,
        "SELECT r.agent, r.prompt, r.version, r.role, c.tool, c.state = 'answered' AS answered, \
         json_array_length(c.problems) AS problems, json_array_length(c.repairs) AS repairs, \
         s.tokens, s.monolithic_tokens, a.id IS NOT NULL AS sent FROM assemblies s JOIN runs r ON r.id = s.run \
         LEFT JOIN calls c ON c.run = s.run AND c.effect = s.effect \
         LEFT JOIN attempts a ON a.run = s.run AND a.effect = s.effect AND a.attempt = 0"
    )
    .fetch(reader);
    while let Some(row) = rows.try_next().await? {
        let called = Called {
            sent: get(&row, "sent")?,
            answered: get::<Option<bool>>(&row, "answered")?.unwrap_or(false),
            problems: count_or_null(&row, "problems")?.unwrap_or(0),
            repairs: count_or_null(&row, "repairs")?.unwrap_or(0),
            tokens: count(&row, "tokens")?,
            monolithic: count_or_null(&row, "monolithic_tokens")?,
        };
        all.each(&row, |tally| tally.call(&called))?;
    }
    Ok(())
}

async fn attempts(reader: &mut SqliteConnection, wanted: &StatisticsWanted, all: &mut Gathered) -> Result<(), Fault> {
    let mut rows = wanted!(
        wanted,
        "SELECT r.agent, r.prompt, r.version, r.role, c.tool, u.took_ms, u.input_tokens, u.cache_read_tokens, \
         u.output_tokens, a.state = 'reported' AND u.failed IS NULL AS answered, \
         COALESCE((SELECT k.nanos FROM corrections k WHERE k.attempt = a.id ORDER BY k.seq DESC LIMIT 1), u.nanos) \
         AS booked FROM usage u JOIN attempts a ON a.id = u.attempt JOIN runs r ON r.id = a.run \
         LEFT JOIN calls c ON c.run = a.run AND c.effect = a.effect"
    )
    .fetch(reader);
    while let Some(row) = rows.try_next().await? {
        let sent = Sent {
            answered: get(&row, "answered")?,
            took_ms: count(&row, "took_ms")?,
            input: count_or_null(&row, "input_tokens")?,
            cache_read: count_or_null(&row, "cache_read_tokens")?,
            output: count_or_null(&row, "output_tokens")?,
            booked: count_or_null(&row, "booked")?,
        };
        all.each(&row, |tally| tally.attempt(&sent))?;
    }
    Ok(())
}

async fn feedback(reader: &mut SqliteConnection, wanted: &StatisticsWanted, all: &mut Gathered) -> Result<(), Fault> {
    let mut rows = wanted!(
        wanted,
        "SELECT r.agent, r.prompt, r.version, r.role, \
         (SELECT min(c.tool) FROM calls c WHERE c.run = r.id) AS tool, f.verdict = 'good' AS good \
         FROM feedback f JOIN runs r ON r.id = f.run"
    )
    .fetch(reader);
    while let Some(row) = rows.try_next().await? {
        let good = get::<bool>(&row, "good")?;
        all.each(&row, |tally| tally.verdict(good))?;
    }
    Ok(())
}

/// Calls on each day, by the day that their first attempt is booked to.
async fn days(reader: &mut SqliteConnection, wanted: &StatisticsWanted) -> Result<Vec<(String, u64)>, Fault> {
    let rows = sqlx::query(
        "SELECT a.day, count(*) AS calls FROM attempts a JOIN runs r ON r.id = a.run \
         WHERE a.attempt = 0 AND (?1 IS NULL OR r.project = ?1) AND r.started >= ?2 GROUP BY a.day ORDER BY a.day",
    )
    .bind(wanted.project.as_ref().map(|project| project.0.as_str()))
    .bind(wanted.since.map_or(i64::MIN, |since| since.0))
    .fetch_all(reader)
    .await?;
    rows.iter().map(|row| Ok((get(row, "day")?, count(row, "calls")?))).collect()
}
