//! Text → tokens, as BERT's uncased tokeniser does it, without special tokens.
//!
//! Characters that don't show are removed, accents stripped (canonical decomposition without `Mn`), letters lowered one
//! by one. White space parts words. Each ideograph and each punctuation character is a word. A word is covered from its
//! beginning by the longest token each time, tokens inside a word beginning with `##` (Wu et al., *Google's Neural
//! Machine Translation System*, 2016, section 4.1; Devlin et al., *BERT*, 2019). A word that can't be covered to its
//! end, or has more than 100 characters, has no token at all.
//!
//! One step of the original is left out: marks that survive (`Mc`, `Me`) aren't put into canonical
//! order. No token depends on it.

use core::ops::ControlFlow;

use unicode_normalization::char::decompose_canonical;

use crate::{
    character::{is_accent, is_ideograph, is_punctuation, is_removed},
    table::{EmbeddingTable, MAX_TOKEN_BYTES, TokenHash},
};

/// The longest word that is looked up, in characters.
const MAX_WORD_CHARACTERS: usize = 100;

/// Four bytes for each character, the most that UTF-8 needs.
const MAX_WORD_BYTES: usize = MAX_WORD_CHARACTERS * 4;

/// Calls `visit` with the row of each token, in order, until it breaks.
pub(crate) fn tokenise(table: &EmbeddingTable<'_>, text: &str, visit: &mut impl FnMut(u32) -> ControlFlow<()>) {
    // A visitor that breaks has seen enough. There is nothing else to report.
    _ = try_tokenise(table, text, visit);
}

fn try_tokenise(
    table: &EmbeddingTable<'_>,
    text: &str,
    visit: &mut impl FnMut(u32) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut word = WordBuffer::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if is_removed(c) {
            // As if it weren't there.
        } else if c.is_whitespace() {
            word.finish(table, visit)?;
        } else {
            let alone = is_ideograph(c);
            if alone {
                word.finish(table, visit)?;
            }
            let mut flow = ControlFlow::Continue(());
            normalise(c, &mut |c| {
                if flow.is_continue() {
                    flow = word.take(c, table, visit);
                }
            });
            flow?;
            if alone {
                word.finish(table, visit)?;
            }
        }
    }
    word.finish(table, visit)
}

/// Decomposes, strips accents and lowers.
fn normalise(c: char, emit: &mut impl FnMut(char)) {
    let mut lower = |part: char| {
        if !is_accent(part) {
            part.to_lowercase().filter(|c| !is_accent(*c)).for_each(&mut *emit);
        }
    };
    if c.is_ascii() { lower(c) } else { decompose_canonical(c, lower) }
}

/// A word that is being read.
struct WordBuffer {
    bytes: [u8; MAX_WORD_BYTES],
    length: usize,
    characters: usize,
}

impl WordBuffer {
    const fn new() -> Self {
        Self { bytes: [0; MAX_WORD_BYTES], length: 0, characters: 0 }
    }

    /// Adds a character. Of a word that is too long, only the length is kept.
    fn push(&mut self, c: char) {
        let end = self.length.saturating_add(c.len_utf8());
        if let Some(room) = self.bytes.get_mut(self.length..end).filter(|_| self.characters < MAX_WORD_CHARACTERS) {
            c.encode_utf8(room);
            self.length = end;
        }
        self.characters = self.characters.saturating_add(1);
    }

    /// Adds a normalised character, or makes it a word of its own.
    fn take(
        &mut self,
        c: char,
        table: &EmbeddingTable<'_>,
        visit: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !is_punctuation(c) {
            self.push(c);
            return ControlFlow::Continue(());
        }
        self.finish(table, visit)?;
        self.push(c);
        self.finish(table, visit)
    }

    /// Ends the word: its tokens are visited, and the next one begins.
    fn finish(
        &mut self,
        table: &EmbeddingTable<'_>,
        visit: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let word = self.bytes.get(..self.length).filter(|_| self.characters <= MAX_WORD_CHARACTERS);
        (self.length, self.characters) = (0, 0);
        let mut rows = [0; MAX_WORD_CHARACTERS];
        let covered = word.and_then(|word| cover(table, word, &mut rows)).unwrap_or_default();
        rows.iter().take(covered).try_for_each(|row| visit(*row))
    }
}

/// Covers a word with tokens and says how many. `None` if it can't be covered to its end.
fn cover(table: &EmbeddingTable<'_>, word: &[u8], rows: &mut [u32; MAX_WORD_CHARACTERS]) -> Option<usize> {
    let mut rest = word;
    let mut covered = 0_usize;
    while !rest.is_empty() {
        let (row, length) = longest(table, rest, covered > 0)?;
        *rows.get_mut(covered)? = row;
        covered = covered.saturating_add(1);
        rest = rest.get(length..)?;
    }
    Some(covered)
}

/// The longest token that a rest of a word begins with, and its length without the `##`.
fn longest(table: &EmbeddingTable<'_>, rest: &[u8], inside: bool) -> Option<(u32, usize)> {
    let mut hash = if inside { TokenHash::INSIDE } else { TokenHash::START };
    let mut hashes = [hash; MAX_TOKEN_BYTES];
    let candidates = rest.len().min(table.longest_token(inside)).min(MAX_TOKEN_BYTES);
    for (slot, byte) in hashes.iter_mut().zip(rest).take(candidates) {
        hash = hash.with(*byte);
        *slot = hash;
    }
    // A prefix that ends within a character equals no token, as tokens are UTF-8.
    (1..=candidates).rev().find_map(|length| {
        let row = table.find(*hashes.get(length.checked_sub(1)?)?, rest.get(..length)?, inside)?;
        Some((row, length))
    })
}
