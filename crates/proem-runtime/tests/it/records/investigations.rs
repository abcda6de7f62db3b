//! Investigations: runs of several prompts, which measure between their calls. Ended anywhere they go on, and
//! their records replay to the same bytes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use proem_agents::book::embedded_book;
use proem_agents::risk::evidence::Yardsticks;
use proem_agents::risk::investigation::{
    DECISION, Investigation, InvestigationEnd, InvestigationLimits, InvestigationPrompt, InvestigationTerms, SYNTHESIS,
    Subject,
};
use proem_agents::screen::Screening;
use proem_engine::contract::AnswerContract;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::Model;
use proem_engine::run::{Effect, EffectId, EffectResult, EventKind, Outcome};
use proem_engine::tokens::OpenAi;
use proem_guard::{Guard, InstallationKey, Policy};
use proem_llm::caller::wall_clock;
use proem_llm::scripted::Reply;
use proem_risk::assess::{Assessment, ChangeScore, FileAssessment, Investigate};
use proem_risk::change::FileStatus;
use proem_risk::level::{Level, LevelRules};
use proem_risk::metric::{Metric, MetricName, Signal};
use proem_risk::path::{FileRole, PathClass};
use proem_runtime::driver::{CallPerformer, DriveEnd, DriveStart, Perform, RunBounds, go_on};
use proem_runtime::records::{Recording, ReplayMeans, ResumeIdentity, RunEnd, Start, replay, resume};
use proem_store::Store;
use proem_store::record::Numbers;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::records::scene::{MODEL, Scene, attempt_lines, id, key, server};

/// The terms of an investigation.
struct Bench {
    decision: (Prompt, AnswerContract),
    synthesis: (Prompt, AnswerContract),
    guard: (Guard, Policy),
    model: Model,
    key: InstallationKey,
}

impl Bench {
    fn new(scene: &Scene) -> Self {
        let book = Book::new(vec![embedded_book()]).unwrap();
        let load = |name: &str| {
            let prompt = book.prompt(name, None).unwrap();
            let contract = prompt.contract().unwrap();
            (prompt, contract)
        };
        let guard = (Guard::shipped(&[]).unwrap(), Policy::shipped().unwrap());
        Self { decision: load(DECISION), synthesis: load(SYNTHESIS), guard, model: scene.model(), key: key() }
    }

    fn terms(&self) -> InvestigationTerms<'_> {
        InvestigationTerms {
            decision: InvestigationPrompt { prompt: &self.decision.0, contract: &self.decision.1, profile: None },
            synthesis: InvestigationPrompt { prompt: &self.synthesis.0, contract: &self.synthesis.1, profile: None },
            model: &self.model,
            key: &self.key,
            screening: Screening { guard: &self.guard.0, policy: &self.guard.1 },
            counter: &OpenAi::O200k,
            limits: InvestigationLimits::default(),
        }
    }

    fn start<'s>(&'s self, given: &'s Given, (steps, fork): (u32, Option<&str>)) -> Start<'s> {
        Start {
            id: id(fork.unwrap_or("1")),
            parent: fork.map(|_| id("1")),
            kind: "risk",
            prompt: &self.synthesis.0.id,
            role: "small",
            model: MODEL,
            endpoint: "test",
            line: None,
            files: &given.files,
            inputs: &given.inputs,
            settings: &Json::Null,
            policy: "rules",
            profiles: None,
            report: None,
            monolithic_tokens: None,
            steps,
        }
    }
}

/// The texts that a start refers to.
struct Given {
    files: BTreeMap<String, String>,
    inputs: OrderedJson,
}

impl Given {
    fn new() -> Self {
        Self { files: BTreeMap::new(), inputs: serde_json::to_value(subject()).unwrap().into() }
    }
}

/// A change of one file that fifteen others import.
fn subject() -> Subject {
    let file = FileAssessment {
        index: 0,
        path: "src/auth.py".to_owned(),
        class: PathClass { language: None, role: FileRole::Code, sensitive: None, framework: None },
        lines: Some(250),
        status: FileStatus::Modified,
        level: Level::Low,
        reasons: Vec::new(),
        metrics: Vec::new(),
    };
    let assessment = Assessment {
        level: Level::Low,
        rules: LevelRules::RankOrSeed,
        reasons: Vec::new(),
        confidence: None,
        score: ChangeScore { scored: None, rank: None, recent: None, between: None, signal: Signal::Low },
        metrics: Vec::new(),
        files: vec![file],
        partners: Vec::new(),
        more_partners: 0,
        found: proem_risk::finding::Found::default(),
        investigate: Investigate::NothingThatRuns,
        gaps: Vec::new(),
        calibration_error: 0.05,
    };
    let coupling = Metric { signal: Signal::High, ..Metric::of(MetricName::Coupling, 15.0) };
    Subject {
        assessment: assessment.with(0, coupling),
        subject: "Go".to_owned(),
        paths: vec!["src/auth.py".to_owned()],
        yardsticks: Some(Yardsticks::shipped().unwrap()),
        diff: None,
    }
}

