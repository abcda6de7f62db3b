//! The cost that records add to a call of a tool, beside what they add to a call of a model, and how long a hundred calls
//! take at once. A scripted server on this machine answers all of them.
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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proem_agents::lisp::{
    AgentDefinition, ProgramEnd, ProgramMachine, ProgramOutcome, ProgramTerms, parse_agent, policy_hash,
};
use proem_engine::policy::CallRecords;
use proem_engine::run::{EventKind, Exchange, ExchangeEnd, FallbackReason, Outcome};
use proem_lisp::{Limits, Names, StateKey, Value, resolve_source};
use proem_llm::caller::wall_clock;
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_runtime::Environment;
use proem_runtime::driver::{CallPerformer, DriveEnd, DriveStart, RunBounds, drive, go_on};
use proem_runtime::records::{Recording, RunEnd};
use proem_runtime::tools::{ToolPerformer, ToolPlace, ToolSet};
use proem_store::Store;
use proem_store::record::Numbers;
use scene::{Begun, Given, Scene, id, server, terms};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How many runs of each kind, in turns.
const RUNS: usize = 100;
/// How long the model, the tool of one call, and the tool of a hundred take, in milliseconds.
const ANSWERED_MS: u64 = 5;
const TOOL_MS: u64 = 10;

/// A tool's program with all that it runs with.
struct Program {
    agent: AgentDefinition,
    tools: ToolSet,
    terms: ProgramTerms,
}

impl Program {
    /// `flags` are lines of the tool's table.
    fn new(source: &str, flags: &str, server: &ScriptedServer) -> Self {
        let address = server.address();
        let text = format!(
            "version = 1\nname = \"a\"\n[tools.get]\nsignature = \"(n :int) -> :any\"\ndescription = \"x\"\n{flags}\n\
             http = {{ url = \"http://{address}/x\", method = \"POST\", private = true }}\n"
        );
        let agent = parse_agent("a.agent.toml", &text).unwrap();
        let (environment, none) = (Environment::inherited(), BTreeMap::new());
        let place = ToolPlace { root: ".".as_ref(), environment: &environment, secrets: &none, files: &BTreeMap::new() };
        let tools = ToolSet::new(&agent, &place).unwrap();
        let limits = Limits { parallel_branches: 128, ..Limits::default() };
        let terms = ProgramTerms {
            agent: Arc::new(agent.clone()),
            program: Arc::new(resolve_source(source, &Names::default(), &limits).unwrap()),
            context: Value::map([]),
            memory: Value::map([]),
            limits,
            key: StateKey::new([7; 32]),
            records: CallRecords::Content,
            policy: policy_hash(&[]),
        };
        Self { agent, tools, terms }
    }

    /// How long a run takes that nobody writes down.
    async fn bare(&self) -> Duration {
        assert!(self.agent.tools.values().all(|tool| tool.power == proem_engine::run::ToolPower::Free));
        let began = Instant::now();
        let mut machine = ProgramMachine::new(ProgramTerms { records: CallRecords::Missing, ..self.terms.clone() });
        let world = ToolPerformer::new(&self.tools, None, self.terms.policy);
        let driven = drive(&mut machine, EventKind::Started, &world, &bounds()).await.unwrap();
        finished(driven.reached);
        began.elapsed()
    }

    /// How long the same takes until its end is on the disk.
    async fn recorded(&self, scene: &Scene, store: &Store, run: &str) -> Duration {
        let (owned, given) = (scene.owned(), Given::asked(run));
        let begun = Begun { id: id(run), parent: None, steps: 0 };
        let kept = owned.kept(scene, store);
        let began = Instant::now();
        let recording = Recording::new(&kept, &given.start(&begun));
        let mut machine = ProgramMachine::new(self.terms.clone());
        let world = ToolPerformer::new(&self.tools, Some(&recording), self.terms.policy);
        let from = DriveStart::Event(EventKind::Started);
        finished(go_on(&mut machine, from, &world, &bounds(), &recording).await.unwrap().reached);
        let ended = ExchangeEnd::Failed { because: FallbackReason::Program };
        finish(&recording, Outcome { ended, attempts: Vec::new() }).await;
        began.elapsed()
    }
}

