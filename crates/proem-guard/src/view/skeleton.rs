//! Look-alikes of Latin letters (UTS #39, section 4).
//!
//! Only words that look Latin and aren't are touched, so that other scripts stay what they are: a word that mixes Latin
//! with look-alikes from another script. A word of Cyrillic, Greek or Armenian look-alikes alone, in a sentence that
//! has no other words of such a script. A word in small capitals or white-on-black letters, which compatibility forms
//! (NFKC) don't cover.

use super::draft::{DerivedReading, ReadingDraft, ReadingSource};
use alloc::vec::Vec;
use proem_text::{Span, character};
use unicode_script::{Script, UnicodeScript};

/// The text with Latin letters for their look-alikes.
pub(super) fn read_skeleton(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(source);
    let mut start = 0usize;
    let mut words = Vec::new();
    for sentence in source.text.split_inclusive(['\n', '.', '!', '?', '。']) {
        if !sentence.is_ascii() && may_look_latin(sentence) {
            words.clear();
            words.extend(LetterRuns { text: sentence, start });
            read_sentence(source.text, &words, &mut draft);
        }
        start = start.saturating_add(sentence.len());
    }
    draft.finish()
}

/// Whether there is a Latin letter to mistake others for, or one in a style of its own.
fn may_look_latin(sentence: &str) -> bool {
    sentence.bytes().any(|byte| byte.is_ascii_alphabetic()) || sentence.chars().any(is_styled)
}

/// A run of letters and marks.
#[derive(Debug, Clone, Copy)]
struct LetterRun {
    place: Span,
    letters: usize,
    /// Letters of the Latin script, and those of all scripts.
    latin: usize,
    /// Letters in a style of their own, which NFKC doesn't undo.
    styled: usize,
    is_ascii: bool,
}

struct LetterRuns<'a> {
    text: &'a str,
    start: usize,
}

impl Iterator for LetterRuns<'_> {
    type Item = LetterRun;

    fn next(&mut self) -> Option<LetterRun> {
        let before = self.text.find(char::is_alphabetic)?;
        let rest = self.text.get(before..)?;
        let is_part = |c: char| c.is_alphabetic() || (!c.is_ascii() && character::is_mark(c));
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at_checked(end)?;
        let start = self.start.saturating_add(before);
        (self.text, self.start) = (behind, start.saturating_add(end));
        let place = Span::new(start, self.start);
        if word.is_ascii() {
            return Some(LetterRun { place, letters: end, latin: end, styled: 0, is_ascii: true });
        }
        let (mut letters, mut latin, mut styled) = (0usize, 0usize, 0usize);
        for c in word.chars() {
            letters = letters.saturating_add(1);
            latin = latin.saturating_add(usize::from(is_latin(c)));
            styled = styled.saturating_add(usize::from(is_styled(c)));
        }
        Some(LetterRun { place, letters, latin, styled, is_ascii: false })
    }
}

/// Whether a word could represent a Latin one, and how sure that is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// It is what it is.
    None,
    /// It could, next to words that surely do.
    Short,
    Sure,
}

fn read_sentence(text: &str, words: &[LetterRun], draft: &mut ReadingDraft<'_>) {
    let has_latin = words.iter().any(|word| word.latin > 0);
    let slice = |word: &LetterRun| text.get(word.place.start..word.place.end).unwrap_or_default();
    if !has_latin {
        return;
    }
    let is_foreign = |word: &LetterRun| word.latin == 0 && !slice(word).chars().all(|c| lookalike_letter(c).is_some());
    let mut foreign = None;
    let mut likeness = |word: &LetterRun| {
        if word.is_ascii {
            Likeness::None
        } else if word.latin == word.letters {
            is_styled_word(slice(word), word)
        } else if word.latin > 0 {
            mixed_likeness(slice(word), word)
        } else if *foreign.get_or_insert_with(|| words.iter().any(is_foreign)) {
            Likeness::None
        } else {
            look_alike(slice(word), word)
        }
    };
    let found: Vec<(LetterRun, Likeness)> =
        words.iter().map(|word| (*word, likeness(word))).filter(|(_, found)| *found != Likeness::None).collect();
    if found.iter().any(|(_, likeness)| *likeness == Likeness::Sure) {
        for (word, _) in found {
            replace_lookalikes(slice(&word), word.place.start, draft);
        }
    }
}

fn replace_lookalikes(word: &str, start: usize, draft: &mut ReadingDraft<'_>) {
    for (at, c) in word.char_indices() {
        let replaced = if is_styled(c) || !is_latin(c) { lookalike_letter(c) } else { None };
        if let Some(letter) = replaced {
            let at = start.saturating_add(at);
            draft.replace(Span::new(at, at.saturating_add(c.len_utf8())), letter.encode_utf8(&mut [0; 4]));
        }
    }
}

