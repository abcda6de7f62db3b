//! Ids of objects.

use core::fmt;
use proem_text::hex::hex_byte;

/// The id of an object of git: 20 bytes (SHA-1) or 32 (SHA-256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId {
    bytes: [u8; 32],
    length: u8,
}

impl ObjectId {
    /// The id that these hexadecimal digits write. `None` unless there are 40 or 64 of them.
    #[must_use]
    pub fn parse(digits: &[u8]) -> Option<Self> {
        let length = match digits.len() {
            40 => 20,
            64 => 32,
            _ => return None,
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks().0) {
            *byte = hex_byte(*pair)?;
        }
        Some(Self { bytes, length })
    }

    /// The id with these bytes. `None` unless there are 20 or 32 of them.
    #[must_use]
    pub fn from_bytes(from: &[u8]) -> Option<Self> {
        let length = u8::try_from(from.len()).ok().filter(|length| matches!(length, 20 | 32))?;
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(from).for_each(|(byte, &from)| *byte = from);
        Some(Self { bytes, length })
    }

    /// The 20 bytes of SHA-1, or the 32 of SHA-256.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn an_id_is_40_or_64_hexadecimal_digits() {
        for (digits, expected) in [
            ("00ff00ff00ff00ff00ff00ff00ff00ff00ff00aB", true),
            (&"9".repeat(64), true),
            (&"9".repeat(39), false),
            (&"9".repeat(41), false),
            (&"g".repeat(40), false),
            ("", false),
        ] {
            let id = ObjectId::parse(digits.as_bytes());
            assert_eq!(id.map(|id| format!("{id}")), expected.then(|| digits.to_lowercase()), "{digits}");
        }
    }
}
