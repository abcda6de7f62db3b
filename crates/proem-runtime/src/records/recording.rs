//! One run that is kept.
//!
//! Invariants: what is in one transaction is complete of itself — a run's line comes with or before everything that
//! refers to it. An attempt that was booked is settled, by us or when this process is gone. A store that fails after
//! something was sent takes no answer from anybody.

mod clean;
mod passing;
mod rows;
mod terms;
pub(super) mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use proem_engine::ErrorKind;
use proem_engine::run::{Effect, EffectId, EffectResult, Event, EventKind, Question, QuestionAnswer, Time};
use proem_llm::caller::wall_clock;
use proem_store::record::{
    Evaluation, HashedContent, NewApproval, NewRun, NewStep, Numbers, RunCaller, RunFinish, RunId, RunOutcome,
    Settlement, Snapshot, StatePart,
};
use proem_store::{Pause, Unusable};
use serde_json::Value as Json;

use self::clean::Cleaner;
use self::passing::{AttemptKey, Pass};
use self::rows::{CallContext, SendState};
pub use self::terms::{Ledger, RecordDepth, RecordingContext, Start};
pub use self::tools::ToolReport;
use super::folded_state::{FoldedState, Waits, part_policy};
use super::sealed_states::{SealBinding, seal};
use crate::driver::{Journal, PauseReason};

/// One run that is kept: the driver's journal and the caller's gate.
///
/// The driver's notes are held until the first attempt of a call passes the gate. Then all of them are written with the
/// attempt's booking, in one transaction.
#[derive(Debug)]
pub struct Recording<'k> {
    kept: &'k RecordingContext<'k>,
    id: RunId,
    closure: String,
    policy: String,
    resumed: bool,
    cleaner: Cleaner<'k>,
    common: CallContext,
    counter: String,
    held: Mutex<PendingRecords>,
}

/// The unwritten part, and the written part of the run.
#[derive(Debug)]
struct PendingRecords {
    begins: Option<Box<NewRun>>,
    steps: Vec<NewStep>,
    /// The next event's place.
    next: u32,
    snapshot: Option<Snapshot>,
    /// The parts of states that the store has, by name.
    parts: BTreeSet<String>,
    /// How many bytes of states were sealed.
    state_bytes: usize,
    /// How many of them there may be.
    most_state_bytes: usize,
    /// Calls that are written.
    called: BTreeSet<EffectId>,
    /// Effects with results from an earlier process, which are intended no more.
    known: BTreeSet<EffectId>,
    /// Whether the last step asked for one effect, whose settlement can wait for what follows at once.
    alone: bool,
    /// The outcome of the last attempt, to be written with the next lines.
    settles: Option<Box<Settlement>>,
    /// The account of every token of a call's request, if each call has an account of its own.
    accounts: BTreeMap<EffectId, HashedContent>,
    /// Attempts that are at the gate or behind it.
    passes: BTreeMap<AttemptKey, Pass>,
    /// How many attempts of each call an earlier process has made.
    earlier: Option<BTreeMap<EffectId, u32>>,
    asked: SendState,
    trouble: Option<String>,
}

impl<'k> Recording<'k> {
    /// A recording of a run. Nothing is written yet.
    #[must_use]
    pub fn new(kept: &'k RecordingContext<'k>, start: &Start<'_>) -> Self {
        let cleaner = Cleaner::new(kept.secrets, kept.keeping);
        let common =
            CallContext { report: cleaner.serialised(&start.report), monolithic_tokens: start.monolithic_tokens };
        let begins = Some(Box::new(rows::new_run_row(kept, start, &cleaner)));
        Self {
            kept,
            id: start.id.clone(),
            closure: start.prompt.closure.clone(),
            policy: start.policy.to_owned(),
            resumed: start.steps > 0,
            cleaner,
            common,
            counter: counter(start),
            held: Mutex::new(PendingRecords {
                begins,
                steps: Vec::new(),
                next: start.steps,
                snapshot: None,
                parts: BTreeSet::new(),
                state_bytes: 0,
                most_state_bytes: MAX_STATE_BYTES,
                called: BTreeSet::new(),
                known: BTreeSet::new(),
                alone: false,
                settles: None,
                accounts: BTreeMap::new(),
                passes: BTreeMap::new(),
                earlier: None,
                asked: SendState::Nothing,
                trouble: None,
            }),
        }
    }

