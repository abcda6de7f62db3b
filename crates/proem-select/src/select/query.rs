//! A task, cut into what is looked for.
//!
//! Invariants: at most [`MAX_BYTES`] of a task are looked at, in at most [`MAX_PARTS`] parts of
//! [`MAX_WORDS`] different words each.

use std::collections::BTreeSet;

use proem_text::first_bytes;

use super::intents::{AskedIntents, IntentTable};
use super::lexicon::{DetectedLanguage, TranslationLexicon};
use super::terms::{bare_words, gram_ids, stem_id, word_stem};
use super::weights::WordWeights;

/// The bytes of a task that are looked at; what follows decides nothing, and is reported.
pub const MAX_BYTES: usize = 16 * 1024;
/// The most parts: the whole and its first sentences.
pub const MAX_PARTS: usize = 9;
/// The most different words of a part.
pub const MAX_WORDS: usize = 256;
/// The least weight of a word that tells something.
pub(super) const TELLING: f32 = 0.3;
/// Fewer words are no sentence of their own.
const SHORTEST_SENTENCE: usize = 3;

/// A task, prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(super) parts: Vec<QueryPart>,
    cut: bool,
}

/// The whole task or one of its sentences.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryPart {
    /// The text with words of other languages replaced by English ones.
    pub(super) text: String,
    pub(super) words: Vec<QueryWord>,
    /// Its explicit intents.
    pub(super) intents: AskedIntents,
}

/// A word of the task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryWord {
    /// As it is in the task, folded.
    pub(super) text: String,
    /// How telling it is, 0 to 1.
    pub(super) weight: f32,
    /// Its stem, or those of the English words for it.
    pub(super) stems: Vec<u64>,
    /// Its n-grams, or theirs.
    pub(super) grams: Vec<u64>,
}

impl Query {
    /// Prepares a task.
    #[must_use]
    pub fn new(task: &str, lexicon: &TranslationLexicon, weights: &WordWeights) -> Self {
        Self::with_intents(task, lexicon, weights, &IntentTable::empty())
    }

    /// Prepares a task, with the intents that it expresses.
    pub(super) fn with_intents(
        task: &str,
        lexicon: &TranslationLexicon,
        weights: &WordWeights,
        intents: &IntentTable,
    ) -> Self {
        let looked_at = first_bytes(task, MAX_BYTES);
        let language = query_language(looked_at, lexicon);
        let part = |text: &str| QueryPart {
            intents: intents.of_task(text),
            ..QueryPart::new(text, language, lexicon, weights)
        };
        let mut parts = vec![part(looked_at)];
        let sentences: Vec<&str> = query_sentences(looked_at).take(MAX_PARTS).collect();
        if sentences.len() > 1 {
            parts.extend(sentences.into_iter().take(MAX_PARTS.saturating_sub(1)).map(part));
        }
        Self { parts, cut: looked_at.len() < task.len() }
    }

    /// The texts to embed, the whole task first: one call for all of them.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }

    /// How many telling words of this text, or of their English ones, another text has too.
    #[must_use]
    pub fn shared_telling_words(&self, other: &Self) -> usize {
        let others: BTreeSet<u64> = other.telling_words().flat_map(|word| word.stems.iter().copied()).collect();
        self.telling_words().filter(|word| word.stems.iter().any(|stem| others.contains(stem))).count()
    }

    /// The words of the whole task that tell something.
    fn telling_words(&self) -> impl Iterator<Item = &QueryWord> {
        let words = self.parts.first().into_iter().flat_map(|part| &part.words);
        words.filter(|word| word.weight >= TELLING)
    }

    /// Whether the task is longer than what is looked at.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.cut
    }
}

fn query_language(text: &str, lexicon: &TranslationLexicon) -> DetectedLanguage {
    let words: Vec<String> = bare_words(text).take(MAX_WORDS).collect();
    lexicon.language(&words)
}

/// The sentences of a text that have words enough.
fn query_sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    let ends = move |c: char| {
        let ends = c == '\n'
            || (c.is_whitespace() && matches!(before, '.' | '!' | '?' | ';'))
            || matches!(c, '。' | '！' | '？');
        before = c;
        ends
    };
    text.split(ends).filter(|sentence| bare_words(sentence).take(SHORTEST_SENTENCE).count() == SHORTEST_SENTENCE)
}

impl QueryPart {
    fn new(text: &str, language: DetectedLanguage, lexicon: &TranslationLexicon, weights: &WordWeights) -> Self {
        let mut words: Vec<QueryWord> = Vec::new();
        let mut written = String::new();
        for text in bare_words(text) {
            let english = lexicon.english(&text, language);
            let silent = lexicon.is_silent(&text, language);
            // A model of English words takes another language's small words for rare, telling ones.
            if !english.is_empty() {
                english.iter().for_each(|word| written.push_str(&format!("{word} ")));
            } else if !silent || !matches!(language, DetectedLanguage::Other(_)) {
                written.push_str(&format!("{text} "));
            }
            if words.len() < MAX_WORDS && !words.iter().any(|known| known.text == text) {
                words.push(QueryWord::new(
                    text,
                    &english,
                    if silent { Silence::Silent } else { Silence::Telling },
                    weights,
                ));
            }
        }
        Self { text: written, words, intents: AskedIntents::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Silent,
    Telling,
}

impl QueryWord {
    fn new(text: String, english: &[&str], silence: Silence, weights: &WordWeights) -> Self {
        let forms: Vec<&str> = if english.is_empty() { vec![text.as_str()] } else { english.to_vec() };
        let telling = forms.iter().map(|form| weights.of(word_stem(form))).fold(0.0_f32, f32::max);
        // A word that requests consist of, in English or not, says a little at most.
        let weight = if silence == Silence::Silent { telling.min(WordWeights::SILENT) } else { telling };
        let mut stems: Vec<u64> = forms.iter().map(|form| stem_id(form)).collect();
        let mut grams: Vec<u64> = forms.iter().flat_map(|form| gram_ids(form)).collect();
        for ids in [&mut stems, &mut grams] {
            ids.sort_unstable();
            ids.dedup();
        }
        Self { weight, stems, grams, text }
    }
}
