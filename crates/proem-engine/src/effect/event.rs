//! The events of an action, and who may cause them.

use super::{ActionHash, BytesHash, PolicyHash};
use crate::run::Time;

/// On whose word something happens.
///
/// This states who asks and proves nothing: whoever passes [`Authority::Operator`] has the capability in his hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    /// A person who holds the operator's capability.
    Operator,
    /// A person without it, as behind a pipe.
    Person,
    /// Proem itself: the policy and the performer.
    System,
    /// An agent, a model or a tool.
    Agent,
}

proem_text::word_table! {
    /// As it is written in a table.
    pub Authority {
        Operator = "operator",
        Person = "person",
        System = "system",
        Agent = "agent",
    }
}

/// The epoch that an event may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EpochRule {
    /// Anybody's: it needs no performer's lock.
    Any,
    /// That of the performer in force.
    InForce,
    /// That of the performer in force, who took the action up himself.
    TakenHere,
    /// That of the performer in force, where another took the action up.
    TakenElsewhere,
}

proem_text::word_table! {
    /// As it is written in a table.
    pub EpochRule {
        Any = "any",
        InForce = "in force",
        TakenHere = "in force, the action's",
        TakenElsewhere = "in force, not the action's",
    }
}

/// The policy's ruling right before an action is performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateRuling {
    /// It may go.
    Permits,
    /// It may not, or not like this, or effects are off.
    Withholds,
}

/// The condition for a held action to go by itself (T7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldCondition {
    /// No cause of the action has a finding at or above `flag`.
    NoFinding,
    /// Every check passes.
    ChecksPass,
    /// Nobody outside receives it.
    InternalRecipient,
    /// It names no web address, phone or account number or amount that is not in trusted inputs.
    TrustedValues,
}

proem_text::word_table! {
    pub HoldCondition {
        NoFinding = "no-finding",
        ChecksPass = "checks-pass",
        InternalRecipient = "internal-recipient",
        TrustedValues = "trusted-values",
    }
}

/// A person's yes: good once, for one content, under one policy, until it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandingApproval {
    /// The hash of the content that was shown.
    pub content: ActionHash,
    /// The policy under which it was shown.
    pub policy: PolicyHash,
    /// From when on it is good for nothing.
    pub expires: Time,
}

/// The data with which an action is taken up for execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeUp {
    /// The policy's current ruling.
    pub gate: GateRuling,
    /// The conditions of a hold that are not met. Only a held action is asked for them.
    pub unmet: Vec<HoldCondition>,
    /// The bytes that will go out, which are recorded with the transition.
    pub bytes: BytesHash,
}

/// Something that happens to an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEvent {
    /// The policy lets it go by itself, when the hold is over.
    Hold {
        /// When that is. The time of now for an automatic action.
        due: Time,
    },
    /// The policy wants a person's approval, from the start or all of a sudden.
    RequireApproval,
    /// The policy says no.
    Refuse,
    /// A person says yes to what was shown.
    Approve(StandingApproval),
    /// A person ends the hold of what was shown before its time.
    Release(StandingApproval),
    /// A person changes it.
    Edit {
        /// The new content's hash.
        content: ActionHash,
    },
    /// A person says no.
    Cancel,
    /// The time to decide is over.
    Expire,
    /// The approval is good for nothing any more.
    LapseApproval,
    /// The performer takes it up for execution.
    TakeUp(TakeUp),
    /// It happened, and the receiver said so.
    Sent,
    /// The receiver finally refused it.
    Fail,
    /// Nothing was handed over: no connection, or an end before the receiver had to take anything.
    NotSent,
    /// It was handed over, and no answer came.
    Lose,
    /// The performer that took it up is dead.
    Die,
    /// A person looked: it happened.
    ResolveSent,
    /// A person looked: it did not happen, and shall not.
    ResolveNotSent,
    /// A person wants the same bytes to go once more.
    Resend(StandingApproval),
    /// A person has seen that the witness knows of an effect that the records don't.
    Doubt,
}

/// Which event, without what comes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionEventKind {
    /// [`ActionEvent::Hold`].
    Hold,
    /// [`ActionEvent::RequireApproval`].
    RequireApproval,
    /// [`ActionEvent::Refuse`].
    Refuse,
    /// [`ActionEvent::Approve`].
    Approve,
    /// [`ActionEvent::Release`].
    Release,
    /// [`ActionEvent::Edit`].
    Edit,
    /// [`ActionEvent::Cancel`].
    Cancel,
    /// [`ActionEvent::Expire`].
    Expire,
    /// [`ActionEvent::LapseApproval`].
    LapseApproval,
    /// [`ActionEvent::TakeUp`].
    TakeUp,
    /// [`ActionEvent::Sent`].
    Sent,
    /// [`ActionEvent::Fail`].
    Fail,
    /// [`ActionEvent::NotSent`].
    NotSent,
    /// [`ActionEvent::Lose`].
    Lose,
    /// [`ActionEvent::Die`].
    Die,
    /// [`ActionEvent::ResolveSent`].
    ResolveSent,
    /// [`ActionEvent::ResolveNotSent`].
    ResolveNotSent,
    /// [`ActionEvent::Resend`].
    Resend,
    /// [`ActionEvent::Doubt`].
    Doubt,
}

