//! What a record adds to a call: the same calls of a scripted server on this machine, recorded and
//! not, in turns, beside a bare write and sync of as many bytes on the same disk.
//!
//! `cargo bench -p proem-runtime --bench recording`
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench reads the clock and prints"
)]

#[path = "../tests/records/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod scene;

use std::io::Write as _;
use std::time::{Duration, Instant};

use proem_engine::run::{Exchange, What};
use proem_llm::scripted::Reply;
use proem_llm::secret::Secret;
use proem_runtime::driver::{Bounds, Calls, drive};
use scene::{Scene, nanos_a_day, server, terms, text};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How many pairs of calls, for each size of prompt.
const RUNS: usize = 300;

/// A call that nobody writes down.
async fn bare(scene: &Scene) {
    let terms = terms();
    let mut machine = Exchange::new(terms.of(), scene.request());
    let (caller, directory) = (scene.caller(), scene.directory());
    let bounds = Bounds { stop: CancellationToken::new(), time: None };
    drive(&mut machine, What::Started, &Calls::new(&caller, &directory, 1), &bounds).await.unwrap();
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
    for bytes in [2_000, 80_000] {
        let folder = TempDir::new().unwrap();
        let server = server([Reply::text("hello")]);
        let mut scene = Scene::new(folder.path(), &server);
        scene.caps = vec![nanos_a_day(u64::MAX / 4)];
        scene.secrets = vec![Secret::new("TEST_KEY", "sk-0123456789abcdef0123456789abcdef")];
        let [mut without, mut with, mut disk] = [(); 3].map(|()| Vec::with_capacity(RUNS));
        runtime.block_on(async {
            let store = scene.store().await;
            for run in 0..RUNS {
                // Another text each time, as with real tasks: what is known already costs nothing.
                scene.text = format!("Task {run}. {}", "All of this is read. ".repeat(bytes / 21));
                let began = Instant::now();
                bare(&scene).await;
                without.push(began.elapsed());
                let began = Instant::now();
                let ran = scene.run(&store, &format!("{run:016x}")).await;
                with.push(began.elapsed());
                assert_eq!((text(&ran).as_str(), ran.trouble, ran.unrecorded), ("hello", None, None));
                disk.push(synced(&folder, bytes));
            }
        });
        for (name, times) in [("not recorded", without), ("recorded", with), ("write and sync", disk)] {
            let (median, high) = quantiles(times);
            println!("{bytes:>6} bytes  {name:<14}  median {median:>6} µs  99 % {high:>6} µs");
        }
    }
}
