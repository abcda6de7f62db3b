//! The changes of a listed backlog: that it was looked at, and its tickets that deserve attention.
//!
//! A listing is no news by its texts, which may be years old; what counts is the state of its tickets.

use proem_engine::effect::key::SignalRevision;

use super::{
    context::CycleMember,
    cycle::Cycle,
    group::{GroupedSignals, is_kept_out},
    items,
};
use crate::{
    artefact::{
        ArtefactField, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation, ArtefactValue,
        TicketPriority, TicketProgress, TicketState,
    },
    signal::{SignalKind, SignalSource},
};

/// The most tickets that are highlighted at a time, so that a person can look at each.
const MOST: usize = 15;
/// For how long a ticket that matters may stay as it is, as for the figure of stale tickets.
const STALE_AFTER: i64 = 7 * DAY;
/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// Why a ticket deserves attention: the highlight's word, and its detail in words of ours.
struct TicketConcern {
    flag: &'static str,
    detail: String,
}

impl<'r> Cycle<'_, 'r> {
    /// Highlights tickets of a listing that stand badly, the most urgent first, and ends what is over.
    pub(super) fn backlog(&mut self, groups: &[GroupedSignals<'r>]) {
        let mut concerns = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let Some(member) = listing_member(group) else { continue };
            self.synced = Some((SignalRevision::from(member.signal), tracker_word(member.signal.source)));
            let state = TicketState::read(member.signal, &self.context.charter.places());
            let concern = concern(&state, self.context.now.0);
            self.end_highlight(group, concern.as_ref());
            self.advise(group, member, &state);
            let is_urgent = matches!(state.priority, Some(TicketPriority::Critical | TicketPriority::High));
            if is_urgent && state.progress == Some(TicketProgress::Blocked) {
                self.block(group);
            }
            if let Some(concern) = concern {
                concerns.push((state.priority.unwrap_or(TicketPriority::Medium), at, concern));
            }
        }
        concerns.sort_by_key(|(priority, at, _)| (*priority, *at));
        let open = self.context.artefacts.items(ArtefactItemKind::Highlight).count();
        for (_, at, TicketConcern { flag, detail }) in concerns.into_iter().take(MOST.saturating_sub(open)) {
            if let Some(group) = groups.get(at) {
                self.highlight(group, flag, &detail);
            }
        }
    }

    /// A ticket that matters is blocked: an issue, and a blocker in the delivery state, as if an event had told of it.
    fn block(&mut self, group: &GroupedSignals<'r>) {
        if self.known(&[ArtefactItemKind::Blocker], group).is_some() {
            return;
        }
        let owner = self.context.charter.owner.as_str();
        let issue = self
            .known(&[ArtefactItemKind::Issue], group)
            .unwrap_or_else(|| self.add(ArtefactItemKind::Issue, items::listed_issue(group, owner), group));
        let mut blocker = items::blocker_operation(group, issue, owner);
        items::set_field(&mut blocker, ArtefactField::Severity, ArtefactValue::Word("high"));
        self.add(ArtefactItemKind::Blocker, blocker, group);
    }

    /// Closes what was said of a ticket, if that does not hold any more.
    fn end_highlight(&mut self, group: &GroupedSignals<'r>, concern: Option<&TicketConcern>) {
        const OURS: [&str; 3] = ["blocked", "stale", "missing_criteria"];
        let known = self.known(&[ArtefactItemKind::Highlight], group);
        let Some((id, item)) = known.and_then(|id| self.highlighted(id)) else { return };
        // Its ticket may be done, which has ended it already.
        let planned = self.operations.get(&ArtefactKind::BacklogSummary).into_iter().flatten();
        let is_planned = |operation: &ArtefactOperation| matches!(operation, ArtefactOperation::Close { id: other, .. } if *other == id);
        if planned.into_iter().any(is_planned) {
            return;
        }
        let is_over = item.is_some_and(|flag| OURS.contains(&flag) && concern.is_none_or(|now| now.flag != flag));
        if is_over {
            let reason = items::inferred_statement(
                "The backlog was listed again, and this does not hold any more.",
                &group.causes(),
            );
            let operation = ArtefactOperation::Close { id, reason };
            self.operate(ArtefactKind::BacklogSummary, operation, &group.causes());
        }
    }

    fn highlighted(&self, id: ArtefactItemId) -> Option<(ArtefactItemId, Option<&'static str>)> {
        let item = self.context.artefacts.get(ArtefactKind::BacklogSummary)?.item(id)?;
        Some((id, item.word(ArtefactField::Flag)))
    }
}

