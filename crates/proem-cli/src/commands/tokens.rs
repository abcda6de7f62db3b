//! `proem tokens`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_engine::tokens::Exactness;
use proem_guard::show;
use proem_text::json;
use serde_json::json;

use crate::args::models::with_models;
use crate::failure::CommandFailure;
use crate::ui::{self, DIM, LEAD, group_thousands, style_text};
use proem_app::tokens::output::{CountedText, TokensOutput};
use proem_app::tokens::{
    FolderCount, MAX_FOLDER_FILE, TokenColumn, TokensOptions, count_folder, read_counted_file, read_counted_stream,
    token_columns,
};

pub(crate) const TOKENS_EXAMPLES: &str = with_models!(
    "the role `small`",
    "\
Examples:
  proem tokens README.md src/*.rs
  proem tokens .                                # each text file that git tracks here, in one sum
  git diff | proem tokens -
  proem tokens --model claude-haiku-4-5 --json prompt.md"
);

#[derive(Debug, Parser)]
pub(crate) struct TokensArgs {
    /// Files and folders (of a folder, the text files that git tracks, in one sum); `-` is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Count for this model or role only
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The provider of the model: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// A folder in the project whose configuration applies
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl TokensArgs {
    /// The basis of counting tokens.
    pub(crate) fn options(&self) -> TokensOptions {
        TokensOptions { model: self.model.clone(), provider: self.provider.clone(), root: self.root.clone() }
    }
}

/// One counted file, or all of a folder.
struct FileCount {
    name: String,
    bytes: usize,
    tokens: Vec<usize>,
    /// How many files of a folder were counted and how many paths were left out.
    folder: Option<(usize, usize)>,
}

pub(super) fn run_tokens(args: &TokensArgs) -> Result<ExitCode, CommandFailure> {
    let mut said = Vec::new();
    let columns = token_columns(&args.options(), &crate::user_places()?, &mut said);
    ui::print_notes(&said);
    let columns = columns?;
    let mut counted = Vec::new();
    let mut failures = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        match count_file(path, &name, &columns) {
            Ok(file) => counted.push(file),
            Err(why) => failures.push(format!("`{}` {why}", show::terminal_str(&name))),
        }
    }
    if args.json {
        print_token_json(&columns, &counted, &failures)?;
    } else {
        print_table(&columns, &counted)?;
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(CommandFailure::outside(failures.join("\n"))) }
}

fn count_file(path: &Path, name: &str, columns: &[TokenColumn]) -> Result<FileCount, String> {
    let name = name.to_owned();
    if path.is_dir() {
        let mut progress = ui::CountLine::of_few_results("files");
        let count = count_folder(path, columns, &mut |done, all| progress.tell(done, all));
        progress.clear();
        let FolderCount { files, bytes, tokens, left_out } = count?;
        return Ok(FileCount { name, bytes, tokens, folder: Some((files, left_out)) });
    }
    let text = read_text_to_count(path)?;
    let tokens = columns.iter().map(|column| column.count(&text)).collect();
    Ok(FileCount { name, bytes: text.len(), tokens, folder: None })
}

/// The uncounted part of a folder, in a sentence.
fn left_out_sentence(file: &FileCount) -> Option<String> {
    let (_, left_out) = file.folder.filter(|(_, left_out)| *left_out > 0)?;
    let paths = ui::count_with_noun(left_out as u64, "path");
    let name = show::terminal_str(&file.name);
    Some(format!(
        "{paths} of `{name}` not counted: binary, larger than {} bytes, or no regular file",
        group_thousands(MAX_FOLDER_FILE)
    ))
}

fn read_text_to_count(path: &Path) -> Result<String, String> {
    if path == Path::new("-") { read_counted_stream(std::io::stdin().lock()) } else { read_counted_file(path) }
}

fn token_totals(columns: &[TokenColumn], counted: &[FileCount]) -> Vec<usize> {
    let sum = |index: usize| counted.iter().filter_map(|file| file.tokens.get(index)).sum();
    (0..columns.len()).map(sum).collect()
}

fn print_table(columns: &[TokenColumn], counted: &[FileCount]) -> Result<(), CommandFailure> {
    if counted.is_empty() {
        return Ok(());
    }
    let title = |column: &TokenColumn| match column.exactness {
        Exactness::Exact => show::terminal_str(&column.title).into_string(),
        Exactness::Estimate => format!("≈ {}", show::terminal_str(&column.title)),
    };
    let shown = |file: &FileCount| {
        let name = show::terminal_str(&file.name).into_string();
        match file.folder {
            Some((files, _)) => format!("{name} ({})", ui::count_with_noun(files as u64, "file")),
            None => name,
        }
    };
    let longest = counted.iter().map(|file| shown(file).chars().count()).max().unwrap_or(0).max(5);
    let widths: Vec<usize> = columns.iter().map(|column| title(column).chars().count().max(11)).collect();
    let mut head = format!("  {:longest$}  {:>13}", "file", "bytes");
    for (column, width) in columns.iter().zip(&widths) {
        head.push_str(&format!("  {:>width$}", title(column)));
    }
    let row = |(lead, name): (&str, &str), bytes: usize, tokens: &[usize]| {
        let mut line = format!("{lead}{name:longest$}  {:>13}", group_thousands(bytes));
        for (tokens, width) in tokens.iter().zip(&widths) {
            line.push_str(&format!("  {:>width$}", group_thousands(*tokens)));
        }
        line
    };
    let mut out = format!("{}\n", style_text(DIM, &head));
    for file in counted {
        out.push_str(&format!("{}\n", row((LEAD, &shown(file)), file.bytes, &file.tokens)));
    }
    if counted.len() > 1 {
        let bytes = counted.iter().map(|file| file.bytes).sum();
        out.push_str(&format!("{}\n", row(("  ", "total"), bytes, &token_totals(columns, counted))));
    }
    ui::print_listing(&out)?;
    ui::print_notes(&columns.iter().filter_map(TokenColumn::estimate).collect::<Vec<_>>());
    counted.iter().filter_map(left_out_sentence).for_each(|note| ui::print_note(&note));
    Ok(())
}

fn print_token_json(columns: &[TokenColumn], counted: &[FileCount], failures: &[String]) -> Result<(), CommandFailure> {
    let file = |file: &FileCount| {
        let counted = CountedText::new(columns, file.name.clone(), file.bytes, &file.tokens);
        match file.folder {
            Some((files, left_out)) => counted.of_folder(files, left_out),
            None => counted,
        }
    };
    let out = TokensOutput::new(columns, counted.iter().map(file).collect(), failures.to_vec());
    ui::print_json_document(&json::pretty(&json!(out)))
}
