//! Does the same to many things on all processors.
//!
//! Invariant: the answers are in the order of the things, whichever thread made them.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

/// How many pieces each thread takes of what there is: the first of a list may take longer than all others.
const PIECES: usize = 8;

/// What `work` makes of each item, in their order. What panics there panics here.
pub fn map_on_all<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(items.len());
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let piece = items.len().div_ceil(threads.saturating_mul(PIECES)).max(1);
    let pieces: Vec<(usize, &[I])> = items.chunks(piece).enumerate().collect();
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((number, items)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*number, items.iter().map(&work).collect::<Vec<T>>()));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        done.extend(others.into_iter().flat_map(joined));
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, answers)| answers).collect()
}

/// What a thread answers. What panics there panics here.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
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
    fn what_panics_is_not_lost() {
        let items: Vec<usize> = (0..100).collect();
        let made = std::panic::catch_unwind(|| map_on_all(&items, |item| assert_ne!(*item, 7, "the seventh")));
        assert!(made.is_err());
    }
}
