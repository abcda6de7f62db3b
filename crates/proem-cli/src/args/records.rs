//! The command line of what is kept of runs, and learned from them.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use proem_app::config::dollars;
use proem_app::records::Whose;
use proem_app::records::learning::{Adapting, CallerWishes};
use proem_engine::call::NanoDollars;
use proem_engine::profile::Judgement;

pub(super) const ADAPT_EXAMPLES: &str = "\
Examples:
  proem adapt reviews/triage      # exactly what this prompt gets now, and from which runs
  proem adapt --history failures.json --signals signals.json --json
  proem adapt --history failures.json --registry names.txt
  proem adapt                     # the profile that all failures of this project together produce";

pub(super) const COST_EXAMPLES: &str = "\
Examples:
  proem cost                      # this project, the last 30 days
  proem cost --all --since 2026-11-01 --json
  proem cost correct 4711 0.0123 --why \"the invoice says so\"
  proem cost fit                  # how far token estimates are from what providers report";

pub(super) const FAILURES_EXAMPLES: &str = "\
Examples:
  proem failures list
  proem failures clear --agent reviews/triage
  proem failures clear --undo";

pub(super) const RUNS_EXAMPLES: &str = "\
Examples:
  proem runs list
  proem runs show last
  proem runs diff last~1 last     # what changed, and why the cache missed
  proem runs replay 3f2a9c01      # rebuild its requests and show the first difference, if any
  proem runs resume 3f2a9c01      # continue where a crash or a question stopped it
  proem runs purge --before 30d";

pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  proem runs diff last~1 last     # the first calls of two runs
  proem runs diff 3f2a:2 last:1   # any two calls, as `proem runs show` numbers them
  proem runs diff last            # each call with the previous call of the same prompt
  proem runs diff last:2          # one of them";

pub(super) const STATS_EXAMPLES: &str = "\
Examples:
  proem stats
  proem stats --since 7d --json";

pub(super) const STORE_EXAMPLES: &str = "\
Examples:
  proem store status
  proem store adopt               # records that another installation made";

/// What the caller wishes of an answer, whatever happened before.
#[derive(Debug, Clone, Parser)]
pub(crate) struct AnswerWishes {
    /// Ask for a short answer
    #[arg(long)]
    pub(crate) time_sensitive: bool,
    /// Ask the model to consider compliance requirements
    #[arg(long)]
    pub(crate) compliance_required: bool,
    /// Ask for a format, such as Markdown or JSON
    #[arg(long, value_name = "FORMAT")]
    pub(crate) preferred_format: Option<String>,
    /// Leave the profile out of the prompt: no lessons from failures, no preferences of yours
    #[arg(long, conflicts_with_all = ["time_sensitive", "compliance_required", "preferred_format"])]
    pub(crate) no_adapt: bool,
}

impl AnswerWishes {
    /// What shapes the prompt.
    pub(crate) fn adapting(&self) -> Adapting {
        let format = self.preferred_format.clone().map(|name| (name, "--preferred-format"));
        let wishes = CallerWishes {
            time_sensitive: self.time_sensitive,
            compliance_required: self.compliance_required,
            preferred_format: format,
        };
        Adapting { wishes, is_off: self.no_adapt }
    }
}

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

