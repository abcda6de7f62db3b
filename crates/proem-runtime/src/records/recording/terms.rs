//! The terms on which a run is recorded.

use std::collections::BTreeMap;

use proem_engine::ledger::{Cap, Pricing};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::Profiles;
use proem_engine::report::Report;
use proem_llm::secret::Secret;
use proem_store::Store;
use proem_store::record::{Actor, Project, RunId};
use serde_json::Value as Json;

use crate::records::sealed_states::SealKey;

/// How much of a run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordDepth {
    /// Every text, but for credentials: such a run can be shown, replayed and resumed.
    Content,
    /// Hashes, counts and times, and no text: such a run can't be shown in full, replayed or resumed.
    Hashes,
}

/// The ledger's part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The caps. Empty if no budget is configured.
    pub caps: Vec<Cap>,
    /// Whether the model's price is known.
    pub priced: Pricing,
}

/// The common part of all runs of a command.
#[derive(Debug)]
pub struct RecordingContext<'k> {
    /// The store that they are written to.
    pub store: &'k Store,
    /// The key that states are sealed with.
    pub seal: &'k SealKey,
    /// How much is kept.
    pub keeping: RecordDepth,
    /// The ledger that bounds their cost.
    pub ledger: &'k Ledger,
    /// Credentials that must not be written.
    pub secrets: &'k [Secret],
    /// The project of the runs.
    pub project: &'k Project,
    /// The actor that started them.
    pub actor: &'k Actor,
}

/// A run as it starts.
#[derive(Debug, Clone)]
pub struct Start<'s> {
    /// Its id, or the fork's.
    pub id: RunId,
    /// The run that it is a fork of.
    pub parent: Option<RunId>,
    /// `prompt`, `assemble` or an agent's name.
    pub kind: &'s str,
    /// The prompt that it asks with, or asks first.
    pub prompt: &'s proem_engine::assembly::PromptId,
    /// The requested role, such as `small`.
    pub role: &'s str,
    /// The model that is behind it.
    pub model: &'s str,
    /// The endpoint. Empty where none is asked.
    pub endpoint: &'s str,
    /// The line of a batch.
    pub line: Option<u32>,
    /// Everything that its request can be rebuilt from, by name.
    pub files: &'s BTreeMap<String, String>,
    /// Its inputs, kept in their order.
    pub inputs: &'s OrderedJson,
    /// Everything else that it was started with.
    pub settings: &'s Json,
    /// The hash of the rules that it is held to.
    pub policy: &'s str,
    /// The profiles that its prompts show.
    pub profiles: Option<Profiles>,
    /// The account of its only request. `None` where it has several, each with a prompt of its own.
    pub report: Option<&'s Report>,
    /// The tokens of the prompt that lists everything.
    pub monolithic_tokens: Option<u64>,
    /// How many events it has taken before, if it is resumed.
    pub steps: u32,
}
