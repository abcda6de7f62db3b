//! The prices of tokens.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use serde::Deserialize;

/// The prices of tokens, in nano-dollars each ($3 per million tokens is 3,000).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The month in which they were seen, as in `2026-11`.
    pub as_of: String,
    /// The longest prompt they hold for, in tokens. Absent for any.
    pub up_to_tokens: Option<NonZeroUsize>,
    /// A token that is read and not cached.
    pub input: NonZeroU64,
    /// A token that is written by the model.
    pub output: NonZeroU64,
    /// A token that is read from the cache.
    pub cache_read: Option<NonZeroU64>,
    /// A token that is written to the cache, by lifetime. Empty if unknown or never charged.
    #[serde(default)]
    pub cache_writes: Vec<CacheWrite>,
}

/// The price of writing a token to the cache.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheWrite {
    /// The lifetime that is bought, in seconds.
    pub seconds: NonZeroU32,
    /// In nano-dollars, the reading of the token included.
    pub price: NonZeroU64,
}
