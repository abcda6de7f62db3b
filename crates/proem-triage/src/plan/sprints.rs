//! Sprints: as a system says that they begin and end, and as tickets and listings name them.
//!
//! Tickets' own fields count if no event reported a sprint in the same cycle: an event is newer than the fields of a
//! ticket that was changed before it.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::{Untrusted, show};

use super::{
    context::CycleMember,
    cycle::Cycle,
    group::{GroupedSignals, is_kept_out},
    items::{self, ItemFields},
};
use crate::{
    artefact::{
        ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation,
        ArtefactStatement, ArtefactValue,
    },
    signal::SignalKind,
    sprint_field::{FieldSprint, SprintState, field_sprints},
};

/// The sprints that the tickets of a cycle name.
#[derive(Default)]
struct NamedSprints<'m, 'r> {
    /// Those that are active, each with how many tickets name it and the last of them.
    active: BTreeMap<String, (usize, &'m CycleMember<'r>, FieldSprint<'r>)>,
    closed: BTreeSet<String>,
}

impl<'r> Cycle<'_, 'r> {
    /// A sprint begins or ends.
    pub(super) fn sprint(&mut self, member: &CycleMember<'r>) -> Option<ArtefactItemId> {
        let cause = [SignalRevision::from(member.signal)];
        let open = self.context.artefacts.items(ArtefactItemKind::Sprint).next();
        let reason = |words: &str| items::inferred_statement(words, &cause);
        let is_made = self.next.contains_key(&ArtefactItemKind::Sprint);
        match member.signal.kind {
            SignalKind::SprintStarted if !is_made => {
                let fields = items::sprint_fields(member.sanitised, member.signal)?;
                if open.is_some_and(|(_, item)| is_named_sprint(item, &fields)) {
                    return None;
                }
                if let Some((id, _)) = open {
                    let reason = reason("Another sprint started.");
                    self.operate(ArtefactKind::DeliveryState, ArtefactOperation::Close { id, reason }, &cause);
                }
                Some(self.add_sprint(*member, fields))
            }
            SignalKind::SprintClosed if !is_made => {
                let (id, item) = open?;
                // An old sprint that a listing calls closed ends no other one.
                let named = items::sprint_fields(member.sanitised, member.signal);
                if named.is_some_and(|fields| !is_named_sprint(item, &fields)) {
                    return None;
                }
                let reason = reason("The sprint was closed.");
                self.operate(ArtefactKind::DeliveryState, ArtefactOperation::Close { id, reason }, &cause);
                self.next.insert(ArtefactItemKind::Sprint, u32::MAX);
                Some(id)
            }
            _ => None,
        }
    }

