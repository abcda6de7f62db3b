//! Credentials that are written so that they don't look like one.
//!
//! Each disguise is taken off in a reading of the text with the way back, and what comes out is read for the next one, at
//! most [`ROUNDS`] deep. Linear: a reading is no longer than its text, and a text has a bounded number of them.

use alloc::{string::String, vec::Vec};
use proem_text::{OffsetMap, Span, character};
use unicode_normalization::char::decompose_compatible;

use super::{Credential, encodings, is_boundary, is_start, shapes};
use crate::view::reference;

/// How many disguises may be worn one over the other.
const ROUNDS: usize = 3;
/// The fewest characters of a credential: `AKIA` and sixteen more.
pub(super) const SHORTEST: usize = 20;
/// The most characters between two of a credential's that is taken apart: ` . `.
const MOST_BETWEEN: usize = 3;
/// The most bytes of a tag.
const LONGEST_TAG: usize = 64;

/// The disguised credentials of a text, in no order.
pub(super) fn find_disguised(text: &str) -> Vec<Credential> {
    unmask(text, ROUNDS)
}

/// The same, with so many disguises one over the other.
pub(super) fn unmask(text: &str, rounds: usize) -> Vec<Credential> {
    let mut found = find_parted_credentials(text);
    if let Some(rounds) = rounds.checked_sub(1) {
        found.extend(encodings::find_packed(text, rounds));
        if let Some(reading) = plain_disguise(text) {
            let mut inner = shapes(&reading.text);
            inner.extend(unmask(&reading.text, rounds));
            found.extend(inner.into_iter().map(|one| Credential { span: reading.map.original(one.span), ..one }));
        }
    }
    found
}

/// A text without disguise, and the way back.
#[derive(Debug, Default)]
struct PlainReading {
    text: String,
    map: OffsetMap,
}

/// The text with every sign for another character read. `None` if it has none.
fn plain_disguise(text: &str) -> Option<PlainReading> {
    let mut reading = PlainReading::default();
    let (mut kept, mut at) = (0_usize, 0_usize);
    while let Some(place) = text.get(at..)?.bytes().position(may_be_sign) {
        let start = at.saturating_add(place);
        let rest = text.get(start..)?;
        let Some((length, meaning)) = disguise_sign(rest) else {
            let first = rest.chars().next()?;
            // All backslashes were looked at together.
            let repeated = rest.bytes().take_while(|byte| *byte == b'\\').count();
            at = start.saturating_add(first.len_utf8().max(repeated));
            continue;
        };
        reading.text.push_str(text.get(kept..start)?);
        reading.map.push_verbatim(Span::new(kept, start));
        at = start.saturating_add(length);
        if let Some(c) = meaning {
            reading.text.push(c);
            reading.map.push(c.len_utf8(), Span::new(start, at));
        }
        kept = at;
    }
    reading.text.push_str(text.get(kept..)?);
    reading.map.push_verbatim(Span::new(kept, text.len()));
    (kept > 0).then_some(reading)
}

