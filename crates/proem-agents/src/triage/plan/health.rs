//! The colour of a project, by what is open in its artefacts.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;

use super::items::{self, ItemFields};
use crate::triage::artefact::{
    Artefact, ArtefactField, ArtefactItem, ArtefactItemKind, ArtefactOperation, ArtefactValue, ItemStatus,
};

/// How many tickets moved.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MovedTickets {
    /// All of them.
    pub(super) all: usize,
    /// Those that moved to done.
    pub(super) done: usize,
}

/// The colour of the project, and why, as the items have it.
pub(super) fn health(
    delivery: &Artefact,
    raid: Option<&Artefact>,
    causes: &[SignalRevision],
    moved: MovedTickets,
) -> Option<ArtefactOperation> {
    let blockers: Vec<_> = delivery.open(ArtefactItemKind::Blocker).collect();
    let raid: Vec<_> = raid.into_iter().flat_map(Artefact::items).filter(|(_, item)| item.status.is_open()).collect();
    let late =
        delivery.open(ArtefactItemKind::Milestone).filter(|(_, item)| item.status != ItemStatus::OnTrack).count();
    let is = |item: &ArtefactItem, word: &str| item.word(ArtefactField::Severity) == Some(word);
    let critical = raid.iter().filter(|(_, item)| is(item, "critical")).count();
    let serious = raid.iter().filter(|(_, item)| is(item, "critical") || is(item, "high")).count();
    let colour = if critical > 0 {
        "red"
    } else if !blockers.is_empty() || serious > 0 || late > 0 {
        "amber"
    } else {
        "green"
    };
    let MovedTickets { all: moved, done } = moved;
    let mut words = vec![
        counted(blockers.len(), "open blocker"),
        match (raid.len(), serious) {
            (0, _) => "nothing open in the RAID log".to_owned(),
            (open, 0) => format!("{} in the RAID log", counted(open, "open item")),
            (open, serious) => {
                format!("{} in the RAID log, {serious} of them high or critical", counted(open, "open item"))
            }
        },
    ];
    // Red and amber never have the same words: a colour is justified by what stands here.
    if critical > 0 {
        words.push(format!("{critical} critical"));
    }
    if late > 0 {
        words.push(format!("{} at risk or late", counted(late, "milestone")));
    }
    if moved > 0 {
        words.push(format!("{} moved, {done} of them to done", counted(moved, "ticket")));
    }
    let summary = items::inferred(format!("{}.", words.join("; ")), causes);
    let fields: ItemFields = BTreeMap::from([
        (ArtefactField::OverallStatus, ArtefactValue::Word(colour)),
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
pub(super) fn split_colour(health: &mut ArtefactOperation) -> Option<ArtefactOperation> {
    let ArtefactOperation::Modify { id, changes, reason } = health else { return None };
    let colour = changes.remove(&ArtefactField::OverallStatus)?;
    // A colour changes with a new summary, and that of the rules stands by then.
    let summary = reason.clone().followed_by(" A person confirmed the colour.");
    let fields = [(ArtefactField::OverallStatus, colour), (ArtefactField::StatusSummary, ArtefactValue::Text(summary))];
    Some(ArtefactOperation::Modify { id: *id, changes: fields.into(), reason: reason.clone() })
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
