//! A person's decision in the decision log of a project that is triaged, and the changes of artefacts that the person
//! chose by it.
//!
//! Both are written with the decision, in one transaction.

use std::collections::BTreeMap;

use proem_agents::triage::ProjectSignal;
use proem_agents::triage::artefact::{
    AppliedChange, Artefact, ArtefactActor, ArtefactContext, ArtefactField, ArtefactItemId, ArtefactItemKind,
    ArtefactKind, ArtefactOperation, ArtefactStatement, ArtefactValue, ChangeOffer, DecisionOption, FieldForm,
    RuleViolation, SignalReferences, apply, offered_operations,
};
use proem_agents::triage::plan::ArtefactSet;
use proem_engine::effect::key::SignalRevision;
use proem_engine::policy::ProposedAction;
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};
use proem_store::query::{EscalationRow, SignalRow};
use proem_store::record::{ArtefactEdit, HashedContent, NewArtefactVersion};

use super::charter;
use crate::effects::ActionDesk;
use crate::effects::escalations::{self, EscalationCase};
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

impl ActionDesk<'_> {
    /// The version of the decision log that has what a person decided, with the options that there were, and the item
    /// that is new in it; `None` in a project that is not triaged.
    ///
    /// # Errors
    ///
    /// If the records can't be read, or the log can't have it.
    pub(crate) async fn decision_log_entry(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        option: &str,
        words: &str,
    ) -> Result<Option<(ArtefactItemId, ArtefactEdit)>, Error> {
        // A project without a file that somebody vouched for has no artefacts.
        let Ok(charter) = charter::read(self.project) else { return Ok(None) };
        let kind = ArtefactKind::DecisionLog;
        let person = operator.actor().id.clone();
        let actor = ArtefactActor::Person(person.clone());
        let decision = Decided { escalation, option, words, person: &person };
        // A question whose text was purged names no signals, and its entry says in our words that it was decided.
        let causes = escalations::case(escalation).map(|case| case.causes).unwrap_or_default();
        let known = SignalReferences::of_revisions(causes);
        let row = self.store.artefact(&self.owner, kind.as_str(), None).await?;
        let artefact = match row.and_then(|row| row.content) {
            None => Artefact::new(kind, &charter.id),
            Some(content) => Artefact::read(&content)
                .map_err(|error| Error::outside(format!("the decision log can't be read: {error}")))?,
        };
        let context = ArtefactContext {
            now: when::now().max(self.status.last_seen),
            project: &charter.id,
            actor: &actor,
            causes: &[],
            known: &known,
            others: &[],
        };
        let id = artefact.next_id(ArtefactItemKind::Decision);
        let change = apply(&artefact, &[decision.operation()], &context).map_err(|violations| {
            let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Error::invalid(format!("nothing was decided: the decision log can't have it: {}", said.join("; ")))
        })?;
        let unwritten = |error| Error::bug("a decision can't be written down", error);
        let version = NewArtefactVersion {
            kind: kind.as_str().to_owned(),
            version: change.artefact.version(),
            content: HashedContent::new(change.artefact.write().map_err(unwritten)?),
            entry: HashedContent::new(change.entry.write().map_err(unwritten)?),
            causes: Vec::new(),
        };
        let project = self.owner.clone();
        let edit = ArtefactEdit { project, actor: operator.actor().clone(), at: when::now(), version };
        Ok(Some((id, edit)))
    }
}

