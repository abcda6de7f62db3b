//! The thread that writes: one for each open store, so that what waits shares a transaction.
//!
//! It has a runtime of its own, so it goes on writing what it was given when the caller's runtime ends.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use proem_engine::run::Time;
use sqlx::Connection as _;
use tokio::sync::{mpsc, oneshot};

use super::attentive;
use super::bury::Going;
use super::memory::{Basis, Memory};
use super::opening::{self, Begun};
use super::script::{Link, Script};
use crate::epoch::{Epoch, Lock};
use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::record::{Actor, AttemptId, Finish, Intent, NewApproval, NewFeedback, RunId, Settlement, Snapshot};
use crate::store::{Booked, Clearing, Correction, Opening, Origin, Pause, Purge, Purged};

/// The last time that was seen.
const LAST_SEEN: &str = "SELECT value FROM meta WHERE key = 'last_seen'";

/// The most jobs that share one transaction.
const MOST_TOGETHER: usize = 256;

/// Something to be written.
#[derive(Debug)]
pub(super) enum Job {
    Intend(Box<Intent>),
    Settle(Box<Settlement>),
    Pause(Box<Pause>),
    Finish(Box<Finish>),
    Feedback(NewFeedback),
    Approve(Vec<NewApproval>),
    TakeOver(RunId, Time, Going),
    Bury(Time),
    Correct(Correction),
    Clear(Clearing),
    Purge(Purge),
    Adopt(Actor, Time),
    ResetClock(Actor, Time),
    /// Something follows soon.
    Soon,
    Close,
    #[cfg(feature = "laws")]
    Abandon,
}

impl Job {
    /// Whether it does more than its transaction, and so shares it with nobody.
    const fn is_alone(&self) -> bool {
        #[cfg(feature = "laws")]
        if matches!(self, Self::Abandon) {
            return true;
        }
        matches!(self, Self::Purge(_) | Self::Adopt(..) | Self::ResetClock(..) | Self::Soon | Self::Close)
    }

    /// Whether all that it has to know of the file can be supposed.
    const fn is_usual(&self) -> bool {
        matches!(self, Self::Intend(_) | Self::Settle(_) | Self::Finish(_))
    }

    /// Its name, as a failpoint.
    const fn name(&self) -> &'static str {
        match self {
            Self::Intend(_) => "intent",
            Self::Settle(_) => "settle",
            Self::Pause(_) => "pause",
            Self::Finish(_) => "finish",
            Self::Feedback(_) => "feedback",
            Self::Approve(_) => "approve",
            Self::TakeOver(..) => "take-over",
            Self::Bury(_) => "bury",
            Self::Correct(_) => "correct",
            Self::Clear(_) => "clear",
            Self::Purge(_) => "purge",
            Self::Adopt(..) => "adopt",
            Self::ResetClock(..) => "reset-clock",
            Self::Soon => "soon",
            Self::Close => "close",
            #[cfg(feature = "laws")]
            Self::Abandon => "abandon",
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Answer {
    Nothing,
    /// An attempt is booked; its number comes with the commit.
    Opened,
    Booked(Booked),
    Count(u64),
    Snapshot(Snapshot),
    Purged(Purged),
}

/// A job with who waits for it.
struct Waiting {
    job: Job,
    answer: oneshot::Sender<Result<Answer, Error>>,
}

/// The way to the thread.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    jobs: mpsc::UnboundedSender<Waiting>,
    path: Arc<PathBuf>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.job.fmt(f)
    }
}

impl Writer {
    /// Starts the thread, which opens the store.
    pub(super) async fn start(opening: Opening) -> Result<(Self, Origin, Vec<String>), Error> {
        let path = opening.path.clone();
        let (jobs, queue) = mpsc::unbounded_channel();
        let (opened, opening_done) = oneshot::channel();
        let failed = |why: String| Error::from(Unusable::Other { path: path.clone(), why });
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().map_err(|error| failed(error.to_string()))?;
        let run = move || {
            let _entered = runtime.enter();
            attentive::block_on(live(opening, opened, queue));
        };
        thread::Builder::new().name("proem-store".to_owned()).spawn(run).map_err(|error| failed(error.to_string()))?;
        let (origin, notes) = opening_done.await.map_err(|_gone| failed("its thread is gone".to_owned()))??;
        Ok((Self { jobs, path: Arc::new(path) }, origin, notes))
    }

