//! Laws about calls of tools.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use proem_engine::run::{EffectId, Time, ToolLabels, ToolPower};

use super::samples::{Backend, LawSamples, query_number};
use crate::record::{HashedContent, NewToolCall, ToolCallState, ToolEnd, ToolIntent, ToolRefusal};
use crate::{Error, Purge, Store};
use proem_engine::profile::Quality;

fn intent(run: u64, effect: u32, power: ToolPower) -> ToolIntent {
    let call = NewToolCall {
        effect: EffectId(effect),
        tool: "send".to_owned(),
        power,
        key: format!("key {run} {effect}"),
        arguments: HashedContent::new(format!("{{\"n\":{effect}}}")),
        labels: ToolLabels::default(),
    };
    let begins = Some(Box::new(LawSamples.run(run)));
    let (run, at) = (LawSamples.id(run), Time(2_000));
    ToolIntent { run, at, begins, steps: Vec::new(), snapshot: None, calls: vec![call] }
}

fn end(run: u64, effect: u32, result: &str) -> ToolEnd {
    ToolEnd {
        run: LawSamples.id(run),
        effect: EffectId(effect),
        at: Time(3_000),
        state: ToolCallState::Answered,
        result: HashedContent::new(result),
        sealed: None,
        took_ms: 12,
        attempts: 1,
    }
}

/// A call that is not made, with its reason.
fn refusal(run: u64, effect: u32, power: ToolPower) -> ToolRefusal {
    let end = ToolEnd { state: ToolCallState::Denied, took_ms: 0, attempts: 0, ..end(run, effect, "\"no\"") };
    ToolRefusal { intent: intent(run, effect, power), end }
}

/// Opens a store in which the call was intended.
async fn intended(backend: &impl Backend, intent: ToolIntent) -> Store {
    let store = backend.open().await;
    if let Err(error) = store.intend_tools(intent).await {
        panic!("{error}");
    }
    store
}

/// A call of a tool is there for everybody before it is made, with its project and actor; if its process dies, it
/// may have happened.
///
/// # Panics
///
/// If not.
pub async fn a_tool_call_is_written_before_it_is_made(backend: &impl Backend) {
    let store = intended(backend, intent(1, 0, ToolPower::Effectful)).await;
    let ours = "SELECT count(*) FROM tool_calls WHERE project = '/home/ada/engine' AND actor = 'person:ada@terminal'";
    assert_eq!(query_number(backend, ours).await, 1);
    assert_eq!(query_number(backend, "SELECT count(*) FROM tool_calls WHERE state = 'pending'").await, 1);
    assert!(store.intend_tools(intent(1, 1, ToolPower::Free)).await.is_ok());
    assert!(store.end_tool(end(1, 1, "1")).await.is_ok(), "of one step each call has an end of its own");
    store.abandon().await;
    let next = backend.open().await;
    assert_eq!(query_number(backend, "SELECT effect FROM tool_calls WHERE state = 'unknown'").await, 0);
    assert_eq!(query_number(backend, "SELECT effect FROM tool_calls WHERE state = 'answered'").await, 1);
    next.close().await;
}

/// A call that may have happened is not intended again unless it is declared free of effects, and a call with an end
/// never is.
///
/// # Panics
///
/// If it is.
pub async fn a_tool_call_is_not_made_again(backend: &impl Backend) {
    let store = intended(backend, intent(1, 0, ToolPower::Effectful)).await;
    let again = store.intend_tools(intent(1, 0, ToolPower::Effectful)).await;
    assert!(matches!(again, Err(Error::Conflict(_))), "{again:?}");
    assert!(store.intend_tools(intent(1, 1, ToolPower::Idempotent)).await.is_ok());
    assert!(store.intend_tools(intent(1, 1, ToolPower::Idempotent)).await.is_ok(), "under the same key");
    let mut other = intent(1, 1, ToolPower::Idempotent);
    other.calls.iter_mut().for_each(|call| call.key.push('x'));
    assert!(matches!(store.intend_tools(other).await, Err(Error::Conflict(_))), "under another key");
    assert!(store.end_tool(end(1, 1, "1")).await.is_ok());
    let ended = store.intend_tools(intent(1, 1, ToolPower::Idempotent)).await;
    assert!(matches!(ended, Err(Error::Conflict(_))), "{ended:?}");
    store.close().await;
}

