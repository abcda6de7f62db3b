//! A run: how it starts, what it takes, and how it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use proem_engine::assembly::PromptId;
use proem_engine::profile::{Issue, Profiles};
use proem_engine::run::{EffectId, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::content::HashedContent;
use super::names::{Actor, Project, RunId};

/// A run as it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The id by which commands name it.
    pub id: RunId,
    /// The owner of the records that it is written to.
    pub project: Project,
    /// The actor that started it.
    pub actor: Actor,
    /// `prompt` for a call with any prompt of the book, `assemble` for an assembly without a call, `mcp` for a client's
    /// call. Later agents have names of their own.
    pub kind: String,
    /// The run that it is a fork of.
    pub parent: Option<RunId>,
    /// The call that started it, if a run did.
    pub caller: Option<RunCaller>,
    /// The prompt that it was started with. Each call has its own.
    pub prompt: PromptId,
    /// The requested role, such as `small`.
    pub role: String,
    /// The model that is behind it.
    pub model: String,
    /// The endpoint, by its name in configuration. Empty where none is asked.
    pub endpoint: String,
    /// The line of a batch.
    pub line: Option<u32>,
    /// When it began.
    pub started: Time,
    /// Everything that is needed to make its request anew: the files of the prompt's closure,
    /// `providers.toml`, the guard's verdicts, by name.
    pub files: BTreeMap<String, HashedContent>,
    /// Its inputs as JSON, their objects in the order in which they were written.
    pub inputs: HashedContent,
    /// Everything else that it was started with.
    pub settings: Json,
    /// The profiles that its prompts show, with what they were made from.
    pub profiles: Option<Profiles>,
    /// Whether it can be replayed.
    pub replayable: Replayable,
}

/// Whether a run can be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayable {
    /// Everything is there.
    Yes,
    /// Something is not, and why.
    No(String),
}

/// A state to go on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// How many events the run had taken.
    pub step: u32,
    /// When it was sealed.
    pub at: Time,
    /// The sealed state.
    pub sealed: Vec<u8>,
    /// Its large parts, which it names.
    pub parts: Vec<StatePart>,
}

/// A large part of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePart {
    /// Its name within the run.
    pub name: String,
    /// It, sealed. `None` if it is stored already.
    pub sealed: Option<Arc<[u8]>>,
}

/// The call of a tool that started a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCaller {
    /// The run that called.
    pub run: RunId,
    /// The effect's number within it. [`RunCaller::CHAINED`] if no call did, and the run follows on that one.
    pub effect: EffectId,
}

impl RunCaller {
    /// The effect that a run names if it follows on another one in a chain: no run has so many effects.
    pub const CHAINED: EffectId = EffectId(u32::MAX);
}

/// An event that a run took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStep {
    /// Its place, from 0.
    pub step: u32,
    /// When the run took it.
    pub at: Time,
    /// The event, as JSON.
    pub event: HashedContent,
}

/// Sums and counts of a run, for statistics. Unknown figures are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Numbers {
    /// From the first event to the last, in milliseconds.
    pub took_ms: Option<u64>,
    /// How long the prompt took to assemble, in microseconds.
    pub assembled_us: Option<u64>,
    /// Answers that did not meet their contract.
    pub schema_failures: u64,
    /// Places of answers that were repaired.
    pub repairs: u64,
    /// Calls to an embedding model.
    pub embedding_calls: Option<u64>,
    /// Texts that the guard looked at.
    pub scanned: Option<u64>,
    /// Those of them with a finding at or above flag.
    pub threats: Option<u64>,
    /// Those of them that stayed out.
    pub filtered: Option<u64>,
    /// Whether a person was asked.
    pub escalated: bool,
    /// Whether the value is not a model's.
    pub degraded: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    /// With the model's value.
    Answered,
    /// With the prompt's own value.
    FellBack,
    /// With none.
    Failed,
    /// Nothing was asked, for the budget's sake.
    Refused,
    /// Nothing was to be asked.
    Assembled,
}

proem_text::word_table! {
    pub RunOutcome {
        Answered = "answered",
        FellBack = "fell-back",
        Failed = "failed",
        Refused = "refused",
        Assembled = "assembled",
    }
}

/// How good a result was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The prompt that it is a result of: a name from the agent's own definitions, such as `risk/decision`.
    pub agent: String,
    /// The kind of result.
    pub kind: String,
    /// Its problem. [`Issue`] has a member for success.
    pub issue: Issue,
}
