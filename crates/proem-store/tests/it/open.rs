//! The kinds of file that can be where a store should be.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proem_engine::profile::Quality;
use proem_engine::run::Time;
use proem_guard::InstallationKey;
use proem_store::laws::{Backend as _, LawSamples};
use proem_store::{Error, Purge, Store, StoreAccess, StoreCreator, Unusable};
use rusqlite::{Connection, OpenFlags};

use crate::backend::{Sqlite, again_as, given, integrity};

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// The results of opening, for reading and for writing.
async fn both(sqlite: &Sqlite) -> [Result<StoreCreator, Error>; 2] {
    let mut said = Vec::new();
    for access in [StoreAccess::Read, StoreAccess::Write] {
        said.push(Store::open(sqlite.opening(access)).await.map(|opened| opened.origin));
    }
    said.try_into().unwrap()
}

#[tokio::test]
async fn a_new_store_is_this_users_only() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let opened = sqlite.opened(StoreAccess::Write).await;
    assert_eq!((opened.origin, opened.notes), (StoreCreator::Own, vec![]));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(sqlite.path.parent().unwrap()), 0o700);
    for end in ["", "-wal", "-shm"] {
        assert_eq!(mode(&beside(&sqlite.path, end)), 0o600, "{end}");
    }
    opened.store.close().await;
    assert!(!beside(&sqlite.path, "-wal").exists(), "a store that is closed is one file");
    assert_eq!(fs::read_dir(beside(&sqlite.path, ".epochs")).unwrap().count(), 1, "and the lock of the next opening");
}

#[tokio::test]
async fn reading_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let opened = sqlite.opened(StoreAccess::Read).await;
    let refused = opened.store.intend(LawSamples.intent(1, 0, 1, &[])).await;
    assert!(matches!(refused, Err(Error::Unusable(Unusable::Unwritable { .. }))), "{refused:?}");
    opened.store.close().await;
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn many_open_a_fresh_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let stores = futures_util::future::join_all((0..12).map(|_| sqlite.open())).await;
    for (run, store) in (0..).zip(&stores) {
        LawSamples.whole(store, run, Quality::High).await;
    }
    for store in stores {
        store.close().await;
    }
    assert_eq!(sqlite.numbers("SELECT count(*) FROM epochs WHERE how = 'closed'").await, [12]);
    assert_eq!(sqlite.numbers("SELECT count(*) FROM runs WHERE state = 'ended'").await, [12]);
}

#[tokio::test]
async fn a_store_from_the_future_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    sqlite.open().await.close().await;
    for form in [15, 1000] {
        sqlite.execute(&format!("PRAGMA user_version = {form}")).await.unwrap();
        for said in both(&sqlite).await {
            let error = said.unwrap_err();
            assert!(
                matches!(&error, Error::Unusable(Unusable::Newer { found, known: 14, .. }) if *found == form),
                "{error:?}"
            );
            assert!(error.to_string().ends_with("update Proem, or move the file elsewhere"), "{error}");
        }
    }
}

#[tokio::test]
async fn another_installations_store_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    store.close().await;
    let mut opening = sqlite.opening(StoreAccess::Write);
    opening.key = InstallationKey::new([8; 32]);
    let opened = Store::open(opening.clone()).await.unwrap();
    assert_eq!(opened.origin, StoreCreator::Foreign);
    let refused = opened.store.intend(LawSamples.intent(2, 0, 1, &[])).await;
    assert!(matches!(refused, Err(Error::Foreign { .. })), "{refused:?}");
    assert!(matches!(opened.store.bury(Time(1)).await, Err(Error::Foreign { .. })));
    assert_eq!(sqlite.numbers("SELECT count(*) FROM epochs").await, [1], "it left no trace");
    opened.store.adopt(LawSamples.actor(), Time(1)).await.unwrap();
    LawSamples.whole(&opened.store, 2, Quality::High).await;
    opened.store.close().await;
    assert_eq!(sqlite.opened(StoreAccess::Read).await.origin, StoreCreator::Foreign, "it is the other's from then on");
    assert_eq!(Store::open(opening).await.unwrap().origin, StoreCreator::Own);
}

#[tokio::test]
async fn what_is_no_store_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    fs::create_dir(sqlite.path.parent().unwrap()).unwrap();
    fs::write(&sqlite.path, "these are minutes of a meeting".repeat(100)).unwrap();
    for said in both(&sqlite).await {
        assert!(matches!(&said, Err(Error::Unusable(Unusable::Corrupt { .. }))), "{said:?}");
    }
    fs::remove_file(&sqlite.path).unwrap();
    fs::write(&sqlite.path, "").unwrap();
    sqlite.execute("CREATE TABLE photographs (name TEXT)").await.unwrap();
    for said in both(&sqlite).await {
        let error = said.unwrap_err();
        assert!(matches!(&error, Error::Unusable(Unusable::Corrupt { .. })), "{error:?}");
        assert!(error.to_string().contains("a database of another program"), "{error}");
    }
}

