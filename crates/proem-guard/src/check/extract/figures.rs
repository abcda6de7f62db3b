//! Amounts of money, and phone and account numbers, in running text.

use super::{
    ValueMentions, checksum, codes, money,
    money_words::{MoneyWords, fold_money_word},
    vanity,
};
use crate::check::{ReferentKind, amount};
use alloc::{string::String, vec::Vec};
use proem_text::Span;

/// Adds every amount, and every number with at least `min_digits` digits.
pub(super) fn add_figures<'a>(text: &'a str, min_digits: usize, tokens: &mut ValueMentions<'a>) {
    let words = MoneyWords::new();
    add_amounts(text, &words, tokens);
    money::add_worded_amounts(text, &words, tokens);
    accounts(text, tokens);
    add_numbers(text, min_digits, tokens);
    codes::codes(text, tokens);
    vanity::add_vanity_numbers(text, tokens);
}

/// The end of the number that starts at `start`, with its separators.
fn number_end(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut rest = text.get(start..).unwrap_or_default().chars();
    while let Some(c) = rest.next() {
        let joins = match c {
            '.' | ',' | '\'' | '’' | '\u{a0}' | '\u{202f}' => rest.as_str().starts_with(char::is_numeric),
            ' ' => is_digit_group(text.get(start..end).unwrap_or_default(), rest.as_str()),
            c => c.is_numeric(),
        };
        if !joins {
            break;
        }
        end = end.saturating_add(c.len_utf8());
    }
    end
}

/// Whether three digits behind a space go on with the number before it.
fn is_digit_group(before: &str, behind: &str) -> bool {
    let digits = |text: &str| text.chars().take(4).take_while(char::is_ascii_digit).count();
    let last = before.chars().rev().take(4).take_while(char::is_ascii_digit).count();
    digits(behind) == 3 && (last == 3 || before.len() == last) && last <= 3
}

fn add_amounts<'a>(text: &'a str, words: &MoneyWords, tokens: &mut ValueMentions<'a>) {
    let mut done = 0;
    for (at, c) in text.char_indices() {
        if at < done || !c.is_numeric() {
            continue;
        }
        let end = number_end(text, at);
        let before = text.get(done..at).unwrap_or_default();
        let behind = text.get(end..).unwrap_or_default();
        let left = designator_before(before);
        let multiplied = magnitude(behind, words);
        let right = designator_behind(behind.get(multiplied..).unwrap_or_default());
        if left > 0 || right > 0 {
            let right = if right > 0 || multiplied > 0 { multiplied.saturating_add(right) } else { 0 };
            let span = Span::new(at.saturating_sub(left), end.saturating_add(right));
            tokens.push(ReferentKind::Amount, span, text.get(span.start..span.end).unwrap_or_default());
            done = span.end;
        } else {
            done = end;
        }
    }
}

const BLANKS: [char; 3] = [' ', '\u{a0}', '\u{202f}'];

/// The bytes that a currency takes at the end of a text, with the blank and the sign behind it.
fn designator_before(text: &str) -> usize {
    let unsigned = text.strip_suffix(['-', '−', '+']).unwrap_or(text);
    let bare = unsigned.strip_suffix(BLANKS).unwrap_or(unsigned);
    let starts_word = |len: usize| {
        let (before, word) = bare.split_at_checked(bare.len().saturating_sub(len)).unwrap_or_default();
        !(word.starts_with(char::is_alphabetic) && before.ends_with(char::is_alphanumeric))
    };
    let ends_with =
        |sign: &str| bare.get(bare.len().saturating_sub(sign.len())..).is_some_and(|end| matches_sign(end, sign));
    let sign = amount::SIGNS
        .iter()
        .map(|(sign, _)| sign.len())
        .zip(amount::SIGNS)
        .find(|(len, (sign, _))| ends_with(sign) && starts_word(*len));
    let code = || {
        bare.get(bare.len().saturating_sub(3)..)
            .and_then(amount::currency_code)
            .map(|_| 3)
            .filter(|len| starts_word(*len))
    };
    let len = sign.map(|(len, _)| len).or_else(code);
    len.map_or(0, |len| text.len().saturating_sub(bare.len()).saturating_add(len))
}

/// The bytes that a currency takes at the start of a text, with the blank before it.
fn designator_behind(text: &str) -> usize {
    let bare = text.strip_prefix(BLANKS).unwrap_or(text);
    let ends_word = |len: usize| {
        let (word, behind) = bare.split_at_checked(len).unwrap_or_default();
        !(word.ends_with(char::is_alphabetic) && behind.starts_with(char::is_alphanumeric))
    };
    let starts_with = |sign: &str| bare.get(..sign.len()).is_some_and(|start| matches_sign(start, sign));
    let sign =
        amount::SIGNS.iter().find(|(sign, _)| starts_with(sign) && ends_word(sign.len())).map(|(sign, _)| sign.len());
    let code = || bare.get(..3).and_then(amount::currency_code).map(|_| 3).filter(|len| ends_word(*len));
    sign.or_else(code).map_or(0, |len| text.len().saturating_sub(bare.len()).saturating_add(len))
}

/// Words in any case, short signs as they are.
fn matches_sign(text: &str, sign: &str) -> bool {
    text == sign || (sign.len() > 3 && text.eq_ignore_ascii_case(sign))
}

