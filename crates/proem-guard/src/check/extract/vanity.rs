//! Numbers of phones whose last digits are letters: `1-800-FLOWERS`, `0800 HILFE`.

use proem_text::Span;

use super::ValueMentions;
use crate::check::ReferentKind;

/// The beginnings of free and dear numbers, without the `1` before them in North America.
const AREAS: [&str; 24] = [
    "800", "822", "833", "844", "855", "866", "877", "888", "900", "0800", "0808", "0845", "0870", "0871", "0900",
    "0700", "0180", "0190", "0137", "1300", "1800", "1900", "00800", "0805",
];
/// The fewest letters behind a hyphen, and behind a blank, where words of capitals are too.
const FEWEST_JOINED: usize = 4;
const FEWEST_APART: usize = 5;
/// The most letters and digits.
const LONGEST: usize = 20;
/// The fewest.
const SHORTEST: usize = 7;

/// Adds the numbers with letters in them.
pub(super) fn add_vanity_numbers<'a>(text: &'a str, tokens: &mut ValueMentions<'a>) {
    let bytes = text.as_bytes();
    let mut at = 0_usize;
    while let Some(place) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        let start = at.saturating_add(place);
        let is_inside =
            start.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(u8::is_ascii_alphanumeric);
        match (!is_inside).then(|| vanity_end(bytes, start)).flatten() {
            Some(end) => {
                tokens.push(ReferentKind::Number, Span::new(start, end), text.get(start..end).unwrap_or_default());
                at = end;
            }
            None => at = start.saturating_add(wanted_run_length(bytes, start, u8::is_ascii_digit)),
        }
    }
}

fn wanted_run_length(bytes: &[u8], from: usize, is_wanted: fn(&u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or_default().iter().take(LONGEST).take_while(|byte| is_wanted(byte)).count().max(1)
}

/// The end of the number that begins here, if letters replace some of its digits.
fn vanity_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (area, mut at) = area_code(bytes, start)?;
    let (mut letters, mut digits) = (0_usize, area);
    let mut end = at;
    let mut fewest = FEWEST_JOINED;
    loop {
        let gap =
            bytes.get(at..).unwrap_or_default().iter().take(3).take_while(|byte| is_phone_separator(**byte)).count();
        let is_apart = bytes.get(at..at.saturating_add(gap)).is_some_and(|gap| gap.contains(&b' '));
        let from = at.saturating_add(gap);
        let group =
            bytes.get(from..).unwrap_or_default().iter().take(LONGEST).take_while(|byte| byte.is_ascii_alphanumeric());
        let group = bytes.get(from..from.saturating_add(group.count())).filter(|group| !group.is_empty());
        let Some(group) = group else { break };
        let is_word = group.iter().any(u8::is_ascii_lowercase);
        let of_group = group.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        // A word in lower case behind a blank is the next word.
        if (is_word && is_apart) || letters.saturating_add(digits).saturating_add(group.len()) > LONGEST {
            break;
        }
        if letters == 0 && of_group > 0 && is_apart {
            fewest = FEWEST_APART;
        }
        // Words in capitals behind the letters of the number are no part of it.
        if letters > 0 && is_apart && of_group > 0 && letters.saturating_add(digits) >= SHORTEST {
            break;
        }
        letters = letters.saturating_add(of_group);
        digits = digits.saturating_add(group.len().saturating_sub(of_group));
        at = from.saturating_add(group.len());
        end = at;
    }
    (letters >= fewest && letters.saturating_add(digits) >= SHORTEST).then_some(end)
}

/// How many digits the area has that is here, and where it ends.
fn area_code(bytes: &[u8], start: usize) -> Option<(usize, usize)> {
    let digits = |from: usize| {
        bytes.get(from..).unwrap_or_default().iter().take(LONGEST).take_while(|byte| byte.is_ascii_digit()).count()
    };
    let first = digits(start);
    let is_area = |from: usize, length: usize| {
        let area = bytes.get(from..from.saturating_add(length)).unwrap_or_default();
        AREAS.iter().any(|known| known.as_bytes() == area)
    };
    let end = start.saturating_add(first);
    // `1-800`, `+49 800`: the area follows the country.
    if first <= 3 && !is_area(start, first) {
        let gap = bytes.get(end..)?.iter().take(3).take_while(|byte| is_phone_separator(**byte)).count();
        let from = end.saturating_add(gap);
        let second = digits(from);
        return (gap > 0 && is_area(from, second)).then(|| (first.saturating_add(second), from.saturating_add(second)));
    }
    // `800 GB` is no number of a phone: without a zero or a country, a hyphen or a bracket follows.
    let is_joined = bytes.get(end).is_some_and(|byte| matches!(byte, b'-' | b')' | b'.'));
    let is_long = bytes.get(start) == Some(&b'0') || first > 3;
    (is_area(start, first) && (is_joined || is_long)).then_some((first, end))
}

const fn is_phone_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/')
}
