//! The gate: asked before a byte leaves, and told after it.

use std::sync::{Arc, Mutex};

use proem_engine::call::{CallFailure, FailureKind};
use proem_llm::caller::gate::{AttemptEnd, CallAttempt, Gate, GateFuture, Last};
use proem_llm::caller::{CallOutcome, Wire};
use proem_llm::cassette::{Recorder, Replayer};
use proem_llm::client::Client;
use proem_llm::scripted::Reply;
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use crate::caller::{Asking, attempts, call_failure, server, text};

/// Writes down who passes, and stops some.
#[derive(Debug, Default)]
struct Watched {
    seen: Mutex<Vec<String>>,
    refuses: Option<u32>,
    keeps_waiting: bool,
}

impl Watched {
    fn refusing(number: u32) -> Self {
        Self { refuses: Some(number), ..Self::default() }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.seen.lock().unwrap().push(what);
    }
}

impl Gate for Watched {
    fn enter<'g>(&'g self, attempt: &'g CallAttempt<'_>) -> GateFuture<'g, Result<(), CallFailure>> {
        Box::pin(async {
            self.note(format!("enter {} of effect {}", attempt.number, attempt.slot.effect));
            if self.keeps_waiting {
                std::future::pending::<()>().await;
            }
            if self.refuses == Some(attempt.number) {
                return Err(CallFailure::new(FailureKind::NotBooked, "the budget has no room for it"));
            }
            Ok(())
        })
    }

    fn leave<'g>(&'g self, attempt: &'g CallAttempt<'_>, left: AttemptEnd<'g>) -> GateFuture<'g, ()> {
        Box::pin(async move {
            // A gate may take its time, and is waited for.
            yield_now().await;
            let result = left.result.map_or_else(|failure| failure.kind.as_str(), |_| "answered");
            let last = if left.last == Last::Yes { ", last" } else { "" };
            self.note(format!("leave {}: {result}, {} bytes{last}", attempt.number, left.sent.bytes));
        })
    }
}

/// A gate's view of a call that nobody cancels.
async fn through(asking: &Asking, gate: &Watched) -> CallOutcome {
    asking.caller().call(&asking.call_through(gate), &CancellationToken::new()).await
}

#[tokio::test]
async fn each_attempt_passes_in_and_out() {
    let server = server([Reply::raw(500, "{}"), Reply::raw(429, "{}"), Reply::raw(503, "[]"), Reply::text("hello")]);
    let gate = Watched::default();
    let called = through(&Asking::of(&server).attempts(4), &gate).await;
    assert_eq!(text(&called), "hello");
    let seen = gate.seen();
    let answered = called.attempts.last().unwrap().bytes;
    assert_eq!(
        seen,
        [
            "enter 0 of effect 0",
            "leave 0: server, 2 bytes",
            "enter 1 of effect 0",
            "leave 1: rate-limited, 2 bytes",
            "enter 2 of effect 0",
            "leave 2: server, 2 bytes",
            "enter 3 of effect 0",
            &format!("leave 3: answered, {answered} bytes, last"),
        ]
    );
}

#[tokio::test]
async fn failures_that_stay_are_the_last() {
    let server = server([Reply::raw(401, "{}")]);
    let gate = Watched::default();
    _ = through(&Asking::of(&server).keyed("k").attempts(3), &gate).await;
    assert_eq!(gate.seen(), ["enter 0 of effect 0", "leave 0: key-refused, 2 bytes, last"]);
    let server = self::server([Reply::raw(500, "{}")]);
    let gate = Watched::default();
    _ = through(&Asking::of(&server).attempts(2), &gate).await;
    assert_eq!(gate.seen().last().unwrap(), "leave 1: server, 2 bytes, last");
}

#[tokio::test]
async fn what_is_refused_is_not_sent() {
    let server = server([Reply::text("hello")]);
    let gate = Watched::refusing(0);
    let called = through(&Asking::of(&server), &gate).await;
    assert_eq!(call_failure(&called), ("not-booked", "the budget has no room for it".to_owned()));
    assert!(server.requests().is_empty());
    assert!(called.attempts.is_empty());
    assert_eq!(gate.seen(), ["enter 0 of effect 0"]);
}

