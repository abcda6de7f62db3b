//! The names of attributes and operations, from the file that lists them.

use std::collections::BTreeMap;

use proem_runtime::telemetry::attribute;
use proem_runtime::telemetry::wire::{AnyValue, AttributeValue, KeyValue, ValueList};
use serde::Deserialize;

use crate::error::Error;

/// The names, and where they come from.
const FILE: &str = include_str!("conventions.toml");

/// The meaning of an attribute, in words of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SpanField {
    Operation,
    Error,
    Agent,
    Workflow,
    Run,
    RunKind,
    RunState,
    Project,
    ForkedFrom,
    Line,
    Prompt,
    PromptVersion,
    PromptClosure,
    Provider,
    Model,
    OutputType,
    Finish,
    InputTokens,
    CacheReadTokens,
    CacheWrittenTokens,
    OutputTokens,
    CountedTokens,
    Cost,
    CallState,
    Attempts,
    Contract,
    Problems,
    Repairs,
    Attempt,
    Status,
    Took,
    Waited,
    Tool,
    ToolPower,
    ToolState,
    Effect,
    EffectKey,
    EffectState,
    Instructions,
    Input,
    Output,
    Arguments,
    Result,
}

/// The kind of operation that a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SpanOperation {
    /// A call to a model.
    Call,
    /// A call of a tool.
    Tool,
    /// A run of an agent.
    Agent,
    /// A run of one prompt.
    Prompt,
}

/// The names of the conventions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpanNames {
    /// The documents that the names were taken from. Only people read them.
    #[serde(rename = "sources")]
    _sources: Vec<NameSource>,
    operations: BTreeMap<SpanOperation, String>,
    providers: BTreeMap<String, String>,
    #[serde(rename = "finish-reasons")]
    finish_reasons: BTreeMap<String, String>,
    attributes: BTreeMap<SpanField, String>,
}

/// A document with names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameSource {
    #[serde(rename = "repository")]
    _repository: String,
    #[serde(rename = "path")]
    _path: String,
    #[serde(rename = "commit")]
    _commit: String,
}

impl SpanNames {
    /// The names that ship with Proem.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub(super) fn shipped() -> Result<Self, Error> {
        toml::from_str(FILE).map_err(|error| Error::bug("the names of spans can't be read", error))
    }

    /// The name of an operation.
    pub(super) fn operation(&self, operation: SpanOperation) -> &str {
        self.operations.get(&operation).map_or("", String::as_str)
    }

    /// The provider's name, by that of the endpoint.
    pub(super) fn provider<'n>(&'n self, endpoint: &'n str) -> &'n str {
        self.providers.get(endpoint).map_or(endpoint, String::as_str)
    }

    /// The reason why a model stopped, by our word for it.
    pub(super) fn finish_reason<'n>(&'n self, finish: &'n str) -> &'n str {
        self.finish_reasons.get(finish).map_or(finish, String::as_str)
    }

    /// A list of attributes that has none yet.
    pub(super) const fn list(&self) -> AttributeList<'_> {
        AttributeList { names: self, list: Vec::new() }
    }
}

/// Attributes of one span or event. A value that is not known is left out.
pub(super) struct AttributeList<'n> {
    names: &'n SpanNames,
    list: Vec<KeyValue>,
}

impl AttributeList<'_> {
    fn with(mut self, field: SpanField, value: Option<AttributeValue>) -> Self {
        if let (Some(name), Some(value)) = (self.names.attributes.get(&field), value) {
            self.list.push(attribute(name, value));
        }
        self
    }

    pub(super) fn text<'t>(self, field: SpanField, text: impl Into<Option<&'t str>>) -> Self {
        self.with(field, text.into().map(|text| AttributeValue::Text(text.to_owned())))
    }

    pub(super) fn count(self, field: SpanField, count: impl Into<Option<u64>>) -> Self {
        self.with(field, count.into().and_then(|count| i64::try_from(count).ok()).map(AttributeValue::Count))
    }

    /// A list of one text.
    pub(super) fn texts(self, field: SpanField, text: Option<&str>) -> Self {
        let value = |text: &str| AnyValue { value: Some(AttributeValue::Text(text.to_owned())) };
        self.with(field, text.map(|text| AttributeValue::List(ValueList { values: vec![value(text)] })))
    }

    pub(super) fn into_list(self) -> Vec<KeyValue> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_a_name_of_the_conventions_or_of_ours() {
        let names = SpanNames::shipped().unwrap();
        // `Result` is the last field of the list.
        assert_eq!(names.attributes.len(), SpanField::Result as usize + 1);
        assert_eq!(names.operations.len(), SpanOperation::Prompt as usize + 1);
        for name in names.attributes.values() {
            let known = ["gen_ai.", "proem.", "error.", "http."].iter().any(|prefix| name.starts_with(prefix));
            assert!(known, "{name}");
        }
        let mut all: Vec<&String> = names.attributes.values().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), names.attributes.len(), "a name stands for one field");
        assert!(names._sources.iter().all(|source| source._commit.len() == 40));
        assert_eq!((names.provider("anthropic"), names.provider("mistral")), ("anthropic", "mistral_ai"));
    }
}
