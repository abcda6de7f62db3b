//! Percent-encoding (RFC 3986, section 2.1).

use super::draft::{DerivedReading, ReadingDraft, ReadingSource};
use alloc::{string::String, vec::Vec};
use proem_text::{Span, hex::hex_byte};

/// The fewest escapes in a text that are decoded: one or two are in many links. One that represents the percent sign of
/// another is enough.
const FEWEST: usize = 3;

/// The text with its escapes decoded.
pub(super) fn read_percent(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(source);
    let mut at = 0usize;
    let mut escapes = 0usize;
    while let Some(found) = source.text.get(at..).and_then(|rest| rest.find('%')) {
        let start = at.saturating_add(found);
        let bytes = percent_run(source.text.as_bytes().get(start..).unwrap_or_default());
        if bytes.is_empty() {
            at = start.saturating_add(1);
            continue;
        }
        at = start.saturating_add(bytes.len().saturating_mul(3));
        escapes = escapes.saturating_add(if hides_another(source.text, at, &bytes) { FEWEST } else { bytes.len() });
        replace_utf8(&mut draft, &bytes, start, 3);
    }
    // An escape's text may hide another one, one by one.
    (escapes >= FEWEST || source.fresh.is_some()).then(|| draft.finish()).flatten()
}

/// Whether the last of the bytes is the percent sign of an escape whose digits are at `end`.
fn hides_another(text: &str, end: usize, bytes: &[u8]) -> bool {
    let digits = text.as_bytes().get(end..end.saturating_add(2));
    bytes.last() == Some(&b'%') && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// The bytes of the escapes that follow each other at the start.
pub(crate) fn percent_run(text: &[u8]) -> Vec<u8> {
    let (escapes, _) = text.as_chunks::<3>();
    let escapes = escapes.iter().map_while(|escape| match escape {
        [b'%', high, low] => hex_byte([*high, *low]),
        _ => None,
    });
    escapes.collect()
}

/// Replaces escapes of `width` bytes each by the characters that their bytes are in UTF-8.
pub(super) fn replace_utf8(draft: &mut ReadingDraft<'_>, bytes: &[u8], start: usize, width: usize) {
    let mut at = start;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let end = at.saturating_add(c.len_utf8().saturating_mul(width));
            draft.replace(Span::new(at, end), &String::from(c));
            at = end;
        }
        let invalid = chunk.invalid().len().saturating_mul(width);
        if invalid > 0 {
            draft.replace(Span::new(at, at.saturating_add(invalid)), "\u{fffd}");
        }
        at = at.saturating_add(invalid);
    }
}
