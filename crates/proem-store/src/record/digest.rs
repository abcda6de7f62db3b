//! Digests as they are stored: hexadecimal.

use proem_text::hex;

/// A digest as it is stored.
pub(crate) fn digest_text(digest: &[u8; 32]) -> String {
    hex::encode_hex(digest)
}

/// The digest that is stored so. `None` for anything else.
pub(crate) fn digest_of(text: &str) -> Option<[u8; 32]> {
    hex::decode_hex(text)?.try_into().ok()
}
