//! Time as a thread spends it, so that other programs on the machine change little of what is measured.

use std::time::{Duration, Instant};

/// Measures the processor's time of this thread where the system tells it, else time.
pub(crate) struct Stopwatch {
    start: Instant,
    used: Option<Duration>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), used: thread_processor_time() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let used = thread_processor_time().zip(self.used).map(|(now, before)| now.saturating_sub(before));
        used.unwrap_or_else(|| self.start.elapsed())
    }
}

/// The first number of the file is the nanoseconds on a processor (Linux, Documentation/scheduler/sched-stats.rst).
fn thread_processor_time() -> Option<Duration> {
    // The system brings that number up to date when a thread offers its place to others, else some times a second.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
