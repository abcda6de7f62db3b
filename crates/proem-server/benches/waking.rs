//! How long some work waits from the commit that wants it to the start of its step, while a worker is half loaded.
//!
//! `cargo bench -p proem-server --bench waking URL FOLDER`: an empty database, and a folder for this machine's files.
//! First, every project always wants work, which gives the most steps a second. Then work is wanted half as often, of
//! one project after the other, at even distances. A step is a process that ends at once.
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::panic, reason = "a bench reads the clock and prints")]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proem_app::config::Config;
use proem_app::places::{Channel, Places};
use proem_app::records::location::RecordsDatabase;
use proem_app::when;
use proem_guard::InstallationKey;
use proem_runtime::schedule::own_process::OwnProgram;
use proem_server::worker::{WorkerEvent, WorkerOptions, WorkerPace, WorkerRecords, serve_work};
use proem_store::laws::LawSamples;
use proem_store::record::{Project, WorkKey, WorkKind, WorkWish};
use proem_store::{DatabaseAddress, Store, StoreAccess, StoreOptions};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

const PROJECTS: usize = 100;
const STEPS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// How long each of the two parts takes.
const PART: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [url, folder] = arguments.as_slice() else {
        return println!("nothing is measured without URL FOLDER");
    };
    let folder = tempfile::tempdir_in(Path::new(folder)).unwrap();
    let store = open_records(url, folder.path()).await;
    let (tell, mut events) = unbounded_channel();
    let (stop, options) = (CancellationToken::new(), options(url, folder.path()));
    let ends = stop.clone();
    let worked = tokio::spawn(async move {
        serve_work(options, &ends, Arc::new(move |event| _ = tell.send((Instant::now(), event.clone())))).await
    });
    let most = full_load(&store, &mut events).await;
    println!("at full load: {most:.0} steps a second, of {PROJECTS} projects, {STEPS_AT_ONCE} at the same time");
    let mut waits = half_load(&store, &mut events, Duration::from_secs_f64(2.0 / most)).await;
    waits.sort_unstable();
    let percentile = |share: usize| waits.get((waits.len() - 1) * share / 100).unwrap().as_millis();
    println!(
        "at half load: {} steps began after: median {} ms, p99 {} ms, the last {} ms",
        waits.len(),
        percentile(50),
        percentile(99),
        percentile(100)
    );
    stop.cancel();
    worked.await.unwrap().unwrap();
    store.close().await;
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

fn options(url: &str, folder: &Path) -> WorkerOptions {
    let at = |name: &str| folder.join(name);
    let places = Places {
        config: at("config"),
        state: at("state"),
        cache: at("cache"),
        home: at("home"),
        programs: at("programs"),
        channel: Channel::Pipe,
    };
    let (address, machine) = (url.to_owned(), folder.to_owned());
    WorkerOptions {
        projects: (0..PROJECTS).map(|number| (project(number), PathBuf::from("/"))).collect::<BTreeMap<_, _>>(),
        kinds: vec![WorkKind::Triage],
        concurrency: STEPS_AT_ONCE,
        pace: WorkerPace::default(),
        actor: LawSamples.actor(),
        records: WorkerRecords {
            database: RecordsDatabase::parse("the bench's address", url, &places, &Config::default()).unwrap(),
            open: Arc::new(move || {
                let (url, machine) = (address.clone(), machine.clone());
                Box::pin(async move { Ok(open_records(&url, &machine).await) })
            }),
        },
        program: Arc::new(|_, _| OwnProgram { program: "/bin/true".into(), arguments: Vec::new() }),
    }
}

fn project(number: usize) -> Project {
    if number == 0 { LawSamples.project() } else { Project(format!("project {number}")) }
}

async fn want(store: &Store, key: WorkKey) {
    let at = when::time_now();
    store.want_work(WorkWish { key, actor: LawSamples.actor(), at, due: at }).await.unwrap();
}

type TimedEvents = UnboundedReceiver<(Instant, WorkerEvent)>;

/// The steps a second while every project wants another one as soon as it has one.
async fn full_load(store: &Store, events: &mut TimedEvents) -> f64 {
    for number in 0..PROJECTS {
        want(store, WorkKey { project: project(number), kind: WorkKind::Triage }).await;
    }
    let (begun, mut steps) = (Instant::now(), 0_u32);
    while begun.elapsed() < PART {
        match events.recv().await.unwrap().1 {
            WorkerEvent::StepEnded { key, .. } => {
                steps += 1;
                want(store, key).await;
            }
            WorkerEvent::Problem { error } => panic!("{error}"),
            _ => {}
        }
    }
    let rate = f64::from(steps) / begun.elapsed().as_secs_f64();
    // The rest of what was wanted is done before the second part.
    while tokio::time::timeout(Duration::from_secs(2), events.recv()).await.is_ok() {}
    rate
}

/// How long each piece of work waits, if one is wanted every `distance`.
async fn half_load(store: &Store, events: &mut TimedEvents, distance: Duration) -> Vec<Duration> {
    let begun = Instant::now();
    let (mut wanted, mut waits) = (BTreeMap::new(), Vec::new());
    let (mut number, mut ticks) = (0_usize, tokio::time::interval(distance));
    while begun.elapsed() < PART || !wanted.is_empty() {
        tokio::select! {
            _ = ticks.tick(), if begun.elapsed() < PART => {
                let key = WorkKey { project: project(number % PROJECTS), kind: WorkKind::Triage };
                number += 1;
                // A project whose step has not begun yet is not asked again.
                if let Entry::Vacant(place) = wanted.entry(key.clone()) {
                    want(store, key).await;
                    place.insert(Instant::now());
                }
            }
            event = events.recv() => match event.unwrap() {
                (at, WorkerEvent::StepBegan { key, .. }) => {
                    let since = wanted.remove(&key);
                    waits.extend(since.map(|since: Instant| at.saturating_duration_since(since)));
                }
                (_, WorkerEvent::Problem { error }) => panic!("{error}"),
                _ => {}
            },
        }
    }
    waits
}
