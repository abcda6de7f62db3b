//! Makes characters of bytes.
//!
//! Invariants: every input makes a text; what stands for no character is U+FFFD in it, and counted.
//! A byte-order mark decides over what a header declares, as in browsers and mail programs.

use std::{borrow::Cow, str};

use mail_parser::decoders::charsets::map::charset_decoder;

/// A text, and how it was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CharsetDecoding {
    pub(crate) text: String,
    /// The number of bytes before the text if it stands in the bytes as it is.
    pub(super) verbatim_from: Option<usize>,
    /// How many U+FFFD were put into it.
    pub(super) replaced: usize,
    /// The declared character set, if nobody knows it; read as UTF-8 then.
    pub(super) unknown: bool,
}

/// The text of `bytes`, in the `declared` character set unless a mark at the start says otherwise.
/// Without either, UTF-8, or UTF-16 if every second byte of Latin text would be zero.
pub(crate) fn decode(bytes: &[u8], declared: Option<&str>) -> CharsetDecoding {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return utf8(rest, 3);
    }
    match bytes {
        [0xff, 0xfe, rest @ ..] => return other(rest, "utf-16le"),
        [0xfe, 0xff, rest @ ..] => return other(rest, "utf-16be"),
        _ => {}
    }
    match declared.map(str::trim).filter(|name| !name.is_empty()) {
        None => match utf16_without_mark(bytes) {
            Some(name) => other(bytes, name),
            None => utf8(bytes, 0),
        },
        Some(name) if ["utf-8", "utf8", "us-ascii", "ascii"].iter().any(|utf8| name.eq_ignore_ascii_case(utf8)) => {
            utf8(bytes, 0)
        }
        Some(name) => other(bytes, name),
    }
}

fn utf8(bytes: &[u8], before: usize) -> CharsetDecoding {
    let (text, replaced) = match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => (text.to_owned(), 0),
        Cow::Owned(text) => {
            let own = bytes.windows(3).filter(|window| *window == b"\xef\xbf\xbd").count();
            let replaced = replacements(&text).saturating_sub(own);
            (text, replaced)
        }
    };
    CharsetDecoding { text, verbatim_from: (replaced == 0).then_some(before), replaced, unknown: false }
}

fn other(bytes: &[u8], name: &str) -> CharsetDecoding {
    let Some(decoder) = charset_decoder(name.as_bytes()) else {
        return CharsetDecoding { unknown: true, ..utf8(bytes, 0) };
    };
    let is_utf7 = name.to_ascii_lowercase().ends_with("utf-7") || name.eq_ignore_ascii_case("csutf7");
    let mut text = if is_utf7 { decoder(&[bytes, b"\n"].concat()) } else { decoder(bytes) };
    // An encoded run that nothing ends would be left out without the line break.
    if is_utf7 && text.ends_with('\n') {
        text.pop();
    }
    let half = name.to_ascii_lowercase().starts_with("utf-16") && !bytes.len().is_multiple_of(2);
    let replaced = replacements(&text).saturating_add(usize::from(half));
    CharsetDecoding { text, verbatim_from: None, replaced, unknown: false }
}

fn replacements(text: &str) -> usize {
    text.matches(char::REPLACEMENT_CHARACTER).count()
}

/// How much of the beginning is looked at.
const SAMPLE: usize = 4096;

/// UTF-16 without a mark: at least four of five bytes on one side are zero, none on the other.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static str> {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let zeros = |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    let mostly = |count: usize| pairs >= 2 && count.saturating_mul(5) >= pairs.saturating_mul(4);
    match (even, odd) {
        (0, odd) if mostly(odd) => Some("utf-16le"),
        (even, 0) if mostly(even) => Some("utf-16be"),
        _ => None,
    }
}

