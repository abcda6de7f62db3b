//! One question for each suspected signal, which shows its text and the changes that it would lead to.
//!
//! Law: of a signal of which a text is flagged, only what the system itself says in closed words changes an artefact.
//! Mails, comments and all other changes wait for a person.

use proem_guard::LabelTree;

use super::{
    PlannedOption, PlannedQuestion,
    cycle::{ArtefactGate, Cycle},
    group::GroupedSignals,
    items,
    outcome::SignalOutcomeKind,
    proposals, questions,
};
use crate::{
    answer::{DraftApproval, ModelComment, ModelDraft, ModelEscalation, ModelUpdate},
    artefact::{ArtefactItemId, ArtefactOperation},
    charter::ProjectCharter,
    contract::{EscalationReason, RecommendedAction, SignalCategory},
};

/// The ids of options, in their order.
const IDS: [&str; 5] = ["A", "B", "C", "D", "E"];

/// A group of which a text is suspected, with all that is proposed because of it.
#[derive(Debug)]
pub(super) struct SuspectedGroup<'g, 'r> {
    pub(super) group: &'g GroupedSignals<'r>,
    /// Whether a person is asked even if nothing is proposed.
    asks: bool,
    /// Whether its words would change artefacts.
    changes: bool,
    draft: Option<&'r ModelDraft>,
    comment: Option<&'r ModelComment>,
    escalation: Option<&'r ModelEscalation>,
    pub(super) updates: Vec<&'r ModelUpdate>,
    /// The changes that rules would make.
    pub(super) operations: Vec<ArtefactOperation>,
}

impl<'r> Cycle<'_, 'r> {
    /// Takes a suspected group up: what the system says goes on, and all else becomes one question.
    pub(super) fn take_suspected<'g>(
        &mut self,
        group: &'g GroupedSignals<'r>,
        suspected: &mut Vec<SuspectedGroup<'g, 'r>>,
    ) -> (SignalOutcomeKind, Vec<ArtefactItemId>) {
        let answer = &group.leader().classification.answer;
        let (concerns, gate) = (self.concerns_artefacts(group), self.context.gate);
        let items = if concerns && gate == ArtefactGate::Permitted { self.items(group) } else { Vec::new() };
        let is_item =
            answer.category == SignalCategory::Scope || items::raid_kind(answer.category, answer.importance).is_some();
        let changes = concerns && is_item && (gate == ArtefactGate::Withheld || !group.is_told_by_system());
        let asks =
            !matches!(answer.recommended_action, RecommendedAction::UpdateArtefact | RecommendedAction::NoAction);
        let causes = group.causes();
        let open = SuspectedGroup {
            group,
            asks,
            changes,
            draft: self.proposals.draft(&causes),
            comment: self.proposals.comment(&causes),
            escalation: self.proposals.escalation(&causes),
            updates: self.proposals.updates_of(&causes),
            operations: Vec::new(),
        };
        if !asks && !changes && open.is_unproposed() {
            let kind = if items.is_empty() { SignalOutcomeKind::Logged } else { SignalOutcomeKind::Incorporated };
            return (kind, items);
        }
        suspected.push(open);
        (SignalOutcomeKind::Escalated, items)
    }

    /// The group with what its words would change, once all else that the cycle changes is known.
    pub(super) fn with_changes<'g>(&self, open: SuspectedGroup<'g, 'r>) -> SuspectedGroup<'g, 'r> {
        let may = open.changes && self.context.gate == ArtefactGate::Permitted;
        let operations = if may { self.worded_operations(open.group) } else { Vec::new() };
        SuspectedGroup { operations, ..open }
    }
}

impl SuspectedGroup<'_, '_> {
    fn is_unproposed(&self) -> bool {
        self.draft.is_none() && self.comment.is_none() && self.escalation.is_none() && self.updates.is_empty()
    }

    /// The question, with the changes of artefacts that it offers, each as an option and as it is shown.
    pub(super) fn question(
        &self,
        charter: &ProjectCharter,
        changes: Vec<(PlannedOption, LabelTree)>,
    ) -> PlannedQuestion {
        let group = self.group;
        let mut question = if self.asks { questions::of_group(group, charter) } else { suspicion_question(group) };
        let mut about = vec![("signals", core::mem::replace(&mut question.about, LabelTree::Null))];
        about.extend(self.escalation.map(|escalation| ("a model says", escalation.about.clone())));
        let (mut offered, mut shown) = (Vec::new(), Vec::new());
        for (option, change) in changes {
            offered.push(option);
            shown.push(change);
        }
        if !shown.is_empty() {
            about.push(("would change", LabelTree::list(shown)));
        }
        if let Some(draft) = self.draft {
            let action = Some(draft.action(&proposals::shared_causes(group, &draft.signals), DraftApproval::Needed));
            let reasons = ["whoever asked has an answer", "it answers a text that the guard suspects"];
            let option = questions::rule_option("E", "the mail goes out as it is shown", reasons);
            offered.push(PlannedOption { action, ..option });
            about.push(("draft", proposals::draft_tree(draft)));
        }
        if let Some(comment) = self.comment {
            let action =
                Some(comment.action(&proposals::shared_causes(group, &comment.signals), DraftApproval::Needed));
            let reasons = ["the ticket has an answer", "it answers a text that the guard suspects"];
            let option = questions::rule_option("E", "the comment is made as it is shown", reasons);
            offered.push(PlannedOption { action, ..option });
            about.push(("comment", LabelTree::from(comment.text())));
        }
        for option in offered {
            let is_free = |id: &&str| question.options.iter().all(|known| known.id != *id);
            let Some(id) = IDS.into_iter().find(is_free) else { break };
            question.options.push(PlannedOption { id, ..option });
        }
        question.about = LabelTree::map(about);
        question
    }
}

/// The question about a text that would change something and asks for nothing else.
fn suspicion_question(group: &GroupedSignals<'_>) -> PlannedQuestion {
    PlannedQuestion {
        subject: questions::question_subject(group, "suspected"),
        reason: EscalationReason::LowConfidence,
        title: "The guard suspects a text that would change something. Does it?".to_owned(),
        heading: questions::group_heading(group),
        background: Vec::new(),
        about: questions::group_subject(group.members()),
        options: vec![
            questions::rule_option(
                "A",
                "nothing changes because of it",
                ["a suspected text has no effect", "if it is honest, what it tells is missing"],
            ),
            questions::rule_option(
                "B",
                "whoever decides looks at it and does what is needed",
                ["what is honest in it is not lost", "its words may be meant to mislead whoever reads them"],
            ),
        ],
        recommended: ("A", "the guard suspects the text"),
        time: group.leader().classification.answer.time_sensitivity,
        causes: group.causes(),
    }
}
