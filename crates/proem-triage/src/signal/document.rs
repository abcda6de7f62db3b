//! A signal as a document for people and programs: exact, and without labels.

use proem_guard::{Untrusted, show};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::form::{FORM, kind_name};
use super::{ProjectSignal, SignalSender};
use crate::date::{SignalTime, utc_timestamp};

/// A signal. Its texts are exactly as the source has them, and read back they are text from outside.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SignalDocument {
    /// The version of this form.
    signal: u64,
    #[serde(flatten)]
    identity: SignalIdentity,
    #[serde(flatten)]
    time: SignalMoment,
    sender: Option<SenderDocument>,
    #[serde(flatten)]
    subject: SignalSubject,
    /// Everything else, by names of ours.
    fields: Json,
    /// The unknown, cut or missing parts, in words of ours.
    notes: Vec<String>,
}

/// The source's event, with the id and hash that tell it from others.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct SignalIdentity {
    /// `jira`, `outlook`, `asana`, `mail` or `plain`.
    source: &'static str,
    /// The event, or `unknown:` and the source's name for it.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    kind: Json,
    id: String,
    /// The hash of its content.
    revision: String,
}

/// The time of a signal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct SignalMoment {
    /// When it happened. Null if that is doubtful or missing.
    time: Option<String>,
    /// A doubtful time as the source writes it.
    #[schemars(with = "Option<String>")]
    time_said: Option<Json>,
    /// Why the time is doubtful.
    time_fault: Option<&'static str>,
}

/// The sender of a signal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct SenderDocument {
    #[schemars(with = "Option<String>")]
    account: Option<Json>,
    #[schemars(with = "Option<String>")]
    address: Option<Json>,
    #[schemars(with = "Option<String>")]
    name: Option<Json>,
    /// The evidence on whether it was this sender.
    authentication: &'static str,
}

/// The ticket and project that the source names.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct SignalSubject {
    /// The ticket that it is about.
    #[schemars(with = "Option<String>")]
    ticket: Option<Json>,
    /// The source's name for the project.
    #[schemars(with = "Option<String>")]
    project: Option<Json>,
    /// A ticket's summary, or a mail's subject.
    #[schemars(with = "Option<String>")]
    summary: Option<Json>,
}

impl SignalDocument {
    /// The document of a signal.
    #[must_use]
    pub fn new(signal: &ProjectSignal) -> Self {
        let (time, time_said, time_fault) = match &signal.time {
            SignalTime::Known(time) => (Some(utc_timestamp(*time)), None, None),
            SignalTime::Doubtful { said, fault } => (None, Some(show::exact_json(said)), Some(fault.as_str())),
            SignalTime::Missing => (None, None, None),
        };
        Self {
            signal: FORM,
            identity: SignalIdentity {
                source: signal.source.as_str(),
                kind: show::tree_json(&kind_name(&signal.kind)),
                id: signal.id.clone(),
                revision: signal.revision.clone(),
            },
            time: SignalMoment { time, time_said, time_fault },
            sender: signal.sender.as_ref().map(SenderDocument::new),
            subject: SignalSubject {
                ticket: exact_text(signal.ticket.as_ref()),
                project: exact_text(signal.project.as_ref()),
                summary: exact_text(signal.summary.as_ref()),
            },
            fields: show::tree_json(&signal.fields),
            notes: signal.notes.clone(),
        }
    }
}

impl SenderDocument {
    fn new(sender: &SignalSender) -> Self {
        Self {
            account: exact_text(sender.account.as_ref()),
            address: exact_text(sender.address.as_ref()),
            name: exact_text(sender.name.as_ref()),
            authentication: sender.authentication.as_str(),
        }
    }
}

fn exact_text(text: Option<&Untrusted<String>>) -> Option<Json> {
    text.map(show::exact_json)
}
