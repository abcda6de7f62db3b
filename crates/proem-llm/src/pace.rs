//! How many requests at once, and how many a minute.
//!
//! Invariants: there are never more requests at once than the limit. No minute sees more of them begin than the limit;
//! who came first goes first; who stops waiting leaves nothing behind.

use core::num::NonZeroU32;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

use crate::endpoint::EndpointLimits;

/// A token bucket that holds one token: requests are spread evenly over the minute.
///
/// A larger one would let a burst through, which providers count over shorter times than a minute:
/// <https://docs.claude.com/en/api/rate-limits> says that 60 requests a minute may mean one a
/// second. Times are counted from any fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    interval: Duration,
    next: Duration,
}

impl Bucket {
    /// A bucket for so many requests a minute.
    #[must_use]
    pub fn new(per_minute: NonZeroU32) -> Self {
        let nanos = 60_000_000_000_u64.div_ceil(u64::from(per_minute.get()));
        Self { interval: Duration::from_nanos(nanos), next: Duration::ZERO }
    }

    /// When the next request may begin.
    #[must_use]
    pub const fn next(&self) -> Duration {
        self.next
    }

    /// Takes the turn of a request that begins now.
    pub fn take(&mut self, now: Duration) {
        self.next = now.max(self.next).saturating_add(self.interval);
    }
}

/// The pace of one endpoint.
#[derive(Debug)]
pub struct Pace {
    began: Instant,
    /// As many permits as there may be requests at once.
    places: Semaphore,
    /// One permit: who has it is the next to begin, and the only one that waits for the time.
    turn: Semaphore,
    times: Mutex<Times>,
}

#[derive(Debug)]
struct Times {
    bucket: Option<Bucket>,
    /// Nothing begins before that.
    held: Instant,
}

/// The right to one request at a time. It ends when this is dropped.
#[derive(Debug)]
pub struct Permit<'p> {
    _place: Option<SemaphorePermit<'p>>,
}

impl Pace {
    /// The pace that these limits ask for.
    #[must_use]
    pub fn new(limits: &EndpointLimits) -> Self {
        let began = Instant::now();
        Self {
            began,
            places: Semaphore::new(limits.concurrency.get().min(Semaphore::MAX_PERMITS)),
            turn: Semaphore::new(1),
            times: Mutex::new(Times { bucket: limits.requests_per_minute.map(Bucket::new), held: began }),
        }
    }

