//! The program of a turn: checked, run, and what the model is told of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use proem_engine::run::{
    CallLabel, Effect, EffectId, EffectResult, Event, EventKind, Machine as _, Step, ToolOutcome, hide_fields,
};
use proem_lisp::{
    Inputs, Limits, Meter, Names, Problem, Program, Reason, SignatureProblem, Value, print_readable, resolve_source,
    sanitise_source,
};
use proem_text::{Label, line_column};

use super::feedback::{Feedback, cut_after_characters};
use super::record::{StepFailure, TurnCall, TurnKind, TurnProblem, TurnRecord, reason};
use super::state::{LastFailure, MissionPhase, ToldTurn};
use super::{MissionStep, TurnsMachine};
use crate::lisp::program::{ProgramEnd, ProgramMachine, ProgramOutcome, ProgramTerms, SharedTurns, TurnStart};

/// So many problems that secrets had a part in end a mission: each may tell a little about them.
const MOST_HIDDEN_PROBLEMS: u32 = 2;
/// Why a call in the last turn is refused.
const LAST_TURN_CALLS_NOTHING: &str = "the last turn calls no tool; it can only call `return` or `fail`";
/// The most problems of a program that a model is told of.
const MAX_PROBLEMS: usize = 3;
/// The most characters that the trace keeps of arguments, results, values and printed texts.
const TRACED_CHARACTERS: usize = 2_000;

