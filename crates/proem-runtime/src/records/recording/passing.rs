//! The gate of a recorded run: booked before it is sent, settled after.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::ledger::{Bound, Refusal, bound_of_attempt};
use proem_engine::run::EffectId;
use proem_llm::caller::gate::{AttemptEnd, CallAttempt, Gate, GateFuture, Last};
use proem_llm::caller::wall_clock;
use proem_store::record::{AttemptUsage, Intent, NewAttempt, NewCall, Settlement};
use proem_store::{BookingOutcome, Error, failpoint};

use super::Recording;
use super::rows::{self, SendState};
use crate::records::{Necessity, unsent_reason};

/// How long it is waited for others' settlements before the booking is tried again: at first, and at
/// most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The outcome of a booking. The store finishes it even when nobody waits for it any more, so that a cancelled caller
/// can still ask for it, and settle it.
type BookingFuture = Shared<BoxFuture<'static, Result<BookingOutcome, BookingFailure>>>;

/// Why a booking was not written.
#[derive(Debug, Clone)]
enum BookingFailure {
    /// The store can't be used.
    Unusable(String),
    /// The run is another process's by now, or what is recorded contradicts it: it must not go on.
    Contradicted(String),
}

impl From<Error> for BookingFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict(why) => Self::Contradicted(why),
            other => Self::Unusable(other.to_string()),
        }
    }
}

/// The place of an attempt: its call and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AttemptKey {
    effect: EffectId,
    /// From 0, among the attempts of this process.
    number: u32,
}

impl AttemptKey {
    const fn of(attempt: &CallAttempt<'_>) -> Self {
        Self { effect: EffectId(attempt.slot.effect), number: attempt.number }
    }
}

/// An attempt at the gate.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    booking: BookingFuture,
    stands: Stands,
}

/// On which side of the gate an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// Nothing of it was sent.
    Before,
    /// Something of it may have been sent.
    Behind,
}

impl Gate for Recording<'_> {
    fn enter<'g>(&'g self, attempt: &'g CallAttempt<'_>) -> GateFuture<'g, Result<(), CallFailure>> {
        Box::pin(self.pass(attempt))
    }

    fn leave<'g>(&'g self, attempt: &'g CallAttempt<'_>, left: AttemptEnd<'g>) -> GateFuture<'g, ()> {
        Box::pin(self.part(attempt, left))
    }
}

