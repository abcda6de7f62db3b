//! Times as other programs write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use proem_engine::run::Time;
use serde_json::Value as Json;

/// A moment: RFC 3339, in UTC where it has no zone.
#[must_use]
pub fn foreign_moment(text: &str) -> Option<Time> {
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
        Json::String(text) => foreign_moment(text),
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
