//! The store on SQLite: one file, written by one thread of each process in turn.
//!
//! Invariants: everything that belongs together is written in one transaction; what waits at the same
//! time shares one, and so one sync; a transaction that fails leaves nothing.

mod attentive;
mod begin;
mod book;
mod bury;
mod end;
mod memory;
mod opening;
mod person;
mod place;
mod purge;
mod script;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use proem_engine::run::Time;

use self::bury::Going;
use self::writer::{Answer, Job, Writer};
use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::record::{Actor, Finish, Intent, NewApproval, NewFeedback, RunId, Settlement, Snapshot};
use crate::store::{Booked, Clearing, Correction, Opened, Opening, Pause, Purge, Purged};

/// An open file.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    reading: Arc<Reading>,
    /// `None` if it was opened to be read.
    writer: Option<Writer>,
}

/// How it is read.
#[derive(Debug)]
struct Reading {
    path: PathBuf,
    zone: jiff::tz::TimeZone,
    how: How,
}

/// Where what is read comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// The file, which others may write meanwhile.
    Shared,
    /// The file, which nobody can write: its folder is read-only and there is no log.
    Immutable,
    /// There is no file: an empty store in memory.
    Nothing,
}

/// Passes a settlement's place where one goes along.
fn passed(name: &str, settles: bool) {
    if settles {
        failpoint::pass(name);
    }
}

impl Sqlite {
    pub(crate) async fn open(opening: Opening) -> Result<Opened, Error> {
        opening::open(opening).await
    }

    pub(crate) fn soon(&self) {
        if let Some(writer) = &self.writer {
            writer.soon();
        }
    }

    pub(crate) async fn intend(&self, intent: Intent) -> Result<Booked, Error> {
        let settles = intent.settles.is_some();
        passed("before-settlement", settles);
        failpoint::pass("before-intent");
        let answer = self.write(Job::Intend(Box::new(intent))).await?;
        passed("after-settlement", settles);
        failpoint::pass("after-intent");
        match answer {
            Answer::Booked(booked) => Ok(booked),
            other => Err(self.unexpected(&other)),
        }
    }

    pub(crate) async fn settle(&self, settlement: Settlement) -> Result<(), Error> {
        failpoint::pass("before-settlement");
        self.write(Job::Settle(Box::new(settlement))).await?;
        failpoint::pass("after-settlement");
        Ok(())
    }

    pub(crate) async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.write(Job::Pause(Box::new(pause))).await.map(drop)
    }

    pub(crate) async fn finish(&self, finish: Finish) -> Result<(), Error> {
        let settles = finish.settles.is_some();
        passed("before-settlement", settles);
        failpoint::pass("before-finish");
        self.write(Job::Finish(Box::new(finish))).await?;
        passed("after-settlement", settles);
        failpoint::pass("after-finish");
        Ok(())
    }

    pub(crate) async fn feedback(&self, feedback: NewFeedback) -> Result<(), Error> {
        self.write(Job::Feedback(feedback)).await.map(drop)
    }

    pub(crate) async fn approve(&self, approvals: Vec<NewApproval>) -> Result<(), Error> {
        self.write(Job::Approve(approvals)).await.map(drop)
    }

    pub(crate) async fn take_over(&self, run: &RunId, at: Time) -> Result<Snapshot, Error> {
        self.going(run, at, Going::On).await
    }

    pub(crate) async fn fork(&self, run: &RunId, at: Time) -> Result<Snapshot, Error> {
        self.going(run, at, Going::Apart).await
    }

    async fn going(&self, run: &RunId, at: Time, going: Going) -> Result<Snapshot, Error> {
        match self.write(Job::TakeOver(run.clone(), at, going)).await? {
            Answer::Snapshot(snapshot) => Ok(snapshot),
            other => Err(self.unexpected(&other)),
        }
    }

    pub(crate) async fn bury(&self, at: Time) -> Result<u64, Error> {
        let answer = self.write(Job::Bury(at)).await?;
        self.counted(&answer)
    }

    pub(crate) async fn correct(&self, correction: Correction) -> Result<(), Error> {
        self.write(Job::Correct(correction)).await.map(drop)
    }

    pub(crate) async fn clear_failures(&self, clearing: Clearing) -> Result<u64, Error> {
        let answer = self.write(Job::Clear(clearing)).await?;
        self.counted(&answer)
    }

    pub(crate) async fn purge(&self, purge: Purge) -> Result<Purged, Error> {
        match self.write(Job::Purge(purge)).await? {
            Answer::Purged(purged) => Ok(purged),
            other => Err(self.unexpected(&other)),
        }
    }

    pub(crate) async fn adopt(&self, actor: Actor, at: Time) -> Result<(), Error> {
        self.write(Job::Adopt(actor, at)).await.map(drop)
    }

    pub(crate) async fn reset_clock(&self, actor: Actor, at: Time) -> Result<(), Error> {
        self.write(Job::ResetClock(actor, at)).await.map(drop)
    }

    pub(crate) async fn close(self) {
        if let Some(writer) = &self.writer {
            writer.close().await;
        }
    }

    #[cfg(feature = "laws")]
    pub(crate) async fn abandon(self) {
        if let Some(writer) = &self.writer {
            writer.abandon().await;
        }
    }

    /// A connection that only reads, for [`crate::query`].
    pub(crate) async fn reader(&self) -> Result<sqlx::SqliteConnection, Error> {
        opening::reader(&self.reading).await
    }

    /// Whether somebody lives in an epoch, as far as that can be told without touching anything.
    pub(crate) fn is_alive(&self, epoch: &str) -> bool {
        crate::epoch::is_alive(&self.reading.path, epoch)
    }

    /// The file.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.reading.path
    }

    /// The zone by which days are booked.
    pub(crate) fn zone(&self) -> &jiff::tz::TimeZone {
        &self.reading.zone
    }

    /// What an error of SQLite's says about the store.
    pub(crate) fn unusable(&self, error: &sqlx::Error) -> Error {
        script::unusable(&self.reading.path, error)
    }

    async fn write(&self, job: Job) -> Result<Answer, Error> {
        match &self.writer {
            Some(writer) => writer.write(job).await,
            None => {
                let why = "it was opened to be read only".to_owned();
                Err(Unusable::Unwritable { path: self.reading.path.clone(), why }.into())
            }
        }
    }

    fn counted(&self, answer: &Answer) -> Result<u64, Error> {
        match answer {
            Answer::Count(count) => Ok(*count),
            other => Err(self.unexpected(other)),
        }
    }

    /// The writer answered something else than it was asked, which is a bug.
    fn unexpected(&self, answer: &Answer) -> Error {
        Unusable::Other { path: self.reading.path.clone(), why: format!("unexpected answer {answer:?}") }.into()
    }
}
