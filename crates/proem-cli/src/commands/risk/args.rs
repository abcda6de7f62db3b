//! The command line of `proem risk`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};
use proem_agents::risk::feedback::Meter;
use proem_app::project::unix_seconds;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::risk::options::{
    DiffChoice, EvidenceOptions, HistoryCaching, InvestigationOptions, InvestigationTime, RiskOptions, WantedChanges,
};
use proem_app::{Error, when};
use proem_risk::level::{Level, LevelRules};
use proem_runtime::change::{CommitSelection, Spec, parse_change_spec};

use crate::args::models::with_models;
use crate::args::wishes::AnswerWishes;

pub(crate) const RISK_EXAMPLES: &str = with_models!(
    "the role that its prompts name, `small`",
    "\
Examples:
  proem risk                            # uncommitted changes; if there are none, the last commit
  proem risk HEAD~1 --explain
  proem risk main..feature --markdown   # all of a branch as one change
  proem risk main..feature --each       # every commit of it on its own
  proem risk --since 30d                # recent commits, the riskiest first
  proem risk --since 90d --svg risk.svg # the same as a picture, by rank and level
  proem risk main.. --html risk.html    # a page for a browser
  proem risk --staged --fail-on high    # for hooks: exit code 1 at HIGH
  proem risk feedback last --caught
  proem risk signals                    # what each signal has been worth here"
);

#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
pub(crate) struct Risk {
    /// A commit, or a range such as `main..feature`, which is one change; several are assessed one by one
    #[arg(value_name = "REV", conflicts_with_all = ["staged", "worktree", "since"])]
    pub(crate) revisions: Vec<String>,
    /// Assess what is staged
    #[arg(long, conflicts_with_all = ["worktree", "since"])]
    pub(crate) staged: bool,
    /// Assess what differs from HEAD, with untracked files
    #[arg(long, conflicts_with = "since")]
    pub(crate) worktree: bool,
    /// Rank the commits since a day such as 2026-11-01, or since 30d ago
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Assess every commit of a range on its own
    #[arg(long, requires = "revisions")]
    pub(crate) each: bool,
    #[command(flatten)]
    pub(crate) form: ReportFormatArgs,
    /// Write a picture of the changes by rank and level to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the reports to a file as a page for a browser, with the files of each change as a picture
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// The lowest level that makes the exit code 1. Add `unknown` to fail on UNKNOWN too, as in `high,unknown`
    #[arg(long, value_enum, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) fail_on: Vec<LevelThreshold>,
    #[command(flatten)]
    pub(crate) evidence: AssessmentArgs,
    #[command(flatten)]
    pub(crate) asking: InvestigatorArgs,
    /// Let the model see the riskiest lines of the change, if `[risk] show_diff` of your own configuration permits it
    #[arg(long, conflicts_with = "no_model")]
    pub(crate) show_diff: bool,
    #[command(flatten)]
    pub(crate) wishes: AnswerWishes,
    /// Maximum number of changes assessed in parallel
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) concurrency: NonZeroUsize,
    /// Do not record the assessment; feedback is then impossible
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Read the whole history again, and write no cache
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// A folder in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Option<RiskCommand>,
}

/// How an assessment is printed; without any, as a report that fits one screen.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(multiple = false)]
pub(crate) struct ReportFormatArgs {
    /// Print JSON; a list for several changes
    #[arg(long)]
    pub(crate) json: bool,
    /// Print SARIF 2.1.0, for code scanning
    #[arg(long)]
    pub(crate) sarif: bool,
    /// Print Markdown, for a comment on a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Show all metrics, the score's parts and what is unknown
    #[arg(long)]
    pub(crate) explain: bool,
}

/// The basis of an assessment.
#[derive(Debug, Clone, Parser)]
pub(crate) struct AssessmentArgs {
    /// Rules for the level
    #[arg(long, value_enum, value_name = "RULES", default_value_t = LevelRulesArg::Rank)]
    pub(crate) rules: LevelRulesArg,
    /// Incidents as JSON, JSON Lines or CSV, or an export of issues; default: fixes and reverts in the history
    #[arg(long, value_name = "FILE")]
    pub(crate) incidents: Option<PathBuf>,
    /// A report of measured coverage: lcov, Cobertura or the JSON of coverage.py
    #[arg(long, value_name = "FILE")]
    pub(crate) coverage: Option<PathBuf>,
    /// Follow only the first parent of merges through the history
    #[arg(long)]
    pub(crate) first_parent: bool,
    /// How many months back files that changed together are counted
    #[arg(long, value_name = "MONTHS", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) window: u16,
}

