//! Texts as counted terms.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Words that say nothing of what went wrong: those that join a sentence, and parts that nearly every
/// path has. Sorted.
const STOP: &[&str] = &[
    "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but", "by", "can",
    "cpp", "do", "does", "for", "from", "go", "has", "have", "if", "in", "index", "init", "into", "is", "it", "its",
    "java", "js", "jsx", "lib", "main", "mod", "more", "no", "not", "of", "on", "only", "or", "our", "out", "package",
    "pkg", "py", "rb", "rs", "should", "so", "some", "src", "test", "tests", "than", "that", "the", "their", "then",
    "there", "these", "they", "this", "to", "ts", "tsx", "up", "us", "use", "used", "using", "was", "we", "were",
    "what", "when", "where", "which", "while", "will", "with", "you", "your",
];

/// The terms of some texts with how often they occur, by term.
///
/// Single characters and numbers of one or two digits are no terms.
pub(super) fn count_terms<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<(u64, f32)> {
    let mut counts: BTreeMap<u64, f32> = BTreeMap::new();
    for word in texts.into_iter().flat_map(proem_text::search_words).filter(|word| is_term(word)) {
        *counts.entry(term_hash(&word)).or_default() += 1.0;
    }
    counts.into_iter().collect()
}

fn is_term(word: &str) -> bool {
    let is_short = word.chars().nth(1).is_none() || (word.len() < 3 && word.bytes().all(|byte| byte.is_ascii_digit()));
    !is_short && STOP.binary_search(&word).is_err()
}

/// FNV-1a, 64 bits (RFC 9923). Two terms that share a number count as one, which nothing relies on.
fn term_hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, same: &str) {
        assert_eq!(count_terms([text]), count_terms([same]), "{text}");
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn names_are_taken_apart_and_little_words_left_out() {
        check("src/lib.rs", "");
        check("The test of a 1 12", "");
        check("user_name", "user name");
        check("parseJSON", "parsejson parse json");
        check("error 404", "404 error");
        assert_eq!(count_terms(["retry", "retry Retry"]), [(term_hash("retry"), 3.0)]);
    }
}
