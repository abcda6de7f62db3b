//! One cycle: everything that signals which came together change and ask.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, policy::AutonomyLevel, run::Time};
use proem_guard::show;

use super::{
    PlannedComment, PlannedDraft, PlannedQuestion, RecommendationFate, background,
    comments::template_comment,
    conflicts::SourceConflicts,
    group::{GroupedSignals, group_signals, is_kept_out},
    health::MovedTickets,
    items::{self, ItemFields},
    matters,
    milestones::EndangeredMilestones,
    outcome::{SignalOutcome, SignalOutcomeKind},
    principals::agreement,
    proposals::{self, OpenProposals},
    questions, settlement,
    suspicions::SuspectedGroup,
    withheld::Questioner,
};
use crate::{
    answer::ModelProposals,
    artefact::{
        AppliedChange, Artefact, ArtefactActor, ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind,
        ArtefactKind, ArtefactOperation, ArtefactValue, RuleViolation, SignalReferences,
    },
    charter::ProjectCharter,
    classify::{ClassificationBasis, SignalClassification, Standstill, TriageLexicon},
    contract::{RecommendedAction, SignalCategory, SignalImportance},
    sanitise::{SanitisedSignal, SignalEffects},
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
    /// The signal.
    pub signal: &'r ProjectSignal,
    /// The part of it that may go on.
    pub sanitised: &'r SanitisedSignal,
    /// Its classification.
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

/// Plans a cycle. Signals come in the order in which they happened to come.
#[must_use]
pub fn plan_cycle<'r>(batch: &[CycleMember<'r>], context: &CycleContext<'r>) -> CyclePlan {
    let groups = group_signals(batch, &context.charter.key);
    let known = SignalReferences::of(batch.iter().map(|member| member.signal));
    let known = known.with_promises(&context.charter.milestones);
    let mut cycle = Cycle::new(context);
    let may_change = |member: &&CycleMember<'_>| !is_kept_out(member) && context.gate == ArtefactGate::Permitted;
    let latest = batch.iter().rev().filter(may_change).find(|member| !member.sanitised.is_suspected());
    cycle.latest = latest.map(|member| SignalRevision::from(member.signal));
    let mut plan = CyclePlan::default();
    let mut outcomes: BTreeMap<SignalRevision, SignalOutcome> = BTreeMap::new();
    let mut together = AskedTogether::default();
    let conflicts = SourceConflicts::find(batch, &context.charter.places());
    for group in &groups {
        let (kind, items) = cycle.take(group, &mut plan, &mut together);
        let signals: Vec<&ProjectSignal> = group.members().map(|member| member.signal).collect();
        let agreeing = agreement(&signals, context.charter);
        for member in group.members() {
            let id = SignalRevision::from(member.signal);
            let kind = if is_kept_out(member) && kind != SignalOutcomeKind::Escalated {
                SignalOutcomeKind::KeptOut
            } else {
                kind
            };
            let outcome = SignalOutcome {
                conflict: conflicts.of(std::slice::from_ref(&id)),
                ..SignalOutcome::new(member, kind, agreeing, items.clone())
            };
            outcomes.insert(id, outcome);
        }
    }
    for comment in &mut plan.comments {
        comment.sources.conflict = conflicts.of(std::slice::from_ref(&comment.cause));
    }
    for draft in &mut plan.drafts {
        draft.sources.conflict = conflicts.of(&draft.causes);
    }
    plan.questions.extend(conflicts.questions);
    let AskedTogether { withheld, uncommented, rescoped, unread, suspected } = together;
    plan.questions.extend(questions::of_scope(&rescoped, context.charter));
    if context.gate == ArtefactGate::Permitted {
        cycle.backlog(&groups);
        cycle.learn_sprint(&groups);
    }
    let suspected: Vec<_> = suspected.into_iter().map(|open| cycle.with_changes(open)).collect();
    plan.unused = cycle.proposals.left();
    let updates = core::mem::take(&mut cycle.proposals.updates);
    let (mut ended, occasion) = cycle.finish(&known, &mut plan);
    let (redated, groundless) = (core::mem::take(&mut ended.redated), core::mem::take(&mut ended.groundless));
    let mut asked = Questioner::new(context, batch, &mut plan);
    asked.ask_rules(ended);
    // Questions about the project as a whole, and about items that are there already, are about no signal of their own.
    let aside = asked.plan.questions.len();
    asked.ask_about_dates(redated);
    asked.ask_about_ground(&groundless);
    asked.update(&updates, &known);
    // The colour counts all that the rules and the model changed.
    asked.recolour(occasion, &known);
    asked.ask_about_life();
    let aside = asked.plan.questions.split_off(aside);
    asked.ask_suspected(&suspected);
    let artefacts = asked.artefacts();
    let escalated = asked.escalated;
    plan.questions = matters::join_by_matter(core::mem::take(&mut plan.questions));
    let together = questions::of_many(&plan.questions, &withheld, &unread, &uncommented);
    plan.questions.extend(together.into_iter().chain(aside));
    background::add_backgrounds(&mut plan.questions, batch, &artefacts, context);
    for cause in escalated {
        if let Some(outcome) = outcomes.get_mut(&cause) {
            outcome.kind = SignalOutcomeKind::Escalated;
        }
    }
    settlement::settle_outcomes(&mut outcomes, &groups, context, &mut plan);
    // The most pressing question is first.
    plan.questions.sort_by_key(|question| question.time);
    plan.outcomes = batch.iter().filter_map(|member| outcomes.remove(&SignalRevision::from(member.signal))).collect();
    plan
}

