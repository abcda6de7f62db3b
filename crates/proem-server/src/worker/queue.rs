//! The queue that wakes a worker, and the course of a worker along the connections that it loses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use graphile_worker::{IntoTaskHandlerResult, TaskHandler, WorkerContext, WorkerOptions as QueueOptions};
use proem_app::{Error, when};
use proem_store::Store;
use proem_store::record::{Project, WorkKey, WorkKind, WorkWish};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgPoolOptions;
use tokio_util::sync::CancellationToken;

use super::WorkerOptions;
use super::course::WorkCourse;
use super::event::{WorkerEvent, WorkerListener};

/// How long the queue waits for steps under way at the end: as long as it takes.
const FAREWELL: Duration = Duration::from_hours(24);

/// A job of the queue for a cycle.
#[derive(Serialize, Deserialize)]
struct TriageWakeUp {
    project: String,
}

/// A job of the queue for performing actions.
#[derive(Serialize, Deserialize)]
struct EffectsWakeUp {
    project: String,
}

impl TaskHandler for TriageWakeUp {
    const IDENTIFIER: &'static str = "proem_triage";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        wake(&context, self.project, WorkKind::Triage).await
    }
}

impl TaskHandler for EffectsWakeUp {
    const IDENTIFIER: &'static str = "proem_effects";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        wake(&context, self.project, WorkKind::Effects).await
    }
}

/// A job is over in any case: what failed is in the lines of work, and the sweep comes back to it.
async fn wake(context: &WorkerContext, project: String, kind: WorkKind) -> Result<(), String> {
    let Some(course) = context.get_ext::<WorkCourse>() else { return Err("the worker is not set up".to_owned()) };
    course.work(WorkKey { project: Project(project), kind }).await;
    Ok(())
}

/// Works until `stop` is cancelled. A database that goes away is waited for.
pub(super) async fn work_with_queue(
    options: WorkerOptions,
    stop: &CancellationToken,
    tell: WorkerListener,
) -> Result<(), Error> {
    let mut opened = Some((options.records.open)().await?);
    tell(&WorkerEvent::Began { projects: options.projects.len(), concurrency: options.concurrency });
    while !stop.is_cancelled() {
        let session = match opened.take() {
            Some(store) => Ok(store),
            None => (options.records.open)().await,
        };
        let ended = match session {
            Ok(store) => work_in_session(&options, store, stop, &tell).await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tell(&WorkerEvent::Problem { error: error.to_string() });
            tokio::select! {
                () = tokio::time::sleep(options.pace.pause) => {}
                () = stop.cancelled() => {}
            }
        }
    }
    tell(&WorkerEvent::Ended);
    Ok(())
}

/// Works as long as one connection to the records lives.
async fn work_in_session(
    options: &WorkerOptions,
    store: Store,
    stop: &CancellationToken,
    tell: &WorkerListener,
) -> Result<(), Error> {
    let over = stop.child_token();
    let course = WorkCourse::new(options, store, over.clone(), Arc::clone(tell));
    let worked = tokio::select! {
        worked = run_job_queue(options, course.clone(), over.clone()) => worked,
        problem = look_again(options, &course) => Err(problem),
    };
    over.cancel();
    course.end().await;
    worked
}

async fn run_job_queue(options: &WorkerOptions, course: WorkCourse, over: CancellationToken) -> Result<(), Error> {
    let database = &options.records.database;
    let outside = |error: &dyn fmt::Display| Error::outside(format!("the queue of {database}: {error}"));
    let connections = u32::try_from(options.concurrency.get().saturating_add(3)).unwrap_or(u32::MAX);
    let pool = PgPoolOptions::new().max_connections(connections).connect_with(database.address().queue_options());
    let pool = pool.await.map_err(|error| outside(&error))?;
    let mut queue = QueueOptions::default()
        .pg_pool(pool.clone())
        .concurrency(options.concurrency.get())
        .listen_os_shutdown_signals(false)
        .shutdown_signal(async move { over.cancelled().await })
        .shutdown_grace_period(FAREWELL)
        .add_extension(course);
    for kind in &options.kinds {
        queue = match kind {
            WorkKind::Triage => queue.define_job::<TriageWakeUp>(),
            WorkKind::Effects => queue.define_job::<EffectsWakeUp>(),
        };
    }
    for project in options.projects.keys() {
        queue = queue.add_accepted_flag(&project_flag(project));
    }
    let queue = queue.init().await.map_err(|error| outside(&error))?;
    let ran = queue.run().await.map_err(|error| outside(&error));
    pool.close().await;
    ran
}

/// The flag of a project's jobs: the trigger of the database writes the same.
fn project_flag(project: &Project) -> String {
    format!("project:{}", proem_text::hex::encode_hex(Sha256::digest(&project.0)))
}

/// Looks for what waits without a job, and has due actions looked for, until the records can't be reached.
async fn look_again(options: &WorkerOptions, course: &WorkCourse) -> Error {
    let mut last = None::<tokio::time::Instant>;
    loop {
        if last.is_none_or(|last| last.elapsed() >= options.pace.performing) {
            last = Some(tokio::time::Instant::now());
            if let Err(error) = want_performing(options, course).await {
                return error;
            }
        }
        if let Err(error) = course.wake_waiting().await {
            return error;
        }
        tokio::time::sleep(options.pace.sweep.min(options.pace.performing)).await;
    }
}

async fn want_performing(options: &WorkerOptions, course: &WorkCourse) -> Result<(), Error> {
    if !options.kinds.contains(&WorkKind::Effects) {
        return Ok(());
    }
    for project in options.projects.keys() {
        let at = when::time_now();
        let key = WorkKey { project: project.clone(), kind: WorkKind::Effects };
        course.want(WorkWish { key, actor: options.actor.clone(), at, due: at }).await?;
    }
    Ok(())
}
