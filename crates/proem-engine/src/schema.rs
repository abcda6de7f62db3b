//! JSON Schema, as far as prompts need to know it.

use std::collections::BTreeSet;

use proem_text::json::PROPERTY_ORDER;
use serde_json::{Map, Value as Json};

use crate::ordered_json::OrderedJson;

/// A compiled JSON Schema.
///
/// # Errors
///
/// Compiles a schema that checks formats, or returns its defect.
pub(crate) fn compile_schema(schema: &Json) -> Result<jsonschema::Validator, String> {
    build_validator(&jsonschema::options(), schema)
}

/// A compiled JSON Schema that also checks formats.
///
/// # Errors
///
/// Compiles a schema that checks formats, or returns its defect.
pub(crate) fn compile_with_formats(schema: &Json) -> Result<jsonschema::Validator, String> {
    build_validator(&jsonschema::options().should_validate_formats(true), schema)
}

fn build_validator(options: &jsonschema::ValidationOptions, schema: &Json) -> Result<jsonschema::Validator, String> {
    options.clone().with_pattern_options(jsonschema::PatternOptions::regex()).build(schema).map_err(|e| {
        match e.instance_path().to_string() {
            path if path.is_empty() => e.to_string(),
            path => format!("{e} (at `{path}`)"),
        }
    })
}

/// The kinds of value that templates treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Scalar,
    List,
    Object,
    Unknown,
}

impl ValueKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scalar => "a text, number or boolean",
            Self::List => "a list",
            Self::Object => "an object",
            Self::Unknown => "of no declared type",
        }
    }
}

/// The kind of value that `schema` describes; what can't be told is [`ValueKind::Unknown`].
pub(crate) fn kind_of_schema(schema: &Json) -> ValueKind {
    if let Some(Json::Array(values)) = schema.get("enum") {
        let scalars = values.iter().all(|value| !value.is_array() && !value.is_object());
        return if scalars { ValueKind::Scalar } else { ValueKind::Unknown };
    }
    let name = match schema.get("type") {
        Some(Json::String(name)) => name.as_str(),
        Some(Json::Array(names)) => {
            let mut others = names.iter().filter_map(Json::as_str).filter(|name| *name != "null");
            match (others.next(), others.next()) {
                (Some(name), None) => name,
                _ => return ValueKind::Unknown,
            }
        }
        _ => return ValueKind::Unknown,
    };
    match name {
        "string" | "number" | "integer" | "boolean" => ValueKind::Scalar,
        "array" => ValueKind::List,
        "object" => ValueKind::Object,
        _ => ValueKind::Unknown,
    }
}

/// Every name that a schema declares somewhere.
pub(crate) fn declared_names(schema: &Json, names: &mut BTreeSet<String>) {
    match schema {
        Json::Object(map) => {
            if let Some(Json::Object(properties)) = map.get("properties") {
                names.extend(properties.keys().cloned());
            }
            map.values().for_each(|inner| declared_names(inner, names));
        }
        Json::Array(items) => items.iter().for_each(|inner| declared_names(inner, names)),
        _ => {}
    }
}

/// Keywords whose value is a schema.
const ONE: [&str; 12] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
];

/// Keywords whose value is a list of schemas.
const SEVERAL: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is a map of schemas.
const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// The schemas directly inside a schema, each with the JSON pointer that leads there from it.
///
/// The contents of `const`, `enum`, `default` and `examples` are values and no schemas.
#[must_use]
pub fn subschemas(schema: &Json) -> Vec<(String, &Json)> {
    let mut inner = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match value {
            _ if ONE.contains(&keyword.as_str()) => inner.push((format!("/{keyword}"), value)),
            Json::Array(items) if SEVERAL.contains(&keyword.as_str()) => {
                inner.extend(items.iter().enumerate().map(|(index, item)| (format!("/{keyword}/{index}"), item)));
            }
            Json::Object(map) if NAMED.contains(&keyword.as_str()) => {
                inner.extend(
                    map.iter().map(|(name, item)| (format!("/{keyword}/{}", escape_pointer_segment(name)), item)),
                );
            }
            _ => {}
        }
    }
    inner
}

/// A name as a segment of a JSON pointer (RFC 6901).
#[must_use]
pub fn escape_pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A schema whose properties keep the order of `schema` wherever a request holds it: each list of properties that isn't
/// sorted has its names beside it, under [`PROPERTY_ORDER`].
#[must_use]
pub fn with_order(schema: &OrderedJson) -> Json {
    match schema {
        OrderedJson::List(items) => items.iter().map(with_order).collect(),
        OrderedJson::Map(fields) => {
            let mut map: Map<String, Json> =
                fields.iter().map(|(name, value)| (name.to_owned(), with_order(value))).collect();
            let properties = fields.get("properties").and_then(OrderedJson::fields);
            let names = properties.map(|properties| properties.iter().map(|(name, _)| name.to_owned()).collect());
            set_order(&mut map, names.unwrap_or_default());
            Json::Object(map)
        }
        other => other.to_json(),
    }
}

/// Notes in which order the properties of a schema were written.
pub fn set_order(schema: &mut Map<String, Json>, names: Vec<String>) {
    if names.is_sorted() {
        schema.remove(PROPERTY_ORDER);
    } else {
        schema.insert(PROPERTY_ORDER.to_owned(), names.into());
    }
}

/// The names of a schema's properties in the order in which they were written.
#[must_use]
pub fn property_names(schema: &Map<String, Json>) -> Vec<String> {
    let names = schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(name, _)| name);
    let mut names: Vec<String> = names.cloned().collect();
    if let Some(order) = schema.get(PROPERTY_ORDER).and_then(Json::as_array) {
        let place = |name: &String| order.iter().position(|known| known.as_str() == Some(name));
        names.sort_by_key(|name| place(name).unwrap_or(order.len()));
    }
    names
}
