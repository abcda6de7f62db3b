//! `proem run`: any prompt of the book assembled, sent, read and checked.
//!
//! Standard output holds the value, or the request with `--dry-run`. Everything else goes to standard error. A value
//! that is the prompt's fallback says so, and the exit code is 3.

pub(super) mod account;
mod batch;
pub(super) mod single;

/// The account of a run for a program, under its former name.
pub(super) mod output {
    pub(in crate::commands) use proem_app::run::output::RunOutput;
}

use std::io::{IsTerminal as _, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_agents::prompt_call::InputAuthor;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_app::run::batch::Batch;
use proem_app::run::input::{self, InputForm, InputReading, Source};
use proem_app::run::line_versions::RunSubject;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::{OpenRun, RunSetting};
use proem_engine::contract::CallChoice;
use proem_engine::history;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::run::ExchangeLimits;
use proem_text::json;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::single::RunVerbosity;
use crate::args::models::with_models;
use crate::args::wishes::AnswerWishes;
use crate::commands::interrupt;
use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const RUN_EXAMPLES: &str = with_models!(
    "the prompt file's `model:`, or `small`",
    "\
Examples:
  proem run reviews/triage --input issue.json
  git diff | proem run reviews/change --file diff=-
  git diff | proem run ./draft.prompt --input -                       # a prompt file that is in no book
  proem run reviews/triage --set title=\"it crashes\" --dry-run       # what would be sent; no key needed
  proem run ./draft.prompt --input mail.txt --schema 'name, age int, tags[]'
  proem run reviews/triage --batch issues.jsonl --out triaged.jsonl   # run it again to continue
  proem run reviews/triage --batch issues.csv                         # the first row names the inputs
  proem run reviews/triage --input issue.json --provider ollama --model llama3.1
  proem run reviews/triage --input issue.json --record tapes          # and later --replay tapes"
);

/// The message while the end is waited for.
const STOPPING: &str = "stopping; a second ^C stops at once and charges open requests in full";

#[derive(Debug, Parser)]
pub(crate) struct RunArgs {
    /// `agent/name`, `agent/name@version`, or the path of a prompt file
    pub(crate) prompt: String,
    /// A JSON object with the prompt's inputs, or plain text where its only input is a text; `-` is standard input. With
    /// NAME=@FILE, one input, as --file gives it
    #[arg(long, value_name = "FILE|NAME=@FILE", conflicts_with = "batch", group = "inputs", value_parser = whole_or_one)]
    pub(crate) input: Vec<GivenFile>,
    /// Send --input, or each line of --batch, as the prompt's only text, also where it looks like JSON
    #[arg(long, requires = "inputs")]
    pub(crate) input_text: bool,
    /// One input as text; overrides the file; may be given several times
    #[arg(long, value_name = "NAME=TEXT", value_parser = name_and_text)]
    pub(crate) set: Vec<(String, String)>,
    /// One input as the text of a file, or the file itself where the prompt takes a picture; `-` is standard input; may be
    /// given several times
    #[arg(long, value_name = "NAME=FILE", value_parser = name_and_file)]
    pub(crate) file: Vec<(String, PathBuf)>,
    /// The turns before this one, as a JSON list or one on each line, such as {"role": "user", "content": "…"}
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// A file with the inputs of one run on each line, as --input takes them, or a table in CSV; `-` is standard input
    #[arg(long, value_name = "FILE", group = "inputs")]
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
    /// Shape of the answer, in one line, such as 'name, age int, size small|large, tags[]'
    #[arg(long, value_name = "FIELDS")]
    pub(crate) schema: Option<String>,
    /// Whether a tool is called: `auto`, `none`, `required`, or its name, instead of what the prompt says
    #[arg(long, value_name = "CHOICE", conflicts_with = "schema")]
    pub(crate) tool_choice: Option<String>,
    /// Somebody else wrote the inputs: mark all of them as untrusted text
    #[arg(long)]
    pub(crate) input_untrusted: bool,
    /// Maximum number of input tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Maximum number of attempts until the answer meets the prompt's contract
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) attempts: std::num::NonZeroU32,
    /// Maximum tokens of the answer; without it, what the prompt says and the model's window allows
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_tokens: Option<std::num::NonZeroUsize>,
    /// Maximum tokens of all attempts together, prompts and answers; requests that could exceed it are not sent
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_total_tokens: Option<u64>,
    /// Maximum cost of one run, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::parse_dollars)]
    pub(crate) max_cost: Option<proem_engine::call::NanoDollars>,
    /// Time limit of one run
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) timeout: std::num::NonZeroU32,
    /// The ticket, change or task that this is about: in an experiment, it always meets the same version of the prompt;
    /// without it, the inputs decide
    #[arg(long, value_name = "TEXT")]
    pub(crate) subject: Option<String>,
    /// The input that names the subject, such as `ticket`: for each line of a batch, or for the run
    #[arg(long, value_name = "INPUT", conflicts_with = "subject")]
    pub(crate) subject_field: Option<String>,
    /// Print the request instead of sending it
    #[arg(long, conflicts_with_all = ["record", "replay", "out"])]
    pub(crate) dry_run: bool,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) wishes: AnswerWishes,
    /// Keep no record of it; refused where a budget is configured
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Print the value with its label, attempts, usage and cost as JSON; what keeps the run from starting, too
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the prompt's fallback where there is no answer; the exit code stays 3
    #[arg(long)]
    pub(crate) fallback: bool,
    /// Report every attempt on standard error; with --dry-run, the tokens of each section, the cost limit and the cache
    #[arg(long)]
    pub(crate) explain: bool,
    /// A folder in the project whose book is used
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

