//! The investigation: at most three hops, then a synthesis, as a machine.
//!
//! A hop begins only if its outcome could raise the level or fill an unknown; what may be chosen is
//! worked out by rules before a model is asked, and where only the end could be chosen nobody is asked.
//! An answer that can't be used is asked for once more, then the prompt's fallback holds: the end of the
//! hops, or no synthesis.
//!
//! Invariants: the level never falls below the rules'. It rises above them only with a citation of evidence that the
//! model was given. No call has more tokens than the limits. The end of the time, a cancellation and a failed call all
//! end with what is known.

mod case;
mod choice;
mod offer;
mod outcome;
mod requests;
mod terms;
mod verdict;

pub use self::case::{CasePrompt, pose_case};
pub use self::outcome::{ExchangeRecord, InvestigationEnd, Synthesis};
pub use self::terms::{EXPAND, InvestigationLimits, InvestigationPrompt, InvestigationTerms, MEASURE, Subject};
pub use super::hop::{Hop, HopAction, HopChooser, NeighbourFiles};

use proem_engine::call::FailureKind;
use proem_engine::report::Report;
use proem_engine::run::{
    CancelReason, Effect, EffectId, EffectResult, Event, EventKind, Exchange, ExchangeEnd, FallbackReason, Machine,
    Outcome, Step, Time,
};
use proem_engine::{Error, ErrorKind};
use proem_guard::{Untrusted, show};
use proem_risk::assess::{Assessment, Investigate};
use proem_risk::metric::{Metric, MetricName, Sentence};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use self::choice::HopChoice;
use self::offer::{Offer, offer_hops};
use self::outcome::is_final;
use super::evidence::{self, Aliases, CitableEvidence, sentence_with_names};

/// The name of the prompt that decides the next step.
pub const DECISION: &str = "risk/decision";

/// The name of the prompt that puts the evidence together.
pub const SYNTHESIS: &str = "risk/synthesis";

/// An investigation as a run.
#[derive(Debug)]
pub struct Investigation<'t> {
    terms: InvestigationTerms<'t>,
    state: InvestigationState,
    /// The call that is under way.
    exchange: Option<Exchange<'t>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct InvestigationState {
    subject: Subject,
    phase: InvestigationPhase,
    now: Time,
    /// How much of the time is used up, in milliseconds.
    spent_ms: i64,
    /// How many effects were asked for.
    effects: u32,
    hops: Vec<(Hop, Sentence)>,
    neighbours: Vec<(u32, NeighbourFiles)>,
    aliases: Aliases,
    exchanges: Vec<ExchangeRecord>,
    notes: Vec<String>,
    /// The account of every token of the last request, as JSON.
    account: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum InvestigationPhase {
    New,
    Deciding { asked: UnansweredCall, attempts: Attempts },
    Measuring { effect: EffectId, choice: HopChoice },
    Synthesising { asked: UnansweredCall, given: Vec<CitableEvidence> },
    Over,
}

/// A call that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct UnansweredCall {
    /// The run's number of its first effect.
    first: u32,
    /// The limit of its use, with the attempt after it.
    tokens: u64,
}

/// How often an answer may still be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Attempts {
    /// Once more: the first answer may be unusable.
    Left,
    /// No more: this is the second answer.
    Used,
}

/// How an investigation goes on.
type InvestigationStep = Step<InvestigationEnd>;

impl<'t> Investigation<'t> {
    /// An investigation of a change under these terms.
    #[must_use]
    pub fn new(terms: InvestigationTerms<'t>, subject: Subject) -> Self {
        let state = InvestigationState {
            aliases: Aliases::new(&subject.paths),
            subject,
            phase: InvestigationPhase::New,
            now: Time(i64::MIN),
            spent_ms: 0,
            effects: 0,
            hops: Vec::new(),
            neighbours: Vec::new(),
            exchanges: Vec::new(),
            notes: Vec::new(),
            account: None,
        };
        Self { terms, state, exchange: None }
    }

    /// An investigation as [`Machine::state`] wrote it down, under the same terms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if `state` is none.
    pub fn restore(terms: InvestigationTerms<'t>, state: &Json) -> Result<Self, Error> {
        let wrong = |e: &dyn core::fmt::Display| {
            Error::new(ErrorKind::InvalidInput, format!("this is not a state of an investigation: {e}"))
        };
        let read = |key: &str| state.get(key).ok_or_else(|| wrong(&format!("`{key}` is missing")));
        let inner = InvestigationState::deserialize(read("investigation")?).map_err(|e| wrong(&e))?;
        let asked = match &inner.phase {
            InvestigationPhase::Deciding { asked, attempts } => {
                Some(requests::decision_terms(&terms, *asked, *attempts))
            }
            InvestigationPhase::Synthesising { asked, .. } => Some(requests::synthesis(&terms, *asked)),
            InvestigationPhase::New | InvestigationPhase::Measuring { .. } | InvestigationPhase::Over => None,
        };
        let exchange = asked.map(|terms| Exchange::restore(terms, read("exchange")?)).transpose()?;
        Ok(Self { terms, state: inner, exchange })
    }