/// The investigating model, and its limits of time.
#[derive(Debug, Clone, Parser)]
pub(crate) struct InvestigatorArgs {
    /// Ask no model: the score and evidence are the same, the level comes from the rules alone
    #[arg(long, conflicts_with_all = ["model", "provider", "record", "replay"])]
    pub(crate) no_model: bool,
    /// The model or role that investigates
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The provider to ask: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Time limit of one investigation, including its summary
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    pub(crate) timeout: NonZeroU32,
    /// Time limit of one step of the investigation
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    pub(crate) hop_timeout: NonZeroU32,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
}

/// The level that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelThreshold {
    /// Somebody should look; HIGH fails too
    Medium,
    /// Somebody who knows the code should look
    High,
    /// Nothing is known about the change; given alone, HIGH and MEDIUM pass
    Unknown,
}

impl Risk {
    /// The changes to assess, the evidence, and the investigation.
    ///
    /// # Errors
    ///
    /// If the changes that are meant can't be told.
    pub(crate) fn options(&self) -> Result<RiskOptions, Error> {
        let Self { evidence, asking, .. } = self;
        Ok(RiskOptions {
            root: self.root.clone(),
            changes: self.changes()?,
            evidence: EvidenceOptions {
                rules: evidence.rules.rules(),
                incidents: evidence.incidents.clone(),
                coverage: evidence.coverage.clone(),
                first_parent: evidence.first_parent,
                window_months: evidence.window,
                caching: if self.no_cache { HistoryCaching::Off } else { HistoryCaching::On },
            },
            investigation: InvestigationOptions {
                unasked: asking.no_model.then(|| "no model is asked (--no-model)".to_owned()),
                model: asking.model.clone(),
                provider: asking.provider.clone(),
                time: InvestigationTime { total: asking.timeout, hop: asking.hop_timeout },
                diff: if self.show_diff { DiffChoice::Show } else { DiffChoice::Hide },
                record: asking.record.clone(),
                replay: asking.replay.clone(),
            },
            adapting: self.wishes.adapting(),
            record: if self.no_record { RecordChoice::No } else { RecordChoice::AsConfigured },
            concurrency: self.concurrency,
        })
    }

    /// The changes to assess.
    fn changes(&self) -> Result<WantedChanges, Error> {
        if let Some(since) = &self.since {
            let since = when::since(since, when::time_now(), &jiff::tz::TimeZone::UTC)?;
            let seconds = since.0.div_euclid(1000);
            if seconds > unix_seconds() {
                return Err(Error::invalid("--since names a time in the future"));
            }
            return Ok(WantedChanges::Each(CommitSelection::Since(seconds)));
        }
        let specs: Vec<Spec> = self.revisions.iter().map(|text| parse_change_spec(text)).collect();
        match (self.staged, self.worktree, specs.as_slice()) {
            (true, ..) => Ok(WantedChanges::Several(vec![Spec::Staged])),
            (_, true, _) => Ok(WantedChanges::Several(vec![Spec::WorkTree])),
            (.., []) => Ok(WantedChanges::Several(vec![Spec::Auto])),
            (.., [Spec::Range(from, to)]) if self.each => {
                Ok(WantedChanges::Each(CommitSelection::Range(from.clone(), to.clone())))
            }
            _ if self.each => Err(Error::invalid("--each takes one range, such as main..feature")),
            _ => Ok(WantedChanges::Several(specs)),
        }
    }
}

impl LevelThreshold {
    /// The level itself.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::Medium => Level::Medium,
            Self::High => Level::High,
            Self::Unknown => Level::Unknown,
        }
    }
}

/// The rules for the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelRulesArg {
    /// The percentile of the score among the repository's past commits
    Rank,
    /// The worst file: two HIGH signals make it HIGH; one, or no data, makes it MEDIUM
    Seed,
}

impl LevelRulesArg {
    /// The rules themselves.
    pub(crate) const fn rules(self) -> LevelRules {
        match self {
            Self::Rank => LevelRules::Rank,
            Self::Seed => LevelRules::Seed,
        }
    }
}

