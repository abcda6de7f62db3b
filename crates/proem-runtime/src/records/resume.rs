//! Going on with a run from its latest sealed state.
//!
//! Answers that were recorded before the run broke off are not asked for again; what was under way
//! then is, under a booking of its own.

use std::collections::BTreeMap;

use proem_engine::call::Response;
use proem_engine::run::{
    Effect, EffectId, EffectResult, EventKind, Machine, Question, QuestionAnswer, Time, check_answers,
};
use proem_llm::caller::wall_clock;
use proem_store::Store;
use proem_store::query::{RunDetail, RunState};
use proem_store::record::{CallState, Project, Replayable, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::Recording;
use super::folded_state::{FoldedState, part_policy};
use super::recording::tools::known_outcomes;
use super::sealed_states::{SealBinding, SealKey, SealedState, open_sealed_state};
use crate::Error;
use crate::driver::{DriveEnd, DriveStart, Journal as _, PauseReason, Perform, RunBounds, go_on};

/// The contents of a snapshot: a machine's state with its pending effects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotState {
    /// The machine's own state.
    pub machine: Json,
    /// Effects that it asked for.
    pub effects: Vec<(EffectId, Effect)>,
    /// Questions that it asked.
    pub questions: Vec<Question>,
    /// When it goes on, if it waits for a time.
    pub until: Option<Time>,
}

/// A run that can go on.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumableRun {
    /// Its record.
    pub detail: RunDetail,
    /// How many events it had taken.
    pub step: u32,
    /// The state that it goes on from.
    pub state: SnapshotState,
    /// The known results of its pending effects.
    pub known: BTreeMap<EffectId, EffectResult>,
}

impl ResumableRun {
    /// How many attempts were made before of which nobody knows what they used: they may have been answered and
    /// paid for.
    #[must_use]
    pub fn lost(&self) -> usize {
        let attempts = self.detail.calls.iter().flat_map(|call| &call.attempts);
        attempts.filter(|attempt| !matches!(attempt.state.as_str(), "reported" | "unsent")).count()
    }

    /// The start of the run's continuation. `answers` are those to its questions, if it asked any.
    #[must_use]
    pub fn onward(&self, answers: Vec<QuestionAnswer>) -> DriveStart {
        match self.state.until {
            Some(until) => DriveStart::Until(until),
            None if !self.state.questions.is_empty() => DriveStart::Event(EventKind::Answered { answers }),
            None => DriveStart::Effects(self.state.effects.clone()),
        }
    }

    /// Goes on to the run's end. `ask` puts its questions to a person. Answers are written down before the run goes on
    /// with them.
    ///
    /// Its earlier questions are written down once more first: a run without an answer keeps asking, and a fork is
    /// there to be answered.
    ///
    /// # Errors
    ///
    /// Those of [`go_on`], of [`check_answers`] and of `ask`. [`proem_store::Error`] if an answer can't be written.
    pub async fn to_the_end<M: Machine + Sync, E>(
        &self,
        machine: &mut M,
        context: DriveContext<'_, impl Perform + Sync>,
        mut ask: impl AsyncFnMut(&[Question]) -> Result<Vec<QuestionAnswer>, E>,
    ) -> Result<M::Outcome, E>
    where
        E: From<proem_engine::Error> + From<proem_store::Error>,
    {
        let DriveContext { world, bounds, recording } = context;
        let world = self.remembering(world);
        recording.note_known(self.known.keys().copied());
        let asked = &self.state.questions;
        let from = if asked.is_empty() {
            self.onward(Vec::new())
        } else {
            recording.pauses(&|| machine.state(), PauseReason::Asks(asked)).await?;
            let answers = ask(asked).await?;
            check_answers(asked, &answers)?;
            recording.answered(asked, &answers).await?;
            DriveStart::Event(EventKind::Answered { answers })
        };
        drive_to_the_end(machine, from, DriveContext { world: &world, bounds, recording }, ask).await
    }

    /// `world`, in which nothing is performed that is known already.
    #[must_use]
    pub const fn remembering<'w, W>(&'w self, world: &'w W) -> RememberedWorld<'w, W> {
        RememberedWorld { known: &self.known, world }
    }
}

