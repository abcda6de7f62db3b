//! One run: driven to its end, and kept if records are.

use std::fmt;
use std::time::Duration;

use proem_agents::prompt_call::PreparedRequest;
use proem_engine::assembly::PromptId;
use proem_engine::call::{FailureKind, NanoDollars};
use proem_engine::ledger::Pricing;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::{self, Profiles};
use proem_engine::run::{CancelReason, Exchange, ExchangeEnd, FallbackReason, Outcome};
use proem_guard::Verdict;
use proem_llm::caller::AttemptReport;
use proem_llm::caller::listener::TextListener;
use proem_runtime::driver::{CallTrace, RunBounds};
use proem_runtime::records::{Recording, RunEnd, Start};
use proem_store::record::{Evaluation, Numbers, RunId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::line_versions::LineSetting;
use super::setting::{KnownModel, OpenRun, RunSetting};
use crate::agents::base::run_numbers;
use crate::agents::person::{AbsentPerson, PersonAsk, driven_with};
use crate::error::Error;
use crate::message::Hint;
use crate::records::writing::OpenRecords;
use crate::when;

/// One run, over.
#[derive(Debug)]
pub struct FinishedRun {
    /// Its first request, and what the guard noted about its inputs.
    pub prepared: PreparedRequest,
    /// How it ended, with every attempt.
    pub outcome: Outcome,
    /// The wire traffic of each call.
    pub made: Vec<CallTrace>,
    /// Its id, if it is recorded.
    pub run: Option<RunId>,
    /// Failures to record after something was sent, in words.
    pub trouble: Option<String>,
    /// Whether an answer was lost with the process that went on with the run before.
    pub lost: bool,
}

impl FinishedRun {
    /// Whether something was sent of which nobody said what it used: the ledger books that in full.
    #[must_use]
    pub fn is_unreported(&self) -> bool {
        let unreported =
            |sent: &AttemptReport| sent.failed.is_some_and(|kind| !kind.is_unsent() || sent.status == Some(200));
        self.lost || self.made.iter().flat_map(|made| &made.attempts).any(unreported)
    }

    /// Why there is no value. `None` if there is one, be it the prompt's fallback.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        let ExchangeEnd::Failed { because } = self.outcome.ended else { return None };
        let said = self.outcome.attempts.last().and_then(|attempt| attempt.failure.as_ref());
        let (message, hint) = match (because, said) {
            (FallbackReason::Failed(_), Some(failure)) => (failure.message.clone(), None),
            (FallbackReason::Invalid, _) => ("no answer met the contract".to_owned(), Some(Hint::ExplainOrFallBack)),
            (FallbackReason::Refusal, _) => ("the model refused".to_owned(), Some(Hint::SeeRefusal)),
            (FallbackReason::CutOff, _) => {
                let most = self.prepared.request.assembly.output_tokens;
                (format!("the answer reached its maximum of {most} tokens"), Some(Hint::AllowLongerAnswer))
            }
            (FallbackReason::Cancelled(CancelReason::Deadline), _) => {
                ("the run took too long".to_owned(), Some(Hint::AllowMoreTime))
            }
            (because, _) => (because.in_words(), None),
        };
        let failure = match because {
            FallbackReason::Failed(FailureKind::Replay) => Error::negative(message),
            _ => Error::outside(message),
        };
        Some(match hint {
            Some(hint) => failure.hinting(hint),
            None => failure,
        })
    }
}

/// The work beside a run.
#[derive(Clone, Copy)]
pub struct RunCourse<'c> {
    /// Its line in a batch.
    pub line: Option<u32>,
    /// Ends it.
    pub stop: &'c CancellationToken,
    /// Whom it asks.
    pub person: &'c dyn PersonAsk,
    /// Hears an answer that is a text while it arrives.
    pub listener: Option<&'c dyn TextListener>,
    /// Takes what came of it before its end is written.
    pub hand_on: &'c (dyn Fn(&FinishedRun) -> Result<(), Error> + Sync),
}

impl fmt::Debug for RunCourse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCourse").field("line", &self.line).finish_non_exhaustive()
    }
}

/// A request with what its making took.
#[derive(Debug, Clone)]
pub struct TimedRequest {
    /// The request.
    pub prepared: PreparedRequest,
    /// The time that making it took.
    pub took: Duration,
}

