//! The parts of a request, as the user's configuration declares it.

use std::collections::{BTreeMap, BTreeSet};

use proem_llm::client::hosts::{HostRefusal, HostScope, check_url};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::slots;

/// A request with slots: `{ticket}` represents the value of that name, `{{` and `}}` for a brace.
///
/// In the address slots are within path segments and the values of the query, in the body within texts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestTemplate {
    /// The authentication and the form of the body.
    pub kind: RequestKind,
    /// How it is asked for.
    pub method: RequestMethod,
    /// The whole address, with slots.
    pub url: String,
    /// Headers beside the content type, without slots and without credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body, with slots.
    pub body: Json,
    /// Those of status 429 and 5xx by which this server says that it did nothing.
    #[serde(default)]
    pub not_done: Vec<u16>,
}

/// A request's effect on a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// Adds a comment.
    Comment,
    /// Changes its state.
    Transition,
    /// Makes a new one.
    Create,
}

/// How something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RequestMethod {
    /// Makes something.
    Post,
    /// Replaces something.
    Put,
    /// Changes some of something.
    Patch,
}

/// Why there is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefusal {
    /// The template's address can't be asked.
    #[error("the template's address can't be used: {0}")]
    Host(HostRefusal),
    /// A slot where none may be.
    #[error("the {0} of the template's address has a slot; only path segments and values of the query may have one")]
    SlotPlace(&'static str),
    /// Braces that are no slot.
    #[error(
        "`{0}` is not a slot; write `{{name}}` with a name of lower-case letters, digits and `_`, and `{{{{` for a brace"
    )]
    SlotForm(String),
    /// The address as written is not the one that would be asked.
    #[error("the template's address would be asked as `{0}`; write it like this")]
    Written(String),
    /// A header that the template may not have.
    #[error(
        "the template has the header `{0}`, which it may not set; leave it out, and name a credential instead of writing one"
    )]
    Header(String),
    /// A value that no header can have.
    #[error("the value of the header `{0}` has a line break, a brace or a character that is not ASCII; change it")]
    HeaderValue(String),
    /// A slot without a value.
    #[error("the action has no `{0}`, which its request needs; give it")]
    Missing(String),
    /// A value without a slot.
    #[error("the action has `{0}`, which its request has no place for; add it to the template or leave it out")]
    Unused(String),
    /// A value that can't be in an address.
    #[error("`{0}` can't be part of an address: it is empty, `.` or `..`, or has a control character; change it")]
    Value(String),
    /// A status that can't be declared.
    #[error("`not_done` has {0}, but only 429 and 500 to 599 may be there")]
    Status(u16),
    /// Too many bytes.
    #[error("the body of the request has more than {} bytes; shorten it", super::MAX_REQUEST_BODY)]
    TooLong,
    /// Recorded bytes for another server.
    #[error("the recorded request is for `{found}`, and the configuration names `{wanted}`; propose the action anew")]
    OtherOrigin {
        /// The host of the recorded request.
        found: String,
        /// The origin of the configuration.
        wanted: String,
    },
    /// Bytes that are no request of ours.
    #[error("the recorded bytes are not a request that Proem made; propose the action anew")]
    NotOurs,
}

/// Headers that belong to the connection, to the credential or to this room.
const RESERVED: &[&str] = &[
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Words that the names of headers with credentials have.
const SECRET_WORDS: &[&str] = &["auth", "cookie", "key", "password", "secret", "token"];

/// Whether no recorded request of ours has a header of this name, in lower case.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

impl RequestTemplate {
    /// Whether requests can be made of it.
    ///
    /// # Errors
    ///
    /// The first [`RequestRefusal`].
    pub fn check(&self) -> Result<(), RequestRefusal> {
        slots::check_places(&self.url)?;
        // Any value will do, and one that is as it is shows how the address would be asked.
        let names = slots::slot_names(&self.url)?;
        let values = names.into_iter().map(|name| (name, "x".to_owned())).collect();
        let url = slots::fill_slots(&self.url, &values, &str::to_owned)?;
        // The configuration decides about the host's place, and the sending judges it.
        let parsed = check_url(&url, HostScope::Private).map_err(RequestRefusal::Host)?;
        if parsed.as_str() != url {
            return Err(RequestRefusal::Written(parsed.to_string()));
        }
        for (name, value) in &self.headers {
            check_header(name, value)?;
        }
        if let Some(status) = self.not_done.iter().find(|status| !matches!(status, 429 | 500..=599)) {
            return Err(RequestRefusal::Status(*status));
        }
        slots::names_of_body(&self.body).map(|_| ())
    }

    /// Whether the values and the slots are the same.
    pub(super) fn check_values(&self, values: &BTreeMap<String, String>) -> Result<(), RequestRefusal> {
        let mut names: BTreeSet<String> = slots::slot_names(&self.url)?;
        names.extend(slots::names_of_body(&self.body)?);
        if let Some(name) = names.iter().find(|name| !values.contains_key(*name)) {
            return Err(RequestRefusal::Missing(name.clone()));
        }
        match values.keys().find(|name| !names.contains(*name)) {
            Some(name) => Err(RequestRefusal::Unused(name.escape_debug().to_string())),
            None => Ok(()),
        }
    }
}

pub(crate) fn check_header(name: &str, value: &str) -> Result<(), RequestRefusal> {
    let lower = name.to_ascii_lowercase();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_value = value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !value.contains(['{', '}']);
    let is_secret = SECRET_WORDS.iter().any(|word| lower.contains(word));
    let is_ours = is_reserved(&lower) || lower == "content-type";
    let shown = name.escape_debug().to_string();
    match is_name && !is_secret && !is_ours {
        false => Err(RequestRefusal::Header(shown)),
        true if is_value => Ok(()),
        true => Err(RequestRefusal::HeaderValue(shown)),
    }
}
