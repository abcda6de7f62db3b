//! Outcomes of experiments, run by run in the order in which the runs began.
//!
//! The order is that of the records and not of any clock: a clock that jumps changes no outcome.

use proem_engine::prompt::book::experiment::ExperimentOutcome;

use super::values::{ReadFault, all_rows};
use crate::Store;
use crate::error::Error;
use crate::record::Project;
use crate::sql::Tables;

/// The outcomes of one start of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentWanted {
    /// Of which project.
    pub project: Project,
    /// The experiment's name.
    pub experiment: String,
    /// Its start, in milliseconds since 1970.
    pub started: i64,
    /// The measures, at most [`ExperimentWanted::MOST`].
    pub outcomes: Vec<ExperimentOutcome>,
}

impl ExperimentWanted {
    /// The most measures of one question.
    pub const MOST: usize = 8;
}

/// A run of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentRow {
    /// The version that it was made with.
    pub version: String,
    /// The hash of its subject.
    pub subject: String,
    /// Its measures, in the order of the question. `None` where there is no outcome yet, or none that is known.
    pub values: Vec<Option<f64>>,
}

/// A measure of a run for the figures of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunMeasure {
    /// A measure that an experiment can have, too. Amounts are those of runs whose own prompt it is.
    Outcome(ExperimentOutcome),
    /// Whether the run ended with the model's value: 1 or 0, of runs whose own prompt it is and which asked.
    Success,
    /// Whether one of the answers to the prompt broke its contract: 1 or 0.
    BrokenContract,
    /// Whether one of the answers to the prompt was repaired: 1 or 0.
    Repaired,
    /// The share of the prompt's tokens that came from the provider's cache, where the provider says so.
    CacheHits,
    /// Whether a person said last that the run's alarm was false: 1 or 0.
    FalseAlarm,
}

/// The latest runs with one version of a prompt, be it their own or that of one of their calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionWanted {
    /// Of which project.
    pub project: Project,
    /// `agent/name`.
    pub prompt: String,
    /// Three numbers, as its runs record it.
    pub version: String,
    /// The figures that are read of each run.
    pub measures: Vec<RunMeasure>,
    /// How many runs are read at most.
    pub most: u32,
}

impl Store {
    /// The runs of an experiment since a start of it, each with its measures, in the order in which they began. A run
    /// counts once, with the last verdict that a person gave on it.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn experiment_rows(&self, wanted: ExperimentWanted) -> Result<Vec<ExperimentRow>, Error> {
        self.read(move |reader, _site| read_experiment_rows(reader, &wanted)).await
    }

    /// The known values of each measure over the latest runs of a version, in or out of an experiment, newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn version_values(&self, wanted: VersionWanted) -> Result<Vec<Vec<f64>>, Error> {
        self.read(move |reader, _site| read_version_values(reader, &wanted)).await
    }
}

