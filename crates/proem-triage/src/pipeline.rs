//! The stages of a cycle that ask models, as one machine.
//!
//! Signals are sanitised, classified, reasoned about and turned into changes of artefacts. Each call is an exchange of
//! its own, and its effects are numbered through the whole run. Before the first call, rules have judged every signal
//! as far as they can, so there is an answer whatever happens to a call: a batch that fails is left to the rules, with
//! a note, and the rest goes on. The result is no effect: [`super::plan`] makes the same plan of it that it makes of
//! rules alone.
//!
//! Invariants: a call is about no more signals than its answer can hold, and a flagged one is alone. An answer that was
//! cut off halves its batch. Nobody is asked once a call could not be paid, or nobody can be reached by right. The
//! state is the calls that are over and those to come, and everything else is made anew from them.

mod batch;
mod findings;
mod finished_call;
mod sender;
mod situation;
mod stage;
mod stage_prompt;
mod terms;

use std::collections::BTreeMap;

use proem_engine::{
    Error, ErrorKind,
    call::{CallFailure, FailureKind},
    report::Report,
    run::{
        EffectId, Event, EventKind, Exchange, ExchangeEnd, FallbackReason, Machine, Outcome, ServerFindings, Step, Time,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use self::{
    batch::{StageBatch, stage_batches},
    findings::Findings,
    finished_call::CallOver,
    stage::{AfterFailure, AnswerRoom, after_failure},
};
use proem_agents::prompt_call::PreparedRequest;

use super::answer::ModelProposals;

pub use self::{
    findings::{JudgedSignal, StageExchange, StageRemark, StageTally, StageTrace, ToolTally},
    situation::{PastSituation, SituationQuery, most_alike},
    stage::{PipelineLimits, PipelineModel, PipelineStage, StageLimits},
    stage_prompt::{StagePrompt, prepare_stage},
    terms::{EarlierAction, PipelineSubject, PipelineTerms, StageAsker, StageSignal, StageSubject, SubjectPolicy},
};

/// The result of all stages.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineEnd {
    /// The signals, in the order of the subject, each with what is known of it.
    pub signals: Vec<JudgedSignal>,
    /// The model's proposals.
    pub proposals: ModelProposals,
    /// The parts of answers that were not admitted.
    pub remarks: Vec<StageRemark>,
    /// How often each tool was called, by name.
    pub tools: BTreeMap<&'static str, ToolTally>,
    /// The outcome of the signals that each stage answered.
    pub stages: BTreeMap<PipelineStage, StageTally>,
    /// Every call, in order.
    pub exchanges: Vec<StageExchange>,
    /// Why nobody was asked any more, if so.
    pub stopped: Option<FallbackReason>,
    /// Other notes, in words of ours.
    pub notes: Vec<String>,
}

/// A request that would be made.
#[derive(Debug)]
pub struct StageForecast {
    /// The stage.
    pub stage: PipelineStage,
    /// The model that would be asked.
    pub model: PipelineModel,
    /// How many signals it would be about.
    pub signals: usize,
    /// How many requests the stage would make, this one included.
    pub calls: usize,
    /// The request.
    pub prepared: PreparedRequest,
}

impl StageForecast {
    /// The stage's assumption about earlier answers, in words of ours. `None` if it needs none.
    #[must_use]
    pub const fn assumes(&self) -> Option<&'static str> {
        match self.stage {
            PipelineStage::Sanitise => None,
            PipelineStage::Classify => Some("the sanitising model leaves every text as guard let it through"),
            PipelineStage::Reasoning | PipelineStage::ArtefactUpdate => {
                Some("the models before it say of every signal what rules say; other answers make other requests")
            }
        }
    }
}

