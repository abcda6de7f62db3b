//! The caching of a provider: its control, order, lifetime and price.

use std::num::{NonZeroU32, NonZeroUsize};

use serde::Deserialize;

use super::Provider;

/// The caching rules of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheRules {
    /// The provider of these rules.
    pub provider: Provider,
    /// Whether a request has to say where its prefixes end.
    pub mode: CacheControl,
    /// The order in which a prefix is made. Empty if unknown.
    #[serde(default)]
    pub order: Vec<PrefixStage>,
    /// How many breakpoints a request may have. Absent for any mode but [`CacheControl::Explicit`].
    pub max_breakpoints: Option<NonZeroUsize>,
    /// The lifetimes on offer, the default first. None for [`CacheControl::Never`].
    pub lifetimes: Vec<Lifetime>,
    /// The price of a cached token, in hundredths of an input token.
    pub read_percent: Option<NonZeroU32>,
    /// The sources of the rules, as addresses.
    pub sources: Vec<String>,
}

/// The party that decides which prefixes are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheControl {
    /// The request, by breakpoints.
    Explicit,
    /// The provider, by the longest prefix it has seen.
    Implicit,
    /// Nobody: nothing is cached.
    Never,
}

/// A part of a request, as prefixes order them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrefixStage {
    /// Tool definitions.
    Tools,
    /// The operator's text.
    System,
    /// The turns of user and model.
    Messages,
}

/// How long a cache entry lives after its last use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetime {
    /// The time since the last use after which the entry is gone, in whole seconds.
    pub seconds: Option<NonZeroU32>,
    /// The price of a written token, in hundredths of an input token.
    pub write_percent: NonZeroU32,
}
