//! The file: `{"version", "tasks": {KEY: {"used", "texts", "parts"}}}`, a part being the bits of its
//! coordinates, eight hexadecimal digits each, or null.

use std::collections::BTreeMap;

use proem_select::catalogue::Sha256Hash;
use proem_text::json;
use serde_json::{Map, Value, json};

use super::{MAX_TASKS, TaskVectorEntry, keepable};

/// The form of the file. Another number is another form.
const VERSION: u64 = 1;

/// Hexadecimal digits of a coordinate.
const DIGITS: usize = 8;

pub(super) fn write_task_vectors(tasks: &BTreeMap<Sha256Hash, TaskVectorEntry>) -> String {
    let entry = |(key, kept): (&Sha256Hash, &TaskVectorEntry)| {
        let parts: Vec<Value> = kept.parts.iter().map(|part| part.as_deref().map_or(Value::Null, bits)).collect();
        (key.to_string(), json!({ "used": kept.used, "texts": kept.texts.to_string(), "parts": parts }))
    };
    let tasks: Map<String, Value> = tasks.iter().map(entry).collect();
    format!("{}\n", json::compact(&json!({ "version": VERSION, "tasks": tasks })))
}

/// Reads the whole file or nothing of it. The error says what it is, as in "the file ERROR".
pub(super) fn read_task_vectors(bytes: &[u8]) -> Result<BTreeMap<Sha256Hash, TaskVectorEntry>, &'static str> {
    let root: Value = serde_json::from_slice(bytes).map_err(|_| "are not valid JSON")?;
    if root.get("version").and_then(Value::as_u64) != Some(VERSION) {
        return Err("were written by another version of Proem");
    }
    let tasks = root.get("tasks").and_then(Value::as_object).ok_or("are damaged")?;
    if tasks.len() > MAX_TASKS {
        return Err("are too many");
    }
    let entry = |(key, kept): (&String, &Value)| Some((Sha256Hash::parse(key)?, read_kept(kept)?));
    let tasks: Option<BTreeMap<Sha256Hash, TaskVectorEntry>> = tasks.iter().map(entry).collect();
    Ok(renumber_uses(tasks.ok_or("are damaged")?))
}

/// The same order of use in small numbers, so that counting on never reaches an end.
fn renumber_uses(mut tasks: BTreeMap<Sha256Hash, TaskVectorEntry>) -> BTreeMap<Sha256Hash, TaskVectorEntry> {
    let mut order: Vec<(&Sha256Hash, &mut TaskVectorEntry)> = tasks.iter_mut().collect();
    order.sort_by_key(|(key, kept)| (kept.used, **key));
    for (used, (_, kept)) in (1_u64..).zip(order) {
        kept.used = used;
    }
    tasks
}

fn read_kept(value: &Value) -> Option<TaskVectorEntry> {
    let used = value.get("used")?.as_u64()?;
    let texts = Sha256Hash::parse(value.get("texts")?.as_str()?)?;
    let parts: Option<Vec<Option<Vec<f32>>>> = value.get("parts")?.as_array()?.iter().map(read_part).collect();
    parts.filter(|parts| keepable(parts)).map(|parts| TaskVectorEntry { used, texts, parts })
}

fn read_part(value: &Value) -> Option<Option<Vec<f32>>> {
    match value {
        Value::Null => Some(None),
        Value::String(digits) => coordinates(digits).map(Some),
        _ => None,
    }
}

fn bits(values: &[f32]) -> Value {
    Value::String(values.iter().map(|value| format!("{:08x}", value.to_bits())).collect())
}

fn coordinates(digits: &str) -> Option<Vec<f32>> {
    if !digits.len().is_multiple_of(DIGITS) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let coordinate = |digits: &[u8]| {
        let value = f32::from_bits(u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        value.is_finite().then_some(value)
    };
    digits.as_bytes().chunks_exact(DIGITS).map(coordinate).collect()
}
