//! Credentials in base64 and in hexadecimal digits.

use alloc::vec::Vec;
use proem_text::{Span, character};

use super::{
    Credential,
    disguise::{SHORTEST, unmask},
    shapes,
};
use crate::view::{base64_bytes, is_base64_digit};

/// The fewest digits that a credential takes: twenty bytes in base64.
const FEWEST_DIGITS: usize = 27;
/// A line of base64 this long may go on behind a line break (RFC 2045 breaks after 76, RFC 7468 after 64).
const WRAPPED: usize = 60;

/// The credentials in the runs of digits of a text, in no order. In what they decode to, `rounds` disguises may follow.
pub(super) fn find_packed(text: &str, rounds: usize) -> Vec<Credential> {
    let mut found = Vec::new();
    let mut at = 0_usize;
    while let Some(start) = next_digit_run(text.as_bytes(), at) {
        let digits = digits_at(text.as_bytes(), start);
        at = digits.last().map_or(start, |last| *last).saturating_add(1);
        let digits_from = |skipped: usize| digits.iter().skip(skipped).filter_map(|place| text.as_bytes().get(*place));
        // A run may be behind something else that looks like digits.
        for skipped in 0..4 {
            // Four digits are three bytes.
            let place = |span: Span| {
                let first = span.start.saturating_mul(4).wrapping_div(3);
                digits_span(&digits, skipped, first, span.end.saturating_mul(4).div_ceil(3))
            };
            found.extend(in_bytes(&base64_bytes(digits_from(skipped)), rounds, place));
        }
        for skipped in 0..2 {
            let place =
                |span: Span| digits_span(&digits, skipped, span.start.saturating_mul(2), span.end.saturating_mul(2));
            found.extend(in_bytes(&bytes_of_hex_digits(digits_from(skipped)), rounds, place));
        }
    }
    found
}

/// The beginning of the next run of enough digits.
fn next_digit_run(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        // If the last digit of as many as are needed is none, no run before it is long enough.
        let window = text.get(at..at.saturating_add(FEWEST_DIGITS))?;
        match window.iter().rposition(|byte| !is_base64_digit(*byte)) {
            None => return Some(at),
            Some(place) => at = at.saturating_add(place).saturating_add(1),
        }
    }
}

/// The places of the digits of a run, over the ends of its lines.
fn digits_at(text: &[u8], start: usize) -> Vec<usize> {
    let mut digits = Vec::new();
    let mut at = start;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let line = rest.iter().take_while(|byte| is_base64_digit(**byte)).count();
        digits.extend(at..at.saturating_add(line));
        at = at.saturating_add(line);
        let behind = text.get(at..).unwrap_or_default();
        let blank = behind.iter().take(16).take_while(|byte| byte.is_ascii_whitespace() || **byte == b'>').count();
        let is_broken = behind.iter().take(blank).any(|byte| *byte == b'\n');
        if line < WRAPPED || !is_broken {
            return digits;
        }
        at = at.saturating_add(blank);
    }
}

/// The place of some digits in the text.
fn digits_span(digits: &[usize], skipped: usize, first: usize, end: usize) -> Option<Span> {
    let start = *digits.get(skipped.saturating_add(first))?;
    let last = digits.get(skipped.saturating_add(end).saturating_sub(1)).or(digits.last())?;
    Some(Span::new(start, last.saturating_add(1)))
}

/// The credentials in what was decoded, at the places that `place` gives.
fn in_bytes(bytes: &[u8], rounds: usize, place: impl Fn(Span) -> Option<Span>) -> Vec<Credential> {
    let mut found = Vec::new();
    let mut start = 0_usize;
    // Random bytes have no long texts in them.
    for chunk in bytes.utf8_chunks() {
        for part in chunk.valid().split_inclusive(character::is_control) {
            if part.len() >= SHORTEST {
                let inner = shapes(part).into_iter().chain(unmask(part, rounds));
                found.extend(inner.filter_map(|one| {
                    let span = Span::new(one.span.start.saturating_add(start), one.span.end.saturating_add(start));
                    Some(Credential { span: place(span)?, ..one })
                }));
            }
            start = start.saturating_add(part.len());
        }
        start = start.saturating_add(chunk.invalid().len());
    }
    found
}

/// The bytes of pairs of hexadecimal digits, up to what is none.
fn bytes_of_hex_digits<'d>(digits: impl Iterator<Item = &'d u8>) -> Vec<u8> {
    let mut values = digits.map_while(|digit| char::from(*digit).to_digit(16));
    let mut decoded = Vec::new();
    while let (Some(high), Some(low)) = (values.next(), values.next()) {
        decoded.push((high.wrapping_shl(4) | low).to_le_bytes()[0]);
    }
    decoded
}
