//! A connection to SQLite: statements that stay prepared, and errors that say what became of the store.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};

use super::fault::{SqlFault, SqlResult};
use super::row::{Row, RowSource};
use super::statement::{StatementValues, redacted_value};
use super::value::BoundValue;

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
        bind_values(&mut statement, values)?;
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
        bind_values(&mut statement, values)?;
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
        bind_values(&mut statement, values)?;
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
fn bind_values(statement: &mut Statement<'_>, values: impl StatementValues) -> SqlResult<()> {
    let mut count = 0_usize;
    values.bind_each(&mut |value| {
        count = count.saturating_add(1);
        Ok(statement.raw_bind_parameter(count, redacted_value(value))?)
    })?;
    let expected = statement.parameter_count();
    if count == expected { Ok(()) } else { Err(rusqlite::Error::InvalidParameterCount(count, expected).into()) }
}