/// The stages as a run.
#[derive(Debug)]
pub struct Pipeline<'t> {
    terms: PipelineTerms<'t>,
    state: PipelineState,
    findings: Findings<'t>,
    /// The call that is under way.
    exchange: Option<Exchange<'t>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PipelineState {
    phase: PipelinePhase,
    stage: PipelineStage,
    /// The stage's remaining batches, in order.
    queue: Vec<StageBatch>,
    now: Time,
    /// How much of the stage's time is used up, in milliseconds.
    spent_ms: i64,
    /// How many effects were asked for.
    effects: u32,
    exchanges: Vec<CallOver>,
    left_to_rules: Vec<LeftToRules>,
    stopped: Option<FallbackReason>,
    /// The account of every token of the last request, as JSON.
    account: Option<Json>,
}

/// Signals that a stage asks nobody about, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LeftToRules {
    stage: PipelineStage,
    members: Vec<usize>,
    why: String,
    /// How many calls were over by then.
    after: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum PipelinePhase {
    New,
    Asking { batch: StageBatch },
    Pausing { batch: StageBatch, until: Time },
    Over,
}

type PipelineStep = Step<PipelineEnd>;

impl<'t> Pipeline<'t> {
    /// A pipeline under these terms.
    #[must_use]
    pub fn new(terms: PipelineTerms<'t>) -> Self {
        let state = PipelineState {
            phase: PipelinePhase::New,
            stage: PipelineStage::Sanitise,
            queue: Vec::new(),
            now: Time(i64::MIN),
            spent_ms: 0,
            effects: 0,
            exchanges: Vec::new(),
            left_to_rules: Vec::new(),
            stopped: None,
            account: None,
        };
        Self { findings: Findings::new(terms), terms, state, exchange: None }
    }

    /// A pipeline as [`Machine::state`] wrote it down, under the same terms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if `state` is none.
    pub fn restore(terms: PipelineTerms<'t>, state: &Json) -> Result<Self, Error> {
        let wrong = |error: &dyn core::fmt::Display| {
            Error::new(ErrorKind::InvalidInput, format!("this is not a state of triage: {error}"))
        };
        let read = |key: &str| state.get(key).ok_or_else(|| wrong(&format!("`{key}` is missing")));
        let inner = PipelineState::deserialize(read("pipeline")?).map_err(|error| wrong(&error))?;
        let mut findings = Findings::new(terms);
        for (number, exchange) in inner.exchanges.iter().enumerate() {
            note_left_to_rules(&mut findings, &inner.left_to_rules, number);
            findings.take(&exchange.exchange);
        }
        note_left_to_rules(&mut findings, &inner.left_to_rules, inner.exchanges.len());
        let exchange = match &inner.phase {
            PipelinePhase::Asking { batch } => {
                let terms = terms.asker.terms(inner.stage, batch.model);
                Some(Exchange::restore(terms, read("exchange")?)?)
            }
            _ => None,
        };
        Ok(Self { terms, state: inner, findings, exchange })
    }

    /// Whether a model would be asked at all.
    #[must_use]
    pub fn asks(&self) -> bool {
        !self.findings.candidates(PipelineStage::Classify).is_empty()
    }

    /// The first request of each stage that would ask, as far as that can be known: no answer is there yet, so each but
    /// the first is made as if models had said what rules say.
    ///
    /// # Errors
    ///
    /// If one can't be made.
    pub fn forecast(&self) -> Result<Vec<StageForecast>, Error> {
        let agreed = Self { findings: self.findings.agreed(), exchange: None, state: self.state.clone(), ..*self };
        let mut forecasts = Vec::new();
        for stage in PipelineStage::ALL {
            let (batches, _) = stage_batches(&agreed.findings.candidates(stage), stage, self.terms.limits.of(stage));
            if let Some(batch) = batches.first() {
                forecasts.push(StageForecast {
                    stage,
                    model: batch.model,
                    signals: batch.members.len(),
                    calls: batches.len(),
                    prepared: agreed.request(stage, batch)?,
                });
            }
        }
        Ok(forecasts)
    }

