//! Runs that are kept: the store behind the driver and the caller.
//!
//! A [`Recording`] belongs to one run: the driver's journal and the caller's gate in one. The driver's notes are held
//! until the first attempt of a call, so that a run, its state, its call and its booking are written in one transaction
//! before a byte is sent. After a call, nothing is held back from the user if the store fails: [`Recording::trouble`]
//! reports it.
//!
//! Invariants: nothing is sent that is not written, unless records are off, which no budget allows. No credential is
//! written. A recorded run that is resumed continues from its latest sealed state, under its own id, or under a new one
//! as a fork.

mod folded_state;
mod recording;
mod replay;
mod resume;
mod sealed_states;
mod unsent;

pub use self::recording::{
    ASSEMBLED_ONLY, Ledger, RecordDepth, Recording, RecordingContext, RunEnd, Start, ToolReport, assembly_record,
};
pub use self::replay::{Difference, ReplayMeans, ReplayReport, replay};
pub use self::resume::{
    DriveContext, RememberedWorld, ResumableRun, ResumeIdentity, ResumeRequest, SnapshotState, drive_to_the_end,
    resumable, resume,
};
pub use self::sealed_states::{SealBinding, SealKey, SealedState, open_sealed_state, seal};
pub use self::unsent::{Necessity, unsent_reason};
