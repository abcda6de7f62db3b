//! Assessments investigated by a model, and reported.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use proem_agents::risk::evidence::DiffExcerpt;
use proem_agents::risk::investigation::{Investigation, InvestigationEnd, Subject};
use proem_agents::risk::report::RiskReport;
use proem_risk::assess::{Assessment, Investigate};
use proem_risk::metric::Tier;
use proem_runtime::driver::{CallPerformer, CallTrace, RunBounds};
use proem_runtime::records::Recording;
use proem_runtime::risk::{ChangeView, Measures};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::options::DiffChoice;
use super::prompts::InvestigationPrompts;
use super::recording::{self, InvestigationRun};
use super::setting::OpenInvestigations;
use crate::agents::EarlierAttempts;
use crate::agents::person::{AbsentPerson, driven_with};
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::records::writing::OpenRecords;

/// A change that is reported.
struct Reported {
    report: RiskReport,
    /// The trouble with its record.
    trouble: Option<String>,
    /// Why its last call was not made, if that is for a budget's sake.
    unbooked: Option<String>,
    /// The notes on its prompts' lessons.
    learned: Vec<Note>,
    /// Why it is unrecorded, if nobody was asked about it and it could not be.
    unrecorded: Option<Note>,
}

/// Reports of changes.
#[derive(Debug)]
pub struct Reports {
    /// One for each change, in their order.
    pub reports: Vec<RiskReport>,
    /// Failures to record after a model was asked.
    pub trouble: Option<String>,
}

impl OpenInvestigations {
    /// Investigates the changes that the rules choose, several at once, records every assessment and reports it.
    /// Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If what a change is on is unreadable, or an investigation can't be recorded as begun.
    pub async fn reports(
        &self,
        assessing: &AssessedRepository,
        looked: &[ChangeAssessment],
        stop: &CancellationToken,
        notes: &mut Vec<Note>,
    ) -> Result<Reports, Error> {
        let one = |looked| self.report(assessing, looked, stop);
        let mut all: Vec<_> = stream::iter(looked).map(one).buffered(self.setting.concurrency.get()).collect().await;
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
        notes.extend(
            unbooked.map(|why| Note::new(NoteKind::Model, format!("{why}; the level comes from the rules alone"))),
        );
        Ok(Reports { reports, trouble })
    }

    /// One change: investigated if it should and can be, recorded, reported.
    async fn report(
        &self,
        assessing: &AssessedRepository,
        looked: &ChangeAssessment,
        stop: &CancellationToken,
    ) -> Result<Reported, Error> {
        let records = self.booking.records();
        let id = records.map(|_| OpenRecords::id()).transpose()?;
        let met = self.investigator_of(assessing, looked);
        let kept = self.setting.subject(&met, assessing, looked);
        let Some(access) = met.access.ok().filter(|_| looked.first.investigate == Investigate::Yes) else {
            let report = kept.report(id.as_ref(), None)?;
            let unrecorded = match records.zip(id) {
                Some((records, id)) => recording::record_assessment(records, id, &kept, &report).await,
                None => None,
            };
            return Ok(Reported { report, trouble: None, unbooked: None, learned: Vec::new(), unrecorded });
        };
        let Some(look) = assessing.look_at(looked.change).transpose()? else {
            return Err(Error::bug("a change is missing", looked.change));
        };
        let subject = investigation_subject(&look, &looked.first, self.setting.diff);
        let began = Instant::now();
        let common = records.map(OpenRecords::kept);
        let start = id.map(|id| kept.start(id, access, &subject, self.setting.limits)).transpose()?;
        let recording = common.as_ref().zip(start).map(|(common, start)| Recording::new(common, &start.start()));
        let calls = access.calls(1, &self.booking, recording.as_ref(), None)?;
        let machine = Investigation::new(met.prompts.terms(access, self.setting.limits), subject);
        let (end, made) = self.investigate(machine, self.world(look, calls), recording.as_ref(), stop).await?;
        let investigated = complete_tier_two(end, &looked.full);
        let done = InvestigationRun { investigated, made, earlier: EarlierAttempts::default(), began };
        let unbooked = recording::unbooked_reason(&done.investigated).map(str::to_owned);
        let learned = lesson_notes(met.prompts, &done.investigated);
        let (report, trouble) = match &recording {
            Some(recording) => kept.ended(recording, &done).await?,
            None => (kept.report(None, Some(&done))?, None),
        };
        Ok(Reported { report, trouble, unbooked, learned, unrecorded: None })
    }

    fn world<'w>(&self, look: ChangeView<'w>, calls: CallPerformer<'w>) -> Measures<'w, CallPerformer<'w>> {
        Measures::new(look, calls, Duration::from_millis(u64::from(self.setting.limits.hop_ms)))
    }

    /// Drives an investigation to its end.
    async fn investigate(
        &self,
        mut machine: Investigation<'_>,
        world: Measures<'_, CallPerformer<'_>>,
        recording: Option<&Recording<'_>>,
        stop: &CancellationToken,
    ) -> Result<(InvestigationEnd, Vec<CallTrace>), Error> {
        let time = Duration::from_millis(u64::from(self.setting.limits.total_ms));
        let bounds = RunBounds { stop: stop.clone(), time: Some(time) };
        // Many changes are assessed at once, and nobody could tell whose question it is.
        let investigated = driven_with(&mut machine, &world, &bounds, recording, &AbsentPerson).await?;
        Ok((investigated, world.into_calls().into_made()))
    }
}

/// The notes on the lessons of an investigation's prompts.
fn lesson_notes(prompts: &InvestigationPrompts, investigated: &InvestigationEnd) -> Vec<Note> {
    prompts.learned(investigated).filter_map(|taught| taught.said.clone()).collect()
}

/// The starting point of an investigation.
pub(super) fn investigation_subject(look: &ChangeView<'_>, first: &Assessment, diff: DiffChoice) -> Subject {
    Subject {
        assessment: first.clone(),
        subject: look.change().subject.clone(),
        paths: look.change().paths().map(proem_risk::path::RepoPath::to_text).collect(),
        yardsticks: Some(look.yardsticks()),
        diff: (diff == DiffChoice::Show).then(|| DiffExcerpt::choose(look.change(), first)),
    }
}

/// The investigation with every Tier 2 metric in its assessment that the rules would have measured without
/// a model: what a model chose not to look at counts all the same.
pub(super) fn complete_tier_two(investigated: InvestigationEnd, full: &Assessment) -> InvestigationEnd {
    let mut assessment = investigated.assessment;
    for file in &full.files {
        for metric in file.metrics.iter().filter(|metric| metric.name.tier() == Some(Tier::Two)) {
            assessment = assessment.with(file.index, metric.clone());
        }
    }
    InvestigationEnd { assessment, ..investigated }
}
