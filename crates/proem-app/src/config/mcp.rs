//! `[mcp]`: servers of the Model Context Protocol whose tools agents may call. Only the user's own file decides it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One server of the Model Context Protocol, under a name that you choose: a `command` or a `url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerFile {
    /// The program and its arguments, such as `["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]`. It
    /// runs in your home folder.
    pub command: Option<Vec<String>>,
    /// The variables of your environment that the program sees; without it, `PATH` and `HOME`.
    pub environment: Vec<String>,
    /// The credentials in the program's environment: the name of each variable with a name under `effects.credentials`.
    pub secrets: BTreeMap<String, String>,
    /// The server's whole address, such as `https://mcp.example.org/mcp`.
    pub url: Option<String>,
    /// The name of the credential that is sent as a bearer token, one of `effects.credentials`.
    pub credential: Option<String>,
    /// Whether the address may be one of this machine or of a private network. It may not unless this is `true`.
    pub private: bool,
}

impl Default for McpServerFile {
    fn default() -> Self {
        Self {
            command: None,
            environment: ["PATH", "HOME"].map(str::to_owned).to_vec(),
            secrets: BTreeMap::new(),
            url: None,
            credential: None,
            private: false,
        }
    }
}