    /// The same for a run that a call of another one started.
    #[must_use]
    pub fn called_by(self, caller: Option<&RunCaller>) -> Self {
        self.held().begins.iter_mut().for_each(|begins| begins.caller = caller.cloned());
        self
    }

    /// The same with another limit of what all of its states may take together, in bytes as they are sealed.
    #[must_use]
    pub fn limiting_states(self, most: usize) -> Self {
        self.held().most_state_bytes = most;
        self
    }

    /// The run's id.
    #[must_use]
    pub const fn id(&self) -> &RunId {
        &self.id
    }

    /// Writes the run's end.
    pub async fn finish(&self, ended: RunEnd) {
        // Taken: nothing is written after the end, so nobody could bring them along.
        let (begins, steps, asked, settles) = {
            let mut held = self.held();
            (held.begins.take(), std::mem::take(&mut held.steps), held.asked, held.settles.take())
        };
        let RunEnd { at, outcome, assembly, numbers, evaluations } = ended;
        let (how, because, value) = rows::run_end(&outcome, asked, &self.cleaner);
        // A call keeps its assembly itself. A run that was resumed may have called in another process.
        let assembly = assembly.filter(|_| self.held().called.is_empty() && !self.resumed);
        let assembly = assembly.map(|assembly| {
            let mut made = rows::assembly(&assembly, None, &self.common, &self.cleaner);
            made.counter.clone_from(&self.counter);
            Box::new(made)
        });
        let finish = RunFinish {
            settles,
            run: self.id.clone(),
            at,
            begins,
            steps,
            outcome: how,
            because,
            value,
            calls: rows::read_calls(&outcome, &self.cleaner),
            assembly,
            numbers,
            evaluations,
            not_replayable: self.cleaner.missing(),
        };
        // Kept back because the store takes the whole: booked and never settled, the attempt would count with all
        // that it could have cost.
        let settles = finish.settles.clone();
        if let Err(error) = self.kept.store.finish(finish).await {
            self.remember(&error.to_string());
            // The usage is worth a try of its own, unless that means waiting for somebody else once more.
            if let Some(settlement) = settles
                && !matches!(error, proem_store::Error::Unusable(Unusable::Busy { .. }))
                && let Err(error) = self.kept.store.settle(*settlement).await
            {
                self.remember(&error.to_string());
            }
        }
    }

    /// Writes what a person answered to what the run asked.
    ///
    /// # Errors
    ///
    /// [`proem_store::Error`] if it can't be written. The run must not go on with the answer then.
    pub async fn answered(&self, questions: &[Question], answers: &[QuestionAnswer]) -> Result<(), proem_store::Error> {
        if questions.len() != answers.len() {
            let (asked, given) = (questions.len(), answers.len());
            return Err(proem_store::Error::Conflict(format!("{given} answers to {asked} questions; answer each")));
        }
        // The answer is the next event: its approval is written first, under that event's number.
        let step = self.held().next;
        let words = |text: &String| match self.kept.keeping {
            RecordDepth::Content => self.cleaner.text(text),
            RecordDepth::Hashes => self.cleaner.content(text).hash,
        };
        let approval = |(question, answer): (&Question, &QuestionAnswer)| NewApproval {
            run: self.id.clone(),
            actor: self.kept.actor.clone(),
            at: wall_clock(),
            step,
            question: words(&question.text),
            options: question.options.iter().map(words).collect(),
            answer: answer.option.and_then(|option| u32::try_from(option).ok()),
            shown: answer.shown.map(|shown| shown.to_string()),
            words: answer.words.as_ref().map(words),
        };
        self.kept.store.approve(questions.iter().zip(answers).map(approval).collect()).await
    }

