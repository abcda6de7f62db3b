//! Stores of an older form: read as they are, brought to the newest form when they are written.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use proem_engine::profile::Quality;
use proem_engine::run::Time;
use proem_guard::InstallationKey;
use proem_store::laws::{Backend as _, LawActions, LawSamples};
use proem_store::query::{CostsWanted, RunDetail, RunsWanted, StatisticsWanted};
use proem_store::record::AttemptUsage;
use proem_store::{Error, Store, StoreAccess, StoreCreator, StoreOptions, Unusable, failpoint};

use crate::backend::{Sqlite, again, given, integrity, of_forms, older_store};

/// Every table that has the columns of form 1 in every form.
const TABLES: [&str; 12] = [
    "meta",
    "contents",
    "epochs",
    "runs",
    "steps",
    "snapshots",
    "assemblies",
    "attempts",
    "usage",
    "corrections",
    "feedback",
    "approvals",
];

/// The columns that results have in form 1.
const OUTCOMES: &str =
    "SELECT run, project, actor, at, agent, kind, quality, completeness, risks FROM outcomes ORDER BY run";
const FAILURES: &str = "SELECT seq, run, project, actor, at, agent, kind, issue, cleared FROM failures";

/// The columns that answers have in form 1.
const APPROVALS: &str = "SELECT seq, run, project, actor, at, step, question, options, answer FROM approvals";

/// The columns that calls have in form 1.
const CALLS: &str = "SELECT run, effect, project, actor, at, model, endpoint, tool, body, pieces, ended, state, \
                     result, finish, repairs, problems, dropped FROM calls";

/// The sums of spending that form 1 has.
const SPEND: &str = "SELECT project, day, model, agent, prompt, sum(attempts), sum(nanos), sum(tokens), sum(unknown), \
                     sum(unpriced) FROM spend GROUP BY day, project, model, agent, prompt";

/// The rows of a query, in words.
fn rows(sqlite: &Sqlite, sql: &str) -> Vec<String> {
    let connection = sqlite.connection();
    let mut query = connection.prepare(sql).unwrap();
    let names: Vec<String> = query.column_names().map(str::to_owned).collect();
    let read = |row: &rusqlite::Row<'_>| {
        let value = |(column, name)| Ok(format!("{name}={:?}", row.get_ref(column)?));
        Ok(names.iter().enumerate().map(value).collect::<rusqlite::Result<Vec<String>>>()?.join(" "))
    };
    query.query_map([], read).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// A query that reads a table with the columns of form 1 alone.
fn columns(table: &str) -> String {
    let named =
        [("calls", CALLS), ("spend", SPEND), ("outcomes", OUTCOMES), ("failures", FAILURES), ("approvals", APPROVALS)];
    let named = named.iter().find(|(name, _)| *name == table).map(|(_, sql)| (*sql).to_owned());
    named.unwrap_or_else(|| format!("SELECT * FROM {table}"))
}

/// Everything that form 1 keeps.
fn all_rows(sqlite: &Sqlite) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for table in ["calls", "spend", "outcomes", "failures"].into_iter().chain(TABLES) {
        all.push((table.to_owned(), rows(sqlite, &columns(table))));
    }
    all.push(("events".to_owned(), rows(sqlite, "SELECT * FROM events")));
    all
}

/// A store of form 1 with runs of every kind: ended, open, unknown and corrected.
async fn filled(folder: &Path) -> Sqlite {
    let newest = Sqlite::new(&folder.join("newest"));
    let store = newest.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    LawSamples.whole(&store, 2, Quality::Low).await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(3, 0, 40, &[])).await;
    LawSamples.settled(&store, attempt, AttemptUsage::Unknown).await;
    store
        .correct(proem_store::Correction {
            attempt,
            nanos: proem_engine::call::NanoDollars(3),
            why: "the invoice says so".to_owned(),
            actor: LawSamples.actor(),
            at: Time(5_000),
        })
        .await
        .unwrap();
    store.feedback(LawSamples.feedback(1)).await.unwrap();
    store.approve(vec![LawSamples.approval(2)]).await.unwrap();
    store.close().await;
    let sqlite = Sqlite::new(folder);
    older_store(&sqlite, Some(&newest));
    sqlite
}

async fn store_form(sqlite: &Sqlite) -> i64 {
    sqlite.number("PRAGMA user_version").await
}

