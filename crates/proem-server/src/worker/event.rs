//! Events for the caller while a worker works. None has content of signals or actions.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use proem_engine::run::Time;
use proem_store::record::WorkKey;

/// Anything that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEvent {
    /// Work is taken from now on.
    Began {
        /// How many projects are served.
        projects: usize,
        /// The most steps at the same time.
        concurrency: NonZeroUsize,
    },
    /// Some work is in hand, in a process of its own.
    StepBegan {
        /// The work.
        key: WorkKey,
        /// How often it was begun since it last succeeded.
        attempt: u64,
        /// The number of its process.
        process: u32,
    },
    /// A process is over, and so is the attempt.
    StepEnded {
        /// The work.
        key: WorkKey,
        /// How it ended.
        end: StepEnd,
        /// How long it took.
        took: Duration,
    },
    /// The records or their queue could not be reached. The worker tries again.
    Problem {
        /// The failure.
        error: String,
    },
    /// Everything is over.
    Ended,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEnd {
    /// It is done.
    Done,
    /// It failed, and is tried again.
    Failed {
        /// Why it failed.
        problem: String,
        /// The time from which on it is tried again.
        again: Time,
    },
    /// It failed as often as it may, and waits for a person.
    Exhausted {
        /// Why it failed.
        problem: String,
    },
    /// Another worker had it by the end, because this one was not heard of for a lease. Nothing is written of its end.
    Lost,
}

/// Hears events, from any thread.
pub type WorkerListener = Arc<dyn Fn(&WorkerEvent) + Send + Sync>;
