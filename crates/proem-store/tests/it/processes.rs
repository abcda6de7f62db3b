//! Eight processes book on one store, and are killed while they do.
//!
//! `PROEM_KILLS` says how many are killed. Each is followed by another.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::process::{Child, Stdio};
use std::time::Duration;

use proem_engine::run::Time;
use proem_store::laws::{Backend as _, LawSamples};
use proem_store::record::AttemptUsage;
use proem_store::{BookingOutcome, Store};

use crate::backend::{Draw, Sqlite, again, given, integrity, rounds};

/// The most that all of them may book, in tokens.
const MOST: u64 = 3_000;

/// The most that one attempt books.
const ONE: u64 = 40;

/// How often it is looked at most until the cap is reached.
const LOOKS: u32 = 10_000;

/// The sum of all bookings, settled and open, in one query.
const BOOKED: &str = "SELECT (SELECT coalesce(sum(tokens), 0) FROM spend) + \
                      (SELECT coalesce(sum(most_tokens), 0) FROM attempts WHERE state = 'open')";

/// Books an attempt, and settles it or doesn't.
async fn record_one_run(store: &Store, draw: &mut Draw) -> bool {
    let (run, bound) = (draw.below(u64::MAX), 1 + draw.below(ONE));
    let BookingOutcome::Yes(attempt) =
        store.intend(LawSamples.intent(run, 0, bound, &[LawSamples.cap(MOST)])).await.unwrap()
    else {
        return false;
    };
    match draw.below(8) {
        0 => {}
        1 => LawSamples.settled(store, attempt, AttemptUsage::Unknown).await,
        2 => LawSamples.settled(store, attempt, AttemptUsage::Nothing).await,
        _ => LawSamples.settled(store, attempt, LawSamples.reported(draw.below(bound / 4 + 1))).await,
    }
    true
}

/// One of the processes, when it is started by the test below. Alone it books a few on its own store.
#[tokio::test]
async fn a_process_books() {
    let mut draw = Draw::new();
    if let Some(sqlite) = given() {
        let store = sqlite.open().await;
        loop {
            record_one_run(&store, &mut draw).await;
            if draw.below(200) == 0 {
                store.bury(Time(1_500)).await.unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.open().await;
    for _ in 0..20 {
        assert!(record_one_run(&store, &mut draw).await);
    }
    store.close().await;
    assert_eq!(sqlite.numbers("SELECT count(*) FROM usage").await, [20]);
}

fn start(sqlite: &Sqlite) -> Child {
    again("processes::a_process_books", sqlite).stdout(Stdio::null()).spawn().unwrap()
}

#[tokio::test]
async fn eight_processes_with_kills_stay_within_the_cap() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    // The store is there before the first look at it.
    let own = sqlite.open().await;
    let mut draw = Draw::new();
    let mut processes: Vec<Child> = (0..8).map(|_| start(&sqlite)).collect();
    for _ in 0..rounds("PROEM_KILLS", 40) {
        std::thread::sleep(Duration::from_millis(draw.below(60)));
        let which = usize::try_from(draw.below(8)).unwrap();
        let process = processes.get_mut(which).unwrap();
        assert!(process.try_wait().unwrap().is_none(), "a process ended on its own");
        process.kill().unwrap();
        process.wait().unwrap();
        *process = start(&sqlite);
        let booked = u64::try_from(sqlite.number(BOOKED).await).unwrap();
        assert!(booked <= MOST, "{booked} of {MOST} are booked");
    }
    assert!(reach(&sqlite).await, "the cap refuses what it has room for");
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    own.bury(Time(1_500)).await.unwrap();
    own.close().await;
    check(&sqlite).await;
}

/// Whether the processes come to the cap: no attempt of the largest kind fits any more. Some attempts stay
/// open as long as their process lives, so what is booked is up against the cap in the end.
async fn reach(sqlite: &Sqlite) -> bool {
    for _ in 0..LOOKS {
        if u64::try_from(sqlite.number(BOOKED).await).unwrap() + ONE > MOST {
            return true;
        }
    }
    false
}

/// The laws that hold when all processes are gone.
async fn check(sqlite: &Sqlite) {
    assert_eq!(integrity(sqlite), "ok");
    let number = async |sql: &str| sqlite.number(sql).await;
    let spent = number("SELECT sum(tokens) FROM spend").await;
    assert!(spent > 0 && u64::try_from(spent).unwrap() <= MOST, "{spent} of {MOST}");
    assert_eq!(number("SELECT count(*) FROM attempts WHERE state = 'open'").await, 0);
    assert_eq!(number("SELECT count(*) FROM epochs WHERE ended IS NULL").await, 0);
    for sums in ["tokens", "nanos"] {
        let difference = format!("SELECT (SELECT sum({sums}) FROM spend) - (SELECT sum({sums}) FROM usage)");
        assert_eq!(number(&difference).await, 0, "the sums are those of the lines");
    }
    assert_eq!(number("SELECT (SELECT sum(attempts) FROM spend) - (SELECT count(*) FROM attempts)").await, 0);
    let settled = "SELECT (SELECT count(*) FROM events WHERE what = 'settled') - (SELECT count(*) FROM usage)";
    assert_eq!(number(settled).await, 0, "one event for each settlement");
    let below = "SELECT count(*) FROM usage JOIN attempts ON attempts.id = usage.attempt \
                 WHERE attempts.state = 'unknown' AND usage.tokens <> attempts.most_tokens";
    assert_eq!(number(below).await, 0, "unknown is booked in full");
    assert!(number("SELECT count(*) FROM epochs WHERE how = 'dead'").await > 8);
}
