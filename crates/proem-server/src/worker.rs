//! Work of several projects, done by processes on several machines over one database.
//!
//! A job queue in the same database wakes the workers, and the lines of `work` say what is done by whom. So a job that
//! comes twice, late or never changes nothing but the time: a claim is taken by one worker, and every few seconds all that
//! waits is looked for. Each step is a process of its own, as a person would start it by hand: one that ends in the
//! middle ends nothing else, and the step that performs actions is the only one that finds credentials.
//!
//! Invariants: an attempt counts before its process starts. A worker that is stopped for longer than its lease ends
//! nothing when it goes on. Everything that a step writes is checked by the records themselves, whoever runs it.

#[cfg(feature = "postgres")]
mod course;
mod event;
#[cfg(feature = "postgres")]
mod queue;
#[cfg(feature = "postgres")]
mod step;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use proem_app::Error;
use proem_app::records::location::RecordsDatabase;
use proem_runtime::schedule::own_process::OwnProgram;
use proem_store::Store;
use proem_store::record::{Actor, Project, WorkKind};
use tokio_util::sync::CancellationToken;

pub use self::event::{StepEnd, WorkerEvent, WorkerListener};

/// Opens the records.
pub type RecordsOpener = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Store, Error>> + Send>> + Send + Sync>;

/// The program that does a step for a folder.
pub type StepProgram = Arc<dyn Fn(&Path, WorkKind) -> OwnProgram + Send + Sync>;

/// The database that workers share, and how to open it.
#[derive(Clone)]
pub struct WorkerRecords {
    /// The database that they are in, and the queue with them.
    pub database: RecordsDatabase,
    /// Opens them, again after a connection was lost.
    pub open: RecordsOpener,
}

/// The times of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPace {
    /// How long other workers leave work alone without hearing of its worker. It is heard of three times as often.
    pub lease: Duration,
    /// How often all that waits is looked for, since a job can be lost.
    pub sweep: Duration,
    /// How often due actions are looked for, since a deadline that passes wakes nobody.
    pub performing: Duration,
    /// The pause after the first failure of some work. Each further one is ten times as long.
    pub retry: Duration,
    /// How long a database that went away is left alone.
    pub pause: Duration,
}

impl Default for WorkerPace {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            sweep: Duration::from_secs(10),
            performing: Duration::from_mins(1),
            retry: Duration::from_secs(30),
            pause: Duration::from_secs(5),
        }
    }
}

/// How a worker works.
#[derive(Clone)]
pub struct WorkerOptions {
    /// The folder of each project that is served.
    pub projects: BTreeMap<Project, PathBuf>,
    /// The kinds of work that are done.
    pub kinds: Vec<WorkKind>,
    /// The most steps at the same time.
    pub concurrency: NonZeroUsize,
    /// The times.
    pub pace: WorkerPace,
    /// The actor that wants due actions looked for.
    pub actor: Actor,
    /// The records with the lines of work, signals and actions.
    pub records: WorkerRecords,
    /// The program of a step.
    pub program: StepProgram,
}

impl fmt::Debug for WorkerRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerRecords").field("database", &self.database).finish_non_exhaustive()
    }
}

impl fmt::Debug for WorkerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerOptions")
            .field("projects", &self.projects)
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

/// Works until `stop` is cancelled. Steps under way are ended first. A database that goes away is waited for.
///
/// # Errors
///
/// If the records can't be opened at the start, or this build has no queue.
pub async fn serve_work(options: WorkerOptions, stop: &CancellationToken, tell: WorkerListener) -> Result<(), Error> {
    #[cfg(feature = "postgres")]
    return queue::work_with_queue(options, stop, tell).await;
    #[cfg(not(feature = "postgres"))]
    {
        _ = (stop, tell);
        let database = options.records.database;
        Err(Error::invalid(format!(
            "this build of Proem has no queue in {database}; install it with \
             `cargo install --path crates/proem-cli --features postgres`"
        )))
    }
}
