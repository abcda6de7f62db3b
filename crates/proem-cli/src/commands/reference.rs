//! `proem reference`, hidden: the configuration's page below `docs/reference/`, of which only the binary knows.

use std::collections::VecDeque;
use std::process::ExitCode;

use proem_app::config::Config;
use proem_text::json;
use schemars::schema_for;
use serde_json::Value as Json;

use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn print_configuration_reference() -> Result<ExitCode, CommandFailure> {
    ui::data(&configuration_reference())?;
    Ok(ExitCode::SUCCESS)
}

const INTRODUCTION: &str = "\
# Configuration

Your configuration is the file `proem/config.toml` below `$XDG_CONFIG_HOME` (`~/.config` if that is
not set). A repository may have a `proem.toml` at its root, with the same keys. Once you trust it
with `proem trust`, its keys override yours, table by table. Until then it can only lower limits:
its `max_context_tokens`, `code_share`, `context`, `max_tools`, `max_skills`, `max_memories`, `max_results`, the
caps below `[budget]` and the limits below `[lisp]` apply if they are lower than yours, `records.keep` applies if it keeps less, and everything
else in it is ignored. `[effects]`, `[store]`, `[webhooks]` and `records.days` are yours alone: a `proem.toml` changes nothing about
them, trusted or not.

A key that isn't listed here is an error. A key without a default may be left out.
";

/// The end of the document.
const EXAMPLE: &str = r#"model = "large"
baseline = "old-prompt.md"

[assemble]
max_context_tokens = 6000
tools = ["read", "search"]

[assemble.paths]
rules = "rules.md"

[assemble.layers]
capabilities = 800

[assemble.modes.act]
tools = ["edit", "test"]

[roles]
small = "ollama/llama3.1"

[budget]
zone = "Europe/Berlin"

[budget.project]
day = 0.50
month = 8.00

[budget.user]
day_tokens = 2000000

[records]
days = 30

[adapt]
preferred_format = "Markdown"

[providers.ollama]
base_url = "http://127.0.0.1:11434/v1"

[providers.gateway]
base_url = "https://gateway.example/v1"
key = "GATEWAY_KEY"
concurrency = 4

[effects.mail]
from = "projects@example.org"

[effects.mail.server]
host = "mail.example.org"
user = "projects"
credential = "mail"

[effects.credentials]
mail = { file = "mail-password" }
tickets = { variable = "TICKETS_TOKEN" }

[effects.servers.tickets]
origin = "https://tickets.example.org"
credential = "tickets"

[effects.requests.jira_comment]
server = "tickets"
kind = "comment"
method = "POST"
path = "/rest/api/2/issue/{target}/comment"
body = { body = "{body}" }
"#;

/// A table of the configuration.
struct ConfigTable<'s> {
    /// Its name as TOML has it. Empty for the top level.
    name: String,
    schema: &'s Json,
}

/// Every table of the configuration with its keys.
fn configuration_reference() -> String {
    let root = schema_for!(Config).to_value();
    let mut out = String::from(INTRODUCTION);
    let mut tables = VecDeque::from([ConfigTable { name: String::new(), schema: &root }]);
    while let Some(table) = tables.pop_front() {
        let (heading, keys) = match table.name.as_str() {
            "" => ("Top level".to_owned(), String::new()),
            name => (format!("`[{name}]`"), schema_sentence(table.schema)),
        };
        out.push_str(&format!("\n## {heading}\n\n"));
        if !keys.is_empty() {
            out.push_str(&format!("{keys}\n\n"));
        }
        out.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        tables.extend(push_key_rows(&root, &table, &mut out));
    }
    out.push_str(&format!("\n## Example\n\n```toml\n{EXAMPLE}```\n"));
    out
}

