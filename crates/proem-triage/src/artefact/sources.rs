//! The origins of a report's statements, as people read them: a name, a day and a link.

use std::collections::BTreeMap;

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::LabelTree;

use crate::{
    charter::ProjectCharter,
    date::SignalTime,
    sender::{sender_display_name, shown_name},
    signal::{ProjectSignal, SignalKind},
};
use proem_agents::screen::Screening;

/// A signal as a source of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportSource {
    /// The ticket, if it is about one.
    pub ticket: Option<LabelTree>,
    /// The address of that ticket's page, made of the tracker's address in the trusted file.
    pub link: Option<String>,
    /// The sender. `None` for a ticket as it was listed.
    pub sender: Option<LabelTree>,
    /// When it was said.
    pub at: Time,
}

impl ReportSource {
    /// The source that a signal is, which came at this time.
    #[must_use]
    pub fn of(signal: &ProjectSignal, came: Time, charter: &ProjectCharter, screening: Screening<'_>) -> Self {
        let at = if let SignalTime::Known(time) = signal.time { time } else { came };
        let is_listed = signal.kind == SignalKind::TicketListed || signal.sender.is_none();
        Self {
            ticket: signal.ticket.clone().map(|ticket| shown_name(ticket, signal.source, screening)),
            link: charter.ticket_page(signal),
            sender: (!is_listed || signal.ticket.is_none()).then(|| sender_display_name(signal, charter, screening)),
            at,
        }
    }
}

/// The sources of a report, by signal. One that is missing was purged.
pub type ReportSources = BTreeMap<SignalRevision, ReportSource>;
