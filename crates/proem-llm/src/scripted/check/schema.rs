//! The providers' demands on JSON Schemas.

use serde_json::{Map, Value as Json};

/// Anthropic's tools: an object that is no choice of schemas.
pub(super) fn check_root_schema(schema: &Json) -> Result<(), String> {
    check_object_schema(schema)?;
    match ["oneOf", "anyOf", "allOf"].iter().find(|key| schema.get(**key).is_some()) {
        Some(_) => Err("input_schema does not support oneOf, allOf, or anyOf at the top level".to_owned()),
        None => Ok(()),
    }
}

pub(super) fn check_object_schema(schema: &Json) -> Result<(), String> {
    match schema.get("type").and_then(Json::as_str) {
        Some("object") => Ok(()),
        _ => Err("schema must be a JSON Schema of 'type: \"object\"'".to_owned()),
    }
}

/// Anthropic's structured output: every object says that it has no other members.
pub(super) fn check_closed_schema(schema: &Json) -> Result<(), String> {
    objects(schema, &|members| match members.get("additionalProperties") {
        Some(Json::Bool(false)) => Ok(()),
        _ => Err("For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned()),
    })
}

/// OpenAI's strict mode: that, and every member is required.
pub(super) fn check_strict_schema(schema: &Json) -> Result<(), String> {
    if schema.get("anyOf").is_some() {
        return Err("schema must not have 'anyOf' at the root".to_owned());
    }
    check_closed_schema(schema)?;
    objects(schema, &|members| {
        let required = members.get("required").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let properties = members.get("properties").and_then(Json::as_object);
        let missing =
            properties.into_iter().flatten().find(|(key, _)| !required.contains(&Json::String((*key).clone())));
        match missing {
            Some((key, _)) => Err(format!(
                "'required' is required to be supplied and to be an array including every key in properties. \
                 Missing '{key}'."
            )),
            None => Ok(()),
        }
    })
}

/// The check of one schema.
type SchemaCheck<'l> = &'l dyn Fn(&Map<String, Json>) -> Result<(), String>;

/// Looks at every schema of objects within a schema.
fn objects(schema: &Json, look: SchemaCheck<'_>) -> Result<(), String> {
    let Some(members) = schema.as_object() else { return Ok(()) };
    let kind = members.get("type");
    let is_object = match kind {
        Some(Json::String(word)) => word == "object",
        Some(Json::Array(words)) => words.iter().any(|word| word == "object"),
        _ => members.contains_key("properties"),
    };
    if is_object {
        look(members)?;
    }
    for (key, member) in members {
        match (key.as_str(), member) {
            ("properties" | "$defs" | "definitions", Json::Object(schemas)) => {
                schemas.values().try_for_each(|schema| objects(schema, look))?;
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Json::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| objects(schema, look))?;
            }
            ("items" | "not" | "if" | "then" | "else", schema) => objects(schema, look)?,
            _ => {}
        }
    }
    Ok(())
}
