//! The form of the tables, and how an older one is brought to the newest.
//!
//! Invariant: a file has one form or the next one, never something in between.

use proem_guard::InstallationKey;

use super::origin::creator_seal;
use crate::clock;
use crate::epoch;
use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::sql::Tables;

/// The forms of the tables, each as the statements that make it from the one before.
const FORMS: [&str; 14] = [
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
    EFFECTS,
    concat!(include_str!("../../migrations/0006.sql"), include_str!("../../migrations/0006-actions.sql")),
    include_str!("../../migrations/0007.sql"),
    include_str!("../../migrations/0008.sql"),
    WITNESSED,
    JUDGED,
    TOOLS,
    STATES,
    ASSIGNED,
    SYNCED,
];

/// The tables of the newest form as all of [`FORMS`] make them: a new store needs no way that leads there.
pub(crate) const NEWEST: &str = include_str!("../../migrations/newest.sql");

/// The additions of form 5: tables of its own, and nothing else.
const EFFECTS: &str = include_str!("../../migrations/0005.sql");

/// The additions of form 6: tables of its own, too. Its changes to actions concern writers only.
const TRIAGE: &str = include_str!("../../migrations/0006.sql");

/// The tables that form 9 adds.
const WITNESSED: &str = include_str!("../../migrations/0009.sql");

/// The table that form 10 adds.
const JUDGED: &str = include_str!("../../migrations/0010.sql");

/// The table that form 11 adds.
const TOOLS: &str = include_str!("../../migrations/0011.sql");

/// The tables that form 12 adds.
const STATES: &str = include_str!("../../migrations/0012.sql");

/// The table that form 13 adds.
const ASSIGNED: &str = include_str!("../../migrations/0013.sql");

/// The tables that form 14 adds.
const SYNCED: &str = include_str!("../../migrations/0014.sql");

/// Forms that only add tables, each with its statements.
const ADDED: [(i64, &str); 8] =
    [(5, EFFECTS), (6, TRIAGE), (9, WITNESSED), (10, JUDGED), (11, TOOLS), (12, STATES), (13, ASSIGNED), (14, SYNCED)];

/// The form from which on the columns of calls, sums and results are those of the newest.
const RESULTS: i64 = 4;

/// Lets a store of a form before [`RESULTS`] be read as one of the newest: what is not there is made of what is, by
/// views of this connection's that are before the tables. A column that the file has meanwhile comes first.
const READABLE: &str = "CREATE TEMP VIEW calls AS SELECT c.*, \
    (SELECT agent FROM main.runs WHERE id = c.run) AS agent, (SELECT prompt FROM main.runs WHERE id = c.run) AS prompt, \
    (SELECT version FROM main.runs WHERE id = c.run) AS version, \
    (SELECT closure FROM main.runs WHERE id = c.run) AS closure FROM main.calls c;
    CREATE TEMP VIEW spend AS SELECT s.*, '' AS endpoint FROM main.spend s;
    CREATE TEMP VIEW outcomes AS SELECT run, agent, 'answer' AS source, project, actor, at, kind, quality, completeness, \
    risks FROM main.outcomes o WHERE (quality, completeness, risks) = ('high', 'complete', '[]') \
    OR 'answered' = (SELECT c.state FROM calls c WHERE c.run = o.run AND c.agent || '/' || c.prompt = o.agent \
    ORDER BY c.effect DESC LIMIT 1) \
    UNION SELECT o.run, c.agent || '/' || c.prompt, 'answer', o.project, o.actor, o.at, o.kind, o.quality, o.completeness, \
    o.risks FROM main.outcomes o JOIN calls c ON c.run = o.run \
    WHERE (o.quality, o.completeness, o.risks) = ('high', 'complete', '[]') AND c.state = 'answered';
    CREATE TEMP VIEW failures AS SELECT f.*, 'answer' AS source FROM main.failures f \
    WHERE EXISTS (SELECT 1 FROM outcomes o WHERE o.run = f.run AND o.agent = f.agent)";

/// The form from which on an answer has the hash of what was shown and the person's words.
const ANSWERS: i64 = 7;

/// Lets a store of a form before [`ANSWERS`] be read as one of the newest.
const READABLE_ANSWERS: &str =
    "CREATE TEMP VIEW approvals AS SELECT a.*, NULL AS shown, NULL AS words FROM main.approvals a";

/// The form of records that this version writes, from 1 on. It upgrades older forms, and can't open newer ones.
#[must_use]
pub fn newest_form() -> i64 {
    i64::try_from(FORMS.len()).unwrap_or(i64::MAX)
}

/// The form that a file says it has; 0 where it says none.
pub(crate) fn stored_form(tables: &Tables) -> Result<i64, Error> {
    Ok(tables.row("PRAGMA user_version", [], |row| row.get(0))?.unwrap_or(0))
}

