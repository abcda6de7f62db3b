//! Times as other systems write them, in UTC.
//!
//! The author of a signal writes its time, so a time orders the revisions of one signal and drives nothing else. An
//! impossible time is kept in its original words.

use proem_engine::run::Time;
use proem_guard::Untrusted;
use proem_text::CalendarDate;

/// The earliest time that is believed, 2000-01-01: what is older comes from a clock that nobody set.
const EARLIEST: i64 = 946_684_800_000;
/// How far ahead of the clock a time may be: a day, for zones that were left out and clocks that run ahead.
const AHEAD: i64 = 86_400_000;
/// The latest time that can be written with a year of four digits.
const LATEST: i64 = 253_402_300_799_999;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// When something happened, as its source says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalTime {
    /// At this time.
    Known(Time),
    /// The source says something that can't be believed.
    Doubtful {
        /// Its words.
        said: Untrusted<String>,
        /// The reason why it can't be believed.
        fault: TimeFault,
    },
    /// The source says nothing.
    Missing,
}

/// The reason why a time can't be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeFault {
    /// It is no time, or is written in a way that is not known.
    Unreadable,
    /// It names no zone.
    NoZone,
    /// It is before 2000.
    TooOld,
    /// It is more than a day ahead of the clock.
    Future,
}

proem_text::word_table! {
    pub TimeFault {
        Unreadable = "unreadable",
        NoZone = "no-zone",
        TooOld = "before-2000",
        Future = "in-the-future",
    }
}

/// Whether a time can be right, seen from `now`.
pub(super) const fn believable(milliseconds: i64, now: Time) -> Result<Time, TimeFault> {
    if milliseconds < EARLIEST {
        Err(TimeFault::TooOld)
    } else if milliseconds > now.0.saturating_add(AHEAD) || milliseconds > LATEST {
        Err(TimeFault::Future)
    } else {
        Ok(Time(milliseconds))
    }
}

/// A time as it is written here: `2019-02-16T03:11:18.321Z`.
#[must_use]
pub fn utc_timestamp(time: Time) -> String {
    let (days, rest) = (time.0.div_euclid(86_400_000), time.0.rem_euclid(86_400_000));
    let date = CalendarDate::from_days(days);
    let (seconds, milliseconds) = (rest.div_euclid(1000), rest.rem_euclid(1000));
    let (hour, minute, second) =
        (seconds.div_euclid(3600), seconds.div_euclid(60).rem_euclid(60), seconds.rem_euclid(60));
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// The day of a time in UTC: `2019-02-16`.
#[must_use]
pub fn utc_day(time: Time) -> String {
    CalendarDate::from_days(time.0.div_euclid(86_400_000)).to_string()
}

/// Reads a time of any zone, in milliseconds since 1970.
///
/// Sources: RFC 3339, section 5.6, with Jira's zones that lack a colon. RFC 5322, section 3.3 and 4.3.
pub(super) fn parse_timestamp(text: &str) -> Result<i64, TimeFault> {
    let text = text.trim();
    let bytes = text.as_bytes();
    if bytes.len() > 64 || !text.is_ascii() {
        return Err(TimeFault::Unreadable);
    }
    let is_numeric = bytes.iter().take(4).all(u8::is_ascii_digit) && bytes.get(4) == Some(&b'-');
    if is_numeric { from_internet(bytes) } else { from_mail(text) }
}

/// The day that a text begins with, such as `2019-02-15 00:00:00.0`, in days since 1970-01-01; whatever is behind it does
/// not count.
pub(super) fn leading_day(text: &str) -> Option<i64> {
    DigitReader(text.trim().as_bytes()).date().ok()?.days()
}

/// `2019-02-15T19:11:18.321-0800`.
fn from_internet(bytes: &[u8]) -> Result<i64, TimeFault> {
    let mut reader = DigitReader(bytes);
    let date = reader.date()?;
    reader.after(b"Tt ")?;
    let (hour, minute) = (reader.number(2)?, reader.after(b":")?.number(2)?);
    let second = if reader.0.first() == Some(&b':') { reader.after(b":")?.number(2)? } else { 0 };
    let millisecond = if matches!(reader.0.first(), Some(b'.' | b',')) { reader.fraction()? } else { 0 };
    let zone = match reader.0 {
        b"" => return Err(TimeFault::NoZone),
        b"Z" | b"z" => 0,
        rest => zone_offset_seconds(rest)?,
    };
    let seconds = seconds_to(date, hour, minute, second)?.saturating_sub(zone);
    Ok(seconds.saturating_mul(1000).saturating_add(millisecond))
}

/// `Fri, 15 Feb 2019 19:11:18 -0800 (PST)`.
fn from_mail(text: &str) -> Result<i64, TimeFault> {
    let text = text.split('(').next().unwrap_or_default();
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split_ascii_whitespace();
    let mut word = || words.next().ok_or(TimeFault::Unreadable);
    let day = parse_digits(word()?, 2)?;
    let month = word()?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|name| *name == month).ok_or(TimeFault::Unreadable)?;
    let year = word()?;
    let year = match (year.len(), parse_digits(year, 4)?) {
        // RFC 5322, section 4.3, for years of two and three digits.
        (2, year @ 0..=49) => year.saturating_add(2000),
        (2 | 3, year) => year.saturating_add(1900),
        (4, year) => year,
        _ => return Err(TimeFault::Unreadable),
    };
    let mut clock = word()?.split(':');
    let mut part = || clock.next().map_or(Ok(0), |part| parse_digits(part, 2));
    let (hour, minute, second) = (part()?, part()?, part()?);
    let zone = match words.next() {
        None => return Err(TimeFault::NoZone),
        Some(zone) => zone_of_mail(zone)?,
    };
    let month = i64::try_from(month).unwrap_or_default().saturating_add(1);
    let seconds = seconds_to(CalendarDate { year, month, day }, hour, minute, second)?;
    Ok(seconds.saturating_sub(zone).saturating_mul(1000))
}

