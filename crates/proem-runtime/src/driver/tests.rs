use std::sync::Mutex;

use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::{Error, ErrorKind};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

/// A machine that asks for as many effects as its script says, waits, asks, and keeps what came.
#[derive(Debug, Clone)]
struct Scripted {
    script: Vec<Stage>,
    seen: Vec<String>,
    effects: u32,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Do(u32),
    Wait(i64),
    Ask,
}

impl Scripted {
    fn new(script: &[Stage]) -> Self {
        Self { script: script.iter().rev().copied().collect(), seen: Vec::new(), effects: 0 }
    }
}

fn a_call() -> Effect {
    let assembly = proem_engine::assembly::Assembly {
        prompt: proem_engine::assembly::PromptId {
            agent: "a".into(),
            name: "b".into(),
            version: "1.0.0".into(),
            closure: String::new(),
        },
        sections: Vec::new(),
        boundaries: Vec::new(),
        output_tokens: 1,
    };
    Effect::Call {
        request: Box::new(proem_engine::call::Request {
            model: "m".into(),
            assembly,
            answer: proem_engine::call::AnswerForm::Text,
            sampling: Default::default(),
            arrival: proem_engine::call::Arrival::Whole,
            way: None,
            inquiry: None,
        }),
    }
}

impl Machine for Scripted {
    type Outcome = Vec<String>;

    fn step(&mut self, event: Event) -> Result<Step<Self::Outcome>, Error> {
        match event.what {
            EventKind::Performed { results } => {
                for (id, performed) in results {
                    let EffectResult::Failed { failure } = performed else { continue };
                    self.seen.push(format!("{}:{}", id.0, failure.message));
                }
            }
            EventKind::Cancelled { why } => {
                self.seen.push(format!("{why:?}"));
                return Ok(Step::Done(self.seen.clone()));
            }
            EventKind::Woken => self.seen.push("woken".into()),
            EventKind::Started => self.seen.push("started".into()),
            EventKind::Answered { .. } => return Err(Error::new(ErrorKind::OutOfStep, "nothing was asked")),
        }
        Ok(match self.script.pop() {
            None => Step::Done(self.seen.clone()),
            Some(Stage::Do(count)) => {
                let first = self.effects;
                self.effects += count;
                Step::Do((first..self.effects).map(|id| (EffectId(id), a_call())).collect())
            }
            Some(Stage::Wait(millis)) => Step::Wait { until: Time(event.now.0 + millis) },
            Some(Stage::Ask) => Step::Ask(vec![Question::new("go on?", ["yes"])]),
        })
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(json!(self.seen))
    }
}

/// A world where each effect takes as long as it is told, by its id.
#[derive(Debug, Default)]
struct Delayed {
    millis: Vec<u64>,
    done: Mutex<Vec<u32>>,
}

impl Perform for Delayed {
    async fn perform(&self, id: EffectId, _: &Effect, stop: &CancellationToken) -> EffectResult {
        let millis = self.millis.get(id.0 as usize).copied().unwrap_or(0);
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(millis)) => {}
        }
        self.done.lock().unwrap().push(id.0);
        EffectResult::Failed { failure: CallFailure::new(FailureKind::Server, format!("effect {}", id.0)) }
    }
}

/// Runs on a clock that jumps as soon as all wait.
fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(work)
}

fn bounds(time: Option<Duration>) -> RunBounds {
    RunBounds { stop: CancellationToken::new(), time }
}

/// The end of a machine.
fn done(driven: DriveResult<Vec<String>>) -> Vec<String> {
    match driven.reached {
        DriveEnd::Done(seen) => seen,
        DriveEnd::Asked(questions) => panic!("it asked {questions:?}"),
    }
}

