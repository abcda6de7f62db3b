//! Cuts an attack out of a text and looks whether what is left is clean.
//!
//! Each cut removes the whole sentence of a finding, because an order without its object is still an order. The rest is
//! scanned again: taking something out may put an attack together. After three rounds, or when nothing is left, the
//! field stays out.
//!
//! Invariants: what remains is copied from the original. Each cut leaves one `[removed]`. A text that comes back was
//! scanned and holds nothing that would keep it out.

use crate::{
    guard::Guard,
    scan::Scan,
    sentence_scorer::Window,
    untrusted::Untrusted,
    verdict::{Bar, Verdict},
    view::clean_view,
};
use alloc::{string::String, vec::Vec};
use proem_text::{OffsetMap, Span};

/// The placeholder for text that was cut out.
pub(crate) const REMOVED: &str = "[removed]";

/// How often what remains is cut again.
const MAX_ROUNDS: usize = 3;

/// A text without its attacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// The readable text. `None` if the verdict is quarantine or block.
    pub text: Option<Untrusted<String>>,
    /// The verdict on the field: allow if there was nothing to cut, at least flag if there was.
    pub verdict: Verdict,
    /// The cuts, in order, in bytes of the original.
    pub removed: Vec<Span>,
    /// How much of the original is left, 0 to 1: visible bytes that are no whitespace and not ours.
    pub content_preserved_ratio: f64,
}

/// Cuts out of `text` what would keep it out. `scan` is what the guard found in it.
#[must_use]
pub fn cut_attacks(guard: &Guard, bar: Bar, text: &Untrusted<String>, scan: &Scan) -> Cut {
    let original = text.value();
    let mut left = Remainder { text: original.clone(), map: OffsetMap::identity(original.len()) };
    let mut verdict = bar.judge(scan);
    let blocked = verdict == Verdict::Block;
    let mut scanned = None;
    for _ in 0..MAX_ROUNDS {
        if verdict < Verdict::Quarantine {
            break;
        }
        let spans = to_cut(guard, bar, &left.text, scanned.as_ref().unwrap_or(scan));
        if spans.is_empty() {
            break;
        }
        left = left.without(&spans);
        let again = guard.scan_text(&left.text);
        verdict = bar.judge(&again);
        scanned = Some(again);
    }
    let ratio = left.ratio(original);
    let removed = left.removed(original.len());
    if !removed.is_empty() {
        verdict = verdict.max(Verdict::Flag);
    }
    if !removed.is_empty() && ratio == 0.0 {
        verdict = verdict.max(Verdict::Quarantine);
    }
    if blocked {
        verdict = Verdict::Block;
    }
    let readable = verdict < Verdict::Quarantine;
    Cut {
        text: readable.then(|| Untrusted::new(left.text, text.label().clone())),
        verdict,
        removed,
        content_preserved_ratio: ratio,
    }
}

/// The rest, with the way back to the original.
struct Remainder {
    text: String,
    map: OffsetMap,
}

impl Remainder {
    /// Without these spans, which are in order and don't overlap.
    fn without(&self, spans: &[Span]) -> Self {
        let (mut text, mut map) = (String::with_capacity(self.text.len()), OffsetMap::new());
        let mut position = 0;
        for span in spans {
            let before = Span::new(position, span.start);
            text.push_str(self.text.get(before.start..before.end).unwrap_or_default());
            map.push_verbatim(before);
            text.push_str(REMOVED);
            map.push(REMOVED.len(), *span);
            position = span.end;
        }
        text.push_str(self.text.get(position..).unwrap_or_default());
        map.push_verbatim(Span::new(position, self.text.len()));
        Self { text, map: map.then(&self.map) }
    }

    /// The cuts in an original of `len` bytes.
    fn removed(&self, len: usize) -> Vec<Span> {
        let mut removed = Vec::new();
        let mut position = 0;
        for (_, copied) in self.map.copies() {
            removed.extend((position < copied.start).then_some(Span::new(position, copied.start)));
            position = copied.end;
        }
        removed.extend((position < len).then_some(Span::new(position, len)));
        removed
    }

    /// How much of the original is left; 1 if there was nothing to see.
    fn ratio(&self, original: &str) -> f64 {
        let visible = |text: &str| clean_view(text).text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
        let kept: usize = self
            .map
            .copies()
            .map(|(_, copied)| visible(original.get(copied.start..copied.end).unwrap_or_default()))
            .fold(0, usize::saturating_add);
        let all = visible(original);
        if all == 0 {
            return 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio of two lengths")]
        let ratio = kept as f64 / all as f64;
        ratio.min(1.0)
    }
}

/// The sentences around everything that would keep the text out, in order, merged.
fn to_cut(guard: &Guard, bar: Bar, text: &str, scan: &Scan) -> Vec<Span> {
    let view = clean_view(text);
    let sentences: Vec<Span> = guard
        .windows(&view.text)
        .into_iter()
        .filter(|window: &Window| window.sentences == 1)
        .map(|window| view.map.original(window.span))
        .collect();
    let mut spans: Vec<Span> = scan
        .findings
        .iter()
        .filter(|finding| bar.of(finding) >= Verdict::Quarantine)
        .map(|finding| sentences_around(finding.span, &sentences))
        .filter(|span| !span.is_empty())
        .collect();
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        let is_next = |last: &Span| {
            span.start <= last.end || text.get(last.end..span.start).is_some_and(|gap| gap.trim().is_empty())
        };
        match merged.last_mut().filter(|last| is_next(last)) {
            Some(last) => last.end = last.end.max(span.end),
            None => merged.push(span),
        }
    }
    merged
}

/// The sentences that share bytes with `span`, and `span`.
fn sentences_around(span: Span, sentences: &[Span]) -> Span {
    let first = sentences.partition_point(|sentence| sentence.end <= span.start);
    let touched = sentences.get(first..).unwrap_or_default().iter().take_while(|sentence| sentence.start < span.end);
    touched.fold(span, |all, sentence| Span::new(all.start.min(sentence.start), all.end.max(sentence.end)))
}
