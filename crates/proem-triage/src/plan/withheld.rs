//! Changes of artefacts that need a person, as questions: what ends or softens something without an event of the
//! tracker, and what a suspected text would change.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_guard::LabelTree;
use proem_text::{Label, Source};
use serde_json::json;

use super::{
    PlannedOption, PlannedQuestion,
    cycle::{ArtefactGate, ArtefactSet, CycleContext, CycleMember, CyclePlan},
    questions,
    suspicions::SuspectedGroup,
};
use crate::{
    answer::ModelUpdate,
    artefact::{
        AppliedChange, Artefact, ArtefactActor, ArtefactContext, ArtefactField, ArtefactItem, ArtefactKind,
        ArtefactOperation, ArtefactRule, ArtefactValue, RuleViolation, SignalReferences, apply_operations,
        change_offer, needs_person, proposed_operations,
    },
    contract::{EscalationReason, TimeSensitivity},
};

/// The name of whoever proposes changes of artefacts.
const AGENT: &str = "triage";
/// The most signals that are named as the causes of an option's action.
const MOST_CAUSES: usize = 50;

/// Operations of rules that need a person.
#[derive(Debug, Default)]
pub(super) struct WithheldChanges {
    /// By the signals that they come from.
    by_causes: BTreeMap<Vec<SignalRevision>, Vec<ArtefactOperation>>,
    /// Milestones whose date moved behind today, on track again.
    pub(super) redated: Vec<ArtefactOperation>,
    /// Ends of items whose ticket is done.
    pub(super) ended: Vec<ArtefactOperation>,
    /// Ends of assumptions without a ground.
    pub(super) groundless: Vec<ArtefactOperation>,
}

impl WithheldChanges {
    pub(super) fn push(&mut self, operation: ArtefactOperation) {
        self.by_causes.entry(causes_of(&operation)).or_default().push(operation);
    }
}

/// The signals that an operation is justified with.
fn causes_of(operation: &ArtefactOperation) -> Vec<SignalRevision> {
    let (ArtefactOperation::Modify { reason, .. }
    | ArtefactOperation::ChangeStatus { reason, .. }
    | ArtefactOperation::Close { reason, .. }) = operation
    else {
        return Vec::new();
    };
    reason.origins().iter().filter_map(|origin| origin.signal().cloned()).collect()
}

/// Why a person is asked about changes.
#[derive(Debug, Clone, Copy)]
enum EndingOccasion {
    /// A ticket goes on that something was blocked for.
    TicketGoesOn,
    /// The counts give a better colour.
    BetterColour,
    /// The project's file moves a date that had passed.
    NewDate,
    /// The ticket of an item is done that may outlive it.
    TicketDone,
    /// The tracker gives no ground for assumptions any more.
    NoGround,
    /// A model proposes it.
    ModelProposes,
}

impl EndingOccasion {
    /// A word for it, the question, and which option is recommended, with the reason.
    const fn words(self) -> (&'static str, &'static str, (&'static str, &'static str)) {
        match self {
            Self::TicketGoesOn => (
                "goes-on",
                "Work on a ticket goes on, which its tracker does not call done. Is what it held up over?",
                ("A", "the tracker says that work goes on"),
            ),
            Self::BetterColour => (
                "colour",
                "The open items give the project a better colour. Does it get that?",
                ("A", "nothing that is open speaks against it"),
            ),
            Self::NewDate => (
                "date",
                "The project's file gives an overdue milestone a new date. Is it on track again?",
                ("A", "its new date lies ahead"),
            ),
            Self::TicketDone => (
                "done",
                "The ticket of an item is done. Is the item over, too?",
                ("A", "the tracker says that the ticket is done"),
            ),
            Self::NoGround => (
                "ground",
                "The tracker gives no ground any more for what rules took for granted. Is that over?",
                ("A", "it was written down because of the tracker alone"),
            ),
            Self::ModelProposes => (
                "model",
                "A model proposes that something ends, or looks better than before. Is it so?",
                ("B", "no event of the tracker shows it"),
            ),
        }
    }
}

/// Asks about changes, and applies those that need nobody.
pub(super) struct Questioner<'q, 'r> {
    pub(super) context: &'q CycleContext<'r>,
    batch: &'q [CycleMember<'r>],
    pub(super) plan: &'q mut CyclePlan,
    /// Signals about which it has asked.
    pub(super) escalated: BTreeSet<SignalRevision>,
}

