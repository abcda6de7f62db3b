//! The command line of `proem assemble`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use proem_agents::assemble::Task;
use proem_agents::assemble::settings::ContextDepth;
use proem_app::assemble::AssembleOptions;
use proem_app::context::ContextPatience;
use proem_app::records::writing::RecordChoice;
use proem_select::mode::{GitChanges, Hints, Interaction, Mode};

use crate::args::files::ChosenFiles;
use crate::args::models::with_models;
use crate::args::wishes::AnswerWishes;
use crate::args::words::unmark_hyphen_words;

pub(crate) const ASSEMBLE_EXAMPLES: &str = with_models!(
    "the role that the prompt names, `small`",
    "\
Examples:
  proem assemble \"fix the flaky parser test\"
  proem assemble \"review this diff\" --explain
  proem assemble \"fix the flaky parser test\" --send --max-cost 0.10    # asks a model, and prints its answer
  proem assemble \"fix the flaky parser test\" --copy                    # to the clipboard
  proem assemble \"add retries\" --format anthropic --model small > body.json
  proem assemble --task-untrusted \"$ISSUE_TITLE\" --json     # in CI: somebody else wrote it
  git log -1 --format=%s | proem assemble - --task-untrusted"
);

/// How a mode is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Infer it from hints and from what the task asks
    Auto,
    /// Investigate and propose a plan
    Plan,
    /// Make the change
    Act,
    /// Assess existing code or a change, without editing
    Review,
}

/// The caller's statement about uncommitted changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GitChangesArg {
    /// Not stated; the work tree does not influence the mode
    Auto,
    /// There are some: use mode act, unless --interactive or --mode says otherwise
    Yes,
    /// There are none that matter
    No,
}

/// How much is shown of the files that a task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextArg {
    /// Nothing is looked for
    None,
    /// Paths, each with why
    Paths,
    /// Their definitions
    Outline,
    /// Their relevant parts; small ones whole
    Parts,
    /// All of them, as far as the budget allows
    Full,
}

impl From<ContextArg> for ContextDepth {
    fn from(context: ContextArg) -> Self {
        match context {
            ContextArg::None => Self::None,
            ContextArg::Paths => Self::Paths,
            ContextArg::Outline => Self::Outline,
            ContextArg::Parts => Self::Parts,
            ContextArg::Full => Self::Full,
        }
    }
}

/// How the prompt is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormat {
    /// One text under five headings
    Text,
    /// A body for Anthropic's Messages API
    Anthropic,
    /// A body for OpenAI's Chat Completions API
    Openai,
    /// The selection, the messages and the full token report
    Json,
}

#[derive(Debug, Parser)]
pub(crate) struct Assemble {
    /// The task; `-` reads it from standard input
    #[arg(value_parser = unmark_hyphen_words)]
    pub(crate) task: String,
    /// How to work on it
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) mode: ModeArg,
    /// A person takes part: use mode plan, unless --mode says otherwise
    #[arg(long)]
    pub(crate) interactive: bool,
    /// Whether there are uncommitted changes
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) git_changes: GitChangesArg,
    /// The folder the task is about
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Somebody else wrote the task: mark it as untrusted text
    #[arg(long)]
    pub(crate) task_untrusted: bool,
    /// How to print the prompt
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PromptFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Explain on standard error where every token comes from
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also draw the context window, by section, trust and price, into this file
    #[arg(long, value_name = "FILE", conflicts_with = "send")]
    pub(crate) svg: Option<PathBuf>,
    /// The model or role whose tokeniser, limits and API format apply, instead of the prompt's own
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The provider of the model: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Maximum number of input tokens, instead of the 24,000 of the prompt file
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Tokens kept free for the answer, and its maximum with --send
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_tokens: Option<std::num::NonZeroUsize>,
    /// How much of the files that the task needs is put in
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) context: Option<ContextArg>,
    /// Read all files of the repository first, not just the likeliest ones
    #[arg(long)]
    pub(crate) wait: bool,
    /// The version of the prompt, instead of the current one
    #[arg(long, value_name = "VERSION")]
    pub(crate) prompt_version: Option<String>,
    #[command(flatten)]
    pub(crate) files: ChosenFiles,
    #[command(flatten)]
    pub(crate) wishes: AnswerWishes,
    /// Keep no record of it
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Ask a model with the prompt and print its answer; nothing is sent without this
    #[arg(long, conflicts_with_all = ["format", "copy"])]
    pub(crate) send: bool,
    /// Maximum cost of the answer, in dollars
    #[arg(long, value_name = "DOLLARS", requires = "send", value_parser = proem_app::config::parse_dollars)]
    pub(crate) max_cost: Option<proem_engine::call::NanoDollars>,
    /// Time limit of the answer
    #[arg(long, value_name = "SECONDS", requires = "send", default_value = "300")]
    pub(crate) timeout: std::num::NonZeroU32,
    /// Say each time who receives what, not only the first time
    #[arg(short, long, requires = "send")]
    pub(crate) verbose: bool,
    /// Put the prompt on the clipboard of this terminal (OSC 52) instead of printing it
    #[arg(long)]
    pub(crate) copy: bool,
}

impl Assemble {
    /// The options of the use case.
    ///
    /// # Errors
    ///
    /// A pattern of files that can match nothing.
    pub(crate) fn options(&self, task: Task) -> Result<AssembleOptions, proem_app::Error> {
        let choice = self.files.choice(&self.task)?;
        Ok(AssembleOptions {
            task,
            named: self.task.clone(),
            root: self.root.clone(),
            hints: self.hints(),
            model: self.model.clone(),
            provider: self.provider.clone(),
            budget: self.budget,
            output_tokens: self.max_tokens.map(std::num::NonZeroUsize::get),
            prompt_version: self.prompt_version.clone(),
            adapting: self.wishes.adapting(),
            context: self.context.map(ContextDepth::from),
            patience: if self.wait { ContextPatience::Whole } else { ContextPatience::Short },
            choice,
            record: if self.no_record { RecordChoice::No } else { RecordChoice::AsConfigured },
        })
    }

    fn hints(&self) -> Hints {
        Hints {
            explicit: match self.mode {
                ModeArg::Auto => None,
                ModeArg::Plan => Some(Mode::Plan),
                ModeArg::Act => Some(Mode::Act),
                ModeArg::Review => Some(Mode::Review),
            },
            interaction: if self.interactive { Interaction::Interactive } else { Interaction::Unknown },
            git_changes: match self.git_changes {
                GitChangesArg::Auto => GitChanges::Auto,
                GitChangesArg::Yes => GitChanges::Yes,
                GitChangesArg::No => GitChanges::No,
            },
        }
    }
}