/// The context for driving a recorded run.
#[derive(Debug)]
pub struct DriveContext<'r, W> {
    /// Performs its effects.
    pub world: &'r W,
    /// How long it may take from here, and who may end it.
    pub bounds: &'r RunBounds,
    /// The recording: under its own id, or a fork's.
    pub recording: &'r Recording<'r>,
}

/// Drives a recorded run from there to its end. `ask` puts its questions to a person. Answers are written down before
/// the run goes on with them.
///
/// # Errors
///
/// Those of [`go_on`], of [`check_answers`] and of `ask`. [`proem_store::Error`] if an answer can't be written.
pub async fn drive_to_the_end<M: Machine + Sync, E>(
    machine: &mut M,
    mut from: DriveStart,
    context: DriveContext<'_, impl Perform + Sync>,
    mut ask: impl AsyncFnMut(&[Question]) -> Result<Vec<QuestionAnswer>, E>,
) -> Result<M::Outcome, E>
where
    E: From<proem_engine::Error> + From<proem_store::Error>,
{
    let DriveContext { world, bounds, recording } = context;
    loop {
        match go_on(machine, from, world, bounds, recording).await?.reached {
            DriveEnd::Done(outcome) => return Ok(outcome),
            DriveEnd::Asked(questions) => {
                let answers = ask(&questions).await?;
                check_answers(&questions, &answers)?;
                recording.answered(&questions, &answers).await?;
                from = DriveStart::Event(EventKind::Answered { answers });
            }
        }
    }
}

/// A world in which some effects were performed before.
#[derive(Debug)]
pub struct RememberedWorld<'w, W> {
    known: &'w BTreeMap<EffectId, EffectResult>,
    world: &'w W,
}

impl<W: Perform + Sync> Perform for RememberedWorld<'_, W> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        match self.known.get(&id) {
            Some(performed) => performed.clone(),
            None => self.world.perform(id, effect, stop).await,
        }
    }
}

/// Under which id a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeIdentity {
    /// Under its own: its record goes on.
    On,
    /// Under a fork's. The run itself stays as it is.
    Apart,
}

/// The run to go on with, and the binding that its state must have been sealed under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumeRequest<'r> {
    /// The run that broke off, or that asks.
    pub run: &'r RunId,
    /// Under which id it goes on.
    pub identity: ResumeIdentity,
    /// The project that it has to be of.
    pub project: &'r Project,
    /// The hash of today's rules: a state that was sealed under others doesn't open.
    pub policy: &'r str,
}

/// Whether a run can go on at all, before anything is done for it: it is this project's and has not ended.
///
/// # Errors
///
/// [`Error::NotResumable`] if it can't.
pub fn resumable(detail: &RunDetail, project: &Project) -> Result<(), Error> {
    let run = &detail.row.id;
    if detail.row.project != *project {
        return Err(resume_refusal(
            run,
            format!("it belongs to the project `{}`; run the command there", detail.row.project.0),
        ));
    }
    if let RunState::Ended(outcome) = detail.row.state {
        return Err(resume_refusal(run, format!("it has ended ({}); start it again", outcome.as_str())));
    }
    Ok(())
}

fn resume_refusal(run: &RunId, why: String) -> Error {
    Error::NotResumable { run: run.short().to_owned(), why }
}

