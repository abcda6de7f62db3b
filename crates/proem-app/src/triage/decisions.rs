//! A person's decision in the decision log of a project that is triaged, and the changes of artefacts that the person
//! chose by it.
//!
//! Both are written with the decision, in one transaction.

use proem_engine::effect::key::SignalRevision;
use proem_engine::policy::ProposedAction;
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};
use proem_store::query::{EscalationRow, SignalRow};
use proem_store::record::{ArtefactEdit, HashedContent, NewArtefactVersion};
use proem_triage::ProjectSignal;
use proem_triage::artefact::{
    AppliedChange, Artefact, ArtefactActor, ArtefactContext, ArtefactItemId, ArtefactItemKind, ArtefactKind,
    ArtefactOperation, ChangeOffer, RuleViolation, SignalReferences, apply_operations, offered_operations,
};
use proem_triage::plan::ArtefactSet;

use super::charter;
use super::decision_entry::{Decided, DecidedOption, related_raid_items};
use super::standing_artefacts::StandingArtefacts;
use crate::effects::ActionDesk;
use crate::effects::escalations;
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

impl ActionDesk<'_> {
    /// The version of the decision log that has what a person decided, with the options that there were, and the item
    /// that is new in it. `None` in a project that is not triaged.
    ///
    /// # Errors
    ///
    /// If the records are unreadable, or the log can't have it.
    pub(crate) async fn decision_log_entry(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        chosen: DecidedOption<'_>,
    ) -> Result<Option<(ArtefactItemId, ArtefactEdit)>, Error> {
        // A project without a file that somebody trusted has no artefacts.
        let Ok(charter) = charter::read_charter(self.project) else { return Ok(None) };
        let person = operator.actor().id.clone();
        let actor = ArtefactActor::Person(person.clone());
        // A question whose text was purged names no signals, and its entry says in our words that it was decided.
        let causes = escalations::escalation_case(escalation).map(|case| case.causes).unwrap_or_default();
        let StandingArtefacts { set: mut artefacts, unreadable } = self.standing_artefacts(&charter.id).await?;
        if let Some(log) = unreadable.iter().find(|unreadable| unreadable.kind == ArtefactKind::DecisionLog) {
            return Err(Error::negative(format!("nothing was decided: the decision log {}", log.in_words())));
        }
        chosen.made.iter().for_each(|change| artefacts.set(change.artefact.clone()));
        let related = related_raid_items(&artefacts, chosen.made, &self.tickets_of(&causes).await?);
        let decision = Decided { escalation, chosen: &chosen, person: &person, causes: &causes, related };
        let known = SignalReferences::of_revisions(causes.iter().cloned());
        let kind = ArtefactKind::DecisionLog;
        let Some(artefact) = artefacts.get(kind) else { return Ok(None) };
        let others: Vec<&Artefact> = artefacts.iter().filter(|other| other.kind() != kind).collect();
        let context = ArtefactContext {
            now: when::time_now().max(self.status.last_seen),
            project: &charter.id,
            actor: &actor,
            causes: &[],
            known: &known,
            others: &others,
        };
        let id = artefact.next_id(ArtefactItemKind::Decision);
        let change = apply_operations(artefact, &[decision.operation()], &context).map_err(|violations| {
            let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Error::invalid(format!("nothing was decided: the decision log can't have it: {}", said.join("; ")))
        })?;
        let edit = self.artefact_edits(operator, &[change])?.pop();
        Ok(edit.map(|edit| (id, edit)))
    }
}

