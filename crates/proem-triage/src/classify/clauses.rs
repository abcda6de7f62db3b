//! The beginnings of sentences, clauses and words in a folded text.
//!
//! In scripts that are written without spaces, three characters count as a word.

/// A place in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ClausePlace {
    /// How many words begin before it.
    pub(super) word: u32,
    /// How many clauses end before it.
    pub(super) clause: u32,
    /// How many sentences end before it.
    pub(super) sentence: u32,
}

/// The places of a text.
#[derive(Debug)]
pub(super) struct Clauses {
    /// By the byte.
    places: Vec<ClausePlace>,
}

/// How many characters of a script without spaces count as one word.
const UNSPACED: u32 = 3;

impl Clauses {
    pub(super) fn new(folded: &str) -> Self {
        let mut places = Vec::with_capacity(folded.len().saturating_add(1));
        let (mut place, mut is_inside, mut unspaced) = (ClausePlace::default(), false, 0_u32);
        let mut chars = folded.chars().peekable();
        while let Some(c) = chars.next() {
            let is_letter = c.is_alphanumeric() || proem_text::character::is_mark(c) || c == '\'';
            if is_unspaced_script(c) {
                unspaced = unspaced.saturating_add(1);
                if unspaced % UNSPACED == 1 {
                    place.word = place.word.saturating_add(1);
                }
                is_inside = false;
            } else if is_letter {
                place.word = place.word.saturating_add(u32::from(!is_inside));
                is_inside = true;
            } else {
                is_inside = false;
            }
            if !is_unspaced_script(c) {
                unspaced = 0;
            }
            places.extend(std::iter::repeat_n(place, c.len_utf8()));
            let next = chars.peek().copied();
            if ends_sentence(c, next) {
                place.sentence = place.sentence.saturating_add(1);
                place.clause = place.clause.saturating_add(1);
            } else if ends_clause(c, next) {
                place.clause = place.clause.saturating_add(1);
            }
        }
        places.push(place);
        Self { places }
    }

    /// The place at a byte: of the words that begin before it, that around it is one.
    pub(super) fn at(&self, byte: usize) -> ClausePlace {
        let mut place = self.places.get(byte).or(self.places.last()).copied().unwrap_or_default();
        // A byte at which a word begins is counted with the word.
        let before = byte.checked_sub(1).and_then(|before| self.places.get(before)).copied().unwrap_or_default();
        place.word = before.word;
        place
    }
}

fn ends_sentence(c: char, next: Option<char>) -> bool {
    match c {
        '\n' | '!' | '?' | ';' | '。' | '！' | '？' | '；' | '؟' | '؛' | '।' | '॥' => true,
        '.' | ':' => next.is_none_or(char::is_whitespace),
        _ => false,
    }
}

fn ends_clause(c: char, next: Option<char>) -> bool {
    match c {
        '，' | '、' | '،' | '(' | ')' => true,
        ',' => next.is_none_or(|next| !next.is_ascii_digit()),
        '-' => next.is_some_and(char::is_whitespace),
        _ => false,
    }
}

/// Thai, Lao and Khmer letters, kana and Chinese characters.
const fn is_unspaced_script(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_clauses_and_words_are_counted() {
        for (text, at, expected) in [
            ("we are blocked", "blocked", (2, 0, 0)),
            ("no, we are blocked", "blocked", (3, 1, 0)),
            ("no. we are blocked", "blocked", (3, 1, 1)),
            ("version 3.2 is late", "late", (4, 0, 0)),
            ("1,000 are late", "late", (3, 0, 0)),
            ("没有延迟，没有风险", "风险", (3, 1, 0)),
        ] {
            let place = Clauses::new(text).at(text.find(at).unwrap());
            assert_eq!((place.word, place.clause, place.sentence), expected, "{text}");
        }
    }
}