/// The answers of an investigation that measures once and ends.
fn answers() -> Vec<Reply> {
    let target = json!({ "metric_name": "ownership_churn", "file_path": "src/auth.py" });
    let decision = json!({ "action": "CALCULATE_METRIC", "reasoning": "The owner matters here.", "target": target });
    let synthesis = json!({
        "risk_level": "HIGH",
        "confidence": 0.7,
        "key_evidence": [{ "evidence": "E1", "text": "It is used widely" }],
        "recommendations": ["Test the renewal in the last second"],
        "reasoning": "Wide use makes a mistake travel far.",
    });
    vec![Reply::value(decision), Reply::value(synthesis)]
}

/// Calls for what is a call. Anything else is measured, or never is.
struct Measuring<C> {
    calls: C,
    hangs: bool,
    reached: AtomicBool,
}

impl<C> Measuring<C> {
    const fn new(calls: C, hangs: bool) -> Self {
        Self { calls, hangs, reached: AtomicBool::new(false) }
    }
}

impl<C: Perform + Sync> Perform for Measuring<C> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        if matches!(effect, Effect::Call { .. }) {
            return self.calls.perform(id, effect, stop).await;
        }
        self.reached.store(true, Ordering::SeqCst);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let owner = Metric { signal: Signal::High, ..Metric::of(MetricName::OwnershipChurn, 14.0) };
        EffectResult::Measured { value: serde_json::to_value(owner).unwrap() }
    }
}

/// The place at which a process ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    /// While so many answers are thought about.
    Answer(usize),
    /// While something is measured.
    Measuring,
    /// At the run's end.
    End,
}

/// The record of an investigation's outcome.
fn as_kept(investigated: &InvestigationEnd) -> Outcome {
    investigated.outcome().unwrap()
}

/// One process's part of an investigation, in a store of its own: until its end, or until it is killed.
async fn process(scene: &Scene, asked: impl Fn() -> usize, at: At, fork: Option<&str>) -> Option<InvestigationEnd> {
    let store = scene.store().await;
    let owned = scene.owned();
    let kept = owned.kept(scene, &store);
    let (bench, given) = (Bench::new(scene), Given::new());
    let going = if fork.is_some() { ResumeIdentity::Apart } else { ResumeIdentity::On };
    let resumed = match store.run(&id("1")).await {
        Ok(_) => Some(resume(&store, kept.seal, scene.resuming(&id("1"), going)).await.unwrap()),
        Err(_) => None,
    };
    let steps = resumed.as_ref().map_or(0, |resumed| resumed.step);
    let recording = Recording::new(&kept, &bench.start(&given, (steps, fork)));
    let (caller, directory) = (scene.caller(), scene.directory());
    let calls = CallPerformer::new(&caller, &directory, 1).through(&recording);
    let world = Measuring::new(calls, at == At::Measuring);
    let bounds = RunBounds { stop: CancellationToken::new(), time: None };
    let killed = async {
        let is_there = || match at {
            At::Answer(answers) => asked() >= answers,
            At::Measuring => world.reached.load(Ordering::SeqCst),
            At::End => false,
        };
        while !is_there() {
            tokio::task::yield_now().await;
        }
    };
    let driven = async {
        match &resumed {
            None => {
                let mut machine = Investigation::new(bench.terms(), subject());
                let from = DriveStart::Event(EventKind::Started);
                go_on(&mut machine, from, &world, &bounds, &recording).await.unwrap().reached
            }
            Some(resumed) => {
                let mut machine = Investigation::restore(bench.terms(), &resumed.state.machine).unwrap();
                let world = resumed.remembering(&world);
                go_on(&mut machine, resumed.onward(Vec::new()), &world, &bounds, &recording).await.unwrap().reached
            }
        }
    };
    let ended = tokio::select! {
        () = killed => None,
        reached = driven => match reached {
            DriveEnd::Done(investigated) => Some(investigated),
            DriveEnd::Asked(_) => panic!("an investigation asks nobody"),
        },
    };
    if let Some(investigated) = &ended {
        let outcome = as_kept(investigated);
        let numbers = Numbers::default();
        recording.finish(RunEnd { at: wall_clock(), outcome, assembly: None, numbers, evaluations: Vec::new() }).await;
        assert_eq!(recording.trouble(), None);
    }
    store.close().await;
    ended
}