    fn request(&self, stage: PipelineStage, batch: &StageBatch) -> Result<PreparedRequest, Error> {
        let signals = self.findings.signals(&batch.members);
        let planned = match stage {
            PipelineStage::ArtefactUpdate => Some(self.findings.artefacts()),
            _ => None,
        };
        let artefacts = planned.as_ref().unwrap_or(&self.terms.subject.artefacts);
        let bytes = signals.iter().map(|signal| signal.content.len());
        let answer_tokens = self.terms.limits.of(stage).answer_tokens(stage, batch.model, batch.room, bytes);
        let server = self.server(batch.model);
        let subject = StageSubject { subject: self.terms.subject, artefacts, signals: &signals, answer_tokens, server };
        self.terms.asker.request(stage, batch.model, subject)
    }

    /// The calls' lessons so far about the server of a model.
    fn server(&self, model: PipelineModel) -> ServerFindings {
        let asked = self.state.exchanges.iter().map(|over| &over.exchange).filter(|exchange| exchange.model == model);
        ServerFindings::of(asked.flat_map(|exchange| &exchange.outcome.attempts))
    }

    /// Lets the time pass. Of what is between two events at most the stage's own time counts: the rest went by while
    /// nobody drove the run, which was interrupted.
    fn pass(&mut self, now: Time) {
        let most = i64::from(self.terms.limits.of(self.state.stage).seconds).saturating_mul(1_000);
        let now = now.max(self.state.now);
        if self.state.now.0 != i64::MIN && !matches!(self.state.phase, PipelinePhase::Pausing { .. }) {
            let passed = now.0.saturating_sub(self.state.now.0).min(most);
            self.state.spent_ms = self.state.spent_ms.saturating_add(passed);
        }
        self.state.now = now;
    }

    fn is_out_of_time(&self) -> bool {
        let most = i64::from(self.terms.limits.of(self.state.stage).seconds).saturating_mul(1_000);
        self.state.spent_ms >= most
    }

    /// Begins a stage.
    fn begin(&mut self, stage: PipelineStage) -> PipelineStep {
        self.state.stage = stage;
        self.state.spent_ms = 0;
        let (queue, too_long) = stage_batches(&self.findings.candidates(stage), stage, self.terms.limits.of(stage));
        self.state.queue = queue;
        if !too_long.is_empty() {
            self.leave(too_long, "its text is longer than an answer may be");
        }
        self.next()
    }

    /// The next call of the stage, or the next stage.
    fn next(&mut self) -> PipelineStep {
        loop {
            if let Some(why) = self.state.stopped {
                self.leave_the_rest(&why.in_words());
                return self.end();
            }
            if self.is_out_of_time() && !self.state.queue.is_empty() {
                self.leave_the_rest("the stage's time was up");
            }
            if self.state.queue.is_empty() {
                match self.state.stage.next() {
                    Some(stage) => return self.begin(stage),
                    None => return self.end(),
                }
            }
            let batch = self.state.queue.remove(0);
            if let Some(step) = self.ask(batch) {
                return step;
            }
        }
    }

    /// Asks about a batch. `None` if that can't be asked.
    fn ask(&mut self, batch: StageBatch) -> Option<PipelineStep> {
        let prepared = match self.request(self.state.stage, &batch) {
            Ok(prepared) => prepared,
            Err(error) => {
                match batch.halves() {
                    // A batch that doesn't fit may fit in two.
                    Some(halves) => drop(self.state.queue.splice(0..0, halves)),
                    None => self.leave(batch.members, &format!("no request could be made of it: {error}")),
                }
                return None;
            }
        };
        self.state.account = report_to_json(&prepared.report);
        let terms = self.terms.asker.terms(self.state.stage, batch.model);
        let mut exchange = Exchange::new(terms, prepared.request).numbered_from(self.state.effects);
        let step = exchange.step(Event { now: self.state.now, what: EventKind::Started });
        self.exchange = Some(exchange);
        self.state.phase = PipelinePhase::Asking { batch };
        match step {
            Ok(step) => self.outer(step),
            Err(error) => {
                let phase = core::mem::replace(&mut self.state.phase, PipelinePhase::New);
                self.exchange = None;
                if let PipelinePhase::Asking { batch } = phase {
                    self.leave(batch.members, &format!("the call could not begin: {error}"));
                }
                None
            }
        }
    }