impl TurnsMachine<'_> {
    /// Whether this is the last turn, in which no tool can be called.
    fn is_last_turn(&self) -> bool {
        let most = self.terms.agent.turns.max_turns;
        most > 1 && self.state.used.saturating_add(1) >= most || self.state.is_retry && self.state.used >= most
    }

    fn limits_of_turn(&self) -> Limits {
        let limits = self.terms.limits;
        if self.is_last_turn() { Limits { tool_calls: 0, ..limits } } else { limits }
    }

    fn names(&self) -> Names {
        let agent = &self.terms.agent;
        let mut inputs: BTreeSet<String> = agent.signature.parameters().map(str::to_owned).collect();
        inputs.insert("fail".to_owned());
        Names {
            tools: Some(agent.tools.keys().cloned().collect()),
            signatures: agent.tools.iter().map(|(name, tool)| (name.clone(), Arc::clone(&tool.signature))).collect(),
            inputs: Some(inputs),
            ..Names::of_memory(&self.kept.memory)
        }
    }

    fn resolve(&self, source: &str) -> Result<Program, Vec<Problem>> {
        resolve_source(source, &self.names(), &self.limits_of_turn())
    }

    /// The terms of the program of this source.
    pub(super) fn program_terms(&self, source: &str) -> Result<ProgramTerms, Vec<Problem>> {
        Ok(self.terms_of(self.resolve(source)?))
    }

    fn terms_of(&self, program: Program) -> ProgramTerms {
        ProgramTerms {
            agent: Arc::clone(&self.terms.agent),
            program: Arc::new(program),
            context: self.terms.context.clone(),
            memory: Value::map([]),
            limits: self.limits_of_turn(),
            key: self.terms.key.clone(),
            records: self.terms.records,
            policy: self.terms.policy,
            shared: SharedTurns { turns: self.turns_left(), depth: self.terms.shared.depth },
        }
    }

    /// The turns that are left for the agents that its programs call: this one counts by its end.
    fn turns_left(&self) -> u32 {
        let all = self.terms.shared.turns.min(self.terms.agent.turns.turn_budget);
        all.saturating_sub(self.state.spent)
    }

    /// Checks a program, and runs it if nothing speaks against it.
    pub(super) fn run_program(&mut self, written: &str) -> MissionStep {
        let source = sanitise_source(written).text;
        let program = match self.resolve(&source) {
            Ok(program) => program,
            Err(problems) => return self.reject(written, &source, &problems),
        };
        self.begin_record(TurnKind::Ran, written);
        let start = TurnStart {
            inputs: Inputs {
                context: self.context(),
                memory: self.kept.memory.clone(),
                history: self.kept.history.clone(),
                budget: self.budget(),
            },
            shown: self.state.shown.to_label(),
            first: self.state.effects,
            questions: self.state.questions,
        };
        let mut machine = ProgramMachine::of_turn(self.terms_of(program), start);
        let step = machine.step(Event { now: self.state.now, what: EventKind::Started });
        self.program = Some(machine);
        self.state.phase = MissionPhase::Running { source };
        match step {
            Ok(step) => self.program_step(step),
            Err(error) => self.no_answer(StepFailure::new(Reason::EvalError.as_str(), error.to_string())),
        }
    }

    /// The part of `budget/remaining` beside the machine's own counts.
    fn budget(&self) -> Value {
        let left = self.terms.agent.turns.max_turns.saturating_sub(self.state.used.saturating_add(1));
        Value::map([(Value::keyword("turns"), Value::from(i64::from(left)))])
    }

    /// A program with problems that are found before it runs. Some name what is in memory.
    fn reject(&mut self, written: &str, source: &str, problems: &[Problem]) -> MissionStep {
        let words = problems.iter().take(MAX_PROBLEMS).map(|problem| {
            let help = problem.diagnostic.help.as_deref().map_or_else(String::new, |help| format!(" ({help})"));
            let line = problem.diagnostic.span.map_or(1, |span| line_column(source, span.start).0);
            format!("line {line}: {}{help}", problem.diagnostic.message)
        });
        let mut message = words.collect::<Vec<_>>().join("; ");
        let more = problems.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        let first = problems.first();
        let place = first.and_then(|problem| problem.diagnostic.span).map(|span| line_column(source, span.start));
        let reason = first.map_or(Reason::AnalysisError, |problem| problem.reason);
        self.begin_record(TurnKind::Rejected, written);
        let label = self.kept.memory.own_label();
        self.fail_turn(&TurnProblem { reason: reason.as_str().to_owned(), message, place }, &label)
    }

    /// The record of the turn that has begun.
    pub(super) fn begin_record(&mut self, kind: TurnKind, program: &str) {
        let asked = self.state.exchanges.last().and_then(|exchange| exchange.attempts.first());
        let number = u32::try_from(self.state.turns.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.state.turns.push(TurnRecord {
            number,
            kind,
            asked: asked.map_or(EffectId(self.state.effects), |attempt| attempt.effect),
            program: program.trim_matches(['\n', '\r']).to_owned(),
            printed: String::new(),
            result: None,
            problem: None,
            calls: Vec::new(),
            fuel: None,
            began: self.state.now,
            ended: self.state.now,
        });
        self.state.failures = 0;
        self.state.spent = self.state.spent.saturating_add(1);
    }

    /// The program's step as the mission's.
    pub(super) fn program_step(&mut self, step: Step<ProgramOutcome>) -> MissionStep {
        match step {
            Step::Do(effects) => {
                effects.iter().for_each(|(id, effect)| self.note_call(*id, effect));
                Step::Do(effects)
            }
            Step::Ask(questions) => Step::Ask(questions),
            Step::Wait { until } => Step::Wait { until },
            Step::Done(outcome) => self.program_ended(outcome),
        }
    }

    fn note_call(&mut self, effect: EffectId, asked: &Effect) {
        self.next_effect(effect);
        let now = self.state.now;
        let (Effect::Tool { call }, Some(turn)) = (asked, self.state.turns.last_mut()) else { return };
        let hidden = hide_fields(&call.arguments).unwrap_or_else(|| call.arguments.clone());
        turn.calls.push(TurnCall {
            effect,
            tool: call.tool.clone(),
            arguments: cut_after_characters(&hidden, TRACED_CHARACTERS),
            outcome: None,
            result: String::new(),
            began: now,
            ended: now,
        });
    }

    pub(super) fn note_results(&mut self, what: &EventKind) {
        let now = self.state.now;
        let (EventKind::Performed { results }, Some(turn)) = (what, self.state.turns.last_mut()) else { return };
        for (id, result) in results {
            if let EffectResult::Tool { outcome: ToolOutcome::OfAgent { turns, .. } } = result {
                self.state.spent = self.state.spent.saturating_add(*turns);
            }
            let Some(call) = turn.calls.iter_mut().find(|call| call.effect == *id) else { continue };
            let (word, text) = match result {
                EffectResult::Tool { outcome } => match outcome.own() {
                    ToolOutcome::Answered { result } => ("answered", result.as_str()),
                    ToolOutcome::Failed { message, .. } => ("failed", message.as_str()),
                    ToolOutcome::OfAgent { .. } => continue,
                    ToolOutcome::Denied { message } => ("denied", message.as_str()),
                    ToolOutcome::Unknown { message, .. } => ("unknown", message.as_str()),
                    ToolOutcome::Unavailable { message, .. } => ("unavailable", message.as_str()),
                },
                EffectResult::Failed { failure } => ("failed", failure.message.as_str()),
                _ => continue,
            };
            let hidden = hide_fields(text).unwrap_or_else(|| text.to_owned());
            call.outcome = Some(word.to_owned());
            call.result = cut_after_characters(&hidden, TRACED_CHARACTERS);
            call.ended = now;
        }
    }

    fn program_ended(&mut self, outcome: ProgramOutcome) -> MissionStep {
        self.program = None;
        self.state.questions = outcome.questions;
        self.note_end(&outcome);
        let is_answer = outcome.is_returned || self.is_single_shot();
        match &outcome.end {
            ProgramEnd::Cancelled(why) => self.cancelled(*why),
            ProgramEnd::Fail(value) => {
                let failure = self.failure_of(value);
                self.end_by_fail(failure)
            }
            ProgramEnd::Value(value) if is_answer => {
                self.kept.memory = outcome.memory.clone();
                self.returned(value.clone())
            }
            ProgramEnd::Mismatch(value, problems) if is_answer => self.mismatched(value, problems),
            ProgramEnd::Value(value) | ProgramEnd::Mismatch(value, _) => {
                let value = value.clone();
                self.succeeded(value, outcome)
            }
            ProgramEnd::Problem(problem) => self.broke_off(&outcome, problem),
        }
    }

    /// Writes the end of a program into the record of its turn.
    fn note_end(&mut self, outcome: &ProgramOutcome) {
        let value = match &outcome.end {
            ProgramEnd::Value(value) | ProgramEnd::Mismatch(value, _) | ProgramEnd::Fail(value) => Some(value),
            ProgramEnd::Problem(_) | ProgramEnd::Cancelled(_) => None,
        };
        let printed = value.map(|value| {
            print_readable(value, &mut Meter::new(self.terms.limits)).unwrap_or_else(|fault| fault.message().to_owned())
        });
        let now = self.state.now;
        let Some(turn) = self.state.turns.last_mut() else { return };
        turn.result = printed.map(|text| cut_after_characters(&text, TRACED_CHARACTERS));
        turn.printed = cut_after_characters(&outcome.printed, TRACED_CHARACTERS);
        turn.fuel = (!outcome.work_label.is_secret()).then_some(outcome.fuel);
        turn.ended = now;
        let bytes = (!outcome.work_label.is_secret()).then_some(outcome.bytes);
        self.state.most_bytes = self.state.most_bytes.max(bytes);
    }

    /// A program that gave a value and did not return it.
    fn succeeded(&mut self, value: Value, outcome: ProgramOutcome) -> MissionStep {
        let mut told = Feedback::default();
        told.say("The program ran. Its value is in `*1`; only what it prints is shown here.\n");
        self.tell_printed(&mut told, &outcome.printed, &outcome.output_label);
        self.tell_names(&mut told, &outcome.memory);
        self.kept.memory = outcome.memory;
        let [last, before, _] = core::mem::take(&mut self.kept.history);
        self.kept.history = [value, last, before];
        self.state.has_value = true;
        self.state.fail = None;
        // That there is a next turn tells that no `return` was reached.
        if self.may_end_early() {
            told.join(&outcome.floor);
        }
        self.end_turn();
        self.tell_turn(told)
    }

    /// Whether the program could have ended the mission elsewhere: it, or a function that is kept, has `return` or
    /// `fail` in it.
    fn may_end_early(&self) -> bool {
        let is_end = |source: &str| source.contains("return") || source.contains("fail");
        let source = self.state.turns.last().map_or("", |turn| turn.program.as_str());
        let kept = || self.kept.memory.unlabelled().entries().any(|(_, value)| value.unlabelled().is_function());
        is_end(source) || kept()
    }

    /// A program that could not go on.
    fn broke_off(&mut self, outcome: &ProgramOutcome, problem: &Problem) -> MissionStep {
        let source = match &self.state.phase {
            MissionPhase::Running { source } => source.clone(),
            _ => String::new(),
        };
        let help = problem.diagnostic.help.as_deref().map_or_else(String::new, |help| format!(" ({help})"));
        let message = match problem.reason {
            // The limit of this turn is no setting that could be raised.
            Reason::ToolCallLimit if self.is_last_turn() => LAST_TURN_CALLS_NOTHING.to_owned(),
            _ => format!("{}{help}", problem.diagnostic.message),
        };
        let failure = TurnProblem {
            reason: problem.reason.as_str().to_owned(),
            message,
            place: problem.diagnostic.span.map(|span| line_column(&source, span.start)),
        };
        if outcome.is_final {
            self.set_problem(&failure);
            return self.no_answer(StepFailure::new(&failure.reason, failure.message));
        }
        if problem.is_hidden {
            self.state.hidden_problems = self.state.hidden_problems.saturating_add(1);
        }
        if self.state.hidden_problems >= MOST_HIDDEN_PROBLEMS {
            self.set_problem(&failure);
            let message = "two programs ended with problems that secrets had a part in";
            return self.no_answer(StepFailure::new(reason::FLOW_DENIED, message));
        }
        let label = if problem.is_hidden { Label::trusted() } else { outcome.label.clone() };
        self.fail_turn(&failure, &label)
    }

    /// A `return` whose value isn't what the signature says.
    fn mismatched(&mut self, value: &Value, problems: &[SignatureProblem]) -> MissionStep {
        let label = value.label();
        let may_show = self.terms.agent.may_show(&label);
        let line = |problem: &SignatureProblem| {
            let found = problem.found.clone().filter(|_| may_show);
            format!("\n  - {}", SignatureProblem { found, ..problem.clone() })
        };
        let list: String = problems.iter().map(line).collect();
        let message = format!("the result isn't what the signature {} says:{list}", self.terms.agent.signature);
        let problem = TurnProblem { reason: reason::VALIDATION_ERROR.to_owned(), message, place: None };
        let can_retry = self.state.retries < self.terms.agent.turns.retry_turns;
        self.set_problem(&problem);
        self.set_fail(&problem, &label);
        let mut told = Feedback::default();
        self.tell_error(&mut told, &problem, &Label::trusted());
        told.join(&label);
        self.end_turn();
        if can_retry {
            self.state.retries = self.state.retries.saturating_add(1);
            self.state.is_retry = true;
        }
        self.tell_turn(told)
    }

    /// A turn that failed: the model is told why, and memory is as before.
    pub(super) fn fail_turn(&mut self, problem: &TurnProblem, label: &Label) -> MissionStep {
        let mut told = Feedback::default();
        self.tell_error(&mut told, problem, label);
        if self.repeats_itself() {
            told.say("This is the same program as in the turn before, and it fails in the same way.\n");
        }
        self.set_problem(problem);
        self.set_fail(problem, label);
        self.end_turn();
        self.tell_turn(told)
    }

    /// Whether the last two turns have the same program.
    fn repeats_itself(&self) -> bool {
        let mut latest = self.state.turns.iter().rev();
        let programs = (latest.next(), latest.next());
        matches!(programs, (Some(one), Some(other)) if !one.program.is_empty() && one.program == other.program)
    }

    fn set_problem(&mut self, problem: &TurnProblem) {
        let now = self.state.now;
        if let Some(turn) = self.state.turns.last_mut() {
            turn.problem = Some(problem.clone());
            turn.ended = now;
        }
    }

    fn set_fail(&mut self, problem: &TurnProblem, label: &Label) {
        self.state.fail = Some(LastFailure {
            reason: problem.reason.clone(),
            message: problem.message.clone(),
            line: problem.place.map(|(line, _)| line),
            label: CallLabel::from(label),
        });
    }

    /// Counts the turn that has ended.
    fn end_turn(&mut self) {
        if self.state.is_retry {
            self.state.is_retry = false;
        } else {
            self.state.used = self.state.used.saturating_add(1);
        }
    }

    /// Tells the model of the turn and goes on with the next one.
    fn tell_turn(&mut self, mut told: Feedback) -> MissionStep {
        told.say(&self.left_line());
        self.show(&told.label);
        let line = self.state.turns.last().map_or_else(String::new, TurnRecord::in_a_line);
        let answer = core::mem::take(&mut self.state.answer);
        self.state.texts.push(ToldTurn { answer, parts: told.parts, line });
        self.next_turn()
    }
}
