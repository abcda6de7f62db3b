//! What is to happen because of signals: by rules alone, at a level of autonomy.
//!
//! A signal's classification recommends something; [`RecommendationFate::of`] is the table of what that may become at
//! each level. What becomes of an artefact is worked out by [`CyclePlan`], with one item for each ticket; what a
//! person has to decide becomes a question with two to five options, each with one typed action or none. What a model
//! proposes goes into the same plan: its question stands in for the one of the rules, its draft for the one that says
//! that nobody drafts, and its changes of artefacts come on top of those of the rules.
//!
//! Invariants: nothing here performs, stores or permits anything; text from outside keeps its label in everything that
//! is planned; a signal that is blocked or kept out gives no action and no item; a suspected text changes nothing by
//! itself, and nothing ends or looks better without a person or an event of the tracker; without a model nothing is drafted,
//! and what would be is a question that says so; a proposal that has no place is counted; the same signals and proposals
//! in the same order give the same plan.

mod advice;
mod backlog;
mod conflicts;
mod cycle;
mod finish;
mod group;
mod health;
mod items;
mod life;
mod milestones;
mod outcome;
mod principals;
mod proposed;
mod questions;
mod sprints;
mod suspected;
mod tickets;
mod told;
mod withheld;

use std::collections::BTreeSet;

use proem_engine::{
    effect::key::SignalRevision,
    policy::{AutonomyLevel, SourceAgreement},
};
use proem_guard::{LabelTree, Untrusted};
use serde_json::Value as Json;

use super::answer::DraftFault;
use super::contract::{EscalationReason, RecommendedAction, TimeSensitivity};

pub use self::{
    cycle::{ArtefactGate, ArtefactSet, CycleContext, CycleMember, CyclePlan, plan},
    outcome::{SignalOutcome, SignalOutcomeKind},
    principals::{agreement, principals},
};

/// What a recommendation becomes at a level of autonomy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecommendationFate {
    /// It is written down.
    Logged,
    /// A person is asked.
    Escalated,
    /// It goes on: by itself, or held or approved as the policy has it.
    Onward,
}

/// The fates by recommended action, at the levels monitoring, artefact and tactical.
///
/// `defer_to_sonnet` is for a model to resolve; without one a person is asked, whatever the level.
const FATES: [(RecommendedAction, [RecommendationFate; 3]); 6] = {
    use RecommendationFate::{Escalated, Logged, Onward};
    [
        (RecommendedAction::NoAction, [Logged, Logged, Logged]),
        (RecommendedAction::Escalate, [Escalated, Escalated, Escalated]),
        (RecommendedAction::UpdateArtefact, [Escalated, Onward, Onward]),
        (RecommendedAction::AddJiraComment, [Escalated, Escalated, Onward]),
        (RecommendedAction::DraftCommunication, [Escalated, Escalated, Onward]),
        (RecommendedAction::DeferToSonnet, [Escalated, Escalated, Escalated]),
    ]
};

impl RecommendationFate {
    /// What a recommendation becomes.
    #[must_use]
    pub fn of(action: RecommendedAction, level: AutonomyLevel) -> Self {
        let of_action = FATES.into_iter().find(|(known, _)| *known == action).map(|(_, fates)| fates);
        let place = AutonomyLevel::ALL.iter().position(|known| *known == level);
        // What the table does not have is a person's to decide.
        of_action.zip(place).and_then(|(fates, place)| fates.get(place).copied()).unwrap_or(Self::Escalated)
    }
}

/// A comment that may go to a ticket: words of ours alone, or a model's.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedComment {
    /// The action as an agent would give it.
    pub action: Untrusted<Json>,
    /// The signal that it is for.
    pub cause: SignalRevision,
    /// How many principals say what it rests on, and whether another source contradicts.
    pub sources: SourceAgreement,
}

/// A mail that may go out: a model worded it, and whom it goes to is known.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedDraft {
    /// The action as an agent would give it.
    pub action: Untrusted<Json>,
    /// The signals that it answers.
    pub causes: Vec<SignalRevision>,
    /// What its wording breaks, for which a person has to approve it.
    pub faults: BTreeSet<DraftFault>,
    /// How many principals say what it rests on, and whether another source contradicts.
    pub sources: SourceAgreement,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedQuestion {
    /// What it is about, in words that make it the same question when it comes again: never shown.
    pub subject: String,
    /// Why a person is asked.
    pub reason: EscalationReason,
    /// The question, in words of ours.
    pub title: String,
    /// What the first of its signals is called, contained.
    pub heading: LabelTree,
    /// What it came from, contained.
    pub about: LabelTree,
    /// What to choose from.
    pub options: Vec<PlannedOption>,
    /// The id of the option that is recommended, and why.
    pub recommended: (&'static str, &'static str),
    /// How soon it has to be decided.
    pub time: TimeSensitivity,
    /// The signals that led to it.
    pub causes: Vec<SignalRevision>,
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOption {
    /// `A`, `B`, `C`.
    pub id: &'static str,
    /// What it means.
    pub label: LabelTree,
    /// The one action that follows, as an agent would give it; `None` if nothing does.
    pub action: Option<Untrusted<Json>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_table() {
        use AutonomyLevel::{Artefact, Monitoring, Tactical};
        use RecommendationFate::{Escalated, Logged, Onward};
        let cells = |action| [Monitoring, Artefact, Tactical].map(|level| RecommendationFate::of(action, level));
        assert_eq!(cells(RecommendedAction::NoAction), [Logged, Logged, Logged]);
        assert_eq!(cells(RecommendedAction::Escalate), [Escalated, Escalated, Escalated]);
        assert_eq!(cells(RecommendedAction::UpdateArtefact), [Escalated, Onward, Onward]);
        assert_eq!(cells(RecommendedAction::AddJiraComment), [Escalated, Escalated, Onward]);
        assert_eq!(cells(RecommendedAction::DraftCommunication), [Escalated, Escalated, Onward]);
        assert_eq!(cells(RecommendedAction::DeferToSonnet), [Escalated, Escalated, Escalated]);
        assert_eq!(RecommendedAction::ALL.len(), FATES.len(), "an action that the table does not have");
    }
}
