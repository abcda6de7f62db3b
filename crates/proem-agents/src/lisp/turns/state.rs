//! The state of a mission between its steps, as it is written down.

use proem_engine::run::{CallLabel, Outcome, Time};
use proem_engine::{Error, ErrorKind};
use proem_guard::Untrusted;
use proem_lisp::{Inputs, Limits, Machine, Names, StateKey, Value, resolve_source};
use proem_text::{Label, Source, hex};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::sync::Arc;

use super::record::TurnRecord;
use crate::lisp::prompt::{FeedbackPart, TurnText};

/// The event that a mission waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum MissionPhase {
    /// Its start.
    New,
    /// The model's answer.
    Asking,
    /// That the model may be asked again.
    Pausing,
    /// A program, which is this.
    Running {
        /// The source that runs.
        source: String,
    },
    /// Nothing any more.
    Over,
}

/// Why the program before did not go on: what `ctx/fail` gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LastFailure {
    pub(super) reason: String,
    pub(super) message: String,
    /// The line in the program, from 1.
    pub(super) line: Option<usize>,
    pub(super) label: CallLabel,
}

/// A turn as the model reads it afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToldTurn {
    pub(super) answer: String,
    pub(super) parts: Vec<ToldPart>,
    pub(super) line: String,
}

/// A part of what it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub(super) enum ToldPart {
    /// Words of ours.
    Ours { text: String },
    /// Text from outside.
    Outside { text: String, label: CallLabel },
}

impl ToldTurn {
    pub(super) fn to_text(&self) -> TurnText {
        let part = |part: &ToldPart| match part {
            ToldPart::Ours { text } => FeedbackPart::Ours(text.clone()),
            ToldPart::Outside { text, label } => FeedbackPart::Outside(Untrusted::new(text.clone(), label.to_label())),
        };
        TurnText {
            answer: Untrusted::new(self.answer.clone(), Label::from_source(Source::named("model"))),
            feedback: self.parts.iter().map(part).collect(),
            line: self.line.clone(),
        }
    }
}

/// All of a mission but its values and its open program or exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MissionState {
    pub(super) phase: MissionPhase,
    /// When it began, and the last event.
    pub(super) began: Option<Time>,
    pub(super) now: Time,
    /// The number of the next effect.
    pub(super) effects: u32,
    /// How many questions were put to a person.
    pub(super) questions: u32,
    /// How many of its turns are used, and how many that correct a result.
    pub(super) used: u32,
    pub(super) retries: u32,
    /// Whether the next turn corrects a result.
    pub(super) is_retry: bool,
    /// How many turns it and its children have taken.
    pub(super) spent: u32,
    /// How often in a row the model could not be asked.
    pub(super) failures: u32,
    /// How many problems only told their kind and line.
    pub(super) hidden_problems: u32,
    /// The label of all that the model was shown.
    pub(super) shown: CallLabel,
    /// Whether a program gave a value that isn't returned.
    pub(super) has_value: bool,
    pub(super) fail: Option<LastFailure>,
    /// The most bytes of values at the end of a program, where they may be told.
    pub(super) most_bytes: Option<usize>,
    pub(super) turns: Vec<TurnRecord>,
    /// The answer of the turn at hand.
    pub(super) answer: String,
    /// The turns as the model reads them.
    pub(super) texts: Vec<ToldTurn>,
    pub(super) exchanges: Vec<Outcome>,
    pub(super) account: Option<Json>,
}

impl MissionState {
    pub(super) fn new() -> Self {
        Self {
            phase: MissionPhase::New,
            began: None,
            now: Time(i64::MIN),
            effects: 0,
            questions: 0,
            used: 0,
            retries: 0,
            is_retry: false,
            spent: 0,
            failures: 0,
            hidden_problems: 0,
            shown: CallLabel::default(),
            has_value: false,
            fail: None,
            most_bytes: None,
            turns: Vec::new(),
            answer: String::new(),
            texts: Vec::new(),
            exchanges: Vec::new(),
            account: None,
        }
    }
}

/// The values of a mission that go from one program to the next, with their labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeptValues {
    /// The values that the programs have stored.
    pub(super) memory: Value,
    /// The last three results.
    pub(super) history: [Value; 3],
    /// The input, where it must stay hidden, so that no record of the run has it.
    pub(super) context: Option<Value>,
}

const MEMORY: &str = "memory";
const HISTORY: &str = "history";
const CONTEXT: &str = "context";

impl KeptValues {
    /// The values as text, sealed: as those that a program which is about to begin would have.
    pub(super) fn write(&self, limits: &Limits, key: &StateKey) -> Result<String, Error> {
        let all = [
            (MEMORY, Some(self.memory.clone())),
            (HISTORY, Some(Value::vector(self.history.to_vec()))),
            (CONTEXT, self.context.clone()),
        ];
        let held = Value::map(all.into_iter().filter_map(|(name, value)| Some((Value::keyword(name), value?))));
        let unwritable = |why: String| Error::new(ErrorKind::Render, why);
        let program = resolve_source("nil", &Names::default(), &Limits::default())
            .map_err(|_| unwritable("the values can't be written".to_owned()))?;
        let inputs = Inputs { memory: held, ..Inputs::default() };
        let machine = Machine::new(Arc::new(program), inputs, *limits);
        let bytes = machine.to_state(key, Machine::MOST_STATE_BYTES).map_err(|error| unwritable(error.to_string()))?;
        Ok(hex::encode_hex(bytes))
    }

    pub(super) fn read(written: &str, limits: &Limits, key: &StateKey) -> Result<Self, Error> {
        let invalid =
            |why: String| Error::new(ErrorKind::InvalidInput, format!("this is no state of a mission: {why}"));
        let bytes = hex::decode_hex(written).ok_or_else(|| invalid("its values are no bytes".to_owned()))?;
        let machine = Machine::from_state(&bytes, limits, key).map_err(|error| invalid(error.to_string()))?;
        let held = machine.memory();
        let of = |name: &str| held.field(name).cloned();
        let missing = || invalid("a value is missing".to_owned());
        let history = of(HISTORY).ok_or_else(missing)?;
        let mut elements = history.elements().cloned();
        let mut next = || elements.next().ok_or_else(missing);
        let history = [next()?, next()?, next()?];
        Ok(Self { memory: of(MEMORY).ok_or_else(missing)?, history, context: of(CONTEXT) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_back_with_their_labels() {
        let (limits, key) = (Limits::default(), StateKey::new([7; 32]));
        let mail = Label::from_source(Source::named("ctx/mail"));
        let secret = Value::text("s").labelled(&Label::trusted().made_secret());
        let memory = Value::map([(Value::keyword("a"), Value::text("x").labelled(&mail))]).labelled(&mail);
        for context in [None, Some(Value::map([(Value::keyword("_token"), secret)]))] {
            let kept =
                KeptValues { memory: memory.clone(), history: [Value::from(true), Value::Nil, Value::Nil], context };
            let written = kept.write(&limits, &key).unwrap();
            let read = KeptValues::read(&written, &limits, &key).unwrap();
            // Labelled values are equal to none, so their bytes are compared below.
            assert_eq!(format!("{read:?}"), format!("{kept:?}"));
            assert_eq!(read.memory.label(), mail);
            assert_eq!(read.write(&limits, &key).unwrap(), written);
            assert!(KeptValues::read(&written, &limits, &StateKey::new([8; 32])).is_err(), "another key");
        }
    }
}
