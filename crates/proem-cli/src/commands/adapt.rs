//! `proem adapt`: the profile that a prompt shows, or that a history and signals give.

pub(super) mod prompt;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_agents::adapt::quote_json_name;
use proem_engine::profile::{Adaptation, Format, ProfileRule};

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, style_text};
use proem_app::adapt::{AdaptOptions, derive_adaptation, foreign_moment, read_history_file, read_history_stream};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::when;

pub(crate) const ADAPT_EXAMPLES: &str = "\
Examples:
  proem adapt reviews/triage      # exactly what this prompt gets now, and from which runs
  proem adapt --history failures.json --signals signals.json --json
  proem adapt --history failures.json --registry names.txt
  proem adapt                     # the profile that all failures of this project together produce";

#[derive(Debug, Parser)]
pub(crate) struct Adapt {
    /// The prompt to report on: what it is given now, and from which runs
    #[arg(value_name = "PROMPT", conflicts_with_all = ["history", "signals", "registry", "now", "agent"])]
    pub(crate) prompt: Option<String>,
    /// Failures as JSON: a list of `timestamp`, `result_key`, `subagent` and `issue`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Signals as JSON, such as `needs_retry` and `risk_tags`; missing ones are derived from the history
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Names that may appear in a profile, one on each line; default: the names in the book, or with --history every
    /// name that is an identifier
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Compute the age of failures as of this time instead of now, such as 2026-11-22T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Only what was recorded for this agent
    #[arg(long, value_name = "NAME", conflicts_with = "history")]
    pub(crate) agent: Option<String>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print the profile as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run_adapt(args: &Adapt) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    ui::print_notes(&project.all_notes());
    if let Some(name) = &args.prompt {
        return prompt::run_adapt_prompt(args, name, &project);
    }
    let now = match &args.now {
        None => when::time_now(),
        Some(text) => foreign_moment(text).ok_or_else(|| {
            CommandFailure::usage(format!("`{text}` is not a time; write one such as 2026-11-22T10:00:00Z"))
        })?,
    };
    let files = [&args.history, &args.signals, &args.registry];
    if files.iter().filter(|file| file.as_deref() == Some(Path::new("-"))).count() > 1 {
        return Err(CommandFailure::usage(
            "standard input can be read only once; write `-` for one file, and name the others",
        ));
    }
    let options = AdaptOptions {
        history: args.history.clone(),
        signals: args.signals.clone(),
        registry: args.registry.clone(),
        agent: args.agent.clone(),
        now,
    };
    let read = |file: &Path| {
        if file == Path::new("-") {
            read_history_stream(file, std::io::stdin().lock())
        } else {
            read_history_file(file)
        }
    };
    let mut said = Vec::new();
    let adapted = records::blocking(derive_adaptation(&options, &project, &read, &mut said));
    ui::print_notes(&said);
    let adapted = adapted?;
    if args.json {
        // The members are in the order in which the interface lists them.
        let json = serde_json::to_string_pretty(&adapted.value.profile)
            .map_err(|e| CommandFailure::bug("could not write JSON", e))?;
        ui::print_json_document(&json)?;
    } else {
        ui::print_listing(&adaptation_account(&adapted.value))?;
    }
    ui::print_notes(&adapted.notes);
    Ok(ExitCode::SUCCESS)
}

/// The profile with what it was made from.
fn adaptation_account(adapted: &Adaptation) -> String {
    let profile = &adapted.profile;
    let mut out = String::new();
    for (title, lines) in [
        ("instructions", &profile.instructions),
        ("constraints", &profile.constraints),
        ("examples", &profile.examples),
    ] {
        out.push_str(&format!("{}\n", style_text(BOLD, title)));
        for line in lines {
            out.push_str(&format!("  - {line}\n"));
        }
        if lines.is_empty() {
            out.push_str(&format!("  {}\n", style_text(DIM, "none")));
        }
    }
    let rules: Vec<&str> = adapted.rules.iter().copied().map(ProfileRule::as_str).collect();
    out.push_str(&format!("\n{} {}\n", style_text(BOLD, "rules:"), rules.join(", ")));
    out.push_str(&format!("{} {}\n", style_text(BOLD, "signals:"), signals_in_words(adapted)));
    out
}

fn signals_in_words(adapted: &Adaptation) -> String {
    let signals = &adapted.signals;
    let names = |names: &[String]| match names {
        [] => String::from("none"),
        names => names.iter().map(|name| quote_json_name(name)).collect::<Vec<_>>().join(", "),
    };
    let yes = |is_so: bool| if is_so { "yes" } else { "no" };
    format!(
        "needs_retry {}, risk_tags {}, recent_failure_count {}, last_failure_subagents {}, time_sensitive {}, \
         compliance_required {}, preferred_format {}",
        yes(signals.needs_retry),
        names(&signals.risk_tags),
        signals.recent_failure_count,
        names(&signals.last_failure_subagents),
        yes(signals.time_sensitive),
        yes(signals.compliance_required),
        signals.preferred_format.map_or("none", Format::as_str)
    )
}
