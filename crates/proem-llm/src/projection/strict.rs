//! OpenAI's strict mode: which keywords it takes is in the parent's documentation.

use proem_engine::schema::{escape_pointer_segment, property_names};
use proem_text::json::PROPERTY_ORDER;
use serde_json::{Map, Value as Json, json};

use super::merge::{SchemaMerge, WRITTEN_OUT};
use super::{MAX_DEPTH, Omission, dangling, limits, referenced_schema, schema_accepts_null};

/// Keywords that are sent as they are.
const SENT: [&str; 14] = [
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
    "type",
    PROPERTY_ORDER,
];

/// Keywords that this module treats by themselves.
const TREATED: [&str; 9] =
    ["$defs", "$ref", "additionalProperties", "anyOf", "definitions", "format", "items", "properties", "required"];

/// Formats that are taken.
const FORMATS: [&str; 9] = ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

/// Keywords that say nothing about which values are meant.
const REMARKS: [&str; 10] =
    ["$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description", "examples", "title"];

/// The projected schema with what was dropped.
///
/// # Errors
///
/// If strict mode can't express it at all.
pub(super) fn project_strictly(schema: &Json) -> Result<(Json, Vec<Omission>), Vec<Omission>> {
    let mut strict = StrictProjection { root: schema, depth: 0, dropped: Vec::new(), unsayable: Vec::new() };
    let sent = strict.node(schema, "", SchemaDepth::Root);
    let StrictProjection { dropped, mut unsayable, .. } = strict;
    unsayable.extend(limits::exceeded_limits(&sent));
    let nowhere = "refers to a part of the schema that is changed before it is sent";
    unsayable.extend(dangling(&sent).into_iter().map(|path| Omission::new(path, nowhere)));
    if unsayable.is_empty() {
        return Ok((sent, dropped));
    }
    for dropped in &mut unsayable {
        dropped.why.push_str("; the whole schema is sent without strict mode");
    }
    Err(unsayable)
}

/// Whether a schema is the whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaDepth {
    Root,
    Inside,
}

struct StrictProjection<'s> {
    root: &'s Json,
    depth: usize,
    dropped: Vec<Omission>,
    unsayable: Vec<Omission>,
}

