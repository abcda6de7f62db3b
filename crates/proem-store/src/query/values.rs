//! Values of rows, checked: what the tables promise is not taken on trust.

use std::str::FromStr;

use serde::de::DeserializeOwned;

use crate::error::Absence;
use crate::record::digest_of;
use crate::sql::{FromColumn, Row, SqlFault, StatementValues, Tables};

/// Why something could not be read.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// The database says so.
    Sql(SqlFault),
    /// A value is none that is ever written; what it is, and where.
    Odd(String),
    /// There is nothing of that name.
    Missing(Absence),
}

impl From<SqlFault> for ReadFault {
    fn from(fault: SqlFault) -> Self {
        Self::Sql(fault)
    }
}

/// All rows of a query.
pub(super) fn all_rows<T>(
    reader: &Tables,
    sql: &str,
    values: impl StatementValues,
    read: impl FnMut(&Row<'_>) -> Result<T, ReadFault>,
) -> Result<Vec<T>, ReadFault> {
    reader.all_rows(sql, values, read)
}

/// The first row of a query, if there is one.
pub(super) fn first_row<T>(
    reader: &Tables,
    sql: &str,
    values: impl StatementValues,
    read: impl FnOnce(&Row<'_>) -> Result<T, ReadFault>,
) -> Result<Option<T>, ReadFault> {
    reader.first_row(sql, values, read)
}

/// The value of a column. [`Option`] where it may be null.
pub(super) fn column_value<T: FromColumn>(row: &Row<'_>, column: &str) -> Result<T, ReadFault> {
    Ok(row.get(column)?)
}

/// A whole number that is never negative.
pub(super) fn column_count<T: TryFrom<i64>>(row: &Row<'_>, column: &str) -> Result<T, ReadFault> {
    whole_or_odd(column, column_value(row, column)?)
}

/// The same, or null.
pub(super) fn count_or_null<T: TryFrom<i64>>(row: &Row<'_>, column: &str) -> Result<Option<T>, ReadFault> {
    column_value::<Option<i64>>(row, column)?.map(|value| whole_or_odd(column, value)).transpose()
}

fn whole_or_odd<T: TryFrom<i64>>(column: &str, value: i64) -> Result<T, ReadFault> {
    T::try_from(value).map_err(|_| ReadFault::Odd(format!("`{column}` is {value}")))
}

/// A word of a closed list, by its serialised form.
pub(super) fn column_word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, ReadFault> {
    parse_word(column, &column_value::<String>(row, column)?)
}

/// The same, or null.
pub(super) fn word_or_null<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<Option<T>, ReadFault> {
    column_value::<Option<String>>(row, column)?.map(|text| parse_word(column, &text)).transpose()
}

fn parse_word<T: DeserializeOwned>(column: &str, text: &str) -> Result<T, ReadFault> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|_| ReadFault::Odd(format!("`{column}` is `{text}`")))
}

pub(super) fn column_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, ReadFault> {
    parse_column_json(column, &column_value::<String>(row, column)?)
}

/// The same, or null.
pub(super) fn json_or_null<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<Option<T>, ReadFault> {
    column_value::<Option<String>>(row, column)?.map(|text| parse_column_json(column, &text)).transpose()
}

fn parse_column_json<T: DeserializeOwned>(column: &str, text: &str) -> Result<T, ReadFault> {
    serde_json::from_str(text)
        .map_err(|error| ReadFault::Odd(format!("`{column}` holds other JSON than it should: {error}")))
}

/// A number that is stored as text.
pub(super) fn parse_stored_number<T: FromStr>(name: &str, text: &str) -> Result<T, ReadFault> {
    text.parse().map_err(|_| ReadFault::Odd(format!("`{name}` is `{text}`")))
}

pub(super) fn column_digest(row: &Row<'_>, column: &str) -> Result<[u8; 32], ReadFault> {
    digest_or_null(row, column)?.ok_or_else(|| ReadFault::Odd(format!("`{column}` is empty")))
}

/// The same. Null and an empty text are none.
pub(super) fn digest_or_null(row: &Row<'_>, column: &str) -> Result<Option<[u8; 32]>, ReadFault> {
    let text = column_value::<Option<String>>(row, column)?.filter(|text| !text.is_empty());
    let whole = |text: String| digest_of(&text).ok_or_else(|| ReadFault::Odd(format!("`{column}` is `{text}`")));
    text.map(whole).transpose()
}
