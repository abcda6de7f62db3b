//! Matters that persons are asked to review: escalations and fields in quarantine.

use proem_engine::effect::key::EffectKey;
use proem_engine::run::Time;
use proem_guard::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::action::{NewAction, NewTransition};
use super::content::HashedContent;
use super::names::{Actor, Project};
use super::triage::ArtefactEdit;

/// Which escalation, within its project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EscalationId(pub String);

/// One of the things that a person can decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationOption {
    /// Its id, unique within the escalation.
    pub id: String,
    /// Its label, in written form, because the text may be untrusted.
    pub label: String,
    /// The written form of the one action that it proposes. `None` for an option that does nothing.
    pub action: Option<String>,
}

/// A question that a person has to decide.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEscalation {
    /// Its id. A second one of the same id is the same.
    pub id: EscalationId,
    /// Of which project it is.
    pub project: Project,
    /// The actor that asks.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The action that it is about, if there is one.
    pub action: Option<EffectKey>,
    /// Why a person has to decide: a written form, for the text may be untrusted.
    pub reason: String,
    /// How pressing it is.
    pub sensitivity: String,
    /// Until when it should be decided.
    pub deadline: Option<Time>,
    /// Between [`Self::FEWEST`] and [`Self::MOST`] of them.
    pub options: Vec<EscalationOption>,
}

impl NewEscalation {
    /// The fewest options that are a choice.
    pub const FEWEST: usize = 2;
    /// The most options that a person takes in at once.
    pub const MOST: usize = 5;
}

/// The change that a decision makes to an action, in the transaction that writes the decision.
#[derive(Debug, Clone, PartialEq)]
pub enum DecisionEffect {
    /// It leaves the action as it is.
    Nothing,
    /// Something happens to an action that is there.
    Transition(Box<NewTransition>),
    /// An action is proposed.
    Proposal(Box<NewAction>),
}

/// A person's decision with its consequences. Either all of it is written, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDecision {
    /// Which escalation.
    pub escalation: EscalationId,
    /// Of which project it is.
    pub project: Project,
    /// The person.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The option's id.
    pub option: String,
    /// The person's own words. Empty if there are none.
    pub words: String,
    /// Its consequence.
    pub effect: DecisionEffect,
    /// The versions of artefacts that follow from it: that of the decision log, and those that the option changes. None
    /// in a project without artefacts, and at most one of each kind.
    pub artefacts: Vec<ArtefactEdit>,
}

/// That an escalation needs no decision any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationWithdrawal {
    /// Which escalation.
    pub escalation: EscalationId,
    /// Of which project it is.
    pub project: Project,
    /// The actor that decides.
    pub actor: Actor,
    /// The time.
    pub at: Time,
}

/// Open, answered or expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EscalationState {
    /// Nobody has decided.
    Open,
    /// A person has.
    Decided,
    /// It needs no decision any more.
    Withdrawn,
}

/// Which field of which signal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuarantineId {
    /// The signal's id.
    pub signal: String,
    /// Which content it had.
    pub revision: String,
    /// The path of the field within it.
    pub field: String,
}

/// A field that stays out until a person has looked.
#[derive(Debug, Clone, PartialEq)]
pub struct NewQuarantine {
    /// Which field. A second one of the same id is the same.
    pub id: QuarantineId,
    /// Of which project it is.
    pub project: Project,
    /// The actor that found it.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// The text in its written form, with its label.
    pub text: HashedContent,
    /// The findings in it, as JSON.
    pub findings: Json,
    /// The strictest answer of the guard about the text.
    pub verdict: Verdict,
    /// The sender of the text, as it is grouped.
    pub sender: String,
}

/// The state of a field in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineState {
    /// It stays out until a person has looked.
    Quarantined,
    /// A person let it in, as text from outside like any other.
    Released,
    /// A person said that it stays out for good.
    Dismissed,
}

proem_text::word_table! {
    pub QuarantineState {
        Quarantined = "quarantined",
        Released = "released",
        Dismissed = "dismissed",
    }
}

/// A person's review of a field in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineReview {
    /// Which field.
    pub id: QuarantineId,
    /// Of which project it is.
    pub project: Project,
    /// The person.
    pub actor: Actor,
    /// The time.
    pub at: Time,
    /// Its state from here on: released or dismissed.
    pub state: QuarantineState,
}
