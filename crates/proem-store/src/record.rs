//! What is written down: the lines of a store, before they are in it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use proem_engine::assembly::PromptId;
use proem_engine::call::{FailureKind, NanoDollars, Usage};
use proem_engine::ledger::{Bound, Cap};
use proem_engine::profile::{Issue, Profiles};
use proem_engine::run::{EffectId, Time};
use proem_text::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// Which project a line belongs to: its root, as the trust store calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Project(pub String);

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor {
    /// What kind of actor.
    pub kind: ActorKind,
    /// Its name: a user's, an agent's.
    pub id: String,
    /// How it came in, such as `terminal` or `pipe`.
    pub channel: String,
}

/// What kind of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActorKind {
    /// A person.
    Person,
    /// An agent.
    Agent,
    /// Proem itself.
    System,
}

/// As it is stored: `person:alice@terminal`.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ActorKind::Person => "person",
            ActorKind::Agent => "agent",
            ActorKind::System => "system",
        };
        write!(f, "{kind}:{}@{}", self.id, self.channel)
    }
}

/// Which run: sixteen hexadecimal digits, drawn at random.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl RunId {
    /// How many digits are shown.
    pub const SHOWN: usize = 8;

    /// The id with these random bytes.
    #[must_use]
    pub fn new(random: [u8; 8]) -> Self {
        Self(hex::encode(random))
    }

    /// The digits that are shown.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..Self::SHOWN).unwrap_or(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Bytes that are kept once, by their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// SHA-256, hexadecimal.
    pub hash: String,
    /// The bytes; `None` where only hashes are kept.
    pub bytes: Option<Arc<[u8]>>,
}

impl Content {
    /// These bytes.
    #[must_use]
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        Self { hash: hash(bytes), bytes: Some(bytes.into()) }
    }

    /// The same without its bytes.
    #[must_use]
    pub fn forgotten(self) -> Self {
        Self { hash: self.hash, bytes: None }
    }
}

/// The hash of a content: SHA-256, hexadecimal.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A run as it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// Whose it is.
    pub project: Project,
    /// Who started it.
    pub actor: Actor,
    /// `prompt` for a call with any prompt of the book, `assemble` for an assembly without a call;
    /// later agents have names of their own.
    pub kind: String,
    /// The run that it is a fork of.
    pub parent: Option<RunId>,
    /// The prompt that it was started with; each call has its own.
    pub prompt: PromptId,
    /// What was asked for, such as `small`.
    pub role: String,
    /// The model that stands behind it.
    pub model: String,
    /// The endpoint, by its name in configuration; empty where none is asked.
    pub endpoint: String,
    /// The line of a batch.
    pub line: Option<u32>,
    /// When.
    pub started: Time,
    /// Everything that is needed to make its request anew: the files of the prompt's closure,
    /// `providers.toml`, the guard's verdicts, by name.
    pub files: BTreeMap<String, Content>,
    /// Its inputs as JSON, their objects in the order in which they were written.
    pub inputs: Content,
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

/// A section of an assembly, its text apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionRow {
    /// Its name.
    pub name: String,
    /// `system` or `user`.
    pub role: String,
    /// `constitution`, `rules`, `trusted`, `untrusted` or `task`.
    pub trust: String,
    /// `static`, `per-run` or `never`.
    pub cache: String,
    /// Its class in the request's order.
    pub rank: String,
    /// The untrusted sources; `None` if there are too many to name.
    pub sources: Option<Vec<String>>,
    /// Its tokens, by the assembly's counter.
    pub tokens: u64,
    /// The hash of its text.
    pub text: String,
    /// Whether a boundary stands behind it.
    pub boundary: bool,
}

/// An assembly.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAssembly {
    /// Its sections, in request order.
    pub sections: Vec<SectionRow>,
    /// Their texts.
    pub texts: Vec<Content>,
    /// The tokens of the whole request, tools included.
    pub tokens: u64,
    /// Those of its longest stable prefix.
    pub stable_tokens: u64,
    /// Those of the prompt that lists everything, if that is known.
    pub monolithic_tokens: Option<u64>,
    /// What counted, such as `o200k × 1.30`.
    pub counter: String,
    /// The cache plan, as JSON.
    pub plan: Json,
    /// The account, as JSON.
    pub report: Content,
}

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// Which effect of its run.
    pub effect: EffectId,
    /// The prompt that its request was made from; a run may ask with several.
    pub prompt: PromptId,
    /// The model.
    pub model: String,
    /// The endpoint.
    pub endpoint: String,
    /// The name of the contract that the answer is bound to.
    pub tool: Option<String>,
    /// SHA-256 of the body's bytes.
    pub body: String,
    /// How the body is put together from contents ([`crate::body`]).
    pub pieces: Json,
    /// Texts of the body that are no sections'.
    pub texts: Vec<Content>,
    /// What was assembled for it.
    pub assembly: NewAssembly,
    /// What the provider does not get, as a JSON list.
    pub dropped: Json,
}

