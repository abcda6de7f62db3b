//! The places of values in trusted texts and in texts from outside.

use super::{OutsideText, Sighting, TrustedExcerpt, allow, extract, number, rule::ReferentKind};
use alloc::{collections::BTreeMap, string::String};
use proem_text::Span;

/// The most bytes of one text that are read as evidence. Text beyond them vouches for nothing.
const MAX_EVIDENCE: usize = 1 << 20;
/// The fewest digits of a phone or account number in evidence.
const MIN_DIGITS: usize = 5;

/// Canonical values with the first place where each is.
#[derive(Debug, Default)]
pub(super) struct SightingIndex {
    values: BTreeMap<(ReferentKind, String), Sighting>,
}

impl SightingIndex {
    pub(super) fn trusted(all: &[TrustedExcerpt<'_>]) -> Self {
        let mut index = Self::default();
        for evidence in all {
            index.add(evidence.name, evidence.text, evidence.span);
        }
        index
    }

    pub(super) fn outside(all: &[OutsideText<'_>]) -> Self {
        let mut index = Self::default();
        for outside in all {
            let text = outside.text.value();
            index.add(outside.name, text, Span::new(0, text.len()));
        }
        index
    }

    pub(super) fn get(&self, kind: ReferentKind, form: &str) -> Option<&Sighting> {
        self.values.get(&(kind, String::from(form)))
    }

    /// Adds the whole tokens of a text that are within the span.
    fn add(&mut self, name: &str, text: &str, within: Span) {
        let end = text.floor_char_boundary(MAX_EVIDENCE);
        // A token that the cut may have shortened is none.
        let within =
            Span::new(within.start, if end < text.len() { within.end.min(end.saturating_sub(1)) } else { within.end });
        let text = text.get(..end).unwrap_or_default();
        let lies_within = |span: Span| within.start <= span.start && span.end <= within.end;
        for token in extract::running(text, MIN_DIGITS).found {
            if !lies_within(token.span) {
                continue;
            }
            for (kind, form) in allow::vouched_forms(token.kind, &token.text).into_iter().flatten() {
                self.insert(kind, form, name, token.span);
            }
        }
        for (span, written) in id_tokens(text).filter(|(span, _)| lies_within(*span)) {
            for (kind, form) in allow::vouched_forms(ReferentKind::Id, written).into_iter().flatten() {
                self.insert(kind, form, name, span);
            }
        }
    }

    fn insert(&mut self, kind: ReferentKind, form: String, name: &str, span: Span) {
        let new = Sighting { name: String::from(name), span };
        self.values
            .entry((kind, form))
            .and_modify(|old| {
                if new < *old {
                    *old = new.clone();
                }
            })
            .or_insert(new);
    }
}

/// The tokens of a text that can vouch for an id.
fn id_tokens(text: &str) -> impl Iterator<Item = (Span, &str)> {
    let start = text.as_ptr() as usize;
    text.split(|c| !number::joins_id(c)).filter_map(move |token| {
        let token = token.trim_end_matches(['.', ':', '?']);
        let at = (token.as_ptr() as usize).saturating_sub(start);
        let plain = number::canonical_id(token).is_some() && number::is_distinctive(token);
        plain.then(|| (Span::new(at, at.saturating_add(token.len())), token))
    })
}