proptest! {
    #[test]
    fn completions_in_any_order_give_the_same_run(delays in proptest::collection::vec(0u64..1000, 6)) {
        let script = [Stage::Do(3), Stage::Wait(5), Stage::Do(2), Stage::Do(1)];
        let world = Delayed { millis: delays, ..Delayed::default() };
        let seen = run(drive(&mut Scripted::new(&script), EventKind::Started, &world, &bounds(None))).unwrap();
        let expected = ["started", "0:effect 0", "1:effect 1", "2:effect 2", "woken", "3:effect 3", "4:effect 4", "5:effect 5"];
        prop_assert_eq!(done(seen), expected);
    }

    #[test]
    fn a_transcript_replays_to_the_same_end(delays in proptest::collection::vec(0u64..1000, 6)) {
        let script = [Stage::Do(3), Stage::Wait(5), Stage::Do(2)];
        let world = Delayed { millis: delays, ..Delayed::default() };
        let driven = run(drive(&mut Scripted::new(&script), EventKind::Started, &world, &bounds(None))).unwrap();
        let mut again = Scripted::new(&script);
        let mut last = None;
        for event in driven.transcript.clone() {
            // A written event reads back as the same event.
            let written = serde_json::to_value(&event).unwrap();
            let read: Event = serde_json::from_value(written).unwrap();
            prop_assert_eq!(&read, &event);
            last = Some(again.step(read).unwrap());
        }
        prop_assert_eq!(last, Some(Step::Done(done(driven))));
    }
}

#[test]
fn effects_of_one_step_are_performed_together() {
    let world = Delayed { millis: vec![300, 200, 100], ..Delayed::default() };
    run(drive(&mut Scripted::new(&[Stage::Do(3)]), EventKind::Started, &world, &bounds(None))).unwrap();
    assert_eq!(*world.done.lock().unwrap(), [2, 1, 0]);
}

#[test]
fn the_deadline_ends_a_run_that_is_told_once() {
    let world = Delayed { millis: vec![10_000], ..Delayed::default() };
    let limited = bounds(Some(Duration::from_millis(50)));
    let driven = run(drive(&mut Scripted::new(&[Stage::Do(1)]), EventKind::Started, &world, &limited)).unwrap();
    assert_eq!(done(driven), ["started", "Deadline"]);
    let driven = run(drive(&mut Scripted::new(&[Stage::Wait(90_000)]), EventKind::Started, &world, &limited)).unwrap();
    assert_eq!(done(driven), ["started", "Deadline"]);
}

#[test]
fn a_caller_who_gives_up_is_heard() {
    let world = Delayed { millis: vec![10_000], ..Delayed::default() };
    let limits = bounds(None);
    let stop = limits.stop.clone();
    let driven = run(async {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            stop.cancel();
        });
        drive(&mut Scripted::new(&[Stage::Do(1)]), EventKind::Started, &world, &limits).await
    });
    assert_eq!(done(driven.unwrap()), ["started", "Asked"]);
}

#[test]
fn questions_go_to_the_caller() {
    let driven =
        run(drive(&mut Scripted::new(&[Stage::Ask]), EventKind::Started, &Delayed::default(), &bounds(None))).unwrap();
    assert!(matches!(driven.reached, DriveEnd::Asked(questions) if questions[0].text == "go on?"));
}

/// A machine that asks for more when it is given up.
#[derive(Debug, Default)]
struct Stubborn {
    asked: u32,
}

impl Machine for Stubborn {
    type Outcome = u32;

    fn step(&mut self, event: Event) -> Result<Step<u32>, Error> {
        if matches!(event.what, EventKind::Performed { .. }) {
            return Ok(Step::Done(self.asked));
        }
        self.asked += 1;
        Ok(Step::Do(vec![(EffectId(self.asked), a_call())]))
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(json!(self.asked))
    }
}

#[test]
fn a_run_that_asks_for_more_after_its_time_gets_no_more_of_it() {
    let world = Delayed { millis: vec![600_000; 3], ..Delayed::default() };
    let limited = bounds(Some(Duration::from_millis(50)));
    let (driven, took) = run(async {
        let began = Instant::now();
        let driven = drive(&mut Stubborn::default(), EventKind::Started, &world, &limited).await;
        (driven.unwrap(), began.elapsed())
    });
    assert_eq!(driven.reached, DriveEnd::Done(2));
    assert_eq!(took.as_secs(), 0, "nothing is waited for on the clock that jumps");
}

