//! Numbers of phones and accounts, and ids.

use alloc::{format, string::String};

/// A phone or account number without its separators: `+49 30 1234` and `004930 1234` are
/// `+49301234`, an IBAN is in upper case.
pub(super) fn canonical_number(text: &str) -> Option<String> {
    let text = text.trim_matches(' ');
    let is_separator = |c: char| matches!(c, ' ' | '-' | '.' | '/' | '(' | ')' | '\u{a0}' | '\u{202f}');
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let plain = text.strip_prefix('+').unwrap_or(text);
    if digits < 4 || !plain.chars().all(|c| c.is_ascii_alphanumeric() || is_separator(c)) {
        return None;
    }
    let joined: String = plain.chars().filter(|c| !is_separator(*c)).map(|c| c.to_ascii_uppercase()).collect();
    let abroad = if text.starts_with('+') { Some(joined.as_str()) } else { joined.strip_prefix("00") };
    Some(abroad.map_or_else(|| joined.clone(), |rest| format!("+{rest}")))
}

/// The most bytes of an id.
const MAX_ID: usize = 128;

/// An id as it is written, without the `#` before a number.
pub(super) fn canonical_id(text: &str) -> Option<&str> {
    let id = text.strip_prefix('#').unwrap_or(text);
    let plain = (1..=MAX_ID).contains(&id.len())
        && id.chars().all(is_id)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric());
    plain.then_some(id)
}

/// Whether running text can vouch for the id: an ordinary word or a small number is in any text without meaning the id.
pub(super) fn is_distinctive(written: &str) -> bool {
    let digits = written.bytes().filter(u8::is_ascii_digit).count();
    let others = written.len().saturating_sub(digits);
    digits > 0 && (others > 0 || digits >= 5)
}

/// The characters of ids.
fn is_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/')
}

/// Whether the character joins its neighbours, so that an id next to it isn't a whole token. Characters outside ASCII
/// join, except quotation marks, dashes and the punctuation of CJK.
pub(super) fn joins_id(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || "-_./:#+@%&=~\\^$*?".contains(c);
    }
    !c.is_whitespace()
        && !matches!(c, '\u{2010}'..='\u{2027}' | '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '，' | '；' | '：' | '！' | '？' | '（' | '）' | '«' | '»')
}
