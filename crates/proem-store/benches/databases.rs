//! How many signals and bookings a store writes a second in a file and on a server, beside a bare line.
//!
//! `cargo bench -p proem-store --bench databases NUMBER FOLDER URL [ROWS]`: the folder for the file, and an empty
//! database. With ROWS, the same is measured once more on the server behind so many signals.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reads the clock and prints")]

use std::path::Path;
use std::time::Instant;

use futures_util::future::join_all;
use proem_engine::effect::key::SignalRevision;
use proem_guard::InstallationKey;
use proem_store::laws::{LawSamples, LawSignals};
use proem_store::record::HashedContent;
use proem_store::{DatabaseAddress, Store, StoreAccess, StoreOptions};
use sqlx::{Connection as _, PgConnection, Row as _};

/// How many are written at the same time, where that is asked.
const TOGETHER: u64 = 64;

fn show(name: &str, count: u64, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let count = u32::try_from(count).unwrap();
    println!("{name:<58} {:>8.0} a second", f64::from(count) / seconds);
}

async fn take_signal(store: &Store, number: u64) {
    let mut intake = LawSignals.intake(1, &[(1, 1)]);
    for signal in &mut intake.signals {
        signal.id = SignalRevision { id: format!("jira:{number}"), revision: "r1".to_owned() };
        signal.text = HashedContent::new(format!("words of signal {number}"));
    }
    store.take_signals(intake).await.unwrap();
}

async fn book(store: &Store, number: u64) {
    LawSamples.booked(store, LawSamples.intent(number, 0, 40, &[LawSamples.cap(u64::MAX)])).await;
}

async fn measure(name: &str, store: &Store, number: u64) {
    let start = Instant::now();
    for signal in 0..number {
        take_signal(store, signal).await;
    }
    show(&format!("{name}: signals, one at a time"), number, start);
    let start = Instant::now();
    for first in (number..2 * number).step_by(usize::try_from(TOGETHER).unwrap()) {
        join_all((first..(first + TOGETHER).min(2 * number)).map(|signal| take_signal(store, signal))).await;
    }
    show(&format!("{name}: signals, {TOGETHER} at a time"), number, start);
    let start = Instant::now();
    for first in (0..number).step_by(usize::try_from(TOGETHER).unwrap()) {
        join_all((first..(first + TOGETHER).min(number)).map(|run| book(store, run))).await;
    }
    show(&format!("{name}: bookings with their run, {TOGETHER} at a time"), number, start);
}

/// Fills the records up to so many signals, a thousand in each transaction.
async fn fill(store: &Store, from: u64, rows: u64) {
    for first in (from..rows).step_by(1_000) {
        let mut intake = LawSignals.intake(1, &[(1, 1)]);
        let sample = intake.signals.remove(0);
        intake.signals.extend((first..(first + 1_000).min(rows)).map(|number| {
            let mut signal = sample.clone();
            signal.id = SignalRevision { id: format!("jira:{number}"), revision: "r1".to_owned() };
            signal.text = HashedContent::new(format!("words of signal {number}"));
            signal
        }));
        store.take_signals(intake).await.unwrap();
    }
}

/// Signals one at a time, behind so many.
async fn measure_behind(store: &Store, rows: u64, number: u64) {
    let start = Instant::now();
    for signal in rows..rows + number {
        take_signal(store, signal).await;
    }
    show(&format!("PostgreSQL: signals, one at a time, behind {rows}"), number, start);
}

/// The peer: one line by one statement that gives back its number.
async fn measure_bare_lines(url: &str, number: u64) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL)")
        .execute(&mut connection)
        .await
        .unwrap();
    let start = Instant::now();
    for line in 0..number {
        let insert =
            sqlx::query("INSERT INTO bare (text) VALUES ($1) RETURNING id").bind(format!("words of line {line}"));
        let row = insert.fetch_one(&mut connection).await.unwrap();
        assert!(row.get::<i64, _>(0) > 0);
    }
    show("PostgreSQL, the peer: INSERT … RETURNING, one at a time", number, start);
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let ([number, folder, url] | [number, folder, url, _]) = arguments.as_slice() else {
        return println!("nothing is measured without NUMBER FOLDER URL");
    };
    let rows: Option<u64> = arguments.get(3).map(|rows| rows.parse().unwrap());
    let number: u64 = number.parse().unwrap();
    let folder = tempfile::tempdir_in(Path::new(folder)).unwrap();
    let options = || StoreOptions {
        path: folder.path().join("records.db"),
        key: InstallationKey::new([7; 32]),
        access: StoreAccess::Write,
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        zone: jiff::tz::TimeZone::UTC,
    };
    let file = Store::open(options()).await.unwrap().store;
    measure("SQLite", &file, number).await;
    file.close().await;
    measure_bare_lines(url, number).await;
    let server = Store::open_on_server(options(), DatabaseAddress::parse(url).unwrap()).await.unwrap().store;
    measure("PostgreSQL", &server, number).await;
    if let Some(rows) = rows {
        measure_behind(&server, 2 * number, number).await;
        fill(&server, 3 * number, rows).await;
        measure_behind(&server, rows, number).await;
    }
    server.close().await;
}
