//! The turns of a program agent as a run: ask, take the one program, check it, run it, say what came of it.
//!
//! Invariants: a program's calls take the way of any program's, with the same gate, permits and questions. All that the
//! model was shown of data labels what its next programs do, what they return and what is kept (`shown`); by default
//! that is declared types only. A failed program keeps nothing. A request that could not be sent to the model costs no
//! turn. The deadline and a person's giving up come as events, so a replay sees them at the same place.

mod block;
mod ending;
mod feedback;
pub mod record;
mod requests;
mod running;
mod state;

use std::sync::Arc;

use proem_engine::policy::CallRecords;
use proem_engine::run::{CallLabel, EffectId, Event, EventKind, Exchange, Machine, Step, Time};
use proem_engine::tokens::TokenCounter;
use proem_engine::{Error, ErrorKind, effect::PolicyHash};
use proem_guard::InstallationKey;
use proem_lisp::{Limits, StateKey, Value, label_secret_fields};
use proem_text::Label;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use self::record::{MissionOutcome, TurnRecord};
use self::state::{KeptValues, MissionPhase, MissionState};
use super::definition::AgentDefinition;
pub use super::program::SharedTurns;
use super::program::{ProgramMachine, labelled_inputs, labelled_memory};
use super::prompt::{MissionPrompt, TurnText};
use crate::prompt_call::PreparedRequest;

/// Makes the requests of a mission: what is shown was chosen once, so that no turn changes a byte of the first request.
pub trait TurnPrompt: core::fmt::Debug + Send + Sync {
    /// The request after these turns.
    ///
    /// # Errors
    ///
    /// If it can't be made, as when it is longer than the model reads.
    fn request(&self, turns: &[TurnText]) -> Result<PreparedRequest, Error>;

    /// The label of all data that the first request shows.
    fn shown_label(&self) -> Label;
}

impl TurnPrompt for MissionPrompt<'_> {
    fn request(&self, turns: &[TurnText]) -> Result<PreparedRequest, Error> {
        MissionPrompt::request(self, turns)
    }

    fn shown_label(&self) -> Label {
        self.chosen.label().clone()
    }
}

/// The terms of a mission. The same when its run is resumed or replayed.
#[derive(Clone)]
pub struct MissionTerms<'t> {
    /// The agent whose mission it is.
    pub agent: Arc<AgentDefinition>,
    /// Makes its requests.
    pub prompt: Arc<dyn TurnPrompt + 't>,
    /// Its input, a map.
    pub context: Value,
    /// Its memory, a map.
    pub memory: Value,
    /// The limits of each program.
    pub limits: Limits,
    /// Seals its state.
    pub key: StateKey,
    /// Whether what its tools do can be looked up later.
    pub records: CallRecords,
    /// The hash of the definitions.
    pub policy: PolicyHash,
    /// The installation's key, for what the model is told of its own answers.
    pub installation: &'t InstallationKey,
    /// Counts what is added to requests.
    pub counter: &'t dyn TokenCounter,
    /// The budgets that it shares with other agents.
    pub shared: SharedTurns,
}

impl core::fmt::Debug for MissionTerms<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MissionTerms").field("agent", &self.agent.name).finish_non_exhaustive()
    }
}

/// A mission as a run.
#[derive(Debug)]
pub struct TurnsMachine<'t> {
    terms: MissionTerms<'t>,
    state: MissionState,
    kept: KeptValues,
    exchange: Option<Exchange<'t>>,
    program: Option<ProgramMachine>,
}

/// How a mission goes on.
type MissionStep = Step<MissionOutcome>;

impl<'t> TurnsMachine<'t> {
    /// A mission before its first turn.
    #[must_use]
    pub fn new(terms: MissionTerms<'t>) -> Self {
        // A record has `[Hidden]` for what is secret, so that a state has to hold it.
        let is_hidden = label_secret_fields(terms.context.clone()).label().is_secret();
        let kept = KeptValues {
            memory: labelled_memory(&terms.memory),
            history: [Value::Nil, Value::Nil, Value::Nil],
            context: is_hidden.then(|| terms.context.clone()),
        };
        Self { terms, state: MissionState::new(), kept, exchange: None, program: None }
    }

