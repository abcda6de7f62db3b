//! A contract as a form: an instance to fill in, and a line on each field.
//!
//! A small model copies a JSON Schema that it is shown instead of following it. The same model fills in an instance.
//! Texts of the form are the names of their fields in angle brackets, so that a form that comes back unfilled is known
//! ([`crate::decode::DecodeFailure::Unfilled`]).

use std::sync::Arc;

use proem_text::OrderedMap;
use serde_json::{Value as Json, json};

use crate::ordered_json::OrderedJson;
use crate::schema::property_names;

/// How deep a form goes. Deeper places are left as `null`.
const MAX_DEPTH: usize = 16;

/// The most lines on fields.
const MAX_LINES: usize = 60;

/// The most words of an enumeration that a line names.
const MAX_CHOICES: usize = 30;

/// How deep the words on another shape of a union go.
const MAX_WORDS_DEPTH: usize = 2;

/// The most places of an instance; what is beyond them is left as `null`.
const MAX_PLACES: usize = 2_000;

/// How many places a union within another one counts for.
const PLACES_OF_UNION: usize = 10;

/// The figure that is in a form: one that is seldom right, so that a copy of the form is known by it.
const FIGURE: i64 = 17;

/// The day and the time that are in a form.
const DAY: &str = "2000-01-31";
const TIME: &str = "2000-01-31T12:00:00Z";

/// Whether a value is the form's instance, value for value, as it can't be by chance: something in it is ours alone. An
/// instance of closed words and narrow ranges is as likely an answer as any other.
pub(super) fn is_copy(schema: &Json, value: &Json) -> bool {
    let instance =
        FormWriter { root: schema, lines: &mut Vec::new(), left: MAX_PLACES }.instance(schema, "", "value", 0);
    has_mark(value) && OrderedJson::from(value.clone()) == instance
}

/// Whether something in a value is what only a form puts there.
fn has_mark(value: &Json) -> bool {
    match value {
        Json::Number(number) => *number == FIGURE.into(),
        Json::String(text) => text == DAY || text == TIME,
        Json::Array(items) => items.iter().any(has_mark),
        Json::Object(fields) => fields.values().any(has_mark),
        Json::Null | Json::Bool(_) => false,
    }
}

/// The figure of a form if a schema of numbers allows it, or else one that it allows.
fn figure(schema: &Json) -> Json {
    let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
    let figure = FIGURE as f64;
    let is_within = bound("minimum").is_none_or(|least| least <= figure)
        && bound("maximum").is_none_or(|most| figure <= most)
        && bound("exclusiveMinimum").is_none_or(|least| least < figure)
        && bound("exclusiveMaximum").is_none_or(|most| figure < most)
        && schema.get("multipleOf").is_none();
    match ["minimum", "maximum"].iter().find_map(|name| schema.get(*name)).filter(|_| !is_within) {
        Some(bound) => bound.clone(),
        None if is_within => json!(FIGURE),
        None => json!(0),
    }
}

/// The description of an answer's shape for a model: an instance, and a line on each field. If several shapes are
/// allowed, the instance has the simplest one, and a line names the others.
pub(super) fn form_of_schema(schema: &Json) -> String {
    let mut lines = Vec::new();
    let mut writer = FormWriter { root: schema, lines: &mut lines, left: MAX_PLACES };
    writer.tell_others(schema, "the whole answer");
    let instance = writer.instance(schema, "", "value", 0);
    let fields: String = lines.iter().take(MAX_LINES).map(|line| format!("{line}\n")).collect();
    format!("{}\n{fields}", instance.compact())
}

/// The shapes of a union beside `null`, in their order. None if the schema is no union.
fn arms(schema: &Json) -> impl Iterator<Item = &Json> {
    let union = ["anyOf", "oneOf"].iter().find_map(|union| schema.get(union).and_then(Json::as_array));
    let is_shape = |arm: &&Json| arm.get("type").is_none_or(|kind| kind != "null");
    union.into_iter().flatten().filter(is_shape)
}

