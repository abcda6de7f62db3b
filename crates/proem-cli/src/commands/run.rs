//! `proem run`: any prompt of the book assembled, sent, read and checked.
//!
//! Standard output holds the value, or the request with `--dry-run`; everything else goes to
//! standard error. A value that is the prompt's fallback says so, and the exit code is 3.

pub(super) mod account;
pub(super) mod asking;
mod batch;
mod input;
mod interrupt;
mod journal;
pub(super) mod made;
pub(crate) mod output;
pub(super) mod setting;
pub(super) mod single;

use proem_engine::ordered::Ordered;
use std::path::Path;
use std::process::ExitCode;

use tokio_util::sync::CancellationToken;

use self::setting::Setting;
use crate::args::Run;
use crate::failure::Failure;
use proem_app::project::{Project, Reading};

pub(super) fn run(args: &Run) -> Result<ExitCode, Failure> {
    let places = crate::places()?;
    let mut project = Project::open(&args.root, &places, Reading::Trusted)?;
    let setting = Setting::new(args, &places, &mut project);
    // What was not trusted may be why it failed.
    crate::ui::notes(&project.all_notes());
    let mut setting = setting?;
    let work = match &args.batch {
        Some(path) => Work::Batch(path),
        None => Work::Single(input::one(args)?),
    };
    calling(async |stop| {
        setting.begin(args, &places, &project).await?;
        let done = match &work {
            Work::Batch(path) => batch::run(args, path, &setting, &stop).await,
            Work::Single(inputs) => single::run(args, inputs, &setting, &stop).await,
        };
        setting.end(&places).await;
        done
    })
}

/// What is to be run.
enum Work<'w> {
    /// Each line of a file.
    Batch(&'w Path),
    /// These inputs.
    Single(Ordered),
}

/// A runtime for calls, and a token that the first ^C cancels; the second one ends the process.
///
/// The runs themselves stay on this thread; a second one moves the bytes and hears ^C.
pub(super) fn calling<T>(work: impl AsyncFnOnce(CancellationToken) -> Result<T, Failure>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| Failure::outside(format!("could not start the runtime for network calls: {e}")))?;
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
