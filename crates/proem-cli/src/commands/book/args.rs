//! The command line of `proem book`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use proem_app::book::live::LiveOptions;
use proem_app::config::parse_dollars;
use proem_app::records::learning::{Adapting, CallerWishes};
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_engine::call::NanoDollars;

use super::decide::decision_args::{ApproveArgs, DemoteArgs, PromoteArgs, ProposalsArgs, ProposeArgs, RejectArgs};
use super::experiment::{EXPERIMENT_EXAMPLES, ExperimentCommand, ExperimentPlace};
use super::import::{BookImportArgs, IMPORT_EXAMPLES};
use crate::args::models::with_models;

pub(crate) const BOOK_EXAMPLES: &str = "\
Examples:
  proem book list
  proem book show assemble/task
  proem book check            # exit code 1 if something is wrong
  proem book lock             # after a new version is finished
  proem book import chat.prompty";

const TEST_EXAMPLES: &str = with_models!(
    "the prompt file's `model:`, or `small`",
    "\
Examples:
  proem book test                 # every prompt that has test cases, without a model
  proem book test risk/decision --live --times 5   # pass@5, pass^5, and the cases that flicker
  proem book test --junit results.xml
  proem book test risk/decision --live --models small,large --times 9 --max-cost 0.50 --html page.html
  proem book test --json"
);

#[derive(Debug, Subcommand)]
pub(crate) enum BookCommand {
    /// List prompts and versions
    #[command(after_help = "Example:\n  proem book list --json")]
    List(BookPlace),
    /// Print one prompt's file and what it uses
    #[command(after_help = "Example:\n  proem book show assemble/task@1.0.0")]
    Show {
        /// `agent/name`, `agent/name@version`, or a prompt file
        prompt: String,
        #[command(flatten)]
        place: BookPlace,
    },
    /// Show two versions of a prompt side by side, with the tokens of each section
    #[command(after_help = "Example:\n  proem book diff assemble/task@1.2.0 @1.3.0")]
    Diff {
        /// `agent/name@version`, or `agent/name` for the version that is used
        #[arg(value_name = "PROMPT")]
        first: String,
        /// The same, or `@version` for another version of that prompt
        #[arg(value_name = "PROMPT")]
        second: String,
        #[command(flatten)]
        place: BookPlace,
    },
    /// Write `book.lock` for your book and the project's, which makes their versions immutable
    #[command(after_help = "Example:\n  proem book lock")]
    Lock(BookPlace),
    /// Check your book and the project's for errors; exit code 1 if there are any
    #[command(after_help = CHECK_EXAMPLES)]
    Check(BookCheck),
    /// Run the test cases of prompts; exit code 1 if one fails
    #[command(after_help = TEST_EXAMPLES)]
    Test(BookTest),
    /// Make prompt files of prompts that other tools wrote; nothing is written if one of them is refused
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(BookImportArgs),
    /// Make a locked version the one in use, after showing what changes; asks at a terminal
    #[command(after_help = "Example:\n  proem book promote reviews/triage@1.2.0 --because \"fewer false alarms\"")]
    Promote(PromoteArgs),
    /// Take the last promotion of a prompt back, to the byte; asks at a terminal
    #[command(after_help = "Example:\n  proem book demote reviews/triage")]
    Demote(DemoteArgs),
    /// Propose a new version, or another version as the one in use; changes nothing until a person approves
    #[command(after_help = PROPOSE_EXAMPLES)]
    Propose(ProposeArgs),
    /// List proposals with what is measured and what keeps them from approval
    #[command(after_help = "Examples:\n  proem book proposals\n  proem book proposals 3f2a9c01 --json")]
    Proposals(ProposalsArgs),
    /// Approve a proposal after reading it to its end; asks at a terminal
    #[command(
        after_help = "Examples:\n  proem book approve            # the only proposal\n  proem book approve 3f2a9c01"
    )]
    Approve(ApproveArgs),
    /// Reject a proposal and remove its files; asks at a terminal
    #[command(after_help = "Example:\n  proem book reject 3f2a9c01 --because \"loses the deadline\"")]
    Reject(RejectArgs),
    /// Compare versions of a prompt on real work: list, start, status, stop
    #[command(subcommand, after_help = EXPERIMENT_EXAMPLES)]
    Experiment(ExperimentCommand),
    /// Show how each version of a prompt did, from its runs
    #[command(after_help = "Example:\n  proem book stats reviews/triage --json")]
    Stats {
        /// `agent/name`; without it, every prompt that has runs
        prompt: Option<String>,
        #[command(flatten)]
        place: ExperimentPlace,
    },
}

