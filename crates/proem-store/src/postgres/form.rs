//! The form of the tables in PostgreSQL, and how an older one is brought to the newest.
//!
//! Invariant: a database has one form or the next one, never something in between. Forms have the numbers that they have
//! in SQLite.

use std::fmt::Write as _;

use proem_guard::InstallationKey;

use crate::clock;
use crate::epoch;
use crate::error::{Error, Unusable};
use crate::sql::Tables;
use crate::sqlite::{form, origin};
use crate::witness::{HOME, home_seal};

/// The functions that the statements use.
const DIALECT: &str = include_str!("../../migrations/dialect.postgres.sql");

/// Has a job queue wake a worker in the transaction that makes work wanted. A database whose queue is not set up needs
/// no waking: the first worker looks at all that is wanted. A hash stands for the project, because a key's length is bounded.
/// The jobs of a project are in no queue of their own: it would stay locked for hours after the end of a worker by
/// force, and the lines of `work` keep the order.
const WAKING: &str = "CREATE FUNCTION wake_worker() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        project text := encode(sha256(convert_to(NEW.project, 'UTF8')), 'hex');
    BEGIN
        IF to_regclass('graphile_worker._private_jobs') IS NOT NULL THEN
            PERFORM graphile_worker.add_job(
                identifier => 'proem_' || NEW.kind, payload => json_build_object('project', NEW.project),
                run_at => to_timestamp(NEW.due / 1000.0), max_attempts => 1, job_key => NEW.kind || ':' || project,
                flags => ARRAY['project:' || project]);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER work_wakes AFTER INSERT OR UPDATE OF wanted, due ON work FOR EACH ROW
        WHEN (NEW.wanted > NEW.done) EXECUTE FUNCTION wake_worker();";

