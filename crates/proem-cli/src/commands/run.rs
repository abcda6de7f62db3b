//! `proem run`: any prompt of the book assembled, sent, read and checked.
//!
//! Standard output holds the value, or the request with `--dry-run`; everything else goes to
//! standard error. A value that is the prompt's fallback says so, and the exit code is 3.

pub(super) mod account;
mod batch;
mod interrupt;
pub(super) mod single;

/// What is said about a run to a program, under its former name.
pub(super) mod output {
    pub(in crate::commands) use proem_app::run::output::RunOutput;
}

use std::io::{IsTerminal as _, stdin};
use std::path::Path;
use std::process::ExitCode;

use proem_app::project::{BookReading, OpenProject};
use proem_app::run::input::{self, Source};
use proem_app::run::setting::RunSetting;
use proem_engine::ordered::OrderedJson;
use tokio_util::sync::CancellationToken;

use crate::args::RunArgs;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run(args: &RunArgs) -> Result<ExitCode, CommandFailure> {
    let places = crate::places()?;
    let mut project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    let options = args.options();
    let setting = RunSetting::new(&options, &mut project);
    // What was not trusted may be why it failed.
    ui::notes(&project.all_notes());
    let mut setting = setting?;
    let work = match &args.batch {
        Some(path) => Work::Batch(path),
        None => Work::Single(inputs(args)?),
    };
    calling(async |stop| {
        let mut notes = Vec::new();
        let begun = setting.begin(&options, &project, &mut notes).await;
        ui::notes(&notes);
        begun?;
        let done = match &work {
            Work::Batch(path) => batch::run(args, path, &setting, &stop).await,
            Work::Single(inputs) => single::run(args, inputs, &setting, &stop).await,
        };
        ui::notes(&setting.end().await);
        done
    })
}

/// The inputs of a single run.
fn inputs(args: &RunArgs) -> Result<OrderedJson, CommandFailure> {
    let from = args.input.as_deref().map(source);
    if matches!(from, Some(Source::Reader(..))) && stdin().is_terminal() {
        ui::note("reading the inputs from the terminal; end them with Ctrl-D");
    }
    Ok(input::one(from, &args.set)?)
}

/// Where inputs are read from; `-` is standard input.
fn source(path: &Path) -> Source<'_> {
    if path.as_os_str() == "-" {
        Source::Reader("standard input", Box::new(stdin().lock()))
    } else {
        Source::File(path)
    }
}

/// What is to be run.
enum Work<'w> {
    /// Each line of a file.
    Batch(&'w Path),
    /// These inputs.
    Single(OrderedJson),
}

/// A runtime for calls, and a token that the first ^C cancels; the second one ends the process.
///
/// The runs themselves stay on this thread; a second one moves the bytes and hears ^C.
pub(super) fn calling<T>(
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
        _ = tokio::spawn(interrupt::listen(stop.clone()));
        work(stop).await
    });
    // A look-up of a name that hangs can't be broken off, and nobody waits for its answer any longer.
    runtime.shutdown_background();
    done
}
