//! `[sources]`: the servers that signals are read from. Only the user's own file decides it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::login::LoginFile;

/// One source of signals that `proem triage sync` reads, under a name that you choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalSourceFile {
    /// The system: `jira`, `graph` or `asana`.
    pub system: SignalSystem,
    /// Its origin, such as `https://corp.atlassian.net`. Without it, that of Microsoft Graph or Asana.
    pub url: Option<String>,
    /// Whether it may have an address of this machine or of a private network. It may not unless this is `true`.
    #[serde(default)]
    pub private: bool,
    /// For Jira, the account whose API token the credential is. For Graph, the address of the mailbox to read; without
    /// it, that of whoever signed in.
    pub user: Option<String>,
    /// The name of the credential that reads, one of `effects.credentials`. It may not be one that sends.
    pub credential: String,
    /// How the credential becomes an access token. Without it, it is sent as it is.
    pub login: Option<LoginFile>,
    /// The keys of the projects that read this source. Without any, all do.
    #[serde(default)]
    pub projects: Vec<String>,
}

/// A system that signals are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignalSystem {
    /// Jira Cloud.
    Jira,
    /// Mail of Microsoft Graph.
    Graph,
    /// The tasks and stories of Asana projects.
    Asana,
}
