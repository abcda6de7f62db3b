//! A program as a run: its calls of tools are effects, its doubts are questions.
//!
//! Invariants: the program goes on only when every call of a step has its answer, and gets them in the order of its
//! calls. A call that needs a person is not made before that person has said so; what may have happened is never done
//! again without a word of a person's. Inputs, memory and results have the labels that the agent's file gives them.

mod calls;
mod questions;
mod state;

use std::sync::Arc;

use proem_engine::effect::PolicyHash;
use proem_engine::policy::CallRecords;
use proem_engine::run::{CallLabel, CancelReason, Event, EventKind, Machine, Step, check_answers};
use proem_engine::{Error, ErrorKind};
use proem_lisp::{
    Inputs, Limits, Outcome, Problem, Program, Reason, SignatureProblem, StateKey, Value, label_secret_fields,
};
use proem_text::{Label, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use self::state::{CallStage, Phase, ProgramState};
use super::definition::{AgentDefinition, source};

/// The most questions that one run asks.
const MAX_QUESTIONS: u32 = 5;

/// The terms of a program. The same when its run is resumed or replayed.
#[derive(Debug, Clone)]
pub struct ProgramTerms {
    /// The agent whose tools it calls.
    pub agent: Arc<AgentDefinition>,
    /// The checked program that runs.
    pub program: Arc<Program>,
    /// Its input, a map.
    pub context: Value,
    /// Its memory, a map.
    pub memory: Value,
    /// The most that it may compute, keep and print.
    pub limits: Limits,
    /// Seals its state.
    pub key: StateKey,
    /// Whether what its tools do can be looked up later.
    pub records: CallRecords,
    /// The hash of the definitions.
    pub policy: PolicyHash,
    /// The budgets that it shares with other agents.
    pub shared: SharedTurns,
}

/// The rest of the budgets that an agent shares with the agents that call it and that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedTurns {
    /// The turns that are left.
    pub turns: u32,
    /// The level of this agent: 1 if nobody called it.
    pub depth: u32,
}

impl SharedTurns {
    /// Those of an agent that a person called.
    #[must_use]
    pub const fn of_person(agent: &AgentDefinition) -> Self {
        Self { turns: agent.turns.turn_budget, depth: 1 }
    }
}

/// The hash of the definitions that a program is held to: the texts of its agent's file and of what that names.
#[must_use]
pub fn policy_hash(texts: &[&str]) -> PolicyHash {
    let hash = texts.iter().fold(Sha256::new().chain_update(b"proem agent 1"), |hash, text| {
        hash.chain_update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes()).chain_update(text)
    });
    PolicyHash(hash.finalize().into())
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramEnd {
    /// It returned this value.
    Value(Value),
    /// With a value that isn't what the signature says.
    Mismatch(Value, Vec<SignatureProblem>),
    /// It called `fail` with this value.
    Fail(Value),
    /// It could not go on.
    Problem(Problem),
    /// The run was given up.
    Cancelled(CancelReason),
}

/// The end of a program, with its output and usage.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramOutcome {
    /// How it ended.
    pub end: ProgramEnd,
    /// Its printed text.
    pub printed: String,
    /// Units of fuel used.
    pub fuel: u64,
    /// Bytes of values at its end.
    pub bytes: usize,
    /// The memory that it leaves.
    pub memory: Value,
    /// How many calls it asked for.
    pub calls: usize,
    /// The label of what it ended with.
    pub label: Label,
    /// Whether it ended by `return`, and not with the value of its last form.
    pub is_returned: bool,
    /// Whether the run ends with it, as a person stopped it or was asked too often.
    pub is_final: bool,
    /// The label of its printed text.
    pub output_label: Label,
    /// The label of all that decided what it did to the world.
    pub floor: Label,
    /// The label of all that came in, on which its fuel and bytes depend.
    pub work_label: Label,
    /// How many questions the run has asked by now.
    pub questions: u32,
}

