//! The records of calls contain exactly the requests and answers.

use proem_llm::scripted::{DeliveryEnd, Reply, ScriptedUsage};
use proem_store::Store;
use proem_store::body::unfold;
use proem_store::query::{RunDetail, RunState};
use proem_store::record::{CallState, HashedContent, Replayable, RunOutcome};
use proem_text::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::records::scene::{Scene, attempt_lines, failure, id, server, text};

/// The bytes of each recorded request, put together again.
async fn recorded_bodies(store: &Store, detail: &RunDetail) -> Vec<String> {
    let mut bodies = Vec::new();
    for call in &detail.calls {
        let texts = run_contents(store, detail).await;
        let text = |hash: &str| {
            let found = texts.iter().find(|content| content.hash == hash)?;
            String::from_utf8(found.bytes.as_deref()?.to_vec()).ok()
        };
        let body = json::compact(&unfold(&call.pieces, &text).unwrap());
        assert_eq!(HashedContent::new(body.as_str()).hash, call.body);
        bodies.push(body);
    }
    bodies
}

/// Every content that a run's sections and pieces refer to.
async fn run_contents(store: &Store, detail: &RunDetail) -> Vec<HashedContent> {
    let mut hashes: Vec<String> = Vec::new();
    for call in &detail.calls {
        hashes.extend(call.sections.iter().map(|section| section.text.clone()));
        let pieces = call.pieces.to_string();
        hashes.extend(pieces.split('"').filter(|word| word.len() == 64).map(str::to_owned));
    }
    store.contents(&hashes).await.unwrap().into_values().map(HashedContent::new).collect()
}

#[tokio::test]
async fn a_recorded_call_is_what_the_server_saw_byte_for_byte() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let ran = scene.run(&store, "00000000000000aa").await;
    assert_eq!((text(&ran).as_str(), ran.trouble), ("hello", None));
    let detail = store.run(&id("00000000000000aa")).await.unwrap();
    let sent: Vec<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
    let recorded: Vec<Vec<u8>> = recorded_bodies(&store, &detail).await.into_iter().map(String::into_bytes).collect();
    assert_eq!(recorded, sent);
    let row = &detail.row;
    assert_eq!(row.state, RunState::Ended(RunOutcome::Answered));
    assert_eq!((row.input_tokens, row.output_tokens), (Some(100), Some(10)));
    // gpt-4o: 2.5 dollars a million in, 10 out.
    assert_eq!(row.cost.map(|cost| cost.0), Some(100 * 2_500 + 10 * 10_000));
    assert_eq!(detail.replayable, Replayable::Yes);
    let call = &detail.calls[0];
    assert_eq!(
        (call.state, call.finish.as_deref(), call.monolithic_tokens),
        (CallState::Answered, Some("stop"), Some(5_000))
    );
    assert_eq!(call.sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(), ["rules", "task"]);
    assert_eq!(attempt_lines(&detail), ["0.0 reported 350000"]);
    let value = detail.value.unwrap();
    assert_eq!(store.contents(std::slice::from_ref(&value)).await.unwrap()[&value], b"\"hello\"");
    assert_eq!(detail.steps.iter().map(|(step, ..)| *step).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn each_attempt_is_a_booking_of_its_own() {
    let folder = TempDir::new().unwrap();
    let cut = Reply::text("hello").ending(DeliveryEnd::CutAfter(60));
    let server = server([Reply::raw(500, "{}"), cut, Reply::raw(429, "{}"), Reply::text("hello")]);
    let scene = Scene { attempts: 4, ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    assert_eq!(text(&scene.run(&store, "1").await), "hello");
    let detail = store.run(&id("1")).await.unwrap();
    let states: Vec<String> =
        attempt_lines(&detail).iter().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect();
    assert_eq!(states, ["0.0 unknown server", "0.1 unknown cut", "0.2 unsent rate-limited", "0.3 reported"]);
    // Nobody knows what two of them cost, so nobody knows the sum.
    assert_eq!(detail.row.cost, None);
}

#[tokio::test]
async fn an_answer_without_an_account_is_booked_in_full() {
    let folder = TempDir::new().unwrap();
    let zero = ScriptedUsage::default();
    let accounts =
        [None, Some(zero), Some(ScriptedUsage { input: 100, ..zero }), Some(ScriptedUsage { output: 10, ..zero })];
    let server = server(accounts.map(|account| Reply::text("hello").using(account)));
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    for run in ["1", "2", "3", "4"] {
        assert_eq!(text(&scene.run(&store, run).await), "hello");
        let detail = store.run(&id(run)).await.unwrap();
        let most = detail.calls[0].attempts[0].most.unwrap();
        assert_eq!(attempt_lines(&detail), [format!("0.0 unknown {}", most.0)], "{run}");
        assert!(most.0 > 350_000, "{most}");
    }
}

#[tokio::test]
async fn a_cancelled_call_is_settled_in_full() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello").delayed(600_000)]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let stop = CancellationToken::new();
    let cancel = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (ran, ()) = tokio::join!(scene.run_until(&store, "1", &stop), cancel);
    assert_eq!(failure(&ran).0, "it was cancelled");
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.row.state, RunState::Ended(RunOutcome::Failed));
    assert!(attempt_lines(&detail)[0].starts_with("0.0 unknown cancelled"), "{:?}", attempt_lines(&detail));
}

#[tokio::test]
async fn a_run_that_never_came_to_a_call_is_recorded_all_the_same() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let mut scene = Scene::new(folder.path(), &server);
    scene.base_url = "no address".to_owned();
    let store = scene.store().await;
    let ran = scene.run(&store, "1").await;
    assert_eq!(ran.trouble, None);
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.row.state, RunState::Ended(RunOutcome::Failed));
    assert!(detail.calls.is_empty());
    assert!(server.requests().is_empty());
}
