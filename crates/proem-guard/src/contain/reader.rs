//! A place in a text, read character by character in a folded form.
//!
//! Folding sees through case and through the look-alikes that models read as ASCII punctuation,
//! so that each pattern is written down once. Everything here is a copyable value: a pattern that
//! doesn't match is forgotten without undoing anything.

use super::mode::MARKS;
use crate::view::skeleton;
use alloc::string::String;
use proem_text::character;

/// HTML's ways to write `<` and `>`, in lower case.
const OPENING_ENTITIES: [&str; 5] = ["&lt;", "&#60;", "&#060;", "&#x3c;", "&#x03c;"];
const CLOSING_ENTITIES: [&str; 5] = ["&gt;", "&#62;", "&#062;", "&#x3e;", "&#x03e;"];

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoldedReader<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> FoldedReader<'a> {
    /// The place at `offset` bytes.
    pub(super) const fn at(text: &'a str, offset: usize) -> Self {
        Self { text, offset }
    }

    /// The place in bytes.
    pub(super) const fn offset(self) -> usize {
        self.offset
    }

    /// The same text at another place.
    pub(super) const fn moved_to(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    fn rest(self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// The next character, folded. `None` at the end.
    pub(super) fn peek(self) -> Option<char> {
        self.rest().chars().next().map(fold_character)
    }

    /// Behind the next character.
    pub(super) fn next(self) -> Self {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        self.moved_to(self.offset.saturating_add(len))
    }

    /// Whether `exact` comes next as it is, not folded.
    pub(super) fn stands(self, exact: &str) -> bool {
        self.rest().starts_with(exact)
    }

    /// Behind `wanted`, if that comes next.
    pub(super) fn take(self, wanted: char) -> Option<Self> {
        (self.peek() == Some(wanted)).then(|| self.next())
    }

    /// Behind the letters and digits of `name`, if they come next in any case and as any of their
    /// look-alikes, with whatever [`is_gap`] between them.
    pub(super) fn take_name(self, name: &str) -> Option<Self> {
        let mut letters = name.chars().filter(|c| *c != '_');
        let first = letters.next().and_then(|c| self.take_like(c))?;
        letters
            .try_fold(first, |reader, c| reader.take_like(c).or_else(|| reader.skip(usize::MAX, is_gap).take_like(c)))
    }

    /// Behind the next character, if it looks like `wanted`.
    fn take_like(self, wanted: char) -> Option<Self> {
        let wanted = wanted.to_ascii_lowercase();
        let next = self.peek()?;
        let looks = || {
            let original = self.rest().chars().next().filter(|c| !c.is_ascii());
            original
                .and_then(skeleton::lookalike_letter)
                .is_some_and(|letter| is_like(letter.to_ascii_lowercase(), wanted))
        };
        (is_like(next, wanted) || looks()).then(|| self.next())
    }

    /// Behind at most `max` characters that `is_wanted` accepts.
    pub(super) fn skip(self, max: usize, is_wanted: impl Fn(char) -> bool) -> Self {
        let mut reader = self;
        for _ in 0..max {
            match reader.peek() {
                Some(c) if is_wanted(c) => reader = reader.next(),
                _ => break,
            }
        }
        reader
    }

    /// The next word, folded, and the place behind it. Empty if it is longer than `max` characters.
    pub(super) fn word(self, max: usize, is_wanted: impl Fn(char) -> bool) -> (String, Self) {
        let end = self.skip(max, &is_wanted);
        if end.peek().is_some_and(is_wanted) {
            return (String::new(), self);
        }
        (self.text.get(self.offset..end.offset).unwrap_or_default().chars().map(fold_character).collect(), end)
    }

    /// Behind an opening angle bracket, however it is written.
    pub(super) fn open(self) -> Option<Self> {
        self.take('<').or_else(|| self.entity(&OPENING_ENTITIES))
    }

    /// Behind a closing angle bracket, however it is written.
    pub(super) fn close(self) -> Option<Self> {
        self.take('>').or_else(|| self.entity(&CLOSING_ENTITIES))
    }

    fn entity(self, entities: &[&str]) -> Option<Self> {
        if self.peek() != Some('&') {
            return None;
        }
        let starts =
            |entity: &&&str| self.rest().get(..entity.len()).is_some_and(|start| start.eq_ignore_ascii_case(entity));
        entities.iter().find(starts).map(|entity| self.moved_to(self.offset.saturating_add(entity.len())))
    }

    /// Whether a line ends here.
    pub(super) fn is_at_line_end(self) -> bool {
        self.peek().is_none_or(character::is_line_break)
    }
}

/// Whether the small letter or digit passes for `wanted`.
const fn is_like(c: char, wanted: char) -> bool {
    c as u32 == wanted as u32 || matches!((c, wanted), ('l' | '1', 'i') | ('i' | '1', 'l') | ('0', 'o'))
}

/// Whether a character may come between two letters of a name that is still read as one: space, line breaks, joiners,
/// and signs that are no letters. Not those that mark data, which no cut may take away.
fn is_gap(c: char) -> bool {
    let is_sign = !c.is_ascii() && !c.is_alphanumeric() && !MARKS.contains(&c);
    c.is_whitespace() || matches!(c, '_' | '-' | '.') || is_sign
}

/// Whether the character is space within a line.
pub(super) fn is_inline_blank(c: char) -> bool {
    c.is_whitespace() && !character::is_line_break(c)
}

/// Lower case, and ASCII for fullwidth forms (U+FF01–U+FF5E in the block *Halfwidth and Fullwidth
/// Forms*) and for look-alikes of brackets and the colon.
fn fold_character(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    match c {
        '\u{ff01}'..='\u{ff5e}' => u32::from(c).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(c),
        '﹤' | '‹' | '〈' | '\u{2329}' | '⟨' => '<',
        '﹥' | '›' | '〉' | '\u{232a}' | '⟩' => '>',
        '【' | '〔' | '⟦' => '[',
        '】' | '〕' | '⟧' => ']',
        '﹕' | '∶' | '꞉' => ':',
        '∕' | '⁄' => '/',
        _ => c,
    }
    .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_read_as_ascii() {
        for (c, expected) in [('Ａ', 'a'), ('＜', '<'), ('／', '/'), ('：', ':'), ('～', '~'), ('é', 'é'), ('А', 'А')]
        {
            assert_eq!(fold_character(c), expected, "{c:?}");
        }
    }

    #[test]
    fn brackets_read_in_every_spelling() {
        for (text, expected) in
            [("<a", Some(1)), ("＜a", Some(3)), ("&LT;a", Some(4)), ("&#x3C;", Some(6)), ("&amp;", None)]
        {
            assert_eq!(FoldedReader::at(text, 0).open().map(FoldedReader::offset), expected, "{text:?}");
        }
        assert_eq!(FoldedReader::at("x&gt;", 1).close().map(FoldedReader::offset), Some(5));
    }

    #[test]
    fn names_are_read_through_look_alikes_and_gaps() {
        for (text, expected) in [
            ("ab_cd", true),
            ("ABCD", true),
            ("a\n b-C\u{2028}d", true),
            ("аb.сd", true),
            ("a∙b∙c∙d", true),
            ("aˆbˆcˆd", false),
            ("ab/cd", false),
            ("ab<cd", false),
            ("abxcd", false),
            ("абcd", false),
            (" abcd", false),
        ] {
            assert_eq!(FoldedReader::at(text, 0).take_name("ab_cd").is_some(), expected, "{text:?}");
        }
        assert!(FoldedReader::at("C0LlDE", 0).take_name("coilde").is_some());
    }

    #[test]
    fn words_have_a_longest_length() {
        let word = |text| FoldedReader::at(text, 0).word(4, char::is_alphabetic).0;
        assert_eq!(word("ABC d"), "abc");
        assert_eq!(word("abcde"), "");
    }
}
