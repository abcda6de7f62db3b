//! `proem lisp doc`

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use proem_lisp::documentation::{
    Entry, EntryKind, PromptReference, alternative, chapters, entries_with, entry, nearest_name,
};

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, style_text};

#[derive(Debug, Parser)]
pub(crate) struct LispDocArgs {
    /// A form or function, such as `group-by` or `str/join`
    #[arg(value_name = "NAME")]
    function: Option<String>,
    /// List what has this word in its name or description
    #[arg(long, value_name = "WORD", conflicts_with = "function")]
    search: Option<String>,
    /// Print what a prompt tells a model about the language
    #[arg(long, value_enum, value_name = "LENGTH", conflicts_with_all = ["function", "search"])]
    prompt: Option<PromptLength>,
}

/// How much a prompt tells about the language.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PromptLength {
    /// Every form and function
    Full,
    /// Differences from Clojure, and common patterns
    Lean,
}

pub(super) fn run_lisp_doc(args: &LispDocArgs) -> Result<ExitCode, CommandFailure> {
    if let Some(length) = args.prompt {
        let reference = match length {
            PromptLength::Full => PromptReference::Full,
            PromptLength::Lean => PromptReference::Lean,
        };
        ui::data(&reference.text())?;
    } else if let Some(word) = &args.search {
        let found = entries_with(word);
        if found.is_empty() {
            return Err(CommandFailure::finding(format!("nothing has `{word}` in its name or description")));
        }
        ui::print_listing(&entry_rows(&found))?;
    } else if let Some(name) = &args.function {
        let Some(found) = entry(name) else { return Err(CommandFailure::finding(absence(name))) };
        ui::print_listing(&entry_text(&found))?;
    } else {
        let chapter = |title: &str, entries: &[Entry]| format!("{}\n{}", style_text(BOLD, title), entry_rows(entries));
        let all: Vec<String> = chapters().iter().map(|each| chapter(each.title, &each.entries)).collect();
        ui::print_listing(&all.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why there is nothing under a name, and what to use instead.
pub(super) fn absence(name: &str) -> String {
    match (alternative(name), nearest_name(name)) {
        (Some(instead), _) => format!("`{name}` doesn't exist here: {instead}"),
        (None, Some(near)) => format!("nothing is called `{name}`; did you mean `{near}`?"),
        (None, None) => format!("nothing is called `{name}`; `proem lisp doc --search WORD` searches descriptions"),
    }
}

/// All that is documented about an entry.
pub(super) fn entry_text(entry: &Entry) -> String {
    let kind = match entry.kind {
        EntryKind::Form => "form",
        EntryKind::Function => "function",
    };
    let mut out = format!("{}  {}\n{}\n", style_text(BOLD, &entry.usage()), style_text(DIM, kind), entry.doc);
    for (index, (source, value)) in entry.examples.iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        out.push_str(&format!("{gap}  {source}\n  {} {value}\n", style_text(DIM, "=>")));
    }
    out
}

/// One line for each entry, its description cut to what the line leaves.
fn entry_rows(entries: &[Entry]) -> String {
    let widest = entries.iter().map(|entry| entry.usage().chars().count()).max().unwrap_or(0).min(40);
    let left = ui::output_width().saturating_sub(widest.saturating_add(4)).max(20);
    let row = |entry: &Entry| format!("  {:widest$}  {}\n", entry.usage(), ui::cut_to_width(entry.doc, left));
    entries.iter().map(row).collect()
}