impl Recording<'_> {
    /// Books an attempt. As long as it fits only once others are settled, which may use less than they booked, it
    /// is tried again.
    async fn pass(&self, attempt: &CallAttempt<'_>) -> Result<(), CallFailure> {
        let intent = match self.intent(attempt).await {
            Ok(intent) => intent?,
            Err(error) => return Err(self.unwritten(error.into())),
        };
        let mut pause = PAUSES.0;
        loop {
            let booking = self.book(AttemptKey::of(attempt), intent.clone());
            match booking.await {
                Ok(BookingOutcome::Yes(_)) => {
                    self.recorded(attempt, &intent);
                    failpoint::pass("before-call");
                    return Ok(());
                }
                Ok(BookingOutcome::No(refusal)) => {
                    // Away from the gate first: the run and its call are written, and nothing of it was sent.
                    self.held().passes.remove(&AttemptKey::of(attempt));
                    self.recorded(attempt, &intent);
                    return Err(booking_refusal(&refusal));
                }
                Ok(BookingOutcome::Wait(_)) => {
                    self.held().passes.remove(&AttemptKey::of(attempt));
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
                Err(why) => {
                    self.held().passes.remove(&AttemptKey::of(attempt));
                    return Err(self.unwritten(why));
                }
            }
        }
    }

    /// Begins to book an attempt.
    fn book(&self, key: AttemptKey, intent: Intent) -> BookingFuture {
        let store = self.kept.store.clone();
        let booked = async move { store.intend(intent).await.map_err(BookingFailure::from) };
        let booking = booked.boxed().shared();
        // Before anybody waits for it: whoever is cancelled meanwhile finds it here and settles what was booked.
        self.held().passes.insert(key, Pass { booking: booking.clone(), stands: Stands::Before });
        booking
    }

    /// The attempt's intent is written; if it is still at the gate, it is behind it.
    fn recorded(&self, attempt: &CallAttempt<'_>, intent: &Intent) {
        // Its events are written up to the last, and its state under the number of the event that comes next.
        let taken = intent.steps.last().map(|last| last.step.saturating_add(1));
        let state = intent.snapshot.as_ref().map(|snapshot| snapshot.step);
        self.written(taken.max(state).unwrap_or(0));
        let mut held = self.held();
        held.settles.take_if(|_| intent.settles.is_some());
        held.called.insert(EffectId(attempt.slot.effect));
        if let Some(pass) = held.passes.get_mut(&AttemptKey::of(attempt)) {
            pass.stands = Stands::Behind;
            held.asked = SendState::Something;
        }
    }

    /// Why an attempt that can't be written is not made.
    fn unwritten(&self, unwritten: BookingFailure) -> CallFailure {
        let why = match unwritten {
            BookingFailure::Contradicted(why) => why,
            BookingFailure::Unusable(why) => {
                // A sent request stays sent: a run that has begun never claims to go on without records.
                let begun = self.resumed || self.held().asked == SendState::Something;
                let necessity = if begun { Necessity::Required } else { Necessity::Configured };
                unsent_reason(&why, necessity, &self.kept.ledger.caps)
            }
        };
        CallFailure::new(FailureKind::NotBooked, why)
    }

    /// Writes the intent before an attempt. Returns a failure if it can't be booked, whatever is in the store.
    async fn intent(&self, attempt: &CallAttempt<'_>) -> Result<Result<Intent, CallFailure>, Error> {
        let effect = EffectId(attempt.slot.effect);
        let number = attempt.number.saturating_add(self.earlier(effect).await?);
        let caps = self.kept.ledger.caps.clone();
        let bound = match bound_of_attempt(attempt.body.len(), attempt.request, attempt.model, self.kept.ledger.priced)
        {
            Some(bound) => bound,
            // Without a budget nothing depends on it. An attempt without a bound is booked as the most there is.
            None if caps.is_empty() => Bound { nanos: None, tokens: u64::MAX },
            None => return Ok(Err(booking_refusal(&Refusal::NoBound))),
        };
        let known = self.held().called.contains(&effect);
        let mut common = self.common.clone();
        if let Some(account) = self.held().accounts.get(&effect) {
            common.report = account.clone();
        }
        let call: Option<Box<NewCall>> =
            (!known).then(|| Box::new(rows::new_call_row(attempt, &common, &self.cleaner)));
        // Copied for each: of several calls at once nobody knows which is booked first, and the store passes over
        // what is there already.
        let held = self.held();
        Ok(Ok(Intent {
            run: self.id.clone(),
            begins: held.begins.clone(),
            steps: held.steps.clone(),
            snapshot: held.snapshot.clone(),
            settles: held.settles.clone(),
            call,
            attempt: NewAttempt { effect, attempt: number, at: wall_clock(), bound, caps },
        }))
    }

    /// How many attempts of a call were made before this process took the run over.
    async fn earlier(&self, effect: EffectId) -> Result<u32, Error> {
        if !self.resumed {
            return Ok(0);
        }
        if let Some(earlier) = &self.held().earlier {
            return Ok(earlier.get(&effect).copied().unwrap_or(0));
        }
        let earlier: BTreeMap<EffectId, u32> = match self.kept.store.run(&self.id).await {
            Ok(detail) => {
                let next = |call: &proem_store::query::CallRow| {
                    call.attempts.iter().map(|attempt| attempt.attempt.saturating_add(1)).max().unwrap_or(0)
                };
                detail.calls.iter().map(|call| (call.effect, next(call))).collect()
            }
            // A fork has a life of its own.
            Err(Error::NotFound(_)) => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let count = earlier.get(&effect).copied().unwrap_or(0);
        self.held().earlier = Some(earlier);
        Ok(count)
    }

    async fn part(&self, attempt: &CallAttempt<'_>, left: AttemptEnd<'_>) {
        let Some(Pass { booking, stands }) = self.held().passes.remove(&AttemptKey::of(attempt)) else { return };
        if stands == Stands::Behind {
            failpoint::pass("after-call");
        }
        // The store goes on with a booking that nobody waits for any more. Only its end says what there is to settle.
        let Ok(BookingOutcome::Yes(id)) = booking.await else { return };
        let used = match stands {
            Stands::Before => AttemptUsage::Nothing,
            Stands::Behind => rows::attempt_usage(attempt, &left, self.kept.ledger.priced),
        };
        let settlement = Settlement {
            attempt: id,
            at: wall_clock(),
            used,
            status: left.sent.status,
            failed: left.sent.failed,
            bytes: u64::try_from(left.sent.bytes).unwrap_or(u64::MAX),
            took_ms: millis(left.sent.took),
            waited_ms: millis(left.sent.waited),
            result: (left.last == Last::Yes).then(|| rows::result(left.result, &self.cleaner)),
        };
        // A run that waits for one answer takes its next step at once: the settlement goes with it, in the same
        // transaction.
        let is_step = EffectId(attempt.slot.effect).caller().is_none();
        if left.last == Last::Yes && is_step && self.held().alone {
            self.held().settles = Some(Box::new(settlement));
            return;
        }
        if let Err(error) = self.kept.store.settle(settlement).await {
            self.remember(&error.to_string());
        }
    }
}

fn booking_refusal(refusal: &Refusal) -> CallFailure {
    CallFailure::new(FailureKind::NotBooked, refusal.in_words())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
