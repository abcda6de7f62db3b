//! The objects of a purge: lines, contents without references, and their room in the file.
//!
//! Invariant: a content goes only if no line of any kind has its hash, an action's or a run's.

use std::path::Path;
use std::time::Duration;

use super::amount::{length_as_u64, stored_count};
use crate::error::Error;
use crate::sql::{DatabaseKind, Tables};
use crate::sqlite::{PATIENCE, place};

/// How long a purge waits for those who read: longer than most reads take.
const READERS: Duration = Duration::from_secs(1);

/// The columns that hold hashes of contents.
const HASHES: [&str; 18] = [
    "SELECT inputs FROM runs",
    "SELECT value FROM runs WHERE value IS NOT NULL",
    "SELECT event FROM steps",
    "SELECT report FROM assemblies",
    "SELECT body FROM calls",
    "SELECT result FROM calls WHERE result IS NOT NULL",
    "SELECT arguments FROM tool_calls",
    "SELECT result FROM tool_calls WHERE result IS NOT NULL",
    "SELECT form FROM actions WHERE form IS NOT NULL",
    "SELECT bytes FROM actions WHERE bytes IS NOT NULL",
    "SELECT text FROM action_texts",
    "SELECT form FROM transitions WHERE form IS NOT NULL",
    "SELECT bytes FROM transitions WHERE bytes IS NOT NULL",
    "SELECT form FROM escalation_options WHERE form IS NOT NULL",
    "SELECT text FROM quarantined WHERE text IS NOT NULL",
    "SELECT text FROM signals WHERE text IS NOT NULL",
    "SELECT content FROM artefact_versions WHERE content IS NOT NULL",
    "SELECT entry FROM artefact_versions WHERE entry IS NOT NULL",
];

/// The JSON columns that hold them. Any text of 64 characters in these counts as a hash.
const WITHIN: [(&str, &str); 5] =
    [("runs", "files"), ("runs", "settings"), ("assemblies", "sections"), ("assemblies", "plan"), ("calls", "pieces")];

/// The outcome for the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shrinkage {
    /// How many bytes it became smaller.
    pub(super) bytes: u64,
    /// Whether some of what was deleted is still in the store's files.
    pub(super) held: bool,
}

/// Deletes what `work` deletes, such that nothing of it stays readable.
pub(super) fn deleting(tables: &Tables, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    // Deleted data is overwritten at any cost.
    if tables.kind() == DatabaseKind::File {
        tables.script("PRAGMA secure_delete = ON")?;
    }
    // The triggers that keep lines look for this one.
    tables.script("INSERT INTO meta (key, value) VALUES ('purging', 'yes')")?;
    work()?;
    tables.script("DELETE FROM meta WHERE key = 'purging'")
}

/// Overwrites no more than before, where nothing was deleted.
pub(super) fn spare(tables: &Tables) {
    // A connection that overwrites more than it has to is slower, and no less right.
    if tables.kind() == DatabaseKind::File {
        _ = tables.script("PRAGMA secure_delete = FAST");
    }
}

/// Deletes contents that nothing refers to. How many.
pub(super) fn delete_unreferenced(tables: &Tables) -> Result<u64, Error> {
    tables.script("CREATE TEMP TABLE kept (hash TEXT NOT NULL PRIMARY KEY)")?;
    for select in HASHES {
        tables.script(&format!(
            "INSERT INTO kept SELECT * FROM ({select}) AS hashes WHERE true ON CONFLICT DO NOTHING"
        ))?;
    }
    for (table, column) in WITHIN {
        tables.script(&format!(
            "INSERT INTO kept SELECT json_tree.atom FROM {table}, json_tree({table}.{column}) \
             WHERE json_tree.type = 'text' AND length(json_tree.atom) = 64 ON CONFLICT DO NOTHING"
        ))?;
    }
    let swept = tables.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM kept)", [])?;
    tables.script("DROP TABLE kept")?;
    Ok(length_as_u64(swept))
}

/// Gives the room of what was purged back to the system, as far as that is possible: what others still read can't be
/// taken from them.
pub(super) fn shrink_file(tables: &Tables) -> Shrinkage {
    if tables.kind() == DatabaseKind::Server {
        return shrink_database(tables);
    }
    let size = |path: &Path| {
        place::file_size(path).saturating_add(place::file_size(&place::path_beside_database(path, "-wal")))
    };
    let before = size(tables.path());
    let mut held = vacuum(tables).is_err();
    // Readers may be waited for for less long than writers: what they hold is only said.
    held |= wait_at_most(tables, READERS).is_err();
    held |= !matches!(empty_log(tables), Ok(Some(0)));
    held |= wait_at_most(tables, PATIENCE).is_err();
    Shrinkage { bytes: before.saturating_sub(size(tables.path())), held }
}

/// Cuts the pages off that nothing is in. Each step takes one, so it is gone through to its end.
/// Gives the room of deleted lines back to a server's tables. The server keeps them in its log and its backups for as
/// long as it was told to.
fn shrink_database(tables: &Tables) -> Shrinkage {
    let size = || {
        let size = tables.row("SELECT pg_database_size(current_database())", [], |row| row.get::<_, i64>(0));
        size.ok().flatten().map_or(0, stored_count)
    };
    let before = size();
    let held = tables.script("VACUUM").is_err();
    Shrinkage { bytes: before.saturating_sub(size()), held }
}

fn vacuum(tables: &Tables) -> Result<(), Error> {
    tables.script("PRAGMA secure_delete = FAST")?;
    tables.rows("PRAGMA incremental_vacuum", [], |_| Ok(())).map(drop)
}

/// Writes the log back to the file and cuts it off (<https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>). The
/// first column says whether somebody was in the way.
fn empty_log(tables: &Tables) -> Result<Option<u64>, Error> {
    tables.row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(stored_count(row.get(0)?)))
}

fn wait_at_most(tables: &Tables, time: Duration) -> Result<(), Error> {
    tables.script(&format!("PRAGMA busy_timeout = {}", time.as_millis()))
}
