//! The learned scorer: how much a sentence, or two in a row, sound like an injection.
//!
//! A linear model over hashed pieces (see [`buckets`]), one byte for each weight. A window's score is `slope · Σ
//! weights / √n + bias`, `n` being the number of its pieces, so a window of two sentences follows from the sums of
//! both. It never scores a whole document: an attack inside a long mail would drown in it. `evals/guard/README.md` has
//! its training data and its scores.
//!
//! Invariants: the same text gives the same scores on every machine. Time is linear in the text. No window is longer
//! than two sentences of [`MAX_CHARS`] characters. Spans are inside the text, at borders of characters.

mod features;
mod file;
mod sentence;

pub use features::buckets;
pub use file::{ScorerWeights, SentenceScorerError, SentenceScorerErrorKind, pack_scorer_file};
pub use sentence::{MAX_CHARS, scored_sentences};

use alloc::{format, string::String, vec::Vec};
use proem_text::Span;

/// The model that ships.
const SHIPPED: &[u8] = include_bytes!("../data/learned-1.bin");

/// A model, read where it is.
#[derive(Clone, Copy)]
pub struct SentenceScorer<'a> {
    parts: ScorerWeights<'a>,
    bits: u32,
    digest: [u8; 32],
}

impl core::fmt::Debug for SentenceScorer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Model").field("id", &self.id()).field("bits", &self.bits).finish_non_exhaustive()
    }
}

/// One or two sentences in a row, and what the model says of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The place, in bytes of the scored text.
    pub span: Span,
    /// How many sentences, 1 or 2.
    pub sentences: u8,
    /// The log-odds that it is an attack, finite.
    pub score: f32,
}

/// A sentence's contribution to a window's score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SentenceSums {
    weights: i32,
    pieces: i32,
}

impl SentenceSums {
    const fn and(self, other: Self) -> Self {
        Self { weights: self.weights.saturating_add(other.weights), pieces: self.pieces.saturating_add(other.pieces) }
    }
}

impl<'a> SentenceScorer<'a> {
    /// Reads a model's file. Its layout is described in the source of [`pack_scorer_file`].
    ///
    /// # Errors
    ///
    /// [`SentenceScorerError`] for a file that is damaged or of another version.
    pub fn read(bytes: &'a [u8]) -> Result<Self, SentenceScorerError> {
        let (parts, bits, digest) = file::read_scorer_file(bytes)?;
        Ok(Self { parts, bits, digest })
    }

    /// The model's name: its version and the start of its file's SHA-256.
    #[must_use]
    pub fn id(&self) -> String {
        let start = self.digest.first_chunk::<8>().copied().unwrap_or_default();
        format!("learned-1/{:016x}", u64::from_be_bytes(start))
    }

    /// The windows of a text, in order: each sentence, and each with the one after it.
    ///
    /// `text` is a clean text with its line breaks. Letters needn't be folded.
    #[must_use]
    pub fn windows(&self, text: &str) -> Vec<Window> {
        let sentences = scored_sentences(text);
        let mut windows = Vec::with_capacity(sentences.len().saturating_mul(2));
        let mut before: Option<(Span, SentenceSums)> = None;
        for span in sentences {
            let sums = self.sums(text.get(span.start..span.end).unwrap_or_default());
            if let Some((first, earlier)) = before {
                let both = Span::new(first.start, span.end);
                windows.push(Window { span: both, sentences: 2, score: self.score(earlier.and(sums)) });
            }
            windows.push(Window { span, sentences: 1, score: self.score(sums) });
            before = Some((span, sums));
        }
        windows
    }

    /// The log-odds of a text that is taken for one sentence.
    pub(crate) fn score_of(&self, sentence: &str) -> f32 {
        self.score(self.sums(sentence))
    }

    /// Adds up the weights of a sentence's pieces.
    fn sums(&self, sentence: &str) -> SentenceSums {
        let mut sums = SentenceSums::default();
        buckets(sentence, self.bits, |bucket| {
            let weight = usize::try_from(bucket).ok().and_then(|bucket| self.parts.weights.get(bucket));
            let weight = weight.map_or(0, |weight| i32::from(weight.cast_signed()));
            sums = sums.and(SentenceSums { weights: weight, pieces: 1 });
        });
        sums
    }

    fn score(&self, sums: SentenceSums) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "sums of two short sentences are far below 2²⁴")]
        let (weights, pieces) = (sums.weights as f32, sums.pieces.max(1) as f32);
        self.parts.slope * (weights / libm::sqrtf(pieces)) + self.parts.bias
    }
}

impl SentenceScorer<'static> {
    /// The model that ships.
    ///
    /// # Errors
    ///
    /// [`SentenceScorerError`] if the file inside the program is damaged.
    pub fn shipped() -> Result<Self, SentenceScorerError> {
        Self::read(SHIPPED)
    }
}

#[cfg(test)]
mod tests;
