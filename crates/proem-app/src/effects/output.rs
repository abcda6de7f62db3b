//! Agents' actions as documents for programs.

use proem_engine::policy::DecisionDocument;
use proem_guard::show;
use proem_store::query::{ActionApprovalRow, QueueLine, TransitionRow};
use proem_text::hex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::ActionDesk;
use super::queue::QueuedAction;
use crate::when;

mod desk;
mod review;

pub use self::desk::{EffectsStatusOutput, ProposalOutput, SweepOutput};
pub use self::review::{EscalationOutput, QuarantinedOutput};

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
    /// The number of its transitions.
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
    #[serde(flatten)]
    open: OpenTimes,
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
                open: OpenTimes {
                    created: when::rfc3339(line.created),
                    due: line.due.map(when::rfc3339),
                    deadline: when::rfc3339(line.deadline),
                },
                ended: line.ended.map(when::rfc3339),
            },
            decision: line.decision.clone(),
        }
    }
}

/// An action with all that happened to it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueuedActionOutput {
    #[serde(flatten)]
    place: QueuedActionPlace,
    #[serde(flatten)]
    times: OpenTimes,
    #[serde(flatten)]
    content: QueuedActionContent,
    /// Its transitions, oldest first.
    transitions: Vec<TransitionOutput>,
    /// The approvals that persons gave.
    approvals: Vec<ApprovalOutput>,
}

/// The place of an action in the machine of effects.
#[derive(Debug, Serialize, JsonSchema)]
struct QueuedActionPlace {
    /// Its id, by which commands name it.
    id: String,
    /// Its name in the policy.
    action: String,
    /// `proposed`, `held`, `waiting`, `approved`, …
    state: &'static str,
    /// The number of its transitions.
    version: u64,
}

/// The times of an action that may still go.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenTimes {
    /// When it was proposed.
    created: String,
    /// When its hold is over.
    due: Option<String>,
    /// Until when somebody has to have decided.
    deadline: String,
}

/// The texts of an action, and the policy's ruling on them.
#[derive(Debug, Serialize, JsonSchema)]
struct QueuedActionContent {
    /// The hash of its content.
    content: String,
    /// Its target, its fields and its causes. Null once its texts are gone.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Json>>")]
    says: Option<Json>,
    /// The decision by the policy in force. Null once its texts are gone.
    decision: Option<DecisionDocument>,
    /// The bytes that left. Null if none did, or if they are gone.
    bytes: Option<String>,
    /// Why no bytes can be made of it. Null if they can.
    problem: Option<String>,
}

/// A transition of an action.
#[derive(Debug, Serialize, JsonSchema)]
struct TransitionOutput {
    /// The version that it made.
    version: u64,
    /// When the action went over.
    at: String,
    /// The actor that caused it.
    actor: String,
    /// The event that moved the action.
    event: &'static str,
    /// The state before.
    from: &'static str,
    /// The state after.
    to: &'static str,
    /// The event's details, by name.
    details: Json,
}

/// A transition of any action.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoggedTransitionOutput {
    /// The action's id.
    id: String,
    /// The number of the performer that caused it. Null if none did.
    epoch: Option<u64>,
    #[serde(flatten)]
    transition: TransitionOutput,
}

/// A person's approval.
#[derive(Debug, Serialize, JsonSchema)]
struct ApprovalOutput {
    /// When the person decided.
    at: String,
    /// The person.
    actor: String,
    /// The event that it gave rise to.
    kind: &'static str,
    /// The hash of the content that was shown.
    content: String,
    /// From when on it is good for nothing.
    expires: String,
    /// When it was used up.
    used: Option<String>,
    /// When it became good for nothing.
    void: Option<String>,
}

impl QueuedActionOutput {
    /// The document of an action.
    #[must_use]
    pub fn new(item: &QueuedAction) -> Self {
        let (detail, row) = (&item.detail, &item.detail.row);
        let draft = item.draft.as_ref();
        Self {
            place: QueuedActionPlace {
                id: row.key.to_string(),
                action: row.scope.name.clone(),
                state: row.state.as_str(),
                version: row.version.0,
            },
            times: OpenTimes {
                created: when::rfc3339(row.created),
                due: row.due.map(when::rfc3339),
                deadline: when::rfc3339(row.deadline),
            },
            content: QueuedActionContent {
                content: hex::encode_hex(row.content.0),
                says: item.action.as_ref().map(|action| show::tree_json(action.tree())),
                decision: item.decision.as_ref().map(|decision| decision.to_document()),
                bytes: detail.bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
                problem: draft.and_then(|draft| draft.as_ref().err()).map(ToString::to_string),
            },
            transitions: detail.transitions.iter().map(TransitionOutput::new).collect(),
            approvals: detail.approvals.iter().map(ApprovalOutput::new).collect(),
        }
    }
}

impl TransitionOutput {
    fn new(row: &TransitionRow) -> Self {
        Self {
            version: row.version.0,
            at: when::rfc3339(row.at),
            actor: row.actor.clone(),
            event: row.event.as_str(),
            from: row.from.as_str(),
            to: row.to.as_str(),
            details: row.details.clone(),
        }
    }
}

impl LoggedTransitionOutput {
    /// The document of a transition.
    #[must_use]
    pub fn new(row: &TransitionRow) -> Self {
        Self {
            id: row.action.to_string(),
            epoch: row.epoch.map(|epoch| epoch.0),
            transition: TransitionOutput::new(row),
        }
    }
}

impl ApprovalOutput {
    fn new(row: &ActionApprovalRow) -> Self {
        Self {
            at: when::rfc3339(row.at),
            actor: row.actor.clone(),
            kind: row.kind.as_str(),
            content: hex::encode_hex(row.content.0),
            expires: when::rfc3339(row.expires),
            used: row.used.map(when::rfc3339),
            void: row.void.map(when::rfc3339),
        }
    }
}
