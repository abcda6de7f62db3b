//! The artefacts of a project as they are, and those of them that can't be read.

use std::collections::BTreeSet;

use proem_triage::artefact::ArtefactKind;
use proem_triage::plan::ArtefactSet;

/// An artefact whose newest version can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadableArtefact {
    /// Which one.
    pub(crate) kind: ArtefactKind,
    /// The version that can't be read.
    pub(crate) version: u64,
    /// The newest version that can. `None` if none of the last ones can.
    pub(crate) readable: Option<u64>,
    /// The problem, in words of ours.
    pub(crate) problem: String,
}

/// The artefacts of a project, with those that can't be read.
#[derive(Debug, PartialEq)]
pub(crate) struct StandingArtefacts {
    /// Each as it is, or as it was when it could be read last.
    pub(crate) set: ArtefactSet,
    pub(crate) unreadable: Vec<UnreadableArtefact>,
}

impl StandingArtefacts {
    /// The artefacts that nothing changes: those that can't be read, and those that name their items. A blocker names an
    /// item of the RAID log, and whatever changes one of the two may change the other.
    pub(super) fn set_aside(&self) -> BTreeSet<ArtefactKind> {
        let pair = [ArtefactKind::RaidLog, ArtefactKind::DeliveryState];
        let with_pair = |unreadable: &UnreadableArtefact| {
            if pair.contains(&unreadable.kind) { pair.to_vec() } else { vec![unreadable.kind] }
        };
        self.unreadable.iter().flat_map(with_pair).collect()
    }
}
