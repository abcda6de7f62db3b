//! Base64 (RFC 4648, sections 4 and 5; lines as in RFC 2045, section 6.8).

use super::{
    draft::{ApartTexts, DerivedReading, ReadingSource},
    payload,
};
use alloc::{string::String, vec::Vec};
use proem_text::{
    Span,
    base64::{decode_base64_digits, is_base64_digit},
};

/// The fewest digits that are decoded: twelve bytes.
pub(super) const SHORTEST: usize = 16;

/// All that base64 hides in the text.
///
/// A run of digits is tried from each of its first four, since it may be cut or are behind something else that looks
/// like digits.
pub(super) fn read_base64(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut gathered = ApartTexts::default();
    let mut at = 0usize;
    while let Some(first) = next_base64_run(source.text, at) {
        let lines = with_following_lines(source.text, first);
        let end = lines.last().map_or(first.end, |line| line.end);
        at = end;
        if !source.is_fresh(Span::new(first.start, end)) {
            continue;
        }
        let mut broken = BrokenText::None;
        let mut found = decode_all(source.text, &lines, CharacterIntegrity::Whole, &mut broken);
        if found.is_empty() && broken == BrokenText::Refused {
            found = decode_all(source.text, &lines, CharacterIntegrity::Broken, &mut broken);
        }
        for (place, text) in found {
            let padding = source.text.get(place.end..).unwrap_or_default().bytes().take(2);
            let padding = padding.take_while(|byte| *byte == b'=').count();
            gathered.decoded(&text, Span::new(place.start, place.end.saturating_add(padding)));
        }
    }
    gathered.finish()
}

/// Whether characters of a text may be broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterIntegrity {
    Whole,
    Broken,
}

/// Whether a text was refused for a broken character, so that looking again with broken ones finds more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BrokenText {
    None,
    Refused,
}

/// The text of all lines together, or else the texts of their parts.
fn decode_all(text: &str, lines: &[Span], quality: CharacterIntegrity, broken: &mut BrokenText) -> Vec<(Span, String)> {
    match decode_base64_lines(text, lines, quality, broken) {
        Some(found) => Vec::from([found]),
        None => decode_apart(text, lines, quality, broken),
    }
}

/// The next run of enough digits, without hyphens at its start, which are those of a comment or a
/// list more often than digits.
fn next_base64_run(text: &str, from: usize) -> Option<Span> {
    let mut at = from;
    loop {
        let rest = text.as_bytes().get(at..)?;
        let start = at.saturating_add(rest.iter().position(|byte| is_base64_digit(*byte) && *byte != b'-')?);
        let end = run_end(text, start);
        if end.saturating_sub(start) >= SHORTEST {
            return Some(Span::new(start, end));
        }
        at = end;
    }
}

fn run_end(text: &str, start: usize) -> usize {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    start.saturating_add(rest.iter().take_while(|byte| is_base64_digit(**byte)).count())
}

/// The run, and the lines below it that are nothing but digits, up to padding.
fn with_following_lines(text: &str, first: Span) -> Vec<Span> {
    let mut lines = Vec::from([first]);
    let mut end = first.end;
    while let Some(rest) = text.get(end..) {
        let Some(below) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) else { break };
        let below = below.trim_start_matches([' ', '\t', '>']);
        let start = text.len().saturating_sub(below.len());
        let stop = run_end(text, start);
        let behind = text.get(stop..).unwrap_or_default().trim_start_matches('=');
        if stop == start || !(behind.is_empty() || behind.starts_with(['\n', '\r'])) {
            break;
        }
        lines.push(Span::new(start, stop));
        end = stop;
    }
    lines
}

/// The text of all lines together, at the first alignment that gives one.
fn decode_base64_lines(
    text: &str,
    lines: &[Span],
    quality: CharacterIntegrity,
    broken: &mut BrokenText,
) -> Option<(Span, String)> {
    let digits = || lines.iter().flat_map(|line| text.as_bytes().get(line.start..line.end).unwrap_or_default());
    let (first, last) = (lines.first()?, lines.last()?);
    (0..4).find_map(|skipped| {
        let head = decode_base64_digits(digits().skip(skipped).take(SHORTEST));
        if !payload::may_begin_text(&head) {
            return None;
        }
        let decoded = decode_base64_digits(digits().skip(skipped));
        let place = Span::new(first.start.saturating_add(skipped), last.end);
        let decoded = (decoded.len() >= SHORTEST / 4 * 3).then(|| payload::payload_text(&decoded)).flatten()?;
        let is_taken = quality == CharacterIntegrity::Broken || !decoded.contains(char::REPLACEMENT_CHARACTER);
        if !is_taken {
            *broken = BrokenText::Refused;
        }
        is_taken.then_some((place, decoded))
    })
}

/// The texts of single lines; where one has none, of the parts between the digits that are no
/// letters and no numbers, which separate folders and words just as well.
fn decode_apart(
    text: &str,
    lines: &[Span],
    quality: CharacterIntegrity,
    broken: &mut BrokenText,
) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    for line in lines {
        if lines.len() > 1
            && let Some(whole) = decode_base64_lines(text, &[*line], quality, broken)
        {
            found.push(whole);
            continue;
        }
        let mut start = line.start;
        for part in text.get(line.start..line.end).unwrap_or_default().split(['/', '+', '-', '_']) {
            let span = Span::new(start, start.saturating_add(part.len()));
            start = span.end.saturating_add(1);
            if part.len() >= SHORTEST && span != *line {
                found.extend(decode_base64_lines(text, &[span], quality, broken));
            }
        }
    }
    found
}
