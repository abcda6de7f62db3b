//! A cycle's calls: models are asked about the signals that are open, before anything is planned.

use std::any::Any;

use proem_engine::effect::key::SignalRevision;
use proem_engine::ledger::{LadderPlace, ModelMix};
use proem_engine::run::{CancelReason, FallbackReason, Question, QuestionAnswer, Time};
use proem_triage::pipeline::{EarlierAction, PipelineEnd, PipelineSubject, StageRemark};
use proem_triage::signal_matter;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::charter;
use super::cycle_report::CycleReport;
use super::desk::TriageDesk;
use super::models::{KIND, TriageModelOptions, TriageRun};
use super::read_signal::ReadSignal;
use super::tape::{CycleMoment, CycleTape};
use crate::agents::access::unused_cassettes_note;
use crate::agents::{AgentRun, RunResult, running};
use crate::book::experiments::RunningExperiments;
use crate::effects::policy;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::records;
use crate::records::booking::Booking;
use crate::when;

/// A day, in milliseconds.
const DAY: i64 = 86_400_000;
/// The most actions of a day that are told.
const MOST_ACTIONS: u64 = 100;

/// The models for the cycles of one command.
#[derive(Debug)]
pub struct AskingTerms<'m> {
    /// The run, which is about other signals in each cycle.
    pub run: &'m mut TriageRun,
    /// How it asks and is recorded.
    pub options: &'m TriageModelOptions,
    /// Ends what is under way.
    pub stop: &'m CancellationToken,
}

#[derive(Debug)]
pub(super) struct CycleModels<'m> {
    asking: AskingTerms<'m>,
    booking: &'m Booking,
    /// The experiments on the stages' prompts.
    running: RunningExperiments,
    /// The models that there is money for.
    mix: ModelMix,
    /// The store of cycles' moments, or their source.
    tape: CycleTape,
    /// How many cycles have asked.
    cycles: u32,
}

/// The models' answers about a cycle.
#[derive(Debug)]
pub struct AskedCycle {
    /// The signals that it is about, in order.
    pub(super) about: Vec<SignalRevision>,
    pub(super) end: PipelineEnd,
    /// The moment that the cycle is of, where that is not the one at which it is planned.
    pub(super) now: Option<Time>,
    run: Option<String>,
    trouble: Option<String>,
}

impl AskedCycle {
    /// The answers about signals from a run that has gone on to its end. `None` if it is none of triage.
    #[must_use]
    pub fn of_run(run: &dyn AgentRun, ended: RunResult) -> Option<Self> {
        let run = (run as &dyn Any).downcast_ref::<TriageRun>()?;
        Self::new(run.subject().signals.iter().map(SignalRevision::from).collect(), ended)
    }

    fn new(about: Vec<SignalRevision>, ended: RunResult) -> Option<Self> {
        let end = ended.output.downcast::<PipelineEnd>().ok()?;
        let run = ended.run.map(|run| run.short().to_owned());
        Some(Self { about, end: *end, now: None, run, trouble: ended.trouble })
    }

    /// The same of a run of which the record alone is read, by its short id.
    pub(super) const fn recorded(about: Vec<SignalRevision>, end: PipelineEnd, run: String) -> Self {
        Self { about, end, now: None, run: Some(run), trouble: None }
    }

    /// The same, unless a person broke its calls off.
    pub(super) fn unless_broken_off(self) -> Result<Self, Error> {
        if self.end.stopped == Some(FallbackReason::Cancelled(CancelReason::Asked)) {
            return Err(Error::negative(
                "the calls were broken off, so nothing was done because of these signals; they stay open for the next cycle",
            ));
        }
        Ok(self)
    }

