//! The inputs of a plain file that declares none: dotprompt lets a template name them.
//!
//! Only texts are found this way: what is printed by its name is a text, and what is only asked for by `if` may be
//! missing. A template that goes into a value, or through a list, has to declare it.

use serde_json::{Value as Json, json};

use super::analyse::{HELPERS, MARKERS};
use super::template::{Expression, Statement, Template, parse_template};
use crate::schema::set_order;

/// The schema of the inputs that a body prints. `None` if it prints none by its name.
pub(super) fn input_schema(body: &str) -> Option<Json> {
    let template = parse_template(body).ok()?;
    let mut names: Vec<(String, Presence)> = Vec::new();
    collect_input_names(&template, Presence::Always, &mut names);
    if names.is_empty() {
        return None;
    }
    let kind = |presence| if presence == Presence::Always { json!("string") } else { json!(["string", "null"]) };
    let properties: serde_json::Map<String, Json> =
        names.iter().map(|(name, presence)| (name.clone(), json!({ "type": kind(*presence) }))).collect();
    let required: Vec<&String> =
        names.iter().filter(|(_, presence)| *presence == Presence::Always).map(|(name, _)| name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("required".to_owned(), json!(required));
        set_order(fields, names.iter().map(|(name, _)| name.clone()).collect());
    }
    Some(schema)
}

/// Whether a template always needs an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    Sometimes,
}

fn collect_input_names(template: &Template, presence: Presence, names: &mut Vec<(String, Presence)>) {
    for node in &template.nodes {
        match &node.element {
            Statement::Print(call, _) if call.is_bare() => {
                if let Some(name) = call.path.simple() {
                    add_input_name(name, presence, names);
                }
            }
            Statement::Print(call, _) if call.path.simple() == Some("media") => {
                for (_, value) in call.named.iter().filter(|(name, _)| name == "url") {
                    if let Expression::Path(path) = value
                        && let Some(name) = path.simple()
                    {
                        add_input_name(name, presence, names);
                    }
                }
            }
            Statement::Block(block) if matches!(block.call.path.simple(), Some("if" | "unless")) => {
                if let [Expression::Path(path)] = block.call.arguments.as_slice()
                    && let Some(name) = path.simple()
                {
                    add_input_name(name, Presence::Sometimes, names);
                }
                for inner in [&block.body, &block.inverse].into_iter().flatten() {
                    collect_input_names(inner, Presence::Sometimes, names);
                }
            }
            _ => {}
        }
    }
}

fn add_input_name(name: &str, presence: Presence, names: &mut Vec<(String, Presence)>) {
    if HELPERS.contains(&name) || MARKERS.contains(&name) || name == "else" {
        return;
    }
    match names.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) if presence == Presence::Always => *known = presence,
        Some(_) => {}
        None => names.push((name.to_owned(), presence)),
    }
}

#[cfg(test)]
mod tests {
    use super::input_schema;

    #[test]
    fn what_a_template_prints_is_a_text() {
        let found =
            |body: &str| input_schema(body).map(|schema| (schema["required"].clone(), schema["properties"].clone()));
        let (required, properties) = found("Hi {{name}}{{#if tone}}, {{tone}}{{/if}}{{#if name}}!{{/if}}").unwrap();
        assert_eq!(required, serde_json::json!(["name"]));
        assert_eq!(properties["tone"]["type"], serde_json::json!(["string", "null"]));
        for body in ["plain", "{{role \"user\"}}x", "{{#each items}}{{this}}{{/each}}", "{{a.b}}", "{{broken"] {
            assert!(found(body).is_none(), "{body}");
        }
    }
}
