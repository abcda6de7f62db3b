//! SHA-256 of what an entry says.

use core::fmt;

use proem_guard::{Untrusted, show};
use proem_text::hex;
use sha2::{Digest, Sha256};

/// A SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sha256Hash([u8; 32]);

impl Sha256Hash {
    /// The hash of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode_hex(text)?.try_into().ok().map(Self)
    }

    /// The 32 bytes of the SHA-256.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first `digits` hexadecimal digits.
    #[must_use]
    pub fn short(&self, digits: usize) -> String {
        self.to_string().chars().take(digits).collect()
    }
}

impl From<[u8; 32]> for Sha256Hash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode_hex(self.0))
    }
}

/// The hash that a text's vector is kept under.
#[must_use]
pub fn text_hash(text: &Untrusted<String>) -> Sha256Hash {
    Sha256Hash::of(show::exact_json(text).as_str().unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_both_ways() {
        let hash = Sha256Hash::of(b"");
        assert_eq!(hash.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(Sha256Hash::parse(&hash.to_string()), Some(hash));
        assert_eq!(hash.short(6), "e3b0c4");
        for text in ["", "e3", &"E".repeat(64), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Sha256Hash::parse(text), None, "{text}");
        }
    }
}