/// A state to go on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// How many events the run had taken.
    pub step: u32,
    /// When.
    pub at: Time,
    /// The sealed state.
    pub sealed: Vec<u8>,
}

/// An event that a run took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStep {
    /// Its place, from 0.
    pub step: u32,
    /// When.
    pub at: Time,
    /// It, as JSON.
    pub event: Content,
}

/// Everything that is written before something is sent, in one transaction. What is there already
/// stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The run.
    pub run: RunId,
    /// The run's line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// Events that it took meanwhile.
    pub steps: Vec<NewStep>,
    /// The state to go on from, if it changed.
    pub snapshot: Option<Snapshot>,
    /// What became of the run's attempt before, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// The call, if it may not be there yet.
    pub call: Option<Box<NewCall>>,
    /// The attempt.
    pub attempt: NewAttempt,
}

/// An attempt that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttempt {
    /// Which effect of the run.
    pub effect: EffectId,
    /// Which attempt of the call, from 0.
    pub attempt: u32,
    /// When.
    pub at: Time,
    /// The most that it can take.
    pub bound: Bound,
    /// What may not be exceeded.
    pub caps: Vec<Cap>,
}

/// Which attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(pub i64);

/// What became of an attempt, and what is booked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// Which.
    pub attempt: AttemptId,
    /// When.
    pub at: Time,
    /// What it used.
    pub used: Used,
    /// The status of the answer.
    pub status: Option<u16>,
    /// What was wrong.
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

/// What an attempt used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Used {
    /// What the provider says; `None` where its price is unknown.
    Reported(Usage, Option<NanoDollars>),
    /// Nothing: it never reached a model.
    Nothing,
    /// That is not known, so it is booked in full.
    Unknown,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// `answered` or `failed`.
    pub state: CallState,
    /// The response or the failure, as JSON.
    pub result: Content,
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
    /// It may have been made; nobody knows.
    Unknown,
}

/// What was found out about each call after it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCall {
    /// Which.
    pub effect: EffectId,
    /// What was repaired, as a JSON list.
    pub repairs: Json,
    /// What was wrong with it, as a JSON list.
    pub problems: Json,
}

/// Sums and counts of a run, for statistics. What is not known is `None`.
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

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// Which.
    pub run: RunId,
    /// When.
    pub at: Time,
    /// The run's line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// The last events.
    pub steps: Vec<NewStep>,
    /// What became of the run's last attempt, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Why there is no value of a model's, as JSON.
    pub because: Option<Json>,
    /// The value, as canonical JSON.
    pub value: Option<Content>,
    /// What was found out about its calls.
    pub calls: Vec<ReadCall>,
    /// What was assembled, where nothing was called.
    pub assembly: Option<Box<NewAssembly>>,
    /// Sums and counts.
    pub numbers: Numbers,
    /// How good the results of its prompts were, one for each at most; a bad one is a failure that is learned from.
    pub evaluations: Vec<Evaluation>,
    /// Why it can't be replayed after all.
    pub not_replayable: Option<String>,
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

impl RunOutcome {
    /// The word that is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::FellBack => "fell-back",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Assembled => "assembled",
        }
    }
}

/// How good a result was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The prompt that it is a result of: a name from the agent's own definitions, such as `risk/decision`.
    pub agent: String,
    /// The kind of result.
    pub kind: String,
    /// What is wrong with it; an issue that is none is a success.
    pub issue: Issue,
}

/// What a person thinks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFeedback {
    /// Which run.
    pub run: RunId,
    /// Who.
    pub actor: Actor,
    /// When.
    pub at: Time,
    /// `good` or `bad`.
    pub verdict: String,
    /// Why, in the person's words.
    pub note: String,
    /// What that says of the run's prompt, if it says anything; it takes the place of what a person said of this
    /// run's prompt before.
    pub evaluation: Option<Evaluation>,
}

/// What a run asked and what a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// Which run.
    pub run: RunId,
    /// Who answered.
    pub actor: Actor,
    /// When.
    pub at: Time,
    /// At which step.
    pub step: u32,
    /// What was asked, in our words.
    pub question: String,
    /// What could be answered.
    pub options: Vec<String>,
    /// Which of them was; `None` if nobody could be asked.
    pub answer: Option<u32>,
}