    /// Puts into a report what there is to say of it.
    pub(super) fn tell(&self, report: &mut CycleReport) {
        report.runs.extend(self.run.clone());
        report.tools.clone_from(&self.end.tools);
        report.stages.clone_from(&self.end.stages);
        report.ways.extend(self.end.signals.iter().map(|judged| (judged.id.id.clone(), judged.way.clone())));
        report.problems.extend(self.end.notes.iter().cloned());
        report.problems.extend(self.end.exchanges.iter().flat_map(|exchange| exchange.outcome.usage_doubts()));
        report.problems.extend(self.trouble.iter().map(|trouble| format!("a run is not recorded whole: {trouble}")));
        let line = |remark: &StageRemark| {
            format!("{}: a part of an answer was not taken: {}", remark.stage.as_str(), remark.remark.in_words())
        };
        let mut lines: Vec<String> = self.end.remarks.iter().map(line).collect();
        lines.dedup();
        report.problems.extend(lines);
    }
}

impl CycleModels<'_> {
    /// The signals of the next cycle: all of them, or those of the first one's matter while an experiment runs on a
    /// prompt, because a matter always meets the same version.
    pub(super) fn next_signals(&self, read: Vec<ReadSignal>) -> Vec<ReadSignal> {
        let Some(matter) = read.first().map(|first| signal_matter(&first.signal)) else { return read };
        if self.running.is_empty() {
            return read;
        }
        read.into_iter().filter(|read| signal_matter(&read.signal) == matter).collect()
    }
}

impl TriageDesk<'_> {
    /// The project's place on the ladder of this agent's budget, with the amounts reserved for open calls.
    ///
    /// # Errors
    ///
    /// If the configured steps are none, or the records are unreadable.
    pub async fn ladder(&self) -> Result<LadderPlace, Error> {
        records::ladder_place(&self.desk.store, self.desk.project, KIND, when::time_now()).await
    }

    /// The subject of a run that works on no signal yet.
    ///
    /// # Errors
    ///
    /// If the project's file or the artefacts can't be read.
    pub async fn subject(&self, mix: ModelMix) -> Result<PipelineSubject, Error> {
        Ok(PipelineSubject {
            charter_text: charter::charter_text(self.desk.project)?,
            charter: self.charter.clone(),
            signals: Vec::new(),
            artefacts: self.artefacts().await?,
            level: self.desk.level(),
            gate: self.gate(),
            mix,
            policy: policy::policy_texts(self.desk.project)?,
            actions: self.earlier_actions().await?,
            situations: Vec::new(),
            now: self.moment(),
        })
    }

    /// The actions of the last 24 hours, oldest first.
    async fn earlier_actions(&self) -> Result<Vec<EarlierAction>, Error> {
        let since = Time(when::time_now().0.saturating_sub(DAY));
        let rows = self.desk.store.actions_since(&self.desk.owner, since, MOST_ACTIONS).await?;
        let mut actions: Vec<EarlierAction> = rows
            .into_iter()
            .map(|row| {
                let told = ToldDecision::read(&row.decision);
                EarlierAction {
                    at: row.created,
                    action: row.scope.name,
                    state: row.state,
                    because: told.because,
                    is_escalated: told.is_escalated,
                    confidence: told.confidence,
                }
            })
            .collect();
        actions.sort_by_key(|action| action.at);
        Ok(actions)
    }

    /// Works on everything that is open, and asks models as far as there is money for it. Answers for a cycle that
    /// broke off come first. Messages beside the report go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// As `work_with`, and if the records that a budget needs can't be kept.
    pub async fn work_asking(
        &self,
        asking: AskingTerms<'_>,
        notes: &mut Vec<Note>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<CycleReport, Error> {
        let place = self.ladder().await?;
        let mut report = CycleReport::default();
        if let Some(asked) = self.broken_off(&asking, place.stopped.is_none(), notes).await? {
            match self.cycle_of(&asked).await? {
                Some(done) => report.join(done),
                None => report.problems.push(
                    "the answers of a run that broke off were not used, for its signals are not all open any more"
                        .to_owned(),
                ),
            }
        }
        let AskingTerms { run, options, stop } = asking;
        let tape = CycleTape::of(&options.carriage);
        // Recorded answers cost nothing, whatever the day has cost.
        let mix = if tape.is_replayed() { ModelMix::default() } else { place.models };
        if place.stopped.is_some() && !tape.is_replayed() {
            report.join(self.work_with(None, progress).await?);
            return Ok(CycleReport { budget: Some(place), ..report });
        }
        let booking = run.begin(self.desk.project, options, notes).await?;
        let running = TriageRun::experiments(&booking, self.desk.project, notes).await?;
        if !running.is_empty() {
            let words =
                "an experiment runs on a prompt of triage, so each ticket and each thread is a cycle of its own";
            notes.push(Note::new(NoteKind::Triage, words.to_owned()));
        }
        let asking = AskingTerms { run: &mut *run, options, stop };
        let models = CycleModels { asking, booking: &booking, running, mix, tape, cycles: 0 };
        let worked = self.work_with(Some(models), progress).await;
        notes.extend(run.access().take_news());
        notes.extend(booking.end().await);
        notes.extend(unused_cassettes_note(run.access().replayer()));
        report.join(worked?);
        Ok(CycleReport { budget: Some(place), ..report })
    }

    /// Asks models about signals. `None` if rules alone decide about all of them.
    pub(super) async fn ask_models(
        &self,
        models: &mut CycleModels<'_>,
        read: &[ReadSignal],
        about: Vec<SignalRevision>,
    ) -> Result<Option<AskedCycle>, Error> {
        let asking = &mut models.asking;
        if let (Some(first), false) = (read.first(), models.running.is_empty()) {
            let assigned = models.running.assignments(&signal_matter(&first.signal));
            let (means, mut notes) = ((models.booking, self.desk.project), Vec::new());
            // Each cycle would repeat the same notes.
            asking.run.meet_versions(assigned, means, asking.options, &mut notes).await?;
        }
        let situations = self.past_situations(read).await?;
        let signals = read.iter().map(|read| read.signal.clone()).collect();
        asking.run.about(PipelineSubject { signals, situations, ..self.subject(models.mix).await? })?;
        if !asking.run.pipeline().asks() {
            return Ok(None);
        }
        models.cycles = models.cycles.saturating_add(1);
        let today = CycleMoment { now: asking.run.subject().now, models: models.mix };
        let moment = models.tape.moment(models.cycles, today)?;
        if let Some(CycleMoment { now, models: mix }) = moment.filter(|moment| *moment != today) {
            let subject = asking.run.subject().clone();
            asking.run.about(PipelineSubject { now, mix, ..subject })?;
        }
        let done = running::start_run::<Error>(asking.run, models.cycles, models.booking, nobody, asking.stop).await?;
        let asked = AskedCycle::new(about, done)
            .ok_or_else(|| Error::bug("triage failed", "its output is none of triage"))?
            .unless_broken_off()?;
        Ok(Some(AskedCycle { now: moment.map(|moment| moment.now), ..asked }))
    }
}

