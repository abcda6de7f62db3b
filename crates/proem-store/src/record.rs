//! What is written down: the lines of a store, before they are in it.

mod call;
mod content;
mod journal;
mod names;
mod person;
mod run;

pub use self::call::{
    AttemptId, AttemptUsage, CallResult, CallState, NewAssembly, NewAttempt, NewCall, ReadCall, SectionRow, Settlement,
};
pub use self::content::{HashedContent, hash};
pub use self::journal::{Intent, RunFinish};
pub use self::names::{Actor, ActorKind, Project, RunId};
pub use self::person::{NewApproval, NewFeedback};
pub use self::run::{Evaluation, NewRun, NewStep, Numbers, Replayable, RunOutcome, Snapshot};
