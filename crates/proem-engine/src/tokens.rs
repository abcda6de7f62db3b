//! Counting tokens, exactly where a provider publishes its tokeniser.
//!
//! [`CachingCounter`] remembers pieces of text that were counted before. Pieces add up exactly when they
//! are cut where both of OpenAI's pre-tokenisers always cut: after a line break that is followed
//! by neither white space nor `/` (see [`splits_cleanly`]).

use std::collections::BTreeMap;

use proem_tokens::Vocabulary;

use crate::containment_cache::ContainmentCache;

/// How far a count can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exactness {
    /// The provider's own tokeniser.
    Exact,
    /// Another tokeniser's count times a factor that was measured somewhere.
    Estimate,
}

/// Counts the tokens of a text.
pub trait TokenCounter: Send + Sync + core::fmt::Debug {
    /// The counter's name, as reports give it.
    fn name(&self) -> &str;
    /// How far its counts can be relied on.
    fn exactness(&self) -> Exactness;
    /// The tokens of `text`.
    fn count(&self, text: &str) -> usize;
}

/// OpenAI's tokenisers, counted by `proem-tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenAi {
    /// GPT-4o and later.
    O200k,
    /// GPT-3.5 and GPT-4.
    Cl100k,
}

impl TokenCounter for OpenAi {
    fn name(&self) -> &str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
        }
    }

    fn exactness(&self) -> Exactness {
        Exactness::Exact
    }

    fn count(&self, text: &str) -> usize {
        match self {
            Self::O200k => Vocabulary::O200k.count(text),
            Self::Cl100k => Vocabulary::Cl100k.count(text),
        }
    }
}

/// An upper estimate for a model whose tokeniser isn't public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaledCounter {
    name: String,
    base: OpenAi,
    percent: usize,
}

impl ScaledCounter {
    /// `percent` hundredths of what `base` counts, rounded up.
    #[must_use]
    pub fn new(base: OpenAi, percent: usize) -> Self {
        Self { name: format!("{} × {}.{:02}", base.name(), percent / 100, percent % 100), base, percent }
    }
}

impl TokenCounter for ScaledCounter {
    fn name(&self) -> &str {
        &self.name
    }

    fn exactness(&self) -> Exactness {
        Exactness::Estimate
    }

    fn count(&self, text: &str) -> usize {
        self.base.count(text).saturating_mul(self.percent).div_ceil(100)
    }
}

/// How many bytes of text [`PieceMemory`] holds before it starts afresh.
const MAX_REMEMBERED_BYTES: usize = 8 * 1024 * 1024;

/// The memory of a [`CachingCounter`], for the next one of the same counter.
#[derive(Debug, Default)]
pub struct PieceMemory {
    seen: BTreeMap<Box<str>, usize>,
    bytes: usize,
    /// Contained pieces, which are as dear to make as to count.
    pub(crate) contained: ContainmentCache,
}

/// A counter that remembers the pieces it has seen.
#[derive(Debug)]
pub struct CachingCounter<'c> {
    counter: &'c dyn TokenCounter,
    pub(crate) memory: PieceMemory,
}

impl<'c> CachingCounter<'c> {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(counter: &'c dyn TokenCounter) -> Self {
        Self::remembering(counter, PieceMemory::default())
    }

    /// Remembers what another one of the same counter has seen.
    #[must_use]
    pub const fn remembering(counter: &'c dyn TokenCounter, memory: PieceMemory) -> Self {
        Self { counter, memory }
    }

    /// Returns its memory.
    #[must_use]
    pub fn into_memory(self) -> PieceMemory {
        self.memory
    }

    /// The counter behind it.
    #[must_use]
    pub const fn counter(&self) -> &'c dyn TokenCounter {
        self.counter
    }

    /// The tokens of one piece.
    pub fn count(&mut self, piece: &str) -> usize {
        let memory = &mut self.memory;
        if let Some(tokens) = memory.seen.get(piece) {
            return *tokens;
        }
        let tokens = self.counter.count(piece);
        if memory.bytes.saturating_add(piece.len()) > MAX_REMEMBERED_BYTES {
            memory.seen.clear();
            memory.bytes = 0;
        }
        memory.bytes = memory.bytes.saturating_add(piece.len());
        memory.seen.insert(piece.into(), tokens);
        tokens
    }

    /// The tokens of each piece, such that they add up to the tokens of all pieces joined.
    ///
    /// If two pieces don't split cleanly, the later one bears the difference. If joining makes a text shorter, the
    /// earlier pieces do as well.
    pub fn count_joined(&mut self, pieces: &[&str]) -> Vec<usize> {
        let mut counts: Vec<usize> = Vec::with_capacity(pieces.len());
        let mut run = String::new();
        let (mut run_start, mut run_tokens) = (0usize, 0usize);
        let mut before = "";
        for piece in pieces {
            if piece.is_empty() {
                counts.push(0);
                continue;
            }
            if splits_cleanly(before, piece) {
                run.clear();
                (run_start, run_tokens) = (counts.len(), 0);
            }
            let alone = run.is_empty();
            run.push_str(piece);
            // Joined runs are as good as never seen again. Only pieces are worth remembering.
            let tokens = if alone { self.count(piece) } else { self.counter.count(&run) };
            let mut less = run_tokens.saturating_sub(tokens);
            for earlier in counts.iter_mut().skip(run_start).rev() {
                let taken = less.min(*earlier);
                *earlier = earlier.saturating_sub(taken);
                less = less.saturating_sub(taken);
            }
            counts.push(tokens.saturating_sub(run_tokens));
            run_tokens = tokens;
            before = piece;
        }
        counts
    }
}

/// Whether `a` and `b` have as many tokens joined as apart.
///
/// Both pre-tokenisers end a piece after a line break unless white space or, in o200k, `/`
/// follows: their patterns are in `proem-tokens` and OpenAI's `tiktoken`.
#[must_use]
pub fn splits_cleanly(a: &str, b: &str) -> bool {
    a.is_empty() || b.is_empty() || (a.ends_with('\n') && b.starts_with(|c: char| !c.is_whitespace() && c != '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_published_tokenisers() {
        // Reference counts from OpenAI's tokeniser page for the same texts.
        for (text, o200k, cl100k) in [("", 0, 0), ("hello world", 2, 2), ("tiktoken is great!", 6, 6)] {
            assert_eq!(OpenAi::O200k.count(text), o200k, "{text:?}");
            assert_eq!(OpenAi::Cl100k.count(text), cl100k, "{text:?}");
        }
    }

    #[test]
    fn an_estimate_rounds_up() {
        let scaled = ScaledCounter::new(OpenAi::O200k, 130);
        assert_eq!(scaled.name(), "o200k × 1.30");
        assert_eq!(scaled.count("hello world"), 3);
        assert_eq!(scaled.exactness(), Exactness::Estimate);
    }

    #[test]
    fn a_long_run_of_spaces_is_counted() {
        let spaces = " ".repeat(200_000);
        assert!(OpenAi::O200k.count(&spaces) > 0);
    }

    #[test]
    fn joined_counts_add_up_where_pieces_do_not_split_cleanly() {
        let mut counts = CachingCounter::new(&OpenAi::O200k);
        let pieces = ["one two.\n", "/three\n", " four\n", "five", "six\n", "seven"];
        let joined = counts.count_joined(&pieces);
        assert_eq!(joined.iter().sum::<usize>(), OpenAi::O200k.count(&pieces.concat()));
    }
}
