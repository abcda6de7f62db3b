//! The amounts of a budget as configuration writes them: dollars and tokens.

use std::fmt;

use proem_engine::call::NanoDollars;
use proem_guard::show;
use proem_text::shorten_text;
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Dollars, as a number or a text with at most nine places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "f64")]
pub struct Dollars(pub NanoDollars);

impl From<Dollars> for String {
    fn from(dollars: Dollars) -> Self {
        let (whole, part) = (dollars.0.0 / 1_000_000_000, dollars.0.0 % 1_000_000_000);
        format!("{whole}.{part:09}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = AmountVisitor { expected: "dollars as a number, such as 0.25", read: parse_dollars };
        from.deserialize_any(written).map(Self)
    }
}

/// Dollars with at most nine places, exactly.
///
/// # Errors
///
/// In words, if it is no such amount.
pub fn parse_dollars(text: &str) -> Result<NanoDollars, String> {
    let shown = shown_argument(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return Err(match text.strip_prefix('-') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("`{shown}` is below zero; write dollars from 0 on, such as 0.25")
            }
            _ => format!("`{shown}` is not an amount; write dollars as a number alone, such as 0.25"),
        });
    }
    let part = part.trim_end_matches('0');
    if part.len() > 9 {
        let least = NanoDollars(1);
        return Err(format!("`{shown}` has more than nine decimal places; the smallest amount is {least}"));
    }
    let most = || format!("`{shown}` dollars is too much; the maximum is {}", NanoDollars(u64::MAX));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| most())? };
    let part: u64 = format!("{part:0<9}").parse().map_err(|_| most())?;
    whole.checked_mul(1_000_000_000).and_then(|nanos| nanos.checked_add(part)).map(NanoDollars).ok_or_else(most)
}

/// Whole tokens.
pub(super) fn deserialize_tokens<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    from.deserialize_any(AmountVisitor {
        expected: "whole tokens as a number, such as 100000",
        read: parse_whole_number,
    })
    .map(Some)
}

/// So many tokens, exactly.
fn parse_whole_number(text: &str) -> Result<u64, String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.strip_prefix('-') {
        _ if digits(text) => {
            text.parse().map_err(|_| format!("`{text}` tokens are too many; the maximum is {}", u64::MAX))
        }
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("`{text}` is below zero; write tokens from 0 on, such as 100000"))
        }
        _ => Err(format!("`{text}` is not a number of tokens; write whole ones, such as 100000")),
    }
}

/// A number of any kind, or a text, which is read by its digits.
struct AmountVisitor<T> {
    /// The expectation, in words.
    expected: &'static str,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for AmountVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        // The shortest decimal that reads as the number is what was written.
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }
}

