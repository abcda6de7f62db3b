//! A text as it is read: without JSON's escapes and percent-encoding.
//!
//! What is no escape stays as it is, so that a text of any kind has its views.

use memchr::memchr;

/// How many layers of encoding are taken off.
const LAYERS: usize = 3;

/// What `look` first finds in the text or in a view of it.
pub(super) fn any(text: &[u8], look: &mut dyn FnMut(&[u8]) -> Option<usize>) -> Option<usize> {
    layers(text, LAYERS, look)
}

fn layers(text: &[u8], left: usize, look: &mut dyn FnMut(&[u8]) -> Option<usize>) -> Option<usize> {
    let found = look(text);
    if found.is_some() || left == 0 {
        return found;
    }
    for view in [json(text), percent(text)].into_iter().flatten() {
        let found = layers(&view, left.saturating_sub(1), look);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether `look` says so of the text, or of a view of it, as the beginning of a longer one: what may be an escape that
/// has not ended counts as nothing.
pub(super) fn any_beginning(text: &[u8], look: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    beginnings(text, LAYERS, look)
}

fn beginnings(text: &[u8], left: usize, look: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let ended = without_open_escape(text);
    if look(text) || (ended.len() < text.len() && look(ended)) {
        return true;
    }
    left > 0
        && [json(ended), percent(ended)]
            .into_iter()
            .flatten()
            .any(|view| beginnings(&view, left.saturating_sub(1), look))
}

/// The text without an escape at its end that more text may complete.
fn without_open_escape(text: &[u8]) -> &[u8] {
    let mut ended = text;
    loop {
        let open = ended.iter().rposition(|byte| matches!(byte, b'\\' | b'%')).filter(|at| {
            match ended.get(*at..).unwrap_or_default() {
                [b'\\' | b'%'] => true,
                [b'%', digit] => digit.is_ascii_hexdigit(),
                [b'\\', b'u', digits @ ..] => {
                    let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
                    // The first half of a pair says nothing without the other.
                    is_hexadecimal && (digits.len() < 4 || (digits.len() == 4 && is_first_half(digits)))
                }
                _ => false,
            }
        });
        match open.and_then(|at| ended.get(..at)) {
            Some(rest) => ended = rest,
            None => return ended,
        }
    }
}

/// Whether four digits are those of the first unit of a pair.
const fn is_first_half(digits: &[u8]) -> bool {
    matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..])
}

/// What an escape says: how many bytes it takes behind its mark, and the bytes that it stands for.
struct EscapeSequence {
    length: usize,
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

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

/// The text without JSON's escapes; `None` if it has none.
fn json(text: &[u8]) -> Option<Vec<u8>> {
    decode(text, b'\\', |rest| match rest {
        [b'b', ..] => Some(EscapeSequence::byte(1, 8)),
        [b't', ..] => Some(EscapeSequence::byte(1, b'\t')),
        [b'n', ..] => Some(EscapeSequence::byte(1, b'\n')),
        [b'f', ..] => Some(EscapeSequence::byte(1, 12)),
        [b'r', ..] => Some(EscapeSequence::byte(1, b'\r')),
        [byte @ (b'"' | b'\\' | b'/'), ..] => Some(EscapeSequence::byte(1, *byte)),
        [b'u', ..] => {
            let first = unit(rest)?;
            let second = rest.get(5..).and_then(|rest| unit(rest.strip_prefix(b"\\")?));
            let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
            match pair {
                Some(c) if u32::from(c) > 0xffff => Some(EscapeSequence::char(11, c)),
                _ => Some(EscapeSequence::char(5, char::from_u32(u32::from(first))?)),
            }
        }
        _ => None,
    })
}

/// The UTF-16 unit of `uXXXX`.
fn unit(text: &[u8]) -> Option<u16> {
    match text {
        [b'u', a, b, c, d, ..] => [a, b, c, d]
            .into_iter()
            .try_fold(0, |unit: u16, digit| Some(unit.wrapping_shl(4) | u16::from(hexadecimal(*digit)?))),
        _ => None,
    }
}

/// The text without percent-encoding; `None` if it has none.
fn percent(text: &[u8]) -> Option<Vec<u8>> {
    decode(text, b'%', |rest| match rest {
        [high, low, ..] => Some(EscapeSequence::byte(2, hexadecimal(*high)?.wrapping_shl(4) | hexadecimal(*low)?)),
        _ => None,
    })
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Replaces what follows a `mark` by what `read` makes of it. `None` if nothing was replaced.
fn decode(text: &[u8], mark: u8, read: impl Fn(&[u8]) -> Option<EscapeSequence>) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut rest = text;
    // What was not copied yet, from its start.
    let mut kept = text;
    while let Some(at) = memchr(mark, rest) {
        let after = rest.get(at.saturating_add(1)..).unwrap_or_default();
        let Some(escape) = read(after) else {
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
            assert_eq!(json(text.as_bytes()).as_deref(), as_json.map(str::as_bytes), "{text}");
            assert_eq!(percent(text.as_bytes()).as_deref(), as_percent.map(str::as_bytes), "{text}");
        }
    }
}