#[tokio::test]
async fn a_truncated_file_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    store.close().await;
    let whole = fs::metadata(&sqlite.path).unwrap().len();
    for length in [whole / 2, 4096, 100, 16] {
        OpenOptions::new().write(true).open(&sqlite.path).unwrap().set_len(length).unwrap();
        for said in both(&sqlite).await {
            let error = said.unwrap_err();
            assert!(matches!(&error, Error::Unusable(Unusable::Corrupt { .. })), "{length}: {error:?}");
            assert!(error.to_string().contains("leave `effects.witness` where it is"), "{error}");
        }
    }
}

/// The file and its log as a killed process leaves them: run 1 is in the log's first frames.
async fn killed(folder: &Path) -> (Sqlite, usize) {
    let before = Sqlite::new(&folder.join("before"));
    let store = before.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    let first = fs::read(beside(&before.path, "-wal")).unwrap().len();
    LawSamples.whole(&store, 2, Quality::High).await;
    let after = Sqlite::new(&folder.join("after"));
    fs::create_dir_all(after.path.parent().unwrap()).unwrap();
    for end in ["", "-wal"] {
        fs::copy(beside(&before.path, end), beside(&after.path, end)).unwrap();
    }
    store.close().await;
    (after, first)
}

#[tokio::test]
async fn a_damaged_log_keeps_what_was_committed_before() {
    let cut = |log: &mut Vec<u8>, first: usize| log.truncate(first + 2_000);
    let noise = |log: &mut Vec<u8>, first: usize| log.iter_mut().skip(first).for_each(|byte| *byte = 0x5a);
    let longer = |log: &mut Vec<u8>, _first: usize| log.extend([0x5a; 10_000]);
    type Damage<'d> = (&'d dyn Fn(&mut Vec<u8>, usize), &'d [i64]);
    let cases: [Damage<'_>; 3] = [(&cut, &[1]), (&noise, &[1]), (&longer, &[2])];
    for (place, (damage, expected)) in cases.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let (sqlite, first) = killed(folder.path()).await;
        let log = beside(&sqlite.path, "-wal");
        let mut bytes = fs::read(&log).unwrap();
        damage(&mut bytes, first);
        fs::write(&log, bytes).unwrap();
        let store = sqlite.open().await;
        let ended = sqlite.numbers("SELECT count(*) FROM runs WHERE state = 'ended'").await;
        assert_eq!(ended, expected, "damage {place}");
        LawSamples.whole(&store, 3, Quality::High).await;
        store.close().await;
        assert_eq!(integrity(&sqlite), "ok", "damage {place}");
    }
}

#[tokio::test]
async fn a_process_of_which_nothing_is_left_is_said() {
    for (left, notes) in [("whole", 0), ("cut", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let (sqlite, _) = killed(folder.path()).await;
        sqlite.open().await.close().await;
        // The lock of a killed process, which the system let go.
        let epoch = "00000000000000aa";
        fs::write(beside(&sqlite.path, ".epochs").join(epoch), "").unwrap();
        if left == "whole" {
            let line = "INSERT INTO epochs (id, project, actor, began) VALUES ('{}', 'p', 'person:a@terminal', 1)";
            sqlite.execute(&line.replace("{}", epoch)).await.unwrap();
        }
        let opened = sqlite.opened(StoreAccess::Write).await;
        assert_eq!(opened.notes.len(), notes, "{left}: {:?}", opened.notes);
        assert!(opened.notes.iter().all(|note| note.contains("its costs are not counted")), "{:?}", opened.notes);
        opened.store.close().await;
        // It is said once.
        let again = sqlite.opened(StoreAccess::Write).await;
        assert_eq!(again.notes, Vec::<String>::new());
        again.store.close().await;
    }
}

#[tokio::test]
async fn an_empty_file_with_a_log_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (sqlite, _) = killed(folder.path()).await;
    fs::write(&sqlite.path, "").unwrap();
    for said in both(&sqlite).await {
        assert!(matches!(&said, Err(Error::Unusable(Unusable::Corrupt { .. }))), "{said:?}");
    }
    assert!(fs::metadata(beside(&sqlite.path, "-wal")).unwrap().len() > 0);
}

#[tokio::test]
async fn a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (sqlite, other) = (Sqlite::new(folder.path()), Sqlite::new(&folder.path().join("other")));
    other.open().await.close().await;
    fs::create_dir(sqlite.path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&other.path, &sqlite.path).unwrap();
    for said in both(&sqlite).await {
        assert!(matches!(&said, Err(Error::Unusable(Unusable::Other { .. }))), "{said:?}");
    }
}

#[tokio::test]
async fn a_clock_behind_the_records_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.open().await;
    let mut intent = LawSamples.intent(1, 0, 1, &[]);
    intent.attempt.at = Time(4_102_444_800_000);
    let attempt = LawSamples.booked(&store, intent).await;
    LawSamples.settled(&store, attempt, LawSamples.reported(1)).await;
    store.close().await;
    let opened = sqlite.opened(StoreAccess::Write).await;
    assert!(
        matches!(opened.notes.as_slice(), [note] if note.contains("the newest record is from 2100-01-01T00:00:00Z")),
        "{opened:?}"
    );
    opened.store.reset_clock(LawSamples.actor(), Time(5)).await.unwrap();
    opened.store.close().await;
    assert_eq!(sqlite.opened(StoreAccess::Write).await.notes, Vec::<String>::new());
}

