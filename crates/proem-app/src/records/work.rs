//! Work that waits for workers, and who does it, as an operator sees it.

use proem_engine::run::Time;
use proem_guard::show;
use proem_store::query::WorkRow;
use proem_store::record::{WorkKey, WorkKind, WorkWish};
use proem_store::{MOST_ATTEMPTS, StoreAccess};
use schemars::JsonSchema;
use serde::Serialize;

use super::{actor, open_records, records_owner};
use crate::error::Error;
use crate::project::OpenProject;
use crate::when;

/// The work of every project in the records, by project and kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkOverview {
    /// One entry for each kind of work of each project that was ever wanted.
    pub work: Vec<WorkEntry>,
}

/// The work of one kind for one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkEntry {
    /// The project, as the records call it.
    pub project: String,
    /// The kind of work: `triage` or `effects`.
    pub kind: String,
    /// Its place.
    pub state: WorkState,
    /// How often it is wanted beyond what was done.
    pub waiting: u64,
    /// How often it was begun since it last succeeded.
    pub attempts: u64,
    /// The worker that does it. `null` if nobody does.
    pub worker: Option<WorkerName>,
    /// Why the last attempt failed. `null` if it did not.
    pub problem: Option<String>,
}

/// A worker, and since when it does some work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkerName {
    /// Its machine and the number of its process.
    pub name: String,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
}

/// The place of some work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkState {
    /// Nobody wants it.
    Idle,
    /// It waits for a worker.
    Waiting,
    /// A worker does it.
    Working,
    /// Its worker is gone, and another takes it over within seconds.
    Lost,
    /// It failed as often as it may, and waits for a person.
    Stuck,
}

impl WorkState {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Lost => "lost",
            Self::Stuck => "stuck",
        }
    }

    fn of(row: &WorkRow) -> Self {
        match &row.holder {
            Some(holder) if holder.is_alive => Self::Working,
            Some(_) if row.attempts < MOST_ATTEMPTS => Self::Lost,
            _ if row.waiting == 0 => Self::Idle,
            _ if row.attempts >= MOST_ATTEMPTS => Self::Stuck,
            _ => Self::Waiting,
        }
    }
}

impl From<WorkRow> for WorkEntry {
    fn from(row: WorkRow) -> Self {
        Self {
            state: WorkState::of(&row),
            project: row.key.project.0,
            kind: row.key.kind.as_str().to_owned(),
            waiting: row.waiting,
            attempts: row.attempts,
            worker: row.holder.map(|holder| WorkerName { name: holder.worker, since: holder.since.0 }),
            problem: row.problem,
        }
    }
}

/// The work in the records that a project's configuration names.
///
/// # Errors
///
/// If they are unusable.
pub async fn work_overview(project: &OpenProject) -> Result<WorkOverview, Error> {
    let store = open_records(project, StoreAccess::Read).await?.store;
    let rows = store.work(None).await;
    store.close().await;
    Ok(WorkOverview { work: rows?.into_iter().map(WorkEntry::from).collect() })
}

/// Lets work of a project that failed as often as it may begin anew.
///
/// # Errors
///
/// A negative answer if it is no such work. If the records are unusable.
pub async fn retry_work(project: &OpenProject, kind: WorkKind) -> Result<(), Error> {
    let owner = records_owner(project);
    let store = open_records(project, StoreAccess::Write).await?.store;
    let now: Time = when::time_now();
    let actor = actor(&proem_runtime::Environment::inherited(), project.places.channel);
    let wish = WorkWish { key: WorkKey { project: owner.clone(), kind }, actor, at: now, due: now };
    let was_stuck = store.retry_work(wish).await;
    store.close().await;
    if was_stuck? {
        return Ok(());
    }
    Err(Error::negative(format!(
        "`{kind}` of {} did not fail {MOST_ATTEMPTS} times, so there is nothing to retry; `proem workers` shows its place",
        show::terminal_str(&owner.0)
    )))
}
