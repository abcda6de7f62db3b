//! Dates as trackers write them.

use proem_text::CalendarDate;

/// The seconds since 1970 of `2024-01-31`, `2024-01-31T12:00`, `2024-01-31 12:00:00.5Z` or
/// `2024-01-31T12:00:00.000+0200` (RFC 3339 and the form of Jira); without an offset it is UTC.
pub(super) fn parse_tracker_date(text: &str) -> Option<i64> {
    let mut rest = text.trim();
    let year = take_digits(&mut rest, 4)?;
    let month = take_digits(take_character(&mut rest, '-')?, 2)?;
    let day = take_digits(take_character(&mut rest, '-')?, 2)?;
    if year == 0 {
        return None;
    }
    let days = CalendarDate { year, month, day }.days()?.checked_mul(86_400)?;
    if rest.is_empty() {
        return Some(days);
    }
    let mut rest = rest.strip_prefix(['T', 't', ' '])?;
    days.checked_add(parse_time_of_day(&mut rest)?)?.checked_sub(parse_zone_offset(rest)?)
}

/// The seconds since midnight. Parts of a second are left out.
fn parse_time_of_day(rest: &mut &str) -> Option<i64> {
    let hour = take_digits(rest, 2)?;
    let minute = take_digits(take_character(rest, ':')?, 2)?;
    let mut second = 0;
    if take_character(rest, ':').is_some() {
        second = take_digits(rest, 2)?;
        if take_character(rest, '.').is_some() {
            *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        }
    }
    // 60 is a leap second.
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3_600 + minute * 60 + second)
}

/// The seconds that a zone is ahead of UTC.
fn parse_zone_offset(mut rest: &str) -> Option<i64> {
    if matches!(rest, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = if take_character(&mut rest, '+').is_some() { 1 } else { take_character(&mut rest, '-').map(|_| -1)? };
    let hours = take_digits(&mut rest, 2)?;
    let _colon = take_character(&mut rest, ':');
    let minutes = if rest.is_empty() { 0 } else { take_digits(&mut rest, 2)? };
    (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Takes exactly so many digits.
fn take_digits(rest: &mut &str, digits: usize) -> Option<i64> {
    let (taken, after) = rest.split_at_checked(digits)?;
    *rest = after;
    taken.bytes().all(|byte| byte.is_ascii_digit()).then(|| taken.parse().ok()).flatten()
}

fn take_character<'r, 't>(rest: &'r mut &'t str, character: char) -> Option<&'r mut &'t str> {
    *rest = rest.strip_prefix(character)?;
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(parse_tracker_date(text), expected, "{text}");
    }

    #[test]
    fn dates_times_and_offsets() {
        check("1970-01-01", Some(0));
        check("1969-12-31", Some(-86_400));
        check("2000-03-01", Some(951_868_800));
        check("2024-02-29T12:30:15Z", Some(1_709_209_815));
        check("2024-02-29 12:30", Some(1_709_209_800));
        check("2024-02-29T14:30:15.123+0200", Some(1_709_209_815));
        check("2024-02-29T09:00:15-03:30", Some(1_709_209_815));
        check("2024-02-29T12:30:15+00", Some(1_709_209_815));
        check("2106-02-07T06:28:16Z", Some(4_294_967_296));
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2023-02-29",
            "2024-00-10",
            "2024-01-00",
            "0000-01-01",
            "31.01.2024",
            "2024-1-3",
            "2024-01-31T",
            "2024-01-31T25:00",
            "2024-01-31T12:00:00+",
            "2024-01-31T12:00:00Zx",
            "2024-01-31x",
            "é024-01-31",
            "+024-01-31",
            "2024-01-31T12:00:00+2500",
        ] {
            check(text, None);
        }
    }
}