/// Groups that are asked about in one question.
#[derive(Debug, Default)]
struct AskedTogether<'g, 'r> {
    /// They would change artefacts, which rules may not.
    withheld: Vec<&'g GroupedSignals<'r>>,
    /// A comment would go to them, which rules may not.
    uncommented: Vec<&'g GroupedSignals<'r>>,
    /// They change the scope.
    rescoped: Vec<&'g GroupedSignals<'r>>,
    /// They are messages of which nothing is understood.
    unread: Vec<&'g GroupedSignals<'r>>,
    /// A text of theirs is suspected, and something would follow from it.
    suspected: Vec<SuspectedGroup<'g, 'r>>,
}

/// A cycle as it is worked out.
pub(super) struct Cycle<'c, 'r> {
    pub(super) context: &'c CycleContext<'r>,
    pub(super) operations: BTreeMap<ArtefactKind, Vec<ArtefactOperation>>,
    /// Items that this cycle made, by kind and ticket.
    made: BTreeMap<(ArtefactItemKind, String), ArtefactItemId>,
    pub(super) next: BTreeMap<ArtefactItemKind, u32>,
    pub(super) moved: MovedTickets,
    /// How many subjects changed the scope.
    pub(super) rescoped: usize,
    /// Milestones that are at risk and that the artefacts don't have yet.
    pub(super) endangered: EndangeredMilestones,
    /// Milestones that this cycle marked.
    pub(super) marked: BTreeSet<ArtefactItemId>,
    /// Ends of items whose ticket is done and that don't end with it: a person is asked.
    pub(super) proposed_ends: Vec<ArtefactOperation>,
    /// Ends of assumptions that the tracker gives no ground for any more: a person is asked.
    pub(super) groundless: Vec<ArtefactOperation>,
    /// The latest signal that may change artefacts by itself.
    pub(super) latest: Option<SignalRevision>,
    /// The last signal of a listed backlog, and the word for its source.
    pub(super) synced: Option<(SignalRevision, &'static str)>,
    pub(super) causes: BTreeMap<ArtefactKind, BTreeSet<SignalRevision>>,
    /// A model's proposals that are still unused.
    pub(super) proposals: OpenProposals<'r>,
}

impl<'c, 'r> Cycle<'c, 'r> {
    pub(super) fn new(context: &'c CycleContext<'r>) -> Self {
        Self {
            context,
            operations: BTreeMap::new(),
            made: BTreeMap::new(),
            next: BTreeMap::new(),
            moved: MovedTickets::default(),
            rescoped: 0,
            endangered: EndangeredMilestones::new(),
            marked: BTreeSet::new(),
            proposed_ends: Vec::new(),
            groundless: Vec::new(),
            latest: None,
            synced: None,
            causes: BTreeMap::new(),
            proposals: OpenProposals::new(context.proposals),
        }
    }

