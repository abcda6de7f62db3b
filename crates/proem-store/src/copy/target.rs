//! The target of a copy: what it may hold before, the mark that keeps everybody out of it meanwhile, and its end.

use super::rows::{count_copied_lines, quote};
use super::tables::TableForm;
use super::{CopiedEffects, refuse_in_use};
use crate::error::{Error, Unusable};
use crate::sql::{DatabaseKind, Tables};
use crate::write::set_meta;

/// The note of a copy that is not finished: the id of the records that are copied.
const UNFINISHED: &str = "copying";
/// The note of one that is.
const FINISHED: &str = "copied_from";

/// Why effects are parked in a copy.
const COPIED: &str = "these records were copied from another store, and something may have been sent since";

/// Refuses records that are an unfinished copy.
pub(crate) fn check_finished(tables: &Tables) -> Result<(), Error> {
    match note(tables, UNFINISHED)? {
        None => Ok(()),
        Some(_) => {
            let why = "a copy into them is not finished; repeat it".to_owned();
            Err(Unusable::Other { path: tables.path().to_owned(), why }.into())
        }
    }
}

/// Marks the target as an unfinished copy of the records with this id.
pub(super) fn begin_copy(target: &Tables, forms: &[TableForm], source: &str) -> Result<(), Error> {
    target.atomically(|| {
        let place = target.path().display();
        match note(target, UNFINISHED)? {
            Some(id) if id == source => return Ok(()),
            Some(_) => {
                return Err(Error::Conflict(format!(
                    "`{place}` has the beginning of a copy of other records; name an empty place"
                )));
            }
            None => {}
        }
        refuse_in_use(target)?;
        for form in forms.iter().filter(|form| form.name != "epochs") {
            let lines = count_copied_lines(target, form)?;
            if lines == 0 {
                continue;
            }
            return Err(Error::Conflict(match note(target, FINISHED)? {
                Some(id) if id == source => format!("`{place}` has a finished copy of these records already"),
                _ => {
                    format!("`{place}` has records of its own ({lines} lines in `{}`); name an empty place", form.name)
                }
            }));
        }
        // Processes that looked in before and wrote nothing.
        target.execute("DELETE FROM epochs", [])?;
        set_meta(target, UNFINISHED, source)
    })
}

/// Throws away what was copied.
pub(super) fn clear_copied_lines(target: &Tables, forms: &[TableForm]) -> Result<(), Error> {
    target.atomically(|| {
        set_meta(target, "purging", "yes")?;
        for form in forms.iter().rev() {
            target.execute(&format!("DELETE FROM {}", quote(&form.name)), [])?;
        }
        target.execute("DELETE FROM meta WHERE key = 'purging'", []).map(drop)
    })
}

/// Lets the copy be used: numbers go on where the source's do, times are the source's, and effects are parked if there
/// was any action.
pub(super) fn finish_copy(source: &Tables, target: &Tables, forms: &[TableForm]) -> Result<CopiedEffects, Error> {
    let mut numbers = Vec::new();
    for form in forms {
        if let Some(column) = &form.numbered {
            numbers.push((form, column, last_number(source, form, column)?));
        }
    }
    target.atomically(|| {
        for (form, column, last) in &numbers {
            set_last_number(target, form, column, *last)?;
        }
        for name in ["created", "last_seen"] {
            if let Some(value) = note(source, name)? {
                set_meta(target, name, &value)?;
            }
        }
        if let Some(id) = note(target, UNFINISHED)? {
            set_meta(target, FINISHED, &id)?;
        }
        let acted = "SELECT 1 FROM actions UNION ALL SELECT 1 FROM witnessed LIMIT 1";
        let effects = match target.row(acted, [], |_| Ok(()))? {
            Some(()) => CopiedEffects::Parked,
            None => CopiedEffects::None,
        };
        if effects == CopiedEffects::Parked {
            set_meta(target, "parked", COPIED)?;
        }
        target.execute("DELETE FROM meta WHERE key = ?", [UNFINISHED])?;
        Ok(effects)
    })
}

fn note(tables: &Tables, name: &str) -> Result<Option<String>, Error> {
    tables.row("SELECT value FROM meta WHERE key = ?", [name], |row| row.get(0))
}

/// The last number that a table gave to a line, those of deleted lines included. 0 if it gave none.
fn last_number(tables: &Tables, form: &TableForm, column: &str) -> Result<i64, Error> {
    let found = match tables.kind() {
        DatabaseKind::File => {
            tables.row("SELECT seq FROM sqlite_sequence WHERE name = ?", [&form.name], |row| row.get(0))?
        }
        DatabaseKind::Server => {
            let sequence = quote(&format!("{}_{column}_seq", form.name));
            let asked = format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}");
            tables.row(&asked, [], |row| row.get(0))?
        }
    };
    Ok(found.unwrap_or(0))
}

fn set_last_number(tables: &Tables, form: &TableForm, column: &str, last: i64) -> Result<(), Error> {
    if last == 0 {
        return Ok(());
    }
    match tables.kind() {
        DatabaseKind::File => {
            tables.execute("DELETE FROM sqlite_sequence WHERE name = ?", [&form.name])?;
            tables.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (&form.name, last)).map(drop)
        }
        DatabaseKind::Server => {
            let sequence = format!("{}_{column}_seq", form.name);
            tables.row("SELECT setval(CAST(? AS regclass), ?)", (sequence, last), |_| Ok(())).map(drop)
        }
    }
}
