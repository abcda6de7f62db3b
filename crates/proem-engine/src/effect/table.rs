//! The table of transitions.

use super::{
    event::ActionEventKind as Event, requirement::TransitionRequirement as Requirement, state::ActionState as State,
};

/// A transition's effect on the approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalChange {
    /// Absent before and after.
    Absent,
    /// One is given.
    Given,
    /// It is good for nothing any more.
    Void,
    /// It is used up.
    Spent,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionRule {
    /// The state before.
    pub from: State,
    /// The event.
    pub on: Event,
    /// The state after.
    pub to: State,
    /// The requirements, in the order in which they are checked.
    pub requires: &'static [Requirement],
    /// The effect on the approval.
    pub approval: ApprovalChange,
    /// The facts recorded beside actor, time, policy, both states and the new version, in words.
    pub records: &'static str,
}

/// The transition for that state and event. `None` if there is none.
#[must_use]
pub fn transition(from: State, on: Event) -> Option<&'static TransitionRule> {
    TRANSITIONS.iter().find(|rule| rule.from == from && rule.on == on)
}

/// The requirements of a valid approval.
const GOOD_APPROVAL: &[Requirement] =
    &[Requirement::ApprovalContent, Requirement::ApprovalPolicy, Requirement::ApprovalTime];

/// The requirements for a held action to go by itself.
const FREE_TO_GO: &[Requirement] = &[
    Requirement::Gate,
    Requirement::SteadyClock,
    Requirement::HoldOver,
    Requirement::ReleaseWindow,
    Requirement::HoldConditions,
];

const REASONS: &str = "the policy's reasons";
const DECISION: &str = "the person's own words, if there are any";
const APPROVAL: &str = "the approval: what was shown, policy, expiry";
const BYTES: &str = "the exact bytes, their hash and the epoch";
const ANSWER: &str = "the receiver's answer";
const TROUBLE: &str = "where it ended";
const NOTHING: &str = "nothing else";
const WITNESSED: &str = "the witness's knowledge";

/// A line without requirements, which leaves approvals alone.
const fn plain_transition(from: State, on: Event, to: State, records: &'static str) -> TransitionRule {
    TransitionRule { from, on, to, requires: &[], approval: ApprovalChange::Absent, records }
}

impl TransitionRule {
    const fn requires(self, requires: &'static [Requirement]) -> Self {
        Self { requires, ..self }
    }

    const fn approval(self, approval: ApprovalChange) -> Self {
        Self { approval, ..self }
    }
}

