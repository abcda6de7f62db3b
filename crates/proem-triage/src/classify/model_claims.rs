//! A model's classification, as far as it may be beside what code knows.
//!
//! Invariants: it never matters less than by the system's own word, the sender, the kind of change and the floor of its
//! words; what rules are sure is critical stays so; what the system itself says it is about stays first. A change of
//! scope and whatever is critical goes to a person. A suspected text never matters less than rules say. A text that is
//! out says nothing to a model. No word of a model's stays in it: the reason is ours.

use std::collections::BTreeSet;

use super::{
    ClassificationBasis, ClassificationContext, SignalClassification, SignalInBatch, artefacts,
    facts::{SenderFact, SystemFacts},
    importance,
};
use crate::contract::{ClassifySignal, RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity};

/// Which rule sends a signal on to reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningNeed {
    /// None does.
    Unneeded,
    /// Something has to be worded: a draft or a comment. Any available model may do it.
    Wording,
    /// The classifier asks for the large model.
    Asked,
    /// It is critical, or about so much at once that the large model has to look.
    Demanded,
}

impl ReasoningNeed {
    /// Why a signal goes on, or that it needn't.
    #[must_use]
    pub fn of(answer: &ClassifySignal) -> Self {
        let of_all: BTreeSet<SignalCategory> =
            answer.secondary_categories.iter().copied().chain([answer.category]).collect();
        let both = [SignalCategory::Risk, SignalCategory::Blocker].iter().all(|of| of_all.contains(of));
        match answer.recommended_action {
            _ if answer.importance == SignalImportance::Critical || both || of_all.len() >= super::MANY_CATEGORIES => {
                Self::Demanded
            }
            RecommendedAction::DeferToSonnet => Self::Asked,
            _ if answer.requires_sonnet => Self::Asked,
            RecommendedAction::DraftCommunication | RecommendedAction::AddJiraComment => Self::Wording,
            _ => Self::Unneeded,
        }
    }
}

impl SignalClassification {
    /// Admits a model's verdict on the signal that these rules classified. `batch` are the ids that it was given. The
    /// error gives the reason in our words.
    #[must_use]
    pub fn told(
        &self,
        said: &ClassifySignal,
        item: &SignalInBatch<'_>,
        context: ClassificationContext<'_>,
        batch: &BTreeSet<&str>,
    ) -> Self {
        let facts = SystemFacts::of(item.signal, context.lexicon, context.project);
        let is_system = self.basis == ClassificationBasis::System;
        let category = if is_system { self.answer.category } else { said.category };
        let mut secondary: BTreeSet<SignalCategory> =
            said.secondary_categories.iter().copied().chain([said.category]).collect();
        secondary.remove(&category);
        // Of a suspected text a model may say that it matters more than rules say, and never less.
        let is_suspected = item.sanitised.is_suspected();
        let of_suspected = if is_suspected { self.answer.importance } else { SignalImportance::Low };
        let importance = said.importance.or_higher(self.floor(&facts, category)).or_higher(of_suspected);
        let action = match self.action(said, category, importance) {
            RecommendedAction::NoAction if is_suspected => self.answer.recommended_action,
            action => action,
        };
        let requires_sonnet = said.requires_sonnet || action == RecommendedAction::DeferToSonnet;
        let affected = match (action, said.artefacts_affected.is_empty()) {
            (RecommendedAction::UpdateArtefact, true) => artefacts(category, importance),
            (RecommendedAction::UpdateArtefact, false) => said.artefacts_affected.clone(),
            _ => Vec::new(),
        };
        let id = item.signal.id.as_str();
        let related = said.related_signals.iter().filter(|of| of.as_str() != id && batch.contains(of.as_str()));
        let answer = ClassifySignal {
            signal_id: self.answer.signal_id.clone(),
            importance,
            category,
            secondary_categories: secondary.into_iter().collect(),
            recommended_action: action,
            action_rationale: format!("{}: a model says so; {}", category.as_str(), action.as_str()),
            artefacts_affected: affected,
            related_signals: related.cloned().collect::<BTreeSet<_>>().into_iter().collect(),
            requires_sonnet,
            sonnet_reason: requires_sonnet.then(|| "a model asks for the large one".to_owned()),
            time_sensitivity: said.time_sensitivity.min(latest(importance)),
            confidence: said.confidence.clamp(0.0, 1.0),
        };
        // The system's own word needs no text; whatever else is done because of it is bound by what the texts hold.
        let is_of_system = action == self.answer.recommended_action;
        let effects = if is_of_system { self.effects } else { item.sanitised.effects() };
        Self { answer, basis: self.basis, floor: self.floor.clone(), effects, is_degraded: false }
    }

    /// The least that it matters, whatever a model says.
    pub(super) fn floor(&self, facts: &SystemFacts, category: SignalCategory) -> SignalImportance {
        let is_outside = matches!(facts.sender, SenderFact::Outside | SenderFact::OutsideStakeholder);
        let of_category = match category {
            SignalCategory::Scope => SignalImportance::High,
            SignalCategory::Stakeholder if is_outside => SignalImportance::High,
            _ => SignalImportance::Low,
        };
        let is_sure = matches!(self.basis, ClassificationBasis::System | ClassificationBasis::Clear);
        let of_rules = match self.answer.importance {
            SignalImportance::Critical if is_sure => SignalImportance::Critical,
            // One step below what rules say of it: a model may be right about words, and never hides a trouble.
            SignalImportance::Critical => SignalImportance::High,
            SignalImportance::High if is_sure => SignalImportance::Medium,
            _ => SignalImportance::Low,
        };
        importance::without_texts(facts).or_higher(of_category).or_higher(of_rules).or_higher(self.floor.least)
    }

    fn action(
        &self,
        said: &ClassifySignal,
        category: SignalCategory,
        importance: SignalImportance,
    ) -> RecommendedAction {
        let by_rules = self.answer.recommended_action;
        match said.recommended_action {
            RecommendedAction::DeferToSonnet => RecommendedAction::DeferToSonnet,
            _ if category == SignalCategory::Scope || importance == SignalImportance::Critical => {
                RecommendedAction::Escalate
            }
            // The system's own news goes on, and an important signal is not passed over.
            RecommendedAction::NoAction if self.basis == ClassificationBasis::System => by_rules,
            RecommendedAction::NoAction if importance.is_at_least(SignalImportance::High) => match by_rules {
                RecommendedAction::NoAction => RecommendedAction::Escalate,
                by_rules => by_rules,
            },
            action => action,
        }
    }
}

/// The latest that something of that importance has to be dealt with.
const fn latest(importance: SignalImportance) -> TimeSensitivity {
    match importance {
        SignalImportance::Critical => TimeSensitivity::Immediate,
        SignalImportance::High => TimeSensitivity::ThisWeek,
        SignalImportance::Medium | SignalImportance::Low => TimeSensitivity::NoDeadline,
    }
}