/// The contents of a store, in words.
async fn read(store: &Store) -> String {
    let mut runs: Vec<RunDetail> = Vec::new();
    for row in store.runs(&RunsWanted::default()).await.unwrap() {
        runs.push(store.run(&row.id).await.unwrap());
    }
    let statistics = store.statistics(&StatisticsWanted::default()).await.unwrap();
    let mut costs = store.costs(&CostsWanted::default()).await.unwrap();
    // Only the newest form tells the paid endpoint.
    costs.lines.iter_mut().for_each(|line| line.endpoint = None);
    format!("{runs:#?}\n{statistics:#?}\n{costs:#?}\n{:#?}", store.estimates().await.unwrap())
}

#[tokio::test]
async fn an_older_form_is_brought_to_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    let before = all_rows(&sqlite);
    assert!(before.iter().all(|(table, rows)| !rows.is_empty() || table == "snapshots"), "{before:?}");
    let opened = sqlite.opened(StoreAccess::Write).await;
    assert_eq!(
        opened.notes,
        ["the records were upgraded from format version 1 to 14; older versions of Proem can't open them any more"]
    );
    assert_eq!((store_form(&sqlite).await, opened.store.status().await.unwrap().form), (14, 14));
    for (table, before) in before.iter().filter(|(table, _)| table != "epochs") {
        assert_eq!(&rows(&sqlite, &columns(table)), before, "{table}");
    }
    let other = "SELECT count(*) FROM calls JOIN runs ON runs.id = calls.run WHERE (calls.agent, calls.prompt, \
                 calls.version, calls.closure) IS NOT (runs.agent, runs.prompt, runs.version, runs.closure)";
    assert_eq!(sqlite.number(other).await, 0);
    let spent = opened.store.costs(&CostsWanted::default()).await.unwrap();
    assert!(spent.lines.iter().all(|line| line.endpoint.as_deref() == Some("anthropic")), "{spent:?}");
    // An older booking is corrected in its place.
    let attempt = proem_store::record::AttemptId(3);
    let run = opened.store.run_of(attempt).await.unwrap();
    assert_eq!(run, LawSamples.id(3));
    let spent = sqlite.number("SELECT sum(nanos) FROM spend").await;
    let correction = proem_store::Correction {
        attempt,
        nanos: proem_engine::call::NanoDollars(8),
        why: "the second invoice says so".to_owned(),
        actor: LawSamples.actor(),
        at: Time(6_000),
    };
    opened.store.correct(correction).await.unwrap();
    assert_eq!(sqlite.number("SELECT sum(nanos) FROM spend").await, spent + 5);
    opened.store.close().await;
    assert_eq!(integrity(&sqlite), "ok");
    assert_eq!(sqlite.opened(StoreAccess::Write).await.notes, Vec::<String>::new(), "it is done once");
}

/// The statements of forms 1 to 7. Form 6 has two files.
const SEVEN: [&str; 7] = [
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
    include_str!("../../migrations/0005.sql"),
    concat!(include_str!("../../migrations/0006.sql"), include_str!("../../migrations/0006-actions.sql")),
    include_str!("../../migrations/0007.sql"),
];

/// Form 8 keeps actions in a table of another kind.
#[tokio::test]
async fn actions_are_the_same_in_a_table_that_is_searched_by_short_keys() {
    let folder = tempfile::tempdir().unwrap();
    let newest = Sqlite::new(&folder.path().join("newest"));
    let store = newest.open().await;
    for number in 1..=3 {
        LawActions.approved(&store, &LawActions.action(number)).await;
    }
    LawActions.proposed(&store, &LawActions.action(4)).await;
    store.close().await;
    let sqlite = Sqlite::new(folder.path());
    of_forms(&sqlite, Some(&newest), &SEVEN);

    let all = "SELECT * FROM actions ORDER BY key";
    let parts = "SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'actions' AND type = 'index' ORDER BY name";
    let before = rows(&sqlite, all);
    assert_eq!(before.len(), 4);
    let seen = async |store: &Store| {
        let mut found = Vec::new();
        for number in 1..=4 {
            let action = LawActions.action(number);
            found.push(format!("{:?}", store.action(&action.project, &action.key).await.unwrap()));
        }
        found
    };
    let as_it_was = seen(&sqlite.opened(StoreAccess::Read).await.store).await;
    assert_eq!(store_form(&sqlite).await, 7, "who reads changes nothing");
    let store = sqlite.open().await;
    assert_eq!((store_form(&sqlite).await, seen(&store).await), (14, as_it_was));
    assert_eq!(rows(&sqlite, all), before);
    assert_eq!(rows(&sqlite, parts), rows(&newest, parts));
    // They go on from where they was.
    let action = LawActions.action(1);
    let epoch = LawActions.performer(&store).await;
    let version = store.action(&action.project, &action.key).await.unwrap().row.version.0;
    LawActions.made(&store, LawActions.performs(&action, version, LawActions.take_up(&action), epoch)).await;
    store.close().await;
    assert_eq!(integrity(&sqlite), "ok");
}

