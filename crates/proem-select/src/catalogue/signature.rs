//! The code's own account of the parameters of an unapproved entry: their names and types.

use serde_json::Value as Json;

use super::name::CatalogueName;

/// The most parameters that a signature names.
const MAX_PARAMETERS: usize = 12;
/// The most types that are named as alternatives.
const MAX_ALTERNATIVES: usize = 4;
/// How deep lists of lists are followed.
const MAX_DEPTH: usize = 3;

/// The names and types of the parameters that a schema allows.
///
/// Descriptions, allowed values and defaults never get into it. Required parameters come first, then by name. `?` marks
/// optional ones. Parameters whose name is no identifier of at most 64 characters, and those beyond twelve, are
/// counted: `+3 more`.
pub(super) fn parameter_signature(schema: &Json) -> String {
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return String::new() };
    let required: Vec<&str> =
        schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let required: std::collections::BTreeSet<&str> = required.into_iter().collect();
    let mut named: Vec<(bool, &str, String)> = properties
        .iter()
        .filter(|(name, _)| CatalogueName::new(name).is_some())
        .map(|(name, schema)| (!required.contains(name.as_str()), name.as_str(), schema_type(schema, 0)))
        .collect();
    named.sort();
    named.truncate(MAX_PARAMETERS);
    let more = properties.len().saturating_sub(named.len());
    let optional = |optional: bool| if optional { "?" } else { "" };
    let mut parts: Vec<String> =
        named.into_iter().map(|(is_optional, name, kind)| format!("{name}{}: {kind}", optional(is_optional))).collect();
    if more > 0 {
        parts.push(format!("+{more} more"));
    }
    parts.join(", ")
}

/// The type that a schema allows, in a closed vocabulary.
fn schema_type(schema: &Json, depth: usize) -> String {
    if depth > MAX_DEPTH {
        return "any".into();
    }
    let kinds: Vec<String> = match (schema.get("type"), schema_alternatives(schema), schema.get("enum")) {
        (Some(Json::String(kind)), _, _) => vec![type_word(kind, schema, depth)],
        (Some(Json::Array(kinds)), _, _) => {
            kinds.iter().filter_map(Json::as_str).map(|kind| type_word(kind, schema, depth)).collect()
        }
        (_, Some(schemas), _) => {
            schemas.iter().take(64).map(|schema| schema_type(schema, depth.saturating_add(1))).collect()
        }
        (_, _, Some(Json::Array(values))) => values.iter().take(64).map(|value| json_kind(value).into()).collect(),
        _ => Vec::new(),
    };
    let mut distinct: Vec<String> = Vec::new();
    for kind in kinds {
        if !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    if distinct.is_empty() || distinct.len() > MAX_ALTERNATIVES { "any".into() } else { distinct.join(" | ") }
}

fn schema_alternatives(schema: &Json) -> Option<&Vec<Json>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array)
}

fn type_word(kind: &str, schema: &Json, depth: usize) -> String {
    match kind {
        "string" | "number" | "integer" | "boolean" | "null" | "object" => kind.to_owned(),
        "array" => {
            let item =
                schema.get("items").map_or_else(|| "any".into(), |item| schema_type(item, depth.saturating_add(1)));
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        _ => "any".into(),
    }
}

const fn json_kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "any[]",
        Json::Object(_) => "object",
    }
}
