//! Lines of JSON that are read one by one, each bounded.

use std::fs::File;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use proem_guard::show;
use proem_runtime::files;
use serde_json::Value;

use crate::error::Error;
use crate::words::group_thousands;

/// The longest line, in bytes without its end.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Opens a file that the user named.
///
/// # Errors
///
/// If there is none, or it may not be read.
pub fn open_named_file(path: &Path) -> Result<File, Error> {
    files::open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => Error::invalid(format!("{} is a folder; name a file in it", lines_path(path))),
        _ => Error::invalid(format!("could not read {}: {error}", lines_path(path))),
    })
}

/// A path as a message names it.
#[must_use]
pub fn lines_path(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        format!("`{}`", show::terminal_str(&path.display().to_string()))
    }
}

/// One line.
#[derive(Debug)]
pub enum QueryLine {
    /// White space.
    Blank,
    /// Anything else.
    Text(String),
    /// The problem with it.
    Unreadable(String),
}

/// Lines, counted from 1. At most one of them is held at a time.
#[derive(Debug)]
pub struct QueryLines<R> {
    from: R,
    number: usize,
}

impl<R: BufRead> QueryLines<R> {
    /// The lines that can be read there.
    pub const fn new(from: R) -> Self {
        Self { from, number: 0 }
    }

    /// The next line with its number. Nothing at the end.
    ///
    /// # Errors
    ///
    /// If nothing more can be read.
    pub fn next_line(&mut self) -> io::Result<Option<(usize, QueryLine)>> {
        let mut bytes = Vec::new();
        let cap = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        if self.from.by_ref().take(cap).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        let ended = bytes.pop_if(|byte| *byte == b'\n').is_some();
        if !ended && bytes.len() > MAX_LINE_BYTES {
            self.from.skip_until(b'\n')?;
            let why = format!("longer than {} bytes; shorten it", group_thousands(MAX_LINE_BYTES));
            return Ok(Some((self.number, QueryLine::Unreadable(why))));
        }
        let mut line = match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => QueryLine::Blank,
            Ok(text) => QueryLine::Text(text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                QueryLine::Unreadable(format!("not UTF-8 from byte {at} on; save it as UTF-8"))
            }
        };
        if let (1, QueryLine::Text(text)) = (self.number, &mut line)
            && text.starts_with('\u{feff}')
        {
            text.remove(0);
        }
        Ok(Some((self.number, line)))
    }
}

/// A query, with the names that it used if it is one of usage.
#[derive(Debug, PartialEq, Eq)]
pub struct RankedQuery {
    /// The words that were ranked by.
    pub query: String,
    /// The names that it used.
    pub tools: Vec<String>,
}

impl RankedQuery {
    /// Reads `{"query", "tools"?}`. Other keys are ignored, and so is what is no text in `tools`.
    ///
    /// # Errors
    ///
    /// In words, if it is none.
    pub fn parse(line: &str) -> Result<Self, String> {
        const FORM: &str = "write `{\"query\": \"…\"}` on each line";
        let value: Value = serde_json::from_str(line)
            .map_err(|error| format!("not valid JSON at column {}; {FORM}", error.column().max(1)))?;
        let Value::Object(mut fields) = value else { return Err(format!("not an object; {FORM}")) };
        let query = match fields.remove("query") {
            Some(Value::String(query)) => query,
            Some(_) => return Err(format!("`query` is not a string; {FORM}")),
            None => return Err(format!("no `query` in it; {FORM}")),
        };
        let tools = match fields.remove("tools") {
            Some(Value::Array(tools)) => tools.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        Ok(Self { query, tools })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(usize, String)> {
        let mut lines = QueryLines::new(bytes);
        let mut out = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            out.push((
                number,
                match line {
                    QueryLine::Blank => "blank".into(),
                    QueryLine::Text(text) => text.chars().take(9).collect(),
                    QueryLine::Unreadable(why) => format!("! {why}"),
                },
            ));
        }
        out
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[(usize, &str)]) {
        let expected: Vec<(usize, String)> = expected.iter().map(|(number, text)| (*number, (*text).into())).collect();
        assert_eq!(read(bytes), expected);
    }

    #[test]
    fn lines_are_counted_and_bounded() {
        check(b"", &[]);
        check(b"a\n\nb", &[(1, "a"), (2, "blank"), (3, "b")]);
        check(b"\xef\xbb\xbfa\r\n\n", &[(1, "a\r"), (2, "blank")]);
        check(b"a\n\xff\nb\n", &[(1, "a"), (2, "! not UTF-8 from byte 0 on; save it as UTF-8"), (3, "b")]);
        let long = "x".repeat(MAX_LINE_BYTES);
        let too_long = "! longer than 4,194,304 bytes; shorten it";
        check(
            format!("{long}\n{long}y\nz\n{long}{long}{long}").as_bytes(),
            &[(1, "xxxxxxxxx"), (2, too_long), (3, "z"), (4, too_long)],
        );
    }

    #[test]
    fn a_query_is_an_object_with_a_text() {
        let form = "write `{\"query\": \"…\"}` on each line";
        for (line, expected) in [
            (r#"{"query": "a", "id": 7, "tools": ["x", 1]}"#, Ok(("a", vec!["x"]))),
            (r#"{"query": "", "tools": "x"}"#, Ok(("", vec![]))),
            (r#"{"query": "\u001b[2J😀"}"#, Ok(("\u{1b}[2J😀", vec![]))),
            ("{", Err("not valid JSON at column 1")),
            (r#"{"query": "\ud800"}"#, Err("not valid JSON at column 18")),
            ("[1]", Err("not an object")),
            (r#"{"task": "a"}"#, Err("no `query` in it")),
            (r#"{"query": ["a"]}"#, Err("`query` is not a string")),
        ] {
            let expected = expected
                .map(|(query, tools)| RankedQuery {
                    query: query.into(),
                    tools: tools.into_iter().map(str::to_owned).collect(),
                })
                .map_err(|why: &str| format!("{why}; {form}"));
            assert_eq!(RankedQuery::parse(line), expected, "{line}");
        }
    }
}
