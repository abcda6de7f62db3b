//! A connection to SQLite: statements that stay prepared, and errors that say what became of the store.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};

use super::fault::{SqlFault, SqlResult};
use super::row::{Row, RowSource};
use super::statement::{StatementValues, redacted_value};
use super::value::BoundValue;
use crate::error::{Error, Unusable};

/// How many statements stay prepared: more than there are.
const STATEMENTS: usize = 200;

/// A connection to a file, or to memory.
#[derive(Debug)]
pub(crate) struct SqliteConnection(Connection);

impl SqliteConnection {
    pub(super) fn new(connection: Connection) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Self(connection)
    }

    pub(super) fn execute(&self, sql: &str, values: impl StatementValues) -> SqlResult<usize> {
        let mut statement = self.0.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    /// The number of the row that was added last.
    pub(super) fn last_number(&self) -> i64 {
        self.0.last_insert_rowid()
    }

    pub(super) fn first_row<T, E: From<SqlFault>>(
        &self,
        sql: &str,
        values: impl StatementValues,
        read: impl FnOnce(&Row<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let mut statement = self.0.prepare_cached(sql).map_err(SqlFault::from)?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        let row = rows.next().map_err(SqlFault::from)?;
        row.map(|row| read(&Row(RowSource::Sqlite(row)))).transpose()
    }

    pub(super) fn all_rows<T, E: From<SqlFault>>(
        &self,
        sql: &str,
        values: impl StatementValues,
        mut read: impl FnMut(&Row<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let mut statement = self.0.prepare_cached(sql).map_err(SqlFault::from)?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(SqlFault::from)? {
            found.push(read(&Row(RowSource::Sqlite(row)))?);
        }
        Ok(found)
    }

    pub(super) fn script(&self, sql: &str) -> SqlResult<()> {
        Ok(self.0.execute_batch(sql)?)
    }

    pub(super) fn close(self) -> SqlResult<()> {
        self.0.close().map_err(|(_connection, error)| error.into())
    }
}

impl ToSql for BoundValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null(_) => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Gives a statement its values, without credentials.
fn bind(statement: &mut Statement<'_>, values: impl StatementValues) -> SqlResult<()> {
    let mut count = 0_usize;
    values.bind_each(&mut |value| {
        count = count.saturating_add(1);
        Ok(statement.raw_bind_parameter(count, redacted_value(value))?)
    })?;
    let expected = statement.parameter_count();
    if count == expected { Ok(()) } else { Err(rusqlite::Error::InvalidParameterCount(count, expected).into()) }
}

/// The meaning of an SQLite error for the store, by its primary result code, which is the lowest byte of the extended
/// one (<https://www.sqlite.org/rescode.html>).
pub(crate) fn sqlite_unusable(path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.to_owned();
    let why = match error {
        rusqlite::Error::SqliteFailure(_, Some(said)) | rusqlite::Error::SqlInputError { msg: said, .. } => {
            said.clone()
        }
        other => other.to_string(),
    };
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    Error::Unusable(match code & 0xff {
        // SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE: readers need room beside the file as well.
        10 if [4618, 4874].contains(&code) => {
            Unusable::Unwritable { path, why: "there is no space left in its folder; the disk may be full".to_owned() }
        }
        // SQLITE_BUSY, SQLITE_LOCKED.
        5 | 6 => Unusable::Busy { path },
        // SQLITE_PERM, SQLITE_READONLY, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_AUTH.
        3 | 8 | 13 | 14 | 23 => Unusable::Unwritable { path, why },
        // SQLITE_CORRUPT, SQLITE_NOTADB.
        11 | 26 => Unusable::Corrupt { path, why },
        // SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH.
        18..=20 => Unusable::Refused { path, why },
        _ => Unusable::Other { path, why },
    })
}
