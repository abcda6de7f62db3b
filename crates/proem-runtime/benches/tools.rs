//! The cost of a call of a tool, as ratios that one run measures.
//!
//! Each round runs everything once, one after the other, so that a busy machine slows all of it alike. The tools answer
//! from a file, so that a run with calls beside the same run without them gives the cost of the calls alone.
//!
//! - A recorded call of a tool beside the overhead of a recorded call of a model: both as whole runs of one call, less
//!   the same run without a record.
//! - A hundred calls at once of a server that takes 10 ms, beside one.
//! - The same calls of a program that holds a megabyte, and one run of it without tools.
//!
//! `cargo bench -p proem-runtime --bench tools`
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

#[path = "../tests/it/records/programs.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod programs;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use proem_agents::lisp::{AgentDefinition, ProgramEnd, parse_agent};
use proem_engine::run::{EventKind, Exchange};
use proem_llm::scripted::Reply;
use proem_runtime::driver::{CallPerformer, DriveEnd, DriveStart, NullJournal, RunBounds, go_on};
use proem_runtime::records::Recording;
use proem_store::Store;
use programs::{ProgramCourse, Workshop, distinct_text, finish_run};
use scene::{Begun, Given, Scene, id, server, terms};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How often everything is run.
const ROUNDS: usize = 10;
/// How many calls a program makes one after the other.
const IN_TURN: usize = 20;
/// How long the slow server takes, in milliseconds.
const SLOW_MS: u64 = 10;
/// The length of the large input, in bytes.
const LARGE: usize = 1 << 20;

/// A bench's runs: what they are made of, and the last run's number.
struct CallBench<'b> {
    workshop: Workshop,
    scene: &'b Scene,
    store: &'b Store,
    last: u64,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (folder, model) = (TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), server([Reply::text("hello")]));
    let scene = Scene::new(folder.path(), &model);
    let workshop = Workshop::new(agent(slow_server()), folder.path(), &tool_results());
    runtime.block_on(async {
        let store = scene.store().await;
        let mut bench = CallBench { workshop, scene: &scene, store: &store, last: 0 };
        let times = bench.rounds().await;
        store.close().await;
        report(&times);
    });
}

/// The times of every measured run, by its name.
type MeasuredTimes = BTreeMap<&'static str, Vec<Duration>>;

impl CallBench<'_> {
    async fn rounds(&mut self) -> MeasuredTimes {
        let large = format!("{{\"text\": \"{}\"}}", distinct_text(1, LARGE));
        let mut times = MeasuredTimes::new();
        for round in 0..=ROUNDS {
            let cases = [
                ("model bare", self.model(false).await),
                ("model recorded", self.model(true).await),
                ("free bare", self.program("(tool/look {:n 1})", "{}", false).await),
                ("free recorded", self.program("(tool/look {:n 1})", "{}", true).await),
                ("idempotent recorded", self.program("(tool/keep {:n 1})", "{}", true).await),
                ("no calls", self.program("(mapv inc (range 20))", "{}", true).await),
                ("free in turn", self.program("(mapv (fn [n] (tool/look {:n n})) (range 20))", "{}", true).await),
                ("idempotent in turn", self.program("(mapv (fn [n] (tool/keep {:n n})) (range 20))", "{}", true).await),
                ("one slow", self.program("(tool/slow {:n 1})", "{}", true).await),
                ("hundred slow", self.program("(pmap (fn [n] (tool/slow {:n n})) (range 100))", "{}", true).await),
                ("large, no calls", self.program("(count ctx/text)", &large, true).await),
                ("large in turn", self.program(LARGE_PROGRAM, &large, true).await),
            ];
            // The first round fills caches.
            for (name, time) in cases.into_iter().filter(|_| round > 0) {
                times.entry(name).or_default().push(time);
            }
        }
        times
    }

    fn begun(&mut self) -> Begun {
        self.last += 1;
        Begun { id: id(&format!("{:016x}", self.last)), parent: None, steps: 0 }
    }

    /// A run of one call of a model, whose server answers at once.
    async fn model(&mut self, is_recorded: bool) -> Duration {
        let (owned, begun) = (self.scene.owned(), self.begun());
        let (kept, given) = (owned.kept(self.scene, self.store), Given::asked(&self.scene.text));
        let (caller, directory, terms, request) =
            (self.scene.caller(), self.scene.directory(), terms(), self.scene.request());
        let began = Instant::now();
        let mut machine = Exchange::new(terms.of(), request);
        let (calls, from) = (CallPerformer::new(&caller, &directory, 1), DriveStart::Event(EventKind::Started));
        if !is_recorded {
            go_on(&mut machine, from, &calls, &run_bounds(), &NullJournal).await.unwrap();
            return began.elapsed();
        }
        let recording = Recording::new(&kept, &given.start(&begun));
        let driven = go_on(&mut machine, from, &calls.through(&recording), &run_bounds(), &recording).await.unwrap();
        let DriveEnd::Done(outcome) = driven.reached else { panic!("an exchange asks nobody") };
        finish_run(&recording, outcome).await;
        began.elapsed()
    }

    /// A run of a program.
    async fn program(&mut self, source: &str, input: &str, is_recorded: bool) -> Duration {
        let (owned, begun, given) = (self.scene.owned(), self.begun(), Given::asked(source));
        let (kept, terms) = (owned.kept(self.scene, self.store), self.workshop.terms(source, input));
        let began = Instant::now();
        let recording = is_recorded.then(|| Recording::new(&kept, &given.start(&begun)));
        let course = ProgramCourse { recording: recording.as_ref(), ..ProgramCourse::default() };
        let outcome = self.workshop.run(terms, course).await.unwrap();
        assert!(matches!(outcome.end, ProgramEnd::Value(_)), "{:?}", outcome.end);
        began.elapsed()
    }
}

