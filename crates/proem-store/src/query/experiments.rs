//! Outcomes of experiments, run by run in the order in which the runs began.
//!
//! The order is that of the records and not of any clock: a clock that jumps changes no outcome.

use proem_engine::prompt::book::experiment::ExperimentOutcome;
use rusqlite::Connection;

use super::values::{ReadFault, all_rows, column_value};
use crate::Store;
use crate::error::Error;
use crate::record::Project;

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

/// The latest runs of one version of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionWanted {
    /// Of which project.
    pub project: Project,
    /// `agent/name`.
    pub prompt: String,
    /// Three numbers, as its runs record it.
    pub version: String,
    /// The measure.
    pub outcome: ExperimentOutcome,
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

    /// A measure of the latest runs of a version, in or out of an experiment, newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn version_values(&self, wanted: VersionWanted) -> Result<Vec<f64>, Error> {
        self.read(move |reader, _site| read_version_values(reader, &wanted)).await
    }
}

fn read_experiment_rows(reader: &Connection, wanted: &ExperimentWanted) -> Result<Vec<ExperimentRow>, ReadFault> {
    let measures: Vec<String> =
        wanted.outcomes.iter().take(ExperimentWanted::MOST).map(|outcome| measure_sql(outcome, "a.prompt")).collect();
    let columns: String =
        measures.iter().enumerate().map(|(place, sql)| format!(", {sql} AS measure{place}")).collect();
    let sql = format!(
        "SELECT a.version, a.subject{columns} FROM assignments a CROSS JOIN runs r ON r.id = a.run \
         WHERE (a.project, a.experiment, a.started) = (?, ?, ?) ORDER BY r.seq"
    );
    all_rows(reader, &sql, (&wanted.project.0, &wanted.experiment, wanted.started), |row| {
        let values = (0..measures.len()).map(|place| column_value(row, &format!("measure{place}")));
        Ok(ExperimentRow {
            version: column_value(row, "version")?,
            subject: column_value(row, "subject")?,
            values: values.collect::<Result<_, _>>()?,
        })
    })
}

fn read_version_values(reader: &Connection, wanted: &VersionWanted) -> Result<Vec<f64>, ReadFault> {
    let (agent, name) = wanted.prompt.split_once('/').unwrap_or((&wanted.prompt, ""));
    let measure = measure_sql(&wanted.outcome, "r.own");
    let sql = format!(
        "SELECT measure0 FROM (SELECT {measure} AS measure0 FROM \
         (SELECT *, agent || '/' || prompt AS own FROM runs WHERE (project, agent, prompt, version) = (?, ?, ?, ?) \
         ORDER BY seq DESC LIMIT ?) r) WHERE measure0 IS NOT NULL"
    );
    let values = (&wanted.project.0, agent, name, &wanted.version, i64::from(wanted.most));
    all_rows(reader, &sql, values, |row| column_value(row, "measure0"))
}

/// The SQL of a measure of run `r` with the prompt that a column names: null where it has none.
fn measure_sql(outcome: &ExperimentOutcome, prompt: &str) -> String {
    let first_answer = |column: &str| {
        format!(
            "(SELECT {column} FROM calls c WHERE c.run = r.id AND c.state = 'answered' \
             AND c.agent || '/' || c.prompt = {prompt} ORDER BY c.effect LIMIT 1)"
        )
    };
    // A run that a budget refused asked nobody, and one that still runs has no sum.
    let asked = |sum: &str| format!("iif(r.state = 'ended' AND r.outcome <> 'refused', {sum}, NULL)");
    match outcome {
        ExperimentOutcome::FirstAttempt => first_answer(
            "CAST(coalesce(c.finish, '') NOT IN ('refusal', 'length') AND json_array_length(c.problems) = 0 AS REAL)",
        ),
        ExperimentOutcome::Check(rule) => first_answer(&format!(
            "CAST(NOT EXISTS (SELECT 1 FROM json_each(c.problems) p WHERE p.value ->> '$.rule' = '{}') AS REAL)",
            rule.replace('\'', "''")
        )),
        ExperimentOutcome::Feedback => {
            "(SELECT CAST(f.verdict = 'good' AS REAL) FROM feedback f WHERE f.run = r.id ORDER BY f.seq DESC LIMIT 1)"
                .to_owned()
        }
        ExperimentOutcome::Tokens => asked("CAST(r.input_tokens + r.output_tokens AS REAL)"),
        ExperimentOutcome::Cost => asked("r.nanos / 1e9"),
        ExperimentOutcome::Latency => asked(
            "(SELECT CAST(sum(u.took_ms) AS REAL) FROM attempts t JOIN usage u ON u.attempt = t.id WHERE t.run = r.id)",
        ),
    }
}
