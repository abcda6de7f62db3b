//! The result of a mission: its end, its turns and its use of resources.

use proem_engine::run::{EffectId, Outcome, Time};
use proem_lisp::Value;
use proem_text::Label;
use serde::{Deserialize, Serialize};

/// Why a mission has no result, as programs and callers name it. A program's own `fail` names any other.
pub mod reason {
    /// An answer had no program.
    pub const NO_CODE_FOUND: &str = "no_code_found";
    /// An answer had several programs.
    pub const MULTIPLE_CODE_BLOCKS: &str = "multiple_code_blocks";
    /// The turns ran out.
    pub const MAX_TURNS_EXCEEDED: &str = "max_turns_exceeded";
    /// The turns that an agent shares with its children ran out.
    pub const TURN_BUDGET_EXHAUSTED: &str = "turn_budget_exhausted";
    /// Agents call agents on more levels than they may.
    pub const MAX_DEPTH_EXCEEDED: &str = "max_depth_exceeded";
    /// The time of the mission was up.
    pub const MISSION_TIMEOUT: &str = "mission_timeout";
    /// The model could not be asked, or gave no answer.
    pub const LLM_ERROR: &str = "llm_error";
    /// There is no model that can be asked.
    pub const LLM_REQUIRED: &str = "llm_required";
    /// The prompt can't be made of the mission's inputs.
    pub const TEMPLATE_ERROR: &str = "template_error";
    /// The agent's file is wrong.
    pub const INVALID_CONFIG: &str = "invalid_config";
    /// The agent before it in a chain failed.
    pub const CHAINED_FAILURE: &str = "chained_failure";
    /// A result isn't what the signature says.
    pub const VALIDATION_ERROR: &str = "validation_error";
    /// Something was not permitted.
    pub const FLOW_DENIED: &str = "flow_denied";
    /// A person gave up.
    pub const CANCELLED: &str = "cancelled";
    /// A program ended by `fail` without naming a reason.
    pub const FAILED: &str = "failed";
}

/// Why a mission has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailure {
    /// One of [`reason`], one of [`proem_lisp::Reason`], or a program's own.
    pub reason: String,
    /// The failure in words. They may be the model's.
    pub message: String,
    /// The operation that failed, as a program named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// More of it, as a program gave it: the value as it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl StepFailure {
    /// A failure in our words.
    #[must_use]
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into(), op: None, details: None }
    }
}

/// How a mission ended.
#[derive(Debug, Clone, PartialEq)]
pub enum MissionEnd {
    /// With a value that its signature permits.
    Return {
        /// The value, with its labels and that of what the model was shown.
        value: Value,
        /// Whether no program returned it: the turns ran out, and it is the last value that fits.
        is_fallback: bool,
    },
    /// By a program's `fail`.
    Fail(StepFailure),
    /// Without an answer.
    NoAnswer(StepFailure),
}

/// The result of a mission, from its end to its use of resources.
#[derive(Debug, Clone, PartialEq)]
pub struct MissionOutcome {
    /// How it ended.
    pub end: MissionEnd,
    /// The memory that it leaves.
    pub memory: Value,
    /// The part of it that is new or has changed.
    pub memory_delta: Value,
    /// The label of all that its model was shown.
    pub shown: Label,
    /// The turns, the first one first.
    pub turns: Vec<TurnRecord>,
    /// Every exchange with the model.
    pub exchanges: Vec<Outcome>,
    /// Its use of resources.
    pub usage: MissionUsage,
}

/// The resources that a mission used beside its calls of models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissionUsage {
    /// Milliseconds from its first event to its last. Those in which a person was asked count.
    pub duration_ms: u64,
    /// How many turns it took.
    pub turns: u32,
    /// Its turns and those of the agents that it called.
    pub all_turns: u32,
    /// Units of fuel of all programs. Unknown where they would tell of a secret.
    pub fuel: Option<u64>,
    /// The most bytes of values at the end of a program. Unknown where they would tell of a secret.
    pub bytes: Option<usize>,
    /// The calls that programs asked for.
    pub tool_calls: u32,
}

/// The form of a model's answer in a turn, and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnKind {
    /// A program that ran.
    Ran,
    /// A program that could not be run.
    Rejected,
    /// No program.
    NoCode,
    /// Several programs.
    SeveralBlocks,
    /// The answer reached the most that it may have.
    CutOff,
    /// The model refused.
    Refused,
}

impl TurnKind {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Rejected => "rejected",
            Self::NoCode => "no-code",
            Self::SeveralBlocks => "several-blocks",
            Self::CutOff => "cut-off",
            Self::Refused => "refused",
        }
    }
}

/// One turn, without a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// Its number, from 1.
    pub number: u32,
    /// The form of the answer.
    pub kind: TurnKind,
    /// The effect that asked the model.
    pub asked: EffectId,
    /// The program as the model wrote it. Empty if there was none.
    pub program: String,
    /// Its printed text, as far as it is kept.
    pub printed: String,
    /// The start of its value as it reads. `None` if it has none.
    pub result: Option<String>,
    /// Why it did not go on.
    pub problem: Option<TurnProblem>,
    /// Its calls of tools.
    pub calls: Vec<TurnCall>,
    /// Units of fuel. Unknown where they would tell of a secret.
    pub fuel: Option<u64>,
    /// When the model was asked.
    pub began: Time,
    /// When the program ended.
    pub ended: Time,
}

impl TurnRecord {
    /// The turn in a line of ours, with nothing of its data but the kind of its problem.
    #[must_use]
    pub fn in_a_line(&self) -> String {
        let ended = self.problem.as_ref().map_or("it ran", |problem| problem.reason.as_str());
        format!("turn {}: {ended}", self.number)
    }
}

/// Why a turn did not lead to a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnProblem {
    /// Its kind.
    pub reason: String,
    /// The problem in words, which may have data in them.
    pub message: String,
    /// Its line and column in the program, from 1.
    pub place: Option<(usize, usize)>,
}

/// A call of a tool, without a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCall {
    /// The effect's number within the run.
    pub effect: EffectId,
    /// The name of the tool that was called.
    pub tool: String,
    /// The start of its arguments as JSON.
    pub arguments: String,
    /// How it ended: `answered`, `failed`, `denied`, `unknown` or `unavailable`. `None` while it is made.
    pub outcome: Option<String>,
    /// The start of its result as JSON, or the words of its failure.
    pub result: String,
    /// When it began.
    pub began: Time,
    /// When it ended.
    pub ended: Time,
}
