//! `proem worker` and `proem workers`: work that several machines share, and who does it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use jiff::tz::TimeZone;
use proem_app::places::Places;
use proem_app::project::OpenProject;
use proem_app::records::location::RecordsLocation;
use proem_app::records::work::{WorkEntry, WorkOverview, WorkState, retry_work, work_overview};
use proem_app::{records, when};
use proem_engine::run::Time;
use proem_guard::show;
use proem_runtime::schedule::own_process::OwnProgram;
use proem_server::worker::{
    StepEnd, WorkerEvent, WorkerListener, WorkerOptions, WorkerPace, WorkerRecords, serve_work,
};
use proem_store::StoreAccess;
use proem_store::record::{Project, WorkKind};
use proem_text::json;
use tokio_util::sync::CancellationToken;

use crate::commands::interrupt;
use crate::failure::CommandFailure;
use crate::ui::{self, DIM, RED, style_text};

pub(crate) const WORKER_EXAMPLES: &str = "\
A worker does what is wanted in the records' database: cycles of triage when signals came, and actions
when they are due. It serves the projects of `[store.projects]` in your configuration whose folders are
here. Each step is a process: `proem triage run`, or `proem effects sweep` with credentials from files.
Any number of workers may run, on any machine. A step that fails three times waits for a person.

^C, or `kill`, ends it when the steps in hand are done.

Examples:
  proem worker
  proem worker --only effects           # on the machine that has the credentials
  proem worker --concurrency 8 --root /srv/checkout";

pub(crate) const WORKERS_EXAMPLES: &str = "\
Examples:
  proem workers
  proem workers --stuck         # exit code 1 if something waits for a person
  proem workers --retry triage  # for the project of this folder";

/// The kinds, as an argument names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkKindArg {
    /// Cycles on open signals
    Triage,
    /// Performing actions that are due
    Effects,
}

