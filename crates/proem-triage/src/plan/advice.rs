//! The rules' advice about listed tickets: next actions, and tickets that lack detail. Each names its rule.
//!
//! The tracker's own state decides alone, so advice ends by itself when a later listing no longer supports it.

use std::collections::BTreeMap;

use proem_guard::LabelTree;

use super::{
    context::CycleMember,
    cycle::Cycle,
    group::GroupedSignals,
    items::{self, ItemFields},
};
use crate::{
    artefact::{
        ArtefactField, ArtefactItemKind, ArtefactKind, ArtefactOperation, ArtefactStatement, ArtefactValue,
        TicketPriority, TicketProgress, TicketState,
    },
    date,
};

/// The most pieces of advice of a kind that are open at a time, so that a person can act on each.
const MOST: usize = 10;
/// How many days ahead a date is near.
const SOON: i64 = 3;
/// For how many days a ticket that is worked on may stay as it is.
const STALE_DAYS: i64 = 7;
/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// How the texts of rules begin.
pub(super) const BY_RULE: &str = "By rule: ";

/// The words of a next action about a ticket.
type ActionWords = fn(&str) -> String;

/// How a listed ticket is, as far as advice depends on it.
struct AdvisedTicket<'s> {
    state: &'s TicketState,
    is_assigned: bool,
    /// How many days are left, if it has a date.
    days_left: Option<i64>,
    has_points: bool,
    now: i64,
}

impl AdvisedTicket<'_> {
    fn is(&self, progress: TicketProgress) -> bool {
        self.state.progress == Some(progress)
    }

    fn is_open(&self) -> bool {
        self.state.progress.is_some() && !self.is(TicketProgress::Done)
    }

    /// Each next action, and whether the ticket gives reason for it.
    fn next_actions(&self) -> [(ActionWords, bool); 5] {
        let idle = self.state.updated.map(|updated| self.now.saturating_sub(updated).div_euclid(DAY));
        let near = self.days_left.filter(|_| self.is_open());
        [
            (|ticket| format!("{BY_RULE}agree who unblocks {ticket}, and by when."), self.is(TicketProgress::Blocked)),
            (
                |ticket| format!("{BY_RULE}the date of {ticket} has passed; agree on another one."),
                near.is_some_and(|days| days < 0),
            ),
            (
                |ticket| format!("{BY_RULE}{ticket} is due within three days; ask whether it will be done."),
                near.is_some_and(|days| (0..=SOON).contains(&days)),
            ),
            (
                |ticket| format!("{BY_RULE}name somebody for {ticket}; work on it has begun."),
                self.is(TicketProgress::InProgress) && !self.is_assigned,
            ),
            (
                |ticket| format!("{BY_RULE}ask whether {ticket} goes on; nothing changed for a week."),
                self.is(TicketProgress::InProgress) && idle.is_some_and(|days| days > STALE_DAYS),
            ),
        ]
    }

    /// The details that it lacks before somebody can work on it. `None` if it lacks none.
    fn lacks(&self) -> Option<String> {
        let is_urgent = matches!(self.state.priority, Some(TicketPriority::Critical | TicketPriority::High));
        let is_near = self.is(TicketProgress::InProgress) || is_urgent || !self.state.sprints.is_empty();
        let lacks = [
            ("an estimate", self.has_points && self.state.points.is_none()),
            ("acceptance criteria", self.state.has_criteria == Some(false)),
            ("somebody who does it", self.is(TicketProgress::InProgress) && !self.is_assigned),
        ];
        let lacks: Vec<&str> = lacks.into_iter().filter(|(_, is_missing)| *is_missing).map(|(what, _)| what).collect();
        let is_candidate = self.is_open() && is_near && !lacks.is_empty();
        is_candidate.then(|| format!("{BY_RULE}it lacks {}.", lacks.join(" and ")))
    }
}