/// The values that one program of an agent's run goes on from.
#[derive(Debug, Clone)]
pub struct TurnStart {
    /// Its input, memory and history, with their labels.
    pub inputs: Inputs,
    /// The label of all that its model was shown.
    pub shown: Label,
    /// The run's number of its first effect.
    pub first: u32,
    /// How many questions the run has asked.
    pub questions: u32,
}

/// A program as a run.
#[derive(Debug)]
pub struct ProgramMachine {
    terms: ProgramTerms,
    machine: proem_lisp::Machine,
    state: ProgramState,
}

impl ProgramMachine {
    /// A program before its first step.
    #[must_use]
    pub fn new(terms: ProgramTerms) -> Self {
        let inputs = Inputs {
            context: labelled_inputs(&terms.agent, &terms.context),
            memory: labelled_memory(&terms.memory),
            history: [Value::Nil, Value::Nil, Value::Nil],
            budget: Value::map([]),
        };
        Self::of_turn(terms, TurnStart { inputs, shown: Label::trusted(), first: 0, questions: 0 })
    }

    /// A program of an agent's run before its first step: what it does has the label of what its model was shown.
    #[must_use]
    pub fn of_turn(terms: ProgramTerms, start: TurnStart) -> Self {
        let TurnStart { inputs, shown, first, questions } = start;
        let machine = proem_lisp::Machine::new(Arc::clone(&terms.program), inputs, terms.limits);
        let (shown, turns_left) = (CallLabel::from(&shown), terms.shared.turns);
        let state = ProgramState { next: first, questions, shown, turns_left, ..ProgramState::new() };
        Self { terms, machine, state }
    }

    /// A program where its state is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if it is no state of this program's.
    pub fn restore(terms: ProgramTerms, written: &Json) -> Result<Self, Error> {
        let (state, bytes) = ProgramState::read(written)?;
        let mut machine = proem_lisp::Machine::from_state(&bytes, &terms.limits, &terms.key)
            .map_err(|error| Error::new(ErrorKind::InvalidInput, error.to_string()))?;
        if machine.source() != terms.program.source() {
            return Err(Error::new(ErrorKind::InvalidInput, "the state is another program's"));
        }
        // The calls that it waits for are asked for anew, and are those of the state.
        if !matches!(machine.run(u64::MAX), Outcome::CallTools(calls) if calls.len() == state.calls.len()) {
            return Err(Error::new(ErrorKind::InvalidInput, "the state waits for other calls than the program"));
        }
        Ok(Self { terms, machine, state })
    }

    /// Runs until calls have to be made or the program ends.
    fn advance(&mut self) -> Step<ProgramOutcome> {
        loop {
            let outcome = self.machine.run(u64::MAX);
            let is_returned = matches!(outcome, Outcome::Return(_));
            self.state.printed.push_str(&self.machine.take_output());
            match outcome {
                Outcome::CallTools(calls) => {
                    self.plan(&calls);
                    if let Some(step) = self.proceed() {
                        return step;
                    }
                }
                // A run without a bound of its own is stopped by the program's limit alone.
                Outcome::OutOfFuel => {}
                Outcome::Done(value) | Outcome::Return(value) => {
                    self.state.is_returned = is_returned;
                    let problems = self.terms.agent.signature.check_result(&value.without_labels());
                    return self.end(if problems.is_empty() {
                        ProgramEnd::Value(value)
                    } else {
                        ProgramEnd::Mismatch(value, problems)
                    });
                }
                Outcome::Fail(value) => return self.end(ProgramEnd::Fail(value)),
                Outcome::Error(problem) => return self.end(ProgramEnd::Problem(problem)),
            }
        }
    }

    /// The next step before the program can go on. `None` if all calls have their answers, which it then has.
    fn proceed(&mut self) -> Option<Step<ProgramOutcome>> {
        if self.state.calls.iter().any(|call| matches!(call.stage, CallStage::Waiting { .. })) {
            return Some(self.ask_consent());
        }
        let effects = self.begin_calls();
        if !effects.is_empty() {
            self.state.phase = Phase::Performing;
            return Some(Step::Do(effects));
        }
        if self.state.calls.iter().any(|call| matches!(call.stage, CallStage::Doubt { .. })) {
            return Some(self.ask_about_doubts());
        }
        self.answer_program();
        None
    }

