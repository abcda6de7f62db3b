//! Cuts a text into pieces, as the patterns of the two vocabularies do.
//!
//! The patterns are those of OpenAI's `tiktoken` (`openai_public.py`), read as a regular expression
//! that tries its alternatives in order, each as long as it gets:
//!
//! ```text
//! cl100k  (?i:'s|'t|'re|'ve|'m|'ll|'d)
//!         [^\r\n\p{L}\p{N}]?\p{L}+
//!         \p{N}{1,3}
//!          ?[^\s\p{L}\p{N}]+[\r\n]*
//!         \s*[\r\n]+
//!         \s+(?!\S)
//!         \s+
//!
//! o200k   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//!         [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//!         \p{N}{1,3}
//!          ?[^\s\p{L}\p{N}]+[\r\n/]*
//!         \s*[\r\n]+
//!         \s+(?!\S)
//!         \s+
//! ```
//!
//! Together the alternatives match any character, so pieces leave nothing out. Each character is
//! looked at a bounded number of times, however the text was written.

use crate::character::{self, Class};

/// The end of the piece that begins at `start` by o200k's pattern. `start` if the text ends there.
#[inline]
pub(crate) fn end_in_o200k(text: &[u8], start: usize) -> usize {
    let (first, length) = character::class_at(text, start);
    if first.is(Class::LETTER) {
        return cased_word(text, start).map_or(start, |word| contraction_end(text, word.end));
    }
    let next = start.saturating_add(length);
    if first.is(Class::NUMBER) {
        return number_end(text, next);
    }
    if !first.is(Class::NEWLINE) {
        match cased_word(text, next) {
            // The second alternative takes this word with the mark before it, but the first one, which is
            // tried before, is content with the mark.
            Some(word) if word.is_upper && first.is(Class::MARK) => return contraction_end(text, next),
            Some(word) => return contraction_end(text, word.end),
            None if first.is(Class::MARK) => return contraction_end(text, next),
            None => {}
        }
    }
    match symbols_end(text, start, first, next) {
        Some(end) => while_byte(text, end, |byte| matches!(byte, b'\r' | b'\n' | b'/')),
        None => white_space(text, start),
    }
}

/// The end of the piece that begins at `start` by cl100k's pattern. `start` if the text ends there.
#[inline]
pub(crate) fn end_in_cl100k(text: &[u8], start: usize) -> usize {
    let (first, length) = character::class_at(text, start);
    let next = start.saturating_add(length);
    if first.is(Class::LETTER) {
        return class_run_end(text, next, Class::LETTER);
    }
    if first.is(Class::NUMBER) {
        return number_end(text, next);
    }
    if let Some(end) = contraction(text, start) {
        return end;
    }
    if !first.is(Class::NEWLINE) {
        let (second, length) = character::class_at(text, next);
        if second.is(Class::LETTER) {
            return class_run_end(text, next.saturating_add(length), Class::LETTER);
        }
    }
    match symbols_end(text, start, first, next) {
        Some(end) => while_byte(text, end, |byte| matches!(byte, b'\r' | b'\n')),
        None => white_space(text, start),
    }
}

/// A word as o200k's first two alternatives cut it.
struct Word {
    end: usize,
    /// Whether it is of the second one: capital letters only.
    is_upper: bool,
}

/// Capital letters, then small ones, where letters without case and marks count as both. None if there is no letter or
/// mark at `start`.
#[inline(always)]
fn cased_word(text: &[u8], start: usize) -> Option<Word> {
    const NOT_LOWER: Class = Class::UPPER.or(Class::CASELESS).or(Class::MARK);
    const NOT_UPPER: Class = Class::LOWER.or(Class::CASELESS).or(Class::MARK);
    let mut place = start;
    // Behind the last character so far that may be among small letters.
    let mut either_end = None;
    loop {
        let (class, length) = character::class_at(text, place);
        if class.is(Class::LOWER) {
            return Some(Word { end: class_run_end(text, place.saturating_add(length), NOT_UPPER), is_upper: false });
        }
        if !class.is(NOT_LOWER) {
            break;
        }
        place = place.saturating_add(length);
        if !class.is(Class::UPPER) {
            either_end = Some(place);
        }
    }
    // The first alternative gives capital letters back until a character is left for its second half.
    match either_end {
        Some(end) => Some(Word { end, is_upper: false }),
        None => (place > start).then_some(Word { end: place, is_upper: true }),
    }
}

/// The end of a word with the contraction that follows it, if one does.
#[inline(always)]
fn contraction_end(text: &[u8], end: usize) -> usize {
    contraction(text, end).unwrap_or(end)
}

