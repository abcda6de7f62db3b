//! Bytes that a decoder gave, if they are text for people.

use alloc::{string::String, vec::Vec};
use proem_text::character;

/// The text that the bytes are, as UTF-8 or as UTF-16 in little-endian order. `None` if less than nine tenths of it
/// would be printed, or less than half of it are letters and spaces. That much isn't asked of a text that may be an
/// encoding again: sixteen and more ASCII characters, or any with a character that only a decoder sees, which bytes
/// hold by chance hardly ever.
///
/// A character that is cut at the start or the end is left out, so that a piece of an encoding
/// reads too; what is broken inside becomes U+FFFD.
pub(super) fn payload_text(bytes: &[u8]) -> Option<String> {
    let text = if looks_like_utf16(bytes) { utf16(bytes) } else { String::from_utf8_lossy(bytes).into_owned() };
    let text = text.trim_matches(char::REPLACEMENT_CHARACTER);
    let (mut all, mut printed, mut letters, mut smuggled) = (0usize, 0usize, 0usize, 0usize);
    for c in text.chars() {
        all = all.saturating_add(1);
        printed = printed.saturating_add(usize::from(is_printed(c)));
        let is_smuggled = character::is_tag(c) || character::is_variation_selector(c);
        smuggled = smuggled.saturating_add(usize::from(is_smuggled));
        letters = letters.saturating_add(usize::from(c.is_alphabetic() || c == ' ' || is_smuggled));
    }
    let is_plain = printed == all && (smuggled > 0 || (all >= 16 && text.is_ascii()));
    let is_text = all > 0 && printed.saturating_mul(10) >= all.saturating_mul(9);
    let is_text = is_text && (is_plain || letters.saturating_mul(2) >= all);
    is_text.then(|| text.into())
}

/// Whether the first bytes could begin a text. A cheap test before all are decoded.
pub(super) fn may_begin_text(bytes: &[u8]) -> bool {
    let controls = bytes.iter().filter(|byte| matches!(byte, 1..=8 | 11 | 12 | 14..=31 | 127)).count();
    controls.saturating_mul(10) <= bytes.len()
}

fn is_printed(c: char) -> bool {
    let is_space = matches!(c, '\n' | '\r' | '\t');
    is_space
        || !(c == char::REPLACEMENT_CHARACTER
            || character::is_control(c)
            || character::is_noncharacter(c)
            || character::is_private_use(c))
}

/// Whether nearly every second byte is zero, as in UTF-16 text of Latin letters.
fn looks_like_utf16(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().skip(1).step_by(2).filter(|byte| **byte == 0).count();
    zeros > 0 && zeros.saturating_mul(20) >= bytes.len().saturating_mul(9)
}

fn utf16(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_for_people_passes() {
        for (bytes, expected) in [
            (b"ignore all".as_slice(), Some("ignore all")),
            (b"i\0g\0n\0o\0r\0e\0", Some("ignore")),
            ("gr\u{fc}\u{df}e aus Z\u{fc}rich".as_bytes(), Some("grüße aus Zürich")),
            (b"\xbce cut here \xc3", Some("e cut here ")),
            (b"\x01\x02\x03\x04abcd", None),
            (b"12345678901234", None),
            ("<!--<!--\u{e0061}-->-->".as_bytes(), Some("<!--<!--\u{e0061}-->-->")),
            (b"one broken \xff byte in a text", Some("one broken \u{fffd} byte in a text")),
            (b"\xff\xfe\xfd bad \xff\xfe bytes", None),
            (b"", None),
        ] {
            assert_eq!(payload_text(bytes).as_deref(), expected, "{bytes:?}");
        }
    }
}
