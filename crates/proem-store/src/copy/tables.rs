//! The tables that a copy copies: their columns and keys, as the newest form has them.

use rusqlite::Connection;

use crate::error::Error;
use crate::sql::{BoundValue, Tables, ValueKind, sqlite_unusable};
use crate::sqlite::form::NEWEST;

/// A table, as a copy needs it.
#[derive(Debug)]
pub(super) struct TableForm {
    pub(super) name: String,
    pub(super) columns: Vec<ColumnForm>,
    /// The places of the key's columns, in the key's order.
    pub(super) key: Vec<usize>,
    /// The column whose numbers the database gives, if there is one.
    pub(super) numbered: Option<String>,
}

/// A column of a table.
#[derive(Debug)]
pub(super) struct ColumnForm {
    pub(super) name: String,
    pub(super) kind: ValueKind,
}

impl TableForm {
    /// The values of a line's key.
    pub(super) fn key_of(&self, line: &[BoundValue<'static>]) -> Vec<BoundValue<'static>> {
        self.key.iter().filter_map(|place| line.get(*place).cloned()).collect()
    }

    /// The names of the key's columns.
    pub(super) fn key_names(&self) -> impl Iterator<Item = &str> {
        self.key.iter().filter_map(|place| self.columns.get(*place)).map(|column| &*column.name)
    }
}

/// Every table but the records' notes about themselves, in the order of their names, so that a line stands behind those
/// that it refers to.
pub(super) fn table_forms() -> Result<Vec<TableForm>, Error> {
    let place = std::path::Path::new("memory");
    let connection = Connection::open_in_memory().map_err(|error| sqlite_unusable(place, &error))?;
    let tables = Tables::new(connection, place.to_owned());
    tables.script(NEWEST)?;
    let named = "SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema \
                 WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'meta' ORDER BY name";
    let named: Vec<(String, bool)> = tables.rows(named, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    named.into_iter().map(|(name, is_numbered)| table_form(&tables, name, is_numbered)).collect()
}

fn table_form(tables: &Tables, name: String, is_numbered: bool) -> Result<TableForm, Error> {
    let asked = "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid";
    let found: Vec<(String, String, i64)> =
        tables.rows(asked, [&name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut key: Vec<(i64, usize)> =
        found.iter().enumerate().filter(|(_, (.., place))| *place > 0).map(|(at, (.., place))| (*place, at)).collect();
    key.sort_unstable();
    let numbered =
        key.first().filter(|_| is_numbered).and_then(|(_, at)| found.get(*at)).map(|(name, ..)| name.clone());
    let column = |(name, kind, _): (String, String, i64)| ColumnForm { name, kind: column_kind(&kind) };
    Ok(TableForm {
        name,
        columns: found.into_iter().map(column).collect(),
        key: key.into_iter().map(|(_, at)| at).collect(),
        numbered,
    })
}

/// The kind of values that a column of a strict table takes.
fn column_kind(declared: &str) -> ValueKind {
    match declared {
        "INTEGER" => ValueKind::Integer,
        "REAL" => ValueKind::Real,
        "BLOB" => ValueKind::Bytes,
        _ => ValueKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_a_key_and_stands_behind_those_that_it_refers_to() {
        let forms = table_forms().unwrap();
        let place = |name: &str| forms.iter().position(|form| form.name == name).unwrap();
        assert!(forms.iter().all(|form| !form.key.is_empty()), "{forms:?}");
        assert!(place("attempts") < place("corrections") && place("attempts") < place("usage"));
        assert_eq!(NEWEST.matches("REFERENCES").count(), 2, "a reference that the line above has to name");
        let spend = forms.iter().find(|form| form.name == "spend").unwrap();
        assert_eq!(spend.key_names().collect::<Vec<_>>()[..2], ["day", "project"], "the key's order, not the columns'");
        let numbered = forms.iter().filter_map(|form| form.numbered.as_deref()).count();
        assert_eq!(numbered, NEWEST.matches("AUTOINCREMENT").count());
    }
}
