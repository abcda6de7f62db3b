//! What a model proposes, in the place that a plan has for it.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_guard::LabelTree;

use super::{
    PlannedComment, PlannedDraft, PlannedOption, PlannedQuestion,
    cycle::{ArtefactGate, CycleContext, CyclePlan},
    group::GroupedSignals,
    principals::agreement,
    questions,
};
use crate::triage::{
    answer::{DraftApproval, ModelComment, ModelDraft, ModelEscalation, ModelProposals},
    artefact::{
        Artefact, ArtefactActor, ArtefactContext, ArtefactField, ArtefactKind, ArtefactOperation, ArtefactRule,
        RuleViolation, SignalReferences, apply, proposed_operations,
    },
    charter::ProjectCharter,
    contract::EscalationReason,
    sanitise::{SanitisedSignal, SignalEffects},
    signal::ProjectSignal,
};

/// The name of whoever proposes changes of artefacts.
const AGENT: &str = "triage";

/// Proposals that nothing was made of yet; each is used once.
#[derive(Debug)]
pub(super) struct OpenProposals<'p> {
    escalations: Vec<&'p ModelEscalation>,
    drafts: Vec<&'p ModelDraft>,
    comments: Vec<&'p ModelComment>,
}

impl<'p> OpenProposals<'p> {
    pub(super) fn new(proposals: &'p ModelProposals) -> Self {
        Self {
            escalations: proposals.escalations.iter().collect(),
            drafts: proposals.drafts.iter().collect(),
            comments: proposals.comments.iter().collect(),
        }
    }

    /// The first question about one of these signals.
    pub(super) fn escalation(&mut self, causes: &[SignalRevision]) -> Option<&'p ModelEscalation> {
        taken(&mut self.escalations, causes, |escalation| &escalation.signals)
    }

    /// The first mail about one of these signals.
    pub(super) fn draft(&mut self, causes: &[SignalRevision]) -> Option<&'p ModelDraft> {
        taken(&mut self.drafts, causes, |draft| &draft.signals)
    }

    /// The first comment about one of these signals.
    pub(super) fn comment(&mut self, causes: &[SignalRevision]) -> Option<&'p ModelComment> {
        taken(&mut self.comments, causes, |comment| &comment.signals)
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.escalations.len().saturating_add(self.drafts.len()).saturating_add(self.comments.len())
    }
}

fn taken<'p, T>(
    open: &mut Vec<&'p T>,
    causes: &[SignalRevision],
    of: impl Fn(&T) -> &BTreeSet<SignalRevision>,
) -> Option<&'p T> {
    let place = open.iter().position(|proposal| causes.iter().any(|cause| of(proposal).contains(cause)))?;
    Some(open.remove(place))
}

/// The causes of a group that a proposal is about.
fn shared(group: &GroupedSignals<'_>, signals: &BTreeSet<SignalRevision>) -> Vec<SignalRevision> {
    group.causes().into_iter().filter(|cause| signals.contains(cause)).collect()
}

/// Whether a person has to approve what is worded because of a group: one of it is suspected, or worse.
fn approval(group: &GroupedSignals<'_>) -> DraftApproval {
    let is_clean = |sanitised: &SanitisedSignal| sanitised.effects() == SignalEffects::ByPolicy;
    let is_clean = group.members().all(|member| is_clean(member.sanitised));
    if is_clean { DraftApproval::ByPolicy } else { DraftApproval::Needed }
}

fn agreeing(group: &GroupedSignals<'_>, charter: &ProjectCharter) -> u32 {
    let signals: Vec<&ProjectSignal> = group.members().map(|member| member.signal).collect();
    agreement(&signals, charter)
}

/// A mail that a model worded, on its way.
pub(super) fn draft(group: &GroupedSignals<'_>, draft: &ModelDraft, charter: &ProjectCharter) -> PlannedDraft {
    let causes = shared(group, &draft.signals);
    PlannedDraft {
        action: draft.action(&causes, approval(group)),
        causes,
        faults: draft.faults.clone(),
        agreeing: agreeing(group, charter),
    }
}

/// A comment that a model worded, on its way.
pub(super) fn comment(group: &GroupedSignals<'_>, comment: &ModelComment, charter: &ProjectCharter) -> PlannedComment {
    let causes = shared(group, &comment.signals);
    let action = comment.action(&causes, approval(group));
    let leader = SignalRevision::from(group.leader().signal);
    let cause = causes.into_iter().next().unwrap_or(leader);
    PlannedComment { action, cause, agreeing: agreeing(group, charter) }
}

/// A question in a model's words. What it says is shown as somebody else's.
pub(super) fn question(group: &GroupedSignals<'_>, escalation: &ModelEscalation) -> PlannedQuestion {
    let causes = shared(group, &escalation.signals);
    let options = escalation.options.iter().map(|option| {
        let action = option.action(&causes);
        PlannedOption { id: option.id, label: LabelTree::from(option.label.clone()), action }
    });
    PlannedQuestion {
        subject: questions::subject(group, &format!("model\n{}", escalation.reason.as_str())),
        reason: escalation.reason,
        title: "A model prepared a decision. Which option is it?".to_owned(),
        heading: LabelTree::from(escalation.title.clone()),
        about: LabelTree::map([
            ("a model says", escalation.about.clone()),
            ("signals", questions::about(group.members())),
        ]),
        options: options.collect(),
        recommended: (escalation.recommended, "a model recommends it"),
        time: escalation.time.min(group.leader().classification.answer.time_sensitivity),
        causes: group.causes(),
    }
}

