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

/// Every schema, by name. A `plain` document has no notes, a `noted` one may have some.
#[rustfmt::skip]
const SCHEMAS: &[PublishedSchema] = published! {
    "adapt", "adapt --json", plain::<Profile>;
    "adapt-prompt", "adapt PROMPT --json", plain::<PromptAdaptationOutput<'_>>;
    "agent", "a file of `lisp agent`", agent_schema_text;
    "artefacts", "artefacts show --json", noted::<ArtefactsOutput>;
    "artefacts-log", "artefacts log --json", plain::<ArtefactLogOutput>;
    "assemble", "assemble --json", plain::<WithProfile>;
    "book-check", "book check --json", plain::<BookCheckOutput>;
    "book-diff", "book diff --json", plain::<BookDiffOutput<'_>>;
    "book-import", "book import --json", plain::<BookImportOutput<'_>>;
    "book-list", "book list --json", plain::<Vec<BookVersionOutput>>;
    "book-proposals", "book proposals --json", noted::<ProposalsOutput<'_>>;
    "book-show", "book show --json", plain::<BookVersionOutput>;
    "book-stats", "book stats --json", plain::<Vec<VersionFigures>>;
    "book-test", "book test --json", noted::<BookTestOutput<'_>>;
    "catalogue-check", "catalogue check --json", plain::<CatalogueCheckOutput>;
    "catalogue-fetch", "catalogue fetch --json", plain::<CatalogueFetchOutput<'_>>;
    "catalogue-list", "catalogue list --json", plain::<CatalogueListOutput>;
    "catalogue-refresh", "catalogue refresh --json", plain::<CatalogueRefreshOutput>;
    "catalogue-show", "catalogue show --json", plain::<EntryOutput>;
    "cost", "cost --json", plain::<CostOutput<'_>>;
    "cost-fit", "cost fit --json", plain::<FitOutput<'_>>;
    "doctor", "doctor --json", noted::<DoctorOutput>;
    "effects-log", "effects log --json", plain::<Vec<LoggedTransitionOutput>>;
    "effects-propose", "effects propose --json", plain::<ProposalOutput>;
    "effects-status", "effects status --json", plain::<EffectsStatusOutput>;
    "effects-sweep", "effects sweep --json", plain::<SweepOutput>;
    "escalations-list", "escalations list --json", plain::<Vec<EscalationOutput>>;
    "escalations-show", "escalations show --json", plain::<EscalationOutput>;
    "experiment-list", "book experiment list --json", plain::<Vec<ListedExperiment>>;
    "experiment-start", "book experiment start --json", plain::<ExperimentStartOutput<'_>>;
    "experiment-status", "book experiment status --json", plain::<ExperimentStatus>;
    "experiment-stop", "book experiment stop --json", plain::<ExperimentStopOutput<'_>>;
    "failures-list", "failures list --json", plain::<Vec<FailureOutput<'_>>>;
    "feedback-batch", "feedback batch --json", noted::<FeedbackBatch>;
    "find", "find --json", noted::<FindOutput>;
    "improve", "improve --json", noted::<ImproveOutput<'_>>;
    "lisp-agent", "lisp agent --json", noted::<LispAgentOutput>;
    "lisp-agent-check", "lisp agent check --json", plain::<AgentCheckOutput<'_>>;
    "lisp-agent-preview", "lisp agent --preview --json", plain::<PreviewOutput<'_>>;
    "lisp-check", "lisp check --json", noted::<LispCheckOutput>;
    "lisp-run", "lisp run --json", noted::<LispRunOutput>;
    "policy-explain", "policy explain --json", plain::<DecisionDocument>;
    "queue-list", "queue list --json", plain::<Vec<QueueLineOutput>>;
    "queue-quarantine", "queue quarantine --json", plain::<Vec<QuarantinedOutput>>;
    "queue-show", "queue show --json", plain::<QueuedActionOutput>;
    "risk", "risk --json", plain::<RiskReport>;
    "risk-feedback", "risk feedback --report --json", plain::<FeedbackOutput<'_>>;
    "risk-signals", "risk signals --json", plain::<RiskSignalsOutput>;
    "run", "run --json, ask --json", noted::<RunOutput>;
    "runs-diff", "runs diff --json", plain::<RunsDiffOutput>;
    "runs-export", "runs export, each line", plain::<ExportedCall>;
    "runs-feedback", "runs feedback --json", plain::<RunFeedbackOutput<'_>>;
    "runs-list", "runs list --json, runs stuck --json", plain::<Vec<RunSummary>>;
    "runs-purge", "runs purge --json", plain::<PurgeCounts>;
    "runs-replay", "runs replay --json", plain::<ReplayOutput<'_>>;
    "runs-show", "runs show --json", plain::<ShownRunOutput<'_>>;
    "scan", "scan --json", noted::<ScanOutput>;
    "select", "select --json, each line", plain::<RankingOutput<'_>>;
    "stats", "stats --json", plain::<StatsOutput<'_>>;
    "store-status", "store status --json", plain::<StoreStatusOutput>;
    "tokens", "tokens --json", plain::<TokensOutput>;
    "triage-normalise", "triage normalise --json, each line", plain::<SignalDocument>;
    "triage-run", "triage run --json", noted::<TriageOutput>;
    "triage-signals", "triage signals --json", noted::<TriageSignalsOutput>;
    "triage-sources", "triage sources --json", plain::<TriageSourcesOutput>;
    "triage-status", "triage status --json", noted::<TriageStatusOutput>;
    "triage-sync", "triage sync --json", noted::<SyncReport>;
    "triage-watch", "triage watch --json, each line", plain::<WatchLineOutput<'_>>;
    "trust-list", "trust list --json", plain::<TrustListOutput>;
    "version", "--version --json", plain::<VersionOutput>;
    "workers", "workers --json", plain::<WorkOverview>;
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
fn plain<T: JsonSchema>() -> String {
    schema_text(&schema_for!(T).to_value())
}

/// The schema of a document that [`ui::print_published_document`] prints: of its type, and of the notes beside it.
fn noted<T: JsonSchema>() -> String {
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
