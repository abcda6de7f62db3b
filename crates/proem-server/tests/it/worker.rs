//! Workers over one database and its real queue: what is wanted is done, and whatever happens to a worker, no end is
//! written twice.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proem_app::config::Config;
use proem_app::places::{Channel, Places};
use proem_app::records::location::RecordsDatabase;
use proem_engine::run::Time;
use proem_guard::InstallationKey;
use proem_runtime::schedule::own_process::OwnProgram;
use proem_server::worker::{StepEnd, WorkerEvent, WorkerOptions, WorkerPace, WorkerRecords, serve_work};
use proem_store::laws::{LawSamples, LawSignals};
use proem_store::query::WorkRow;
use proem_store::record::{Project, SignalStanding, WorkKey, WorkKind, WorkWish};
use proem_store::{DatabaseAddress, MOST_ATTEMPTS, Store, StoreAccess, StoreOptions};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::skipped::skip;
use crate::test_server::{TestServer, test_server};

/// A test gives up after this long. Nothing waits for it that works.
const PATIENCE: Duration = Duration::from_mins(2);
/// The variable that makes a process of this program a worker: the folder and the address.
const WORKER: &str = "PROEM_TEST_WORKER";

/// Times that a test can wait for.
const BRISK: WorkerPace = WorkerPace {
    lease: Duration::from_secs(3),
    sweep: Duration::from_millis(200),
    performing: Duration::from_hours(1),
    retry: Duration::from_millis(1),
    pause: Duration::from_millis(200),
};

/// A database for the records and their queue, and a folder for this machine's files about it.
#[derive(Debug, Clone)]
struct Postgres {
    server: &'static TestServer,
    name: String,
    folder: PathBuf,
}

impl Postgres {
    /// A new database. `None`, said aloud, if there is no server to start.
    fn new(folder: &Path) -> Option<Self> {
        let server = match test_server() {
            Ok(server) => server,
            Err(why) => {
                skip("postgresql", why);
                return None;
            }
        };
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("work{}", NEXT.fetch_add(1, Ordering::Relaxed));
        server.run("postgres", &format!("CREATE DATABASE {name}")).unwrap();
        Some(Self { server, name, folder: folder.to_owned() })
    }

    fn url(&self) -> String {
        url_of(&self.name, &self.server.folder)
    }

    async fn open(&self) -> Store {
        open_records(&self.url(), &self.folder).await
    }

    fn run(&self, sql: &str) -> String {
        self.server.run(&self.name, sql).unwrap()
    }
}

fn url_of(name: &str, socket: &Path) -> String {
    format!("postgres:///{name}?host={}&user=postgres", socket.display())
}

fn database_of(url: &str, folder: &Path) -> RecordsDatabase {
    let at = |name: &str| folder.join(name);
    let places = Places {
        config: at("config"),
        state: at("state"),
        cache: at("cache"),
        home: at("home"),
        programs: at("programs"),
        channel: Channel::Pipe,
    };
    RecordsDatabase::parse("a test's address", url, &places, &Config::default()).unwrap()
}

async fn open_records(url: &str, folder: &Path) -> Store {
    let options = StoreOptions {
        path: folder.join("state/records.db"),
        key: InstallationKey::new([7; 32]),
        access: StoreAccess::Write,
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        zone: jiff::tz::TimeZone::UTC,
    };
    Store::open_on_server(options, DatabaseAddress::parse(url).unwrap()).await.unwrap().store
}

/// A step that leaves a line, then does what the script says.
fn script(folder: &Path, script: &str) -> OwnProgram {
    let words = format!("echo $$ >>'{}/steps'; {script}", folder.display());
    OwnProgram { program: "/bin/sh".into(), arguments: ["-c".into(), words.into()].into() }
}

fn steps(folder: &Path) -> usize {
    fs::read_to_string(folder.join("steps")).map_or(0, |text| text.lines().count())
}

fn options(url: &str, folder: &Path, words: &str, projects: usize) -> WorkerOptions {
    let (url, at, words) = (url.to_owned(), folder.to_owned(), words.to_owned());
    let machine = folder.to_owned();
    WorkerOptions {
        projects: (0..projects).map(|number| (project(number), PathBuf::from("/"))).collect::<BTreeMap<_, _>>(),
        kinds: vec![WorkKind::Triage],
        concurrency: NonZeroUsize::new(4).unwrap(),
        pace: BRISK,
        actor: LawSamples.actor(),
        records: WorkerRecords {
            database: database_of(&url, folder),
            open: Arc::new(move || {
                let (url, machine) = (url.clone(), machine.clone());
                Box::pin(async move { Ok(open_records(&url, &machine).await) })
            }),
        },
        program: Arc::new(move |_, _| script(&at, &words)),
    }
}