    /// Waits until a request may begin.
    ///
    /// Dropping the future gives up the place in the queue.
    pub async fn enter(&self) -> Permit<'_> {
        // Neither semaphore is ever closed, which is the only error of acquiring.
        let permit = Permit { _place: self.places.acquire().await.ok() };
        let _turn = self.turn.acquire().await.ok();
        while let Some(until) = self.begin() {
            sleep_until(until).await;
        }
        permit
    }

    /// Nothing more begins before `until`: the endpoint asked for it.
    pub fn hold(&self, until: Instant) {
        let mut times = self.times();
        times.held = times.held.max(until);
    }

    /// Begins a request if it may, else says when to ask again.
    fn begin(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut times = self.times();
        let next = times.bucket.and_then(|bucket| self.began.checked_add(bucket.next()));
        let until = next.map_or(times.held, |next| next.max(times.held));
        if until > now {
            return Some(until);
        }
        if let Some(bucket) = &mut times.bucket {
            bucket.take(now.saturating_duration_since(self.began));
        }
        None
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        // Nothing panics while the lock is held, and every state of it is whole.
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::num::NonZeroUsize;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::task::JoinSet;

    fn pace(concurrency: usize, per_minute: Option<u32>) -> Arc<Pace> {
        let concurrency = NonZeroUsize::new(concurrency).unwrap();
        let requests_per_minute = per_minute.map(|rate| NonZeroU32::new(rate).unwrap());
        Arc::new(Pace::new(&EndpointLimits { concurrency, requests_per_minute, ..EndpointLimits::default() }))
    }

    #[test]
    fn buckets() {
        let check = |per_minute, arrivals: &[u64], expected: &[u64]| {
            let mut bucket = Bucket::new(NonZeroU32::new(per_minute).unwrap());
            let starts = arrivals.iter().map(|arrival| {
                let start = Duration::from_millis(*arrival).max(bucket.next());
                bucket.take(start);
                u64::try_from(start.as_millis()).unwrap()
            });
            assert_eq!(starts.collect::<Vec<_>>(), expected);
        };
        check(60, &[0, 0, 0], &[0, 1_000, 2_000]);
        check(60, &[5_000, 5_100, 9_000], &[5_000, 6_000, 9_000]);
        check(1, &[10, 20], &[10, 60_010]);
        check(60_000, &[3, 3, 3], &[3, 4, 5]);
    }

    proptest! {
        #[test]
        fn no_minute_sees_more_than_the_limit(per_minute in 1_u32..2_000, gaps in prop::collection::vec(0_u64..2_000, 1..200)) {
            let mut bucket = Bucket::new(NonZeroU32::new(per_minute).unwrap());
            let (mut now, mut starts) = (Duration::ZERO, Vec::new());
            for gap in gaps {
                now = now.saturating_add(Duration::from_millis(gap)).max(bucket.next());
                bucket.take(now);
                starts.push(now);
            }
            for (index, start) in starts.iter().enumerate() {
                let end = *start + Duration::from_secs(60);
                let within = starts[index..].iter().filter(|other| **other < end).count();
                prop_assert!(within <= per_minute as usize);
            }
        }
    }

    /// Enters `count` times at once. The order of entering and the times, in milliseconds.
    async fn entered(pace: &Arc<Pace>, count: usize) -> Vec<(usize, u128)> {
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        let order = Arc::new(Mutex::new(Vec::new()));
        for index in 0..count {
            let (pace, order) = (Arc::clone(pace), Arc::clone(&order));
            tasks.spawn(async move {
                let _permit = pace.enter().await;
                order.lock().unwrap().push((index, began.elapsed().as_millis()));
            });
        }
        tasks.join_all().await;
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_spread_and_keep_their_order() {
        let pace = pace(3, Some(60));
        let expected: Vec<_> = (0..6).map(|index| (index, index as u128 * 1_000)).collect();
        assert_eq!(entered(&pace, 6).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_is_for_all() {
        let pace = pace(2, None);
        pace.hold(Instant::now() + Duration::from_secs(7));
        pace.hold(Instant::now() + Duration::from_secs(3));
        assert_eq!(entered(&pace, 3).await, [(0, 7_000), (1, 7_000), (2, 7_000)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_is_noticed_by_who_waits_already() {
        let pace = pace(2, Some(60));
        drop(pace.enter().await);
        let holding = Arc::clone(&pace);
        let began = Instant::now();
        let hold = async {
            tokio::task::yield_now().await;
            holding.hold(began + Duration::from_secs(9));
        };
        let (permit, ()) = tokio::join!(pace.enter(), hold);
        drop(permit);
        assert_eq!(began.elapsed().as_millis(), 9_000);
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_leaves_nothing_behind() {
        let pace = pace(1, Some(60));
        let first = pace.enter().await;
        assert!(tokio::time::timeout(Duration::from_millis(10), pace.enter()).await.is_err());
        drop(first);
        // These wait for the time and not for a place.
        for _ in 0..5 {
            assert!(tokio::time::timeout(Duration::from_millis(10), pace.enter()).await.is_err());
        }
        let began = Instant::now();
        drop(pace.enter().await);
        assert!(began.elapsed() <= Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn never_more_at_once_than_the_limit() {
        let pace = pace(4, None);
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for index in 0..100_u64 {
            let (pace, inside, most) = (Arc::clone(&pace), Arc::clone(&inside), Arc::clone(&most));
            tasks.spawn(async move {
                let _permit = pace.enter().await;
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(index % 7)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
            });
        }
        tasks.join_all().await;
        assert_eq!(most.load(Ordering::SeqCst), 4);
    }
}
