//! Processes that end in the middle of a run, or whose store fails there.
//!
//! The test binary runs itself: [`child`] is the other process.

use std::path::Path;
use std::process::{Command, Output};

use proem_engine::call::NanoDollars;
use proem_engine::run::Outcome;
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_store::query::RunState;
use proem_store::record::RunOutcome;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::records::scene::{Scene, attempt_lines, failure, id, nanos_a_day, server, text};

/// The variable with the other process's orders.
const TOLD: &str = "PROEM_TEST_CHILD";

/// One run in another process, which ends at a failpoint.
fn elsewhere(folder: &Path, server: &ScriptedServer, run: &str, cap: Option<u64>, failpoint: &str) -> Output {
    let told = json!({ "folder": folder, "url": server.base_url(), "run": run, "cap": cap });
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "records::crashes::child", "--nocapture", "--test-threads=1"])
        .env(TOLD, told.to_string())
        .env("PROEM_FAILPOINT", failpoint)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap()
}

/// The other process's account of its run.
fn output_json(output: &Output) -> Json {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = text.lines().find_map(|line| Some(line.split_once("CHILD ")?.1)).unwrap();
    serde_json::from_str(line).unwrap()
}

/// The other process: it runs once and says how that went. On its own it is told nothing, and its run is answered.
#[test]
fn child() {
    let told = std::env::var(TOLD).ok();
    let alone = told.is_none().then(|| (TempDir::new().unwrap(), server([Reply::text("hello")])));
    let told: Json = match (&told, &alone) {
        (Some(told), _) => serde_json::from_str(told).unwrap(),
        (None, Some((folder, server))) => json!({ "folder": folder.path(), "url": server.base_url(), "run": "1" }),
        (None, None) => Json::Null,
    };
    let word = |name: &str| told[name].as_str().unwrap().to_owned();
    let mut scene = Scene::at(Path::new(&word("folder")), &word("url"));
    scene.caps = told["cap"].as_u64().map(nanos_a_day).into_iter().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ran = runtime.block_on(async {
        let store = scene.store().await;
        scene.run(&store, &word("run")).await
    });
    let ended = serde_json::to_value(&ran.outcome.ended).unwrap();
    let failure =
        ran.outcome.attempts.first().and_then(|attempt| attempt.failure.as_ref()).map(|failure| &failure.message);
    let said = json!({ "ended": ended["kind"], "failure": failure, "trouble": ran.trouble });
    println!("CHILD {said}");
    assert!(alone.is_none() || said["ended"] == "answered", "{said}");
}

/// A run that was ended at `failpoint`, seen and resumed from here.
async fn check(failpoint: &str, state: Option<RunState>, before: &[&str], after: &[&str], sent: usize) {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let output = elsewhere(folder.path(), &server, "1", None, failpoint);
    assert!(!output.status.success(), "{failpoint}: {output:?}");
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let found = store.run(&id("1")).await.ok();
    assert_eq!(found.as_ref().map(|detail| detail.row.state), state, "{failpoint}");
    let states = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    };
    assert_eq!(found.map(|detail| states(attempt_lines(&detail))).unwrap_or_default(), before, "{failpoint}");
    let ran = match state {
        None => scene.run(&store, "1").await,
        Some(RunState::Ended(_)) => {
            assert!(scene.resume(&store, "1", None).await.is_err());
            return assert_eq!(server.requests().len(), sent, "{failpoint}");
        }
        Some(_) => scene.resume(&store, "1", None).await.unwrap(),
    };
    assert_eq!((text(&ran).as_str(), ran.trouble), ("hello", None), "{failpoint}");
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.row.state, RunState::Ended(RunOutcome::Answered), "{failpoint}");
    assert_eq!(states(attempt_lines(&detail)), after, "{failpoint}");
    assert_eq!(server.requests().len(), sent, "{failpoint}");
    assert_eq!(store.status().await.unwrap().open, 0, "{failpoint}");
}

#[tokio::test]
async fn a_run_ended_anywhere_repeats_at_most_what_was_under_way() {
    let cut = Some(RunState::Interrupted);
    let ended = Some(RunState::Ended(RunOutcome::Answered));
    check("before-intent", None, &[], &["0.0 reported"], 1).await;
    for failpoint in ["after-intent", "before-call"] {
        // Nobody here knows that nothing was sent.
        check(failpoint, cut, &["0.0 unknown"], &["0.0 unknown", "0.1 reported"], 1).await;
    }
    for failpoint in ["after-call", "before-settlement", "before-finish"] {
        check(failpoint, cut, &["0.0 unknown"], &["0.0 unknown", "0.1 reported"], 2).await;
    }
    // The settlement of a run's last call is written with its end.
    for failpoint in ["after-settlement", "after-finish"] {
        check(failpoint, ended, &["0.0 reported"], &[], 1).await;
    }
}

