//! The command line of `proem runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use proem_engine::profile::Judgement;

use crate::args::place::RecordsPlace;

pub(crate) const RUNS_EXAMPLES: &str = "\
Examples:
  proem runs list
  proem runs show last
  proem runs diff last~1 last     # what changed, and why the cache missed
  proem runs replay 3f2a9c01      # rebuild its requests and show the first difference, if any
  proem runs stuck                # what waits for you
  proem runs resume 3f2a9c01      # continue where a crash or a question stopped it
  proem runs export --csv > calls.csv
  proem runs purge --before 30d";

const DIFF_EXAMPLES: &str = "\
Examples:
  proem runs diff last~1 last     # the first calls of two runs
  proem runs diff 3f2a:2 last:1   # any two calls, as `proem runs show` numbers them
  proem runs diff last            # each call with the previous call of the same prompt
  proem runs diff last:2          # one of them";

const EXPORT_EXAMPLES: &str = "\
Examples:
  proem runs export --since 30d > calls.jsonl
  proem runs export --csv --all > calls.csv
  proem schema runs-export        # the columns
  proem runs export --otlp http://127.0.0.1:6006 --since 7d
  proem runs export --otlp        # what the configured endpoint does not have yet

Neither lines nor spans have texts of requests or answers. Columns keep their names and order, and new ones go to the end.";

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
    #[command(
        after_help = "Examples:\n  proem runs show last --body > body.json\n  proem runs show last --svg run.svg"
    )]
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
        /// Write a picture of the run to a file: each attempt with its time, tokens and cost
        #[arg(long, value_name = "FILE", conflicts_with = "body")]
        svg: Option<PathBuf>,
        /// Show texts in full
        #[arg(long)]
        full: bool,
        /// Let `last` count every run, including prompts that were only assembled
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// List the runs that do not end by themselves, and how to continue each; exit code 1 if there are any
    #[command(
        after_help = "A run is stuck if it has a question, if its process is gone, or if it has been running for long.\n\n\
                      Example:\n  proem runs stuck --running 12h --all"
    )]
    Stuck {
        /// Also list what has been running since before this time: 1h, 2d, or a day such as 2026-11-01
        #[arg(long, value_name = "WHEN", default_value = "1h")]
        running: String,
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
    /// Print a line for each call to a model, the oldest first, or send runs to OpenTelemetry
    #[command(after_help = EXPORT_EXAMPLES)]
    Export {
        /// Print an object of JSON for each call, as --json does; this is the default
        #[arg(long)]
        jsonl: bool,
        /// Print a table of comma-separated values instead
        #[arg(long, conflicts_with_all = ["jsonl", "json"])]
        csv: bool,
        #[command(flatten)]
        spans: SpanArgs,
        /// Start of the period: a day such as 2026-11-01, or 7d
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Only runs of an agent, or of one prompt
        #[arg(long, value_name = "AGENT[/NAME]")]
        prompt: Option<String>,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Rebuild a run's requests without sending, and compare them; exit code 1 if they differ
    #[command(after_help = "Example:\n  proem runs replay last --json")]
    Replay {
        #[arg(default_value = "last")]
        run: String,
        #[command(flatten)]
        place: RecordsPlace,
    },
    /// Resume a run that a crash or a question stopped
    #[command(after_help = "Example:\n  proem runs resume 3f2a9c01")]
    Resume {
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
        /// Your judgement
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

/// How runs are sent as spans.
#[derive(Debug, Args)]
pub(crate) struct SpanArgs {
    /// Send runs as spans to an endpoint of OpenTelemetry instead; without URL and filter, those that the configured
    /// endpoint does not have
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with_all = ["jsonl", "csv", "json"])]
    pub(crate) otlp: Option<Option<String>>,
    /// Send a header with the credential of this name under `effects.credentials`
    #[arg(long, value_name = "HEADER=CREDENTIAL", requires = "otlp")]
    pub(crate) header: Vec<String>,
    /// Send texts of prompts and answers as well, without credentials
    #[arg(long, requires = "otlp")]
    pub(crate) content: bool,
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

/// A person's judgement of a run.
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
