//! Attempts at a cycle: open signals are worked on until each is handled.
//!
//! Invariants: a cycle that somebody else overtook is planned again. One that can't be written for reasons of its own
//! is tried once more, then by rules alone and in halves, and the signals that are left over are set aside and asked
//! about. So no answer of a model and no record stops a project for good.

use std::error::Error as _;

use proem_engine::effect::key::SignalRevision;
use proem_store::query::SignalRow;
use proem_store::record::SignalStanding;
use proem_store::{Error as StoreError, Unusable};

use super::cycle_report::CycleReport;
use super::desk::TriageDesk;
use super::model_calls::{AskedCycle, CycleModels};
use super::read_signal::ReadSignal;
use super::set_aside::OpenSignals;
use crate::error::{Error, ErrorKind};

/// The most signals of a cycle.
const MOST: u64 = 500;
/// How often a cycle begins again because somebody was faster.
const TRIES: usize = 5;

/// The outcome of an attempt.
enum CycleAttempt {
    /// The cycle is written.
    Written(Box<CycleReport>),
    /// Somebody else changed what it read.
    Overtaken,
    /// It can't be written as it is, for this reason.
    Unwritable(String),
}

impl TriageDesk<'_> {
    /// Works on everything that is open, in cycles; without anything one line is written all the same. `progress` hears
    /// how many signals are handled.
    ///
    /// # Errors
    ///
    /// If the records can't be read or written; what was handled before stays handled.
    pub async fn work(&self, progress: &mut dyn FnMut(usize)) -> Result<CycleReport, Error> {
        self.work_with(None, progress).await
    }

    /// The same with models, where there are any. A cycle that is planned again because somebody was faster asks them
    /// nothing twice.
    ///
    /// # Errors
    ///
    /// As [`Self::work`], and if nothing can be sent or recorded; what a call came to is in the report.
    pub(super) async fn work_with(
        &self,
        mut models: Option<CycleModels<'_>>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<CycleReport, Error> {
        let mut asked: Option<AskedCycle> = None;
        let mut report = CycleReport::default();
        let mut tries = 0_usize;
        loop {
            let open =
                if self.is_active() { self.desk.store.open_signals(&self.desk.owner, MOST).await? } else { Vec::new() };
            let is_last = u64::try_from(open.len()).unwrap_or(u64::MAX) < MOST;
            if open.is_empty() && !report.cycles.is_empty() {
                return Ok(report);
            }
            let read = match self.read(open)? {
                OpenSignals::Read(read) => read,
                OpenSignals::Unread(unread) => {
                    self.set_aside(&unread, &mut report).await?;
                    continue;
                }
            };
            let all = read.len();
            let read = match &models {
                Some(models) => models.next_signals(read),
                None => read,
            };
            let is_last = is_last && read.len() == all;
            let about = revisions(&read);
            if asked.as_ref().is_none_or(|asked| asked.about != about) {
                asked = match &mut models {
                    Some(models) => self.ask_models(models, &read, about).await?,
                    None => None,
                };
            }
            match self.cycle_or_rescue(&read, asked.as_ref()).await? {
                Some(done) => {
                    report.join(done);
                    progress(report.outcomes.len());
                    tries = 0;
                    if is_last {
                        return Ok(report);
                    }
                }
                None if tries < TRIES => tries = tries.saturating_add(1),
                None => return Err(overtaken_attempt()),
            }
        }
    }

    /// The cycle that a run's calls were made for, once that run has gone on to its end. Later signals are for the next
    /// one.
    ///
    /// # Errors
    ///
    /// If its signals are no longer open, or the records can't be read or written.
    pub async fn go_on_with(&self, asked: AskedCycle) -> Result<CycleReport, Error> {
        let is_late = || {
            Error::negative(
                "the run has ended, and its signals are not all open any more, so nothing is done because of it; the \
                 next cycle works on what is open",
            )
        };
        self.cycle_of(&asked).await?.ok_or_else(is_late)
    }

    /// The same. `None` if its signals are no longer open.
    pub(super) async fn cycle_of(&self, asked: &AskedCycle) -> Result<Option<CycleReport>, Error> {
        for _ in 0..=TRIES {
            let Some(open) = self.still_open(&asked.about).await? else { return Ok(None) };
            // The order in which they came is that of the run.
            let read = match self.read(open)? {
                OpenSignals::Read(read) => read,
                OpenSignals::Unread(unread) => {
                    self.set_aside(&unread, &mut CycleReport::default()).await?;
                    return Ok(None);
                }
            };
            if let Some(done) = self.cycle_or_rescue(&read, Some(asked)).await? {
                return Ok(Some(done));
            }
        }
        Err(overtaken_attempt())
    }

    /// These signals, if all of them are open in this revision and the project is active.
    pub(super) async fn still_open(&self, about: &[SignalRevision]) -> Result<Option<Vec<SignalRow>>, Error> {
        if !self.is_active() {
            return Ok(None);
        }
        let mut open = self.desk.store.signals_named(&self.desk.owner, about).await?;
        open.retain(|row| row.standing == SignalStanding::Open);
        Ok((open.len() == about.len()).then_some(open))
    }

    /// A cycle about signals, whatever of it can be written. `None` if somebody was faster.
    async fn cycle_or_rescue(
        &self,
        read: &[ReadSignal],
        asked: Option<&AskedCycle>,
    ) -> Result<Option<CycleReport>, Error> {
        let mut attempt = self.attempt(read, asked).await?;
        if let CycleAttempt::Unwritable(_) = attempt {
            attempt = self.attempt(read, asked).await?;
        }
        match attempt {
            CycleAttempt::Written(report) => Ok(Some(*report)),
            CycleAttempt::Overtaken => Ok(None),
            CycleAttempt::Unwritable(why) => self.rescue(read, asked, why).await.map(Some),
        }
    }

    /// One attempt at a cycle.
    async fn attempt(&self, read: &[ReadSignal], asked: Option<&AskedCycle>) -> Result<CycleAttempt, Error> {
        let artefacts = self.standing_artefacts().await?;
        match self.cycle(read, &artefacts, asked).await {
            Ok(Some(report)) => Ok(CycleAttempt::Written(Box::new(report))),
            Ok(None) => {
                let stands =
                    self.standing_artefacts().await? == artefacts && self.still_open(&revisions(read)).await?.is_some();
                Ok(if stands {
                    CycleAttempt::Unwritable("its changes do not follow the present artefacts".to_owned())
                } else {
                    CycleAttempt::Overtaken
                })
            }
            Err(error) if is_of_the_cycle(&error) => Ok(CycleAttempt::Unwritable(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// The parts of a cycle that can be written although the whole can't: by rules alone if models were asked, and in
    /// halves until the faulty signals are found.
    async fn rescue(&self, read: &[ReadSignal], asked: Option<&AskedCycle>, why: String) -> Result<CycleReport, Error> {
        let mut report = CycleReport::default();
        report.problems.push(format!("a cycle could not be written: {why}"));
        let (mut waiting, mut unwritable, mut by_rules, mut tries) = (vec![read], Vec::new(), Vec::new(), 0_usize);
        while let Some(part) = waiting.pop() {
            // A whole that rules failed to write is not tried a third time.
            let is_known = asked.is_none() && part.len() == read.len();
            let attempt =
                if is_known { CycleAttempt::Unwritable(why.clone()) } else { self.attempt(part, None).await? };
            match attempt {
                CycleAttempt::Written(done) => {
                    report.join(*done);
                    by_rules.extend(revisions(part));
                }
                CycleAttempt::Overtaken if tries < TRIES => {
                    tries = tries.saturating_add(1);
                    waiting.push(part);
                }
                CycleAttempt::Overtaken => return Err(overtaken_attempt()),
                CycleAttempt::Unwritable(_) if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    waiting.extend([second, first]);
                }
                CycleAttempt::Unwritable(_) => unwritable.extend(revisions(part)),
            }
        }
        if asked.is_some() && !by_rules.is_empty() {
            report.questions.extend(self.ask_about_unused_answers(&by_rules).await?);
        }
        if !unwritable.is_empty() {
            self.set_aside_unwritable(&unwritable, &mut report).await?;
        }
        Ok(report)
    }
}

fn revisions(read: &[ReadSignal]) -> Vec<SignalRevision> {
    read.iter().map(|read| SignalRevision::from(&read.signal)).collect()
}

/// Whether a failure is the cycle's own: what it would write is refused, and not what it would be written to.
fn is_of_the_cycle(error: &Error) -> bool {
    match error.source().and_then(|source| source.downcast_ref::<StoreError>()) {
        Some(StoreError::Unusable(unusable)) => matches!(unusable, Unusable::Refused { .. }),
        Some(StoreError::Foreign { .. } | StoreError::Parked(_)) => false,
        _ => matches!(error.kind(), ErrorKind::Bug | ErrorKind::Invalid),
    }
}

pub(super) fn overtaken_attempt() -> Error {
    Error::negative("another process keeps changing the artefacts; nothing of this cycle was written, try again")
}
