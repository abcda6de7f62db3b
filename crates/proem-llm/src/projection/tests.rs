//! The sent and the reported parts, and the law that a projection only loosens.

use std::collections::BTreeSet;

use proem_engine::schema::property_names;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::{Projection, SchemaDialect, project_schema, restore, visit_schemas};

#[track_caller]
fn check(schema: &Json, target: SchemaDialect, expected: &Json, dropped: &[(&str, &str)]) {
    let projection = project_schema(schema, target);
    assert_eq!(projection.schema, *expected, "{:#}", projection.schema);
    let found: Vec<(&str, &str)> =
        projection.dropped.iter().map(|dropped| (dropped.path.as_str(), dropped.why.as_str())).collect();
    assert_eq!(found, dropped);
}

const CHECKED: &str = "strict mode doesn't support this; Proem checks the answer instead";
const OPTIONAL: &str = "optional: sent as required; null means that it is left out";
const CONDITION: &str = "a condition can't be sent here; the answer is checked against it";
const UNION: &str = "a union can't be sent here; the fields of its branches are sent together";
const MERGED: &str = "merged into the schema around it";

fn decision() -> Json {
    json!({
        "type": "object",
        "properties": {
            "action": { "$ref": "#/$defs/Action", "description": "What to do." },
            "reason": { "type": "string", "maxLength": 200 },
            "target": { "anyOf": [{ "$ref": "#/$defs/Target" }, { "type": "null" }] },
            "score": { "type": "number", "minimum": 0, "maximum": 1 }
        },
        "required": ["action", "reason"],
        "allOf": [{
            "if": { "properties": { "action": { "const": "A" } } },
            "then": { "required": ["target"] }
        }],
        "$defs": {
            "Action": { "type": "string", "enum": ["A", "B"] },
            "Target": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 9 } } }
        }
    })
}

#[test]
fn anthropic_gets_the_root_without_unions_and_the_rest_in_full() {
    let full = decision();
    let mut sent = full.clone();
    sent.as_object_mut().unwrap().remove("allOf");
    check(&full, SchemaDialect::AnthropicTool, &sent, &[("/allOf", MERGED), ("/allOf/0/if", CONDITION)]);
    check(&sent, SchemaDialect::AnthropicTool, &sent, &[]);
    check(&full, SchemaDialect::OpenAiPlain, &full, &[]);
}

#[test]
fn a_union_at_the_root_becomes_one_object() {
    let union = json!({
        "description": "d",
        "oneOf": [
            {
                "type": "object",
                "properties": { "kind": { "const": "mail" }, "to": { "type": "null" }, "n": { "type": "integer" } },
                "required": ["kind", "to"]
            },
            {
                "type": "object",
                "properties": { "kind": { "const": "note" }, "n": { "type": "null" } },
                "required": ["kind"]
            }
        ]
    });
    let sent = json!({
        "description": "d",
        "type": "object",
        "properties": {
            "kind": { "enum": ["mail", "note"] },
            "n": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "to": { "type": "null" }
        },
        "required": ["kind"]
    });
    check(&union, SchemaDialect::AnthropicTool, &sent, &[("/oneOf", UNION)]);
    let inside = json!({ "type": "object", "properties": { "a": union } });
    check(&inside, SchemaDialect::AnthropicTool, &inside, &[]);
}

#[test]
fn a_reference_into_a_root_union_is_let_go() {
    let union = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/anyOf/0/properties/b" } },
        "anyOf": [{ "properties": { "b": { "type": "null" } } }]
    });
    let sent = json!({ "type": "object", "properties": { "a": {}, "b": { "type": "null" } } });
    let why = "refers into a union at the root, which is not sent";
    check(&union, SchemaDialect::AnthropicTool, &sent, &[("/anyOf", UNION), ("/properties/a", why)]);
}

