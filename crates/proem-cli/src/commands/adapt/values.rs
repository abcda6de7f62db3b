//! Values of JSON that somebody else wrote.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use proem_engine::run::Time;
use serde_json::{Map, Value as Json};

use super::quoted;

/// A moment: RFC 3339, in UTC where it has no zone.
pub(super) fn moment(text: &str) -> Option<Time> {
    let text = text.trim();
    let timestamp = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text.parse::<DateTime>().ok()?;
        civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    })?;
    Some(Time(timestamp.as_millisecond()))
}

/// A moment as JSON has it: a text, or seconds since 1970.
pub(super) fn timestamp(value: &Json) -> Option<Time> {
    match value {
        Json::String(text) => moment(text),
        Json::Number(number) => match number.as_i64() {
            Some(seconds) => Timestamp::from_second(seconds).ok(),
            None => jiff::SignedDuration::try_from_secs_f64(number.as_f64()?)
                .ok()
                .and_then(|since| Timestamp::from_duration(since).ok()),
        }
        .map(|timestamp| Time(timestamp.as_millisecond())),
        _ => None,
    }
}

/// What is wrong with a file, and what was not taken as it was.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) problems: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Found {
    /// A member that must be a text.
    pub(super) fn text(&mut self, fields: &Map<String, Json>, key: &str, place: &str) -> Option<String> {
        match fields.get(key) {
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => {
                self.problems.push(format!("{place}: `{key}` is {}, and a text is expected", kind(other)));
                None
            }
            None => {
                self.problems.push(format!("{place}: there is no `{key}`"));
                None
            }
        }
    }

    /// A list of texts; null and nothing are none.
    pub(super) fn texts(&mut self, fields: &Map<String, Json>, key: &str, place: &str) -> Option<Vec<String>> {
        let items = match fields.get(key)? {
            Json::Null => return None,
            Json::Array(items) => items,
            other => {
                self.problems.push(format!("{place}: `{key}` is {}, and a list of texts is expected", kind(other)));
                return None;
            }
        };
        let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        if texts.is_none() {
            self.problems.push(format!("{place}: `{key}` is expected to hold texts only"));
        }
        texts
    }

    /// Names the keys that mean nothing here.
    pub(super) fn unknown_keys(&mut self, fields: &Map<String, Json>, known: &[&str], place: &str) {
        let unknown: Vec<String> =
            fields.keys().filter(|key| !known.contains(&key.as_str())).map(|key| quoted(key)).collect();
        if !unknown.is_empty() {
            self.notes.push(format!("{place}: not used: {}", unknown.join(", ")));
        }
    }
}

/// What a value is, for messages.
pub(super) fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments() {
        for (value, expected) in [
            (json!("1970-01-01T00:00:01Z"), Some(1_000)),
            (json!("1970-01-01T01:00:01+01:00"), Some(1_000)),
            (json!("1970-01-01T00:00:01"), Some(1_000)),
            (json!(" 1970-01-01 00:00:01.5 "), Some(1_500)),
            (json!("1970-01-02"), Some(86_400_000)),
            (json!(1), Some(1_000)),
            (json!(1.5), Some(1_500)),
            (json!(-1), Some(-1_000)),
            (json!(1e300), None),
            (json!("yesterday"), None),
            (json!(""), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(timestamp(&value), expected.map(Time), "{value}");
        }
    }
}
