//! Laws about states to go on from, and about who started a run.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use std::sync::Arc;

use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Cap, CapPeriod};
use proem_engine::profile::Quality;
use proem_engine::run::{EffectId, Time};

use super::samples::{Backend, LawSamples, query_number};
use crate::record::{NewRun, RunCaller, Snapshot, StatePart};
use crate::{BookingOutcome, Correction, Pause, Purge};

/// The large parts of a state are stored once, go with the state that named them, and with the run.
///
/// # Panics
///
/// If not.
pub async fn parts_of_states_are_kept_once(backend: &impl Backend) {
    let store = backend.open().await;
    let part = |name: &str, is_new: bool| StatePart {
        name: name.to_owned(),
        sealed: is_new.then(|| Arc::from(name.as_bytes())),
    };
    let pause = |run: u64, step: u32, parts: Vec<StatePart>| Pause {
        settles: None,
        run: LawSamples.id(run),
        begins: Some(Box::new(LawSamples.run(run))),
        steps: vec![],
        snapshot: Snapshot { step, at: Time(9_000), sealed: vec![1], parts },
        questions: vec!["May it?".to_owned()],
    };
    assert!(store.pause(pause(1, 1, vec![part("a", true), part("b", true)])).await.is_ok());
    assert!(store.pause(pause(2, 1, vec![part("a", true)])).await.is_ok(), "another run has parts of its own");
    // The next state has one part of the last one, and another.
    assert!(store.pause(pause(1, 2, vec![part("b", false), part("c", true)])).await.is_ok());
    let ours = "SELECT count(*) FROM states WHERE run = '0000000000000001' AND name IN ('b', 'c') \
                AND project = '/home/ada/engine' AND actor = 'person:ada@terminal'";
    assert_eq!(query_number(backend, ours).await, 2);
    assert_eq!(query_number(backend, "SELECT count(*) FROM states").await, 3);
    // An earlier state replaces nothing and takes nothing away.
    assert!(store.pause(pause(1, 1, vec![])).await.is_ok());
    let taken = store.take_over(&LawSamples.id(1), Time(9_500)).await;
    let Ok(taken) = taken else { panic!("{taken:?}") };
    let parts: Vec<(&str, Option<&[u8]>)> =
        taken.parts.iter().map(|part| (part.name.as_str(), part.sealed.as_deref())).collect();
    assert_eq!(parts, [("b", Some(&b"b"[..])), ("c", Some(&b"c"[..]))]);
    assert!(store.finish(LawSamples.finish(1, Quality::High)).await.is_ok());
    assert_eq!(query_number(backend, "SELECT count(*) FROM states").await, 1, "an ended run keeps none");
    assert!(store.pause(pause(1, 9, vec![part("d", true)])).await.is_ok());
    assert_eq!(query_number(backend, "SELECT count(*) FROM states").await, 1, "and gets none again");
    store.abandon().await;
    let next = backend.open().await;
    let purge = Purge { project: None, before: None, runs: Vec::new(), actor: LawSamples.actor(), at: Time(10_000) };
    assert!(next.purge(purge).await.is_ok());
    assert_eq!(query_number(backend, "SELECT count(*) FROM states").await, 0);
    next.close().await;
}

/// A run that a call started names its caller, which is no parent; a call names the run that it started.
///
/// # Panics
///
/// If not.
pub async fn a_started_run_names_its_caller(backend: &impl Backend) {
    let store = backend.open().await;
    let begin = |run: u64, caller: Option<RunCaller>| Pause {
        settles: None,
        run: LawSamples.id(run),
        begins: Some(Box::new(NewRun { caller, ..LawSamples.run(run) })),
        steps: vec![],
        snapshot: Snapshot { step: 1, at: Time(9_000), sealed: vec![1], parts: vec![] },
        questions: vec![],
    };
    assert!(store.pause(begin(1, None)).await.is_ok());
    let caller = RunCaller { run: LawSamples.id(1), effect: EffectId(3) };
    assert!(store.pause(begin(2, Some(caller.clone()))).await.is_ok());
    let found = store.run(&LawSamples.id(2)).await;
    let Ok(found) = found else { panic!("{found:?}") };
    assert_eq!((found.row.caller, found.row.parent), (Some(caller), None));
    assert!(store.run(&LawSamples.id(1)).await.is_ok_and(|run| run.row.caller.is_none()));
    let below = RunCaller { run: LawSamples.id(2), effect: EffectId(0) };
    assert!(store.pause(begin(3, Some(below))).await.is_ok());
    let traces = store.run_traces_of(&[LawSamples.id(1), LawSamples.id(2), LawSamples.id(3)]).await;
    assert!(traces.is_ok_and(|all| all.len() == 3 && all.iter().all(|trace| trace.root == LawSamples.id(1))));
    store.close().await;
}

/// The cost of a run that a call started is booked to it and to its caller, and counts against the cap of both.
///
/// # Panics
///
/// If not.
pub async fn a_started_run_costs_its_caller(backend: &impl Backend) {
    let store = backend.open().await;
    let cap = Cap { period: CapPeriod::Run, ..LawSamples.cap(100) };
    let mut child = LawSamples.intent(2, 0, 40, &[cap]);
    let caller = Some(RunCaller { run: LawSamples.id(1), effect: EffectId(3) });
    child.begins.iter_mut().for_each(|begins| begins.caller.clone_from(&caller));
    let first = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[cap])).await;
    let second = LawSamples.booked(&store, child).await;
    // Two times forty are open: there is no room for a third, whichever of both asks, and room for any other run.
    for run in [1, 2] {
        let third = store.intend(LawSamples.intent(run, 1, 40, &[cap])).await;
        assert!(matches!(third, Ok(BookingOutcome::Wait(_))), "{third:?}");
    }
    LawSamples.booked(&store, LawSamples.intent(3, 0, 40, &[cap])).await;
    LawSamples.settled(&store, first, LawSamples.reported(7)).await;
    LawSamples.settled(&store, second, LawSamples.reported(9)).await;
    for (run, tokens) in [(1, 16), (2, 9)] {
        let sum = format!("SELECT input_tokens FROM runs WHERE id = '{}'", LawSamples.id(run));
        assert_eq!(query_number(backend, &sum).await, tokens);
    }
    let correction = Correction {
        attempt: second,
        nanos: NanoDollars(1_000),
        why: "the bill says so".to_owned(),
        actor: LawSamples.actor(),
        at: Time(4_000),
    };
    assert!(store.correct(correction).await.is_ok());
    for (run, nanos) in [(1, 8_000), (2, 1_000)] {
        let sum = format!("SELECT nanos FROM runs WHERE id = '{}'", LawSamples.id(run));
        assert_eq!(query_number(backend, &sum).await, nanos);
    }
    store.close().await;
}
