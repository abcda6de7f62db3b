//! Undoes what strict mode forces on the model.

use serde_json::{Map, Value as Json};

use super::{MAX_DEPTH, referenced_schema, schema_accepts_null};

/// Leaves a null out again where the full schema has an optional value that can't be null.
///
/// Strict mode knows no optional fields, so that a model has to write null there. To be called on
/// the value of an answer to a request whose schema was sent as [`super::SchemaDialect::OpenAiStrict`],
/// before it is checked against the full schema. Other values come back as they are.
#[must_use]
pub fn restore(schema: &Json, value: Json) -> Json {
    undo(schema, &[schema], &[], value, 0)
}

/// The schemas that speak of a value.
struct Speaking<'s> {
    root: &'s Json,
    /// Those that hold for it.
    holding: Vec<&'s Map<String, Json>>,
    /// Branches that were not taken. Their fields were sent too.
    others: Vec<&'s Map<String, Json>>,
}

/// Restores a value for which `schemas` hold, while those of `others` were sent for it too.
fn undo(root: &Json, schemas: &[&Json], others: &[&Json], value: Json, depth: usize) -> Json {
    if depth >= MAX_DEPTH || !(value.is_object() || value.is_array()) {
        return value;
    }
    let mut speaking = Speaking { root, holding: Vec::new(), others: Vec::new() };
    schemas.iter().for_each(|schema| speaking.read(schema, &value, 0));
    others.iter().for_each(|schema| speaking.pass(schema, 0));
    let depth = depth.saturating_add(1);
    match value {
        Json::Object(map) => {
            let kept = map.into_iter().filter(|(name, value)| !(value.is_null() && speaking.is_left_out(name)));
            let restored = kept.map(|(name, value)| {
                let (holding, others) = speaking.inside(|schema| schema_under(schema, &name));
                let value = undo(root, &holding, &others, value, depth);
                (name, value)
            });
            Json::Object(restored.collect())
        }
        Json::Array(items) => {
            let restored = items.into_iter().enumerate().map(|(index, item)| {
                let (holding, others) = speaking.inside(|schema| item_schema(schema, index));
                undo(root, &holding, &others, item, depth)
            });
            Json::Array(restored.collect())
        }
        scalar => scalar,
    }
}

/// The schema of the value under a name.
fn schema_under<'s>(schema: &'s Map<String, Json>, name: &str) -> Option<&'s Json> {
    property_schema(schema, name).or_else(|| schema.get("additionalProperties"))
}

fn item_schema(schema: &Map<String, Json>, index: usize) -> Option<&Json> {
    schema.get("prefixItems").and_then(|prefix| prefix.get(index)).or_else(|| schema.get("items"))
}

fn property_schema<'s>(schema: &'s Map<String, Json>, name: &str) -> Option<&'s Json> {
    schema.get("properties")?.get(name)
}

impl<'s> Speaking<'s> {
    fn read(&mut self, schema: &'s Json, value: &Json, depth: usize) {
        let Json::Object(map) = schema else { return };
        if depth >= MAX_DEPTH {
            return;
        }
        let depth = depth.saturating_add(1);
        self.holding.push(map);
        if let Some(there) =
            map.get("$ref").and_then(Json::as_str).and_then(|reference| referenced_schema(self.root, reference))
        {
            self.read(there, value, depth);
        }
        for member in map.get("allOf").and_then(Json::as_array).into_iter().flatten() {
            self.read(member, value, depth);
        }
        for keyword in ["anyOf", "oneOf"] {
            for branch in map.get(keyword).and_then(Json::as_array).into_iter().flatten() {
                if fits(self.root, branch, value, depth) {
                    self.read(branch, value, depth);
                } else {
                    self.pass(branch, depth);
                }
            }
        }
        if let Some(test) = map.get("if") {
            let (taken, other) = if fits(self.root, test, value, depth) { ("then", "else") } else { ("else", "then") };
            if let Some(taken) = map.get(taken) {
                self.read(taken, value, depth);
            }
            if let Some(other) = map.get(other) {
                self.pass(other, depth);
            }
        }
        for (_, dependent) in map.get("dependentSchemas").and_then(Json::as_object).into_iter().flatten() {
            self.pass(dependent, depth);
        }
    }

