//! Words of code and of tasks, as numbers.
//!
//! A name counts as itself and as its parts, each cut to its stem: `only_matching`, `onlyMatching` and
//! `--only-matching` share one whole and two parts. Words are 32-bit hashes, so that nothing of a repository's text is
//! in an index. Among 100,000 words of a repository one in 40,000 shares its number with another, which changes no rank
//! that anybody would notice.

use proem_text::normalise::without_accents;
use proem_text::words::search_words as words_of_any_script;

use crate::select::word_stem;

/// A word's number.
pub type Term = u32;

/// The meaning of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordForm {
    /// A word, or a part of a name.
    Part,
    /// A name of several parts as a whole.
    Whole,
}

/// The longest run of letters that is taken for a name, in bytes. A longer one is data.
const LONGEST: usize = 64;

/// The fewest bytes of a word of ASCII letters.
const SHORTEST: usize = 2;

/// Hands every word of `text` to `take`, in order: a name first as a whole, then in its parts.
pub fn each_word(text: &[u8], take: &mut dyn FnMut(Term, WordForm)) {
    // Looked at once as a whole, so that no word has to be by itself.
    let valid = core::str::from_utf8(text).ok();
    let (mut start, mut seen) = (0, 0);
    for (at, byte) in text.iter().copied().chain(core::iter::once(b' ')).enumerate() {
        let class = CLASSES.get(usize::from(byte)).copied().unwrap_or_default();
        if class != OF_NO_WORD {
            seen |= class;
            continue;
        }
        if (1..=LONGEST).contains(&at.saturating_sub(start)) {
            // Most are plain words, of which nothing has to be cut.
            match valid.and_then(|text| text.get(start..at)).filter(|_| seen == SMALL_LETTER) {
                Some(word) if word.len() >= SHORTEST => take(term_number(word_stem(word).as_bytes()), WordForm::Part),
                Some(_) => {}
                None => each_of_run(text.get(start..at).unwrap_or_default(), take),
            }
        }
        (start, seen) = (at.saturating_add(1), 0);
    }
}

