//! Times as other systems write them, in UTC.
//!
//! The author of a signal writes its time, so a time orders the revisions of one signal and drives nothing else. An
//! impossible time is kept in its original words.

use proem_engine::run::Time;
use proem_guard::Untrusted;

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
        /// The fault.
        fault: TimeFault,
    },
    /// The source says nothing.
    Missing,
}

/// The fault of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeFault {
    /// It is no time, or is written in a way that is unknown.
    Unreadable,
    /// It names no zone.
    NoZone,
    /// It is before 2000.
    TooOld,
    /// It is more than a day ahead of the clock.
    Future,
}

impl TimeFault {
    const ALL: [Self; 4] = [Self::Unreadable, Self::NoZone, Self::TooOld, Self::Future];

    /// The word that it is written with.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::NoZone => "no-zone",
            Self::TooOld => "before-2000",
            Self::Future => "in-the-future",
        }
    }

    /// The fault of this word.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.as_str() == word)
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
    let (year, month, day) = civil(days);
    let (seconds, milliseconds) = (rest.div_euclid(1000), rest.rem_euclid(1000));
    let (hour, minute, second) =
        (seconds.div_euclid(3600), seconds.div_euclid(60).rem_euclid(60), seconds.rem_euclid(60));
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
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
    let date = CivilDate::read(&mut DigitReader(text.trim().as_bytes())).ok()?;
    date.seconds(0, 0, 0).is_ok().then(|| date.days())
}

/// `2019-02-15T19:11:18.321-0800`.
fn from_internet(bytes: &[u8]) -> Result<i64, TimeFault> {
    let mut reader = DigitReader(bytes);
    let date = CivilDate::read(&mut reader)?;
    reader.after(b"Tt ")?;
    let (hour, minute) = (reader.number(2)?, reader.after(b":")?.number(2)?);
    let second = if reader.0.first() == Some(&b':') { reader.after(b":")?.number(2)? } else { 0 };
    let millisecond = if matches!(reader.0.first(), Some(b'.' | b',')) { reader.fraction()? } else { 0 };
    let zone = match reader.0 {
        b"" => return Err(TimeFault::NoZone),
        b"Z" | b"z" => 0,
        rest => zone_offset_seconds(rest)?,
    };
    let seconds = date.seconds(hour, minute, second)?.saturating_sub(zone);
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
    let seconds = CivilDate { year, month, day }.seconds(hour, minute, second)?;
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

struct CivilDate {
    year: i64,
    month: i64,
    day: i64,
}

impl CivilDate {
    fn read(reader: &mut DigitReader<'_>) -> Result<Self, TimeFault> {
        Ok(Self { year: reader.number(4)?, month: reader.after(b"-")?.number(2)?, day: reader.after(b"-")?.number(2)? })
    }

    /// Seconds from 1970 to this time of day, if there is such a day and time. A leap second is the one before it.
    fn seconds(&self, hour: i64, minute: i64, second: i64) -> Result<i64, TimeFault> {
        let is_time = (0..=23).contains(&hour) && (0..=59).contains(&minute) && (0..=60).contains(&second);
        let days = self.days();
        if !is_time || !(1..=12).contains(&self.month) || civil(days) != (self.year, self.month, self.day) {
            return Err(TimeFault::Unreadable);
        }
        let of_day = hour.saturating_mul(3600).saturating_add(minute.saturating_mul(60)).saturating_add(second.min(59));
        Ok(days.saturating_mul(86_400).saturating_add(of_day))
    }

    /// Days since 1970-01-01 in the Gregorian calendar.
    ///
    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
    fn days(&self) -> i64 {
        let year = if self.month <= 2 { self.year.saturating_sub(1) } else { self.year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let month = self.month.saturating_add(9).rem_euclid(12);
        let of_year =
            month.saturating_mul(153).saturating_add(2).div_euclid(5).saturating_add(self.day).saturating_sub(1);
        let of_era = of_era
            .saturating_mul(365)
            .saturating_add(of_era.div_euclid(4))
            .saturating_sub(of_era.div_euclid(100))
            .saturating_add(of_year);
        era.saturating_mul(146_097).saturating_add(of_era).saturating_sub(719_468)
    }
}

/// Year, month and day of a day since 1970-01-01.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leaps =
        of_era.div_euclid(1460).saturating_sub(of_era.div_euclid(36_524)).saturating_add(of_era.div_euclid(146_096));
    let year = of_era.saturating_sub(leaps).div_euclid(365);
    let before = year.saturating_mul(365).saturating_add(year.div_euclid(4)).saturating_sub(year.div_euclid(100));
    let of_year = of_era.saturating_sub(before);
    let month = of_year.saturating_mul(5).saturating_add(2).div_euclid(153);
    let day = of_year.saturating_sub(month.saturating_mul(153).saturating_add(2).div_euclid(5)).saturating_add(1);
    let month = if month < 10 { month.saturating_add(3) } else { month.saturating_sub(9) };
    let year = year.saturating_add(era.saturating_mul(400));
    (if month <= 2 { year.saturating_add(1) } else { year }, month, day)
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
