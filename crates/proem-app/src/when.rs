//! Times as people write and read them: a day, a moment, or how long ago.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use proem_engine::run::Time;
use proem_guard::show;
use proem_store::failpoint;

use crate::error::Error;

/// The milliseconds of a day of 24 hours.
pub const DAY: i64 = 24 * 60 * 60 * 1000;

/// Milliseconds of what may be behind a number: hours, days, weeks of seven of them.
const UNITS: [(char, i64); 3] = [('h', 3_600_000), ('d', DAY), ('w', 7 * DAY)];

/// The time that `text` names: `30d`, `12h`, `2w`, `2026-11-01`, or a moment such as `2026-11-01T10:00:00Z`. Days begin
/// in `zone`.
///
/// # Errors
///
/// If it names no time. The forms that do are listed.
pub fn since(text: &str, now: Time, zone: &TimeZone) -> Result<Time, Error> {
    let found = parse_ago(text, now).or_else(|| named_day(text, zone)).or_else(|| parse_moment(text));
    found.ok_or_else(|| {
        let shown = show::terminal_str(text);
        Error::invalid(format!("`{shown}` is not a time; write 30d, 12h, 2w, 2026-11-01 or 2026-11-01T10:00:00Z"))
    })
}

fn parse_ago(text: &str, now: Time) -> Option<Time> {
    let (unit, millis) = UNITS.iter().find(|(unit, _)| text.ends_with(*unit))?;
    let number = text.strip_suffix(*unit).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    now.0.checked_sub(number.parse::<i64>().ok()?.checked_mul(*millis)?).map(Time)
}

fn named_day(text: &str, zone: &TimeZone) -> Option<Time> {
    // A moment begins like a day. Only a whole text of ten characters is one.
    let date: Date = Some(text).filter(|text| text.len() == 10)?.parse().ok()?;
    Some(Time(date.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond()))
}

fn parse_moment(text: &str) -> Option<Time> {
    Some(Time(text.parse::<Timestamp>().ok()?.as_millisecond()))
}

/// Milliseconds since 1970, by the system's clock.
pub fn time_now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time(failpoint::clock(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

/// The day of a time, as 2026-11-22.
pub fn iso_date(time: Time, zone: &TimeZone) -> String {
    format_time(time, zone, "%Y-%m-%d")
}

/// The day of a time in words, as 29 Nov.
pub fn day_and_month(time: Time, zone: &TimeZone) -> String {
    format_time(time, zone, "%-d %b")
}

/// A time to the second, as 2026-11-22 10:05:07.
pub fn date_and_clock(time: Time, zone: &TimeZone) -> String {
    format_time(time, zone, "%Y-%m-%d %H:%M:%S")
}

/// A time of this year or so in eleven cells, as 11-22 10:05.
pub fn brief_time(time: Time, zone: &TimeZone) -> String {
    format_time(time, zone, "%m-%d %H:%M")
}

/// A time as RFC 3339 has it, in UTC.
pub fn rfc3339(time: Time) -> String {
    Timestamp::from_millisecond(time.0).map_or_else(|_| time.0.to_string(), |moment| moment.to_string())
}

fn format_time(time: Time, zone: &TimeZone, form: &str) -> String {
    // A time that no calendar has is shown as it is stored.
    Timestamp::from_millisecond(time.0)
        .map_or_else(|_| time.0.to_string(), |moment| moment.to_zoned(zone.clone()).strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        // 2025-11-22T08:26:40Z
        let now = Time(1_763_800_000_000);
        let berlin = TimeZone::fixed(jiff::tz::offset(1));
        for (text, expected) in [
            ("0d", Some(1_763_800_000_000)),
            ("12h", Some(1_763_756_800_000)),
            ("30d", Some(1_761_208_000_000)),
            ("2w", Some(1_762_590_400_000)),
            ("2025-11-01", Some(1_761_951_600_000)),
            ("2025-11-01T10:00:00Z", Some(1_761_991_200_000)),
            ("2025-11-01T10:00:00+01:00", Some(1_761_987_600_000)),
            ("", None),
            ("d", None),
            ("-1d", None),
            ("1.5d", None),
            ("30m", None),
            ("9999999999999999999d", None),
            ("999999999999999d", None),
            ("2025-02-30", None),
            ("20251101", None),
            ("yesterday", None),
        ] {
            assert_eq!(since(text, now, &berlin).ok().map(|time| time.0), expected, "{text}");
        }
        let failure = since("\u{1b}[2J", now, &berlin).unwrap_err().to_string();
        assert_eq!(failure, r"`\u{1b}[2J` is not a time; write 30d, 12h, 2w, 2026-11-01 or 2026-11-01T10:00:00Z");
    }

    #[test]
    fn times_are_written() {
        let (time, berlin) = (Time(1_763_800_000_000), TimeZone::fixed(jiff::tz::offset(1)));
        assert_eq!(date_and_clock(time, &berlin), "2025-11-22 09:26:40");
        assert_eq!(
            (iso_date(time, &berlin).as_str(), brief_time(time, &berlin).as_str()),
            ("2025-11-22", "11-22 09:26")
        );
        assert_eq!((rfc3339(time).as_str(), day_and_month(time, &berlin).as_str()), ("2025-11-22T08:26:40Z", "22 Nov"));
        assert_eq!(date_and_clock(Time(i64::MAX), &berlin), i64::MAX.to_string());
    }
}