/// The prompts' account of a decision about an action, as it is kept: words and figures of ours.
#[derive(Default)]
struct ToldDecision {
    because: Option<String>,
    is_escalated: bool,
    confidence: Option<[u32; 4]>,
}

impl ToldDecision {
    /// Reads a kept decision. One that is gone tells nothing.
    fn read(decision: &Json) -> Self {
        let reasons = decision.get("reasons").and_then(Json::as_array).into_iter().flatten();
        let reasons: Vec<&str> = reasons.filter_map(|reason| reason.get("words").and_then(Json::as_str)).collect();
        let figure = |name: &str| {
            let figure = decision.get("confidence").and_then(|confidence| confidence.get(name)).and_then(Json::as_u64);
            figure.and_then(|figure| u32::try_from(figure).ok())
        };
        let figures = ["sources", "boundary", "schema", "precedent"].map(figure);
        Self {
            because: (!reasons.is_empty()).then(|| reasons.join("; ")),
            is_escalated: decision.get("escalated").and_then(Json::as_bool).unwrap_or_default(),
            confidence: if let [Some(sources), Some(boundary), Some(schema), Some(precedent)] = figures {
                Some([sources, boundary, schema, precedent])
            } else {
                None
            },
        }
    }
}

/// The answer to questions of a triage run: no stage asks a person, because a person's decision is a question of the
/// cycle.
///
/// # Errors
///
/// Always.
pub(super) async fn nobody(_: &str, _: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    Err(Error::bug("triage asked a person", "no stage does"))
}
