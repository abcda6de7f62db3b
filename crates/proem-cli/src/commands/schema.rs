//! `proem schema`: the JSON Schemas of what commands print as JSON, by name.
//!
//! Invariant: [`SCHEMAS`] is the one list of them. The files below `docs/reference/` are made from it.

use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use proem_agents::risk::report::RiskReport;
use proem_app::NoteKind;
use proem_app::book::batch::FeedbackBatch;
use proem_app::book::experiments::status::ExperimentStatus;
use proem_app::book::version_figures::VersionFigures;
use proem_app::context::output::FindOutput;
use proem_app::effects::output::{
    EffectsStatusOutput, EscalationOutput, LoggedTransitionOutput, ProposalOutput, QuarantinedOutput, QueueLineOutput,
    QueuedActionOutput, SweepOutput,
};
use proem_app::records::work::WorkOverview;
use proem_app::runs::export::ExportedCall;
use proem_app::runs::output::RunSummary;
use proem_app::scan::output::ScanOutput;
use proem_app::tokens::output::TokensOutput;
use proem_app::triage::output::{ArtefactsOutput, TriageOutput, TriageSignalsOutput, TriageStatusOutput};
use proem_app::triage::sync::SyncReport;
use proem_engine::policy::DecisionDocument;
use proem_engine::profile::Profile;
use proem_store::PurgeCounts;
use proem_text::json;
use proem_triage::SignalDocument;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value as Json, json};

use super::adapt::prompt::PromptAdaptationOutput;
use super::artefacts::log::ArtefactLogOutput;
use super::assemble::WithProfile;
use super::book::decide::proposals_output::ProposalsOutput;
use super::book::diff::BookDiffOutput;
use super::book::experiment::{ExperimentStartOutput, ExperimentStopOutput, ListedExperiment};
use super::book::import::BookImportOutput;
use super::book::output::{BookCheckOutput, BookVersionOutput};
use super::book::test::output::BookTestOutput;
use super::catalogue::fetch::CatalogueFetchOutput;
use super::catalogue::output::{CatalogueCheckOutput, CatalogueListOutput, CatalogueRefreshOutput, EntryOutput};
use super::cost::fit::FitOutput;
use super::cost::output::CostOutput;
use super::doctor::DoctorOutput;
use super::failures::FailureOutput;
use super::improve::ImproveOutput;
use super::lisp::agent::AgentCheckOutput;
use super::lisp::output::{LispCheckOutput, LispRunOutput};
use super::lisp::preview::PreviewOutput;
use super::lisp::step::LispAgentOutput;
use super::risk::feedback::report::FeedbackOutput;
use super::risk::signals::RiskSignalsOutput;
use super::run::output::RunOutput;
use super::runs::diff::output::RunsDiffOutput;
use super::runs::feedback::RunFeedbackOutput;
use super::runs::replay::ReplayOutput;
use super::runs::show::output::ShownRunOutput;
use super::select::answer::RankingOutput;
use super::stats::StatsOutput;
use super::store::output::StoreStatusOutput;
use super::triage::sources::TriageSourcesOutput;
use super::triage::watch::output::WatchLineOutput;
use super::trust::list::TrustListOutput;
use super::version::VersionOutput;
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

/// A list of schemas: the name, the command and the text of each.
macro_rules! published {
    ($($name:literal, $command:literal, $text:expr;)*) => {
        &[$(PublishedSchema { name: $name, command: $command, text: $text }),*]
    };
}

