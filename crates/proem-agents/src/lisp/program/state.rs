//! The pending calls of a program's run, as they are written down.

use proem_engine::run::{CallLabel, EffectId, Question, ToolOutcome, ToolUse};
use proem_engine::{Error, ErrorKind};
use proem_lisp::{CallId, Machine, StateKey};
use proem_text::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The pending part of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Its start.
    New,
    /// A person's yes or no.
    Consent { question: Box<Question> },
    /// Calls.
    Performing,
    /// A person's knowledge of calls that may have happened.
    Doubts {
        /// The questions, one for each.
        questions: Vec<Question>,
    },
    /// Nothing any more.
    Over,
}

/// A call that the program waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlannedCall {
    /// Its number within the program.
    pub(super) id: u64,
    /// The call. `None` if there is no such tool or it can't be called like this.
    pub(super) call: Option<Box<ToolUse>>,
    /// How far it is.
    pub(super) stage: CallStage,
}

impl PlannedCall {
    pub(super) const fn call_id(&self) -> CallId {
        CallId(self.id)
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum CallStage {
    /// A person has to say so, for these reasons.
    Waiting {
        /// In our words.
        reasons: Vec<String>,
    },
    /// It may be made.
    Ready,
    /// It is made.
    Begun { effect: EffectId },
    /// It may have happened.
    Doubt {
        effect: EffectId,
        /// How that came to be, in our words.
        message: String,
    },
    /// The program's answer is known.
    Answered { answer: StoredAnswer },
}

/// The program's answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum StoredAnswer {
    /// Its outcome.
    Outcome {
        /// As it was performed.
        outcome: ToolOutcome,
    },
    /// Its arguments can't be used.
    Invalid {
        /// Why, in our words.
        message: String,
    },
    /// There is no such tool.
    Missing { name: String },
    /// A person said that the program should go on although the call may have happened.
    MayHaveHappened,
}

/// The part of a run outside the language's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProgramState {
    pub(super) phase: Phase,
    /// How many questions were asked.
    pub(super) questions: u32,
    /// The number of the next effect.
    pub(super) next: u32,
    /// Its printed text.
    pub(super) printed: String,
    /// The calls that it waits for, in its order.
    pub(super) calls: Vec<PlannedCall>,
    /// The label of all that its model was shown.
    #[serde(default)]
    pub(super) shown: CallLabel,
    /// The label of the tools that failed.
    #[serde(default)]
    pub(super) failed: CallLabel,
    /// Whether it ended by `return`.
    #[serde(default)]
    pub(super) is_returned: bool,
    /// Whether the run ends with it.
    #[serde(default)]
    pub(super) is_stopped: bool,
}

impl ProgramState {
    pub(super) fn new() -> Self {
        let (phase, printed, calls) = (Phase::New, String::new(), Vec::new());
        let (shown, failed) = (CallLabel::default(), CallLabel::default());
        Self { phase, questions: 0, next: 0, printed, calls, shown, failed, is_returned: false, is_stopped: false }
    }

    pub(super) fn write(&self, machine: &Machine, key: &StateKey) -> Result<Json, Error> {
        let unwritable = |why: String| Error::new(ErrorKind::Render, why);
        let bytes = machine.to_state(key, Machine::MOST_STATE_BYTES).map_err(|error| unwritable(error.to_string()))?;
        let state = serde_json::to_value(self).map_err(|error| unwritable(error.to_string()))?;
        Ok(json!({ "program": hex::encode_hex(bytes), "run": state }))
    }

    pub(super) fn read(written: &Json) -> Result<(Self, Vec<u8>), Error> {
        let invalid = |why: &str| Error::new(ErrorKind::InvalidInput, format!("this is no state of a program: {why}"));
        let state = written.get("run").ok_or_else(|| invalid("it has no run"))?;
        let state = Self::deserialize(state).map_err(|error| invalid(&error.to_string()))?;
        let bytes = written.get("program").and_then(Json::as_str).and_then(hex::decode_hex);
        Ok((state, bytes.ok_or_else(|| invalid("it has no program"))?))
    }
}
