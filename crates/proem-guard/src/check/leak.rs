//! Whether an answer repeats the prompt.
//!
//! Texts are compared as streams of letters and digits: NFKC, lower case, without accents, spaces and
//! punctuation, so that spacing letters out or cutting them with anything else changes nothing. A
//! stream is also read backwards and as ROT13.

use super::readings::DecodedText;
use alloc::{collections::BTreeSet, string::String, vec::Vec};
use proem_text::{Span, normalise::without_accents, normalise_text};
use unicode_script::{Script, UnicodeScript};

/// The letters of one shingle: four to five English words. Shorter turns of phrase are common
/// property.
pub(super) const SHINGLE: usize = 24;
/// A run of this many letters, eight to ten English words, is a leak. The bound is generous: of 1,886
/// benign texts of public injection sets none shares even one shingle with the shipped prompts.
pub(super) const LONG_RUN: usize = 48;
/// This many letters of the prompt in one answer are a leak too, in any places: two runs just below [`LONG_RUN`], or
/// four of one shingle each. Repeated letters count once.
pub(super) const MANY_LETTERS: usize = 96;

/// A text as letters and digits, each with its place. A character of Chinese, Japanese or Korean
/// counts three times, for it says about as much as three letters.
#[derive(Debug, Default)]
pub(super) struct Letters {
    letters: Vec<(char, Span)>,
}

impl Letters {
    pub(super) fn of(text: &str) -> Self {
        // The normal form of ASCII has the same letters and digits, each at its own place.
        if text.is_ascii() {
            let plain = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric());
            let place = |at: usize| Span::new(at, at.saturating_add(1));
            return Self {
                letters: plain.map(|(at, byte)| (char::from(byte.to_ascii_lowercase()), place(at))).collect(),
            };
        }
        Self::normal(text)
    }

    /// The same for any text.
    fn normal(text: &str) -> Self {
        let view = normalise_text(text);
        let mut letters = Vec::new();
        for (at, c) in view.text.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
            let place = view.map.original(Span::new(at, at.saturating_add(c.len_utf8())));
            let times = if is_ideographic(c) { 3 } else { 1 };
            for _ in 0..times {
                push_folded(c, |folded| letters.push((folded, place)));
            }
        }
        Self { letters }
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }
}

fn is_ideographic(c: char) -> bool {
    !c.is_ascii() && matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul)
}

/// Lower case, and without accents where Latin letters have them.
fn push_folded(c: char, mut push: impl FnMut(char)) {
    if c.is_ascii() {
        return push(c.to_ascii_lowercase());
    }
    let accented = matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
    let plain = if accented { without_accents(&String::from(c)) } else { String::from(c) };
    plain.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).for_each(push);
}

/// The shingles of a secret text, as hashes.
#[derive(Debug)]
pub(super) struct SecretShingles {
    /// Sorted, so that a search by halves finds one.
    hashes: Vec<u64>,
    shingle: usize,
    long_run: usize,
}

/// A run of letters that the secret has too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedRun {
    pub(super) span: Span,
    shingles: Vec<u64>,
}

/// The common parts of an answer and the secret.
pub(super) type SecretOverlap = Vec<SharedRun>;

/// The letters of the runs, those that several have counted once.
///
/// The longest run counts first, so the sum doesn't depend on the order.
pub(super) fn shared_letters<'a>(runs: impl Iterator<Item = &'a SharedRun>) -> usize {
    let mut runs: Vec<&SharedRun> = runs.collect();
    runs.sort_unstable_by(|a, b| b.shingles.len().cmp(&a.shingles.len()).then(a.shingles.cmp(&b.shingles)));
    let mut seen = BTreeSet::new();
    let new = runs.iter().map(|run| {
        let new = run.shingles.iter().filter(|shingle| seen.insert(**shingle)).count();
        if new > 0 { new.saturating_add(SHINGLE).saturating_sub(1) } else { 0 }
    });
    new.sum()
}

