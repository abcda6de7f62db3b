//! `[webhooks]`: what other systems may deliver. Only the user's own file decides it.

use std::num::NonZeroU32;
use std::path::PathBuf;

use proem_triage::WebhookSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::effects::CredentialFile;

/// One webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookFile {
    /// The system that sends it: `jira`, `asana` or `graph`.
    #[schemars(with = "String")]
    pub source: WebhookSource,
    /// A folder in the project that its signals belong to, by its absolute path.
    pub project: PathBuf,
    /// The place of its secret, of 16 characters or more: `{ variable = "NAME" }`, or `{ file = "PATH" }` for one line
    /// in a file that only you can read (mode 600). For Jira the webhook's secret, for Graph the subscription's
    /// `clientState`. Asana chooses its own when the webhook is created.
    pub secret: Option<CredentialFile>,
    /// The most deliveries a second; without it, 200. Ten times as many may come at once.
    pub per_second: Option<NonZeroU32>,
}
