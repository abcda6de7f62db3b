//! An older version of an artefact as its next one: what a person does if the newest can't be read.
//!
//! Law: no id is given a second time. What was added since the older version counts as given, although the item is gone.

use proem_engine::run::Time;

use super::{
    apply::AppliedChange,
    item::Artefact,
    operation::{ArtefactActor, ArtefactLogEntry},
    standing,
};

/// The version `version`, which says what `artefact` says. `since` is what is known of the changes that it goes back
/// behind.
#[must_use]
pub fn restored_version(
    artefact: &Artefact,
    version: u64,
    since: &[ArtefactLogEntry],
    (now, actor): (Time, &ArtefactActor),
) -> AppliedChange {
    let mut next = Artefact { version, updated: Some(now), ..artefact.clone() };
    for id in since.iter().flat_map(|entry| &entry.changes).map(|change| change.item) {
        let last = next.last.entry(id.kind).or_default();
        *last = (*last).max(id.number);
    }
    let entry = ArtefactLogEntry {
        artefact: next.kind,
        project: next.project.clone(),
        version,
        at: now,
        actor: actor.clone(),
        causes: Vec::new(),
        changes: Vec::new(),
    };
    AppliedChange { asks: standing::asks(&next), artefact: next, entry }
}
