//! JSON read into the tables of a TOML document, so that one reader serves both.
//!
//! Invariants: nothing is nested deeper than [`MAX_DEPTH`]. The first fault of the syntax ends the reading. `null`,
//! which TOML has no value for, and a key that comes twice are faults.

use core::ops::Range;
use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::TomlReader;

/// The deepest value that is read.
const MAX_DEPTH: usize = 16;

/// A fault of the syntax, with its place.
type JsonFault = (String, Range<usize>);

/// The object that a text is. Faults go to `reader`.
pub(super) fn read_object<'t>(text: &'t str, reader: &mut TomlReader) -> DeTable<'t> {
    let mut cursor = JsonCursor { text, at: 0 };
    match cursor.document() {
        Ok(table) => table,
        Err((message, range)) => {
            reader.problem(message, range);
            DeTable::new()
        }
    }
}

struct JsonCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> JsonCursor<'t> {
    fn document(&mut self) -> Result<DeTable<'t>, JsonFault> {
        let value = self.value(0)?;
        self.skip_space();
        if self.peek().is_some() {
            return Err(self.fault("expected the end of the file behind the object"));
        }
        let range = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Ok(table),
            _ => Err(("expected an object".to_owned(), range)),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at = self.at.saturating_add(1);
        }
    }

    fn fault(&self, message: &str) -> JsonFault {
        let end = self.text.ceil_char_boundary(self.at.saturating_add(1)).min(self.text.len());
        (message.to_owned(), self.at.min(end)..end)
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.at = self.at.saturating_add(1);
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Spanned<DeValue<'t>>, JsonFault> {
        self.skip_space();
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(self.fault(&format!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        let value = match self.peek() {
            Some(b'{') => DeValue::Table(self.table(depth)?),
            Some(b'[') => DeValue::Array(self.list(depth)?),
            Some(b'"') => DeValue::String(Cow::Owned(self.string()?)),
            _ => self.scalar()?,
        };
        Ok(Spanned::new(start..self.at, value))
    }

    fn table(&mut self, depth: usize) -> Result<DeTable<'t>, JsonFault> {
        let mut table = DeTable::new();
        self.takes(b'{');
        if self.takes(b'}') {
            return Ok(table);
        }
        loop {
            self.skip_space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fault("expected a key in double quotes"));
            }
            let name: Cow<'t, str> = Cow::Owned(self.string()?);
            let range = start..self.at;
            let key = Spanned::new(range.clone(), name);
            if table.contains_key(key.get_ref().as_ref()) {
                return Err((format!("the key `{}` comes twice", key.get_ref()), range));
            }
            if !self.takes(b':') {
                return Err(self.fault("expected `:` behind a key"));
            }
            let value = self.value(depth.saturating_add(1))?;
            table.insert(key, value);
            if self.takes(b',') {
                continue;
            }
            return if self.takes(b'}') { Ok(table) } else { Err(self.fault("expected `,` or `}`")) };
        }
    }

    fn list(&mut self, depth: usize) -> Result<DeArray<'t>, JsonFault> {
        let mut items = Vec::new();
        self.takes(b'[');
        if self.takes(b']') {
            return Ok(items.into_iter().collect());
        }
        loop {
            items.push(self.value(depth.saturating_add(1))?);
            if self.takes(b',') {
                continue;
            }
            return if self.takes(b']') {
                Ok(items.into_iter().collect())
            } else {
                Err(self.fault("expected `,` or `]`"))
            };
        }
    }

    fn string(&mut self) -> Result<String, JsonFault> {
        let start = self.at;
        let mut is_escaped = false;
        for (offset, byte) in self.text.bytes().enumerate().skip(start.saturating_add(1)) {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    self.at = offset.saturating_add(1);
                    let literal = self.text.get(start..self.at).unwrap_or_default();
                    return serde_json::from_str(literal)
                        .map_err(|_| ("not a text as JSON writes it".to_owned(), start..self.at));
                }
                _ => {}
            }
        }
        Err(("the text has no end".to_owned(), start..self.text.len()))
    }

    fn scalar(&mut self) -> Result<DeValue<'t>, JsonFault> {
        let start = self.at;
        let is_end = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}' | b':');
        while self.peek().is_some_and(|byte| !is_end(byte)) {
            self.at = self.at.saturating_add(1);
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        // JSON decides what a scalar is, since TOML takes more: dates, other bases, `inf`.
        let is_scalar = serde_json::from_str::<serde_json::Value>(literal)
            .is_ok_and(|value| value.is_number() || value.is_boolean());
        let value = is_scalar.then(|| DeValue::parse(literal).ok()).flatten();
        value.map(Spanned::into_inner).ok_or_else(|| {
            let end = self.at.max(self.text.ceil_char_boundary(start.saturating_add(1)).min(self.text.len()));
            ("expected an object, a list, a text, a number, `true` or `false`".to_owned(), start..end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TableSyntax, read_tables};

    /// The problems of a JSON file that may have `name`, a text, and `most`, a number.
    fn problems(text: &str) -> String {
        let read = read_tables("agent.json", text, TableSyntax::Json, |reader, table| {
            reader.only(table, &["name", "most"]);
            table.get("name").and_then(|name| reader.text(name).map(str::to_owned));
            table.get("most").and_then(|most| reader.number(most, 10));
        });
        read.map_or_else(|error| error.problems().join("\n"), |()| String::new())
    }

    #[test]
    fn json_has_the_places_that_toml_has() {
        assert_eq!(problems(r#"{"name": "a\u00e9", "most": 10}"#), "");
        let both = problems("{\"nam\": \"a\",\n \"most\": 11}");
        assert!(both.contains("unknown key `nam`") && both.contains("agent.json:1:2"), "{both}");
        assert!(both.contains("expected a whole number from 0 to 10") && both.contains("agent.json:2:10"), "{both}");
    }

    #[test]
    fn what_is_no_json_says_where() {
        for (text, message) in [
            ("{\"name\" \"a\"}", "expected `:`"),
            ("{\"name\": null}", "expected an object, a list"),
            ("{\"name\": nope}", "expected an object, a list"),
            ("{\"name\": \"a", "the text has no end"),
            ("{\"name\": \"a\", \"name\": \"b\"}", "the key `name` comes twice"),
            ("[1]", "expected an object"),
            ("{} {}", "expected the end"),
            ("", "expected an object"),
            ("{\"a\": 1979-05-27}", "expected an object"),
            ("é", "expected an object"),
        ] {
            let found = problems(text);
            assert!(found.contains(message), "{text}: {found}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(400), "}".repeat(400));
        assert!(problems(&deep).contains("nested deeper"), "{}", problems(&deep));
    }
}