impl<'r> Cycle<'_, 'r> {
    /// Adds what a listed ticket gives reason for, and ends what it no longer does.
    pub(super) fn advise(&mut self, group: &GroupedSignals<'r>, member: &CycleMember<'r>, state: &TicketState) {
        let now = self.context.now.0;
        let due = match &member.signal.fields {
            LabelTree::Map(fields) => match fields.get("due") {
                Some(LabelTree::Outside(text)) => text.measure(|text| date::leading_day(text)),
                _ => None,
            },
            _ => None,
        };
        let ticket = AdvisedTicket {
            state,
            is_assigned: member.sanitised.name("assignee").is_some(),
            days_left: due.map(|due| due.saturating_sub(now.div_euclid(DAY))),
            has_points: self.context.charter.figures.points.is_some(),
            now,
        };
        for (words, holds) in ticket.next_actions() {
            self.next_action(group, &items::about_ticket(group.ticket(), words, &group.causes()), holds);
        }
        self.refine(group, ticket.lacks());
        self.assume(group, member, state, due);
    }

    fn next_action(&mut self, group: &GroupedSignals<'_>, words: &ArtefactStatement, holds: bool) {
        let context = self.context;
        let mut open = context.artefacts.items(ArtefactItemKind::NextAction);
        let known = open.find(|(_, item)| item.text(ArtefactField::Action).is_some_and(|text| text.says_what(words)));
        match known {
            Some((id, _)) if !holds => {
                let reason = items::inferred_statement("The tracker gives no reason for it any more.", &group.causes());
                let operation = ArtefactOperation::Close { id, reason };
                self.operate(ArtefactKind::DeliveryState, operation, &group.causes());
            }
            None if holds && self.has_room(ArtefactItemKind::NextAction) => {
                let fields: ItemFields = BTreeMap::from([(ArtefactField::Action, ArtefactValue::Text(words.clone()))]);
                let kind = ArtefactItemKind::NextAction;
                let operation = ArtefactOperation::Add { id: None, kind, status: None, fields };
                self.operate(ArtefactKind::DeliveryState, operation, &group.causes());
            }
            _ => {}
        }
    }

    fn refine(&mut self, group: &GroupedSignals<'_>, lacks: Option<String>) {
        let kind = ArtefactItemKind::RefinementCandidate;
        let causes = group.causes();
        let known = self.known(&[kind], group);
        let item = known.and_then(|id| self.context.artefacts.get(kind.artefact())?.item(id));
        // A model's or a person's own words about it stay.
        let issue = item.and_then(|item| item.text(ArtefactField::Issue));
        let is_ours = issue.is_some_and(|text| text.ask(|text| text.starts_with(BY_RULE)) == Some(true));
        let operation = match (known, lacks) {
            (None, Some(lacks)) if self.has_room(kind) => {
                let Some(ticket) = items::ticket_text(group) else { return };
                let fields: ItemFields = BTreeMap::from([
                    (ArtefactField::TicketId, ArtefactValue::Text(ticket)),
                    (ArtefactField::Title, ArtefactValue::Text(items::group_title(group))),
                    (ArtefactField::Issue, ArtefactValue::Text(items::inferred_statement(lacks, &causes))),
                ]);
                ArtefactOperation::Add { id: None, kind, status: None, fields }
            }
            (Some(id), None) if is_ours => {
                let reason = items::inferred_statement("The tracker shows nothing missing any more.", &causes);
                ArtefactOperation::Close { id, reason }
            }
            (Some(id), Some(lacks)) if is_ours => {
                let words = items::inferred_statement(lacks, &causes);
                if issue.is_some_and(|issue| issue.says_what(&words)) {
                    return;
                }
                let changes = BTreeMap::from([(ArtefactField::Issue, ArtefactValue::Text(words.clone()))]);
                ArtefactOperation::Modify { id, changes, reason: words }
            }
            _ => return,
        };
        self.operate(kind.artefact(), operation, &causes);
    }

    /// Whether another piece of advice of that kind can be acted on.
    fn has_room(&self, kind: ArtefactItemKind) -> bool {
        let planned = self.operations.get(&kind.artefact()).into_iter().flatten();
        let is_new = |operation: &&ArtefactOperation| matches!(operation, ArtefactOperation::Add { kind: of, .. } if *of == kind);
        self.context.artefacts.items(kind).count().saturating_add(planned.filter(is_new).count()) < MOST
    }
}
