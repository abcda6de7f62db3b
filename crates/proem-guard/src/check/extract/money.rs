//! Amounts of money with words in them: `1,5 Mio. Euro`, `TEUR 150`, `two hundred euros`, `一百五十万欧元`.
//!
//! None of them has a canonical form, so each needs somebody who reads it. Linear: around each currency a bounded number
//! of words is looked at.

use alloc::vec::Vec;
use core::ops::Range;
use proem_text::Span;

use super::{
    ValueMentions,
    money_words::{MoneyWords, WordSenses, fold_money_word, is_multiple, is_number_word},
};
use crate::check::{ReferentKind, amount};

/// The most words of one amount on each side of its currency.
const MOST_WORDS: usize = 16;
/// The most bytes between two of its words.
const LONGEST_GAP: usize = 6;
/// The fewest words for digits that make a number.
const FEWEST_DIGIT_WORDS: usize = 7;
/// The fewest digits of an account behind a word for one.
const FEWEST_ACCOUNT_DIGITS: usize = 6;
/// The most bytes before a currency that are looked at in scripts without spaces.
const LOOK_BACK: usize = 36;

/// A word, a run of digits with its separators, or a sign of a currency.
#[derive(Debug, Clone, Copy)]
struct MoneyToken {
    span: Span,
    kind: MoneyTokenKind,
    senses: WordSenses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MoneyTokenKind {
    Digits,
    Word,
    Sign,
}

/// The role of a token in an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AmountPart {
    Currency,
    /// A currency that [`super::figures`] reads by itself.
    PlainCurrency,
    Digits,
    NumberWord,
    Magnitude,
    Joint,
    Nothing,
}

/// Currencies whose codes are words in lower case.
const UPPER_CASE: [&str; 3] = ["ETH", "BNB", "DAI"];

/// Adds the amounts with words, the numbers that are told in words, and those behind a word for an account.
///
/// Amounts in digits come before: what they cover is found already.
pub(super) fn add_worded_amounts<'a>(text: &'a str, words: &MoneyWords, tokens: &mut ValueMentions<'a>) {
    let all = money_tokens(text, words);
    let phrases = MoneyText { text, all: &all };
    phrases.amounts(tokens);
    phrases.digit_words(tokens);
    phrases.accounts(tokens);
    add_unspaced_amounts(text, tokens);
}

fn money_tokens(text: &str, words: &MoneyWords) -> Vec<MoneyToken> {
    let mut all: Vec<MoneyToken> = Vec::new();
    for (at, c) in text.char_indices() {
        let kind = match c {
            c if c.is_numeric() => MoneyTokenKind::Digits,
            c if c.is_alphabetic() || is_vowel_sign(c) => MoneyTokenKind::Word,
            '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}' => MoneyTokenKind::Sign,
            _ => continue,
        };
        let end = at.saturating_add(c.len_utf8());
        // Thousands are grouped: `1.500.000`, `1'500`.
        let joins = |last: &MoneyToken| {
            let between = text.get(last.span.end..at).unwrap_or_default();
            last.kind == kind
                && kind != MoneyTokenKind::Sign
                && (between.is_empty() || (kind == MoneyTokenKind::Digits && [".", ",", "'", "’"].contains(&between)))
        };
        match all.last_mut().filter(|last| joins(last)) {
            Some(last) => last.span.end = end,
            None => all.push(MoneyToken { span: Span::new(at, end), kind, senses: WordSenses::default() }),
        }
    }
    for token in all.iter_mut().filter(|token| token.kind == MoneyTokenKind::Word) {
        token.senses = words.senses(&fold_money_word(text.get(token.span.start..token.span.end).unwrap_or_default()));
    }
    // `T€` is a currency of its own.
    let mut multiples: Vec<MoneyToken> = Vec::with_capacity(all.len());
    for token in all {
        let is_multiple = |last: &MoneyToken| {
            let word = text.get(last.span.start..last.span.end).unwrap_or_default();
            last.span.end == token.span.start
                && token.kind == MoneyTokenKind::Sign
                && is_multiple(&fold_money_word(word))
        };
        match multiples.last_mut().filter(|last| is_multiple(last)) {
            Some(last) => {
                last.span.end = token.span.end;
                last.senses.is_currency = true;
            }
            None => multiples.push(token),
        }
    }
    multiples
}

/// Whether it is a part of words in the scripts of India and in Thai, and no letter.
const fn is_vowel_sign(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{dff}' | '\u{e30}'..='\u{e4e}' | '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}')
}

struct MoneyText<'t, 'a> {
    text: &'a str,
    all: &'t [MoneyToken],
}