    /// The changes that follow from the words of a suspected group, if a person takes them for true, behind all else
    /// that this cycle changes.
    pub(super) fn worded_operations(&self, group: &GroupedSignals<'r>) -> Vec<ArtefactOperation> {
        let (made, next, marked) = (self.made.clone(), self.next.clone(), self.marked.clone());
        let mut aside = Cycle { made, next, marked, ..Cycle::new(self.context) };
        aside.worded_items(group);
        ArtefactKind::ALL.iter().filter_map(|kind| aside.operations.remove(kind)).flatten().collect()
    }

    /// Takes a group up: what becomes of its signals, and the items that it is about.
    fn take<'g>(
        &mut self,
        group: &'g GroupedSignals<'r>,
        plan: &mut CyclePlan,
        together: &mut AskedTogether<'g, 'r>,
    ) -> (SignalOutcomeKind, Vec<ArtefactItemId>) {
        let leader = group.leader();
        let answer = &leader.classification.answer;
        let action = answer.recommended_action;
        // A signal that is out changes nothing and words nothing, but a person may have to know that it came.
        let is_out = is_kept_out(leader) || leader.classification.effects == SignalEffects::Nothing;
        if is_out && action != RecommendedAction::Escalate {
            return (SignalOutcomeKind::KeptOut, Vec::new());
        }
        if !is_out && group.is_suspected() {
            return self.take_suspected(group, &mut together.suspected);
        }
        let fate = RecommendationFate::of(action, self.context.level);
        // An escalated signal changes its items as well, and so does the end of a standstill, whatever is recommended.
        let changes = !is_out && self.concerns_artefacts(group);
        let mut items = Vec::new();
        if changes && self.context.gate == ArtefactGate::Permitted {
            items = self.items(group);
        } else if changes {
            together.withheld.push(group);
            // Nothing else was recommended, and the one question about all that is withheld answers it.
            if action == RecommendedAction::UpdateArtefact {
                return (SignalOutcomeKind::Escalated, items);
            }
        }
        let is_drafted = !is_out && action == RecommendedAction::DraftCommunication;
        if let Some(draft) = is_drafted.then(|| self.proposals.draft(&group.causes())).flatten() {
            if fate == RecommendationFate::Onward {
                plan.drafts.push(proposals::planned_draft(group, draft, self.context.charter));
                return (SignalOutcomeKind::Drafted, items);
            }
            // A level that sends no mail loses none: the person who is asked has its words.
            plan.questions.push(proposals::question_of_draft(group, draft));
            return (SignalOutcomeKind::Escalated, items);
        }
        let asks = match action {
            RecommendedAction::Escalate | RecommendedAction::DeferToSonnet | RecommendedAction::DraftCommunication => {
                true
            }
            RecommendedAction::AddJiraComment if fate == RecommendationFate::Onward => {
                // The model's words before those of the rules, and never for a text that is out: they would carry it on.
                let proposed = if is_out { None } else { self.proposals.comment(&group.causes()) };
                let worded = proposed.map(|comment| proposals::planned_comment(group, comment, self.context.charter));
                if let Some(comment) = worded.or_else(|| template_comment(group, self.context.charter)) {
                    plan.comments.push(comment);
                    return (SignalOutcomeKind::Commented, items);
                }
                false
            }
            RecommendedAction::AddJiraComment => {
                together.uncommented.push(group);
                return (SignalOutcomeKind::Escalated, items);
            }
            RecommendedAction::UpdateArtefact | RecommendedAction::NoAction => false,
        };
        let worded = if asks && !is_out { self.proposals.escalation(&group.causes()) } else { None };
        if let Some(escalation) = worded {
            plan.questions.push(proposals::model_question(group, escalation));
            return (SignalOutcomeKind::Escalated, items);
        }
        let is_rescoped = answer.category == SignalCategory::Scope && action == RecommendedAction::Escalate;
        if asks && is_rescoped && group.ticket().is_some() {
            together.rescoped.push(group);
            return (SignalOutcomeKind::Escalated, items);
        }
        // Questions that are alike are put once, for all groups together: a person who is asked thirty times reads none.
        let is_riddle = leader.classification.basis == ClassificationBasis::Nothing && !is_out;
        if asks && is_riddle && action == RecommendedAction::DraftCommunication {
            together.unread.push(group);
            return (SignalOutcomeKind::Escalated, items);
        }
        if asks {
            let mut question = questions::of_group(group, self.context.charter);
            if let Some(draft) = self.proposals.draft(&group.causes()).filter(|_| !is_out) {
                proposals::offer_draft(&mut question, draft, group);
            }
            plan.questions.push(question);
            return (SignalOutcomeKind::Escalated, items);
        }
        let kind = if items.is_empty() { SignalOutcomeKind::Logged } else { SignalOutcomeKind::Incorporated };
        (kind, items)
    }

