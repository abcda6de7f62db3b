//! Text that is written backwards, or with its letters moved by thirteen places.

use super::draft::{ApartTexts, DerivedReading, ReadingSource};
use alloc::string::String;
use proem_text::Span;

/// Frequent words of English and of requests. None of them is, turned either way, a word of one of
/// the languages that the scanners know.
const WORDS: [&str; 44] = [
    "the",
    "and",
    "you",
    "your",
    "that",
    "with",
    "this",
    "for",
    "all",
    "have",
    "from",
    "what",
    "not",
    "must",
    "will",
    "system",
    "prompt",
    "ignore",
    "previous",
    "instructions",
    "instruction",
    "reveal",
    "secret",
    "password",
    "rules",
    "above",
    "forget",
    "disregard",
    "please",
    "show",
    "print",
    "send",
    "email",
    "message",
    "following",
    "about",
    "which",
    "their",
    "should",
    "would",
    "every",
    "everything",
    "of",
    "to",
];

/// The longest of them.
const LONGEST: usize = 12;

/// The evidence of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordTransform {
    Plain,
    Reversed,
    Rot13,
}

/// All the words in all turns, sorted by their letters as one number.
static TABLE: [(u128, WordTransform); WORDS.len() * 3] = turned_word_table();

const fn turned_word_table() -> [(u128, WordTransform); WORDS.len() * 3] {
    let mut table = [(0, WordTransform::Plain); WORDS.len() * 3];
    let mut index = 0;
    while index < WORDS.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse the program")]
        let word = WORDS[index].as_bytes();
        let (mut plain, mut reversed, mut rot13) = (0u128, 0u128, 0u128);
        let mut at = 0usize;
        while at < word.len() {
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse the program")]
            let (first, last) = (word[at], word[word.len().saturating_sub(at).saturating_sub(1)]);
            plain = plain << 8 | first as u128;
            reversed = reversed << 8 | last as u128;
            rot13 = rot13 << 8 | rot13_byte(first) as u128;
            at = at.saturating_add(1);
        }
        insert(&mut table, index.saturating_mul(3), (plain, WordTransform::Plain));
        insert(&mut table, index.saturating_mul(3).saturating_add(1), (reversed, WordTransform::Reversed));
        insert(&mut table, index.saturating_mul(3).saturating_add(2), (rot13, WordTransform::Rot13));
        index = index.saturating_add(1);
    }
    table
}

/// Puts an entry into its place among the first `len`, which are sorted.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse the program")]
const fn insert(table: &mut [(u128, WordTransform); WORDS.len() * 3], len: usize, entry: (u128, WordTransform)) {
    let mut at = len;
    while at > 0 && table[at.saturating_sub(1)].0 > entry.0 {
        table[at] = table[at.saturating_sub(1)];
        at = at.saturating_sub(1);
    }
    table[at] = entry;
}

const fn rot13_byte(byte: u8) -> u8 {
    match byte {
        b'a'..=b'm' | b'A'..=b'M' => byte.saturating_add(13),
        b'n'..=b'z' | b'N'..=b'Z' => byte.saturating_sub(13),
        _ => byte,
    }
}

/// For the last two letters of a word, whether a word of the table that is turned ends so: a cheap
/// test that most words fail.
static ENDS: [bool; 1024] = {
    let mut ends = [false; 1024];
    let mut index = 0usize;
    while index < TABLE.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse the program")]
        let (word, turn) = TABLE[index];
        if !matches!(turn, WordTransform::Plain) {
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse the program")]
            let end = &mut ends[word_end_number(word)];
            *end = true;
        }
        index = index.saturating_add(1);
    }
    ends
};

/// The last two letters as a number below 1,024.
const fn word_end_number(word: u128) -> usize {
    let [last, before, ..] = word.to_le_bytes();
    end_of_letters(before, last)
}

/// The same of two letters, small or not. Of one letter, the one before it is 0.
const fn end_of_letters(before: u8, last: u8) -> usize {
    ((before & 31) as usize) << 5 | (last & 31) as usize
}