fn project(number: usize) -> Project {
    if number == 0 { LawSamples.project() } else { Project(format!("project {number}")) }
}

/// A worker in this process.
struct Worker {
    stop: CancellationToken,
    events: UnboundedReceiver<WorkerEvent>,
    work: tokio::task::JoinHandle<Result<(), proem_app::Error>>,
}

impl Worker {
    fn start(options: WorkerOptions) -> Self {
        let (tell, events) = unbounded_channel();
        let stop = CancellationToken::new();
        let ends = stop.clone();
        let work = tokio::spawn(async move {
            serve_work(options, &ends, Arc::new(move |event| _ = tell.send(event.clone()))).await
        });
        Self { stop, events, work }
    }

    /// The ends of so many steps.
    async fn ends(&mut self, count: usize) -> Vec<StepEnd> {
        let mut ends = Vec::new();
        while ends.len() < count {
            let event = tokio::time::timeout(PATIENCE, self.events.recv()).await.unwrap().unwrap();
            assert!(!matches!(event, WorkerEvent::Problem { .. }), "{event:?}");
            if let WorkerEvent::StepEnded { end, .. } = event {
                ends.push(end);
            }
        }
        ends
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.work).await.unwrap().unwrap().unwrap();
    }
}

async fn want(store: &Store, number: usize) {
    let key = WorkKey { project: project(number), kind: WorkKind::Triage };
    let wish = WorkWish { key, actor: LawSamples.actor(), at: Time(1), due: Time(1) };
    store.want_work(wish).await.unwrap();
}

async fn row(store: &Store) -> WorkRow {
    store.work(Some(&LawSamples.project())).await.unwrap().remove(0)
}

/// How many jobs the queue has.
fn jobs(postgres: &Postgres) -> String {
    postgres.run("SELECT count(*) FROM graphile_worker._private_jobs").trim().to_owned()
}

