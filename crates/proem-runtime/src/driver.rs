//! Performs what the steps of a run ask for.
//!
//! Invariants: effects of one step are performed at the same time, and their results go back in
//! the order in which they were asked for, whichever was done first; the times that a run sees
//! never go backwards; when the caller gives up or the deadline comes, the run is told, and what it
//! then ends with is its own decision. Everything that a run saw is in the transcript, from which
//! it can be replayed step by step.

mod calls;

pub use self::calls::{Calls, Directory, Made, Served};

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use proem_engine::run::{Cancelled, Effect, EffectId, Event, Machine, Performed, Question, Step, Time, What};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Performs effects.
pub trait Perform {
    /// Performs one effect; ends soon after `stop` is cancelled.
    fn perform(
        &self,
        id: EffectId,
        effect: &Effect,
        stop: &CancellationToken,
    ) -> impl Future<Output = Performed> + Send;
}

/// How long a run may take, and who may end it.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Ends it when it is cancelled.
    pub stop: CancellationToken,
    /// The most time from the first event to the last; `None` is only bound by `stop`.
    pub time: Option<Duration>,
}

/// Where a run has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Driven<T> {
    /// What it waits for, or what it ended with.
    pub reached: Reached<T>,
    /// Every event that it took, in order.
    pub transcript: Vec<Event>,
}

/// Where a run has come to.
#[derive(Debug, Clone, PartialEq)]
pub enum Reached<T> {
    /// Its end.
    Done(T),
    /// Questions that a person has to answer; go on with [`What::Answered`].
    Asked(Vec<Question>),
}

/// Drives a run from `what` on until it ends or asks.
///
/// # Errors
///
/// [`proem_engine::ErrorKind::OutOfStep`] if the run doesn't wait for `what`.
pub async fn drive<M: Machine>(
    machine: &mut M,
    what: What,
    world: &impl Perform,
    bounds: &Bounds,
) -> Result<Driven<M::Outcome>, proem_engine::Error> {
    let mut clock = Clock::default();
    let deadline = bounds.time.map(|time| Instant::now() + time);
    let mut transcript = Vec::new();
    let mut event = clock.event(what);
    // A person who gives up is heard before the deadline, and each of them once.
    let mut told = false;
    loop {
        transcript.push(event.clone());
        let what = match machine.step(event)? {
            Step::Done(outcome) => return Ok(Driven { reached: Reached::Done(outcome), transcript }),
            Step::Ask(questions) => return Ok(Driven { reached: Reached::Asked(questions), transcript }),
            Step::Do(effects) => {
                let ended = bounds.stop.child_token();
                if told {
                    // A run that asks for more after its time gets no more of it.
                    ended.cancel();
                }
                let mut work = std::pin::pin!(perform_all(&effects, world, &ended));
                match within(work.as_mut(), deadline, &bounds.stop, told).await {
                    Ok(results) => What::Performed { results },
                    Err(why) => {
                        // What was begun is told to end and may note how far it came.
                        ended.cancel();
                        work.await;
                        told = true;
                        What::Cancelled { why }
                    }
                }
            }
            Step::Wait { until } => match within(clock.wait(until), deadline, &bounds.stop, told).await {
                Ok(()) => What::Woken,
                Err(why) => {
                    told = true;
                    What::Cancelled { why }
                }
            },
        };
        event = clock.event(what);
    }
}

async fn perform_all(
    effects: &[(EffectId, Effect)],
    world: &impl Perform,
    stop: &CancellationToken,
) -> Vec<(EffectId, Performed)> {
    let one = |(id, effect): &(EffectId, Effect)| {
        let (id, effect) = (*id, effect.clone());
        async move { (id, world.perform(id, &effect, stop).await) }
    };
    let mut results = join_all(effects.iter().map(one)).await;
    results.sort_by_key(|(id, _)| *id);
    results
}

/// What `work` gives, unless the caller gives up or the deadline comes first.
async fn within<T>(
    work: impl Future<Output = T>,
    deadline: Option<Instant>,
    stop: &CancellationToken,
    told: bool,
) -> Result<T, Cancelled> {
    let over = async {
        match deadline {
            Some(deadline) if !told => tokio::time::sleep_until(deadline).await,
            _ => std::future::pending().await,
        }
    };
    let given_up = async { if told { std::future::pending().await } else { stop.cancelled().await } };
    tokio::select! {
        biased;
        () = given_up => Err(Cancelled::Asked),
        result = work => Ok(result),
        () = over => Err(Cancelled::Deadline),
    }
}

/// The system's clock, kept from going backwards.
#[derive(Debug)]
struct Clock {
    last: Time,
}

impl Default for Clock {
    fn default() -> Self {
        Self { last: Time(i64::MIN) }
    }
}

impl Clock {
    fn now(&mut self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        self.last = self.last.max(now);
        self.last
    }

    fn event(&mut self, what: What) -> Event {
        Event { now: self.now(), what }
    }

    async fn wait(&mut self, until: Time) {
        let left = until.0.saturating_sub(self.now().0);
        tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0))).await;
    }
}

#[cfg(test)]
mod tests;
