//! The two halves of a delimiter: a name that says what is inside, and an id that can't be guessed.

use alloc::{borrow::Cow, string::String};
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The longest name of a tag.
const MAX_NAME: usize = 32;

/// SHA-256 works on blocks of 64 bytes.
const BLOCK: usize = 64;

/// The secret of one installation, from which delimiters are computed.
#[derive(Clone)]
pub struct InstallationKey([u8; 32]);

impl InstallationKey {
    /// A key of 32 random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Names the key without giving it away: eight hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> String {
        first_bytes_hex::<4>(&self.hmac(&[b"proem key id"]))
    }

    /// HMAC-SHA256 of `text` for one `purpose`: keys and seals that only this installation can make.
    ///
    /// Purposes are apart from each other, from [`InstallationKey::id`] and from the ids of delimiters: what is
    /// hashed begins with `proem seal`, a zero byte, and the purpose's length in eight bytes.
    #[must_use]
    pub fn seal(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        let length = u64::try_from(purpose.len()).unwrap_or(u64::MAX).to_be_bytes();
        self.hmac(&[b"proem seal\0", &length, purpose.as_bytes(), text])
    }

    /// The id of the delimiters around `body`: sixteen hexadecimal digits.
    pub(crate) fn sign(&self, tag: &Tag, body: &str) -> String {
        first_bytes_hex::<8>(&self.hmac(&[tag.as_str().as_bytes(), &[0], body.as_bytes()]))
    }

    /// HMAC-SHA256 (RFC 2104) of the parts, one after the other.
    fn hmac(&self, parts: &[&[u8]]) -> [u8; 32] {
        // A key shorter than a block is filled up with zeros. Doing so here can't fail.
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(self.0) {
            *to = from;
        }
        let mut mac = Hmac::<Sha256>::new(&block.into());
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for InstallationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([redacted])")
    }
}

/// The first `N` bytes in hexadecimal digits.
fn first_bytes_hex<const N: usize>(bytes: &[u8]) -> String {
    proem_text::hex::encode_hex(bytes.get(..N).unwrap_or(bytes))
}

/// The name of a delimiter: `[A-Za-z][A-Za-z0-9_]{0,31}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(Cow<'static, str>);

impl Tag {
    /// Around context from outside.
    pub const UNTRUSTED_CONTEXT: Self = Self(Cow::Borrowed("UNTRUSTED_CONTEXT"));
    /// Around the content of a signal: a mail, a ticket, a comment.
    pub const SIGNAL_CONTENT: Self = Self(Cow::Borrowed("signal_content"));

    /// Reads a name. `None` if it isn't `[A-Za-z][A-Za-z0-9_]{0,31}`.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = name.len() <= MAX_NAME
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        fits.then(|| Self(Cow::Owned(String::from(name))))
    }

    /// The tag's name without its brackets, such as `untrusted_context`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Tag {
    fn default() -> Self {
        Self::UNTRUSTED_CONTEXT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hmacs() {
        let key = InstallationKey::new([7; 32]);
        let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
        mac.update(b"UNTRUSTED_CONTEXT\0body\n");
        let expected = first_bytes_hex::<8>(&mac.finalize().into_bytes());
        assert_eq!(key.sign(&Tag::UNTRUSTED_CONTEXT, "body\n"), expected);
        assert_eq!(expected.len(), 16);
    }

    #[test]
    fn a_key_has_a_name_and_keeps_its_secret() {
        let key = InstallationKey::new([0x5a; 32]);
        assert_eq!(key.id().len(), 8);
        assert_ne!(key.id(), InstallationKey::new([0x5b; 32]).id());
        assert_eq!(format!("{key:?}"), "Key([redacted])");
    }

    #[test]
    fn seals_of_different_purposes_differ() {
        let key = InstallationKey::new([0x5a; 32]);
        assert_eq!(key.seal("store", b"1"), key.seal("store", b"1"));
        for (purpose, text) in [("store", "2"), ("stor", "e1"), ("store1", ""), ("snapshot", "1")] {
            assert_ne!(key.seal(purpose, text.as_bytes()), key.seal("store", b"1"), "{purpose} {text}");
        }
        assert_ne!(InstallationKey::new([0x5b; 32]).seal("store", b"1"), key.seal("store", b"1"));
    }

    #[test]
    fn a_tag_is_a_plain_name() {
        for (name, expected) in [
            ("A", true),
            ("untrusted_2", true),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
            ("", false),
            ("2a", false),
            ("_a", false),
            ("a b", false),
            ("a>", false),
            ("é", false),
        ] {
            assert_eq!(Tag::new(name).is_some(), expected, "{name:?}");
        }
        assert_eq!(Tag::default().as_str(), "UNTRUSTED_CONTEXT");
    }
}
