//! The provider's own account of its cache: how a request differs from an earlier one.
//!
//! It is evidence beside ours ([`crate::cache::miss`]): a provider names neither the section nor the price, and requests
//! that begin alike can miss all the same.

use serde::{Deserialize, Serialize};

/// That a provider is asked how a request differs from an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheInquiry {
    /// The provider's id of the answer to the earlier one. `None` has the provider remember this one alone.
    pub previous: Option<String>,
}

/// The provider's account of such a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheDiagnosis {
    /// The provider's id of this answer, by which the next request can be compared.
    pub answer: Option<String>,
    /// The first difference that it found.
    pub difference: DiagnosedDifference,
    /// About how many tokens of the prompt were not read from the cache for that.
    pub missed_tokens: Option<u64>,
}

/// The first difference that a provider found between two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiagnosedDifference {
    /// None, or there was nothing to compare with.
    None,
    /// Another model.
    Model,
    /// The system text.
    System,
    /// The tools.
    Tools,
    /// The messages.
    Messages,
    /// It does not know the earlier request any more.
    NotFound,
    /// It can't say.
    Unavailable,
    /// It had not found out when it answered.
    Pending,
    /// Something that is not known here.
    Other,
}
