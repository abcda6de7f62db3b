//! Sentences whose pieces know where they come from.

use proem_risk::metric::{Sentence, SentencePart};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportPhrase {
    /// Words of ours, which are safe to show as they are.
    Ours(String),
    /// A path. From outside.
    Path(String),
    /// A person's mail address or name. From outside.
    Person(String),
    /// The first line of a message, or the title of an incident. From outside.
    Message(String),
    /// A model's words, or words of ours with names from outside between. From outside as a whole.
    Foreign(String),
}

impl ReportPhrase {
    /// Its text, as it is.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Ours(text) | Self::Path(text) | Self::Person(text) | Self::Message(text) | Self::Foreign(text) => {
                text
            }
        }
    }
}

/// A sentence without a full stop. As JSON it is one string, with names exactly as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportSentence(Vec<ReportPhrase>);

impl ReportSentence {
    /// A sentence of our words.
    #[must_use]
    pub fn ours(text: impl Into<String>) -> Self {
        Self(vec![ReportPhrase::Ours(text.into())])
    }

    /// A sentence that is somebody else's as a whole.
    #[must_use]
    pub fn foreign(text: impl Into<String>) -> Self {
        Self(vec![ReportPhrase::Foreign(text.into())])
    }

    /// It with further words of ours.
    #[must_use]
    pub fn and(self, text: impl Into<String>) -> Self {
        self.then(ReportPhrase::Ours(text.into()))
    }

    /// It with a path.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        self.then(ReportPhrase::Path(path.into()))
    }

    /// It with a further piece.
    #[must_use]
    pub fn then(mut self, part: ReportPhrase) -> Self {
        self.0.push(part);
        self
    }

    /// It with all pieces of another sentence.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Its pieces.
    #[must_use]
    pub fn parts(&self) -> &[ReportPhrase] {
        &self.0
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|part| part.text().is_empty())
    }

    /// Whether it names a path.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        self.0.iter().any(|part| matches!(part, ReportPhrase::Path(named) if named == path))
    }

    /// One text, names exactly as they are: for JSON, never for a screen.
    #[must_use]
    pub fn exact(&self) -> String {
        self.0.iter().map(ReportPhrase::text).collect()
    }
}

impl From<&Sentence> for ReportSentence {
    fn from(sentence: &Sentence) -> Self {
        let part = |piece: &SentencePart| match piece {
            SentencePart::Ours(text) => ReportPhrase::Ours(text.clone()),
            SentencePart::Path(text) => ReportPhrase::Path(text.clone()),
            SentencePart::Person(text) => ReportPhrase::Person(text.clone()),
            SentencePart::Message(text) => ReportPhrase::Message(text.clone()),
        };
        Self(sentence.0.iter().map(part).collect())
    }
}

impl Serialize for ReportSentence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.exact())
    }
}

impl JsonSchema for ReportSentence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A sentence. Names, paths and messages in it are from outside and are quoted exactly.",
        })
    }
}
