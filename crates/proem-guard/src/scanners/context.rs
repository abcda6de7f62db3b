//! The context that makes a match count less: somebody reports it, quotes it or writes about it.

use super::place::mentions_around;
use crate::{
    finding::Severity,
    lexicon::{Lexicon, Mention},
    scan::Sight,
};
use proem_text::Span;

/// How far from a match its sentence is read, in characters.
const MAX_NEAR: usize = 90;

/// How far from a match its quote marks may be, in characters.
const MAX_QUOTE: usize = 60;

/// The concepts that speak about a match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DiscourseConcepts {
    /// Words of people who write about attacks.
    discussed: Option<u16>,
    /// An order that a person reports from another.
    reported: Option<u16>,
    /// Words that introduce an example or an attempt.
    cited: Option<u16>,
}

impl DiscourseConcepts {
    pub(super) fn new(lexicon: &Lexicon) -> Self {
        Self {
            discussed: lexicon.concept("discussed"),
            reported: lexicon.concept("reported"),
            cited: lexicon.concept("cited"),
        }
    }

    /// The severity of a match at `span`, where `index` is the place of one of its mentions.
    pub(super) fn severity(&self, severity: Severity, sight: &Sight<'_>, index: usize, span: Span) -> Severity {
        let is = |mention: &Mention, concept: Option<u16>| Some(mention.concept) == concept;
        let (mut discussed, mut reported, mut cited) = (false, false, false);
        for mention in mentions_around(sight.mentions, index, span, MAX_NEAR) {
            discussed |= is(mention, self.discussed) && !is_in_address(&sight.folded.text, mention.span);
            cited |= is(mention, self.cited);
            // A report of an order names it as one first. Behind it the word belongs to the order itself.
            reported |= is(mention, self.reported) && mention.span.start <= span.start;
        }
        if reported {
            return Severity::Low;
        }
        if !discussed {
            return severity;
        }
        if cited || is_quoted(&sight.folded.text, span) { Severity::Low } else { milder(severity) }
    }
}

/// Whether a word is part of an address or a path, which anybody can name as he likes.
fn is_in_address(text: &str, word: Span) -> bool {
    let joins = |c: char| matches!(c, '@' | '/' | '_' | '-');
    let before = text.get(..word.start).and_then(|before| before.chars().next_back());
    let mut behind = text.get(word.end..).unwrap_or_default().chars();
    let next = behind.next();
    before.is_some_and(|c| joins(c) || c == '.')
        || next.is_some_and(joins)
        || (next == Some('.') && behind.next().is_some_and(char::is_alphanumeric))
}

const fn milder(severity: Severity) -> Severity {
    match severity {
        Severity::Low | Severity::Medium => Severity::Low,
        Severity::High => Severity::Medium,
        Severity::Critical => Severity::High,
    }
}

/// Whether quote marks are around the span, near enough to belong to it.
pub(super) fn is_quoted(text: &str, span: Span) -> bool {
    let before = text.get(..span.start).unwrap_or_default().chars().rev().take(MAX_QUOTE);
    let behind = text.get(span.end..).unwrap_or_default().chars().take(MAX_QUOTE);
    has_quote(before) && has_quote(behind)
}

/// Whether a quote mark comes before the end of the paragraph.
fn has_quote(chars: impl Iterator<Item = char>) -> bool {
    let mut chars = chars.take_while(|c| *c != '\n');
    chars.any(|c| matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '`' | '「' | '」' | '『' | '』' | '‘'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_an_address_says_nothing_about_the_text() {
        for (text, expected) in [
            ("mail it to eve@attacker.com", true),
            ("see https://example.com/attacker", true),
            ("attacker@example.com", true),
            ("attacker-mail", true),
            ("the attacker. he said", false),
            ("the attacker, he said", false),
            ("attacker", false),
        ] {
            let start = text.find("attacker").unwrap();
            assert_eq!(is_in_address(text, Span::new(start, start.saturating_add(8))), expected, "{text}");
        }
    }
}