async fn replayed(scene: &Scene, store: &Store, run: &str) -> proem_runtime::records::ReplayReport {
    let bench = Bench::new(scene);
    let mut machine = Investigation::new(bench.terms(), subject());
    let detail = store.run(&id(run)).await.unwrap();
    replay(store, &detail, ReplayMeans::of_models(&[&bench.model]), &mut machine, as_kept).await.unwrap()
}

#[tokio::test]
async fn an_investigation_ended_anywhere_repeats_at_most_what_was_under_way() {
    let late = || Reply::text("").delayed(600_000);
    let [decision, synthesis] = <[Reply; 2]>::try_from(answers()).unwrap();
    let whole = {
        let folder = TempDir::new().unwrap();
        let server = server(answers());
        let scene = Scene::new(folder.path(), &server);
        process(&scene, || 0, At::End, None).await.unwrap()
    };
    assert!(whole.synthesis.is_some(), "{:?}", whole.notes);
    let lost = "0.0 unknown";
    for (at, replies, booked) in [
        (At::Answer(1), vec![late(), decision.clone(), synthesis.clone()], vec![lost, "0.1 reported", "2.0 reported"]),
        (At::Measuring, answers(), vec!["0.0 reported", "2.0 reported"]),
        (At::Answer(2), vec![decision, late(), synthesis], vec!["0.0 reported", "2.0 unknown", "2.1 reported"]),
    ] {
        let folder = TempDir::new().unwrap();
        let server = server(replies);
        let scene = Scene::new(folder.path(), &server);
        let asked = || server.requests().len();
        assert_eq!(process(&scene, asked, at, None).await, None, "{at:?}");
        let ended = process(&scene, asked, At::End, None).await.unwrap();
        let told = |ended: &InvestigationEnd| {
            let InvestigationEnd { assessment, synthesis, hops, notes, .. } = ended.clone();
            (assessment, synthesis, hops, notes)
        };
        assert_eq!(told(&ended), told(&whole), "{at:?}");
        let store = scene.store().await;
        let detail = store.run(&id("1")).await.unwrap();
        let states: Vec<String> =
            attempt_lines(&detail).iter().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect();
        assert_eq!(states, booked, "{at:?}");
        assert_eq!(asked(), booked.len(), "{at:?}");
        assert_eq!(accounts(&store, "1").await, [DECISION, SYNTHESIS], "{at:?}");
        let replayed = replayed(&scene, &store, "1").await;
        assert_eq!((replayed.difference, replayed.calls), (None, 2), "{at:?}");
    }
}

/// Of which prompt the recorded account of each call is.
async fn accounts(store: &Store, run: &str) -> Vec<String> {
    let calls = store.run(&id(run)).await.unwrap().calls;
    let hashes: Vec<String> = calls.into_iter().map(|call| call.report).collect();
    let contents = store.contents(&hashes).await.unwrap();
    let account = |hash: &String| serde_json::from_slice::<Json>(&contents[hash]).unwrap();
    hashes.iter().map(|hash| account(hash)["prompt"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_fork_of_an_investigation_replays_with_what_went_before_it() {
    let folder = TempDir::new().unwrap();
    let server = server(answers());
    let scene = Scene::new(folder.path(), &server);
    let asked = || server.requests().len();
    assert_eq!(process(&scene, asked, At::Measuring, None).await, None);
    assert!(process(&scene, asked, At::End, Some("2")).await.is_some());
    let store = scene.store().await;
    let replayed = replayed(&scene, &store, "2").await;
    assert_eq!((replayed.difference, replayed.calls, asked()), (None, 2, 2));
    assert_eq!(store.run(&id("2")).await.unwrap().row.parent, Some(id("1")));
    assert_eq!(accounts(&store, "2").await, [SYNTHESIS]);
}

#[tokio::test]
async fn another_subject_is_the_first_difference() {
    let folder = TempDir::new().unwrap();
    let server = server(answers());
    let scene = Scene::new(folder.path(), &server);
    process(&scene, || 0, At::End, None).await.unwrap();
    let store = scene.store().await;
    let bench = Bench::new(&scene);
    let detail = store.run(&id("1")).await.unwrap();
    let other = Subject { subject: "Stop".to_owned(), ..subject() };
    let mut machine = Investigation::new(bench.terms(), other);
    let replayed =
        replay(&store, &detail, ReplayMeans::of_models(&[&bench.model]), &mut machine, as_kept).await.unwrap();
    let difference = replayed.difference.unwrap();
    assert_eq!((difference.call, difference.what.as_str()), (0, "section message"), "{difference:?}");
}