impl OpenRun {
    /// Asks with these inputs, on that line of a batch.
    ///
    /// # Errors
    ///
    /// If the request can't be made, or nothing can be sent. How asking went is in what came of it.
    pub async fn ask(
        &self,
        inputs: &OrderedJson,
        line: Option<u32>,
        stop: &CancellationToken,
    ) -> Result<FinishedRun, Error> {
        let course = RunCourse { line, stop, person: &AbsentPerson, listener: None, hand_on: &|_| Ok(()) };
        self.ask_and(inputs, &course).await
    }

    /// Asks, and hands on the result before its end is written, so that nobody waits for that. By then, the record has
    /// everything that was sent. If the server says that the prompt is too long for its model, and gives the limit, the
    /// prompt is made anew for that and sent in a run of its own, once.
    ///
    /// # Errors
    ///
    /// Those of [`Self::ask`], and those of the course's `person` and `hand_on`.
    pub async fn ask_and(&self, inputs: &OrderedJson, course: &RunCourse<'_>) -> Result<FinishedRun, Error> {
        self.ask_as(&self.line_setting(inputs)?, inputs, course).await
    }

    /// The same with the version that the inputs' subject meets.
    pub(super) async fn ask_as(
        &self,
        asked: &LineSetting<'_>,
        inputs: &OrderedJson,
        course: &RunCourse<'_>,
    ) -> Result<FinishedRun, Error> {
        // Connections that are done go back to their pool before a new one is asked for.
        tokio::task::yield_now().await;
        if let Some(ran) = self.ask_knowing(asked, inputs, course, AfterRefusal::Shorten).await? {
            return Ok(ran);
        }
        let ran = self.ask_knowing(asked, inputs, course, AfterRefusal::End).await?;
        ran.ok_or_else(|| Error::bug("a question was not answered", "it was to be asked again"))
    }

    /// Asks the model as it is known by now. `None` if the prompt is to be made anew for the window that its server
    /// named.
    async fn ask_knowing(
        &self,
        asked: &LineSetting<'_>,
        inputs: &OrderedJson,
        course: &RunCourse<'_>,
        after: AfterRefusal,
    ) -> Result<Option<FinishedRun>, Error> {
        let (began, setting, known) = (Instant::now(), asked.setting, asked.known_model());
        let prepared = setting.prepare_for(&known.model, inputs)?;
        let assembled = TimedRequest { prepared, took: began.elapsed() };
        self.ask_prepared(assembled, StartedWith { setting, inputs, known: &known, after }, course).await
    }

    /// Asks with a request that is made, of these inputs or of what they name. `None` if the request is to be made anew
    /// for the window that the server named, where `after` has it so.
    ///
    /// # Errors
    ///
    /// Those of [`Self::ask_and`].
    pub async fn ask_made(
        &self,
        assembled: TimedRequest,
        inputs: &OrderedJson,
        after: AfterRefusal,
        course: &RunCourse<'_>,
    ) -> Result<Option<FinishedRun>, Error> {
        let setting = self.setting();
        let (model, settings) = (setting.access.asked.model.clone(), setting.settings.clone());
        let known = KnownModel { model, settings };
        self.ask_prepared(assembled, StartedWith { setting, inputs, known: &known, after }, course).await
    }

    async fn ask_prepared(
        &self,
        assembled: TimedRequest,
        started: StartedWith<'_>,
        course: &RunCourse<'_>,
    ) -> Result<Option<FinishedRun>, Error> {
        let RunCourse { line, stop, person, listener, hand_on } = *course;
        let (began, setting) = (Instant::now(), started.setting);
        let mut exchange = Exchange::new(setting.terms(), assembled.prepared.request.clone());
        let bounds = RunBounds { stop: stop.clone(), time: Some(setting.bounds) };
        let (place, end) = (line.unwrap_or(1), began.checked_add(setting.bounds));
        let is_shortened = |outcome: &Outcome| {
            started.after == AfterRefusal::Shorten && setting.access.permits_shorter(outcome, &started.known.model)
        };
        let Some(records) = self.records() else {
            let calls = setting.access.calls(place, &self.booking, None, end)?.heard_by(listener);
            let outcome = driven_with(&mut exchange, &calls, &bounds, None, person).await?;
            if is_shortened(&outcome) {
                return Ok(None);
            }
            let made = calls.into_made();
            let prepared = assembled.prepared;
            let ran = FinishedRun { prepared, outcome, made, run: None, trouble: None, lost: false };
            hand_on(&ran)?;
            return Ok(Some(ran));
        };
        let kept = records.kept();
        let start = setting.start(OpenRecords::id()?, started.inputs, &assembled.prepared);
        let start = Start { line, settings: &started.known.settings, ..start };
        let recording = Recording::new(&kept, &start);
        let calls = setting.access.calls(place, &self.booking, Some(&recording), end)?.heard_by(listener);
        let outcome = driven_with(&mut exchange, &calls, &bounds, Some(&recording), person).await?;
        let made = calls.into_made();
        let TimedRequest { prepared, took } = assembled;
        let mut ran = unwritten_run(&recording, prepared, outcome, made);
        let is_shortened = is_shortened(&ran.outcome);
        let handed = if is_shortened { Ok(()) } else { hand_on(&ran) };
        setting.write_end(&recording, &mut ran, took, began).await;
        handed?;
        Ok((!is_shortened).then_some(ran))
    }
}

