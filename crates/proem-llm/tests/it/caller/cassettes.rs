//! Recording and replaying calls.

use std::sync::Arc;

use proem_llm::caller::{CallOutcome, Wire};
use proem_llm::cassette::{Recorder, Replayer};
use proem_llm::client::Client;
use proem_llm::endpoint::EndpointKey;
use proem_llm::scripted::{DeliveryEnd, Reply};
use proem_llm::secret::Secret;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::caller::{Asking, attempts, call_failure, server, text};

async fn record_call(asking: &Asking, folder: &TempDir, secrets: Vec<Secret>) -> CallOutcome {
    let recorder = Arc::new(Recorder::open(folder.path(), secrets).unwrap());
    let caller = asking.caller_over(Wire::Recorded(Client::new(), recorder));
    caller.call(&asking.call(), &CancellationToken::new()).await
}

async fn replay(asking: &Asking, folder: &TempDir) -> CallOutcome {
    let replayer = Arc::new(Replayer::open(folder.path()).unwrap());
    asking.caller_over(Wire::Replayed(replayer)).call(&asking.call(), &CancellationToken::new()).await
}

/// Records a call and replays it without a key. Both end alike, attempt by attempt.
async fn check(replies: Vec<Reply>, change: fn(Asking) -> Asking, expected: &[&str]) {
    let folder = TempDir::new().unwrap();
    let server = server(replies);
    let mut asking = change(Asking::of(&server));
    let recorded = record_call(&asking, &folder, Vec::new()).await;
    assert_eq!(attempts(&recorded), expected);
    drop(server);
    asking.endpoint.key = EndpointKey::Missing { variable: "TEST_KEY".into() };
    let replayed = replay(&asking, &folder).await;
    let told = |mut called: CallOutcome| {
        // The name of the variable that held the key is configuration and no part of a recording.
        if let Err(failure) = &mut called.result {
            failure.message = failure.message.replace("`TEST_KEY`", "");
        }
        called.result
    };
    assert_eq!(attempts(&replayed), expected);
    let bytes = |called: &CallOutcome| called.attempts.iter().map(|sent| sent.bytes).collect::<Vec<_>>();
    assert_eq!(bytes(&replayed), bytes(&recorded));
    assert!(replayed.attempts.iter().all(|sent| sent.waited.is_zero() && sent.took.is_zero()));
    assert_eq!(told(replayed), told(recorded));
}

#[tokio::test]
async fn replays_end_as_the_recordings_did() {
    let fine = || Reply::text("hello");
    check(vec![fine()], |asking| asking, &["200 fine"]).await;
    check(vec![fine().in_chunks_of(3)], Asking::streamed, &["200 fine"]).await;
    check(vec![fine()], |asking| asking.keyed("sk-1"), &["200 fine"]).await;
    let failing = Reply::raw(500, r#"{"error":{"message":"no"}}"#);
    check(vec![failing.clone(), fine()], |asking| asking, &["500 server", "200 fine"]).await;
    check(vec![failing], |asking| asking.attempts(2), &["500 server", "500 server"]).await;
    let cut = fine().ending(DeliveryEnd::CutAfter(60));
    check(vec![cut, fine()], |asking| asking, &["200 cut", "200 fine"]).await;
    let reset = fine().ending(DeliveryEnd::ResetAfter(0));
    check(vec![reset], |asking| asking.attempts(1), &["- cut"]).await;
    let limited = Reply::raw(429, "{}").retry_after("3600");
    check(vec![limited], |asking| asking, &["429 rate-limited"]).await;
    let endless = fine().ending(DeliveryEnd::Endless(usize::MAX));
    let small = |asking: Asking| asking.limited(|limits| limits.answer_bytes = 50_000);
    check(vec![endless], small, &["200 too-large"]).await;
    check(vec![Reply::raw(401, "{}")], |asking| asking.keyed("sk-1"), &["401 key-refused"]).await;
}

#[tokio::test]
async fn a_replay_of_another_request_fails() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let mut asking = Asking::of(&server);
    record_call(&asking, &folder, Vec::new()).await;
    asking.request.sampling.temperature_percent = Some(50);
    let called = replay(&asking, &folder).await;
    assert_eq!(call_failure(&called).0, "replay");
    assert!(called.attempts.is_empty());
    asking.request.sampling.temperature_percent = None;
    asking.slot.effect = 7;
    assert_eq!(call_failure(&replay(&asking, &folder).await).0, "replay");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_used() {
    let folder = TempDir::new().unwrap();
    let secret = "hunter2-hunter2-hunter2";
    let server = server([Reply::text(format!("the key is {secret}"))]);
    let called = record_call(&Asking::of(&server), &folder, vec![Secret::new("TEST_KEY", secret)]).await;
    let (kind, message) = call_failure(&called);
    assert_eq!((kind, attempts(&called)), ("replay", vec!["200 fine".to_owned()]));
    assert!(message.contains("TEST_KEY") && !message.contains(secret), "{message}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_cancelled_attempt_is_recorded() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello").delayed(600_000)]);
    let asking = Asking::of(&server);
    let recorder = Arc::new(Recorder::open(folder.path(), Vec::new()).unwrap());
    let caller = asking.caller_over(Wire::Recorded(Client::new(), recorder));
    let (stop, call) = (CancellationToken::new(), asking.call());
    let cancel = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (called, ()) = tokio::join!(caller.call(&call, &stop), cancel);
    assert_eq!(attempts(&called), ["- cancelled"]);
    assert_eq!(replay(&asking, &folder).await.result, called.result);
}

#[tokio::test]
async fn a_replay_is_no_less_than_a_call() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let asking = Asking::of(&server);
    record_call(&asking, &folder, Vec::new()).await;
    let replayed = replay(&asking, &folder).await;
    assert_eq!(text(&replayed), "hello");
}
