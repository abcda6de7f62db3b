//! Sprints, as a system says that they begin and end.

use proem_engine::effect::key::SignalRevision;

use super::{
    cycle::{Cycle, CycleMember},
    group::GroupedSignals,
    items,
};
use crate::triage::{
    artefact::{ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation},
    signal::SignalKind,
};

impl Cycle<'_, '_> {
    /// A sprint begins or ends.
    pub(super) fn sprint(&mut self, member: &CycleMember<'_>) -> Option<ArtefactItemId> {
        let cause = [SignalRevision::from(member.signal)];
        let open = self.context.artefacts.items(ArtefactItemKind::Sprint).next().map(|(id, _)| id);
        let reason = |words: &str| items::inferred(words, &cause);
        let delivery = ArtefactKind::DeliveryState;
        let is_made = self.next.contains_key(&ArtefactItemKind::Sprint);
        match member.signal.kind {
            SignalKind::SprintStarted if !is_made => {
                let fields = items::sprint(member.sanitised, member.signal)?;
                if let Some(id) = open {
                    let reason = reason("Another sprint started.");
                    self.operate(delivery, ArtefactOperation::Close { id, reason }, &cause);
                }
                let operation =
                    ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Sprint, status: None, fields };
                let group = GroupedSignals::new(vec![*member], self.context.charter.key.as_str());
                Some(self.add(ArtefactItemKind::Sprint, operation, &group))
            }
            SignalKind::SprintClosed if !is_made => {
                let id = open?;
                self.operate(
                    delivery,
                    ArtefactOperation::Close { id, reason: reason("The sprint was closed.") },
                    &cause,
                );
                self.next.insert(ArtefactItemKind::Sprint, u32::MAX);
                Some(id)
            }
            _ => None,
        }
    }
}
