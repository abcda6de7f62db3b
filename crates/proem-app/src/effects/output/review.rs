//! Escalations and fields in quarantine, for programs.

use proem_guard::LabelTree;
use proem_guard::show;
use proem_store::query::{DecisionRow, EscalationRow, QuarantinedItem};
use proem_store::record::{EscalationOption, EscalationState};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::effects::escalations::escalation_case;
use crate::when;

/// A question that a person decides.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EscalationOutput {
    /// Its id, by which commands name it.
    id: String,
    #[serde(flatten)]
    state: EscalationCourse,
    #[serde(flatten)]
    case: EscalationTexts,
    /// The id of the action that it is about. Null without one.
    action: Option<String>,
    /// Its urgency.
    sensitivity: String,
    /// The possible decisions, in order. Empty once its texts are gone.
    options: Vec<EscalationOptionOutput>,
}

/// The state of a question with its times.
#[derive(Debug, Serialize, JsonSchema)]
struct EscalationCourse {
    /// `open`, `decided` or `withdrawn`.
    #[schemars(with = "String")]
    state: EscalationState,
    /// When it was asked.
    at: String,
    /// Until when it should be decided.
    deadline: Option<String>,
    /// The decision. Null before there is one.
    decision: Option<EscalationDecision>,
}

/// The texts of an escalation, exactly as written. Null once they are gone.
#[derive(Debug, Serialize, JsonSchema)]
struct EscalationTexts {
    /// Why a person has to decide.
    reason: Option<Json>,
    /// The question in a line, if it has one.
    heading: Option<Json>,
    /// The subject of the question, if it has one.
    about: Option<Json>,
}

/// A possible decision.
#[derive(Debug, Serialize, JsonSchema)]
struct EscalationOptionOutput {
    /// Its id, by which a person chooses it.
    id: String,
    /// Its label, exactly as written. Null once its text is gone.
    label: Json,
    /// Whether it proposes an action.
    acts: bool,
}

/// A person's decision.
#[derive(Debug, Serialize, JsonSchema)]
struct EscalationDecision {
    /// The id of the chosen option.
    option: String,
    /// The person's own words.
    words: String,
    /// The person.
    actor: String,
    /// When the person decided.
    at: String,
}

impl EscalationOutput {
    /// The document of an escalation.
    #[must_use]
    pub fn new(row: &EscalationRow) -> Self {
        let case = escalation_case(row);
        let case = case.as_ref();
        Self {
            id: row.id.0.clone(),
            state: EscalationCourse {
                state: row.state,
                at: when::rfc3339(row.at),
                deadline: row.deadline.map(when::rfc3339),
                decision: row.decision.as_ref().map(EscalationDecision::new),
            },
            case: EscalationTexts {
                reason: case.map(|case| show::tree_json(&case.because)),
                heading: case.and_then(|case| case.heading.as_ref()).map(show::tree_json),
                about: case.and_then(|case| case.about.as_ref()).map(show::tree_json),
            },
            action: row.action.map(|key| key.to_string()),
            sensitivity: row.sensitivity.clone(),
            options: row.options.iter().map(EscalationOptionOutput::new).collect(),
        }
    }
}

impl EscalationOptionOutput {
    fn new(option: &EscalationOption) -> Self {
        let label = LabelTree::read(&option.label).map_or(Json::Null, |tree| show::tree_json(&tree));
        Self { id: option.id.clone(), label, acts: option.action.is_some() }
    }
}

impl EscalationDecision {
    fn new(made: &DecisionRow) -> Self {
        Self {
            option: made.option.clone(),
            words: made.words.clone(),
            actor: made.actor.clone(),
            at: when::rfc3339(made.at),
        }
    }
}

/// A field of a signal in quarantine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuarantinedOutput {
    /// The signal's id.
    signal: String,
    /// The hash of the signal's content.
    revision: String,
    /// The field's path.
    field: String,
    /// The sender, as the source names it.
    sender: String,
    /// The strictest verdict of the guard about the text.
    verdict: &'static str,
    /// The findings of the guard.
    findings: Json,
}

impl QuarantinedOutput {
    /// The document of a field.
    #[must_use]
    pub fn new(item: &QuarantinedItem) -> Self {
        Self {
            signal: item.id.signal.clone(),
            revision: item.id.revision.clone(),
            field: item.id.field.clone(),
            sender: item.sender.clone(),
            verdict: item.verdict.as_str(),
            findings: item.findings.clone(),
        }
    }
}
