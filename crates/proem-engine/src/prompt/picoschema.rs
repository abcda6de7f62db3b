//! Picoschema, dotprompt's short form of JSON Schema, written out in full.
//!
//! Source: the dotprompt reference, <https://google.github.io/dotprompt/reference/picoschema/>.

use std::collections::BTreeMap;

use proem_text::OrderedMap;
use serde_json::{Map, Value as Json, json};

use crate::ordered_json::OrderedJson;
use crate::schema::{set_order, with_order};

const SCALARS: [&str; 7] = ["string", "boolean", "null", "number", "integer", "any", "object"];
const JSON_SCHEMA_TYPES: [&str; 8] = ["string", "boolean", "null", "number", "integer", "object", "array", "any"];

/// Named schemas that a Picoschema may refer to.
pub type NamedSchemas = BTreeMap<String, Json>;

/// Writes `schema` out as JSON Schema, its properties in their order ([`with_order`]); what already is JSON Schema
/// stays as it is.
///
/// # Errors
///
/// A sentence that names the key that isn't understood.
pub fn expand_picoschema(schema: &OrderedJson, named: &NamedSchemas) -> Result<Json, String> {
    match schema {
        OrderedJson::Text(text) => expand_scalar(text, named),
        OrderedJson::Map(map) if is_json_schema(map) => Ok(with_order(schema)),
        OrderedJson::Map(map) if map.get("properties").is_some_and(|properties| properties.fields().is_some()) => {
            let mut full = with_order(schema);
            if let Some(full) = full.as_object_mut() {
                full.insert("type".into(), json!("object"));
            }
            Ok(full)
        }
        OrderedJson::Map(_) => expand_value(schema, named, "schema"),
        other => Err(format!("a schema is a type or an object, not `{}`", other.compact())),
    }
}

fn is_json_schema(map: &OrderedMap<OrderedJson>) -> bool {
    matches!(map.get("type"), Some(OrderedJson::Text(name)) if JSON_SCHEMA_TYPES.contains(&name.as_ref()))
}

fn expand_scalar(text: &str, named: &NamedSchemas) -> Result<Json, String> {
    let (name, description) = match text.split_once(',') {
        Some((name, description)) => (name.trim(), Some(description.trim())),
        None => (text.trim(), None),
    };
    let mut schema = match name {
        "any" => Map::new(),
        _ if SCALARS.contains(&name) => Map::from_iter([("type".to_owned(), json!(name))]),
        _ => match named.get(name) {
            Some(Json::Object(schema)) => schema.clone(),
            _ => return Err(unknown_type(name)),
        },
    };
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        schema.insert("description".into(), json!(description));
    }
    Ok(Json::Object(schema))
}

/// The message about an unknown type. A list in another language's notation gets this one's notation.
fn unknown_type(name: &str) -> String {
    let lower = name.to_lowercase();
    let listed = name.strip_suffix("[]").or_else(|| {
        let inner = lower.strip_suffix('>')?;
        let start = ["list<", "array<"].into_iter().find(|start| inner.starts_with(start))?;
        name.get(start.len()..name.len().saturating_sub(1))
    });
    match listed.map(str::trim).filter(|item| SCALARS.contains(item)) {
        Some(item) => format!("unknown type `{name}`; a list is written `name(array): {item}`"),
        None => format!("unknown type `{name}`; known: {}", SCALARS.join(", ")),
    }
}

fn expand_value(schema: &OrderedJson, named: &NamedSchemas, at: &str) -> Result<Json, String> {
    match schema {
        OrderedJson::Text(text) => expand_scalar(text, named).map_err(|e| format!("{e} (at `{at}`)")),
        OrderedJson::Map(map) => expand_object(map, named, at),
        other => Err(format!("`{at}` is `{}`, expected a type or an object", other.compact())),
    }
}

fn expand_object(map: &OrderedMap<OrderedJson>, named: &NamedSchemas, at: &str) -> Result<Json, String> {
    let mut properties = Map::new();
    let (mut names, mut required) = (Vec::new(), Vec::new());
    let mut additional = json!(false);
    for (key, schema) in map.iter() {
        if key == "(*)" {
            additional = expand_value(schema, named, key)?;
            continue;
        }
        let field = PropertyKey::parse(key);
        let at = format!("{at}.{}", field.name);
        let mut full = match field.kind {
            None => expand_value(schema, named, &at)?,
            Some("array") => {
                let items = expand_value(schema, named, &at)?;
                json!({ "type": "array", "items": items })
            }
            Some("object") => expand_value(schema, named, &at)?,
            Some("enum") if matches!(schema, OrderedJson::List(_)) => json!({ "enum": schema.to_json() }),
            Some("enum") => return Err(format!("`{at}` is an enum and needs a list of values")),
            Some(other) => return Err(format!("`{at}` says `({other})`; known: array, object and enum")),
        };
        if field.optional {
            accept_null(&mut full);
        } else {
            required.push(json!(field.name));
        }
        if let (Some(full), Some(description)) = (full.as_object_mut(), field.description) {
            full.insert("description".into(), json!(description));
        }
        names.push(field.name.to_owned());
        properties.insert(field.name.to_owned(), full);
    }
    let mut full = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Json::Object(properties)),
        ("additionalProperties".to_owned(), additional),
    ]);
    if !required.is_empty() {
        full.insert("required".into(), Json::Array(required));
    }
    set_order(&mut full, names);
    Ok(Json::Object(full))
}

/// A key such as `color?(enum, the colour)`.
struct PropertyKey<'k> {
    name: &'k str,
    optional: bool,
    kind: Option<&'k str>,
    description: Option<&'k str>,
}

impl<'k> PropertyKey<'k> {
    fn parse(key: &'k str) -> Self {
        let (head, paren) = match key.split_once('(') {
            Some((head, rest)) => (head, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (key, None),
        };
        let (kind, description) = match paren.map(|text| text.split_once(',').unwrap_or((text, ""))) {
            Some((kind, description)) => (Some(kind.trim()), Some(description.trim()).filter(|d| !d.is_empty())),
            None => (None, None),
        };
        let optional = head.ends_with('?');
        Self { name: head.trim_end_matches('?').trim(), optional, kind, description }
    }
}

fn accept_null(schema: &mut Json) {
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(Json::Array(values)) = map.get_mut("enum") {
        if !values.contains(&Json::Null) {
            values.push(Json::Null);
        }
        return;
    }
    if let Some(Json::String(name)) = map.get("type") {
        let both = json!([name, "null"]);
        map.insert("type".into(), both);
    }
}
