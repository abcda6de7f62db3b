//! Incidents from files: JSON in several shapes, and comma-separated values.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use proem_text::{BareQuotes, read_csv};
use serde_json::Value;

use super::{Incident, date};
use crate::{Error, ErrorKind};

/// The longest file that is read, in bytes: 32 MiB.
const LONGEST: usize = 32 * 1024 * 1024;

/// The names that a field has in our form, GitHub's and Jira's. Of several the first. Both trackers also have an `id`
/// that nobody knows an issue by.
const ID: &[&str] = &["key", "issue key", "number", "id"];
const TITLE: &[&str] = &["title", "summary", "subject"];
const BODY: &[&str] = &["body", "description"];
const PATHS: &[&str] = &["paths", "files"];
const DATE: &[&str] = &["date", "at", "created", "createdat", "created_at"];

const NO_TITLE: &str = "has no `title`; give each one a `title`, and `id`, `body`, `paths` and `date` where known";
const NO_DATE: &str = "is not a date; write `2024-01-31`, `2024-01-31T12:00:00Z` or seconds since 1970";

pub(super) fn read_incidents(text: &[u8]) -> Result<Vec<Incident>, Error> {
    if text.len() > LONGEST {
        return Err(unreadable_incidents(
            "the file",
            format_args!("has more than {LONGEST} bytes; keep the newest incidents"),
        ));
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match text.trim_ascii_start().first() {
        None => Ok(vec![]),
        Some(b'{' | b'[') => incidents_from_json(text),
        Some(_) => incidents_from_table(text),
    }
}

fn unreadable_incidents(place: &str, expected: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Unreadable, format!("{place} of the incidents {expected}"))
}

/// One array, one export, or one object after the other.
fn incidents_from_json(text: &[u8]) -> Result<Vec<Incident>, Error> {
    let mut incidents = vec![];
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    // Lines are counted on the way, so that many incidents cost one pass.
    let (mut line, mut counted) = (1_usize, 0);
    while let Some(value) = values.next() {
        let value = value.map_err(|error| {
            let what = "is not JSON; expected one object a line, an array of objects, or an export of issues";
            unreadable_incidents(&format!("line {}", error.line()), format_args!("{what} (column {})", error.column()))
        })?;
        let end = values.byte_offset();
        let passed = text.get(counted..end).unwrap_or_default();
        line = line.saturating_add(passed.iter().filter(|&&byte| byte == b'\n').count());
        counted = end;
        let number = incidents.len().saturating_add(1);
        match value {
            Value::Array(many) => add_incidents(many, &mut incidents)?,
            Value::Object(mut object) if object.get("issues").is_some_and(Value::is_array) => {
                if let Some(Value::Array(many)) = object.remove("issues") {
                    add_incidents(many, &mut incidents)?;
                }
            }
            one => incidents.push(
                incident_from_json(&one, number)
                    .map_err(|expected| unreadable_incidents(&format!("line {line}"), expected))?,
            ),
        }
    }
    Ok(incidents)
}

fn add_incidents(values: Vec<Value>, incidents: &mut Vec<Incident>) -> Result<(), Error> {
    for (value, number) in values.into_iter().zip(1_usize..) {
        let incident = incident_from_json(&value, number);
        incidents.push(incident.map_err(|expected| unreadable_incidents(&format!("number {number}"), expected))?);
    }
    Ok(())
}

/// The incident that a value is, or what is wrong with it. `number` is its place, for want of an id.
fn incident_from_json(value: &Value, number: usize) -> Result<Incident, String> {
    let object = value.as_object().ok_or_else(|| "is not an object with a `title`".to_owned())?;
    // Jira keeps all but the key one level down.
    let inner = object.get("fields").and_then(Value::as_object);
    let get = |names: &[&str]| {
        let in_object = |object: &'_ serde_json::Map<String, Value>| {
            let named =
                |name: &&str| object.iter().find(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null());
            names.iter().find_map(named).map(|(_, value)| value.clone())
        };
        in_object(object).or_else(|| inner.and_then(in_object))
    };
    let fields = IncidentFields {
        id: match get(ID) {
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::String(id)) => Some(id),
            Some(_) => return Err("has an `id` that is neither a string nor a number".to_owned()),
            None => None,
        },
        title: get(TITLE).map(|title| incident_text(&title)),
        body: get(BODY).map(|body| incident_text(&body)),
        paths: match get(PATHS) {
            Some(Value::Array(paths)) => paths.iter().map(incident_path).collect::<Option<_>>().ok_or(NO_PATHS)?,
            Some(Value::String(paths)) => split_paths(&paths),
            Some(_) => return Err(NO_PATHS.to_owned()),
            None => vec![],
        },
        date: match get(DATE) {
            Some(Value::String(date)) => Some(date),
            Some(Value::Number(seconds)) => Some(seconds.to_string()),
            Some(_) => return Err(format!("has a `date` that {NO_DATE}")),
            None => None,
        },
    };
    fields.incident(number)
}

