//! Accounts, cards and addresses of currencies, told by their checksums, whatever separates their groups.

use alloc::{string::String, vec::Vec};
use proem_text::Span;

use super::{ValueMentions, checksum};
use crate::check::ReferentKind;

/// The most characters of a code: a key of BIP 32 has 111, an address of Monero with an id 106.
const LONGEST: usize = 112;
/// The fewest: an account of Norway has 15, a card 13.
const SHORTEST: usize = 13;
/// The most characters of an invoice of Lightning that is looked at as one.
const LONGEST_INVOICE: usize = 2_048;
/// The most characters between two groups.
const MOST_BETWEEN: usize = 3;

/// The lengths of accounts by country (ISO 13616 registry, release 99).
const ACCOUNTS: &str = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 \
    EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 \
    KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 \
    PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30";

/// Adds the codes of a text.
pub(super) fn codes<'a>(text: &'a str, tokens: &mut ValueMentions<'a>) {
    let groups = alphanumeric_groups(text);
    let mut done = 0_usize;
    for at in 0..groups.len() {
        let Some(first) = groups.get(at).filter(|group| group.start >= done) else { continue };
        let end = single_code_end(text, *first)
            .or_else(|| account_end(text, &groups, at))
            .or_else(|| card_end(text, &groups, at));
        let Some(end) = end.or_else(|| grouped_code_end(text, &groups, at)) else { continue };
        tokens.push(ReferentKind::Number, Span::new(first.start, end), text.get(first.start..end).unwrap_or_default());
        done = end;
    }
}

/// The runs of letters and digits.
fn alphanumeric_groups(text: &str) -> Vec<Span> {
    let mut groups: Vec<Span> = Vec::new();
    for (at, _) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()) {
        let end = at.saturating_add(1);
        match groups.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = end,
            None => groups.push(Span::new(at, end)),
        }
    }
    groups
}

fn span_text(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}

/// The end of a group that is a code by itself.
fn single_code_end(text: &str, group: Span) -> Option<usize> {
    has_code_checksum(span_text(text, group)).then_some(group.end)
}

/// Whether letters and digits without separators are a code.
fn has_code_checksum(code: &str) -> bool {
    if code.len() < 20 || code.len() > LONGEST_INVOICE {
        return false;
    }
    let lower = code.to_ascii_lowercase();
    let is_one_case = code == lower || !code.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_hex = |digits: &str| digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if (is_one_case && (checksum::is_bech32(&lower) || checksum::is_cash_address(&lower)))
        || lower.strip_prefix("0x").is_some_and(is_hex)
    {
        return true;
    }
    if code.len() > LONGEST {
        return false;
    }
    // Keys of 32 bytes without a checksum (Solana, Polkadot), and Monero's, whose checksum is none of SHA-256.
    let is_mixed = || {
        let has = |is: fn(&u8) -> bool| code.as_bytes().iter().any(is);
        has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
    };
    let is_key = matches!(code.len(), 43 | 44 | 47 | 48 | 95 | 106) && checksum::is_base58(code) && is_mixed();
    is_key
        || (code.len() >= 25 && checksum::is_base58check(code))
        || is_card(code)
        || is_account_code(&code.to_ascii_uppercase())
}

fn is_account_code(code: &str) -> bool {
    let country = code.get(..2).unwrap_or_default();
    let is_long = |account: &&str| account.strip_prefix(country).is_some_and(|length| length.parse() == Ok(code.len()));
    ACCOUNTS.split_ascii_whitespace().any(|account| is_long(&account)) && checksum::is_iban(code)
}

/// Whether a text is digits with the sum of a card.
fn is_card(code: &str) -> bool {
    let digits: Option<Vec<u32>> = code.chars().map(|c| c.to_digit(10)).collect();
    digits.is_some_and(|digits| {
        (13..=19).contains(&digits.len()) && digits.iter().any(|digit| *digit > 0) && checksum::is_luhn(&digits)
    })
}