    /// The level and all else by the rules so far.
    const fn assessment(&self) -> &Assessment {
        &self.state.subject.assessment
    }

    fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.state.notes.contains(&note) {
            self.state.notes.push(note);
        }
    }

    /// Whether a request that failed for this reason is made once more, for the window that the server named.
    fn permits_shorter(&self, because: FallbackReason) -> bool {
        matches!(because, FallbackReason::Failed(kind) if requests::server(&self.state).permits_shorter(kind))
    }

    /// The next hop's number.
    fn hop(&self) -> u8 {
        u8::try_from(self.state.hops.len()).unwrap_or(u8::MAX).saturating_add(1)
    }

    /// The time left, in milliseconds.
    fn left(&self) -> i64 {
        i64::from(self.terms.limits.total_ms).saturating_sub(self.state.spent_ms)
    }

    /// Lets the time pass. Of what is between two events at most a hop's time counts: a call is given up by then, so
    /// the rest went by while nobody drove the run, which was interrupted.
    fn pass(&mut self, now: Time) {
        let passed = now.0.saturating_sub(self.state.now.0);
        let counted = passed.min(i64::from(self.terms.limits.hop_ms));
        self.state.spent_ms = self.state.spent_ms.saturating_add(counted);
        self.state.now = now;
    }

    fn begin(&mut self) -> InvestigationStep {
        match self.assessment().investigate {
            Investigate::Yes => self.next(),
            Investigate::NothingHigh => self.closed("no measured signal is HIGH"),
            Investigate::NothingThatRuns => self.closed("only documentation or generated files change"),
        }
    }

    /// Ends without a model.
    fn closed(&mut self, why: &str) -> InvestigationStep {
        self.finalised(why);
        self.over(None)
    }

    /// The hop that the rules take when nothing else may be chosen.
    fn finalised(&mut self, why: &str) {
        let hop = Hop {
            hop: self.hop(),
            offered: vec![HopAction::Finalize],
            action: HopAction::Finalize,
            by: HopChooser::Rules,
            metric: None,
            file: None,
            result: why.to_owned(),
            reasoning: String::new(),
        };
        self.state.hops.push((hop, Sentence::ours(why)));
    }

    /// The next hop, or the synthesis.
    fn next(&mut self) -> InvestigationStep {
        let offer = offer_hops(&self.state, self.terms.limits);
        if let Some(why) = offer.closed {
            self.finalised(why);
            return self.synthesise();
        }
        if self.left() < i64::from(self.terms.limits.hop_ms) {
            self.note("there was no time for another hop");
            self.finalised("less than a hop's time is left");
            return self.synthesise();
        }
        self.decide(&offer, None)
    }

    /// Asks for the next step. `wrong` is what was wrong with the last answer.
    fn decide(&mut self, offer: &Offer, wrong: Option<&str>) -> InvestigationStep {
        let asked = requests::ask_decision(&self.terms, &mut self.state, offer, wrong);
        let asked = match asked {
            Ok(asked) => asked,
            Err(why) => {
                let choice = HopChoice::fallback(offer, format!("no model could be asked: {why}"));
                return self.ended_by_fallback(choice);
            }
        };
        let attempts = if wrong.is_some() { Attempts::Used } else { Attempts::Left };
        let terms = requests::decision_terms(&self.terms, asked.asking, attempts);
        self.state.phase = InvestigationPhase::Deciding { asked: asked.asking, attempts };
        self.ask(Exchange::new(terms, asked.request), asked.asking, &asked.report)
    }

    /// Begins an exchange.
    fn ask(&mut self, mut exchange: Exchange<'t>, asking: UnansweredCall, report: &Report) -> InvestigationStep {
        self.state.account = serde_json::to_value(report).ok();
        let step = exchange.step(Event { now: self.state.now, what: EventKind::Started });
        self.exchange = Some(exchange);
        match step {
            Ok(step) => self.outer(step, asking).unwrap_or_else(|outcome| self.answered(outcome)),
            Err(error) => {
                self.note(format!("a model could not be asked: {error}"));
                self.over(None)
            }
        }
    }

    /// An exchange's step under the run's own numbers. Its outcome if it is over.
    fn outer(&mut self, step: Step<Outcome>, asking: UnansweredCall) -> Result<InvestigationStep, Outcome> {
        let outer = |id: EffectId| EffectId(id.0.saturating_add(asking.first));
        match step {
            Step::Do(effects) => {
                let effects: Vec<_> = effects.into_iter().map(|(id, effect)| (outer(id), effect)).collect();
                let next = effects.iter().map(|(id, _)| id.0.saturating_add(1)).max();
                self.state.effects = next.unwrap_or(0).max(self.state.effects);
                Ok(Step::Do(effects))
            }
            Step::Ask(questions) => Ok(Step::Ask(questions)),
            Step::Wait { until } => Ok(Step::Wait { until }),
            Step::Done(mut outcome) => {
                for attempt in &mut outcome.attempts {
                    attempt.effect = outer(attempt.effect);
                }
                Err(outcome)
            }
        }
    }

    /// Takes the end of a call.
    fn answered(&mut self, outcome: Outcome) -> InvestigationStep {
        self.exchange = None;
        let ended = outcome.ended.clone();
        let attempts = outcome.asked().count();
        self.keep(outcome);
        match core::mem::replace(&mut self.state.phase, InvestigationPhase::Over) {
            InvestigationPhase::Deciding { attempts: left, .. } => {
                let offer = offer_hops(&self.state, self.terms.limits);
                let left = if attempts > 1 { Attempts::Used } else { left };
                self.decided(&offer, ended, left)
            }
            InvestigationPhase::Synthesising { given, .. } => self.synthesised(&ended, &given),
            InvestigationPhase::New | InvestigationPhase::Measuring { .. } | InvestigationPhase::Over => {
                self.over(None)
            }
        }
    }

    fn keep(&mut self, outcome: Outcome) {
        let prompt = if matches!(self.state.phase, InvestigationPhase::Deciding { .. }) { DECISION } else { SYNTHESIS };
        outcome.usage_doubts().into_iter().for_each(|doubt| self.note(doubt));
        self.state.exchanges.push(ExchangeRecord { prompt: prompt.to_owned(), outcome, refused: false });
    }

    fn decided(&mut self, offer: &Offer, ended: ExchangeEnd, left: Attempts) -> InvestigationStep {
        let because = match ended {
            ExchangeEnd::Answered { value } => {
                let choice = HopChoice::read(&value, offer, &self.state);
                if let Some(last) = self.state.exchanges.last_mut() {
                    last.refused = choice.is_err();
                }
                return match choice {
                    Ok(choice) => self.perform(choice),
                    Err(wrong) if left == Attempts::Left => self.decide(offer, Some(&wrong)),
                    Err(wrong) => self.ended_by_fallback(HopChoice::fallback(offer, wrong)),
                };
            }
            ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => because,
        };
        if self.permits_shorter(because) {
            return self.decide(offer, None);
        }
        let is_late = because == FallbackReason::Failed(FailureKind::TimedOut);
        // Records without measures end their hops there, and their replay has to make the same requests.
        if is_late && self.state.subject.yardsticks.is_some() {
            return self.timed_out(offer);
        }
        let choice = HopChoice::fallback(offer, because.in_words());
        if is_late {
            self.note(format!("hop {} timed out; the summary uses the evidence collected until then", self.hop()));
        }
        if is_final(because) {
            self.fell_back(choice);
            return self.over(None);
        }
        self.ended_by_fallback(choice)
    }

    /// Ends a hop whose time was up, and goes on with the next one.
    fn timed_out(&mut self, offer: &Offer) -> InvestigationStep {
        self.note(format!(
            "hop {} timed out and brought no evidence; the investigation goes on without it",
            self.hop()
        ));
        let choice = HopChoice { action: HopAction::TimedOut, ..HopChoice::fallback(offer, String::new()) };
        self.took(choice, HopChooser::Fallback, Sentence::ours("the call took longer than a hop may"));
        self.next()
    }

    fn fell_back(&mut self, choice: HopChoice) {
        self.note(format!(
            "hop {}: the prompt's fallback ends the search for evidence, because {}",
            self.hop(),
            choice.reasoning
        ));
        let why = choice.reasoning.clone();
        self.took(HopChoice { reasoning: String::new(), ..choice }, HopChooser::Fallback, Sentence::ours(why));
    }

    fn ended_by_fallback(&mut self, choice: HopChoice) -> InvestigationStep {
        self.fell_back(choice);
        self.synthesise()
    }

    /// Does what was chosen.
    fn perform(&mut self, choice: HopChoice) -> InvestigationStep {
        let (what, of) = match (choice.action, choice.metric, choice.file) {
            (HopAction::CalculateMetric, Some(metric), Some(file)) => {
                (MEASURE, json!({ "metric": metric, "file": file }))
            }
            (HopAction::ExpandGraph, _, Some(file)) => (EXPAND, json!({ "file": file })),
            _ => {
                self.took(choice, HopChooser::Model, Sentence::ours("the model saw evidence enough"));
                return self.synthesise();
            }
        };
        let effect = EffectId(self.state.effects);
        self.state.effects = self.state.effects.saturating_add(1);
        self.state.phase = InvestigationPhase::Measuring { effect, choice };
        Step::Do(vec![(effect, Effect::Measure { what: what.to_owned(), of })])
    }

    fn took(&mut self, choice: HopChoice, by: HopChooser, came: Sentence) {
        let hop = Hop {
            hop: self.hop(),
            offered: choice.offered,
            action: choice.action,
            by,
            metric: choice.metric.map(|name| name.as_str().to_owned()),
            file: choice.file,
            result: sentence_with_names(&came),
            reasoning: choice.reasoning,
        };
        self.state.hops.push((hop, came));
    }

    /// Takes the result of a measurement.
    fn measured(&mut self, choice: HopChoice, performed: EffectResult) -> Result<InvestigationStep, Error> {
        let came = match (performed, choice.file) {
            (EffectResult::Measured { value }, Some(file)) => match choice.metric {
                Some(name) => {
                    let metric = Metric::deserialize(&value).map_err(|e| unreadable_result(MEASURE, &e))?;
                    if metric.name != name {
                        return Err(unreadable_result(MEASURE, &format!("`{}` was requested", name.as_str())));
                    }
                    let came = evidence::came_of(&metric);
                    self.state.subject.assessment = self.assessment().clone().with(file, metric);
                    came
                }
                None => {
                    let found = NeighbourFiles::deserialize(&value).map_err(|e| unreadable_result(EXPAND, &e))?;
                    let came = evidence::came_around(&found);
                    self.state.neighbours.push((file, found));
                    came
                }
            },
            (EffectResult::Failed { failure }, _) => {
                let what = choice.metric.map_or("the neighbours", MetricName::as_str);
                self.note(format!("hop {}: {what} could not be measured: {}", self.hop(), failure.message));
                Sentence::ours("it could not be measured")
            }
            _ => return Err(investigation_out_of_step("the investigation waits for a measurement")),
        };
        self.state.phase = InvestigationPhase::Over;
        self.took(choice, HopChooser::Model, came);
        Ok(self.next())
    }

    /// Asks for the synthesis.
    fn synthesise(&mut self) -> InvestigationStep {
        if self.left() <= 0 {
            self.note("there was no time for a summary by the model; the level comes from the rules alone");
            return self.over(None);
        }
        let asked = match requests::ask_synthesis(&self.terms, &mut self.state) {
            Ok(asked) => asked,
            Err(why) => {
                self.note(format!("no summary by the model: no model could be asked: {why}"));
                return self.over(None);
            }
        };
        let terms = requests::synthesis(&self.terms, asked.asking);
        self.state.phase = InvestigationPhase::Synthesising { asked: asked.asking, given: asked.given };
        self.ask(Exchange::new(terms, asked.request), asked.asking, &asked.report)
    }

    fn synthesised(&mut self, ended: &ExchangeEnd, given: &[CitableEvidence]) -> InvestigationStep {
        let value = match ended {
            ExchangeEnd::Answered { value } => value,
            ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => {
                if self.permits_shorter(*because) {
                    return self.synthesise();
                }
                let because = because.in_words();
                self.note(format!("no summary by the model: {because}; the level comes from the rules alone"));
                return self.over(None);
            }
        };
        let judged = verdict::judge_synthesis(value, given, &self.state.aliases, &mut self.state.subject.assessment);
        judged.notes.into_iter().for_each(|note| self.note(note));
        self.over(judged.synthesis)
    }

    /// The end, whatever is known.
    fn over(&mut self, synthesis: Option<Synthesis>) -> InvestigationStep {
        self.state.phase = InvestigationPhase::Over;
        self.exchange = None;
        Step::Done(InvestigationEnd {
            assessment: self.assessment().clone(),
            synthesis,
            hops: self.state.hops.iter().map(|(hop, _)| hop.clone()).collect(),
            exchanges: self.state.exchanges.clone(),
            notes: self.state.notes.clone(),
        })
    }

    /// Ends in the middle.
    fn cancelled(&mut self, why: CancelReason) -> Result<InvestigationStep, Error> {
        let asked = match &self.state.phase {
            InvestigationPhase::Deciding { asked, .. } | InvestigationPhase::Synthesising { asked, .. } => Some(*asked),
            InvestigationPhase::New | InvestigationPhase::Measuring { .. } | InvestigationPhase::Over => None,
        };
        if let (Some(asked), Some(exchange)) = (asked, self.exchange.as_mut()) {
            let step = exchange.step(Event { now: self.state.now, what: EventKind::Cancelled { why } })?;
            if let Err(outcome) = self.outer(step, asked) {
                self.keep(outcome);
            }
        }
        let why = FallbackReason::Cancelled(why).in_words();
        self.note(format!("the investigation ends early, because {why}; the evidence collected until then is used"));
        Ok(self.over(None))
    }

    fn performed(&mut self, now: Time, mut results: Vec<(EffectId, EffectResult)>) -> Result<InvestigationStep, Error> {
        match self.state.phase.clone() {
            InvestigationPhase::Deciding { asked, .. } | InvestigationPhase::Synthesising { asked, .. } => {
                for (id, _) in &mut results {
                    let inner = id.0.checked_sub(asked.first);
                    *id = EffectId(
                        inner.ok_or_else(|| investigation_out_of_step("this result belongs to an earlier effect"))?,
                    );
                }
                let Some(exchange) = self.exchange.as_mut() else {
                    return Err(investigation_out_of_step("no model was asked"));
                };
                let step = exchange.step(Event { now, what: EventKind::Performed { results } })?;
                self.pass(now);
                Ok(self.outer(step, asked).unwrap_or_else(|outcome| self.answered(outcome)))
            }
            InvestigationPhase::Measuring { effect, choice } => {
                let mut results = results.into_iter();
                let (Some((id, performed)), None) = (results.next(), results.next()) else {
                    return Err(investigation_out_of_step("one measurement is taken at a time; give it one result"));
                };
                if id != effect {
                    return Err(investigation_out_of_step(
                        "this result belongs to another effect than the one that was asked for",
                    ));
                }
                let before = (self.state.now, self.state.spent_ms);
                self.pass(now);
                let next = self.measured(choice, performed);
                if next.is_err() {
                    (self.state.now, self.state.spent_ms) = before;
                }
                next
            }
            InvestigationPhase::New | InvestigationPhase::Over => {
                Err(investigation_out_of_step("nothing was asked for"))
            }
        }
    }
}

