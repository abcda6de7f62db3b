//! A server's database: many connections at one cap, processes that are killed, and what is refused.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::process::{Command, Stdio};

use futures_util::future::join_all;
use proem_engine::run::Time;
use proem_store::laws::{Backend as _, LawSamples};
use proem_store::{BookingOutcome, Error, StoreAccess, StoreCreator, Unusable};

use crate::postgres::Postgres;

/// The sum of all bookings, settled and open, in one query.
const BOOKED: &str = "SELECT (SELECT coalesce(sum(tokens), 0) FROM spend) + \
                      (SELECT coalesce(sum(most_tokens), 0) FROM attempts WHERE state = 'open')";

/// How a process that is started again finds its database.
const GIVEN: &str = "PROEM_TEST_DATABASE";

fn server_database() -> Option<Postgres> {
    std::env::var(GIVEN).ok().map(|text| Postgres::at_address(&text))
}

async fn number(postgres: &Postgres, sql: &str) -> i64 {
    postgres.numbers(sql).await.first().copied().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_writers_on_eight_connections_exceed_no_cap() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let stores = join_all((0..8).map(|_| postgres.open())).await;
    let book = |run: u64| {
        let store = stores[usize::try_from(run).unwrap() % stores.len()].clone();
        async move { store.intend(LawSamples.intent(run, 0, 40, &[LawSamples.cap(3_000)])).await.unwrap() }
    };
    let answers = join_all((0..200).map(book)).await;
    let booked = answers.iter().filter(|answer| matches!(answer, BookingOutcome::Yes(_))).count();
    assert_eq!((booked, number(&postgres, BOOKED).await), (75, 3_000));
    for store in stores {
        store.close().await;
    }
    assert_eq!(number(&postgres, "SELECT count(*) FROM epochs WHERE how IS DISTINCT FROM 'closed'").await, 0);
}

/// Books an attempt on the database that the test below gives it, says so, and waits to be killed.
#[tokio::test]
async fn a_process_books_on_a_server() {
    let Some(postgres) = server_database() else { return assert!(std::env::var_os(GIVEN).is_none()) };
    let store = postgres.open().await;
    LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    std::fs::write(postgres.path.with_extension("booked"), "").unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_process_that_is_killed_is_found_dead_and_settled_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "server::a_process_books_on_a_server", "--nocapture"]);
    command.env(GIVEN, format!("{} {}", postgres.url(), postgres.path.display()));
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    while !postgres.path.with_extension("booked").exists() {
        assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
        tokio::task::yield_now().await;
    }
    assert_eq!(store.bury(Time(2_000)).await.unwrap(), 0, "it lives");
    process.kill().unwrap();
    process.wait().unwrap();
    // The server sees the end of the session by itself.
    while store.bury(Time(2_000)).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(number(&postgres, "SELECT count(*) FROM attempts WHERE state = 'unknown'").await, 1);
    assert_eq!(number(&postgres, "SELECT count(*) FROM epochs WHERE how = 'dead'").await, 1);
    store.close().await;
}

/// A process whose session has ended counts as dead, so it writes nothing more.
#[tokio::test]
async fn a_session_that_the_server_ends_writes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let (lost, other) = (postgres.open().await, postgres.open().await);
    LawSamples.booked(&lost, LawSamples.intent(1, 0, 40, &[])).await;
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' \
                 AND (classid::bigint << 32) | objid::bigint = (SELECT ('x' || epoch)::bit(64)::bigint FROM runs)";
    assert_eq!(postgres.numbers(ended).await, [1]);
    while other.bury(Time(2_000)).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    let late = lost.intend(LawSamples.intent(2, 0, 40, &[])).await;
    assert!(matches!(&late, Err(Error::Unusable(Unusable::Server { .. }))), "{late:?}");
    assert!(late.unwrap_err().to_string().contains("what this process had open counts as ended"));
    assert_eq!(number(&postgres, "SELECT count(*) FROM runs").await, 1);
    other.close().await;
}

#[tokio::test]
async fn a_database_that_nobody_wrote_is_empty_and_another_installations_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let opened = postgres.try_open(StoreAccess::Read).await.unwrap();
    assert!(opened.store.runs(&proem_store::query::RunsWanted::default()).await.unwrap().is_empty());
    postgres.open().await.close().await;
    postgres.run("UPDATE meta SET value = 'theirs' WHERE key = 'seal'").unwrap();
    let opened = postgres.try_open(StoreAccess::Write).await.unwrap();
    assert_eq!(opened.origin, StoreCreator::Foreign);
    let refused = opened.store.intend(LawSamples.intent(1, 0, 40, &[])).await;
    assert!(matches!(refused, Err(Error::Foreign { .. })), "{refused:?}");
}

#[tokio::test]
async fn what_can_not_be_used_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    postgres.open().await.close().await;
    let refusal = async |access| match postgres.try_open(access).await {
        Err(error) => error.to_string().replace(&postgres.url(), "URL"),
        Ok(_) => "it opens".to_owned(),
    };
    postgres.run("UPDATE store_form SET form = 99").unwrap();
    for access in [StoreAccess::Write, StoreAccess::Read] {
        let said = refusal(access).await;
        assert!(said.contains("they have format version 99, and this version of Proem supports up to"), "{said}");
    }
    postgres.run("UPDATE store_form SET form = 3").unwrap();
    let said = refusal(StoreAccess::Read).await;
    assert!(said.contains("the older format version 3"), "{said}");
    let missing =
        Postgres::at_address(&format!("{} {}", postgres.url().replace("records", "nowhere"), folder.path().display()));
    let said = missing.try_open(StoreAccess::Write).await.unwrap_err().to_string();
    assert!(said.contains("does not exist; create it, with the encoding UTF8"), "{said}");
}
