//! The checksums of accounts, cards and addresses of currencies.

use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// ISO 7064, MOD 97-10, as ISO 13616 has it for accounts.
pub(super) fn is_iban(account: &str) -> bool {
    let (head, tail) = account.split_at_checked(4).unwrap_or_default();
    let digits = tail.chars().chain(head.chars()).filter_map(|c| c.to_digit(36));
    let remainder = digits.fold(0_u32, |remainder, value| {
        let factor = if value > 9 { 100 } else { 10 };
        remainder.wrapping_mul(factor).wrapping_add(value).checked_rem(97).unwrap_or(0)
    });
    remainder == 1
}

/// Luhn's (ISO/IEC 7812-1, annex B).
pub(super) fn is_luhn(digits: &[u32]) -> bool {
    let sum = digits.iter().rev().enumerate().fold(0_u32, |sum, (place, digit)| {
        let doubled = if place.is_multiple_of(2) { *digit } else { digit.saturating_mul(2) };
        sum.saturating_add(if doubled > 9 { doubled.saturating_sub(9) } else { doubled })
    });
    sum.is_multiple_of(10)
}

/// The digits of Base58 by Bitcoin, and by the XRP Ledger.
const BASE58: [&[u8; 58]; 2] = [
    b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    b"rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz",
];

/// Base58Check: the last four bytes are the first of the others' SHA-256, twice
/// (<https://en.bitcoin.it/wiki/Base58Check_encoding>).
pub(super) fn is_base58check(text: &str) -> bool {
    BASE58.iter().any(|alphabet| {
        let Some(bytes) = base58(text, alphabet) else { return false };
        let Some((payload, sum)) = bytes.split_last_chunk::<4>() else { return false };
        payload.len() >= 20 && Sha256::digest(Sha256::digest(payload)).starts_with(sum)
    })
}

/// Whether a text is nothing but digits of Bitcoin's Base58.
pub(super) fn is_base58(text: &str) -> bool {
    text.bytes().all(|byte| BASE58.first().is_some_and(|alphabet| alphabet.contains(&byte)))
}

fn base58(text: &str, alphabet: &[u8; 58]) -> Option<Vec<u8>> {
    // The least byte first.
    let mut bytes: Vec<u8> = Vec::new();
    for digit in text.bytes() {
        let mut carry = u32::try_from(alphabet.iter().position(|known| *known == digit)?).ok()?;
        for byte in &mut bytes {
            carry = carry.saturating_add(u32::from(*byte).saturating_mul(58));
            *byte = carry.to_le_bytes()[0];
            carry = carry.wrapping_shr(8);
        }
        while carry > 0 {
            bytes.push(carry.to_le_bytes()[0]);
            carry = carry.wrapping_shr(8);
        }
    }
    let zeros = text.bytes().take_while(|digit| alphabet.first() == Some(digit)).count();
    bytes.extend(core::iter::repeat_n(0, zeros));
    bytes.reverse();
    Some(bytes)
}

/// The digits of Bech32 (BIP 173).
const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

fn bech32_values(data: &str) -> Option<Vec<u8>> {
    data.bytes()
        .map(|byte| BECH32.iter().position(|known| *known == byte).and_then(|at| u8::try_from(at).ok()))
        .collect()
}

/// Bech32 (BIP 173) or Bech32m (BIP 350), in lower case.
pub(super) fn is_bech32(text: &str) -> bool {
    const MODIFIED: u32 = 0x2bc8_30a3;
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let Some((prefix, data)) = text.rsplit_once('1') else { return false };
    let Some(values) = bech32_values(data).filter(|values| values.len() >= 6) else { return false };
    let high = prefix.bytes().map(|byte| byte.wrapping_shr(5));
    let low = prefix.bytes().map(|byte| byte & 31);
    let all = high.chain([0]).chain(low).chain(values);
    let sum = all.fold(1_u32, |sum, value| {
        let top = sum.wrapping_shr(25);
        let next = (sum & 0x01ff_ffff).wrapping_shl(5) ^ u32::from(value);
        (0_u32..)
            .zip(GENERATOR)
            .fold(next, |next, (bit, term)| if top.wrapping_shr(bit) & 1 == 1 { next ^ term } else { next })
    });
    !prefix.is_empty() && (sum == 1 || sum == MODIFIED)
}

/// The addresses of Bitcoin Cash, without or with their prefix, in lower case
/// (<https://github.com/bitcoincashorg/bitcoincash.org/blob/master/spec/cashaddr.md>).
pub(super) fn is_cash_address(text: &str) -> bool {
    const GENERATOR: [u64; 5] = [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470];
    let data = text.strip_prefix("bitcoincash:").unwrap_or(text);
    let Some(values) = bech32_values(data).filter(|values| values.len() >= 42) else { return false };
    let prefix = "bitcoincash".bytes().map(|byte| byte & 31).chain([0]);
    let sum = prefix.chain(values).fold(1_u64, |sum, value| {
        let top = sum.wrapping_shr(35);
        let next = (sum & 0x07_ffff_ffff).wrapping_shl(5) ^ u64::from(value);
        (0_u32..)
            .zip(GENERATOR)
            .fold(next, |next, (bit, term)| if top.wrapping_shr(bit) & 1 == 1 { next ^ term } else { next })
    });
    sum == 1
}
