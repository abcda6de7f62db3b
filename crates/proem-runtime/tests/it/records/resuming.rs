//! Runs that go on in another process, and those that don't.

use std::sync::Mutex;

use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::run::{
    Effect, EffectId, EffectResult, Event, EventKind, ExchangeEnd, Machine, Outcome, Question, QuestionAnswer, Step,
    Time, check_answers,
};
use proem_engine::{Error, ErrorKind};
use proem_llm::scripted::Reply;
use proem_runtime::driver::{DriveEnd, DriveResult, DriveStart, Perform, RunBounds, go_on};
use proem_runtime::records::{
    DriveContext, Recording, RecordingContext, ResumableRun, ResumeIdentity, ResumeRequest, SealKey, resume,
};
use proem_store::Store;
use proem_store::query::RunState;
use proem_store::record::Project;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::records::scene::{Begun, Given, Scene, id, key, server};

/// A machine that asks, waits, has something done, and ends. Its state is where it is.
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
            (0, EventKind::Started) => Step::Ask(vec![Question::new("may I?", ["yes"])]),
            (1, EventKind::Answered { answers }) => {
                assert_eq!(answers, &[yes()]);
                Step::Wait { until: Time(event.now.0) }
            }
            (2, EventKind::Woken) => {
                Step::Do(vec![(EffectId(0), self.effect.clone()), (EffectId(1), self.effect.clone())])
            }
            (3, EventKind::Performed { results }) => {
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

/// The answer to what [`Small`] asks.
fn yes() -> QuestionAnswer {
    Question::new("may I?", ["yes"]).answered(0, None).unwrap()
}

/// A world that counts what it performs, and never ends if it is to hang.
#[derive(Debug, Default)]
struct Counting {
    done: Mutex<Vec<u32>>,
    hangs: bool,
}

impl Perform for Counting {
    async fn perform(&self, id: EffectId, _: &Effect, _: &CancellationToken) -> EffectResult {
        self.done.lock().unwrap().push(id.0);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        EffectResult::Failed { failure: CallFailure::new(FailureKind::Server, "it failed") }
    }
}

/// One process's part of a run: from somewhere until it ends or asks.
async fn drive_part(
    scene: &Scene,
    store: &Store,
    (machine, from, steps): (&mut Small, DriveStart, u32),
    world: &Counting,
) -> DriveResult<Vec<String>> {
    let owned = scene.owned();
    let kept = owned.kept(scene, store);
    let given = Given::new(&scene.text);
    let recording = Recording::new(&kept, &given.start(&Begun { id: id("1"), parent: None, steps }));
    let bounds = RunBounds { stop: CancellationToken::new(), time: None };
    go_on(machine, from, world, &bounds, &recording).await.unwrap()
}

async fn find_resumable(scene: &Scene, store: &Store) -> Result<ResumableRun, String> {
    let seal = SealKey::derived(&key());
    let resumed = resume(store, &seal, scene.resuming(&id("1"), ResumeIdentity::On)).await;
    resumed.map_err(|error| error.to_string())
}

/// A run that has asked, in a process that is gone.
async fn ask_once(scene: &Scene) {
    let store = scene.store().await;
    let mut machine = Small::new(scene);
    let driven =
        drive_part(scene, &store, (&mut machine, DriveStart::Event(EventKind::Started), 0), &Counting::default()).await;
    assert!(matches!(driven.reached, DriveEnd::Asked(_)));
    store.close().await;
}

#[tokio::test]
async fn a_question_outlives_its_process() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    ask_once(&scene).await;
    let store = scene.store().await;
    let before = store.run(&id("1")).await.unwrap();
    assert_eq!((before.row.state, before.resumable), (RunState::Asking, true));
    let resumed = find_resumable(&scene, &store).await.unwrap();
    assert_eq!((resumed.step, resumed.state.questions[0].text.as_str()), (1, "may I?"));
    let mut machine = Small::restore(&scene, &resumed.state.machine);
    let world = Counting::default();
    let from = resumed.onward(vec![yes()]);
    let driven = drive_part(&scene, &store, (&mut machine, from, resumed.step), &world).await;
    assert_eq!(driven.reached, DriveEnd::Done(["started", "answered", "woken"].map(str::to_owned).to_vec()));
    assert_eq!(*world.done.lock().unwrap(), [0, 1]);
}