impl<'q, 'r> Questioner<'q, 'r> {
    pub(super) const fn new(
        context: &'q CycleContext<'r>,
        batch: &'q [CycleMember<'r>],
        plan: &'q mut CyclePlan,
    ) -> Self {
        Self { context, batch, plan, escalated: BTreeSet::new() }
    }

    /// The artefacts as the plan leaves them so far.
    pub(super) fn artefacts(&self) -> ArtefactSet {
        let mut artefacts = self.context.artefacts.clone();
        self.plan.changes.iter().for_each(|change| artefacts.set(change.artefact.clone()));
        artefacts
    }

    /// Asks about what rules may not do themselves.
    pub(super) fn ask_rules(&mut self, withheld: WithheldChanges) {
        let label = Label::from_source(Source::named("triage/rule"));
        for (causes, operations) in withheld.by_causes {
            self.ask(EndingOccasion::TicketGoesOn, &causes, &operations, &label);
        }
        let mut ended: BTreeMap<_, Vec<ArtefactOperation>> = BTreeMap::new();
        withheld.ended.into_iter().for_each(|operation| ended.entry(operation.item()).or_default().push(operation));
        for operations in ended.into_values() {
            let causes = operations.first().map(causes_of).unwrap_or_default();
            self.ask(EndingOccasion::TicketDone, &causes, &operations, &label);
        }
    }

    /// Asks whether overdue milestones are on track again whose date the project's file moved.
    pub(super) fn ask_about_dates(&mut self, redated: Vec<ArtefactOperation>) {
        for operation in redated {
            self.ask_aside(EndingOccasion::NewDate, operation);
        }
    }

    /// Asks about assumptions that have no ground any more, all of them in one question.
    pub(super) fn ask_about_ground(&mut self, groundless: &[ArtefactOperation]) {
        let causes: BTreeSet<SignalRevision> = groundless.iter().flat_map(causes_of).collect();
        let label = Label::from_source(Source::named("triage/rule"));
        let before = self.escalated.clone();
        self.ask(EndingOccasion::NoGround, &causes.into_iter().collect::<Vec<_>>(), groundless, &label);
        self.escalated = before;
    }

    /// Asks whether the project gets a better colour.
    pub(super) fn ask_colour(&mut self, colour: ArtefactOperation) {
        self.ask_aside(EndingOccasion::BetterColour, colour);
    }

    /// Asks about the project as a whole, which is a question about none of the signals that led to it.
    fn ask_aside(&mut self, occasion: EndingOccasion, operation: ArtefactOperation) {
        let (causes, before) = (causes_of(&operation), self.escalated.clone());
        let label = Label::from_source(Source::named("triage/rule"));
        self.ask(occasion, &causes, &[operation], &label);
        self.escalated = before;
    }

    /// Asks whether changes are to be made.
    fn ask(
        &mut self,
        occasion: EndingOccasion,
        causes: &[SignalRevision],
        operations: &[ArtefactOperation],
        label: &Label,
    ) {
        let Some((option, shown)) = self.offer(causes, operations, label) else { return };
        let (word, title, recommended) = occasion.words();
        let artefacts = self.artefacts();
        let first = operations.iter().find_map(ArtefactOperation::item);
        let item = first.and_then(|id| artefacts.get(id.kind.artefact())?.item(id));
        let heading = item.and_then(ArtefactItem::heading).map_or(LabelTree::Null, |heading| heading.words().clone());
        let items: BTreeSet<String> =
            operations.iter().filter_map(ArtefactOperation::item).map(|id| id.to_string()).collect();
        let members = self.batch.iter().filter(|member| causes.contains(&SignalRevision::from(member.signal)));
        self.plan.questions.push(PlannedQuestion {
            subject: format!("ending\n{word}\n{}", items.into_iter().collect::<Vec<_>>().join("\n")),
            reason: EscalationReason::OutsideAutonomyLevel,
            title: title.to_owned(),
            heading,
            background: Vec::new(),
            about: LabelTree::map([("would change", shown), ("signals", questions::group_subject(members))]),
            options: vec![
                option,
                questions::rule_option(
                    "B",
                    "it is not so: everything stays as it is",
                    ["nothing is taken for over that is not", "an item stays open that may be over"],
                ),
                questions::rule_option(
                    "C",
                    "whoever decides changes the artefacts in another way",
                    ["the artefacts say exactly what is known", "it is done by hand, with `proem artefacts edit`"],
                ),
            ],
            recommended,
            time: TimeSensitivity::ThisWeek,
            causes: causes.to_vec(),
        });
        self.escalated.extend(causes.iter().cloned());
    }

    /// Changes as an option, and as they are shown. `None` if nothing would change.
    pub(super) fn offer(
        &self,
        causes: &[SignalRevision],
        operations: &[ArtefactOperation],
        label: &Label,
    ) -> Option<(PlannedOption, LabelTree)> {
        let artefacts = self.artefacts();
        let offer = change_offer(&artefacts.iter().collect::<Vec<_>>(), operations, label)?;
        let target = offer.items.first()?.kind.artefact().as_str();
        let named = causes.iter().take(MOST_CAUSES);
        let causes: Vec<_> = named.map(|cause| json!({ "id": cause.id, "revision": cause.revision })).collect();
        let action = offer.content.map(|content| {
            json!({
                "action": "artefact_update", "target": target, "fields": { "content": content }, "causes": causes,
            })
        });
        let option = questions::rule_option(
            "A",
            "it is so: the changes are made as shown",
            ["the artefacts show it at once", "whoever decides answers for it, since no event of the tracker does"],
        );
        let option = PlannedOption { action: Some(action), ..option };
        Some((option, offer.shown))
    }

    /// Brings the artefacts up to date with what a model proposes, on top of what the rules changed. A proposal that
    /// breaks a rule is left out and said. One item about the same is enough; what needs a person becomes a question.
    pub(super) fn update(&mut self, updates: &[&ModelUpdate], known: &SignalReferences) {
        if self.context.gate == ArtefactGate::Withheld {
            self.plan.unused = self.plan.unused.saturating_add(updates.len());
            return;
        }
        for kind in ArtefactKind::ALL {
            for update in updates.iter().filter(|update| update.kind == kind) {
                match self.read_update(update, known) {
                    Ok((change, withheld)) => {
                        change.into_iter().for_each(|change| self.plan.add_change(change));
                        let causes: Vec<SignalRevision> = update.signals.iter().cloned().collect();
                        self.ask(EndingOccasion::ModelProposes, &causes, &withheld, update.arguments.label());
                    }
                    // A full content that says what stands is no change and no fault.
                    Err(violations) => self.plan.refused.extend(
                        violations.into_iter().filter(|violation| violation.rule != ArtefactRule::NothingChanges),
                    ),
                }
            }
        }
    }

    /// The change that a model's update makes by itself, and its operations that need a person.
    fn read_update(
        &mut self,
        update: &ModelUpdate,
        known: &SignalReferences,
    ) -> Result<ReadUpdate, Vec<RuleViolation>> {
        let artefacts = self.artefacts();
        let Some(artefact) = artefacts.get(update.kind) else { return Ok((None, Vec::new())) };
        let causes: Vec<SignalRevision> = update.signals.iter().cloned().collect();
        let others: Vec<&Artefact> = artefacts.iter().filter(|other| other.kind() != update.kind).collect();
        let actor = ArtefactActor::Agent(AGENT.to_owned());
        let terms = ArtefactContext {
            now: self.context.now,
            project: artefact.project(),
            actor: &actor,
            causes: &causes,
            known,
            others: &others,
        };
        let mut operations = proposed_operations(artefact, &update.arguments, &terms)?;
        let doubles = operations.extract_if(.., |operation| is_there(artefact, operation)).count();
        self.plan.refused.extend(core::iter::repeat_n(already_there(), doubles));
        let withheld = operations.extract_if(.., |operation| needs_person(artefact, artefact, operation, &terms));
        let withheld = withheld.collect();
        let change = if operations.is_empty() { None } else { Some(apply_operations(artefact, &operations, &terms)?) };
        Ok((change, withheld))
    }

    /// Asks about suspected groups, one question each.
    pub(super) fn ask_suspected(&mut self, suspected: &[SuspectedGroup<'_, 'r>]) {
        for open in suspected {
            let causes = open.group.causes();
            let rule = Label::from_source(Source::named("triage/rule"));
            let mut changes: Vec<_> = self.offer(&causes, &open.operations, &rule).into_iter().collect();
            for update in &open.updates {
                match self.suspected_operations(update) {
                    Ok(operations) => changes.extend(self.offer(&causes, &operations, update.arguments.label())),
                    Err(violations) => self.plan.refused.extend(violations),
                }
            }
            self.plan.questions.push(open.question(self.context.charter, changes));
        }
    }

    fn suspected_operations(&self, update: &ModelUpdate) -> Result<Vec<ArtefactOperation>, Vec<RuleViolation>> {
        let artefacts = self.artefacts();
        let Some(artefact) = artefacts.get(update.kind) else { return Ok(Vec::new()) };
        let causes: Vec<SignalRevision> = update.signals.iter().cloned().collect();
        let terms = ArtefactContext {
            now: self.context.now,
            project: artefact.project(),
            actor: self.context.actor,
            causes: &causes,
            known: &SignalReferences::of_revisions(causes.iter().cloned()),
            others: &[],
        };
        proposed_operations(artefact, &update.arguments, &terms)
    }
}

/// The change that a model's update makes by itself, and its operations that need a person.
type ReadUpdate = (Option<AppliedChange>, Vec<ArtefactOperation>);

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
            // Two matters may come from mails of one subject. A key and a title name one.
            (Some(ArtefactValue::Text(stored)), Some(ArtefactValue::Text(said))) => {
                let is_name = *field == ArtefactField::Title
                    || stored.ask(|stored| !stored.contains(char::is_whitespace)) == Some(true);
                is_name && stored.says_what(said)
            }
            _ => false,
        })
    })
}
