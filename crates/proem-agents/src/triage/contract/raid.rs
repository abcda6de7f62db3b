//! Risks, assumptions, issues and dependencies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, MAX_SENTENCE, MAX_SIGNALS, closed_list};

/// Adds entries to the RAID log and changes some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateRaidLog {
    /// The project.
    #[schemars(length(max = 36), extend("format" = "uuid"))]
    pub project_id: String,
    /// What changed, and why.
    #[schemars(length(max = 2_000))]
    pub changes_summary: String,
    /// New entries.
    #[schemars(length(max = 50))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items_added: Vec<RaidEntry>,
    /// Changed entries.
    #[schemars(length(max = 50))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items_modified: Vec<RaidModification>,
    /// Ids of the signals that it is made from.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_incorporated: Vec<String>,
}

/// An entry of the RAID log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct RaidEntry {
    /// `R001`, `A001`, `I001` or `D001`.
    #[schemars(length(max = 16), regex(pattern = "^[RAID][0-9]{3,}$"))]
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub entry_type: RaidEntryType,
    /// One line.
    #[schemars(length(max = MAX_ID))]
    pub title: String,
    /// What there is to know.
    #[schemars(length(max = 4_000))]
    pub description: String,
    /// How bad it is.
    pub severity: TriageSeverity,
    /// How it stands.
    pub status: RaidStatus,
    /// Who deals with it.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Since when it is known.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub raised_date: String,
    /// When it has to be dealt with.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_date: Option<String>,
    /// What is done about it.
    #[schemars(length(max = 2_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigation: Option<String>,
    /// Who found it.
    pub source: RaidOrigin,
    /// The ticket or the subject that says so.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_reference: Option<String>,
}

/// A change of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct RaidModification {
    /// The entry.
    #[schemars(length(max = 16))]
    pub id: String,
    /// Only what changes.
    pub changes: RaidChanges,
    /// Why.
    #[schemars(length(max = MAX_SENTENCE))]
    pub change_reason: String,
}

/// What of an entry changes; its id, its kind, where it comes from and since when never do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("minProperties" = 1))]
#[serde(deny_unknown_fields)]
pub struct RaidChanges {
    /// One line.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What there is to know.
    #[schemars(length(max = 4_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How bad it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<TriageSeverity>,
    /// How it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RaidStatus>,
    /// Who deals with it.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When it has to be dealt with.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_date: Option<String>,
    /// What is done about it.
    #[schemars(length(max = 2_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigation: Option<String>,
}

closed_list! {
    /// What an entry of the RAID log is.
    RaidEntryType {
        Risk = "risk",
        Assumption = "assumption",
        Issue = "issue",
        Dependency = "dependency",
    }
}

closed_list! {
    /// How bad something is: for the project, a milestone, the scope, or hardly at all.
    TriageSeverity {
        Critical = "critical",
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

closed_list! {
    /// How an entry of the RAID log stands.
    RaidStatus {
        Open = "open",
        Mitigating = "mitigating",
        Resolved = "resolved",
        Accepted = "accepted",
        Closed = "closed",
    }
}

closed_list! {
    /// Who found what an entry says.
    RaidOrigin {
        AgentDetected = "agent_detected",
        UserAdded = "user_added",
        IntegrationSignal = "integration_signal",
    }
}
