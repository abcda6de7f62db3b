//! Processes propose, approve and perform the same actions, and are stopped while they do: what an action does is
//! done once, and what may have been done is unknown.
//!
//! `PROEM_KILLS` says how many are killed. Each is followed by another.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use proem_engine::effect::{ActionEvent, ActionState, PerformerEpoch};
use proem_store::laws::{Backend as _, LawActions, LawSamples, broken_courses};
use proem_store::record::NewAction;
use proem_store::{ProposalAnswer, Store, failpoint};

use crate::backend::{Draw, Sqlite, again, given, integrity, rounds};

/// The receiver: one line for each time that something arrived.
fn receiver(sqlite: &Sqlite) -> PathBuf {
    sqlite.path.with_file_name("received")
}

/// How often each action arrived.
fn receipts(sqlite: &Sqlite) -> BTreeMap<String, usize> {
    let log = std::fs::read_to_string(receiver(sqlite)).unwrap_or_default();
    let mut times = BTreeMap::new();
    for line in log.lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    times
}

/// A process at work.
struct Worker {
    sqlite: Sqlite,
    store: Store,
    /// The performer's lock and its epoch, once this process has it.
    performer: Option<(File, PerformerEpoch)>,
}

impl Worker {
    async fn new(sqlite: Sqlite) -> Self {
        let store = sqlite.open().await;
        Self { sqlite, store, performer: None }
    }

    /// Proposes an action and lets a person approve it, as far as nobody has. Then performs what is due, if it is the
    /// performer. Whether it was new.
    async fn work(&mut self, signal: u64) -> bool {
        let action = LawActions.action(signal);
        let answer = self.store.propose(action.clone()).await.unwrap();
        for (state, event) in [
            (ActionState::Proposed, ActionEvent::RequireApproval),
            (ActionState::Waiting, ActionEvent::Approve(LawActions.approval(&action))),
        ] {
            let row = self.store.action(&action.project, &action.key).await.unwrap().row;
            if row.state == state {
                _ = LawActions.tried(&self.store, LawActions.happens(&action, row.version.0, event)).await;
            }
        }
        self.perform(signal).await;
        answer == ProposalAnswer::New
    }

    async fn perform(&mut self, upto: u64) {
        let Some(epoch) = self.epoch().await else { return };
        let project = LawSamples.project();
        let actions: Vec<NewAction> = (0..=upto).map(|signal| LawActions.action(signal)).collect();
        for row in self.store.due_actions(&project, epoch, LawActions::NOW).await.unwrap() {
            let Some(action) = actions.iter().find(|action| action.key == row.key) else { continue };
            let version = row.version.0;
            match row.state {
                ActionState::Approved => {
                    let take_up = LawActions.performs(action, version, LawActions.take_up(action), epoch);
                    let taken = LawActions.made(&self.store, take_up).await;
                    let mut log = OpenOptions::new().create(true).append(true).open(receiver(&self.sqlite)).unwrap();
                    log.write_all(format!("{}\n", action.key).as_bytes()).unwrap();
                    let sent = LawActions.performs(action, taken, ActionEvent::Sent, epoch);
                    LawActions.made(&self.store, sent).await;
                }
                ActionState::Executing => {
                    let died = LawActions.performs(action, version, ActionEvent::Die, epoch);
                    LawActions.made(&self.store, died).await;
                }
                _ => {}
            }
        }
    }

    /// This process's epoch, if it has the lock or nobody else has.
    async fn epoch(&mut self) -> Option<PerformerEpoch> {
        if self.performer.is_none() {
            let lock = File::create(self.sqlite.path.with_file_name("performer")).unwrap();
            lock.try_lock().ok()?;
            let epoch = LawActions.performer(&self.store).await;
            self.performer = Some((lock, epoch));
        }
        self.performer.as_ref().map(|(_, epoch)| *epoch)
    }
}

/// One of the processes, when it is started by a test below. Alone it does one action on its own store.
#[tokio::test]
async fn a_process_performs() {
    let Some(sqlite) = given() else {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::new(folder.path());
        let mut worker = Worker::new(sqlite.clone()).await;
        assert!(worker.work(0).await);
        assert_eq!(receipts(&sqlite).len(), 1);
        worker.store.close().await;
        return;
    };
    let mut worker = Worker::new(sqlite).await;
    let mut new = 0;
    for signal in 0..rounds("PROEM_TEST_ACTIONS", 1) {
        new += u64::from(worker.work(signal).await);
    }
    println!("new={new}.");
    worker.store.close().await;
}

