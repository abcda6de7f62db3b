//! The requirements of transitions, one rule at a time.

use super::{
    action_standing::{ActionStanding, Surroundings},
    clock::ClockCourse,
    event::{ActionEvent, GateRuling, StandingApproval, TakeUp},
};

/// One rule that a transition has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransitionRequirement {
    /// The policy of this moment permits it.
    Gate,
    /// There is an approval, and it is for what the action says.
    ApprovalContent,
    /// There is an approval, and it was given under the policy in force.
    ApprovalPolicy,
    /// There is an approval, and it has not expired.
    ApprovalTime,
    /// The approval fails one of these three.
    ApprovalOver,
    /// The clock did not jump back.
    SteadyClock,
    /// The hold is over.
    HoldOver,
    /// It was not due longer ago than the release window.
    ReleaseWindow,
    /// Every condition of a hold is met.
    HoldConditions,
    /// The end of a hold does not are behind now.
    HoldAhead,
    /// The bytes are those that were recorded the first time.
    SameBytes,
    /// The bytes that were recorded the first time are there.
    BytesKept,
    /// The action says something else than before.
    ContentDiffers,
    /// The time to decide is not over.
    BeforeDeadline,
    /// The time to decide is over.
    AfterDeadline,
}

impl TransitionRequirement {
    /// Every requirement.
    pub const ALL: [Self; 15] = [
        Self::Gate,
        Self::ApprovalContent,
        Self::ApprovalPolicy,
        Self::ApprovalTime,
        Self::ApprovalOver,
        Self::SteadyClock,
        Self::HoldOver,
        Self::ReleaseWindow,
        Self::HoldConditions,
        Self::HoldAhead,
        Self::SameBytes,
        Self::BytesKept,
        Self::ContentDiffers,
        Self::BeforeDeadline,
        Self::AfterDeadline,
    ];

    /// The requirement, for the table.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Gate => "the policy permits it now",
            Self::ApprovalContent => "the approval is for what it says",
            Self::ApprovalPolicy => "the approval is under the policy in force",
            Self::ApprovalTime => "the approval has not expired",
            Self::ApprovalOver => "the approval has expired, or is for another content or policy",
            Self::SteadyClock => "the clock did not jump back",
            Self::HoldOver => "the hold is over",
            Self::ReleaseWindow => "it was due within the release window",
            Self::HoldConditions => "every condition of a hold is met",
            Self::HoldAhead => "the hold ends now or later",
            Self::SameBytes => "the bytes are those of the first time",
            Self::BytesKept => "the bytes of the first time are there",
            Self::ContentDiffers => "it says something else",
            Self::BeforeDeadline => "the time to decide is not over",
            Self::AfterDeadline => "the time to decide is over",
        }
    }

    /// The problem and the remedy when the requirement does not hold.
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::Gate => "the policy does not permit it now; leave it, or ask for an approval",
            Self::ApprovalContent => {
                "the approval is not for what the action says; look at the action and approve it anew"
            }
            Self::ApprovalPolicy => "the policy has changed since the approval; look at the action and approve it anew",
            Self::ApprovalTime => "the approval has expired; look at the action and approve it anew",
            Self::ApprovalOver => "the approval is still good; leave it, or cancel the action",
            Self::SteadyClock => "the clock went back by more than 60 s; set it right and sweep again",
            Self::HoldOver => "its hold is not over; wait, or release it",
            Self::ReleaseWindow => "it was due too long ago to go by itself; ask for an approval",
            Self::HoldConditions => "a condition of its hold is not met; ask for an approval",
            Self::HoldAhead => "its hold would end before it begins; hold it until now or later",
            Self::SameBytes => "the bytes are not those that were recorded; send exactly those",
            Self::BytesKept => {
                "these records do not have the bytes that left; look whether it happened, and resolve it as sent or not sent"
            }
            Self::ContentDiffers => "nothing is changed; leave it, or change what it says",
            Self::BeforeDeadline => "the time to decide is over; have it proposed anew from a newer signal",
            Self::AfterDeadline => "the time to decide is not over; wait, or cancel it",
        }
    }

    /// Whether it holds.
    pub(super) fn holds(self, standing: &ActionStanding, event: &ActionEvent, around: &Surroundings) -> bool {
        let now = around.time.now();
        let approval = approval(standing, event);
        match self {
            Self::Gate => take_up(event).is_some_and(|taken| taken.gate == GateRuling::Permits),
            Self::ApprovalContent => approval.is_some_and(|approval| approval.content == standing.content),
            Self::ApprovalPolicy => approval.is_some_and(|approval| approval.policy == around.policy),
            Self::ApprovalTime => approval.is_some_and(|approval| now < approval.expires),
            Self::ApprovalOver => {
                let good = [Self::ApprovalContent, Self::ApprovalPolicy, Self::ApprovalTime];
                !good.into_iter().all(|requirement| requirement.holds(standing, event, around))
            }
            Self::SteadyClock => around.time.course() == ClockCourse::Steady,
            Self::HoldOver => standing.due.is_some_and(|due| due <= now),
            Self::ReleaseWindow => standing.due.is_some_and(|due| around.window.is_open(due, now)),
            Self::HoldConditions => take_up(event).is_some_and(|taken| taken.unmet.is_empty()),
            Self::HoldAhead => matches!(event, ActionEvent::Hold { due } if now <= *due),
            Self::SameBytes => take_up(event).is_some_and(|taken| standing.bytes == Some(taken.bytes)),
            Self::BytesKept => standing.bytes.is_some(),
            Self::ContentDiffers => matches!(event, ActionEvent::Edit { content } if *content != standing.content),
            Self::BeforeDeadline => now < standing.deadline,
            Self::AfterDeadline => standing.deadline <= now,
        }
    }
}

/// The approval in question: the one that is given, else the one that is.
pub(super) const fn approval(standing: &ActionStanding, event: &ActionEvent) -> Option<StandingApproval> {
    match event {
        ActionEvent::Approve(approval) | ActionEvent::Release(approval) | ActionEvent::Resend(approval) => {
            Some(*approval)
        }
        _ => standing.approval,
    }
}

const fn take_up(event: &ActionEvent) -> Option<&TakeUp> {
    match event {
        ActionEvent::TakeUp(taken) => Some(taken),
        _ => None,
    }
}
