//! Makes characters of bytes.
//!
//! Invariants: every input makes a text; what represents no character is U+FFFD in it, and counted. A byte-order mark
//! decides over what a header declares, as in browsers and mail programs.

use std::{borrow::Cow, str};

use mail_parser::decoders::charsets::map::charset_decoder;

/// A text, and how it was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CharsetDecoding {
    pub(crate) text: String,
    /// The number of bytes before the text if it is in the bytes as it is.
    pub(super) verbatim_from: Option<usize>,
    /// How many U+FFFD were put into it.
    pub(super) replaced: usize,
    /// The declared character set, if nobody knows it. Read as UTF-8 then.
    pub(super) unknown: bool,
}

/// The text of `bytes`, in the `declared` character set unless a mark at the start says otherwise.
/// Without either, UTF-8, or UTF-16 if every second byte of Latin text would be zero.
pub(crate) fn decode_charset(bytes: &[u8], declared: Option<&str>) -> CharsetDecoding {
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
    let name = alias(name).unwrap_or(name);
    if name.eq_ignore_ascii_case("utf-8") {
        return utf8(bytes, 0);
    }
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

/// Whether a character set goes by a name that only Windows or some mail programs use.
pub(super) fn is_alias(name: &str) -> bool {
    alias(name).is_some()
}

/// The registered name of a character set that Windows numbers (Microsoft, "Code page identifiers",
/// <https://learn.microsoft.com/en-us/windows/win32/intl/code-page-identifiers>) or that old programs misspell.
fn alias(name: &str) -> Option<&'static str> {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    // The empty prefix is last: `cp1252` must lose `cp`, and a bare `1252` has nothing to lose.
    let number = ["windows", "win", "ibm", "xcp", "cp", "ms", ""].into_iter().find_map(|prefix| {
        name.strip_prefix(prefix).filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    });
    Some(match number.unwrap_or(&name) {
        "932" | "943" | "31j" | "windows31j" | "cswindows31j" | "mskanji" | "xsjis" | "sjis" | "xmscp932" => {
            "shift_jis"
        }
        "949" | "970" | "51949" | "uhc" | "xwindows949" | "ksc56011987" | "ksc5601" => "euc-kr",
        "936" | "xgbk" | "xcp936" => "gbk",
        "950" | "xxbig5" | "xbig5" => "big5",
        "54936" => "gb18030",
        "874" => "windows-874",
        "1250" => "windows-1250",
        "1251" => "windows-1251",
        "1252" | "ansi" | "xansi" => "windows-1252",
        "1253" => "windows-1253",
        "1254" => "windows-1254",
        "1255" => "windows-1255",
        "1256" => "windows-1256",
        "1257" => "windows-1257",
        "1258" => "windows-1258",
        "1200" => "utf-16le",
        "1201" => "utf-16be",
        "65000" => "utf-7",
        "65001" | "utf8mb4" | "unicode11utf8" | "xutf8" => "utf-8",
        "10000" => "macintosh",
        "20866" => "koi8-r",
        "21866" => "koi8-u",
        "20127" => "us-ascii",
        "28591" | "latin1" => "iso-8859-1",
        "28592" | "latin2" => "iso-8859-2",
        "28595" => "iso-8859-5",
        "28599" => "iso-8859-9",
        "28605" => "iso-8859-15",
        "50220" | "50221" | "50222" => "iso-2022-jp",
        "51932" | "20932" => "euc-jp",
        _ => return None,
    })
}

/// Bytes that nobody can read as text: what is UTF-8 as it is, each other byte as an escape such as `\xE9`. At most
/// [`MOST_ESCAPED`] bytes are written, and how many follow.
pub(super) fn escape_bytes(bytes: &[u8]) -> String {
    let kept = bytes.get(..MOST_ESCAPED).unwrap_or(bytes);
    let mut text = String::new();
    for chunk in kept.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' | '\r' | '\t' => text.push(c),
                c if c.is_control() => text.push_str(&format!("\\x{:02X}", u32::from(c))),
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02X}")));
    }
    if bytes.len() > kept.len() {
        text.push_str(&format!(" … {} bytes more", bytes.len().saturating_sub(kept.len())));
    }
    text
}

fn replacements(text: &str) -> usize {
    text.matches(char::REPLACEMENT_CHARACTER).count()
}

/// The most unreadable bytes that are written as escapes: more than a mail's text has.
const MOST_ESCAPED: usize = 128 * 1024;

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
    let decoded = decode_charset(bytes, None);
    // Text that has characters beyond ASCII in UTF-8 is UTF-8, and damaged in places.
    let is_other = decoded.replaced > 0
        && !bytes.contains(&0)
        && decoded.text.chars().all(|c| c.is_ascii() || c == char::REPLACEMENT_CHARACTER);
    if !is_other {
        return (!is_binary(bytes, &decoded)).then_some(Cow::Owned(decoded.text));
    }
    let text = decode_charset(bytes, Some("windows-1252")).text;
    let controls = text.chars().filter(|c| c.is_control() && !c.is_ascii_whitespace()).count();
    (controls.saturating_mul(10) <= text.len()).then_some(Cow::Owned(text))
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
        assert_eq!(decode_charset(bytes, declared), expected, "{bytes:?} {declared:?}");
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
        assert!(decode_charset(b"ab", Some("x-none")).unknown);
        for name in ["cp932", "CP-932", "windows-31j", "MS932", "x-sjis", "Shift_JIS"] {
            check(b"\x83n\x83\x8d\x81[", Some(name), "ハロー", None, 0);
        }
        check(b"caf\xe9", Some("win-1252"), "caf\u{e9}", None, 0);
        check("caf\u{e9}".as_bytes(), Some("cp65001"), "caf\u{e9}", Some(0), 0);
        check(b"\xc7\xd1", Some("ks_c_5601-1987"), "한", None, 0);
        check(b"\xef\xf0", Some("cp1251"), "пр", None, 0);
    }

    #[test]
    fn what_nobody_can_read_keeps_its_bytes() {
        assert_eq!(escape_bytes(b"caf\xe9\n\0 caf\xc3\xa9"), "caf\\xE9\n\\x00 caf\u{e9}");
        assert!(escape_bytes(&vec![0xff; MOST_ESCAPED + 3]).ends_with(" … 3 bytes more"));
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
            assert_eq!(is_binary(bytes, &decode_charset(bytes, None)), expected, "{bytes:?}");
        }
    }
}