    /// Goes on once something is known.
    fn resume(&mut self) -> Step<ProgramOutcome> {
        match self.proceed() {
            Some(step) => step,
            None => self.advance(),
        }
    }

    fn end(&mut self, end: ProgramEnd) -> Step<ProgramOutcome> {
        self.state.phase = Phase::Over;
        let is_problem = matches!(end, ProgramEnd::Problem(_));
        Step::Done(ProgramOutcome {
            end,
            printed: std::mem::take(&mut self.state.printed),
            fuel: self.machine.fuel_used(),
            bytes: self.machine.bytes_used(),
            memory: self.machine.memory().clone(),
            calls: self.machine.tool_calls(),
            // Whether a tool fails is up to it.
            label: match is_problem {
                true => self.machine.end_label().join(&self.state.failed.to_label()),
                false => self.machine.end_label(),
            },
            is_returned: self.state.is_returned,
            is_final: self.state.is_stopped,
            output_label: self.machine.output_label(),
            floor: self.machine.floor(),
            work_label: self.machine.work_label(),
            questions: self.state.questions,
        })
    }

    /// Ends the run for a reason that no part of the program is to blame for.
    fn stop(&mut self, reason: Reason, message: &str) -> Step<ProgramOutcome> {
        let waiting = self.state.calls.iter().find(|call| !matches!(call.stage, CallStage::Answered { .. }));
        let place = waiting.and_then(|call| self.machine.call_place(call.call_id()));
        let problem = Problem::new(reason, place.unwrap_or(Span::new(0, 0)), message);
        self.state.is_stopped = true;
        self.end(ProgramEnd::Problem(problem))
    }
}

impl Machine for ProgramMachine {
    type Outcome = ProgramOutcome;

    fn step(&mut self, event: Event) -> Result<Step<ProgramOutcome>, Error> {
        match (&self.state.phase, event.what) {
            (Phase::Over, _) => Err(out_of_step("the program has ended")),
            (_, EventKind::Cancelled { why }) => Ok(self.end(ProgramEnd::Cancelled(why))),
            (Phase::New, EventKind::Started) => Ok(self.advance()),
            (Phase::Performing, EventKind::Performed { results }) => {
                self.take_results(results)?;
                Ok(self.resume())
            }
            (Phase::Consent { question }, EventKind::Answered { answers }) => {
                check_answers(std::slice::from_ref(question), &answers)?;
                self.take_consent(&answers);
                Ok(self.resume())
            }
            (Phase::Doubts { questions }, EventKind::Answered { answers }) => {
                check_answers(questions, &answers)?;
                if self.take_doubts(&answers) {
                    return Ok(self.stop(Reason::ToolOutcomeUnknown, questions::STOPPED));
                }
                Ok(self.resume())
            }
            _ => Err(out_of_step("the program waits for something else")),
        }
    }

    fn state(&self) -> Result<Json, Error> {
        self.state.write(&self.machine, &self.terms.key)
    }
}

/// The inputs, each with its label; what is in a field that begins with `_` is secret.
pub(super) fn labelled_inputs(agent: &AgentDefinition, context: &Value) -> Value {
    let labelled = context.entries().map(|(key, value)| {
        let label = agent.input_label(key.as_str().unwrap_or_default());
        (key.clone(), value.clone().labelled(&label))
    });
    label_secret_fields(Value::map(labelled))
}

/// The memory, its names included. Its file has the labels that were kept, but others may have written into it since.
pub(super) fn labelled_memory(memory: &Value) -> Value {
    let label = Label::from_source(source("memory", "kept"));
    let entries = memory.unlabelled().entries();
    let entries = entries.map(|(key, value)| (key.clone(), value.clone().labelled(&label)));
    let is_empty = memory.unlabelled().entries().next().is_none();
    let spine = if is_empty { memory.own_label() } else { memory.own_label().join(&label) };
    Value::map(entries).labelled(&spine)
}

fn out_of_step(message: &str) -> Error {
    Error::new(ErrorKind::OutOfStep, message)
}
