//! The command line, as `--help` documents it.

mod assemble;
pub(crate) mod book;
mod models;
pub(crate) mod records;
pub(crate) mod risk;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use proem_agents::prompted::InputAuthor;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::scan::ScanOptions;
use proem_app::select::SelectOptions;
use proem_app::tokens::TokensOptions;
use proem_engine::run::ExchangeLimits;
use proem_runtime::readers::DocumentKind;
use proem_text::Source;

pub(crate) use self::assemble::{Assemble, PromptFormat};
pub(crate) use self::book::{BookCommand, BookPlace, BookTest};
use self::models::with_models;

/// Decides what a language model reads, and accounts for every token of it.
#[derive(Debug, Parser)]
#[command(name = "proem", version, propagate_version = true, arg_required_else_help = true, after_help = COLOURS)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print what a prompt learned, and the profile that failures and signals produce
    #[command(after_help = records::ADAPT_EXAMPLES)]
    Adapt(records::Adapt),
    /// Print the prompt for a task in a repository
    #[command(after_help = ASSEMBLE_EXAMPLES)]
    Assemble(Assemble),
    /// List, show, check, test and lock the prompts of the book
    #[command(subcommand, after_help = BOOK_EXAMPLES)]
    Book(BookCommand),
    /// List, show, check and approve tools and skills
    #[command(subcommand, after_help = CATALOGUE_EXAMPLES)]
    Catalogue(CatalogueCommand),
    /// Show what was spent, by day, prompt and model
    #[command(after_help = records::COST_EXAMPLES)]
    Cost(records::Cost),
    /// List and clear the failures that prompts learn from
    #[command(subcommand, after_help = records::FAILURES_EXAMPLES)]
    Failures(records::FailuresCommand),
    /// Say how risky a change is, with evidence from the repository's history
    #[command(after_help = risk::RISK_EXAMPLES)]
    Risk(Box<risk::Risk>),
    /// Ask a model with a prompt of the book, and check its answer
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// List, show, compare, replay, resume, rate and delete runs
    #[command(subcommand, after_help = records::RUNS_EXAMPLES)]
    Runs(records::RunsCommand),
    /// Look for prompt injections in files
    #[command(after_help = SCAN_EXAMPLES)]
    Scan(ScanArgs),
    /// Rank tools and skills for one task, or for many
    #[command(after_help = SELECT_EXAMPLES)]
    Select(Select),
    /// Show statistics on prompts, tools and roles
    #[command(after_help = records::STATS_EXAMPLES)]
    Stats(records::Stats),
    /// Manage the file that runs are recorded in
    #[command(subcommand, after_help = records::STORE_EXAMPLES)]
    Store(records::StoreCommand),
    /// Count the tokens of files
    #[command(after_help = TOKENS_EXAMPLES)]
    Tokens(TokensArgs),
    /// Review and trust this project's files
    #[command(after_help = TRUST_EXAMPLES, subcommand_precedence_over_arg = true)]
    Trust(TrustArgs),
    /// Set up a project
    #[command(after_help = INIT_EXAMPLES)]
    Init(Init),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  proem completions bash > ~/.local/share/bash-completion/completions/proem")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a generated reference document
    #[command(hide = true)]
    Reference {
        /// Which one
        #[arg(value_enum)]
        document: ReferenceDocument,
    },
}

/// A reference document that only the binary can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceDocument {
    /// Every key of config.toml and proem.toml
    Configuration,
    /// The JSON Schema of `assemble --json`
    AssembleSchema,
    /// The JSON Schema of `risk --json`
    RiskSchema,
    /// The JSON Schema of `run --json`
    RunSchema,
    /// The JSON Schema of `scan --json`
    ScanSchema,
}

const COLOURS: &str =
    "Output is coloured on terminals only; NO_COLOR=1 turns colours off, CLICOLOR_FORCE=1 keeps them in pipes too.";

const ASSEMBLE_EXAMPLES: &str = with_models!(
    "the role that the prompt names, `small`",
    "\
Examples:
  proem assemble \"fix the flaky parser test\"
  proem assemble \"review this diff\" --explain
  proem assemble \"add retries\" --format anthropic --model small > body.json
  proem assemble --task-untrusted \"$ISSUE_TITLE\" --json     # in CI: somebody else wrote it
  git log -1 --format=%s | proem assemble - --task-untrusted"
);

const BOOK_EXAMPLES: &str = "\
Examples:
  proem book list
  proem book show assemble/task
  proem book check            # exit code 1 if something is wrong
  proem book lock             # after a new version is finished";

