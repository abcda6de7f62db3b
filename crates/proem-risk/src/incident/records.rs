//! Rows of comma-separated values, as RFC 4180 has them.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A row with the line that it begins in, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CsvRow {
    pub(super) line: usize,
    pub(super) fields: Vec<String>,
}

/// Why a text is no table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CsvError {
    pub(super) line: usize,
    pub(super) expected: &'static str,
}

/// Reads rows; lines end with LF or CRLF, and empty ones are passed over. What is no UTF-8 becomes U+FFFD.
pub(super) fn read(text: &[u8]) -> Result<Vec<CsvRow>, CsvError> {
    let mut rows = vec![];
    let mut reader = CsvReader { rest: text, line: 1 };
    while !reader.rest.is_empty() {
        let line = reader.line;
        if reader.end_of_row() {
            continue;
        }
        let mut fields = vec![reader.field()?];
        while reader.take(b',') {
            fields.push(reader.field()?);
        }
        if !reader.rest.is_empty() && !reader.end_of_row() {
            return Err(CsvError {
                line: reader.line,
                expected: "expected `,` after a closing quote; a quote inside is written `\"\"`",
            });
        }
        rows.push(CsvRow { line, fields });
    }
    Ok(rows)
}

struct CsvReader<'t> {
    rest: &'t [u8],
    line: usize,
}

impl CsvReader<'_> {
    fn take(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, after)) if *first == byte => {
                self.rest = after;
                true
            }
            _ => false,
        }
    }

    fn end_of_row(&mut self) -> bool {
        let after = self.rest.strip_prefix(b"\r\n").or_else(|| self.rest.strip_prefix(b"\n"));
        if let Some(after) = after {
            self.rest = after;
            self.line = self.line.saturating_add(1);
        }
        after.is_some()
    }

    fn field(&mut self) -> Result<String, CsvError> {
        if self.take(b'"') {
            return self.quoted();
        }
        let end = self.rest.iter().position(|byte| matches!(byte, b',' | b'\n')).unwrap_or(self.rest.len());
        let (mut field, after) = self.rest.split_at_checked(end).unwrap_or_default();
        if after.first() != Some(&b',') {
            field = field.strip_suffix(b"\r").unwrap_or(field);
        }
        self.rest = after;
        Ok(String::from_utf8_lossy(field).into_owned())
    }

    fn quoted(&mut self) -> Result<String, CsvError> {
        let begun = self.line;
        let mut field = vec![];
        while let Some((&byte, after)) = self.rest.split_first() {
            self.rest = after;
            match byte {
                b'"' if self.take(b'"') => field.push(b'"'),
                b'"' => return Ok(String::from_utf8_lossy(&field).into_owned()),
                other => {
                    self.line = self.line.saturating_add(usize::from(other == b'\n'));
                    field.push(other);
                }
            }
        }
        Err(CsvError { line: begun, expected: "a field in quotes begins here and has no end" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, &[&str])]) {
        let rows = read(text.as_bytes()).unwrap();
        let rows: Vec<(usize, Vec<&str>)> =
            rows.iter().map(|row| (row.line, row.fields.iter().map(String::as_str).collect())).collect();
        let expected: Vec<(usize, Vec<&str>)> =
            expected.iter().map(|(line, fields)| (*line, fields.to_vec())).collect();
        assert_eq!(rows, expected, "{text:?}");
    }

    #[test]
    fn rows_fields_and_quotes() {
        check("", &[]);
        check("a,b\nc,d", &[(1, &["a", "b"]), (2, &["c", "d"])]);
        check("a,b\r\n\r\nc,d\r\n", &[(1, &["a", "b"]), (3, &["c", "d"])]);
        check("a,,\n", &[(1, &["a", "", ""])]);
        check("\"a,\"\"b\"\"\nc\",d\ne", &[(1, &["a,\"b\"\nc", "d"]), (3, &["e"])]);
        check("a \"b\" c", &[(1, &["a \"b\" c"])]);
        check("\"\"", &[(1, &[""])]);
    }

    #[test]
    fn broken_quotes_are_refused() {
        let broken = |text: &str| read(text.as_bytes()).unwrap_err();
        assert_eq!(broken("a\n\"b\nc").line, 2);
        assert_eq!(broken("a\n\"b\"c").line, 2);
    }

    proptest! {
        #[test]
        fn written_rows_are_read_back(
            rows in proptest::collection::vec(proptest::collection::vec("[a\",\r\né ]{0,6}", 1..4), 0..5),
        ) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let text: String = rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n").collect();
            let read = read(text.as_bytes()).unwrap();
            prop_assert_eq!(read.into_iter().map(|row| row.fields).collect::<Vec<_>>(), rows);
        }

        #[test]
        fn any_bytes_are_rows_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&bytes);
        }
    }
}
