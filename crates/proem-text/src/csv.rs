//! Rows of comma-separated values, as RFC 4180 has them.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A row with the line that it begins in, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvRow {
    /// The line that it begins in.
    pub line: usize,
    /// Its fields, without their quotes.
    pub fields: Vec<String>,
}

/// Why a text is no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvError {
    /// The line that it was noticed in, counted from 1. Of a field without an end the line that it begins in.
    pub line: usize,
    /// The fault, with what to write instead.
    pub expected: &'static str,
}

/// The reading of a quote inside a field that doesn't begin with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BareQuotes {
    /// It is a character of the field.
    Kept,
    /// It is an error.
    Refused,
}

/// Reads rows. Lines end with LF or CRLF, and empty ones are passed over, as is a byte order mark. Bytes that are no
/// UTF-8 become U+FFFD.
///
/// # Errors
///
/// [`CsvError`] for a field in quotes without an end or with text behind it, and for bare quotes as `quotes` says.
pub fn read_csv(text: &[u8], quotes: BareQuotes) -> Result<Vec<CsvRow>, CsvError> {
    let mut rows = vec![];
    let mut reader = CsvReader { rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), line: 1, quotes };
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
    quotes: BareQuotes,
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
            return self.quoted_field();
        }
        let end = self.rest.iter().position(|byte| matches!(byte, b',' | b'\n')).unwrap_or(self.rest.len());
        let (mut field, after) = self.rest.split_at_checked(end).unwrap_or_default();
        if after.first() != Some(&b',') {
            field = field.strip_suffix(b"\r").unwrap_or(field);
        }
        self.rest = after;
        if self.quotes == BareQuotes::Refused && field.contains(&b'"') {
            return Err(CsvError { line: self.line, expected: "a quote inside a field; put the field in quotes" });
        }
        Ok(String::from_utf8_lossy(field).into_owned())
    }

    fn quoted_field(&mut self) -> Result<String, CsvError> {
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
        let rows = read_csv(text.as_bytes(), BareQuotes::Kept).unwrap();
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
        check("\u{feff}a\n\"one\ntwo\"\n\nthree", &[(1, &["a"]), (2, &["one\ntwo"]), (5, &["three"])]);
    }

    #[test]
    fn broken_quotes_are_refused() {
        let broken = |text: &str| read_csv(text.as_bytes(), BareQuotes::Kept).unwrap_err();
        assert_eq!(broken("a\n\"b\nc").line, 2);
        assert_eq!(broken("a\n\"b\"c").line, 2);
        let bare = CsvError { line: 2, expected: "a quote inside a field; put the field in quotes" };
        assert_eq!(read_csv(b"a\nx\"y\n", BareQuotes::Refused), Err(bare));
        assert!(read_csv(b"a\n\"x\"\"y\"\n", BareQuotes::Refused).is_ok());
    }

    proptest! {
        #[test]
        fn written_rows_are_read_back(
            rows in proptest::collection::vec(proptest::collection::vec("[a\",\r\né ]{0,6}", 1..4), 0..5),
        ) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let text: String = rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n").collect();
            let read = read_csv(text.as_bytes(), BareQuotes::Kept).unwrap();
            prop_assert_eq!(read.into_iter().map(|row| row.fields).collect::<Vec<_>>(), rows);
        }

        #[test]
        fn any_bytes_are_rows_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read_csv(&bytes, BareQuotes::Refused);
        }
    }
}
