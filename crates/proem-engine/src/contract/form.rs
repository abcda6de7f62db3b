//! A contract as a form: an instance to fill in, and a line on each field.
//!
//! A small model copies a JSON Schema that it is shown instead of following it. The same model fills in an instance.
//! Texts of the form are the names of their fields in angle brackets, so that a form that comes back unfilled is known
//! ([`crate::decode::DecodeFailure::Unfilled`]).

use std::sync::Arc;

use proem_text::OrderedMap;
use serde_json::{Value as Json, json};

use crate::ordered::OrderedJson;
use crate::schema::property_names;

/// How deep a form goes; deeper places are left as `null`.
const MAX_DEPTH: usize = 16;

/// The most lines on fields.
const MAX_LINES: usize = 60;

/// The most words of an enumeration that a line names.
const MAX_CHOICES: usize = 30;

/// What a model is told of the shape of its answer: an instance, and what each field is.
/// `None` where one instance can't show it, since several shapes are allowed.
pub(super) fn form_of_schema(schema: &Json) -> Option<String> {
    if has_alternatives(schema) {
        return None;
    }
    let mut lines = Vec::new();
    let instance = FormWriter { root: schema, lines: &mut lines }.instance(schema, "", "value", 0);
    let fields: String = lines.iter().take(MAX_LINES).map(|line| format!("{line}\n")).collect();
    Some(format!("{}\n{fields}", instance.compact()))
}

/// Whether a union with more than one shape beside `null` stands anywhere in a schema.
fn has_alternatives(schema: &Json) -> bool {
    match schema {
        Json::Object(fields) => fields.iter().any(|(name, value)| {
            let branches = value.as_array().filter(|_| name == "anyOf" || name == "oneOf");
            let is_shape = |branch: &&Json| branch.get("type").is_none_or(|kind| kind != "null");
            branches.is_some_and(|branches| branches.iter().filter(is_shape).count() > 1) || has_alternatives(value)
        }),
        Json::Array(items) => items.iter().any(has_alternatives),
        _ => false,
    }
}

struct FormWriter<'s, 'l> {
    root: &'s Json,
    lines: &'l mut Vec<String>,
}

impl<'s> FormWriter<'s, '_> {
    /// An instance of `schema`, whose place is `path` and whose own name is `name`.
    fn instance(&mut self, schema: &'s Json, path: &str, name: &str, depth: usize) -> OrderedJson {
        if depth >= MAX_DEPTH {
            return OrderedJson::Null;
        }
        let schema = follow_references(self.root, schema);
        if let Some(only) = schema.get("const") {
            return only.clone().into();
        }
        if let Some(choices) = schema.get("enum").and_then(Json::as_array) {
            return choices.first().cloned().unwrap_or_default().into();
        }
        match first_type(schema) {
            "object" => self.object(schema, path, depth),
            "array" => {
                let items = schema.get("items").or_else(|| schema.pointer("/prefixItems/0")).unwrap_or(&Json::Null);
                let element = self.instance(items, &format!("{path}[]"), name, depth.saturating_add(1));
                OrderedJson::List(Arc::new(vec![element]))
            }
            "integer" => {
                schema.get("minimum").filter(|least| least.is_i64()).cloned().unwrap_or_else(|| json!(0)).into()
            }
            "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(0.5)).into(),
            "boolean" => OrderedJson::Bool(true),
            "null" => OrderedJson::Null,
            _ => match schema.get("format").and_then(Json::as_str) {
                Some("date") => "2000-01-31".into(),
                Some("date-time") => "2000-01-31T12:00:00Z".into(),
                _ => format!("<{name}>").into(),
            },
        }
    }

    fn object(&mut self, schema: &'s Json, path: &str, depth: usize) -> OrderedJson {
        let mut instance = OrderedMap::default();
        let required: Vec<&str> =
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        let properties = schema.get("properties").and_then(Json::as_object);
        let names = schema.as_object().map(property_names).unwrap_or_default();
        for (name, field) in names.iter().filter_map(|name| Some((name, properties?.get(name)?))) {
            let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let need = if required.contains(&name.as_str()) { "" } else { "; leave it out if it is not known" };
            let line = format!("- {place}: {}{need}", field_description(follow_references(self.root, field)));
            self.lines.push(line);
            let value = self.instance(field, &place, name, depth.saturating_add(1));
            instance.insert(name.as_str(), value);
        }
        instance.into()
    }
}

/// The schema behind references and the first branch of a union that is not null.
fn follow_references<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let branches = ["anyOf", "oneOf", "allOf"].iter().find_map(|union| schema.get(union).and_then(Json::as_array));
        let reference =
            schema.get("$ref").and_then(Json::as_str).and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        schema = match (reference, branches) {
            (Some(target), _) => target,
            (None, Some(branches)) if schema.get("type").is_none() => {
                match branches.iter().find(|branch| branch.get("type").is_none_or(|kind| kind != "null")) {
                    Some(branch) => branch,
                    None => return schema,
                }
            }
            _ => return schema,
        };
    }
    schema
}

