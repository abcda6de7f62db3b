//! How many at once, how many a minute, and how calls are given up.

use std::future::Future;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proem_llm::scripted::{DeliveryEnd, Reply, ScriptedServer};
use tokio::task::{JoinSet, yield_now};
use tokio_util::sync::CancellationToken;

use crate::caller::{Asking, attempts, call_failure, server, text};

/// Asks so many times at once. Every answer must be one.
async fn ask_often(asking: Asking, times: usize) {
    let (caller, asking) = (asking.caller(), Arc::new(asking));
    let mut tasks = JoinSet::new();
    for _ in 0..times {
        let (caller, asking) = (caller.clone(), Arc::clone(&asking));
        tasks.spawn(async move { text(&caller.call(&asking.call(), &CancellationToken::new()).await) });
    }
    assert!(tasks.join_all().await.iter().all(|text| text == "hello"));
}

/// Waits until something holds, letting others run.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        yield_now().await;
    }
}

/// A call, and what cancels it once `ready`.
async fn cancelled(asking: &Asking, ready: impl Fn() -> bool) -> proem_llm::caller::CallOutcome {
    let stop = CancellationToken::new();
    let (caller, call) = (asking.caller(), asking.call());
    let cancel = async {
        until(ready).await;
        stop.cancel();
    };
    tokio::join!(caller.call(&call, &stop), cancel).0
}

#[tokio::test]
async fn never_more_at_once_than_the_limit() {
    let server = server([Reply::text("hello").delayed(5)]);
    ask_often(Asking::of(&server).at_once(3), 40).await;
    assert_eq!(server.requests().len(), 40);
    assert!(server.most_at_once() <= 3, "{}", server.most_at_once());
}

#[tokio::test]
async fn requests_are_spread_over_the_minute() {
    let server = server([Reply::text("hello")]);
    let began = Instant::now();
    let asking = Asking::of(&server).limited(|limits| limits.requests_per_minute = NonZeroU32::new(3_000));
    ask_often(asking, 10).await;
    let last = server.requests().last().unwrap().at;
    assert!(last.duration_since(began) >= Duration::from_millis(9 * 20));
}

#[tokio::test]
async fn a_limit_holds_all_calls_of_the_endpoint() {
    let server = server([Reply::raw(429, "{}").header("retry-after-ms", "60"), Reply::text("hello")]);
    let asking = Asking::of(&server).attempts(1);
    let caller = asking.caller();
    let refused = caller.call(&asking.call(), &CancellationToken::new()).await;
    assert_eq!(attempts(&refused), ["429 rate-limited"]);
    assert_eq!(text(&caller.clone().call(&asking.call(), &CancellationToken::new()).await), "hello");
    let requests = server.requests();
    assert!(requests[1].at.duration_since(requests[0].at) >= Duration::from_millis(60));
}

#[tokio::test]
async fn cancelled_before_anything() {
    let server = server([Reply::text("hello")]);
    let called = cancelled(&Asking::of(&server), || true).await;
    assert_eq!(call_failure(&called).0, "cancelled");
    let stop = CancellationToken::new();
    stop.cancel();
    let asking = Asking::of(&server);
    let called = asking.caller().call(&asking.call(), &stop).await;
    assert_eq!(call_failure(&called), ("cancelled", "the call was cancelled".to_owned()));
    assert!(called.attempts.is_empty());
}

#[tokio::test]
async fn cancelled_before_the_head() {
    let server = server([Reply::text("hello").delayed(600_000)]);
    let called = cancelled(&Asking::of(&server), || !server.requests().is_empty()).await;
    assert_eq!(call_failure(&called), ("cancelled", "the call was cancelled".to_owned()));
    assert_eq!(attempts(&called), ["- cancelled"]);
}

#[tokio::test]
async fn cancelled_in_the_middle() {
    let server = server([Reply::text("hello").ending(DeliveryEnd::Endless(usize::MAX))]);
    let asking = Asking::of(&server).streamed().limited(|limits| limits.answer_bytes = usize::MAX);
    let called = cancelled(&asking, || !server.requests().is_empty()).await;
    assert_eq!(call_failure(&called).0, "cancelled");
    until(|| server.abandoned() == 1).await;
}

#[tokio::test]
async fn cancelled_between_attempts() {
    let server = server([Reply::raw(429, "{}").retry_after("100")]);
    let called = cancelled(&Asking::of(&server), || !server.requests().is_empty()).await;
    assert_eq!(call_failure(&called).0, "cancelled");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn cancelled_while_it_is_not_its_turn() {
    let server = server([Reply::text("hello")]);
    let asking = Asking::of(&server).limited(|limits| limits.requests_per_minute = Some(NonZeroU32::MIN));
    let (caller, stop) = (asking.caller(), CancellationToken::new());
    assert_eq!(text(&caller.call(&asking.call(), &stop).await), "hello");
    let call = asking.call();
    let (called, ()) = tokio::join!(caller.call(&call, &stop), async { stop.cancel() });
    assert_eq!(call_failure(&called).0, "cancelled");
    assert!(called.attempts.is_empty());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_dropped_call_gives_its_place_to_the_next() {
    let server = server([Reply::text("hello").delayed(600_000), Reply::text("hello")]);
    let asking = Asking::of(&server).at_once(1);
    let caller = asking.caller();
    let stop = CancellationToken::new();
    drop_when(caller.call(&asking.call(), &stop), &server).await;
    assert_eq!(text(&caller.call(&asking.call(), &stop).await), "hello");
}

/// Drops a call once its request has arrived.
async fn drop_when(call: impl Future, server: &ScriptedServer) {
    tokio::select! {
        biased;
        _ = call => {}
        () = until(|| !server.requests().is_empty()) => {}
    }
}
