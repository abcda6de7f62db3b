//! A token in a prompt that nothing but a repetition of the prompt can contain.

use crate::contain::{InstallationKey, Tag};
use alloc::{format, string::String};
use core::fmt;

/// A token that is in one run's prompt and never in an honest answer: 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Canary(String);

impl Canary {
    /// The canary of a run: keyed hashes of the run's id, so nobody without the key can know it.
    #[must_use]
    pub fn new(key: &InstallationKey, run: &str) -> Self {
        let half = |name: &str| key.sign(&Tag::new(name).unwrap_or_default(), run);
        Self(format!("{}{}", half("canary_a"), half("canary_b")))
    }

    /// The token, for the prompt.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Canary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canary([redacted])")
    }
}