    /// Whether a group would change an artefact, if rules may.
    pub(super) fn concerns_artefacts(&self, group: &GroupedSignals<'_>) -> bool {
        let answer = &group.leader().classification.answer;
        let is_for_items =
            matches!(answer.recommended_action, RecommendedAction::UpdateArtefact | RecommendedAction::Escalate);
        // The tracker's own word for blocked, done or taken up again counts, whatever is recommended.
        let is_told = group.standstill(self.context.lexicon) != Standstill::Unsaid
            || group.is_done(self.context.lexicon)
            || group.is_reopened(self.context.lexicon);
        // Reasoning about a risk may only lead to a question, and the log names the risk all the same.
        let is_reasoned = answer.recommended_action == RecommendedAction::DeferToSonnet
            && items::raid_kind(answer.category, answer.importance).is_some();
        is_for_items || is_reasoned || is_told
    }

    /// Plans what a group changes of the artefacts. The items that it is about. Of a suspected group only what the
    /// system itself says changes anything.
    pub(super) fn items(&mut self, group: &GroupedSignals<'r>) -> Vec<ArtefactItemId> {
        let standstill = group.standstill(self.context.lexicon);
        let mut touched = Vec::new();
        if standstill == Standstill::Ends || group.is_done(self.context.lexicon) {
            touched.extend(self.settle(group));
        }
        if group.is_reopened(self.context.lexicon) {
            touched.extend(self.take_up_again(group));
        }
        if !group.is_suspected() || group.is_told_by_system() {
            touched.extend(self.worded_items(group));
        }
        for member in group.members() {
            touched.extend(self.sprint(member));
        }
        let category = group.leader().classification.answer.category;
        if category == SignalCategory::Progress || standstill != Standstill::Unsaid {
            self.progress(group);
        }
        touched
    }

    /// The items that a group's category makes or raises.
    fn worded_items(&mut self, group: &GroupedSignals<'_>) -> Vec<ArtefactItemId> {
        let answer = &group.leader().classification.answer;
        let lexicon = self.context.lexicon;
        let mut touched = Vec::new();
        let standstill = group.standstill(lexicon);
        let is_over = standstill == Standstill::Ends && answer.category == SignalCategory::Blocker;
        if standstill == Standstill::Begins && answer.category != SignalCategory::Blocker {
            touched.extend(self.blocked(group));
        } else if let Some(kind) = items::raid_kind(answer.category, answer.importance).filter(|_| !is_over) {
            let raid = self.raid(kind, group);
            touched.push(raid);
            if answer.category == SignalCategory::Blocker {
                touched.extend(self.blocker(raid, group));
            }
            let slips =
                answer.category == SignalCategory::Risk && answer.importance.is_at_least(SignalImportance::High);
            if slips || group.slips(lexicon) {
                touched.extend(self.milestone(group, raid));
            }
        }
        if answer.category == SignalCategory::Scope {
            touched.extend(self.highlight(group, "scope_creep", &group.rationale()));
            self.rescoped = self.rescoped.saturating_add(1);
        }
        touched
    }

