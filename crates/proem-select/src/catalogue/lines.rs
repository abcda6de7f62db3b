//! JSON lines: one entry a line.
//!
//! `{"name", "description", "parameters"?, "examples"?, "modes"?, "tags"?, "kind"?}`. Other keys are ignored. Names are
//! taken as they are, of any characters up to 200 bytes.

use serde_json::Value as Json;

use super::entry::{CatalogueContents, CatalogueEntryKind, SourceFile, SourceTrust};
use super::problem::{FilePosition, quote_foreign};
use super::reading::{EntryCollector, entry_draft};

/// Reads a text that a person named. Its entries are from outside.
#[must_use]
pub fn parse_lines(path: &str, text: &str) -> CatalogueContents {
    parse_json_lines(&SourceFile { path: path.to_owned(), standing: SourceTrust::Outside, text: text.to_owned() })
}

/// Reads a file, in time linear in its size.
#[must_use]
pub fn parse_json_lines(file: &SourceFile) -> CatalogueContents {
    let mut reading = EntryCollector::new(file, None);
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    for (index, line) in text.lines().enumerate() {
        let number = index.saturating_add(1);
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Json>(line) {
            Ok(json) => add_json_line(&json, FilePosition::Line { line: number, column: 1 }, &mut reading),
            Err(error) => {
                let at = FilePosition::Line { line: number, column: error.column().max(1) };
                reading.problems.add(at, "not valid JSON", "write one object on each line");
            }
        }
    }
    reading.finish()
}

fn add_json_line(json: &Json, at: FilePosition, reading: &mut EntryCollector<'_>) {
    let Json::Object(fields) = json else {
        reading.problems.add(at, "not an object", "write one object with `name` and `description` on each line");
        return;
    };
    let Some(name) = fields.get("name").and_then(Json::as_str) else {
        reading.problems.add(at, "no `name`, or one that is not a string", "give the entry a name");
        return;
    };
    let kind = match fields.get("kind").and_then(Json::as_str) {
        None if fields.get("kind").is_none() => CatalogueEntryKind::Tool,
        Some("tool") => CatalogueEntryKind::Tool,
        Some("skill") => CatalogueEntryKind::Skill,
        _ => {
            let message = format!("`kind` of {} is neither tool nor skill; the entry is left out", quote_foreign(name));
            reading.problems.add(at, message, "use `tool` or `skill`, or leave it out for a tool");
            return;
        }
    };
    let draft = entry_draft(fields, &at, &mut reading.problems);
    reading.add(kind, name, draft, at);
}
