//! A history of failures, as another program wrote it.

use std::collections::BTreeSet;

use proem_engine::profile::{Completeness, Issue, Quality, ResultRecord};
use proem_engine::run::Time;
use proem_engine::{Error, ErrorKind};
use serde_json::{Map, Value as Json};

use super::AdaptReading;
use super::foreign_json::{FileRemarks, json_kind_words, quote_json_name};

/// Reads a list of failures, or an object with one as `failure_history`: `timestamp`, which `time` reads,
/// `result_key`, `subagent` and `issue`.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] with everything that can't be read, each on an indented line.
pub fn read_failure_history(
    text: &str,
    time: &dyn Fn(&Json) -> Option<Time>,
) -> Result<AdaptReading<Vec<ResultRecord>>, Error> {
    let json: Json = serde_json::from_str(text)
        .map_err(|e| invalid(format!("the history is not JSON: {e}; give a list of failures")))?;
    let list = match &json {
        Json::Array(list) => list,
        Json::Object(fields) => match fields.get("failure_history") {
            Some(Json::Array(list)) => list,
            _ => return Err(not_a_list(&json)),
        },
        _ => return Err(not_a_list(&json)),
    };
    let mut found = FileRemarks::default();
    let mut read = Vec::with_capacity(list.len());
    for (index, record) in list.iter().enumerate() {
        read.extend(read_record(record, &format!("record {index}"), &mut found, time).map(|made| (record, made)));
    }
    if !found.problems.is_empty() {
        let head =
            format!("the history has {} that can't be read:", record_count(list.len().saturating_sub(read.len())));
        return Err(invalid(format!("{head}\n  {}", found.problems.join("\n  "))));
    }
    let all = read.len();
    read.retain(|(record, _)| !is_cleared(record));
    if read.len() < all {
        found.notes.push(format!("{} left out: cleared", record_count(all.saturating_sub(read.len()))));
    }
    Ok(AdaptReading { value: read.into_iter().map(|(_, made)| made).collect(), notes: found.notes })
}

fn invalid(problem: String) -> Error {
    Error::new(ErrorKind::InvalidInput, problem)
}

fn not_a_list(json: &Json) -> Error {
    invalid(format!(
        "the history is {}, but a list of failures is expected, or an object with one as `failure_history`",
        json_kind_words(json)
    ))
}

fn record_count(records: usize) -> String {
    format!("{records} {}", if records == 1 { "record" } else { "records" })
}

/// Whether a failure counts no more, as `proem failures list --json` says it.
fn is_cleared(record: &Json) -> bool {
    record.get("cleared").is_some_and(|at| !at.is_null())
}

fn read_record(
    record: &Json,
    place: &str,
    found: &mut FileRemarks,
    time: &dyn Fn(&Json) -> Option<Time>,
) -> Option<ResultRecord> {
    let Json::Object(fields) = record else {
        found.problems.push(format!("{place}: it is {}, and an object is expected", json_kind_words(record)));
        return None;
    };
    // The last three are those of `proem failures list --json`.
    found.unknown_keys(fields, &["timestamp", "result_key", "subagent", "issue", "run", "source", "cleared"], place);
    let at = failure_time(fields, place, found, time);
    let kind_of_result = found.text(fields, "result_key", place);
    let agent = found.text(fields, "subagent", place);
    let issue = match fields.get("issue") {
        Some(Json::Object(issue)) => read_issue(issue, place, found),
        Some(other) => {
            found.problems.push(format!("{place}: `issue` is {}, and an object is expected", json_kind_words(other)));
            None
        }
        None => {
            found.problems.push(format!("{place}: there is no `issue`"));
            None
        }
    };
    Some(ResultRecord { run: None, at: at?, kind: kind_of_result?, agent: agent?, issue: issue? })
}

fn failure_time(
    fields: &Map<String, Json>,
    place: &str,
    found: &mut FileRemarks,
    time: &dyn Fn(&Json) -> Option<Time>,
) -> Option<Time> {
    let problem = match fields.get("timestamp").map(|value| (value, time(value))) {
        Some((_, Some(at))) => return Some(at),
        Some((Json::String(text), None)) => {
            format!(
                "{place}: `timestamp` is {}, and a time such as 2026-11-22T10:00:00Z is expected",
                quote_json_name(text)
            )
        }
        Some((other, None)) => format!("{place}: `timestamp` is {} that is not a time", json_kind_words(other)),
        None => format!("{place}: there is no `timestamp`"),
    };
    found.problems.push(problem);
    None
}

/// An unknown outcome counts as bad: a failure is never taken for a success.
fn read_issue(fields: &Map<String, Json>, place: &str, found: &mut FileRemarks) -> Option<Issue> {
    found.unknown_keys(fields, &["quality", "completeness", "risks"], &format!("{place}: `issue`"));
    let before = found.problems.len();
    let mut word = |key: &str, good: &str, bad: &str| match fields.get(key) {
        Some(Json::String(text)) if text.trim().eq_ignore_ascii_case(good) => true,
        Some(Json::String(text)) if text.trim().eq_ignore_ascii_case(bad) => false,
        Some(Json::String(text)) => {
            found.notes.push(format!("{place}: `{key}` is {}, treated as `{bad}`", quote_json_name(text)));
            false
        }
        Some(other) => {
            found
                .problems
                .push(format!("{place}: `{key}` is {}, and `{good}` or `{bad}` is expected", json_kind_words(other)));
            false
        }
        None => {
            found.notes.push(format!("{place}: there is no `{key}`, treated as `{bad}`"));
            false
        }
    };
    let quality = if word("quality", "high", "low") { Quality::High } else { Quality::Low };
    let completeness =
        if word("completeness", "complete", "partial") { Completeness::Complete } else { Completeness::Partial };
    let risks: BTreeSet<String> = found.texts(fields, "risks", place).unwrap_or_default().into_iter().collect();
    (found.problems.len() == before).then_some(Issue { quality, completeness, risks })
}