/// The first type of a schema that is not null.
fn first_type(schema: &Json) -> &str {
    match schema.get("type") {
        Some(Json::String(kind)) => kind,
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    }
}

/// What a field is, in words.
fn field_description(schema: &Json) -> String {
    let choices = schema.get("enum").and_then(Json::as_array);
    let mut words = match (choices, first_type(schema)) {
        (Some(choices), _) => {
            let named: Vec<String> = choices.iter().take(MAX_CHOICES).map(choice_name).collect();
            format!("one of {}", named.join(", "))
        }
        (None, "array") => match schema.get("items").map(first_type) {
            Some("string") => "a list of texts".to_owned(),
            Some("integer") => "a list of whole numbers".to_owned(),
            Some("object") => "a list of objects".to_owned(),
            _ => "a list".to_owned(),
        },
        (None, "integer") => "a whole number".to_owned(),
        (None, "number") => "a number".to_owned(),
        (None, "boolean") => "true or false".to_owned(),
        (None, "object") => "an object".to_owned(),
        (None, "null") => "null".to_owned(),
        (None, _) => match schema.get("format").and_then(Json::as_str) {
            Some("date") => "a date, such as 2000-01-31".to_owned(),
            Some("date-time") => "a time, such as 2000-01-31T12:00:00Z".to_owned(),
            _ => "a text".to_owned(),
        },
    };
    let permits_null = schema.get("type").and_then(Json::as_array).is_some_and(|kinds| kinds.contains(&json!("null")));
    if permits_null {
        words.push_str(" or null");
    }
    if let Some(description) = schema.get("description").and_then(Json::as_str) {
        words.push_str(&format!(" ({})", description.trim().trim_end_matches('.')));
    }
    words
}

fn choice_name(choice: &Json) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), |text| format!("`{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Contract;
    use crate::decode::{DecodeFailure, decode_value};

    fn order() -> Json {
        json!({
            "type": "object",
            "properties": {
                "item": { "type": "string", "maxLength": 80, "description": "What is ordered." },
                "size": { "enum": ["small", "large"] },
                "count": { "type": "integer", "minimum": 1 },
                "due": { "type": "string", "format": "date" },
                "tags": { "type": "array", "maxItems": 3, "items": { "type": "string", "maxLength": 20 } },
                "buyer": { "$ref": "#/$defs/person" },
                "note": { "type": ["string", "null"], "maxLength": 80 }
            },
            "required": ["item", "count", "buyer"],
            "$defs": { "person": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 80 } },
                "required": ["name"] } }
        })
    }

    #[test]
    fn a_form_has_an_instance_and_a_line_on_each_field() {
        assert_eq!(
            form_of_schema(&order()).unwrap(),
            "{\"buyer\":{\"name\":\"<name>\"},\"count\":1,\"due\":\"2000-01-31\",\"item\":\"<item>\",\"note\":\"<note>\",\
             \"size\":\"small\",\"tags\":[\"<tags>\"]}\n\
             - buyer: an object\n\
             - buyer.name: a text\n\
             - count: a whole number\n\
             - due: a date, such as 2000-01-31; leave it out if it is not known\n\
             - item: a text (What is ordered)\n\
             - note: a text or null; leave it out if it is not known\n\
             - size: one of `small`, `large`; leave it out if it is not known\n\
             - tags: a list of texts; leave it out if it is not known\n"
        );
    }

    #[test]
    fn a_form_keeps_its_authors_order_and_shows_no_union() {
        let written: OrderedJson = serde_json::from_str(
            r#"{ "type": "object", "properties": { "steps": { "type": "string" }, "answer": { "type": "string" } } }"#,
        )
        .unwrap();
        let form_of = |schema: &Json| form_of_schema(schema);
        let shown = form_of(&crate::schema::with_order(&written)).unwrap();
        assert!(shown.starts_with(r#"{"steps":"<steps>","answer":"<answer>"}"#), "{shown}");
        let one = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        let two = json!({ "type": "array", "items": { "oneOf": [{ "type": "string" }, { "type": "integer" }] } });
        assert!(form_of(&one).is_some() && form_of(&two).is_none());
    }

    #[test]
    fn a_form_that_comes_back_unfilled_is_no_answer() {
        let contract = Contract::new("order", "", order()).unwrap();
        let form = form_of_schema(contract.schema()).unwrap();
        let instance = form.lines().next().unwrap();
        assert!(contract.accepts(&serde_json::from_str(instance).unwrap()), "{instance}");
        assert_eq!(decode_value(instance, &contract), Err(DecodeFailure::Unfilled));
        assert_eq!(decode_value(&format!("Here it is:\n{instance}"), &contract), Err(DecodeFailure::Unfilled));
    }
}
