//! Values of rows, checked: what the tables promise is not taken on trust.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Sqlite, Type};

/// Why something could not be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite says so.
    Sql(sqlx::Error),
    /// A value is none that is ever written; what it is, and where.
    Odd(String),
    /// There is nothing of that name.
    Missing(String),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// The value of a column; [`Option`] where it may be null.
pub(super) fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T, Fault>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    Ok(row.try_get(column)?)
}

/// A whole number that is never negative.
pub(super) fn count<T: TryFrom<i64>>(row: &SqliteRow, column: &str) -> Result<T, Fault> {
    whole(column, get(row, column)?)
}

/// The same, or null.
pub(super) fn count_or_null<T: TryFrom<i64>>(row: &SqliteRow, column: &str) -> Result<Option<T>, Fault> {
    get::<Option<i64>>(row, column)?.map(|value| whole(column, value)).transpose()
}

fn whole<T: TryFrom<i64>>(column: &str, value: i64) -> Result<T, Fault> {
    T::try_from(value).map_err(|_| Fault::Odd(format!("`{column}` is {value}")))
}

/// A word of a closed list, by its serialised form.
pub(super) fn word<T: DeserializeOwned>(column: &str, text: &str) -> Result<T, Fault> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|_| Fault::Odd(format!("`{column}` is `{text}`")))
}

/// JSON in a column.
pub(super) fn json<T: DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, Fault> {
    parsed(column, &get::<String>(row, column)?)
}

/// The same, or null.
pub(super) fn json_or_null<T: DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<Option<T>, Fault> {
    get::<Option<String>>(row, column)?.map(|text| parsed(column, &text)).transpose()
}

fn parsed<T: DeserializeOwned>(column: &str, text: &str) -> Result<T, Fault> {
    serde_json::from_str(text)
        .map_err(|error| Fault::Odd(format!("`{column}` holds other JSON than it should: {error}")))
}

/// A number that is stored as text.
pub(super) fn written<T: FromStr>(name: &str, text: &str) -> Result<T, Fault> {
    text.parse().map_err(|_| Fault::Odd(format!("`{name}` is `{text}`")))
}
