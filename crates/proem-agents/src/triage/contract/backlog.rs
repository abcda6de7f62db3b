//! The backlog in figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, MAX_SENTENCE, MAX_SIGNALS, closed_list};

/// Replaces the summary of the backlog by a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateBacklogSummary {
    /// The project.
    #[schemars(length(max = 36), extend("format" = "uuid"))]
    pub project_id: String,
    /// What changed, and why.
    #[schemars(length(max = 2_000))]
    pub changes_summary: String,
    /// The whole summary as it is then.
    pub content: BacklogContent,
    /// Ids of the signals that it is made from.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_incorporated: Vec<String>,
}

/// How the backlog stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BacklogContent {
    /// The system that holds it.
    pub source: BacklogSource,
    /// When it was last read.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub last_synced: String,
    /// Counts.
    pub summary: BacklogCounts,
    /// What needs attention.
    #[schemars(length(max = 100))]
    pub highlights: Vec<BacklogHighlight>,
    /// What needs more detail.
    #[schemars(length(max = 100))]
    pub refinement_candidates: Vec<RefinementCandidate>,
    /// What came or went in mid-sprint.
    #[schemars(length(max = 2_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_notes: Option<String>,
}

/// How many items there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BacklogCounts {
    /// All of them.
    pub total_items: u32,
    /// By where they stand.
    pub by_status: BacklogStatusCounts,
    /// By how much they matter.
    pub by_priority: BacklogPriorityCounts,
}

/// How many items stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BacklogStatusCounts {
    /// Not begun.
    pub to_do: u32,
    /// Begun.
    pub in_progress: u32,
    /// Done since the sprint began.
    pub done_this_sprint: u32,
    /// Blocked.
    pub blocked: u32,
}

/// How many items have which priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BacklogPriorityCounts {
    /// The highest.
    pub critical: u32,
    /// High.
    pub high: u32,
    /// Medium.
    pub medium: u32,
    /// Low.
    pub low: u32,
}

/// An item that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BacklogHighlight {
    /// The ticket.
    #[schemars(length(max = MAX_ID))]
    pub ticket_id: String,
    /// One line.
    #[schemars(length(max = MAX_ID))]
    pub title: String,
    /// What is the matter.
    pub flag: BacklogFlag,
    /// In a sentence.
    #[schemars(length(max = MAX_SENTENCE))]
    pub detail: String,
    /// What could be done.
    #[schemars(length(max = MAX_SENTENCE))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_action: Option<String>,
}

/// An item that needs more detail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct RefinementCandidate {
    /// The ticket.
    #[schemars(length(max = MAX_ID))]
    pub ticket_id: String,
    /// One line.
    #[schemars(length(max = MAX_ID))]
    pub title: String,
    /// What it lacks.
    #[schemars(length(max = MAX_SENTENCE))]
    pub issue: String,
}

closed_list! {
    /// The system that holds a backlog.
    BacklogSource {
        Jira = "jira",
        Asana = "asana",
    }
}

closed_list! {
    /// What is the matter with an item.
    BacklogFlag {
        Blocked = "blocked",
        Stale = "stale",
        MissingCriteria = "missing_criteria",
        ScopeCreep = "scope_creep",
        New = "new",
    }
}