/// A journal that writes down what it is told, and fails at one of the lines.
#[derive(Debug, Default)]
struct Book {
    lines: Mutex<Vec<String>>,
    fails_at: Option<&'static str>,
}

impl Book {
    fn note(&self, line: String) -> Result<(), Error> {
        let fails = self.fails_at.is_some_and(|start| line.starts_with(start));
        self.lines.lock().unwrap().push(line);
        if fails { Err(Error::new(ErrorKind::Render, "the disk is full")) } else { Ok(()) }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Journal for Book {
    fn stepped(&self, event: &Event) {
        let what = serde_json::to_value(&event.what).unwrap();
        self.note(format!("took {}", what["kind"].as_str().unwrap())).unwrap();
    }

    async fn intends(
        &self,
        state: &(dyn Fn() -> Result<Json, Error> + Sync),
        effects: &[(EffectId, Effect)],
    ) -> Result<(), Error> {
        let ids: Vec<u32> = effects.iter().map(|(id, _)| id.0).collect();
        self.note(format!("intends {ids:?} from {}", state()?))
    }

    async fn pauses(
        &self,
        state: &(dyn Fn() -> Result<Json, Error> + Sync),
        pausing: PauseReason<'_>,
    ) -> Result<(), Error> {
        let state = state()?;
        match pausing {
            PauseReason::Asks(questions) => self.note(format!("asks {} from {state}", questions[0].text)),
            PauseReason::Waits { .. } => self.note(format!("waits from {state}")),
        }
    }
}

#[test]
fn a_journal_is_told_before_anything_is_done() {
    let (world, book) = (Delayed::default(), Book::default());
    let mut machine = Scripted::new(&[Stage::Do(2), Stage::Wait(5), Stage::Ask]);
    let from = DriveStart::Event(EventKind::Started);
    run(go_on(&mut machine, from, &world, &bounds(None), &book)).unwrap();
    assert_eq!(
        book.lines(),
        [
            "took started",
            r#"intends [0, 1] from ["started"]"#,
            "took performed",
            r#"waits from ["started","0:effect 0","1:effect 1"]"#,
            "took woken",
            r#"asks go on? from ["started","0:effect 0","1:effect 1","woken"]"#,
        ]
    );
}

#[test]
fn what_cannot_be_written_down_is_not_done() {
    for (start, script) in [("intends", Stage::Do(1)), ("waits", Stage::Wait(90_000)), ("asks", Stage::Ask)] {
        let (world, book) = (Delayed::default(), Book { fails_at: Some(start), ..Book::default() });
        let mut machine = Scripted::new(&[script]);
        let from = DriveStart::Event(EventKind::Started);
        let error = run(go_on(&mut machine, from, &world, &bounds(None), &book)).unwrap_err();
        assert_eq!(error.to_string(), "the disk is full", "{start}");
        assert!(world.done.lock().unwrap().is_empty(), "{start}");
    }
}

#[test]
fn a_run_goes_on_by_what_it_waits_for() {
    let go_on_from = |from: DriveStart| {
        let (world, book) = (Delayed::default(), Book::default());
        let mut machine = Scripted { effects: 3, ..Scripted::new(&[]) };
        let driven = run(go_on(&mut machine, from, &world, &bounds(None), &book)).unwrap();
        (done(driven), book.lines())
    };
    let (seen, lines) = go_on_from(DriveStart::Effects(vec![(EffectId(1), a_call()), (EffectId(2), a_call())]));
    assert_eq!(seen, ["1:effect 1", "2:effect 2"]);
    assert_eq!(lines, ["intends [1, 2] from []", "took performed"]);
    let (seen, lines) = go_on_from(DriveStart::Until(Time(0)));
    assert_eq!(seen, ["woken"]);
    assert_eq!(lines, ["waits from []", "took woken"]);
}
