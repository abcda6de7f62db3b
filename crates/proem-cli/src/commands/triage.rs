//! `proem triage`: signals about projects.

mod normalise;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::CommandFailure;

pub(crate) const TRIAGE_EXAMPLES: &str = "\
Examples:
  proem triage normalise webhook.json
  proem triage normalise backlog.json --json | jq .ticket";

#[derive(Debug, Subcommand)]
pub(crate) enum TriageCommand {
    /// Read what Jira and other systems wrote, and print it as signals of one form
    #[command(after_help = normalise::NORMALISE_EXAMPLES)]
    Normalise(normalise::Normalise),
}

pub(super) fn run(command: &TriageCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        TriageCommand::Normalise(args) => normalise::run(args),
    }
}
