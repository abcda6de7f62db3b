//! Statements about several lines at once: a server answers each in one journey, however many lines it is about.
//!
//! A statement stays prepared for each number of lines, so the numbers are powers of two.

use super::fault::SqlResult;
use super::row::Row;
use super::tables::Tables;
use super::value::BoundValue;
use crate::error::Error;

/// The values of a line, in the order of its columns.
pub(crate) type TableLine<'v> = Vec<BoundValue<'v>>;

/// The most lines of a statement: with ten columns each, a fiftieth of the values that SQLite and PostgreSQL take.
const MOST_LINES: usize = 64;
/// The bytes after which a statement has no further line. A message to PostgreSQL may have a thousand times as many.
const MOST_BYTES: usize = 1 << 20;

impl Tables {
    /// Adds lines. `insert` is the statement as far as `VALUES`, `end` what follows the values.
    pub(crate) fn insert_lines(&self, insert: &str, mut lines: Vec<TableLine<'_>>, end: &str) -> Result<(), Error> {
        while !lines.is_empty() {
            let rest = lines.split_off(lines_of_statement(&lines));
            let sql = format!("{insert} VALUES {}{end}", value_places(&lines));
            self.execute(&sql, lines.into_iter().flatten().collect::<TableLine<'_>>())?;
            lines = rest;
        }
        Ok(())
    }

    /// The rows of a query about lines, which stand between `before` and `after` as `VALUES`. The last line may
    /// be there more than once, and its rows then too.
    pub(crate) fn rows_about<'v, T>(
        &self,
        (before, after): (&str, &str),
        lines: impl IntoIterator<Item = TableLine<'v>>,
        mut read: impl FnMut(&Row<'_>) -> SqlResult<T>,
    ) -> Result<Vec<T>, Error> {
        let (mut found, mut lines) = (Vec::new(), lines.into_iter().peekable());
        while lines.peek().is_some() {
            let mut asked: Vec<TableLine<'v>> = lines.by_ref().take(MOST_LINES).collect();
            let count = asked.len().next_power_of_two();
            asked.extend(asked.last().cloned().into_iter().cycle().take(count.saturating_sub(asked.len())));
            let sql = format!("{before}VALUES {}{after}", value_places(&asked));
            found.extend(self.rows(&sql, asked.into_iter().flatten().collect::<TableLine<'_>>(), &mut read)?);
        }
        Ok(found)
    }
}

/// How many of some lines the next statement has.
fn lines_of_statement(lines: &[TableLine<'_>]) -> usize {
    let mut bytes = 0_usize;
    let fitting = lines.iter().take(MOST_LINES).take_while(|line| {
        let has_room = bytes < MOST_BYTES;
        bytes = line.iter().map(BoundValue::length).fold(bytes, usize::saturating_add);
        has_room
    });
    let count = fitting.count();
    1 << count.max(1).ilog2()
}

/// The places of lines' values: `(?, ?), (?, ?)`.
fn value_places(lines: &[TableLine<'_>]) -> String {
    let of_line = format!("({})", vec!["?"; lines.first().map_or(0, Vec::len)].join(", "));
    vec![&*of_line; lines.len()].join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: usize) -> TableLine<'static> {
        vec![BoundValue::Integer(1), BoundValue::from("x".repeat(bytes))]
    }

    #[test]
    fn a_statement_has_a_power_of_two_of_lines_and_ends_behind_a_long_one() {
        let counts = [1, 2, 3, 7, 8, 63, 64, 65, 200].map(|count| lines_of_statement(&vec![line(10); count]));
        assert_eq!(counts, [1, 2, 2, 4, 8, 32, 64, 64, 64]);
        assert_eq!(lines_of_statement(&[line(MOST_BYTES), line(1)]), 1);
        assert_eq!(lines_of_statement(&[line(1), line(1), line(1), line(MOST_BYTES), line(1)]), 4);
        assert_eq!(value_places(&[line(1), line(1)]), "(?, ?), (?, ?)");
    }

    #[test]
    fn lines_come_and_are_found_in_any_number() {
        let tables = Tables::new(rusqlite::Connection::open_in_memory().unwrap(), "memory".into());
        tables.script("CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT)").unwrap();
        let lines = |numbers: std::ops::Range<i64>| numbers.map(|n| vec![n.into(), BoundValue::from(format!("w{n}"))]);
        tables.insert_lines("INSERT INTO t (n, word)", lines(0..150).collect(), "").unwrap();
        tables.insert_lines("INSERT INTO t (n, word)", lines(140..160).collect(), " ON CONFLICT DO NOTHING").unwrap();
        assert_eq!(tables.row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap(), Some(160));
        let query =
            ("WITH asked (n, word) AS (", ") SELECT t.n FROM asked JOIN t ON (t.n, t.word) = (asked.n, asked.word)");
        let mut found: Vec<i64> = tables.rows_about(query, lines(90..170), |row| row.get(0)).unwrap();
        found.dedup();
        assert_eq!(found, (90..160).collect::<Vec<_>>());
        let none: Vec<i64> = tables.rows_about(query, lines(0..0), |row| row.get(0)).unwrap();
        assert!(none.is_empty(), "nobody is asked about nothing");
    }
}