    /// A mission where its state is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if it is no state of this mission's.
    pub fn restore(mut terms: MissionTerms<'t>, written: &Json) -> Result<Self, Error> {
        let invalid =
            |why: String| Error::new(ErrorKind::InvalidInput, format!("this is no state of a mission: {why}"));
        let part = |name: &str| written.get(name).ok_or_else(|| invalid(format!("`{name}` is missing")));
        let state = MissionState::deserialize(part("mission")?).map_err(|error| invalid(error.to_string()))?;
        let kept = part("values")?.as_str().ok_or_else(|| invalid("its values are no text".to_owned()))?;
        let kept = KeptValues::read(kept, &terms.limits, &terms.key)?;
        if let Some(context) = &kept.context {
            terms.context = context.clone();
        }
        let mut machine = Self { terms, state, kept, exchange: None, program: None };
        match machine.state.phase.clone() {
            MissionPhase::Asking => {
                machine.exchange = Some(Exchange::restore(machine.exchange_terms(), part("exchange")?)?);
            }
            MissionPhase::Running { source } => {
                let terms = machine.program_terms(&source).map_err(|_| invalid("its program is none".to_owned()))?;
                machine.program = Some(ProgramMachine::restore(terms, part("program")?)?);
            }
            MissionPhase::New | MissionPhase::Pausing | MissionPhase::Over => {}
        }
        Ok(machine)
    }

    /// The turns so far.
    #[must_use]
    pub fn turns(&self) -> &[TurnRecord] {
        &self.state.turns
    }

    /// The inputs as programs get them: each with its label, and `ctx/fail` after a turn that failed.
    fn context(&self) -> Value {
        let context = labelled_inputs(&self.terms.agent, &self.terms.context);
        let Some(fail) = &self.state.fail else { return context };
        let line = fail.line.and_then(|line| i64::try_from(line).ok()).map_or(Value::Nil, Value::from);
        let error = Value::map([
            (Value::keyword("reason"), Value::keyword(&fail.reason)),
            (Value::keyword("message"), Value::text(&fail.message)),
            (Value::keyword("line"), line),
        ]);
        let entries = context.entries().map(|(key, value)| (key.clone(), value.clone()));
        let own =
            context.field("fail").is_none().then(|| (Value::text("fail"), error.labelled(&fail.label.to_label())));
        Value::map(entries.chain(own))
    }

    fn is_single_shot(&self) -> bool {
        self.terms.agent.is_single_shot()
    }

    /// Joins what the model was shown.
    fn show(&mut self, label: &CallLabel) {
        self.state.shown = self.state.shown.join(&CallLabel { secret: false, ..label.clone() });
    }

    fn next_effect(&mut self, used: EffectId) {
        self.state.effects = self.state.effects.max(used.0.saturating_add(1));
    }

    fn pass(&mut self, now: Time) {
        self.state.now = self.state.now.max(now);
        self.state.began.get_or_insert(self.state.now);
    }
}

impl Machine for TurnsMachine<'_> {
    type Outcome = MissionOutcome;

    fn step(&mut self, event: Event) -> Result<MissionStep, Error> {
        match (&self.state.phase, &event.what) {
            (MissionPhase::Over, _) => return Err(turn_out_of_step("the mission is over")),
            (MissionPhase::New, EventKind::Started) => {
                self.pass(event.now);
                return Ok(self.begin());
            }
            (MissionPhase::Pausing, EventKind::Woken) => {
                self.pass(event.now);
                return Ok(self.ask_again());
            }
            (MissionPhase::New | MissionPhase::Pausing, EventKind::Cancelled { why }) => {
                self.pass(event.now);
                return Ok(self.cancelled(*why));
            }
            (MissionPhase::New | MissionPhase::Pausing, _) => {
                return Err(turn_out_of_step("the mission waits for something else"));
            }
            (MissionPhase::Asking | MissionPhase::Running { .. }, _) => {}
        }
        match (&mut self.exchange, &mut self.program) {
            (Some(exchange), _) => {
                let now = event.now;
                let step = exchange.step(event)?;
                self.pass(now);
                Ok(self.exchange_step(step))
            }
            (None, Some(program)) => {
                let (now, what) = (event.now, event.what.clone());
                let step = program.step(event)?;
                self.pass(now);
                self.note_results(&what);
                Ok(self.program_step(step))
            }
            (None, None) => Err(turn_out_of_step("the mission has neither a question nor a program")),
        }
    }

    fn state(&self) -> Result<Json, Error> {
        let unwritable = |error: serde_json::Error| Error::new(ErrorKind::Render, error.to_string());
        Ok(json!({
            "mission": serde_json::to_value(&self.state).map_err(unwritable)?,
            "values": self.kept.write(&self.terms.limits, &self.terms.key)?,
            "exchange": self.exchange.as_ref().map(Machine::state).transpose()?,
            "program": self.program.as_ref().map(Machine::state).transpose()?,
        }))
    }

    fn account(&self, _effect: EffectId) -> Option<&Json> {
        self.state.account.as_ref().filter(|_| self.state.phase == MissionPhase::Asking)
    }
}

fn turn_out_of_step(message: &str) -> Error {
    Error::new(ErrorKind::OutOfStep, message)
}
