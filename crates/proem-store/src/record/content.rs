//! Bytes that are kept once.

use std::sync::Arc;

use proem_text::hex;
use sha2::{Digest as _, Sha256};

/// Bytes that are kept once, by their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedContent {
    /// SHA-256, hexadecimal.
    pub hash: String,
    /// The bytes. `None` where only hashes are kept.
    pub bytes: Option<Arc<[u8]>>,
}

impl HashedContent {
    /// These bytes.
    #[must_use]
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        Self { hash: content_hash(bytes), bytes: Some(bytes.into()) }
    }

    /// The same without its bytes.
    #[must_use]
    pub fn forgotten(self) -> Self {
        Self { hash: self.hash, bytes: None }
    }
}

/// The hash of a content: SHA-256, hexadecimal.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    hex::encode_hex(Sha256::digest(bytes))
}
