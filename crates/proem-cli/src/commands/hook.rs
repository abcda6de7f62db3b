//! `proem hook`: what a coding agent is told of a repository for each prompt.
//!
//! On any failure, the agent goes on without it: exit code 2 would keep the prompt from the model, so a failure is exit
//! code 1 here, with its reason on standard error.

use std::io::{Read as _, stdin};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use proem_app::WithNotes;
use proem_app::hook::{HookTool, PromptEvent, USUAL_BYTES, answer_prompt};
use proem_app::project::{BookReading, OpenProject};
use proem_text::json;

use super::index;
use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const HOOK_EXAMPLES: &str = "\
Examples:
  proem init --hook claude-code     # where it goes
  echo '{\"hook_event_name\": \"UserPromptSubmit\", \"prompt\": \"fix the clock\", \"cwd\": \".\"}' | proem hook claude-code";

/// The most bytes of an event.
const MAX_EVENT_BYTES: u64 = 4 * 1024 * 1024;

/// A coding agent by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookName {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
}

impl HookName {
    /// The agent.
    pub(crate) const fn tool(self) -> HookTool {
        match self {
            Self::ClaudeCode => HookTool::ClaudeCode,
            Self::Codex => HookTool::Codex,
        }
    }

    /// The command that answers it.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::ClaudeCode => "proem hook claude-code",
            Self::Codex => "proem hook codex",
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct HookArgs {
    /// The coding agent whose event of a prompt is on standard input
    #[arg(value_enum)]
    agent: HookName,
    /// The most bytes of context for a prompt
    #[arg(long, value_name = "N", default_value_t = USUAL_BYTES, value_parser = clap::value_parser!(u16).range(400..=9_000))]
    bytes: u16,
}

pub(super) fn run_hook(args: &HookArgs) -> Result<ExitCode, CommandFailure> {
    // Both take the same answer. The name says whose hook it is.
    _ = args.agent;
    answer_event(args).map_err(|failure| CommandFailure::finding(failure.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

fn answer_event(args: &HookArgs) -> Result<(), CommandFailure> {
    let mut text = String::new();
    let read = stdin().lock().take(MAX_EVENT_BYTES).read_to_string(&mut text);
    _ = read.map_err(|error| CommandFailure::usage(format!("could not read the event: {error}")))?;
    let event = PromptEvent::read(&text)?;
    let project = OpenProject::open(&event.cwd, &crate::user_places()?, BookReading::Trusted)?;
    let WithNotes { value, notes } = answer_prompt(&event, usize::from(args.bytes), &project)?;
    if let Some(context) = value {
        ui::print_json_document(&json::compact(&context))?;
    }
    // The coding agent has its context; what is not kept is for the user to know.
    ui::print_notes(&notes);
    index::start_indexing(&project, &event.cwd);
    Ok(())
}
