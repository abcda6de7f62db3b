//! The question to the model, and what an answer is.

use core::num::NonZeroU32;

use proem_engine::call::FailureKind;
use proem_engine::run::{
    AnswerRequirement, CallLabel, CancelReason, Event, EventKind, Exchange, ExchangeEnd, ExchangeLimits, ExchangeTerms,
    FallbackReason, Machine as _, Outcome, Step, Time,
};
use proem_guard::show;

use super::block::{BlockProblem, program_block};
use super::feedback::{CUT_OFF, NO_CODE, REFUSED, SEVERAL_BLOCKS, cut_after_characters};
use super::record::{StepFailure, TurnKind, TurnProblem, reason};
use super::state::{MissionPhase, ToldTurn};
use super::{MissionStep, TurnsMachine};
use crate::lisp::prompt::TurnText;

/// How often in a row a call is made again that failed for a reason that passes.
const MAX_FAILURES: u32 = 3;
/// How long the run waits before that, in milliseconds; each time twice as long. The caller has waited before, as the
/// provider's limits say.
const PAUSE_MS: i64 = 2_000;
/// The most characters of an answer that the next turns show.
const ANSWER_CHARACTERS: usize = 20_000;
/// The most characters of an answer without a program that the trace keeps.
const PROSE_CHARACTERS: usize = 2_000;

