//! Columns of PostgreSQL's rows, in the form in which the protocol sends them.

use sqlx::postgres::PgRow;
use sqlx::{Row as _, ValueRef as _};

use super::fault::{SqlFault, SqlResult};
use super::value::ColumnValue;

/// The value of a column, by the number of its type in the server's catalogue (`pg_type.dat` of PostgreSQL).
pub(super) fn decode_column<'r>(row: &'r PgRow, place: usize) -> SqlResult<ColumnValue<'r>> {
    let value = row.try_get_raw(place)?;
    if value.is_null() {
        return Ok(ColumnValue::Null);
    }
    let kind = value.type_info().oid().map_or(0, |oid| oid.0);
    let bytes = value.as_bytes().map_err(|error| SqlFault::Mismatch(error.to_string()))?;
    let read = match kind {
        16 => bytes.first().map(|byte| ColumnValue::Integer(i64::from(*byte))),
        20 => bytes.try_into().ok().map(i64::from_be_bytes).map(ColumnValue::Integer),
        21 => bytes.try_into().ok().map(i16::from_be_bytes).map(|value| ColumnValue::Integer(value.into())),
        23 => bytes.try_into().ok().map(i32::from_be_bytes).map(|value| ColumnValue::Integer(value.into())),
        700 => bytes.try_into().ok().map(f32::from_be_bytes).map(|value| ColumnValue::Real(value.into())),
        701 => bytes.try_into().ok().map(f64::from_be_bytes).map(ColumnValue::Real),
        17 => Some(ColumnValue::Bytes(bytes)),
        19 | 25 | 705 | 1043 => std::str::from_utf8(bytes).ok().map(ColumnValue::Text),
        _ => None,
    };
    read.ok_or_else(|| SqlFault::Mismatch(format!("the column {place} has the type {kind}, which is not read here")))
}

/// The place of a column by its name.
pub(super) fn column_place(row: &PgRow, name: &str) -> SqlResult<usize> {
    use sqlx::Column as _;
    Ok(row.try_column(name)?.ordinal())
}
