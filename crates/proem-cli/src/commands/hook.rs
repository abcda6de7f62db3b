//! `proem hook`: what a coding agent is told of a repository for each prompt.
//!
//! Whatever goes wrong, the agent goes on without it: exit code 2 would keep the prompt from the model, so a failure is
//! exit code 1 here and its reason stands on standard error.

use std::io::{Read as _, stdin};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use proem_app::assemble::{AssembleOptions, AssemblyChoice, AssemblyRecord, MadeAssembly, Start, TaskAuthor, task};
use proem_app::context::ContextPatience;
use proem_app::hook::{HookTool, PromptEvent, answer, narrow};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_select::mode::{GitChanges, Hints, Interaction};
use proem_text::json;

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
    /// The coding agent whose event of a prompt stands on standard input
    #[arg(value_enum)]
    agent: HookName,
}

pub(super) fn run(args: &HookArgs) -> Result<ExitCode, CommandFailure> {
    // Both take the same answer; the name says whose hook it is.
    _ = args.agent;
    answered().map_err(|failure| CommandFailure::finding(failure.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

fn answered() -> Result<(), CommandFailure> {
    let mut text = String::new();
    let read = stdin().lock().take(MAX_EVENT_BYTES).read_to_string(&mut text);
    _ = read.map_err(|error| CommandFailure::usage(format!("could not read the event: {error}")))?;
    let event = PromptEvent::read(&text)?;
    let cwd = event.cwd.clone();
    let options = options(event.task().to_owned(), &cwd)?;
    let mut project = OpenProject::open(&cwd, &crate::places()?, BookReading::Trusted)?;
    let chosen = AssemblyChoice::new(&options, &project)?;
    narrow(&mut project.config.assemble, chosen.model());
    let start = Start::gather(&options, chosen, &project)?;
    let runtime = records::runtime()?;
    let mut notes = Vec::new();
    let begun = runtime.block_on(AssemblyRecord::new(&options, &start, &project, &mut notes))?;
    let mut made = MadeAssembly::new(&options, start, begun, &mut project)?;
    ui::document(&json::compact(&answer(&made)))?;
    // The coding agent has its context; that the records lack it is for the user to know.
    ui::notes(&runtime.block_on(made.record(&options, &project)));
    Ok(())
}

fn options(prompt: String, cwd: &Path) -> Result<AssembleOptions, CommandFailure> {
    Ok(AssembleOptions {
        named: prompt.clone(),
        task: task(prompt, TaskAuthor::Caller)?,
        root: cwd.to_path_buf(),
        hints: Hints { explicit: None, interaction: Interaction::Unknown, git_changes: GitChanges::Auto },
        model: None,
        provider: None,
        budget: None,
        prompt_version: None,
        adapting: Adapting::default(),
        context: None,
        patience: ContextPatience::Short,
        record: RecordChoice::AsConfigured,
    })
}