    fn ticket_key(group: &GroupedSignals<'_>) -> String {
        let ticket = group.ticket().map(show::exact_json);
        ticket.as_ref().and_then(|key| key.as_str()).unwrap_or(&group.leader().signal.id).to_owned()
    }

    pub(super) fn operate(&mut self, kind: ArtefactKind, operation: ArtefactOperation, group: &[SignalRevision]) {
        self.operations.entry(kind).or_default().push(operation);
        self.causes.entry(kind).or_default().extend(group.iter().cloned());
    }

    /// Adds an item. Its id.
    pub(super) fn add(
        &mut self,
        kind: ArtefactItemKind,
        operation: ArtefactOperation,
        group: &GroupedSignals<'_>,
    ) -> ArtefactItemId {
        let first = self.context.artefacts.get(kind.artefact()).map_or(1, |artefact| artefact.next_id(kind).number);
        let number = self.next.entry(kind).or_insert(first);
        let id = ArtefactItemId { kind, number: *number };
        *number = number.saturating_add(1);
        self.made.insert((kind, Self::ticket_key(group)), id);
        self.operate(kind.artefact(), operation, &group.causes());
        id
    }

    /// The item of a kind that is about the group's subject, from before or from this cycle.
    pub(super) fn known(&self, kinds: &[ArtefactItemKind], group: &GroupedSignals<'_>) -> Option<ArtefactItemId> {
        let key = Self::ticket_key(group);
        let of_round = kinds.iter().find_map(|kind| self.made.get(&(*kind, key.clone())).copied());
        let artefact = kinds.first().and_then(|kind| self.context.artefacts.get(kind.artefact()));
        of_round.or_else(|| artefact.and_then(|artefact| items::about_same(artefact, kinds, group)))
    }

    /// The group's item of the RAID log: a new one, or the one that there is, whose severity may rise.
    fn raid(&mut self, kind: ArtefactItemKind, group: &GroupedSignals<'_>) -> ArtefactItemId {
        const RAID: [ArtefactItemKind; 3] =
            [ArtefactItemKind::Issue, ArtefactItemKind::Risk, ArtefactItemKind::Dependency];
        // A blocker needs an issue behind it, whatever risk there was before.
        let kinds: &[ArtefactItemKind] = if kind == ArtefactItemKind::Issue { &RAID[..1] } else { &RAID };
        let Some(id) = self.known(kinds, group) else {
            return self.add(kind, items::raid_item(kind, group, &self.context.charter.owner), group);
        };
        let severity = items::severity_word(group.leader().classification.answer.importance);
        let item = self.context.artefacts.get(ArtefactKind::RaidLog).and_then(|raid| raid.item(id));
        let before = item.and_then(|item| item.word(ArtefactField::Severity));
        let place = |word: Option<&str>| word.and_then(SignalImportance::parse);
        if place(Some(severity)) < place(before) && before.is_some() {
            let reason = items::inferred_statement(group.rationale(), &group.causes());
            let changes: ItemFields = BTreeMap::from([(ArtefactField::Severity, ArtefactValue::Word(severity))]);
            self.operate(ArtefactKind::RaidLog, ArtefactOperation::Modify { id, changes, reason }, &group.causes());
        }
        id
    }

    pub(super) fn blocker(&mut self, raid: ArtefactItemId, group: &GroupedSignals<'_>) -> Option<ArtefactItemId> {
        if self.known(&[ArtefactItemKind::Blocker], group).is_some() {
            return None;
        }
        let operation = items::blocker_operation(group, raid, &self.context.charter.owner);
        Some(self.add(ArtefactItemKind::Blocker, operation, group))
    }

    pub(super) fn highlight(
        &mut self,
        group: &GroupedSignals<'_>,
        flag: &'static str,
        detail: &str,
    ) -> Option<ArtefactItemId> {
        if self.known(&[ArtefactItemKind::Highlight], group).is_some() {
            return None;
        }
        let operation = items::highlight(group, flag, detail)?;
        Some(self.add(ArtefactItemKind::Highlight, operation, group))
    }
}
