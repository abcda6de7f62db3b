//! A text as it is read: without JSON's escapes and percent-encoding.
//!
//! A text that is no escape stays as it is, so that a text of any kind has its views.

use memchr::memchr;
use proem_text::hex::{hex_byte, hex_digit};

/// How many layers of encoding are taken off.
pub(super) const LAYERS: usize = 3;

/// The first finding of `look` in the text or in a view of it.
pub(super) fn any(text: &[u8], look: &mut dyn FnMut(&[u8]) -> Option<usize>) -> Option<usize> {
    layers(text, LAYERS, look)
}

fn layers(text: &[u8], left: usize, look: &mut dyn FnMut(&[u8]) -> Option<usize>) -> Option<usize> {
    let found = look(text);
    if found.is_some() || left == 0 {
        return found;
    }
    for view in ENCODINGS.into_iter().filter_map(|encoding| decode_escapes(text, encoding)) {
        let found = layers(&view, left.saturating_sub(1), look);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The reading of an escape: the number of bytes behind its mark, and the bytes that it encodes.
pub(super) struct EscapeSequence {
    pub(super) length: usize,
    bytes: [u8; 4],
    used: usize,
}

impl EscapeSequence {
    const fn byte(length: usize, byte: u8) -> Self {
        Self { length, bytes: [byte, 0, 0, 0], used: 1 }
    }

    fn char(length: usize, c: char) -> Self {
        let mut bytes = [0; 4];
        let used = c.encode_utf8(&mut bytes).len();
        Self { length, bytes, used }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

/// How a text may be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// With JSON's escapes.
    Json,
    /// Percent-encoded.
    Percent,
}

/// All encodings, in the order in which they are taken off.
pub(super) const ENCODINGS: [Encoding; 2] = [Encoding::Json, Encoding::Percent];

impl Encoding {
    /// The mark of its escapes.
    pub(super) const fn mark(self) -> u8 {
        match self {
            Self::Json => b'\\',
            Self::Percent => b'%',
        }
    }

    /// The escape that `rest` completes behind a mark.
    pub(super) fn escape(self, rest: &[u8]) -> Option<EscapeSequence> {
        match self {
            Self::Json => json_escape(rest),
            Self::Percent => match rest {
                [high, low, ..] => Some(EscapeSequence::byte(2, hex_byte([*high, *low])?)),
                _ => None,
            },
        }
    }

    /// Whether what follows `rest` decides if that completes an escape behind a mark, or which.
    pub(super) fn is_open(self, rest: &[u8]) -> bool {
        let is_unit_open = |digits: &[u8]| digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit);
        match (self, rest) {
            (_, []) => true,
            (Self::Percent, rest) => matches!(rest, [digit] if digit.is_ascii_hexdigit()),
            // The first half of a pair says nothing without the other.
            (Self::Json, [b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', c, d, second @ ..])
                if c.is_ascii_hexdigit() && d.is_ascii_hexdigit() =>
            {
                match second {
                    [] | [b'\\'] => true,
                    [b'\\', b'u', digits @ ..] => is_unit_open(digits),
                    _ => false,
                }
            }
            (Self::Json, [b'u', digits @ ..]) => is_unit_open(digits),
            (Self::Json, _) => false,
        }
    }
}

fn json_escape(rest: &[u8]) -> Option<EscapeSequence> {
    match rest {
        [b'b', ..] => Some(EscapeSequence::byte(1, 8)),
        [b't', ..] => Some(EscapeSequence::byte(1, b'\t')),
        [b'n', ..] => Some(EscapeSequence::byte(1, b'\n')),
        [b'f', ..] => Some(EscapeSequence::byte(1, 12)),
        [b'r', ..] => Some(EscapeSequence::byte(1, b'\r')),
        [byte @ (b'"' | b'\\' | b'/'), ..] => Some(EscapeSequence::byte(1, *byte)),
        [b'u', ..] => {
            let first = utf16_unit(rest)?;
            let second = rest.get(5..).and_then(|rest| utf16_unit(rest.strip_prefix(b"\\")?));
            let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
            match pair {
                Some(c) if u32::from(c) > 0xffff => Some(EscapeSequence::char(11, c)),
                _ => Some(EscapeSequence::char(5, char::from_u32(u32::from(first))?)),
            }
        }
        _ => None,
    }
}

/// The UTF-16 unit of `uXXXX`.
fn utf16_unit(text: &[u8]) -> Option<u16> {
    match text {
        [b'u', a, b, c, d, ..] => [a, b, c, d]
            .into_iter()
            .try_fold(0, |unit: u16, digit| Some(unit.wrapping_shl(4) | u16::from(hex_digit(*digit)?))),
        _ => None,
    }
}

/// The text without the escapes of an encoding. `None` if it has none.
fn decode_escapes(text: &[u8], encoding: Encoding) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut rest = text;
    // The rest that was not copied yet.
    let mut kept = text;
    while let Some(at) = memchr(encoding.mark(), rest) {
        let after = rest.get(at.saturating_add(1)..).unwrap_or_default();
        let Some(escape) = encoding.escape(after) else {
            rest = after;
            continue;
        };
        let before = kept.len().saturating_sub(after.len()).saturating_sub(1);
        let out = out.get_or_insert_with(|| Vec::with_capacity(text.len()));
        out.extend_from_slice(kept.get(..before).unwrap_or_default());
        out.extend_from_slice(escape.bytes());
        rest = after.get(escape.length..).unwrap_or_default();
        kept = rest;
    }
    let mut out = out?;
    out.extend_from_slice(kept);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views() {
        for (text, as_json, as_percent) in [
            ("plain", None, None),
            (r#"a\"b\\c\/d"#, Some(r#"a"b\c/d"#), None),
            (r"\u0041\ud83d\ude00\u00e9", Some("A😀é"), None),
            (r"\ud83d \u00g1 \x \", None, None),
            (r"\ud83d\u0041", Some(r"\ud83dA"), None),
            ("%41%c3%A9", None, Some("Aé")),
            ("100% %4 %zz %", None, None),
            ("%%41", None, Some("%A")),
            (r"\n%0a", Some("\n%0a"), Some("\\n\n")),
        ] {
            for (encoding, expected) in [(Encoding::Json, as_json), (Encoding::Percent, as_percent)] {
                assert_eq!(decode_escapes(text.as_bytes(), encoding).as_deref(), expected.map(str::as_bytes), "{text}");
            }
        }
    }
}
