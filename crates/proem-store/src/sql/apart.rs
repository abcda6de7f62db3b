//! Threads that wait for files, so that no caller has to.
//!
//! A thread that has done its work waits for more of it for a while: a sweep reads some times for each action, and to
//! start a thread takes as long as such a read. It holds no file meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::{Error, Unusable};

/// How long a thread waits for more.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many of them wait at most. Others end at once.
const MOST: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of this process that wait, the latest last.
static WAITING: Mutex<Vec<WaitingThread>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

struct WaitingThread {
    number: u64,
    jobs: Sender<Job>,
}

/// Does something that waits for files on another thread, and waits for it here.
pub(crate) async fn run_on_file_thread<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (answer, done) = oneshot::channel();
    // The receiver may be gone.
    hand_over(path, Box::new(move || _ = answer.send(work())))?;
    done.await.map_err(|_gone| unusable_for_other_reason(path, "its thread is gone".to_owned()))?
}

pub(super) fn unusable_for_other_reason(path: &Path, why: String) -> Error {
    Unusable::Other { path: path.to_owned(), why }.into()
}

/// Has a thread that waits do it, else a new one.
fn hand_over(path: &Path, mut job: Job) -> Result<(), Error> {
    loop {
        // Taken out of the list before it is sent anything: nobody else can have it meanwhile.
        let Some(thread) = waiting_threads().pop() else { break };
        match thread.jobs.send(job) {
            Ok(()) => return Ok(()),
            Err(gone) => job = gone.0,
        }
    }
    let (jobs, arrived) = mpsc::channel();
    let life = move || {
        job();
        work_until_idle(&jobs, &arrived);
    };
    let thread = thread::Builder::new().name("proem-read".to_owned()).spawn(life);
    thread.map(drop).map_err(|error| unusable_for_other_reason(path, error.to_string()))
}

/// Waits for work until none has come for a while.
fn work_until_idle(jobs: &Sender<Job>, arrived: &Receiver<Job>) {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    loop {
        {
            let mut waiting = waiting_threads();
            if waiting.len() >= MOST {
                return;
            }
            waiting.push(WaitingThread { number, jobs: jobs.clone() });
        }
        match arrived.recv_timeout(PATIENCE) {
            Ok(job) => job(),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let mut waiting = waiting_threads();
                let before = waiting.len();
                waiting.retain(|thread| thread.number != number);
                let is_chosen = waiting.len() == before;
                drop(waiting);
                if !is_chosen {
                    return;
                }
                // Somebody has taken it from the list, and its work is on the way.
                let Ok(job) = arrived.recv() else { return };
                job();
            }
        }
    }
}

/// A thread that panicked leaves a usable list, because the list is changed by single steps.
fn waiting_threads() -> MutexGuard<'static, Vec<WaitingThread>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use super::*;

    async fn thread() -> ThreadId {
        run_on_file_thread(Path::new("x"), || Ok(thread::current().id())).await.unwrap()
    }

    #[tokio::test]
    async fn a_thread_is_used_again_and_many_at_once_have_one_each() {
        let mut known = vec![thread().await];
        for _ in 0..50 {
            // It is in the list again shortly after it has answered.
            thread::sleep(Duration::from_millis(1));
            known.push(thread().await);
        }
        known.dedup();
        assert!(known.len() < 25, "other tests may take one away: {}", known.len());

        let (go, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let slow = tokio::spawn(async move {
            run_on_file_thread(Path::new("x"), move || {
                wait.lock().unwrap().recv().unwrap();
                Ok(())
            })
            .await
        });
        tokio::task::yield_now().await;
        thread().await;
        go.send(()).unwrap();
        slow.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_takes_nothing_else_with_it() {
        let failed = run_on_file_thread::<()>(Path::new("x"), || panic!("a law is broken")).await;
        assert!(failed.unwrap_err().to_string().contains("its thread is gone"));
        thread().await;
    }
}
