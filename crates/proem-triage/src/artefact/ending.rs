//! The operations that end something or make it look better, and the persons who may do that.
//!
//! Laws: the answer depends on the item and the operation alone. An operation that this page does not know counts as
//! one that softens. A person may do anything. Rules may end or soften a tracked item only if the tracker itself says
//! that the item's own ticket is done, and may improve the colour only if such an item is over. They may move the date
//! of a milestone to the one in the project's trusted file, which is a person's word. A model may do neither.

use std::collections::BTreeMap;

use super::{
    field::ArtefactField as F,
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemKind as K, ArtefactKind, ItemStatus},
    operation::{ArtefactActor, ArtefactContext, ArtefactOperation, SignalReferences},
};

/// How an operation bears on what people rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationBearing {
    /// Nothing ends or looks better than before.
    Neutral,
    /// Something looks less severe, less late or like something else.
    Softens,
    /// Something is over.
    Ends,
}

/// How an operation bears on an item as it is. `None` for an item that is not there.
#[must_use]
pub fn operation_bearing(item: Option<&ArtefactItem>, operation: &ArtefactOperation) -> OperationBearing {
    match operation {
        // A new item takes nothing from the others.
        ArtefactOperation::Add { .. } => OperationBearing::Neutral,
        ArtefactOperation::Close { .. } => OperationBearing::Ends,
        ArtefactOperation::ChangeStatus { to, .. } => {
            item.map_or(OperationBearing::Softens, |item| status_bearing(item, *to))
        }
        ArtefactOperation::Modify { changes, .. } => {
            let bearing = |(field, after): (&F, &ArtefactValue)| match item.map(|item| item.fields.get(field)) {
                None => OperationBearing::Softens,
                Some(before) => field_bearing(*field, before, after),
            };
            changes.iter().map(bearing).max().unwrap_or(OperationBearing::Neutral)
        }
    }
}

fn status_bearing(item: &ArtefactItem, to: ItemStatus) -> OperationBearing {
    /// How far a status is from the end of its item.
    const fn distance_from_end(status: ItemStatus) -> u8 {
        match status {
            ItemStatus::Delayed => 2,
            ItemStatus::Open | ItemStatus::AtRisk => 1,
            _ => 0,
        }
    }
    if to.is_over() {
        OperationBearing::Ends
    } else if distance_from_end(to) < distance_from_end(item.status) {
        OperationBearing::Softens
    } else {
        OperationBearing::Neutral
    }
}

pub(super) fn field_bearing(field: F, before: Option<&ArtefactValue>, after: &ArtefactValue) -> OperationBearing {
    if before.is_some_and(|before| before.says_what(after)) {
        return OperationBearing::Neutral;
    }
    let softens = match field {
        F::Severity | F::OverallStatus => is_milder(before, after),
        // A first date gives a date to what had none. A later one takes what is due off the list of what is late.
        F::StartDate | F::EndDate | F::DueDate | F::RaisedDate | F::Date => match (before, after) {
            (None, ArtefactValue::Date(_)) => false,
            (Some(ArtefactValue::Date(before)), ArtefactValue::Date(after)) => after > before,
            _ => true,
        },
        // The words that go with an item, and a time that only grows.
        F::StatusSummary
        | F::Notes
        | F::Mitigation
        | F::SuggestedAction
        | F::ScopeNotes
        | F::Action
        | F::LastSynced => false,
        // An item's name, account, owner and links: under another name nobody finds it, and behind another ticket it
        // ends with that one.
        F::Name
        | F::Title
        | F::Description
        | F::Goal
        | F::Owner
        | F::SourceTicket
        | F::SourceReference
        | F::TicketId
        | F::RaidItem
        | F::RelatedRaidItems
        | F::Source
        | F::Flag
        | F::Detail
        | F::Issue
        | F::Context
        | F::OptionsConsidered
        | F::Decision
        | F::Rationale
        | F::MadeBy => true,
    };
    if softens { OperationBearing::Softens } else { OperationBearing::Neutral }
}

