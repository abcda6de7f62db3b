//! Looking around a place in a text.

use proem_text::Span;

/// The text behind `at`, at most `max` bytes, cut at a character.
pub(super) fn behind(text: &str, at: usize, max: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    rest.get(..rest.floor_char_boundary(max)).unwrap_or_default()
}

/// The text before `at`, at most about `max` bytes, cut at a character.
pub(super) fn before(text: &str, at: usize, max: usize) -> &str {
    let start = text.floor_char_boundary(at.saturating_sub(max));
    text.get(start..at).unwrap_or_default()
}

/// The span of the first `len` bytes behind `start`.
pub(super) const fn span(start: usize, len: usize) -> Span {
    Span::new(start, start.saturating_add(len))
}
