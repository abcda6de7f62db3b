//! A reading of a source as a value: its plan, its requests and answers, and why it ends.

use std::fmt;

use proem_engine::run::Time;
use serde_json::Value as Json;

use crate::signal::SignalSource;

/// A part of a source, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncPlan {
    /// The system: Jira, Outlook (Microsoft Graph) or Asana.
    pub system: SyncSystem,
    /// The beginning of every address, such as `https://corp.atlassian.net`, without a slash at its end.
    pub base: String,
    /// The part to read: the key of a Jira project, the number of an Asana project, or a mailbox of Graph.
    pub part: String,
    /// Reads nothing that was last changed before this time, on the first reading. `None` reads everything.
    pub since: Option<Time>,
}

/// A system that can be read live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncSystem {
    /// Jira Cloud, REST version 3.
    Jira,
    /// Mail of Microsoft Graph, version 1.0.
    Graph,
    /// Asana, version 1.0.
    Asana,
}

proem_text::word_table! {
    pub SyncSystem {
        Jira = "jira",
        Graph = "graph",
        Asana = "asana",
    }
}

impl SyncSystem {
    /// The source that its signals name.
    #[must_use]
    pub const fn signal_source(self) -> SignalSource {
        match self {
            Self::Jira => SignalSource::Jira,
            Self::Graph => SignalSource::Outlook,
            Self::Asana => SignalSource::Asana,
        }
    }
}

/// A request that reads: `GET` with these headers beside the credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncRequest {
    /// The whole address.
    pub url: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
}

/// The answer to a request. One with a status of 2xx has JSON in full.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body. Null if it is not JSON.
    pub body: Json,
}

/// The values of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SyncPage {
    /// What [`crate::normalise_value`] reads, in the order of the source.
    pub values: Vec<Json>,
    /// How many objects the server no longer gives, although it named them.
    pub missing: u64,
    /// The place to go on at once these values, and all before them, are stored. `None` if the page is not complete.
    pub cursor: Option<Json>,
}

/// Why a walk can't go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncFault {
    /// The server refused, with this status, what is named here.
    Refused(u16, &'static str),
    /// The server refused the credential, with this status.
    Credential(u16),
    /// The server sends the request elsewhere, with this status.
    Elsewhere(u16),
    /// The answer lacks this part.
    Shape(&'static str),
    /// A page leads to one that was read already.
    Circle,
    /// A page leads to another server.
    OtherServer,
}

impl fmt::Display for SyncFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(status, what) => {
                write!(f, "the server refused {what} (status {status}); check what the source is configured to read")
            }
            Self::Credential(status) => write!(
                f,
                "the server refused the credential (status {status}); check that it is current and may read the source"
            ),
            Self::Elsewhere(status) => write!(
                f,
                "the server sends the request elsewhere (status {status}); configure the address that it moved to"
            ),
            Self::Shape(part) => write!(f, "the answer has no {part}; check the address of the source"),
            Self::Circle => f.write_str("the pages of the server lead in a circle; try again, or ask its operator"),
            Self::OtherServer => {
                f.write_str("a page of the server leads to another server, which is not asked; check its address")
            }
        }
    }
}

impl std::error::Error for SyncFault {}

/// A reading of a source, request by request.
pub trait SyncWalk: fmt::Debug + Send {
    /// The next request. `None` once everything is read. The same until its answer is taken.
    fn request(&self) -> Option<SyncRequest>;

    /// Takes the answer to [`Self::request`].
    ///
    /// # Errors
    ///
    /// [`SyncFault`] if the walk can't go on. Cursors so far stay good.
    fn take(&mut self, answer: SyncAnswer) -> Result<SyncPage, SyncFault>;
}

/// That a status is one of success.
pub(super) fn check_status(status: u16, what: &'static str) -> Result<(), SyncFault> {
    match status {
        200..=299 => Ok(()),
        300..=399 => Err(SyncFault::Elsewhere(status)),
        401 | 403 => Err(SyncFault::Credential(status)),
        _ => Err(SyncFault::Refused(status, what)),
    }
}

/// Takes the list of a name out of an answer.
pub(super) fn take_list(body: &mut Json, name: &'static str) -> Result<Vec<Json>, SyncFault> {
    match body.get_mut(name).map(Json::take) {
        Some(Json::Array(items)) => Ok(items),
        _ => Err(SyncFault::Shape(name)),
    }
}

pub(super) fn accepts_json() -> Vec<(String, String)> {
    vec![("accept".to_owned(), "application/json".to_owned())]
}
