//! The outcome of each signal once everything of a cycle is applied: no more than the artefacts have.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;

use super::{
    cycle::{CycleContext, CyclePlan},
    group::GroupedSignals,
    outcome::{SignalOutcome, SignalOutcomeKind},
    questions,
};
use crate::artefact::ArtefactItemId;

/// Brings the outcomes in line with what was written. A signal that repeats what an item has is only read. A person is
/// asked about one whose item found no room.
pub(super) fn settle_outcomes(
    outcomes: &mut BTreeMap<SignalRevision, SignalOutcome>,
    groups: &[GroupedSignals<'_>],
    context: &CycleContext<'_>,
    plan: &mut CyclePlan,
) {
    let entries = plan.changes.iter().flat_map(|change| &change.entry.changes);
    let changed: BTreeSet<ArtefactItemId> = entries.map(|change| change.item).collect();
    let is_there = |item: &ArtefactItemId| {
        let artefact = context.artefacts.get(item.kind.artefact());
        changed.contains(item) || artefact.is_some_and(|artefact| artefact.item(*item).is_some())
    };
    let mut unwritten = BTreeSet::new();
    for outcome in outcomes.values_mut() {
        let whole = outcome.items.len();
        outcome.items.retain(is_there);
        let is_read = outcome.items.iter().all(|item| !changed.contains(item));
        if outcome.items.len() < whole {
            unwritten.insert(outcome.id.clone());
            outcome.kind = SignalOutcomeKind::Escalated;
        } else if outcome.kind == SignalOutcomeKind::Incorporated && is_read {
            outcome.kind = SignalOutcomeKind::Logged;
        }
    }
    let is_unwritten = |group: &&GroupedSignals<'_>| group.causes().iter().any(|cause| unwritten.contains(cause));
    let unwritten: Vec<_> = groups.iter().filter(is_unwritten).collect();
    if !unwritten.is_empty() {
        plan.questions.push(questions::of_unwritten(&unwritten));
    }
}
