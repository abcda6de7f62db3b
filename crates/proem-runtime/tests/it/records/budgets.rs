//! A call that can't be booked is not made.

use proem_engine::ledger::{Cap, CapPeriod, CapScope, CapUnit, Pricing};
use proem_engine::run::ExchangeEnd;
use proem_llm::scripted::Reply;
use proem_store::query::RunState;
use proem_store::record::RunOutcome;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::records::scene::{Scene, attempt_lines, failure, id, nanos_a_day, server, text};

#[tokio::test]
async fn a_budget_refuses_before_a_byte_leaves() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene { caps: vec![nanos_a_day(1_000)], ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    let ran = scene.run(&store, "1").await;
    let (because, message) = failure(&ran);
    assert_eq!(because, "the call failed (not-booked)");
    assert!(!message.is_empty());
    assert!(server.requests().is_empty());
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.row.state, RunState::Ended(RunOutcome::Refused));
    assert_eq!(detail.calls.len(), 1, "what would have been sent is kept");
    assert!(attempt_lines(&detail).is_empty(), "{:?}", attempt_lines(&detail));
}

#[tokio::test]
async fn what_is_left_of_a_day_is_what_was_not_used() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let mut scene = Scene::new(folder.path(), &server);
    let (bound, cost) = (scene.bound().await, 350_000);
    // Room for one call in full, beside one that was settled for less.
    scene.caps = vec![nanos_a_day(bound + cost)];
    let store = scene.store().await;
    assert_eq!(text(&scene.run(&store, "1").await), "hello");
    assert_eq!(text(&scene.run(&store, "2").await), "hello");
    assert_eq!(failure(&scene.run(&store, "3").await).0, "the call failed (not-booked)");
    // One request was made to learn the bound.
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_booking_waits_for_anothers_settlement() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello"), Reply::text("hello").delayed(100)]);
    let mut scene = Scene::new(folder.path(), &server);
    let (bound, cost) = (scene.bound().await, 350_000);
    scene.caps = vec![nanos_a_day(bound + cost)];
    let (one, other) = (scene.store().await, scene.store().await);
    let (first, second) = tokio::join!(scene.run(&one, "1"), scene.run(&other, "2"));
    assert_eq!((text(&first), text(&second)), ("hello".to_owned(), "hello".to_owned()));
    assert_eq!((server.requests().len(), server.most_at_once()), (3, 1));
}

#[tokio::test]
async fn who_waits_for_a_booking_can_be_cancelled() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello"), Reply::text("hello").delayed(600_000)]);
    let mut scene = Scene::new(folder.path(), &server);
    scene.caps = vec![nanos_a_day(scene.bound().await)];
    let store = scene.store().await;
    let (first, second) = (CancellationToken::new(), CancellationToken::new());
    let cancel = async {
        while server.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        // The second run has begun and waits, or comes to wait.
        second.cancel();
        first.cancel();
    };
    let (one, two, ()) =
        tokio::join!(scene.run_until(&store, "1", &first), scene.run_until(&store, "2", &second), cancel);
    for ran in [one, two] {
        assert_eq!(failure(&ran).0, "it was cancelled");
        assert_eq!(ran.trouble, None);
    }
    assert_eq!(server.requests().len(), 2);
    assert_eq!(store.status().await.unwrap().open, 0);
}

#[tokio::test]
async fn tokens_are_counted_where_prices_are_unknown() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let cap = Cap { scope: CapScope::Project, period: CapPeriod::Run, unit: CapUnit::Tokens, most: 50 };
    let scene = Scene { caps: vec![cap], ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    assert_eq!(failure(&scene.run(&store, "1").await).0, "the call failed (not-booked)");
    let cap = Cap { most: 50_000, ..cap };
    let scene = Scene { caps: vec![cap], ..scene };
    assert_eq!(text(&scene.run(&store, "2").await), "hello");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_runs_on_this_machine_costs_nothing() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene { caps: vec![nanos_a_day(0)], priced: Pricing::Free, ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    let ran = scene.run(&store, "1").await;
    assert!(matches!(ran.outcome.ended, ExchangeEnd::Answered { .. }), "{:?}", ran.outcome.ended);
    assert_eq!(attempt_lines(&store.run(&id("1")).await.unwrap()), ["0.0 reported 0"]);
}