impl ActionEvent {
    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> ActionEventKind {
        match self {
            Self::Hold { .. } => ActionEventKind::Hold,
            Self::RequireApproval => ActionEventKind::RequireApproval,
            Self::Refuse => ActionEventKind::Refuse,
            Self::Approve(_) => ActionEventKind::Approve,
            Self::Release(_) => ActionEventKind::Release,
            Self::Edit { .. } => ActionEventKind::Edit,
            Self::Cancel => ActionEventKind::Cancel,
            Self::Expire => ActionEventKind::Expire,
            Self::LapseApproval => ActionEventKind::LapseApproval,
            Self::TakeUp(_) => ActionEventKind::TakeUp,
            Self::Sent => ActionEventKind::Sent,
            Self::Fail => ActionEventKind::Fail,
            Self::NotSent => ActionEventKind::NotSent,
            Self::Lose => ActionEventKind::Lose,
            Self::Die => ActionEventKind::Die,
            Self::ResolveSent => ActionEventKind::ResolveSent,
            Self::ResolveNotSent => ActionEventKind::ResolveNotSent,
            Self::Resend(_) => ActionEventKind::Resend,
            Self::Doubt => ActionEventKind::Doubt,
        }
    }
}

proem_text::word_table! {
    /// As it is written down and printed, in the form [`super::NAMES`].
    pub ActionEventKind {
        Hold = "hold",
        RequireApproval = "require-approval",
        Refuse = "refuse",
        Approve = "approve",
        Release = "release",
        Edit = "edit",
        Cancel = "cancel",
        Expire = "expire",
        LapseApproval = "lapse-approval",
        TakeUp = "take-up",
        Sent = "sent",
        Fail = "fail",
        NotSent = "not-sent",
        Lose = "lose",
        Die = "die",
        ResolveSent = "resolve-sent",
        ResolveNotSent = "resolve-not-sent",
        Resend = "resend",
        Doubt = "doubt",
    }
}

impl ActionEventKind {
    /// On whose word alone it happens.
    #[must_use]
    pub const fn authority(self) -> Authority {
        match self {
            Self::Approve
            | Self::Release
            | Self::Edit
            | Self::Cancel
            | Self::ResolveSent
            | Self::ResolveNotSent
            | Self::Resend
            | Self::Doubt => Authority::Operator,
            Self::Hold
            | Self::RequireApproval
            | Self::Refuse
            | Self::Expire
            | Self::LapseApproval
            | Self::TakeUp
            | Self::Sent
            | Self::Fail
            | Self::NotSent
            | Self::Lose
            | Self::Die => Authority::System,
        }
    }

    /// The epoch that it may come from.
    #[must_use]
    pub const fn epoch(self) -> EpochRule {
        match self {
            Self::TakeUp => EpochRule::InForce,
            Self::Sent | Self::Fail | Self::NotSent | Self::Lose => EpochRule::TakenHere,
            Self::Die => EpochRule::TakenElsewhere,
            Self::Hold
            | Self::RequireApproval
            | Self::Refuse
            | Self::Approve
            | Self::Release
            | Self::Edit
            | Self::Cancel
            | Self::Expire
            | Self::LapseApproval
            | Self::ResolveSent
            | Self::ResolveNotSent
            | Self::Resend
            | Self::Doubt => EpochRule::Any,
        }
    }

    /// The event, for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Hold => "the policy lets it go by itself when its hold is over, at once if it is automatic",
            Self::RequireApproval => {
                "the policy wants a person's approval; a held action is late or a condition of its hold is not met"
            }
            Self::Refuse => "the policy says no, at the door or later",
            Self::Approve => "a person says yes to what was shown",
            Self::Release => "a person ends the hold of what was shown before its time",
            Self::Edit => "a person changes what it says",
            Self::Cancel => "a person says no",
            Self::Expire => "the time to decide is over",
            Self::LapseApproval => "the approval has expired, or is for another content or policy",
            Self::TakeUp => "the performer records the bytes and takes it up",
            Self::Sent => "the receiver said that it has it",
            Self::Fail => "the receiver finally refused it",
            Self::NotSent => {
                "nothing was handed over: no connection, or an end before the receiver had to take anything"
            }
            Self::Lose => "it was handed over and no final answer came",
            Self::Die => "the performer that took it up is dead",
            Self::ResolveSent => "a person looked: it happened",
            Self::ResolveNotSent => "a person looked: it did not happen, and shall not",
            Self::Resend => "a person wants the same bytes, under the same id, to go once more",
            Self::Doubt => "a person adopts records that lack an effect which their witness knows of",
        }
    }
}
