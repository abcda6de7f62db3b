//! A row of a query's answer.

use super::fault::{SqlFault, SqlResult};
#[cfg(feature = "postgres")]
use super::postgres_row;
use super::value::{ColumnValue, FromColumn};

/// A row, as long as it is the current one.
#[derive(Debug)]
pub(crate) struct Row<'r>(pub(super) RowSource<'r>);

/// The database's own row.
#[derive(Debug)]
pub(super) enum RowSource<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg(feature = "postgres")]
    Postgres(&'r sqlx::postgres::PgRow),
}

/// A column, by its place from 0 on or by its name.
pub(crate) trait ColumnKey: Copy {
    /// The value of the column.
    fn value_in<'r>(self, row: &'r Row<'_>) -> SqlResult<ColumnValue<'r>>;

    /// The column, for errors.
    fn label(self) -> String;
}

impl ColumnKey for usize {
    fn value_in<'r>(self, row: &'r Row<'_>) -> SqlResult<ColumnValue<'r>> {
        match &row.0 {
            RowSource::Sqlite(row) => from_sqlite(row.get_ref(self)?, self),
            #[cfg(feature = "postgres")]
            RowSource::Postgres(row) => postgres_row::decode_column(row, self),
        }
    }

    fn label(self) -> String {
        self.to_string()
    }
}

impl ColumnKey for &str {
    fn value_in<'r>(self, row: &'r Row<'_>) -> SqlResult<ColumnValue<'r>> {
        match &row.0 {
            RowSource::Sqlite(row) => from_sqlite(row.get_ref(self)?, self),
            #[cfg(feature = "postgres")]
            RowSource::Postgres(row) => postgres_row::decode_column(row, postgres_row::column_place(row, self)?),
        }
    }

    fn label(self) -> String {
        self.to_owned()
    }
}

impl Row<'_> {
    /// The value of a column.
    pub(crate) fn get<C: ColumnKey, T: FromColumn>(&self, column: C) -> SqlResult<T> {
        let value = column.value_in(self)?;
        let other = || SqlFault::Mismatch(format!("the column `{}` holds {}", column.label(), value.kind_name()));
        T::from_column(value).ok_or_else(other)
    }
}

fn from_sqlite(value: rusqlite::types::ValueRef<'_>, column: impl ColumnKey) -> SqlResult<ColumnValue<'_>> {
    use rusqlite::types::ValueRef;
    Ok(match value {
        ValueRef::Null => ColumnValue::Null,
        ValueRef::Integer(value) => ColumnValue::Integer(value),
        ValueRef::Real(value) => ColumnValue::Real(value),
        ValueRef::Text(bytes) => ColumnValue::Text(std::str::from_utf8(bytes).map_err(|error| {
            SqlFault::Mismatch(format!("the column `{}` holds text that is not UTF-8: {error}", column.label()))
        })?),
        ValueRef::Blob(bytes) => ColumnValue::Bytes(bytes),
    })
}