    /// The part that could not be written, in our words: the user gets the answer all the same, and must know.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.held().trouble.clone()
    }

    fn held(&self) -> MutexGuard<'_, PendingRecords> {
        // A panic elsewhere can't have left half a change: each is one assignment.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first trouble: what follows from it says less.
    fn remember(&self, why: &str) {
        let mut held = self.held();
        let what = match held.asked {
            SendState::Nothing => "the run",
            SendState::Something => "what came back",
        };
        held.trouble.get_or_insert_with(|| format!("{what} could not be recorded: {why}"));
    }

    /// The texts of requests that are kept with their call, with their hashes. None that is kept otherwise than it is.
    fn kept_texts<'s>(&self, effects: &'s [(EffectId, Effect)]) -> Vec<(&'s str, String)> {
        let requests = effects.iter().filter_map(|(_, effect)| match effect {
            Effect::Call { request } => Some(request),
            _ => None,
        });
        let sections = requests.flat_map(|request| &request.assembly.sections);
        let text = |section: &'s proem_engine::assembly::PlacedSection| {
            let content = self.cleaner.content(&section.text);
            // A text that was cleaned of a credential is not the text that was sent: a state that named its hash
            // would go on with other words.
            (content.bytes.as_deref() == Some(section.text.as_bytes())).then_some((section.text.as_str(), content.hash))
        };
        sections.filter_map(text).collect()
    }

    /// The state, sealed. Nothing where a run is not to be resumed.
    fn sealed(&self, machine: Json, waits: Waits<'_>, step: u32) -> Result<Option<Snapshot>, proem_engine::Error> {
        // A state holds every text of the run, sealed or not.
        if self.kept.keeping == RecordDepth::Hashes {
            return Ok(None);
        }
        let state = waits.of(machine).map_err(|error| unwritable(&error))?;
        let kept = self.kept_texts(waits.effects);
        let kept: Vec<(&str, &str)> = kept.iter().map(|(text, hash)| (*text, hash.as_str())).collect();
        let mut folded = FoldedState::new(&state, &kept);
        let parts = self.sealed_parts(folded.take_parts())?;
        let written = serde_json::to_vec(&folded).map_err(|error| unwritable(&error))?;
        // Bound to what it belongs to, so that a state can't be put in place of another run's, or of an earlier
        // one of this run.
        let binding = SealBinding {
            project: &self.kept.project.0,
            run: &self.id.0,
            step,
            definition: &self.closure,
            policy: &self.policy,
        };
        let sealed = seal(self.kept.seal, &binding, &written).map_err(|error| unwritable(&error))?;
        self.count_state(sealed.0.len())?;
        Ok(Some(Snapshot { step, at: wall_clock(), sealed: sealed.0, parts }))
    }

    /// The large parts of a state. One that is stored, or waits for that, is not sealed again.
    fn sealed_parts(&self, parts: Vec<(String, String)>) -> Result<Vec<StatePart>, proem_engine::Error> {
        let policy = part_policy(&self.policy);
        let (project, run, definition) = (&self.kept.project.0, &self.id.0, &self.closure);
        let binding = SealBinding { project, run, step: 0, definition, policy: &policy };
        let part = |(hash, text): (String, String)| {
            let name = self.kept.seal.part_name(&hash);
            let known = {
                let held = self.held();
                let waiting = held.snapshot.iter().flat_map(|snapshot| &snapshot.parts);
                let mut waiting = waiting.filter(|part| part.name == name);
                if held.parts.contains(&name) { Some(None) } else { waiting.next().map(|part| part.sealed.clone()) }
            };
            let sealed = match known {
                Some(known) => known,
                None => {
                    let sealed = seal(self.kept.seal, &binding, text.as_bytes()).map_err(|error| unwritable(&error))?;
                    self.count_state(sealed.0.len())?;
                    Some(sealed.0.into())
                }
            };
            Ok(StatePart { name, sealed })
        };
        parts.into_iter().map(part).collect()
    }

    /// Counts what a state takes, up to what the states of one run may take.
    fn count_state(&self, bytes: usize) -> Result<(), proem_engine::Error> {
        let mut held = self.held();
        held.state_bytes = held.state_bytes.saturating_add(bytes);
        if held.state_bytes <= held.most_state_bytes {
            return Ok(());
        }
        let message = format!(
            "the states of this run take more than {} MiB, which is all that a run may save; let it hold less when it \
             calls tools, or split it",
            held.most_state_bytes >> 20
        );
        Err(proem_engine::Error::new(ErrorKind::StateLimit, message))
    }
}