/// How often words of each turn occur in a sentence.
#[derive(Default)]
struct TransformCounts {
    plain: usize,
    reversed: usize,
    rot13: usize,
    words: usize,
}

impl TransformCounts {
    fn of(sentence: &str) -> Self {
        let mut evidence = Self::default();
        for word in sentence.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
            evidence
                .count(as_number(word.as_bytes().get(..word.len().min(LONGEST.saturating_add(1))).unwrap_or_default()));
        }
        evidence
    }

    fn count(&mut self, word: u128) {
        self.words = self.words.saturating_add(1);
        let Ok(index) = TABLE.binary_search_by_key(&word, |(known, _)| *known) else { return };
        let count = match TABLE.get(index).map(|(_, turn)| *turn) {
            Some(WordTransform::Reversed) => &mut self.reversed,
            Some(WordTransform::Rot13) => &mut self.rot13,
            _ => &mut self.plain,
        };
        *count = count.saturating_add(1);
    }

    /// Whether so many turned words say that the sentence is turned.
    const fn is_clear(&self, turned: usize) -> bool {
        turned >= 2 && turned > self.plain.saturating_mul(2) && turned.saturating_mul(10) >= self.words
    }
}

/// The small forms of letters as one number.
fn as_number(letters: &[u8]) -> u128 {
    letters.iter().fold(0, |word, byte| word << 8 | u128::from(byte.to_ascii_lowercase()))
}

/// The sentences that are English backwards, and those that are English moved by thirteen places.
pub(super) fn read_turned(source: ReadingSource<'_>) -> (Option<DerivedReading>, Option<DerivedReading>) {
    let (mut reversed, mut rot13) = (ApartTexts::default(), ApartTexts::default());
    let (mut start, mut at) = (0usize, 0usize);
    let mut evidence = TransformCounts::default();
    // The last two letters of the word at hand, and how many it has. Most words end as none of the table.
    let ([mut before, mut last], mut length) = ([0u8; 2], 0usize);
    for byte in source.text.bytes().chain([b'\n']) {
        if byte.is_ascii_alphabetic() {
            (before, last) = (last, byte);
            length = length.saturating_add(1);
        } else if length > 0 {
            if length <= LONGEST && ENDS.get(end_of_letters(before, last)).is_some_and(|is_end| *is_end) {
                let word = source.text.as_bytes().get(at.saturating_sub(length)..at).unwrap_or_default();
                evidence.count(as_number(word));
            }
            ([before, last], length) = ([0; 2], 0);
        }
        let is_border = matches!(byte, b'\n' | b'.' | b'!' | b'?' | b':' | b';' | b'"');
        if is_border {
            let place = Span::new(start, at);
            if evidence.reversed.max(evidence.rot13) >= 2 {
                evidence = TransformCounts::of(source.text.get(start..at).unwrap_or_default());
            }
            if evidence.is_clear(evidence.reversed) && source.is_fresh(place) {
                add_reversed(source.text, place, &mut reversed);
            }
            if evidence.is_clear(evidence.rot13) && source.is_fresh(place) {
                let sentence = source.text.get(place.start..place.end).unwrap_or_default();
                let turned: String = sentence.chars().map(turned_char).collect();
                rot13.decoded(&turned, place);
            }
            evidence = TransformCounts::default();
            start = at.saturating_add(1);
        }
        at = at.saturating_add(1);
    }
    (reversed.finish(), rot13.finish())
}

fn turned_char(c: char) -> char {
    u8::try_from(c).map_or(c, |byte| char::from(rot13_byte(byte)))
}

/// Adds the sentence backwards, and with each of its words backwards.
fn add_reversed(text: &str, place: Span, gathered: &mut ApartTexts) {
    let sentence = text.get(place.start..place.end).unwrap_or_default();
    let whole: String = sentence.chars().rev().collect();
    let mut words = String::with_capacity(whole.len());
    for word in whole.split(' ').rev() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    gathered.decoded(&whole, place);
    if words != whole {
        gathered.decoded(&words, place);
    }
}