/// Calls in turn by a program that goes on holding its input, with a result that grows.
const LARGE_PROGRAM: &str = "(loop [n 0 held []] (if (< n 20) (recur (inc n) (conj held (tool/look {:n n}))) (+ (count held) (count ctx/text))))";

fn agent(port: u16) -> AgentDefinition {
    let text = format!(
        "version = 1\nname = \"a\"\nsignature = \"(text :string?) -> :any\"\n\
         [tools.look]\nsignature = \"(n :int) -> :int\"\ndescription = \"x\"\neffect = false\n\
         recorded = {{ file = \"look.json\" }}\n\
         [tools.keep]\nsignature = \"(n :int) -> :int\"\ndescription = \"x\"\nidempotent = true\n\
         triggered_by = [\"tool/keep\"]\nparameters.n = {{ accepts = [\"tool/keep\"] }}\nrecorded = {{ file = \"look.json\" }}\n\
         [tools.slow]\nsignature = \"(n :int) -> :int\"\ndescription = \"x\"\neffect = false\n\
         http = {{ url = \"http://127.0.0.1:{port}/{{n}}\", private = true }}\n"
    );
    parse_agent("a.agent.toml", &text).unwrap()
}

fn tool_results() -> BTreeMap<String, String> {
    let results: Vec<String> =
        (0..IN_TURN).map(|n| format!("{{\"arguments\": {{\"n\": {n}}}, \"result\": {n}}}")).collect();
    ["look", "keep"].map(|tool| (tool.to_owned(), format!("[{}]", results.join(",")))).into()
}

fn run_bounds() -> RunBounds {
    RunBounds { stop: CancellationToken::new(), time: None }
}

/// A server that takes its time and answers `1`, each connection on a thread of its own. Its port.
fn slow_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut head = [0; 4_096];
                // A request without a body comes in one piece on loopback.
                _ = stream.read(&mut head);
                thread::sleep(Duration::from_millis(SLOW_MS));
                _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\nconnection: close\r\n\r\n1",
                );
            });
        }
    });
    port
}

fn report(times: &MeasuredTimes) {
    let median = |name: &str| {
        let mut sorted = times[name].clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2].as_secs_f64() * 1e6
    };
    for name in times.keys() {
        println!("{name:<20} median {:>8.0} µs", median(name));
    }
    let of_model = median("model recorded") - median("model bare");
    let of_tool = median("free recorded") - median("free bare");
    let of_keeping = median("idempotent recorded") - median("free bare");
    println!("a record costs a model's call {of_model:.0} µs");
    println!("a free tool's {of_tool:.0} µs, {:.2} times as much", of_tool / of_model);
    println!("an idempotent tool's {of_keeping:.0} µs, {:.2} times as much", of_keeping / of_model);
    let in_turn = |name: &str, without: &str| (median(name) - median(without)) / IN_TURN as f64;
    let (free, idempotent) = (in_turn("free in turn", "no calls"), in_turn("idempotent in turn", "no calls"));
    println!("each further call, free: {free:.0} µs, {:.2} times a model's", free / of_model);
    println!("each further call, idempotent: {idempotent:.0} µs, {:.2} times a model's", idempotent / of_model);
    println!("100 slow calls at once: {:.1} times one", median("hundred slow") / median("one slow"));
    let large = in_turn("large in turn", "large, no calls");
    println!("each further call of a program with 1 MiB: {large:.0} µs, {:.2} times one without", large / free);
    let runs = median("large in turn") / median("large, no calls");
    println!("20 calls of a program with 1 MiB: {runs:.1} times the run without tools");
}
