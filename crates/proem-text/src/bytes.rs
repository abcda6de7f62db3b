//! Makes text of bytes that should be UTF-8 and aren't.
//!
//! Invariant: paths that differ make texts that differ.

use alloc::borrow::Cow;
use alloc::string::String;

/// A path as text: itself if it is UTF-8, otherwise as git quotes it, between `"` and with octal escapes such as `\365`
/// for the bytes that are no text (git-config(1), `core.quotePath`).
#[must_use]
pub fn path_as_text(bytes: &[u8]) -> String {
    match core::str::from_utf8(bytes) {
        // A path that begins like a quoted one is quoted, so that it isn't taken for another.
        Ok(path) if !path.starts_with('"') => String::from(path),
        _ => quote_like_git(bytes),
    }
}

fn quote_like_git(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                _ => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            let digits = [byte >> 6, (byte >> 3) & 7, byte & 7];
            text.push('\\');
            text.extend(digits.map(|digit| char::from(b'0'.saturating_add(digit))));
        }
    }
    text.push('"');
    text
}

/// A name or message as text: UTF-8, or else Latin-1, which most old commits without a declared encoding are in.
#[must_use]
pub fn legacy_text(bytes: &[u8]) -> Cow<'_, str> {
    match core::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) if String::from_utf8_lossy(bytes).chars().all(|c| c.is_ascii() || c == char::REPLACEMENT_CHARACTER) => {
            Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect())
        }
        // Most of it is UTF-8, so the rest is damaged.
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_text_is_quoted_as_git_quotes_it() {
        for (bytes, expected) in [
            (&b"src/a b.py"[..], "src/a b.py"),
            ("src/größe.py".as_bytes(), "src/größe.py"),
            (b"src/f\xf5rmat.py", "\"src/f\\365rmat.py\""),
            (b"gr\xc3\xb6\xdfe\t\"\\x", "\"gr\u{f6}\\337e\\t\\\"\\\\x\""),
            (b"\"quoted\"", "\"\\\"quoted\\\"\""),
            (b"\xff\xfe", "\"\\377\\376\""),
        ] {
            assert_eq!(path_as_text(bytes), expected);
        }
    }

    #[test]
    fn a_name_is_utf_8_or_latin_1() {
        assert_eq!(legacy_text(b"J\xf6rg"), "Jörg");
        assert_eq!(legacy_text("Jörg".as_bytes()), "Jörg");
        assert_eq!(legacy_text(b"J\xc3\xb6rg \xff"), "Jörg \u{fffd}");
    }
}