#[tokio::test]
async fn what_failed_without_an_answer_counts_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    // The third run's connection was cut. The fourth run is nowhere any more.
    for run in [LawSamples.id(3), LawSamples.id(4)] {
        let (of, risks) = (format!("'{}', project, actor, 3000", run.0), r#"["cut_off","execution_failed"]"#);
        let cut = format!(
            "INSERT INTO outcomes SELECT {of}, 'assess/change', 'assessment', 'low', 'partial', '{risks}' FROM runs LIMIT 1;
             INSERT INTO failures (run, project, actor, at, agent, kind, issue) SELECT {of}, 'assess/change', 'assessment',
             '{{\"quality\":\"low\",\"completeness\":\"partial\",\"risks\":{risks}}}' FROM runs LIMIT 1;
             UPDATE calls SET state = 'failed' WHERE run = '{}'",
            run.0
        );
        for statement in cut.split(';') {
            sqlite.execute(statement).await.unwrap();
        }
    }
    let learned = async |store: &Store| {
        let (project, agent) = (LawSamples.project(), "assess/change");
        let history = store.history(&project, agent, Time(0)).await.unwrap();
        let good: Vec<bool> = history.iter().map(|recorded| recorded.issue.is_none()).collect();
        let failures = store.failures(&project, Some(agent)).await.unwrap();
        (good, failures.into_iter().map(|row| row.run).collect::<Vec<_>>())
    };
    let expected = (vec![true, false], vec![LawSamples.id(2)]);
    assert_eq!(learned(&sqlite.opened(StoreAccess::Read).await.store).await, expected, "as it is read");
    let store = sqlite.open().await;
    assert_eq!(learned(&store).await, expected, "as it is upgraded");
    store.close().await;
}

#[tokio::test]
async fn what_was_spent_by_deleted_runs_stays_in_the_sums() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    sqlite.execute("UPDATE spend SET attempts = attempts + 2, nanos = nanos + 7, tokens = tokens + 5").await.unwrap();
    let sums = "SELECT sum(attempts), sum(nanos), sum(tokens), sum(unknown), sum(unpriced) FROM spend";
    let before = rows(&sqlite, sums);
    sqlite.open().await.close().await;
    assert_eq!(rows(&sqlite, sums), before);
    let deleted = "SELECT count(*) FROM spend WHERE endpoint = '' \
                   AND (attempts, nanos, tokens, unknown, unpriced) = (2, 7, 5, 0, 0)";
    assert_eq!(sqlite.number(deleted).await, 1);
}

#[tokio::test]
async fn the_tables_are_those_of_a_fresh_store() {
    let folder = tempfile::tempdir().unwrap();
    let (sqlite, fresh) = (filled(folder.path()).await, Sqlite::new(&folder.path().join("fresh")));
    sqlite.open().await.close().await;
    fresh.open().await.close().await;
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    assert_eq!(rows(&sqlite, schema), rows(&fresh, schema));
}

#[tokio::test]
async fn an_older_form_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    let before = all_rows(&sqlite);
    let opened = sqlite.opened(StoreAccess::Read).await;
    assert_eq!(opened.origin, StoreCreator::Own);
    let as_it_was = read(&opened.store).await;
    assert!(as_it_was.contains("assess/change@1.0.0"), "{as_it_was}");
    assert_eq!((store_form(&sqlite).await, all_rows(&sqlite) == before), (1, true));
    // Another process upgrades it meanwhile; who reads goes on.
    let writes = sqlite.open().await;
    assert_eq!(store_form(&sqlite).await, 14);
    assert_eq!(read(&opened.store).await, as_it_was);
    assert_eq!(read(&writes).await, as_it_was);
    writes.close().await;
}