#[test]
fn strict_mode_gets_what_it_takes() {
    check(
        &decision(),
        SchemaDialect::OpenAiStrict,
        &json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["A", "B"], "description": "What to do." },
                "reason": { "type": "string" },
                "target": { "anyOf": [{ "$ref": "#/$defs/Target" }, { "type": "null" }] },
                "score": { "type": ["number", "null"], "minimum": 0, "maximum": 1 }
            },
            "required": ["action", "reason", "score", "target"],
            "additionalProperties": false,
            "$defs": {
                "Action": { "type": "string", "enum": ["A", "B"] },
                "Target": {
                    "type": "object",
                    "properties": { "name": { "type": ["string", "null"] } },
                    "required": ["name"],
                    "additionalProperties": false
                }
            }
        }),
        &[
            ("/$defs/Target/properties/name", OPTIONAL),
            ("/$defs/Target/properties/name/maxLength", CHECKED),
            ("/allOf", MERGED),
            ("/allOf/0/if", CONDITION),
            ("/properties/action/$ref", "inlined, because a `$ref` may have no other keys beside it"),
            ("/properties/reason/maxLength", CHECKED),
            ("/properties/score", OPTIONAL),
        ],
    );
}

#[test]
fn what_is_optional_becomes_nullable() {
    let optional = |property: Json, sent: Json| {
        let projection =
            project_schema(&json!({ "type": "object", "properties": { "a": property } }), SchemaDialect::OpenAiStrict);
        assert_eq!(projection.schema["properties"]["a"], sent);
        assert_eq!(projection.target, SchemaDialect::OpenAiStrict);
    };
    optional(json!({ "type": "string" }), json!({ "type": ["string", "null"] }));
    optional(json!({ "type": ["string", "integer"] }), json!({ "type": ["string", "integer", "null"] }));
    optional(json!({ "type": ["string", "null"] }), json!({ "type": ["string", "null"] }));
    optional(json!({ "enum": ["x"] }), json!({ "enum": ["x", null] }));
    optional(json!({ "type": "string", "enum": ["x"] }), json!({ "type": ["string", "null"], "enum": ["x", null] }));
    optional(json!({ "const": "x" }), json!({ "anyOf": [{ "const": "x" }, { "type": "null" }] }));
    optional(
        json!({ "type": "array", "items": { "type": "null" } }),
        json!({ "anyOf": [{ "type": "array", "items": { "type": "null" } }, { "type": "null" }] }),
    );
    optional(
        json!({ "oneOf": [{ "type": "integer" }, { "const": "x" }] }),
        json!({ "anyOf": [{ "type": "integer" }, { "const": "x" }, { "type": "null" }] }),
    );
}

#[test]
fn a_schema_that_strict_mode_cannot_say_is_sent_plainly() {
    let deep = (0..11).fold(
        json!({ "type": "null" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner }, "required": ["a"] }),
    );
    let names: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    let inside = |property: Json| json!({ "type": "object", "properties": { "a": property }, "required": ["a"] });
    for (schema, path, why) in [
        (json!({ "type": "object" }), "", "strict mode requires every property to be declared"),
        (inside(json!({})), "/properties/a", "strict mode requires a `type` for every value"),
        (inside(json!(true)), "/properties/a", "strict mode requires a `type` for every value"),
        (inside(json!({ "type": "array" })), "/properties/a", "strict mode requires a `type` for every item"),
        (
            inside(json!({ "type": "object", "additionalProperties": { "type": "null" } })),
            "/properties/a",
            "strict mode requires every property to be declared",
        ),
        (
            inside(json!({ "type": "array", "items": { "type": "null" }, "prefixItems": [{ "type": "null" }] })),
            "/properties/a/prefixItems",
            "strict mode does not support tuples (`prefixItems`)",
        ),
        (
            inside(json!({ "enum": names })),
            "",
            "strict mode allows 1000 values in all `enum` together, and the schema has 1001",
        ),
        (deep, "", "strict mode allows 10 levels of objects inside each other, and the schema has 11"),
    ] {
        let Projection { schema: sent, dropped, target } = project_schema(&schema, SchemaDialect::OpenAiStrict);
        assert_eq!((&sent, target), (&schema, SchemaDialect::OpenAiPlain), "{schema}");
        let why = format!("{why}; the whole schema is sent without strict mode");
        assert!(dropped.iter().any(|dropped| dropped.path == path && dropped.why == why), "{dropped:?}");
    }
}