impl<'a> MoneyText<'_, 'a> {
    fn word(&self, at: usize) -> &'a str {
        self.all.get(at).and_then(|token| self.text.get(token.span.start..token.span.end)).unwrap_or_default()
    }

    fn part(&self, at: usize) -> AmountPart {
        let Some(token) = self.all.get(at) else { return AmountPart::Nothing };
        let word = self.word(at);
        match token.kind {
            MoneyTokenKind::Digits => return AmountPart::Digits,
            MoneyTokenKind::Sign => return AmountPart::PlainCurrency,
            MoneyTokenKind::Word => {}
        }
        let senses = token.senses;
        if senses.is_plain_currency || amount::currency_code(word).is_some() {
            AmountPart::PlainCurrency
        } else if senses.is_currency || UPPER_CASE.contains(&word) || self.is_short_currency(at) {
            AmountPart::Currency
        } else if senses.is_magnitude {
            AmountPart::Magnitude
        } else if senses.is_joint {
            AmountPart::Joint
        } else if is_number_word(&fold_money_word(word)) {
            AmountPart::NumberWord
        } else {
            AmountPart::Nothing
        }
    }

    fn is_currency(&self, at: usize) -> bool {
        let Some(token) = self.all.get(at) else { return false };
        let word = self.word(at);
        let is_named = token.senses.is_plain_currency || token.senses.is_currency || UPPER_CASE.contains(&word);
        token.kind == MoneyTokenKind::Sign
            || (token.kind == MoneyTokenKind::Word
                && (is_named || amount::currency_code(word).is_some() || self.is_short_currency(at)))
    }

    /// `Rp`, `Rs`, `TL` and the like, which mean other things unless a number of at least two digits is beside them.
    fn is_short_currency(&self, at: usize) -> bool {
        let is_number = |at: Option<usize>| {
            let at = at.filter(|at| self.all.get(*at).is_some_and(|token| token.kind == MoneyTokenKind::Digits));
            at.is_some_and(|at| self.word(at).len() >= 2)
        };
        let (before, behind) = (at.checked_sub(1), at.checked_add(1));
        let is_multiple = || before.and_then(|at| self.all.get(at)).is_some_and(|before| before.senses.is_magnitude);
        match self.word(at) {
            "Rp" | "Rs" | "rs" | "Php" | "RM" | "Fr" | "Lek" => is_number(behind) || is_number(before),
            "TL" | "kr" | "Kc" | "Kč" | "zl" | "zł" | "Ft" | "Kr" => is_number(before) || is_multiple(),
            "cent" | "Cent" | "cents" | "Cents" | "ct" => is_number(before),
            _ => false,
        }
    }

    /// Whether a token belongs to the one behind it.
    fn is_close(&self, at: usize) -> bool {
        let (Some(token), Some(next)) = (self.all.get(at), at.checked_add(1).and_then(|at| self.all.get(at))) else {
            return false;
        };
        let gap = self.text.get(token.span.end..next.span.start).unwrap_or_default();
        let is_end = || self.part(at) == AmountPart::Magnitude || self.word(at).len() <= 3;
        let dash = ['-', '–', '—'];
        let gap = match gap.strip_prefix('.') {
            Some(rest) if token.kind == MoneyTokenKind::Word && is_end() => rest,
            _ => gap,
        };
        let gap = gap.strip_prefix([',', '.']).filter(|rest| rest.starts_with(dash)).unwrap_or(gap);
        // A colon is behind a currency, and behind a number only where the next sentence begins.
        let is_behind_currency = self.is_currency(at);
        let fits = |c: char| match c {
            ':' | '=' => is_behind_currency,
            c => c.is_whitespace() || dash.contains(&c) || "()[]~≈|/'’\"*_‑+".contains(c),
        };
        gap.len() <= LONGEST_GAP && gap.chars().all(fits)
    }

    fn amounts(&self, tokens: &mut ValueMentions<'a>) {
        let known: Vec<Span> =
            tokens.found.iter().filter(|one| one.kind == ReferentKind::Amount).map(|one| one.span).collect();
        let mut done = 0_usize;
        for at in 0..self.all.len() {
            if at < done || !self.is_currency(at) {
                continue;
            }
            let first = self.reach_back(at, done);
            let last = self.reach(at);
            let is_known = |span: Span| {
                let last = known.partition_point(|known| known.start <= span.start).checked_sub(1);
                last.and_then(|last| known.get(last)).is_some_and(|known| span.end <= known.end)
            };
            let has_amount = self.all.get(at).is_some_and(|token| is_known(token.span));
            let Some((first, last)) = self.quantity(at, first..last.saturating_add(1), has_amount) else { continue };
            done = last.saturating_add(1);
            let (Some(from), Some(to)) = (self.all.get(first), self.all.get(last)) else { continue };
            let span = Span::new(from.span.start, to.span.end);
            if !is_known(span) {
                tokens.push(ReferentKind::Amount, span, self.text.get(span.start..span.end).unwrap_or_default());
            }
        }
    }

    /// The first token of those that belong to the one at `at`.
    fn reach_back(&self, at: usize, from: usize) -> usize {
        let mut first = at;
        while first > from && at.saturating_sub(first) < MOST_WORDS && self.goes_on(first.saturating_sub(1)) {
            first = first.saturating_sub(1);
        }
        first
    }

    fn reach(&self, at: usize) -> usize {
        let mut last = at;
        while last.saturating_sub(at) < MOST_WORDS && self.goes_on(last) {
            last = last.saturating_add(1);
        }
        last
    }

    /// Whether an amount can go on with the token behind this one.
    fn goes_on(&self, at: usize) -> bool {
        use AmountPart::{Currency, Digits, Joint, Magnitude, NumberWord, PlainCurrency};
        let next = at.saturating_add(1);
        let may_follow = || match (self.part(at), self.part(next)) {
            (Digits, Digits) => self.word(at).len() <= 3 && self.word(next).len() == 3,
            (Digits, Magnitude | Currency | PlainCurrency)
            | (NumberWord, NumberWord | Magnitude | Joint | Currency | PlainCurrency)
            | (Magnitude, Digits | NumberWord | Magnitude | Joint | Currency | PlainCurrency)
            | (Joint, NumberWord | Magnitude | Currency | PlainCurrency)
            | (Currency | PlainCurrency, Digits | NumberWord | Magnitude) => true,
            _ => false,
        };
        self.is_close(at) && may_follow()
    }

    /// The tokens around a currency that make the amount. If digits beside it are an amount already, only words do.
    fn quantity(&self, at: usize, around: Range<usize>, has_amount: bool) -> Option<(usize, usize)> {
        let is_number = |place: &usize| {
            matches!(self.part(*place), AmountPart::Digits | AmountPart::NumberWord | AmountPart::Magnitude)
        };
        let is_word = |place: usize| matches!(self.part(place), AmountPart::NumberWord | AmountPart::Magnitude);
        let says =
            |tokens: Range<usize>| self.is_amount(tokens.clone()) && (!has_amount || tokens.clone().any(is_word));
        let (before, behind) = (around.start..at, at.saturating_add(1)..around.end);
        let first = before.clone().find(is_number).filter(|_| says(before));
        // `the dollar one`: behind a currency a short word is none of its number.
        let is_one_word = behind.len() == 1
            && behind.clone().all(|place| self.part(place) == AmountPart::NumberWord && self.word(place).len() < 6);
        let last = behind.clone().rev().find(is_number).filter(|_| !is_one_word && says(behind));
        (first.is_some() || last.is_some()).then(|| (first.unwrap_or(at), last.unwrap_or(at)))
    }

    /// Whether some tokens say how much: a single letter or a word such as `mil` doesn't.
    fn is_amount(&self, mut tokens: Range<usize>) -> bool {
        tokens.any(|place| match self.part(place) {
            AmountPart::Digits | AmountPart::NumberWord => true,
            AmountPart::Magnitude => self.word(place).chars().count() > 3,
            _ => false,
        })
    }

    /// `null drei null fünf …`: as many words for digits as a number of a phone has.
    fn digit_words(&self, tokens: &mut ValueMentions<'a>) {
        let mut first = None;
        for at in 0..=self.all.len() {
            let is_digit = self.all.get(at).is_some_and(|token| token.senses.is_digit);
            match (first, is_digit) {
                (None, true) => first = Some(at),
                (Some(from), false) => {
                    if at.saturating_sub(from) >= FEWEST_DIGIT_WORDS
                        && let (Some(start), Some(last)) = (self.all.get(from), self.all.get(at.saturating_sub(1)))
                    {
                        let span = Span::new(start.span.start, last.span.end);
                        tokens.push(
                            ReferentKind::Number,
                            span,
                            self.text.get(span.start..span.end).unwrap_or_default(),
                        );
                    }
                    first = None;
                }
                _ => {}
            }
        }
    }

    /// `Konto 123 456`: fewer digits than a phone's, behind a word for an account.
    fn accounts(&self, tokens: &mut ValueMentions<'a>) {
        for at in 0..self.all.len() {
            if !self.all.get(at).is_some_and(|token| token.senses.is_account) {
                continue;
            }
            let is_digits = |at: usize| self.all.get(at).is_some_and(|token| token.kind == MoneyTokenKind::Digits);
            let Some(first) = (at.saturating_add(1)..at.saturating_add(4)).find(|at| is_digits(*at)) else { continue };
            let mut last = first;
            while is_digits(last.saturating_add(1)) && self.is_close(last) {
                last = last.saturating_add(1);
            }
            let (Some(from), Some(to)) = (self.all.get(first), self.all.get(last)) else { continue };
            let span = Span::new(from.span.start, to.span.end);
            let written = self.text.get(span.start..span.end).unwrap_or_default();
            if written.chars().filter(|c| c.is_numeric()).count() >= FEWEST_ACCOUNT_DIGITS {
                tokens.push(ReferentKind::Number, span, written);
            }
        }
    }
}

