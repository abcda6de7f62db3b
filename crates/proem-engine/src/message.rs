//! Messages as a model reads them.

use serde_json::{Map, Value as Json};

/// The speaker of a message.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The operator's: what always holds.
    System,
    /// The caller's.
    User,
    /// The model's own.
    Model,
}

impl Role {
    /// Reads a role's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "system" => Some(Self::System),
            "user" => Some(Self::User),
            "model" => Some(Self::Model),
            _ => None,
        }
    }

    /// The word used in prompt files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Model => "model",
        }
    }
}

/// A message of a plain dotprompt file.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The speaker. Any word in history that the caller passes.
    pub role: String,
    /// The pieces of text, media and calls, in their order.
    pub content: Vec<Part>,
    /// Extra facts, such as `purpose: history`.
    pub metadata: Map<String, Json>,
}

/// A part of a message of a plain dotprompt file.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Words, as the model reads them.
    Text(String),
    /// A picture, sound or file by address.
    Media {
        /// Its address.
        url: String,
        /// Its MIME type, if given.
        content_type: Option<String>,
    },
    /// A place that somebody else fills.
    Pending {
        /// The purpose of the place.
        purpose: String,
    },
    /// A part of history, as the caller passed it.
    Other(Json),
}
