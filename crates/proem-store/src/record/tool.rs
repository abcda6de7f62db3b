//! A call of a tool: what is about to be done, and what became of it.

use proem_engine::run::{EffectId, Time, ToolLabels, ToolPower};
use serde::{Deserialize, Serialize};

use super::content::HashedContent;
use super::names::RunId;
use super::run::{NewRun, NewStep, Snapshot};

/// Everything to write before tools are called, in one transaction. Lines that exist already stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolIntent {
    /// The run that is about to call.
    pub run: RunId,
    /// When it is written down.
    pub at: Time,
    /// The run's line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// Events that it took meanwhile.
    pub steps: Vec<NewStep>,
    /// The state to go on from, if it changed.
    pub snapshot: Option<Snapshot>,
    /// The calls; without any, only the rest is written.
    pub calls: Vec<NewToolCall>,
}

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToolCall {
    /// Which effect of its run.
    pub effect: EffectId,
    /// As the catalogue names it.
    pub tool: String,
    /// The effects that it may have.
    pub power: ToolPower,
    /// The key that is sent along.
    pub key: String,
    /// Its arguments, as JSON.
    pub arguments: HashedContent,
    /// The origin of its arguments, and of the decision to make it.
    pub labels: ToolLabels,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEnd {
    /// The run whose call ended.
    pub run: RunId,
    /// Which effect of it.
    pub effect: EffectId,
    /// When it was known.
    pub at: Time,
    /// How far the call is.
    pub state: ToolCallState,
    /// The outcome, as JSON.
    pub result: HashedContent,
    /// The same, sealed, if the text is not what it was.
    pub sealed: Option<Vec<u8>>,
    /// How long it took.
    pub took_ms: u64,
    /// How often it was tried.
    pub attempts: u32,
}

/// How far a call of a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCallState {
    /// It may be under way.
    Pending,
    /// It gave a result.
    Answered,
    /// It gave none.
    Failed,
    /// It was not made.
    Denied,
    /// It may have happened. Nobody knows.
    Unknown,
}

proem_text::word_table! {
    pub ToolCallState {
        Pending = "pending",
        Answered = "answered",
        Failed = "failed",
        Denied = "denied",
        Unknown = "unknown",
    }
}