#[tokio::test]
async fn what_a_dead_process_reserved_counts_in_full() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let most = Scene::new(folder.path(), &server).bound().await;
    _ = elsewhere(folder.path(), &server, "1", Some(most + 1), "before-call");
    let scene = Scene { caps: vec![nanos_a_day(most + 1)], ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    assert_eq!(failure(&scene.run(&store, "2").await).0, "the call failed (not-booked)");
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.calls[0].attempts[0].booked, Some(NanoDollars(most)));
}

#[tokio::test]
async fn a_fork_leaves_its_parent_as_it_is() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    _ = elsewhere(folder.path(), &server, "1", None, "before-call");
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let ran = scene.resume(&store, "1", Some("2")).await.unwrap();
    assert_eq!(text(&ran), "hello");
    let (parent, fork) = (store.run(&id("1")).await.unwrap(), store.run(&id("2")).await.unwrap());
    assert_eq!((attempt_lines(&parent).len(), parent.row.state), (1, RunState::Interrupted));
    assert_eq!(fork.row.parent, Some(id("1")));
    assert_eq!(fork.row.state, RunState::Ended(RunOutcome::Answered));
    assert!(attempt_lines(&fork)[0].starts_with("0.0 reported"), "{:?}", attempt_lines(&fork));
    // The events of its parent belong to it.
    let terms = crate::records::scene::terms();
    let mut machine = proem_engine::run::Exchange::new(terms.of(), scene.request());
    let replayed = proem_runtime::records::replay(
        &store,
        &fork,
        proem_runtime::records::ReplayMeans::of_models(&[&scene.model()]),
        &mut machine,
        Outcome::clone,
    )
    .await
    .unwrap();
    assert_eq!((replayed.difference, replayed.calls), (None, 1));
}

#[test]
fn a_store_that_fails_before_a_call_stops_it() {
    for (cap, says) in [
        (Some(1_000_000_000), "a budget is configured (`budget.user.day`)"),
        (None, "records are on and could not be written"),
    ] {
        let folder = TempDir::new().unwrap();
        let server = server([Reply::text("hello")]);
        let said = output_json(&elsewhere(folder.path(), &server, "1", cap, "fail:intent"));
        assert_eq!((&said["ended"], server.requests().len()), (&json!("failed"), 0));
        let failure = said["failure"].as_str().unwrap();
        assert!(failure.starts_with("the records in `") && failure.contains(says), "{failure}");
    }
}

#[tokio::test]
async fn a_store_that_fails_after_a_call_takes_no_answer() {
    for failpoint in ["fail:settle", "fail:finish"] {
        let folder = TempDir::new().unwrap();
        let server = server([Reply::text("hello")]);
        let said = output_json(&elsewhere(folder.path(), &server, "1", Some(1_000_000_000), failpoint));
        assert_eq!(&said["ended"], &json!("answered"), "{failpoint}");
        let trouble = said["trouble"].as_str().unwrap();
        assert!(trouble.starts_with("what came back could not be recorded: the records in `"), "{trouble}");
        // An unsettled amount is booked in full when its process is gone.
        let store = Scene::new(folder.path(), &server).store().await;
        let detail = store.run(&id("1")).await.unwrap();
        let expected = if failpoint == "fail:settle" { "0.0 unknown" } else { "0.0 reported" };
        assert!(attempt_lines(&detail)[0].starts_with(expected), "{failpoint}: {:?}", attempt_lines(&detail));
    }
}

#[tokio::test]
async fn processes_share_one_budget() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello").delayed(20)]);
    // Room for one in full beside two that are settled for what they cost.
    let most = Scene::new(folder.path(), &server).bound().await + 2 * 350_000;
    let before = server.requests().len();
    let outputs: Vec<Json> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let (folder, server) = (folder.path(), &server);
            scope.spawn(move || output_json(&elsewhere(folder, server, &number.to_string(), Some(most), "")))
        };
        let all: Vec<_> = (0..5).map(one).collect();
        all.into_iter().map(|process| process.join().unwrap()).collect()
    });
    let answered = outputs.iter().filter(|said| said["ended"] == "answered").count();
    assert_eq!((answered, server.requests().len() - before), (3, 3), "{outputs:?}");
}

#[tokio::test]
async fn a_process_whose_run_was_taken_over_sends_nothing_more() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    _ = elsewhere(folder.path(), &server, "1", None, "before-call");
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    // The run is this process's from here on. Another one that still holds it asks for a booking.
    assert_eq!(text(&scene.resume(&store, "1", None).await.unwrap()), "hello");
    let before = server.requests().len();
    let other = output_json(&elsewhere(folder.path(), &server, "1", None, ""));
    assert_eq!(other["ended"], "failed", "{other}");
    assert_eq!(server.requests().len(), before);
}