/// Seconds east of Greenwich. Letters that represent a zone in one place only name none (RFC 5322, section 4.3).
fn zone_of_mail(zone: &str) -> Result<i64, TimeFault> {
    let west = |hours: i64| Ok(hours.saturating_mul(-3600));
    match zone.to_ascii_uppercase().as_str() {
        "GMT" | "UT" | "UTC" | "Z" => Ok(0),
        "EDT" => west(4),
        "EST" | "CDT" => west(5),
        "CST" | "MDT" => west(6),
        "MST" | "PDT" => west(7),
        "PST" => west(8),
        other if other.starts_with(['+', '-']) => zone_offset_seconds(other.as_bytes()),
        _ => Err(TimeFault::NoZone),
    }
}

/// `+01:00`, `-0800` or `+01`, in seconds.
fn zone_offset_seconds(bytes: &[u8]) -> Result<i64, TimeFault> {
    let mut reader = DigitReader(bytes);
    let is_west = bytes.first() == Some(&b'-');
    let hours = reader.after(b"+-")?.number(2)?;
    if reader.0.first() == Some(&b':') {
        reader.after(b":")?;
    }
    let minutes = if reader.0.is_empty() { 0 } else { reader.number(2)? };
    if !reader.0.is_empty() || hours > 23 || minutes > 59 {
        return Err(TimeFault::Unreadable);
    }
    let seconds = hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60));
    Ok(if is_west { seconds.saturating_neg() } else { seconds })
}

/// Digits with signs between them.
struct DigitReader<'b>(&'b [u8]);

impl DigitReader<'_> {
    /// Steps over one of these signs.
    fn after(&mut self, signs: &[u8]) -> Result<&mut Self, TimeFault> {
        match self.0 {
            [sign, rest @ ..] if signs.contains(sign) => self.0 = rest,
            _ => return Err(TimeFault::Unreadable),
        }
        Ok(self)
    }

    /// A date such as `2019-02-15`. Whether there is such a day is not looked at.
    fn date(&mut self) -> Result<CalendarDate, TimeFault> {
        let year = self.number(4)?;
        Ok(CalendarDate { year, month: self.after(b"-")?.number(2)?, day: self.after(b"-")?.number(2)? })
    }

    fn number(&mut self, digits: usize) -> Result<i64, TimeFault> {
        let (number, rest) = self.0.split_at_checked(digits).ok_or(TimeFault::Unreadable)?;
        self.0 = rest;
        parse_digits(std::str::from_utf8(number).unwrap_or_default(), digits)
    }

    /// Milliseconds of a fraction of any length.
    fn fraction(&mut self) -> Result<i64, TimeFault> {
        self.after(b".,")?;
        let length = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(length).unwrap_or_default();
        self.0 = rest;
        if digits.is_empty() {
            return Err(TimeFault::Unreadable);
        }
        let digit = |at: usize| digits.get(at).map_or(0, |byte| i64::from(byte.saturating_sub(b'0')));
        Ok(digit(0).saturating_mul(100).saturating_add(digit(1).saturating_mul(10)).saturating_add(digit(2)))
    }
}

