//! What of an action, and of what is around it, decides what can happen to it.

use super::{
    ActionHash, ActionVersion, BytesHash, PerformerEpoch, PolicyHash,
    clock::{LedgerTime, ReleaseWindow},
    event::StandingApproval,
    state::ActionState,
};
use crate::run::Time;

/// What of an action decides what can happen to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionStanding {
    /// Where it stands.
    pub state: ActionState,
    /// Which change of it this is.
    pub version: ActionVersion,
    /// What it says.
    pub content: ActionHash,
    /// Until when somebody has to have decided.
    pub deadline: Time,
    /// When its hold is over, while it is held.
    pub due: Option<Time>,
    /// The approval that is given and not used, as long as one stands.
    pub approval: Option<StandingApproval>,
    /// Who took it up, while it is being executed.
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

/// What is so while a transition is made, read in the transaction that writes it.
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
