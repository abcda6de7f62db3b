//! Performs what the steps of a run ask for.
//!
//! Invariants: the effects of one step are performed at the same time, and their results go back in the order of the
//! requests, whichever was done first. The times that a run sees never go backwards. When the caller gives up or the
//! deadline comes, the run is told and decides on its own end. Everything that a run saw is in the transcript, from
//! which it can be replayed step by step. An effect that a journal can't write down is not performed.

mod calls;
mod journal;

pub use self::calls::{CallLesson, CallPerformer, CallTrace, Directory, LessonListener, ServedModel};
pub use self::journal::{Journal, NullJournal, PauseReason};

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::{BoxFuture, join_all};
use proem_engine::run::{
    CancelReason, Effect, EffectId, EffectResult, Event, EventKind, Machine, Question, Step, Time,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The performer of the effects that a run asks for.
pub trait Perform {
    /// Performs one effect. Ends soon after `stop` is cancelled.
    fn perform(
        &self,
        id: EffectId,
        effect: &Effect,
        stop: &CancellationToken,
    ) -> impl Future<Output = EffectResult> + Send;
}

impl<P: Perform + Sync> Perform for &P {
    fn perform(
        &self,
        id: EffectId,
        effect: &Effect,
        stop: &CancellationToken,
    ) -> impl Future<Output = EffectResult> + Send {
        (**self).perform(id, effect, stop)
    }
}

/// [`Perform`] behind a pointer, for whoever doesn't know what performs.
pub trait ObjectPerform: Send + Sync {
    /// As [`Perform::perform`], in a box, for callers that don't know the type.
    fn perform_object<'p>(
        &'p self,
        id: EffectId,
        effect: &'p Effect,
        stop: &'p CancellationToken,
    ) -> BoxFuture<'p, EffectResult>;
}

impl<P: Perform + Send + Sync> ObjectPerform for P {
    fn perform_object<'p>(
        &'p self,
        id: EffectId,
        effect: &'p Effect,
        stop: &'p CancellationToken,
    ) -> BoxFuture<'p, EffectResult> {
        Box::pin(self.perform(id, effect, stop))
    }
}

impl Perform for Box<dyn ObjectPerform + '_> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        (**self).perform_object(id, effect, stop).await
    }
}

/// How long a run may take, and who may end it.
#[derive(Debug, Clone)]
pub struct RunBounds {
    /// Ends it when it is cancelled.
    pub stop: CancellationToken,
    /// The most time from the first event to the last. `None` is only bound by `stop`.
    pub time: Option<Duration>,
}

/// The state that a run has reached.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveResult<T> {
    /// Its question, or its end.
    pub reached: DriveEnd<T>,
    /// Every event that it took, in order.
    pub transcript: Vec<Event>,
}

/// The state that a run has reached.
#[derive(Debug, Clone, PartialEq)]
pub enum DriveEnd<T> {
    /// It is over, with this outcome.
    Done(T),
    /// Questions that a person has to answer. Go on with [`EventKind::Answered`].
    Asked(Vec<Question>),
}

/// The state that a run goes on from.
#[derive(Debug, Clone, PartialEq)]
pub enum DriveStart {
    /// An event that it waits for.
    Event(EventKind),
    /// Effects that it asked for and that have no results yet: they are performed first.
    Effects(Vec<(EffectId, Effect)>),
    /// A time that it waits for.
    Until(Time),
}

/// Drives a run from `what` on until it ends or asks. Nothing is written down.
///
/// # Errors
///
/// [`proem_engine::ErrorKind::OutOfStep`] if the run doesn't wait for `what`.
pub async fn drive<M: Machine + Sync>(
    machine: &mut M,
    what: EventKind,
    world: &impl Perform,
    bounds: &RunBounds,
) -> Result<DriveResult<M::Outcome>, proem_engine::Error> {
    go_on(machine, DriveStart::Event(what), world, bounds, &NullJournal).await
}

