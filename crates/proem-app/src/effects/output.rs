//! Agents' actions as documents for programs.

use proem_guard::show;
use proem_store::query::QueueLine;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::ActionDesk;
use crate::when;

/// An action in the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueLineOutput {
    /// Its id, by which commands name it.
    id: String,
    /// Its name in the policy.
    action: String,
    /// Its target, as written. Null once its texts are gone.
    #[schemars(with = "Option<String>")]
    target: Option<Json>,
    /// `proposed`, `held`, `waiting`, `approved`, …
    state: &'static str,
    /// How many transitions it has been through.
    version: u64,
    #[serde(flatten)]
    times: QueueLineTimes,
    /// The policy's last decision, with its reasons.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Json>>")]
    decision: Option<Json>,
}

/// The times of an action.
#[derive(Debug, Serialize, JsonSchema)]
struct QueueLineTimes {
    /// When it was proposed.
    created: String,
    /// When its hold is over.
    due: Option<String>,
    /// Until when somebody has to have decided.
    deadline: String,
    /// When it ended.
    ended: Option<String>,
}

impl QueueLineOutput {
    /// The document of a line of the queue.
    #[must_use]
    pub fn new(desk: &ActionDesk<'_>, line: &QueueLine) -> Self {
        Self {
            id: line.key.to_string(),
            action: line.name.clone(),
            target: desk.target(line).as_ref().map(show::exact_json),
            state: line.state.as_str(),
            version: line.version.0,
            times: QueueLineTimes {
                created: when::rfc3339(line.created),
                due: line.due.map(when::rfc3339),
                deadline: when::rfc3339(line.deadline),
                ended: line.ended.map(when::rfc3339),
            },
            decision: line.decision.clone(),
        }
    }
}
