//! The course of one piece of work: a claim, a step in a process of its own, renewals meanwhile, and the end.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use proem_app::{Error, when};
use proem_engine::run::Time;
use proem_store::record::{Project, WorkClaim, WorkEnd, WorkHold, WorkKey, WorkWish};
use proem_store::{HoldAnswer, MOST_ATTEMPTS, Store, WorkAnswer};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::event::{StepEnd, WorkerEvent, WorkerListener};
use super::step::{Step, StepOutcome};
use super::{StepProgram, WorkerOptions, WorkerPace};

/// Everything that the steps of a worker share.
#[derive(Clone)]
pub(super) struct WorkCourse {
    shared: Arc<SharedCourse>,
}

struct SharedCourse {
    /// `None` once the worker has let go of the records.
    store: Mutex<Option<Arc<Store>>>,
    worker: String,
    projects: BTreeMap<Project, PathBuf>,
    program: StepProgram,
    pace: WorkerPace,
    over: CancellationToken,
    tell: WorkerListener,
}

/// The queue asks for it.
impl fmt::Debug for WorkCourse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkCourse").field("worker", &self.shared.worker).finish_non_exhaustive()
    }
}

/// The name of this process, for people.
fn worker_name() -> String {
    let host = rustix::system::uname();
    format!("{}:{}", host.nodename().to_string_lossy(), std::process::id())
}

impl WorkCourse {
    pub(super) fn new(options: &WorkerOptions, store: Store, over: CancellationToken, tell: WorkerListener) -> Self {
        let shared = SharedCourse {
            store: Mutex::new(Some(Arc::new(store))),
            worker: worker_name(),
            projects: options.projects.clone(),
            program: Arc::clone(&options.program),
            pace: options.pace,
            over,
            tell,
        };
        Self { shared: Arc::new(shared) }
    }

    async fn store(&self) -> Result<Arc<Store>, Error> {
        let store = self.shared.store.lock().await.clone();
        store.ok_or_else(|| Error::outside("the worker has let go of the records"))
    }

    pub(super) async fn want(&self, wish: WorkWish) -> Result<(), Error> {
        Ok(self.store().await?.want_work(wish).await?)
    }

    pub(super) async fn wake_waiting(&self) -> Result<u64, Error> {
        Ok(self.store().await?.wake_workers(when::time_now()).await?)
    }

    /// Closes the records, once no step uses them.
    pub(super) async fn end(&self) {
        let store = self.shared.store.lock().await.take();
        if let Some(store) = store.and_then(Arc::into_inner) {
            store.close().await;
        }
    }

    /// Does some work, if it is wanted and nobody's.
    pub(super) async fn work(&self, key: WorkKey) {
        if let Err(error) = self.try_work(key).await {
            (self.shared.tell)(&WorkerEvent::Problem { error: error.to_string() });
            // The records are opened anew, and the sweep finds what is left.
            self.shared.over.cancel();
        }
    }

    async fn try_work(&self, key: WorkKey) -> Result<(), Error> {
        let Some(folder) = self.shared.projects.get(&key.project).filter(|_| !self.shared.over.is_cancelled()) else {
            return Ok(());
        };
        let store = self.store().await?;
        let claim =
            WorkClaim { key, worker: self.shared.worker.clone(), at: when::time_now(), lease: self.shared.pace.lease };
        let WorkAnswer::Begun(hold) = store.begin_work(claim).await? else { return Ok(()) };
        let begun = Instant::now();
        let program = (self.shared.program)(folder, hold.key.kind);
        let outcome = match Step::start(&program) {
            Err(error) => StepOutcome::Failed(format!("no process could be started: {error}")),
            Ok(step) => {
                let (key, attempt, process) = (hold.key.clone(), hold.attempt, step.process());
                (self.shared.tell)(&WorkerEvent::StepBegan { key, attempt, process });
                self.attend(&store, &hold, step).await?
            }
        };
        let end = self.end_work(&store, &hold, outcome).await?;
        (self.shared.tell)(&WorkerEvent::StepEnded { key: hold.key, end, took: begun.elapsed() });
        Ok(())
    }

    /// Waits for a step, and keeps the work meanwhile. A step whose work is lost is ended.
    async fn attend(&self, store: &Store, hold: &WorkHold, mut step: Step) -> Result<StepOutcome, Error> {
        loop {
            tokio::select! {
                outcome = step.end() => return Ok(outcome),
                () = tokio::time::sleep(self.shared.pace.lease / 3) => {
                    if store.renew_work(hold, when::time_now(), self.shared.pace.lease).await? == HoldAnswer::Lost {
                        step.stop();
                        return Ok(step.end().await);
                    }
                }
            }
        }
    }

    async fn end_work(&self, store: &Store, hold: &WorkHold, outcome: StepOutcome) -> Result<StepEnd, Error> {
        let now = when::time_now();
        let (end, told) = match outcome {
            StepOutcome::Done => (WorkEnd::Done, StepEnd::Done),
            StepOutcome::Failed(problem) if hold.attempt >= MOST_ATTEMPTS => {
                (WorkEnd::Failed { problem: problem.clone(), again: now }, StepEnd::Exhausted { problem })
            }
            StepOutcome::Failed(problem) => {
                let tens = 10_u64.saturating_pow(u32::try_from(hold.attempt.saturating_sub(1)).unwrap_or(u32::MAX));
                let pause = self.shared.pace.retry.as_millis().saturating_mul(u128::from(tens));
                let again = Time(now.0.saturating_add(i64::try_from(pause).unwrap_or(i64::MAX)));
                (WorkEnd::Failed { problem: problem.clone(), again }, StepEnd::Failed { problem, again })
            }
        };
        Ok(match store.end_work(hold, now, end).await? {
            HoldAnswer::Written { is_wanted: true } if told == StepEnd::Done => {
                // The job of a wish that came meanwhile found the work in hand, and is gone.
                store.wake_workers(now).await?;
                told
            }
            HoldAnswer::Written { .. } => told,
            HoldAnswer::Lost => StepEnd::Lost,
        })
    }
}
