//! The consequences of a tracker's word alone: a ticket is blocked, goes on, is done, or is taken up again.

use super::{assumptions, cycle::Cycle, group::GroupedSignals, items};
use crate::{
    artefact::{ArtefactField, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation, ArtefactValue},
    signal::SignalKind,
};

impl<'r> Cycle<'_, 'r> {
    /// The issue and the blocker of a ticket that its tracker calls blocked, while its signals are about something else
    /// first of all.
    pub(super) fn blocked(&mut self, group: &GroupedSignals<'_>) -> Vec<ArtefactItemId> {
        let issue = self.known(&[ArtefactItemKind::Issue], group).unwrap_or_else(|| {
            self.add(ArtefactItemKind::Issue, items::blocked_issue(group, &self.context.charter.owner), group)
        });
        [Some(issue), self.blocker(issue, group)].into_iter().flatten().collect()
    }

    /// A ticket that was done is open again: what ended with it is noted anew, as severe as it was.
    pub(super) fn take_up_again(&mut self, group: &GroupedSignals<'_>) -> Option<ArtefactItemId> {
        const KINDS: [ArtefactItemKind; 2] = [ArtefactItemKind::Issue, ArtefactItemKind::Dependency];
        let raid = self.context.artefacts.get(ArtefactKind::RaidLog)?;
        let (kind, before) = items::over_about_ticket(raid, &KINDS, group)?;
        if self.known(&KINDS, group).is_some() {
            return None;
        }
        let mut again = items::raid_item(kind, group, &self.context.charter.owner);
        if let Some(severity) = before.word(ArtefactField::Severity) {
            items::set_field(&mut again, ArtefactField::Severity, ArtefactValue::Word(severity));
        }
        Some(self.add(kind, again, group))
    }

    /// Work on a ticket goes on or is done: its blocker is over, and its item of the RAID log moves on.
    pub(super) fn settle(&mut self, group: &GroupedSignals<'_>) -> Vec<ArtefactItemId> {
        let causes = group.causes();
        let is_done = group.is_done(self.context.lexicon);
        let artefacts = self.context.artefacts;
        let of = |kind: ArtefactKind, kinds: &[ArtefactItemKind]| {
            artefacts.get(kind).and_then(|artefact| items::about_same(artefact, kinds, group))
        };
        let mut touched = Vec::new();
        let words = if is_done { "is done" } else { "goes on" };
        let reason = items::about_ticket(group.ticket(), |ticket| format!("Work on {ticket} {words}."), &causes);
        if let Some(id) = of(ArtefactKind::DeliveryState, &[ArtefactItemKind::Blocker]) {
            self.operate(ArtefactKind::DeliveryState, ArtefactOperation::Close { id, reason: reason.clone() }, &causes);
            touched.push(id);
        }
        let way = |id: ArtefactItemId| {
            let status = artefacts.get(ArtefactKind::RaidLog).and_then(|raid| raid.item(id)).map(|item| item.status);
            let way = status.map_or(&[][..], |status| items::way_to(status, is_done));
            way.iter().map(move |to| (id, *to))
        };
        let ends_with_ticket = [ArtefactItemKind::Issue, ArtefactItemKind::Dependency];
        for (id, to) in of(ArtefactKind::RaidLog, &ends_with_ticket).into_iter().flat_map(way) {
            let operation = ArtefactOperation::ChangeStatus { id, to, reason: reason.clone() };
            self.operate(ArtefactKind::RaidLog, operation, &causes);
            touched.push(id);
        }
        // A risk or an assumption may outlive the ticket that reports it.
        let outlives = [ArtefactItemKind::Risk, ArtefactItemKind::Assumption];
        let is_ours = |id: &ArtefactItemId| {
            let item = artefacts.get(ArtefactKind::RaidLog).and_then(|raid| raid.item(*id));
            id.kind == ArtefactItemKind::Assumption && item.is_some_and(assumptions::is_by_rule)
        };
        let outlives = of(ArtefactKind::RaidLog, &outlives).filter(|id| is_done && !is_ours(id));
        for (id, to) in outlives.into_iter().flat_map(way) {
            self.proposed_ends.push(ArtefactOperation::ChangeStatus { id, to, reason: reason.clone() });
        }
        if is_done {
            self.end_assumptions(group, &reason);
        }
        if is_done && let Some(id) = of(ArtefactKind::BacklogSummary, &[ArtefactItemKind::Highlight]) {
            self.operate(ArtefactKind::BacklogSummary, ArtefactOperation::Close { id, reason }, &causes);
            touched.push(id);
        }
        touched.dedup();
        touched
    }

    /// Counts a ticket that moved.
    pub(super) fn progress(&mut self, group: &GroupedSignals<'_>) {
        let is_listed = group.members().all(|member| member.signal.kind == SignalKind::TicketListed);
        if group.ticket().is_none() || is_listed {
            return;
        }
        let done = usize::from(group.is_done(self.context.lexicon));
        let moved = usize::from(done > 0 || group.is_moved(self.context.lexicon));
        self.moved.all = self.moved.all.saturating_add(moved);
        self.moved.done = self.moved.done.saturating_add(done);
        self.causes.entry(ArtefactKind::DeliveryState).or_default().extend(group.causes());
    }
}