/// The tables whose lines are never changed, and whether only a purge deletes them.
const KEPT: [(&str, Deletion); 3] =
    [("events", Deletion::ByPurge), ("transitions", Deletion::ByPurge), ("usage", Deletion::Any)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deletion {
    Any,
    ByPurge,
}

/// The ways from an older form to the next one, each with the form that it makes. The first form that PostgreSQL ever had
/// is the newest, so there is none yet.
const UPGRADES: [(i64, &str); 0] = [];

/// The form that the tables have. `None` if there are none.
pub(super) fn stored_server_form(tables: &Tables) -> Result<Option<i64>, Error> {
    let there = "SELECT to_regclass('proem.store_form') IS NOT NULL";
    if !tables.row(there, [], |row| row.get(0))?.unwrap_or(false) {
        return Ok(None);
    }
    tables.row("SELECT form FROM store_form", [], |row| row.get(0))
}

/// Sees that the server keeps text as it is, in a version that has what is used here.
pub(super) fn check_server(tables: &Tables) -> Result<(), Error> {
    let asked = "SELECT current_setting('server_encoding'), current_setting('server_version_num')";
    let said: Option<(String, String)> = tables.row(asked, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (encoding, version) = said.unwrap_or_default();
    if encoding != "UTF8" {
        return Err(unusable(
            tables,
            format!("its encoding is `{encoding}`; create it anew with ENCODING 'UTF8' TEMPLATE template0"),
        ));
    }
    match version.parse::<u32>() {
        Ok(140_000..) => Ok(()),
        _ => Err(unusable(tables, format!("the server has version `{version}`; PostgreSQL 14 or newer is needed"))),
    }
}

pub(super) fn unusable(tables: &Tables, why: String) -> Error {
    Unusable::Server { address: tables.path().display().to_string(), why }.into()
}

/// Brings the tables to the newest form, within a transaction. The form that was found; `None` if there was none.
pub(super) fn prepare(tables: &Tables, key: &InstallationKey) -> Result<Option<i64>, Error> {
    let found = stored_server_form(tables)?;
    match found {
        None => make_server_tables(tables, key)?,
        Some(found) => upgrade_server(tables, found, form::newest_form(), &UPGRADES)?,
    }
    Ok(found)
}

/// That a database has another form than this version reads.
pub(super) fn check_server_form(tables: &Tables, found: i64, newest: i64) -> Result<(), Error> {
    match found.cmp(&newest) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(unusable(
            tables,
            format!(
                "they have format version {found}, and this version of Proem supports up to {newest}; update Proem"
            ),
        )),
        std::cmp::Ordering::Less => Err(unusable(
            tables,
            format!("they have the older format version {found}; upgrade them by a command that writes to them"),
        )),
    }
}

/// The tables and indexes of the newest form, in PostgreSQL's types. Text is sorted by its bytes, as SQLite sorts it.
fn server_tables() -> String {
    let lines = form::NEWEST.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let statements = text.split("\n\n").filter(|statement| !statement.trim_start().starts_with("CREATE TRIGGER"));
    let statements: String = statements.map(|statement| format!("{statement}\n")).collect();
    statements
        .replace("INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
        .replace(" INTEGER", " BIGINT")
        .replace(" TEXT", " TEXT COLLATE \"C\"")
        .replace(" BLOB", " BYTEA")
        .replace(") STRICT, WITHOUT ROWID", ")")
        .replace(") STRICT", ")")
}

fn make_server_tables(tables: &Tables, key: &InstallationKey) -> Result<(), Error> {
    tables.script("CREATE SCHEMA IF NOT EXISTS proem")?;
    tables.script(DIALECT)?;
    tables.script(&server_tables())?;
    tables.script(WAKING)?;
    let mut statements = "CREATE TABLE store_form (form bigint NOT NULL);".to_owned();
    for (table, deletion) in KEPT {
        // A string takes whatever is written to it.
        _ = write!(
            statements,
            "CREATE TRIGGER {table}_stay_as_they_are BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change();"
        );
        if deletion == Deletion::ByPurge {
            _ = write!(
                statements,
                "CREATE TRIGGER {table}_stay BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_deletion();"
            );
        }
    }
    tables.script(&statements)?;
    tables.execute("INSERT INTO store_form (form) VALUES (?)", [form::newest_form()])?;
    let id = epoch::new_id(tables.path())?;
    let seal = origin::creator_seal(key, &id);
    tables.execute(
        "INSERT INTO meta (key, value) VALUES ('store_id', ?), ('seal', ?), ('created', ?), ('last_seen', '0')",
        [id, seal, clock::system_now().0.to_string()],
    )?;
    let home = home_seal(tables, key).map_err(|fault| fault.into_error(tables.path()))?;
    let home = home.ok_or_else(|| unusable(tables, "it is a standby; connect to the primary".to_owned()))?;
    tables.execute("INSERT INTO meta (key, value) VALUES (?, ?)", [HOME.to_owned(), home]).map(drop)
}

fn upgrade_server(tables: &Tables, found: i64, newest: i64, upgrades: &[(i64, &str)]) -> Result<(), Error> {
    let mut form = found;
    for (to, statements) in upgrades.iter().filter(|(to, _)| *to > found && *to <= newest) {
        tables.script(statements)?;
        tables.execute("UPDATE store_form SET form = ?", [*to])?;
        form = *to;
    }
    check_server_form(tables, form, newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_index_has_its_like_and_every_trigger_too() {
        let count = |text: &str, word: &str| text.matches(word).count();
        let made = server_tables();
        for word in ["CREATE TABLE", "CREATE INDEX", "CREATE UNIQUE INDEX", " NOT NULL", "REFERENCES", "CHECK"] {
            let numbers = if word == " NOT NULL" { count(&made, "IDENTITY") } else { 0 };
            assert_eq!(count(&made, word) + numbers, count(form::NEWEST, word), "{word}");
        }
        assert!(!made.contains("STRICT") && !made.contains("INTEGER") && !made.contains("TRIGGER"));
        for (table, deletion) in KEPT {
            let by_purge = usize::from(deletion == Deletion::ByPurge);
            let deletions = count(form::NEWEST, &format!("BEFORE DELETE ON {table}\n"));
            assert_eq!(
                (count(form::NEWEST, &format!("BEFORE UPDATE ON {table} ")), deletions),
                (1, by_purge),
                "{table}"
            );
        }
        assert_eq!(count(form::NEWEST, "CREATE TRIGGER"), 5, "a trigger that `KEPT` has to name");
    }
}
