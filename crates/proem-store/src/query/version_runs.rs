//! The runs of one version of a prompt, each with what code and people say of its answer.

use crate::sql::Tables;
use proem_engine::prompt::book::experiment::ExperimentOutcome;
use proem_engine::run::Time;

use super::experiments::measure_sql;
use super::values::{ReadFault, all_rows, column_json, column_value};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, RunId};

/// The runs that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRunsWanted {
    /// Of which project.
    pub project: Project,
    /// `agent/name`.
    pub prompt: String,
    /// The version, as its runs record it.
    pub version: String,
    /// Only runs that were started after this time.
    pub after: Time,
    /// How many runs are read at most, the latest ones.
    pub most: u32,
}

/// One use of a version, with what code and people say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRunRow {
    /// The id in the records.
    pub run: RunId,
    /// The kind of the run: `prompt`, or an agent's name.
    pub kind: String,
    /// The hash of its inputs: runs of the same inputs have the same.
    pub inputs: String,
    /// When it ended, or started if it has not.
    pub at: Time,
    /// Whether its first answer met the contract. `None` without an answer.
    pub met_contract: Option<bool>,
    /// The rules that its first answer broke.
    pub broken_rules: Vec<String>,
    /// A person's last verdict on it, and the time of it.
    pub verdict: Option<(String, Time)>,
}

impl Store {
    /// The latest runs of a version, in the order in which they began.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn version_runs(&self, wanted: VersionRunsWanted) -> Result<Vec<VersionRunRow>, Error> {
        self.read(move |reader, _site| read_version_runs(reader, &wanted)).await
    }
}

fn read_version_runs(reader: &Tables, wanted: &VersionRunsWanted) -> Result<Vec<VersionRunRow>, ReadFault> {
    let (agent, name) = wanted.prompt.split_once('/').unwrap_or((&wanted.prompt, ""));
    let met = measure_sql(&ExperimentOutcome::FirstAttempt, "r.own");
    let sql = format!(
        "SELECT r.id, r.kind, r.inputs, coalesce(r.ended, r.started) AS at, {met} AS met, \
         (SELECT json_group_array(DISTINCT p.value ->> '$.rule') FROM json_each(coalesce((SELECT c.problems FROM calls c \
         WHERE c.run = r.id AND c.state = 'answered' AND c.agent || '/' || c.prompt = r.own ORDER BY c.effect LIMIT 1), \
         '[]')) p) AS rules, f.verdict, f.at AS judged FROM \
         (SELECT *, agent || '/' || prompt AS own FROM runs WHERE (project, agent, prompt, version) = (?, ?, ?, ?) \
         AND started > ? ORDER BY seq DESC LIMIT ?) r \
         LEFT JOIN feedback f ON f.seq = (SELECT max(seq) FROM feedback WHERE run = r.id) ORDER BY r.seq"
    );
    let values = (&wanted.project.0, agent, name, &wanted.version, wanted.after.0, i64::from(wanted.most));
    all_rows(reader, &sql, values, |row| {
        Ok(VersionRunRow {
            run: RunId(column_value(row, "id")?),
            kind: column_value(row, "kind")?,
            inputs: column_value(row, "inputs")?,
            at: Time(column_value(row, "at")?),
            met_contract: column_value::<Option<f64>>(row, "met")?.map(|met| met > 0.5),
            broken_rules: column_json::<Vec<Option<String>>>(row, "rules")?.into_iter().flatten().collect(),
            verdict: column_value::<Option<String>>(row, "verdict")?
                .zip(column_value::<Option<i64>>(row, "judged")?.map(Time)),
        })
    })
}