#[tokio::test]
async fn attempts_of_the_dead_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.open().await;
    LawSamples.booked(&store, LawSamples.intent(1, 0, 1, &[])).await;
    store.abandon().await;
    let opened = sqlite.opened(StoreAccess::Write).await;
    assert!(matches!(opened.notes.as_slice(), [note] if note.starts_with("1 attempt ")), "{:?}", opened.notes);
}

/// Nobody's user id, who can't write into a folder without permission as root can.
const NOBODY: u32 = 65_534;

/// A process without permission to write, when it is started by the test below. Alone it reads an empty store.
#[tokio::test]
async fn a_process_reads() {
    let (_folder, sqlite) = match given() {
        Some(sqlite) => (None, sqlite),
        None => {
            let folder = tempfile::tempdir().unwrap();
            let sqlite = Sqlite::new(folder.path());
            (Some(folder), sqlite)
        }
    };
    let opened = sqlite.opened(StoreAccess::Read).await;
    assert_eq!(opened.origin, StoreCreator::Own);
    if given().is_some() {
        let said = Store::open(sqlite.opening(StoreAccess::Write)).await.unwrap_err();
        assert!(matches!(&said, Error::Unusable(Unusable::Unwritable { .. })), "{said:?}");
        assert_eq!(opened.store.runs(&proem_store::query::RunsWanted::default()).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_read_only_folder_is_read() {
    // Another user must get there, whom the folder for temporary files of one's own may be closed to.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    store.close().await;
    let state = sqlite.path.parent().unwrap();
    // The folder of the program may be closed to him, too.
    let program = folder.path().join("test");
    // Copied by another process: a file that is open for writing here would be so in whatever another test starts just
    // then, and no such file can be run.
    let copied = Command::new("cp").args([&std::env::current_exe().unwrap(), &program]).status().unwrap();
    assert!(copied.success());
    for path in [folder.path(), state] {
        fs::set_permissions(path, Permissions::from_mode(0o555)).unwrap();
    }
    fs::set_permissions(&sqlite.path, Permissions::from_mode(0o444)).unwrap();
    let mut command = again_as(&program, "open::a_process_reads", &sqlite);
    command.current_dir(folder.path());
    if rustix::fs::access(state, rustix::fs::Access::WRITE_OK).is_ok() {
        // This is root, whom permissions don't stop.
        command.uid(NOBODY);
    }
    let output = command.output().unwrap();
    for path in [state, folder.path()] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "the process ran another test or none: {said}");
}

#[tokio::test]
async fn a_purge_says_what_a_reader_keeps_it_from() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    let store = sqlite.opened(StoreAccess::Write).await.store;
    let purge = || Purge { project: None, before: None, runs: vec![], actor: LawSamples.actor(), at: Time(9_000) };
    for (run, read) in [(1, true), (2, false)] {
        LawSamples.whole(&store, run, Quality::High).await;
        let text = format!("task of {run}");
        let in_files = || ["", "-wal"].iter().any(|end| holds(&beside(&sqlite.path, end), text.as_bytes()));
        assert!(in_files());
        let reader = Connection::open_with_flags(&sqlite.path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        if read {
            reader.execute_batch("BEGIN; SELECT count(*) FROM runs").unwrap();
        }
        let purged = store.purge(purge()).await.unwrap();
        assert_eq!((purged.held, in_files()), (read, read), "run {run}: {purged:?}");
        reader.close().unwrap();
    }
    store.close().await;
}

#[tokio::test]
async fn a_purge_makes_the_file_shorter() {
    for there_is_an_empty_file in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::new(folder.path());
        if there_is_an_empty_file {
            fs::create_dir(sqlite.path.parent().unwrap()).unwrap();
            fs::write(&sqlite.path, "").unwrap();
        }
        let mut lengths = Vec::new();
        for purges in [false, true] {
            let store = sqlite.opened(StoreAccess::Write).await.store;
            if purges {
                let purge =
                    Purge { project: None, before: None, runs: vec![], actor: LawSamples.actor(), at: Time(9_000) };
                assert_eq!(store.purge(purge).await.unwrap().runs, 40);
            } else {
                for run in 0..40 {
                    LawSamples.whole(&store, run, Quality::High).await;
                }
            }
            store.close().await;
            lengths.push(fs::metadata(&sqlite.path).unwrap().len());
        }
        assert!(lengths.is_sorted_by(|with, without| with > without), "{there_is_an_empty_file}: {lengths:?}");
    }
}

/// Whether a file has these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    fs::read(path).is_ok_and(|file| file.windows(bytes.len()).any(|window| window == bytes))
}