impl Machine for Investigation<'_> {
    type Outcome = InvestigationEnd;

    fn step(&mut self, event: Event) -> Result<Step<InvestigationEnd>, Error> {
        let now = self.state.now.max(event.now);
        match (&self.state.phase, event.what) {
            (InvestigationPhase::Over, _) => {
                Err(investigation_out_of_step("the investigation is over; nothing can happen to it any more"))
            }
            (InvestigationPhase::New, EventKind::Started) => {
                self.state.now = now;
                Ok(self.begin())
            }
            (_, EventKind::Cancelled { why }) => {
                self.pass(now);
                self.cancelled(why)
            }
            (_, EventKind::Performed { results }) => self.performed(now, results),
            (InvestigationPhase::New, _) => Err(investigation_out_of_step("an investigation starts with `started`")),
            (_, _) => Err(investigation_out_of_step("the investigation waits for what it asked for")),
        }
    }

    fn state(&self) -> Result<Json, Error> {
        let inner = serde_json::to_value(&self.state).map_err(|e| {
            Error::new(ErrorKind::Render, format!("the state of an investigation can't be written down: {e}"))
        })?;
        let exchange = self.exchange.as_ref().map(Machine::state).transpose()?;
        Ok(json!({ "investigation": inner, "exchange": exchange }))
    }

    fn account(&self, effect: EffectId) -> Option<&Json> {
        let first = match &self.state.phase {
            InvestigationPhase::Deciding { asked, .. } | InvestigationPhase::Synthesising { asked, .. } => asked.first,
            InvestigationPhase::New | InvestigationPhase::Measuring { .. } | InvestigationPhase::Over => return None,
        };
        self.state.account.as_ref().filter(|_| (first..self.state.effects).contains(&effect.0))
    }
}

fn investigation_out_of_step(problem: &str) -> Error {
    Error::new(ErrorKind::OutOfStep, problem)
}

fn unreadable_result(effect: &str, problem: &dyn core::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("the result of `{effect}` can't be read: {problem}"))
}

/// A decoded answer as it is. Every text in it is from outside.
fn exact_answer(value: &Untrusted<Json>) -> Json {
    show::exact_value(value)
}