/// Whether a sign may begin with the byte: [`disguise_sign`] looks at the rest.
const fn may_be_sign(byte: u8) -> bool {
    matches!(byte, b'\\' | b'&' | b'%' | b'<' | b'=' | 0x7f..)
        || (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// The sign that a text begins with: its length, and the character that it means, if it means any.
fn disguise_sign(text: &str) -> Option<(usize, Option<char>)> {
    match text.chars().next()? {
        '\\' => escape_sign(text),
        '&' => reference(text).map(|(c, length)| (length, Some(c))),
        '%' => {
            let c = ascii(text.get(1..3)?, 16)?;
            Some((3, Some(c)))
        }
        '<' => parting_tag(text).map(|length| (length, None)),
        // A soft line break of quoted-printable (RFC 2045, section 6.7).
        '=' if text.starts_with("=\n") => Some((2, None)),
        '=' if text.starts_with("=\r\n") => Some((3, None)),
        '=' => None,
        c if character::is_tag(c) => {
            let plain = u32::from(c).checked_sub(0xe_0000).and_then(char::from_u32);
            Some((c.len_utf8(), plain.filter(char::is_ascii_graphic)))
        }
        c if character::is_invisible(c) || character::is_control(c) || character::is_mark(c) => {
            Some((c.len_utf8(), None))
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some((3, Some('-'))),
        c => unstyled_letter(c).map(|plain| (c.len_utf8(), Some(plain))),
    }
}

/// The ASCII character that another is a styled copy of (UAX #15, compatibility decomposition).
fn unstyled_letter(c: char) -> Option<char> {
    let (mut plain, mut count) = (None, 0_usize);
    decompose_compatible(c, |part| {
        plain = Some(part);
        count = count.saturating_add(1);
    });
    plain.filter(|plain| count == 1 && *plain != c && plain.is_ascii_graphic())
}

/// `\x73`, `\163`, `\u0073`, `\u{73}`, `\U00000073`, `\n` and `\-`. Behind any number of backslashes, since each
/// language that quotes another doubles them.
fn escape_sign(text: &str) -> Option<(usize, Option<char>)> {
    let rest = text.trim_start_matches('\\');
    let slashes = text.len().saturating_sub(rest.len());
    let digits = |from: usize, most: usize, radix: u32| {
        let digits = rest.get(from..)?;
        let count = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        digits.get(..count)
    };
    let exactly = |count: usize| digits(1, count, 16).filter(|digits| digits.len() == count);
    let (length, meaning) = match rest.chars().next()? {
        'x' => (3, ascii(exactly(2)?, 16)?),
        'u' if rest.starts_with("u{") => {
            let digits = digits(2, 6, 16)?;
            let end = digits.len().saturating_add(2);
            (end.saturating_add(1), rest.get(end..)?.starts_with('}').then(|| ascii(digits, 16)).flatten()?)
        }
        'u' => (5, ascii(exactly(4)?, 16)?),
        'U' => (9, ascii(exactly(8)?, 16)?),
        first @ '0'..='7' => {
            // C reads three digits, shells four behind a zero.
            let digits = digits(0, if first == '0' { 4 } else { 3 }, 8)?;
            (digits.len(), ascii(digits, 8)?)
        }
        'n' | 'r' => (1, '\n'),
        't' | 'b' | 'f' | 'v' | 'a' => (1, ' '),
        c @ ('-' | '_' | '.') => (1, c),
        _ => return None,
    };
    Some((slashes.saturating_add(length), Some(meaning)))
}

/// The ASCII character with this number.
fn ascii(digits: &str, radix: u32) -> Option<char> {
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    let code = is_number.then(|| u32::from_str_radix(digits, radix).ok()).flatten()?;
    char::from_u32(code).filter(char::is_ascii)
}

/// The length of a short tag or comment of HTML that is followed by more of a word.
fn parting_tag(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    let begins = inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
    let end = inside.bytes().take(LONGEST_TAG).position(|byte| matches!(byte, b'>' | b'<'))?;
    let behind = inside.get(end..)?.strip_prefix('>')?;
    let goes_on = behind.starts_with(|c: char| !(c.is_ascii_whitespace() || ",;:()>".contains(c)));
    (begins && goes_on).then(|| end.saturating_add(2))
}

/// Credentials with the same separator between all of their characters: `s.k.-.a.n.t`.
fn find_parted_credentials(text: &str) -> Vec<Credential> {
    let mut found = Vec::new();
    let mut at = 0_usize;
    while let Some((start, between)) = next_parted(text, at) {
        let (joined, places) = join_parted(text, start, between);
        // The last character may begin the next one.
        at = places.last().map_or(text.len(), |last| (*last).max(start.saturating_add(1)));
        if joined.len() < SHORTEST {
            continue;
        }
        found.extend(shapes(&joined).into_iter().filter_map(|one| {
            let last = *places.get(one.span.end.checked_sub(1)?)?;
            Some(Credential { span: Span::new(*places.get(one.span.start)?, last.saturating_add(1)), ..one })
        }));
    }
    found
}

/// The place, from `from` on, of two separated characters with which a credential may begin, and the text between them.
fn next_parted(text: &str, from: usize) -> Option<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let is_first = |byte: &u8| matches!(byte, b'A' | b's' | b'g' | b'x' | b'e');
        at = at.saturating_add(bytes.get(at..)?.iter().position(is_first)?);
        if !may_be_parted(bytes.get(at..)?) {
            at = at.saturating_add(1);
            continue;
        }
        let rest = text.get(at.saturating_add(1)..)?;
        let length: usize = rest.chars().take(MOST_BETWEEN).take_while(|c| is_between(*c)).map(char::len_utf8).sum();
        let is_second = |second: &u8| bytes.get(at).is_some_and(|first| is_start(*first, *second));
        if length > 0 && rest.as_bytes().get(length).is_some_and(is_second) && is_boundary(bytes, at) {
            return Some((at, rest.get(..length)?));
        }
        at = at.saturating_add(1);
    }
}

/// Whether a parted credential may begin: hardly any text does, and [`next_parted`] looks closer.
fn may_be_parted(text: &[u8]) -> bool {
    match text {
        [first, between, second, ..] if !between.is_ascii_alphanumeric() => {
            is_start(*first, *second) || !second.is_ascii_alphanumeric()
        }
        _ => false,
    }
}

fn is_between(c: char) -> bool {
    !c.is_alphanumeric()
}

/// The characters from `start` on that have `between` between them, joined, and where each is.
fn join_parted(text: &str, start: usize, between: &str) -> (String, Vec<usize>) {
    let (mut joined, mut places) = (String::new(), Vec::new());
    let mut at = start;
    while let Some(byte) = text.as_bytes().get(at).filter(|byte| byte.is_ascii_graphic()) {
        joined.push(char::from(*byte));
        places.push(at);
        at = at.saturating_add(1);
        match text.get(at..).is_some_and(|rest| rest.starts_with(between)) {
            true => at = at.saturating_add(between.len()),
            false => break,
        }
    }
    (joined, places)
}