/// The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at `start`, in any case.
///
/// Case is folded as Unicode's simple folding does, where `ſ` (U+017F) is an `s`.
#[inline(always)]
fn contraction(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'\'') {
        return None;
    }
    let length = match text.get(start..)? {
        [_, b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        [_, b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [_, b'l' | b'L', b'l' | b'L', ..] | [_, 0xC5, 0xBF, ..] => 3,
        _ => return None,
    };
    Some(start.saturating_add(length))
}

/// The end of a number whose first digit ends at `place`: three digits at most.
#[inline]
fn number_end(text: &[u8], mut place: usize) -> usize {
    for _ in 0..2 {
        let (class, length) = character::class_at(text, place);
        if !class.is(Class::NUMBER) {
            break;
        }
        place = place.saturating_add(length);
    }
    place
}

/// The end of a run of what is neither white space, letter nor number, with one space before it.
#[inline(always)]
fn symbols_end(text: &[u8], start: usize, first: Class, next: usize) -> Option<usize> {
    const SYMBOL: Class = Class::OTHER.or(Class::MARK);
    if first.is(SYMBOL) {
        return Some(class_run_end(text, next, SYMBOL));
    }
    if text.get(start) != Some(&b' ') {
        return None;
    }
    let (second, length) = character::class_at(text, next);
    second.is(SYMBOL).then(|| class_run_end(text, next.saturating_add(length), SYMBOL))
}

/// The end of the part of a run of white space that is one piece: everything up to its last line
/// break; without one all of it at the end of the text, else all but the last character, which goes
/// with what follows.
#[inline]
fn white_space(text: &[u8], start: usize) -> usize {
    let (mut place, mut last, mut newline_end) = (start, start, None);
    loop {
        let (class, length) = character::class_at(text, place);
        if !class.is(Class::SPACE.or(Class::NEWLINE)) {
            break;
        }
        last = place;
        place = place.saturating_add(length);
        if class.is(Class::NEWLINE) {
            newline_end = Some(place);
        }
    }
    match newline_end {
        Some(end) => end,
        None if place >= text.len() || last == start => place,
        None => last,
    }
}

/// The end of the characters of some classes that begin at `place`.
#[inline(always)]
fn class_run_end(text: &[u8], mut place: usize, of: Class) -> usize {
    loop {
        place = while_byte(text, place, |byte| character::of_byte(byte).is(of));
        let (class, length) = character::class_at(text, place);
        if !class.is(of) {
            return place;
        }
        place = place.saturating_add(length);
    }
}

/// The end of the bytes that fit, from `place` on.
#[inline(always)]
fn while_byte(text: &[u8], mut place: usize, fits: impl Fn(u8) -> bool) -> usize {
    while let Some(byte) = text.get(place) {
        if !fits(*byte) {
            break;
        }
        place = place.saturating_add(1);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as `|` separates them.
    fn joined_pieces(text: &str, end: impl Fn(&[u8], usize) -> usize) -> String {
        let (mut start, mut pieces) = (0, Vec::new());
        while start < text.len() {
            let next = end(text.as_bytes(), start);
            pieces.push(text.get(start..next).unwrap());
            start = next;
        }
        pieces.join("|")
    }

    fn check(o200k: &str, cl100k: &str) {
        let text = o200k.replace('|', "");
        assert_eq!(text, cl100k.replace('|', ""));
        assert_eq!(joined_pieces(&text, end_in_o200k), o200k);
        assert_eq!(joined_pieces(&text, end_in_cl100k), cl100k);
    }

    fn check_both(pieces: &str) {
        check(pieces, pieces);
    }

    #[test]
    fn words_take_one_character_before_them() {
        check_both("Hello| world|,| said|!?|\tTab|\u{A0}nbsp|_x|(y|)");
    }

    #[test]
    fn capitals_begin_a_word_of_o200k() {
        check("get|Name", "getName");
        check("HTTPServer|X", "HTTPServerX");
        // Letters without case count as both. Capitals behind the last one of them are left over.
        check("日本|AB", "日本AB");
        check("AB日|CD", "AB日CD");
        check("日Ab|C", "日AbC");
    }

    #[test]
    fn marks_belong_to_words_in_o200k_only() {
        check("e\u{301}a", "e|\u{301}a");
        check("\u{301}|AB", "\u{301}AB");
        check("\u{301}ab", "\u{301}ab");
        check("!\u{301}a", "!\u{301}|a");
        check("\u{301}'s", "\u{301}'|s");
        check("!!\u{301}|a", "!!\u{301}|a");
    }

    #[test]
    fn contractions_follow_words_in_o200k_and_stand_alone_in_cl100k() {
        check("I'm| we'LL", "I|'m| we|'LL");
        check("don't", "don|'t");
        check("x'Re|x", "x|'Re|x");
        check("x'ſ|a", "x|'ſ|a");
        check_both("x|'lx");
        check("'s| '|s", "'s| '|s");
    }

    #[test]
    fn numbers_have_three_digits() {
        check_both("123|456|7|a| |89²|Ⅷ٣4");
    }

    #[test]
    fn symbols_take_a_space_and_line_breaks() {
        check_both(" =>\n\n|a| //|a");
        check("*/\n/|x", "*/\n|/x");
        check_both("a| | …|\u{A0}|…");
    }

    #[test]
    fn white_space_ends_at_its_last_line_break_or_leaves_one_character() {
        check_both("a|\n\n|  | b");
        check_both(" \n \r\n|  | |1");
        check_both("a|   ");
        check_both("a|\n|   ");
        check_both("a|\t|\tb");
        check_both("\u{2028}\u{85}|\u{3000}a");
        check_both(" |1");
    }
}
