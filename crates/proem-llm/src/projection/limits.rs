//! The sizes that OpenAI's strict mode sets.
//!
//! Source: <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>, section on
//! nesting depth and size, as repeated at
//! <https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai> (seen 2026-11).

use serde_json::Value as Json;

use super::{MAX_DEPTH, Omission, referenced_schema, visit_schemas};

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_NAME_CHARS: usize = 120_000;
const MAX_VALUES: usize = 1_000;
/// Of one enumeration with more than [`MANY_VALUES`] values.
const MAX_VALUE_CHARS: usize = 15_000;
const MANY_VALUES: usize = 250;

/// The parts of a projected schema beyond the limits of strict mode.
pub(super) fn exceeded_limits(schema: &Json) -> Vec<Omission> {
    let (mut properties, mut chars, mut values) = (0usize, 0usize, 0usize);
    let mut exceeded = Vec::new();
    visit_schemas(schema, "", &mut |node, path| {
        for keyword in ["properties", "$defs", "definitions"] {
            let names = node.get(keyword).and_then(Json::as_object).into_iter().flatten();
            for (name, _) in names {
                chars = chars.saturating_add(name.chars().count());
                properties = properties.saturating_add(usize::from(keyword == "properties"));
            }
        }
        let listed = node.get("enum").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let long: usize = listed.iter().chain(node.get("const")).map(text_length).sum();
        chars = chars.saturating_add(long);
        values = values.saturating_add(listed.len());
        if listed.len() > MANY_VALUES && long > MAX_VALUE_CHARS {
            let why = format!(
                "strict mode allows {MAX_VALUE_CHARS} characters in an `enum` of more than {MANY_VALUES} values"
            );
            exceeded.push(Omission::new(format!("{path}/enum"), why));
        }
    });
    for (found, most, what) in [
        (properties, MAX_PROPERTIES, "properties"),
        (chars, MAX_NAME_CHARS, "characters of names and values"),
        (values, MAX_VALUES, "values in all `enum` together"),
        (levels(schema, schema, 0), MAX_LEVELS, "levels of objects inside each other"),
    ] {
        if found > most {
            exceeded.push(Omission::new("", format!("strict mode allows {most} {what}, and the schema has {found}")));
        }
    }
    exceeded
}

fn text_length(value: &Json) -> usize {
    value.as_str().map_or_else(|| value.to_string().len(), |text| text.chars().count())
}

/// How many objects are inside each other at most.
fn levels(root: &Json, schema: &Json, depth: usize) -> usize {
    if depth >= MAX_DEPTH {
        return MAX_DEPTH;
    }
    let inner = |schema: &Json| levels(root, schema, depth.saturating_add(1));
    let own = usize::from(schema.get("properties").is_some());
    let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(_, inner)| inner);
    let branches = schema.get("anyOf").and_then(Json::as_array).into_iter().flatten();
    let reference = schema.get("$ref").and_then(Json::as_str).and_then(|reference| referenced_schema(root, reference));
    let below = properties.chain(branches).chain(schema.get("items")).chain(reference).map(inner).max();
    own.saturating_add(below.unwrap_or(0))
}
