//! The form of a signal.

mod document;
mod form;

use proem_guard::{LabelTree, Untrusted};
use proem_text::{Label, Source};

use super::date::SignalTime;

pub use self::document::SignalDocument;
pub use self::form::{FORM, SignalFormError};

/// One thing that happened or is somewhere, in one of its revisions.
///
/// Two signals with one id and one revision say the same.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectSignal {
    /// The system that it comes from.
    pub source: SignalSource,
    /// The event.
    pub kind: SignalKind,
    /// The signal's id: `jira:…`, made of words of ours, numbers and hashes. 1 to 256 bytes.
    pub id: String,
    /// The revision of its content: the SHA-256, in 64 digits, of everything from the source except the names of its
    /// authors.
    pub revision: String,
    /// When it happened, as the source says. It orders revisions and drives nothing.
    pub time: SignalTime,
    /// The person or account, and how far that is proven. `None` if the source names nobody.
    pub sender: Option<SignalSender>,
    /// The ticket that it is about, such as `TES-41`.
    pub ticket: Option<Untrusted<String>>,
    /// The source's name for the project.
    pub project: Option<Untrusted<String>>,
    /// One line: a ticket's summary, a mail's subject.
    pub summary: Option<Untrusted<String>>,
    /// Everything else, by names of ours. Values below one of them are labelled with its own source, as
    /// [`SignalSource::label`] makes it. Values that fit no name of ours are below `other`.
    pub fields: LabelTree,
    /// The unknown, cut or missing parts, in words of ours.
    pub notes: Vec<String>,
}

/// The system that a signal comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalSource {
    /// Jira Cloud or Server.
    Jira,
    /// Mail as Microsoft Graph tells of it.
    Outlook,
    /// Tasks and comments of Asana.
    Asana,
    /// A mail as a file.
    Mail,
    /// Lines that somebody wrote for Proem.
    Plain,
}

proem_text::word_table! {
    pub SignalSource {
        Jira = "jira",
        Outlook = "outlook",
        Asana = "asana",
        Mail = "mail",
        Plain = "plain",
    }
}

impl SignalSource {
    /// The label of what is under a name of ours: `jira/comment`, the name in the guard's table of verdicts.
    ///
    /// Several comments have the label of one, and so have bodies, and two forms of a
    /// description.
    #[must_use]
    pub fn label(self, field: &str) -> Label {
        let source = Source::parse(&self.verdict_name(field));
        Label::from_source(source.unwrap_or(Source::named("signal/other")))
    }

    /// The name of a text in the first column of the guard's table of verdicts: `jira/comment`.
    #[must_use]
    pub fn verdict_name(self, field: &str) -> String {
        format!("{}/{}", self.as_str(), field_text_name(field))
    }
}

/// The name of one of a field's texts: each of several comments is a comment.
pub(super) fn field_text_name(field: &str) -> &str {
    match field {
        "comments" => "comment",
        "bodies" => "body",
        "html_notes" => "description",
        field => field,
    }
}

/// The event, in words that are common to all sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalKind {
    /// A ticket or task is there that was not.
    TicketCreated,
    /// A ticket or task says something else.
    TicketUpdated,
    /// A ticket or task is gone.
    TicketDeleted,
    /// A ticket or task as it is.
    TicketListed,
    /// Somebody commented.
    CommentCreated,
    /// A comment says something else.
    CommentUpdated,
    /// A comment is gone.
    CommentDeleted,
    /// A sprint began.
    SprintStarted,
    /// A sprint ended.
    SprintClosed,
    /// A sprint was made, changed or deleted.
    SprintUpdated,
    /// A mail.
    EmailReceived,
    /// There is a mail, or it changed, and nothing of it is said.
    EmailAnnounced,
    /// A mail is gone.
    EmailDeleted,
    /// Something that Proem has no word for, by the source's name of it.
    Unknown(Untrusted<String>),
}

impl SignalKind {
    /// All that have a word.
    pub const KNOWN: [Self; 13] = [
        Self::TicketCreated,
        Self::TicketUpdated,
        Self::TicketDeleted,
        Self::TicketListed,
        Self::CommentCreated,
        Self::CommentUpdated,
        Self::CommentDeleted,
        Self::SprintStarted,
        Self::SprintClosed,
        Self::SprintUpdated,
        Self::EmailReceived,
        Self::EmailAnnounced,
        Self::EmailDeleted,
    ];

    /// The word; for what has none `unknown`, which a colon and the source's name follow where it is written.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::TicketCreated => "ticket_created",
            Self::TicketUpdated => "ticket_updated",
            Self::TicketDeleted => "ticket_deleted",
            Self::TicketListed => "ticket_listed",
            Self::CommentCreated => "comment_created",
            Self::CommentUpdated => "comment_updated",
            Self::CommentDeleted => "comment_deleted",
            Self::SprintStarted => "sprint_started",
            Self::SprintClosed => "sprint_closed",
            Self::SprintUpdated => "sprint_updated",
            Self::EmailReceived => "email_received",
            Self::EmailAnnounced => "email_announced",
            Self::EmailDeleted => "email_deleted",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The kind of this word. `None` if it is none.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::KNOWN.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The sender of a signal. Anybody may choose a name, and most people their address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalSender {
    /// The source's account of the sender.
    pub account: Option<Untrusted<String>>,
    /// His address.
    pub address: Option<Untrusted<String>>,
    /// The sender's own name.
    pub name: Option<Untrusted<String>>,
    /// The evidence on whether it was this sender.
    pub authentication: SenderAuthentication,
}

/// The evidence on whether a sender is the one that the signal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SenderAuthentication {
    /// Nothing shows who sent it.
    Unverified,
    /// The mail server that is believed says that DMARC failed.
    DmarcFailed,
    /// The mail server that is believed says nothing of DMARC, or not of this sender's domain.
    DmarcUnknown,
    /// The source names an account of its own. That the source wrote the file is not known.
    SourceAccount,
    /// The mail server that is believed says that DMARC passed for the domain of the sender's address (RFC 7489,
    /// section 3.1; RFC 8601, section 2.7.6).
    DmarcAligned,
}

proem_text::word_table! {
    pub SenderAuthentication: Display {
        // The weakest first.
        Unverified = "unverified",
        DmarcFailed = "dmarc-failed",
        DmarcUnknown = "dmarc-unknown",
        SourceAccount = "source-account",
        DmarcAligned = "dmarc-aligned",
    }
}
