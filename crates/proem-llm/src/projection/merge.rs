//! Says a schema without unions, conditions and `allOf`, as far as one object can.
//!
//! The parts that all branches share are kept. A field that only some branches have becomes optional.

use std::collections::BTreeSet;

use proem_engine::schema::{escape_pointer_segment, property_names, set_order};
use proem_text::json::PROPERTY_ORDER;
use serde_json::{Map, Value as Json, json};

use super::{MAX_DEPTH, Omission, referenced_schema};

/// The keywords taken out of an object: joint, alternative and conditional parts.
const TAKEN: [&str; 8] = ["$ref", "allOf", "anyOf", "dependentSchemas", "else", "if", "oneOf", "then"];

/// Said of a reference that became what it refers to.
pub(super) const WRITTEN_OUT: &str = "inlined, because a `$ref` may have no other keys beside it";

const UNION: &str = "a union can't be sent here; the fields of its branches are sent together";
const CONDITION: &str = "a condition can't be sent here; the answer is checked against it";

/// A merge, and what it loses.
#[derive(Debug)]
pub(super) struct SchemaMerge<'s> {
    root: &'s Json,
    depth: usize,
    pub(super) dropped: Vec<Omission>,
}

/// Branches of which some apply, and whether always one of them does.
struct SchemaUnion {
    branches: Vec<Map<String, Json>>,
    complete: bool,
}

impl<'s> SchemaMerge<'s> {
    pub(super) const fn new(root: &'s Json) -> Self {
        Self { root, depth: 0, dropped: Vec::new() }
    }

    /// Merges into `map` what is in its unions, conditions, references and `allOf`.
    pub(super) fn merge(&mut self, map: &mut Map<String, Json>, path: &str) {
        let mut unions = Vec::new();
        self.take(map, path, &mut unions);
        for union in unions {
            absorb(map, &union);
        }
    }

    fn say(&mut self, path: String, why: &str) {
        self.dropped.push(Omission::new(path, why));
    }