/// The start of a run beside its request.
#[derive(Clone, Copy)]
struct StartedWith<'s> {
    setting: &'s RunSetting,
    inputs: &'s OrderedJson,
    known: &'s KnownModel,
    after: AfterRefusal,
}

/// The step after a server's message that a prompt is too long for its model, with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRefusal {
    /// The prompt is made anew for that, in a run of its own.
    Shorten,
    /// That is how the run ends.
    End,
}

impl RunSetting {
    /// A recorded run as it starts.
    pub(crate) fn start<'s>(&'s self, id: RunId, inputs: &'s OrderedJson, prepared: &'s PreparedRequest) -> Start<'s> {
        Start {
            id,
            parent: None,
            kind: self.kind,
            prompt: &self.prompt.id,
            role: &self.access.role,
            model: &self.access.asked.model.name,
            endpoint: &self.access.asked.endpoint.name,
            line: None,
            files: &self.access.files,
            inputs,
            settings: &self.settings,
            policy: &self.access.guarding.rules,
            profiles: self.taught.as_ref().map(|taught| Profiles::Same(taught.adapted.profile.clone())),
            report: Some(&prepared.report),
            monolithic_tokens: None,
            steps: 0,
        }
    }

    /// Writes a run's end.
    pub(super) async fn write_end(
        &self,
        recording: &Recording<'_>,
        ran: &mut FinishedRun,
        took: Duration,
        began: Instant,
    ) {
        let FinishedRun { prepared, outcome, .. } = &*ran;
        let at_or_above = |verdict| prepared.noted.iter().filter(|noted| noted.verdict >= verdict).count() as u64;
        let numbers = Numbers {
            assembled_us: u64::try_from(took.as_micros()).ok(),
            scanned: u64::try_from(prepared.scanned).ok(),
            threats: Some(at_or_above(Verdict::Flag)),
            filtered: Some(at_or_above(Verdict::Quarantine)),
            degraded: !matches!(outcome.ended, ExchangeEnd::Answered { .. }),
            ..run_numbers(&outcome.attempts.iter().collect::<Vec<_>>(), began)
        };
        let evaluations = outcome_evaluation(&self.prompt.id, outcome).into_iter().collect();
        let assembly = Some(prepared.request.assembly.clone());
        recording
            .finish(RunEnd { at: when::time_now(), outcome: outcome.clone(), assembly, numbers, evaluations })
            .await;
        ran.trouble = recording.trouble();
    }

    /// The cost of a run. `None` if it is unknown.
    #[must_use]
    pub fn cost(&self, ran: &FinishedRun) -> Option<NanoDollars> {
        if self.access.asked.priced() == Pricing::Free {
            return Some(NanoDollars(0));
        }
        if ran.is_unreported() {
            return None;
        }
        ran.outcome.cost(|usage| self.access.asked.cost(usage))
    }
}

/// A run that is over, whose end is not written yet.
pub(super) fn unwritten_run(
    recording: &Recording<'_>,
    prepared: PreparedRequest,
    outcome: Outcome,
    made: Vec<CallTrace>,
) -> FinishedRun {
    let run = Some(recording.id().clone());
    FinishedRun { prepared, outcome, made, run, trouble: None, lost: false }
}

/// How good a result is. `None` where it says nothing about the prompt.
pub(crate) fn outcome_evaluation(id: &PromptId, outcome: &Outcome) -> Option<Evaluation> {
    let issue = profile::of_outcome(outcome)?;
    Some(Evaluation { agent: format!("{}/{}", id.agent, id.name), kind: id.agent.clone(), issue })
}
