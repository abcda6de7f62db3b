//! Laws about what is written when.

use proem_engine::call::NanoDollars;
use proem_engine::profile::Quality;
use proem_engine::run::Time;

use super::samples::{Backend, LawSamples, query_number};
use crate::record::{AttemptUsage, Snapshot};
use crate::{BookingOutcome, Correction, Error, Pause};

/// Everybody can see an intent before its effect, and it stays if its process dies.
///
/// # Panics
///
/// If not.
pub async fn intent_before_effect(backend: &impl Backend) {
    let store = backend.open().await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    let again = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    assert_eq!(attempt, again, "asking twice books once");
    let lines = [("runs", 1), ("steps", 1), ("snapshots", 1), ("calls", 1), ("assemblies", 1), ("attempts", 1)];
    for (table, expected) in lines {
        assert_eq!(query_number(backend, &format!("SELECT count(*) FROM {table}")).await, expected, "{table}");
    }
    // The prompt, the inputs, the event, two texts and the report.
    assert_eq!(query_number(backend, "SELECT count(*) FROM contents").await, 6);
    store.abandon().await;
    let next = backend.open().await;
    for (table, expected) in lines {
        assert_eq!(query_number(backend, &format!("SELECT count(*) FROM {table}")).await, expected, "{table}");
    }
    assert_eq!(query_number(backend, "SELECT count(*) FROM attempts WHERE state = 'unknown'").await, 1);
    assert_eq!(query_number(backend, "SELECT count(*) FROM calls WHERE state = 'unknown'").await, 1);
    let stale = next.intend(LawSamples.intent(1, 0, 40, &[])).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "an attempt of a dead process is not made again: {stale:?}");
    next.close().await;
}

/// A second settlement changes nothing, whatever it says.
///
/// # Panics
///
/// If it does.
pub async fn settlement_is_idempotent(backend: &impl Backend) {
    let store = backend.open().await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    let mut seen = Vec::new();
    for used in [LawSamples.reported(7), LawSamples.reported(9), AttemptUsage::Unknown, AttemptUsage::Nothing] {
        LawSamples.settled(&store, attempt, used).await;
        let mut all = Vec::new();
        for sql in ["SELECT tokens FROM spend", "SELECT tokens FROM usage", "SELECT count(*) FROM events"] {
            all.extend(backend.numbers(sql).await);
        }
        all.extend(backend.numbers("SELECT input_tokens FROM runs").await);
        seen.push(all);
    }
    assert!(seen.iter().all(|all| Some(all) == seen.first()), "{seen:?}");
    assert_eq!(query_number(backend, "SELECT tokens FROM spend").await, 7);
    let conflict = store.intend(LawSamples.intent(1, 0, 40, &[])).await;
    assert!(matches!(conflict, Err(Error::Conflict(_))), "a settled amount is not booked again: {conflict:?}");
    store.close().await;
}

/// A run that has ended keeps no state to go on from, and gets none again.
///
/// # Panics
///
/// If it does.
pub async fn a_finished_run_has_no_state(backend: &impl Backend) {
    let store = backend.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    assert_eq!(query_number(backend, "SELECT count(*) FROM snapshots").await, 0);
    let pause = Pause {
        settles: None,
        run: LawSamples.id(1),
        begins: None,
        steps: vec![],
        snapshot: Snapshot { step: 9, at: Time(9_000), sealed: vec![1], parts: vec![] },
        questions: vec![],
    };
    assert!(store.pause(pause).await.is_ok());
    assert_eq!(query_number(backend, "SELECT count(*) FROM snapshots").await, 0);
    assert_eq!(query_number(backend, "SELECT count(*) FROM runs WHERE state = 'ended'").await, 1);
    assert!(store.finish(LawSamples.finish(1, Quality::Low)).await.is_ok());
    assert_eq!(query_number(backend, "SELECT count(*) FROM failures").await, 0, "a second end changes nothing");
    assert!(matches!(store.take_over(&LawSamples.id(1), Time(9_000)).await, Err(Error::Conflict(_))));
    store.close().await;
}

