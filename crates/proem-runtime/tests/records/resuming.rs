//! Runs that go on in another process, and those that don't.

use std::sync::Mutex;

use proem_engine::call::{Failure, FailureKind};
use proem_engine::run::{
    Answer, Effect, EffectId, Ended, Event, Machine, Outcome, Performed, Question, Step, Time, What,
};
use proem_engine::{Error, ErrorKind};
use proem_llm::scripted::Reply;
use proem_runtime::driver::{Bounds, Driven, Onward, Perform, Reached, go_on};
use proem_runtime::records::{Going, Kept, Recording, Resumed, SealKey, resume};
use proem_store::Store;
use proem_store::query::RunState;
use proem_store::record::Project;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::scene::{Begun, Given, Scene, actor, id, key, server};

/// A machine that asks, waits, has something done, and ends; its state is where it is.
#[derive(Debug, Clone, PartialEq)]
struct Small {
    seen: Vec<String>,
    effect: Effect,
}

impl Small {
    fn new(scene: &Scene) -> Self {
        Self { seen: Vec::new(), effect: Effect::Call { request: Box::new(scene.request()) } }
    }

    fn restore(scene: &Scene, state: &Json) -> Self {
        Self { seen: serde_json::from_value(state.clone()).unwrap(), ..Self::new(scene) }
    }
}

impl Machine for Small {
    type Outcome = Vec<String>;

    fn step(&mut self, event: Event) -> Result<Step<Vec<String>>, Error> {
        let step = match (self.seen.len(), &event.what) {
            (0, What::Started) => {
                Step::Ask(vec![Question { text: "may I?".to_owned(), options: vec!["yes".to_owned()] }])
            }
            (1, What::Answered { answers }) => {
                assert_eq!(answers, &[Answer { option: Some(0) }]);
                Step::Wait { until: Time(event.now.0) }
            }
            (2, What::Woken) => Step::Do(vec![(EffectId(0), self.effect.clone()), (EffectId(1), self.effect.clone())]),
            (3, What::Performed { results }) => {
                assert_eq!(results.len(), 2);
                Step::Done(self.seen.clone())
            }
            (seen, what) => return Err(Error::new(ErrorKind::OutOfStep, format!("{what:?} after {seen}"))),
        };
        let what = serde_json::to_value(&event.what).unwrap();
        self.seen.push(what["kind"].as_str().unwrap().to_owned());
        Ok(step)
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(json!(self.seen))
    }
}

/// A world that counts what it performs, and never ends if it is to hang.
#[derive(Debug, Default)]
struct Counting {
    done: Mutex<Vec<u32>>,
    hangs: bool,
}

impl Perform for Counting {
    async fn perform(&self, id: EffectId, _: &Effect, _: &CancellationToken) -> Performed {
        self.done.lock().unwrap().push(id.0);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Performed::Failed { failure: Failure::new(FailureKind::Server, "it failed") }
    }
}

/// One process's part of a run: from somewhere until it ends or asks.
async fn part(
    scene: &Scene,
    store: &Store,
    (machine, from, steps): (&mut Small, Onward, u32),
    world: &Counting,
) -> Driven<Vec<String>> {
    let (seal, ledger, actor) = (SealKey::derived(&key()), scene.ledger(), actor());
    let kept = Kept {
        store,
        seal: &seal,
        keeping: scene.keeping,
        ledger: &ledger,
        secrets: &[],
        project: &scene.project,
        actor: &actor,
    };
    let given = Given::new(&scene.text);
    let recording = Recording::new(&kept, &given.start(&Begun { id: id("1"), parent: None, steps }));
    let bounds = Bounds { stop: CancellationToken::new(), time: None };
    go_on(machine, from, world, &bounds, &recording).await.unwrap()
}

async fn resumed(scene: &Scene, store: &Store) -> Result<Resumed, String> {
    let seal = SealKey::derived(&key());
    resume(store, &seal, &scene.project, (&id("1"), Going::On), "rules").await.map_err(|error| error.to_string())
}

/// A run that has asked, in a process that is gone.
async fn asked(scene: &Scene) {
    let store = scene.store().await;
    let mut machine = Small::new(scene);
    let driven = part(scene, &store, (&mut machine, Onward::Event(What::Started), 0), &Counting::default()).await;
    assert!(matches!(driven.reached, Reached::Asked(_)));
    store.close().await;
}