/// How many places an instance of a schema has that must be filled in.
fn places(root: &Json, schema: &Json, depth: usize) -> usize {
    if depth >= MAX_DEPTH {
        return usize::MAX;
    }
    let (schema, below) = (referred(root, schema), depth.saturating_add(1));
    if arms(schema).next().is_some() {
        // The search for its simplest shape ends here, because unions may contain each other.
        return PLACES_OF_UNION;
    }
    let inner = match first_type(schema) {
        _ if schema.get("enum").is_some() || schema.get("const").is_some() => 0,
        "object" => {
            let fields = schema.get("properties").and_then(Json::as_object);
            let mut sum: usize = 0;
            for (_, field) in fields.into_iter().flatten() {
                sum = sum.saturating_add(places(root, field, below));
                if sum >= MAX_PLACES {
                    break;
                }
            }
            sum
        }
        "array" => schema.get("items").map_or(0, |items| places(root, items, below)),
        _ => 0,
    };
    inner.saturating_add(1)
}

struct FormWriter<'s, 'l> {
    root: &'s Json,
    lines: &'l mut Vec<String>,
    /// How many places there may still be.
    left: usize,
}

impl<'s> FormWriter<'s, '_> {
    /// An instance of `schema`, whose place is `path` and whose own name is `name`.
    fn instance(&mut self, schema: &'s Json, path: &str, name: &str, depth: usize) -> OrderedJson {
        let Some(left) = self.left.checked_sub(1).filter(|_| depth < MAX_DEPTH) else { return OrderedJson::Null };
        self.left = left;
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
                let place = format!("{path}[]");
                self.tell_others(items, &place);
                let element = self.instance(items, &place, name, depth.saturating_add(1));
                OrderedJson::List(Arc::new(vec![element]))
            }
            "integer" | "number" => figure(schema).into(),
            "boolean" => OrderedJson::Bool(true),
            "null" => OrderedJson::Null,
            _ => match schema.get("format").and_then(Json::as_str) {
                Some("date") => DAY.into(),
                Some("date-time") => TIME.into(),
                _ => format!("<{name}>").into(),
            },
        }
    }

    /// A line on the shapes of a union that the instance doesn't show.
    fn tell_others(&mut self, schema: &'s Json, place: &str) {
        let schema = referred(self.root, schema);
        let shown = simplest(self.root, schema);
        let others = arms(schema).filter(|arm| shown.is_none_or(|shown| !core::ptr::eq(shown, *arm)));
        let others: Vec<String> = others.map(|arm| shape_words(self.root, arm, 0)).collect();
        if !others.is_empty() {
            self.lines.push(format!("- {place} may be this instead: {}", others.join(", or ")));
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
            let line = format!("- {place}: {}{need}", field_description(self.root, field));
            self.lines.push(line);
            self.tell_others(field, &place);
            let value = self.instance(field, &place, name, depth.saturating_add(1));
            instance.insert(name.as_str(), value);
        }
        instance.into()
    }
}

/// The schema behind references.
fn referred<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let reference = schema.get("$ref").and_then(Json::as_str).and_then(|reference| reference.strip_prefix('#'));
        match reference.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => return schema,
        }
    }
    schema
}

/// The shape of a union with the fewest places to fill in, the first of several. `None` for a schema that is no union.
fn simplest<'s>(root: &'s Json, schema: &'s Json) -> Option<&'s Json> {
    let mut simplest: Option<(usize, &Json)> = None;
    for arm in arms(schema) {
        let places = places(root, arm, 1);
        if simplest.is_none_or(|(fewest, _)| places < fewest) {
            simplest = Some((places, arm));
        }
    }
    simplest.map(|(_, arm)| arm)
}

/// The schema behind references and the simplest shape of a union.
fn follow_references<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        schema = referred(root, schema);
        let all = || schema.get("allOf").and_then(Json::as_array).and_then(|all| all.first());
        let is_union = schema.get("type").is_none() && schema.get("properties").is_none();
        match simplest(root, schema).or_else(all).filter(|_| is_union) {
            Some(shape) => schema = shape,
            None => return schema,
        }
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

