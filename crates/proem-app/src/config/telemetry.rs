//! `[telemetry]`: the endpoint that runs are exported to. Only the user's own file decides it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys of `[telemetry]`: an endpoint of OpenTelemetry that takes the spans of runs when their command has ended. Only
/// your own configuration decides this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryFile {
    /// The base address of the endpoint, such as `http://127.0.0.1:4318`, to which `/v1/traces` is added. Without it,
    /// nothing is sent.
    pub otlp: Option<String>,
    /// The headers that prove who sends, each with the name of a credential under `effects.credentials`.
    pub headers: BTreeMap<String, String>,
    /// Whether the texts of prompts, answers and calls of tools are sent, without credentials. They are not unless this
    /// is `true`.
    pub content: bool,
}
