//! Dates and times of ISO 8601, as texts.
//!
//! A date is the text that names it, so that it is stored, compared and sent as it is. Functions read
//! calendar dates, with a time and an offset or without. Text that isn't one gives nil, as nil does.
//! Fields are those written. A time without an offset counts as UTC where it is compared with another.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    value::Value,
};
use alloc::format;
use core::{cmp::Ordering, fmt};
use proem_text::CalendarDate;

/// A row for a field of a date, as an integer.
macro_rules! field {
    ($name:literal, $doc:literal, $field:expr, $example:expr) => {
        native($name, "date", $doc, |context, args| {
            let moment = moment(context, args, 0, $name)?;
            let field: Option<i64> = moment.and_then($field);
            Ok(field.map_or(Value::Nil, Value::Int))
        })
        .examples(&[$example])
    };
}

pub(super) const ROWS: &[Row] = &[
    native("date/parse", "s", "The date or time in its usual form, or nil if the string is none.", |context, args| {
        let moment = moment(context, args, 0, "date/parse")?;
        context.meter.new_text(MOST_BYTES)?;
        Ok(moment.map_or(Value::Nil, |moment| Value::from(format!("{moment}"))))
    })
    .examples(&[
        ("(date/parse \"20240131\")", "\"2024-01-31\""),
        ("(date/parse \"2024-01-31 10:00+00:00\")", "\"2024-01-31T10:00:00Z\""),
        ("(date/parse \"soon\")", "nil"),
    ]),
    field!("date/year", "The year.", |moment| Some(moment.year), ("(date/year \"2024-01-31\")", "2024")),
    field!("date/month", "The month, 1 to 12.", |moment| Some(moment.month), ("(date/month \"2024-01-31\")", "1")),
    field!("date/day", "The day of the month.", |moment| Some(moment.day), ("(date/day \"2024-01-31\")", "31")),
    field!(
        "date/weekday",
        "The day of the week, from 1 for Monday to 7 for Sunday.",
        // 1 January 1970 was a Thursday.
        |moment| moment.days().checked_add(3)?.rem_euclid(7).checked_add(1),
        ("(date/weekday \"2024-01-31\")", "3")
    ),
    field!(
        "date/hour",
        "The hour, or nil for a date without a time.",
        |moment| moment.time.map(|time| time.second / 3600),
        ("(date/hour \"2024-01-31T10:20:30Z\")", "10")
    ),
    field!(
        "date/minute",
        "The minute, or nil for a date without a time.",
        |moment| moment.time.map(|time| time.second / 60 % 60),
        ("(date/minute \"2024-01-31T10:20:30Z\")", "20")
    ),
    field!(
        "date/second",
        "The second, or nil for a date without a time.",
        |moment| moment.time.map(|time| time.second % 60),
        ("(date/second \"2024-01-31T10:20:30Z\")", "30")
    ),
    native("date/plus-days", "date n", "The date n days later, or nil beyond the years 0 to 9999.", plus_days)
        .examples(&[("(date/plus-days \"2024-02-28\" 2)", "\"2024-03-01\"")]),
    native("date/days-between", "start end", "How many whole days pass from one date to another.", |context, args| {
        between(context, args, "date/days-between", DAY)
    })
    .examples(&[
        ("(date/days-between \"2024-02-28\" \"2024-03-01\")", "2"),
        ("(date/days-between \"2024-01-02\" \"2024-01-01\")", "-1"),
    ]),
    native(
        "date/seconds-between",
        "start end",
        "How many whole seconds pass from one time to another.",
        |context, args| between(context, args, "date/seconds-between", 1),
    )
    .examples(&[("(date/seconds-between \"2024-01-01T00:00Z\" \"2024-01-01T01:00+01:00\")", "0")]),
    native(
        "date/before?",
        "date other",
        "Whether a date comes before another; nil if one is no date.",
        |context, args| in_order(context, args, "date/before?", Ordering::Less),
    )
    .examples(&[
        ("(date/before? \"2024-01-31\" \"2024-02-01\")", "true"),
        ("(date/before? nil \"2024-02-01\")", "nil"),
    ]),
    native(
        "date/after?",
        "date other",
        "Whether a date comes after another; nil if one is no date.",
        |context, args| in_order(context, args, "date/after?", Ordering::Greater),
    )
    .examples(&[("(date/after? \"2024-01-31\" \"2024-02-01\")", "false")]),
];

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Bytes of the longest date and time: nine digits of a second and an offset.
const MOST_BYTES: usize = 35;

