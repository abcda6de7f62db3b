//! `proem reference`, hidden: the texts below `docs/reference/` that only the binary knows.

use std::collections::VecDeque;
use std::process::ExitCode;

use clap::ValueEnum;
use proem_text::json;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value as Json, json};

use super::book::experiment::ListedExperiment;
use super::{assemble, book, doctor, improve, lisp, run};
use crate::failure::CommandFailure;
use crate::ui;
use proem_app::NoteKind;
use proem_app::book::batch::FeedbackBatch;
use proem_app::book::experiments::status::ExperimentStatus;
use proem_app::book::version_figures::VersionFigures;
use proem_app::config::Config;
use proem_app::context::output::FindOutput;
use proem_app::triage::output::{ArtefactsOutput, TriageOutput, TriageSignalsOutput, TriageStatusOutput};
use proem_app::triage::sync::SyncReport;

/// A reference document that only the binary can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceDocument {
    /// Every key of config.toml and proem.toml
    Configuration,
    /// The JSON Schema of an agent's file
    AgentSchema,
    /// The JSON Schema of `assemble --json`
    AssembleSchema,
    /// The JSON Schema of `book proposals --json`
    BookProposalsSchema,
    /// The JSON Schema of `book test --json`
    BookTestSchema,
    /// The JSON Schema of `book stats --json`
    BookStatsSchema,
    /// The JSON Schema of `doctor --json`
    DoctorSchema,
    /// The JSON Schema of `book experiment list --json`
    ExperimentListSchema,
    /// The JSON Schema of `book experiment status --json`
    ExperimentStatusSchema,
    /// The JSON Schema of `feedback batch --json`
    FeedbackBatchSchema,
    /// The JSON Schema of `find --json`
    FindSchema,
    /// The JSON Schema of `improve --json`
    ImproveSchema,
    /// The JSON Schema of `lisp agent --json`
    LispAgentSchema,
    /// The JSON Schema of `lisp check --json`
    LispCheckSchema,
    /// The JSON Schema of `lisp run --json`
    LispRunSchema,
    /// The JSON Schema of `risk --json`
    RiskSchema,
    /// The JSON Schema of `run --json`
    RunSchema,
    /// The JSON Schema of `scan --json`
    ScanSchema,
    /// The JSON Schema of `triage run --json`
    TriageRunSchema,
    /// The JSON Schema of `triage signals --json`
    TriageSignalsSchema,
    /// The JSON Schema of `triage status --json`
    TriageStatusSchema,
    /// The JSON Schema of `triage sync --json`
    TriageSyncSchema,
    /// The JSON Schema of `artefacts show --json`
    ArtefactsSchema,
}

pub(super) fn print_reference(document: ReferenceDocument) -> Result<ExitCode, CommandFailure> {
    ui::data(&match document {
        ReferenceDocument::Configuration => configuration_reference(),
        ReferenceDocument::AgentSchema => proem_agents::lisp::AGENT_SCHEMA.to_owned(),
        ReferenceDocument::AssembleSchema => schema_text(&schema_for!(assemble::WithProfile).to_value()),
        ReferenceDocument::BookProposalsSchema => {
            published_schema_text::<book::decide::proposals_output::ProposalsOutput<'_>>()
        }
        ReferenceDocument::BookTestSchema => published_schema_text::<book::test::output::BookTestOutput<'_>>(),
        ReferenceDocument::BookStatsSchema => schema_text(&schema_for!(Vec<VersionFigures>).to_value()),
        ReferenceDocument::DoctorSchema => published_schema_text::<doctor::DoctorOutput>(),
        ReferenceDocument::ExperimentListSchema => schema_text(&schema_for!(Vec<ListedExperiment>).to_value()),
        ReferenceDocument::ExperimentStatusSchema => schema_text(&schema_for!(ExperimentStatus).to_value()),
        ReferenceDocument::FeedbackBatchSchema => published_schema_text::<FeedbackBatch>(),
        ReferenceDocument::FindSchema => published_schema_text::<FindOutput>(),
        ReferenceDocument::ImproveSchema => published_schema_text::<improve::ImproveOutput<'_>>(),
        ReferenceDocument::LispAgentSchema => published_schema_text::<lisp::step::LispAgentOutput>(),
        ReferenceDocument::LispCheckSchema => published_schema_text::<lisp::output::LispCheckOutput>(),
        ReferenceDocument::LispRunSchema => published_schema_text::<lisp::output::LispRunOutput>(),
        ReferenceDocument::RiskSchema => schema_text(&schema_for!(proem_agents::risk::report::RiskReport).to_value()),
        ReferenceDocument::RunSchema => published_schema_text::<run::output::RunOutput>(),
        ReferenceDocument::ScanSchema => published_schema_text::<proem_app::scan::output::ScanOutput>(),
        ReferenceDocument::TriageRunSchema => published_schema_text::<TriageOutput>(),
        ReferenceDocument::TriageSignalsSchema => published_schema_text::<TriageSignalsOutput>(),
        ReferenceDocument::TriageStatusSchema => published_schema_text::<TriageStatusOutput>(),
        ReferenceDocument::TriageSyncSchema => published_schema_text::<SyncReport>(),
        ReferenceDocument::ArtefactsSchema => published_schema_text::<ArtefactsOutput>(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn schema_text(schema: &Json) -> String {
    format!("{}\n", json::pretty(schema))
}

/// The schema of a document that [`ui::print_published_document`] prints: of its type, and of the notes beside it.
fn published_schema_text<T: JsonSchema>() -> String {
    let mut schema = schema_for!(T).to_value();
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        properties.insert(ui::NOTES.to_owned(), notes_schema());
    }
    schema_text(&schema)
}

fn notes_schema() -> Json {
    json!({
        "description": "The notes that standard error has, too, in the order in which they came. Absent if there are none.",
        "items": {
            "properties": {
                "kind": { "description": "The subject.", "enum": NoteKind::ALL.map(NoteKind::as_str), "type": "string" },
                "words": { "description": "The note, with its remedy, on one line.", "type": "string" },
            },
            "required": ["kind", "words"],
            "type": "object",
        },
        "type": "array",
    })
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
