//! Assessments investigated by a model, and reported.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use proem_agents::risk::investigation::{Investigation, InvestigationEnd, Subject};
use proem_agents::risk::report::RiskReport;
use proem_engine::run::{EventKind, Question};
use proem_risk::assess::{Assessment, Investigate};
use proem_risk::metric::Tier;
use proem_runtime::driver::{CallPerformer, CallTrace, DriveEnd, DriveStart, Journal, NullJournal, RunBounds, go_on};
use proem_runtime::records::{Recording, ResumableRun};
use proem_runtime::risk::{ChangeView, Measures};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::recording::{self, EarlierAttempts, InvestigationRun, ReportSubject};
use super::setting::{Investigator, RiskSetting};
use crate::error::Error as Failure;
use crate::message::Note;
use crate::records::writing::OpenRecords;

/// A change that is reported.
struct Reported {
    report: RiskReport,
    /// What went wrong with its record.
    trouble: Option<String>,
    /// Why its last call was not made, if that is for a budget's sake.
    unbooked: Option<String>,
    /// What is said of what its prompts had learned.
    learned: Vec<Note>,
    /// Why it is not recorded, if nobody was asked about it and it could not be.
    unrecorded: Option<Note>,
}

/// Reports of changes.
#[derive(Debug)]
pub struct Reports {
    /// One for each change, in their order.
    pub reports: Vec<RiskReport>,
    /// What could not be recorded after a model was asked.
    pub trouble: Option<String>,
}

impl RiskSetting {
    /// Investigates what the rules want investigated, several changes at once, records every assessment
    /// and reports it. What there is to say goes to `notes`, also where it fails.
    ///
    /// # Errors
    ///
    /// If what a change stands on can't be read, or an investigation can't be recorded as begun.
    pub async fn reports(
        &self,
        (assessing, looked): (&AssessedRepository, &[ChangeAssessment]),
        concurrency: NonZeroUsize,
        stop: &CancellationToken,
        notes: &mut Vec<Note>,
    ) -> Result<Reports, Failure> {
        let one = |looked| self.report(assessing, looked, stop);
        let mut all: Vec<_> = stream::iter(looked).map(one).buffered(concurrency.get()).collect().await;
        notes.extend(all.iter_mut().flatten().filter_map(|reported| reported.unrecorded.take()));
        let mut reports = Vec::with_capacity(all.len());
        let (mut trouble, mut unbooked, mut learned) = (None, None, BTreeSet::new());
        for reported in all {
            let reported = reported?;
            reports.push(reported.report);
            learned.extend(reported.learned);
            trouble = trouble.or(reported.trouble);
            unbooked = unbooked.or(reported.unbooked);
        }
        notes.extend(learned);
        notes.extend(unbooked.map(|why| Note::from(format!("{why}; the level comes from the rules alone"))));
        Ok(Reports { reports, trouble })
    }

    /// One change: investigated if it should and can be, recorded, reported.
    async fn report(
        &self,
        assessing: &AssessedRepository,
        looked: &ChangeAssessment,
        stop: &CancellationToken,
    ) -> Result<Reported, Failure> {
        let id = self.records.as_ref().map(|_| OpenRecords::id()).transpose()?;
        let kept = ReportSubject { setting: self, assessing, looked };
        match self.investigator() {
            Some(investigator) if looked.first.investigate == Investigate::Yes => {
                let Some(look) = assessing.look_at(looked.change).transpose()? else {
                    return Err(Failure::bug("a change is missing", looked.change));
                };
                let subject = subject(&look, &looked.first);
                let began = Instant::now();
                let Some((records, id)) = self.records.as_ref().zip(id) else {
                    let (investigated, made) =
                        self.investigate(investigator, (&look, subject, &looked.full), None, stop).await?;
                    let done = InvestigationRun { investigated, made, earlier: EarlierAttempts::default(), began };
                    let unbooked = recording::unbooked(&done.investigated).map(str::to_owned);
                    let learned = self.said(&done.investigated);
                    return Ok(Reported {
                        report: kept.report(None, Some(&done))?,
                        trouble: None,
                        unbooked,
                        learned,
                        unrecorded: None,
                    });
                };
                let common = records.kept();
                let start = kept.start(id.clone(), investigator, &subject)?;
                let recording = Recording::new(&common, &start.start());
                let (investigated, made) =
                    self.investigate(investigator, (&look, subject, &looked.full), Some(&recording), stop).await?;
                let done = InvestigationRun { investigated, made, earlier: EarlierAttempts::default(), began };
                let unbooked = recording::unbooked(&done.investigated).map(str::to_owned);
                let learned = self.said(&done.investigated);
                let (report, trouble) = kept.ended(&recording, &done).await?;
                Ok(Reported { report, trouble, unbooked, learned, unrecorded: None })
            }
            _ => {
                let report = kept.report(id.as_ref(), None)?;
                let unrecorded = match self.records.as_ref().zip(id) {
                    Some((records, id)) => recording::assessed(self, records, id, (&kept, &report)).await,
                    None => None,
                };
                Ok(Reported { report, trouble: None, unbooked: None, learned: Vec::new(), unrecorded })
            }
        }
    }