/// A fork has an id of its own, and its parent stays as it was.
///
/// # Panics
///
/// If not.
pub async fn a_fork_leaves_its_parent(backend: &impl Backend) {
    let store = backend.open().await;
    LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    let parent = "SELECT sum(t.n) FROM (SELECT count(*) AS n FROM runs WHERE id = '0000000000000001' \
                  AND state = 'running' AND parent IS NULL UNION ALL SELECT count(*) FROM steps \
                  WHERE run = '0000000000000001' UNION ALL SELECT count(*) FROM snapshots \
                  WHERE run = '0000000000000001' UNION ALL SELECT count(*) FROM attempts \
                  WHERE run = '0000000000000001' AND state = 'open') AS t";
    let before = query_number(backend, parent).await;
    let mut fork = LawSamples.intent(2, 0, 40, &[]);
    if let Some(begins) = &mut fork.begins {
        begins.parent = Some(LawSamples.id(1));
    }
    let attempt = LawSamples.booked(&store, fork).await;
    LawSamples.settled(&store, attempt, LawSamples.reported(5)).await;
    assert!(store.finish(LawSamples.finish(2, Quality::High)).await.is_ok());
    assert_eq!(query_number(backend, parent).await, before);
    assert_eq!(query_number(backend, "SELECT count(*) FROM runs WHERE parent = '0000000000000001'").await, 1);
    store.close().await;
}

/// A run is gone on with by one process: only after its own has died, and never by one that lost it.
///
/// # Panics
///
/// If not.
pub async fn a_run_is_taken_over_by_one(backend: &impl Backend) {
    let (first, second) = (backend.open().await, backend.open().await);
    LawSamples.booked(&first, LawSamples.intent(1, 0, 40, &[])).await;
    let alive = second.take_over(&LawSamples.id(1), Time(2_000)).await;
    assert!(matches!(alive, Err(Error::Conflict(_))), "{alive:?}");
    assert!(matches!(second.take_over(&LawSamples.id(9), Time(2_000)).await, Err(Error::NotFound(_))));
    first.abandon().await;
    let third = backend.open().await;
    let taken = second.take_over(&LawSamples.id(1), Time(2_000)).await;
    assert!(matches!(&taken, Ok(snapshot) if snapshot.sealed == [7; 64]), "{taken:?}");
    let lost = third.take_over(&LawSamples.id(1), Time(2_000)).await;
    assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    let stale = third.intend(LawSamples.intent(1, 1, 40, &[])).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    LawSamples.booked(&second, LawSamples.intent(1, 1, 40, &[])).await;
    second.close().await;
    third.close().await;
}

/// A person's correction counts from then on, and the earlier booking stays readable.
///
/// # Panics
///
/// If not.
pub async fn a_correction_counts(backend: &impl Backend) {
    let store = backend.open().await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    let correction = |nanos| Correction {
        attempt,
        nanos: NanoDollars(nanos),
        why: "the invoice says so".to_owned(),
        actor: LawSamples.actor(),
        at: Time(5_000),
    };
    assert!(matches!(store.correct(correction(1)).await, Err(Error::Conflict(_))), "it is open");
    LawSamples.settled(&store, attempt, AttemptUsage::Unknown).await;
    for nanos in [7_000, 3_000] {
        assert!(store.correct(correction(nanos)).await.is_ok());
        let nanos = i64::try_from(nanos);
        assert_eq!(Ok(query_number(backend, "SELECT nanos FROM spend").await), nanos);
        assert_eq!(Ok(query_number(backend, "SELECT nanos FROM runs").await), nanos);
    }
    assert_eq!(query_number(backend, "SELECT unknown FROM spend").await, 0);
    assert_eq!(query_number(backend, "SELECT nanos FROM usage").await, 40_000);
    assert_eq!(query_number(backend, "SELECT count(*) FROM corrections").await, 2);
    store.close().await;
}

/// Of writes that wait at the same time, one that fails does not take the others along.
///
/// # Panics
///
/// If it does.
pub async fn writes_share_transactions_not_fates(backend: &impl Backend) {
    let store = backend.open().await;
    let good = (0..24).map(|run| store.intend(LawSamples.intent(run, 0, 1, &[])));
    let bad = (100..108).map(|run| {
        let mut intent = LawSamples.intent(run, 0, 1, &[]);
        intent.begins = None;
        store.intend(intent)
    });
    let (good, bad) =
        futures_util::future::join(futures_util::future::join_all(good), futures_util::future::join_all(bad)).await;
    assert!(good.iter().all(|booked| matches!(booked, Ok(BookingOutcome::Yes(_)))), "{good:?}");
    assert!(bad.iter().all(|booked| matches!(booked, Err(Error::NotFound(_)))), "{bad:?}");
    assert_eq!(query_number(backend, "SELECT count(*) FROM attempts").await, 24);
    store.close().await;
}
