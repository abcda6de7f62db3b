//! The command line of `proem scan`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use proem_app::scan::ScanOptions;
use proem_runtime::readers::DocumentKind;
use proem_text::Source;

pub(crate) const SCAN_EXAMPLES: &str = "\
Examples:
  proem scan mail.eml page.html notes.md
  curl -s https://example.org | proem scan - --as html
  proem scan .                                  # all that git tracks here
  proem scan docs/*.md --fail-on quarantine     # exit code 1 at quarantine or block
  proem scan --cut issue.md > clean.md
  proem scan --quiet mail.eml || echo suspicious  # only the exit code
  proem scan --jsonl rows.jsonl --json > scored.jsonl";

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReadAs {
    /// One text
    Text,
    /// One text in Markdown
    Markdown,
    /// A page
    Html,
    /// Headers, bodies and attachments
    Mail,
    /// Every string in it
    Json,
}

impl From<ReadAs> for DocumentKind {
    fn from(read_as: ReadAs) -> Self {
        match read_as {
            ReadAs::Text => Self::Text,
            ReadAs::Markdown => Self::Markdown,
            ReadAs::Html => Self::Html,
            ReadAs::Mail => Self::Mail,
            ReadAs::Json => Self::Json,
        }
    }
}

/// The mildest verdict that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictThreshold {
    /// Suspicious, or not all of it was looked at
    Flag,
    /// Must stay out of prompts
    Quarantine,
    /// Must stay out of prompts, and what came with it must not be acted on
    Block,
}

#[derive(Debug, Parser)]
pub(crate) struct ScanArgs {
    /// Files and folders (of a folder, the files that git tracks); `-` is standard input
    #[arg(required_unless_present = "jsonl")]
    pub(crate) files: Vec<PathBuf>,
    /// The format to read the files as, instead of detecting it
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub(crate) kind: Option<ReadAs>,
    /// The source of the text, which decides the verdicts, such as `jira/comment`; default: `file/` and the format
    #[arg(long, value_name = "NAME", value_parser = parse_source)]
    pub(crate) source: Option<Source>,
    /// The lowest verdict that makes the exit code 1; default: flag, or quarantine for a folder
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub(crate) fail_on: Option<VerdictThreshold>,
    /// Print nothing; the exit code tells the result, and errors are still printed
    #[arg(long, short, conflicts_with_all = ["cut", "json", "jsonl", "calibrate"])]
    pub(crate) quiet: bool,
    /// Print the text with the attacks cut out of it; of a mail or a page, each of its texts below its name
    #[arg(long)]
    pub(crate) cut: bool,
    /// Score each line `{"text": …}` of a file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "kind", "cut"])]
    pub(crate) jsonl: Option<PathBuf>,
    /// Treat the files as harmless, and set the flag threshold so that 1 in 100 of them exceeds it;
    /// each line `{"text": …}` of a `.jsonl` file is one text; needs at least 300 texts
    #[arg(long, conflicts_with_all = ["jsonl", "cut", "json"])]
    pub(crate) calibrate: bool,
    /// Maximum bytes read of each file or line; default: 16 MiB. In a folder, larger files are skipped and counted;
    /// there the default is 1 MiB
    #[arg(long, value_name = "BYTES", value_parser = max_bytes)]
    pub(crate) max_bytes: Option<usize>,
    /// A folder in the project whose tool names the scan looks for
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON; with a folder one line for each file
    #[arg(long)]
    pub(crate) json: bool,
}

impl ScanArgs {
    /// How files are read and judged.
    pub(crate) fn options(&self) -> ScanOptions {
        ScanOptions {
            kind: self.kind.map(Into::into),
            source: self.source.clone(),
            file_bytes: self.max_bytes.unwrap_or(16 * 1024 * 1024),
            folder_file_bytes: self.max_bytes.unwrap_or(1024 * 1024),
        }
    }
}

fn parse_source(name: &str) -> Result<Source, String> {
    Source::parse(name).ok_or_else(|| {
        "write at most 64 characters from a-z, 0-9, `/`, `_`, `.` and `-`, starting with a letter or digit".to_owned()
    })
}

fn max_bytes(number: &str) -> Result<usize, String> {
    // All of it is held in memory.
    const MOST: usize = 1 << 30;
    number
        .parse()
        .ok()
        .filter(|bytes| (1..=MOST).contains(bytes))
        .ok_or_else(|| format!("write a number from 1 to {MOST}"))
}