/// Whether a word is milder than the one before. Words that are not of one scale are.
fn is_milder(before: Option<&ArtefactValue>, after: &ArtefactValue) -> bool {
    /// The scales of severity and colour, the worst first.
    const SCALES: [&[&str]; 2] = [&["critical", "high", "medium", "low"], &["red", "amber", "green"]];
    let (Some(ArtefactValue::Word(before)), ArtefactValue::Word(after)) = (before, after) else { return true };
    let places = SCALES.into_iter().find_map(|scale| {
        let place = |word: &str| scale.iter().position(|known| *known == word);
        place(before).zip(place(after))
    });
    places.is_none_or(|(before, after)| after > before)
}

impl K {
    /// Whether people rely on it to stay until it is over: what no rule ends without an event of the tracker.
    ///
    /// Sprints, highlights, candidates and next actions are what the tracker itself or a rule says of the moment.
    const fn is_tracked(self) -> bool {
        match self {
            Self::Health
            | Self::Milestone
            | Self::Blocker
            | Self::Risk
            | Self::Assumption
            | Self::Issue
            | Self::Dependency
            | Self::Decision => true,
            Self::Sprint | Self::NextAction | Self::Backlog | Self::Highlight | Self::RefinementCandidate => false,
        }
    }
}

/// Whether an operation needs a person: it ends or softens something, and neither its actor nor an event of the
/// tracker allows that.
///
/// `before` is the version before the change and `next` what the operations before this one made of it: an item counts
/// by the tickets that it was linked to before, so that no change links it to another one first.
#[must_use]
pub fn needs_person(
    before: &Artefact,
    next: &Artefact,
    operation: &ArtefactOperation,
    context: &ArtefactContext<'_>,
) -> bool {
    let Some(id) = operation.item() else { return false };
    let items = [before.item(id), next.item(id)];
    let bearing = items.into_iter().flatten().map(|item| operation_bearing(Some(item), operation)).max();
    // An item that is nowhere, or over, can't change anyway.
    let is_open = next.item(id).is_some_and(|item| !item.status.is_over());
    if !is_open || bearing == Some(OperationBearing::Neutral) {
        return false;
    }
    match context.actor {
        ArtefactActor::Person(_) => false,
        ArtefactActor::Agent(_) => true,
        ArtefactActor::System(_) => match items {
            _ if !id.kind.is_tracked() => false,
            _ if id.kind == K::Health => !has_ended_item(next, context),
            [Some(before), _] if is_promised_date(before, operation, context.known) => false,
            [Some(before), _] => !is_done_in_tracker(before, context.known),
            // An item that this change adds is not done.
            [None, _] => true,
        },
    }
}

/// Whether an operation does no more than to take over a milestone's date from the project's trusted file.
fn is_promised_date(item: &ArtefactItem, operation: &ArtefactOperation, known: &SignalReferences) -> bool {
    let ArtefactOperation::Modify { id, changes, .. } = operation else { return false };
    let is_only = changes.keys().all(|field| matches!(field, F::DueDate | F::Notes));
    let (Some(ArtefactValue::Date(due)), Some(name)) = (changes.get(&F::DueDate), item.text(F::Name)) else {
        return false;
    };
    id.kind == K::Milestone && is_only && known.is_promised(name, *due)
}

fn is_done_in_tracker(item: &ArtefactItem, known: &SignalReferences) -> bool {
    let tickets = [F::SourceTicket, F::SourceReference].into_iter().filter_map(|field| item.text(field));
    tickets.into_iter().any(|ticket| known.is_done(ticket))
}

/// Whether a tracked item is over whose ticket the tracker calls done: a reason for a better colour.
fn has_ended_item(artefact: &Artefact, context: &ArtefactContext<'_>) -> bool {
    let others = context.others.iter().copied().filter(|other| other.kind() == ArtefactKind::RaidLog);
    let mut items = others.chain([artefact]).flat_map(Artefact::items);
    items.any(|(id, item)| id.kind.is_tracked() && item.status.is_over() && is_done_in_tracker(item, context.known))
}

/// The fields of an item that an operation would change, each with what it says and what it would say.
#[must_use]
pub(super) fn changed_fields<'o>(
    item: Option<&'o ArtefactItem>,
    changes: &'o BTreeMap<F, ArtefactValue>,
) -> Vec<(F, Option<&'o ArtefactValue>, &'o ArtefactValue)> {
    let before = |field: &F| item.and_then(|item| item.fields.get(field));
    let all = changes.iter().map(|(field, after)| (*field, before(field), after));
    all.filter(|(_, before, after)| before.is_none_or(|before| !before.says_what(after))).collect()
}
