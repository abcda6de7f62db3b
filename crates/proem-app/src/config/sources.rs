//! `[sources]`: the servers that signals are read from. Only the user's own file decides it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub login: Option<SourceLoginFile>,
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

/// How a credential becomes an access token, by OAuth 2.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceLoginFile {
    /// The address that tokens come from, such as `https://login.microsoftonline.com/TENANT/oauth2/v2.0/token`.
    pub url: String,
    /// The id of the registered client.
    pub client: String,
    /// The permissions, with spaces between them, such as `offline_access https://graph.microsoft.com/Mail.Read`.
    pub permissions: String,
    /// The kind of credential: `refresh-token` or `client-secret`.
    #[serde(default)]
    pub grant: LoginGrant,
}

/// The credential that a login takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoginGrant {
    /// A token that a person's sign-in left. A new one replaces it in its file.
    #[default]
    RefreshToken,
    /// The secret of a client that acts for itself.
    ClientSecret,
}
