//! Laws about work that waits for a process.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use std::time::Duration;

use proem_engine::effect::ActionEvent;
use proem_engine::run::Time;

use super::actions::LawActions;
use super::samples::{Backend, LawSamples};
use super::triage::LawSignals;
use crate::query::WorkRow;
use crate::record::{WorkClaim, WorkEnd, WorkHold, WorkKey, WorkKind, WorkWish};
use crate::{HoldAnswer, MOST_ATTEMPTS, Store, WorkAnswer};

/// A lease that no law outlives.
const LONG: Duration = Duration::from_hours(10);
/// A time long ago, so that what is due then is due.
const AGO: Time = Time(1);

fn key() -> WorkKey {
    WorkKey { project: LawSamples.project(), kind: WorkKind::Triage }
}

async fn want_cycle(store: &Store, due: Time) {
    let wish = WorkWish { key: key(), actor: LawSamples.actor(), at: AGO, due };
    assert!(store.want_work(wish).await.is_ok());
}

async fn claim_as(store: &Store, worker: &str, lease: Duration) -> WorkAnswer {
    let claim = WorkClaim { key: key(), worker: worker.to_owned(), at: Time(2), lease };
    store.begin_work(claim).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn begun(store: &Store, worker: &str, lease: Duration) -> WorkHold {
    match claim_as(store, worker, lease).await {
        WorkAnswer::Begun(hold) => hold,
        other => panic!("{other:?} for {worker}"),
    }
}

async fn end_held(store: &Store, hold: &WorkHold, end: WorkEnd) -> HoldAnswer {
    store.end_work(hold, Time(3), end).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn only_row(store: &Store) -> WorkRow {
    let rows = store.work(Some(&LawSamples.project())).await.unwrap_or_default();
    match <[WorkRow; 1]>::try_from(rows) {
        Ok([row]) => row,
        Err(rows) => panic!("{rows:?}"),
    }
}

/// Of two processes one has the work, and what is wanted meanwhile is wanted afterwards.
///
/// # Panics
///
/// If not.
pub async fn work_is_had_by_one(backend: &impl Backend) {
    let (first, second) = (backend.open().await, backend.open().await);
    assert_eq!(claim_as(&first, "first", LONG).await, WorkAnswer::Unwanted);
    want_cycle(&first, Time(i64::MAX / 2)).await;
    assert!(matches!(claim_as(&first, "first", LONG).await, WorkAnswer::Early(_)));
    want_cycle(&first, AGO).await;
    let hold = begun(&first, "first", LONG).await;
    assert_eq!((hold.attempt, hold.wanted), (1, 2));
    for store in [&first, &second] {
        assert!(matches!(claim_as(store, "other", LONG).await, WorkAnswer::Held { worker, .. } if worker == "first"));
    }
    assert_eq!(second.wake_workers(Time(2)).await.ok(), Some(0), "somebody has it");
    want_cycle(&second, AGO).await;
    assert_eq!(end_held(&second, &hold, WorkEnd::Done).await, HoldAnswer::Lost, "another process ends nothing");
    assert_eq!(first.renew_work(&hold, Time(3), LONG).await.ok(), Some(HoldAnswer::Written { is_wanted: true }));
    assert_eq!(end_held(&first, &hold, WorkEnd::Done).await, HoldAnswer::Written { is_wanted: true });
    assert_eq!(end_held(&first, &hold, WorkEnd::Done).await, HoldAnswer::Lost, "it has ended");
    assert_eq!(first.wake_workers(Time(2)).await.ok(), Some(1));
    let hold = begun(&second, "second", LONG).await;
    assert_eq!(end_held(&second, &hold, WorkEnd::Done).await, HoldAnswer::Written { is_wanted: false });
    assert_eq!(claim_as(&first, "first", LONG).await, WorkAnswer::Unwanted);
    let row = only_row(&first).await;
    assert_eq!((row.waiting, row.attempts, row.holder), (0, 0, None));
    first.close().await;
    second.close().await;
}

/// The work of a process that is gone can be begun at once, and its attempt counts.
///
/// # Panics
///
/// If not.
pub async fn work_of_a_process_that_is_gone_is_nobodys(backend: &impl Backend) {
    let (first, second) = (backend.open().await, backend.open().await);
    want_cycle(&first, AGO).await;
    begun(&first, "first", LONG).await;
    first.abandon().await;
    assert!(only_row(&second).await.holder.is_some_and(|holder| !holder.is_alive && holder.worker == "first"));
    assert_eq!(second.wake_workers(Time(2)).await.ok(), Some(1));
    assert_eq!(begun(&second, "second", LONG).await.attempt, 2);
    second.close().await;
}

/// A process whose lease ran out loses the work to another one, and its end changes nothing.
///
/// # Panics
///
/// If not.
pub async fn a_lease_that_ran_out_ends_nothing(backend: &impl Backend) {
    let (first, second) = (backend.open().await, backend.open().await);
    want_cycle(&first, AGO).await;
    let stale = begun(&first, "first", Duration::ZERO).await;
    let hold = begun(&second, "second", LONG).await;
    assert_eq!(first.renew_work(&stale, Time(3), LONG).await.ok(), Some(HoldAnswer::Lost));
    assert_eq!(end_held(&first, &stale, WorkEnd::Done).await, HoldAnswer::Lost);
    assert_eq!(only_row(&first).await.waiting, 1, "nothing is done");
    assert_eq!(end_held(&second, &hold, WorkEnd::Done).await, HoldAnswer::Written { is_wanted: false });
    first.close().await;
    second.close().await;
}

/// Work that fails is begun three times, and then waits for a person.
///
/// # Panics
///
/// If not.
pub async fn a_third_attempt_is_the_last(backend: &impl Backend) {
    let store = backend.open().await;
    want_cycle(&store, AGO).await;
    for attempt in 1..=MOST_ATTEMPTS {
        let hold = begun(&store, "worker", LONG).await;
        assert_eq!(hold.attempt, attempt);
        let failed = WorkEnd::Failed { problem: "no room".to_owned(), again: AGO };
        assert_eq!(end_held(&store, &hold, failed).await, HoldAnswer::Written { is_wanted: true });
    }
    assert_eq!(claim_as(&store, "worker", LONG).await, WorkAnswer::Exhausted);
    want_cycle(&store, AGO).await;
    assert_eq!(claim_as(&store, "worker", LONG).await, WorkAnswer::Exhausted, "new wishes give no new attempts");
    assert_eq!(store.wake_workers(Time(2)).await.ok(), Some(0));
    let row = only_row(&store).await;
    assert_eq!((row.attempts, row.problem.as_deref()), (MOST_ATTEMPTS, Some("no room")));
    let wish = || WorkWish { key: key(), actor: LawSamples.actor(), at: AGO, due: AGO };
    assert_eq!(store.retry_work(wish()).await.ok(), Some(true));
    assert_eq!(store.retry_work(wish()).await.ok(), Some(false), "it is no such work any more");
    let hold = begun(&store, "worker", LONG).await;
    end_held(&store, &hold, WorkEnd::Done).await;
    let row = only_row(&store).await;
    assert_eq!((row.attempts, row.problem, row.waiting), (0, None, 0));
    store.close().await;
}

/// A new open signal wants a cycle, and a hold wants its action performed when it is over. The same signal again wants
/// nothing, and a cycle by hand that leaves none open does what was wanted.
///
/// # Panics
///
/// If not.
pub async fn signals_and_holds_want_work(backend: &impl Backend) {
    let store = backend.open().await;
    for (at, signals, waiting) in [(1, &[(1, 1), (2, 1)][..], 1), (2, &[(1, 1)], 1), (3, &[(1, 2)], 2)] {
        assert!(store.take_signals(LawSignals.intake(at, signals)).await.is_ok());
        assert_eq!(only_row(&store).await.waiting, waiting, "at {at}");
    }
    let finish = LawSignals.finish(4, 1, &[(1, 1), (2, 1), (1, 2)]);
    assert!(store.finish_cycle(finish).await.is_ok());
    assert_eq!(only_row(&store).await.waiting, 0);
    let action = LawActions.action(1);
    LawActions.proposed(&store, &action).await;
    let due = Time(LawActions::NOW.0.saturating_add(60_000));
    LawActions.made(&store, LawActions.happens(&action, 0, ActionEvent::Hold { due })).await;
    let rows = store.work(None).await.unwrap_or_default();
    let performing = rows.iter().find(|row| row.key.kind == WorkKind::Effects);
    assert_eq!(performing.map(|row| (row.waiting, row.due)), Some((1, due)));
    store.close().await;
}
