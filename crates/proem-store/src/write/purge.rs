//! Deleting runs with all that belongs to them.

use std::path::Path;
use std::time::Duration;

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::amount::{count, length};
use super::epochs;
use super::event::StoreEvent;
use crate::error::Error;
use crate::record::{Actor, Project, RunId};
use crate::sqlite::{Company, PATIENCE, Tables, Transaction, Write, place};
use crate::store::Store;

/// Which runs are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purge {
    /// Of which project; `None` is all.
    pub project: Option<Project>,
    /// Those that started before.
    pub before: Option<Time>,
    /// These; empty is all that the other conditions leave.
    pub runs: Vec<RunId>,
    /// Who says so.
    pub actor: Actor,
    /// When it was said.
    pub at: Time,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// How long a purge waits for those who read: longer than most reads take.
const READERS: Duration = Duration::from_secs(1);

/// Tables whose lines have the run that they belong to.
const OF_RUNS: [&str; 10] = [
    "steps",
    "snapshots",
    "assemblies",
    "calls",
    "attempts",
    "outcomes",
    "failures",
    "feedback",
    "approvals",
    "events",
];

/// Tables whose lines have the attempt that they belong to.
const OF_ATTEMPTS: [&str; 2] = ["corrections", "usage"];

/// Where hashes of contents stand by themselves.
const HASHES: [&str; 6] = [
    "SELECT inputs FROM runs",
    "SELECT value FROM runs WHERE value IS NOT NULL",
    "SELECT event FROM steps",
    "SELECT report FROM assemblies",
    "SELECT body FROM calls",
    "SELECT result FROM calls WHERE result IS NOT NULL",
];

/// Where they stand within JSON: any text of 64 characters there counts as one.
const WITHIN: [(&str, &str); 5] =
    [("runs", "files"), ("runs", "settings"), ("assemblies", "sections"), ("assemblies", "plan"), ("calls", "pieces")];

impl Store {
    /// Deletes runs with all that belongs to them. What was spent stays in the sums by day.
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
        let runs = choose(tables, self)?;
        let mut purged = PurgeCounts { runs, ..PurgeCounts::default() };
        if runs > 0 {
            delete(tables)?;
            purged.contents = sweep(tables)?;
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
            shrink(purged, tables);
        }
    }
}

/// Writes down which runs go, in a table of this connection's; how many.
fn choose(tables: &Tables, purge: &Purge) -> Result<u64, Error> {
    tables.script("CREATE TEMP TABLE purging (run TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID")?;
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
    Ok(length(chosen))
}

/// Deletes the runs that were chosen with all lines that belong to them.
fn delete(tables: &Tables) -> Result<(), Error> {
    // What goes is overwritten, whatever that costs.
    tables.script("PRAGMA secure_delete = ON")?;
    // The trigger that keeps events looks for this line.
    tables.script("INSERT INTO meta (key, value) VALUES ('purging', 'yes')")?;
    // Lines refer to lines: those of attempts go before the attempts.
    for table in OF_ATTEMPTS {
        tables.script(&format!(
            "DELETE FROM {table} WHERE attempt IN (SELECT id FROM attempts WHERE run IN (SELECT run FROM purging))"
        ))?;
    }
    for table in OF_RUNS {
        tables.script(&format!("DELETE FROM {table} WHERE run IN (SELECT run FROM purging)"))?;
    }
    tables.script("DELETE FROM runs WHERE id IN (SELECT run FROM purging)")?;
    tables.script("DELETE FROM meta WHERE key = 'purging'")
}

/// Deletes contents that nothing refers to; how many.
fn sweep(tables: &Tables) -> Result<u64, Error> {
    tables.script("CREATE TEMP TABLE kept (hash TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID")?;
    for select in HASHES {
        tables.script(&format!("INSERT OR IGNORE INTO kept {select}"))?;
    }
    for (table, column) in WITHIN {
        tables.script(&format!(
            "INSERT OR IGNORE INTO kept SELECT json_tree.atom FROM {table}, json_tree({table}.{column}) \
             WHERE json_tree.type = 'text' AND length(json_tree.atom) = 64"
        ))?;
    }
    let swept = tables.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM kept)", [])?;
    tables.script("DROP TABLE kept")?;
    Ok(length(swept))
}

/// Gives the room of what was purged back to the system, and notes whether that was possible: what others
/// still read can't be taken from them.
fn shrink(purged: &mut PurgeCounts, tables: &Tables) {
    let size = |path: &Path| place::size(path).saturating_add(place::size(&place::beside(path, "-wal")));
    let before = size(tables.path());
    purged.held |= vacuum(tables).is_err();
    // Readers may be waited for for less long than writers: what they hold is only said.
    purged.held |= wait_at_most(tables, READERS).is_err();
    purged.held |= !matches!(empty_log(tables), Ok(Some(0)));
    purged.held |= wait_at_most(tables, PATIENCE).is_err();
    purged.bytes = before.saturating_sub(size(tables.path()));
}

/// Cuts the pages off that nothing is in. Each step takes one, so it is gone through to its end.
fn vacuum(tables: &Tables) -> Result<(), Error> {
    tables.script("PRAGMA secure_delete = FAST")?;
    tables.rows("PRAGMA incremental_vacuum", [], |_| Ok(())).map(drop)
}

/// Writes the log back to the file and cuts it off (<https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>);
/// the first column says whether somebody was in the way.
fn empty_log(tables: &Tables) -> Result<Option<u64>, Error> {
    tables.row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(count(row.get(0)?)))
}

fn wait_at_most(tables: &Tables, time: Duration) -> Result<(), Error> {
    tables.script(&format!("PRAGMA busy_timeout = {}", time.as_millis()))
}
