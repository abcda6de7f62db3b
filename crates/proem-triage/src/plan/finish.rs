//! The end of a cycle: everything that it planned, applied artefact by artefact.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;

use super::{
    context::{ArtefactSet, CyclePlan},
    cycle::Cycle,
    health::HealthOccasion,
    items::{self, ItemFields},
    withheld::WithheldChanges,
};
use crate::artefact::{
    AppliedChange, Artefact, ArtefactContext, ArtefactField, ArtefactItemKind, ArtefactKind, ArtefactOperation,
    ArtefactValue, RuleViolation, SignalReferences, apply_operations, needs_person,
};

impl Cycle<'_, '_> {
    /// Applies everything, artefact by artefact. It leaves out and lists changes that break a rule. It gives back
    /// changes that end or soften something without an event of the tracker, for a person to decide. The occasions for
    /// counting the colour come with them.
    pub(super) fn finish(
        mut self,
        known: &SignalReferences,
        plan: &mut CyclePlan,
    ) -> (WithheldChanges, HealthOccasion) {
        let mut artefacts = self.context.artefacts.clone();
        let mut withheld = self.withhold(known);
        self.backlog_as_a_whole();
        // Milestones and the colour follow from the RAID log, too.
        let of_raid = self.causes.get(&ArtefactKind::RaidLog).cloned().unwrap_or_default();
        self.causes.entry(ArtefactKind::DeliveryState).or_default().extend(of_raid);
        self.milestones(&mut withheld);
        withheld.ended = core::mem::take(&mut self.proposed_ends);
        withheld.groundless = core::mem::take(&mut self.groundless);
        let causes = self.causes.get(&ArtefactKind::DeliveryState).cloned().unwrap_or_default();
        let occasion = HealthOccasion { causes, moved: self.moved };
        for kind in ArtefactKind::ALL {
            let mut operations = self.operations.remove(&kind).unwrap_or_default();
            let causes: Vec<SignalRevision> = self.causes.remove(&kind).unwrap_or_default().into_iter().collect();
            let mut last = 1;
            // Each round has fewer operations, so the rounds end.
            loop {
                match self.applied(&artefacts, kind, &operations, (&causes, known)) {
                    Ok(change) => {
                        change.iter().for_each(|change| artefacts.set(change.artefact.clone()));
                        plan.changes.extend(change);
                        break;
                    }
                    Err(violations) => {
                        last = leave_out(&mut operations, &violations, last);
                        plan.refused.extend(violations);
                        if last == 0 {
                            break;
                        }
                    }
                }
            }
        }
        (withheld, occasion)
    }

    /// Takes out the operations that need a person, by the signals that they come from.
    fn withhold(&mut self, known: &SignalReferences) -> WithheldChanges {
        let mut withheld = WithheldChanges::default();
        let context = self.context;
        for artefact in context.artefacts.iter() {
            let terms = ArtefactContext {
                now: context.now,
                project: artefact.project(),
                actor: context.actor,
                causes: &[],
                known,
                others: &[],
            };
            let Some(operations) = self.operations.get_mut(&artefact.kind()) else { continue };
            for operation in operations.extract_if(.., |operation| needs_person(artefact, artefact, operation, &terms))
            {
                withheld.push(operation);
            }
        }
        withheld
    }

    fn applied(
        &self,
        artefacts: &ArtefactSet,
        kind: ArtefactKind,
        operations: &[ArtefactOperation],
        (causes, known): (&[SignalRevision], &SignalReferences),
    ) -> Result<Option<AppliedChange>, Vec<RuleViolation>> {
        let Some(artefact) = artefacts.get(kind) else { return Ok(None) };
        // Blockers that end in this cycle are in the way of no item of the RAID log.
        let unblocked = artefacts.get(ArtefactKind::DeliveryState).filter(|_| kind == ArtefactKind::RaidLog);
        let unblocked = unblocked.and_then(|delivery| self.unblocked(delivery, artefacts, (causes, known)));
        let others: Vec<&Artefact> = artefacts
            .iter()
            .filter(|other| other.kind() != kind)
            .map(|other| match &unblocked {
                Some(unblocked) if other.kind() == ArtefactKind::DeliveryState => unblocked,
                _ => other,
            })
            .collect();
        let context = ArtefactContext {
            now: self.context.now,
            project: artefact.project(),
            actor: self.context.actor,
            causes,
            known,
            others: &others,
        };
        if operations.is_empty() { Ok(None) } else { apply_operations(artefact, operations, &context).map(Some) }
    }