    /// Has a job done.
    pub(super) async fn write(&self, job: Job) -> Result<Answer, Error> {
        let gone = || Error::from(Unusable::Other { path: (*self.path).clone(), why: "it is closed".to_owned() });
        let (answer, done) = oneshot::channel();
        self.jobs.send(Waiting { job, answer }).map_err(|_gone| gone())?;
        done.await.map_err(|_gone| gone())?
    }

    /// Says that a job follows soon; nobody waits for anything.
    pub(super) fn soon(&self) {
        let (answer, _nobody) = oneshot::channel();
        // Who asks a closed store for something is told so then.
        _ = self.jobs.send(Waiting { job: Job::Soon, answer });
    }

    /// Ends the epoch and the thread. What goes wrong is put right by the next opening.
    pub(super) async fn close(&self) {
        _ = self.write(Job::Close).await;
    }
}

#[cfg(feature = "laws")]
impl Writer {
    /// Ends the thread, and nothing else.
    pub(super) async fn abandon(&self) {
        _ = self.write(Job::Abandon).await;
    }
}

/// The whole life of the thread.
async fn live(
    opening: Opening,
    opened: oneshot::Sender<Result<(Origin, Vec<String>), Error>>,
    mut queue: mpsc::UnboundedReceiver<Waiting>,
) {
    let (mut writing, notes) = match opening::begin(opening).await {
        Ok(Begun { writing, notes }) => (writing, notes),
        Err(error) => {
            _ = opened.send(Err(error));
            return;
        }
    };
    if opened.send(Ok((writing.origin.clone(), notes))).is_err() {
        return;
    }
    let mut next = queue.recv().await;
    let mut busy = Instant::now();
    while let Some(first) = next.take() {
        if matches!(first.job, Job::Soon) {
            if queue.is_empty() && busy.elapsed() > attentive::WATCHED {
                writing.wake().await;
                busy = Instant::now();
            }
            next = queue.recv().await;
            continue;
        }
        if matches!(first.job, Job::Close) {
            queue.close();
            writing.close(first).await;
            return;
        }
        #[cfg(feature = "laws")]
        if matches!(first.job, Job::Abandon) {
            _ = writing.link.connection.close().await;
            drop(writing.epoch);
            _ = first.answer.send(Ok(Answer::Nothing));
            return;
        }
        let mut together = vec![first];
        while together.len() < MOST_TOGETHER && together.iter().all(|waiting| !waiting.job.is_alone()) {
            match queue.try_recv() {
                // Who is at work already is awake.
                Ok(Waiting { job: Job::Soon, .. }) => {}
                Ok(waiting) if waiting.job.is_alone() => {
                    next = Some(waiting);
                    break;
                }
                Ok(waiting) => together.push(waiting),
                Err(_none) => break,
            }
        }
        writing.answer(together).await;
        busy = Instant::now();
        if next.is_none() {
            next = queue.recv().await;
        }
    }
    _ = writing.link.connection.close().await;
}

/// What the thread has.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) link: Link,
    pub(super) opening: Opening,
    pub(super) origin: Origin,
    /// The process's own; `None` in a store that is only read.
    pub(super) epoch: Option<Epoch>,
    /// The time of the ledger: the last that was seen.
    pub(super) seen: i64,
    /// Locks of epochs that are buried with this transaction.
    pub(super) buried: Vec<Lock>,
    /// What this transaction goes by.
    pub(super) basis: Basis,
    pub(super) memory: Memory,
}

