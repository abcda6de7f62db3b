//! Reads values of a TOML document, or of JSON of the same form, and keeps every problem with its place.

mod json;

use core::ops::Range;

use proem_text::{diagnostic::Diagnostic, span::Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, ErrorKind, error_at};

/// A value with its place.
pub type PlacedValue<'t> = &'t Spanned<DeValue<'t>>;

/// The reader, with the problems so far.
#[derive(Debug, Default)]
pub struct TomlReader {
    pub(crate) problems: Vec<Diagnostic>,
}

/// How a file writes its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSyntax {
    /// A file of TOML 1.0.
    Toml,
    /// A JSON object of the same form.
    Json,
}

/// Reads a file of tables with `read`. `name` is what messages call the file.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] with every problem: its line, column and excerpt. A text that is neither syntax has only
/// the problems of its syntax, since its parts only seem to be missing or unknown.
pub fn read_tables<T>(
    name: &str,
    text: &str,
    syntax: TableSyntax,
    read: impl FnOnce(&mut TomlReader, &DeTable<'_>) -> T,
) -> Result<T, Error> {
    let mut reader = TomlReader::default();
    let document = match syntax {
        TableSyntax::Toml => {
            let (document, errors) = DeTable::parse_recoverable(text);
            for error in errors {
                reader.problem(error.message().trim_end().to_owned(), error.span().unwrap_or_default());
            }
            document.into_inner()
        }
        TableSyntax::Json => json::read_object(text, &mut reader),
    };
    if !reader.problems.is_empty() {
        return Err(reader.into_error(name, text));
    }
    let value = read(&mut reader, &document);
    if reader.problems.is_empty() { Ok(value) } else { Err(reader.into_error(name, text)) }
}

impl TomlReader {
    /// Keeps a problem with its place in the text.
    pub fn problem(&mut self, message: impl Into<String>, range: Range<usize>) {
        self.problems.push(error_at(message, Span::new(range.start, range.end)));
    }

    /// Keeps a problem that a reader of its own kind made, with the place that it has.
    pub fn diagnostic(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// All problems as the error of a file, in the order of their places.
    fn into_error(mut self, name: &str, text: &str) -> Error {
        self.problems.sort_by_key(|problem| problem.span.map(|span| span.start));
        Error::in_file(name, text, &self.problems)
    }

    /// Names each key that is not one of those.
    pub fn only(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let message = format!("unknown key `{}`; write one of `{}`", key.get_ref(), known.join("`, `"));
            self.problem(message, key.span());
        }
    }

    /// The value as a table. A problem for anything else.
    pub fn table<'t>(&mut self, value: PlacedValue<'t>) -> Option<&'t DeTable<'t>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.expected("a table", value);
        }
        table
    }

    /// The value as a text. A problem for anything else.
    pub fn text<'t>(&mut self, value: PlacedValue<'t>) -> Option<&'t str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.expected("a text", value);
        }
        text
    }

    /// The value as yes or no. A problem for anything else.
    pub fn switch(&mut self, value: PlacedValue<'_>) -> Option<bool> {
        let switch = value.get_ref().as_bool();
        if switch.is_none() {
            self.expected("`true` or `false`", value);
        }
        switch
    }

    /// A whole number from 0 to `max`. A problem for anything else.
    pub fn number(&mut self, value: PlacedValue<'_>, max: u32) -> Option<u32> {
        let integer = value.get_ref().as_integer();
        let digits = integer.filter(|integer| integer.radix() == 10).map(|integer| integer.as_str().replace('_', ""));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number <= max);
        if number.is_none() {
            self.expected(&format!("a whole number from 0 to {max}"), value);
        }
        number
    }

    /// The texts of a list, each with its place. A problem for anything else.
    pub fn texts<'t>(&mut self, value: PlacedValue<'t>) -> Vec<(&'t str, PlacedValue<'t>)> {
        let Some(items) = value.get_ref().as_array() else {
            self.expected("a list of texts", value);
            return Vec::new();
        };
        items.iter().filter_map(|item| Some((self.text(item)?, item))).collect()
    }

    /// A word of a closed list. A problem for anything else.
    pub fn word<T>(
        &mut self,
        value: PlacedValue<'_>,
        known: &[&str],
        of_name: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(value)?;
        let word = of_name(text);
        if word.is_none() {
            self.problem(format!("unknown word `{text}`; write one of `{}`", known.join("`, `")), value.span());
        }
        word
    }

    fn expected(&mut self, what: &str, value: PlacedValue<'_>) {
        let integer = value.get_ref().as_integer();
        let found = integer.map_or_else(|| value.get_ref().type_str().to_owned(), |number| format!("`{number}`"));
        self.problem(format!("expected {what}, not {found}"), value.span());
    }
}

/// The most bytes that a file of tables may have is for its reader to say. This is the refusal of a longer one.
#[must_use]
pub fn too_long(name: &str, most: usize, what: &str) -> Error {
    Error::new(ErrorKind::InvalidFile, format!("`{name}` has more than {most} bytes; {what} is shorter"))
}
