//! The tools of the first two stages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtefactKind, MAX_ID, MAX_SENTENCE, MAX_SIGNALS, closed_list};
use crate::SignalSource;

/// Says what of a signal may go on, and what was taken out of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "requires_human_review": { "const": true } }, "required": ["requires_human_review"] },
        "then": { "required": ["review_reason"], "properties": { "review_reason": { "type": "string", "minLength": 1 } } }
    },
    {
        "if": { "properties": { "threat_detected": { "const": true } }, "required": ["threat_detected"] },
        "then": { "properties": { "threats_found": { "minItems": 1 } } },
        "else": { "properties": { "threats_found": { "maxItems": 0 } } }
    }
]))]
pub struct SanitiseSignal {
    /// The signal's id.
    #[schemars(length(max = MAX_ID))]
    pub signal_id: String,
    /// The system that it comes from.
    #[schemars(schema_with = "signal_source")]
    pub original_source: String,
    /// What happened, in the signal's word.
    #[schemars(length(max = 128))]
    pub original_type: String,
    /// What may be read of it: facts, without formatting.
    #[schemars(length(max = 65_536))]
    pub sanitised_content: String,
    /// Whether something suspicious was found.
    pub threat_detected: bool,
    /// What was found, each in a few words.
    #[schemars(length(max = 20), inner(length(max = 200)))]
    pub threats_found: Vec<String>,
    /// How much of the original is left, 0 to 1, by its bytes.
    #[schemars(range(min = 0, max = 1))]
    pub content_preserved_ratio: f64,
    /// How sure the stage is of what it took out and left, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence_score: f64,
    /// Whether a person should look at the original.
    pub requires_human_review: bool,
    /// Why a person should.
    #[schemars(length(max = MAX_SENTENCE))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_reason: Option<String>,
}

fn signal_source(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": SignalSource::ALL.map(SignalSource::as_str) })
}

/// Says how important a signal is, what it is about, and what should be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "recommended_action": { "const": "update_artefact" } }, "required": ["recommended_action"] },
        "then": {
            "required": ["artefacts_affected"],
            "properties": { "artefacts_affected": { "type": "array", "minItems": 1 } }
        }
    },
    {
        "if": { "properties": { "recommended_action": { "const": "defer_to_sonnet" } }, "required": ["recommended_action"] },
        "then": { "properties": { "requires_sonnet": { "const": true } } }
    },
    {
        "if": { "properties": { "requires_sonnet": { "const": true } }, "required": ["requires_sonnet"] },
        "then": { "required": ["sonnet_reason"], "properties": { "sonnet_reason": { "type": "string", "minLength": 1 } } }
    }
]))]
pub struct ClassifySignal {
    /// The signal's id.
    #[schemars(length(max = MAX_ID))]
    pub signal_id: String,
    /// How soon and how much it matters.
    pub importance: SignalImportance,
    /// What it is about first of all.
    pub category: SignalCategory,
    /// What it is about besides.
    #[schemars(length(max = 7))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary_categories: Vec<SignalCategory>,
    /// What should be done.
    pub recommended_action: RecommendedAction,
    /// Why, in a sentence.
    #[schemars(length(max = MAX_SENTENCE))]
    pub action_rationale: String,
    /// The artefacts that should change.
    #[schemars(length(max = 4))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artefacts_affected: Vec<ArtefactKind>,
    /// Ids of signals of the batch about the same.
    #[schemars(length(max = MAX_SIGNALS), inner(length(max = MAX_ID)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_signals: Vec<String>,
    /// Whether the large model is needed.
    pub requires_sonnet: bool,
    /// Why it is.
    #[schemars(length(max = MAX_SENTENCE))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sonnet_reason: Option<String>,
    /// How soon it has to be dealt with.
    pub time_sensitivity: TimeSensitivity,
    /// How often a classification like this one is right, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
}

closed_list! {
    /// How soon and how much a signal matters, the most important first.
    SignalImportance {
        Critical = "critical",
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

impl SignalImportance {
    /// The more important of two.
    #[must_use]
    pub fn or_higher(self, other: Self) -> Self {
        self.min(other)
    }

    /// Whether it is this important or more.
    #[must_use]
    pub fn is_at_least(self, least: Self) -> bool {
        self <= least
    }
}

closed_list! {
    /// What a signal is about.
    SignalCategory {
        Blocker = "blocker",
        Risk = "risk",
        Dependency = "dependency",
        Progress = "progress",
        Stakeholder = "stakeholder",
        Scope = "scope",
        Quality = "quality",
        Administrative = "administrative",
    }
}

closed_list! {
    /// What a classification says should be done.
    RecommendedAction {
        UpdateArtefact = "update_artefact",
        Escalate = "escalate",
        DraftCommunication = "draft_communication",
        AddJiraComment = "add_jira_comment",
        NoAction = "no_action",
        DeferToSonnet = "defer_to_sonnet",
    }
}

closed_list! {
    /// How soon something has to be dealt with, the soonest first.
    TimeSensitivity {
        Immediate = "immediate",
        Today = "today",
        ThisWeek = "this_week",
        NoDeadline = "no_deadline",
    }
}