/// A word of Latin letters and others, all of which are look-alikes.
fn mixed_likeness(word: &str, counts: &LetterRun) -> Likeness {
    let mut others = word.chars().filter(|c| !is_latin(*c));
    if !others.all(|c| lookalike_letter(c).is_some()) {
        return Likeness::None;
    }
    // A Greek letter with a name behind it is a quantity: σmax, ρgas.
    let is_quantity = word.chars().next().is_some_and(is_quantity) && counts.letters.saturating_sub(counts.latin) == 1;
    match counts.letters {
        _ if is_quantity => Likeness::None,
        0..=2 => Likeness::Short,
        _ => Likeness::Sure,
    }
}

/// A word without Latin letters, all of whose letters are look-alikes of some.
fn look_alike(word: &str, counts: &LetterRun) -> Likeness {
    let is_near = |c: char| matches!(c.script(), Script::Cyrillic | Script::Greek | Script::Armenian);
    if !word.chars().all(|c| is_near(c) && lookalike_letter(c).is_some()) {
        return Likeness::None;
    }
    if counts.letters < 3 || word.chars().all(is_quantity) { Likeness::Short } else { Likeness::Sure }
}

/// A word that is in part or whole in small capitals, white-on-black letters or the like.
fn is_styled_word(word: &str, counts: &LetterRun) -> Likeness {
    let is_plain = |c: char| c.is_ascii() || (is_styled(c) && lookalike_letter(c).is_some());
    if counts.styled > 0 && counts.letters >= 3 && word.chars().all(is_plain) { Likeness::Sure } else { Likeness::None }
}

/// Small Greek letters that represent quantities.
const fn is_quantity(c: char) -> bool {
    matches!(c, 'α'..='ω') && c != 'ο'
}

/// Whether the letter or mark is Latin or belongs to no script.
fn is_latin(c: char) -> bool {
    match c {
        '\0'..='\u{24f}' | '\u{300}'..='\u{36f}' => true,
        '\u{370}'..='\u{1cff}' | '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' => false,
        _ => matches!(c.script(), Script::Latin | Script::Common | Script::Inherited),
    }
}

/// Letters of the Latin script, or none, that are drawn in another way: phonetic ones, small
/// capitals, and white letters on black.
const fn is_styled(c: char) -> bool {
    matches!(c, '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1d2b}' | '\u{a730}' | '\u{a731}')
        || matches!(c, '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}')
}

/// Small capitals from A to Z but Q and X, which have none of their own or look like the small
/// letter.
const SMALL_CAPITALS: [(char, char); 24] = [
    ('ᴀ', 'a'),
    ('ʙ', 'b'),
    ('ᴄ', 'c'),
    ('ᴅ', 'd'),
    ('ᴇ', 'e'),
    ('ꜰ', 'f'),
    ('ɢ', 'g'),
    ('ʜ', 'h'),
    ('ɪ', 'i'),
    ('ᴊ', 'j'),
    ('ᴋ', 'k'),
    ('ʟ', 'l'),
    ('ᴍ', 'm'),
    ('ɴ', 'n'),
    ('ᴏ', 'o'),
    ('ᴘ', 'p'),
    ('ʀ', 'r'),
    ('ꜱ', 's'),
    ('ᴛ', 't'),
    ('ᴜ', 'u'),
    ('ᴠ', 'v'),
    ('ᴡ', 'w'),
    ('ʏ', 'y'),
    ('ᴢ', 'z'),
];

/// The one ASCII letter that the character looks like, in the character's case.
pub(crate) fn lookalike_letter(c: char) -> Option<char> {
    let code = u32::from(c);
    let white = code.checked_sub(0x1f150).filter(|index| *index < 26);
    let white = white.or_else(|| code.checked_sub(0x1f170).filter(|index| *index < 26));
    if let Some(index) = white {
        return char::from_u32(index.saturating_add(u32::from('a')));
    }
    if let Some((_, letter)) = SMALL_CAPITALS.iter().find(|(capital, _)| *capital == c) {
        return Some(*letter);
    }
    let mut buffer = [0; 4];
    let mut prototype = unicode_security::skeleton(c.encode_utf8(&mut buffer));
    let letter = prototype.next().filter(|letter| letter.is_ascii_alphabetic())?;
    if prototype.next().is_some() {
        return None;
    }
    // The prototype of a capital I is a small L.
    Some(match letter {
        'l' if c.is_uppercase() => 'I',
        _ if c.is_uppercase() => letter.to_ascii_uppercase(),
        _ if c.is_lowercase() => letter.to_ascii_lowercase(),
        _ => letter,
    })
}