/// The words of a text, sorted and distinct.
#[must_use]
pub fn distinct_words(text: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    each_word(text.as_bytes(), &mut |term, _| terms.push(term));
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The number of one word, whatever its case, stemmed.
#[must_use]
pub fn term_of_word(word: &str) -> Term {
    term_number(word_stem(&word.to_lowercase()).as_bytes())
}

/// The number of a name as it is found by its whole: of one part the word's, else that of all parts joined.
#[must_use]
pub fn term_of_name(name: &str) -> Option<Term> {
    let (mut whole, mut only) = (None, None);
    each_word(name.as_bytes(), &mut |term, form| match form {
        WordForm::Whole => whole = whole.or(Some(term)),
        WordForm::Part => only = only.or(Some(term)),
    });
    whole.or(only)
}

/// FNV-1a over bytes, 32 bits of 64 that were mixed.
pub(super) fn term_number(bytes: &[u8]) -> Term {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    #[expect(clippy::cast_possible_truncation, reason = "the lower half of the mixed number is what is wanted")]
    let term = (hash ^ (hash >> 32)) as Term;
    term
}

/// The classes of bytes: a small letter, another sign of words (capitals, digits, signs that join names, and everything
/// outside ASCII), or a sign between words.
const SMALL_LETTER: u8 = 1;
const OTHER_OF_WORD: u8 = 2;
const OF_NO_WORD: u8 = 0;

/// The classes of all bytes.
const CLASSES: [u8; 256] = {
    let mut all = [OF_NO_WORD; 256];
    let mut byte = 0_u8;
    loop {
        #[expect(clippy::indexing_slicing, reason = "there is a place for each byte; it is made when it is compiled")]
        {
            all[byte as usize] = if byte.is_ascii_lowercase() {
                SMALL_LETTER
            } else if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 {
                OTHER_OF_WORD
            } else {
                OF_NO_WORD
            };
        }
        match byte.checked_add(1) {
            Some(next) => byte = next,
            None => break all,
        }
    }
};

fn each_of_run(run: &[u8], take: &mut dyn FnMut(Term, WordForm)) {
    if !run.is_ascii() {
        let text = String::from_utf8_lossy(run);
        for word in words_of_any_script(&text) {
            take(term_number(word_stem(&without_accents(&word)).as_bytes()), WordForm::Part);
        }
        return;
    }
    let mut parts: [(usize, usize); MOST_PARTS] = [(0, 0); MOST_PARTS];
    let count = cut_name_parts(run, &mut parts);
    let parts = parts.get(..count).unwrap_or_default();
    if count > 1 {
        let mut whole = Buffer::new();
        run.iter().filter(|&&byte| byte != b'_').for_each(|byte| whole.push(*byte));
        take(term_number(whole.bytes()), WordForm::Whole);
    }
    for (start, end) in parts {
        let part = run.get(*start..*end).unwrap_or_default();
        // A digit or a letter alone tells nothing.
        if part.len() < SHORTEST || part.iter().all(u8::is_ascii_digit) {
            continue;
        }
        let mut lower = Buffer::new();
        part.iter().for_each(|byte| lower.push(*byte));
        let stemmed = core::str::from_utf8(lower.bytes()).map_or(lower.bytes(), |word| word_stem(word).as_bytes());
        take(term_number(stemmed), WordForm::Part);
    }
}

/// The most parts of a name that are told apart. The last one has the rest.
const MOST_PARTS: usize = 16;

/// Bytes of a name in lower case, on the stack: a source has thousands of names.
struct Buffer {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Buffer {
    const fn new() -> Self {
        Self { bytes: [0; LONGEST], length: 0 }
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte.to_ascii_lowercase();
            self.length = self.length.saturating_add(1);
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The places of a name's parts: cut at `_`, at changes of case, and between letters and digits.
fn cut_name_parts(run: &[u8], parts: &mut [(usize, usize); MOST_PARTS]) -> usize {
    let mut count = 0;
    let mut start = 0;
    let mut add = |start: usize, end: usize| {
        if end > start {
            if let Some(slot) = parts.get_mut(count) {
                *slot = (start, end);
                count = count.saturating_add(1);
            } else if let Some((_, last)) = parts.last_mut() {
                *last = end;
            }
        }
    };
    for (at, pair) in run.windows(2).enumerate() {
        let &[before, after] = pair else { continue };
        let at = at.saturating_add(1);
        if before == b'_' {
            start = at;
            continue;
        }
        let follows_capitals = before.is_ascii_uppercase()
            && after.is_ascii_uppercase()
            && run.get(at.saturating_add(1)).is_some_and(u8::is_ascii_lowercase);
        let is_border = after == b'_'
            || (before.is_ascii_lowercase() && after.is_ascii_uppercase())
            || (before.is_ascii_digit() != after.is_ascii_digit())
            || follows_capitals;
        if is_border {
            add(start, at);
            start = at;
        }
    }
    if run.get(start) != Some(&b'_') {
        add(start, run.len());
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts_of(name: &str) -> Vec<&str> {
        let mut parts = [(0, 0); MOST_PARTS];
        let count = cut_name_parts(name.as_bytes(), &mut parts);
        parts[..count].iter().filter_map(|(start, end)| name.get(*start..*end)).collect()
    }

    #[test]
    fn names_are_cut() {
        for (name, expected) in [
            ("only_matching", "only matching"),
            ("onlyMatching", "only Matching"),
            ("HTTPServer", "HTTP Server"),
            ("utf8_decode", "utf 8 decode"),
            ("__init__", "init"),
            ("a", "a"),
            ("_", ""),
            ("XMLHttpRequest2", "XML Http Request 2"),
            ("snake", "snake"),
        ] {
            assert_eq!(parts_of(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn however_a_name_is_written_its_whole_is_the_same() {
        let whole = term_of_name("only_matching");
        assert!(whole.is_some());
        assert_eq!(term_of_name("onlyMatching"), whole);
        assert_eq!(term_of_name("OnlyMatching"), whole);
        assert_ne!(term_of_name("matching_only"), whole);
        assert_eq!(term_of_name("Replacer"), Some(term_of_word("replacers")));
        assert_eq!(term_of_name("__"), None);
    }

    proptest! {
        #[test]
        fn plain_words_are_read_as_any_name_is(text in "[a-z]{1,70}( [a-z]{1,5}){0,3}") {
            let (mut all, mut each) = (Vec::new(), Vec::new());
            each_word(text.as_bytes(), &mut |term, form| all.push((term, form)));
            for run in text.split(' ').filter(|run| run.len() <= LONGEST) {
                each_of_run(run.as_bytes(), &mut |term, form| each.push((term, form)));
            }
            prop_assert_eq!(all, each);
        }

        /// With any other text around, even if it is no UTF-8.
        #[test]
        fn a_text_is_read_run_by_run(
            text in prop::collection::vec(prop::sample::select(b"abcXY_09 .\xc3\xa9\xff".to_vec()), 0..200),
        ) {
            let (mut all, mut each) = (Vec::new(), Vec::new());
            each_word(&text, &mut |term, form| all.push((term, form)));
            let is_between = |byte: &u8| matches!(byte, b' ' | b'.');
            for run in text.split(is_between).filter(|run| (1..=LONGEST).contains(&run.len())) {
                each_of_run(run, &mut |term, form| each.push((term, form)));
            }
            prop_assert_eq!(all, each);
        }
    }

    #[test]
    fn what_is_no_word_gives_none() {
        let mut seen = 0;
        each_word(b"1 22 x ... 0xff \xff", &mut |_, _| seen += 1);
        assert_eq!(seen, 2, "`0xff` as a whole and its letters");
        each_word(&[b'a'; 1000], &mut |_, _| panic!("data"));
    }
}