    /// What is said of what the prompts of an investigation had learned.
    fn said(&self, investigated: &InvestigationEnd) -> Vec<Note> {
        self.learned(investigated).filter_map(|taught| taught.said.clone()).collect()
    }

    /// Drives an investigation to its end.
    async fn investigate(
        &self,
        investigator: &Investigator,
        (look, subject, full): (&ChangeView<'_>, Subject, &Assessment),
        recording: Option<&Recording<'_>>,
        stop: &CancellationToken,
    ) -> Result<(InvestigationEnd, Vec<CallTrace>), Failure> {
        let mut machine = Investigation::new(self.terms(investigator), subject);
        let calls = CallPerformer::new(investigator.caller()?, &investigator.directory, 1);
        let calls = match recording {
            Some(recording) => calls.through(recording),
            None => calls,
        };
        let (world, bounds) = (self.world(look, calls), self.bounds(stop));
        let from = DriveStart::Event(EventKind::Started);
        let driven = match recording {
            Some(recording) => driven(&mut machine, from, (&world, &bounds), recording).await?,
            None => driven(&mut machine, from, (&world, &bounds), &NullJournal).await?,
        };
        Ok((completed(driven, full), world.into_calls().into_made()))
    }

    /// Goes on with an investigation to its end, under the number of its events and the id of `recording`.
    ///
    /// # Errors
    ///
    /// If its state is none of an investigation.
    pub(super) async fn go_on(
        &self,
        investigator: &Investigator,
        (look, full): (&ChangeView<'_>, &Assessment),
        (resumed, recording): (&ResumableRun, &Recording<'_>),
        stop: &CancellationToken,
    ) -> Result<(InvestigationEnd, Vec<CallTrace>), Failure> {
        let mut machine = Investigation::restore(self.terms(investigator), &resumed.state.machine)?;
        let calls = CallPerformer::new(investigator.caller()?, &investigator.directory, 1).through(recording);
        let (world, bounds) = (self.world(look, calls), self.bounds(stop));
        let ask = async |_: &[Question]| Err(asked());
        let ended = resumed.to_the_end(&mut machine, (&world, &bounds), recording, ask).await?;
        Ok((completed(ended, full), world.into_calls().into_made()))
    }

    fn world<'w>(&self, look: &'w ChangeView<'w>, calls: CallPerformer<'w>) -> Measures<'w, CallPerformer<'w>> {
        Measures::new(look, calls, Duration::from_millis(u64::from(self.limits.hop_ms)))
    }

    fn bounds(&self, stop: &CancellationToken) -> RunBounds {
        let time = Duration::from_millis(u64::from(self.limits.total_ms));
        RunBounds { stop: stop.clone(), time: Some(time) }
    }
}

/// What an investigation never does.
fn asked() -> Failure {
    Failure::bug("the investigation failed", "it asked a question, which no investigation does")
}

async fn driven(
    machine: &mut Investigation<'_>,
    from: DriveStart,
    (world, bounds): (&Measures<'_, CallPerformer<'_>>, &RunBounds),
    journal: &impl Journal,
) -> Result<InvestigationEnd, Failure> {
    match go_on(machine, from, world, bounds, journal).await?.reached {
        DriveEnd::Done(investigated) => Ok(investigated),
        DriveEnd::Asked(_) => Err(asked()),
    }
}

/// What an investigation starts from.
pub(super) fn subject(look: &ChangeView<'_>, first: &Assessment) -> Subject {
    Subject {
        assessment: first.clone(),
        subject: look.change().subject.clone(),
        paths: look.change().paths().map(proem_risk::path::RepoPath::lossy).collect(),
    }
}

/// The investigation with every Tier 2 metric in its assessment that the rules would have measured without
/// a model: what a model chose not to look at counts all the same.
fn completed(investigated: InvestigationEnd, full: &Assessment) -> InvestigationEnd {
    let mut assessment = investigated.assessment;
    for file in &full.files {
        for metric in file.metrics.iter().filter(|metric| metric.name.tier() == Some(Tier::Two)) {
            assessment = assessment.with(file.index, metric.clone());
        }
    }
    InvestigationEnd { assessment, ..investigated }
}
