//! A model's proposals, in their places of a plan.

use std::collections::BTreeSet;

use proem_engine::{
    effect::key::SignalRevision,
    policy::{SourceAgreement, SourceConflict},
};
use proem_guard::LabelTree;

use super::{
    PlannedComment, PlannedDraft, PlannedOption, PlannedQuestion, group::GroupedSignals, principals::agreement,
    questions,
};
use crate::{
    answer::{DraftApproval, ModelComment, ModelDraft, ModelEscalation, ModelProposals, ModelUpdate},
    charter::ProjectCharter,
    contract::{EscalationReason, TimeSensitivity},
    signal::ProjectSignal,
};

/// Proposals that nothing was made of yet. Each is used once.
#[derive(Debug)]
pub(super) struct OpenProposals<'p> {
    escalations: Vec<&'p ModelEscalation>,
    drafts: Vec<&'p ModelDraft>,
    comments: Vec<&'p ModelComment>,
    /// Changes of artefacts, which are read once the rules' own are known.
    pub(super) updates: Vec<&'p ModelUpdate>,
}

impl<'p> OpenProposals<'p> {
    pub(super) fn new(proposals: &'p ModelProposals) -> Self {
        Self {
            escalations: proposals.escalations.iter().collect(),
            drafts: proposals.drafts.iter().collect(),
            comments: proposals.comments.iter().collect(),
            updates: proposals.updates.iter().collect(),
        }
    }

    /// The first question about one of these signals.
    pub(super) fn escalation(&mut self, causes: &[SignalRevision]) -> Option<&'p ModelEscalation> {
        take_proposal(&mut self.escalations, causes, |escalation| &escalation.signals)
    }

    /// The first mail about one of these signals.
    pub(super) fn draft(&mut self, causes: &[SignalRevision]) -> Option<&'p ModelDraft> {
        take_proposal(&mut self.drafts, causes, |draft| &draft.signals)
    }

    /// The first comment about one of these signals.
    pub(super) fn comment(&mut self, causes: &[SignalRevision]) -> Option<&'p ModelComment> {
        take_proposal(&mut self.comments, causes, |comment| &comment.signals)
    }

    /// All changes of artefacts that an answer about one of these signals proposes.
    pub(super) fn updates_of(&mut self, causes: &[SignalRevision]) -> Vec<&'p ModelUpdate> {
        self.updates.extract_if(.., |update| causes.iter().any(|cause| update.signals.contains(cause))).collect()
    }

    /// How many are left, but for changes of artefacts.
    pub(super) fn left(&self) -> usize {
        self.escalations.len().saturating_add(self.drafts.len()).saturating_add(self.comments.len())
    }
}

fn take_proposal<'p, T>(
    open: &mut Vec<&'p T>,
    causes: &[SignalRevision],
    of: impl Fn(&T) -> &BTreeSet<SignalRevision>,
) -> Option<&'p T> {
    let place = open.iter().position(|proposal| causes.iter().any(|cause| of(proposal).contains(cause)))?;
    Some(open.remove(place))
}

/// The causes of a group that a proposal is about.
pub(super) fn shared_causes(group: &GroupedSignals<'_>, signals: &BTreeSet<SignalRevision>) -> Vec<SignalRevision> {
    group.causes().into_iter().filter(|cause| signals.contains(cause)).collect()
}

/// The agreement behind a group's action. Contradictions of the batch come in once all of them are known.
fn agreeing(group: &GroupedSignals<'_>, charter: &ProjectCharter) -> SourceAgreement {
    let signals: Vec<&ProjectSignal> = group.members().map(|member| member.signal).collect();
    SourceAgreement { agreeing: agreement(&signals, charter), conflict: SourceConflict::Absent }
}

/// A mail that a model worded, on its way.
pub(super) fn planned_draft(group: &GroupedSignals<'_>, draft: &ModelDraft, charter: &ProjectCharter) -> PlannedDraft {
    let causes = shared_causes(group, &draft.signals);
    PlannedDraft {
        action: draft.action(&causes, DraftApproval::ByPolicy),
        causes,
        faults: draft.faults.clone(),
        sources: agreeing(group, charter),
    }
}

/// A comment that a model worded, on its way.
pub(super) fn planned_comment(
    group: &GroupedSignals<'_>,
    comment: &ModelComment,
    charter: &ProjectCharter,
) -> PlannedComment {
    let causes = shared_causes(group, &comment.signals);
    let action = comment.action(&causes, DraftApproval::ByPolicy);
    let leader = SignalRevision::from(group.leader().signal);
    let cause = causes.into_iter().next().unwrap_or(leader);
    PlannedComment { action, cause, sources: agreeing(group, charter) }
}

