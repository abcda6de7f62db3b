//! Words as numbers: stems and character n-grams.
//!
//! Untrusted text is matched by hashes only, so no word of it can leave an index.

use proem_text::normalise::without_accents;
use proem_text::words::{character_ngrams, search_words};

/// Characters of an n-gram. Shorter words are their own.
const GRAM: usize = 4;

/// English endings, longest first; what remains has at least [`SHORTEST_STEM`] characters.
///
/// Far coarser than Porter's stemmer, which gains nothing here: descriptions are short, and
/// n-grams cover what this misses.
const ENDINGS: [&str; 15] =
    ["ations", "ation", "ments", "ings", "ment", "ing", "ers", "ies", "ed", "er", "es", "ly", "s", "e", "y"];

const SHORTEST_STEM: usize = 3;

/// A word's stem, as a part of the word. Only ASCII words are stemmed.
pub(crate) fn word_stem(word: &str) -> &str {
    if !word.is_ascii() {
        return word;
    }
    let stripped = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|s| s.len() >= SHORTEST_STEM));
    let Some(stem) = stripped else { return word };
    let doubled = stem.len() > SHORTEST_STEM && stem.as_bytes().iter().rev().take(2).is_sorted_by(|a, b| a == b);
    if doubled { stem.get(..stem.len().saturating_sub(1)).unwrap_or(stem) } else { stem }
}

/// The number of a word's stem.
pub(super) fn stem_id(word: &str) -> u64 {
    id_of_stem(word_stem(word))
}

/// The number of a stem, which isn't stemmed again.
pub(super) fn id_of_stem(stem: &str) -> u64 {
    hashed_term(b's', stem)
}

/// The numbers of a word's n-grams, its borders marked.
pub(super) fn gram_ids(word: &str) -> Vec<u64> {
    let marked = format!("^{word}$");
    character_ngrams(&marked, GRAM).map(|gram| hashed_term(b'g', gram)).collect()
}

/// The words of a text, lower-cased, without accents, identifiers also in parts.
pub(super) fn bare_words(text: &str) -> impl Iterator<Item = String> {
    search_words(text).map(|word| if word.is_ascii() { word } else { without_accents(&word) })
}

/// FNV-1a, 64 bits, over a space and a text.
fn hashed_term(space: u8, text: &str) -> u64 {
    std::iter::once(space)
        .chain(text.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_taken_off() {
        for (words, expected) in [
            ("create creates created", "creat creat creat"),
            ("plan plans planning planned", "plan plan plan plan"),
            ("translate translation translations", "translat transl transl"),
            ("summary summaries", "summar summar"),
            ("user users", "user user"),
            ("be as is", "be as is"),
            ("über", "über"),
            ("", ""),
        ] {
            assert_eq!(words.split(' ').map(word_stem).collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn accents_do_not_separate() {
        assert_eq!(bare_words("Criação fácil, ÜBERSETZEN").collect::<Vec<_>>(), ["criacao", "facil", "ubersetzen"]);
        assert_eq!(gram_ids("über"), gram_ids("über"));
        assert_eq!(gram_ids("a").len(), 1);
        assert_eq!(gram_ids("issue").len(), 4);
    }
}
