//! `[effects]`: how actions leave. Only the user's own file decides it.

use std::collections::BTreeMap;

use proem_runtime::effects::request::{RequestKind, RequestMethod};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::login::LoginFile;

/// The keys of `[effects]`: how approved and automatic actions leave. Only your own configuration decides it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EffectsFile {
    /// The folder that mails and requests are written to. Relative to this file, or absolute. Without it, `outbox` in
    /// the folder of your records.
    pub outbox: Option<String>,
    /// The origin of mails, and their way out.
    pub mail: MailFile,
    /// Servers that requests go to, each under a name that you choose.
    pub servers: BTreeMap<String, TicketServerFile>,
    /// The requests to servers, under the names that the policy's `perform = "request:NAME"` has.
    pub requests: BTreeMap<String, RequestFile>,
    /// The places of credentials, each under a name that you choose: in a `variable` of the environment, or on the one
    /// line of a `file` that only you can read (mode 600). Relative to this file, or absolute.
    pub credentials: BTreeMap<String, CredentialFile>,
}

/// The keys of `[effects.mail]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MailFile {
    /// The address that mails come from, such as `projects@example.org`. If unset, mails are not made.
    pub from: Option<String>,
    /// The name beside that address.
    pub name: Option<String>,
    /// The server that takes mails by SMTP; without it and `graph` they are written to the outbox.
    pub server: Option<MailServerFile>,
    /// The mailbox of Microsoft Graph that mails are sent from, instead of a server.
    pub graph: Option<GraphMailFile>,
}

/// The keys of `[effects.mail.graph]`: mails leave through Microsoft Graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphMailFile {
    /// The address of the mailbox; without it, that of whoever signed in.
    pub user: Option<String>,
    /// The name of the credential, one of `effects.credentials`.
    pub credential: String,
    /// How the credential becomes an access token. Without it, it is sent as it is.
    pub login: Option<LoginFile>,
    /// The origin of Graph, if it is not `https://graph.microsoft.com`.
    pub url: Option<String>,
    /// Whether it may have an address of this machine or of a private network. It may not unless this is `true`.
    #[serde(default)]
    pub private: bool,
}

/// The keys of `[effects.mail.server]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailServerFile {
    /// Its name, as its certificate has it.
    pub host: String,
    /// Its port; without it, 465 for `tls` and 587 for `starttls`.
    pub port: Option<u16>,
    /// How the connection is encrypted: `tls` from the start, by `starttls`, or `loopback-plain`, not at all, for a
    /// server on this machine.
    #[serde(default)]
    pub security: MailSecurity,
    /// A file in PEM form with certificate authorities that count beside those of the system. Relative to this file, or
    /// absolute.
    pub authorities: Option<String>,
    /// The name to log in with. If unset, the connection stays anonymous.
    pub user: Option<String>,
    /// The name of the credential to log in with, one of `effects.credentials`.
    pub credential: Option<String>,
}

/// How a connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MailSecurity {
    /// From its first byte.
    #[default]
    Tls,
    /// From the command STARTTLS on.
    Starttls,
    /// Not at all, on this machine.
    LoopbackPlain,
}

/// One server that requests go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketServerFile {
    /// Its origin, such as `https://tickets.example.org`. Every request's address begins with it.
    pub origin: String,
    /// Whether it may have an address of this machine or of a private network. It may not unless this is `true`.
    #[serde(default)]
    pub private: bool,
    /// The name of the credential that is sent along, one of `effects.credentials`.
    pub credential: Option<String>,
    /// The user whose password the credential is; without it, it is sent as a bearer token.
    pub user: Option<String>,
    /// How the credential becomes an access token, which is sent as a bearer token. Without it, it is sent as it is.
    pub login: Option<LoginFile>,
}

/// One request. `{target}` represents what an action is aimed at, and `{NAME}` for its field of that name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestFile {
    /// The server, by its name under `effects.servers`.
    pub server: String,
    /// Its kind: `comment`, `transition` or `create`.
    #[schemars(with = "String")]
    pub kind: RequestKind,
    /// `POST`, `PUT` or `PATCH`.
    #[schemars(with = "String")]
    pub method: RequestMethod,
    /// The path and query, from the server's origin on, such as `/rest/api/2/issue/{target}/comment`.
    pub path: String,
    /// Headers without credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body, as JSON.
    pub body: Json,
    /// Those of status 429 and 500 to 599 by which this server says that it did nothing.
    #[serde(default)]
    pub not_done: Vec<u16>,
}

/// The place of one credential: a variable of the environment, or a file of mode 600.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum CredentialFile {
    /// The name of the environment variable that holds it.
    Variable(String),
    /// The file that holds it on one line, readable by you alone. Relative to this file, or absolute.
    File(String),
}