/// An argument as messages show it.
fn shown_argument(text: &str) -> String {
    const MOST: usize = 40;
    shorten_text(show::terminal_str(text).as_str(), MOST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, SpendLimits};

    fn read(line: &str) -> Result<SpendLimits, String> {
        let config = Config::parse("config.toml", &format!("[budget.user]\n{line}\n"));
        config.map(|config| config.budget.user).map_err(|failure| failure.to_string())
    }

    /// The reason for refusing a line under `[budget.user]`. The excerpt below it points at the value.
    #[track_caller]
    fn refused(line: &str, why: &str) {
        let refused = read(line).unwrap_err();
        let (message, excerpt) = refused.split_once('\n').unwrap();
        assert_eq!(message, format!("error: {why}"), "{line}");
        assert!(excerpt.contains("config.toml:2:") && excerpt.contains(line) && excerpt.contains('^'), "{refused}");
    }

    #[test]
    fn a_cap_is_read_as_it_is_written() {
        for (day, expected) in [
            ("0", 0),
            ("0.1", 100_000_000),
            ("1e3", 1_000_000_000_000),
            ("\"2.5\"", 2_500_000_000),
            ("1_000.0", 1_000_000_000_000),
            ("18446744073", 18_446_744_073_000_000_000),
        ] {
            let limits = SpendLimits { day: Some(Dollars(NanoDollars(expected))), ..SpendLimits::default() };
            assert_eq!(read(&format!("day = {day}")), Ok(limits), "{day}");
        }
        let most = u64::MAX >> 1;
        for (tokens, expected) in [("0", 0), ("100_000", 100_000), ("1e6", 1_000_000), (&most.to_string(), most)] {
            let limits = SpendLimits { day_tokens: Some(expected), ..SpendLimits::default() };
            assert_eq!(read(&format!("day_tokens = {tokens}")), Ok(limits), "{tokens}");
        }
    }

    #[test]
    fn dollars_that_are_none_are_told_why() {
        let most = "dollars is too much; the maximum is $18446744073.709551615";
        let none = "is not an amount; write dollars as a number alone, such as 0.25";
        let below = "is below zero; write dollars from 0 on, such as 0.25";
        let other = "expected dollars as a number, such as 0.25";
        for (day, why) in [
            ("99999999999", format!("`99999999999` {most}")),
            ("18446744073709551616", format!("`18446744073709551616` {most}")),
            ("1e300", format!("`1{}…` {most}", "0".repeat(38))),
            ("-1", format!("`-1` {below}")),
            ("-0.5", format!("`-0.5` {below}")),
            ("nan", format!("`NaN` {none}")),
            ("inf", format!("`inf` {none}")),
            ("\"$5\"", format!("`$5` {none}")),
            ("\"5 USD\"", format!("`5 USD` {none}")),
            (
                "1e-10",
                "`0.0000000001` has more than nine decimal places; the smallest amount is $0.000000001".to_owned(),
            ),
            ("true", format!("invalid type: boolean `true`, {other}")),
            ("[1]", format!("invalid type: sequence, {other}")),
        ] {
            refused(&format!("day = {day}"), &why);
        }
    }

    #[test]
    fn tokens_that_are_none_are_told_why() {
        for (tokens, why) in [
            ("-1", "`-1` is below zero; write tokens from 0 on, such as 100000"),
            ("1.5", "`1.5` is not a number of tokens; write whole ones, such as 100000"),
            ("nan", "`NaN` is not a number of tokens; write whole ones, such as 100000"),
            ("\"many\"", "`many` is not a number of tokens; write whole ones, such as 100000"),
            ("99999999999999999999", "`99999999999999999999` tokens are too many; the maximum is 18446744073709551615"),
            ("true", "invalid type: boolean `true`, expected whole tokens as a number, such as 100000"),
        ] {
            refused(&format!("day_tokens = {tokens}"), why);
        }
    }

    #[test]
    fn dollars_are_exact() {
        for (text, expected) in [
            ("0", 0),
            ("1", 1_000_000_000),
            ("0.1", 100_000_000),
            (".25", 250_000_000),
            ("2.", 2_000_000_000),
            ("0.000000001", 1),
            ("0.1000000000000", 100_000_000),
            ("18446744073.709551615", u64::MAX),
        ] {
            assert_eq!(parse_dollars(text), Ok(NanoDollars(expected)), "{text}");
        }
    }

    #[test]
    fn an_amount_that_is_none_is_told_why() {
        let no_amount =
            |text: &str| format!("`{text}` is not an amount; write dollars as a number alone, such as 0.25");
        for text in ["", ".", "-", "--1", "1e3", "NaN", "inf", "$5", "5 USD", "5€", "1,000", "1_000", "+1", "1.2.3"] {
            assert_eq!(parse_dollars(text), Err(no_amount(text)), "{text}");
        }
        assert_eq!(parse_dollars("\u{1b}[2J"), Err(no_amount("\\u{1b}[2J")));
        for text in ["-1", "-0.5", "-inf1"] {
            let below = format!("`{text}` is below zero; write dollars from 0 on, such as 0.25");
            let expected = if text == "-inf1" { no_amount(text) } else { below };
            assert_eq!(parse_dollars(text), Err(expected));
        }
        assert_eq!(
            parse_dollars("0.0000000001"),
            Err("`0.0000000001` has more than nine decimal places; the smallest amount is $0.000000001".to_owned())
        );
        let digits = "9".repeat(40);
        for text in ["18446744073.709551616", "99999999999", &digits] {
            assert_eq!(
                parse_dollars(text),
                Err(format!("`{text}` dollars is too much; the maximum is $18446744073.709551615"))
            );
        }
    }
}
