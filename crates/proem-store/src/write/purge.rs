//! Deleting runs with all that belongs to them.

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::amount::length_as_u64;
use super::disposal;
use super::epochs;
use super::event::StoreEvent;
use crate::error::Error;
use crate::record::{Actor, Project, RunId};
use crate::sql::{Company, Tables, Transaction, Write};
use crate::store::Store;

/// The runs that are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purge {
    /// Of which project. `None` is all.
    pub project: Option<Project>,
    /// Those that started before.
    pub before: Option<Time>,
    /// These. Empty is all that the other conditions leave.
    pub runs: Vec<RunId>,
    /// The actor that asks for it.
    pub actor: Actor,
    /// When it was said.
    pub at: Time,
}

/// The numbers of deleted lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct PurgeCounts {
    /// How many runs.
    pub runs: u64,
    /// How many contents that nothing refers to any more.
    pub contents: u64,
    /// How many bytes the file became smaller.
    pub bytes: u64,
    /// Whether some of it is still in the store's files, for somebody read them meanwhile. The next purge that
    /// deletes something, or closing the store as the last one, takes that away.
    pub held: bool,
}

/// Tables whose lines have the run that they belong to.
const OF_RUNS: [&str; 14] = [
    "steps",
    "snapshots",
    "states",
    "callers",
    "assignments",
    "assemblies",
    "calls",
    "tool_calls",
    "attempts",
    "outcomes",
    "failures",
    "feedback",
    "approvals",
    "events",
];

/// Tables whose lines have the attempt that they belong to.
const OF_ATTEMPTS: [&str; 2] = ["corrections", "usage"];

impl Store {
    /// Deletes runs with everything that belongs to them. Spending stays in the sums by day.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn purge(&self, purge: Purge) -> Result<PurgeCounts, Error> {
        self.write(purge).await
    }
}

/// A run that is under way, or has an open attempt, stays.
impl Write for Purge {
    type Answer = PurgeCounts;
    const NAME: &'static str = "purge";
    const COMPANY: Company = Company::None;

    fn write(&self, to: &mut Transaction<'_>) -> Result<PurgeCounts, Error> {
        let at = to.at(self.at);
        epochs::bury(to, at)?;
        let tables = to.tables;
        let runs = choose_runs_to_purge(tables, self)?;
        let mut purged = PurgeCounts { runs, ..PurgeCounts::default() };
        if runs > 0 {
            delete(tables)?;
            purged.contents = disposal::delete_unreferenced(tables)?;
        }
        tables.script("DROP TABLE purging")?;
        if runs > 0 {
            // The lines that would say so are gone.
            let project = self.project.as_ref().unwrap_or(&to.opening.project);
            let details = json!({
                "project": project, "before": self.before, "named": self.runs.len(), "runs": runs,
                "contents": purged.contents,
            });
            StoreEvent { project, actor: &self.actor, at, what: "purged", details }.write(tables)?;
        }
        Ok(purged)
    }

    fn afterwards(purged: &mut PurgeCounts, tables: &Tables) {
        if purged.runs > 0 {
            let shrinkage = disposal::shrink_file(tables);
            purged.held |= shrinkage.held;
            purged.bytes = shrinkage.bytes;
        }
    }
}

/// Writes down which runs go, in a table of this connection's. How many.
fn choose_runs_to_purge(tables: &Tables, purge: &Purge) -> Result<u64, Error> {
    tables.script("CREATE TEMP TABLE purging (run TEXT NOT NULL PRIMARY KEY)")?;
    let named = compact(&json!(purge.runs));
    let chosen = tables.execute(
        "INSERT INTO purging SELECT id FROM runs WHERE project = coalesce(?, project) \
         AND started < coalesce(?, started + 1) AND (? = 0 OR id IN (SELECT value FROM json_each(?))) \
         AND (state = 'ended' OR epoch IN (SELECT id FROM epochs WHERE ended IS NOT NULL)) \
         AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.run = runs.id AND attempts.state = 'open')",
        (
            purge.project.as_ref().map(|project| &project.0),
            purge.before.map(|before| before.0),
            !purge.runs.is_empty(),
            named,
        ),
    )?;
    Ok(length_as_u64(chosen))
}

/// Deletes the runs that were chosen with all lines that belong to them.
fn delete(tables: &Tables) -> Result<(), Error> {
    disposal::deleting(tables, || {
        // Lines refer to lines: those of attempts go before the attempts.
        for table in OF_ATTEMPTS {
            tables.script(&format!(
                "DELETE FROM {table} WHERE attempt IN (SELECT id FROM attempts WHERE run IN (SELECT run FROM purging))"
            ))?;
        }
        for table in OF_RUNS {
            tables.script(&format!("DELETE FROM {table} WHERE run IN (SELECT run FROM purging)"))?;
        }
        tables.script("DELETE FROM runs WHERE id IN (SELECT run FROM purging)")
    })
}
