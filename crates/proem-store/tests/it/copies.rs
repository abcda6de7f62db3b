//! Records that are copied between a file and a server: all of them, once, also after a kill, and into nothing that has
//! other records.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proem_engine::profile::Quality;
use proem_engine::run::Time;
use proem_guard::InstallationKey;
use proem_store::laws::{Backend as _, LawActions, LawSamples, LawSignals};
use proem_store::query::RunsWanted;
use proem_store::{
    CopiedEffects, CopyProgress, CopySummary, DatabaseAddress, Error, Purge, Store, StoreAccess, StoreCopy, StorePlace,
};

use crate::backend::Sqlite;
use crate::postgres::Postgres;

/// How a process that is started again finds its file and its database.
const GIVEN: &str = "PROEM_TEST_COPY";

const RUNS: u64 = 150;

async fn fill(store: &Store) {
    for run in 1..=RUNS {
        LawSamples.whole(store, run, Quality::High).await;
    }
    store.take_signals(LawSignals.intake(1, &[(1, 1), (2, 1)])).await.unwrap();
    LawActions.approved(store, &LawActions.action(1)).await;
}

async fn filled(folder: &Path) -> Sqlite {
    let sqlite = Sqlite::new(folder);
    let store = sqlite.open().await;
    fill(&store).await;
    store.close().await;
    sqlite
}

fn place_of(postgres: &Postgres) -> StorePlace {
    StorePlace::Server(DatabaseAddress::parse(&postgres.url()).unwrap())
}

fn copy(from: StorePlace, to: StorePlace) -> StoreCopy {
    StoreCopy { from, to, key: InstallationKey::new([7; 32]) }
}

fn to_server(sqlite: &Sqlite, postgres: &Postgres) -> StoreCopy {
    copy(StorePlace::File(sqlite.path.clone()), place_of(postgres))
}

/// Copies on a thread that belongs to no runtime. `stop` says at which progress it panics, as a process that dies.
fn run(copy: &StoreCopy, stop: impl Fn(CopyProgress<'_>) -> bool + Send) -> Option<Result<CopySummary, Error>> {
    let work = move || copy.run(&mut |progress| assert!(!stop(progress), "stopped"));
    std::thread::scope(|scope| scope.spawn(work).join()).ok()
}

fn whole(copy: &StoreCopy) -> Result<CopySummary, Error> {
    run(copy, |_| false).unwrap()
}

/// Every line of every table but the notes, as text.
fn lines(path: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('meta', 'sqlite_sequence')";
    let names: Vec<String> =
        connection.prepare(names).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let read = |name: &String| {
        let mut query = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = query.column_count();
        let text =
            |row: &rusqlite::Row<'_>| Ok((0..columns).map(|at| format!("{:?} ", row.get_ref(at).unwrap())).collect());
        let mut lines: Vec<String> = query.query_map([], text).unwrap().map(Result::unwrap).collect();
        lines.sort();
        (name.clone(), lines)
    };
    names.iter().map(read).collect()
}

fn count(summary: &CopySummary, table: &str) -> u64 {
    summary.tables.iter().find(|(name, _)| name == table).map_or(0, |(_, lines)| *lines)
}

#[tokio::test]
async fn records_go_to_a_server_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let sqlite = filled(&folder.path().join("here")).await;
    let summary = whole(&to_server(&sqlite, &postgres)).unwrap();
    assert_eq!((count(&summary, "runs"), summary.continued, summary.effects), (RUNS, 0, CopiedEffects::Parked));
    let there = Sqlite::new(&folder.path().join("there"));
    whole(&copy(place_of(&postgres), StorePlace::File(there.path.clone()))).unwrap();
    assert_eq!(lines(&sqlite.path), lines(&there.path));
    // Numbers go on, and the copy is a store of its own, whose effects wait for a person.
    let opened = postgres.try_open(StoreAccess::Write).await.unwrap();
    LawSamples.whole(&opened.store, RUNS + 1, Quality::High).await;
    let wanted = RunsWanted { limit: None, ..RunsWanted::default() };
    assert_eq!(opened.store.runs(&wanted).await.unwrap().len(), usize::try_from(RUNS).unwrap() + 1);
    assert!(opened.store.examine_witness().await.unwrap().unwrap().contains("copied from another store"));
    opened.store.close().await;
    assert_eq!(postgres.numbers("SELECT max(seq) FROM runs").await, [i64::try_from(RUNS).unwrap() + 1]);
}