/// Which project's records are meant.
#[derive(Debug, Clone, Parser)]
pub(crate) struct RecordsPlace {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub(crate) root: PathBuf,
    /// All projects of this user
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RecordsPlace {
    /// Whose runs are meant.
    pub(crate) const fn whose(&self) -> Whose {
        if self.all { Whose::All } else { Whose::Project }
    }
}

#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Cost {
    /// Start of the period: a day such as 2026-11-01, or 30d
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub(crate) since: String,
    #[command(flatten)]
    pub(crate) place: RecordsPlace,
    #[command(subcommand)]
    pub(crate) command: Option<CostCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CostCommand {
    /// Correct the recorded cost of an attempt; asks for confirmation
    #[command(after_help = "Example:\n  proem cost correct 4711 0.0123 --why \"the invoice says so\"")]
    Correct {
        /// The attempt, as `runs show` names it
        attempt: i64,
        /// What it cost, in dollars
        #[arg(value_parser = dollars)]
        cost: NanoDollars,
        /// The reason, kept with the correction
        #[arg(long)]
        why: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Compare estimated token counts with those that providers reported
    #[command(after_help = "Example:\n  proem cost fit --apply")]
    Fit {
        /// Apply the factors found to all estimates from now on
        #[arg(long, conflicts_with = "revert")]
        apply: bool,
        /// Undo --apply: use the previous factors
        #[arg(long)]
        revert: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum FailuresCommand {
    /// List failures, the newest first
    #[command(after_help = "Example:\n  proem failures list --json")]
    List {
        /// Only the failures of one agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Clear failures, so that prompts no longer learn from them
    #[command(after_help = "Example:\n  proem failures clear --undo")]
    Clear {
        /// Only the failures of one agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Restore the failures that were cleared last
        #[arg(long)]
        undo: bool,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs that asked a model or changed something, the newest first
    #[command(after_help = "Example:\n  proem runs list --since 7d --prompt reviews/triage")]
    List {
        /// Start of the period: a day such as 2026-11-01, or 7d
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Only runs of an agent, or of one prompt
        #[arg(long, value_name = "AGENT[/NAME]")]
        prompt: Option<String>,
        /// Only runs with this outcome
        #[arg(long, value_enum, value_name = "OUTCOME")]
        outcome: Option<OutcomeArg>,
        /// List every run, including prompts that were only assembled
        #[arg(long)]
        any: bool,
        /// Maximum number of runs to list
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Show what was sent, section by section, what came back, and what it cost
    #[command(after_help = "Example:\n  proem runs show last --body > body.json")]
    Show {
        /// The run: the beginning of its id, or `last`, `last~1` as `proem runs list` counts
        #[arg(default_value = "last")]
        run: String,
        /// Print the exact bytes of the body that was sent
        #[arg(long, conflicts_with = "json")]
        body: bool,
        /// The call whose body is printed, counted from 0
        #[arg(long, value_name = "N", default_value_t = 0, requires = "body")]
        call: u32,
        /// Show texts in full
        #[arg(long)]
        full: bool,
        /// Let `last` count every run, including prompts that were only assembled
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Show what changed between two requests, and why the cache missed
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        /// The earlier run, whose first call is compared, or one of its calls, such as `last:1`; without a second run,
        /// each call is compared with the one before
        #[arg(value_name = "RUN[:CALL]")]
        first: String,
        /// The later run, or one of its calls
        #[arg(value_name = "RUN[:CALL]")]
        second: Option<String>,
        /// Let `last` count every run, including prompts that were only assembled
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Rebuild a run's requests without sending, and compare them; exit code 1 if they differ
    #[command(after_help = "Example:\n  proem runs replay last --json")]
    Replay {
        /// The run
        #[arg(default_value = "last")]
        run: String,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Resume a run that a crash or a question stopped
    #[command(after_help = "Example:\n  proem runs resume 3f2a9c01")]
    Resume {
        /// The run
        #[arg(default_value = "last")]
        run: String,
        /// Continue under a new id, and leave the old run unchanged
        #[arg(long)]
        fork: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Rate a run as good or bad; its prompt learns from that
    #[command(after_help = "Example:\n  proem runs feedback last bad --note \"missed the deadlock\"")]
    Feedback {
        /// The run; here `last` is the newest of any kind, as `proem runs list --any` counts
        run: String,
        /// What you think of it
        #[arg(value_enum)]
        verdict: VerdictArg,
        /// The reason; kept with the run, never put into a prompt
        #[arg(long, default_value = "")]
        note: String,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Delete runs and all their data
    #[command(after_help = "Example:\n  proem runs purge --before 30d")]
    Purge {
        /// The runs; without any, those that --before selects
        #[arg(required_unless_present_any = ["before", "everything"])]
        runs: Vec<String>,
        /// Runs that started before this: a day such as 2026-11-01, or 30d
        #[arg(long, value_name = "WHEN", conflicts_with = "runs")]
        before: Option<String>,
        /// All of them
        #[arg(long, conflicts_with_all = ["runs", "before"])]
        everything: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutcomeArg {
    /// The run gave the model's value
    Answered,
    /// The run gave the prompt's fallback value
    FellBack,
    /// The run gave no value
    Failed,
    /// No model was asked, because of the budget
    Refused,
    /// Only a prompt was built; no model was asked
    Assembled,
}

/// What a person thinks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictArg {
    /// The answer was useful
    Good,
    /// The answer was not useful
    Bad,
}

impl From<VerdictArg> for Judgement {
    fn from(verdict: VerdictArg) -> Self {
        match verdict {
            VerdictArg::Good => Self::Good,
            VerdictArg::Bad => Self::Bad,
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct Stats {
    /// Start of the period: a day such as 2026-11-01, or 30d
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub(crate) since: String,
    #[command(flatten)]
    pub(crate) place: RecordsPlace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Show where records are, how many there are, and which installation made the file
    #[command(after_help = "Example:\n  proem store status --json")]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over records of another installation; asks for confirmation
    #[command(after_help = "Example:\n  proem store adopt")]
    Adopt,
    /// Reset the last recorded time after the clock ran ahead; asks for confirmation
    #[command(after_help = "Example:\n  proem store reset-clock")]
    ResetClock,
}
