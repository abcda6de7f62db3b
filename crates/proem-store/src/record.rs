//! The lines of a store before they are written.

mod action;
mod call;
mod content;
mod digest;
mod journal;
mod names;
mod person;
mod review;
mod run;
mod tool;
mod triage;
mod work;

pub use self::action::{
    ActionCorrection, ActionSource, ApprovalBreadth, CreditScope, EffectsPower, EffectsSwitch, NewAction,
    NewTransition, PerformerClaim, TransitionLoad,
};
pub use self::call::{
    AttemptId, AttemptUsage, CallResult, CallState, NewAssembly, NewAttempt, NewCall, ReadCall, SectionRow, Settlement,
};
pub use self::content::{HashedContent, content_hash};
pub(crate) use self::digest::{digest_of, digest_text};
pub use self::journal::{Intent, RunFinish};
pub use self::names::{Actor, ActorKind, Project, RunId};
pub use self::person::{NewApproval, NewFeedback};
pub use self::review::{
    DecisionEffect, EscalationId, EscalationOption, EscalationState, EscalationWithdrawal, NewDecision, NewEscalation,
    NewQuarantine, QuarantineId, QuarantineReview, QuarantineState,
};
pub use self::run::{Evaluation, NewRun, NewStep, Numbers, Replayable, RunCaller, RunOutcome, Snapshot, StatePart};
pub use self::tool::{NewToolCall, ToolCallState, ToolEnd, ToolIntent, ToolRefusal};
pub use self::triage::{
    ArtefactEdit, CycleFinish, HandledSignal, NewArtefactVersion, NewSignal, NewTriageProject, SignalIntake,
    SignalJudgement, SignalStanding, WHOLE_BACKLOG,
};
pub use self::work::{WorkClaim, WorkEnd, WorkHold, WorkKey, WorkKind, WorkWish};
