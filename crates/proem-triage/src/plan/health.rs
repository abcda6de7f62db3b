//! The colour of a project, by what is open in its artefacts once everything else of the cycle is decided.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;

use super::{
    context::ArtefactSet,
    items::{self, ItemFields},
    withheld::Questioner,
};
use crate::artefact::{
    Artefact, ArtefactContext, ArtefactField, ArtefactItemKind, ArtefactKind, ArtefactOperation, ArtefactValue,
    ProjectHealth, SignalReferences, apply_operations, needs_person,
};

/// How many tickets moved.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MovedTickets {
    /// All of them.
    pub(super) all: usize,
    /// Those that moved to done.
    pub(super) done: usize,
}

/// The occasions for counting the colour: the signals that changed something, and the tickets that moved.
#[derive(Debug, Default)]
pub(super) struct HealthOccasion {
    pub(super) causes: BTreeSet<SignalRevision>,
    pub(super) moved: MovedTickets,
}

impl Questioner<'_, '_> {
    /// Brings the colour up to date with all other changes of the cycle. A better one that no event of the tracker
    /// explains becomes a question.
    pub(super) fn recolour(&mut self, occasion: HealthOccasion, known: &SignalReferences) {
        let HealthOccasion { mut causes, moved } = occasion;
        causes.extend(self.plan.changes.iter().flat_map(|change| change.entry.causes.iter().cloned()));
        let causes: Vec<SignalRevision> = causes.into_iter().collect();
        let artefacts = self.artefacts();
        let counts = ProjectHealth::of(artefacts.iter(), self.context.wall_clock());
        if causes.is_empty() || self.is_told_by_model(&artefacts, &counts) {
            return;
        }
        let Some(delivery) = artefacts.get(ArtefactKind::DeliveryState) else { return };
        let Some(mut operation) = colour_operation(delivery, &counts, &causes, moved) else { return };
        let others: Vec<&Artefact> = artefacts.iter().filter(|other| other.kind() != delivery.kind()).collect();
        let terms = ArtefactContext {
            now: self.context.now,
            project: delivery.project(),
            actor: self.context.actor,
            causes: &causes,
            known,
            others: &others,
        };
        let better =
            if needs_person(delivery, delivery, &operation, &terms) { split_colour(&mut operation) } else { None };
        match apply_operations(delivery, &[operation], &terms) {
            Ok(change) => self.plan.add_change(change),
            Err(violations) => self.plan.refused.extend(violations),
        }
        if let Some(colour) = better {
            self.ask_colour(colour);
        }
    }

    /// Whether a model wrote another summary in this cycle, with a colour that is no better than the counted one.
    fn is_told_by_model(&self, artefacts: &ArtefactSet, counts: &ProjectHealth) -> bool {
        let of = |artefacts: &ArtefactSet, field| {
            let delivery = artefacts.get(ArtefactKind::DeliveryState)?;
            delivery.of_kind(ArtefactItemKind::Health).next()?.1.fields.get(&field).cloned()
        };
        let has_changed =
            |field| of(artefacts, field).is_some() && of(artefacts, field) != of(self.context.artefacts, field);
        let rank = |word: &str| ["green", "amber", "red"].iter().position(|known| *known == word);
        let colour = match of(artefacts, ArtefactField::OverallStatus) {
            Some(ArtefactValue::Word(word)) => rank(word),
            _ => None,
        };
        has_changed(ArtefactField::StatusSummary) && colour >= rank(counts.colour())
    }
}

/// The colour of the project, and why, as the counts have it. `None` if that is what it says already.
fn colour_operation(
    delivery: &Artefact,
    counts: &ProjectHealth,
    causes: &[SignalRevision],
    MovedTickets { all: moved, done }: MovedTickets,
) -> Option<ArtefactOperation> {
    let moved = match moved {
        0 => String::new(),
        1 => format!("; 1 ticket moved, {done} of them to done"),
        more => format!("; {more} tickets moved, {done} of them to done"),
    };
    let summary =
        items::inferred_statement(format!("{}{moved}. By rule {}.", counts.in_words(), counts.reason()), causes);
    let fields: ItemFields = BTreeMap::from([
        (ArtefactField::OverallStatus, ArtefactValue::Word(counts.colour())),
        (ArtefactField::StatusSummary, ArtefactValue::Text(summary.clone())),
    ]);
    let health = delivery.of_kind(ArtefactItemKind::Health).next();
    match health {
        None => Some(ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Health, status: None, fields }),
        Some((_, item)) if item.text(ArtefactField::StatusSummary).is_some_and(|said| said.says_what(&summary)) => None,
        Some((id, _)) => Some(ArtefactOperation::Modify { id, changes: fields, reason: summary }),
    }
}

/// Takes the colour out of a change of the health; what a person would agree to with it, in a summary of its own.
fn split_colour(health: &mut ArtefactOperation) -> Option<ArtefactOperation> {
    let ArtefactOperation::Modify { id, changes, reason } = health else { return None };
    let colour = changes.remove(&ArtefactField::OverallStatus)?;
    // A colour changes with a new summary, and that of the rules is by then.
    let summary = reason.clone().followed_by(" A person confirmed the colour.");
    let fields = [(ArtefactField::OverallStatus, colour), (ArtefactField::StatusSummary, ArtefactValue::Text(summary))];
    Some(ArtefactOperation::Modify { id: *id, changes: fields.into(), reason: reason.clone() })
}
