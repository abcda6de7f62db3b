//! `proem triage`: signals about a project become artefacts, actions and questions.

mod digest;
mod init;
mod judge;
mod models;
mod normalise;
mod purge;
mod run;
mod signals;
pub(super) mod sources;
mod status;
mod sync;
pub(super) mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::CommandFailure;
use proem_app::triage::CycleReport;

pub(crate) const TRIAGE_EXAMPLES: &str = "\
Examples:
  proem triage init --name \"Mobile checkout\" --key MCU --level artefact --owner \"Olivia Reyes\"
  proem triage run backlog.json webhooks.jsonl
  proem triage sync
  proem triage watch ~/project-inbox
  proem triage signals --since yesterday
  proem triage judge 3fa9c1d2 --importance high --because \"the sponsor asked twice\"
  proem triage digest --since yesterday --format md
  proem triage status
  proem triage sources https://app.asana.com/0/1208/list
  proem triage normalise webhook.json";

#[derive(Debug, Subcommand)]
pub(crate) enum TriageCommand {
    /// Write the file that says who belongs to a project
    #[command(after_help = init::INIT_EXAMPLES)]
    Init(init::Init),
    /// Take signals in, and change, propose and ask because of them
    #[command(after_help = run::RUN_EXAMPLES)]
    Run(run::Run),
    /// Read signals from Jira, Microsoft Graph and Asana, as your configuration declares them
    #[command(after_help = sync::SYNC_EXAMPLES)]
    Sync(sync::Sync),
    /// Take signals from files as they come to a folder, again and again
    #[command(after_help = watch::WATCH_EXAMPLES)]
    Watch(watch::Watch),
    /// List every signal with who judged it, why, and what became of it
    #[command(after_help = signals::SIGNALS_EXAMPLES)]
    Signals(signals::Signals),
    /// Overrule how much a signal matters, and work on it again; asks for confirmation
    #[command(after_help = judge::JUDGE_EXAMPLES)]
    Judge(judge::Judge),
    /// Tell on one screen what changed, waits, is late, was sent and was left alone
    #[command(after_help = digest::DIGEST_EXAMPLES)]
    Digest(digest::Digest),
    /// Show what stands and what waits
    #[command(after_help = "Example:\n  proem triage status --json")]
    Status {
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the trackers of a project and what each last delivered, and find the number of an Asana project
    #[command(after_help = sources::SOURCES_EXAMPLES)]
    Sources(sources::Sources),
    /// Read what Jira and other systems wrote, and print it as signals of one form
    #[command(after_help = normalise::NORMALISE_EXAMPLES)]
    Normalise(normalise::Normalise),
    /// Delete the texts of old signals, versions and cycles; asks for confirmation
    #[command(after_help = "Example:\n  proem triage purge --before 90d")]
    Purge {
        /// Those from before: a date, or an age such as 90d
        #[arg(long, value_name = "TIME")]
        before: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

/// Prints what came of a cycle whose signals were taken in before.
pub(super) fn print_cycle(report: &CycleReport, json: bool) -> Result<(), CommandFailure> {
    run::print_cycles(None, report, json)
}

pub(super) fn run_triage(command: &TriageCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        TriageCommand::Init(args) => init::run_triage_init(args),
        TriageCommand::Run(args) => run::run_triage_run(args),
        TriageCommand::Sync(args) => sync::run_triage_sync(args),
        TriageCommand::Watch(args) => watch::run_triage_watch(args),
        TriageCommand::Signals(args) => signals::run_triage_signals(args),
        TriageCommand::Judge(args) => judge::run_triage_judge(args),
        TriageCommand::Digest(args) => digest::run_triage_digest(args),
        TriageCommand::Status { root, json } => status::run_triage_status(root, *json),
        TriageCommand::Sources(args) => sources::run_triage_sources(args),
        TriageCommand::Normalise(args) => normalise::run_triage_normalise(args),
        TriageCommand::Purge { before, root } => purge::run_triage_purge(before, root),
    }
}
