//! Puts encoded words (RFC 2047) together that the library would read wrongly.
//!
//! Some programs cut a character in two between words, and name character sets by numbers that only Windows knows. Such
//! words are decoded here and written again as words in UTF-8. All others stay as they are.

use std::borrow::Cow;

use super::{super::charset, transfer};

/// The most bytes of one rewritten word, before they are escaped.
const WORD_BYTES: usize = 24;

/// One encoded word.
#[derive(Debug, Clone, Copy)]
struct EncodedWord<'a> {
    charset: &'a str,
    /// `B` or `Q`.
    encoding: u8,
    text: &'a [u8],
}

/// The header's value with each run of words in one character set that needs it written anew.
pub(super) fn rewrite_encoded_words(value: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Vec<u8> = Vec::new();
    let (mut kept, mut at, mut is_changed) = (0_usize, 0_usize, false);
    while let Some(found) = value.get(at..).and_then(|rest| rest.windows(2).position(|pair| pair == b"=?")) {
        let start = at.saturating_add(found);
        let (words, end) = run_of_words(value, start);
        let Some(first) = words.first() else {
            at = start.saturating_add(2);
            continue;
        };
        if words.len() > 1 || charset::is_alias(first.charset) {
            let bytes: Vec<u8> = words.iter().flat_map(EncodedWord::bytes).collect();
            let decoded = charset::decode_charset(&bytes, Some(first.charset));
            out.extend_from_slice(value.get(kept..start).unwrap_or_default());
            write_words(&decoded.text, &mut out);
            (kept, is_changed) = (end, true);
        }
        at = end;
    }
    if !is_changed {
        return Cow::Borrowed(value);
    }
    out.extend_from_slice(value.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// Adjacent words from `start` on in one character set and encoding, and where the last one ends.
fn run_of_words(value: &[u8], start: usize) -> (Vec<EncodedWord<'_>>, usize) {
    let mut words: Vec<EncodedWord<'_>> = Vec::new();
    let (mut next, mut end) = (start, start);
    while let Some((word, after)) = word_at(value, next) {
        if words.first().is_some_and(|first| !first.charset.eq_ignore_ascii_case(word.charset)) {
            break;
        }
        words.push(word);
        end = after;
        let rest = value.get(after..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        next = after.saturating_add(blank);
    }
    (words, end)
}

/// The word that starts at `start`, and where it ends.
fn word_at(value: &[u8], start: usize) -> Option<(EncodedWord<'_>, usize)> {
    let rest = value.get(start..)?.strip_prefix(b"=?")?;
    let first = rest.iter().position(|byte| *byte == b'?')?;
    let charset = std::str::from_utf8(rest.get(..first)?).ok()?;
    // RFC 2231, section 5: a language may follow.
    let charset = charset.split('*').next()?;
    let encoding = rest.get(first.saturating_add(1))?.to_ascii_uppercase();
    if !matches!(encoding, b'B' | b'Q') || rest.get(first.saturating_add(2)) != Some(&b'?') {
        return None;
    }
    let from = first.saturating_add(3);
    let len = rest.get(from..)?.windows(2).position(|pair| pair == b"?=")?;
    let text = rest.get(from..from.saturating_add(len))?;
    let is_plain = !charset.is_empty() && !text.iter().any(u8::is_ascii_whitespace);
    let end = start.saturating_add(2).saturating_add(from).saturating_add(len).saturating_add(2);
    is_plain.then_some((EncodedWord { charset, encoding, text }, end))
}

impl EncodedWord<'_> {
    fn bytes(&self) -> Vec<u8> {
        if self.encoding == b'B' {
            return transfer::lenient_base64(self.text);
        }
        let spaced: Vec<u8> = self.text.iter().map(|byte| if *byte == b'_' { b' ' } else { *byte }).collect();
        transfer::lenient_quoted_printable(&spaced)
    }
}

/// Writes a text as words that cut no character.
fn write_words(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    let mut is_first = true;
    while !rest.is_empty() {
        let end = match rest.floor_char_boundary(WORD_BYTES) {
            0 => rest.len(),
            end => end,
        };
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if !std::mem::take(&mut is_first) {
            out.push(b' ');
        }
        out.extend_from_slice(b"=?utf-8?Q?");
        for byte in part.bytes() {
            out.extend_from_slice(format!("={byte:02X}").as_bytes());
        }
        out.extend_from_slice(b"?=");
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::super::headers;

    #[test]
    fn words_that_belong_together_are_read_together() {
        for (value, expected) in [
            // `ü` in two halves, in both encodings.
            (&b" =?utf-8?B?SsM=?= =?utf-8?B?vHJnZW4=?="[..], "J\u{fc}rgen"),
            (b" =?utf-8?Q?J=C3?=\r\n =?UTF-8?Q?=BCrgen?=", "J\u{fc}rgen"),
            (b" =?utf-8?Q?J=C3?= =?utf-8?B?vHJnZW4=?=", "J\u{fc}rgen"),
            (b" =?cp932?B?lFuK+g==?=", "\u{7d0d}\u{671f}"),
            (b" Re: =?windows-31j?B?lFuK+g==?= (2)", "Re: \u{7d0d}\u{671f} (2)"),
            (b" =?utf-8?Q?a_b?= =?utf-8?Q?c?= d", "a bc d"),
            (b" =?iso-8859-1?Q?caf=E9?= =?utf-8?Q?=C3=A9?=", "caf\u{e9}\u{e9}"),
            (b" =?utf-8?Q?one?=", "one"),
            (b" =?none", "=?none"),
        ] {
            assert_eq!(headers::header_text(value), expected, "{}", String::from_utf8_lossy(value));
        }
        let long = "\u{e9}".repeat(200);
        let words: String = long.bytes().map(|byte| format!("={byte:02X}")).collect();
        let (one, other) = words.split_at(9);
        let value = format!(" =?utf-8?Q?{one}?= =?utf-8?Q?{other}?=");
        assert_eq!(headers::header_text(value.as_bytes()), long);
    }
}
