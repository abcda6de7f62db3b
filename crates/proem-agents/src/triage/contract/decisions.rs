//! Decisions, with what was decided against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, MAX_SENTENCE, MAX_SIGNALS, closed_list};

/// Writes decisions down and changes how earlier ones stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateDecisionLog {
    /// The project.
    #[schemars(length(max = 36), extend("format" = "uuid"))]
    pub project_id: String,
    /// What changed, and why.
    #[schemars(length(max = 2_000))]
    pub changes_summary: String,
    /// New decisions.
    #[schemars(length(max = 20))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions_added: Vec<DecisionEntry>,
    /// Changed decisions.
    #[schemars(length(max = 20))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions_modified: Vec<DecisionModification>,
    /// Ids of the signals that it is made from.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_incorporated: Vec<String>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DecisionEntry {
    /// `DEC001`; dependencies of the RAID log have the single letter.
    #[schemars(length(max = 16), regex(pattern = "^DEC[0-9]{3,}$"))]
    pub id: String,
    /// One line.
    #[schemars(length(max = MAX_ID))]
    pub title: String,
    /// Why there was something to decide.
    #[schemars(length(max = 4_000))]
    pub context: String,
    /// What could have been decided, the rejected options too.
    #[schemars(length(max = 10))]
    pub options_considered: Vec<DecisionOption>,
    /// What was decided.
    #[schemars(length(max = 2_000))]
    pub decision: String,
    /// Why.
    #[schemars(length(max = 2_000))]
    pub rationale: String,
    /// Who decided.
    pub made_by: DecisionMaker,
    /// When.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub date: String,
    /// Whether it holds.
    pub status: DecisionStatus,
    /// Ids in the RAID log that it is about.
    #[schemars(length(max = 50), inner(length(max = 16)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_raid_items: Vec<String>,
}

/// What could have been decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DecisionOption {
    /// What it is.
    #[schemars(length(max = MAX_SENTENCE))]
    pub option: String,
    /// What speaks for it.
    #[schemars(length(max = 10), inner(length(max = MAX_SENTENCE)))]
    pub pros: Vec<String>,
    /// What speaks against it.
    #[schemars(length(max = 10), inner(length(max = MAX_SENTENCE)))]
    pub cons: Vec<String>,
}

/// A change of one decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DecisionModification {
    /// The decision.
    #[schemars(length(max = 16))]
    pub id: String,
    /// Only what changes.
    pub changes: DecisionChanges,
    /// Why.
    #[schemars(length(max = MAX_SENTENCE))]
    pub change_reason: String,
}

/// What of a decision changes; who decided, when and between what never does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("minProperties" = 1))]
#[serde(deny_unknown_fields)]
pub struct DecisionChanges {
    /// One line.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why.
    #[schemars(length(max = 2_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Whether it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DecisionStatus>,
    /// Ids in the RAID log that it is about.
    #[schemars(length(max = 50), inner(length(max = 16)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related_raid_items: Option<Vec<String>>,
}

closed_list! {
    /// Who decided.
    DecisionMaker {
        User = "user",
        Agent = "agent",
    }
}

closed_list! {
    /// Whether a decision holds.
    DecisionStatus {
        Active = "active",
        Superseded = "superseded",
        Reversed = "reversed",
    }
}