impl From<WorkKindArg> for WorkKind {
    fn from(kind: WorkKindArg) -> Self {
        match kind {
            WorkKindArg::Triage => Self::Triage,
            WorkKindArg::Effects => Self::Effects,
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct Worker {
    /// The most steps at the same time
    #[arg(long, value_name = "N", default_value = "2")]
    concurrency: NonZeroUsize,
    /// Do only this kind of work
    #[arg(long, value_name = "KIND")]
    only: Option<WorkKindArg>,
    /// Serve the project of this folder instead of those of the configuration; may be given several times
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct Workers {
    /// Show only what waits for a person; exit code 1 if there is any
    #[arg(long)]
    stuck: bool,
    /// Let this kind of work of the project begin anew after it failed three times
    #[arg(long, value_name = "KIND", conflicts_with_all = ["stuck", "json"])]
    retry: Option<WorkKindArg>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_workers(args: &Workers) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    if let Some(kind) = args.retry {
        records::blocking(async { retry_work(&project, kind.into()).await.map_err(CommandFailure::from) })?;
        ui::print_note("it begins anew, and a worker is woken");
        return Ok(ExitCode::SUCCESS);
    }
    let mut overview = match records::records_location(&project)? {
        RecordsLocation::File(_) => {
            ui::print_note(
                "your records are in a file, and workers share a database; `proem triage watch` does the work here",
            );
            WorkOverview { work: Vec::new() }
        }
        RecordsLocation::Database(_) => {
            records::blocking(async { work_overview(&project).await.map_err(CommandFailure::from) })?
        }
    };
    if args.stuck {
        overview.work.retain(|entry| entry.state == WorkState::Stuck);
    }
    if args.json {
        let document =
            serde_json::to_value(&overview).map_err(|error| CommandFailure::bug("the work can't be written", error))?;
        ui::print_json_document(&json::pretty(&document))?;
    } else {
        let zone = records::booking_zone(&project.config.budget)?;
        let lines: String = overview.work.iter().map(|entry| work_entry_line(entry, &zone)).collect();
        ui::print_listing(&lines)?;
    }
    let is_waiting = args.stuck && !overview.work.is_empty();
    Ok(if is_waiting { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn work_entry_line(entry: &WorkEntry, zone: &TimeZone) -> String {
    let state = match entry.state {
        WorkState::Stuck | WorkState::Lost => style_text(RED, entry.state.as_str()),
        state => state.as_str().to_owned(),
    };
    let by = entry.worker.as_ref().map_or_else(String::new, |worker| {
        format!("  by {} since {}", show::terminal_str(&worker.name), when::brief_time(Time(worker.since), zone))
    });
    let attempts = if entry.attempts > 1 { format!("  attempt {}", entry.attempts) } else { String::new() };
    let problem = entry.problem.as_ref().map_or_else(String::new, |problem| {
        format!("\n           {}", style_text(DIM, &show::terminal_str(problem).into_string()))
    });
    format!("{state:<9}  {:<8}{}{by}{attempts}{problem}\n", entry.kind, show::terminal_str(&entry.project))
}

/// The message while the end is waited for.
const STOPPING: &str =
    "stopping when the steps in hand are done; a second ^C stops at once, and other workers do them again";

pub(super) fn run_worker(args: &Worker) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let roots = served_folders(args, &places)?;
    let mut projects = BTreeMap::new();
    let mut first = None;
    for root in roots {
        let project = OpenProject::without_book(&root, &places)?;
        projects.insert(records::records_owner(&project), root);
        first.get_or_insert(project);
    }
    let Some(first) = first else {
        return Err(CommandFailure::usage(
            "no project is served: name folders in `[store.projects]` of your configuration, or by `--root`",
        ));
    };
    let RecordsLocation::Database(database) = records::records_location(&first)? else {
        return Err(CommandFailure::usage(
            "workers share a database, and `store.url` in your configuration names none; on one machine, \
                 `proem triage watch` does the work",
        ));
    };
    let program = std::env::current_exe().map_err(|error| {
        CommandFailure::outside(format!("this program can't be found: {error}; give its full path"))
    })?;
    let actor = records::actor(&proem_runtime::Environment::inherited(), first.places.channel);
    let first = Arc::new(first);
    let options = WorkerOptions {
        projects,
        kinds: args.only.map_or_else(|| WorkKind::ALL.to_vec(), |kind| vec![kind.into()]),
        concurrency: args.concurrency,
        pace: WorkerPace::default(),
        actor,
        records: WorkerRecords {
            database,
            open: Arc::new(move || {
                let first = Arc::clone(&first);
                Box::pin(async move { Ok(records::open_records(&first, StoreAccess::Write).await?.store) })
            }),
        },
        program: Arc::new(move |root, kind| step_program(&program, root, kind)),
    };
    let tell: WorkerListener = Arc::new(|event: &WorkerEvent| ui::print_note(&worker_event_line(event)));
    records::blocking(async {
        let stop = CancellationToken::new();
        let listening = tokio::spawn(interrupt::stop_on_interrupt(stop.clone(), STOPPING));
        let served = serve_work(options, &stop, tell).await;
        listening.abort();
        served.map_err(CommandFailure::from)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The folders of the command line, or else those of the configuration that are here.
fn served_folders(args: &Worker, places: &Places) -> Result<Vec<PathBuf>, CommandFailure> {
    if !args.root.is_empty() {
        return Ok(args.root.clone());
    }
    let project = OpenProject::without_book(Path::new("."), places)?;
    Ok(project.config.store.projects.keys().filter(|folder| folder.is_dir()).cloned().collect())
}

/// A step, of this same program.
fn step_program(program: &Path, root: &Path, kind: WorkKind) -> OwnProgram {
    let words: &[&str] = match kind {
        WorkKind::Triage => &["triage", "run", "--json", "--root"],
        WorkKind::Effects => &["effects", "sweep", "--json", "--credentials-from-files", "--root"],
    };
    let mut arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    arguments.push(root.into());
    OwnProgram { program: program.to_owned(), arguments }
}

fn worker_event_line(event: &WorkerEvent) -> String {
    let name = |project: &Project| show::terminal_str(&project.0).into_string();
    match event {
        WorkerEvent::Began { projects, concurrency } => format!(
            "working for {}, at most {} at the same time; ^C ends it",
            ui::count_with_noun(*projects as u64, "project"),
            ui::count_with_noun(concurrency.get() as u64, "step")
        ),
        WorkerEvent::StepBegan { key, attempt, process } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            format!("{} of {}: process {process}{again}", key.kind, name(&key.project))
        }
        WorkerEvent::StepEnded { key, end, took } => {
            let words = match end {
                StepEnd::Done => "done".to_owned(),
                StepEnd::Failed { problem, .. } => format!("failed, and is tried again: {problem}"),
                StepEnd::Exhausted { problem } => format!(
                    "failed three times, and waits for a person: {problem}; `proem workers --retry {}` lets it begin anew",
                    key.kind
                ),
                StepEnd::Lost => "another worker has it, because this one was not heard of for too long".to_owned(),
            };
            format!("{} of {}: {words} ({:.1} s)", key.kind, name(&key.project), took.as_secs_f64())
        }
        WorkerEvent::Problem { error } => format!("the records can't be reached, which is tried again: {error}"),
        WorkerEvent::Ended => "ended; the steps in hand are done".to_owned(),
    }
}