/// The laws that hold when all processes are gone: each action arrived at most once, arrived ones are executed or
/// unknown, and executed ones arrived.
async fn check(sqlite: &Sqlite) {
    assert_eq!(integrity(sqlite), "ok");
    let mut last = Worker::new(sqlite.clone()).await;
    last.perform(rounds("PROEM_TEST_ACTIONS", 1_000)).await;
    assert_eq!(broken_courses(sqlite).await, [""; 0]);
    let received = receipts(sqlite);
    assert!(received.values().all(|times| *times == 1), "{received:?}");
    let wanted = proem_store::query::ActionsWanted { states: ActionState::ALL.to_vec(), ..Default::default() };
    for row in last.store.actions(&wanted).await.unwrap() {
        let arrived = received.contains_key(&row.key.to_string());
        let states: &[ActionState] = if arrived {
            &[ActionState::Executed, ActionState::Unknown]
        } else {
            &[ActionState::Proposed, ActionState::Waiting, ActionState::Unknown]
        };
        assert!(states.contains(&row.state), "{} is {:?}, arrived: {arrived}", row.key, row.state);
    }
    last.store.close().await;
}

fn start(sqlite: &Sqlite, actions: u64) -> Child {
    let mut command = again("effects::a_process_performs", sqlite);
    command.env("PROEM_TEST_ACTIONS", actions.to_string()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[tokio::test]
async fn a_process_is_stopped_beside_every_write() {
    // The state of the action after each place, and whether it arrived. The next process goes on from there.
    let expected = [
        ("before-proposal", None, 0),
        ("after-proposal", Some("proposed"), 0),
        ("before-require-approval", Some("proposed"), 0),
        ("after-require-approval", Some("waiting"), 0),
        ("before-approve", Some("waiting"), 0),
        ("after-approve", Some("approved"), 0),
        ("before-epoch", Some("approved"), 0),
        ("after-epoch", Some("approved"), 0),
        ("before-take-up", Some("approved"), 0),
        ("after-take-up", Some("executing"), 0),
        ("before-sent", Some("executing"), 1),
        ("after-sent", Some("executed"), 1),
    ];
    let places = failpoint::EFFECTS.iter().flat_map(|what| [format!("before-{what}"), format!("after-{what}")]);
    assert_eq!(expected.map(|(place, ..)| place.to_owned()).to_vec(), places.collect::<Vec<_>>());
    for (place, state, arrived) in expected {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::new(folder.path());
        let mut command = again("effects::a_process_performs", &sqlite);
        let status =
            command.env("PROEM_FAILPOINT", place).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), None, "{place}: it was stopped by a signal");
        let state_of = "SELECT max(state) FROM actions";
        let found: Option<String> = sqlite.connection().query_row(state_of, [], |row| row.get(0)).unwrap();
        assert_eq!(found, state.map(str::to_owned), "{place}");
        assert_eq!(receipts(&sqlite).len(), arrived, "{place}");
        assert!(start(&sqlite, 1).wait().unwrap().success(), "{place}: the next process goes on");
        let sent = if state == Some("executing") { arrived } else { 1 };
        assert_eq!(receipts(&sqlite).len(), sent, "{place}");
        check(&sqlite).await;
    }
}

#[tokio::test]
async fn eight_processes_propose_the_same_actions() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    sqlite.open().await.close().await;
    let processes: Vec<Child> = (0..8).map(|_| start(&sqlite, 10)).collect();
    let mut new = 0;
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let count = said.split_once("new=").and_then(|(_, rest)| rest.split_once('.')).map(|(count, _)| count);
        new += count.unwrap().parse::<i64>().unwrap();
    }
    assert_eq!((new, sqlite.number("SELECT count(*) FROM actions").await), (10, 10));
    check(&sqlite).await;
}

#[tokio::test]
async fn eight_processes_with_kills_do_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::new(folder.path());
    sqlite.open().await.close().await;
    let mut draw = Draw::new();
    let mut processes: Vec<Child> = (0..8).map(|_| start(&sqlite, 200)).collect();
    for _ in 0..rounds("PROEM_KILLS", 40) {
        std::thread::sleep(Duration::from_millis(draw.below(60)));
        let which = usize::try_from(draw.below(8)).unwrap();
        let process = processes.get_mut(which).unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
        *process = start(&sqlite, 200);
        assert!(receipts(&sqlite).values().all(|times| *times == 1), "nothing arrives twice");
    }
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    check(&sqlite).await;
    assert!(sqlite.number("SELECT count(*) FROM actions").await > 0);
}