/// Whether the group behind `at` belongs to it.
fn is_near(text: &str, groups: &[Span], at: usize) -> bool {
    let (Some(group), Some(next)) = (groups.get(at), at.checked_add(1).and_then(|next| groups.get(next))) else {
        return false;
    };
    let between = text.get(group.end..next.start).unwrap_or_default();
    between.chars().count() <= MOST_BETWEEN && !between.contains(char::is_alphanumeric)
}

/// The end of the account that begins with this group: with the same sign between all groups, or in groups of four.
fn account_end(text: &str, groups: &[Span], at: usize) -> Option<usize> {
    let first = groups.get(at)?;
    let between = |before: &Span, group: &Span| text.get(before.end..group.start);
    let same = groups.get(at.saturating_add(1)).and_then(|second| between(first, second));
    let mut joined = span_text(text, *first).to_ascii_uppercase();
    let (mut is_same, mut is_in_fours) = (true, first.len() == 4);
    for (place, pair) in groups.get(at..)?.windows(2).enumerate() {
        let [before, group] = pair else { return None };
        is_same = is_same && between(before, group) == same;
        is_in_fours = is_in_fours && before.len() == 4;
        let is_one = is_same || is_in_fours;
        if !is_one || !is_near(text, groups, at.saturating_add(place)) || joined.len() > 34 || !begins_account(&joined)
        {
            return None;
        }
        joined.push_str(&span_text(text, *group).to_ascii_uppercase());
        if joined.len() >= 15 && is_account_code(&joined) {
            return Some(group.end);
        }
    }
    None
}

/// Whether a text begins with the letters of a country and two digits, as far as it goes.
fn begins_account(text: &str) -> bool {
    text.bytes().take(4).enumerate().all(|(place, byte)| match place {
        0 | 1 => byte.is_ascii_uppercase(),
        _ => byte.is_ascii_digit(),
    })
}

/// The end of the card that begins with this group: groups of at least three digits, or single digits. Digits behind
/// letters count too.
fn card_end(text: &str, groups: &[Span], at: usize) -> Option<usize> {
    let first = groups.get(at)?;
    let digits = span_text(text, *first).bytes().rev().take_while(u8::is_ascii_digit).count();
    let size = if digits >= 3 { 3 } else { 1 };
    if digits == 0 || (size == 1 && (digits > 1 || first.len() > 1)) {
        return None;
    }
    let mut joined = String::from(text.get(first.end.saturating_sub(digits)..first.end)?);
    let mut place = at;
    loop {
        if (size == 1 && joined.len() >= SHORTEST || place > at || joined.len() >= SHORTEST) && is_card(&joined) {
            return groups.get(place).map(|group| group.end);
        }
        if joined.len() >= 19 || !is_near(text, groups, place) {
            return None;
        }
        place = place.saturating_add(1);
        let next = span_text(text, *groups.get(place)?);
        let fits =
            next.bytes().all(|byte| byte.is_ascii_digit()) && if size == 1 { next.len() == 1 } else { next.len() >= 3 };
        if !fits {
            return None;
        }
        joined.push_str(next);
    }
}

/// The end of the code that is written in groups of one length with the same sign between them: `1A1z P1eP 5QGe …`.
fn grouped_code_end(text: &str, groups: &[Span], at: usize) -> Option<usize> {
    let (first, second) = (groups.get(at)?, groups.get(at.checked_add(1)?)?);
    let between = text.get(first.end..second.start)?;
    if !is_near(text, groups, at) || first.len() > 12 {
        return None;
    }
    let mut joined = String::from(span_text(text, *first));
    let mut end = first.end;
    for (before, group) in groups.iter().skip(at).zip(groups.iter().skip(at.saturating_add(1))) {
        if text.get(before.end..group.start) != Some(between) || group.len() > first.len() || joined.len() > LONGEST {
            break;
        }
        joined.push_str(span_text(text, *group));
        end = group.end;
        if group.len() < first.len() {
            break;
        }
    }
    has_code_checksum(&joined).then_some(end)
}
