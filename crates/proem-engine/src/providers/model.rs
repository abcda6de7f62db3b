//! One model: what it takes, what it refuses and how its tokens are counted.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::{CacheRules, Prices, Provider};
use crate::media::MediaSupport;
use crate::tokens::{OpenAi, ScaledCounter, TokenCounter};

/// A model of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name on the wire, such as `claude-haiku-4-5`.
    pub name: String,
    /// The caching rules of its provider.
    pub caching: CacheRules,
    /// How its tokens are counted.
    pub tokeniser: Tokeniser,
    /// The role under which it takes what the operator says.
    pub operator: OperatorRole,
    /// How it is held to a schema.
    pub answers: SchemaEnforcement,
    /// Who says so.
    pub answers_by: EnforcementSource,
    /// The protocol's name for the maximum tokens of an answer.
    pub output_key: OutputKey,
    /// Features of its protocol that it refuses.
    pub quirks: Vec<Quirk>,
    /// What it takes of pictures and files.
    pub media: MediaSupport,
    /// The tokens of prompt and answer together, at most.
    pub context_tokens: Option<NonZeroUsize>,
    /// The tokens of an answer, at most.
    pub output_tokens: Option<NonZeroUsize>,
    /// The tokens of the shortest prefix that its provider caches.
    pub min_prefix_tokens: Option<NonZeroUsize>,
    /// Its prices by prompt length, shortest first. Empty if unknown.
    pub prices: Vec<Prices>,
    /// The sources of its figures, as addresses.
    pub sources: Vec<String>,
}

/// How a model's tokens are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tokeniser {
    /// By its own tokeniser.
    Exact(OpenAi),
    /// By another tokeniser's count.
    Estimate {
        /// The tokeniser whose count is the base.
        base: OpenAi,
        /// Hundredths of that count, 100 to 200.
        percent: usize,
        /// The sources of the factor, or `unmeasured`.
        sources: Vec<String>,
    },
}

/// The role under which a model takes what the operator says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperatorRole {
    /// The messages have the role `system`.
    #[default]
    System,
    /// `developer`, in OpenAI's reasoning models.
    Developer,
}

/// How a model is held to the schema of the value that it owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchemaEnforcement {
    /// The value is the argument of a tool that must be called.
    Tool,
    /// The provider writes only what the schema allows.
    Schema,
    /// The provider writes one JSON object, of whatever shape. The prompt says which.
    Object,
    /// The prompt says what to write, and nothing enforces it.
    Text,
}

/// Who says how a model is held to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EnforcementSource {
    /// The list of known models, or configuration: a refusal is a failure.
    #[default]
    Known,
    /// Nobody: a way that the server refuses is followed by the next one.
    Tried,
    /// Nobody, but this way was tried before and held.
    Found,
}

proem_text::word_table! {
    /// The word that configuration has for it.
    pub SchemaEnforcement {
        Tool = "tool",
        Schema = "schema",
        Object = "object",
        Text = "text",
    }
}

impl SchemaEnforcement {
    /// The way that is tried after this one: by the schema, by a tool, as one object, as a text.
    #[must_use]
    pub const fn next_to_try(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Tool),
            Self::Tool => Some(Self::Object),
            Self::Object => Some(Self::Text),
            Self::Text => None,
        }
    }

    /// Whether only the prompt says what the value looks like.
    #[must_use]
    pub const fn is_by_prompt(self) -> bool {
        matches!(self, Self::Object | Self::Text)
    }
}

/// How far a model can be made to call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnforcement {
    /// Its provider sees to it that it calls one.
    Forced,
    /// It takes tools; that it calls one is only asked for, and asked for again.
    Demanded,
    /// Its server has no tools, or none that are known of: it writes one object that holds the calls.
    Object,
}

/// The name in OpenAI's protocol for the maximum tokens of an answer. Anthropic's has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKey {
    /// `max_completion_tokens`, which OpenAI's reasoning models want.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, which compatible servers know.
    MaxTokens,
}

/// Something that a model refuses although its protocol allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quirk {
    /// It takes no temperature.
    NoTemperature,
    /// It can't be made to call a tool.
    NoForcedTools,
    /// It takes tools only if it is told not to reason.
    ToolsWithoutReasoning,
}

impl Model {
    /// The model's provider.
    #[must_use]
    pub const fn provider(&self) -> Provider {
        self.caching.provider
    }

    /// Whether nobody says how it is held to a schema, so that the way is found by trying.
    #[must_use]
    pub const fn is_way_tried(&self) -> bool {
        matches!(self.answers_by, EnforcementSource::Tried | EnforcementSource::Found)
    }

    /// Has it held to a schema in the way that was found for it, if nobody says another.
    pub const fn hold_as_found(&mut self, way: SchemaEnforcement) {
        if self.is_way_tried() {
            (self.answers, self.answers_by) = (way, EnforcementSource::Found);
        }
    }

    /// Gives it the context window that its server named, if it is smaller than the known one.
    pub fn narrow(&mut self, window: NonZeroUsize) {
        self.context_tokens = Some(self.context_tokens.map_or(window, |known| known.min(window)));
    }

    /// The same, held to a schema in this way.
    #[must_use]
    pub fn held_by(&self, way: SchemaEnforcement) -> Self {
        Self { answers: way, ..self.clone() }
    }

    /// How far it can be made to call tools.
    #[must_use]
    pub fn calls(&self) -> CallEnforcement {
        let has_tools = match self.answers {
            SchemaEnforcement::Tool => true,
            // Listed models take tools beside schemas. For a server that isn't listed, only the schema is known to
            // work.
            SchemaEnforcement::Schema => !self.sources.is_empty(),
            SchemaEnforcement::Object | SchemaEnforcement::Text => false,
        };
        match has_tools {
            false => CallEnforcement::Object,
            true if self.quirks.contains(&Quirk::NoForcedTools) => CallEnforcement::Demanded,
            true => CallEnforcement::Forced,
        }
    }

    /// A counter of its tokens.
    #[must_use]
    pub fn counter(&self) -> Box<dyn TokenCounter> {
        match &self.tokeniser {
            Tokeniser::Exact(tokeniser) => Box::new(*tokeniser),
            Tokeniser::Estimate { base, percent, .. } => Box::new(ScaledCounter::new(*base, *percent)),
        }
    }

    /// The prices that hold for a prompt of that many tokens.
    #[must_use]
    pub fn prices_for(&self, prompt_tokens: usize) -> Option<&Prices> {
        self.prices.iter().find(|prices| prices.up_to_tokens.is_none_or(|limit| prompt_tokens <= limit.get()))
    }
}