/// The most bytes that all states of a run take together as they are sealed, so that a program that calls tools without
/// end fills no disk. A part that doesn't change is counted once.
const MAX_STATE_BYTES: usize = 512 << 20;

/// A state that can't be written down.
fn unwritable(error: &dyn std::error::Error) -> proem_engine::Error {
    proem_engine::Error::new(ErrorKind::Render, format!("the run's state can't be serialised: {error}"))
}

/// A question that nobody could answer: the run would not be there any more.
fn unanswerable(why: &dyn std::fmt::Display) -> proem_engine::Error {
    let message = format!("the run has a question, but its state can't be saved until you answer: {why}");
    proem_engine::Error::new(ErrorKind::Render, message)
}

/// How a run ended, for its record.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// When it ended, by the machine's clock.
    pub at: Time,
    /// How: outcome, value, repairs and problems of each call are read off it.
    pub outcome: proem_engine::run::Outcome,
    /// The prompt, which is kept even if nobody could be asked.
    pub assembly: Option<proem_engine::assembly::Assembly>,
    /// Times and counts of the whole run, for statistics.
    pub numbers: Numbers,
    /// How good the results of its prompts were.
    pub evaluations: Vec<Evaluation>,
}

impl Journal for Recording<'_> {
    fn stepped(&self, event: &Event) {
        let has_tools = |(_, result): &(EffectId, EffectResult)| matches!(result, EffectResult::Tool { .. });
        let content = match &event.what {
            EventKind::Performed { results } if results.iter().any(has_tools) => {
                self.cleaner.serialised(&self.hidden_event(event))
            }
            _ => self.cleaner.serialised(event),
        };
        let mut held = self.held();
        let step = held.next;
        // Counted here and not by the store: a step that is still held has its number already.
        held.next = step.saturating_add(1);
        held.steps.push(NewStep { step, at: event.now, event: content });
    }

    fn accounts(&self, effect: EffectId, account: &Json) {
        let account = self.cleaner.json_content(account);
        self.held().accounts.insert(effect, account);
    }

    async fn intends(
        &self,
        state: &(dyn Fn() -> Result<Json, proem_engine::Error> + Sync),
        effects: &[(EffectId, Effect)],
    ) -> Result<(), proem_engine::Error> {
        let step = self.held().next;
        // Of several calls one may take minutes longer; what the others cost must not wait in memory for it.
        self.held().alone = effects.len() == 1;
        if self.kept.keeping == RecordDepth::Content {
            // Made without the lock, since sealing takes as long as the state is large.
            let snapshot = self.sealed(state()?, Waits { effects, ..Waits::default() }, step)?;
            self.held().snapshot = snapshot;
        }
        if effects.iter().any(|(_, effect)| matches!(effect, Effect::Tool { .. })) {
            // The answer that these calls are part of is settled before them.
            self.put_down(step).await;
            // Calls without effects are made at once, so their intents are written here. The first intent of any other
            // brings the run's earlier steps along.
            let written = self.intend_free_tools(effects).await;
            return written.map_err(|error| unwritable(&error));
        }
        // An effect that is no call passes no gate: a held answer must not wait for one.
        if !effects.iter().any(|(_, effect)| matches!(effect, Effect::Call { .. })) {
            self.put_down(step).await;
        }
        Ok(())
    }

    async fn pauses(
        &self,
        state: &(dyn Fn() -> Result<Json, proem_engine::Error> + Sync),
        pausing: PauseReason<'_>,
    ) -> Result<(), proem_engine::Error> {
        let (questions, until) = match pausing {
            PauseReason::Asks(questions) => (questions, None),
            PauseReason::Waits { until } => ([].as_slice(), Some(until)),
        };
        let asked = questions.iter().map(|question| self.cleaner.text(&question.text)).collect();
        let step = self.held().next;
        let waits = Waits { questions, until, ..Waits::default() };
        let Some(snapshot) = self.sealed(state()?, waits, step)? else {
            return if until.is_some() { Ok(()) } else { Err(unanswerable(&"only hashes are kept (`records.keep`)")) };
        };
        // Copied and not taken: if the store fails, the next write brings them along.
        let (begins, steps) = {
            let held = self.held();
            (held.begins.clone(), held.steps.clone())
        };
        let settles = self.held().settles.clone();
        let pause = Pause { run: self.id.clone(), begins, steps, settles, snapshot, questions: asked };
        let parts = pause.snapshot.parts.iter().map(|part| part.name.clone()).collect();
        match self.kept.store.pause(pause).await {
            Ok(()) => {
                self.written(step);
                self.held().settles = None;
                self.held().parts = parts;
            }
            // A run that goes on in this process needs no state to go on from.
            Err(error) if until.is_some() => self.remember(&error.to_string()),
            Err(error) => return Err(unanswerable(&error)),
        }
        Ok(())
    }
}