fn foreign(sqlite: &Sqlite) -> StoreOptions {
    StoreOptions { key: InstallationKey::new([8; 32]), ..sqlite.opening(StoreAccess::Write) }
}

#[tokio::test]
async fn another_installations_store_is_brought_to_the_newest_form_when_it_is_adopted() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    let before = all_rows(&sqlite);
    let opened = Store::open(foreign(&sqlite)).await.unwrap();
    assert_eq!((opened.origin, opened.notes), (StoreCreator::Foreign, vec![]));
    let as_it_was = read(&opened.store).await;
    assert_eq!((store_form(&sqlite).await, all_rows(&sqlite) == before), (1, true), "it left no trace");
    opened.store.adopt(LawSamples.actor(), Time(1)).await.unwrap();
    assert_eq!((store_form(&sqlite).await, read(&opened.store).await == as_it_was), (14, true));
    LawSamples.whole(&opened.store, 9, Quality::High).await;
    opened.store.close().await;
    assert_eq!(integrity(&sqlite), "ok");
}

#[tokio::test]
async fn many_that_open_it_at_once_do_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    let opened = futures_util::future::join_all((0..8).map(|_| sqlite.opened(StoreAccess::Write))).await;
    assert_eq!(opened.iter().map(|opened| opened.notes.len()).sum::<usize>(), 1);
    for (run, opened) in (10..).zip(opened) {
        LawSamples.whole(&opened.store, run, Quality::High).await;
        opened.store.close().await;
    }
    assert_eq!((store_form(&sqlite).await, integrity(&sqlite).as_str()), (14, "ok"));
    assert_eq!(sqlite.number("SELECT count(*) FROM calls WHERE prompt = 'change'").await, 11);
}

#[tokio::test]
async fn who_writes_the_older_form_is_not_disturbed() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    // A process of an older Proem: its epoch has not ended, and it holds the lock.
    sqlite
        .execute("INSERT INTO epochs (id, project, actor, began) VALUES ('00000000000000ab', '/p', 'person:a@pipe', 1)")
        .await
        .unwrap();
    let locks = sqlite.path.with_file_name("records.db.epochs");
    fs::create_dir_all(&locks).unwrap();
    let lock = File::create(locks.join("00000000000000ab")).unwrap();
    lock.lock().unwrap();
    let before = all_rows(&sqlite);
    let refused = Store::open(sqlite.opening(StoreAccess::Write)).await.unwrap_err();
    assert!(matches!(&refused, Error::Unusable(Unusable::Other { .. })), "{refused:?}");
    assert!(refused.to_string().ends_with("stop the older one, or wait until it ends, and try again"), "{refused}");
    let adopting = Store::open(foreign(&sqlite)).await.unwrap().store;
    let refused = adopting.adopt(LawSamples.actor(), Time(1)).await;
    assert!(matches!(&refused, Err(Error::Unusable(Unusable::Other { .. }))), "{refused:?}");
    assert_eq!((store_form(&sqlite).await, all_rows(&sqlite) == before), (1, true));
    drop(lock);
    sqlite.open().await.close().await;
    assert_eq!(store_form(&sqlite).await, 14);
    assert_eq!(sqlite.number("SELECT count(*) FROM epochs WHERE how = 'dead'").await, 1);
}

/// The process that is stopped, when it is started by the test below. Alone it upgrades an empty store.
#[tokio::test]
async fn a_process_upgrades() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = match given() {
        Some(sqlite) => sqlite,
        None => {
            let sqlite = Sqlite::new(folder.path());
            older_store(&sqlite, None);
            sqlite
        }
    };
    sqlite.open().await.close().await;
    assert_eq!(store_form(&sqlite).await, 14);
}

#[tokio::test]
async fn a_crash_amid_an_upgrade_leaves_the_older_form() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = filled(folder.path()).await;
    let before = all_rows(&sqlite);
    let status = again("upgrade::a_process_upgrades", &sqlite)
        .env("PROEM_FAILPOINT", failpoint::UPGRADE)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), None, "it was stopped by a signal");
    assert_eq!((store_form(&sqlite).await, integrity(&sqlite).as_str()), (1, "ok"));
    assert!(all_rows(&sqlite) == before, "nothing is lost");
    let store = sqlite.open().await;
    assert_eq!(store_form(&sqlite).await, 14);
    LawSamples.whole(&store, 9, Quality::High).await;
    store.close().await;
    assert_eq!(integrity(&sqlite), "ok");
}
