//! One call to a model: what is asked and what comes back, in no provider's words.
//!
//! Invariants: everything that a model wrote is [`Untrusted`] under the join of the labels of all
//! sections of its request; what a provider did not report is `None`, never zero.

mod diagnosis;
mod failure;
mod plausible;
pub mod state_form;
mod usage;

pub use self::diagnosis::{CacheDiagnosis, CacheInquiry, DiagnosedDifference};
pub use self::failure::{CallFailure, FailureKind, FailureSpeaker};
pub use self::plausible::{PlausibleUsage, TOKEN_WORDS, UNCAPPED_TOKENS, UsageDoubt, WORD_BYTES, most_plausible_usage};
pub use self::usage::{CacheWriteUsage, NanoDollars, Usage, UsageEstimate, call_cost};

use proem_guard::Untrusted;
use proem_text::{Label, Source};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::state_form::outside;
use crate::assembly::Assembly;
use crate::providers::SchemaEnforcement;

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model's name, as [`crate::providers::Providers`] knows it.
    pub model: String,
    /// The prompt to read.
    pub assembly: Assembly,
    /// The kind of answer it asks for.
    pub answer: AnswerForm,
    /// How it is held to that, where the way is found by trying. `None` leaves it to the model's entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<SchemaEnforcement>,
    /// How it chooses words.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// Whether the answer comes in pieces, so that it can be stopped.
    pub arrival: Arrival,
    /// Whether the provider is asked what its cache makes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inquiry: Option<CacheInquiry>,
}

/// How a model chooses words; what is absent is left to the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// How freely, in hundredths from 0 to 200.
    pub temperature_percent: Option<u16>,
    /// The share of probability that it chooses among, in thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p_thousandths: Option<u16>,
    /// Among how many words it chooses at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Texts that end the answer, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl Request {
    /// The label of its answer: the join of the labels of all sections and the model's own, since a model may repeat
    /// anything it was shown.
    #[must_use]
    pub fn label(&self) -> Label {
        let model = Label::from_source(MODEL);
        self.assembly.sections.iter().fold(model, |label, section| label.join(&section.label))
    }
}

/// From whom an answer is, beside everybody whose text the model was shown.
const MODEL: Source = Source::named("model");

/// How an answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// In one piece.
    Whole,
    /// In pieces.
    Streamed,
}

/// The kind of answer that a model must give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AnswerForm {
    /// Any text.
    Text,
    /// One JSON value. How the model is held to it is its provider's business
    /// ([`crate::providers::SchemaEnforcement`]).
    Value {
        /// The value's name, description and schema.
        tool: Tool,
    },
    /// Calls of tools.
    Tools {
        /// The tools that may be called, sorted by name.
        tools: Vec<Tool>,
        /// Whether it must be.
        choice: ToolChoice,
    },
}

impl AnswerForm {
    /// The tools that an answer may name.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        match self {
            Self::Text => &[],
            Self::Value { tool } => core::slice::from_ref(tool),
            Self::Tools { tools, .. } => tools,
        }
    }

    /// The binding of an answer that must call some of several tools, if the provider enforces it.
    pub const FORCED_CALLS: &'static str = "forced_calls";

    /// The binding of an answer if only its contract demands calls. A miss is asked for again.
    pub const DEMANDED_CALLS: &'static str = "demanded_calls";

    /// The binding of an answer, as records name it: the contract of a value, the one tool that must be called,
    /// [`Self::FORCED_CALLS`] or [`Self::DEMANDED_CALLS`]. `None` for any text.
    #[must_use]
    pub fn bound_to(&self) -> Option<&str> {
        match self {
            Self::Text => None,
            Self::Value { tool } => Some(&tool.name),
            Self::Tools { choice: ToolChoice::One(name), .. } => Some(name),
            Self::Tools { choice: ToolChoice::Any, .. } => Some(Self::FORCED_CALLS),
            Self::Tools { choice: ToolChoice::Auto, .. } => Some(Self::DEMANDED_CALLS),
            Self::Tools { choice: ToolChoice::None, .. } => None,
        }
    }
}

/// Whether a tool must be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "kebab-case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No: they are there for what was called before.
    None,
    /// At least one of them.
    Any,
    /// This one.
    One(String),
}

/// A tool's definition, as a model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name: `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// Its description, in our words or approved ones.
    pub description: String,
    /// The JSON Schema of its arguments, in full. Providers get a projection of it.
    pub schema: Json,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The model that the provider says has answered.
    pub model: Option<String>,
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The model's output, in its order.
    pub content: Vec<ResponsePart>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// The usage that the provider reports.
    pub usage: Usage,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ResponsePart {
    /// Words of the model's, which may be cut short.
    Text {
        #[serde(with = "outside")]
        /// The text.
        text: Untrusted<String>,
    },
    /// A call of a tool.
    Call(ToolCall),
    /// Why it won't answer.
    Refusal {
        #[serde(with = "outside")]
        /// The text.
        text: Untrusted<String>,
    },
    /// Something that is not asked for and not kept, such as thinking.
    Other {
        /// The provider's word for it.
        #[serde(with = "outside")]
        word: Untrusted<String>,
    },
}

/// A call of a tool, as the model wrote it: neither its name nor its arguments are checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id. Empty where the provider gave none.
    #[serde(with = "outside")]
    pub id: Untrusted<String>,
    /// The tool's name.
    #[serde(with = "outside")]
    pub name: Untrusted<String>,
    /// The arguments' text: JSON, if the model kept to it.
    #[serde(with = "outside")]
    pub arguments: Untrusted<String>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Finish")]
pub enum FinishReason {
    /// The model had no more to say.
    Stop,
    /// It wants tools called.
    Calls,
    /// It reached the most tokens that an answer may have, or the model's window.
    Length,
    /// It, or a filter of its provider's, refused.
    Refusal,
    /// We stopped it: all that was asked for had come.
    Complete,
    /// The provider gave a reason that is not known here, or none.
    Unknown,
}
