//! The facts about an action and its surroundings that decide its possible transitions.

use super::{
    ActionHash, ActionVersion, BytesHash, PerformerEpoch, PolicyHash,
    clock::{LedgerTime, ReleaseWindow},
    event::StandingApproval,
    state::ActionState,
};
use crate::run::Time;

/// The facts about an action that decide its possible transitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionStanding {
    /// Its state.
    pub state: ActionState,
    /// Which change of it this is.
    pub version: ActionVersion,
    /// The hash of its content.
    pub content: ActionHash,
    /// Until when somebody has to have decided.
    pub deadline: Time,
    /// When its hold is over, while it is held.
    pub due: Option<Time>,
    /// The approval that is given and not used, as long as one is.
    pub approval: Option<StandingApproval>,
    /// The performer that took it up, while it is being executed.
    pub performer: Option<PerformerEpoch>,
    /// The bytes that were recorded, from when it is taken up until it is known that nothing was handed over.
    pub bytes: Option<BytesHash>,
}

impl ActionStanding {
    /// An action that has just been proposed.
    #[must_use]
    pub const fn proposed(content: ActionHash, deadline: Time) -> Self {
        Self {
            state: ActionState::Proposed,
            version: ActionVersion(0),
            content,
            deadline,
            due: None,
            approval: None,
            performer: None,
            bytes: None,
        }
    }
}

/// The facts around a transition, read in the transaction that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    /// The time of the ledger.
    pub time: LedgerTime,
    /// The epoch in force.
    pub epoch: PerformerEpoch,
    /// The policy in force.
    pub policy: PolicyHash,
    /// The release window of that policy.
    pub window: ReleaseWindow,
}
