//! Secrets of webhooks: signatures, and secrets that are sent along, compared in constant time.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use proem_text::hex;
use sha2::Sha256;

/// A secret, prepared for comparisons.
#[derive(Clone)]
pub(crate) struct SigningKey {
    mac: Hmac<Sha256>,
    /// The code of the secret itself.
    of_itself: Vec<u8>,
}

impl SigningKey {
    /// The key of a secret. `None` if the algorithm refuses it, which takes keys of any length.
    pub(crate) fn new(secret: &str) -> Option<Self> {
        let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
        let of_itself = mac.clone().chain_update(secret).finalize().into_bytes().to_vec();
        Some(Self { mac, of_itself })
    }

    /// Whether `digits` is the HMAC-SHA256 (RFC 2104) of `body` in hexadecimal digits.
    pub(crate) fn has_signed(&self, body: &[u8], digits: &str) -> bool {
        let signature = hex::decode_hex(digits).unwrap_or_default();
        self.mac.clone().chain_update(body).verify_slice(&signature).is_ok()
    }

    /// Whether a text is the secret. The codes of both are compared, so that time tells nothing of the secret.
    pub(crate) fn is_secret(&self, text: &str) -> bool {
        self.mac.clone().chain_update(text).verify_slice(&self.of_itself).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_standard() {
        // RFC 4231, section 4.3.
        let key = SigningKey::new("Jefe").unwrap();
        let signature = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let body = b"what do ya want for nothing?";
        assert!(key.has_signed(body, signature));
        for wrong in
            ["", "5b", signature.get(..62).unwrap(), &signature.replace('5', "6"), "zz", &format!("{signature}00")]
        {
            assert!(!key.has_signed(body, wrong), "{wrong}");
        }
        assert!(!key.has_signed(b"", signature));
        assert!(key.is_secret("Jefe") && !key.is_secret("") && !key.is_secret("Jefe "));
        assert!(!format!("{key:?}").contains("Jefe"));
    }
}