#[test]
fn schemas_that_contain_themselves_end() {
    let endless = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#", "description": "d" } },
        "allOf": [{ "$ref": "#" }]
    });
    for target in [SchemaDialect::AnthropicTool, SchemaDialect::OpenAiStrict, SchemaDialect::OpenAiPlain] {
        _ = project_schema(&endless, target);
    }
    assert_eq!(restore(&endless, json!({ "a": { "a": null } })), json!({ "a": {} }));
}

#[test]
fn a_null_that_stands_for_nothing_is_left_out_again() {
    let schema = json!({
        "type": "object",
        "properties": {
            "must": { "type": "string" },
            "may": { "type": "string" },
            "may_be_null": { "type": ["string", "null"] },
            "list": { "type": "array", "items": { "$ref": "#/$defs/Item" } }
        },
        "required": ["must"],
        "$defs": { "Item": { "type": "object", "properties": { "x": { "enum": ["a"] } } } }
    });
    for (value, expected) in [
        (json!({ "must": null, "may": null, "may_be_null": null }), json!({ "must": null, "may_be_null": null })),
        (json!({ "must": "a", "other": null }), json!({ "must": "a", "other": null })),
        (json!({ "list": [{ "x": null }, { "x": "a" }, null] }), json!({ "list": [{}, { "x": "a" }, null] })),
        (json!([null]), json!([null])),
        (json!(null), json!(null)),
    ] {
        assert_eq!(restore(&schema, value), expected);
    }
}

/// A schema by what it means.
#[derive(Debug, Clone)]
enum Spec {
    Text(usize),
    Number,
    Word(usize),
    List(Box<Self>),
    Nullable(Box<Self>),
    Named(Box<Self>),
    Object(Fields),
    /// Forms that are told apart by a field.
    Tagged(Vec<Fields>),
    /// The same beside fields of their own.
    Beside(Fields, Vec<Fields>),
    /// Two objects at once.
    Both(Fields, Fields),
}

const WORDS: [&str; 4] = ["x", "y", "z", "w"];

/// A field's name, what it is, and whether it may be missing.
type Fields = Vec<(usize, Spec, bool)>;

fn specs() -> impl Strategy<Value = Spec> {
    let leaf = prop_oneof![(1usize..9).prop_map(Spec::Text), Just(Spec::Number), (1usize..4).prop_map(Spec::Word)];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let fields = || prop::collection::vec((0usize..4, inner.clone(), any::<bool>()), 1..4);
        let forms = || prop::collection::vec(fields(), 1..4);
        prop_oneof![
            inner.clone().prop_map(|spec| Spec::List(Box::new(spec))),
            inner.clone().prop_map(|spec| Spec::Nullable(Box::new(spec))),
            inner.clone().prop_map(|spec| Spec::Named(Box::new(spec))),
            fields().prop_map(Spec::Object),
            forms().prop_map(Spec::Tagged),
            (fields(), forms()).prop_map(|(fields, forms)| Spec::Beside(fields, forms)),
            (fields(), fields()).prop_map(|(one, other)| Spec::Both(one, other)),
        ]
    })
}

fn roots() -> impl Strategy<Value = Spec> {
    specs().prop_filter("a root is an object", |spec| {
        matches!(spec, Spec::Object(_) | Spec::Tagged(_) | Spec::Beside(..) | Spec::Both(..))
    })
}