/// The bytes that a multiplying word takes at the start of a text.
fn magnitude(text: &str, words: &MoneyWords) -> usize {
    let bare = text.strip_prefix(BLANKS).unwrap_or(text);
    let len: usize = bare.chars().take(12).take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum();
    let known = words.senses(&fold_money_word(bare.get(..len).unwrap_or_default())).is_magnitude;
    if known { text.len().saturating_sub(bare.len()).saturating_add(len) } else { 0 }
}

/// Phone and account numbers: digits with at most two separators between them.
fn add_numbers<'a>(text: &'a str, min_digits: usize, tokens: &mut ValueMentions<'a>) {
    let mut done = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let joined = last.is_some_and(char::is_alphanumeric);
        last = Some(c);
        if at < done || !c.is_numeric() || joined {
            continue;
        }
        let (end, digits) = digit_run(text, at);
        done = end.max(at.saturating_add(1));
        if digits < min_digits {
            continue;
        }
        let before = text.get(..at).unwrap_or_default();
        let plus = usize::from(before.ends_with('+'));
        let bracket = if before.ends_with("+(") { 2 } else { plus };
        let span = Span::new(at.saturating_sub(bracket), end);
        tokens.push(ReferentKind::Number, span, text.get(span.start..span.end).unwrap_or_default());
    }
}

/// The end of the run of digits, and their number. A date is no part of one.
fn digit_run(text: &str, start: usize) -> (usize, usize) {
    let (mut end, mut digits) = (start, 0_usize);
    if let Some(len) = date_len(text.get(start..).unwrap_or_default()) {
        return (start.saturating_add(len), 0);
    }
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let group: usize = rest.chars().take_while(|c| c.is_numeric()).map(char::len_utf8).sum();
        digits = digits.saturating_add(rest.get(..group).unwrap_or_default().chars().count());
        end = end.saturating_add(group);
        let behind = rest.get(group..).unwrap_or_default();
        let gap: usize = behind.chars().take(3).take_while(|c| is_digit_separator(*c)).map(char::len_utf8).sum();
        let next = behind.get(gap..).unwrap_or_default();
        if gap == 0 || !next.starts_with(char::is_numeric) || date_len(next).is_some() {
            return (end, digits);
        }
        end = end.saturating_add(gap);
    }
}

const fn is_digit_separator(c: char) -> bool {
    matches!(c, ' ' | '-' | '.' | '/' | '(' | ')' | '\u{a0}' | '\u{202f}' | '\u{2010}' | '\u{2011}' | '\u{2013}')
}

/// The length of a date at the start of a text: `2026-11-22`, `22.11.2026`, `22/11/2026`, `22-11-2026`.
fn date_len(text: &str) -> Option<usize> {
    let len =
        text.bytes().take(11).take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'/')).count();
    let date = text.get(..len)?.trim_end_matches(['.', '-', '/']);
    let separator = date.chars().find(|c| !c.is_ascii_digit())?;
    let parts: Vec<&str> = date.split(separator).collect();
    let [first, month, last] = parts.as_slice() else { return None };
    let (year, day) = if first.len() == 4 { (first, last) } else { (last, first) };
    let within = |part: &str, low: u32, high: u32| part.parse::<u32>().is_ok_and(|value| (low..=high).contains(&value));
    let dated = year.len() == 4 && within(year, 1900, 2199) && month.len() <= 2 && day.len() <= 2;
    (dated && within(month, 1, 31) && within(day, 1, 31)).then_some(date.len())
}

/// International bank account numbers, in groups or not (ISO 13616: 15 to 34 characters).
fn accounts<'a>(text: &'a str, tokens: &mut ValueMentions<'a>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for (at, pair) in bytes.windows(4).enumerate() {
        let starts = pair.iter().take(2).all(u8::is_ascii_uppercase) && pair.iter().skip(2).all(u8::is_ascii_digit);
        let inside = at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(u8::is_ascii_alphanumeric);
        if at < done || !starts || inside {
            continue;
        }
        let Some(end) = account_end(text, at) else { continue };
        tokens.push(ReferentKind::Number, Span::new(at, end), text.get(at..end).unwrap_or_default());
        done = end;
    }
}

/// The end of the account number: behind the last group that makes its checksum right, or behind the last group.
fn account_end(text: &str, start: usize) -> Option<usize> {
    let mut joined = String::new();
    let (mut end, mut checked, mut longest) = (start, None, None);
    loop {
        let rest = text.get(end..)?;
        let len = rest.bytes().take(40).take_while(u8::is_ascii_alphanumeric).count();
        let group = rest.get(..len)?;
        let fits = group.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && group.bytes().any(|byte| byte.is_ascii_digit());
        if len == 0 || !fits || joined.len().saturating_add(len) > 34 {
            break;
        }
        joined.push_str(group);
        end = end.saturating_add(len);
        if joined.len() >= 15 && joined.bytes().filter(u8::is_ascii_digit).count() >= 10 {
            longest = Some(end);
            if checksum::is_iban(&joined) {
                checked = Some(end);
            }
        }
        if !text.get(end..)?.starts_with([' ', '-']) {
            break;
        }
        end = end.saturating_add(1);
    }
    checked.or(longest)
}
