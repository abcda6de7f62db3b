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
  proem adapt                     # what all failures of this project together would give";

pub(super) const COST_EXAMPLES: &str = "\
Examples:
  proem cost                      # this project, the last 30 days
  proem cost --all --since 2026-11-01 --json
  proem cost correct 4711 0.0123 --why \"the invoice says so\"
  proem cost fit                  # how far counts are from what providers report";

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
  proem runs replay 3f2a9c01      # the same bytes from the record, or the first difference
  proem runs resume 3f2a9c01      # go on where a crash or a question stopped it
  proem runs purge --before 30d";

pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  proem runs diff last~1 last     # the first calls of two runs
  proem runs diff 3f2a:2 last:1   # any two calls, as `proem runs show` numbers them
  proem runs diff last            # each call with the one before it of the same prompt
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
pub(crate) struct Wishes {
    /// Ask for a short answer
    #[arg(long)]
    pub(crate) time_sensitive: bool,
    /// Ask for compliance to be considered
    #[arg(long)]
    pub(crate) compliance_required: bool,
    /// Ask for a format, such as Markdown or JSON
    #[arg(long, value_name = "FORMAT")]
    pub(crate) preferred_format: Option<String>,
    /// Show the model no profile: neither what prompts learned from failures nor wishes
    #[arg(long, conflicts_with_all = ["time_sensitive", "compliance_required", "preferred_format"])]
    pub(crate) no_adapt: bool,
}

impl Wishes {
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
    /// The prompt of which to show exactly what it gets now, and from which runs
    #[arg(value_name = "PROMPT", conflicts_with_all = ["history", "signals", "registry", "now", "agent"])]
    pub(crate) prompt: Option<String>,
    /// Failures as JSON: a list of `timestamp`, `result_key`, `subagent` and `issue`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Signals as JSON, such as `needs_retry` and `risk_tags`; what is left out follows from the history
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Names that may stand in a profile, one on each line; without it, those of the book, and with --history all
    /// of identifier form
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// The time by which failures age, instead of now, such as 2026-11-22T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Only what was recorded of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "history")]
    pub(crate) agent: Option<String>,
    /// The folder whose project is meant
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print the profile as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which project's records are meant.
#[derive(Debug, Clone, Parser)]
pub(crate) struct RecordsPlace {
    /// The folder whose project is meant
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
    /// From when on: a day such as 2026-11-01, or 30d
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub(crate) since: String,
    #[command(flatten)]
    pub(crate) place: RecordsPlace,
    #[command(subcommand)]
    pub(crate) command: Option<CostCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CostCommand {
    /// Correct what is booked for an attempt; asks at the terminal
    #[command(after_help = "Example:\n  proem cost correct 4711 0.0123 --why \"the invoice says so\"")]
    Correct {
        /// The attempt, as `runs show` names it
        attempt: i64,
        /// What it cost, in dollars
        #[arg(value_parser = dollars)]
        cost: NanoDollars,
        /// Why
        #[arg(long)]
        why: String,
        /// The folder whose project is meant
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Compare our counts with what providers reported
    #[command(after_help = "Example:\n  proem cost fit --apply")]
    Fit {
        /// Count with the factors that were found from now on
        #[arg(long, conflicts_with = "revert")]
        apply: bool,
        /// Count as before
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
        /// Only those of one agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// The folder whose project is meant
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let failures count no more
    #[command(after_help = "Example:\n  proem failures clear --undo")]
    Clear {
        /// Only those of one agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Let those count again that were cleared last
        #[arg(long)]
        undo: bool,
        /// The folder whose project is meant
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs that asked a model or changed something, the newest first
    #[command(after_help = "Example:\n  proem runs list --since 7d --prompt reviews/triage")]
    List {
        /// From when on: a day such as 2026-11-01, or 7d
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Only those of an agent, or of one prompt
        #[arg(long, value_name = "AGENT[/NAME]")]
        prompt: Option<String>,
        /// Only those that ended like this
        #[arg(long, value_enum, value_name = "OUTCOME")]
        outcome: Option<OutcomeArg>,
        /// List every run, also prompts that were only assembled
        #[arg(long)]
        any: bool,
        /// The most that are listed
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
        /// Which call's body, from 0
        #[arg(long, value_name = "N", default_value_t = 0, requires = "body")]
        call: u32,
        /// Show all of every text
        #[arg(long)]
        full: bool,
        /// Let `last` count every run, also prompts that were only assembled
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Name what changed between two requests, and why the cache missed
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        /// The earlier run, of which the first call counts, or one of its calls, such as `last:1`; alone, each of its
        /// calls is compared with the one before it
        #[arg(value_name = "RUN[:CALL]")]
        first: String,
        /// The later run, or one of its calls
        #[arg(value_name = "RUN[:CALL]")]
        second: Option<String>,
        /// Let `last` count every run, also prompts that were only assembled
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Make a run's requests anew from its record, without sending; exit code 1 at a difference
    #[command(after_help = "Example:\n  proem runs replay last --json")]
    Replay {
        /// The run
        #[arg(default_value = "last")]
        run: String,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Go on with a run that a crash or a question stopped
    #[command(after_help = "Example:\n  proem runs resume 3f2a9c01")]
    Resume {
        /// The run
        #[arg(default_value = "last")]
        run: String,
        /// Go on under a new id, and leave the old run as it is
        #[arg(long)]
        fork: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Say what you think of a run; its prompt learns from that
    #[command(after_help = "Example:\n  proem runs feedback last bad --note \"missed the deadlock\"")]
    Feedback {
        /// The run; here `last` is the newest of any kind, as `proem runs list --any` counts
        run: String,
        /// What you think of it
        #[arg(value_enum)]
        verdict: VerdictArg,
        /// Why; it is kept with the run, and enters no prompt
        #[arg(long, default_value = "")]
        note: String,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Delete runs with everything that was kept of them
    #[command(after_help = "Example:\n  proem runs purge --before 30d")]
    Purge {
        /// The runs; without any, those that --before names
        #[arg(required_unless_present_any = ["before", "everything"])]
        runs: Vec<String>,
        /// Those that started before: a day such as 2026-11-01, or 30d
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
    /// With the model's value
    Answered,
    /// With the prompt's own value
    FellBack,
    /// With none
    Failed,
    /// Not asked, for the budget's sake
    Refused,
    /// A prompt, and no call
    Assembled,
}

/// What a person thinks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictArg {
    /// It was of use
    Good,
    /// It was not
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
    /// From when on: a day such as 2026-11-01, or 30d
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub(crate) since: String,
    #[command(flatten)]
    pub(crate) place: RecordsPlace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Show where records are, how many there are, and who made the file
    #[command(after_help = "Example:\n  proem store status --json")]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over records of another installation; asks at the terminal
    #[command(after_help = "Example:\n  proem store adopt")]
    Adopt,
    /// Set the last seen time back after a clock that ran ahead; asks at the terminal
    #[command(after_help = "Example:\n  proem store reset-clock")]
    ResetClock,
}
