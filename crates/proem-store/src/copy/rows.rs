//! Lines of a table as values: read in the order of their keys, written, counted and hashed.

use sha2::{Digest as _, Sha256};

use super::tables::TableForm;
use super::{CHUNK, CopyFault};
use crate::error::{Error, Unusable};
use crate::sql::{BoundValue, DatabaseKind, SqlFault, SqlResult, Tables, redacted_value};

/// A line, with its values in the order of the table's columns.
pub(super) type Line = crate::sql::TableLine<'static>;

/// All lines of a table, by number and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableHash {
    pub(super) lines: u64,
    hash: [u8; 32],
}

/// Lets the session idle in its transaction while the other store writes.
pub(super) fn keep_session(tables: &Tables) -> Result<(), Error> {
    match tables.kind() {
        DatabaseKind::File => Ok(()),
        DatabaseKind::Server => tables.script("SET LOCAL idle_in_transaction_session_timeout = 0"),
    }
}

/// The number of a table's lines.
pub(super) fn count_copied_lines(tables: &Tables, form: &TableForm) -> Result<u64, Error> {
    let lines: Option<i64> =
        tables.row(&format!("SELECT count(*) FROM {}", quote(&form.name)), [], |row| row.get(0))?;
    Ok(lines.and_then(|lines| u64::try_from(lines).ok()).unwrap_or(0))
}

/// The last key of a table. `None` if it is empty.
pub(super) fn last_key(tables: &Tables, form: &TableForm) -> Result<Option<Line>, Error> {
    let names: Vec<String> = form.key_names().map(quote).collect();
    let order: Vec<String> = names.iter().map(|name| format!("{name} DESC")).collect();
    let (names, order, table) = (names.join(", "), order.join(", "), quote(&form.name));
    let sql = format!("SELECT {names} FROM {table} ORDER BY {order} LIMIT 1");
    let values = |row: &crate::sql::Row<'_>| (0..form.key.len()).map(|place| row.get(place)).collect::<SqlResult<_>>();
    tables.row(&sql, [], values)
}

/// The next lines behind a key. Their texts are as they would be written today, without what has the shape of a
/// credential.
pub(super) fn read_chunk(
    tables: &Tables,
    form: &TableForm,
    after: Option<&[BoundValue<'static>]>,
) -> Result<Vec<Line>, CopyFault> {
    let columns: Vec<String> = form.columns.iter().map(|column| quote(&column.name)).collect();
    let key: Vec<String> = form.key_names().map(quote).collect();
    let places = vec!["?"; key.len()].join(", ");
    let (columns, key, table) = (columns.join(", "), key.join(", "), quote(&form.name));
    let behind = if after.is_some() { format!(" WHERE ({key}) > ({places})") } else { String::new() };
    let sql = format!("SELECT {columns} FROM {table}{behind} ORDER BY {key} LIMIT {CHUNK}");
    let lines = tables.all_rows(&sql, after.unwrap_or_default().to_vec(), |row| read_copied_line(row, form))?;
    match lines.iter().find(|(_, key)| *key == KeyState::Changed) {
        None => Ok(lines.into_iter().map(|(line, _)| line).collect()),
        Some(_) => {
            let why = format!("the key of a line in the table `{}` has the shape of a credential", form.name);
            Err(Error::from(Unusable::Refused { path: tables.path().to_owned(), why }).into())
        }
    }
}

/// Whether a line is still found by its key without credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyState {
    Same,
    Changed,
}

fn read_copied_line(row: &crate::sql::Row<'_>, form: &TableForm) -> Result<(Line, KeyState), SqlFault> {
    let mut key = KeyState::Same;
    let value = |(place, column): (usize, &super::tables::ColumnForm)| {
        let found: Option<BoundValue<'static>> = row.get(place)?;
        let Some(found) = found else { return Ok(BoundValue::Null(column.kind)) };
        let clean = redacted_value(found.clone());
        if clean != found && form.key.contains(&place) {
            key = KeyState::Changed;
        }
        Ok(clean)
    };
    let line = form.columns.iter().enumerate().map(value).collect::<SqlResult<_>>()?;
    Ok((line, key))
}

/// Writes lines.
pub(super) fn insert_lines(tables: &Tables, form: &TableForm, lines: Vec<Line>) -> Result<(), Error> {
    if tables.kind() == DatabaseKind::Server {
        refuse_nul(tables, form, &lines)?;
    }
    let columns: Vec<String> = form.columns.iter().map(|column| quote(&column.name)).collect();
    tables.insert_lines(&format!("INSERT INTO {} ({})", quote(&form.name), columns.join(", ")), lines, "")
}

/// Refuses a text with a NUL, which PostgreSQL does not hold, by its line.
fn refuse_nul(tables: &Tables, form: &TableForm, lines: &[Line]) -> Result<(), Error> {
    let has_nul = |value: &BoundValue<'_>| matches!(value, BoundValue::Text(text) if text.contains('\0'));
    let Some(line) = lines.iter().find(|line| line.iter().any(has_nul)) else { return Ok(()) };
    let key: Vec<String> = form.key_of(line).iter().map(|value| format!("{value:?}")).collect();
    let why = format!(
        "a text of the table `{}` has a NUL, which PostgreSQL can't hold ({}); purge its run, or keep \
         these records in a file",
        form.name,
        key.join(", ")
    );
    Err(Unusable::Refused { path: tables.path().to_owned(), why }.into())
}

/// The number and hash of all lines of a table.
pub(super) fn hash_table(tables: &Tables, form: &TableForm) -> Result<TableHash, CopyFault> {
    let (mut hash, mut lines, mut last) = (Sha256::new(), 0_u64, None::<Line>);
    loop {
        let chunk = read_chunk(tables, form, last.as_deref())?;
        let Some(end) = chunk.last() else { break };
        last = Some(form.key_of(end));
        for value in chunk.iter().flatten() {
            add_to_hash(&mut hash, value);
        }
        lines = lines.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
    }
    Ok(TableHash { lines, hash: hash.finalize().into() })
}

/// Adds a value with its kind and length, so that no two lists of values have the same bytes.
fn add_to_hash(hash: &mut Sha256, value: &BoundValue<'_>) {
    let (kind, bytes): (u8, &[u8]) = match value {
        BoundValue::Null(_) => (0, &[]),
        BoundValue::Integer(number) => return hash.update([&[1][..], &number.to_be_bytes()].concat()),
        BoundValue::Real(number) => return hash.update([&[2][..], &number.to_bits().to_be_bytes()].concat()),
        BoundValue::Text(text) => (3, text.as_bytes()),
        BoundValue::Bytes(bytes) => (4, bytes),
    };
    hash.update([kind]);
    hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(bytes);
}

/// A name of a table or column as both databases take it.
pub(super) fn quote(name: &str) -> String {
    format!("\"{name}\"")
}