/// A date, with a time of day or without.
#[derive(Debug, Clone, Copy)]
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    time: Option<Time>,
}

#[derive(Debug, Clone, Copy)]
struct Time {
    /// Seconds since midnight.
    second: i64,
    nanosecond: i64,
    /// Minutes that the local time is ahead of UTC, where that is given.
    offset: Option<i64>,
}

/// The date that an argument names.
fn moment(context: &mut Context, args: &Args<'_>, index: usize, function: &str) -> Result<Option<Moment>, Fault> {
    if args.get(index).is_nil() {
        return Ok(None);
    }
    let text = args.text(index, function)?;
    context.meter.work(4)?;
    Ok(if text.len() > MOST_BYTES { None } else { parse_moment(text.as_str()) })
}

/// What is still to be read of a date.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
    }

    fn take(&mut self, wanted: &[char]) -> bool {
        match self.0.strip_prefix(wanted) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// The number after a separator that is there or missing as it is everywhere in the text.
    fn separated(&mut self, separator: char, is_there: bool) -> Option<i64> {
        if self.take(&[separator]) == is_there { self.digits(2) } else { None }
    }
}

/// Whether a text is a date of ISO 8601, with a time or without.
pub(crate) fn is_date(text: &str) -> bool {
    parse_moment(text).is_some()
}

fn parse_moment(text: &str) -> Option<Moment> {
    let mut cursor = Cursor(text);
    let year = cursor.digits(4)?;
    let is_extended = cursor.0.starts_with('-');
    let month = cursor.separated('-', is_extended)?;
    let day = cursor.separated('-', is_extended)?;
    let is_date = CalendarDate { year, month, day }.days().is_some();
    let mut time = None;
    if !cursor.0.is_empty() {
        if !cursor.take(&['T', 't', ' ']) {
            return None;
        }
        time = Some(parse_time(&mut cursor, is_extended)?);
    }
    (is_date && cursor.0.is_empty()).then_some(Moment { year, month, day, time })
}

fn parse_time(cursor: &mut Cursor<'_>, is_extended: bool) -> Option<Time> {
    let hour = cursor.digits(2)?;
    let minute = cursor.separated(':', is_extended)?;
    let has_seconds =
        if is_extended { cursor.0.starts_with(':') } else { cursor.0.starts_with(|c: char| c.is_ascii_digit()) };
    let second = if has_seconds { cursor.separated(':', is_extended)? } else { 0 };
    let mut nanosecond = 0;
    if has_seconds && cursor.take(&['.', ',']) {
        let count = cursor.0.bytes().take_while(u8::is_ascii_digit).count();
        let missing = u32::try_from(9_usize.checked_sub(count).filter(|_| count > 0)?).ok()?;
        nanosecond = cursor.digits(count)?.checked_mul(10_i64.checked_pow(missing)?)?;
    }
    let offset = parse_offset(cursor)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let second = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?;
    Some(Time { second, nanosecond, offset })
}

