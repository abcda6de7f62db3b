//! `login`: how a credential of a source or of a way out becomes an access token.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a credential becomes an access token, by OAuth 2.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginFile {
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
