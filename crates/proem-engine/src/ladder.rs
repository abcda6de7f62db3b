//! The built-in ladders: how a list or a text gets smaller.

use proem_guard::Untrusted;

use crate::input::Value;
use crate::section::Rung;

/// Items kept at the head of a list that is shown in brief.
const HEAD: usize = 3;
/// Items kept at its tail.
const TAIL: usize = 2;
/// The longest line that a text is shown by in brief, in characters.
const LINE: usize = 200;

/// A value on one rung, with the line of ours that says what is missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShrunkValue {
    pub(crate) value: Value,
    pub(crate) note: Option<String>,
}

/// Puts `value` on `rung`.
///
/// In brief a list keeps its first three and last two items, each text in it its first line; a
/// text keeps its first line. As a count nothing is kept but the number of items, or of lines
/// and bytes.
pub(crate) fn shrink(name: &str, value: &Value, rung: Rung) -> ShrunkValue {
    let kept = |value: Value, note: Option<String>| ShrunkValue { value, note };
    match (value, rung) {
        (_, Rung::Full) | (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_), _) => {
            kept(value.clone(), None)
        }
        (Value::List(items), Rung::Brief) => {
            let cut = items.len().saturating_sub(HEAD.saturating_add(TAIL));
            let tail = items.iter().skip(HEAD.saturating_add(cut));
            let few: Vec<Value> = items.iter().take(HEAD).chain(tail).map(first_lines).collect();
            let note = match (cut, items.len()) {
                (0, 1) => format!("[{name}: the first line of the one item]"),
                (0, all) => format!("[{name}: {all} items, the first line of each]"),
                (_, all) => format!("[{name}: {} of {all} items, first and last, the first line of each]", few.len()),
            };
            let note = (few != *items).then_some(note);
            kept(Value::List(few), note)
        }
        (Value::List(items), Rung::Count) => {
            let s = if items.len() == 1 { "" } else { "s" };
            let note = (!items.is_empty()).then(|| format!("[{name}: {} item{s}, not shown]", items.len()));
            kept(Value::List(Vec::new()), note)
        }
        (Value::List(_), Rung::Omitted) => kept(Value::List(Vec::new()), None),
        (Value::Text(text), _) => {
            let (short, note) = shrink_text(name, text, rung);
            kept(Value::Text(short), note)
        }
        (Value::Outside(text) | Value::Flagged(text), _) => {
            let (mut lines, mut bytes, mut changed) = (0usize, 0usize, false);
            text.measure(|text| {
                (lines, bytes) = (text.lines().count(), text.len());
                changed = shrink_text(name, text, rung).0 != *text;
            });
            let short: Untrusted<String> = text.clone().map(|text| shrink_text(name, &text, rung).0);
            kept(value.with_outside(short), note(name, rung, lines, bytes).filter(|_| changed))
        }
    }
}

fn shrink_text(name: &str, text: &str, rung: Rung) -> (String, Option<String>) {
    let short = match rung {
        Rung::Full => text.to_owned(),
        Rung::Brief => first_line(text),
        Rung::Count | Rung::Omitted => String::new(),
    };
    let note = note(name, rung, text.lines().count(), text.len()).filter(|_| short != text);
    (short, note)
}

fn note(name: &str, rung: Rung, lines: usize, bytes: usize) -> Option<String> {
    match rung {
        Rung::Full | Rung::Omitted => None,
        Rung::Brief => Some(format!("[{name}: the first of {lines} lines]")),
        Rung::Count => Some(format!("[{name}: {lines} lines, {bytes} bytes, not shown]")),
    }
}

fn first_lines(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(first_line(text)),
        Value::Outside(text) | Value::Flagged(text) => value.with_outside(text.clone().map(|text| first_line(&text))),
        Value::List(items) => Value::List(items.iter().map(first_lines).collect()),
        Value::Map(map) => Value::Map(map.iter().map(|(name, item)| (name, first_lines(item))).collect()),
        other => other.clone(),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let cut: String = line.chars().take(LINE).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}
