//! `proem find`: which files, definitions and commits a task is about.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use proem_guard::{Untrusted, show};
use serde_json::json;

use super::index;
use crate::args::files::ChosenFiles;
use crate::args::words::unmark_hyphen_words;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GOES_ON, LEAD, count_with_noun, style_text};
use proem_app::assemble::{TaskAuthor, bounded_task as checked};
use proem_app::context::output::{FindOutput, purpose};
use proem_app::context::{ContextPatience, ContextQuery, TaskCandidates, find_context};
use proem_app::project::{BookReading, OpenProject};

pub(crate) const FIND_EXAMPLES: &str = "\
Examples:
  proem find \"--multiline with --only-matching prints lines twice\"
  proem find \"the export is slow\" --explain
  proem find \"the export is slow, see @src/export.rs\" --exclude 'tests/**'
  cargo test 2>&1 | tail -50 | proem find -
  $EDITOR $(proem find \"retry after a timeout\" --top 5 | cut -d: -f1)";

/// The most of a task from a pipe, in bytes.
const MOST_BYTES: u64 = proem_app::assemble::MAX_TASK_BYTES;

#[derive(Debug, Parser)]
pub(crate) struct Find {
    /// The task, a stack trace or a compiler's errors; `-` is standard input
    #[arg(value_parser = unmark_hyphen_words)]
    pub(crate) task: String,
    /// A folder in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// How many files of code to list, the likeliest first; of tests and documents a quarter as many
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) top: u16,
    #[command(flatten)]
    pub(crate) files: ChosenFiles,
    /// Read all files first, not just the likeliest ones
    #[arg(long)]
    pub(crate) wait: bool,
    /// Say what speaks for each file, which definitions fit, and which commits are about the same
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run_find(args: &Find) -> Result<ExitCode, CommandFailure> {
    let text = if args.task == "-" { piped_task()? } else { args.task.clone() };
    // Refused as everywhere if it is empty or too long.
    checked(text.clone(), TaskAuthor::Outside)?;
    let project = OpenProject::open(&args.root, &crate::user_places()?, BookReading::Trusted)?;
    ui::print_notes(&project.notes);
    let bar = ui::working("reading files");
    let query = ContextQuery {
        task: &text,
        root: &args.root,
        most: usize::from(args.top),
        patience: if args.wait { ContextPatience::Whole } else { ContextPatience::Short },
        choice: &args.files.choice(&text)?,
        answers: None,
    };
    let found = find_context(&query, &project, &|done, of| {
        bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
        bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    });
    bar.finish_and_clear();
    let found = found?;
    for gap in &found.gaps {
        ui::print_note(gap);
    }
    if args.json {
        ui::print_published_document(ui::PublishedDocument::Pretty(json!(FindOutput::new(&found))))?;
    } else if args.explain {
        ui::print_listing(&finding_text(&found))?;
    } else {
        let lines: String = found.all().map(|file| format!("{}:{}\n", path_column(&file.path), file.line())).collect();
        ui::print_listing(&lines)?;
    }
    index::start_indexing(&project, &args.root);
    if found.all().next().is_none() {
        ui::print_note("nothing of this repository fits the task");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

/// A path as it is. One that is quoted for not being UTF-8 is not quoted again.
fn path_column(path: &Untrusted<String>) -> String {
    let shown = show::terminal_text(path).into_string();
    let is_quoted = shown.len() > 1 && shown.starts_with('"') && shown.ends_with('"');
    if is_quoted && show::exact_json(path) == shown.as_str() { shown } else { ui::quote_name(path) }
}

fn piped_task() -> Result<String, CommandFailure> {
    use std::io::Read as _;
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(MOST_BYTES)
        .read_to_end(&mut text)
        .map_err(|error| CommandFailure::outside(format!("could not read standard input: {error}")))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn finding_text(found: &TaskCandidates) -> String {
    let mut out = String::new();
    for file in found.all() {
        let likely = f64::from(file.probability) * 100.0;
        let place = format!("{LEAD}{}:{}", show::terminal_text(&file.path).into_string(), file.line());
        out.push_str(&format!("{}  {} {likely:.0} %\n", style_text(BOLD, &place), purpose(file.used_for)));
        for said in file.evidence.iter().take(4) {
            out.push_str(&format!("    {GOES_ON}{}\n", show::terminal_text(said).into_string()));
        }
        for symbol in file.fitting.iter().filter_map(|at| file.symbols.get(*at)) {
            let kind = symbol.kind.as_str();
            let name = show::terminal_str(&symbol.name).into_string();
            out.push_str(&format!("      {kind} {name}, lines {}–{}\n", symbol.own_line, symbol.lines.last));
        }
    }
    for commit in &found.commits {
        let id: String = commit.id.chars().take(8).collect();
        let subject = show::terminal_text(&commit.subject).into_string();
        out.push_str(&format!("  commit {id}  {subject}\n"));
    }
    let took = Duration::from_millis(u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX));
    let read = count_with_noun(u64::try_from(found.read).unwrap_or(u64::MAX), "file");
    let line = format!("of {} files, {read} read anew, in {took:?}", found.files);
    out.push_str(&format!("{}\n", style_text(DIM, &line)));
    out
}
