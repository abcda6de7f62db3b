//! Letters that are apart: `i g n o r e   a l l`, `i.g.n.o.r.e`.

use super::draft::{DerivedReading, ReadingDraft, ReadingSource};
use alloc::vec::Vec;
use proem_text::Span;

/// The fewest letters that are joined.
const FEWEST: usize = 5;

/// The fewest that one of the words has: two are in abbreviations.
const FEWEST_IN_WORD: usize = 3;

/// The text with such letters joined. A wider gap is the border of a word; where there is none,
/// all the letters become one word.
pub(super) fn read_spaced(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(source);
    let mut edits = Vec::new();
    // The last three characters that was alone between separators, and where the next starts.
    let mut alone = [0usize; 3];
    let (mut count, mut start, mut done) = (0usize, 0usize, 0usize);
    for (at, byte) in source.text.bytes().chain([b' ']).enumerate() {
        if !is_letter_separator(byte) {
            continue;
        }
        let piece = source.text.as_bytes().get(start..at).unwrap_or_default();
        let piece_start = core::mem::replace(&mut start, at.saturating_add(1));
        match piece {
            [] => continue,
            [first, rest @ ..] if rest.len() < 4 && utf8_len(*first) == piece.len() => {
                let [_, second, third] = alone;
                alone = [second, third, piece_start];
                count = count.saturating_add(1);
            }
            _ => count = 0,
        }
        let [first, ..] = alone;
        if count < 3 || first < done {
            continue;
        }
        edits.clear();
        let Some(letter) = single_at(source.text, first) else { continue };
        let (letters, end) = spell(source.text, letter, &mut edits);
        if letters < FEWEST {
            continue;
        }
        done = end;
        if longest_word(&edits) >= FEWEST_IN_WORD {
            for (place, with) in &edits {
                draft.replace(*place, with);
            }
        }
    }
    draft.finish()
}

/// The letters of the longest word, by what represents the gaps between all letters.
fn longest_word(edits: &[(Span, &str)]) -> usize {
    edits.split(|(_, with)| !with.is_empty()).map(|word| word.len().saturating_add(1)).max().unwrap_or(1)
}

/// Whether the byte can separate letters, or is the last of a separator that is longer.
const fn is_letter_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'.' | b'-' | b'_' | b'*' | b'/' | b'|' | b'\n' | b'\r' | b'\t')
}

/// The length of a character by its first byte.
const fn utf8_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Whether the word is one letter. Syllables of Hangul and ideographs can be words.
fn is_single(text: &str, word: Span) -> bool {
    let mut chars = text.get(word.start..word.end).unwrap_or_default().chars();
    chars.next().is_some_and(|c| c.is_alphabetic() && !matches!(c, '\u{ac00}'..='\u{d7a3}')) && chars.next().is_none()
}

/// The single letter that the text behind `at` starts with.
fn single_at(text: &str, at: usize) -> Option<Span> {
    let c = text.get(at..)?.chars().next().filter(|c| c.is_alphabetic())?;
    let end = at.saturating_add(c.len_utf8());
    let is_alone = text.get(end..)?.chars().next().is_none_or(|c| !c.is_alphanumeric());
    (is_alone && is_single(text, Span::new(at, end))).then(|| Span::new(at, end))
}

/// Follows the letters from the first. Gives their number and their end.
fn spell(text: &str, first: Span, edits: &mut Vec<(Span, &'static str)>) -> (usize, usize) {
    let (mut letters, mut end) = (1usize, first.end);
    let behind = |at: usize| text.get(at..).and_then(|rest| rest.chars().next());
    let Some(separator) = behind(end).filter(|c| matches!(c, ' ' | '.' | '-' | '_' | '*' | '/' | '|')) else {
        return (letters, end);
    };
    loop {
        let next = end.saturating_add(separator.len_utf8());
        let (letter, with) = if behind(end) == Some(separator)
            && let Some(letter) = single_at(text, next)
        {
            (letter, "")
        } else {
            let rest = text.get(end..).unwrap_or_default();
            let wide = rest.trim_start_matches(|c: char| c.is_whitespace() || c == separator);
            let gap = rest.len().saturating_sub(wide.len());
            let border = rest.get(..gap).unwrap_or_default();
            match single_at(text, end.saturating_add(gap)).filter(|_| !border.is_empty()) {
                Some(letter) => (letter, if border.contains('\n') { "\n" } else { " " }),
                None => return (letters, end),
            }
        };
        edits.push((Span::new(end, letter.start), with));
        letters = letters.saturating_add(1);
        end = letter.end;
    }
}
