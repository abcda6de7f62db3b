//! A process is stopped at every named place, and killed at random ones: the store opens, the laws
//! hold, and at most what was under way is unknown.
//!
//! `PROEM_KILLS` says how many random kills there are.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use proem_engine::profile::Quality;
use proem_store::failpoint::{NAMES, pass};
use proem_store::laws::{Backend as _, LawSamples};
use proem_store::{Store, StoreAccess};

use crate::backend::{Draw, Sqlite, again, given, integrity, rounds};

/// A call from its intent to its run's end, with a state that is large enough to matter.
async fn call(store: &Store, run: u64) {
    let mut intent = LawSamples.intent(run, 0, 40, &[]);
    if let Some(snapshot) = &mut intent.snapshot {
        snapshot.sealed = vec![7; 20_000];
    }
    let attempt = LawSamples.booked(store, intent).await;
    pass("before-call");
    pass("after-call");
    LawSamples.settled(store, attempt, LawSamples.reported(7)).await;
    store.finish(LawSamples.finish(run, Quality::High)).await.unwrap();
}

/// The process that is stopped, when it is started by a test below. Alone it makes one call.
#[tokio::test]
async fn a_process_calls() {
    let Some(sqlite) = given() else {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::new(folder.path());
        let store = sqlite.open().await;
        call(&store, 1).await;
        store.close().await;
        assert_eq!(sqlite.numbers("SELECT count(*) FROM runs WHERE state = 'ended'").await, [1]);
        return;
    };
    let store = sqlite.open().await;
    println!("ready");
    let mut draw = Draw::new();
    for _ in 0..rounds("PROEM_TEST_CALLS", 1) {
        call(&store, draw.below(u64::MAX)).await;
    }
    store.close().await;
}

/// The laws that hold after every crash, once the store was opened again.
async fn check(sqlite: &Sqlite) {
    assert_eq!(integrity(sqlite), "ok");
    for none in [
        "SELECT count(*) FROM attempts WHERE state = 'open'",
        "SELECT count(*) FROM calls WHERE state = 'pending'",
        "SELECT count(*) FROM runs WHERE state = 'ended' AND id IN (SELECT run FROM snapshots)",
        "SELECT count(*) FROM runs WHERE state = 'running' AND id NOT IN (SELECT run FROM snapshots)",
        "SELECT count(*) FROM runs WHERE inputs NOT IN (SELECT hash FROM contents)",
        "SELECT count(*) FROM steps WHERE event NOT IN (SELECT hash FROM contents)",
        "SELECT count(*) FROM assemblies WHERE report NOT IN (SELECT hash FROM contents)",
        "SELECT count(*) FROM calls WHERE state = 'answered' AND result NOT IN (SELECT hash FROM contents)",
        "SELECT (SELECT count(*) FROM attempts) - (SELECT count(*) FROM usage)",
        "SELECT (SELECT sum(tokens) FROM spend) - (SELECT sum(tokens) FROM usage)",
        "SELECT (SELECT count(*) FROM runs) - (SELECT count(*) FROM calls)",
        "SELECT (SELECT count(*) FROM runs) - (SELECT count(*) FROM events WHERE what = 'started')",
    ] {
        let found = sqlite.numbers(none).await;
        assert!(matches!(found.as_slice(), [0 | -1]), "{none}: {found:?}");
    }
}

/// Opens the store as the next process does, and looks at it.
async fn recover(sqlite: &Sqlite) -> i64 {
    sqlite.opened(StoreAccess::Write).await.store.close().await;
    check(sqlite).await;
    sqlite.number("SELECT count(*) FROM attempts WHERE state = 'unknown'").await
}

#[tokio::test]
async fn a_process_is_stopped_at_every_place() {
    // How many runs, settled attempts, unknown attempts and ended runs each place leaves.
    let expected = [
        ("before-intent", [0, 0, 0, 0]),
        ("after-intent", [1, 0, 1, 0]),
        ("before-call", [1, 0, 1, 0]),
        ("after-call", [1, 0, 1, 0]),
        ("before-settlement", [1, 0, 1, 0]),
        ("after-settlement", [1, 1, 0, 0]),
        ("before-finish", [1, 1, 0, 0]),
        ("after-finish", [1, 1, 0, 1]),
    ];
    assert_eq!(expected.map(|(name, _)| name), NAMES);
    for (name, expected) in expected {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::new(folder.path());
        let status = again("crash::a_process_calls", &sqlite)
            .env("PROEM_FAILPOINT", name)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), None, "{name}: it was stopped by a signal");
        recover(&sqlite).await;
        let mut found = Vec::new();
        for sql in [
            "SELECT count(*) FROM runs",
            "SELECT count(*) FROM attempts WHERE state = 'reported'",
            "SELECT count(*) FROM attempts WHERE state = 'unknown'",
            "SELECT count(*) FROM runs WHERE state = 'ended'",
        ] {
            found.extend(sqlite.numbers(sql).await);
        }
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_write_can_be_made_to_fail() {
    for (name, expected) in [("settle", "failpoint `settle`"), ("finish", "failpoint `finish`")] {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::new(folder.path());
        let output =
            again("crash::a_process_calls", &sqlite).env("PROEM_FAILPOINT", format!("fail:{name}")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && said.contains(expected), "{said}");
    }
}

#[tokio::test]
async fn random_kills_lose_at_most_what_was_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let mut draw = Draw::new();
    let mut unknown = 0;
    for kill in 0..rounds("PROEM_KILLS", 100) {
        let mut command = again("crash::a_process_calls", &sqlite);
        let mut process = command.env("PROEM_TEST_CALLS", "100000").stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains("ready")), "it opened the store");
        std::thread::sleep(Duration::from_micros(draw.below(30_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        let after = recover(&sqlite).await;
        assert!(after <= unknown + 1, "kill {kill}: {} attempts were under way", after - unknown);
        unknown = after;
    }
    assert!(sqlite.number("SELECT count(*) FROM runs WHERE state = 'ended'").await > 0, "some got to their end");
}