fn bounds() -> RunBounds {
    RunBounds { stop: CancellationToken::new(), time: None }
}

fn finished(reached: DriveEnd<ProgramOutcome>) {
    let DriveEnd::Done(outcome) = reached else { panic!("it asks nobody") };
    assert!(matches!(outcome.end, ProgramEnd::Value(_)), "{outcome:?}");
}

async fn finish(recording: &Recording<'_>, outcome: Outcome) {
    let numbers = Numbers::default();
    recording.finish(RunEnd { at: wall_clock(), outcome, assembly: None, numbers, evaluations: Vec::new() }).await;
    assert_eq!(recording.trouble(), None);
}

/// How long a call of a model takes, not recorded or recorded.
async fn model(scene: &Scene, store: Option<(&Store, &str)>) -> Duration {
    let (caller, directory, given) = (scene.caller(), scene.directory(), Given::asked(&scene.text));
    let (request, terms, owned) = (scene.request(), terms(), scene.owned());
    let began = Instant::now();
    let mut machine = Exchange::new(terms.of(), request);
    let calls = CallPerformer::new(&caller, &directory, 1);
    let Some((store, run)) = store else {
        drive(&mut machine, EventKind::Started, &calls, &bounds()).await.unwrap();
        return began.elapsed();
    };
    let kept = owned.kept(scene, store);
    let recording = Recording::new(&kept, &given.start(&Begun { id: id(run), parent: None, steps: 0 }));
    let calls = calls.through(&recording);
    let from = DriveStart::Event(EventKind::Started);
    let driven = go_on(&mut machine, from, &calls, &bounds(), &recording).await.unwrap();
    let DriveEnd::Done(outcome) = driven.reached else { panic!("it asks nobody") };
    finish(&recording, outcome).await;
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = TempDir::new().unwrap();
    let provider = server([Reply::text("hello").delayed(ANSWERED_MS)]);
    let mut scene = Scene::new(folder.path(), &provider);
    let quick = ScriptedServer::answering(|_| Reply::raw(200, "1").delayed(ANSWERED_MS)).unwrap();
    let one = "(tool/get {:n 1})";
    let (free, act) = (Program::new(one, "effect = false", &quick), Program::new(one, "", &quick));
    let [mut asked, mut kept, mut bare, mut reading, mut acting] = [(); 5].map(|()| Vec::with_capacity(RUNS));
    let slow = ScriptedServer::answering(|_| Reply::raw(200, "1").delayed(TOOL_MS)).unwrap();
    let hundred = "(count (pmap (fn [n] (tool/get {:n n})) (range 100)))";
    let (single, many) = (Program::new(one, "effect = false", &slow), Program::new(hundred, "effect = false", &slow));
    let [mut once, mut all] = [(); 2].map(|()| Vec::with_capacity(RUNS));
    runtime.block_on(async {
        let store = scene.store().await;
        for run in 0..RUNS {
            scene.text = format!("Task {run}.");
            let name = |kind: u32| format!("{kind:x}{run:015x}");
            asked.push(model(&scene, None).await);
            kept.push(model(&scene, Some((&store, &name(1)))).await);
            bare.push(free.bare().await);
            reading.push(free.recorded(&scene, &store, &name(2)).await);
            acting.push(act.recorded(&scene, &store, &name(3)).await);
            once.push(single.recorded(&scene, &store, &name(4)).await);
            if run % 5 == 0 {
                all.push(many.recorded(&scene, &store, &name(5)).await);
            }
        }
        store.close().await;
    });
    let (asked, kept, bare) = (median(asked), median(kept), median(bare));
    let (model, base) = (kept - asked, bare);
    println!("a recorded call of a model adds {model:.0} µs to {asked:.0}");
    for (name, times) in [("without effects", reading), ("with effects", acting)] {
        let added = median(times) - base;
        println!("a recorded call of a tool {name} adds {added:.0} µs to {base:.0}: {:.2}", added / model);
    }
    let (once, all) = (median(once), median(all));
    println!("a hundred calls of a tool of {TOOL_MS} ms take {all:.0} µs, one {once:.0}: {:.1}", all / once);
}