impl Recording<'_> {
    /// Writes what became of the last attempt, if that is held, with the state that follows it.
    async fn put_down(&self, step: u32) {
        // Copied and not taken, as for a pause.
        let (begins, steps, snapshot, settles) = {
            let held = self.held();
            (held.begins.clone(), held.steps.clone(), held.snapshot.clone(), held.settles.clone())
        };
        // Without a settlement nothing is lost by waiting: the next call's booking writes the steps.
        let Some(settlement) = settles else { return };
        let (run, questions) = (self.id.clone(), Vec::new());
        let outcome = match snapshot {
            Some(snapshot) => {
                let settles = Some(settlement);
                let pause = Pause { run, begins, steps, settles, snapshot, questions };
                self.kept.store.pause(pause).await.map(|()| self.written(step))
            }
            None => self.kept.store.settle(*settlement).await,
        };
        match outcome {
            Ok(()) => self.held().settles = None,
            Err(error) => self.remember(&error.to_string()),
        }
    }

    /// Lets go of what is written: the run's line, and events before `step`. The last attempt's outcome stays: only
    /// some transactions write that.
    fn written(&self, step: u32) {
        let mut held = self.held();
        held.begins = None;
        // Events may have come while the transaction was written. They and a newer state wait for the next one.
        held.steps.retain(|kept| kept.step >= step);
        if let Some(stored) = held.snapshot.take_if(|snapshot| snapshot.step <= step) {
            // The store has let go of every part that this one doesn't name.
            held.parts = stored.parts.into_iter().map(|part| part.name).collect();
        }
    }
}

/// A run's end as it would be recorded: how, why without a value of a model's, and the value.
pub(super) fn replayed_end(outcome: &proem_engine::run::Outcome) -> (RunOutcome, Option<Json>, Option<HashedContent>) {
    rows::run_end(outcome, SendState::Something, &Cleaner::new(&[], RecordDepth::Content))
}

/// The counter of a run's tokens.
fn counter(start: &Start<'_>) -> String {
    start.report.map_or_else(String::new, |report| report.counter.name.clone())
}

/// Why an assembly without a call can't be replayed, or gone on with.
pub const ASSEMBLED_ONLY: &str = "it called no model, and the state of its folder was not recorded";

/// The line and the end of an assembly without a call, so that it is kept too. [`Store::finish`] writes them.
#[must_use]
pub fn assembly_record(
    kept: &RecordingContext<'_>,
    start: &Start<'_>,
    assembly: &proem_engine::assembly::Assembly,
    numbers: Numbers,
) -> Option<RunFinish> {
    let cleaner = Cleaner::new(kept.secrets, kept.keeping);
    let common = CallContext { report: cleaner.serialised(&start.report), monolithic_tokens: start.monolithic_tokens };
    let mut made = rows::assembly(assembly, None, &common, &cleaner);
    made.counter = counter(start);
    // The contents of the texts are known by now.
    let begins = Box::new(rows::new_run_row(kept, start, &cleaner));
    Some(RunFinish {
        settles: None,
        run: start.id.clone(),
        at: wall_clock(),
        begins: Some(begins),
        steps: Vec::new(),
        outcome: RunOutcome::Assembled,
        because: None,
        value: None,
        calls: Vec::new(),
        assembly: Some(Box::new(made)),
        numbers,
        evaluations: Vec::new(),
        not_replayable: Some(cleaner.missing().unwrap_or_else(|| ASSEMBLED_ONLY.to_owned())),
    })
}