/// A number of one to `most` digits and nothing else.
fn parse_digits(text: &str, most: usize) -> Result<i64, TimeFault> {
    let is_plain = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain).ok_or(TimeFault::Unreadable)
}

/// Seconds from 1970 to this time of day, if there is such a day and time. A leap second is the one before it.
fn seconds_to(date: CalendarDate, hour: i64, minute: i64, second: i64) -> Result<i64, TimeFault> {
    let is_time = (0..=23).contains(&hour) && (0..=59).contains(&minute) && (0..=60).contains(&second);
    let days = date.days().filter(|_| is_time).ok_or(TimeFault::Unreadable)?;
    let of_day = hour.saturating_mul(3600).saturating_add(minute.saturating_mul(60)).saturating_add(second.min(59));
    Ok(days.saturating_mul(86_400).saturating_add(of_day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    #[test]
    fn times_of_any_zone() {
        let expected = Ok(1_550_286_678_321);
        for text in ["2019-02-15T19:11:18.321-0800", "2019-02-16T03:11:18.321Z", "2019-02-16 04:11:18.321999+01:00"] {
            assert_eq!(parse_timestamp(text), expected, "{text}");
        }
        let expected = Ok(1_550_286_678_000);
        for text in [
            "Fri, 15 Feb 2019 19:11:18 -0800 (PST)",
            "15 Feb 19 19:11:18 PST",
            "16 feb 2019 03:11:18 GMT",
            "2019-02-16T03:11:18Z",
        ] {
            assert_eq!(parse_timestamp(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        use TimeFault::{NoZone, Unreadable};
        for (text, fault) in [
            ("", Unreadable),
            ("yesterday", Unreadable),
            ("2019-02-30T00:00:00Z", Unreadable),
            ("2019-13-01T00:00:00Z", Unreadable),
            ("2019-02-15T24:00:00Z", Unreadable),
            ("2019-02-15", Unreadable),
            ("2019-02-15T10:00:00", NoZone),
            ("2019-02-15T10:00:00Z and more", Unreadable),
            ("2019-02-15T10:00:00+25:00", Unreadable),
            ("2019-02-15T10:00:00.Z", Unreadable),
            ("15 Feb 2019 10:00:00", NoZone),
            ("15 Feb 2019 10:00:00 XYZ", NoZone),
            ("15 Foo 2019 10:00:00 GMT", Unreadable),
            ("２０１９-02-15T10:00:00Z", Unreadable),
        ] {
            assert_eq!(parse_timestamp(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn days_are_read_alone() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(leading_day(text), expected, "{text}");
        check("1970-01-02", Some(1));
        check("2026-12-01 00:00:00.0", Some(20_788));
        check(" 2026-12-01T09:00:00Z", Some(20_788));
        check("2026-02-30", None);
        check("01/Dec/26", None);
        check("", None);
    }

    #[test]
    fn what_is_not_believed() {
        let now = Time(1_700_000_000_000);
        for (time, expected) in [
            (0, Err(TimeFault::TooOld)),
            (i64::MIN, Err(TimeFault::TooOld)),
            (EARLIEST, Ok(Time(EARLIEST))),
            (now.0 + AHEAD, Ok(Time(now.0 + AHEAD))),
            (now.0 + AHEAD + 1, Err(TimeFault::Future)),
            (i64::MAX, Err(TimeFault::Future)),
        ] {
            assert_eq!(believable(time, now), expected, "{time}");
        }
        assert_eq!(believable(LATEST + 1, Time(i64::MAX)), Err(TimeFault::Future));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(time in -62_135_596_800_000_i64..=LATEST) {
            let written = utc_timestamp(Time(time));
            prop_assert_eq!(parse_timestamp(&written), Ok(time));
            prop_assert_eq!(written.parse::<Timestamp>().unwrap().as_millisecond(), time);
        }

        #[test]
        fn no_text_stops_it(text in ".{0,40}", digits in "[0-9T:.+-]{0,40}") {
            for text in [text, digits] {
                if let Ok(time) = parse_timestamp(&text) {
                    prop_assert_eq!(parse_timestamp(&utc_timestamp(Time(time))), Ok(time));
                }
            }
        }
    }
}
