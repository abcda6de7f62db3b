//! Rows of comma-separated values: the inputs of one run each, by the names of the first row.
//!
//! RFC 4180: fields may stand in double quotes, with line breaks and doubled quotes inside. A row that isn't well formed,
//! or has another number of fields than the first, is refused with its line; nothing is guessed.

use proem_engine::ordered::OrderedJson;
use proem_text::OrderedMap;
use serde_json::Value as Json;

use super::input::InputForm;

/// Rows of a text, with the line that each begins on, from 1.
pub(super) fn rows(text: &str) -> Result<Vec<(u32, Vec<String>)>, String> {
    let mut reader = RowReader { line: 1, begins: 1, ..RowReader::default() };
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        if reader.take(c, next)? {
            chars.next();
        }
    }
    reader.finish()
}

/// A text while it is read.
#[derive(Debug, Default)]
struct RowReader {
    rows: Vec<(u32, Vec<String>)>,
    row: Vec<String>,
    field: String,
    /// Whether the field stands in quotes, and whether those are closed.
    quotes: Quotes,
    line: u32,
    begins: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    #[default]
    None,
    Open,
    Closed,
}

impl RowReader {
    /// Takes a character; whether the next one is taken with it.
    fn take(&mut self, c: char, next: Option<char>) -> Result<bool, String> {
        match (self.quotes, c) {
            (Quotes::Open, '"') if next == Some('"') => {
                self.field.push('"');
                return Ok(true);
            }
            (Quotes::Open, '"') => self.quotes = Quotes::Closed,
            (Quotes::Open, c) => {
                self.line = self.line.saturating_add(u32::from(c == '\n'));
                self.field.push(c);
            }
            (_, ',') => self.end_field(),
            (_, '\n') => self.end_row(),
            (_, '\r') if next == Some('\n') => {
                self.end_row();
                return Ok(true);
            }
            (Quotes::None, '"') if self.field.is_empty() => self.quotes = Quotes::Open,
            (Quotes::None, '"') => {
                return Err(format!("line {}: a quote inside a field; put the field in quotes", self.line));
            }
            (Quotes::Closed, _) => return Err(format!("line {}: text behind a closing quote", self.line)),
            (Quotes::None, c) => self.field.push(c),
        }
        Ok(false)
    }

    fn end_field(&mut self) {
        self.row.push(std::mem::take(&mut self.field));
        self.quotes = Quotes::None;
    }

    fn end_row(&mut self) {
        let is_blank = self.row.is_empty() && self.field.is_empty() && self.quotes == Quotes::None;
        if !is_blank {
            self.end_field();
            self.rows.push((self.begins, std::mem::take(&mut self.row)));
        }
        self.line = self.line.saturating_add(1);
        self.begins = self.line;
    }

    fn finish(mut self) -> Result<Vec<(u32, Vec<String>)>, String> {
        if self.quotes == Quotes::Open {
            return Err(format!("line {}: a quote is not closed", self.begins));
        }
        self.end_row();
        Ok(self.rows)
    }
}

/// The names of the first row.
///
/// # Errors
///
/// In words, if a name is missing or given twice.
pub(super) fn names(row: &[String]) -> Result<(), String> {
    for (index, name) in row.iter().enumerate() {
        if name.trim().is_empty() {
            return Err(format!("column {} of the first row has no name", index.saturating_add(1)));
        }
        if row.iter().take(index).any(|earlier| earlier == name) {
            return Err(format!("two columns are called `{}`", proem_guard::show::terminal_str(name)));
        }
    }
    Ok(())
}

/// The inputs of a row: a text where the prompt wants one, else the JSON that the field holds. An empty field of an
/// input that is no text is left out.
///
/// # Errors
///
/// In words, if the row has another number of fields, or one is not what its input wants.
pub(super) fn inputs(names: &[String], row: &[String], form: &InputForm) -> Result<OrderedJson, String> {
    if row.len() != names.len() {
        return Err(format!("it has {} fields, and the first row {}", row.len(), names.len()));
    }
    let mut fields = OrderedMap::default();
    for (name, field) in names.iter().zip(row) {
        let schema = form.schema(name);
        let value = match schema.map(wants) {
            None | Some(Wanted::Text) => OrderedJson::from(field.as_str()),
            Some(Wanted::Json) if field.trim().is_empty() => continue,
            Some(Wanted::Json) => serde_json::from_str(field.trim()).map_err(|_| {
                let name = proem_guard::show::terminal_str(name);
                format!("the field `{name}` is not JSON, as its input wants: write a number, true, false or a list")
            })?,
        };
        fields.insert(name.as_str(), value);
    }
    Ok(fields.into())
}

/// What an input takes.
enum Wanted {
    Text,
    Json,
}

fn wants(schema: &Json) -> Wanted {
    let is_text = |kind: &str| kind == "string";
    let has_text = match schema.get("type") {
        Some(Json::String(kind)) => is_text(kind),
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).any(is_text),
        _ => schema.get("enum").and_then(Json::as_array).is_none_or(|values| values.iter().any(Json::is_string)),
    };
    if has_text { Wanted::Text } else { Wanted::Json }
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn rows_are_read_as_they_were_written() {
        for (text, expected) in [
            ("a,b\n1,2\n", "1:a|b 2:1|2"),
            ("\u{feff}a,b\r\n\"1, 2\",\"x\"\"y\"\r\n", "1:a|b 2:1, 2|x\"y"),
            ("a\n\"one\ntwo\"\n\nthree", "1:a 2:one\ntwo 5:three"),
            ("a,b\n,\n", "1:a|b 2:|"),
            ("\"\"\n", "1:"),
            ("", ""),
        ] {
            let found = rows(text).unwrap();
            let found: Vec<String> = found.iter().map(|(line, row)| format!("{line}:{}", row.join("|"))).collect();
            assert_eq!(found.join(" "), expected, "{text:?}");
        }
        for (text, problem) in [
            ("a\n\"open", "line 2: a quote is not closed"),
            ("a\nx\"y\n", "line 2: a quote inside a field; put the field in quotes"),
            ("a\n\"x\"y\n", "line 2: text behind a closing quote"),
        ] {
            assert_eq!(rows(text).unwrap_err(), problem);
        }
    }
}