/// Currencies of languages that put no spaces between words.
const UNSPACED: [&str; 27] = [
    "欧元",
    "歐元",
    "美元",
    "美金",
    "日元",
    "日圆",
    "英镑",
    "人民币",
    "人民幣",
    "港币",
    "元",
    "块钱",
    "円",
    "ドル",
    "ユーロ",
    "ポンド",
    "달러",
    "유로",
    "엔화",
    "원",
    "위안",
    "파운드",
    "บาท",
    "ยูโร",
    "ดอลลาร์",
    "เหรียญ",
    "ปอนด์",
];
/// Their words for numbers, one character each.
const NUMERALS: &str =
    "〇零一二两兩三四五六七八九十百千万萬亿億壹贰叁肆伍陆柒捌玖拾佰仟半几数数十일이삼사오육칠팔구십백천만억조";
/// The words for numbers of Thai.
const THAI: [&str; 16] =
    ["หนึ่ง", "สอง", "สาม", "สี่", "ห้า", "หก", "เจ็ด", "แปด", "เก้า", "สิบ", "ร้อย", "พัน", "หมื่น", "แสน", "ล้าน", "เอ็ด"];

/// Amounts in scripts without spaces: a number or a numeral is right before the currency, or behind it.
fn add_unspaced_amounts<'a>(text: &'a str, tokens: &mut ValueMentions<'a>) {
    if text.is_ascii() {
        return;
    }
    let mut at = 0_usize;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let found = (!c.is_ascii()).then(|| UNSPACED.iter().find(|name| rest.starts_with(**name))).flatten();
        let Some(name) = found else {
            at = at.saturating_add(c.len_utf8());
            continue;
        };
        let end = at.saturating_add(name.len());
        let start = numerals_before(text, at);
        let behind = text.get(end..).unwrap_or_default().trim_start_matches([' ', ':', '：']);
        let is_before_number = name.chars().count() > 1 && behind.starts_with(char::is_numeric);
        if start < at || is_before_number {
            let digits: usize = behind
                .chars()
                .take(24)
                .take_while(|c| c.is_numeric() || ".,".contains(*c) || is_numeral(*c))
                .map(char::len_utf8)
                .sum();
            let gap = text.len().saturating_sub(end).saturating_sub(behind.len());
            let stop = if is_before_number { end.saturating_add(gap).saturating_add(digits) } else { end };
            tokens.push(ReferentKind::Amount, Span::new(start, stop), text.get(start..stop).unwrap_or_default());
        }
        at = end;
    }
}

fn is_numeral(c: char) -> bool {
    NUMERALS.contains(c)
}

/// The beginning of the numerals that end at `end`. `end` if there are none.
fn numerals_before(text: &str, end: usize) -> usize {
    let from = text.ceil_char_boundary(end.saturating_sub(LOOK_BACK));
    let mut start = end;
    let mut is_number = false;
    loop {
        let before = text.get(from..start).unwrap_or_default();
        let Some(last) = before.chars().next_back() else { break };
        let length = if let Some(word) = THAI.iter().find(|word| before.ends_with(**word)) {
            is_number = true;
            word.len()
        } else if last.is_numeric() || is_numeral(last) {
            is_number = true;
            last.len_utf8()
        } else if matches!(last, ' ' | '.' | ',' | '多' | '余') {
            last.len_utf8()
        } else {
            break;
        };
        start = start.saturating_sub(length);
    }
    if is_number { text.len().min(skip_blanks(text, start)) } else { end }
}

fn skip_blanks(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start.saturating_add(rest.len().saturating_sub(rest.trim_start_matches([' ', '.', ',']).len()))
}
