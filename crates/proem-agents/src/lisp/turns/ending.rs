//! The end of a mission.

use proem_engine::run::{CancelReason, Step};
use proem_lisp::{Meter, Reason, Value, is_equal, print_readable};

use super::record::{MissionEnd, MissionOutcome, MissionUsage, StepFailure, TurnProblem, TurnRecord, reason};
use super::state::MissionPhase;
use super::{MissionStep, TurnsMachine};

/// The most characters of a program's own words about its failure.
const OWN_WORDS: usize = 2_000;

impl TurnsMachine<'_> {
    /// Ends with a value that the signature permits.
    pub(super) fn returned(&mut self, value: Value) -> MissionStep {
        let value = value.labelled(&self.state.shown.to_label());
        self.end(MissionEnd::Return { value, is_fallback: false })
    }

    /// Ends by the program's own `fail`.
    pub(super) fn end_by_fail(&mut self, failure: StepFailure) -> MissionStep {
        self.end(MissionEnd::Fail(failure))
    }

    pub(super) fn no_answer(&mut self, failure: StepFailure) -> MissionStep {
        self.end(MissionEnd::NoAnswer(failure))
    }

    pub(super) fn cancelled(&mut self, why: CancelReason) -> MissionStep {
        self.exchange = None;
        self.program = None;
        let failure = match why {
            CancelReason::Asked => StepFailure::new(reason::CANCELLED, "it was cancelled"),
            CancelReason::Deadline => {
                let seconds = self.terms.agent.turns.mission_seconds;
                StepFailure::new(reason::MISSION_TIMEOUT, format!("the mission took longer than its {seconds} s"))
            }
        };
        self.no_answer(failure)
    }

    /// Ends with the last value that the signature permits, or without one.
    pub(super) fn out_of_turns(&mut self) -> MissionStep {
        let [last, ..] = &self.kept.history;
        if self.state.has_value && self.terms.agent.signature.check_result(&last.without_labels()).is_empty() {
            let value = last.clone().labelled(&self.state.shown.to_label());
            return self.end(MissionEnd::Return { value, is_fallback: true });
        }
        let most = self.terms.agent.turns.max_turns;
        // That the last turn calls nothing explains no failure; the turns before do.
        let explains = |problem: &TurnProblem| problem.reason != Reason::ToolCallLimit.as_str();
        let ended = |turn: &TurnRecord| Some((turn.number, turn.problem.clone()?));
        let turns = || self.state.turns.iter().rev().map_while(ended);
        let problem = turns().find(|(_, problem)| explains(problem)).or_else(|| turns().next());
        let failure = match problem {
            // One turn was all there was, so its problem is the mission's.
            Some((_, problem)) if most <= 1 => StepFailure::new(&problem.reason, problem.message),
            Some((number, TurnProblem { reason: kind, message, .. })) => {
                let message = format!("no result within {most} turns; turn {number} ended with {kind}: {message}");
                StepFailure::new(reason::MAX_TURNS_EXCEEDED, message)
            }
            None => {
                let message = format!("no program called `return` within {most} turns");
                StepFailure::new(reason::MAX_TURNS_EXCEEDED, message)
            }
        };
        self.no_answer(failure)
    }

    /// The failure that a program gave to `fail`.
    pub(super) fn failure_of(&self, value: &Value) -> StepFailure {
        let inner = value.unlabelled();
        let text = |value: &Value| {
            let words = value.unlabelled().as_str().filter(|_| !value.label().is_secret()).map(str::to_owned);
            let words = words.or_else(|| print_readable(value, &mut Meter::new(self.terms.limits)).ok());
            super::feedback::cut_after_characters(&words.unwrap_or_default(), OWN_WORDS)
        };
        let field = |name: &str| inner.field(name).filter(|value| !value.unlabelled().is_nil());
        let Some(named) = field("reason") else {
            return StepFailure::new(reason::FAILED, text(value));
        };
        StepFailure {
            reason: text(named),
            message: field("message").map(text).unwrap_or_default(),
            op: field("op").map(text),
            details: field("details").and_then(|value| print_readable(value, &mut Meter::new(self.terms.limits)).ok()),
        }
    }

    fn end(&mut self, end: MissionEnd) -> MissionStep {
        self.state.phase = MissionPhase::Over;
        let state = &self.state;
        let is_known = state.turns.iter().all(|turn| turn.fuel.is_some() || turn.result.is_none());
        let fuel = state.turns.iter().filter_map(|turn| turn.fuel).fold(0_u64, u64::saturating_add);
        let calls = state.turns.iter().map(|turn| turn.calls.len()).sum::<usize>();
        let took = state.began.map_or(0, |began| state.now.0.saturating_sub(began.0));
        let usage = MissionUsage {
            duration_ms: u64::try_from(took).unwrap_or(0),
            turns: u32::try_from(state.turns.len()).unwrap_or(u32::MAX),
            all_turns: state.spent,
            fuel: is_known.then_some(fuel),
            bytes: state.most_bytes.filter(|_| is_known),
            tool_calls: u32::try_from(calls).unwrap_or(u32::MAX),
        };
        let shown = state.shown.to_label();
        let memory = self.kept.memory.clone().labelled(&shown);
        Step::Done(MissionOutcome {
            end,
            memory_delta: self.memory_delta(),
            memory,
            shown,
            turns: state.turns.clone(),
            exchanges: state.exchanges.clone(),
            usage,
        })
    }

    /// The entries of the memory that are new or another.
    fn memory_delta(&self) -> Value {
        let mut meter = Meter::new(self.terms.limits);
        let memory = self.kept.memory.unlabelled();
        let changed = memory.entries().filter(|(key, value)| {
            let before = key.as_str().and_then(|name| self.terms.memory.field(name));
            before.is_none_or(|before| {
                !is_equal(&value.without_labels(), &before.without_labels(), &mut meter).unwrap_or(false)
            })
        });
        let changed: Vec<(Value, Value)> = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
        Value::map(changed).labelled(&self.kept.memory.own_label())
    }
}
