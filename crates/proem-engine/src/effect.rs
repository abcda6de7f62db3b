//! The life of an action: its states, and the one table of transitions between them.
//!
//! [`TRANSITIONS`] says which event leads where, what has to hold and what is written down. [`step`] goes by it,
//! [`document::markdown`] prints it for `docs/design/0014-effects.md`, and the tests compare both with it over
//! all states and events. [`key`] makes the keys by which the same action happens at most once.
//!
//! Invariants: an action changes by [`step`] alone, from the version that the event was decided on. Nothing by an agent
//! changes one. Between two entries into execution stands a person; what may have happened is unknown until a person
//! says what it was. Nothing here knows the store, the network or who asks: times, epochs and hashes come in as
//! arguments, the store writes a transition by comparing and setting, and somebody else performs it.

mod action_standing;
mod clock;
pub mod document;
mod event;
pub mod key;
mod machine;
mod requirement;
mod state;
mod table;

pub use self::{
    action_standing::{ActionStanding, Surroundings},
    clock::{BACKWARD_JUMP, ClockCourse, LedgerTime, ReleaseWindow},
    event::{ActionEvent, ActionEventKind, Authority, EpochRule, GateRuling, HoldCondition, StandingApproval, TakeUp},
    machine::{RefusalRule, Transition, TransitionRefused, TransitionRequest, step},
    requirement::TransitionRequirement,
    state::{ActionState, NAMES},
    table::{ApprovalChange, TRANSITIONS, TransitionRule, transition},
};

/// SHA-256 of an action in its canonical form: what a person was shown and approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionHash(pub [u8; 32]);

/// SHA-256 of the policy that something was decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyHash(pub [u8; 32]);

/// SHA-256 of the exact bytes that go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BytesHash(pub [u8; 32]);

/// The life of one performer of effects: a later one has a higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerformerEpoch(pub u64);

/// Which change of an action: each transition raises it by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionVersion(pub u64);
