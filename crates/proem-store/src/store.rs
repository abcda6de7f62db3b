//! The store: opened once for each process, cheap to clone.

use std::path::PathBuf;

use proem_engine::ledger::{Refusal, Short};
use proem_engine::run::Time;

use crate::error::Error;
use crate::record::{Actor, AttemptId, Finish, Intent, NewApproval, NewFeedback, Project, RunId, Settlement, Snapshot};
use crate::sqlite::Sqlite;

/// The records of this user's installation.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) sqlite: Sqlite,
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The file; it is created, with its folder, if it isn't there and `access` allows it.
    pub path: PathBuf,
    /// The installation's key, which says whether this installation created the store.
    pub key: proem_guard::Key,
    /// What is wanted.
    pub access: Access,
    /// Whose process this is, for its epoch.
    pub project: Project,
    /// Who started it.
    pub actor: Actor,
    /// The zone by which days are booked.
    pub zone: jiff::tz::TimeZone,
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To read and write.
    Write,
    /// To read what is there; nothing is created.
    Read,
}

/// A store that is open.
#[derive(Debug)]
pub struct Opened {
    /// It.
    pub store: Store,
    /// Who created it.
    pub origin: Origin,
    /// What the user should know, in our words: a clock behind the store's, attempts of dead processes
    /// that were settled in full.
    pub notes: Vec<String>,
}

/// Who created a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// This installation: it may be written.
    Own,
    /// Another one, or nobody knows: it is only read.
    Foreign,
}

/// Whether an attempt is booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    /// It is, and may be made.
    Yes(AttemptId),
    /// Others have to be settled first; ask again.
    Wait(Short),
    /// It is not, and must not be made. The run and its call are recorded all the same.
    No(Refusal),
}

impl Store {
    /// Opens the store.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`], with what to do.
    pub async fn open(opening: Opening) -> Result<Opened, Error> {
        Sqlite::open(opening).await
    }

    /// Says that an intent follows soon: who writes wakes up while it is put together. It costs nothing to say so
    /// in vain.
    pub fn soon(&self) {
        self.sqlite.soon();
    }

    /// Writes what is about to be done, and books it, in one transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written; then nothing of it is.
    pub async fn intend(&self, intent: Intent) -> Result<Booked, Error> {
        self.sqlite.intend(intent).await
    }

    /// Writes what became of an attempt, and settles it. A second settlement changes nothing.
    ///
    /// # Errors
    ///
    /// As above; the attempt then stays open, and is settled in full when this process is gone.
    pub async fn settle(&self, settlement: Settlement) -> Result<(), Error> {
        self.sqlite.settle(settlement).await
    }

    /// Writes a state to go on from: before a question, or a wait.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written.
    pub async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.sqlite.pause(pause).await
    }

    /// Writes the end of a run; its snapshot goes.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written.
    pub async fn finish(&self, finish: Finish) -> Result<(), Error> {
        self.sqlite.finish(finish).await
    }

    /// Writes what a person thinks of a run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such a run, [`Error::Unusable`].
    pub async fn feedback(&self, feedback: NewFeedback) -> Result<(), Error> {
        self.sqlite.feedback(feedback).await
    }

    /// Writes what a run asked and what was answered.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such a run, [`Error::Unusable`].
    pub async fn approve(&self, approvals: Vec<NewApproval>) -> Result<(), Error> {
        self.sqlite.approve(approvals).await
    }

    /// Takes a run over to go on with it in this process: its epoch becomes this one's.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if it has ended, or its process is still alive.
    pub async fn take_over(&self, run: &RunId, at: Time) -> Result<Snapshot, Error> {
        self.sqlite.take_over(run, at).await
    }

    /// The state that a fork of a run goes on from; the run itself stays as it is.
    ///
    /// # Errors
    ///
    /// As [`Self::take_over`].
    pub async fn fork(&self, run: &RunId, at: Time) -> Result<Snapshot, Error> {
        self.sqlite.fork(run, at).await
    }

    /// Settles in full what processes that are gone left open, and marks their runs. Returns how many
    /// attempts that were. [`Store::open`] and waiting bookings do it on their own.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn bury(&self, at: Time) -> Result<u64, Error> {
        self.sqlite.bury(at).await
    }

    /// Puts right what is booked for an attempt. Only a person at a terminal may.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an attempt, [`Error::Conflict`] while it is open.
    pub async fn correct(&self, correction: Correction) -> Result<(), Error> {
        self.sqlite.correct(correction).await
    }

    /// Clears failures, so that they count no more, or undoes that. Returns how many.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn clear_failures(&self, clearing: Clearing) -> Result<u64, Error> {
        self.sqlite.clear_failures(clearing).await
    }

    /// Deletes runs with all that belongs to them. What was spent stays in the sums by day.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn purge(&self, purge: Purge) -> Result<Purged, Error> {
        self.sqlite.purge(purge).await
    }

    /// Makes this store this installation's own. Only a person at a terminal may.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn adopt(&self, actor: Actor, at: Time) -> Result<(), Error> {
        self.sqlite.adopt(actor, at).await
    }

    /// Sets the last time that was seen back to `at`, after a clock that had run ahead. Only a person
    /// at a terminal may.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn reset_clock(&self, actor: Actor, at: Time) -> Result<(), Error> {
        self.sqlite.reset_clock(actor, at).await
    }

    /// Ends this process's epoch; what is still open is settled in full.
    pub async fn close(self) {
        self.sqlite.close().await;
    }

    /// Lets go of the file as a process does that dies: nothing more is written.
    #[cfg(feature = "laws")]
    pub async fn abandon(self) {
        self.sqlite.abandon().await;
    }
}

/// A run that pauses.
#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    /// Which.
    pub run: RunId,
    /// Its line, if it may not be there yet.
    pub begins: Option<Box<crate::record::NewRun>>,
    /// Events that it took meanwhile.
    pub steps: Vec<crate::record::NewStep>,
    /// What became of the run's attempt before, if it is not written yet.
    pub settles: Option<Box<crate::record::Settlement>>,
    /// The state to go on from.
    pub snapshot: Snapshot,
    /// What it asks, if that is why.
    pub questions: Vec<String>,
}

/// What a person puts right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// Of which attempt.
    pub attempt: AttemptId,
    /// What it really cost.
    pub nanos: proem_engine::call::NanoDollars,
    /// Why.
    pub why: String,
    /// Who says so.
    pub actor: Actor,
    /// When.
    pub at: Time,
}

/// Which failures count no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clearing {
    /// Of which project.
    pub project: Project,
    /// Of which agent; `None` is all.
    pub agent: Option<String>,
    /// Which way.
    pub way: ClearingWay,
    /// Who says so.
    pub actor: Actor,
    /// When.
    pub at: Time,
}

/// Which way a clearing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearingWay {
    /// They count no more.
    Clear,
    /// Those of the last clearing count again.
    Undo,
}

/// Which runs are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purge {
    /// Of which project; `None` is all.
    pub project: Option<Project>,
    /// Those that started before.
    pub before: Option<Time>,
    /// These; empty is all that the other conditions leave.
    pub runs: Vec<RunId>,
    /// Who says so.
    pub actor: Actor,
    /// When.
    pub at: Time,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    /// How many runs.
    pub runs: u64,
    /// How many contents that nothing refers to any more.
    pub contents: u64,
    /// How many bytes the file became smaller.
    pub bytes: u64,
    /// Whether some of it is still in the store's files, for somebody read them meanwhile. The next purge that
    /// deletes something, or closing the store as the last one, takes that away.
    pub held: bool,
}
