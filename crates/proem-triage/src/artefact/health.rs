//! The colour that open items give a project, with the counts and the rule behind it.
//!
//! It is counted from the artefacts and the time alone, so that it can be counted again wherever it is shown. Tickets
//! that a tracker calls blocked are among the highlights of the backlog.

use proem_agents::words::number_of;
use proem_engine::run::Time;

use super::{
    field::ArtefactField as F,
    item::{Artefact, ArtefactItem},
    kind::{ArtefactItemKind as K, ItemStatus},
};

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// The open items in the artefacts of a project, as far as they decide the colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProjectHealth {
    /// Blockers that are open.
    pub blockers: usize,
    /// Tickets that their tracker calls blocked, and of which no open blocker tells.
    pub blocked_tickets: usize,
    /// Items of the RAID log that are open.
    pub raid: usize,
    /// Those of high or critical severity.
    pub serious: usize,
    /// Those of critical severity.
    pub critical: usize,
    /// Those whose date has passed.
    pub past_due: usize,
    /// Open milestones that are at risk, delayed or overdue.
    pub late: usize,
    /// Open milestones whose date has passed.
    pub overdue: usize,
}

impl ProjectHealth {
    /// The rule of the colour, in words.
    pub const RULE: &'static str = "red if a critical item of the RAID log is open; amber if a blocker, a blocked \
                                    ticket, an item of high severity, an item whose date has passed, or a milestone \
                                    that is at risk, delayed or overdue is open; green otherwise";

    /// Counts what is open. `now` is what the clocks of the project's people show, as a day is theirs.
    pub fn of<'a>(artefacts: impl IntoIterator<Item = &'a Artefact>, now: Time) -> Self {
        let open: Vec<_> =
            artefacts.into_iter().flat_map(Artefact::items).filter(|(_, item)| item.status.is_open()).collect();
        let count = |is_counted: &dyn Fn(K, &ArtefactItem) -> bool| {
            open.iter().filter(|(id, item)| is_counted(id.kind, item)).count()
        };
        let severity =
            |item: &ArtefactItem, words: &[&str]| item.word(F::Severity).is_some_and(|of| words.contains(&of));
        let is_told = |ticket: &ArtefactItem| {
            let blockers = open.iter().filter(|(id, _)| id.kind == K::Blocker);
            let of = ticket.text(F::TicketId);
            let mut told = blockers.filter_map(|(_, item)| item.text(F::SourceTicket).zip(of));
            told.any(|(blocker, ticket)| blocker.says_what(ticket))
        };
        Self {
            blockers: count(&|kind, _| kind == K::Blocker),
            blocked_tickets: count(&|kind, item| {
                kind == K::Highlight && item.word(F::Flag) == Some("blocked") && !is_told(item)
            }),
            raid: count(&|kind, _| kind.is_raid()),
            serious: count(&|kind, item| kind.is_raid() && severity(item, &["critical", "high"])),
            critical: count(&|kind, item| kind.is_raid() && severity(item, &["critical"])),
            past_due: count(&|kind, item| kind.is_raid() && item.is_overdue(now)),
            late: count(&|kind, item| {
                kind == K::Milestone && (item.status != ItemStatus::OnTrack || item.is_overdue(now))
            }),
            overdue: count(&|kind, item| kind == K::Milestone && item.is_overdue(now)),
        }
    }

    /// The colour by [`Self::RULE`].
    #[must_use]
    pub const fn colour(&self) -> &'static str {
        let amber = self.blockers + self.blocked_tickets + self.serious + self.past_due + self.late;
        match (self.critical, amber) {
            (0, 0) => "green",
            (0, _) => "amber",
            _ => "red",
        }
    }

    /// The counts, and which part of the rule gives the colour.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = vec![number_of(self.blockers, "open blocker")];
        words.push(match (self.raid, self.serious) {
            (0, _) => "nothing open in the RAID log".to_owned(),
            (open, 0) => format!("{} in the RAID log", number_of(open, "open item")),
            (open, serious) => {
                format!("{} in the RAID log, {serious} of them high or critical", number_of(open, "open item"))
            }
        });
        // Red and amber never have the same words: the counts justify a colour.
        let more = [
            (self.critical, format!("{} critical", self.critical)),
            (self.past_due, format!("{} past its date", number_of(self.past_due, "item"))),
            (self.blocked_tickets, format!("{} without a blocker", number_of(self.blocked_tickets, "blocked ticket"))),
            (self.late.saturating_sub(self.overdue), {
                format!("{} at risk or late", number_of(self.late.saturating_sub(self.overdue), "milestone"))
            }),
            (self.overdue, format!("{} overdue", number_of(self.overdue, "milestone"))),
        ];
        words.extend(more.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words));
        words.join("; ")
    }

    /// The part of [`Self::RULE`] that gives the colour.
    #[must_use]
    pub fn reason(&self) -> String {
        if self.critical > 0 {
            return "red, because a critical item is open".to_owned();
        }
        let reasons = [
            (self.blockers, "a blocker"),
            (self.blocked_tickets, "a blocked ticket"),
            (self.serious, "an item of high severity"),
            (self.past_due, "an item past its date"),
            (self.late.saturating_sub(self.overdue), "a milestone at risk or late"),
            (self.overdue, "an overdue milestone"),
        ];
        let reasons: Vec<&str> =
            reasons.into_iter().filter(|(count, _)| *count > 0).map(|(_, reason)| reason).collect();
        match reasons.split_last() {
            None => "green, because nothing of that kind is open".to_owned(),
            Some((only, [])) => format!("amber, because {only} is open"),
            Some((last, others)) => format!("amber, because {} and {last} are open", others.join(", ")),
        }
    }
}

impl ArtefactItem {
    /// Whether it is open after the day that it was due. `now` is what the clocks of the project's people show.
    #[must_use]
    pub fn is_overdue(&self, now: Time) -> bool {
        self.status.is_open() && self.date(F::DueDate).is_some_and(|due| due.0.saturating_add(DAY) <= now.0)
    }

    /// For how many whole days it has been in the artefact, by the date that it was raised.
    #[must_use]
    pub fn age_in_days(&self, now: Time) -> Option<i64> {
        self.date(F::RaisedDate).map(|raised| now.0.saturating_sub(raised.0).div_euclid(DAY)).filter(|days| *days >= 0)
    }
}
