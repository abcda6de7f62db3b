//! The schema that Anthropic holds a text to, `output_config.format`:
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
//!
//! It takes what OpenAI's strict mode takes, without limits of numbers, patterns, lists of more than
//! one item that must be there, and schemas that contain themselves. Answers are checked against
//! the full schema anyway.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::projection::Omission;

/// Keywords that are refused whatever they say. Of patterns a part is taken, which is not worth
/// telling apart.
const REFUSED: [&str; 7] =
    ["exclusiveMaximum", "exclusiveMinimum", "maxItems", "maximum", "minimum", "multipleOf", "pattern"];

/// How deep schemas are followed. Strict mode allows ten levels of objects.
const MAX_DEPTH: usize = 64;

/// The part of a schema for strict mode, and the dropped parts. None if strict mode can't express it.
pub(super) fn enforced_schema(strict: Value) -> Option<(Value, Vec<Omission>)> {
    let mut path = ReferencePath::default();
    if !path.ends(&strict, &strict, 0) {
        return None;
    }
    let (mut sent, mut dropped) = (strict, Vec::new());
    loosen_schema(&mut sent, "", &mut dropped);
    Some((sent, dropped))
}

fn loosen_schema(node: &mut Value, at: &str, dropped: &mut Vec<Omission>) {
    let Some(fields) = node.as_object_mut() else { return };
    let is_refused = |key: &str, value: &Value| match key {
        "minItems" => value.as_u64().is_none_or(|least| least > 1),
        _ => REFUSED.contains(&key),
    };
    fields.retain(|key, value| {
        let refused = is_refused(key, value);
        if refused {
            let why = String::from("the provider doesn't enforce this limit; Proem checks the answer instead");
            dropped.push(Omission { path: format!("{at}/{key}"), why });
        }
        !refused
    });
    for (key, inner) in fields.iter_mut() {
        match (key.as_str(), inner) {
            ("items", inner) => loosen_schema(inner, &format!("{at}/items"), dropped),
            ("anyOf", Value::Array(branches)) => {
                for (index, branch) in branches.iter_mut().enumerate() {
                    loosen_schema(branch, &format!("{at}/anyOf/{index}"), dropped);
                }
            }
            ("$defs" | "definitions" | "properties", Value::Object(named)) => {
                for (name, inner) in named.iter_mut() {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    loosen_schema(inner, &format!("{at}/{key}/{name}"), dropped);
                }
            }
            _ => {}
        }
    }
}

/// The references that are being followed, and those that are known to end.
#[derive(Default)]
struct ReferencePath<'s> {
    open: BTreeSet<&'s str>,
    done: BTreeSet<&'s str>,
}

impl<'s> ReferencePath<'s> {
    /// Whether no schema below contains itself.
    fn ends(&mut self, root: &'s Value, node: &'s Value, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let deeper = depth.saturating_add(1);
        if let Some(reference) = node.get("$ref").and_then(Value::as_str).filter(|to| !self.done.contains(to)) {
            let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            let ends = self.open.insert(reference) && target.is_some_and(|target| self.ends(root, target, deeper));
            if !ends {
                return false;
            }
            self.open.remove(reference);
            self.done.insert(reference);
        }
        let named = node.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(_, inner)| inner);
        let branches = node.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        named.chain(branches).chain(node.get("items")).all(|inner| self.ends(root, inner, deeper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The sent part, and the places of the dropped ones.
    #[track_caller]
    fn check(strict: Value, expected: Option<(Value, &[&str])>) {
        let told = strict.to_string();
        let found = enforced_schema(strict).map(|(sent, dropped)| {
            let paths: Vec<String> = dropped.into_iter().map(|one| one.path).collect();
            (sent, paths)
        });
        let expected = expected.map(|(sent, paths)| (sent, paths.iter().map(|path| (*path).to_owned()).collect()));
        assert_eq!(found, expected, "{told}");
    }

    #[test]
    fn limits_are_dropped_where_they_are_keywords() {
        check(
            json!({ "type": "object", "properties": {
                "maximum": { "type": "integer", "minimum": 1, "maximum": 9 },
                "a/b": { "type": "array", "minItems": 1, "maxItems": 5, "items": { "type": "string", "pattern": "x" } },
                "c": { "anyOf": [{ "type": "null" }, { "type": "array", "minItems": 2, "items": { "const": 1 } }] },
            } }),
            Some((
                json!({ "type": "object", "properties": {
                    "maximum": { "type": "integer" },
                    "a/b": { "type": "array", "minItems": 1, "items": { "type": "string" } },
                    "c": { "anyOf": [{ "type": "null" }, { "type": "array", "items": { "const": 1 } }] },
                } }),
                &[
                    "/properties/a~1b/maxItems",
                    "/properties/a~1b/items/pattern",
                    "/properties/c/anyOf/1/minItems",
                    "/properties/maximum/maximum",
                    "/properties/maximum/minimum",
                ],
            )),
        );
    }

    #[test]
    fn a_schema_that_contains_itself_is_not_said() {
        let list = |next: Value| {
            json!({ "$ref": "#/$defs/list", "$defs": { "list": { "properties": { "next": next, "again": { "$ref": "#/$defs/end" } } },
                "end": { "type": "null" } } })
        };
        check(list(json!({ "$ref": "#/$defs/list" })), None);
        check(list(json!({ "items": { "anyOf": [{ "$ref": "#" }] } })), None);
        check(list(json!({ "$ref": "#/$defs/nowhere" })), None);
        let twice = list(json!({ "$ref": "#/$defs/end" }));
        check(twice.clone(), Some((twice, &[])));
    }
}
