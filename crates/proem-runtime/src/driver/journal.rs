//! The journal of a run's plans: it learns of each step before the run takes it.

use std::future::Future;

use proem_engine::Error;
use proem_engine::run::{Effect, EffectId, Event, Question, Time};
use serde_json::Value as Json;

/// The reason for a run's pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PauseReason<'q> {
    /// A person's answers to these.
    Asks(&'q [Question]),
    /// That a time comes.
    Waits {
        /// The time, by the machine's clock.
        until: Time,
    },
}

/// Writes down how far a run is. An error ends the drive before anything of it is performed.
///
/// The state is made only if it is asked for, since making it takes time.
pub trait Journal {
    /// The run took an event.
    fn stepped(&self, event: &Event);

    /// The account of every token of the request that this effect calls with. Delivered before the intent.
    fn accounts(&self, _effect: EffectId, _account: &Json) {}

    /// It is about to have these effects performed, from this state.
    fn intends(
        &self,
        state: &(dyn Fn() -> Result<Json, Error> + Sync),
        effects: &[(EffectId, Effect)],
    ) -> impl Future<Output = Result<(), Error>>;

    /// It asks, or waits, in this state.
    fn pauses(
        &self,
        state: &(dyn Fn() -> Result<Json, Error> + Sync),
        pausing: PauseReason<'_>,
    ) -> impl Future<Output = Result<(), Error>>;
}

/// A journal for runs that are not kept: it writes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NullJournal;

impl Journal for NullJournal {
    fn stepped(&self, _event: &Event) {}

    async fn intends(
        &self,
        _state: &(dyn Fn() -> Result<Json, Error> + Sync),
        _effects: &[(EffectId, Effect)],
    ) -> Result<(), Error> {
        Ok(())
    }

    async fn pauses(
        &self,
        _state: &(dyn Fn() -> Result<Json, Error> + Sync),
        _pausing: PauseReason<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }
}
