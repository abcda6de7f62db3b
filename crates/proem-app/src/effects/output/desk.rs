//! The state of effects, a proposal's fate and a sweep, for programs.

use std::collections::BTreeMap;

use proem_engine::effect::ActionState;
use proem_engine::policy::DecisionDocument;
use schemars::JsonSchema;
use serde::Serialize;

use crate::effects::propose::{Proposal, ProposalFate};
use crate::effects::sweep::{SweepCourse, SweepReport, SweptAction};
use crate::effects::{ActionDesk, EffectsObstacle};
use crate::when;

/// The state of effects in a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EffectsStatusOutput {
    #[serde(flatten)]
    power: EffectsPower,
    /// The id of the records.
    store: String,
    /// The last process that performed actions. Null before the first.
    performer: Option<PerformerOutput>,
    #[serde(flatten)]
    counts: EffectsCounts,
    /// The last time that the records saw.
    #[serde(rename = "lastSeen")]
    last_seen: String,
}

/// Whether actions are performed.
#[derive(Debug, Serialize, JsonSchema)]
struct EffectsPower {
    /// The position of the switch, `on` or `off`.
    position: &'static str,
    /// The names of the obstacles to performing actions.
    obstacles: Vec<&'static str>,
    /// The level of autonomy.
    level: &'static str,
}

/// A process that performs actions.
#[derive(Debug, Serialize, JsonSchema)]
struct PerformerOutput {
    /// Its number.
    epoch: u64,
    /// The process's id.
    process: String,
    /// When it began.
    at: String,
}

/// The amount of work that waits.
#[derive(Debug, Serialize, JsonSchema)]
struct EffectsCounts {
    /// The number of actions in each state that has some.
    actions: BTreeMap<&'static str, u64>,
    /// The number of open escalations.
    escalations: u64,
    /// The number of fields in quarantine.
    quarantined: u64,
}

impl EffectsStatusOutput {
    /// The document of a desk's state.
    #[must_use]
    pub fn new(desk: &ActionDesk<'_>) -> Self {
        let status = &desk.status;
        Self {
            power: EffectsPower {
                position: status.power().as_str(),
                obstacles: desk.obstacles().iter().map(EffectsObstacle::as_str).collect(),
                level: desk.level().as_str(),
            },
            store: status.store.clone(),
            performer: status.performer.as_ref().map(|performer| PerformerOutput {
                epoch: performer.epoch.0,
                process: performer.process.clone(),
                at: when::rfc3339(performer.at),
            }),
            counts: EffectsCounts {
                actions: status.actions.iter().map(|(state, count)| (state.as_str(), *count)).collect(),
                escalations: status.escalations,
                quarantined: status.quarantined,
            },
            last_seen: when::rfc3339(status.last_seen),
        }
    }
}

/// The fate of a proposed action.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalOutput {
    /// Its id. Null for an action that no list has.
    id: Option<String>,
    /// `new`, `known`, `duplicate` or `unwritten`.
    fate: &'static str,
    /// Its state. Null if it was not written.
    state: Option<&'static str>,
    /// The id of the action that has one of its signals already.
    duplicate_of: Option<String>,
    /// The policy's decision.
    decision: DecisionDocument,
    /// The names of the obstacles to performing actions.
    obstacles: Vec<&'static str>,
    /// The id of the escalation that asks a person. Null if none was made.
    escalation: Option<String>,
}

impl ProposalOutput {
    /// The document of a proposal.
    #[must_use]
    pub fn new(proposal: &Proposal) -> Self {
        let (fate, state, of) = match proposal.fate {
            ProposalFate::Written(state) => ("new", Some(state), None),
            ProposalFate::Known(state) => ("known", Some(state), None),
            ProposalFate::Duplicate(of) => ("duplicate", None, Some(of.to_string())),
            ProposalFate::Unwritten => ("unwritten", None, None),
        };
        Self {
            id: proposal.key.map(|key| key.to_string()),
            fate,
            state: state.map(ActionState::as_str),
            duplicate_of: of,
            decision: proposal.decision.to_document(),
            obstacles: proposal.obstacles.iter().map(EffectsObstacle::as_str).collect(),
            escalation: proposal.escalation.as_ref().map(|id| id.0.clone()),
        }
    }
}

/// The account of a sweep.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweepOutput {
    /// The names of the obstacles because of which nothing was looked at.
    obstacles: Vec<&'static str>,
    /// The actions that changed, and those that should have and could not, in order.
    changes: Vec<SweptActionOutput>,
    /// Whether something that decides changed meanwhile, so that the rest is left to the next sweep.
    policy_changed: bool,
    /// Whether effects were switched off meanwhile.
    stopped: bool,
}

/// An action that a sweep dealt with.
#[derive(Debug, Serialize, JsonSchema)]
struct SweptActionOutput {
    /// The id by which commands name it.
    id: String,
    /// Its name in the policy.
    action: String,
    /// The state before.
    from: &'static str,
    /// The state after.
    state: &'static str,
    /// Why. Empty if the state says all.
    why: String,
}

impl SweepOutput {
    /// The document of a sweep.
    #[must_use]
    pub fn new(report: &SweepReport) -> Self {
        let change = |change: &SweptAction| SweptActionOutput {
            id: change.row.key.to_string(),
            action: change.row.scope.name.clone(),
            from: change.row.state.as_str(),
            state: change.state.as_str(),
            why: change.why.clone(),
        };
        Self {
            obstacles: report.obstacles.iter().map(EffectsObstacle::as_str).collect(),
            changes: report.changes.iter().map(change).collect(),
            policy_changed: report.course == SweepCourse::Changed,
            stopped: report.course == SweepCourse::Stopped,
        }
    }
}
