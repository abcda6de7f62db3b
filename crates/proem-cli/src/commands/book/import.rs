//! `proem book import`: prompts of other tools as prompt files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::book::import::{BookImport, ImportOptions, ImportedFile, import_prompts};
use proem_engine::prompt::import::{ImportKind, LeftOut, UnknownChecks};
use proem_guard::show;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::count_with_plural;
use crate::failure::CommandFailure;
use crate::ui::{self, DIM, GREEN, style_text};

pub(super) const IMPORT_EXAMPLES: &str = "\
Kinds, each told from a file's name and keys: dotprompt, prompty, promptfoo, langchain,
claude-command, copilot-prompt, fabric, semantic-kernel, request, jinja, f-string

Examples:
  proem book import chat.prompty
  proem book import promptfooconfig.yaml            # its prompts, and its tests as cases
  proem book import .claude/commands/*.md --agent commands
  proem book import patterns/summarize/system.md --to ~/.config/proem/book
  proem book import note.txt --as f-string --json";

#[derive(Debug, Parser)]
pub(crate) struct BookImportArgs {
    /// The files; those that they name are read from their folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The book's folder, instead of the project's
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// The folder of the book that the prompts go into
    #[arg(long, value_name = "NAME", default_value = "imported")]
    agent: String,
    /// The kind of the files, if their names and keys don't tell it
    #[arg(long = "as", value_name = "KIND", value_parser = parse_kind)]
    kind: Option<ImportKind>,
    /// A folder in the project whose book takes the prompts
    #[arg(long, value_name = "DIR", default_value = ".", conflicts_with = "to")]
    root: PathBuf,
    /// Leave out parts of tests that no case can express, such as assertions that are programs, and list them
    #[arg(long, alias = "without-code-checks")]
    known_checks_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_kind(word: &str) -> Result<ImportKind, String> {
    let known = ImportKind::WORDS;
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
    found.ok_or_else(|| format!("known kinds: {}", known.map(|(name, _)| name).join(", ")))
}

pub(super) fn run_book_import(args: &BookImportArgs) -> Result<ExitCode, CommandFailure> {
    let options = ImportOptions {
        files: args.files.clone(),
        root: args.root.clone(),
        to: args.to.clone(),
        agent: args.agent.clone(),
        kind: args.kind,
        unknown_checks: if args.known_checks_only { UnknownChecks::LeftOut } else { UnknownChecks::Refused },
    };
    let imported = import_prompts(&options, &crate::user_places()?)?;
    if args.json {
        ui::print_json_document(&json::pretty(&json!(BookImportOutput::new(&imported))))?;
        return Ok(ExitCode::SUCCESS);
    }
    ui::print_listing(&import_report(&imported))?;
    ui::print_note(next_steps(&imported));
    Ok(ExitCode::SUCCESS)
}

const fn next_steps(imported: &BookImport) -> &'static str {
    if imported.is_of_project {
        "every input is text from outside; read the files, trust them with `proem trust`, then try `proem book test`"
    } else {
        "every input is text from outside; read the files, then try `proem book test`"
    }
}

/// Each prompt with its files and what was not carried over.
fn import_report(imported: &BookImport) -> String {
    let mut out = format!("wrote to {}:\n", imported.folder);
    for ImportedFile { source, kind, written } in &imported.prompts {
        let about = format!("{} from {source}, {}", kind.as_str(), count_with_plural(written.files.len(), "file"));
        out.push_str(&format!("  {}  {}\n", style_text(GREEN, &written.prompt), style_text(DIM, &about)));
        for left in &written.left_out {
            // The line above has the path.
            let file = left.file.rsplit('/').next().unwrap_or(&left.file);
            let text = show::terminal_str(&format!("{file}:{}: {}", left.line, left.text));
            out.push_str(&format!("    {text}\n"));
        }
    }
    for path in &imported.shared {
        out.push_str(&format!("  {}  judges answers by the rubrics of cases\n", style_text(GREEN, prompt_of(path))));
    }
    out
}

/// The prompt that a file of a book holds: its folder.
fn prompt_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(folder, _)| folder)
}

/// The imported prompts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BookImportOutput<'i> {
    /// The book's folder.
    book: &'i str,
    prompts: Vec<ImportedPromptOutput<'i>>,
    /// Files that several prompts share and that the book didn't have.
    shared: &'i [String],
}

/// A prompt that was written to the book.
#[derive(Debug, Serialize, JsonSchema)]
struct ImportedPromptOutput<'i> {
    /// `agent/name`.
    prompt: &'i str,
    /// The file that it came from.
    source: &'i str,
    /// The kind of that file.
    kind: &'static str,
    /// Its files in the book.
    files: Vec<&'i String>,
    /// The parts of the source that were not carried over.
    left_out: &'i [LeftOut],
}

impl<'i> BookImportOutput<'i> {
    fn new(imported: &'i BookImport) -> Self {
        let prompt = |file: &'i ImportedFile| ImportedPromptOutput {
            prompt: &file.written.prompt,
            source: &file.source,
            kind: file.kind.as_str(),
            files: file.written.files.keys().collect(),
            left_out: &file.written.left_out,
        };
        Self {
            book: &imported.folder,
            prompts: imported.prompts.iter().map(prompt).collect(),
            shared: &imported.shared,
        }
    }
}