impl StrictProjection<'_> {
    fn say(&mut self, path: String, why: &str) {
        self.dropped.push(Omission::new(path, why));
    }

    fn refuse(&mut self, path: &str, why: &str) {
        self.unsayable.push(Omission::new(path, why));
    }

    fn node(&mut self, schema: &Json, path: &str, standing: SchemaDepth) -> Json {
        let Json::Object(map) = schema else {
            self.refuse(path, "strict mode requires a `type` for every value");
            return schema.clone();
        };
        if self.depth >= MAX_DEPTH {
            self.refuse(path, "the schema is nested too deeply for strict mode");
            return schema.clone();
        }
        if standing == SchemaDepth::Inside && map.len() == 1 && map.contains_key("$ref") {
            return schema.clone();
        }
        self.depth = self.depth.saturating_add(1);
        let mut map = map.clone();
        self.write_out(&mut map, path);
        if standing == SchemaDepth::Root || !self.union(&mut map, path) {
            let mut merging = SchemaMerge::new(self.root);
            merging.merge(&mut map, path);
            self.dropped.append(&mut merging.dropped);
        }
        let sent = self.keywords(map, path, standing);
        self.depth = self.depth.saturating_sub(1);
        sent
    }

    /// Puts the schema behind a reference in its place, if there are only remarks beside it.
    fn write_out(&mut self, map: &mut Map<String, Json>, path: &str) {
        for _ in 0..MAX_DEPTH {
            let Some(Json::String(reference)) = map.get("$ref") else { return };
            let remarks = map.keys().all(|keyword| keyword == "$ref" || REMARKS.contains(&keyword.as_str()));
            let Some(Json::Object(there)) = referenced_schema(self.root, reference).filter(|_| remarks) else { return };
            map.remove("$ref");
            for (keyword, value) in there {
                map.entry(keyword).or_insert_with(|| value.clone());
            }
            self.say(format!("{path}/$ref"), WRITTEN_OUT);
        }
    }

    /// Makes a union that is by itself one that is taken. Whether it is one.
    fn union(&mut self, map: &mut Map<String, Json>, path: &str) -> bool {
        let unions: Vec<&str> = ["anyOf", "oneOf"].into_iter().filter(|keyword| map.contains_key(*keyword)).collect();
        let [keyword] = unions.as_slice() else { return false };
        if map.keys().any(|other| other != keyword && other != "type" && !REMARKS.contains(&other.as_str())) {
            return false;
        }
        let kind = map.remove("type");
        let Some(Json::Array(mut branches)) = map.remove(*keyword) else { return false };
        if *keyword == "oneOf" {
            self.say(format!("{path}/oneOf"), "sent as `anyOf`");
        }
        if let Some(kind) = kind {
            self.say(format!("{path}/type"), "sent with each branch of the union");
            for branch in branches.iter_mut().filter_map(Json::as_object_mut) {
                if !branch.contains_key("$ref") {
                    branch.entry("type").or_insert_with(|| kind.clone());
                }
            }
        }
        map.insert("anyOf".into(), Json::Array(branches));
        true
    }

    fn keywords(&mut self, map: Map<String, Json>, path: &str, standing: SchemaDepth) -> Json {
        let full = map.clone();
        let mut sent = Map::new();
        for (keyword, value) in map {
            let at = format!("{path}/{keyword}");
            match (keyword.as_str(), value) {
                ("$defs" | "definitions", Json::Object(schemas)) => {
                    let inner = |(name, schema): (String, Json)| {
                        let schema =
                            self.node(&schema, &format!("{at}/{}", escape_pointer_segment(&name)), SchemaDepth::Inside);
                        (name, schema)
                    };
                    let schemas: Map<String, Json> = schemas.into_iter().map(inner).collect();
                    sent.insert(keyword, Json::Object(schemas));
                }
                ("anyOf", Json::Array(branches)) => {
                    let branches = branches.iter().enumerate();
                    let branches =
                        branches.map(|(n, branch)| self.node(branch, &format!("{at}/{n}"), SchemaDepth::Inside));
                    let branches: Vec<Json> = branches.collect();
                    sent.insert(keyword, Json::Array(branches));
                }
                ("items", schema) => {
                    let schema = self.node(&schema, &at, SchemaDepth::Inside);
                    sent.insert(keyword, schema);
                }
                ("format", Json::String(format)) if FORMATS.contains(&format.as_str()) => {
                    sent.insert(keyword, Json::String(format));
                }
                ("additionalProperties", Json::Bool(false)) => {}
                ("additionalProperties" | "patternProperties", _) => {
                    self.refuse(&at, "strict mode requires every property to be declared");
                }
                ("prefixItems", _) => self.refuse(&at, "strict mode does not support tuples (`prefixItems`)"),
                (name, value) if SENT.contains(&name) => _ = sent.insert(keyword, value),
                (name, _) if TREATED.contains(&name) && name != "format" => {}
                _ => self.say(at, "strict mode doesn't support this; Proem checks the answer instead"),
            }
        }
        self.shape(&full, &mut sent, path, standing);
        Json::Object(sent)
    }

    /// Sees to it that the kind is said, and closes objects.
    fn shape(&mut self, full: &Map<String, Json>, sent: &mut Map<String, Json>, path: &str, standing: SchemaDepth) {
        if standing == SchemaDepth::Root && !sent.contains_key("type") {
            // A contract's root is an object whatever its branches say.
            sent.insert("type".into(), json!("object"));
            self.say("/type".into(), "added at the root, as the provider requires");
        }
        let is = |kind: &str| match sent.get("type") {
            Some(Json::String(name)) => name == kind,
            Some(Json::Array(names)) => names.contains(&json!(kind)),
            _ => false,
        };
        let listed = ["enum", "const"].iter().any(|keyword| sent.contains_key(*keyword));
        let said = ["type", "anyOf", "$ref"].iter().any(|keyword| sent.contains_key(*keyword));
        if !listed && !said {
            return self.refuse(path, "strict mode requires a `type` for every value");
        }
        if is("array") && !listed && !sent.contains_key("items") {
            self.refuse(path, "strict mode requires a `type` for every item");
        }
        if !is("object") || listed {
            return;
        }
        let properties = match full.get("properties") {
            Some(Json::Object(properties)) => properties.clone(),
            _ if full.get("additionalProperties") == Some(&Json::Bool(false)) => Map::new(),
            _ => return self.refuse(path, "strict mode requires every property to be declared"),
        };
        let required = full.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
        let mut all = Map::new();
        let names = property_names(full);
        for (name, property) in names.iter().filter_map(|name| properties.get_key_value(name)) {
            let at = format!("{path}/properties/{}", escape_pointer_segment(name));
            let mut projected = self.node(property, &at, SchemaDepth::Inside);
            if !required.contains(&json!(name)) && !schema_accepts_null(self.root, property, 0) {
                projected = nullable(projected);
                self.say(at, "optional: sent as required; null means that it is left out");
            }
            all.insert(name.clone(), projected);
        }
        sent.insert("required".into(), names.iter().map(|name| json!(name)).collect());
        sent.insert("properties".into(), Json::Object(all));
        sent.insert("additionalProperties".into(), json!(false));
    }
}

/// The schema, or null.
fn nullable(schema: Json) -> Json {
    let nothing = json!({ "type": "null" });
    let Json::Object(mut map) = schema else { return schema };
    if let Some(Json::Array(branches)) = map.get_mut("anyOf") {
        branches.push(nothing);
        return Json::Object(map);
    }
    let scalar = |kind: &Json| matches!(kind.as_str(), Some("boolean" | "integer" | "number" | "string"));
    let kinds = match map.get("type") {
        Some(kind) if scalar(kind) => Some(json!([kind, "null"])),
        Some(Json::Array(kinds)) if kinds.iter().all(scalar) => {
            Some(kinds.iter().cloned().chain([json!("null")]).collect())
        }
        _ => None,
    };
    let typed = map.contains_key("type");
    // If the kind can't be widened, the whole schema is one of two.
    if map.contains_key("const") || (typed && kinds.is_none()) || !(typed || map.contains_key("enum")) {
        return json!({ "anyOf": [map, nothing] });
    }
    if let Some(kinds) = kinds {
        map.insert("type".into(), kinds);
    }
    if let Some(Json::Array(values)) = map.get_mut("enum") {
        values.push(Json::Null);
    }
    Json::Object(map)
}
