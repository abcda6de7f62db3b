//! How the items of a version stand to each other, to the version before and to the other artefacts.

use super::{
    apply::EscalationNeed,
    field::ArtefactField,
    item::{Artefact, ArtefactItem},
    kind::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemStatus},
    operation::{ArtefactActor, ArtefactContext},
    rule::{ArtefactRule, RuleViolation},
};

/// Adds every rule that the next version would break.
pub(super) fn check_standing(
    before: &Artefact,
    next: &Artefact,
    context: &ArtefactContext<'_>,
    violations: &mut Vec<RuleViolation>,
) {
    let mut say = |rule, item, field| violations.push(RuleViolation { rule, item, field, operation: None });
    for kind in ArtefactItemKind::ALL {
        // A model's items leave room for those of rules and people, so that no flood keeps a real one out.
        let most = match context.actor {
            ArtefactActor::Agent(_) => kind.most_open().div_ceil(2),
            ArtefactActor::Person(_) | ArtefactActor::System(_) => kind.most_open(),
        };
        let (open, before) = (next.open(kind).count(), before.open(kind).count());
        if open > most && open > before {
            say(ArtefactRule::TooManyOpen(most), None, None);
        }
    }
    for (id, item) in next.items() {
        if let Some(field) = lacks_next_step(id, item) {
            say(ArtefactRule::NoNextStep, Some(id), Some(field));
        }
        if id.kind == ArtefactItemKind::Health && !is_justified(before.item(id), item) {
            say(ArtefactRule::ColourWithoutJustification, Some(id), Some(ArtefactField::StatusSummary));
        }
    }
    // Either artefact may change: the count of blockers and the RAID log agree in all versions.
    let pair = match next.kind() {
        ArtefactKind::DeliveryState => Some((next, context.other(ArtefactKind::RaidLog))),
        ArtefactKind::RaidLog => context.other(ArtefactKind::DeliveryState).map(|delivery| (delivery, Some(next))),
        ArtefactKind::BacklogSummary | ArtefactKind::DecisionLog => None,
    };
    if let Some((delivery, raid)) = pair {
        for id in unlinked_blockers(delivery, raid) {
            say(ArtefactRule::BlockerWithoutRaidItem, Some(id), Some(ArtefactField::RaidItem));
        }
    }
}

/// The open blockers behind which no item of the RAID log is open.
fn unlinked_blockers(delivery: &Artefact, raid: Option<&Artefact>) -> Vec<ArtefactItemId> {
    let is_linked = |item: &ArtefactItem| {
        let linked = item.raid_items(ArtefactField::RaidItem);
        let is_open =
            |id: &ArtefactItemId| raid.and_then(|raid| raid.item(*id)).is_some_and(|item| item.status.is_open());
        !linked.is_empty() && linked.iter().all(is_open)
    };
    delivery.open(ArtefactItemKind::Blocker).filter(|(_, item)| !is_linked(item)).map(|(id, _)| id).collect()
}

/// The field in which the next step of an open item is missing.
///
/// A blocker's is that of its item in the RAID log, a refinement candidate's is to add what it lacks.
fn lacks_next_step(id: ArtefactItemId, item: &ArtefactItem) -> Option<ArtefactField> {
    let field = match id.kind {
        kind if kind.is_raid() => ArtefactField::Mitigation,
        ArtefactItemKind::Highlight => ArtefactField::SuggestedAction,
        ArtefactItemKind::Milestone if item.status != ItemStatus::OnTrack => ArtefactField::Notes,
        _ => return None,
    };
    let is_missing = item.text(field).is_none_or(super::statement::ArtefactStatement::is_blank);
    (item.status.is_open() && is_missing).then_some(field)
}

/// Whether the colour is the same as before, or the summary says something else than before.
fn is_justified(before: Option<&ArtefactItem>, item: &ArtefactItem) -> bool {
    let Some(before) = before else { return true };
    let summary = |item: &ArtefactItem| item.text(ArtefactField::StatusSummary).cloned();
    let is_new = match (summary(before), summary(item)) {
        (Some(before), Some(summary)) => !before.says_what(&summary),
        (_, summary) => summary.is_some(),
    };
    before.word(ArtefactField::OverallStatus) == item.word(ArtefactField::OverallStatus) || is_new
}

/// The questions to a person: the owners of open items that have none.
pub(super) fn asks(artefact: &Artefact) -> Vec<EscalationNeed> {
    let has_owner = |item: &ArtefactItem| item.text(ArtefactField::Owner).is_some();
    let owned = |id: ArtefactItemId| id.kind.rule(ArtefactField::Owner).is_some();
    let without = artefact.items().filter(|(id, item)| owned(*id) && item.status.is_open() && !has_owner(item));
    without.map(|(id, _)| EscalationNeed::Owner(id)).collect()
}