/// The offset, or `Some(None)` if none is given.
#[expect(clippy::option_option, reason = "malformed, absent and present are three answers of one small parser")]
fn parse_offset(cursor: &mut Cursor<'_>) -> Option<Option<i64>> {
    if cursor.0.is_empty() {
        return Some(None);
    }
    if cursor.take(&['Z', 'z']) {
        return Some(Some(0));
    }
    let is_behind = cursor.0.starts_with('-');
    if !cursor.take(&['+', '-']) {
        return None;
    }
    let hours = cursor.digits(2)?;
    cursor.take(&[':']);
    let minutes = if cursor.0.is_empty() { 0 } else { cursor.digits(2)? };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let offset = hours.checked_mul(60)?.checked_add(minutes)?;
    Some(Some(if is_behind { offset.checked_neg()? } else { offset }))
}

impl Moment {
    /// Days since 1 January 1970.
    fn days(&self) -> i64 {
        CalendarDate { year: self.year, month: self.month, day: self.day }.days().unwrap_or_default()
    }

    /// The date of a number of days since 1 January 1970. `None` beyond the years 0 to 9999.
    fn of_days(days: i64, time: Option<Time>) -> Option<Self> {
        let CalendarDate { year, month, day } = CalendarDate::from_days(days);
        (0..=9999).contains(&year).then_some(Self { year, month, day, time })
    }

    /// Seconds and nanoseconds since 1970 began in UTC.
    fn instant(&self) -> (i64, i64) {
        let midnight = self.days().saturating_mul(DAY);
        match self.time {
            Some(time) => {
                let ahead = time.offset.unwrap_or(0).saturating_mul(60);
                (midnight.saturating_add(time.second).saturating_sub(ahead), time.nanosecond)
            }
            None => (midnight, 0),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)?;
        let Some(time) = self.time else { return Ok(()) };
        write!(f, "T{:02}:{:02}:{:02}", time.second / 3600, time.second / 60 % 60, time.second % 60)?;
        if time.nanosecond > 0 {
            let digits = format!("{:09}", time.nanosecond);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        match time.offset {
            None => Ok(()),
            Some(0) => f.write_str("Z"),
            Some(offset) => {
                let minutes = offset.unsigned_abs();
                write!(f, "{}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
            }
        }
    }
}

fn plus_days(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let Value::Int(count) = args.get(1) else {
        let message = format!("`date/plus-days` takes an integer, not {}", args.get(1).type_phrase());
        return Err(Fault::of_type(message).help("give whole days; make an integer with `long`"));
    };
    let count = *count;
    let Some(moment) = moment(context, args, 0, "date/plus-days")? else { return Ok(Value::Nil) };
    context.meter.new_text(MOST_BYTES)?;
    let later = moment.days().checked_add(count).and_then(|days| Moment::of_days(days, moment.time));
    Ok(later.map_or(Value::Nil, |later| Value::from(format!("{later}"))))
}

fn pair(context: &mut Context, args: &Args<'_>, function: &str) -> Result<Option<(Moment, Moment)>, Fault> {
    let first = moment(context, args, 0, function)?;
    let second = moment(context, args, 1, function)?;
    Ok(first.zip(second))
}

/// The time from one moment to another in units of seconds, rounded towards zero.
fn between(context: &mut Context, args: &mut Args<'_>, function: &str, unit: i64) -> Result<Value, Fault> {
    let Some((first, second)) = pair(context, args, function)? else { return Ok(Value::Nil) };
    let (first, second) = (first.instant(), second.instant());
    let mut seconds = second.0.saturating_sub(first.0);
    if seconds > 0 && second.1 < first.1 {
        seconds = seconds.saturating_sub(1);
    } else if seconds < 0 && second.1 > first.1 {
        seconds = seconds.saturating_add(1);
    }
    Ok(Value::Int(seconds.checked_div(unit).unwrap_or(0)))
}

fn in_order(context: &mut Context, args: &mut Args<'_>, function: &str, wanted: Ordering) -> Result<Value, Fault> {
    let Some((first, second)) = pair(context, args, function)? else { return Ok(Value::Nil) };
    Ok(Value::bool(first.instant().cmp(&second.instant()) == wanted))
}