/// The first outcome of a call stays, and a purge takes calls with their run.
///
/// # Panics
///
/// If not.
pub async fn a_tool_call_keeps_its_outcome(backend: &impl Backend) {
    let store = intended(backend, intent(1, 0, ToolPower::Effectful)).await;
    for result in ["1", "2"] {
        assert!(store.end_tool(end(1, 0, result)).await.is_ok());
    }
    let detail = store.run(&LawSamples.id(1)).await;
    let Ok(detail) = detail else { panic!("{detail:?}") };
    let results: Vec<Option<String>> = detail.tools.iter().map(|call| call.result.clone()).collect();
    assert_eq!(results, [Some(HashedContent::new("1").hash)]);
    let tally = store.tool_tallies(None, None).await.unwrap_or_default();
    assert_eq!(tally.first().map(|tally| (tally.calls, tally.failed, tally.took_ms)), Some((1, 0, 12)));
    store.abandon().await;
    let next = backend.open().await;
    let (actor, at) = (LawSamples.actor(), Time(9_000));
    let purge = Purge { project: None, before: None, runs: Vec::new(), actor, at };
    assert!(next.purge(purge).await.is_ok_and(|purged| purged.runs == 1));
    assert_eq!(query_number(backend, "SELECT count(*) FROM tool_calls").await, 0);
    assert_eq!(query_number(backend, "SELECT count(*) FROM contents").await, 0);
    next.close().await;
}

/// A refused call is in the records at once, with its run, its arguments and its reason. It is not made later, and
/// whether its process dies makes no difference.
///
/// # Panics
///
/// If not.
pub async fn a_refused_tool_call_is_kept_and_never_made(backend: &impl Backend) {
    let store = backend.open().await;
    let powers = [(0, ToolPower::Effectful), (1, ToolPower::Idempotent), (2, ToolPower::Free)];
    for (effect, power) in powers {
        assert!(store.refuse_tool(refusal(1, effect, power)).await.is_ok(), "{power:?}");
        let later = store.intend_tools(intent(1, effect, power)).await;
        assert!(matches!(later, Err(Error::Conflict(_))), "{power:?}: {later:?}");
    }
    store.abandon().await;
    let next = backend.open().await;
    let detail = next.run(&LawSamples.id(1)).await;
    let Ok(detail) = detail else { panic!("{detail:?}") };
    let kept: Vec<_> = detail.tools.iter().map(|call| (call.state, call.attempts, call.result.clone())).collect();
    let denied = (ToolCallState::Denied, 0, Some(HashedContent::new("\"no\"").hash));
    assert_eq!(kept, vec![denied; 3]);
    next.close().await;
}

/// A refusal changes nothing about a call that was begun or has an end, and none is written into an ended run.
///
/// # Panics
///
/// If it does.
pub async fn a_refusal_takes_no_tool_call_back(backend: &impl Backend) {
    let store = intended(backend, intent(1, 0, ToolPower::Effectful)).await;
    assert!(store.intend_tools(intent(1, 1, ToolPower::Free)).await.is_ok());
    assert!(store.end_tool(end(1, 1, "1")).await.is_ok());
    for (effect, power) in [(0, ToolPower::Effectful), (1, ToolPower::Free)] {
        let refused = store.refuse_tool(refusal(1, effect, power)).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{effect}: {refused:?}");
    }
    let states = "SELECT count(*) FROM tool_calls WHERE (effect = 0 AND state = 'pending') OR (effect = 1 AND state = \
                  'answered')";
    assert_eq!(query_number(backend, states).await, 2);
    assert!(store.finish(LawSamples.finish(1, Quality::Low)).await.is_ok());
    let late = store.refuse_tool(refusal(1, 2, ToolPower::Effectful)).await;
    assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
    assert_eq!(query_number(backend, "SELECT count(*) FROM tool_calls").await, 2);
    store.close().await;
}
