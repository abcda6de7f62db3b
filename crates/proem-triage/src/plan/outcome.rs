//! The outcome of a signal.

use proem_engine::{effect::key::SignalRevision, policy::SourceConflict};
use serde_json::json;

use super::context::CycleMember;
use crate::{
    artefact::ArtefactItemId,
    classify::ClassificationBasis,
    contract::{RecommendedAction, SignalCategory, SignalImportance},
};

/// The end of a signal's way through a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalOutcomeKind {
    /// It was written down.
    Logged,
    /// It changed an artefact.
    Incorporated,
    /// A comment was proposed.
    Commented,
    /// A mail was drafted.
    Drafted,
    /// A person is asked.
    Escalated,
    /// Its texts were kept out, and nothing happens because of it.
    KeptOut,
}

proem_text::word_table! {
    pub SignalOutcomeKind {
        Logged = "logged",
        Incorporated = "incorporated",
        Commented = "commented",
        Drafted = "drafted",
        Escalated = "escalated",
        KeptOut = "kept-out",
    }
}

/// The outcome of a signal, in words and numbers of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalOutcome {
    /// Which one.
    pub id: SignalRevision,
    /// The outcome.
    pub kind: SignalOutcomeKind,
    /// How much it matters.
    pub importance: SignalImportance,
    /// The closed word of the contract for the signal's matter.
    pub category: SignalCategory,
    /// The recommendation.
    pub action: RecommendedAction,
    /// The basis of the category.
    pub basis: ClassificationBasis,
    /// How often a classification like this one is right, 0 to 1.
    pub confidence: f64,
    /// How many principals say what is said.
    pub agreeing: u32,
    /// Whether another source contradicts.
    pub conflict: SourceConflict,
    /// The items that it is about.
    pub items: Vec<ArtefactItemId>,
    /// Whether rules alone said what it is about.
    pub is_degraded: bool,
}

impl SignalOutcome {
    pub(super) fn new(
        member: &CycleMember<'_>,
        kind: SignalOutcomeKind,
        agreeing: u32,
        items: Vec<ArtefactItemId>,
    ) -> Self {
        let answer = &member.classification.answer;
        Self {
            id: SignalRevision::from(member.signal),
            kind,
            importance: answer.importance,
            category: answer.category,
            action: answer.recommended_action,
            basis: member.classification.basis,
            confidence: answer.confidence,
            agreeing,
            conflict: SourceConflict::Absent,
            items,
            is_degraded: member.classification.is_degraded,
        }
    }

    /// How far sources agree: 0.5 if one principal says so, 1 if two or more do, and half of that if another source
    /// contradicts.
    #[must_use]
    pub fn source_agreement(&self) -> f64 {
        let agreement = f64::from(self.agreeing.min(2)) / 2.0;
        if self.conflict == SourceConflict::Present { agreement / 2.0 } else { agreement }
    }

    /// As it is kept and published.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "outcome": self.kind.as_str(),
            "importance": self.importance.as_str(),
            "category": self.category.as_str(),
            "action": self.action.as_str(),
            "basis": self.basis.as_str(),
            "confidence": self.confidence,
            "sourceAgreement": self.source_agreement(),
            "items": self.items.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "degraded": self.is_degraded,
        })
    }
}
