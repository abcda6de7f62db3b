//! A statement in SQLite's dialect, as PostgreSQL takes it.
//!
//! The statements use the part of SQL that both have, and functions that a schema of PostgreSQL's gets by
//! `migrations/dialect.postgres.sql`. What is left are the places of values, the names of two types, the text of bytes,
//! and hints to SQLite's planner.

use super::value::ValueKind;

/// The statement for PostgreSQL, with values of these kinds in the order of its places.
pub(super) fn translate_statement(sql: &str, kinds: &[ValueKind]) -> String {
    let sql = without_hints(sql);
    let sql =
        with_plain_bytes(&sql).replace(" AS REAL)", " AS DOUBLE PRECISION)").replace(" AS INTEGER)", " AS BIGINT)");
    // The first part of a recursive query decides how all of it is sorted: a value as the columns are.
    let is_recursive = sql.contains("RECURSIVE");
    let mut out = String::with_capacity(sql.len() + 16);
    let mut next = 0_usize;
    let mut is_quoted = false;
    let mut rest = sql.chars().peekable();
    while let Some(sign) = rest.next() {
        is_quoted ^= sign == '\'';
        if sign != '?' || is_quoted {
            out.push(sign);
            continue;
        }
        let mut number = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            number.push(digit);
        }
        let place = number.parse().unwrap_or_else(|_| next.saturating_add(1));
        next = next.max(place);
        let is_text = place.checked_sub(1).and_then(|place| kinds.get(place)) == Some(&ValueKind::Text);
        if is_recursive && is_text {
            out.push_str(&format!("(${place} COLLATE \"C\")"));
        } else {
            out.push_str(&format!("${place}"));
        }
    }
    out
}

/// Leaves out which index SQLite should take, and in which order it should join.
fn without_hints(sql: &str) -> String {
    let mut parts = sql.split(" INDEXED BY ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.find(' ').and_then(|end| part.get(end..)).unwrap_or_default());
    }
    out.replace(" CROSS JOIN ", " JOIN ")
}

/// Reads bytes as they are, where SQLite is asked for their text: PostgreSQL's text holds no NUL.
fn with_plain_bytes(sql: &str) -> String {
    let mut parts = sql.split("CAST(");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(" AS TEXT)") {
            Some((bytes, rest)) if bytes.ends_with(".bytes") && !bytes.contains(' ') => {
                out.push_str(bytes);
                out.push_str(rest);
            }
            _ => {
                out.push_str("CAST(");
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_translated() {
        let check = |sql: &str, expected: &str| assert_eq!(translate_statement(sql, &[ValueKind::Text; 3]), expected);
        check("SELECT a FROM t WHERE b = ? AND c = ?", "SELECT a FROM t WHERE b = $1 AND c = $2");
        check("SELECT ?2, ?1, ?2", "SELECT $2, $1, $2");
        check("SELECT '?', 'it''s ?' WHERE a = ?", "SELECT '?', 'it''s ?' WHERE a = $1");
        check("SELECT 1 FROM runs INDEXED BY by_project WHERE a", "SELECT 1 FROM runs WHERE a");
        check("SELECT 1 FROM a CROSS JOIN b ON a.x = b.x", "SELECT 1 FROM a JOIN b ON a.x = b.x");
        check("SELECT CAST(c.bytes AS TEXT) AS form", "SELECT c.bytes AS form");
        check("SELECT CAST(a AS TEXT), CAST(a AS REAL)", "SELECT CAST(a AS TEXT), CAST(a AS DOUBLE PRECISION)");
        check("SELECT CAST(sum(a) AS INTEGER)", "SELECT CAST(sum(a) AS BIGINT)");
        check("WITH RECURSIVE t (id) AS (SELECT ?1)", "WITH RECURSIVE t (id) AS (SELECT ($1 COLLATE \"C\"))");
    }
}