/// A question in a model's words. They are shown as somebody else's.
pub(super) fn model_question(group: &GroupedSignals<'_>, escalation: &ModelEscalation) -> PlannedQuestion {
    let causes = shared_causes(group, &escalation.signals);
    let options = escalation.options.iter().map(|option| {
        let action = option.action(&causes);
        PlannedOption { id: option.id, label: LabelTree::from(option.label.clone()), reasons: None, action }
    });
    PlannedQuestion {
        subject: questions::question_subject(group, &format!("model\n{}", escalation.reason.as_str())),
        reason: escalation.reason,
        title: "A model prepared a decision. Which option is it?".to_owned(),
        heading: LabelTree::from(escalation.title.clone()),
        background: Vec::new(),
        about: LabelTree::map([
            ("a model says", escalation.about.clone()),
            ("signals", questions::group_subject(group.members())),
        ]),
        options: options.collect(),
        recommended: (escalation.recommended, "a model recommends it"),
        time: escalation.time.min(group.leader().classification.answer.time_sensitivity),
        causes: group.causes(),
    }
}

/// A mail as a question shows it.
pub(super) fn draft_tree(draft: &ModelDraft) -> LabelTree {
    let [subject, body] = draft.texts();
    let faults: Vec<&str> = draft.faults.iter().map(|fault| fault.in_words()).collect();
    let mut parts = vec![
        ("to", LabelTree::from(draft.recipient.as_str())),
        ("subject", LabelTree::from(subject)),
        ("text", LabelTree::from(body)),
    ];
    parts.extend(draft.note().into_iter().map(|(name, text)| (name, LabelTree::from(text))));
    if !faults.is_empty() {
        parts.push(("breaks rules for drafts", LabelTree::list(faults)));
    }
    LabelTree::map(parts)
}

/// Whether a mail goes out that a model worded, where the level of autonomy leaves that to a person.
pub(super) fn question_of_draft(group: &GroupedSignals<'_>, draft: &ModelDraft) -> PlannedQuestion {
    let causes = shared_causes(group, &draft.signals);
    let reason = if draft.is_external {
        EscalationReason::ExternalCommunication
    } else {
        EscalationReason::OutsideAutonomyLevel
    };
    let action = Some(draft.action(&causes, DraftApproval::Needed));
    let recommended = if draft.faults.is_empty() {
        ("A", "it keeps the rules for drafts")
    } else {
        ("B", "the draft breaks rules for drafts")
    };
    PlannedQuestion {
        subject: questions::question_subject(group, &format!("draft\n{}", draft.recipient)),
        reason,
        title: "A model drafted an answer. Does it go out?".to_owned(),
        heading: questions::group_heading(group),
        background: Vec::new(),
        about: LabelTree::map([("draft", draft_tree(draft)), ("signals", questions::group_subject(group.members()))]),
        options: vec![
            PlannedOption {
                action,
                ..questions::rule_option(
                    "A",
                    "it goes out as it is shown",
                    ["whoever asked has an answer at once", "a model worded it, so each fact in it has to be checked"],
                )
            },
            questions::rule_option(
                "B",
                "whoever decides answers in own words",
                ["the answer says exactly what is meant", "it takes time"],
            ),
            questions::rule_option("C", "no answer is needed", ["nothing has to be done", "somebody may wait in vain"]),
        ],
        recommended,
        time: sooner(group.leader().classification.answer.time_sensitivity, draft),
        causes: group.causes(),
    }
}

/// When a person has to decide about a mail: today at the latest if it is urgent.
fn sooner(time: TimeSensitivity, draft: &ModelDraft) -> TimeSensitivity {
    if draft.is_urgent { time.min(TimeSensitivity::Today) } else { time }
}

/// Adds a mail to a question that is asked anyway.
pub(super) fn offer_draft(question: &mut PlannedQuestion, draft: &ModelDraft, group: &GroupedSignals<'_>) {
    if question.options.len() >= 5 {
        return;
    }
    let action = Some(draft.action(&shared_causes(group, &draft.signals), DraftApproval::Needed));
    let reasons = ["whoever asked has an answer at once", "a model worded it, so each fact in it has to be checked"];
    let option = questions::rule_option("E", "taken, and the draft goes out as shown", reasons);
    question.options.push(PlannedOption { action, ..option });
    question.time = sooner(question.time, draft);
    let about = core::mem::replace(&mut question.about, LabelTree::Null);
    question.about = LabelTree::map([("signals", about), ("draft", draft_tree(draft))]);
}