/// Every schema, by name. A `plain_schema` is of a document without notes, a `noted_schema` of one that may have some.
#[rustfmt::skip]
const SCHEMAS: &[PublishedSchema] = published! {
    "adapt", "adapt --json", plain_schema::<Profile>;
    "adapt-prompt", "adapt PROMPT --json", plain_schema::<PromptAdaptationOutput<'_>>;
    "agent", "a file of `lisp agent`", agent_schema_text;
    "artefacts", "artefacts show --json", noted_schema::<ArtefactsOutput>;
    "artefacts-log", "artefacts log --json", plain_schema::<ArtefactLogOutput>;
    "assemble", "assemble --json", plain_schema::<WithProfile>;
    "book-check", "book check --json", plain_schema::<BookCheckOutput>;
    "book-diff", "book diff --json", plain_schema::<BookDiffOutput<'_>>;
    "book-import", "book import --json", plain_schema::<BookImportOutput<'_>>;
    "book-list", "book list --json", plain_schema::<Vec<BookVersionOutput>>;
    "book-proposals", "book proposals --json", noted_schema::<ProposalsOutput<'_>>;
    "book-show", "book show --json", plain_schema::<BookVersionOutput>;
    "book-stats", "book stats --json", plain_schema::<Vec<VersionFigures>>;
    "book-test", "book test --json", noted_schema::<BookTestOutput<'_>>;
    "catalogue-check", "catalogue check --json", plain_schema::<CatalogueCheckOutput>;
    "catalogue-fetch", "catalogue fetch --json", plain_schema::<CatalogueFetchOutput<'_>>;
    "catalogue-list", "catalogue list --json", plain_schema::<CatalogueListOutput>;
    "catalogue-refresh", "catalogue refresh --json", plain_schema::<CatalogueRefreshOutput>;
    "catalogue-show", "catalogue show --json", plain_schema::<EntryOutput>;
    "cost", "cost --json", plain_schema::<CostOutput<'_>>;
    "cost-fit", "cost fit --json", plain_schema::<FitOutput<'_>>;
    "doctor", "doctor --json", noted_schema::<DoctorOutput>;
    "effects-log", "effects log --json", plain_schema::<Vec<LoggedTransitionOutput>>;
    "effects-propose", "effects propose --json", plain_schema::<ProposalOutput>;
    "effects-status", "effects status --json", plain_schema::<EffectsStatusOutput>;
    "effects-sweep", "effects sweep --json", plain_schema::<SweepOutput>;
    "escalations-list", "escalations list --json", plain_schema::<Vec<EscalationOutput>>;
    "escalations-show", "escalations show --json", plain_schema::<EscalationOutput>;
    "experiment-list", "book experiment list --json", plain_schema::<Vec<ListedExperiment>>;
    "experiment-start", "book experiment start --json", plain_schema::<ExperimentStartOutput<'_>>;
    "experiment-status", "book experiment status --json", plain_schema::<ExperimentStatus>;
    "experiment-stop", "book experiment stop --json", plain_schema::<ExperimentStopOutput<'_>>;
    "failures-list", "failures list --json", plain_schema::<Vec<FailureOutput<'_>>>;
    "feedback-batch", "feedback batch --json", noted_schema::<FeedbackBatch>;
    "find", "find --json", noted_schema::<FindOutput>;
    "improve", "improve --json", noted_schema::<ImproveOutput<'_>>;
    "lisp-agent", "lisp agent --json", noted_schema::<LispAgentOutput>;
    "lisp-agent-check", "lisp agent check --json", plain_schema::<AgentCheckOutput<'_>>;
    "lisp-agent-preview", "lisp agent --preview --json", plain_schema::<PreviewOutput<'_>>;
    "lisp-check", "lisp check --json", noted_schema::<LispCheckOutput>;
    "lisp-run", "lisp run --json", noted_schema::<LispRunOutput>;
    "policy-explain", "policy explain --json", plain_schema::<DecisionDocument>;
    "queue-list", "queue list --json", plain_schema::<Vec<QueueLineOutput>>;
    "queue-quarantine", "queue quarantine --json", plain_schema::<Vec<QuarantinedOutput>>;
    "queue-show", "queue show --json", plain_schema::<QueuedActionOutput>;
    "risk", "risk --json", plain_schema::<RiskReport>;
    "risk-feedback", "risk feedback --report --json", plain_schema::<FeedbackOutput<'_>>;
    "risk-signals", "risk signals --json", plain_schema::<RiskSignalsOutput>;
    "run", "run --json, ask --json", noted_schema::<RunOutput>;
    "runs-diff", "runs diff --json", plain_schema::<RunsDiffOutput>;
    "runs-export", "runs export, each line", plain_schema::<ExportedCall>;
    "runs-feedback", "runs feedback --json", plain_schema::<RunFeedbackOutput<'_>>;
    "runs-list", "runs list --json, runs stuck --json", plain_schema::<Vec<RunSummary>>;
    "runs-purge", "runs purge --json", plain_schema::<PurgeCounts>;
    "runs-replay", "runs replay --json", plain_schema::<ReplayOutput<'_>>;
    "runs-show", "runs show --json", plain_schema::<ShownRunOutput<'_>>;
    "scan", "scan --json", noted_schema::<ScanOutput>;
    "select", "select --json, each line", plain_schema::<RankingOutput<'_>>;
    "stats", "stats --json", plain_schema::<StatsOutput<'_>>;
    "store-status", "store status --json", plain_schema::<StoreStatusOutput>;
    "tokens", "tokens --json", plain_schema::<TokensOutput>;
    "triage-normalise", "triage normalise --json, each line", plain_schema::<SignalDocument>;
    "triage-run", "triage run --json", noted_schema::<TriageOutput>;
    "triage-signals", "triage signals --json", noted_schema::<TriageSignalsOutput>;
    "triage-sources", "triage sources --json", plain_schema::<TriageSourcesOutput>;
    "triage-status", "triage status --json", noted_schema::<TriageStatusOutput>;
    "triage-sync", "triage sync --json", noted_schema::<SyncReport>;
    "triage-watch", "triage watch --json, each line", plain_schema::<WatchLineOutput<'_>>;
    "trust-list", "trust list --json", plain_schema::<TrustListOutput>;
    "version", "--version --json", plain_schema::<VersionOutput>;
    "workers", "workers --json", plain_schema::<WorkOverview>;
};

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
fn plain_schema<T: JsonSchema>() -> String {
    schema_text(&schema_for!(T).to_value())
}

/// The schema of a document that [`ui::print_published_document`] prints: of its type, and of the notes beside it.
fn noted_schema<T: JsonSchema>() -> String {
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
