//! `proem ask`: a question to a model, about files and what is piped in.

use std::io::{IsTerminal as _, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use proem_app::ask::disclosure::{Telling, disclosure};
use proem_app::ask::{PROMPT, Question, last_answer, mentioned_files, read_attachments, read_pipe};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_app::run::line_versions::RunSubject;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::RunSetting;
use proem_engine::run::ExchangeLimits;

use super::run::single::{self, RunVerbosity};
use super::run::{calling, meet_version, open_run, print_request};
use crate::args::models::with_models;
use crate::args::wishes::AnswerWishes;
use crate::args::words::unmark_hyphen_words;
use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const ASK_EXAMPLES: &str = with_models!(
    "`small`",
    "\
Examples:
  proem ask \"what does EXDEV mean?\"
  proem ask \"where is the lock taken?\" -f src/store.rs -f src/lock.rs
  proem ask \"what is wrong here?\" -f screenshot.png
  proem ask \"where does @src/store.rs take the lock?\"     # the same for one file
  git diff | proem ask \"what could break?\"
  proem ask \"who wrote this?\" -f mail.txt --schema 'name, age int, tags[]'
  proem ask \"and under Windows?\" --continue
  proem ask \"is this safe?\" -f deploy.sh --dry-run     # what would be sent; no key needed"
);

#[derive(Debug, Parser)]
pub(crate) struct AskArgs {
    /// The question; what is piped in is material for it
    #[arg(value_parser = unmark_hyphen_words)]
    question: String,
    /// A file that the question is about, a picture or PDF among them; may be given several times
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Instructions for the answer, such as "in German"
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Shape of the answer, in one line, such as 'name, age int, size small|large, tags[]'
    #[arg(long, value_name = "FIELDS")]
    schema: Option<String>,
    /// Go on from the last answer to a question in this project
    #[arg(long = "continue")]
    goes_on: bool,
    /// The model or role that is asked
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider to ask: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Maximum number of input tokens
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Maximum tokens of the answer; without it, 8,192 or what the model's window allows
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<std::num::NonZeroUsize>,
    /// Maximum cost, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::parse_dollars)]
    max_cost: Option<proem_engine::call::NanoDollars>,
    /// Time limit, for reading standard input and again for the answer
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    timeout: std::num::NonZeroU32,
    /// Print the request instead of sending it
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    dry_run: bool,
    /// Record request and answer in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Take the answer from a folder made with --record, if the request is the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    replay: Option<PathBuf>,
    #[command(flatten)]
    wishes: AnswerWishes,
    /// Keep no record of it; refused where a budget is configured
    #[arg(long)]
    no_record: bool,
    /// Print the answer with its label, attempts, usage and cost as JSON
    #[arg(long)]
    json: bool,
    /// Report every attempt on standard error
    #[arg(long)]
    explain: bool,
    /// Say each time who receives what, not only the first time
    #[arg(short, long)]
    verbose: bool,
    /// A folder in the project whose book and records are used
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

impl AskArgs {
    fn options(&self) -> RunOptions {
        let usual = RunOptions::of(PROMPT.to_owned());
        RunOptions {
            model: self.model.clone(),
            provider: self.provider.clone(),
            schema: self.schema.clone(),
            input_tokens: self.budget,
            output_tokens: self.max_tokens.map(std::num::NonZeroUsize::get),
            limits: ExchangeLimits { attempts: usual.limits.attempts, tokens: None },
            most: self.max_cost,
            seconds: self.timeout,
            carriage: if self.dry_run {
                Carriage::Nobody
            } else {
                Carriage::taped(self.record.clone(), self.replay.clone())
            },
            adapting: self.wishes.adapting(),
            record: if self.no_record { RecordChoice::No } else { RecordChoice::AsConfigured },
            ..usual
        }
    }
}

pub(super) fn run_ask(args: &AskArgs) -> Result<ExitCode, CommandFailure> {
    let mut question = Question::new(args.question.clone(), args.system.clone())?;
    let mentioned = mentioned_files(&args.question);
    question.files = read_attachments(&[args.file.as_slice(), &mentioned].concat())?;
    let places = crate::user_places()?;
    let mut project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    let options = args.options();
    let setting = RunSetting::new(&options, &mut project);
    ui::print_notes(&project.all_notes());
    let setting = setting?;
    if !stdin().is_terminal() {
        let most = Duration::from_secs(u64::from(args.timeout.get()));
        question.piped = read_pipe(stdin(), most, || ui::print_progress_note("waiting for standard input to end"))?;
    }
    calling(async |stop| {
        if args.goes_on {
            question.earlier = Some(ui::print_notes_of(last_answer(&project).await?));
        }
        let inputs = question.inputs();
        let setting = meet_version(setting, &RunSubject::Inputs.of(&inputs)?, &options, &mut project)?;
        if args.dry_run {
            return print_request(&inputs, &setting);
        }
        if args.replay.is_none() {
            let telling = if args.verbose { Telling::Always } else { Telling::Once };
            let endpoint = &setting.access.asked.endpoint;
            ui::print_notes(&disclosure(&places, endpoint, &question.contents(), telling));
        }
        let said = RunVerbosity { json: args.json, explain: args.explain, fallback: false };
        let run = open_run(setting, &options, &project).await?;
        let done = single::ask_and_print(said, &inputs, &run, &stop).await;
        ui::print_notes(&run.end().await);
        done
    })
}