const NO_PATHS: &str = "has `paths` that are not strings";

/// A path: a text, or GitHub's object of a changed file.
fn incident_path(value: &Value) -> Option<String> {
    let value = value.get("path").or_else(|| value.get("filename")).unwrap_or(value);
    value.as_str().map(ToOwned::to_owned)
}

fn split_paths(text: &str) -> Vec<String> {
    text.split([';', ',', ' ', '\n', '\r', '\t']).filter(|path| !path.is_empty()).map(ToOwned::to_owned).collect()
}

/// The text of a value: its own, or those inside Jira's document format, in their order.
fn incident_text(value: &Value) -> String {
    let mut waiting = vec![value];
    let mut texts: Vec<&str> = vec![];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(values) => waiting.extend(values.iter().rev()),
            Value::Object(object) => {
                waiting.extend(["text", "content"].into_iter().rev().filter_map(|name| object.get(name)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts.join(" ")
}

/// The fields of a row or an object.
struct IncidentFields {
    id: Option<String>,
    title: Option<String>,
    body: Option<String>,
    paths: Vec<String>,
    date: Option<String>,
}

impl IncidentFields {
    fn incident(self, number: usize) -> Result<Incident, String> {
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let at = match filled(self.date) {
            Some(date) => Some(incident_seconds(&date).ok_or_else(|| format!("has a `date` that {NO_DATE}"))?),
            None => None,
        };
        Ok(Incident {
            id: filled(self.id).unwrap_or_else(|| number.to_string()),
            title: filled(self.title).ok_or(NO_TITLE)?,
            body: self.body.unwrap_or_default(),
            paths: self.paths,
            at,
        })
    }
}

/// The last second of the year 9999: a greater number counts something else, such as milliseconds.
const LAST: i64 = 253_402_300_799;

fn incident_seconds(text: &str) -> Option<i64> {
    let number = text.trim().parse::<i64>().ok().filter(|seconds| (-LAST..=LAST).contains(seconds));
    number.or_else(|| date::parse_tracker_date(text))
}

/// Comma-separated values with a header.
fn incidents_from_table(text: &[u8]) -> Result<Vec<Incident>, Error> {
    let rows = read_csv(text, BareQuotes::Kept).map_err(|broken| {
        unreadable_incidents(&format!("line {}", broken.line), format_args!("is not valid CSV: {}", broken.expected))
    })?;
    let Some((header, rows)) = rows.split_first() else { return Ok(vec![]) };
    let column = |names: &[&str]| {
        let named = |name: &&str| header.fields.iter().position(|field| field.trim().eq_ignore_ascii_case(name));
        names.iter().find_map(named)
    };
    let Some(title) = column(TITLE) else {
        let what =
            "has no column `title`; expected CSV whose header has `title`, and `id`, `body`, `paths`, `date`, or JSON";
        return Err(unreadable_incidents(&format!("line {}", header.line), what));
    };
    let columns = [column(ID), Some(title), column(BODY), column(PATHS), column(DATE)];
    let mut incidents = vec![];
    for (row, number) in rows.iter().zip(1_usize..) {
        let place = format!("line {}", row.line);
        if row.fields.len() != header.fields.len() {
            let (has, needs) = (row.fields.len(), header.fields.len());
            return Err(unreadable_incidents(&place, format_args!("has {has} fields, but the header has {needs}")));
        }
        let [id, title, body, paths, date] = columns.map(|column| row.fields.get(column?).cloned());
        let paths = paths.map(|paths| split_paths(&paths)).unwrap_or_default();
        let fields = IncidentFields { id, title, body, paths, date };
        incidents.push(fields.incident(number).map_err(|expected| unreadable_incidents(&place, expected))?);
    }
    Ok(incidents)
}