/// Copies until it has written a part of a table, says so, and waits to be killed.
#[test]
fn a_process_copies() {
    let Ok(given) = std::env::var(GIVEN) else { return assert!(std::env::var_os(GIVEN).is_none()) };
    let (file, database) = given.split_once('\n').unwrap();
    let postgres = Postgres::at_address(database);
    let to_server = to_server(&Sqlite { path: file.into() }, &postgres);
    to_server
        .run(&mut |progress| {
            if progress.table == "runs" && progress.written < progress.all {
                std::fs::write(PathBuf::from(file).with_extension("copied"), "").unwrap();
                loop {
                    std::thread::park();
                }
            }
        })
        .unwrap();
}

#[tokio::test]
async fn a_copy_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let sqlite = filled(&folder.path().join("here")).await;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "copies::a_process_copies", "--nocapture"]);
    command.env(GIVEN, format!("{}\n{} {}", sqlite.path.display(), postgres.url(), postgres.path.display()));
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    while !sqlite.path.with_extension("copied").exists() {
        assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
        tokio::task::yield_now().await;
    }
    process.kill().unwrap();
    process.wait().unwrap();
    for access in [StoreAccess::Write, StoreAccess::Read] {
        let refused = postgres.try_open(access).await.unwrap_err().to_string();
        assert!(refused.contains("a copy into them is not finished; repeat it"), "{refused}");
    }
    let summary = whole(&to_server(&sqlite, &postgres)).unwrap();
    assert!(summary.continued > 64, "{summary:?}");
    assert_eq!(count(&summary, "runs"), RUNS);
    assert_eq!(postgres.numbers("SELECT count(*) FROM runs").await, [i64::try_from(RUNS).unwrap()]);
}

#[tokio::test]
async fn a_beginning_that_the_source_has_changed_since_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let sqlite = filled(&folder.path().join("here")).await;
    let to_server = to_server(&sqlite, &postgres);
    assert!(run(&to_server, |progress| progress.table == "runs").is_none(), "it was stopped");
    let store = sqlite.open().await;
    let actor = LawSamples.actor();
    store
        .purge(Purge { project: None, before: None, runs: vec![LawSamples.id(3)], actor, at: Time(9_000) })
        .await
        .unwrap();
    store.close().await;
    let summary = whole(&to_server).unwrap();
    assert_eq!((count(&summary, "runs"), summary.continued), (RUNS - 1, 0));
}

#[tokio::test]
async fn nothing_is_copied_over_other_records_or_beside_somebody_who_writes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let sqlite = filled(&folder.path().join("here")).await;
    let refusal = |copy: &StoreCopy| whole(copy).unwrap_err().to_string();
    let from_nothing = copy(StorePlace::File(folder.path().join("nothing.db")), place_of(&postgres));
    assert!(refusal(&from_nothing).starts_with("there are no records in"), "{}", refusal(&from_nothing));
    let from_empty = copy(place_of(&postgres), StorePlace::File(folder.path().join("new/records.db")));
    assert!(refusal(&from_empty).starts_with("there are no records in `postgres://"), "{}", refusal(&from_empty));
    let store = sqlite.open().await;
    let to_server = to_server(&sqlite, &postgres);
    assert!(refusal(&to_server).contains("another process uses the records in"), "{}", refusal(&to_server));
    store.close().await;
    let foreign = StoreCopy { key: InstallationKey::new([8; 32]), ..to_server.clone() };
    assert!(matches!(whole(&foreign), Err(Error::Foreign { .. })));
    assert!(run(&to_server, |progress| progress.table == "runs").is_none(), "it was stopped");
    let other = filled(&folder.path().join("other")).await;
    let others = copy(StorePlace::File(other.path.clone()), place_of(&postgres));
    assert!(refusal(&others).contains("has the beginning of a copy of other records"), "{}", refusal(&others));
    whole(&to_server).unwrap();
    assert!(refusal(&to_server).contains("has a finished copy of these records already"), "{}", refusal(&to_server));
    assert!(refusal(&others).contains("has records of its own"), "{}", refusal(&others));
    let back = copy(place_of(&postgres), StorePlace::File(other.path.clone()));
    assert!(refusal(&back).contains("has records of its own"), "{}", refusal(&back));
}
