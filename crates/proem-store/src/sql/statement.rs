//! The values of statements, on their way into the database.
//!
//! Invariant: every text and every other bytes that a statement is given pass [`redacted_value`], and lose there what has
//! the shape of a credential. It holds for values that are looked for too, so that what was stored without its credential
//! is found by the text that had it.

use std::borrow::Cow;
use std::str;

use proem_guard::credential::redact_document;

use super::fault::SqlResult;
use super::value::{AnyBound, BoundValue, ToBound};

/// Takes one value of a statement.
pub(crate) type BindOne<'b> = dyn FnMut(BoundValue<'_>) -> SqlResult<()> + 'b;

/// The values of a statement, in the order of its question marks.
pub(crate) trait StatementValues {
    /// Gives each of them to `bind`.
    fn bind_each(self, bind: &mut BindOne<'_>) -> SqlResult<()>;
}

impl StatementValues for [&str; 0] {
    fn bind_each(self, _: &mut BindOne<'_>) -> SqlResult<()> {
        Ok(())
    }
}

impl StatementValues for &[&dyn AnyBound] {
    fn bind_each(self, bind: &mut BindOne<'_>) -> SqlResult<()> {
        self.iter().try_for_each(|value| bind(value.any_bound()))
    }
}

impl StatementValues for Vec<BoundValue<'_>> {
    fn bind_each(self, bind: &mut BindOne<'_>) -> SqlResult<()> {
        self.into_iter().try_for_each(bind)
    }
}

/// More values than a tuple has, or values of which one may be of several types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::sql::AnyBound),*][..]
    };
}
pub(crate) use params;

macro_rules! arrays {
    ($($count:literal)*) => {$(
        impl<T: ToBound> StatementValues for [T; $count] {
            fn bind_each(self, bind: &mut BindOne<'_>) -> SqlResult<()> {
                self.iter().try_for_each(|value| bind(value.to_bound()))
            }
        }
    )*};
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: ToBound),*> StatementValues for ($($name,)*) {
            fn bind_each(self, bind: &mut BindOne<'_>) -> SqlResult<()> {
                #[expect(non_snake_case, reason = "each value is named after its type")]
                let ($($name,)*) = self;
                $(bind($name.to_bound())?;)*
                Ok(())
            }
        }
    )*};
}

arrays!(1 2 3 4 5 6);
tuples!((A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H)(A B C D E F G H I));

/// The value without credentials.
pub(crate) fn redacted_value(value: BoundValue<'_>) -> BoundValue<'_> {
    match value {
        BoundValue::Text(text) => BoundValue::Text(redact_document(&text).map_or(text, Cow::Owned)),
        BoundValue::Bytes(bytes) => BoundValue::Bytes(clean_bytes(&bytes).map_or(bytes, Cow::Owned)),
        other => other,
    }
}

/// Bytes are read as text as far as they are text. Sealed states look like noise, in which nothing is found.
fn clean_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    if let Ok(text) = str::from_utf8(bytes) {
        return redact_document(text).map(String::into_bytes);
    }
    let (mut out, mut is_clean) = (Vec::new(), true);
    for chunk in bytes.utf8_chunks() {
        match redact_document(chunk.valid()) {
            Some(clean) => {
                is_clean = false;
                out.extend_from_slice(clean.as_bytes());
            }
            None => out.extend_from_slice(chunk.valid().as_bytes()),
        }
        out.extend_from_slice(chunk.invalid());
    }
    (!is_clean).then_some(out)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::Tables;

    /// Every way to give a statement its values, each with a key.
    #[test]
    fn no_value_keeps_a_credential() {
        let tables = Tables::new(Connection::open_in_memory().unwrap(), "memory".into());
        tables.script("CREATE TABLE t (value)").unwrap();
        // Put together here, so that no scanner of sources takes it for one.
        let key = &format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let json = format!("{{\"a\":\"x {key}\"}}");
        let noise = [&[0xff, 0xfe], key.as_bytes(), &[0x80]].concat();
        let insert = "INSERT INTO t VALUES (?)";
        tables.execute(insert, [key]).unwrap();
        tables.execute(insert, [key.as_bytes()]).unwrap();
        tables.execute(insert, [Some(key)]).unwrap();
        tables.execute(insert, params![key]).unwrap();
        tables.execute("INSERT INTO t SELECT ? WHERE ?", (key, 1)).unwrap();
        tables.insert(insert, [noise]).unwrap();
        tables.insert(insert, [json]).unwrap();
        tables.row("INSERT INTO t VALUES (?) RETURNING 1", [key], |_| Ok(())).unwrap();
        let values = "SELECT CAST(value AS BLOB) FROM t";
        let kept: Vec<Vec<u8>> = tables.rows(values, [], |row| row.get(0)).unwrap();
        let kept: Vec<String> = kept.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
        let marker = "[redacted:github-token]";
        assert_eq!(kept[..5], [marker; 5]);
        assert_eq!(kept[5], format!("\u{fffd}\u{fffd}{marker}\u{fffd}"));
        assert_eq!(kept[6], format!("{{\"a\":\"x {marker}\"}}"));
        let found = tables.row("SELECT count(*) FROM t WHERE value = ?", [key], |row| row.get(0)).unwrap();
        assert_eq!(found, Some(5));
    }

    #[test]
    fn a_statement_gets_as_many_values_as_it_has_places_for() {
        let tables = Tables::new(Connection::open_in_memory().unwrap(), "memory".into());
        assert!(tables.row("SELECT ?, ?", [1], |_| Ok(())).is_err());
        assert!(tables.row("SELECT ?", (1, 2), |_| Ok(())).is_err());
        assert!(tables.row("SELECT ?", [], |_| Ok(())).is_err());
    }
}
