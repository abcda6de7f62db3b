//! The cost of the queue: all open actions of a project, ordered by the next due date, beside the cost of SQLite alone.
//! Each action has a text of 2 kB and a decision record of 1 kB, as `proem effects propose` writes them.
//!
//! `cargo bench -p proem-store --bench queue [ACTIONS]`; 10,000 of them without an argument.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reads the clock and prints")]

use std::path::Path;
use std::time::{Duration, Instant};

use proem_engine::effect::{ActionEvent, PerformerEpoch};
use proem_engine::run::Time;
use proem_guard::InstallationKey;
use proem_store::laws::{LawActions, LawSamples};
use proem_store::query::{ActionsWanted, LineDepth};
use proem_store::{Store, StoreAccess, StoreOptions};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

/// How many actions there are, unless the first argument says.
const ACTIONS: u64 = 10_000;

/// How many are proposed at the same time.
const TOGETHER: u64 = 500;

/// How often each question is asked.
const ROUNDS: usize = 30;

fn show(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default().as_micros();
    println!("{name:<52} p50 {:>6} µs, p90 {:>6} µs", at(50), at(90));
}

/// The account of a decision, with the keys and about the length of those that the policy gives.
fn decision() -> Json {
    let condition = |name: &str| json!({ "condition": name, "met": true, "against": [] });
    let names = ["allowlist", "denylist", "schema", "autonomy", "known-recipients", "external-urls", "prompt-leakage"];
    json!({
        "ruling": "hold",
        "reasons": ["it is held for 30 minutes, in which a person can stop it", "it is the first of its type"],
        "conditions": names.map(condition),
        "confidence": { "sources": 500, "boundary": 700, "schema": 1000, "precedent": 333, "mean": 633, "stated": 633 },
        "external": false,
        "failures": [],
        "content": "5".repeat(64),
        "policy": "9".repeat(64),
    })
}

/// Every third waits, every third is held.
async fn propose_action(store: &Store, signal: u64) {
    let mut action = LawActions.action(signal);
    action.form.push_str(&" and what it says in a line of forty bytes".repeat(50));
    action.decision = decision();
    LawActions.proposed(store, &action).await;
    let due = Time(LawActions::NOW.0 + i64::try_from(signal % 977).unwrap());
    let event = match signal % 3 {
        0 => ActionEvent::RequireApproval,
        1 => ActionEvent::Hold { due },
        _ => return,
    };
    LawActions.made(store, LawActions.happens(&action, 0, event)).await;
}

/// The peer: the same lines with their texts, sorted, by one statement.
fn peer_time(path: &Path) -> Duration {
    let connection = Connection::open(path).unwrap();
    let start = Instant::now();
    let mut query = connection
        .prepare(
            "SELECT a.*, c.bytes AS text FROM actions a LEFT JOIN contents c ON c.hash = a.form \
             WHERE a.ended IS NULL ORDER BY coalesce(a.due, a.deadline), a.key",
        )
        .unwrap();
    let lines = query.query_map([], |row| row.get::<_, String>("key")).unwrap().count();
    assert!(lines > 0);
    start.elapsed()
}

#[tokio::main]
async fn main() {
    let actions = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(ACTIONS);
    let folder = tempfile::tempdir().unwrap();
    let opening = StoreOptions {
        path: folder.path().join("records.db"),
        key: InstallationKey::new([7; 32]),
        access: StoreAccess::Write,
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        zone: jiff::tz::TimeZone::UTC,
    };
    let path = opening.path.clone();
    let store = Store::open(opening).await.unwrap().store;
    for first in (0..actions).step_by(usize::try_from(TOGETHER).unwrap()) {
        let some = first..actions.min(first + TOGETHER);
        futures_util::future::join_all(some.map(|signal| propose_action(&store, signal))).await;
    }
    println!("{actions} open actions");
    show("the peer: the same lines with rusqlite", (0..ROUNDS).map(|_| peer_time(&path)).collect());
    let project = Some(LawSamples.project());
    let all = ActionsWanted { project, ..ActionsWanted::default() };
    let some = ActionsWanted { most: Some(50), ..all.clone() };
    for (name, wanted, depth) in [
        ("a line of each", &all, LineDepth::Standing),
        ("a line of each with its target", &all, LineDepth::Target),
        ("a line of each with its decision", &all, LineDepth::Decision),
        ("the first 50 lines with their targets", &some, LineDepth::Target),
    ] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let lines = store.queue_lines(wanted, depth).await.unwrap();
            times.push(start.elapsed());
            assert!(!lines.is_empty());
        }
        show(name, times);
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let rows = store.actions(&all).await.unwrap();
        times.push(start.elapsed());
        assert!(!rows.is_empty());
    }
    show("all of each", times);
    let key = LawActions.action(0).key.to_string();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let keys = store.keys_beginning(&LawSamples.project(), key.get(..8).unwrap(), 2).await.unwrap();
        times.push(start.elapsed());
        assert!(!keys.is_empty());
    }
    show("the keys that begin like an id of 8 digits", times);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        store.due_actions(&LawSamples.project(), PerformerEpoch(1), Time(LawActions::NOW.0 + 500)).await.unwrap();
        times.push(start.elapsed());
    }
    show("what a sweep looks at", times);
    store.close().await;
}