#[tokio::test]
async fn a_question_outlives_its_process() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    asked(&scene).await;
    let store = scene.store().await;
    let before = store.run(&id("1")).await.unwrap();
    assert_eq!((before.row.state, before.resumable), (RunState::Asking, true));
    let resumed = resumed(&scene, &store).await.unwrap();
    assert_eq!((resumed.step, resumed.state.questions[0].text.as_str()), (1, "may I?"));
    let mut machine = Small::restore(&scene, &resumed.state.machine);
    let world = Counting::default();
    let from = resumed.onward(vec![Answer { option: Some(0) }]);
    let driven = part(&scene, &store, (&mut machine, from, resumed.step), &world).await;
    assert_eq!(driven.reached, Reached::Done(["started", "answered", "woken"].map(str::to_owned).to_vec()));
    assert_eq!(*world.done.lock().unwrap(), [0, 1]);
}

#[tokio::test]
async fn a_wait_outlives_its_process_and_what_was_to_be_done_then_is_done_once() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    asked(&scene).await;
    let store = scene.store().await;
    let from = resumed(&scene, &store).await.unwrap();
    let mut machine = Small::restore(&scene, &from.state.machine);
    let hanging = Counting { hangs: true, ..Counting::default() };
    let onward = from.onward(vec![Answer { option: Some(0) }]);
    tokio::select! {
        biased;
        _ = part(&scene, &store, (&mut machine, onward, from.step), &hanging) => unreachable!("its world hangs"),
        () = async { while hanging.done.lock().unwrap().len() < 2 { tokio::task::yield_now().await; } } => {}
    }
    store.close().await;
    // The wait was written down; the effects' state would have been with their first attempt.
    let store = scene.store().await;
    let resumed = resumed(&scene, &store).await.unwrap();
    assert!(matches!(resumed.onward(Vec::new()), Onward::Until(_)));
    let mut machine = Small::restore(&scene, &resumed.state.machine);
    let world = Counting::default();
    let onward = resumed.onward(Vec::new());
    let driven = part(&scene, &store, (&mut machine, onward, resumed.step), &world).await;
    assert_eq!(driven.reached, Reached::Done(["started", "answered", "woken"].map(str::to_owned).to_vec()));
    assert_eq!(*world.done.lock().unwrap(), [0, 1]);
}

#[tokio::test]
async fn a_state_opens_for_its_run_rules_and_project_alone() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    asked(&scene).await;
    let store = scene.store().await;
    let (own, other) = (SealKey::derived(&key()), SealKey::derived(&proem_guard::Key::new([8; 32])));
    let elsewhere = Project("/home/b".to_owned());
    let refused = async |seal: &SealKey, project: &Project, policy: &str| {
        resume(&store, seal, project, (&id("1"), Going::On), policy).await.unwrap_err().to_string()
    };
    assert_eq!(
        refused(&own, &elsewhere, "rules").await,
        "run `1` can't be resumed: it belongs to the project `/home/a/project`; go there"
    );
    let unsealed = "run `1` can't be resumed: its state was not sealed by this installation for this run, its prompt \
                    and the rules of today; start it anew";
    assert_eq!(refused(&own, &scene.project, "other rules").await, unsealed);
    store.close().await;
    let store = scene.store().await;
    let error = resume(&store, &other, &scene.project, (&id("1"), Going::On), "rules").await.unwrap_err();
    assert_eq!(error.to_string(), unsealed);
}

#[tokio::test]
async fn a_run_that_is_alive_or_over_or_not_there_is_refused() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello"), Reply::text("hello").delayed(600_000)]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let error = resumed(&scene, &store).await.unwrap_err();
    assert!(error.contains("`1`"), "{error}");
    scene.run(&store, "1").await;
    let error = resumed(&scene, &store).await.unwrap_err();
    assert_eq!(error, "run `1` can't be resumed: it has ended (answered); start it anew");
    let stop = CancellationToken::new();
    let other = scene.store().await;
    let look = async {
        while server.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        let seal = SealKey::derived(&key());
        let error =
            resume(&other, &seal, &scene.project, (&id("2"), Going::On), "rules").await.unwrap_err().to_string();
        stop.cancel();
        error
    };
    let (ran, error) = tokio::join!(scene.run_until(&store, "2", &stop), look);
    assert!(error.contains("alive"), "{error}");
    assert!(matches!(ran.outcome, Outcome { ended: Ended::Failed { .. }, .. }));
}
