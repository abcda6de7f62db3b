//! The state of delivery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ID, MAX_SENTENCE, MAX_SIGNALS, TriageSeverity, closed_list};

/// Replaces the state of delivery by a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateDeliveryState {
    /// The project.
    #[schemars(length(max = 36), extend("format" = "uuid"))]
    pub project_id: String,
    /// What changed, and why.
    #[schemars(length(max = 2_000))]
    pub changes_summary: String,
    /// The whole state as it is then.
    pub content: DeliveryContent,
    /// Ids of the signals that it is made from.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_incorporated: Vec<String>,
}

/// How delivery stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("allOf" = [{ "required": ["current_sprint"] }]))]
pub struct DeliveryContent {
    /// How the project is.
    pub overall_status: DeliveryColour,
    /// Why it is that colour.
    #[schemars(length(max = 2_000))]
    pub status_summary: String,
    /// The sprint; null for a project without one, which is said and not left out.
    pub current_sprint: Option<SprintEntry>,
    /// What is due.
    #[schemars(length(max = 100))]
    pub milestones: Vec<MilestoneEntry>,
    /// What stands in the way.
    #[schemars(length(max = 100))]
    pub blockers: Vec<BlockerEntry>,
    /// Figures.
    pub key_metrics: DeliveryMetrics,
    /// What should be done next.
    #[schemars(length(max = 20), inner(length(max = MAX_SENTENCE)))]
    pub next_actions: Vec<String>,
}

/// A sprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SprintEntry {
    /// Its name.
    #[schemars(length(max = MAX_ID))]
    pub name: String,
    /// When it began.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub start_date: String,
    /// When it ends.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub end_date: String,
    /// What it is to reach.
    #[schemars(length(max = MAX_SENTENCE))]
    pub goal: String,
    /// How far it is.
    pub progress: SprintProgress,
}

/// How far a sprint is, in story points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SprintProgress {
    /// All of it.
    pub total_points: u32,
    /// What is done.
    pub completed_points: u32,
    /// What is being done.
    pub in_progress_points: u32,
    /// What can't be done.
    pub blocked_points: u32,
}

/// Something that is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct MilestoneEntry {
    /// Its name.
    #[schemars(length(max = MAX_ID))]
    pub name: String,
    /// When it is due.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub due_date: String,
    /// Whether it will be met.
    pub status: MilestoneStatus,
    /// What there is to say.
    #[schemars(length(max = 2_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// Something that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BlockerEntry {
    /// Its id in the RAID log.
    #[schemars(length(max = MAX_ID))]
    pub id: String,
    /// What it is.
    #[schemars(length(max = 2_000))]
    pub description: String,
    /// Who deals with it.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Since when it is known.
    #[schemars(length(max = 40), extend("format" = "date-time"))]
    pub raised_date: String,
    /// How bad it is.
    pub severity: TriageSeverity,
    /// The ticket that says so.
    #[schemars(length(max = MAX_ID))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ticket: Option<String>,
}

/// Figures of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DeliveryMetrics {
    /// Where the points of a sprint go.
    pub velocity_trend: VelocityTrend,
    /// Days from begun to done, on average.
    #[schemars(range(min = 0))]
    pub avg_cycle_time_days: f64,
    /// How many blockers are open.
    pub open_blockers: u32,
    /// How many risks are neither closed nor accepted.
    pub active_risks: u32,
}

closed_list! {
    /// How a project is: on track, with small problems, in danger.
    DeliveryColour {
        Green = "green",
        Amber = "amber",
        Red = "red",
    }
}

closed_list! {
    /// Whether a milestone will be met.
    MilestoneStatus {
        OnTrack = "on_track",
        AtRisk = "at_risk",
        Delayed = "delayed",
        Completed = "completed",
    }
}

closed_list! {
    /// Where the points of a sprint go.
    VelocityTrend {
        Increasing = "increasing",
        Stable = "stable",
        Decreasing = "decreasing",
    }
}
