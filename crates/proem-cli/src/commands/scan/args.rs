//! The command line of `proem scan`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use jiff::civil::Date;
use proem_app::scan::ScanOptions;
use proem_app::scan::acceptances::parse_day;
use proem_app::scan::examine::ScanDepth;
use proem_app::scan::folder::{FileSelection, FolderScope};
use proem_runtime::readers::DocumentKind;
use proem_text::Source;

pub(crate) const SCAN_EXAMPLES: &str = "\
Examples:
  proem scan mail.eml page.html notes.md
  curl -s https://example.org | proem scan - --as html
  proem scan .                                  # all that git tracks here
  proem scan --diff origin/main                 # only the lines that this branch adds
  proem scan . --sarif > scan.sarif
  proem scan issue.md --explain                 # the words behind each finding
  proem scan . --html scan.html                 # the texts with marks, as a page
  proem scan --agent-files                      # hooks, servers, permissions, rules and skills
  proem scan . --accept 3f9a1c2b7d4e --because 'a quotation' --until 2027-01-31
  proem scan . --baseline .proem-accepted.toml  # without what you accepted
  proem scan docs/*.md --fail-on quarantine     # exit code 1 at quarantine or block
  proem scan --cut issue.md > clean.md
  proem scan --exit-code-only mail.eml || echo suspicious
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
    #[arg(required_unless_present_any = ["jsonl", "diff", "agent_files"])]
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
    /// Scan only the lines that the tracked files have and this revision's common ancestor with HEAD lacks
    #[arg(long, value_name = "BASE", conflicts_with_all = ["cut", "jsonl", "calibrate"])]
    pub(crate) diff: Option<String>,
    /// Scan the files of a folder that coding agents load or run, and say what they would do; default: this folder
    #[arg(
        long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".",
        conflicts_with_all = ["files", "kind", "cut", "jsonl", "calibrate"]
    )]
    pub(crate) agent_files: Option<PathBuf>,
    /// Of a folder, scan all files: also those that git doesn't track, or that `.proemignore` names
    #[arg(long, conflicts_with_all = ["cut", "jsonl", "calibrate", "diff"])]
    pub(crate) all: bool,
    /// A file of accepted findings, which are left out; `--diff` uses the one that BASE has
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cut", "jsonl", "calibrate"])]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the finding with this id to the file of accepted findings; needs `--because`
    #[arg(long, value_name = "ID", requires = "because", conflicts_with_all = ["cut", "jsonl", "calibrate", "exit_code_only"])]
    pub(crate) accept: Vec<String>,
    /// Why the findings of `--accept` are no problem
    #[arg(long, value_name = "TEXT", requires = "accept")]
    pub(crate) because: Option<String>,
    /// The last day that the acceptance holds, such as 2027-01-31
    #[arg(long, value_name = "DATE", requires = "accept", value_parser = parse_until)]
    pub(crate) until: Option<Date>,
    /// Print nothing; the exit code tells the result, and errors are still printed
    #[arg(long, conflicts_with_all = ["cut", "json", "jsonl", "calibrate"])]
    pub(crate) exit_code_only: bool,
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
    /// Show why each finding was made: the words that a rule saw, and the sentences that the learned scorer read
    #[arg(long, conflicts_with_all = ["cut", "jsonl", "calibrate", "exit_code_only"])]
    pub(crate) explain: bool,
    /// Write a page with the texts, the findings marked in them, and the reasons
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cut", "jsonl", "calibrate", "accept"])]
    pub(crate) html: Option<PathBuf>,
    /// Print SARIF 2.1.0, for code scanning
    #[arg(long, conflicts_with_all = ["json", "exit_code_only", "cut", "jsonl", "calibrate", "accept"])]
    pub(crate) sarif: bool,
    /// Print a table in Markdown, for a comment or a job's summary
    #[arg(long, conflicts_with_all = ["json", "exit_code_only", "cut", "jsonl", "calibrate", "accept", "sarif"])]
    pub(crate) markdown: bool,
}

impl ScanArgs {
    /// Whether the whole scan is one report: of folders, of a change, or in a form for other programs.
    pub(crate) fn is_folder_report(&self) -> bool {
        let is_form =
            self.sarif || self.markdown || self.diff.is_some() || self.agent_files.is_some() || self.html.is_some();
        is_form || self.baseline.is_some() || !self.accept.is_empty() || self.files.iter().any(|path| path.is_dir())
    }

    /// The files of a folder to scan.
    pub(crate) fn selection(&self) -> FileSelection {
        match &self.diff {
            Some(base) => FileSelection::AddedSince(base.clone()),
            None if self.all => FileSelection::Everything,
            None => FileSelection::Tracked,
        }
    }

    /// The part of these files that is scanned.
    pub(crate) const fn scope(&self) -> FolderScope {
        if self.agent_files.is_some() { FolderScope::AgentFiles } else { FolderScope::AllFiles }
    }

    /// The lowest verdict that fails, where the arguments name none.
    pub(crate) fn threshold(&self) -> VerdictThreshold {
        let is_project =
            self.diff.is_some() || self.agent_files.is_some() || self.files.iter().any(|path| path.is_dir());
        self.fail_on.unwrap_or(if is_project { VerdictThreshold::Quarantine } else { VerdictThreshold::Flag })
    }

    /// How files are read and judged.
    pub(crate) fn options(&self) -> ScanOptions {
        ScanOptions {
            kind: self.kind.map(Into::into),
            source: self.source.clone(),
            file_bytes: self.max_bytes.unwrap_or(16 * 1024 * 1024),
            folder_file_bytes: self.max_bytes.unwrap_or(1024 * 1024),
            detail: match (self.cut, self.explain || self.html.is_some()) {
                (true, _) => ScanDepth::Cut,
                (false, true) => ScanDepth::Reasons,
                (false, false) => ScanDepth::FindingsOnly,
            },
        }
    }
}

fn parse_until(day: &str) -> Result<Date, String> {
    parse_day(day).ok_or_else(|| "write a day such as 2027-01-31".to_owned())
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