impl RunArgs {
    /// Whether no input is given, in no way.
    const fn gives_nothing(&self) -> bool {
        self.input.is_empty()
            && self.history.is_none()
            && self.batch.is_none()
            && self.set.is_empty()
            && self.file.is_empty()
    }

    /// How a text that could be JSON is read.
    const fn input_reading(&self) -> InputReading {
        if self.input_text { InputReading::Text } else { InputReading::Detected }
    }

    /// The subject of each run.
    fn run_subject(&self) -> RunSubject {
        match (&self.subject, &self.subject_field) {
            (Some(subject), _) => RunSubject::Named(subject.clone()),
            (None, Some(input)) => RunSubject::Field(input.clone()),
            (None, None) => RunSubject::Inputs,
        }
    }

    /// The options of the use case.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            prompt: self.prompt.clone(),
            model: self.model.clone(),
            provider: self.provider.clone(),
            concurrency: self.concurrency,
            given: if self.input_untrusted { InputAuthor::FromOutside } else { InputAuthor::ByCaller },
            schema: self.schema.clone(),
            tool_choice: self.tool_choice.as_deref().map(CallChoice::parse),
            input_tokens: self.budget,
            output_tokens: self.max_tokens.map(std::num::NonZeroUsize::get),
            limits: ExchangeLimits { attempts: self.attempts, tokens: self.max_total_tokens },
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

pub(super) fn name_and_text(argument: &str) -> Result<(String, String), String> {
    let (name, text) = argument.split_once('=').ok_or("write NAME=TEXT")?;
    Ok((name.to_owned(), text.to_owned()))
}

/// The file that `--input` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GivenFile {
    /// All inputs.
    Whole(PathBuf),
    /// One of them.
    One(String, PathBuf),
}

/// A file with all inputs, or `NAME=@FILE`.
fn whole_or_one(argument: &str) -> Result<GivenFile, String> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    Ok(match argument.split_once("=@") {
        Some((name, path)) if is_name(name) && !path.is_empty() => GivenFile::One(name.to_owned(), path.into()),
        _ => GivenFile::Whole(argument.into()),
    })
}

