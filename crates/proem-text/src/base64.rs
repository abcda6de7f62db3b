//! Base64 without opinions on padding: its digits of both alphabets, and bytes as digits (RFC 4648, sections 4 and 5).

use alloc::{string::String, vec::Vec};

/// The digits with `+` and `/`.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a byte is a digit: one look for each, since long texts are passed through it.
static DIGITS: [bool; 256] = {
    let mut digits = [false; 256];
    let mut byte = 0u8;
    loop {
        #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
        let digit = &mut digits[byte as usize];
        *digit = digit_value(byte).is_some();
        if byte == u8::MAX {
            break digits;
        }
        byte = byte.saturating_add(1);
    }
};

/// Whether a byte is a digit of one of the two alphabets. Padding is none.
#[must_use]
pub fn is_base64_digit(byte: u8) -> bool {
    DIGITS.get(usize::from(byte)).is_some_and(|is_digit| *is_digit)
}

/// The six bits of a digit of one of the two alphabets.
const fn digit_value(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte.wrapping_sub(b'A'),
        b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// The bytes of digits. Other characters are passed over, and bits that fill no byte are left out.
///
/// ```
/// assert_eq!(proem_text::base64::decode_base64_digits(b"Zm9vYg=="), b"foob");
/// ```
pub fn decode_base64_digits<'a>(digits: impl IntoIterator<Item = &'a u8>) -> Vec<u8> {
    let mut decoded = Vec::new();
    let (mut bits, mut held) = (0u32, 0u32);
    for value in digits.into_iter().filter_map(|digit| digit_value(*digit)) {
        held = (held << 6 | u32::from(value)) & 0xffff;
        bits = bits.saturating_add(6);
        if bits >= 8 {
            bits = bits.saturating_sub(8);
            decoded.push(held.wrapping_shr(bits).to_le_bytes()[0]);
        }
    }
    decoded
}

/// Bytes as digits of the first alphabet, with padding.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| chunk.get(index).copied().map_or(0, u32::from);
        let group = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..4u32 {
            let sextet = (group >> (18u32.saturating_sub(place.saturating_mul(6)))) & 0x3f;
            let is_padding = usize::try_from(place).is_ok_and(|place| place > chunk.len());
            let letter = usize::try_from(sextet).ok().and_then(|index| ALPHABET.get(index)).copied();
            text.push(if is_padding { '=' } else { char::from(letter.unwrap_or(b'=')) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
            ("ÿ\u{fffd}", "w7/vv70="),
        ] {
            assert_eq!(encode_base64(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn digits_of_both_alphabets_are_the_bytes_again(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let digits = encode_base64(&bytes);
            prop_assert_eq!(decode_base64_digits(digits.as_bytes()), bytes.clone());
            let url_safe = digits.replace('+', "-").replace('/', "_");
            prop_assert_eq!(decode_base64_digits(url_safe.as_bytes()), bytes);
        }
    }
}