/// Waits until the queue has no job left.
async fn until_no_job(postgres: &Postgres) {
    let begun = std::time::Instant::now();
    while jobs(postgres) != "0" {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the rows are as they should be.
async fn until(store: &Store, is_so: impl Fn(&WorkRow) -> bool) -> WorkRow {
    let begun = std::time::Instant::now();
    loop {
        let row = row(store).await;
        if is_so(&row) {
            return row;
        }
        assert!(begun.elapsed() < PATIENCE, "{row:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_wake_a_worker_in_their_transaction_and_a_refused_intake_wakes_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    let mut worker = Worker::start(options(&postgres.url(), folder.path(), "true", 1));
    store.take_signals(LawSignals.intake(1, &[(1, 1), (2, 1)])).await.unwrap();
    assert_eq!(worker.ends(1).await, [StepEnd::Done]);
    assert_eq!((row(&store).await.waiting, steps(folder.path())), (0, 1));
    worker.end().await;
    assert_eq!(jobs(&postgres), "0");
    let mut refused = LawSignals.intake(2, &[(3, 1), (4, 1)]);
    refused.signals.last_mut().unwrap().standing = SignalStanding::Handled;
    store.take_signals(refused).await.unwrap_err();
    assert_eq!((jobs(&postgres).as_str(), row(&store).await.waiting), ("0", 0), "nothing of it is left");
    store.take_signals(LawSignals.intake(3, &[(3, 1)])).await.unwrap();
    assert_eq!((jobs(&postgres).as_str(), row(&store).await.waiting), ("1", 1));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_job_is_found_and_an_additional_one_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    want(&store, 0).await;
    // The queue is not set up yet, so nothing has woken anybody.
    let mut worker = Worker::start(options(&postgres.url(), folder.path(), "true", 1));
    assert_eq!(worker.ends(1).await, [StepEnd::Done]);
    let sql = "SELECT graphile_worker.add_job('proem_triage', json_build_object('project', '/home/ada/engine'), \
               flags => ARRAY['project:' || encode(sha256(convert_to('/home/ada/engine', 'UTF8')), 'hex')])";
    postgres.run(sql);
    until_no_job(&postgres).await;
    worker.end().await;
    assert_eq!(steps(folder.path()), 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_aborts_its_process_ends_after_three() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    let mut worker =
        Worker::start(options(&postgres.url(), folder.path(), "echo 'error: no room' >&2; kill -ABRT $$", 1));
    want(&store, 0).await;
    let ends = worker.ends(3).await;
    let problem = "its process was ended from outside: no room";
    assert!(matches!(&ends[0], StepEnd::Failed { problem: said, .. } if said == problem), "{ends:?}");
    assert_eq!(ends[2], StepEnd::Exhausted { problem: problem.to_owned() });
    want(&store, 0).await;
    until_no_job(&postgres).await;
    assert_eq!(steps(folder.path()), 3, "neither a job of the queue nor a new wish began another");
    let found = row(&store).await;
    assert_eq!((found.attempts, found.problem.as_deref(), found.holder), (MOST_ATTEMPTS, Some(problem), None));
    let key = WorkKey { project: project(0), kind: WorkKind::Triage };
    let retry = WorkWish { key, actor: LawSamples.actor(), at: Time(1), due: Time(1) };
    assert!(store.retry_work(retry).await.unwrap());
    worker.ends(1).await;
    worker.end().await;
    assert!(steps(folder.path()) > 3);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_project_keeps_no_other_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    let mut worker = Worker::start(options(&postgres.url(), folder.path(), "true", 20));
    for number in 0..20 {
        for _ in 0..=if number == 0 { 30 } else { 0 } {
            want(&store, number).await;
        }
    }
    let begun = std::time::Instant::now();
    while store.work(None).await.unwrap().iter().any(|row| row.waiting > 0) {
        assert!(begun.elapsed() < PATIENCE);
        worker.ends(1).await;
    }
    worker.end().await;
    assert!((20..=51).contains(&steps(folder.path())), "one step does all that was wanted until it began");
    store.close().await;
}

/// A worker, when a test below starts it as a process. By itself it does a step and ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_works() {
    if let Ok(given) = std::env::var(WORKER) {
        let (folder, url) = given.split_once(' ').unwrap();
        // It waits for the test, and never outlives its folder.
        let words = format!("while [ -d '{folder}' ] && ! [ -e '{folder}/gate' ]; do sleep 0.05; done");
        let options = options(url, Path::new(folder), &words, 1);
        serve_work(options, &CancellationToken::new(), Arc::new(|_| {})).await.unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    want(&store, 0).await;
    let mut worker = Worker::start(options(&postgres.url(), folder.path(), "true", 1));
    assert_eq!(worker.ends(1).await, [StepEnd::Done]);
    worker.end().await;
    store.close().await;
}

fn start_process(postgres: &Postgres, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::a_process_works", "--nocapture"]);
    command.env(WORKER, format!("{} {}", folder.display(), postgres.url()));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(process: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_work_of_a_killed_worker_is_begun_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    want(&store, 0).await;
    let mut first = start_process(&postgres, folder.path());
    let held = until(&store, |row| row.holder.is_some()).await.holder.unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = start_process(&postgres, folder.path());
    let next = until(&store, |row| row.holder.as_ref().is_some_and(|holder| holder.worker != held.worker)).await;
    assert_eq!(next.attempts, 2);
    fs::write(folder.path().join("gate"), "").unwrap();
    until(&store, |row| row.waiting == 0 && row.holder.is_none()).await;
    second.kill().unwrap();
    second.wait().unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_goes_on_after_its_lease_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    want(&store, 0).await;
    let mut first = start_process(&postgres, folder.path());
    let held = until(&store, |row| row.holder.is_some()).await.holder.unwrap();
    send(&first, "-STOP");
    let mut second = start_process(&postgres, folder.path());
    until(&store, |row| row.holder.as_ref().is_some_and(|holder| holder.worker != held.worker)).await;
    send(&first, "-CONT");
    // Both steps end now. The first worker's changes nothing of the work that is the second's.
    fs::write(folder.path().join("gate"), "").unwrap();
    let ended = until(&store, |row| row.holder.is_none()).await;
    assert_eq!((ended.waiting, ended.attempts, ended.problem), (0, 0, None));
    assert_eq!(steps(folder.path()), 2, "a step may repeat, and its end may not");
    want(&store, 0).await;
    until(&store, |row| row.waiting == 0).await;
    for process in [&mut first, &mut second] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    store.close().await;
}
