//! Work that waits for a process.

use std::time::Duration;

use proem_engine::run::Time;

use super::names::{Actor, Project};

/// The two things that a project needs some process for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// A cycle on open signals.
    Triage,
    /// Performing actions that are due.
    Effects,
}

proem_text::word_table! {
    pub WorkKind: Display {
        Triage = "triage",
        Effects = "effects",
    }
}

/// The work of one kind for one project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkKey {
    /// For which project.
    pub project: Project,
    /// The kind of work.
    pub kind: WorkKind,
}

/// Work that is wanted once more. It is written with what makes it necessary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkWish {
    /// The work.
    pub key: WorkKey,
    /// The actor that wants it.
    pub actor: Actor,
    /// When it was wanted.
    pub at: Time,
    /// Not before this time.
    pub due: Time,
}

/// A process that asks to begin some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkClaim {
    /// The work.
    pub key: WorkKey,
    /// The name of the process, for people: its machine and number.
    pub worker: String,
    /// Now, on this machine. A server's own time counts where there is one.
    pub at: Time,
    /// How long others leave the work alone without hearing of the process.
    pub lease: Duration,
}

/// Work that a process has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkHold {
    /// The work.
    pub key: WorkKey,
    /// The number of this beginning.
    pub version: u64,
    /// How often it was begun since it last succeeded, this time included.
    pub attempt: u64,
    /// The wishes that this beginning fulfils.
    pub wanted: u64,
}

/// How some work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkEnd {
    /// It is done.
    Done,
    /// It failed, for a reason in words of ours. It may be tried again from a time on.
    Failed {
        /// Why it failed.
        problem: String,
        /// The time from which on it may be tried again.
        again: Time,
    },
}
