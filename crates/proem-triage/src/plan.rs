//! The consequences of signals: by rules alone, at a level of autonomy.
//!
//! A signal's classification recommends an action. [`RecommendationFate::of`] is the table of its possible fates at
//! each level. [`CyclePlan`] works out the changes of artefacts, with one item for each ticket. A matter that a person
//! has to decide becomes a question with two to five options, each with one typed action or none. A model's proposals
//! go into the same plan: its question replaces the one of the rules, its draft replaces the note that nobody drafts,
//! and its changes of artefacts come on top of those of the rules.
//!
//! Invariants: nothing here performs, stores or permits anything. Text from outside keeps its label in everything that
//! is planned. A signal that is blocked or kept out gives no action and no item. A suspected text changes nothing by
//! itself, and nothing ends or looks better without a person or an event of the tracker; without a model nothing is
//! drafted, and what would be is a question that says so. A proposal that has no place is counted. The same signals and
//! proposals in the same order give the same plan.

mod advice;
mod assumptions;
mod background;
mod backlog;
mod comments;
mod conflicts;
mod cycle;
mod finish;
mod group;
mod health;
mod items;
mod life;
mod matters;
mod milestones;
mod outcome;
mod principals;
mod proposals;
mod questions;
mod settlement;
mod sprints;
mod suspicions;
mod tickets;
mod withheld;

use std::collections::BTreeSet;

use proem_engine::{
    effect::key::SignalRevision,
    policy::{AutonomyLevel, SourceAgreement},
};
use proem_guard::{LabelTree, TreeName, Untrusted};
use serde_json::Value as Json;

use super::answer::DraftFault;
use super::contract::{EscalationReason, RecommendedAction, TimeSensitivity};

pub use self::{
    cycle::{ArtefactGate, ArtefactSet, CycleContext, CycleMember, CyclePlan, plan_cycle},
    outcome::{SignalOutcome, SignalOutcomeKind},
    principals::{agreement, principals},
};

/// The fate of a recommendation at a level of autonomy.
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
    /// The fate of a recommendation.
    #[must_use]
    pub fn of(action: RecommendedAction, level: AutonomyLevel) -> Self {
        let of_action = FATES.into_iter().find(|(known, _)| *known == action).map(|(_, fates)| fates);
        let place = AutonomyLevel::ALL.iter().position(|known| *known == level);
        // A case that is missing from the table is a person's to decide.
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
    /// The faults of its wording, because of which a person has to approve it.
    pub faults: BTreeSet<DraftFault>,
    /// How many principals say what it rests on, and whether another source contradicts.
    pub sources: SourceAgreement,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedQuestion {
    /// Its subject, in words that make it the same question when it comes again: never shown.
    pub subject: String,
    /// Why a person is asked.
    pub reason: EscalationReason,
    /// The question, in words of ours.
    pub title: String,
    /// The heading of the first of its signals, contained.
    pub heading: LabelTree,
    /// The known facts about the matter, in sentences of ours.
    pub background: Vec<String>,
    /// Its sources, contained.
    pub about: LabelTree,
    /// The options.
    pub options: Vec<PlannedOption>,
    /// The id of the option that is recommended, and why.
    pub recommended: (&'static str, &'static str),
    /// How soon it has to be decided.
    pub time: TimeSensitivity,
    /// The signals that led to it.
    pub causes: Vec<SignalRevision>,
}

impl PlannedQuestion {
    /// Whether it asks about an item of the artefacts and the time, whichever signals that item came from.
    #[must_use]
    pub fn is_about_item(&self) -> bool {
        let about = self.subject.split('\n').next().unwrap_or_default();
        life::ABOUT_ITEMS.contains(&about)
    }
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOption {
    /// `A`, `B`, `C`.
    pub id: &'static str,
    /// Its meaning.
    pub label: LabelTree,
    /// The arguments for and against it, in words of ours. `None` if a model gave its own reasons.
    pub reasons: Option<OptionReasons>,
    /// The one action that follows, as an agent would give it. `None` if nothing does.
    pub action: Option<Untrusted<Json>>,
}

/// The arguments for and against an option of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionReasons {
    /// The reason for it.
    pub pro: &'static str,
    /// The reason against it.
    pub con: &'static str,
}

impl PlannedQuestion {
    /// Everything that a person decides by: the background, what the question came from, and the reasons of each option.
    #[must_use]
    pub fn case(&self) -> LabelTree {
        let reasons = self.options.iter().filter_map(|option| Some((option.id, option.reasons?)));
        question_case(&self.background, &self.about, reasons)
    }
}

/// A question's case: its background, what it is about, and what speaks for and against its options, by their ids.
pub fn question_case(
    background: &[String],
    about: &LabelTree,
    reasons: impl Iterator<Item = (&'static str, OptionReasons)>,
) -> LabelTree {
    let reasons = reasons.map(|(id, OptionReasons { pro, con })| {
        LabelTree::from([
            ("option", id.into()),
            ("for", LabelTree::list([LabelTree::from(pro)])),
            ("against", LabelTree::list([LabelTree::from(con)])),
        ])
    });
    let reasons: Vec<LabelTree> = reasons.collect();
    let mut parts = Vec::new();
    if !background.is_empty() {
        parts.push(("background", LabelTree::list(background.iter().map(String::as_str))));
    }
    parts.extend(question_parts(about));
    if !reasons.is_empty() {
        parts.push(("options", LabelTree::list(reasons)));
    }
    LabelTree::map(parts)
}

/// The parts of what a question is about, by names of ours; what is no map of ours is the signals.
fn question_parts(about: &LabelTree) -> Vec<(&str, LabelTree)> {
    match about {
        LabelTree::Null => Vec::new(),
        LabelTree::Map(map) if map.label().is_trusted() => {
            let part = |(name, part): (_, &LabelTree)| match name {
                TreeName::Ours(name) => Some((name, part.clone())),
                TreeName::Outside(_) => None,
            };
            map.iter().filter_map(part).collect()
        }
        signals => vec![("signals", signals.clone())],
    }
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
