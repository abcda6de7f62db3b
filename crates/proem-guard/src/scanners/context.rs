//! What makes a match count less: somebody reports it, quotes it or writes about it.

use super::phrases::around;
use crate::{
    finding::Severity,
    lexicon::{Lexicon, Mention},
    scan::Sight,
};
use proem_text::Span;

/// How far from a match its sentence is read, in characters.
const MAX_NEAR: usize = 90;

/// How far from a match its quote marks may stand, in characters.
const MAX_QUOTE: usize = 60;

/// The concepts that speak about a match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// Words of people who write about attacks.
    discussed: Option<u16>,
    /// What a person was asked to do by another.
    reported: Option<u16>,
    /// Words that introduce an example or an attempt.
    cited: Option<u16>,
}

impl Context {
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
        for mention in around(sight.mentions, index, span, MAX_NEAR) {
            discussed |= is(mention, self.discussed);
            cited |= is(mention, self.cited);
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

const fn milder(severity: Severity) -> Severity {
    match severity {
        Severity::Low | Severity::Medium => Severity::Low,
        Severity::High => Severity::Medium,
        Severity::Critical => Severity::High,
    }
}

/// Whether quote marks stand around the span, near enough to belong to it.
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