/// All transitions, by the state that they lead from. Anything else is refused.
pub const TRANSITIONS: &[TransitionRule] = {
    use ApprovalChange::{Given, Spent, Void};
    &[
        plain_transition(State::Proposed, Event::Hold, State::Held, "the policy's reasons and when the hold is over")
            .requires(&[Requirement::HoldAhead]),
        plain_transition(State::Proposed, Event::RequireApproval, State::Waiting, REASONS),
        plain_transition(State::Proposed, Event::Refuse, State::Refused, REASONS),
        plain_transition(State::Proposed, Event::Cancel, State::Cancelled, DECISION),
        plain_transition(State::Proposed, Event::Expire, State::Expired, NOTHING)
            .requires(&[Requirement::AfterDeadline]),
        plain_transition(State::Proposed, Event::Doubt, State::Unknown, WITNESSED),
        plain_transition(State::Held, Event::Approve, State::Approved, APPROVAL)
            .requires(GOOD_APPROVAL)
            .approval(Given),
        plain_transition(State::Held, Event::Release, State::Approved, APPROVAL)
            .requires(GOOD_APPROVAL)
            .approval(Given),
        plain_transition(State::Held, Event::Edit, State::Waiting, "both contents")
            .requires(&[Requirement::ContentDiffers]),
        plain_transition(State::Held, Event::Cancel, State::Cancelled, DECISION),
        plain_transition(State::Held, Event::RequireApproval, State::Waiting, REASONS),
        plain_transition(State::Held, Event::Refuse, State::Refused, REASONS),
        plain_transition(State::Held, Event::TakeUp, State::Executing, BYTES).requires(FREE_TO_GO),
        plain_transition(State::Held, Event::Doubt, State::Unknown, WITNESSED),
        plain_transition(State::Waiting, Event::Approve, State::Approved, APPROVAL)
            .requires(&[
                Requirement::BeforeDeadline,
                Requirement::ApprovalContent,
                Requirement::ApprovalPolicy,
                Requirement::ApprovalTime,
            ])
            .approval(Given),
        plain_transition(State::Waiting, Event::Edit, State::Waiting, "both contents")
            .requires(&[Requirement::ContentDiffers]),
        plain_transition(State::Waiting, Event::Cancel, State::Cancelled, DECISION),
        plain_transition(State::Waiting, Event::Refuse, State::Refused, REASONS),
        plain_transition(State::Waiting, Event::Expire, State::Expired, NOTHING)
            .requires(&[Requirement::AfterDeadline]),
        plain_transition(State::Waiting, Event::Doubt, State::Unknown, WITNESSED),
        plain_transition(State::Approved, Event::TakeUp, State::Executing, BYTES)
            .requires(&[
                Requirement::Gate,
                Requirement::ApprovalContent,
                Requirement::ApprovalPolicy,
                Requirement::ApprovalTime,
            ])
            .approval(Spent),
        plain_transition(State::Approved, Event::Edit, State::Waiting, "both contents")
            .requires(&[Requirement::ContentDiffers])
            .approval(Void),
        plain_transition(State::Approved, Event::Cancel, State::Cancelled, DECISION).approval(Void),
        plain_transition(State::Approved, Event::RequireApproval, State::Waiting, REASONS).approval(Void),
        plain_transition(State::Approved, Event::Refuse, State::Refused, REASONS).approval(Void),
        plain_transition(State::Approved, Event::LapseApproval, State::Waiting, NOTHING)
            .requires(&[Requirement::ApprovalOver])
            .approval(Void),
        plain_transition(State::Approved, Event::Doubt, State::Unknown, WITNESSED).approval(Void),
        plain_transition(State::Executing, Event::Sent, State::Executed, ANSWER),
        plain_transition(State::Executing, Event::Fail, State::Failed, ANSWER),
        plain_transition(State::Executing, Event::NotSent, State::Waiting, TROUBLE),
        plain_transition(State::Executing, Event::Lose, State::Unknown, TROUBLE),
        plain_transition(State::Executing, Event::Die, State::Unknown, "the epoch that found it"),
        plain_transition(State::Unknown, Event::ResolveSent, State::Executed, DECISION),
        plain_transition(State::Unknown, Event::ResolveNotSent, State::Failed, DECISION),
        plain_transition(State::Unknown, Event::Resend, State::Resend, APPROVAL)
            .requires(&[
                Requirement::BytesKept,
                Requirement::ApprovalContent,
                Requirement::ApprovalPolicy,
                Requirement::ApprovalTime,
            ])
            .approval(Given),
        plain_transition(State::Resend, Event::TakeUp, State::Resending, "the epoch; the bytes are there already")
            .requires(&[
                Requirement::Gate,
                Requirement::ApprovalContent,
                Requirement::ApprovalPolicy,
                Requirement::ApprovalTime,
                Requirement::SameBytes,
            ])
            .approval(Spent),
        plain_transition(State::Resend, Event::Cancel, State::Unknown, DECISION).approval(Void),
        plain_transition(State::Resend, Event::RequireApproval, State::Unknown, REASONS).approval(Void),
        plain_transition(State::Resend, Event::Refuse, State::Unknown, REASONS).approval(Void),
        plain_transition(State::Resend, Event::LapseApproval, State::Unknown, NOTHING)
            .requires(&[Requirement::ApprovalOver])
            .approval(Void),
        plain_transition(State::Resend, Event::Doubt, State::Unknown, WITNESSED).approval(Void),
        plain_transition(State::Resending, Event::Sent, State::Executed, ANSWER),
        plain_transition(State::Resending, Event::Fail, State::Unknown, ANSWER),
        plain_transition(State::Resending, Event::NotSent, State::Unknown, TROUBLE),
        plain_transition(State::Resending, Event::Lose, State::Unknown, TROUBLE),
        plain_transition(State::Resending, Event::Die, State::Unknown, "the epoch that found it"),
    ]
};