    /// Learns the sprint from the fields of tickets, if no event told of one.
    pub(super) fn learn_sprint(&mut self, groups: &[GroupedSignals<'r>]) {
        if self.next.contains_key(&ArtefactItemKind::Sprint) {
            return;
        }
        let named = NamedSprints::of(groups.iter().flat_map(GroupedSignals::members));
        let context = self.context;
        let open = context.artefacts.items(ArtefactItemKind::Sprint).next();
        let most = named
            .active
            .iter()
            .max_by(|(name, (count, ..)), (other, (others, ..))| count.cmp(others).then_with(|| other.cmp(name)));
        let known = |item: &ArtefactItem| item.text(ArtefactField::Name).and_then(exact_name).unwrap_or_default();
        match (open, most) {
            (Some((id, item)), _) if named.active.contains_key(&known(item)) => {
                if let Some((_, member, sprint)) = named.active.get(&known(item)) {
                    self.update_sprint((id, item), member, *sprint);
                }
            }
            (Some((id, item)), Some((_, (_, member, sprint)))) => {
                let is_over = named.closed.contains(&known(item))
                    || item.date(ArtefactField::EndDate).is_some_and(|end| end <= context.now);
                let is_later = item.date(ArtefactField::StartDate).map(|start| start.0) < sprint.start;
                if let Some(fields) = sprint_fields(member, *sprint).filter(|_| is_over || is_later) {
                    let cause = [SignalRevision::from(member.signal)];
                    let reason = items::inferred_statement("The tracker calls another sprint active.", &cause);
                    self.operate(ArtefactKind::DeliveryState, ArtefactOperation::Close { id, reason }, &cause);
                    self.add_sprint(**member, fields);
                }
            }
            (Some((id, item)), None) if named.closed.contains(&known(item)) => {
                let Some(member) = groups.iter().flat_map(GroupedSignals::members).last() else { return };
                let cause = [SignalRevision::from(member.signal)];
                let reason = items::inferred_statement("The tracker calls the sprint closed.", &cause);
                self.operate(ArtefactKind::DeliveryState, ArtefactOperation::Close { id, reason }, &cause);
            }
            (None, Some((name, (_, member, sprint)))) => {
                // A past sprint stays past: an old list reports no more of it than it did.
                let delivery = context.artefacts.get(ArtefactKind::DeliveryState);
                let mut all = delivery.into_iter().flat_map(|delivery| delivery.of_kind(ArtefactItemKind::Sprint));
                let was_there = all.any(|(_, item)| known(item) == *name);
                if let Some(fields) = sprint_fields(member, *sprint).filter(|_| !was_there) {
                    self.add_sprint(**member, fields);
                }
            }
            _ => {}
        }
    }

    fn add_sprint(&mut self, member: CycleMember<'r>, fields: ItemFields) -> ArtefactItemId {
        let kind = ArtefactItemKind::Sprint;
        let group = GroupedSignals::new(vec![member], self.context.charter.key.as_str());
        self.add(kind, ArtefactOperation::Add { id: None, kind, status: None, fields }, &group)
    }

    /// Brings dates and goal of the open sprint up to date.
    fn update_sprint(
        &mut self,
        (id, item): (ArtefactItemId, &ArtefactItem),
        member: &CycleMember<'r>,
        sprint: FieldSprint<'r>,
    ) {
        let Some(mut changes) = sprint_fields(member, sprint) else { return };
        changes.retain(|field, value| !item.fields.get(field).is_some_and(|known| known.says_what(value)));
        if sprint.goal.is_none() {
            changes.remove(&ArtefactField::Goal);
        }
        if changes.is_empty() {
            return;
        }
        let cause = [SignalRevision::from(member.signal)];
        let reason = items::inferred_statement("The tracker has other dates or another goal for the sprint.", &cause);
        self.operate(ArtefactKind::DeliveryState, ArtefactOperation::Modify { id, changes, reason }, &cause);
    }
}

impl<'m, 'r> NamedSprints<'m, 'r> {
    fn of(members: impl Iterator<Item = &'m CycleMember<'r>>) -> Self {
        let mut named = Self::default();
        for member in members.filter(|member| !is_kept_out(member) && !member.sanitised.is_suspected()) {
            for sprint in field_sprints(member.signal) {
                let Some(name) = comparable_name(sprint.name) else { continue };
                match sprint.state {
                    SprintState::Closed => _ = named.closed.insert(name),
                    SprintState::Active => {
                        let known = named.active.entry(name).or_insert((0, member, sprint));
                        *known = (known.0.saturating_add(1), member, sprint);
                    }
                    SprintState::Future => {}
                }
            }
        }
        // A ticket that was listed earlier may call a sprint closed that another one calls active later, and the reverse.
        named.closed.retain(|name| !named.active.contains_key(name));
        named
    }
}

/// A sprint's item from a ticket's field. `None` unless it has both dates and a name that may be shown.
fn sprint_fields(member: &CycleMember<'_>, sprint: FieldSprint<'_>) -> Option<ItemFields> {
    let cause = SignalRevision::from(member.signal);
    // The guard looked at the texts of the first sprint that is active.
    let first = field_sprints(member.signal).into_iter().find(|sprint| sprint.state == SprintState::Active)?;
    let is_first = comparable_name(first.name) == comparable_name(sprint.name);
    let name = items::sprint_text(member, 0).filter(|_| is_first)?;
    let goal = items::sprint_text(member, 1)
        .unwrap_or_else(|| items::inferred_statement("The sprint has no goal that may be shown.", &[cause]));
    let date = |at: Option<i64>| at.map(|at| ArtefactValue::Date(Time(at)));
    Some(BTreeMap::from([
        (ArtefactField::Name, ArtefactValue::Text(name)),
        (ArtefactField::StartDate, date(sprint.start)?),
        (ArtefactField::EndDate, date(sprint.end)?),
        (ArtefactField::Goal, ArtefactValue::Text(goal)),
    ]))
}

/// Whether an item has the name of these fields.
fn is_named_sprint(item: &ArtefactItem, fields: &ItemFields) -> bool {
    let known = item.fields.get(&ArtefactField::Name);
    known.zip(fields.get(&ArtefactField::Name)).is_some_and(|(known, name)| known.says_what(name))
}

/// A name to compare with another, which is never shown.
fn comparable_name(name: &Untrusted<String>) -> Option<String> {
    show::exact_json(name).as_str().map(|name| name.trim().to_owned())
}

fn exact_name(name: &ArtefactStatement) -> Option<String> {
    show::tree_json(name.words()).as_str().map(str::to_owned)
}