impl ActionDesk<'_> {
    /// The artefacts of a project as they are, or as they were when they could be read last: the records take no
    /// version that follows an older one. `project` is its UUID.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(crate) async fn stored_artefacts(&self, project: &str) -> Result<ArtefactSet, Error> {
        Ok(self.standing_artefacts(project).await?.set)
    }

    /// The next versions of artefacts, as a person chose them by an offer.
    ///
    /// # Errors
    ///
    /// If the project is not triaged, something has changed since the offer was made, a rule is broken, or the records
    /// are unreadable.
    pub(crate) async fn chosen_changes(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        action: &ProposedAction,
    ) -> Result<Vec<AppliedChange>, Error> {
        let charter = charter::read_charter(self.project)?;
        let StandingArtefacts { set: mut artefacts, unreadable } = self.standing_artefacts(&charter.id).await?;
        if let Some(unreadable) = unreadable.first() {
            let name = unreadable.kind.as_str();
            return Err(Error::negative(format!("nothing was decided: the {name} {}", unreadable.in_words())));
        }
        let gone =
            || Error::negative("nothing was decided: the text of the question was purged; change the item yourself");
        let causes = escalations::escalation_case(escalation).ok_or_else(gone)?.causes;
        let signals = self.named_signals(&causes).await?;
        let content = offered_content(action).ok_or_else(|| Error::invalid("the option's changes can't be read"))?;
        let refused = |violations: Vec<RuleViolation>| {
            let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Error::invalid(format!("nothing was decided: the changes can't be made: {}", said.join("; ")))
        };
        let operations =
            offered_operations(&artefacts.iter().collect::<Vec<_>>(), content, &causes).map_err(refused)?;
        let person = Chooser {
            actor: ArtefactActor::Person(operator.actor().id.clone()),
            now: when::time_now().max(self.status.last_seen),
            causes: &causes,
            known: SignalReferences::of(&signals),
        };
        person.apply_all(&mut artefacts, &operations).map_err(refused)
    }

    /// Versions of artefacts that a person made, as they are written with the decision.
    ///
    /// # Errors
    ///
    /// If one can't be written down.
    pub(crate) fn artefact_edits(
        &self,
        operator: &Operator,
        changes: &[AppliedChange],
    ) -> Result<Vec<ArtefactEdit>, Error> {
        let unwritten = |error| Error::bug("a change of an artefact can't be written down", error);
        let edit = |AppliedChange { artefact, entry, .. }: &AppliedChange| {
            let version = NewArtefactVersion {
                kind: artefact.kind().as_str().to_owned(),
                version: artefact.version(),
                content: HashedContent::new(artefact.write().map_err(unwritten)?),
                entry: HashedContent::new(entry.write().map_err(unwritten)?),
                causes: entry.causes.clone(),
            };
            let project = self.owner.clone();
            Ok(ArtefactEdit { project, actor: operator.actor().clone(), at: when::time_now(), version })
        };
        changes.iter().map(edit).collect()
    }

    /// The subjects of signals, as far as their texts still exist.
    async fn tickets_of(&self, causes: &[SignalRevision]) -> Result<SignalReferences, Error> {
        let rows = self.store.signals_named(&self.owner, causes).await?;
        let signals: Vec<ProjectSignal> =
            rows.into_iter().filter_map(|row| ProjectSignal::read(&row.text?).ok()).collect();
        Ok(SignalReferences::of(&signals))
    }

    /// Signals of the records.
    async fn named_signals(&self, names: &[SignalRevision]) -> Result<Vec<ProjectSignal>, Error> {
        let rows = self.store.signals_named(&self.owner, names).await?;
        let read = |row: SignalRow| {
            let text = row.text.ok_or_else(|| Error::outside(format!("the text of {} was purged", row.id.id)))?;
            ProjectSignal::read(&text)
                .map_err(|error| Error::outside(format!("the signal {} can't be read: {error}", row.id.id)))
        };
        rows.into_iter().map(read).collect()
    }
}

/// A person who chooses changes.
struct Chooser<'c> {
    actor: ArtefactActor,
    now: Time,
    causes: &'c [SignalRevision],
    known: SignalReferences,
}

impl Chooser<'_> {
    /// Applies operations artefact by artefact, in whichever order the rules allow: a blocker ends before the item of
    /// the RAID log behind it, and begins after that.
    fn apply_all(
        &self,
        artefacts: &mut ArtefactSet,
        operations: &[ArtefactOperation],
    ) -> Result<Vec<AppliedChange>, Vec<RuleViolation>> {
        let first = ArtefactKind::ALL;
        let mut blockers_first = first;
        blockers_first.swap(0, 1);
        let before = artefacts.clone();
        self.apply_in(first, artefacts, operations).or_else(|_| {
            *artefacts = before;
            self.apply_in(blockers_first, artefacts, operations)
        })
    }

    fn apply_in(
        &self,
        order: [ArtefactKind; 4],
        artefacts: &mut ArtefactSet,
        operations: &[ArtefactOperation],
    ) -> Result<Vec<AppliedChange>, Vec<RuleViolation>> {
        let mut changes = Vec::new();
        for kind in order {
            let of_kind: Vec<_> = operations.iter().filter(|of| of.artefact() == kind).cloned().collect();
            let Some(artefact) = artefacts.get(kind).filter(|_| !of_kind.is_empty()) else { continue };
            let others: Vec<&Artefact> = artefacts.iter().filter(|other| other.kind() != kind).collect();
            let context = ArtefactContext {
                now: self.now,
                project: artefact.project(),
                actor: &self.actor,
                causes: self.causes,
                known: &self.known,
                others: &others,
            };
            let change = apply_operations(artefact, &of_kind, &context)?;
            artefacts.set(change.artefact.clone());
            changes.push(change);
        }
        Ok(changes)
    }
}

/// Whether an action offers changes of artefacts, which a person's choice makes.
pub(crate) fn is_change_offer(action: &ProposedAction) -> bool {
    offered_content(action).is_some()
}

fn offered_content(action: &ProposedAction) -> Option<&Untrusted<String>> {
    let LabelTree::Map(root) = action.tree() else { return None };
    let LabelTree::Map(fields) = root.get("fields")? else { return None };
    match fields.get("content")? {
        LabelTree::Outside(content) if action.name() == Some("artefact_update") && ChangeOffer::is_one(content) => {
            Some(content)
        }
        _ => None,
    }
}
