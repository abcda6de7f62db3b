//! A contract's schema as a provider takes it, and what was lost on the way.
//!
//! Answers are always checked against the full schema. A projection only says what the provider can enforce or show to
//! the model. It only ever loosens: what the full schema accepts, the projection accepts too, with two exceptions that
//! strict mode forces. There, a name that the schema doesn't declare is refused, and null represents an optional value
//! that is left out. [`restore`](fn@restore) leaves it out again.
//!
//! The dialect of each provider:
//!
//! - Anthropic refuses `oneOf`, `anyOf` and `allOf` at the root of a tool's schema: "input_schema
//!   does not support oneOf, allOf, or anyOf at the top level" is its answer
//!   (<https://github.com/anthropics/claude-code/issues/27337>, seen 2026-11).
//! - OpenAI's strict mode wants the root to be an object, every property required,
//!   `additionalProperties: false` everywhere, and of the keywords only some
//!   (<https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>; the same list
//!   at <https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai>, seen 2026-11).

mod limits;
mod merge;
mod restore;
mod strict;
#[cfg(test)]
mod tests;

pub use self::restore::restore;

use proem_engine::schema::subschemas;
use serde_json::{Map, Value as Json, json};

use self::merge::SchemaMerge;

/// The dialect of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaDialect {
    /// The arguments of an Anthropic tool.
    AnthropicTool,
    /// Structured output or a strict tool of OpenAI's.
    OpenAiStrict,
    /// The arguments of an OpenAI tool that is not strict, or the schema for a compatible server.
    OpenAiPlain,
}

/// A schema as a provider takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// The schema that is sent.
    pub schema: Json,
    /// The parts that the provider doesn't get unchanged, sorted by place. It is empty only if the schema is sent
    /// unchanged, apart from `required` and `additionalProperties`.
    pub dropped: Vec<Omission>,
    /// As what it must be sent: what was asked for, or [`SchemaDialect::OpenAiPlain`] for a schema that
    /// strict mode can't say at all. Then the whole schema is sent, and nothing enforces it.
    pub target: SchemaDialect,
}

/// Something that a provider doesn't get.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Omission {
    /// The place in the schema or request, as a JSON pointer: `/properties/target/maxLength`.
    pub path: String,
    /// The reason, in our words.
    pub why: String,
}

impl Omission {
    /// Whether it is a setting of the request, such as a temperature, and no part of a schema.
    #[must_use]
    pub fn is_setting(&self) -> bool {
        matches!(self.path.as_str(), "/temperature" | "/top_p" | "/top_k" | "/stop" | "/stop_sequences")
    }

    fn new(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self { path: path.into(), why: why.into() }
    }
}

/// How many schemas inside or behind each other are followed. A contract has fewer.
const MAX_DEPTH: usize = 128;

/// The schema as a provider takes it, with what it doesn't get. The whole one still holds: answers are checked
/// against that.
#[must_use]
pub fn project_schema(schema: &Json, target: SchemaDialect) -> Projection {
    let (sent, mut dropped, target) = match target {
        SchemaDialect::OpenAiPlain => (schema.clone(), Vec::new(), target),
        SchemaDialect::AnthropicTool => {
            let (sent, dropped) = project_for_anthropic(schema);
            (sent, dropped, target)
        }
        SchemaDialect::OpenAiStrict => match strict::project_strictly(schema) {
            Ok((sent, dropped)) => (sent, dropped, target),
            Err(unsayable) => (schema.clone(), unsayable, SchemaDialect::OpenAiPlain),
        },
    };
    dropped.sort();
    dropped.dedup();
    Projection { schema: sent, dropped, target }
}

/// The root without unions, and everything below it as it is.
fn project_for_anthropic(schema: &Json) -> (Json, Vec<Omission>) {
    let Json::Object(root) = schema else { return (schema.clone(), Vec::new()) };
    let mut root = root.clone();
    let mut merging = SchemaMerge::new(schema);
    merging.merge(&mut root, "");
    let mut dropped = merging.dropped;
    if !root.contains_key("type") {
        // A contract's root is an object whatever its branches say.
        root.insert("type".into(), json!("object"));
        dropped.push(Omission::new("/type", "added at the root, as the provider requires"));
    }
    let mut sent = Json::Object(root);
    for pointer in dangling(&sent) {
        if let Some(node) = sent.pointer_mut(&pointer) {
            *node = json!({});
            dropped.push(Omission::new(pointer, "refers into a union at the root, which is not sent"));
        }
    }
    (sent, dropped)
}

/// The places of all references that lead nowhere.
fn dangling(schema: &Json) -> Vec<String> {
    let mut found = Vec::new();
    visit_schemas(schema, "", &mut |node, path| {
        let leads = |reference: &str| reference.strip_prefix('#').is_some_and(|to| schema.pointer(to).is_some());
        if node.get("$ref").and_then(Json::as_str).is_some_and(|reference| !leads(reference)) {
            found.push(path.to_owned());
        }
    });
    found
}

/// Looks at every schema inside a schema, and at itself.
fn visit_schemas(schema: &Json, path: &str, look: &mut dyn FnMut(&Map<String, Json>, &str)) {
    let Json::Object(map) = schema else { return };
    look(map, path);
    for (suffix, inner) in subschemas(schema) {
        visit_schemas(inner, &format!("{path}{suffix}"), look);
    }
}

/// The schema that a `$ref` of this document leads to.
fn referenced_schema<'s>(root: &'s Json, reference: &str) -> Option<&'s Json> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Whether null meets a schema, as far as kinds and listed values tell.
fn schema_accepts_null(root: &Json, schema: &Json, depth: usize) -> bool {
    let Json::Object(map) = schema else { return *schema == Json::Bool(true) };
    if depth >= MAX_DEPTH {
        return false;
    }
    let inner = |schema: &Json| schema_accepts_null(root, schema, depth.saturating_add(1));
    map.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
        ("type", Json::String(kind)) => kind == "null",
        ("type", Json::Array(kinds)) => kinds.contains(&json!("null")),
        ("enum", Json::Array(values)) => values.contains(&Json::Null),
        ("const", value) => value.is_null(),
        ("anyOf" | "oneOf", Json::Array(branches)) => branches.iter().any(inner),
        ("allOf", Json::Array(members)) => members.iter().all(inner),
        ("$ref", Json::String(reference)) => referenced_schema(root, reference).is_some_and(inner),
        _ => true,
    })
}