fn write_object(prefix: &str, fields: &Fields, tag: Option<usize>, defs: &mut Map<String, Json>) -> Json {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    if let Some(tag) = tag {
        properties.insert("tag".into(), json!({ "const": tag }));
        required.push(json!("tag"));
    }
    for (name, spec, optional) in fields {
        let name = format!("{prefix}{name}");
        if properties.contains_key(&name) {
            continue;
        }
        properties.insert(name.clone(), spec.schema(defs));
        if !optional {
            required.push(json!(name));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Choices, one after the other. Nothing where they have run out.
struct Choices<'c>(std::slice::Iter<'c, u8>);

impl Choices<'_> {
    fn of(&mut self, count: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % count
    }
}

fn fill(map: &mut Map<String, Json>, prefix: &str, fields: &Fields, choices: &mut Choices<'_>) {
    let mut seen = BTreeSet::new();
    for (name, spec, optional) in fields {
        let name = format!("{prefix}{name}");
        // Of two fields of a name the schema has the first. A value that may be null or missing is not missing here:
        // null and nothing mean the same to strict mode.
        let missing = *optional && choices.of(2) == 0 && !spec.takes_null();
        if seen.insert(name.clone()) && !missing {
            map.insert(name, spec.value(choices));
        }
    }
}

impl Spec {
    fn takes_null(&self) -> bool {
        match self {
            Self::Nullable(_) => true,
            Self::Named(inner) => inner.takes_null(),
            _ => false,
        }
    }

    fn schema(&self, defs: &mut Map<String, Json>) -> Json {
        match self {
            Self::Text(most) => json!({ "type": "string", "maxLength": most }),
            Self::Number => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            Self::Word(count) => json!({ "enum": WORDS[..*count] }),
            Self::List(inner) => json!({ "type": "array", "items": inner.schema(defs), "maxItems": 3 }),
            Self::Nullable(inner) => json!({ "anyOf": [inner.schema(defs), { "type": "null" }] }),
            Self::Named(inner) => {
                let (schema, name) = (inner.schema(defs), format!("d{}", defs.len()));
                defs.insert(name.clone(), schema);
                json!({ "$ref": format!("#/$defs/{name}"), "description": "named" })
            }
            Self::Object(fields) => write_object("f", fields, None, defs),
            Self::Tagged(forms) => {
                let forms = forms.iter().enumerate().map(|(tag, fields)| write_object("f", fields, Some(tag), defs));
                json!({ "oneOf": forms.collect::<Vec<_>>() })
            }
            Self::Beside(fields, forms) => {
                let mut schema = write_object("b", fields, None, defs);
                let forms = forms.iter().enumerate().map(|(tag, fields)| write_object("f", fields, Some(tag), defs));
                schema["oneOf"] = forms.collect();
                schema
            }
            Self::Both(one, other) => {
                json!({ "allOf": [write_object("b", one, None, defs), write_object("f", other, None, defs)] })
            }
        }
    }

    fn value(&self, choices: &mut Choices<'_>) -> Json {
        let mut map = Map::new();
        let form = |map: &mut Map<String, Json>, forms: &[Fields], choices: &mut Choices<'_>| {
            let tag = choices.of(forms.len());
            map.insert("tag".into(), json!(tag));
            fill(map, "f", &forms[tag], choices);
        };
        match self {
            Self::Text(most) => return json!("é".repeat(choices.of(*most + 1))),
            Self::Number => return json!([0.0, 0.5, 1.0][choices.of(3)]),
            Self::Word(count) => return json!(WORDS[choices.of(*count)]),
            Self::List(inner) => return (0..choices.of(4)).map(|_| inner.value(choices)).collect(),
            Self::Nullable(inner) => {
                return if choices.of(2) == 0 { Json::Null } else { inner.value(choices) };
            }
            Self::Named(inner) => return inner.value(choices),
            Self::Object(fields) => fill(&mut map, "f", fields, choices),
            Self::Tagged(forms) => form(&mut map, forms, choices),
            Self::Beside(fields, forms) => {
                fill(&mut map, "b", fields, choices);
                form(&mut map, forms, choices);
            }
            Self::Both(one, other) => {
                fill(&mut map, "b", one, choices);
                fill(&mut map, "f", other, choices);
            }
        }
        Json::Object(map)
    }
}

