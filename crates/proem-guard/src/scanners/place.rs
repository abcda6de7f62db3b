//! Looking around a place in a text.

use crate::lexicon::Mention;
use proem_text::{Span, first_bytes};

/// The text behind `at`, at most `max` bytes, cut at a character.
pub(super) fn text_behind(text: &str, at: usize, max: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    first_bytes(rest, max)
}

/// The text before `at`, at most about `max` bytes, cut at a character.
pub(super) fn text_before(text: &str, at: usize, max: usize) -> &str {
    let start = text.floor_char_boundary(at.saturating_sub(max));
    text.get(start..at).unwrap_or_default()
}

/// The span of the first `len` bytes behind `start`.
pub(super) const fn span_from(start: usize, len: usize) -> Span {
    Span::new(start, start.saturating_add(len))
}

/// The mentions at most about `max` characters before or behind `span`, where `index` is the
/// place of one inside it.
pub(super) fn mentions_around(
    mentions: &[Mention],
    index: usize,
    span: Span,
    max: usize,
) -> impl Iterator<Item = &Mention> {
    let (start, end) =
        (span.start.saturating_sub(max.saturating_mul(2)), span.end.saturating_add(max.saturating_mul(2)));
    let (before, behind) = mentions.split_at_checked(index).unwrap_or((mentions, &[]));
    let before = before.iter().rev().take_while(move |mention| mention.span.start >= start);
    let behind = behind.iter().take_while(move |mention| mention.span.start < end);
    before.chain(behind)
}