/// The listing's own signal of a group, unless its texts were kept out.
fn listing_member<'g, 'r>(group: &'g GroupedSignals<'r>) -> Option<&'g CycleMember<'r>> {
    let is_listed = |member: &&CycleMember<'_>| member.signal.kind == SignalKind::TicketListed && !is_kept_out(member);
    group.members().filter(is_listed).last()
}

const fn tracker_word(source: SignalSource) -> &'static str {
    match source {
        SignalSource::Asana => "asana",
        _ => "jira",
    }
}

fn concern(state: &TicketState, now: i64) -> Option<TicketConcern> {
    let is_urgent = matches!(state.priority, Some(TicketPriority::Critical | TicketPriority::High));
    let progress = state.progress?;
    let is_begun = match progress {
        TicketProgress::Done => return None,
        TicketProgress::Blocked => {
            return Some(TicketConcern { flag: "blocked", detail: "It is blocked, as its system has it.".to_owned() });
        }
        TicketProgress::InProgress => true,
        TicketProgress::ToDo => false,
    };
    if !is_begun && !is_urgent {
        return None;
    }
    let what = if is_begun { "It is being worked on" } else { "It is urgent" };
    let idle = state.updated.map(|updated| now.saturating_sub(updated)).filter(|idle| *idle > STALE_AFTER);
    if let Some(idle) = idle {
        let days = idle.div_euclid(DAY);
        return Some(TicketConcern { flag: "stale", detail: format!("{what}, and nothing changed for {days} days.") });
    }
    let detail = || format!("{what}, and its description doesn't say when it is done.");
    (state.has_criteria == Some(false)).then(|| TicketConcern { flag: "missing_criteria", detail: detail() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_500_000_000;

    fn state(progress: TicketProgress, priority: TicketPriority, days: i64, has_criteria: bool) -> TicketState {
        TicketState {
            progress: Some(progress),
            priority: Some(priority),
            updated: Some(NOW - days * DAY),
            resolved: None,
            started: None,
            has_criteria: Some(has_criteria),
            points: None,
            sprints: Vec::new(),
        }
    }

    #[test]
    fn what_stands_badly_and_matters_is_a_concern() {
        use TicketPriority::{Critical, High, Low, Medium};
        use TicketProgress::{Blocked, Done, InProgress, ToDo};
        let rows = [
            (state(Done, Critical, 90, false), None),
            (state(Blocked, Low, 0, true), Some("blocked")),
            (state(InProgress, Low, 8, true), Some("stale")),
            (state(InProgress, Low, 7, true), None),
            (state(InProgress, Medium, 1, false), Some("missing_criteria")),
            (state(ToDo, Medium, 90, false), None),
            (state(ToDo, High, 90, true), Some("stale")),
            (state(ToDo, High, 1, false), Some("missing_criteria")),
        ];
        for (state, expected) in rows {
            assert_eq!(concern(&state, NOW).map(|concern| concern.flag), expected, "{state:?}");
        }
        let unknown = TicketState { progress: None, ..state(ToDo, High, 90, false) };
        assert!(concern(&unknown, NOW).is_none(), "a ticket without a status says nothing");
        let undated = TicketState { updated: None, has_criteria: None, ..state(InProgress, High, 0, true) };
        assert!(concern(&undated, NOW).is_none(), "unknown is no reproach");
    }
}