/// A mail as a question shows it.
fn shown(draft: &ModelDraft) -> LabelTree {
    let [subject, body] = draft.texts();
    let faults: Vec<&str> = draft.faults.iter().map(|fault| fault.in_words()).collect();
    let mut parts = vec![
        ("to", LabelTree::from(draft.recipient.as_str())),
        ("subject", LabelTree::from(subject)),
        ("text", LabelTree::from(body)),
    ];
    if !faults.is_empty() {
        parts.push(("breaks rules for drafts", LabelTree::list(faults)));
    }
    LabelTree::map(parts)
}

/// Whether a mail goes out that a model worded, where the level of autonomy leaves that to a person.
pub(super) fn question_of_draft(group: &GroupedSignals<'_>, draft: &ModelDraft) -> PlannedQuestion {
    let causes = shared(group, &draft.signals);
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
        subject: questions::subject(group, &format!("draft\n{}", draft.recipient)),
        reason,
        title: "A model drafted an answer. Does it go out?".to_owned(),
        heading: questions::heading(group),
        about: LabelTree::map([("draft", shown(draft)), ("signals", questions::about(group.members()))]),
        options: vec![
            PlannedOption { action, ..questions::choice("A", "it goes out as it is shown") },
            questions::choice("B", "whoever decides answers in own words"),
            questions::choice("C", "no answer is needed"),
        ],
        recommended,
        time: group.leader().classification.answer.time_sensitivity,
        causes: group.causes(),
    }
}

/// Adds a mail to a question that is asked anyway.
pub(super) fn offer(question: &mut PlannedQuestion, draft: &ModelDraft, group: &GroupedSignals<'_>) {
    if question.options.len() >= 5 {
        return;
    }
    let action = Some(draft.action(&shared(group, &draft.signals), DraftApproval::Needed));
    question.options.push(PlannedOption { action, ..questions::choice("E", "taken, and the draft goes out as shown") });
    let about = core::mem::replace(&mut question.about, LabelTree::Null);
    question.about = LabelTree::map([("signals", about), ("draft", shown(draft))]);
}

/// Brings the artefacts up to date with what a model proposes, on top of what the rules changed. A proposal that
/// breaks a rule is left out and said; one item about the same is enough.
pub(super) fn update(context: &CycleContext<'_>, known: &SignalReferences, plan: &mut CyclePlan) {
    let updates = &context.proposals.updates;
    if context.gate == ArtefactGate::Withheld {
        plan.unused = plan.unused.saturating_add(updates.len());
        return;
    }
    let mut artefacts = context.artefacts.clone();
    for change in &plan.changes {
        artefacts.set(change.artefact.clone());
    }
    let actor = ArtefactActor::Agent(AGENT.to_owned());
    for kind in ArtefactKind::ALL {
        for update in updates.iter().filter(|update| update.kind == kind) {
            let Some(artefact) = artefacts.get(kind) else { continue };
            let causes: Vec<SignalRevision> = update.signals.iter().cloned().collect();
            let others: Vec<&Artefact> = artefacts.iter().filter(|other| other.kind() != kind).collect();
            let terms = ArtefactContext {
                now: context.now,
                project: artefact.project(),
                actor: &actor,
                causes: &causes,
                known,
                others: &others,
            };
            let applied = proposed_operations(artefact, &update.arguments, &terms).and_then(|mut operations| {
                let before = operations.len();
                operations.retain(|operation| !is_there(artefact, operation));
                let doubles = before.saturating_sub(operations.len());
                if operations.is_empty() {
                    return Ok((None, doubles));
                }
                apply(artefact, &operations, &terms).map(|change| (Some(change), doubles))
            });
            match applied {
                Ok((change, doubles)) => {
                    plan.refused.extend(core::iter::repeat_n(already_there(), doubles));
                    if let Some(change) = change {
                        artefacts.set(change.artefact.clone());
                        plan.changes.push(change);
                    }
                }
                // A full content that says what stands is no change and no fault.
                Err(violations) => plan
                    .refused
                    .extend(violations.into_iter().filter(|violation| violation.rule != ArtefactRule::NothingChanges)),
            }
        }
    }
}

const fn already_there() -> RuleViolation {
    RuleViolation { rule: ArtefactRule::AlreadyThere, item: None, field: None, operation: None }
}

/// Whether an item about the same is open already: it has the same title, or refers to the same ticket.
fn is_there(artefact: &Artefact, operation: &ArtefactOperation) -> bool {
    let ArtefactOperation::Add { kind, fields, .. } = operation else { return false };
    let naming = [ArtefactField::Title, ArtefactField::SourceReference, ArtefactField::SourceTicket];
    let mut open = artefact.open(*kind);
    open.any(|(_, item)| {
        naming.iter().any(|field| match (item.fields.get(field), fields.get(field)) {
            (Some(stored), Some(said)) => stored.says_what(said),
            _ => false,
        })
    })
}