/// Writes a row for each key. The tables among them.
fn push_key_rows<'s>(root: &'s Json, table: &ConfigTable<'s>, out: &mut String) -> Vec<ConfigTable<'s>> {
    let mut tables = Vec::new();
    let properties = table.schema.get("properties").and_then(Json::as_object).into_iter().flatten();
    for (key, value) in properties {
        let target = resolve_key_schema(root, value);
        let name = if table.name.is_empty() { key.clone() } else { format!("{}.{key}", table.name) };
        let of_any = target.get("additionalProperties").map(|schema| resolve_key_schema(root, schema));
        let (schema, name) = match of_any {
            Some(schema) if is_table(schema) => {
                (schema, format!("{name}.{}", key.trim_end_matches('s').to_uppercase()))
            }
            _ => (target, name),
        };
        if is_table(schema) {
            let placeholder = name.rsplit('.').next().filter(|_| of_any.is_some_and(is_table));
            let names = placeholder.map_or_else(String::new, |placeholder| {
                let names: Vec<String> = schema_key_names(target).map(|(name, _)| format!("`{name}`")).collect();
                if names.is_empty() { String::new() } else { format!(" {placeholder} is one of {}.", names.join(", ")) }
            });
            out.push_str(&format!("| `{key}` | table `[{name}]` | | {}{names} |\n", schema_sentence(value)));
            tables.push(ConfigTable { name, schema });
        } else {
            out.push_str(&format!(
                "| `{key}` | {} |{}| {} |\n",
                value_kind(root, target),
                default(value),
                schema_sentence(value)
            ));
        }
    }
    for (key, about) in schema_key_names(table.schema) {
        let kind = table.schema.get("additionalProperties").map(|of| value_kind(root, of)).unwrap_or_default();
        out.push_str(&format!("| `{key}` | {kind} | | {about} |\n"));
    }
    tables
}

/// The schema behind a reference, or behind a value that may be left out.
fn resolve_key_schema<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let schema = schema.get("anyOf").and_then(|any| any.get(0)).unwrap_or(schema);
    let path = schema.get("$ref").and_then(Json::as_str).map(|path| path.trim_start_matches('#'));
    path.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

fn is_table(schema: &Json) -> bool {
    schema.get("properties").is_some() || schema.get("propertyNames").is_some()
}

/// The keys that a map may have, with what each represents.
fn schema_key_names(map: &Json) -> impl Iterator<Item = (&str, String)> {
    let names = map.get("propertyNames").and_then(|names| names.get("oneOf")).and_then(Json::as_array);
    names.into_iter().flatten().filter_map(|name| Some((name.get("const")?.as_str()?, schema_sentence(name))))
}

fn schema_sentence(schema: &Json) -> String {
    schema.get("description").and_then(Json::as_str).unwrap_or_default().replace('\n', " ")
}

/// The form of a value.
fn value_kind(root: &Json, schema: &Json) -> String {
    let below =
        |word: &str| schema.get(word).map(|of| value_kind(root, resolve_key_schema(root, of))).unwrap_or_default();
    let of = |name: &str| match name {
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "array" => format!("list of {}", below("items")),
        "object" => format!("table of {}", below("additionalProperties")),
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Json::String(name)) => of(name),
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).find(|name| *name != "null").map(of).unwrap_or_default()
        }
        _ => match schema.get("oneOf").and_then(Json::as_array) {
            Some(choices) => choice_kind(choices),
            None => "anything".to_owned(),
        },
    }
}

/// The form of a choice: a word, each with its meaning, or a table with one of several keys.
fn choice_kind(choices: &[Json]) -> String {
    let keys = choices.iter().filter_map(|choice| choice.get("properties")?.as_object()?.keys().next());
    let tables: Vec<String> = keys.map(|key| format!("`{{ {key} = … }}`")).collect();
    if tables.is_empty() { "text".to_owned() } else { tables.join(" or ") }
}

fn default(schema: &Json) -> String {
    match schema.get("default") {
        None | Some(Json::Null) => " ".to_owned(),
        Some(value) => format!(" `{}` ", json::compact(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_configuration() {
        let config = Config::parse("config.toml", EXAMPLE).unwrap();
        assert_eq!(config.model.as_deref(), Some("large"));
    }
}