const CATALOGUE_EXAMPLES: &str = "\
Examples:
  proem catalogue list
  proem catalogue show github__create_issue
  proem catalogue check              # exit code 1 if something is wrong
  proem catalogue approve github     # shows the whole manifest, asks once
  proem catalogue refresh            # after a file changed; starts no server";

const RUN_EXAMPLES: &str = with_models!(
    "what the prompt file names as `model:`, or `small`",
    "\
Examples:
  proem run reviews/triage --input issue.json
  proem run reviews/triage --set title=\"it crashes\" --dry-run       # what would be sent; no key needed
  proem run reviews/triage --batch issues.jsonl --out triaged.jsonl   # run it again to continue
  proem run reviews/triage --input issue.json --provider ollama --model llama3.1
  proem run reviews/triage --input issue.json --record tapes          # and later --replay tapes"
);

const SCAN_EXAMPLES: &str = "\
Examples:
  proem scan mail.eml page.html notes.md
  curl -s https://example.org | proem scan - --as html
  proem scan .                                  # all that git tracks here
  proem scan docs/*.md --fail-on quarantine     # exit code 1 at quarantine or block
  proem scan --cut issue.md > clean.md
  proem scan --jsonl rows.jsonl --json > scored.jsonl";

const SELECT_EXAMPLES: &str = "\
Examples:
  proem select \"open a pull request\"
  proem select \"abre um chamado\" --catalogue tools.jsonl --top 3
  proem select --catalogue tools.jsonl --queries tasks.jsonl --json > ranked.jsonl
  tail -f tasks.jsonl | proem select --queries - --usage used.jsonl --json";

const TOKENS_EXAMPLES: &str = with_models!(
    "the role `small`",
    "\
Examples:
  proem tokens README.md src/*.rs
  git diff | proem tokens -
  proem tokens --model claude-haiku-4-5 --json prompt.md"
);

const TRUST_EXAMPLES: &str = "\
Examples:
  proem trust                       # show what changed in all files, ask once
  proem trust AGENTS.md
  proem trust --while-editing .proem/book
  proem trust list
  proem trust revoke AGENTS.md";

const INIT_EXAMPLES: &str = "\
Examples:
  proem init
  proem init --from prompts/agent.md    # split an existing prompt and measure against it";

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogueCommand {
    /// List tools and skills
    #[command(after_help = "Example:\n  proem catalogue list --kind skill")]
    List {
        /// Only tools, or only skills
        #[arg(long, value_enum)]
        kind: Option<KindArg>,
        /// Only the tools of one server
        #[arg(long)]
        server: Option<String>,
        #[command(flatten)]
        place: CataloguePlace,
    },
    /// Print one entry with all that is known about it
    #[command(after_help = "Example:\n  proem catalogue show github__create_issue")]
    Show {
        /// The name of the entry, as `proem catalogue list` shows it
        name: String,
        #[command(flatten)]
        place: CataloguePlace,
    },
    /// Read all files again and store the manifest
    #[command(after_help = "Example:\n  proem catalogue refresh --json")]
    Refresh(CataloguePlace),
    /// Check the catalogue for errors; exit code 1 if there are any
    #[command(after_help = "Example:\n  proem catalogue check --json")]
    Check(CataloguePlace),
    /// Review definitions and allow them in prompts
    #[command(after_help = "Example:\n  proem catalogue approve github")]
    Approve {
        /// Servers and names of entries
        #[arg(required = true)]
        names: Vec<String>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

/// What an entry of the catalogue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// Functions that a model may call
    Tool,
    /// Instructions that a model may ask to read
    Skill,
}

#[derive(Debug, Parser)]
pub(crate) struct CataloguePlace {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct RunArgs {
    /// `agent/name`, or `agent/name@version`
    pub(crate) prompt: String,
    /// A JSON object with the prompt's inputs; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    pub(crate) input: Option<PathBuf>,
    /// One input as text; overrides the file; may be given several times
    #[arg(long, value_name = "NAME=TEXT", value_parser = name_and_text)]
    pub(crate) set: Vec<(String, String)>,
    /// A file with the inputs of one run on each line, as JSON; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) batch: Option<PathBuf>,
    /// The file for a batch's results, in the order of its lines; what an interrupted run got is kept
    #[arg(long, value_name = "FILE", requires = "batch")]
    pub(crate) out: Option<PathBuf>,
    /// Maximum number of requests in parallel
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<std::num::NonZeroUsize>,
    /// The model or role that is asked, instead of the prompt's own
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The provider to ask: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Somebody else wrote the inputs: mark all of them as untrusted text
    #[arg(long)]
    pub(crate) input_untrusted: bool,
    /// Maximum number of input tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Maximum number of attempts until the answer meets the prompt's contract
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) attempts: std::num::NonZeroU32,
    /// Maximum tokens of all attempts together, prompts and answers; requests that could exceed it are not sent
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_tokens: Option<u64>,
    /// Maximum cost of one run, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::dollars)]
    pub(crate) max_cost: Option<proem_engine::call::NanoDollars>,
    /// Time limit of one run
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) timeout: std::num::NonZeroU32,
    /// Print the request instead of sending it
    #[arg(long, conflicts_with_all = ["record", "replay", "out"])]
    pub(crate) dry_run: bool,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) wishes: records::AnswerWishes,
    /// Keep no record of it; refused where a budget is configured
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Print the value with its label, attempts, usage and cost as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Report every attempt on standard error
    #[arg(long)]
    pub(crate) explain: bool,
    /// A folder in the project whose book is used
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

impl RunArgs {
    /// What the use case is asked for.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            prompt: self.prompt.clone(),
            model: self.model.clone(),
            provider: self.provider.clone(),
            concurrency: self.concurrency,
            given: if self.input_untrusted { InputAuthor::FromOutside } else { InputAuthor::ByCaller },
            input_tokens: self.budget,
            limits: ExchangeLimits { attempts: self.attempts, tokens: self.max_tokens },
            most: self.max_cost,
            seconds: self.timeout,
            carriage: if self.dry_run {
                Carriage::Nobody
            } else {
                Carriage::taped(self.record.clone(), self.replay.clone())
            },
            adapting: self.wishes.adapting(),
            record: if self.no_record { RecordChoice::No } else { RecordChoice::AsConfigured },
        }
    }
}

fn name_and_text(argument: &str) -> Result<(String, String), String> {
    let (name, text) = argument.split_once('=').ok_or("write NAME=TEXT")?;
    Ok((name.to_owned(), text.to_owned()))
}

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
    #[arg(long, value_name = "NAME", value_parser = source)]
    pub(crate) source: Option<Source>,
    /// The lowest verdict that makes the exit code 1; default: flag, or quarantine for a folder
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub(crate) fail_on: Option<VerdictThreshold>,
    /// Print the text with the attacks cut out of it
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

fn source(name: &str) -> Result<Source, String> {
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

#[derive(Debug, Parser)]
pub(crate) struct Select {
    /// What is to be done
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    pub(crate) query: Option<String>,
    /// Rank for every task of a file, one on each line as `{"query": …}`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// JSON lines, or a saved answer to `tools/list`, instead of the project's catalogue
    #[arg(long, value_name = "FILE")]
    pub(crate) catalogue: Option<PathBuf>,
    /// A folder in the project whose catalogue is used
    #[arg(long, value_name = "DIR", default_value = ".", conflicts_with = "catalogue")]
    pub(crate) root: PathBuf,
    /// How many to list, the likeliest first
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) top: u16,
    /// A file with what earlier tasks used, as lines `{"query": …, "tools": […]}`
    #[arg(long, value_name = "FILE")]
    pub(crate) usage: Option<PathBuf>,
    /// Rank by shared words only
    #[arg(long)]
    pub(crate) no_embedding: bool,
    /// Print one line of JSON for each task
    #[arg(long)]
    pub(crate) json: bool,
}

impl Select {
    /// What is ranked, and by what.
    pub(crate) fn options(&self) -> SelectOptions {
        SelectOptions {
            catalogue: self.catalogue.clone(),
            root: self.root.clone(),
            usage: self.usage.clone(),
            words_only: self.no_embedding.then(|| "`--no-embedding`: ranked by shared words".to_owned()),
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct TokensArgs {
    /// Files; `-` is standard input
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
    /// What tokens are counted by.
    pub(crate) fn options(&self) -> TokensOptions {
        TokensOptions { model: self.model.clone(), provider: self.provider.clone(), root: self.root.clone() }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct TrustArgs {
    /// Files to review; without any, all that Proem would read as trusted
    pub(crate) files: Vec<PathBuf>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub(crate) root: PathBuf,
    /// Trust a file, or all files below a folder, until HEAD changes or a day has passed
    #[arg(long, value_name = "PATH", conflicts_with = "files")]
    pub(crate) while_editing: Option<PathBuf>,
    /// The hash of the version that was reviewed elsewhere; trusts one file without asking if it matches
    #[arg(long, value_name = "HEX", requires = "files")]
    pub(crate) sha256: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List files with their state
    #[command(after_help = "Example:\n  proem trust list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop trusting files
    #[command(after_help = "Example:\n  proem trust revoke AGENTS.md")]
    Revoke {
        /// The files
        #[arg(required_unless_present = "all")]
        files: Vec<PathBuf>,
        /// Everything that was trusted in this repository
        #[arg(long)]
        all: bool,
    },
}

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
}