const FEEDBACK_EXAMPLES: &str = with_models!(
    "the role that its prompt names, `small`",
    "\
Examples:
  proem risk feedback last --caught
  proem risk feedback 3f2a9c01 --false-positive \"coupled by the framework\" --metric coupling
  proem risk feedback --report --since 90d
  proem risk feedback --apply           # apply the suggested thresholds
  proem risk feedback --undo"
);

#[derive(Debug, Subcommand)]
pub(crate) enum RiskCommand {
    /// Record whether an assessment was right, and derive thresholds from that
    #[command(after_help = FEEDBACK_EXAMPLES)]
    Feedback(Box<Feedback>),
    /// Show what each signal has been worth in this repository: how often changes with it needed a fix
    #[command(after_help = SIGNALS_EXAMPLES)]
    Signals(Signals),
}

const SIGNALS_EXAMPLES: &str = "\
Examples:
  proem risk signals                    # of the commits before HEAD
  proem risk signals v2.0 --json        # before a tag";

#[derive(Debug, Parser)]
pub(crate) struct Signals {
    /// The commit whose past is looked at
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub(crate) revision: String,
    /// Follow only the first parent of merges through the history
    #[arg(long)]
    pub(crate) first_parent: bool,
    /// Read the whole history again, and write no cache
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// A folder in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Signals {
    /// The change whose past is looked at; nobody is asked about it.
    pub(crate) fn options(&self) -> RiskOptions {
        let second = NonZeroU32::MIN;
        RiskOptions {
            root: self.root.clone(),
            changes: WantedChanges::Several(vec![Spec::Rev(self.revision.clone())]),
            evidence: EvidenceOptions {
                rules: LevelRules::Rank,
                incidents: None,
                coverage: None,
                first_parent: self.first_parent,
                window_months: 12,
                caching: if self.no_cache { HistoryCaching::Off } else { HistoryCaching::On },
            },
            investigation: InvestigationOptions {
                unasked: Some("only signals are measured".to_owned()),
                model: None,
                provider: None,
                time: InvestigationTime { total: second, hop: second },
                diff: DiffChoice::Hide,
                record: None,
                replay: None,
            },
            adapting: Adapting::default(),
            record: RecordChoice::No,
            concurrency: NonZeroUsize::MIN,
        }
    }
}

#[derive(Debug, Parser)]
#[command(group(ArgGroup::new("what").required(true).args(["false_positive", "caught", "report", "apply", "undo"])))]
pub(crate) struct Feedback {
    /// The assessment: the beginning of its id, `last`, or `last~1`
    #[arg(value_name = "ID", conflicts_with_all = ["report", "apply", "undo"])]
    pub(crate) run: Option<String>,
    /// The change was not risky, for this reason
    #[arg(long, value_name = "REASON", requires = "run")]
    pub(crate) false_positive: Option<String>,
    /// The change was risky, as assessed
    #[arg(long, requires = "run")]
    pub(crate) caught: bool,
    /// The verdict is on this metric only; default: all that were HIGH
    #[arg(long, value_name = "NAME", requires = "run", value_parser = meter)]
    pub(crate) metric: Vec<Meter>,
    /// Summarise the feedback by metric and reason, with the thresholds that it suggests
    #[arg(long)]
    pub(crate) report: bool,
    /// Apply the suggested thresholds to this project; shows what changes
    #[arg(long)]
    pub(crate) apply: bool,
    /// Undo the last --apply
    #[arg(long)]
    pub(crate) undo: bool,
    /// Start of the period: a day such as 2026-11-01, or 90d
    #[arg(long, value_name = "WHEN", default_value = "90d")]
    pub(crate) since: String,
    /// Ask no model: only count
    #[arg(long, conflicts_with_all = ["model", "provider", "record", "replay"])]
    pub(crate) no_model: bool,
    /// The model or role that looks for patterns
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The provider to ask: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Time limit of the call to the model
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub(crate) timeout: NonZeroU32,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) wishes: AnswerWishes,
    /// Keep no record of the call
    #[arg(long)]
    pub(crate) no_record: bool,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn meter(name: &str) -> Result<Meter, String> {
    Meter::parse(name).ok_or_else(|| format!("write one of {}", Meter::ALL.map(Meter::as_str).join(", ")))
}