#[tokio::test]
async fn what_is_refused_is_not_tried_again() {
    let server = server([Reply::raw(500, "{}")]);
    let gate = Watched::refusing(1);
    let called = through(&Asking::of(&server).attempts(4), &gate).await;
    assert_eq!(call_failure(&called).0, "not-booked");
    assert_eq!(attempts(&called), ["500 server"]);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(gate.seen(), ["enter 0 of effect 0", "leave 0: server, 2 bytes", "enter 1 of effect 0"]);
}

#[tokio::test]
async fn a_place_that_was_refused_goes_to_the_next() {
    let server = server([Reply::text("hello")]);
    let asking = Asking::of(&server).at_once(1);
    let (caller, stop) = (asking.caller(), CancellationToken::new());
    let refused = caller.call(&asking.call_through(&Watched::refusing(0)), &stop).await;
    assert_eq!(call_failure(&refused).0, "not-booked");
    assert_eq!(text(&caller.call(&asking.call(), &stop).await), "hello");
}

#[tokio::test]
async fn who_is_cancelled_at_the_gate_leaves_it() {
    let server = server([Reply::text("hello")]);
    let gate = Watched { keeps_waiting: true, ..Watched::default() };
    let (asking, stop) = (Asking::of(&server), CancellationToken::new());
    let (caller, call) = (asking.caller(), asking.call_through(&gate));
    let cancel = async {
        while gate.seen().is_empty() {
            yield_now().await;
        }
        stop.cancel();
    };
    let (called, ()) = tokio::join!(caller.call(&call, &stop), cancel);
    assert_eq!(call_failure(&called), ("cancelled", "the call was cancelled".to_owned()));
    assert_eq!(gate.seen(), ["enter 0 of effect 0", "leave 0: cancelled, 0 bytes, last"]);
    assert!(called.attempts.is_empty());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn who_is_cancelled_behind_the_gate_leaves_it() {
    let server = server([Reply::text("hello").delayed(600_000)]);
    let gate = Watched::default();
    let (asking, stop) = (Asking::of(&server), CancellationToken::new());
    let (caller, call) = (asking.caller(), asking.call_through(&gate));
    let cancel = async {
        while server.requests().is_empty() {
            yield_now().await;
        }
        stop.cancel();
    };
    let (called, ()) = tokio::join!(caller.call(&call, &stop), cancel);
    assert_eq!(attempts(&called), ["- cancelled"]);
    assert_eq!(gate.seen(), ["enter 0 of effect 0", "leave 0: cancelled, 0 bytes, last"]);
}

#[tokio::test]
async fn without_a_key_nobody_comes_to_the_gate() {
    let server = server([Reply::text("hello")]);
    let mut asking = Asking::of(&server);
    asking.endpoint.key = proem_llm::endpoint::EndpointKey::Missing { variable: "TEST_KEY".into() };
    let gate = Watched::default();
    assert_eq!(call_failure(&through(&asking, &gate).await).0, "no-key");
    assert!(gate.seen().is_empty());
}

#[tokio::test]
async fn cassettes_pass_the_gate_when_they_are_recorded_and_not_when_they_are_played() {
    let folder = tempfile::tempdir().unwrap();
    let server = server([Reply::text("hello")]);
    let asking = Asking::of(&server);
    let recorder = Arc::new(Recorder::open(folder.path(), Vec::new()).unwrap());
    let gate = Watched::default();
    let stop = CancellationToken::new();
    let caller = asking.caller_over(Wire::Recorded(Client::new(), recorder));
    assert_eq!(text(&caller.call(&asking.call_through(&gate), &stop).await), "hello");
    assert_eq!(gate.seen().len(), 2);
    let caller = asking.caller_over(Wire::Replayed(Arc::new(Replayer::open(folder.path()).unwrap())));
    assert_eq!(text(&caller.call(&asking.call_through(&Watched::refusing(0)), &stop).await), "hello");
    assert_eq!(server.requests().len(), 1);
}