    /// An exchange's step as one of the run. `None` if another batch is next.
    fn outer(&mut self, step: Step<Outcome>) -> Option<PipelineStep> {
        match step {
            Step::Do(effects) => {
                let next = effects.iter().map(|(id, _)| id.0.saturating_add(1)).max().unwrap_or_default();
                self.state.effects = self.state.effects.max(next);
                Some(Step::Do(effects))
            }
            Step::Ask(questions) => Some(Step::Ask(questions)),
            Step::Wait { until } => Some(Step::Wait { until }),
            Step::Done(outcome) => self.answered(outcome),
        }
    }

    /// Takes the end of a call.
    fn answered(&mut self, mut outcome: Outcome) -> Option<PipelineStep> {
        self.exchange = None;
        let phase = core::mem::replace(&mut self.state.phase, PipelinePhase::New);
        let PipelinePhase::Asking { batch } = phase else { return None };
        // A call that was over before it was asked for has a number all the same.
        let next = outcome.attempts.last().map_or(0, |attempt| attempt.effect.0.saturating_add(1));
        self.state.effects = self.state.effects.max(next);
        let ended = outcome.ended.clone();
        let said = outcome.attempts.last().and_then(|attempt| attempt.failure.as_ref()).map(failure_sentence);
        // Its reading stays. The answer itself is in the record, and would be sealed anew with each later state.
        for attempt in &mut outcome.attempts {
            attempt.response = None;
        }
        let exchange =
            StageExchange { stage: self.state.stage, model: batch.model, members: batch.members.clone(), outcome };
        self.findings.take(&exchange);
        self.state.exchanges.push(CallOver::new(exchange));
        let (ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because }) = ended else { return None };
        self.failed(batch, because, said)
    }

    /// The consequence of a call without an answer. `said` is the known part of its failure.
    fn failed(&mut self, batch: StageBatch, because: FallbackReason, said: Option<String>) -> Option<PipelineStep> {
        let why = [Some(because.in_words()), said].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let limits = self.terms.limits.of(self.state.stage);
        let what = match because {
            FallbackReason::Failed(kind) => after_failure(kind),
            FallbackReason::Cancelled(_) | FallbackReason::Program => AfterFailure::Stop,
            FallbackReason::Refusal | FallbackReason::CutOff | FallbackReason::Invalid => AfterFailure::Degrade,
        };
        if let FallbackReason::Failed(kind) = because
            && self.server(batch.model).permits_shorter(kind)
        {
            self.state.queue.insert(0, batch);
            return None;
        }
        let is_large = matches!(because, FallbackReason::CutOff | FallbackReason::Failed(FailureKind::TooLong));
        if let Some(halves) = batch.halves().filter(|_| is_large) {
            self.state.queue.splice(0..0, halves);
            return None;
        }
        // The room that was thought to be enough for an answer was not.
        if because == FallbackReason::CutOff && batch.room == AnswerRoom::BySize {
            self.state.queue.insert(0, StageBatch { room: AnswerRoom::Whole, ..batch });
            return None;
        }
        match what {
            AfterFailure::Retry if batch.failures < limits.retries => {
                let pause = i64::from(limits.pause_seconds).saturating_mul(1_000);
                let until = Time(self.state.now.0.saturating_add(pause));
                let failures = batch.failures.saturating_add(1);
                self.state.phase = PipelinePhase::Pausing { batch: StageBatch { failures, ..batch }, until };
                Some(Step::Wait { until })
            }
            AfterFailure::Retry | AfterFailure::Degrade => {
                self.leave(batch.members, &why);
                None
            }
            AfterFailure::Stop => {
                self.leave(batch.members, &why);
                self.state.stopped = Some(because);
                None
            }
        }
    }

    fn leave(&mut self, members: Vec<usize>, why: &str) {
        self.findings.left_to_rules(self.state.stage, &members, why);
        let after = self.state.exchanges.len();
        self.state.left_to_rules.push(LeftToRules { stage: self.state.stage, members, why: why.to_owned(), after });
    }

    fn leave_the_rest(&mut self, why: &str) {
        let rest: Vec<usize> = self.state.queue.drain(..).flat_map(|batch| batch.members).collect();
        if !rest.is_empty() {
            self.leave(rest, why);
        }
    }

    fn end(&mut self) -> PipelineStep {
        self.state.phase = PipelinePhase::Over;
        let notes = self.state.left_to_rules.iter().map(|left| {
            let count = left.members.len();
            let signals = if count == 1 { "1 signal is".to_owned() } else { format!("{count} signals are") };
            format!("{}: {signals} left to the rules: {}", left.stage.as_str(), left.why)
        });
        Step::Done(PipelineEnd {
            signals: self.findings.judged(),
            proposals: self.findings.proposals.clone(),
            remarks: self.findings.remarks.iter().copied().collect(),
            tools: self.findings.tools.clone(),
            stages: self.findings.stages.clone(),
            exchanges: self.state.exchanges.iter().map(|over| over.exchange.clone()).collect(),
            stopped: self.state.stopped,
            notes: notes.collect(),
        })
    }

    fn inner(&mut self, event: Event) -> Result<PipelineStep, Error> {
        let Some(exchange) = &mut self.exchange else { return Err(pipeline_out_of_step("no call is under way")) };
        let step = exchange.step(event)?;
        Ok(self.outer(step).unwrap_or_else(|| self.next()))
    }
}