#[tokio::test]
async fn a_wait_outlives_its_process_and_what_was_to_be_done_then_is_done_once() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    ask_once(&scene).await;
    let store = scene.store().await;
    let from = find_resumable(&scene, &store).await.unwrap();
    let mut machine = Small::restore(&scene, &from.state.machine);
    let hanging = Counting { hangs: true, ..Counting::default() };
    let onward = from.onward(vec![yes()]);
    tokio::select! {
        biased;
        _ = drive_part(&scene, &store, (&mut machine, onward, from.step), &hanging) => unreachable!("its world hangs"),
        () = async { while hanging.done.lock().unwrap().len() < 2 { tokio::task::yield_now().await; } } => {}
    }
    store.close().await;
    // The wait was written down. The effects' state would have been with their first attempt.
    let store = scene.store().await;
    let resumed = find_resumable(&scene, &store).await.unwrap();
    assert!(matches!(resumed.onward(Vec::new()), DriveStart::Until(_)));
    let mut machine = Small::restore(&scene, &resumed.state.machine);
    let world = Counting::default();
    let onward = resumed.onward(Vec::new());
    let driven = drive_part(&scene, &store, (&mut machine, onward, resumed.step), &world).await;
    assert_eq!(driven.reached, DriveEnd::Done(["started", "answered", "woken"].map(str::to_owned).to_vec()));
    assert_eq!(*world.done.lock().unwrap(), [0, 1]);
}

#[tokio::test]
async fn a_state_opens_for_its_run_rules_and_project_alone() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    ask_once(&scene).await;
    let store = scene.store().await;
    let (own, other) = (SealKey::derived(&key()), SealKey::derived(&proem_guard::InstallationKey::new([8; 32])));
    let elsewhere = Project("/home/b".to_owned());
    let refused = async |seal: &SealKey, project: &Project, policy: &str| {
        let (run, identity) = (&id("1"), ResumeIdentity::On);
        resume(&store, seal, ResumeRequest { run, identity, project, policy }).await.unwrap_err().to_string()
    };
    assert_eq!(
        refused(&own, &elsewhere, "rules").await,
        "run `1` can't be resumed: it belongs to the project `/home/a/project`; run the command there"
    );
    let unsealed = "run `1` can't be resumed: its state was saved by another installation, or for another run, prompt \
                    or version of the rules; start the run again";
    assert_eq!(refused(&own, &scene.project, "other rules").await, unsealed);
    store.close().await;
    let store = scene.store().await;
    let error = resume(&store, &other, scene.resuming(&id("1"), ResumeIdentity::On)).await.unwrap_err();
    assert_eq!(error.to_string(), unsealed);
}

#[tokio::test]
async fn a_run_that_is_alive_or_over_or_not_there_is_refused() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello"), Reply::text("hello").delayed(600_000)]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let error = find_resumable(&scene, &store).await.unwrap_err();
    assert!(error.contains("`1`"), "{error}");
    scene.run(&store, "1").await;
    let error = find_resumable(&scene, &store).await.unwrap_err();
    assert_eq!(error, "run `1` can't be resumed: it has ended (answered); start it again");
    let stop = CancellationToken::new();
    let other = scene.store().await;
    let look = async {
        while server.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        let seal = SealKey::derived(&key());
        let error = resume(&other, &seal, scene.resuming(&id("2"), ResumeIdentity::On)).await.unwrap_err();
        stop.cancel();
        error.to_string()
    };
    let (ran, error) = tokio::join!(scene.run_until(&store, "2", &stop), look);
    assert!(error.contains("alive"), "{error}");
    assert!(matches!(ran.outcome, Outcome { ended: ExchangeEnd::Failed { .. }, .. }));
}

