//! Reads values of a TOML document and keeps every problem with its place.

use proem_text::{diagnostic::Diagnostic, span::Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::error_at;

/// A value with its place.
pub(super) type PlacedValue<'t> = &'t Spanned<DeValue<'t>>;

/// What was wrong so far.
#[derive(Debug, Default)]
pub(super) struct TomlReader {
    pub(super) problems: Vec<Diagnostic>,
}

impl TomlReader {
    pub(super) fn problem(&mut self, message: impl Into<String>, range: core::ops::Range<usize>) {
        self.problems.push(error_at(message, Span::new(range.start, range.end)));
    }

    /// Names each key that is not one of those.
    pub(super) fn only(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let message = format!("unknown key `{}`; write one of `{}`", key.get_ref(), known.join("`, `"));
            self.problem(message, key.span());
        }
    }

    /// The value as a table; a problem for anything else.
    pub(super) fn table<'t>(&mut self, value: PlacedValue<'t>) -> Option<&'t DeTable<'t>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.expected("a table", value);
        }
        table
    }

    pub(super) fn text<'t>(&mut self, value: PlacedValue<'t>) -> Option<&'t str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.expected("a text", value);
        }
        text
    }

    pub(super) fn switch(&mut self, value: PlacedValue<'_>) -> Option<bool> {
        let switch = value.get_ref().as_bool();
        if switch.is_none() {
            self.expected("`true` or `false`", value);
        }
        switch
    }

    /// A whole number from 0 to `max`.
    pub(super) fn number(&mut self, value: PlacedValue<'_>, max: u32) -> Option<u32> {
        let integer = value.get_ref().as_integer();
        let digits = integer.filter(|integer| integer.radix() == 10).map(|integer| integer.as_str().replace('_', ""));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number <= max);
        if number.is_none() {
            self.expected(&format!("a whole number from 0 to {max}"), value);
        }
        number
    }

    pub(super) fn texts<'t>(&mut self, value: PlacedValue<'t>) -> Vec<(&'t str, PlacedValue<'t>)> {
        let Some(items) = value.get_ref().as_array() else {
            self.expected("a list of texts", value);
            return Vec::new();
        };
        items.iter().filter_map(|item| Some((self.text(item)?, item))).collect()
    }

    /// A word of a closed list.
    pub(super) fn word<T>(
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