const PROPOSE_EXAMPLES: &str = "\
Examples:
  proem book propose draft.prompt --prompt reviews/triage --because \"shorter\"
  proem book propose draft.prompt --prompt reviews/triage --because \"shorter\" --live --max-cost 0.20
  proem book propose reviews/triage@1.2.0 --because \"it did better for a month\"";

const CHECK_EXAMPLES: &str = "\
Examples:
  proem book check --book .proem/book
  proem book check --proposals    # in CI: each proposal is whole, fits the book and passes its cases";

#[derive(Debug, Parser)]
pub(crate) struct BookCheck {
    /// Also check each proposal: its base is unchanged, its files are whole and its prompt's cases hold
    #[arg(long, conflicts_with = "book")]
    pub(crate) proposals: bool,
    #[command(flatten)]
    pub(crate) place: BookPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct BookPlace {
    /// A folder in the project whose book is used
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Use only this folder as the book
    #[arg(long, value_name = "DIR", conflicts_with = "root")]
    pub(crate) book: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct BookTest {
    /// `agent/name`, `agent/name@version`, or a prompt file; without one, every prompt whose current version has cases
    pub(crate) prompt: Option<String>,
    /// Also ask a model, for the test cases that say what its answer should be; calls are recorded and count
    /// against budgets
    #[arg(long, conflicts_with = "book")]
    pub(crate) live: bool,
    /// How many times each test case is sent to the model; pass@N and pass^N are estimated from all of them
    #[arg(long, value_name = "N", default_value = "3", requires = "live")]
    pub(crate) times: NonZeroU32,
    /// The model or role that is asked, instead of the prompt's own
    #[arg(long, value_name = "MODEL", requires = "live")]
    pub(crate) model: Option<String>,
    /// The models or roles that are compared: an estimate first, then each test case asked of each; exit code 1 unless
    /// the interval of every share of expected answers is at or above --least
    #[arg(long, value_name = "MODELS", value_delimiter = ',', requires_all = ["live", "max_cost"], conflicts_with = "model")]
    pub(crate) models: Vec<String>,
    /// Maximum cost of all runs together, in US dollars; a run that could exceed it is not made
    #[arg(long, value_name = "DOLLARS", requires = "models", value_parser = parse_dollars)]
    pub(crate) max_cost: Option<NanoDollars>,
    /// The least share of expected answers that is wanted of each model, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 90, requires = "models",
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) least: u32,
    /// Also write the comparison to a file, as one page without scripts
    #[arg(long, value_name = "FILE", requires = "models")]
    pub(crate) html: Option<PathBuf>,
    /// The provider to ask: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(crate) provider: Option<String>,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR", requires = "live")]
    pub(crate) record: Option<PathBuf>,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", requires = "live", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Also write the results to a file, as JUnit XML
    #[arg(long, value_name = "FILE", conflicts_with = "models")]
    pub(crate) junit: Option<PathBuf>,
    /// Print a table in Markdown, for a comment or a job's summary
    #[arg(long, conflicts_with_all = ["json", "models"])]
    pub(crate) markdown: bool,
    /// Ask for short answers
    #[arg(long, requires = "live")]
    pub(crate) time_sensitive: bool,
    /// Ask the model to consider compliance requirements
    #[arg(long, requires = "live")]
    pub(crate) compliance_required: bool,
    /// Ask for a format, such as Markdown or JSON; lessons from failures are never included here
    #[arg(long, value_name = "FORMAT", requires = "live")]
    pub(crate) preferred_format: Option<String>,
    /// Keep no record of the runs; refused where a budget is configured
    #[arg(long, requires = "live")]
    pub(crate) no_record: bool,
    #[command(flatten)]
    pub(crate) place: BookPlace,
}

impl BookTest {
    /// The options of the use case that asks a model.
    pub(crate) fn live(&self) -> LiveOptions {
        let wishes = CallerWishes {
            time_sensitive: self.time_sensitive,
            compliance_required: self.compliance_required,
            preferred_format: self.preferred_format.clone().map(|name| (name, "--preferred-format")),
        };
        LiveOptions {
            root: self.place.root.clone(),
            times: self.times,
            model: self.model.clone(),
            provider: self.provider.clone(),
            carriage: Carriage::taped(self.record.clone(), self.replay.clone()),
            adapting: Adapting { wishes, is_off: false },
            most: self.max_cost,
            earlier: Vec::new(),
            record: if self.no_record { RecordChoice::No } else { RecordChoice::AsConfigured },
        }
    }
}
