//! Waits for a future by watching for it, before it sleeps.
//!
//! SQLite's thread answers each statement by itself, a few microseconds apart. To sleep and be woken in
//! between costs more than the statements; watching for a moment does not. Measured with
//! `cargo bench -p proem-store --bench recording`.

use std::future::Future;
use std::hint::spin_loop;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long it is watched before it sleeps: a transaction with the sync of a fast disk.
pub(super) const WATCHED: Duration = Duration::from_micros(1_500);

/// How many looks there are between two looks at the clock, after which others get the processor.
const LOOKS: u32 = 64;

/// Tells the thread that there is something to look at.
struct Waking {
    woken: AtomicBool,
    thread: Thread,
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        // Cheap unless the thread sleeps; one that is about to sleep then doesn't.
        self.thread.unpark();
    }
}

/// Runs a future on this thread to its end.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waking = Arc::new(Waking { woken: AtomicBool::new(false), thread: thread::current() });
    let waker = Waker::from(waking.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        wait(&waking.woken);
    }
}

/// Waits for a wake-up: watching at first, then asleep.
fn wait(woken: &AtomicBool) {
    let began = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if woken.swap(false, Ordering::Acquire) {
                return;
            }
            spin_loop();
        }
        if began.elapsed() < WATCHED {
            thread::yield_now();
        } else {
            // A wake-up since the last look is remembered, so that this returns at once.
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[test]
    fn wakes_are_heard_at_once_and_in_sleep() {
        for late in [Duration::ZERO, WATCHED.saturating_mul(20)] {
            let (answer, waiting) = oneshot::channel();
            let other = thread::spawn(move || {
                thread::park_timeout(late);
                answer.send(7)
            });
            assert_eq!(block_on(waiting), Ok(7));
            other.join().unwrap().unwrap();
        }
    }

    #[test]
    fn what_is_ready_is_not_waited_for() {
        assert_eq!(block_on(std::future::ready(1)), 1);
    }
}
