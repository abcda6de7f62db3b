//! The ends of sentences, in any script.

use alloc::vec::Vec;
use proem_text::Span;

/// The longest sentence, in bytes. A longer one is cut at a space or anywhere.
const MAX_SENTENCE: usize = 600;

/// Whether a sentence or a paragraph ends somewhere in `text`.
///
/// A full stop ends one only before space, so that `v1.2` and `a.com` don't.
pub(super) fn ends_in(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '.' | '!' | '?' | ';' if chars.peek().is_none_or(|next| next.is_whitespace()) => return true,
            '。' | '！' | '？' | '।' | '؟' | '۔' => return true,
            // One line break alone may be where a mail program wrapped the sentence.
            '\n' if chars.peek() == Some(&'\n') => return true,
            _ => {}
        }
    }
    false
}

/// The sentences of a folded text, in order. Together they are the text.
pub(super) fn folded_sentences(text: &str) -> Vec<Span> {
    let mut sentences = Vec::new();
    let mut start = 0usize;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at.saturating_add(c.len_utf8());
        let next = chars.peek().map(|(_, next)| *next);
        let is_end = match c {
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            // Each line by itself, other than in `ends_in`: items of lists and headings have no stop.
            '。' | '！' | '？' | '।' | '؟' | '۔' | '\n' => true,
            _ => {
                end.saturating_sub(start) >= MAX_SENTENCE
                    && (c == ' ' || end.saturating_sub(start) >= MAX_SENTENCE.saturating_mul(2))
            }
        };
        if is_end {
            sentences.push(Span::new(start, end));
            start = end;
        }
    }
    if start < text.len() {
        sentences.push(Span::new(start, text.len()));
    }
    sentences
}