impl ActionDesk<'_> {
    /// The artefacts of a project as they stand. `project` is its UUID.
    ///
    /// # Errors
    ///
    /// If the records can't be read, or hold no text of a version that should be there.
    pub(crate) async fn stored_artefacts(&self, project: &str) -> Result<ArtefactSet, Error> {
        let mut set = ArtefactSet::new(project);
        for kind in ArtefactKind::ALL {
            let Some(row) = self.store.artefact(&self.owner, kind.as_str(), None).await? else { continue };
            let content = row.content.ok_or_else(|| {
                Error::outside(format!("the text of the newest {} is not in the records; restore it", kind.as_str()))
            })?;
            let artefact = Artefact::read(&content).map_err(|error| {
                Error::outside(format!("the {} of the records can't be read: {error}", kind.as_str()))
            })?;
            set.set(artefact);
        }
        Ok(set)
    }

    /// The next versions of artefacts, as a person chose them by an offer, with the items that change.
    ///
    /// # Errors
    ///
    /// If the project is not triaged, something has changed since the offer was made, a rule is broken, or the records
    /// can't be read.
    pub(crate) async fn chosen_changes(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        action: &ProposedAction,
    ) -> Result<(Vec<ArtefactItemId>, Vec<ArtefactEdit>), Error> {
        let charter = charter::read(self.project)?;
        let mut artefacts = self.stored_artefacts(&charter.id).await?;
        let gone =
            || Error::negative("nothing was decided: the text of the question was purged; change the item yourself");
        let causes = escalations::case(escalation).ok_or_else(gone)?.causes;
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
            now: when::now().max(self.status.last_seen),
            causes: &causes,
            known: SignalReferences::of(&signals),
        };
        let changes = person.apply_all(&mut artefacts, &operations).map_err(refused)?;
        let unwritten = |error| Error::bug("a change of an artefact can't be written down", error);
        let (mut items, mut edits) = (Vec::new(), Vec::new());
        for AppliedChange { artefact, entry, .. } in changes {
            items.extend(entry.changes.iter().map(|change| change.item));
            let version = NewArtefactVersion {
                kind: artefact.kind().as_str().to_owned(),
                version: artefact.version(),
                content: HashedContent::new(artefact.write().map_err(unwritten)?),
                entry: HashedContent::new(entry.write().map_err(unwritten)?),
                causes: entry.causes,
            };
            let project = self.owner.clone();
            edits.push(ArtefactEdit { project, actor: operator.actor().clone(), at: when::now(), version });
        }
        items.dedup();
        Ok((items, edits))
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
            let change = apply(artefact, &of_kind, &context)?;
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

/// A decision as it was made.
struct Decided<'d> {
    escalation: &'d EscalationRow,
    option: &'d str,
    words: &'d str,
    person: &'d str,
}

impl Decided<'_> {
    /// What the person saw and said is the person's own from here on.
    fn said(&self, text: &str, most: usize) -> ArtefactStatement {
        let text: String = text.chars().take(most).collect();
        ArtefactStatement::by_person(&text, self.person)
    }

    fn operation(&self) -> ArtefactOperation {
        let case = escalations::case(self.escalation);
        let because = case.as_ref().and_then(|case| own(&case.because));
        let because = because.unwrap_or_else(|| "A question whose words are somebody else's was decided.".to_owned());
        let title = || self.said(because.split(" (").next().unwrap_or(&because), FieldForm::LINE);
        // What it was about stays somebody else's words, whoever decided.
        let title = case.and_then(called).unwrap_or_else(title);
        let label = |written: &str| LabelTree::read(written).ok().and_then(|tree| own(&tree));
        let options = self.escalation.options.iter().map(|option| DecisionOption {
            option: self.said(&label(&option.label).unwrap_or_else(|| option.id.clone()), FieldForm::LINE),
            pros: Vec::new(),
            cons: Vec::new(),
        });
        let chosen = self.escalation.options.iter().find(|option| option.id == self.option);
        let chosen = chosen.and_then(|option| label(&option.label)).unwrap_or_else(|| self.option.to_owned());
        let rationale = if self.words.trim().is_empty() { "No reason was given." } else { self.words };
        let text = |statement| ArtefactValue::Text(statement);
        ArtefactOperation::Add {
            id: None,
            kind: ArtefactItemKind::Decision,
            status: None,
            fields: BTreeMap::from([
                (ArtefactField::Title, text(title)),
                (ArtefactField::Context, text(self.said(&because, FieldForm::PARAGRAPH))),
                (ArtefactField::OptionsConsidered, ArtefactValue::Options(options.collect())),
                (ArtefactField::Decision, text(self.said(&chosen, FieldForm::PARAGRAPH))),
                (ArtefactField::Rationale, text(self.said(rationale, FieldForm::PARAGRAPH))),
                (ArtefactField::MadeBy, ArtefactValue::Word("user")),
            ]),
        }
    }
}

/// What a signal calls it, in the signal's words.
fn called(case: EscalationCase) -> Option<ArtefactStatement> {
    let cause = case.causes.into_iter().next()?;
    match case.heading? {
        LabelTree::Outside(text) => Some(ArtefactStatement::fact(text, cause)),
        LabelTree::Flagged(text) => Some(ArtefactStatement::fact(text, cause).flagged()),
        _ => None,
    }
}

/// A text of ours; what is from outside is nobody's approval.
fn own(tree: &LabelTree) -> Option<String> {
    match tree {
        LabelTree::Text(text) => Some(text.clone()),
        _ => None,
    }
}