pub(super) fn name_and_file(argument: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = argument.split_once('=').ok_or("write NAME=FILE")?;
    if path.is_empty() { Err("write NAME=FILE".to_owned()) } else { Ok((name.to_owned(), path.into())) }
}

pub(super) fn run_prompt(args: &RunArgs) -> Result<ExitCode, CommandFailure> {
    let done = execute(args);
    if let Err(failure) = &done
        && args.json
        && !ui::has_printed_document()
    {
        // A program that reads standard output finds why there is no result.
        ui::print_published_document(ui::PublishedDocument::Pretty(
            json!({ "outcome": "failed", "error": failure.to_string() }),
        ))?;
    }
    done
}

fn execute(args: &RunArgs) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let mut project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    let options = args.options();
    let setting = RunSetting::new(&options, &mut project);
    // An untrusted file may be the reason that it failed.
    ui::print_notes(&project.all_notes());
    let setting = setting?;
    if args.gives_nothing() {
        setting.takes_inputs_from_callers()?;
    }
    let form = InputForm::of(&setting.prompt, args.input_reading())?;
    let texts = given_texts(args, &form)?;
    let work = match &args.batch {
        Some(path) => Work::Batch(path),
        None => Work::Single(given_inputs(args, &form, &texts)?),
    };
    let subject = args.run_subject();
    let setting = match (&work, &subject) {
        // Each line has a subject of its own.
        (Work::Batch(_), RunSubject::Inputs | RunSubject::Field(_)) => setting,
        (Work::Batch(_), RunSubject::Named(named)) => meet_version(setting, named, &options, &mut project)?,
        (Work::Single(inputs), _) => meet_version(setting, &subject.of(inputs)?, &options, &mut project)?,
    };
    calling(async |stop| {
        let run = open_run(setting, &options, &project).await?;
        let run = match (&work, &subject) {
            (Work::Batch(_), RunSubject::Inputs | RunSubject::Field(_)) => {
                meeting_versions(run, subject.clone(), &options, &project).await?
            }
            _ => run,
        };
        let done = match &work {
            Work::Batch(path) => {
                let batch = Batch { from: input_source(path), form: &form, texts: &texts, out: args.out.as_deref() };
                batch::run_prompt_batch(args, batch, &run, &stop).await
            }
            Work::Single(inputs) if !args.dry_run => {
                let said = RunVerbosity { json: args.json, explain: args.explain, fallback: args.fallback };
                single::ask_and_print(said, inputs, &run, &stop).await
            }
            Work::Single(inputs) => {
                if args.explain {
                    account::forecast(run.setting(), &run.setting().prepare(inputs)?)?;
                }
                print_request(inputs, run.setting())
            }
        };
        ui::print_notes(&run.end().await);
        done
    })
}

/// Opens the records of a run, and prints what there is to say about that.
pub(super) async fn open_run(
    setting: RunSetting,
    options: &RunOptions,
    project: &OpenProject,
) -> Result<OpenRun, CommandFailure> {
    let mut notes = Vec::new();
    let opened = async {
        let booking = setting.book(options, project, &mut notes).await?;
        setting.begin(booking, options, project, &mut notes).await
    };
    let opened = opened.await;
    ui::print_notes(&notes);
    Ok(opened?)
}

/// The inputs that are given one by one: literally, as the text of a file, or as a file.
fn given_texts(args: &RunArgs, form: &InputForm) -> Result<Vec<(String, OrderedJson)>, CommandFailure> {
    let whole = args.input.iter().map(|given| match given {
        GivenFile::Whole(path) | GivenFile::One(_, path) => path,
    });
    let all = whole.chain(&args.batch).chain(&args.history).chain(args.file.iter().map(|(_, path)| path));
    if all.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(CommandFailure::usage("standard input can be read once; name files for the other inputs"));
    }
    let mut given: Vec<(String, OrderedJson)> =
        args.set.iter().map(|(name, text)| (name.clone(), OrderedJson::from(text.as_str()))).collect();
    let files = args.input.iter().filter_map(|given| match given {
        GivenFile::One(name, path) => Some((name, path)),
        GivenFile::Whole(_) => None,
    });
    for (name, path) in args.file.iter().map(|(name, path)| (name, path)).chain(files) {
        form.add_file(&mut given, name, from_terminal(path, "input"))?;
    }
    if let Some(path) = &args.history {
        let turns = form.history(from_terminal(path, "history"))?;
        given.push((history::INPUT.to_owned(), turns));
    }
    Ok(given)
}