/// The option that belongs to another question.
const OTHER: usize = 9;

/// A machine that asks three times, and ends with what was answered.
#[derive(Debug, Default)]
struct Curious {
    answers: Vec<usize>,
}

impl Curious {
    fn question(&self) -> Question {
        let number = self.answers.len();
        Question::new(format!("the key is sk-0123456789abcdef0123456789abcdef; question {number}?"), ["no", "yes"])
    }
}

impl Machine for Curious {
    type Outcome = Vec<usize>;

    fn step(&mut self, event: Event) -> Result<Step<Vec<usize>>, Error> {
        if let EventKind::Answered { answers } = &event.what {
            check_answers(&[self.question()], answers)?;
            self.answers.extend(answers.iter().filter_map(|answer| answer.option));
        }
        if self.answers.len() == 3 {
            return Ok(Step::Done(self.answers.clone()));
        }
        Ok(Step::Ask(vec![self.question()]))
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(json!(self.answers))
    }
}

/// Goes on with a run that asks, or with a fork of it, until it ends or `answers` are used up.
async fn ask_for_answers(
    scene: &Scene,
    store: &Store,
    fork: Option<&str>,
    answers: &[usize],
) -> Result<Vec<usize>, String> {
    let owned = scene.owned();
    let secrets = [proem_llm::secret::Secret::new("TEST_KEY", "sk-0123456789abcdef0123456789abcdef")];
    let kept = RecordingContext { secrets: &secrets, ..owned.kept(scene, store) };
    let given = Given::new(&scene.text);
    let way = if fork.is_some() { ResumeIdentity::Apart } else { ResumeIdentity::On };
    let bounds = RunBounds { stop: CancellationToken::new(), time: None };
    let world = Counting::default();
    let mut left = answers.iter();
    let mut ask = async |questions: &[Question]| {
        let [question] = questions else { panic!("one at a time: {questions:?}") };
        let option = left.next().copied().ok_or("nobody answers")?;
        // An answer to another question is refused, and nothing of it is written down.
        let other = Question { recipients: vec!["a@corp.com".to_owned()], ..question.clone() };
        let answered = if option == OTHER { other.answered(0, None) } else { question.answered(option, None) };
        Ok::<_, Box<dyn std::error::Error>>(vec![answered?])
    };
    if store.run(&id("1")).await.is_err() {
        let recording = Recording::new(&kept, &given.start(&Begun { id: id("1"), parent: None, steps: 0 }));
        let driven =
            go_on(&mut Curious::default(), DriveStart::Event(EventKind::Started), &world, &bounds, &recording).await;
        assert!(matches!(driven.unwrap().reached, DriveEnd::Asked(_)));
        return Err("it asks".to_owned());
    }
    let resumed = resume(store, kept.seal, scene.resuming(&id("1"), way)).await.unwrap();
    let answers = serde_json::from_value(resumed.state.machine.clone()).unwrap();
    let begun = Begun { id: id(fork.unwrap_or("1")), parent: fork.map(|_| id("1")), steps: resumed.step };
    let recording = Recording::new(&kept, &given.start(&begun));
    let context = DriveContext { world: &world, bounds: &bounds, recording: &recording };
    let ended = resumed.to_the_end(&mut Curious { answers }, context, &mut ask).await;
    ended.map_err(|error| error.to_string())
}

/// A run's questions and answers.
async fn approvals(store: &Store, run: &str) -> Vec<(String, Option<u32>)> {
    let detail = store.run(&id(run)).await.unwrap();
    detail.approvals.into_iter().map(|approval| (approval.question, approval.answer)).collect()
}

