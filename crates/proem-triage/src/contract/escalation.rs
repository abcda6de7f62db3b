//! A question to the person who decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtefactKind, EscalationAction, MAX_ID, MAX_SENTENCE, MAX_SIGNALS, TimeSensitivity, closed_list};

/// Asks a person to decide between options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateEscalation {
    /// The project.
    #[schemars(length(max = 36), extend("format" = "uuid"))]
    pub project_id: String,
    /// What has to be decided.
    #[schemars(length(max = 200))]
    pub title: String,
    /// What the person has to know.
    pub context: EscalationContext,
    /// What the person may choose.
    #[schemars(length(min = 2, max = 5))]
    pub options: Vec<EscalationOption>,
    /// The id of the option that is recommended.
    #[schemars(length(max = 8))]
    pub agent_recommendation: String,
    /// Why it is.
    #[schemars(length(max = 2_000))]
    pub agent_rationale: String,
    /// Why a person is asked.
    pub escalation_reason: EscalationReason,
}

/// What a person has to know to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct EscalationContext {
    /// The situation.
    #[schemars(length(max = 2_000))]
    pub summary: String,
    /// What led to it.
    #[schemars(length(max = 4_000))]
    pub background: String,
    /// Ids of the signals that led to it.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    pub signals_involved: Vec<String>,
    /// The artefacts that the decision changes.
    #[schemars(length(max = 4))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artefacts_affected: Vec<ArtefactKind>,
    /// How soon it has to be decided.
    pub time_sensitivity: TimeSensitivity,
    /// What happens if it isn't.
    #[schemars(length(max = MAX_SENTENCE))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact_if_delayed: Option<String>,
}

/// What a person may choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct EscalationOption {
    /// `A`, `B`, `C`.
    #[schemars(length(max = 8))]
    pub id: String,
    /// A few words.
    #[schemars(length(max = 100))]
    pub label: String,
    /// What it means.
    #[schemars(length(max = 2_000))]
    pub description: String,
    /// What speaks for it.
    #[schemars(length(max = 10), inner(length(max = MAX_SENTENCE)))]
    pub pros: Vec<String>,
    /// What speaks against it.
    #[schemars(length(max = 10), inner(length(max = MAX_SENTENCE)))]
    pub cons: Vec<String>,
    /// The action that follows; none if the list is empty.
    #[schemars(length(max = 1))]
    pub actions_if_chosen: Vec<EscalationAction>,
}

closed_list! {
    /// Why a person is asked.
    EscalationReason {
        OutsideAutonomyLevel = "outside_autonomy_level",
        LowConfidence = "low_confidence",
        ConflictingSignals = "conflicting_signals",
        StrategicImpact = "strategic_impact",
        ExternalCommunication = "external_communication",
        ScopeChange = "scope_change",
        PolicyAmbiguity = "policy_ambiguity",
        FirstTimePattern = "first_time_pattern",
    }
}