impl Writing {
    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.link.path
    }

    /// The ledger's time at `now`: it never goes back.
    pub(super) fn at(&mut self, now: Time) -> Time {
        self.seen = self.seen.max(now.0);
        self.memory.saw(self.seen);
        Time(self.seen)
    }

    /// Has SQLite's thread awake, with what every transaction reads at hand. What goes wrong here goes wrong in
    /// the transaction too, and is told then.
    async fn wake(&mut self) {
        let mut script = Script::new();
        script.add(LAST_SEEN);
        _ = self.link.run(script).await;
    }

    /// The id of this process's epoch; empty in a store that is only read, where nothing is written.
    pub(super) fn epoch_id(&self) -> String {
        self.epoch.as_ref().map(|epoch| epoch.id.clone()).unwrap_or_default()
    }

    /// Does jobs in one transaction; if that fails, each in its own, so that none takes others along.
    async fn answer(&mut self, waiting: Vec<Waiting>) {
        let jobs: Vec<&Job> = waiting.iter().map(|waiting| &waiting.job).collect();
        let mut outcome = self.transact(&jobs).await;
        let together = jobs.len() > 1;
        for Waiting { job, answer } in waiting {
            let done = match &mut outcome {
                Ok(answers) => answers.pop_front().ok_or_else(|| self.other("an answer is missing")),
                Err(_) if together => self
                    .transact(&[&job])
                    .await
                    .and_then(|mut answers| answers.pop_front().ok_or_else(|| self.other("an answer is missing"))),
                Err(error) => Err(std::mem::replace(error, self.other("it failed"))),
            };
            // Who waited may be gone; what was written stays.
            _ = answer.send(done);
        }
    }

    fn other(&self, why: &str) -> Error {
        Unusable::Other { path: self.path().to_owned(), why: why.to_owned() }.into()
    }

    /// Does jobs in one transaction, or none of them.
    async fn transact(&mut self, jobs: &[&Job]) -> Result<VecDeque<Answer>, Error> {
        if jobs.iter().all(|job| job.is_usual()) {
            let outcome = self.transact_by(Basis::Memory, jobs).await;
            if outcome.is_ok() || !self.link.is_refuted() {
                return outcome;
            }
        }
        self.transact_by(Basis::File, jobs).await
    }

    async fn transact_by(&mut self, basis: Basis, jobs: &[&Job]) -> Result<VecDeque<Answer>, Error> {
        let (before, origin) = (self.begin(basis).await?, self.origin.clone());
        let outcome = async {
            let mut answers = VecDeque::with_capacity(jobs.len());
            for job in jobs {
                answers.push_back(self.perform(job).await?);
                if jobs.len() > 1 {
                    // Each by itself is a script that is prepared already; all of them in one never are.
                    self.write_down(Script::new()).await?;
                }
            }
            let mut ids = self.commit(before).await?.into_iter();
            for answer in answers.iter_mut().filter(|answer| matches!(answer, Answer::Opened)) {
                let id = ids.next().ok_or_else(|| self.other("an attempt has no number"))?;
                *answer = Answer::Booked(Booked::Yes(AttemptId(id)));
            }
            Ok(answers)
        };
        let mut outcome = outcome.await;
        match (&mut outcome, jobs) {
            (Err(_), _) => {
                self.roll_back(before).await;
                self.origin = origin;
            }
            (Ok(answers), [Job::Purge(_)]) => {
                if let Some(Answer::Purged(purged)) = answers.front_mut() {
                    self.shrink(purged).await;
                }
            }
            (Ok(_), _) => {}
        }
        outcome
    }

    /// Begins a transaction that may write, and gives the last time that was seen.
    pub(super) async fn begin(&mut self, basis: Basis) -> Result<i64, Error> {
        self.basis = basis;
        self.memory.begin();
        let mut script = Script::new();
        script.add("BEGIN IMMEDIATE");
        if basis == Basis::Memory {
            self.link.defer(script);
            return Ok(self.seen);
        }
        script.add(LAST_SEEN);
        let rows = match self.link.run(script).await {
            Ok(rows) => rows,
            Err(error) => {
                self.roll_back(self.seen).await;
                return Err(error);
            }
        };
        let seen = rows.first().map(|row| self.link.get::<String>(row, 0)).transpose()?;
        self.seen = seen.and_then(|seen| seen.parse().ok()).unwrap_or(0);
        Ok(self.seen)
    }

    /// Commits, with the time that was seen last if that is another than `before`, and gives the numbers of
    /// the attempts that were booked by memory.
    pub(super) async fn commit(&mut self, before: i64) -> Result<Vec<i64>, Error> {
        let mut script = Script::new();
        if let (Basis::Memory, Some(first)) = (self.basis, self.memory.first()) {
            // Whatever another process saw since is no later than what was booked here.
            script.suppose("FROM meta WHERE key = 'last_seen' AND CAST(value AS INTEGER) BETWEEN ? AND ?");
            script.with(before).with(first);
        }
        if self.seen != before {
            script.add("UPDATE meta SET value = ? WHERE key = 'last_seen'").with(self.seen.to_string());
        }
        script.add("COMMIT");
        self.write_down(script).await?;
        for lock in self.buried.drain(..) {
            lock.remove();
        }
        Ok(self.memory.keep())
    }

    /// Runs a script behind what was put off; its rows are numbers of attempts.
    async fn write_down(&mut self, script: Script<'_>) -> Result<(), Error> {
        for row in self.link.run(script).await? {
            self.memory.number(self.link.get(&row, 0)?);
        }
        Ok(())
    }

    /// Undoes a transaction. That there is none any more is as well.
    pub(super) async fn roll_back(&mut self, before: i64) {
        self.link.forget();
        let mut script = Script::new();
        script.add("ROLLBACK");
        _ = self.link.run(script).await;
        self.seen = before;
        self.memory.forget();
        self.buried.clear();
    }

    async fn perform(&mut self, job: &Job) -> Result<Answer, Error> {
        if self.origin == Origin::Foreign && !matches!(job, Job::Adopt(..)) {
            return Err(Error::Foreign { path: self.path().to_owned() });
        }
        failpoint::write(job.name(), self.path())?;
        match job {
            Job::Intend(intent) => self.intend(intent).await,
            Job::Settle(settlement) => self.settle(settlement).await.map(|()| Answer::Nothing),
            Job::Pause(pause) => self.pause(pause).await.map(|()| Answer::Nothing),
            Job::Finish(finish) => self.finish(finish).await.map(|()| Answer::Nothing),
            Job::Feedback(feedback) => self.feedback(feedback).await.map(|()| Answer::Nothing),
            Job::Approve(approvals) => self.approve(approvals).await.map(|()| Answer::Nothing),
            Job::TakeOver(run, at, going) => self.take_over(run, *at, *going).await.map(Answer::Snapshot),
            Job::Bury(at) => self.bury(*at).await.map(Answer::Count),
            Job::Correct(correction) => self.correct(correction).await.map(|()| Answer::Nothing),
            Job::Clear(clearing) => self.clear(clearing).await.map(Answer::Count),
            Job::Purge(purge) => self.purge(purge).await.map(Answer::Purged),
            Job::Adopt(actor, at) => self.adopt(actor, *at).await.map(|()| Answer::Nothing),
            Job::ResetClock(actor, at) => self.reset_clock(actor, *at).await.map(|()| Answer::Nothing),
            Job::Soon => Ok(Answer::Nothing),
            Job::Close => self.end_epoch().await.map(|()| Answer::Nothing),
            #[cfg(feature = "laws")]
            Job::Abandon => Ok(Answer::Nothing),
        }
    }

    /// Ends the epoch, closes the file, and only then answers.
    async fn close(mut self, waiting: Waiting) {
        let outcome = match self.origin {
            Origin::Own => self.transact(&[&waiting.job]).await.map(drop),
            Origin::Foreign => Ok(()),
        };
        _ = self.link.connection.close().await;
        if let (Ok(()), Some(epoch)) = (&outcome, self.epoch) {
            epoch.end();
        }
        _ = waiting.answer.send(outcome.map(|()| Answer::Nothing));
    }
}