    /// Takes everything in [`TAKEN`] out of `map`; what holds for certain is put back into it.
    fn take(&mut self, map: &mut Map<String, Json>, path: &str, unions: &mut Vec<SchemaUnion>) {
        if self.depth >= MAX_DEPTH || !TAKEN.iter().any(|keyword| map.contains_key(*keyword)) {
            return;
        }
        self.depth = self.depth.saturating_add(1);
        let mut taken: Map<String, Json> = TAKEN.iter().filter_map(|keyword| map.remove_entry(*keyword)).collect();
        if let Some(Json::String(reference)) = taken.remove("$ref") {
            self.say(format!("{path}/$ref"), WRITTEN_OUT);
            if let Some(Json::Object(there)) = referenced_schema(self.root, &reference) {
                self.member(map, there.clone(), path, unions);
            }
        }
        if let Some(Json::Array(members)) = taken.remove("allOf") {
            self.say(format!("{path}/allOf"), "merged into the schema around it");
            for (index, member) in members.into_iter().enumerate() {
                if let Json::Object(member) = member {
                    self.member(map, member, &format!("{path}/allOf/{index}"), unions);
                }
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Json::Array(branches)) = taken.remove(keyword) {
                self.say(format!("{path}/{keyword}"), UNION);
                let branches = branches.into_iter().map(|branch| self.branch(branch)).collect();
                unions.push(SchemaUnion { branches, complete: true });
            }
        }
        if taken.remove("if").is_some() {
            self.say(format!("{path}/if"), CONDITION);
            let branches = ["then", "else"].map(|keyword| taken.remove(keyword).map(|branch| self.branch(branch)));
            let branches: Vec<_> = branches.into_iter().flatten().collect();
            let complete = branches.len() == 2;
            unions.push(SchemaUnion { branches, complete });
        }
        if let Some(Json::Object(dependent)) = taken.remove("dependentSchemas") {
            self.say(format!("{path}/dependentSchemas"), CONDITION);
            let branches = dependent.into_iter().map(|(_, branch)| self.branch(branch)).collect();
            unions.push(SchemaUnion { branches, complete: false });
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// A branch by itself, without unions. Its losses are reported with the whole union.
    fn branch(&mut self, branch: Json) -> Map<String, Json> {
        let Json::Object(mut branch) = branch else { return Map::new() };
        let mut alone = Self { root: self.root, depth: self.depth, dropped: Vec::new() };
        alone.merge(&mut branch, "");
        branch
    }

    /// Adds what a member of `allOf` says to the schema around it.
    fn member(
        &mut self,
        map: &mut Map<String, Json>,
        mut member: Map<String, Json>,
        path: &str,
        unions: &mut Vec<SchemaUnion>,
    ) {
        self.take(&mut member, path, unions);
        let mut order = property_names(map);
        order.extend(property_names(&member).into_iter().filter(|name| !order.contains(name)).collect::<Vec<_>>());
        member.remove(PROPERTY_ORDER);
        for (keyword, value) in member {
            match (keyword.as_str(), map.get_mut(&keyword), value) {
                ("properties", Some(Json::Object(known)), Json::Object(properties)) => {
                    for (name, property) in properties {
                        let path = format!("{path}/properties/{}", escape_pointer_segment(&name));
                        match known.get(&name) {
                            Some(same) if *same == property => {}
                            Some(_) => self.say(path, "given in two places; only one is sent"),
                            None => _ = known.insert(name, property),
                        }
                    }
                }
                ("required", Some(Json::Array(known)), Json::Array(names)) => {
                    for name in names {
                        if !known.contains(&name) {
                            known.push(name);
                        }
                    }
                }
                // They speak of the names beside them, which are no longer the only ones.
                ("additionalProperties" | "unevaluatedProperties", None, value) if !path.is_empty() => {
                    let why = "refers to sibling properties and can't be merged";
                    if map.is_empty() {
                        map.insert(keyword, value);
                    } else {
                        self.say(format!("{path}/{keyword}"), why);
                    }
                }
                (_, None, value) => _ = map.insert(keyword, value),
                (_, Some(same), value) if *same == value => {}
                _ => self.say(format!("{path}/{keyword}"), "given in two places; only one is sent"),
            }
        }
        set_order(map, order);
    }
}

/// Adds to `map` the fields of a union's branches, and what all branches require.
fn absorb(map: &mut Map<String, Json>, union: &SchemaUnion) {
    let declared = |branch: &Map<String, Json>| branch.get("properties").and_then(Json::as_object).cloned();
    let fields: Vec<Map<String, Json>> = union.branches.iter().filter_map(declared).collect();
    let mut names: Vec<String> = Vec::new();
    for name in union.branches.iter().flat_map(property_names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let mut order = property_names(map);
        order.extend(names.iter().filter(|name| !order.contains(name)).cloned().collect::<Vec<_>>());
        set_order(map, order);
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        if let Json::Object(properties) = properties {
            for name in names {
                if !properties.contains_key(&name) {
                    let forms = fields.iter().filter_map(|fields| fields.get(&name).cloned()).collect();
                    properties.insert(name, either(forms));
                }
            }
        }
    }
    if union.complete {
        let required = |branch: &Map<String, Json>| -> Vec<Json> {
            branch.get("required").and_then(Json::as_array).cloned().unwrap_or_default()
        };
        let mut branches = union.branches.iter().map(required);
        let first = branches.next().unwrap_or_default();
        let shared = branches.fold(first, |shared, names| shared.into_iter().filter(|n| names.contains(n)).collect());
        if !shared.is_empty()
            && let Json::Array(known) = map.entry("required").or_insert_with(|| json!([]))
        {
            let new: Vec<Json> = shared.into_iter().filter(|name| !known.contains(name)).collect();
            known.extend(new);
        }
        let kinds: BTreeSet<Option<&str>> =
            union.branches.iter().map(|branch| branch.get("type").and_then(Json::as_str)).collect();
        if let (1, Some(Some(kind))) = (kinds.len(), kinds.first()) {
            map.entry("type").or_insert_with(|| json!(kind));
        }
    }
}

/// A schema for what one of several takes.
fn either(mut forms: Vec<Json>) -> Json {
    let mut different = Vec::new();
    for form in forms.drain(..) {
        if !different.contains(&form) {
            different.push(form);
        }
    }
    let listed: Option<Vec<Json>> =
        different.iter().map(listed_values).collect::<Option<Vec<_>>>().map(|all| all.concat());
    match (different.pop(), different.is_empty(), listed) {
        (Some(only), true, _) => only,
        (_, _, Some(values)) => {
            let mut different = Vec::new();
            for value in values {
                if !different.contains(&value) {
                    different.push(value);
                }
            }
            json!({ "enum": different })
        }
        (last, _, _) => json!({ "anyOf": different.into_iter().chain(last).collect::<Vec<_>>() }),
    }
}

/// The values that a schema lists, if it says little else.
fn listed_values(schema: &Json) -> Option<Vec<Json>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Json::Array(values))) => Some(values.clone()),
        _ => None,
    }
}
