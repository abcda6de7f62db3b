//! `proem init`: writes what a project lacks.

mod account;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_guard::show;
use proem_text::json as text_json;

use super::hook::HookName;
use crate::failure::CommandFailure;
use crate::hints;
use crate::ui::{self, DIM, GREEN, style_text};
use account::import_account;
use proem_app::config::document;
use proem_app::init::{Initialisation, import, init};
use proem_app::project::CONFIG;
use proem_app::trust::candidates::shortened_name_list;

pub(crate) const INIT_EXAMPLES: &str = "\
Examples:
  proem init
  proem init --hook claude-code         # context for each prompt of a coding agent
  proem init --from prompts/agent.md    # split an existing prompt and measure against it";

#[derive(Debug, Parser)]
pub(crate) struct Init {
    /// The folder to set up
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// An existing prompt to split into parts; token savings are measured against it
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Print a proem.toml with every key, its meaning and its default, and write nothing
    #[arg(long, conflicts_with_all = ["root", "from"])]
    pub(crate) print: bool,
    /// Print what a coding agent has to be told so that each prompt gets context from Proem, and write nothing
    #[arg(long, value_enum, value_name = "AGENT", conflicts_with_all = ["root", "from", "print"])]
    pub(crate) hook: Option<HookName>,
}

pub(super) fn run_init(args: &Init) -> Result<ExitCode, CommandFailure> {
    if let Some(name) = args.hook {
        let entry = text_json::pretty(&name.tool().entry(name.command()));
        ui::print_note(&format!(
            "put this into {}, beside its present content; it counts from the next session on",
            name.tool().file()
        ));
        ui::print_json_document(&entry)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.print {
        ui::data(&document::every_key()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = init(&args.root, args.from.as_deref(), &crate::user_places()?)?;
    let outcome = &project.outcome;
    if let Some((import, parts)) = &project.import
        && outcome.written.iter().any(|file| parts.contains(&file.path))
    {
        ui::print_listing(&import_account(import))?;
        let stay: Vec<&str> = outcome.other.intersection(parts).map(String::as_str).collect();
        if !stay.is_empty() {
            ui::print_note(&format!(
                "{} already {} other content and {} changed; the original text is in {}",
                shortened_name_list(&stay),
                if stay.len() == 1 { "has" } else { "have" },
                if stay.len() == 1 { "is not" } else { "are not" },
                import::BASELINE
            ));
        }
    }
    ui::print_listing(&init_summary(&project))?;
    ui::print_listing(&next_steps(&args.root, &project)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The written and the untouched files, one line each.
fn init_summary(project: &Initialisation) -> String {
    let Initialisation { root, outcome, .. } = project;
    let shown = show::terminal_str(&root.display().to_string());
    let mut out = if outcome.written.is_empty() {
        format!("nothing to do: everything is there in {shown}\n")
    } else {
        format!("wrote to {shown} and trusted:\n")
    };
    let all = outcome.written.iter().chain(&outcome.kept);
    let width = all.map(|file| file.path.len()).max().unwrap_or(0);
    for file in &outcome.written {
        let not = if file.read_as_trusted { "" } else { " (does not need to be trusted)" };
        out.push_str(&format!(
            "  {}  {}{}\n",
            style_text(GREEN, &format!("{:width$}", file.path)),
            hints::message_with_remedy(&file.why),
            style_text(DIM, not)
        ));
    }
    for file in &outcome.kept {
        out.push_str(&format!(
            "  {:width$}  {}\n",
            file.path,
            style_text(DIM, "already exists and was left unchanged")
        ));
    }
    let missing = project.unset();
    if !missing.is_empty() {
        out.push_str(&format!("\n{CONFIG} already exists and was not changed; to use the parts, add this to it:\n\n"));
        let lines = document::value_lines(&missing);
        lines.lines().for_each(|line| out.push_str(&format!("    {line}\n").replace("    \n", "\n")));
    }
    out
}

/// A path as a shell reads it.
fn shell_quote(path: &Path) -> String {
    let shown = show::terminal_str(&path.display().to_string()).into_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if shown.chars().all(plain) { shown } else { format!("'{}'", shown.replace('\'', "'\\''")) }
}

fn next_steps(asked: &Path, project: &Initialisation) -> Result<String, CommandFailure> {
    let open = project.untrusted()?;
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    let elsewhere = if asked == Path::new(".") { String::new() } else { format!(" --root {}", shell_quote(asked)) };
    let mut out = String::new();
    if !open.is_empty() {
        out.push_str(&format!("  proem trust{elsewhere}    # not trusted yet: {}\n", shortened_name_list(&open)));
    }
    if !project.outcome.written.is_empty() {
        out.push_str(&format!("  proem assemble \"what does this project do?\" --explain{elsewhere}\n"));
    }
    Ok(if out.is_empty() { out } else { format!("\nnext:\n{out}") })
}
