//! Signals, as another program wrote them.

use proem_engine::profile::{Format, Signals};
use proem_engine::{Error, ErrorKind};
use serde_json::{Map, Value as Json};

use super::AdaptReading;
use super::foreign_json::{FileRemarks, json_kind_words};

const KEYS: [&str; 7] = [
    "needs_retry",
    "risk_tags",
    "recent_failure_count",
    "last_failure_subagents",
    "time_sensitive",
    "compliance_required",
    "preferred_format",
];

/// Reads signals over those that the history gives: what the file says wins, what it leaves out stays.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] with everything that can't be read.
pub fn read_adaptation_signals(text: &str, derived: Signals) -> Result<AdaptReading<Signals>, Error> {
    let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, problem);
    let json: Json =
        serde_json::from_str(text).map_err(|e| invalid(format!("the signals are not JSON: {e}; give one object")))?;
    let Json::Object(fields) = &json else {
        return Err(invalid(format!("the signals are {}, and an object is expected", json_kind_words(&json))));
    };
    let mut found = FileRemarks::default();
    found.unknown_keys(fields, &KEYS, "signals");
    let mut signals = derived;
    for (key, target) in [
        ("needs_retry", &mut signals.needs_retry),
        ("time_sensitive", &mut signals.time_sensitive),
        ("compliance_required", &mut signals.compliance_required),
    ] {
        match fields.get(key) {
            None | Some(Json::Null) => {}
            Some(Json::Bool(is_so)) => *target = *is_so,
            Some(other) => {
                found
                    .problems
                    .push(format!("signals: `{key}` is {}, and true or false is expected", json_kind_words(other)));
            }
        }
    }
    for (key, target) in
        [("risk_tags", &mut signals.risk_tags), ("last_failure_subagents", &mut signals.last_failure_subagents)]
    {
        if let Some(names) = found.texts(fields, key, "signals") {
            *target = names;
        }
    }
    match fields.get("recent_failure_count") {
        None | Some(Json::Null) => {}
        Some(value) => match value.as_u64() {
            Some(count) => signals.recent_failure_count = count,
            None => found
                .problems
                .push(String::from("signals: `recent_failure_count` is expected to be a whole number from 0 on")),
        },
    }
    preferred_format(fields, &mut signals, &mut found);
    if !found.problems.is_empty() {
        return Err(Error::all(ErrorKind::InvalidInput, found.problems));
    }
    Ok(AdaptReading { value: signals, notes: found.notes })
}

fn preferred_format(fields: &Map<String, Json>, signals: &mut Signals, found: &mut FileRemarks) {
    match fields.get("preferred_format") {
        None | Some(Json::Null) => {}
        Some(Json::String(text)) if text.trim().is_empty() => signals.preferred_format = None,
        Some(Json::String(text)) => match text.parse::<Format>() {
            Ok(format) => signals.preferred_format = Some(format),
            Err(why) => found.problems.push(format!("signals: `preferred_format`: {why}")),
        },
        Some(other) => {
            found
                .problems
                .push(format!("signals: `preferred_format` is {}, but a string is expected", json_kind_words(other)));
        }
    }
}