/// Says of signals, in the order of what happened, what was left to rules before a call was over.
fn note_left_to_rules(findings: &mut Findings<'_>, left: &[LeftToRules], number: usize) {
    for left in left.iter().filter(|left| left.after == number) {
        findings.left_to_rules(left.stage, &left.members, &left.why);
    }
}

/// The most characters of what is known of a failure.
const MOST_SAID: usize = 300;

/// The known part of a failure in our words, without the provider's.
fn failure_sentence(failure: &CallFailure) -> String {
    failure.message.chars().take(MOST_SAID).collect()
}

fn report_to_json(report: &Report) -> Option<Json> {
    serde_json::to_value(report).ok()
}

fn pipeline_out_of_step(problem: &str) -> Error {
    Error::new(ErrorKind::OutOfStep, problem)
}

impl Machine for Pipeline<'_> {
    type Outcome = PipelineEnd;

    fn step(&mut self, event: Event) -> Result<PipelineStep, Error> {
        let now = event.now;
        match (&self.state.phase, &event.what) {
            (PipelinePhase::Over, _) => Err(pipeline_out_of_step("triage is over; nothing can happen to it any more")),
            (PipelinePhase::Asking { .. }, _) => {
                self.pass(now);
                self.inner(event)
            }
            (_, EventKind::Cancelled { why }) => {
                let why = FallbackReason::Cancelled(*why);
                if let PipelinePhase::Pausing { batch, .. } = &self.state.phase {
                    self.leave(batch.members.clone(), &why.in_words());
                }
                self.state.stopped = Some(why);
                Ok(self.next())
            }
            (PipelinePhase::New, EventKind::Started) => {
                self.pass(now);
                Ok(self.begin(PipelineStage::Sanitise))
            }
            (PipelinePhase::Pausing { batch, .. }, EventKind::Woken) => {
                let batch = batch.clone();
                self.pass(now);
                Ok(self.ask(batch).unwrap_or_else(|| self.next()))
            }
            (PipelinePhase::New, _) => Err(pipeline_out_of_step("triage starts with `started`")),
            (PipelinePhase::Pausing { .. }, _) => Err(pipeline_out_of_step("triage waits before it asks again")),
        }
    }

    fn state(&self) -> Result<Json, Error> {
        let inner = serde_json::to_value(&self.state).map_err(|error| {
            Error::new(ErrorKind::Render, format!("the state of triage can't be written down: {error}"))
        })?;
        let exchange = self.exchange.as_ref().map(Machine::state).transpose()?;
        Ok(json!({ "pipeline": inner, "exchange": exchange }))
    }

    fn account(&self, _: EffectId) -> Option<&Json> {
        self.state.account.as_ref()
    }
}