/// Whether a schema allows null beside other values.
fn permits_null(schema: &Json) -> bool {
    let is_null = |kind: &Json| kind == "null";
    let types = schema.get("type").and_then(Json::as_array);
    let union = ["anyOf", "oneOf"].iter().find_map(|union| schema.get(union).and_then(Json::as_array));
    types.is_some_and(|kinds| kinds.iter().any(is_null))
        || union.is_some_and(|arms| arms.iter().any(|arm| arm.get("type").is_some_and(is_null)))
}

/// A shape that the instance doesn't show, in words, with the fields of an object.
fn shape_words(root: &Json, schema: &Json, depth: usize) -> String {
    let shape = follow_references(root, schema);
    let fields = shape.get("properties").and_then(Json::as_object).filter(|_| depth < MAX_WORDS_DEPTH);
    let Some(fields) = fields else { return field_description(root, schema) };
    let described = fields.iter().take(MAX_CHOICES).map(|(name, field)| {
        let words = shape_words(root, field, depth.saturating_add(1));
        format!("`{name}` ({words})")
    });
    format!("an object with {}", described.collect::<Vec<_>>().join(", "))
}

/// A field's description in words.
fn field_description(root: &Json, field: &Json) -> String {
    let schema = follow_references(root, field);
    if let Some(only) = schema.get("const") {
        return format!("always {}", choice_name(only));
    }
    let choices = schema.get("enum").and_then(Json::as_array);
    let mut words = match (choices, first_type(schema)) {
        (Some(choices), _) => {
            let named: Vec<String> = choices.iter().take(MAX_CHOICES).map(choice_name).collect();
            format!("one of {}", named.join(", "))
        }
        (None, "array") => match schema.get("items").map(|items| first_type(follow_references(root, items))) {
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
            Some("date") => format!("a date, such as {DAY}"),
            Some("date-time") => format!("a time, such as {TIME}"),
            _ => "a text".to_owned(),
        },
    };
    if permits_null(schema) || permits_null(referred(root, field)) {
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
            form_of_schema(&order()),
            "{\"buyer\":{\"name\":\"<name>\"},\"count\":17,\"due\":\"2000-01-31\",\"item\":\"<item>\",\"note\":\"<note>\",\
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
    fn a_form_keeps_its_authors_order() {
        let written: OrderedJson = serde_json::from_str(
            r#"{ "type": "object", "properties": { "steps": { "type": "string" }, "answer": { "type": "string" } } }"#,
        )
        .unwrap();
        let shown = form_of_schema(&crate::schema::with_order(&written));
        assert!(shown.starts_with(r#"{"steps":"<steps>","answer":"<answer>"}"#), "{shown}");
    }

    #[test]
    fn a_form_that_comes_back_unfilled_is_no_answer() {
        let contract = Contract::new("order", "", order()).unwrap();
        let form = form_of_schema(contract.schema());
        let instance = form.lines().next().unwrap();
        assert!(contract.accepts(&serde_json::from_str(instance).unwrap()), "{instance}");
        assert_eq!(decode_value(instance, &contract), Err(DecodeFailure::Unfilled));
        assert_eq!(decode_value(&format!("Here it is:\n{instance}"), &contract), Err(DecodeFailure::Unfilled));
    }

    #[test]
    fn a_form_of_figures_that_comes_back_is_a_copy_and_a_right_answer_is_none() {
        let check = |properties: Json, value: Json, expected: bool| {
            let schema = json!({ "type": "object", "properties": properties });
            assert_eq!(is_copy(&schema, &value), expected, "{value}");
        };
        let dose = json!({ "milligrams": { "type": "number" }, "unit": { "enum": ["daily", "weekly"] } });
        check(dose.clone(), json!({ "unit": "daily", "milligrams": 17 }), true);
        check(dose.clone(), json!({ "unit": "weekly", "milligrams": 17 }), false);
        check(dose, json!({ "unit": "daily", "milligrams": 0 }), false);
        check(json!({ "day": { "type": "string", "format": "date" } }), json!({ "day": "2000-01-31" }), true);
        // An answer from closed words and narrow ranges may be right whatever the form shows.
        check(json!({ "severity": { "enum": ["high", "low"] } }), json!({ "severity": "high" }), false);
        check(json!({ "is_spam": { "type": "boolean" } }), json!({ "is_spam": true }), false);
        let stars = json!({ "stars": { "type": "integer", "minimum": 1, "maximum": 5 } });
        check(stars, json!({ "stars": 1 }), false);
        check(
            json!({ "share": { "type": "number", "exclusiveMinimum": 0, "maximum": 1 } }),
            json!({ "share": 1 }),
            false,
        );
    }

    #[test]
    fn a_union_is_shown_by_its_simplest_shape_and_told_by_the_others() {
        let check = |schema: Json, expected: &str| assert_eq!(form_of_schema(&schema), expected, "{schema}");
        check(
            json!({ "type": "object", "required": ["due"], "properties": {
                "due": { "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "integer" }, { "type": "null" }] },
                "note": { "oneOf": [{ "type": "string" }, { "type": "null" }] }
            } }),
            "{\"due\":17,\"note\":\"<note>\"}\n\
             - due: a whole number or null\n\
             - due may be this instead: a list of texts\n\
             - note: a text or null; leave it out if it is not known\n",
        );
        let shape = |kind: &str, field: &str| {
            json!({ "type": "object", "required": ["kind", field], "properties": {
                "kind": { "const": kind }, field: { "type": "string" } } })
        };
        check(
            json!({ "type": "object", "required": ["shapes"], "properties": { "shapes": { "type": "array", "items": {
                "anyOf": [shape("circle", "radius"), shape("square", "side")] } } } }),
            "{\"shapes\":[{\"kind\":\"circle\",\"radius\":\"<radius>\"}]}\n\
             - shapes: a list of objects\n\
             - shapes[] may be this instead: an object with `kind` (always `square`), `side` (a text)\n\
             - shapes[].kind: always `circle`\n\
             - shapes[].radius: a text\n",
        );
        // At the root, behind a reference, and a union that contains itself ends.
        let root = json!({ "$defs": { "tree": { "oneOf": [
            { "type": "object", "properties": { "child": { "$ref": "#/$defs/tree" } } }, shape("leaf", "text")] } },
            "$ref": "#/$defs/tree" });
        let shown = form_of_schema(&root);
        assert!(shown.starts_with("{\"kind\":\"leaf\",\"text\":\"<text>\"}\n- the whole answer may be this instead: an object with `child`"), "{shown}");
    }

    #[test]
    fn a_schema_that_multiplies_itself_makes_no_endless_form() {
        let fields = |count: usize, target: &str| -> serde_json::Map<String, Json> {
            (0..count).map(|field| (format!("f{field}"), json!({ "$ref": target }))).collect()
        };
        let mut defs = serde_json::Map::new();
        for level in 0..12 {
            let next = format!("#/$defs/d{}", level + 1);
            defs.insert(format!("d{level}"), json!({ "anyOf": [
                { "type": "object", "properties": fields(20, &next) }, { "type": "object", "properties": fields(2, &next) }] }));
        }
        defs.insert("d12".to_owned(), json!({ "type": "object", "properties": fields(20, "#/$defs/d13") }));
        defs.insert("d13".to_owned(), json!({ "type": "string" }));
        let schema = json!({ "type": "object", "properties": fields(3, "#/$defs/d0"), "$defs": defs });
        assert!(form_of_schema(&schema).len() < 1_000_000);
        let plain = json!({ "type": "object", "properties": fields(200, "#/$defs/d1"), "$defs": {
            "d1": { "type": "object", "properties": fields(200, "#/$defs/d2") },
            "d2": { "type": "object", "properties": fields(200, "#/$defs/d3") }, "d3": { "type": "integer" } } });
        assert!(form_of_schema(&plain).len() < 200_000);
    }

    #[test]
    fn calls_in_one_object_are_a_form_too() {
        let tool = |name: &str| {
            Contract::new(
                name,
                "",
                json!({ "type": "object", "additionalProperties": false,
            "required": [name], "properties": { name: { "type": "string", "maxLength": 9 } } }),
            )
            .unwrap()
        };
        let tools = crate::contract::ToolContracts::new(vec![tool("mail"), tool("wait")]).unwrap();
        let note = tools.object().form_note();
        assert!(note.contains("{\"calls\":[{"), "{note}");
        assert!(!note.contains("anyOf"), "{note}");
    }
}