impl SecretShingles {
    /// The shingles of a prompt, without those that anybody may repeat. A prompt shorter than one
    /// shingle has nothing to tell.
    pub(super) fn prompt<'a>(text: &str, quotable: impl Iterator<Item = &'a str>) -> Self {
        let letters = Letters::of(text);
        let mut secret = Self::new(&letters, SHINGLE, LONG_RUN.min(letters.len()));
        if secret.hashes.is_empty() {
            return secret;
        }
        for text in quotable {
            let mut known = window_hashes(Letters::of(text).letters.iter().map(|(c, _)| *c), SHINGLE);
            known.sort_unstable();
            secret.hashes.retain(|hash| known.binary_search(hash).is_err());
        }
        secret
    }

    /// The shingles of a text of which no part of `shingle` letters may appear.
    pub(super) fn token(text: &str, shingle: usize) -> Self {
        Self::new(&Letters::of(text), shingle, shingle)
    }

    fn new(letters: &Letters, shingle: usize, long_run: usize) -> Self {
        let mut hashes = window_hashes(letters.letters.iter().map(|(c, _)| *c), shingle);
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes, shingle, long_run }
    }

    /// Whether a run is long enough to be a leak by itself.
    pub(super) const fn is_leak(&self, run: &SharedRun) -> bool {
        run.shingles.len().saturating_add(self.shingle) > self.long_run
    }

    /// Whether there is nothing that a text could have in common with it.
    pub(super) const fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Adds what a text has in common with the secret. Places are those of the original.
    pub(super) fn compare(&self, letters: &Letters, reading: Option<&DecodedText>, shared: &mut SecretOverlap) {
        if self.is_empty() || letters.len() < self.shingle {
            return;
        }
        let all = || letters.letters.iter().map(|(c, _)| *c);
        for backwards in [false, true] {
            for rotated in [false, true] {
                let turn = |c: char| if rotated { rot13(c) } else { c };
                let hashes = if backwards {
                    window_hashes(all().rev().map(turn), self.shingle)
                } else {
                    window_hashes(all().map(turn), self.shingle)
                };
                self.runs(&hashes, shared, |first, last| {
                    let flip = |index: usize| {
                        if backwards { letters.len().saturating_sub(1).saturating_sub(index) } else { index }
                    };
                    let (first, last) = (flip(first).min(flip(last)), flip(first).max(flip(last)));
                    let place = |index| letters.letters.get(index).map_or(Span::default(), |(_, span)| *span);
                    let span = Span::new(place(first).start, place(last).end);
                    reading.map_or(span, |reading| reading.map.original(span))
                });
            }
        }
    }

    /// Puts neighbouring shingles that the secret has too together.
    fn runs(&self, hashes: &[u64], shared: &mut SecretOverlap, place: impl Fn(usize, usize) -> Span) {
        let mut run = Vec::new();
        for (index, hash) in hashes.iter().map(Some).chain([None]).enumerate() {
            if let Some(hash) = hash.filter(|hash| self.hashes.binary_search(hash).is_ok()) {
                run.push(*hash);
            } else if !run.is_empty() {
                let first = index.saturating_sub(run.len());
                let last = index.saturating_add(self.shingle).saturating_sub(2);
                shared.push(SharedRun { span: place(first, last), shingles: core::mem::take(&mut run) });
            }
        }
    }
}

const fn rot13(c: char) -> char {
    match c {
        'a'..='m' => (c as u8).wrapping_add(13) as char,
        'n'..='z' => (c as u8).wrapping_sub(13) as char,
        _ => c,
    }
}

/// The hash of each window of `length` letters (Rabin and Karp): equal windows have equal hashes,
/// and a false match of others has a chance of about 2⁻⁶⁴ for each pair.
fn window_hashes(letters: impl Iterator<Item = char> + Clone, length: usize) -> Vec<u64> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let code = |c: char| u64::from(u32::from(c)).wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let leaving_factor = (0..length).fold(1_u64, |factor, _| factor.wrapping_mul(FACTOR));
    let mut hash = 0_u64;
    let mut out = Vec::new();
    let leaving = core::iter::repeat_n(None, length).chain(letters.clone().map(Some));
    for (index, (entering, leaving)) in letters.zip(leaving).enumerate() {
        let left = leaving.map_or(0, |c| code(c).wrapping_mul(leaving_factor));
        hash = hash.wrapping_mul(FACTOR).wrapping_add(code(entering)).wrapping_sub(left);
        if index.saturating_add(1) >= length {
            out.push(hash);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The letters of ASCII are those of its normal form.
        #[test]
        fn the_short_way_has_the_same_letters(text in "[ -~\\t\\r\\n\\x00\\x7f]{0,40}") {
            prop_assert_eq!(Letters::of(&text).letters, Letters::normal(&text).letters);
        }
    }
}
