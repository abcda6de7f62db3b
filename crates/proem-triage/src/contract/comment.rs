//! A comment on a ticket before anybody has approved it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, MAX_SIGNALS};

/// Comments on a ticket that one of the signals is about. In words of its own it waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JiraComment {
    /// The ticket's key, as a signal names it.
    #[schemars(length(max = MAX_ID))]
    pub ticket_id: String,
    /// Plain text in impersonal active voice, without web addresses.
    #[schemars(length(max = 2_000))]
    pub body: String,
    /// Ids of the signals that it answers.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_referenced: Vec<String>,
    /// Whether a person must approve it. It may ask for more than the rules do, never for less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_approval: Option<bool>,
}
