//! The cost of an experiment: choosing a subject's version, and reading the outcomes of 100,000 runs.
//!
//! `cargo bench -p proem-store --bench experiment [RUNS]`. The runs are copies of one, with ids in no order.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reads the clock and prints")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use proem_engine::profile::Quality;
use proem_engine::prompt::book::experiment::{AssignmentUnit, ExperimentOutcome};
use proem_guard::InstallationKey;
use proem_store::laws::LawSamples;
use proem_store::query::ExperimentWanted;
use proem_store::record::RunFinish;
use proem_store::{Store, StoreAccess, StoreOptions};
use rusqlite::Connection;

/// How many runs, unless the first argument says.
const RUNS: u32 = 100_000;
/// How often each is measured.
const TIMES: u32 = 11;
/// How many subjects are assigned each time.
const SUBJECTS: u32 = 10_000;

fn show(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    println!("{name:<46} p50 {:>10.2?}, p90 {:>10.2?}", at(50), at(90));
}

async fn open(folder: &Path) -> Store {
    let opening = StoreOptions {
        path: folder.join("records.db"),
        key: InstallationKey::new([7; 32]),
        access: StoreAccess::Write,
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        zone: jiff::tz::TimeZone::UTC,
    };
    Store::open(opening).await.unwrap().store
}

/// Copies a table's rows, with other values in some columns; `i` counts the copies.
fn copy_rows(tables: &Connection, table: &str, copies: u32, other: &[(&str, &str)]) {
    let mut statement = tables.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
    let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let value = |name: &String| {
        let found = other.iter().find(|(known, _)| known == name);
        found.map_or_else(|| format!("o.{name}"), |(_, value)| (*value).to_owned())
    };
    let (columns, values) = (names.join(", "), names.iter().map(value).collect::<Vec<_>>().join(", "));
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {copies}) \
         INSERT INTO {table} ({columns}) SELECT {values} FROM n, (SELECT * FROM {table} LIMIT 1) o"
    );
    tables.execute(&sql, []).unwrap();
}

/// Copies one recorded run, each copy with a subject of its own or that of its neighbour.
fn fill(tables: &mut Connection, runs: u32) {
    let tables = tables.transaction().unwrap();
    // Multiplied by an odd number, so that neighbours are far from each other, as ids are.
    let run = "printf('%08x%024x', (i * 2654435761) % 4294967296, i)";
    copy_rows(&tables, "runs", runs, &[("seq", "o.seq + i"), ("id", run)]);
    copy_rows(&tables, "calls", runs, &[("run", run)]);
    copy_rows(&tables, "attempts", runs, &[("id", "o.id + i"), ("run", run)]);
    copy_rows(&tables, "usage", runs, &[("attempt", "o.attempt + i")]);
    let assigned = "INSERT INTO assignments (run, experiment, started, project, actor, prompt, version, subject) \
         SELECT id, 'brief', 1, project, actor, agent || '/' || prompt, iif(seq % 10 = 0, '1.1.0', '1.0.0'), \
         printf('%016x', seq / 2) FROM runs";
    tables.execute(assigned, []).unwrap();
    let judged = "INSERT INTO feedback (run, project, actor, at, verdict, note) \
         SELECT id, project, actor, 1, iif(seq % 3 = 0, 'bad', 'good'), '' FROM runs WHERE seq % 2 = 0";
    tables.execute(judged, []).unwrap();
    tables.commit().unwrap();
}

fn assignments() -> Vec<Duration> {
    let shares = BTreeMap::from([("1.0.0".to_owned(), 0.9), ("1.1.0".to_owned(), 0.1)]);
    let once = |_| {
        let start = Instant::now();
        for subject in 0..SUBJECTS {
            let subject = subject.to_string();
            let unit = AssignmentUnit { project: "/home/ada/shop", subject: &subject };
            std::hint::black_box((unit.version("brief", &shares), unit.subject_hash()));
        }
        start.elapsed() / SUBJECTS
    };
    (0..TIMES).map(once).collect()
}

#[tokio::main]
async fn main() {
    let runs = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(RUNS);
    show("a subject's version and hash", assignments());
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    let settles = Some(Box::new(LawSamples.settlement(attempt, LawSamples.reported(5))));
    store.finish(RunFinish { settles, ..LawSamples.finish(1, Quality::High) }).await.unwrap();
    store.close().await;
    fill(&mut Connection::open(folder.path().join("records.db")).unwrap(), runs);
    let store = open(folder.path()).await;
    for outcomes in [
        vec![ExperimentOutcome::Cost, ExperimentOutcome::FirstAttempt],
        vec![ExperimentOutcome::Cost, ExperimentOutcome::FirstAttempt, ExperimentOutcome::Feedback],
        vec![ExperimentOutcome::Cost, ExperimentOutcome::FirstAttempt, ExperimentOutcome::Latency],
    ] {
        let name = outcomes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let wanted = ExperimentWanted {
                project: LawSamples.project(),
                experiment: "brief".to_owned(),
                started: 1,
                outcomes: outcomes.clone(),
            };
            let start = Instant::now();
            let rows = store.experiment_rows(wanted).await.unwrap();
            times.push(start.elapsed());
            assert!(rows.len() > runs as usize, "a run is missing");
        }
        show(&format!("{runs} runs: {name}"), times);
    }
    store.close().await;
}