/// The text of a source file: UTF-8, UTF-16 with or without its mark, or else Windows-1252, which sources in no
/// declared character set are most often in. `None` for what is no text.
#[must_use]
pub fn source_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = str::from_utf8(bytes)
        && !text.contains('\0')
    {
        return Some(Cow::Borrowed(text));
    }
    let decoded = decode(bytes, None);
    if is_binary(bytes, &decoded) {
        return None;
    }
    // Text that has characters beyond ASCII in UTF-8 is UTF-8, and damaged in places.
    let is_other =
        decoded.replaced > 0 && decoded.text.chars().all(|c| c.is_ascii() || c == char::REPLACEMENT_CHARACTER);
    Some(Cow::Owned(if is_other { decode(bytes, Some("windows-1252")).text } else { decoded.text }))
}

/// Whether bytes of no declared character set are something other than text: more than a tenth of
/// what they decode to is U+FFFD or a control character.
pub(super) fn is_binary(bytes: &[u8], decoded: &CharsetDecoding) -> bool {
    if decoded.replaced == 0 && !bytes.contains(&0) {
        return false;
    }
    let is_control = |c: &char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1b}');
    let mut all = 0_usize;
    let mut odd = 0_usize;
    for c in decoded.text.chars() {
        all = all.saturating_add(1);
        odd = odd.saturating_add(usize::from(c == char::REPLACEMENT_CHARACTER || is_control(&c)));
    }
    odd.saturating_mul(10) > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], declared: Option<&str>, text: &str, verbatim_from: Option<usize>, replaced: usize) {
        let expected = CharsetDecoding { text: text.to_owned(), verbatim_from, replaced, unknown: false };
        assert_eq!(decode(bytes, declared), expected, "{bytes:?} {declared:?}");
    }

    #[test]
    fn every_input_makes_a_text() {
        check(b"", None, "", Some(0), 0);
        check("caf\u{e9} \u{fffd}".as_bytes(), None, "caf\u{e9} \u{fffd}", Some(0), 0);
        check(b"\xef\xbb\xbfab", Some("iso-8859-1"), "ab", Some(3), 0);
        check(b"caf\xe9", None, "caf\u{fffd}", None, 1);
        check(b"\xef\xbf\xbd\xff", None, "\u{fffd}\u{fffd}", None, 1);
        check(b"caf\xe9", Some(" ISO-8859-1 "), "caf\u{e9}", None, 0);
        check(b"\xff\xfea\0b\0", None, "ab", None, 0);
        check(b"\xfe\xff\0a\0", Some("utf-8"), "a", None, 1);
        check(b"a\0b\0c\0d\0", None, "abcd", None, 0);
        check(b"\0a\0b\0c", None, "abc", None, 0);
        check(b"a\0", None, "a\0", Some(0), 0);
        check(b"\x83n\x83\x8d\x81[", Some("shift_jis"), "ハロー", None, 0);
        check(b"Hi +AGkAZw-!", Some("utf-7"), "Hi ig!", None, 0);
        check(b"Hi +AGkAZw", Some("UTF-7"), "Hi ig", None, 0);
        assert!(decode(b"ab", Some("x-none")).unknown);
    }

    #[test]
    fn sources_are_read_whatever_they_are_in() {
        let utf16: Vec<u8> = "fn größe() {}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, expected) in [
            ("fn größe() {}".as_bytes(), Some("fn größe() {}")),
            (b"fn gr\xf6\xdfe() {}", Some("fn größe() {}")),
            (&[b"\xff\xfe".as_slice(), &utf16].concat(), Some("fn größe() {}")),
            (&utf16, Some("fn größe() {}")),
            ("fn größe() {} \u{fffd}".as_bytes(), Some("fn größe() {} \u{fffd}")),
            (b"gr\xc3\xb6\xc3\x9fe, and one \xff amid many words", Some("größe, and one \u{fffd} amid many words")),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01", None),
        ] {
            assert_eq!(source_text(bytes).as_deref(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn binary_is_told_from_text() {
        for (bytes, expected) in [
            (&b"plain"[..], false),
            (b"\x1b[31mred\x1b[0m", false),
            (b"a line with one \0 in it, and more words", false),
            (b"caf\xe9 and other words", false),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01", true),
            (b"\0\0\0\0", true),
            (b"i\0g\0n\0o\0r\0e\0", false),
        ] {
            assert_eq!(is_binary(bytes, &decode(bytes, None)), expected, "{bytes:?}");
        }
    }
}
