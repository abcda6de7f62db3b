//! Reads memories and activity.
//!
//! A file holds one JSON object a line: `{"text": …, "kind": …, "time": …}`, the kind left out for a note, the time
//! left out or given in RFC 3339 or as whole seconds since 1970. A line that can't be read is left out, counted and
//! named. It doesn't spoil the others.

use std::path::Path;

use jiff::Timestamp;
use proem_agents::assemble::place_facts::{Gap, RememberedEntry};
use proem_guard::Untrusted;
use proem_text::{Label, Source};
use serde_json::{Map, Value};

use crate::{
    files::{FileContent, read_beneath},
    gaps::{gap, gap_of},
};

/// How many unreadable lines a gap names.
const NAMED: usize = 5;

/// The kind of an entry that has none.
const NOTE: &str = "note";

/// A file of entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntriesFile {
    /// Relative to the root.
    pub(super) path: &'static str,
    source: &'static str,
}

/// Memories, then activity.
pub(super) const FILES: [EntriesFile; 2] = [
    EntriesFile { path: ".proem/private/memory.jsonl", source: "memory" },
    EntriesFile { path: ".proem/private/activity.jsonl", source: "activity" },
];

/// The entries of `file` below `root`, none if it doesn't exist.
pub(super) fn read_entries(root: &Path, file: EntriesFile, cap: usize, gaps: &mut Vec<Gap>) -> Vec<RememberedEntry> {
    let bytes = match read_beneath(root, Path::new(file.path), cap) {
        Ok(None) => return Vec::new(),
        Ok(Some(FileContent::Whole(bytes))) => bytes,
        Ok(Some(FileContent::Cut(bytes))) => {
            gaps.push(gap(file.path, format!("only its first {cap} bytes are read; remove entries you don't need")));
            up_to_last_line(bytes)
        }
        Err(error) => {
            gaps.push(gap_of(file.path, &error));
            return Vec::new();
        }
    };
    let (entries, unreadable) = parse_entries(&bytes, file.source);
    if !unreadable.is_empty() {
        gaps.push(gap(file.path, complaint(&unreadable)));
    }
    entries
}

fn up_to_last_line(mut bytes: Vec<u8>) -> Vec<u8> {
    let lines = bytes.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
    bytes.truncate(lines);
    bytes
}

/// A line that is no entry, and why.
type BadLine = (usize, &'static str);

fn parse_entries(bytes: &[u8], source: &'static str) -> (Vec<RememberedEntry>, Vec<BadLine>) {
    let label = Label::from_source(Source::named(source));
    let mut entries = Vec::new();
    let mut unreadable = Vec::new();
    for (line, bytes) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match parse_entry(bytes, line, &label) {
            Ok(entry) => entries.push(entry),
            Err(why) => unreadable.push((line, why)),
        }
    }
    (entries, unreadable)
}

fn parse_entry(bytes: &[u8], line: usize, label: &Label) -> Result<RememberedEntry, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8")?;
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return Err("not a JSON object") };
    let text = entry_string(&fields, "text").ok_or("`text` is not a string")?;
    let kind = match fields.get("kind") {
        None | Some(Value::Null) => NOTE.to_owned(),
        Some(_) => entry_string(&fields, "kind").ok_or("`kind` is not a string")?,
    };
    let time = entry_time(fields.get("time"))?;
    Ok(RememberedEntry {
        text: Untrusted::new(text, label.clone()),
        time,
        kind: Untrusted::new(kind, label.clone()),
        line,
    })
}

fn entry_string(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name)?.as_str().map(str::to_owned)
}

fn entry_time(value: Option<&Value>) -> Result<Option<i64>, &'static str> {
    const WHY: &str = "`time` is neither RFC 3339 nor whole seconds";
    let timestamp = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.parse::<Timestamp>().ok(),
        Some(value) => value.as_i64().and_then(|seconds| Timestamp::from_second(seconds).ok()),
    };
    timestamp.map(|timestamp| Some(timestamp.as_second())).ok_or(WHY)
}

fn complaint(unreadable: &[BadLine]) -> String {
    let named: Vec<String> = unreadable.iter().take(NAMED).map(|(line, why)| format!("line {line}: {why}")).collect();
    let more = unreadable.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let count = unreadable.len();
    let lines = if count == 1 { "line is" } else { "lines are" };
    format!("{count} {lines} left out ({}{more}); correct or remove what is wrong", named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the entries with their times, then the lines left out with the reasons.
    fn check(text: &[u8], entries: &[(usize, Option<i64>)], unreadable: &[BadLine]) {
        let (found, left_out) = parse_entries(text, "memory");
        let found: Vec<_> = found.iter().map(|entry| (entry.line, entry.time)).collect();
        assert_eq!((found.as_slice(), left_out.as_slice()), (entries, unreadable), "{}", text.escape_ascii());
    }

    #[test]
    fn each_line_stands_for_itself() {
        check(b"", &[], &[]);
        check(b"\n \r\n", &[], &[]);
        check(br#"{"text":"a","kind":"k"}"#, &[(1, None)], &[]);
        check(b"\n{\"text\":\"a\",\"kind\":\"k\",\"time\":7}\r\n", &[(2, Some(7))], &[]);
        check(br#"{"text":"a","kind":"k","time":"2024-02-29T12:00:00+01:00"}"#, &[(1, Some(1_709_204_400))], &[]);
        check(br#"{"text":"a","kind":"k","time":null,"more":[1]}"#, &[(1, None)], &[]);
        check(
            b"{\n{\"text\":\"a\",\"kind\":\"k\"}\n[]\n",
            &[(2, None)],
            &[(1, "not a JSON object"), (3, "not a JSON object")],
        );
        check(b"{\"text\":\"\xff\",\"kind\":\"k\"}", &[], &[(1, "not UTF-8")]);
        check(br#"{"text":"a"}"#, &[(1, None)], &[]);
        check(br#"{"text":"a","kind":null}"#, &[(1, None)], &[]);
        check(br#"{"kind":"k"}"#, &[], &[(1, "`text` is not a string")]);
        check(br#"{"text":"a","kind":3}"#, &[], &[(1, "`kind` is not a string")]);
        let why = "`time` is neither RFC 3339 nor whole seconds";
        for time in ["1.5", "\"yesterday\"", "true", "9223372036854775807", "1e400"] {
            let line = format!(r#"{{"text":"a","kind":"k","time":{time}}}"#);
            let why = if time == "1e400" { "not a JSON object" } else { why };
            check(line.as_bytes(), &[], &[(1, why)]);
        }
    }

    #[test]
    fn an_entry_without_a_kind_is_a_note() {
        let (found, _) = parse_entries(br#"{"text":"a"}"#, "memory");
        assert!(found.first().unwrap().kind.measure(|kind| kind == "note"));
    }

    #[test]
    fn the_gap_names_five_lines() {
        let lines: Vec<BadLine> = (1..=7).map(|line| (line, "not UTF-8")).collect();
        assert_eq!(
            complaint(lines.get(..1).unwrap()),
            "1 line is left out (line 1: not UTF-8); correct or remove what is wrong"
        );
        assert_eq!(
            complaint(&lines),
            "7 lines are left out (line 1: not UTF-8; line 2: not UTF-8; line 3: not UTF-8; line 4: not UTF-8; \
             line 5: not UTF-8; and 2 more); correct or remove what is wrong"
        );
    }
}
