//! Milestones: those of the project's file, risks that name them, and dates that pass.
//!
//! The file is trusted, so its dates are a person's: they arrive by themselves, earlier or later, as long as nobody else
//! has moved the date. The note of a milestone names the date that the file had, which tells. Whether a milestone with a
//! later date is on track again is for a person to say.

use std::collections::BTreeMap;

use proem_engine::{effect::key::SignalRevision, run::Time};

use super::{
    cycle::Cycle,
    group::GroupedSignals,
    items::{self, ItemFields},
    withheld::WithheldChanges,
};
use crate::{
    artefact::{
        ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation,
        ArtefactStatement, ArtefactValue, ItemStatus,
    },
    charter::CharterMilestone,
    date::utc_day,
};

/// Milestones of the project's file that are not in the artefacts yet and that something endangers, by name.
pub(super) type EndangeredMilestones = BTreeMap<String, String>;

impl Cycle<'_, '_> {
    /// Marks the milestones that a group names as at risk; if it names none, the next one.
    pub(super) fn milestone(&mut self, group: &GroupedSignals<'_>, raid: ArtefactItemId) -> Vec<ArtefactItemId> {
        let context = self.context;
        let causes = group.causes();
        let known: Vec<_> = context.artefacts.items(ArtefactItemKind::Milestone).collect();
        let is_named = |item: &ArtefactItem| {
            item.text(ArtefactField::Name).is_some_and(|name| name.ask(|name| group.mentions(name)) == Some(true))
        };
        let named: Vec<_> = known.iter().copied().filter(|(_, item)| is_named(item)).collect();
        let coming: Vec<CharterMilestone> = self.new_milestones().into_iter().cloned().collect();
        let named_coming: Vec<_> = coming.iter().filter(|milestone| group.mentions(&milestone.name)).collect();
        let why = |words: &str| format!("At risk because of {raid}, {words}.");
        if !named.is_empty() || !named_coming.is_empty() {
            let reason = why("which names it");
            self.endangered.extend(named_coming.iter().map(|coming| (coming.name.clone(), reason.clone())));
            return named.into_iter().map(|(id, item)| self.endanger(id, item, &reason, &causes)).collect();
        }
        let reason = why("which names no milestone; this is the next one");
        let due =
            |item: &ArtefactItem| item.date(ArtefactField::DueDate).filter(|due| !is_past(*due, context.wall_clock()));
        let next = known.into_iter().filter_map(|(id, item)| Some((due(item)?, id, item))).min_by_key(|next| next.0);
        let next_coming = coming.iter().filter(|milestone| !is_past(Time(milestone.due), context.wall_clock()));
        let next_coming = next_coming.min_by_key(|milestone| milestone.due).cloned();
        match (next, next_coming) {
            (Some((due, id, item)), coming) if coming.as_ref().is_none_or(|coming| coming.due >= due.0) => {
                vec![self.endanger(id, item, &reason, &causes)]
            }
            (_, Some(coming)) => {
                self.endangered.insert(coming.name.clone(), reason);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn endanger(
        &mut self,
        id: ArtefactItemId,
        item: &ArtefactItem,
        reason: &str,
        causes: &[SignalRevision],
    ) -> ArtefactItemId {
        if item.status == ItemStatus::OnTrack && self.marked.insert(id) {
            let due = item.date(ArtefactField::DueDate).filter(|_| follows_file(item));
            self.mark(id, ItemStatus::AtRisk, &promise_note(reason, due, causes), causes);
        }
        id
    }

    fn mark(&mut self, id: ArtefactItemId, to: ItemStatus, reason: &ArtefactStatement, causes: &[SignalRevision]) {
        let changes: ItemFields = BTreeMap::from([(ArtefactField::Notes, ArtefactValue::Text(reason.clone()))]);
        let delivery = ArtefactKind::DeliveryState;
        self.operate(delivery, ArtefactOperation::Modify { id, changes, reason: reason.clone() }, causes);
        self.operate(delivery, ArtefactOperation::ChangeStatus { id, to, reason: reason.clone() }, causes);
    }

    /// Milestones of the project's file that the delivery state does not have, as far as it has room, the next first.
    fn new_milestones(&self) -> Vec<&CharterMilestone> {
        let Some(delivery) = self.context.artefacts.get(ArtefactKind::DeliveryState) else { return Vec::new() };
        let is_known = |milestone: &&CharterMilestone| {
            delivery.of_kind(ArtefactItemKind::Milestone).any(|(_, item)| is_named_milestone(item, &milestone.name))
        };
        let mut new: Vec<&CharterMilestone> = Vec::new();
        for milestone in self.context.charter.milestones.iter().filter(|milestone| !is_known(milestone)) {
            if new.iter().all(|other| other.name != milestone.name) {
                new.push(milestone);
            }
        }
        let room =
            ArtefactItemKind::Milestone.most_open().saturating_sub(delivery.open(ArtefactItemKind::Milestone).count());
        if new.len() > room {
            new.sort_by_key(|milestone| milestone.due);
            new.truncate(room);
        }
        new
    }

    /// Brings milestones up to date with the project's file and the time. They wait for a signal that changes the
    /// delivery state. Once there is one, any signal does.
    pub(super) fn milestones(&mut self, withheld: &mut WithheldChanges) {
        let mut causes: Vec<SignalRevision> =
            self.causes.get(&ArtefactKind::DeliveryState).into_iter().flatten().cloned().collect();
        let is_begun =
            self.context.artefacts.get(ArtefactKind::DeliveryState).is_some_and(|delivery| delivery.version() > 0);
        if causes.is_empty() && is_begun {
            causes.extend(self.latest.clone());
        }
        if causes.is_empty() {
            return;
        }
        let new: Vec<CharterMilestone> = self.new_milestones().into_iter().cloned().collect();
        for milestone in new {
            self.add_milestone(&milestone, &causes);
        }
        for (id, item) in self.context.artefacts.items(ArtefactItemKind::Milestone) {
            let promised =
                self.context.charter.milestones.iter().find(|milestone| is_named_milestone(item, &milestone.name));
            let due = promised.map(|milestone| Time(milestone.due)).or_else(|| item.date(ArtefactField::DueDate));
            let has_moved = due != item.date(ArtefactField::DueDate);
            if has_moved && follows_file(item) {
                self.redate(id, item, due, (&causes, withheld));
            }
            let due = if has_moved && !follows_file(item) { item.date(ArtefactField::DueDate) } else { due };
            let promised = promised.map(|milestone| Time(milestone.due)).filter(|promised| Some(*promised) == due);
            let passed =
                due.filter(|due| is_past(*due, self.context.wall_clock()) && item.status != ItemStatus::Delayed);
            if let Some(due) = passed {
                self.mark(id, ItemStatus::Delayed, &promise_note(&passed_words(due), promised, &causes), &causes);
            }
        }
    }

    fn add_milestone(&mut self, milestone: &CharterMilestone, causes: &[SignalRevision]) {
        let due = Time(milestone.due);
        let endangered = self.endangered.remove(&milestone.name);
        let (status, notes) = match endangered {
            _ if is_past(due, self.context.wall_clock()) => (Some(ItemStatus::Delayed), passed_words(due)),
            Some(reason) => (Some(ItemStatus::AtRisk), reason),
            None => (None, String::new()),
        };
        let notes = promise_note(&notes, Some(due), causes);
        let fields: ItemFields = BTreeMap::from([
            (ArtefactField::Name, ArtefactValue::Text(items::inferred_statement(milestone.name.as_str(), causes))),
            (ArtefactField::DueDate, ArtefactValue::Date(due)),
            (ArtefactField::Notes, ArtefactValue::Text(notes)),
        ]);
        let operation = ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Milestone, status, fields };
        self.operate(ArtefactKind::DeliveryState, operation, causes);
    }

    /// Takes over a date of the project's file. A later date makes nothing on track by itself.
    fn redate(
        &mut self,
        id: ArtefactItemId,
        item: &ArtefactItem,
        due: Option<Time>,
        (causes, withheld): (&[SignalRevision], &mut WithheldChanges),
    ) {
        let Some(due) = due else { return };
        let reason = promise_note("", Some(due), causes);
        let changes: ItemFields = BTreeMap::from([
            (ArtefactField::DueDate, ArtefactValue::Date(due)),
            (ArtefactField::Notes, ArtefactValue::Text(reason.clone())),
        ]);
        let delivery = ArtefactKind::DeliveryState;
        self.operate(delivery, ArtefactOperation::Modify { id, changes, reason: reason.clone() }, causes);
        if item.is_overdue(self.context.wall_clock())
            && item.status == ItemStatus::Delayed
            && !is_past(due, self.context.wall_clock())
        {
            withheld.redated.push(ArtefactOperation::ChangeStatus { id, to: ItemStatus::OnTrack, reason });
        }
    }
}

/// A note with the date that the project's file has, if it has one.
fn promise_note(words: &str, promised: Option<Time>, causes: &[SignalRevision]) -> ArtefactStatement {
    let promise = promised.map(promise_words);
    let words: Vec<&str> =
        [Some(words), promise.as_deref()].into_iter().flatten().filter(|of| !of.is_empty()).collect();
    items::inferred_statement(words.join(" "), causes)
}

fn promise_words(due: Time) -> String {
    format!("The project's file has {}.", utc_day(due))
}

/// Whether the date of a milestone is still the one that the project's file gave it.
pub(super) fn follows_file(item: &ArtefactItem) -> bool {
    let (Some(due), Some(notes)) = (item.date(ArtefactField::DueDate), item.text(ArtefactField::Notes)) else {
        return false;
    };
    notes.ask(|notes| notes.ends_with(&promise_words(due))) == Some(true)
}

pub(super) fn is_named_milestone(item: &ArtefactItem, name: &str) -> bool {
    item.text(ArtefactField::Name).and_then(|known| known.ask(|known| known == name)) == Some(true)
}

/// Whether the day that begins at a time is over.
const fn is_past(due: Time, now: Time) -> bool {
    const DAY: i64 = 86_400_000;
    due.0.saturating_add(DAY) <= now.0
}

fn passed_words(due: Time) -> String {
    format!("Overdue: its date, {}, passed, and nobody called it completed.", utc_day(due))
}