/// The source of a text. A note says so if a person has to type it.
fn from_terminal<'p>(path: &'p Path, what: &str) -> Source<'p> {
    let from = input_source(path);
    if matches!(from, Source::Reader(..)) && stdin().is_terminal() {
        ui::print_progress_note(&format!("reading the {what} from the terminal; end it with Ctrl-D"));
    }
    from
}

/// The inputs of a single run.
fn given_inputs(
    args: &RunArgs,
    form: &InputForm,
    given: &[(String, OrderedJson)],
) -> Result<OrderedJson, CommandFailure> {
    let mut whole = args.input.iter().filter_map(|given| match given {
        GivenFile::Whole(path) => Some(path),
        GivenFile::One(..) => None,
    });
    let from = whole.next().map(|path| from_terminal(path, "inputs"));
    if whole.next().is_some() {
        return Err(CommandFailure::usage("--input names two files with all inputs; name one, or NAME=@FILE for each"));
    }
    Ok(input::single_run_inputs(from, form, given)?)
}

/// Prints what would be sent.
pub(super) fn print_request(inputs: &OrderedJson, setting: &RunSetting) -> Result<ExitCode, CommandFailure> {
    ui::print_json_document(&json::pretty_in_order(&ui::print_notes_of(setting.request(inputs)?)))?;
    Ok(ExitCode::SUCCESS)
}

/// The source of inputs. `-` is standard input.
fn input_source(path: &Path) -> Source<'_> {
    if path.as_os_str() == "-" {
        Source::Reader("standard input", Box::new(stdin().lock()))
    } else {
        Source::File(path)
    }
}

/// The work to run.
enum Work<'w> {
    /// Each line of a file.
    Batch(&'w Path),
    /// These inputs.
    Single(OrderedJson),
}

/// The same run, which asks with the version that the subject of its inputs meets, with the notes on that.
pub(super) async fn meeting_versions(
    run: OpenRun,
    subject: RunSubject,
    options: &RunOptions,
    project: &OpenProject,
) -> Result<OpenRun, CommandFailure> {
    let mut notes = Vec::new();
    let run = run.with_subjects(subject, options, project, &mut notes).await;
    ui::print_notes(&notes);
    Ok(run?)
}

/// The setting with the version that a subject meets in an experiment, with the notes on that.
pub(super) fn meet_version(
    setting: RunSetting,
    subject: &str,
    options: &RunOptions,
    project: &mut OpenProject,
) -> Result<RunSetting, CommandFailure> {
    let known = project.notes.len();
    let setting = setting.in_experiment(subject, options, project);
    ui::print_notes(project.notes.get(known..).unwrap_or_default());
    Ok(setting?)
}

/// A runtime for calls, and a token that the first ^C cancels. The second one ends the process.
///
/// The runs themselves stay on this thread. A second one moves the bytes and hears ^C.
pub(crate) fn calling<T>(
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| CommandFailure::outside(format!("could not start the runtime for network calls: {e}")))?;
    let done = runtime.block_on(async {
        let stop = CancellationToken::new();
        // Nobody waits for it: it ends with the runtime.
        _ = tokio::spawn(interrupt::stop_on_interrupt(stop.clone(), STOPPING));
        work(stop).await
    });
    // A look-up of a name that hangs can't be broken off, and nobody waits for its answer any longer.
    runtime.shutdown_background();
    done
}
