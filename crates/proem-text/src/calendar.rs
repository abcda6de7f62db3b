//! Days and dates of the proleptic Gregorian calendar.
//!
//! Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil` and `civil_from_days`.

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
/// Days in 400 years.
const DAYS_OF_ERA: i64 = 146_097;

/// A day by its date. Years may be zero or negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalendarDate {
    /// The year, which may be zero or negative.
    pub year: i64,
    /// The month, 1 to 12.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
}

impl CalendarDate {
    /// The date of a day, which is given as its distance from 1970-01-01 in days.
    ///
    /// ```
    /// # use proem_text::CalendarDate;
    /// assert_eq!(CalendarDate::from_days(-1).to_string(), "1969-12-31");
    /// ```
    #[must_use]
    pub const fn from_days(days: i64) -> Self {
        let days = days.saturating_add(DAYS_TO_1970);
        let (era, of_era) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
        let leaps = (of_era / 1460).saturating_sub(of_era / 36_524).saturating_add(of_era / 146_096);
        let year = of_era.saturating_sub(leaps) / 365;
        let of_year =
            of_era.saturating_sub(year.saturating_mul(365).saturating_add(year / 4).saturating_sub(year / 100));
        // Months are counted from March, so that a leap day is the last of its year.
        let from_march = of_year.saturating_mul(5).saturating_add(2) / 153;
        let day = of_year.saturating_sub(from_march.saturating_mul(153).saturating_add(2) / 5).saturating_add(1);
        let month = if from_march < 10 { from_march.saturating_add(3) } else { from_march.saturating_sub(9) };
        let year = era.saturating_mul(400).saturating_add(year);
        Self { year: if month <= 2 { year.saturating_add(1) } else { year }, month, day }
    }

    /// The date of a time in seconds since 1970, in UTC.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self::from_days(seconds.div_euclid(86_400))
    }

    /// Days since 1970-01-01. `None` if there is no such day.
    ///
    /// ```
    /// # use proem_text::CalendarDate;
    /// assert_eq!(CalendarDate { year: 2000, month: 3, day: 1 }.days(), Some(11_017));
    /// assert_eq!(CalendarDate { year: 2001, month: 2, day: 29 }.days(), None);
    /// ```
    #[must_use]
    pub fn days(self) -> Option<i64> {
        if !(1..=12).contains(&self.month) || !(1..=31).contains(&self.day) {
            return None;
        }
        let year = if self.month <= 2 { self.year.checked_sub(1)? } else { self.year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = self.month.saturating_add(9) % 12;
        let of_year = (from_march.saturating_mul(153).saturating_add(2) / 5).saturating_add(self.day).saturating_sub(1);
        let of_era =
            of_era.saturating_mul(365).saturating_add(of_era / 4).saturating_sub(of_era / 100).saturating_add(of_year);
        let days = era.checked_mul(DAYS_OF_ERA)?.checked_add(of_era)?.checked_sub(DAYS_TO_1970)?;
        // A day that its month lacks is another date.
        (Self::from_days(days) == self).then_some(days)
    }
}

/// As ISO 8601 writes it: `2026-11-22`.
impl core::fmt::Display for CalendarDate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (-1, "1969-12-31"),
            (1_795_305_600, "2026-11-22"),
            (-62_167_219_200, "0000-01-01"),
            (-62_167_219_201, "-001-12-31"),
        ] {
            assert_eq!(CalendarDate::from_seconds(seconds).to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_day_has_no_distance() {
        for (year, month, day) in
            [(2023, 2, 29), (1900, 2, 29), (2024, 13, 1), (2024, 0, 1), (2024, 4, 31), (2024, 1, 0)]
        {
            assert_eq!(CalendarDate { year, month, day }.days(), None, "{year}-{month}-{day}");
        }
        assert_eq!(CalendarDate { year: i64::MIN, month: 1, day: 1 }.days(), None);
        assert_eq!(CalendarDate { year: i64::MAX, month: 12, day: 31 }.days(), None);
    }

    proptest! {
        #[test]
        fn a_day_has_one_date(days in -4_000_000_i64..4_000_000) {
            let date = CalendarDate::from_days(days);
            prop_assert_eq!(date.days(), Some(days));
            prop_assert!(CalendarDate::from_days(days + 1) > date);
        }

        #[test]
        fn no_number_stops_it(days in any::<i64>(), year in any::<i64>(), month in any::<i64>(), day in any::<i64>()) {
            let _ = (CalendarDate::from_days(days), CalendarDate { year, month, day }.days());
        }
    }
}
