//! Joins changes of one artefact that follow each other into one version.
//!
//! Laws: what the items say is what the last change left. Nothing that a change did is missing in the entry. An item
//! that no change touched keeps the version that changed it.

use super::{apply::AppliedChange, operation::ArtefactActor};

impl AppliedChange {
    /// This change and one that was made on top of it, as one version.
    ///
    /// The entry names an agent as the actor if either change is an agent's, so that nobody takes a model's words for
    /// those of the rules.
    #[must_use]
    pub fn followed_by(self, later: Self) -> Self {
        let Self { artefact: first, entry: before, .. } = self;
        let Self { mut artefact, entry: mut after, asks } = later;
        let (version, undone) = (first.version, artefact.version);
        artefact.version = version;
        for item in artefact.items.values_mut().filter(|item| item.changed_in == undone) {
            item.changed_in = version;
        }
        after.version = version;
        if matches!(before.actor, ArtefactActor::Agent(_)) {
            after.actor = before.actor;
        }
        after.causes.extend(before.causes);
        after.causes.sort_unstable();
        after.causes.dedup();
        after.changes.splice(0..0, before.changes);
        Self { artefact, entry: after, asks }
    }
}
