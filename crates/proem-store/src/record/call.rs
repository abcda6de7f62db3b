//! A call: what was assembled for it, its attempts, and what became of them.

use proem_engine::assembly::PromptId;
use proem_engine::call::{FailureKind, NanoDollars, Usage};
use proem_engine::ledger::{Bound, Cap};
use proem_engine::run::{EffectId, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::content::HashedContent;

/// A section of an assembly, its text apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionRow {
    /// As the prompt file names it.
    pub name: String,
    /// `system` or `user`.
    pub role: String,
    /// `constitution`, `rules`, `trusted`, `untrusted` or `task`.
    pub trust: String,
    /// `static`, `per-run` or `never`.
    pub cache: String,
    /// Its class in the request's order.
    pub rank: String,
    /// The untrusted sources. `None` if there are too many to name.
    pub sources: Option<Vec<String>>,
    /// Its tokens, by the assembly's counter.
    pub tokens: u64,
    /// The hash of its text.
    pub text: String,
    /// Whether a boundary is behind it.
    pub boundary: bool,
}

/// The request as it was assembled: sections, tokens and hashes.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAssembly {
    /// Its sections, in request order.
    pub sections: Vec<SectionRow>,
    /// Their texts.
    pub texts: Vec<HashedContent>,
    /// The tokens of the whole request, tools included.
    pub tokens: u64,
    /// Those of its longest stable prefix.
    pub stable_tokens: u64,
    /// Those of the prompt that lists everything, if that is known.
    pub monolithic_tokens: Option<u64>,
    /// The token counter, such as `o200k × 1.30`.
    pub counter: String,
    /// The cache plan, as JSON.
    pub plan: Json,
    /// The account, as JSON.
    pub report: HashedContent,
}

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// The effect's number within its run.
    pub effect: EffectId,
    /// The prompt that its request was made from. A run may ask with several.
    pub prompt: PromptId,
    /// As the configuration names it.
    pub model: String,
    /// The provider's name in the configuration.
    pub endpoint: String,
    /// The binding of the answer: a contract's name, or the protocol of calls. `None` for any text.
    pub tool: Option<String>,
    /// SHA-256 of the body's bytes.
    pub body: String,
    /// How the body is put together from contents ([`crate::body`]).
    pub pieces: Json,
    /// Texts of the body that are no sections'.
    pub texts: Vec<HashedContent>,
    /// The request that is sent, by its sections and hashes.
    pub assembly: NewAssembly,
    /// The items kept from the provider, as a JSON list.
    pub dropped: Json,
}

/// An attempt that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttempt {
    /// The effect's number within the run.
    pub effect: EffectId,
    /// The attempt's number within the call, from 0.
    pub attempt: u32,
    /// When it is written down, before it is sent.
    pub at: Time,
    /// The most that it can take.
    pub bound: Bound,
    /// The caps that must hold.
    pub caps: Vec<Cap>,
}

/// The attempt's number in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(pub i64);

/// The outcome of an attempt, and the amount to book for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The attempt that is settled.
    pub attempt: AttemptId,
    /// When it was known.
    pub at: Time,
    /// The usage.
    pub used: AttemptUsage,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The kind of failure.
    pub failed: Option<FailureKind>,
    /// The bytes of the answer that were read.
    pub bytes: u64,
    /// How long it took.
    pub took_ms: u64,
    /// How long it was waited before.
    pub waited_ms: u64,
    /// The call's end, with the last of its attempts.
    pub result: Option<CallResult>,
}

/// The usage of an attempt, or the reason why it is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptUsage {
    /// The provider's report, with its cost. `None` where its price is unknown.
    Reported(Usage, Option<NanoDollars>),
    /// Nothing, because it did not reach a model.
    Nothing,
    /// That is not known, so it is booked in full.
    Unknown,
    /// A report that can't be right, with the reason. It is booked in full.
    Doubted(Usage),
    /// The provider says nothing, and the tokens can't be more than [`Usage::estimate`]: those are booked, and the money
    /// in full.
    Estimated(Usage),
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// `answered` or `failed`.
    pub state: CallState,
    /// The response or the failure, as JSON.
    pub result: HashedContent,
    /// Why the model stopped.
    pub finish: Option<String>,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallState {
    /// It may be under way.
    Pending,
    /// There is an answer.
    Answered,
    /// There is none, and why is known.
    Failed,
    /// It may have been made. Nobody knows.
    Unknown,
}

proem_text::word_table! {
    pub CallState {
        Pending = "pending",
        Answered = "answered",
        Failed = "failed",
        Unknown = "unknown",
    }
}

/// The findings about a call after its answer was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCall {
    /// The call, as the effect of its run that asked for it.
    pub effect: EffectId,
    /// The repairs, as a JSON list.
    pub repairs: Json,
    /// The problems, as a JSON list.
    pub problems: Json,
}
