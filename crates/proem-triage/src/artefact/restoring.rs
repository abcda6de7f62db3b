//! An older version of an artefact as its next one, with what the log tells of the versions since: what a person does if the
//! newest can't be read.
//!
//! Laws: no id is given a second time, and no item of the RAID log that was added since is forgotten: its text is lost,
//! and it stays as an item to fill in. Fields and states in the log are taken over as they were.

use std::collections::BTreeMap;

use proem_engine::run::Time;

use super::{
    apply::AppliedChange,
    field::ArtefactField,
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemId, ItemStatus},
    operation::{ArtefactActor, ArtefactLogEntry, ItemChangeKind},
    relations,
    statement::ArtefactStatement,
};

/// The version `version` after an older one. `since` are the entries of the versions between them, the oldest first, as far
/// as they can be read.
#[must_use]
pub fn restored_version(
    older: &Artefact,
    version: u64,
    since: &[ArtefactLogEntry],
    (now, person): (Time, &str),
) -> AppliedChange {
    let mut next = Artefact { version, updated: Some(now), ..older.clone() };
    for change in since.iter().flat_map(|entry| &entry.changes) {
        let last = next.last.entry(change.item.kind).or_default();
        *last = (*last).max(change.item.number);
        match &change.kind {
            ItemChangeKind::Added(status) if change.item.kind.is_raid() => {
                next.items.insert(change.item, item_to_fill_in(change.item, *status, version, (now, person)));
            }
            ItemChangeKind::Added(_) => {}
            ItemChangeKind::Modified { field, after, .. } => {
                if let Some(item) = next.items.get_mut(&change.item) {
                    item.fields.insert(*field, after.as_ref().clone());
                    item.changed_in = version;
                }
            }
            ItemChangeKind::Status { to, .. } => {
                if let Some(item) = next.items.get_mut(&change.item) {
                    item.status = *to;
                    item.changed_in = version;
                }
            }
        }
    }
    let entry = ArtefactLogEntry {
        artefact: next.kind,
        project: next.project.clone(),
        version,
        at: now,
        actor: ArtefactActor::Person(person.to_owned()),
        causes: Vec::new(),
        changes: Vec::new(),
    };
    AppliedChange { asks: relations::asks(&next), artefact: next, entry }
}

/// An item of the RAID log of which only the id and the status are known. It counts as severe until somebody says less.
fn item_to_fill_in(id: ArtefactItemId, status: ItemStatus, version: u64, (now, person): (Time, &str)) -> ArtefactItem {
    let text = |text: &str| ArtefactValue::Text(ArtefactStatement::by_person(text, person));
    let fields = BTreeMap::from([
        (ArtefactField::Title, text(&format!("{id}, whose words could not be read"))),
        (
            ArtefactField::Description,
            text("The log has its id and status alone. Whoever knows what it is about fills it in."),
        ),
        (ArtefactField::Severity, ArtefactValue::Word("high")),
        (ArtefactField::Owner, text(person)),
        (ArtefactField::RaisedDate, ArtefactValue::Date(now)),
        (ArtefactField::Mitigation, text("Fill it in with `proem artefacts edit`.")),
        (ArtefactField::Source, ArtefactValue::Word("user_added")),
    ]);
    ArtefactItem { status, fields, changed_in: version }
}
