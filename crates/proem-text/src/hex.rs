//! Bytes as hexadecimal digits: hashes and ids, as they are written and shown.

use alloc::string::String;
use alloc::vec::Vec;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes as lower-case hexadecimal digits, two for each.
///
/// ```
/// assert_eq!(proem_text::hex::encode_hex(&[0, 0x2f, 0xff]), "002fff");
/// ```
#[must_use]
pub fn encode_hex(bytes: impl AsRef<[u8]>) -> String {
    let digits = bytes.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS.get(usize::from(digit)).copied().unwrap_or_default())).collect()
}

/// Bytes from lower-case hexadecimal digits, two for each. `None` for anything else.
///
/// ```
/// assert_eq!(proem_text::hex::decode_hex("002fff"), Some(vec![0, 0x2f, 0xff]));
/// assert_eq!(proem_text::hex::decode_hex("2F"), None);
/// ```
#[must_use]
pub fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let is_upper = |pair: &[u8; 2]| pair.iter().any(u8::is_ascii_uppercase);
    pairs.iter().map(|pair| hex_byte(*pair).filter(|_| !is_upper(pair))).collect()
}

/// The value of a hexadecimal digit of either case, 0 to 15.
#[must_use]
pub const fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(digit.wrapping_sub(b'A').wrapping_add(10)),
        _ => None,
    }
}

/// The byte of two hexadecimal digits of either case.
///
/// ```
/// assert_eq!(proem_text::hex::hex_byte(*b"2F"), Some(0x2f));
/// ```
#[must_use]
pub const fn hex_byte([high, low]: [u8; 2]) -> Option<u8> {
    match (hex_digit(high), hex_digit(low)) {
        (Some(high), Some(low)) => Some(high << 4 | low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_the_digits_that_are_printed_for_it() {
        for byte in 0..=u8::MAX {
            let digits = encode_hex([byte]);
            assert_eq!(digits, alloc::format!("{byte:02x}"));
            assert_eq!(decode_hex(&digits), Some(alloc::vec![byte]));
            let is_digit = char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
            assert_eq!(hex_digit(byte), is_digit);
        }
        assert_eq!(encode_hex([]), "");
    }

    #[test]
    fn what_is_no_pairs_of_lower_case_digits_is_refused() {
        for text in ["0", "002", "0G", "AB", "0x", "é0", " 0"] {
            assert_eq!(decode_hex(text), None, "{text}");
        }
    }
}
