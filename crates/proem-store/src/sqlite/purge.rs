//! Deleting runs with all that belongs to them.

use std::path::Path;
use std::time::Duration;

use proem_engine::run::Time;
use serde_json::json;

use super::opening::PATIENCE;
use super::place;
use super::script::{Script, count};
use super::writer::Writing;
use crate::error::Error;
use crate::store::{Purge, Purged};

/// Writes the log back to the file and cuts it off (<https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>).
const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// How long a purge waits for those who read: longer than most reads take.
const READERS: Duration = Duration::from_secs(1);

/// Tables whose lines have the run that they belong to.
const OF_RUNS: [&str; 9] =
    ["steps", "snapshots", "assemblies", "calls", "attempts", "outcomes", "failures", "feedback", "approvals"];

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

impl Writing {
    /// Deletes runs; one that is under way, or has an open attempt, stays.
    pub(super) async fn purge(&mut self, purge: &Purge) -> Result<Purged, Error> {
        let at = self.at(purge.at);
        self.bury_at(at).await?;
        let runs = self.choose(purge).await?;
        if runs == 0 {
            return Ok(Purged::default());
        }
        let mut script = Script::new();
        script.add("INSERT INTO meta (key, value) VALUES ('purging', 'yes')");
        for table in OF_ATTEMPTS {
            script.add(&format!(
                "DELETE FROM {table} WHERE attempt IN (SELECT id FROM attempts WHERE run IN (SELECT run FROM purging))"
            ));
        }
        for table in OF_RUNS.into_iter().chain(["events"]) {
            script.add(&format!("DELETE FROM {table} WHERE run IN (SELECT run FROM purging)"));
        }
        script.add("DELETE FROM runs WHERE id IN (SELECT run FROM purging)");
        script.add("DELETE FROM meta WHERE key = 'purging'").add("DROP TABLE purging");
        script.add("CREATE TEMP TABLE kept (hash TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID");
        for select in HASHES {
            script.add(&format!("INSERT OR IGNORE INTO kept {select}"));
        }
        for (table, column) in WITHIN {
            script.add(&format!(
                "INSERT OR IGNORE INTO kept SELECT json_tree.atom FROM {table}, json_tree({table}.{column}) \
                 WHERE json_tree.type = 'text' AND length(json_tree.atom) = 64"
            ));
        }
        script.add("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM kept)");
        script.add("SELECT changes()").add("DROP TABLE kept");
        let rows = self.link.run(script).await?;
        let contents = count(rows.last().map_or(Ok(0), |row| self.link.get(row, 0))?);
        self.say(purge, at, runs, contents).await?;
        Ok(Purged { runs, contents, ..Purged::default() })
    }

    /// Writes down which runs go, in a table of this connection's; how many.
    async fn choose(&mut self, purge: &Purge) -> Result<u64, Error> {
        let named = proem_text::json::compact(&json!(purge.runs));
        let mut script = Script::new();
        // What goes is overwritten, whatever that costs.
        script.add("PRAGMA secure_delete = ON");
        script.add("CREATE TEMP TABLE purging (run TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID");
        script.add(
            "INSERT INTO purging SELECT id FROM runs WHERE project = coalesce(?, project) \
             AND started < coalesce(?, started + 1) AND (? = 0 OR id IN (SELECT value FROM json_each(?))) \
             AND (state = 'ended' OR epoch IN (SELECT id FROM epochs WHERE ended IS NOT NULL)) \
             AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.run = runs.id AND attempts.state = 'open')",
        );
        script.with(purge.project.as_ref().map(|project| &project.0)).with(purge.before);
        script.with(i64::from(!purge.runs.is_empty())).with(&named);
        script.add("SELECT count(*) FROM purging");
        let rows = self.link.run(script).await?;
        let runs = count(rows.last().map_or(Ok(0), |row| self.link.get(row, 0))?);
        if runs == 0 {
            let mut script = Script::new();
            script.add("DROP TABLE purging");
            self.link.run(script).await?;
        }
        Ok(runs)
    }

    /// Gives the room of what was purged back to the system, and notes whether that was possible: what others
    /// still read can't be taken from them.
    pub(super) async fn shrink(&mut self, purged: &mut Purged) {
        if purged.runs == 0 {
            return;
        }
        let size = |path: &Path| place::size(path).saturating_add(place::size(&place::beside(path, "-wal")));
        let before = size(self.path());
        let mut emptied = Vec::new();
        for pragma in [
            "PRAGMA secure_delete = FAST".to_owned(),
            "PRAGMA incremental_vacuum".to_owned(),
            format!("PRAGMA busy_timeout = {}", READERS.as_millis()),
            EMPTY.to_owned(),
            format!("PRAGMA busy_timeout = {}", PATIENCE.as_millis()),
        ] {
            let mut script = Script::new();
            script.add(&pragma);
            let rows = self.link.run(script).await;
            purged.held |= rows.is_err();
            if pragma == EMPTY {
                emptied = rows.unwrap_or_default();
            }
        }
        // The first column says whether somebody was in the way.
        purged.held |= !emptied.first().is_some_and(|row| self.link.get::<i64>(row, 0).is_ok_and(|busy| busy == 0));
        purged.bytes = before.saturating_sub(size(self.path()));
    }

    /// Writes what was purged, for the lines that would say so are gone.
    async fn say(&mut self, purge: &Purge, at: Time, runs: u64, contents: u64) -> Result<(), Error> {
        let project = purge.project.as_ref().unwrap_or(&self.opening.project);
        let details = json!({
            "project": purge.project, "before": purge.before, "named": purge.runs.len(), "runs": runs,
            "contents": contents,
        });
        let mut script = Script::new();
        script.add("INSERT INTO events (at, project, actor, what, details) VALUES (?, ?, ?, 'purged', ?)");
        script.with(at).with(&project.0).with(purge.actor.to_string()).with(proem_text::json::compact(&details));
        self.link.run(script).await.map(drop)
    }
}