    /// The delivery state with those of this cycle's operations alone that end blockers.
    fn unblocked(
        &self,
        delivery: &Artefact,
        artefacts: &ArtefactSet,
        (causes, known): (&[SignalRevision], &SignalReferences),
    ) -> Option<Artefact> {
        let is_end = |operation: &&ArtefactOperation| matches!(operation, ArtefactOperation::Close { id, .. } if id.kind == ArtefactItemKind::Blocker);
        let operations = self.operations.get(&ArtefactKind::DeliveryState)?;
        let ends: Vec<ArtefactOperation> = operations.iter().filter(is_end).cloned().collect();
        let others: Vec<&Artefact> = artefacts.get(ArtefactKind::RaidLog).into_iter().collect();
        let context = ArtefactContext {
            now: self.context.now,
            project: delivery.project(),
            actor: self.context.actor,
            causes,
            known,
            others: &others,
        };
        // A change that can't be applied is reported when all of it is applied.
        apply_operations(delivery, &ends, &context).ok().map(|change| change.artefact)
    }

    /// The statements about the backlog as a whole: when it was listed, and the changes of its scope.
    fn backlog_as_a_whole(&mut self) {
        let mut causes: Vec<SignalRevision> =
            self.causes.get(&ArtefactKind::BacklogSummary).into_iter().flatten().cloned().collect();
        let mut changes = ItemFields::new();
        let mut reason = "The backlog was listed.".to_owned();
        if self.rescoped > 0 && !causes.is_empty() {
            reason = match self.rescoped {
                1 => "A ticket changed the scope after the sprint was agreed.".to_owned(),
                more => format!("{more} tickets changed the scope after the sprint was agreed."),
            };
            let notes = items::inferred_statement(reason.as_str(), &causes);
            changes.insert(ArtefactField::ScopeNotes, ArtefactValue::Text(notes));
        }
        let mut source = "jira";
        if let Some((cause, word)) = self.synced.take() {
            changes.insert(ArtefactField::LastSynced, ArtefactValue::Date(self.context.now));
            source = word;
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        if changes.is_empty() {
            return;
        }
        let known = self.context.artefacts.items(ArtefactItemKind::Backlog).next().map(|(id, _)| id);
        let operation = match known {
            Some(id) => ArtefactOperation::Modify { id, changes, reason: items::inferred_statement(reason, &causes) },
            None => {
                let mut fields = changes;
                fields.insert(ArtefactField::Source, ArtefactValue::Word(source));
                ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Backlog, status: None, fields }
            }
        };
        self.operate(ArtefactKind::BacklogSummary, operation, &causes);
    }
}

/// Leaves out operations that violate a rule, so that the other changes of the artefact are made. Returns how many
/// additions to leave out the next time, 0 if nothing is left. An addition has its number by its place, so additions go
/// from the end on.
fn leave_out(operations: &mut Vec<ArtefactOperation>, violations: &[RuleViolation], last: usize) -> usize {
    let broken: BTreeSet<usize> = violations.iter().filter_map(|violation| violation.operation).collect();
    let is_add = |operation: &ArtefactOperation| matches!(operation, ArtefactOperation::Add { .. });
    let adds: Vec<usize> = (0..operations.len()).filter(|at| operations.get(*at).is_some_and(is_add)).collect();
    let from = match broken.iter().find(|at| adds.contains(at)) {
        Some(first) => *first,
        None if broken.is_empty() => adds.get(adds.len().saturating_sub(last)).copied().unwrap_or_default(),
        None => operations.len(),
    };
    let mut place = 0..;
    let before = operations.len();
    operations.retain(|operation| {
        let at = place.next().unwrap_or_default();
        !(broken.contains(&at) || (is_add(operation) && at >= from))
    });
    if operations.is_empty() || operations.len() == before { 0 } else { last.saturating_mul(2) }
}