impl<'t> TurnsMachine<'t> {
    pub(super) fn exchange_terms(&self) -> ExchangeTerms<'t> {
        ExchangeTerms {
            owed: AnswerRequirement::Text,
            fallback: None,
            limits: ExchangeLimits { attempts: NonZeroU32::MIN, tokens: None },
            key: self.terms.installation,
            counter: self.terms.counter,
        }
    }

    /// The first turn.
    pub(super) fn begin(&mut self) -> MissionStep {
        if self.terms.shared.depth > self.terms.agent.turns.max_depth {
            let most = self.terms.agent.turns.max_depth;
            let message = format!("agents call agents on more than {most} levels");
            return self.no_answer(StepFailure::new(reason::MAX_DEPTH_EXCEEDED, message));
        }
        let shown = self.terms.prompt.shown_label();
        self.show(&CallLabel::from(&shown));
        self.next_turn()
    }

    /// The next turn, if there is one.
    pub(super) fn next_turn(&mut self) -> MissionStep {
        let limits = self.terms.agent.turns;
        if !self.state.is_retry && self.state.used >= limits.max_turns {
            return self.out_of_turns();
        }
        if self.state.spent >= self.terms.shared.turns.min(limits.turn_budget) {
            let message = "the turns that it shares with the agents around it are used up";
            return self.no_answer(StepFailure::new(reason::TURN_BUDGET_EXHAUSTED, message));
        }
        self.ask_again()
    }

    /// Asks for the turn at hand.
    pub(super) fn ask_again(&mut self) -> MissionStep {
        let texts: Vec<TurnText> = self.state.texts.iter().map(ToldTurn::to_text).collect();
        let prepared = match self.terms.prompt.request(&texts) {
            Ok(prepared) => prepared,
            Err(error) => {
                let kind = if self.state.texts.is_empty() { reason::TEMPLATE_ERROR } else { reason::LLM_ERROR };
                return self.no_answer(StepFailure::new(kind, error.to_string()));
            }
        };
        self.state.account = serde_json::to_value(&prepared.report).ok();
        let mut exchange = Exchange::new(self.exchange_terms(), prepared.request).numbered_from(self.state.effects);
        let started = exchange.step(Event { now: self.state.now, what: EventKind::Started });
        self.state.phase = MissionPhase::Asking;
        self.exchange = Some(exchange);
        match started {
            Ok(step) => self.exchange_step(step),
            Err(error) => self.no_answer(StepFailure::new(reason::LLM_ERROR, error.to_string())),
        }
    }

    /// The exchange's step as the mission's.
    pub(super) fn exchange_step(&mut self, step: Step<Outcome>) -> MissionStep {
        match step {
            Step::Do(effects) => {
                effects.iter().for_each(|(id, _)| self.next_effect(*id));
                Step::Do(effects)
            }
            Step::Ask(questions) => Step::Ask(questions),
            Step::Wait { until } => Step::Wait { until },
            Step::Done(outcome) => self.answered(outcome),
        }
    }

    fn answered(&mut self, outcome: Outcome) -> MissionStep {
        self.exchange = None;
        let ended = outcome.ended.clone();
        let failure = outcome.attempts.last().and_then(|attempt| attempt.failure.clone());
        self.state.exchanges.push(outcome);
        let because = match ended {
            ExchangeEnd::Answered { value } => {
                let json = show::exact_value(&value);
                return self.take_answer(json.as_str().unwrap_or_default());
            }
            ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => because,
        };
        let words = failure.map_or_else(|| because.in_words(), |failure| failure.message);
        match because {
            FallbackReason::CutOff | FallbackReason::Failed(FailureKind::TooLarge) => {
                self.unusable(TurnKind::CutOff, "", (reason::LLM_ERROR, CUT_OFF))
            }
            FallbackReason::Refusal => self.unusable(TurnKind::Refused, "", (reason::LLM_ERROR, REFUSED)),
            FallbackReason::Invalid | FallbackReason::Program => {
                self.unusable(TurnKind::NoCode, "", (reason::NO_CODE_FOUND, NO_CODE))
            }
            FallbackReason::Cancelled(why) => self.cancelled(why),
            FallbackReason::Failed(FailureKind::Cancelled) => self.cancelled(CancelReason::Asked),
            FallbackReason::Failed(FailureKind::NoKey) => self.no_answer(StepFailure::new(reason::LLM_REQUIRED, words)),
            FallbackReason::Failed(kind) if is_passing_failure(kind) && self.state.failures < MAX_FAILURES => {
                self.pause()
            }
            FallbackReason::Failed(_) => self.no_answer(StepFailure::new(reason::LLM_ERROR, words)),
        }
    }

    /// Waits before the same turn is asked for again.
    fn pause(&mut self) -> MissionStep {
        let wait = PAUSE_MS.saturating_mul(1_i64 << self.state.failures.min(8));
        self.state.failures = self.state.failures.saturating_add(1);
        self.state.phase = MissionPhase::Pausing;
        Step::Wait { until: Time(self.state.now.0.saturating_add(wait)) }
    }

    /// Takes the program of an answer.
    fn take_answer(&mut self, answer: &str) -> MissionStep {
        self.state.answer = cut_after_characters(answer, ANSWER_CHARACTERS);
        match program_block(answer) {
            Ok(program) => self.run_program(program),
            Err(BlockProblem::Missing) => self.unusable(TurnKind::NoCode, answer, (reason::NO_CODE_FOUND, NO_CODE)),
            Err(BlockProblem::Several) => {
                self.unusable(TurnKind::SeveralBlocks, answer, (reason::MULTIPLE_CODE_BLOCKS, SEVERAL_BLOCKS))
            }
        }
    }

    /// A turn without a program that could be run.
    fn unusable(&mut self, kind: TurnKind, answer: &str, (reason, message): (&str, &str)) -> MissionStep {
        let problem = TurnProblem { reason: reason.to_owned(), message: message.to_owned(), place: None };
        let program = cut_after_characters(answer, PROSE_CHARACTERS);
        self.begin_record(kind, &program);
        self.fail_turn(&problem, &proem_text::Label::trusted())
    }
}

/// Whether a call that failed for this reason may be answered a little later.
const fn is_passing_failure(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::RateLimited
            | FailureKind::Server
            | FailureKind::TimedOut
            | FailureKind::Unreachable
            | FailureKind::Malformed
            | FailureKind::Cut
            | FailureKind::Empty
    )
}
