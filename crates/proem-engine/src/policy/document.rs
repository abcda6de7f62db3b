//! A decision as one document, for the record and for people.

use proem_guard::check::{ActionViolation, Reach};
use proem_guard::show;
use proem_text::hex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::condition::ConditionResult;
use super::decision::{Decision, RefusalNotice, Ruling};
use super::reason::DecisionReason;

/// A decision about an action. Quotations of the action went through `guard::show`. A permit is not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DecisionDocument {
    #[serde(flatten)]
    ruling: WordedRuling,
    #[serde(flatten)]
    evidence: DecisionEvidence,
    /// The hash of the content that was decided about.
    content: String,
    /// The hash of the policy in force.
    policy: String,
}

/// The ruling with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct WordedRuling {
    /// `permit`, `hold`, `approval`, `escalation`, `standstill` or `refusal`.
    ruling: &'static str,
    /// Whether a person is asked to choose.
    escalated: bool,
    /// The minutes of its hold. Null for an action that no list lets go by itself.
    hold_minutes: Option<u32>,
    /// The reasons, in the order of the policy's steps.
    reasons: Vec<WordedReason>,
}

/// One ground for the ruling.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct WordedReason {
    /// Its name.
    reason: &'static str,
    /// The reason in words.
    words: String,
}

/// The findings of code about the action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct DecisionEvidence {
    /// The conditions under which an action goes by itself.
    conditions: Vec<WordedCondition>,
    /// The names of the conditions of a hold that are not met.
    unmet: Vec<&'static str>,
    confidence: ConfidenceParts,
    /// Whether the action reaches somebody outside the project.
    external: bool,
    /// The texts of the action that break a rule.
    failures: Vec<WordedViolation>,
}

/// A requirement of acting without a person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct WordedCondition {
    /// Its name.
    condition: &'static str,
    met: bool,
    /// The facts against it, in words.
    against: Vec<String>,
}

/// The confidence in the action, in thousandths.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ConfidenceParts {
    /// The agreement of the sources.
    sources: u32,
    /// The distance of the action's list from its limits.
    boundary: u32,
    /// 1000 if the action meets its schema, else 0.
    schema: u32,
    /// The executed actions of its type, of three.
    precedent: u32,
    /// The mean of the four.
    mean: u32,
    /// The lower of the mean and the model's own statement.
    stated: u16,
}

/// A text that breaks a rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct WordedViolation {
    /// The field of the action.
    field: String,
    /// The rule's name.
    rule: &'static str,
    /// The byte at which the text begins.
    start: usize,
    /// The byte behind it.
    end: usize,
    /// The text there, at most 80 bytes of it.
    #[schemars(with = "String")]
    excerpt: Json,
}

impl Decision {
    /// Whether a text of the action has a credential, so that no record may have it.
    #[must_use]
    pub fn finds_credential(&self) -> bool {
        self.reasons.iter().any(|reason| matches!(reason, DecisionReason::Credential(_)))
    }

    /// The decision as JSON, in the form of a [`DecisionDocument`].
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!(self.to_document())
    }

    /// The decision as a document.
    #[must_use]
    pub fn to_document(&self) -> DecisionDocument {
        let reason = |reason: &DecisionReason| WordedReason { reason: reason.as_str(), words: reason.to_string() };
        DecisionDocument {
            ruling: WordedRuling {
                ruling: self.ruling.as_str(),
                escalated: matches!(self.ruling, Ruling::Escalation | Ruling::Refusal(RefusalNotice::Escalated)),
                hold_minutes: self.hold.map(|hold| hold.0),
                reasons: self.reasons.iter().map(reason).collect(),
            },
            evidence: DecisionEvidence {
                conditions: self.conditions.iter().map(WordedCondition::new).collect(),
                unmet: self.unmet.iter().map(|condition| condition.as_str()).collect(),
                confidence: ConfidenceParts {
                    sources: self.confidence.sources,
                    boundary: self.confidence.boundary,
                    schema: self.confidence.schema,
                    precedent: self.confidence.precedent,
                    mean: self.confidence.mean(),
                    stated: self.stated.thousandths(),
                },
                external: self.reach == Reach::External,
                failures: self.check.failures.iter().map(WordedViolation::new).collect(),
            },
            content: hex::encode_hex(self.content.0),
            policy: hex::encode_hex(self.policy.0),
        }
    }
}

impl WordedCondition {
    fn new(result: &ConditionResult) -> Self {
        Self { condition: result.condition.as_str(), met: result.is_met(), against: result.against.clone() }
    }
}

impl WordedViolation {
    fn new(violation: &ActionViolation) -> Self {
        Self {
            field: violation.field.clone(),
            rule: violation.rule.as_str(),
            start: violation.span.start,
            end: violation.span.end,
            excerpt: show::exact_json(&violation.excerpt),
        }
    }
}