#[tokio::test]
async fn what_a_run_asks_is_answered_written_down_and_gone_on_with() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    let process = async |fork: Option<&str>, answers: &[usize]| {
        let store = scene.store().await;
        let ended = ask_for_answers(&scene, &store, fork, answers).await;
        store.close().await;
        ended
    };
    assert_eq!(process(None, &[]).await.unwrap_err(), "it asks");
    // Nobody answers: it asks as before. Somebody answers twice and gives up: two answers stay.
    for answers in [&[][..], &[1, 0][..]] {
        assert_eq!(process(None, answers).await.unwrap_err(), "nobody answers");
        let store = scene.store().await;
        let detail = store.run(&id("1")).await.unwrap();
        assert_eq!((detail.row.state, detail.resumable), (RunState::Asking, true));
        assert_eq!(approvals(&store, "1").await.len(), answers.len());
        store.close().await;
    }
    let refused = process(None, &[OTHER]).await.unwrap_err();
    assert_eq!(refused, "answer 1 was given to something else than what is asked; ask again");
    assert_eq!(process(Some("2"), &[0]).await, Ok(vec![1, 0, 0]), "a fork has answers of its own");
    assert_eq!(process(None, &[1]).await, Ok(vec![1, 0, 1]));
    let store = scene.store().await;
    let asked = |number: u32, answer| (format!("the key is [redacted:TEST_KEY]; question {number}?"), Some(answer));
    assert_eq!(approvals(&store, "2").await, [asked(2, 0)]);
    assert_eq!(approvals(&store, "1").await, [asked(0, 1), asked(1, 0), asked(2, 1)]);
    store.close().await;
}

/// A machine that calls, and then has something done that is no call.
#[derive(Debug)]
struct Then(Option<Effect>);

impl Machine for Then {
    type Outcome = ();

    fn step(&mut self, event: Event) -> Result<Step<()>, Error> {
        let other = Effect::Measure { what: "other".to_owned(), of: Json::Null };
        Ok(match (&event.what, self.0.take()) {
            (EventKind::Started, Some(call)) => {
                self.0 = Some(other);
                Step::Do(vec![(EffectId(0), call)])
            }
            (_, Some(other)) => Step::Do(vec![(EffectId(1), other)]),
            (_, None) => Step::Done(()),
        })
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(Json::Null)
    }
}

/// Calls with a caller. Anything else looks at what is recorded.
struct Looking<'l, C> {
    calls: &'l C,
    store: &'l Store,
    seen: Mutex<Vec<String>>,
}

impl<C: Perform + Sync> Perform for Looking<'_, C> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        if matches!(effect, Effect::Call { .. }) {
            return self.calls.perform(id, effect, stop).await;
        }
        let seen =
            crate::records::scene::attempt_lines(&self.store.run(&crate::records::scene::id("1")).await.unwrap());
        *self.seen.lock().unwrap() = seen;
        EffectResult::Failed { failure: CallFailure::new(FailureKind::Server, "it failed") }
    }
}

#[tokio::test]
async fn an_answer_is_on_the_disk_before_something_else_is_done() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let owned = scene.owned();
    let kept = owned.kept(&scene, &store);
    let given = Given::new(&scene.text);
    let recording = Recording::new(&kept, &given.start(&Begun { id: id("1"), parent: None, steps: 0 }));
    let (caller, directory) = (scene.caller(), scene.directory());
    let calls = proem_runtime::driver::CallPerformer::new(&caller, &directory, 1).through(&recording);
    let world = Looking { calls: &calls, store: &store, seen: Mutex::default() };
    let mut machine = Then(Some(Effect::Call { request: Box::new(scene.request()) }));
    let bounds = RunBounds { stop: CancellationToken::new(), time: None };
    go_on(&mut machine, DriveStart::Event(EventKind::Started), &world, &bounds, &recording).await.unwrap();
    let seen = world.seen.into_inner().unwrap();
    assert!(matches!(seen.as_slice(), [attempt] if attempt.starts_with("0.0 reported ")), "{seen:?}");
    assert_eq!(store.run(&id("1")).await.unwrap().calls.len(), 1, "what is no call is no call's line");
}
