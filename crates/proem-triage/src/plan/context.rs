//! The question of a cycle and its answer: signals with what is known of them, and a plan.

use std::collections::BTreeMap;

use proem_engine::{policy::AutonomyLevel, run::Time};

use super::{PlannedComment, PlannedDraft, PlannedQuestion, outcome::SignalOutcome};
use crate::{
    answer::ModelProposals,
    artefact::{
        AppliedChange, Artefact, ArtefactActor, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind,
        RuleViolation,
    },
    charter::ProjectCharter,
    classify::{SignalClassification, TriageLexicon},
    sanitise::SanitisedSignal,
    signal::ProjectSignal,
};

/// The artefacts of a project, each as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtefactSet(BTreeMap<ArtefactKind, Artefact>);

impl ArtefactSet {
    /// Those of a project that has none yet.
    #[must_use]
    pub fn new(project: &str) -> Self {
        Self(ArtefactKind::ALL.into_iter().map(|kind| (kind, Artefact::new(kind, project))).collect())
    }

    /// The same with a newer version of one.
    pub fn set(&mut self, artefact: Artefact) {
        self.0.insert(artefact.kind(), artefact);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Artefact> {
        self.0.values()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, kind: ArtefactKind) -> Option<&Artefact> {
        self.0.get(&kind)
    }

    pub(crate) fn items(&self, kind: ArtefactItemKind) -> impl Iterator<Item = (ArtefactItemId, &ArtefactItem)> {
        self.get(kind.artefact()).into_iter().flat_map(move |artefact| artefact.open(kind))
    }
}

/// Whether rules may change artefacts: the level and the policy say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtefactGate {
    /// They may.
    Permitted,
    /// They may not. A person is asked.
    Withheld,
}

/// A signal with what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct CycleMember<'r> {
    /// The ticket, mail or comment, as its source has it.
    pub signal: &'r ProjectSignal,
    /// The part of it that may go on.
    pub sanitised: &'r SanitisedSignal,
    /// Category, importance and what they rest on.
    pub classification: &'r SignalClassification,
}

/// The context of a cycle's plan.
#[derive(Debug, Clone, Copy)]
pub struct CycleContext<'c> {
    /// The project.
    pub charter: &'c ProjectCharter,
    /// The level in force, which may be lower than the project's own.
    pub level: AutonomyLevel,
    /// Whether artefacts may change.
    pub gate: ArtefactGate,
    /// The words.
    pub lexicon: &'c TriageLexicon,
    /// The artefacts as they are.
    pub artefacts: &'c ArtefactSet,
    /// The actor that changes them.
    pub actor: &'c ArtefactActor,
    /// A model's proposals. Nothing if none was asked.
    pub proposals: &'c ModelProposals,
    /// The time of the cycle.
    pub now: Time,
}

impl CycleContext<'_> {
    /// The time of the cycle as the clocks of the project's people show it, by which days begin and end.
    pub(super) const fn wall_clock(&self) -> Time {
        self.charter.wall_clock(self.now)
    }
}

/// The changes and questions of a cycle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CyclePlan {
    /// The next version of each artefact that changes, in the order in which they are applied.
    pub changes: Vec<AppliedChange>,
    /// The questions to persons.
    pub questions: Vec<PlannedQuestion>,
    /// Comments that may go to tickets.
    pub comments: Vec<PlannedComment>,
    /// Mails that may go out.
    pub drafts: Vec<PlannedDraft>,
    /// The outcome of each signal, in their order.
    pub outcomes: Vec<SignalOutcome>,
    /// Rules that a planned change would have broken: it was left out, and a person should know.
    pub refused: Vec<RuleViolation>,
    /// How many proposals of a model have no place: nothing of the kind was to be done about their signals.
    pub unused: usize,
}

impl CyclePlan {
    /// Takes in a change that was made on top of all others, so that each artefact gets one version.
    pub(super) fn add_change(&mut self, change: AppliedChange) {
        let kind = change.artefact.kind();
        match self.changes.iter().position(|known| known.artefact.kind() == kind) {
            Some(place) => {
                let before = self.changes.remove(place);
                self.changes.insert(place, before.followed_by(change));
            }
            None => self.changes.push(change),
        }
    }
}