/// Drives a run from where it stands until it ends or asks. `journal` is told of each event, and of
/// what is about to be done before it is done.
///
/// # Errors
///
/// [`proem_engine::ErrorKind::OutOfStep`] if the run waits for something else. The journal's error if it can't write,
/// before anything of it is performed.
pub async fn go_on<M: Machine + Sync>(
    machine: &mut M,
    from: DriveStart,
    world: &impl Perform,
    bounds: &RunBounds,
    journal: &impl Journal,
) -> Result<DriveResult<M::Outcome>, proem_engine::Error> {
    let deadline = bounds.time.map(|time| Instant::now() + time);
    // A person who gives up is heard before the deadline, and each of them once.
    let mut driving = Driving { world, stop: &bounds.stop, deadline, told: false, clock: Clock::default() };
    let mut transcript = Vec::new();
    let mut from = from;
    loop {
        let what = match from {
            DriveStart::Event(what) => what,
            DriveStart::Effects(effects) => {
                for (id, _) in &effects {
                    machine.account(*id).into_iter().for_each(|account| journal.accounts(*id, account));
                }
                // Before anything is performed: what was begun and not written down could be neither settled nor
                // gone on from.
                journal.intends(&|| machine.state(), &effects).await?;
                driving.perform(&effects).await
            }
            DriveStart::Until(until) => {
                journal.pauses(&|| machine.state(), PauseReason::Waits { until }).await?;
                driving.wait(until).await
            }
        };
        let event = driving.clock.event(what);
        let step = machine.step(event.clone())?;
        // Behind the step: an event that the machine refuses is none of the run's.
        journal.stepped(&event);
        transcript.push(event);
        from = match step {
            Step::Done(outcome) => return Ok(DriveResult { reached: DriveEnd::Done(outcome), transcript }),
            Step::Ask(questions) => {
                journal.pauses(&|| machine.state(), PauseReason::Asks(&questions)).await?;
                return Ok(DriveResult { reached: DriveEnd::Asked(questions), transcript });
            }
            Step::Do(effects) => DriveStart::Effects(effects),
            Step::Wait { until } => DriveStart::Until(until),
        };
    }
}

/// The parts that drive a run.
#[derive(Debug)]
struct Driving<'d, W> {
    world: &'d W,
    stop: &'d CancellationToken,
    deadline: Option<Instant>,
    /// Whether the run was told that it is given up.
    told: bool,
    clock: Clock,
}

impl<W: Perform> Driving<'_, W> {
    /// Performs effects, until all are done or the run is given up.
    async fn perform(&mut self, effects: &[(EffectId, Effect)]) -> EventKind {
        let ended = self.stop.child_token();
        if self.told {
            // A run that asks for more after its time gets no more of it.
            ended.cancel();
        }
        let mut work = std::pin::pin!(perform_all(effects, self.world, &ended));
        match within_deadline(work.as_mut(), self.deadline, self.stop, self.told).await {
            Ok(results) => EventKind::Performed { results },
            Err(why) => {
                // Effects in progress are told to end and may note how far they came.
                ended.cancel();
                work.await;
                self.told = true;
                EventKind::Cancelled { why }
            }
        }
    }

    /// Waits, until it is time or the run is given up.
    async fn wait(&mut self, until: Time) -> EventKind {
        match within_deadline(self.clock.wait(until), self.deadline, self.stop, self.told).await {
            Ok(()) => EventKind::Woken,
            Err(why) => {
                self.told = true;
                EventKind::Cancelled { why }
            }
        }
    }
}

async fn perform_all(
    effects: &[(EffectId, Effect)],
    world: &impl Perform,
    stop: &CancellationToken,
) -> Vec<(EffectId, EffectResult)> {
    let one = |(id, effect): &(EffectId, Effect)| {
        let (id, effect) = (*id, effect.clone());
        async move { (id, world.perform(id, &effect, stop).await) }
    };
    let mut results = join_all(effects.iter().map(one)).await;
    // By id and not by who was first, or a replay of the transcript would depend on the network.
    results.sort_by_key(|(id, _)| *id);
    results
}

/// The result of `work`, unless the caller gives up or the deadline comes first.
async fn within_deadline<T>(
    work: impl Future<Output = T>,
    deadline: Option<Instant>,
    stop: &CancellationToken,
    told: bool,
) -> Result<T, CancelReason> {
    let over = async {
        match deadline {
            Some(deadline) if !told => tokio::time::sleep_until(deadline).await,
            _ => std::future::pending().await,
        }
    };
    let given_up = async { if told { std::future::pending().await } else { stop.cancelled().await } };
    tokio::select! {
        // A person who gives up is asked first, and a result that is there counts even if the deadline is there
        // too.
        biased;
        () = given_up => Err(CancelReason::Asked),
        result = work => Ok(result),
        () = over => Err(CancelReason::Deadline),
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
        // The system's clock may be set back. A run compares the times of its events.
        self.last = self.last.max(now);
        self.last
    }

    fn event(&mut self, what: EventKind) -> Event {
        Event { now: self.now(), what }
    }

    async fn wait(&mut self, until: Time) {
        let left = until.0.saturating_sub(self.now().0);
        tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0))).await;
    }
}

#[cfg(test)]
mod tests;
