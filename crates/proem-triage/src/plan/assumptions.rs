//! A plan's assumptions, as the tracker's own states show them: assumptions of the RAID log that name their rule.
//!
//! One ends with its ticket, by the tracker's word. If only its ground goes, a person is asked, since somebody may have
//! begun to rely on it.

use std::collections::BTreeMap;

use super::{
    advice::BY_RULE,
    context::CycleMember,
    cycle::Cycle,
    group::GroupedSignals,
    items::{self, ItemFields},
};
use crate::{
    artefact::{
        ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation,
        ArtefactStatement, ArtefactValue, ItemStatus, TicketPriority, TicketProgress, TicketState,
    },
    sprint_field::{SprintState, field_sprints},
};

/// The most assumptions of rules that are open at a time, so that a person can look at each.
const MOST: usize = 10;
/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// The words of an assumption about a ticket.
type AssumptionWords = fn(&str) -> String;

impl<'r> Cycle<'_, 'r> {
    /// Writes down what is taken for granted of a listed ticket, and proposes the end of what has no ground any more. `due`
    /// is its date, in days since 1970.
    pub(super) fn assume(
        &mut self,
        group: &GroupedSignals<'r>,
        member: &CycleMember<'r>,
        state: &TicketState,
        due: Option<i64>,
    ) {
        let today = self.context.now.0.div_euclid(DAY);
        let is_done = state.progress == Some(TicketProgress::Done);
        let is_in_sprint = field_sprints(member.signal).iter().any(|sprint| sprint.state == SprintState::Active);
        let is_unestimated = self.context.charter.figures.points.is_some() && state.points.is_none();
        let is_urgent = matches!(state.priority, Some(TicketPriority::Critical | TicketPriority::High));
        let milestones = self.context.charter.milestones.iter().map(|milestone| milestone.due.div_euclid(DAY));
        let next = milestones.filter(|day| *day >= today).min();
        let is_after = due.zip(next).is_some_and(|(due, next)| due > next);
        let assumed: [(AssumptionWords, bool); 3] = [
            (
                |ticket| format!("{BY_RULE}{ticket} goes on in time for its date."),
                state.progress == Some(TicketProgress::Blocked) && due.is_some_and(|due| due >= today),
            ),
            (|ticket| format!("{BY_RULE}{ticket} fits into the sprint, although nobody estimated it."), {
                is_in_sprint && is_unestimated
            }),
            (|ticket| format!("{BY_RULE}the next milestone does not need {ticket}, which is due later."), {
                is_urgent && is_after
            }),
        ];
        for (words, holds) in assumed {
            let title = items::about_ticket(group.ticket(), words, &group.causes());
            let known = self.context.artefacts.items(ArtefactItemKind::Assumption);
            let known =
                known.filter(|(_, item)| item_says_title(item, &title)).map(|(id, item)| (id, item.status)).next();
            match known {
                None if holds && !is_done && self.has_room_to_assume() => self.add_assumption(group, title),
                // An item that is over with its ticket ends by the tracker's word.
                Some((id, status)) if !holds && !is_done => {
                    let reason =
                        items::inferred_statement("The tracker gives no ground for it any more.", &group.causes());
                    self.groundless.extend(steps_to_end(id, status, &reason));
                }
                _ => {}
            }
        }
    }

    /// Ends the assumptions of rules about a group's ticket, which its tracker calls done.
    pub(super) fn end_assumptions(&mut self, group: &GroupedSignals<'_>, reason: &ArtefactStatement) {
        let Some(ticket) = items::ticket_text(group) else { return };
        let open = self.context.artefacts.items(ArtefactItemKind::Assumption);
        let of_ticket = open.filter(|(_, item)| is_by_rule(item)).filter(|(_, item)| {
            item.text(ArtefactField::SourceReference).is_some_and(|reference| reference.says_what(&ticket))
        });
        let ends: Vec<_> = of_ticket.flat_map(|(id, item)| steps_to_end(id, item.status, reason)).collect();
        for operation in ends {
            self.operate(ArtefactKind::RaidLog, operation, &group.causes());
        }
    }

    fn add_assumption(&mut self, group: &GroupedSignals<'r>, title: ArtefactStatement) {
        let (causes, owner) = (group.causes(), self.context.charter.owner.as_str());
        let step = items::about_ticket(
            group.ticket(),
            |ticket| format!("{BY_RULE}ask whoever plans {ticket} whether this holds."),
            &causes,
        );
        let why = "The tracker's own states and dates show that the plan takes this for granted; nobody confirmed it.";
        let mut fields: ItemFields = BTreeMap::from([
            (ArtefactField::Title, ArtefactValue::Text(title)),
            (ArtefactField::Description, ArtefactValue::Text(items::inferred_statement(why, &causes))),
            (ArtefactField::Severity, ArtefactValue::Word("low")),
            (ArtefactField::Owner, ArtefactValue::Text(items::group_owner(group, owner))),
            (ArtefactField::Mitigation, ArtefactValue::Text(step)),
            (ArtefactField::Source, ArtefactValue::Word("agent_detected")),
        ]);
        if let Some(ticket) = items::ticket_text(group) {
            fields.insert(ArtefactField::SourceReference, ArtefactValue::Text(ticket));
        }
        let kind = ArtefactItemKind::Assumption;
        self.operate(ArtefactKind::RaidLog, ArtefactOperation::Add { id: None, kind, status: None, fields }, &causes);
    }

    fn has_room_to_assume(&self) -> bool {
        let kind = ArtefactItemKind::Assumption;
        let planned = self.operations.get(&ArtefactKind::RaidLog).into_iter().flatten();
        let is_new = |operation: &&ArtefactOperation| matches!(operation, ArtefactOperation::Add { kind: of, .. } if *of == kind);
        let open = self.context.artefacts.items(kind).filter(|(_, item)| is_by_rule(item)).count();
        open.saturating_add(planned.filter(is_new).count()) < MOST
    }
}

/// Whether a rule gave an item its title.
pub(super) fn is_by_rule(item: &ArtefactItem) -> bool {
    let title = item.text(ArtefactField::Title);
    title.is_some_and(|title| title.ask(|title| title.starts_with(BY_RULE)) == Some(true))
}

fn item_says_title(item: &ArtefactItem, title: &ArtefactStatement) -> bool {
    item.text(ArtefactField::Title).is_some_and(|known| known.says_what(title))
}

fn steps_to_end(id: ArtefactItemId, status: ItemStatus, reason: &ArtefactStatement) -> Vec<ArtefactOperation> {
    let steps = items::way_to(status, true).iter();
    steps.map(|to| ArtefactOperation::ChangeStatus { id, to: *to, reason: reason.clone() }).collect()
}
