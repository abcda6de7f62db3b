//! Escapes of string literals: `\u0069`, `\U00000069`, `\u{69}`, `\x69`.

use super::{
    draft::{DerivedReading, ReadingDraft, ReadingSource},
    percent::replace_utf8,
};
use alloc::{string::String, vec::Vec};
use proem_text::{Span, hex::hex_byte};

/// The text with its escapes decoded. Surrogates that aren't a pair become U+FFFD.
pub(super) fn read_escapes(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(source);
    let mut at = 0usize;
    while let Some(found) = source.text.get(at..).and_then(|rest| rest.find('\\')) {
        let start = at.saturating_add(found);
        let rest = source.text.get(start..).unwrap_or_default();
        let bytes = run_of_bytes(rest.as_bytes());
        if !bytes.is_empty() {
            replace_utf8(&mut draft, &bytes, start, 4);
            at = start.saturating_add(bytes.len().saturating_mul(4));
            continue;
        }
        let Some((c, length)) = escaped_character(rest) else {
            at = start.saturating_add(1);
            continue;
        };
        at = start.saturating_add(length);
        draft.replace(Span::new(start, at), &String::from(c));
    }
    draft.finish()
}

/// The bytes of the `\x69` that follow each other at the start.
fn run_of_bytes(text: &[u8]) -> Vec<u8> {
    let (escapes, _) = text.as_chunks::<4>();
    let escapes = escapes.iter().map_while(|escape| match escape {
        [b'\\', b'x', high, low] => hex_byte([*high, *low]),
        _ => None,
    });
    escapes.collect()
}

/// The character that an escape at the start represents, and the escape's length.
fn escaped_character(text: &str) -> Option<(char, usize)> {
    let (code, length) = escape_code(text)?;
    let low = || text.get(length..).and_then(self::escape_code).filter(|(low, _)| matches!(low, 0xdc00..=0xdfff));
    if matches!(code, 0xd800..=0xdbff)
        && let Some((low, more)) = low()
    {
        let units = [code, low].map(|unit| u16::try_from(unit).unwrap_or_default());
        let c = char::decode_utf16(units).next().and_then(Result::ok)?;
        return Some((c, length.saturating_add(more)));
    }
    Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), length))
}

/// The number in an escape at the start, and the escape's length.
fn escape_code(text: &str) -> Option<(u32, usize)> {
    let (digits, around) = if let Some(rest) = text.strip_prefix("\\u{") {
        let end = rest.bytes().take(7).position(|byte| byte == b'}')?;
        (rest.get(..end)?, 4)
    } else if let Some(rest) = text.strip_prefix("\\u") {
        (rest.get(..4)?, 2)
    } else {
        (text.strip_prefix("\\U")?.get(..8)?, 2)
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
    Some((code, digits.len().saturating_add(around)))
}
