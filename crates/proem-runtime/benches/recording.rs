//! The cost that a record adds to a call: the same calls of a scripted server on this machine, recorded and not, in
//! turns, beside a bare write and sync of as many bytes on the same disk.
//!
//! Both begin with a request that is made and counted, and end with an outcome. The recorded call ends when its end is
//! on the disk.
//!
//! `cargo bench -p proem-runtime --bench recording`
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench reads the clock and prints"
)]

#[path = "../tests/it/records/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod scene;

use std::io::Write as _;
use std::time::{Duration, Instant};

use proem_engine::call::Request;
use proem_engine::run::{EventKind, Exchange, ExchangeEnd, Outcome};
use proem_llm::caller::{Caller, wall_clock};
use proem_llm::scripted::Reply;
use proem_llm::secret::Secret;
use proem_runtime::driver::{CallPerformer, Directory, DriveEnd, DriveStart, RunBounds, drive, go_on};
use proem_runtime::records::{Recording, RecordingContext, RunEnd};
use proem_store::record::Numbers;
use scene::{Begun, Given, Scene, id, nanos_a_day, server, terms};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How many pairs of calls, for each size of prompt.
const RUNS: usize = 300;

/// How long the server takes, in milliseconds: meanwhile every thread goes to sleep, as it does in real runs.
const ANSWERED_MS: u64 = 5;

/// How many bytes of a prompt are the same in every call, and how many are another each time.
const CASES: [(usize, usize); 3] = [(0, 2_000), (72_000, 8_000), (0, 80_000)];

/// The start of a call.
struct Made {
    request: Request,
    caller: Caller,
    directory: Directory,
    given: Given,
}

impl Made {
    fn new(scene: &Scene) -> Self {
        let (caller, directory, given) = (scene.caller(), scene.directory(), Given::asked(&scene.text));
        Self { request: scene.request(), caller, directory, given }
    }
}

fn run_bounds() -> RunBounds {
    RunBounds { stop: CancellationToken::new(), time: None }
}

/// How long a call takes that nobody writes down.
async fn bare(made: Made) -> Duration {
    let terms = terms();
    let began = Instant::now();
    let mut machine = Exchange::new(terms.of(), made.request);
    let calls = CallPerformer::new(&made.caller, &made.directory, 1);
    let driven = drive(&mut machine, EventKind::Started, &calls, &run_bounds()).await.unwrap();
    let took = began.elapsed();
    reached_outcome(driven.reached);
    took
}

/// How long the same takes that is written down: until its answer is there, and until its end is on the disk.
async fn record_runs(made: Made, kept: &RecordingContext<'_>, run: &str) -> [Duration; 2] {
    let terms = terms();
    let begun = Begun { id: id(run), parent: None, steps: 0 };
    let began = Instant::now();
    let mut machine = Exchange::new(terms.of(), made.request);
    let recording = Recording::new(kept, &made.given.start(&begun));
    let calls = CallPerformer::new(&made.caller, &made.directory, 1).through(&recording);
    let from = DriveStart::Event(EventKind::Started);
    let driven = go_on(&mut machine, from, &calls, &run_bounds(), &recording).await.unwrap();
    let outcome = reached_outcome(driven.reached);
    let answer = began.elapsed();
    let numbers = Numbers::default();
    recording.finish(RunEnd { at: wall_clock(), outcome, assembly: None, numbers, evaluations: Vec::new() }).await;
    let took = began.elapsed();
    assert_eq!(recording.trouble(), None);
    [answer, took]
}

/// The outcome of a call that was answered.
fn reached_outcome(reached: DriveEnd<Outcome>) -> Outcome {
    let DriveEnd::Done(outcome) = reached else { panic!("an exchange asks nobody") };
    assert!(matches!(outcome.ended, ExchangeEnd::Answered { .. }), "{outcome:?}");
    outcome
}

/// The median and the ninety-ninth percentile, in microseconds.
fn quantiles(mut times: Vec<Duration>) -> (u128, u128) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_micros();
    (at(50), at(99))
}

/// How long it takes to write that many bytes and see them on the disk.
fn synced(folder: &TempDir, bytes: usize) -> Duration {
    let mut file = std::fs::File::options().append(true).create(true).open(folder.path().join("bare")).unwrap();
    let began = Instant::now();
    file.write_all(&vec![b'x'; bytes]).unwrap();
    file.sync_data().unwrap();
    began.elapsed()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (known, new) in CASES {
        let folder = TempDir::new().unwrap();
        let server = server([Reply::text("hello").delayed(ANSWERED_MS)]);
        let mut scene = Scene::new(folder.path(), &server);
        scene.caps = vec![nanos_a_day(u64::MAX / 4)];
        scene.rules.push_str(&"This stands in every prompt.\n".repeat(known / 29));
        scene.secrets = vec![Secret::new("TEST_KEY", "sk-0123456789abcdef0123456789abcdef")];
        let [mut without, mut there, mut with, mut disk] = [(); 4].map(|()| Vec::with_capacity(RUNS));
        let owned = scene.owned();
        runtime.block_on(async {
            let store = scene.store().await;
            for run in 0..RUNS {
                // Another text each time, as with real tasks: what is known already costs nothing.
                scene.text = format!("Task {run}. {}", "All of this is read.\n".repeat(new / 21));
                let kept = owned.kept(&scene, &store);
                without.push(bare(Made::new(&scene)).await);
                let [answer, end] = record_runs(Made::new(&scene), &kept, &format!("{run:016x}")).await;
                there.push(answer);
                with.push(end);
                disk.push(synced(&folder, new));
            }
            store.close().await;
        });
        for (name, times) in
            [("not recorded", without), ("recorded: answer", there), ("recorded: end", with), ("write and sync", disk)]
        {
            let (median, high) = quantiles(times);
            println!("{known:>6} + {new:>6} bytes  {name:<16}  median {median:>6} µs  99 % {high:>6} µs");
        }
    }
}
