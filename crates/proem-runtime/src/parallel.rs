//! The processors of this machine, lent to what only computes, and the time that they take.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use proem_engine::workers::{self, Workers};
use rustix::time::{ClockId, clock_gettime};

/// All processors of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllProcessors;

impl Workers for AllProcessors {
    /// A panic in a piece panics here.
    fn each(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let threads = processors().min(pieces);
        let next = AtomicUsize::new(0);
        let take = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= pieces {
                    break;
                }
                work(number);
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
            take();
            others.into_iter().for_each(join_thread);
        });
    }
}

/// How many processors there are. The system looks into files each time that it is asked.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// The results of `work` for each item, in their order, on all processors. A panic there panics here.
pub fn map_on_all<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    workers::map_with_workers(&AllProcessors, items, work)
}

/// The time of the processor that this thread has taken.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A thread's answer. A panic there panics here.
pub(crate) fn join_thread<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stand_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 17, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(map_on_all(&items, |item| item * 2), doubled, "{count}");
        }
    }

    #[test]
    fn waiting_takes_no_time_of_the_processor() {
        let before = thread_time();
        thread::sleep(Duration::from_millis(100));
        assert!(thread_time().saturating_sub(before) < Duration::from_millis(50));
    }

    #[test]
    fn what_panics_is_not_lost() {
        let items: Vec<usize> = (0..100).collect();
        let made = std::panic::catch_unwind(|| map_on_all(&items, |item| assert_ne!(*item, 7, "the seventh")));
        assert!(made.is_err());
    }
}