fn read_experiment_rows(reader: &Tables, wanted: &ExperimentWanted) -> Result<Vec<ExperimentRow>, ReadFault> {
    let measures: Vec<String> =
        wanted.outcomes.iter().take(ExperimentWanted::MOST).map(|outcome| measure_sql(outcome, "a.prompt")).collect();
    let columns: String = measures.iter().map(|sql| format!(", {sql}")).collect();
    let sql = format!(
        "SELECT r.seq, a.version, a.subject{columns} FROM assignments a CROSS JOIN runs r ON r.id = a.run \
         WHERE (a.project, a.experiment, a.started) = (?, ?, ?)"
    );
    // A hundred thousand rows are sorted here more quickly than there, and places are found more quickly than names.
    let mut rows: Vec<(i64, ExperimentRow)> =
        all_rows(reader, &sql, (&wanted.project.0, &wanted.experiment, wanted.started), |row| {
            let values = (0..measures.len()).map(|place| row.get(FIXED_COLUMNS + place)).collect::<Result<_, _>>()?;
            Ok((row.get(0)?, ExperimentRow { version: row.get(1)?, subject: row.get(2)?, values }))
        })?;
    rows.sort_unstable_by_key(|(seq, _)| *seq);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// The columns before the measures of an experiment's run.
const FIXED_COLUMNS: usize = 3;

fn read_version_values(reader: &Tables, wanted: &VersionWanted) -> Result<Vec<Vec<f64>>, ReadFault> {
    let (agent, name) = wanted.prompt.split_once('/').unwrap_or((&wanted.prompt, ""));
    let measures: Vec<String> = wanted.measures.iter().map(version_measure_sql).collect();
    let sql = format!(
        "SELECT {} FROM (SELECT * FROM (SELECT o.*, CAST(? AS TEXT) AS asked, (agent, prompt, version) = (?, ?, ?) AS is_own \
         FROM runs o WHERE project = ?) known WHERE is_own OR EXISTS (SELECT 1 FROM calls c WHERE c.run = known.id \
         AND (c.agent, c.prompt, c.version) = (?, ?, ?)) ORDER BY seq DESC LIMIT ?) r",
        measures.join(", ")
    );
    let (version, project, most) = (&wanted.version, &wanted.project.0, i64::from(wanted.most));
    let values = (&wanted.prompt, agent, name, version, project, agent, name, version, most);
    let rows: Vec<Vec<Option<f64>>> = all_rows(reader, &sql, values, |row| {
        Ok((0..measures.len()).map(|place| row.get(place)).collect::<Result<_, _>>()?)
    })?;
    let of = |place: usize| rows.iter().filter_map(|row| row.get(place).copied().flatten()).collect();
    Ok((0..measures.len()).map(of).collect())
}

/// The SQL of a measure of run `r`, of which `asked` is the prompt and `is_own` says whether it is the run's own: null
/// where it has none.
fn version_measure_sql(measure: &RunMeasure) -> String {
    let of_answers = |value: &str| {
        format!(
            "(SELECT CAST(max(CASE WHEN {value} THEN 1 ELSE 0 END) AS REAL) FROM calls c WHERE c.run = r.id AND c.state = 'answered' \
             AND c.agent || '/' || c.prompt = r.asked)"
        )
    };
    match measure {
        RunMeasure::Outcome(outcome) if outcome.is_share() => measure_sql(outcome, "r.asked"),
        RunMeasure::Outcome(outcome) => format!("CASE WHEN r.is_own THEN {} END", measure_sql(outcome, "r.asked")),
        RunMeasure::Success => {
            "CASE WHEN r.is_own AND r.state = 'ended' AND r.outcome NOT IN ('refused', 'assembled') \
             THEN CASE WHEN r.outcome = 'answered' THEN 1.0 ELSE 0.0 END END"
                .to_owned()
        }
        RunMeasure::BrokenContract => of_answers("json_array_length(c.problems) > 0"),
        RunMeasure::Repaired => of_answers("json_array_length(c.repairs) > 0"),
        RunMeasure::CacheHits => "(SELECT sum(u.cache_read_tokens) * 1.0 / nullif(sum(u.input_tokens), 0) \
             FROM calls c JOIN attempts t ON t.run = c.run AND t.effect = c.effect JOIN usage u ON u.attempt = t.id \
             WHERE c.run = r.id AND c.agent || '/' || c.prompt = r.asked \
             AND u.input_tokens IS NOT NULL AND u.cache_read_tokens IS NOT NULL)"
            .to_owned(),
        RunMeasure::FalseAlarm => last_verdict_sql("'false-positive'", "'false-positive', 'caught'"),
    }
}

/// The SQL of whether the last verdict on run `r` among some words is one of `wanted`.
fn last_verdict_sql(wanted: &str, among: &str) -> String {
    format!(
        "(SELECT CASE WHEN f.verdict IN ({wanted}) THEN 1.0 ELSE 0.0 END FROM feedback f WHERE f.run = r.id \
         AND f.verdict IN ({among}) ORDER BY f.seq DESC LIMIT 1)"
    )
}

/// The SQL of a measure of run `r` with the prompt that a column names: null where it has none.
pub(super) fn measure_sql(outcome: &ExperimentOutcome, prompt: &str) -> String {
    let first_answer = |column: &str| {
        format!(
            "(SELECT {column} FROM calls c WHERE c.run = r.id AND c.state = 'answered' \
             AND c.agent || '/' || c.prompt = {prompt} ORDER BY c.effect LIMIT 1)"
        )
    };
    // A run that a budget refused asked nobody, and one that still runs has no sum.
    let asked = |sum: &str| format!("CASE WHEN r.state = 'ended' AND r.outcome <> 'refused' THEN {sum} END");
    match outcome {
        ExperimentOutcome::FirstAttempt => first_answer(
            "CASE WHEN coalesce(c.finish, '') NOT IN ('refusal', 'length') AND json_array_length(c.problems) = 0 \
             THEN 1.0 ELSE 0.0 END",
        ),
        ExperimentOutcome::Check(rule) => first_answer(&format!(
            "CASE WHEN EXISTS (SELECT 1 FROM json_each(c.problems) p WHERE p.value ->> '$.rule' = '{}') THEN 0.0 ELSE 1.0 END",
            rule.replace('\'', "''")
        )),
        // An assessment of risk is judged in words of its own.
        ExperimentOutcome::Feedback => {
            last_verdict_sql("'good', 'caught'", "'good', 'bad', 'caught', 'false-positive'")
        }
        ExperimentOutcome::Tokens => asked("CAST(r.input_tokens + r.output_tokens AS REAL)"),
        ExperimentOutcome::Cost => asked("CAST(r.nanos AS REAL) / 1e9"),
        ExperimentOutcome::Latency => asked(
            "(SELECT CAST(sum(u.took_ms) AS REAL) FROM attempts t JOIN usage u ON u.attempt = t.id WHERE t.run = r.id)",
        ),
    }
}
