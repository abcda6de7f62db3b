//! The report of cycles: what came of their signals, and the questions that they asked.

use std::collections::BTreeMap;

use proem_engine::effect::ActionState;
use proem_engine::effect::key::SignalRevision;
use proem_engine::ledger::LadderPlace;
use proem_guard::LabelTree;
use proem_store::record::EscalationId;
use proem_triage::artefact::AppliedChange;
use proem_triage::contract::SignalImportance;
use proem_triage::pipeline::{PipelineStage, StageTally, StageTrace, ToolTally};
use proem_triage::plan::SignalOutcome;

use super::links::SignalLinks;
use super::read_signal::LeftSignal;
use crate::effects::propose::ProposalFate;

/// How much of a sender's was kept out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutCount {
    /// Its sender, made harmless.
    pub sender: String,
    /// How many texts.
    pub fields: u64,
}

/// The account of one cycle or several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CycleReport {
    /// The numbers of the cycles that were written.
    pub cycles: Vec<u64>,
    /// The outcome of each signal.
    pub outcomes: Vec<SignalOutcome>,
    /// The changes of artefacts, in order.
    pub changes: Vec<AppliedChange>,
    /// The questions that were asked.
    pub questions: Vec<AskedQuestion>,
    /// Questions that were asked before and are still open.
    pub asked_before: u64,
    /// The fates of proposed actions.
    pub actions: Vec<(String, ProposalFate)>,
    /// The signals that were kept out, by sender, most first.
    pub kept_out: Vec<KeptOutCount>,
    /// The failures, in words of ours.
    pub problems: Vec<String>,
    /// The runs that asked models, by their short ids.
    pub runs: Vec<String>,
    /// The way of each signal, stage by stage, if models were asked: its id, and the stages.
    pub ways: Vec<(String, Vec<StageTrace>)>,
    /// How often models called each tool, and how often that was taken.
    pub tools: BTreeMap<&'static str, ToolTally>,
    /// The outcome of the signals that each stage answered.
    pub stages: BTreeMap<PipelineStage, StageTally>,
    /// Signals that are suspected, by rules or by a model.
    pub suspected: u64,
    /// Triage's place on the ladder of its budget. `None` if no model may be asked.
    pub budget: Option<LadderPlace>,
    /// The questions and actions that each signal led to, also those that were there before.
    pub links: SignalLinks,
    /// The signals that were read and left alone.
    pub left: Vec<LeftSignal>,
}

impl CycleReport {
    /// Whether something critical came.
    #[must_use]
    pub fn has_critical(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.importance == SignalImportance::Critical)
    }

    /// Whether something waits for a person.
    #[must_use]
    pub fn is_waited_for(&self) -> bool {
        let waits =
            |fate: &ProposalFate| matches!(fate, ProposalFate::Written(ActionState::Waiting | ActionState::Held));
        !self.questions.is_empty() || self.asked_before > 0 || self.actions.iter().any(|(_, fate)| waits(fate))
    }

    pub(super) fn join(&mut self, other: Self) {
        self.cycles.extend(other.cycles);
        self.outcomes.extend(other.outcomes);
        self.changes.extend(other.changes);
        self.questions.extend(other.questions);
        self.asked_before = self.asked_before.saturating_add(other.asked_before);
        self.actions.extend(other.actions);
        for more in other.kept_out {
            match self.kept_out.iter_mut().find(|known| known.sender == more.sender) {
                Some(known) => known.fields = known.fields.saturating_add(more.fields),
                None => self.kept_out.push(more),
            }
        }
        self.kept_out.sort_by_key(|count| (std::cmp::Reverse(count.fields), count.sender.clone()));
        self.problems.extend(other.problems);
        self.problems.dedup();
        self.runs.extend(other.runs);
        self.ways.extend(other.ways);
        for (tool, tally) in other.tools {
            let known = self.tools.entry(tool).or_default();
            *known = known.and(tally);
        }
        for (stage, tally) in other.stages {
            let known = self.stages.entry(stage).or_default();
            *known = known.and(tally);
        }
        self.suspected = self.suspected.saturating_add(other.suspected);
        self.links.join(other.links);
        self.left.extend(other.left);
    }
}

/// A question that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedQuestion {
    /// The id by which a person answers it.
    pub id: EscalationId,
    /// The question, in words of ours.
    pub title: String,
    /// Its subject, in words that may be somebody else's.
    pub heading: LabelTree,
}

/// The most signals that are written down with a question: as many as a cycle has.
pub(super) const MOST_CAUSES: usize = 500;

/// A signal as it is written down with a question.
pub(super) fn cycle_cause_tree(cause: &SignalRevision) -> LabelTree {
    LabelTree::map([("id", LabelTree::from(cause.id.as_str())), ("revision", cause.revision.as_str().into())])
}