    /// Takes note of a branch that was not taken.
    fn pass(&mut self, schema: &'s Json, depth: usize) {
        let Json::Object(map) = schema else { return };
        if depth >= MAX_DEPTH {
            return;
        }
        let depth = depth.saturating_add(1);
        self.others.push(map);
        if let Some(there) =
            map.get("$ref").and_then(Json::as_str).and_then(|reference| referenced_schema(self.root, reference))
        {
            self.pass(there, depth);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for branch in map.get(keyword).and_then(Json::as_array).into_iter().flatten() {
                self.pass(branch, depth);
            }
        }
        for keyword in ["then", "else"] {
            if let Some(branch) = map.get(keyword) {
                self.pass(branch, depth);
            }
        }
    }

    /// Whether null under this name can only mean that there is no value.
    fn is_left_out(&self, name: &str) -> bool {
        let mut declared = self.holding.iter().chain(&self.others).filter_map(|schema| property_schema(schema, name));
        let required = |schema: &&Map<String, Json>| {
            schema.get("required").and_then(Json::as_array).is_some_and(|names| names.iter().any(|n| n == name))
        };
        let own: Vec<&Json> = self.holding.iter().filter_map(|schema| property_schema(schema, name)).collect();
        let nullable = !own.is_empty() && own.iter().all(|schema| schema_accepts_null(self.root, schema, 0));
        declared.next().is_some() && !nullable && !self.holding.iter().any(required)
    }

    /// The schemas of a value inside this one: those that hold for it, and those of other branches.
    fn inside(&self, of: impl Fn(&'s Map<String, Json>) -> Option<&'s Json>) -> (Vec<&'s Json>, Vec<&'s Json>) {
        (self.holding.iter().filter_map(|s| of(s)).collect(), self.others.iter().filter_map(|s| of(s)).collect())
    }
}

/// Whether a value may meet a schema, as far as kinds, listed values and those of fields tell.
fn fits(root: &Json, schema: &Json, value: &Json, depth: usize) -> bool {
    let Json::Object(map) = schema else { return *schema != Json::Bool(false) };
    if depth >= MAX_DEPTH {
        return true;
    }
    let inner = |schema: &Json, value: &Json| fits(root, schema, value, depth.saturating_add(1));
    map.iter().all(|(keyword, rule)| match (keyword.as_str(), rule) {
        ("type", Json::String(kind)) => is_of_kind(value, kind),
        ("type", Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).any(|kind| is_of_kind(value, kind)),
        ("const", listed) => listed == value,
        ("enum", Json::Array(listed)) => listed.contains(value),
        ("allOf", Json::Array(members)) => members.iter().all(|member| inner(member, value)),
        ("anyOf" | "oneOf", Json::Array(branches)) => branches.iter().any(|branch| inner(branch, value)),
        ("$ref", Json::String(reference)) => referenced_schema(root, reference).is_none_or(|there| inner(there, value)),
        // A null may represent a value that is left out, so it tells nothing.
        ("properties", Json::Object(properties)) => properties
            .iter()
            .all(|(name, property)| value.get(name).is_none_or(|field| field.is_null() || inner(property, field))),
        ("required", Json::Array(names)) => names.iter().filter_map(Json::as_str).all(|name| {
            let null_counts =
                map.get("properties").and_then(|p| p.get(name)).is_some_and(|p| schema_accepts_null(root, p, 0));
            value.get(name).is_some_and(|field| null_counts || !field.is_null())
        }),
        _ => true,
    })
}

fn is_of_kind(value: &Json, kind: &str) -> bool {
    match value {
        Json::Null => kind == "null",
        Json::Bool(_) => kind == "boolean",
        Json::Number(number) => {
            kind == "number"
                || (kind == "integer"
                    && (number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)))
        }
        Json::String(_) => kind == "string",
        Json::Array(_) => kind == "array",
        Json::Object(_) => kind == "object",
    }
}
