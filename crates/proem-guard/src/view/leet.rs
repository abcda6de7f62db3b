//! Digits and signs that represent letters: `1gn0re`, `p@ssw0rd`.

use super::draft::{DerivedReading, ReadingDraft, ReadingSource};
use alloc::{string::String, vec::Vec};
use proem_text::Span;

/// The text with letters for such digits and signs.
///
/// Only in lines that surely mean it: with one word in which two were replaced, or two words in
/// which one was, between letters (or a sign, in one of a few known words).
pub(super) fn read_leet(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(source);
    let mut start = 0usize;
    let mut words = Vec::new();
    for line in source.text.split_inclusive('\n') {
        words.clear();
        read_line(line, start, &mut words);
        let total = words.iter().fold(0usize, |total, word: &LeetWord| total.saturating_add(word.weight));
        if total >= 2 {
            for word in &words {
                draft.replace(word.place, &word.plain);
            }
        }
        start = start.saturating_add(line.len());
    }
    draft.finish()
}

struct LeetWord {
    place: Span,
    plain: String,
    /// How much it speaks for writing of this kind.
    weight: usize,
}

const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'@' | b'$' | b'!')
}

const fn is_leet_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || is_sign(byte)
}

fn read_line(line: &str, start: usize, words: &mut Vec<LeetWord>) {
    let bytes = line.as_bytes();
    let mut at = 0usize;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let before = rest.iter().take_while(|byte| !is_leet_byte(**byte)).count();
        let from = at.saturating_add(before);
        let part = bytes.get(from..).unwrap_or_default();
        let length = part.iter().take_while(|byte| is_leet_byte(**byte)).count();
        at = from.saturating_add(length);
        let Some(word) = line.get(from..at) else { continue };
        // A sentence may end with an exclamation mark.
        let word = word.trim_end_matches('!');
        if !word.bytes().any(is_sign) || !word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            continue;
        }
        // A mail address, or a part of a word in another script.
        let neighbour = |byte: Option<&u8>| byte.is_some_and(|byte| *byte >= 0x80);
        let is_address = word.contains('@') && bytes.get(at) == Some(&b'.');
        let before = from.checked_sub(1).and_then(|before| bytes.get(before));
        if is_address || neighbour(before) || neighbour(bytes.get(at)) {
            continue;
        }
        let from = start.saturating_add(from);
        let place = Span::new(from, from.saturating_add(word.len()));
        words.extend(leet_word(word).map(|(plain, weight)| LeetWord { place, plain, weight }));
    }
}

/// The longest word that is read. Keys and checksums are longer.
const LONGEST: usize = 20;

/// The word in letters and its weight. `None` if it can't be one.
fn leet_word(word: &str) -> Option<(String, usize)> {
    let bytes = word.as_bytes();
    if word.len() < 3 || word.len() > LONGEST || is_number_or_id(word) {
        return None;
    }
    let mut plain = String::with_capacity(word.len());
    let (mut replaced, mut inner) = (0usize, 0usize);
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let behind = bytes.get(at.saturating_add(1));
        let letter = if byte.is_ascii_alphabetic() { *byte } else { leet_letter(*byte, before, behind)? };
        plain.push(char::from(letter));
        if byte.is_ascii_alphabetic() {
            continue;
        }
        replaced = replaced.saturating_add(1);
        let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
        inner = inner.saturating_add(usize::from(is_letter(before) && is_letter(behind)));
    }
    // No word ends with a J, but names of programs written in Java do.
    if !is_pronounceable(&plain) || plain.ends_with(['j', 'J']) {
        return None;
    }
    let letters = word.len().saturating_sub(replaced);
    let weight = if replaced >= 2 && inner >= 1 && letters >= 3 {
        2
    } else {
        usize::from(inner >= 1 || KNOWN.contains(&plain.to_ascii_lowercase().as_str()))
    };
    Some((plain, weight))
}

/// Words that a sign or a digit at the border is enough for.
const KNOWN: [&str; 24] = [
    "access",
    "admin",
    "all",
    "and",
    "api",
    "assistant",
    "instructions",
    "developer",
    "email",
    "ignore",
    "password",
    "passwords",
    "previous",
    "print",
    "rules",
    "safety",
    "secret",
    "secrets",
    "send",
    "show",
    "system",
    "this",
    "the",
    "instruction",
];

/// Hexadecimal digits, `0x…`, capitals in the middle, and more digits than anybody writes in a
/// word.
fn is_number_or_id(word: &str) -> bool {
    let letters = || word.bytes().filter(u8::is_ascii_alphabetic);
    let is_hex = letters().all(|byte| byte.is_ascii_hexdigit()) && letters().count() < word.len();
    let all_upper = letters().all(|byte| byte.is_ascii_uppercase());
    let upper_inside = letters().skip(1).any(|byte| byte.is_ascii_uppercase());
    let mut run = 0usize;
    let has_number = word.bytes().any(|byte| {
        run = if byte.is_ascii_digit() { run.saturating_add(1) } else { 0 };
        run >= 4
    });
    is_hex || word.starts_with("0x") || (upper_inside && !all_upper) || has_number
}

/// Whether it has a vowel, and nowhere more than four consonants in a row.
fn is_pronounceable(word: &str) -> bool {
    let mut run = 0usize;
    let mut longest = 0usize;
    let mut vowels = 0usize;
    for byte in word.bytes() {
        let vowel = is_vowel(byte);
        vowels = vowels.saturating_add(usize::from(vowel));
        run = if vowel { 0 } else { run.saturating_add(1) };
        longest = longest.max(run);
    }
    vowels > 0 && longest <= 4
}

const fn is_vowel(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn leet_letter(sign: u8, before: Option<&u8>, behind: Option<&u8>) -> Option<u8> {
    Some(match sign {
        b'0' => b'o',
        b'1' => leet_one(before, behind),
        b'3' => b'e',
        b'4' | b'@' => b'a',
        b'5' | b'$' => b's',
        b'7' => b't',
        b'8' => b'b',
        b'9' => b'g',
        b'!' => b'i',
        _ => return None,
    })
}

/// The one is an L at the end, twice, and next to a vowel where no consonant is; else an I.
fn leet_one(before: Option<&u8>, behind: Option<&u8>) -> u8 {
    let is_vowel =
        |byte: Option<&u8>| byte.is_some_and(|byte| is_vowel(*byte) || matches!(byte, b'0' | b'3' | b'4' | b'@'));
    let is_twice = before == Some(&b'1') || behind == Some(&b'1');
    let is_border = behind.is_none() || before.is_none_or(|_| is_vowel(before)) && is_vowel(behind);
    if is_twice || is_border { b'l' } else { b'i' }
}