fn accepts(root: &Json, schema: &Json, value: &Json) -> bool {
    let mut schema = schema.clone();
    if let (Some(defs), Some(map)) = (root.get("$defs"), schema.as_object_mut()) {
        map.insert("$defs".into(), defs.clone());
    }
    jsonschema::validator_for(&schema).unwrap().is_valid(value)
}

/// The value as strict mode makes a model write it: null for every field that is missing.
fn padded(root: &Json, schema: &Json, value: &Json) -> Json {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        return padded(root, root.pointer(reference.strip_prefix('#').unwrap()).unwrap(), value);
    }
    if let Some(Json::Array(branches)) = schema.get("anyOf") {
        let forms = branches.iter().map(|branch| (branch, padded(root, branch, value)));
        let mut fitting = forms.filter(|(branch, padded)| accepts(root, branch, padded));
        return fitting.next().map_or_else(|| value.clone(), |(_, padded)| padded);
    }
    match value {
        Json::Array(items) => items.iter().map(|item| padded(root, &schema["items"], item)).collect(),
        Json::Object(map) => {
            let mut map = map.clone();
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let value = map.get(name).map_or(Json::Null, |value| padded(root, field, value));
                map.insert(name.clone(), value);
            }
            Json::Object(map)
        }
        scalar => scalar.clone(),
    }
}

/// A schema without what strict mode changes in every one.
fn open(schema: &Json) -> Json {
    match schema {
        Json::Object(map) => {
            let kept = map.iter().filter(|(name, _)| !matches!(name.as_str(), "required" | "additionalProperties"));
            Json::Object(kept.map(|(name, inner)| (name.clone(), open(inner))).collect())
        }
        Json::Array(items) => items.iter().map(open).collect(),
        scalar => scalar.clone(),
    }
}

proptest! {
    #[test]
    fn a_projection_only_loosens(spec in roots(), choices in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut defs = Map::new();
        let mut full = spec.schema(&mut defs);
        full["$defs"] = Json::Object(defs);
        if !matches!(spec, Spec::Tagged(_)) {
            full["type"] = json!("object");
        }
        let value = spec.value(&mut Choices(choices.iter()));
        prop_assert!(accepts(&full, &full, &value), "{full:#} {value:#}");
        for target in [SchemaDialect::AnthropicTool, SchemaDialect::OpenAiPlain, SchemaDialect::OpenAiStrict] {
            let projection = project_schema(&full, target);
            let sent = &projection.schema;
            let same = projection.target == target && open(&full) == open(sent);
            prop_assert_eq!(projection.dropped.is_empty(), same, "{:?}", projection);
            if projection.target != SchemaDialect::OpenAiStrict {
                prop_assert!(accepts(sent, sent, &value), "{sent:#} {value:#}");
                continue;
            }
            let written = padded(sent, sent, &value);
            prop_assert!(accepts(sent, sent, &written), "{sent:#} {written:#}");
            let restored = restore(&full, written.clone());
            prop_assert_eq!(&restored, &value, "{:#} {:#}", full, written);
            visit_schemas(sent, "", &mut |node, path| {
                if node.get("properties").is_some() {
                    let required: Vec<Json> = property_names(node).into_iter().map(Json::from).collect();
                    assert_eq!(node["required"], Json::Array(required), "{path}");
                    assert_eq!(node["additionalProperties"], false, "{path}");
                }
                let taken = ["oneOf", "allOf", "if", "maxLength", "not"];
                assert!(!taken.iter().any(|keyword| node.contains_key(*keyword)), "{path}");
            });
        }
    }
}