/// Whether there is no table.
pub(crate) fn has_no_tables(tables: &Tables) -> Result<bool, Error> {
    Ok(tables.row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))?.is_none())
}

/// That a file holds tables, and none of Proem's.
pub(crate) fn of_something_else(tables: &Tables) -> Error {
    let why = "it is a database of another program".to_owned();
    Unusable::Corrupt { path: tables.path().to_owned(), why }.into()
}

/// The form of a file. One that is not known here is refused.
pub(crate) fn check_form(tables: &Tables) -> Result<i64, Error> {
    match stored_form(tables)? {
        found if found > newest_form() => {
            Err(Unusable::Newer { path: tables.path().to_owned(), found, known: newest_form() }.into())
        }
        found if found > 0 => Ok(found),
        _ => Err(of_something_else(tables)),
    }
}

/// Makes the tables of the newest form where there are none, within a transaction.
pub(crate) fn make_tables(tables: &Tables, key: Option<&InstallationKey>) -> Result<(), Error> {
    tables.script(NEWEST)?;
    mark_newest_form(tables)?;
    let id = epoch::new_id(tables.path())?;
    let seal = key.map(|key| creator_seal(key, &id)).unwrap_or_default();
    tables.execute(
        "INSERT INTO meta (key, value) VALUES ('store_id', ?), ('seal', ?), ('created', ?), ('last_seen', '0')",
        [id, seal, clock::system_now().0.to_string()],
    )?;
    Ok(())
}

/// Lets what is of an older form be read as if it were of the newest. Says which form it is.
pub(crate) fn make_readable(tables: &Tables) -> Result<i64, Error> {
    let form = check_form(tables)?;
    if form < RESULTS {
        tables.script(READABLE)?;
    }
    if form < ANSWERS {
        tables.script(READABLE_ANSWERS)?;
    }
    for (_, statements) in ADDED.iter().filter(|(added, _)| form < *added) {
        // Nothing of the kind is in it: empty tables of this connection's are before those that are missing. An index
        // or a trigger goes where its table is.
        tables.script(&statements.replace("CREATE TABLE", "CREATE TEMP TABLE"))?;
    }
    Ok(form)
}

/// Brings an older form to the newest, in a transaction of its own.
pub(crate) fn upgrade(tables: &Tables) -> Result<(), Error> {
    tables.atomically(|| {
        update(tables)?;
        failpoint::pass(failpoint::UPGRADE);
        Ok(())
    })
}

/// Brings the tables to the newest form, within a transaction. Writers of the older form must have ended, because their
/// statements fail on the newer tables.
pub(crate) fn update(tables: &Tables) -> Result<(), Error> {
    // Another process may have done it since the file was looked at.
    let form = check_form(tables)?;
    if form == newest_form() {
        return Ok(());
    }
    if is_in_use(tables)? {
        let why = "an older version of Proem has the records open, and this version must upgrade their format; stop \
                   the older one, or wait until it ends, and try again";
        return Err(Unusable::Other { path: tables.path().to_owned(), why: why.to_owned() }.into());
    }
    from(tables, form)
}

/// Whether another process has the store open for writing.
fn is_in_use(tables: &Tables) -> Result<bool, Error> {
    let ids: Vec<String> = tables.rows("SELECT id FROM epochs WHERE ended IS NULL", [], |row| row.get(0))?;
    Ok(ids.iter().any(|id| epoch::is_alive(tables, id)))
}

/// Makes the tables of the newest form from those of another, within a transaction.
fn from(tables: &Tables, form: i64) -> Result<(), Error> {
    for statements in FORMS.iter().skip(usize::try_from(form).unwrap_or(0)) {
        tables.script(statements)?;
    }
    mark_newest_form(tables)
}

/// Says that the tables are of the newest form.
fn mark_newest_form(tables: &Tables) -> Result<(), Error> {
    tables.script(&format!("PRAGMA user_version = {}", newest_form()))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// The statements that make what is in a database: tables first.
    fn statements(make: &str) -> Vec<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(make).unwrap();
        let mut query = connection
            .prepare(
                "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY type <> 'table', tbl_name, name",
            )
            .unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn a_new_store_has_what_all_forms_make() {
        let made = statements(&FORMS.concat());
        if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/newest.sql");
            let head = "-- Made of the other files by the test that compares them; edit those.\n";
            let text: String = made.iter().map(|statement| format!("\n{statement};\n")).collect();
            return std::fs::write(file, format!("{head}{text}")).unwrap();
        }
        let advice = "repeat with PROEM_UPDATE_REFERENCE=1 cargo test -p proem-store --lib what_all_forms_make";
        assert!(statements(NEWEST) == made, "{advice}");
    }
}
