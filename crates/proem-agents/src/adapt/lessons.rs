//! The learned part of a prompt, for people who should know that it is there.

use schemars::JsonSchema;
use serde::Serialize;

/// Learned lines of a prompt, with the results that they come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lessons {
    /// The prompt that shows them, such as `reviews/triage`.
    pub prompt: String,
    /// How many lines.
    pub lines: usize,
    /// The results that count, the oldest first.
    pub results: Vec<TaughtBy>,
    /// When the last of them counts no more, if no success comes before: RFC 3339, UTC.
    pub until: String,
}

/// A result that something was learned from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaughtBy {
    /// The id of the run that it is of. Absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When: RFC 3339, UTC.
    pub at: String,
    /// The failures, by tags such as `schema_failed`. None if a person said that it was bad.
    pub risks: Vec<String>,
}
