//! `proem schema`: the JSON Schemas of what commands print as JSON, by name.
//!
//! Invariant: [`SCHEMAS`] is the one list of them. The files below `docs/reference/` are made from it.

use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use proem_app::NoteKind;
use proem_app::book::batch::FeedbackBatch;
use proem_app::book::experiments::status::ExperimentStatus;
use proem_app::book::version_figures::VersionFigures;
use proem_app::context::output::FindOutput;
use proem_app::effects::output::QueueLineOutput;
use proem_app::records::work::WorkOverview;
use proem_app::runs::export::ExportedCall;
use proem_app::runs::output::RunSummary;
use proem_app::tokens::output::TokensOutput;
use proem_app::triage::output::{ArtefactsOutput, TriageOutput, TriageSignalsOutput, TriageStatusOutput};
use proem_app::triage::sync::SyncReport;
use proem_text::json;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value as Json, json};

use super::book::experiment::ListedExperiment;
use super::{assemble, book, catalogue, doctor, failures, improve, lisp, run, runs, version};
use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const SCHEMA_EXAMPLES: &str = "\
Examples:
  proem schema                          # the names, each with its command
  proem schema scan > scan.schema.json

A key keeps its name, type and meaning. New keys may appear.";

#[derive(Debug, Parser)]
pub(crate) struct SchemaArgs {
    /// The schema's name; without it, the names are listed
    #[arg(value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|schema| schema.name)), hide_possible_values = true)]
    name: Option<String>,
}

/// A schema that is published.
struct PublishedSchema {
    /// Its name, and that of its file.
    name: &'static str,
    /// The command whose output meets it.
    command: &'static str,
    text: fn() -> String,
}

impl PublishedSchema {
    const fn new(name: &'static str, command: &'static str, text: fn() -> String) -> Self {
        Self { name, command, text }
    }
}

/// Every schema, by name.
const SCHEMAS: [PublishedSchema; 32] = [
    PublishedSchema::new("agent", "a file of `lisp agent`", agent_schema_text),
    PublishedSchema::new("artefacts", "artefacts show --json", noted_schema_text::<ArtefactsOutput>),
    PublishedSchema::new("assemble", "assemble --json", plain_schema_text::<assemble::WithProfile>),
    PublishedSchema::new("book-diff", "book diff --json", plain_schema_text::<book::diff::BookDiffOutput<'_>>),
    PublishedSchema::new(
        "book-proposals",
        "book proposals --json",
        noted_schema_text::<book::decide::proposals_output::ProposalsOutput<'_>>,
    ),
    PublishedSchema::new("book-stats", "book stats --json", plain_schema_text::<Vec<VersionFigures>>),
    PublishedSchema::new("book-test", "book test --json", noted_schema_text::<book::test::output::BookTestOutput<'_>>),
    PublishedSchema::new(
        "catalogue-fetch",
        "catalogue fetch --json",
        plain_schema_text::<catalogue::fetch::CatalogueFetchOutput<'_>>,
    ),
    PublishedSchema::new("doctor", "doctor --json", noted_schema_text::<doctor::DoctorOutput>),
    PublishedSchema::new("experiment-list", "book experiment list --json", plain_schema_text::<Vec<ListedExperiment>>),
    PublishedSchema::new("experiment-status", "book experiment status --json", plain_schema_text::<ExperimentStatus>),
    PublishedSchema::new(
        "failures-list",
        "failures list --json",
        plain_schema_text::<Vec<failures::FailureOutput<'_>>>,
    ),
    PublishedSchema::new("feedback-batch", "feedback batch --json", noted_schema_text::<FeedbackBatch>),
    PublishedSchema::new("find", "find --json", noted_schema_text::<FindOutput>),
    PublishedSchema::new("improve", "improve --json", noted_schema_text::<improve::ImproveOutput<'_>>),
    PublishedSchema::new("lisp-agent", "lisp agent --json", noted_schema_text::<lisp::step::LispAgentOutput>),
    PublishedSchema::new("lisp-check", "lisp check --json", noted_schema_text::<lisp::output::LispCheckOutput>),
    PublishedSchema::new("lisp-run", "lisp run --json", noted_schema_text::<lisp::output::LispRunOutput>),
    PublishedSchema::new("queue-list", "queue list --json", plain_schema_text::<Vec<QueueLineOutput>>),
    PublishedSchema::new("risk", "risk --json", plain_schema_text::<proem_agents::risk::report::RiskReport>),
    PublishedSchema::new("run", "run --json", noted_schema_text::<run::output::RunOutput>),
    PublishedSchema::new("runs-export", "runs export, each line", plain_schema_text::<ExportedCall>),
    PublishedSchema::new("runs-list", "runs list --json, runs stuck --json", plain_schema_text::<Vec<RunSummary>>),
    PublishedSchema::new("runs-show", "runs show --json", plain_schema_text::<runs::show::output::ShownRunOutput<'_>>),
    PublishedSchema::new("scan", "scan --json", noted_schema_text::<proem_app::scan::output::ScanOutput>),
    PublishedSchema::new("tokens", "tokens --json", plain_schema_text::<TokensOutput>),
    PublishedSchema::new("triage-run", "triage run --json", noted_schema_text::<TriageOutput>),
    PublishedSchema::new("triage-signals", "triage signals --json", noted_schema_text::<TriageSignalsOutput>),
    PublishedSchema::new("triage-status", "triage status --json", noted_schema_text::<TriageStatusOutput>),
    PublishedSchema::new("triage-sync", "triage sync --json", noted_schema_text::<SyncReport>),
    PublishedSchema::new("version", "--version --json", plain_schema_text::<version::VersionOutput>),
    PublishedSchema::new("workers", "workers --json", plain_schema_text::<WorkOverview>),
];

pub(super) fn run_schema(args: &SchemaArgs) -> Result<ExitCode, CommandFailure> {
    // clap knows the names.
    let named = SCHEMAS.iter().find(|schema| args.name.as_deref() == Some(schema.name));
    match named {
        Some(schema) => ui::data(&(schema.text)())?,
        None => {
            let line = |schema: &PublishedSchema| format!("{:18} {}\n", schema.name, schema.command);
            ui::print_listing(&SCHEMAS.iter().map(line).collect::<String>())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn agent_schema_text() -> String {
    proem_agents::lisp::AGENT_SCHEMA.to_owned()
}

/// The schema of a document that has no notes.
fn plain_schema_text<T: JsonSchema>() -> String {
    schema_text(&schema_for!(T).to_value())
}

/// The schema of a document that [`ui::print_published_document`] prints: of its type, and of the notes beside it.
fn noted_schema_text<T: JsonSchema>() -> String {
    let mut schema = schema_for!(T).to_value();
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        properties.insert(ui::NOTES.to_owned(), notes_schema());
    }
    schema_text(&schema)
}

fn schema_text(schema: &Json) -> String {
    format!("{}\n", json::pretty(schema))
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