/// Takes a run over, or forks it, and opens its latest state.
///
/// # Errors
///
/// [`Error::Records`] if there is no such run, it has ended, its process is alive, or no state of it is kept.
/// [`Error::NotResumable`] if it is another project's, or its state was not sealed by this installation for this run,
/// prompt and rules.
pub async fn resume(store: &Store, seal: &SealKey, request: ResumeRequest<'_>) -> Result<ResumableRun, Error> {
    let ResumeRequest { run, identity, project, policy } = request;
    let detail = store.run(run).await?;
    // Before it is taken over, which changes its record. If it ends or is taken meanwhile, the store refuses.
    resumable(&detail, project)?;
    let refused = |why: String| resume_refusal(run, why);
    let snapshot = match identity {
        ResumeIdentity::On => store.take_over(run, wall_clock()).await?,
        ResumeIdentity::Apart => store.fork(run, wall_clock()).await?,
    };
    let binding = SealBinding {
        project: &project.0,
        run: &run.0,
        step: snapshot.step,
        definition: &detail.row.prompt.closure,
        policy,
    };
    let unsealed = || {
        "its state was saved by another installation, or for another run, prompt or version of the rules; start the \
         run again"
            .to_owned()
    };
    let bytes = open_sealed_state(seal, &binding, &SealedState(snapshot.sealed)).ok_or_else(|| refused(unsealed()))?;
    let form =
        |error: serde_json::Error| refused(format!("its state has another format ({error}); start the run again"));
    let mut written: FoldedState = serde_json::from_slice(&bytes).map_err(form)?;
    let part_policy = part_policy(policy);
    let binding = SealBinding { step: 0, policy: &part_policy, ..binding };
    written.restore_parts(|hash| {
        let name = seal.part_name(hash);
        let part = snapshot.parts.iter().find(|part| part.name == name)?;
        let sealed = SealedState(part.sealed.as_deref()?.to_vec());
        String::from_utf8(open_sealed_state(seal, &binding, &sealed)?).ok()
    });
    let sections = detail.calls.iter().flat_map(|call| &call.sections);
    let hashes: Vec<String> = sections.map(|section| section.text.clone()).collect();
    let state = written.state(&store.contents(&hashes).await?);
    let state =
        state.ok_or_else(|| refused("part of its state is missing or was changed; start the run again".to_owned()))?;
    let state: SnapshotState = serde_json::from_value(state).map_err(form)?;
    let is_fork = identity == ResumeIdentity::Apart;
    let mut known = recorded_answers(store, &detail, &state).await?;
    known.extend(known_outcomes((store, seal), &detail, &state.effects, is_fork).await?);
    Ok(ResumableRun { detail, step: snapshot.step, state, known })
}

/// The recorded answers to what a state waits for. None of a run of whose texts something was taken out, since its
/// answers may not be what was answered.
async fn recorded_answers(
    store: &Store,
    detail: &RunDetail,
    state: &SnapshotState,
) -> Result<BTreeMap<EffectId, EffectResult>, Error> {
    let mut known = BTreeMap::new();
    if detail.replayable != Replayable::Yes {
        return Ok(known);
    }
    for (effect, _) in &state.effects {
        let answered =
            |call: &&proem_store::query::CallRow| call.effect == *effect && call.state == CallState::Answered;
        let Some(hash) = detail.calls.iter().find(answered).and_then(|call| call.result.clone()) else { continue };
        let contents = store.contents(std::slice::from_ref(&hash)).await?;
        let Some(response) = contents.get(&hash).and_then(|bytes| serde_json::from_slice::<Response>(bytes).ok())
        else {
            continue;
        };
        known.insert(*effect, EffectResult::Response { response: Box::new(response) });
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::folded_state::Waits;
    use proem_engine::assembly::{Assembly, PromptId};
    use proem_engine::call::{AnswerForm, Arrival, Request};
    use serde_json::json;

    #[test]
    fn what_is_sealed_is_the_state() {
        let prompt = PromptId {
            agent: "a".to_owned(),
            name: "b".to_owned(),
            version: "1.0.0".to_owned(),
            closure: "c".to_owned(),
        };
        let assembly = Assembly { prompt, sections: Vec::new(), boundaries: Vec::new(), output_tokens: 9 };
        let (answer, arrival) = (AnswerForm::Text, Arrival::Whole);
        let request = Request {
            model: "m".to_owned(),
            assembly,
            answer,
            sampling: Default::default(),
            arrival,
            way: None,
            inquiry: None,
        };
        let effects = [(EffectId(3), Effect::Call { request: Box::new(request) })];
        let questions = [Question::new("Which?", ["this"])];
        let machine = json!({ "at": [1, "two"] });
        let waits = Waits { effects: &effects, questions: &questions, until: Some(Time(7)) };
        let state = SnapshotState {
            machine: machine.clone(),
            effects: effects.to_vec(),
            questions: questions.to_vec(),
            until: waits.until,
        };
        let sealed = waits.of(machine).unwrap();
        assert_eq!(sealed, serde_json::to_value(&state).unwrap());
        assert_eq!(serde_json::from_value::<SnapshotState>(sealed).unwrap(), state);
    }
}
