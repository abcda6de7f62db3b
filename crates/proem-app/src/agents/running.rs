//! Runs of any agent, driven to their end: from the beginning, or from where they stopped.

use std::path::Path;

use proem_engine::run::{EventKind, Machine, Question, QuestionAnswer, check_answers};
use proem_llm::endpoint::EndpointKey;
use proem_runtime::Environment;
use proem_runtime::driver::{CallPerformer, DriveEnd, DriveStart, NullJournal, Perform, RunBounds, go_on};
use proem_runtime::records::{
    DriveContext, Recording, ResumableRun, ResumeIdentity, ResumeRequest, Start, drive_to_the_end, resumable, resume,
};
use proem_runtime::tools::{AskedModels, ChildAgents, ToolModels};
use proem_store::query::RunDetail;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{AgentRun, EarlierAttempts, EndedRun, ReadBack, RunResult, Today, WorldParts};
use crate::calling;
use crate::error::Error;
use crate::guarding::GuardFiles;
use crate::lisp::children::{answering_children, question_channel};
use crate::message::{Message, Note};
use crate::project::OpenProject;
use crate::records;
use crate::records::booking::Booking;
use crate::records::learning::learned_before;
use crate::records::writing::{NONE_TO_GO_ON_IN, OpenRecords, RecordChoice};

/// Starts a run and drives it to its end, booked and recorded according to `booking`. `place` is its place among the
/// runs of one command, from 1. `ask` puts the run's questions to a person, each under the given short id.
///
/// # Errors
///
/// If nothing can be sent or recorded, and those of `ask`. How asking the model went is in what came of it.
pub async fn start_run<E>(
    run: &dyn AgentRun,
    place: u32,
    booking: &Booking,
    ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, E>,
    stop: &CancellationToken,
) -> Result<RunResult, E>
where
    E: From<Error> + From<proem_engine::Error> + From<proem_store::Error>,
{
    let (began, mut machine, bounds) = (Instant::now(), run.machine(), run_bounds(run, stop));
    let from = DriveStart::Event(EventKind::Started);
    let kept = booking.records().map(OpenRecords::kept);
    let Some(kept) = &kept else {
        let (calls, models) = (call_performer(run, place, booking, None)?, run.tool_models(booking, None)?);
        let (sender, questions) = question_channel();
        let children = run.called_agents().map(|agents| agents.of_run(None, sender));
        let end = {
            let agents = children.as_ref().map(|children| children as &dyn ChildAgents);
            let tied = WorldParts { calls: &calls, models: models.as_ref(), agents, recording: None };
            let (world, ask) = (run.world(tied)?, Mutex::new(ask));
            let asking = async |asked: &[Question]| (ask.lock().await)("", asked).await;
            let drive = drive_unrecorded(&mut machine, from, &world, &bounds, asking);
            answering_children(drive, questions, &ask).await?
        };
        let (earlier, asked) = (EarlierAttempts::default(), asked_by_tools(models.as_ref()));
        let ended = EndedRun { end, traces: calls.into_made(), asked, earlier, began };
        return Ok(run.finish(ended, None).await?);
    };
    let (id, caller) = match run.starting_call() {
        Some((id, caller)) => (id, Some(caller)),
        None => (OpenRecords::id()?, None),
    };
    let recording = Recording::new(kept, &run.start(id)).called_by(caller.as_ref());
    let calls = call_performer(run, place, booking, Some(&recording))?;
    let models = run.tool_models(booking, Some(&recording))?;
    let (sender, questions) = question_channel();
    let children = run.called_agents().map(|agents| agents.of_run(Some(recording.id()), sender));
    let end = {
        let agents = children.as_ref().map(|children| children as &dyn ChildAgents);
        let tied = WorldParts { calls: &calls, models: models.as_ref(), agents, recording: Some(&recording) };
        let (world, ask) = (run.world(tied)?, Mutex::new(ask));
        let id = recording.id().short().to_owned();
        let context = DriveContext { world: &world, bounds: &bounds, recording: &recording };
        let asking = async |asked: &[Question]| (ask.lock().await)(&id, asked).await;
        answering_children(drive_to_the_end(&mut machine, from, context, asking), questions, &ask).await?
    };
    let (earlier, asked) = (EarlierAttempts::default(), asked_by_tools(models.as_ref()));
    let ended = EndedRun { end, traces: calls.into_made(), asked, earlier, began };
    Ok(run.finish(ended, Some(&recording)).await?)
}

fn asked_by_tools(models: Option<&ToolModels<'_>>) -> AskedModels {
    models.map(ToolModels::take_asked).unwrap_or_default()
}

/// Drives a run of which nothing is kept.
pub(crate) async fn drive_unrecorded<M: Machine + Sync, E: From<proem_engine::Error>>(
    machine: &mut M,
    mut from: DriveStart,
    world: &(impl Perform + Sync),
    bounds: &RunBounds,
    mut ask: impl AsyncFnMut(&[Question]) -> Result<Vec<QuestionAnswer>, E>,
) -> Result<M::Outcome, E> {
    loop {
        match go_on(machine, from, world, bounds, &NullJournal).await?.reached {
            DriveEnd::Done(outcome) => return Ok(outcome),
            DriveEnd::Asked(questions) => {
                let answers = ask(&questions).await?;
                check_answers(&questions, &answers)?;
                from = DriveStart::Event(EventKind::Answered { answers });
            }
        }
    }
}

fn run_bounds(run: &dyn AgentRun, stop: &CancellationToken) -> RunBounds {
    RunBounds { stop: stop.clone(), time: Some(run.time()) }
}

/// The calls of a run with that place among those of one command, from 1.
fn call_performer<'c>(
    run: &'c dyn AgentRun,
    place: u32,
    booking: &Booking,
    recording: Option<&'c Recording<'_>>,
) -> Result<CallPerformer<'c>, Error> {
    run.access().calls(place, booking, recording, Instant::now().checked_add(run.time()))
}

/// A recorded run that can be gone on with: what it is about is what it was, and there is an endpoint.
#[derive(Debug)]
pub struct Resumption {
    run: Box<dyn AgentRun>,
    detail: RunDetail,
    booking: Option<Booking>,
}

impl Resumption {
    /// Before a run is taken over: everything but the endpoint and its key comes from its record, and what it is
    /// about is looked at as it is today, around `root`.
    ///
    /// # Errors
    ///
    /// If it can't go on: its record was changed, it has ended, its endpoint is forgotten or has no key, or what it is
    /// about is not what it was.
    pub fn new(
        project: &OpenProject,
        detail: RunDetail,
        read: ReadBack,
        root: &Path,
        progress: &(dyn Fn(String) + Sync),
    ) -> Result<Self, Error> {
        let ReadBack { mut run, changed } = read;
        if let Some(why) = changed {
            return Err(Error::invalid(format!("run {} can't be resumed: {why}", detail.row.id.short())));
        }
        let refused = |why: Message| {
            let failure = Error::invalid(format!("run {} can't go on: {}", detail.row.id.short(), why.text));
            why.hint.into_iter().fold(failure, Error::hinting)
        };
        resumable(&detail, &records::records_owner(project)).map_err(|error| Error::invalid(error.to_string()))?;
        let endpoint = calling::locate_provider(&project.config, &detail.row.endpoint, &Environment::inherited())?;
        if let EndpointKey::Missing { variable } = &endpoint.key {
            return Err(refused(format!("`{}` needs a key in {variable}; set it", endpoint.name).into()));
        }
        run.renew(&Today { project, detail: &detail, root, progress }).map_err(refused)?;
        run.access_mut().connect(endpoint, project)?;
        Ok(Self { run, detail, booking: None })
    }

    /// The run that is gone on with, in its agent's own form.
    #[must_use]
    pub fn run(&self) -> &dyn AgentRun {
        self.run.as_ref()
    }

    /// The records, once they are open.
    #[must_use]
    pub fn records(&self) -> Option<&OpenRecords> {
        self.booking.as_ref()?.records()
    }

    /// Opens the records for it. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If they can't be kept.
    pub async fn begin(&mut self, project: &OpenProject, notes: &mut Vec<Note>) -> Result<(), Error> {
        let most = (self.run.most(), self.run.secrets());
        let booked = self.run.access().book_beside(project, RecordChoice::Needed, (most.0, &most.1), notes).await?;
        let booking = self.booking.insert(booked);
        if let Some(records) = booking.records() {
            self.run.consult(records, project).await?;
        }
        notes.extend(learned_before(&self.detail));
        Ok(())
    }

    /// Goes on to the run's end, under its own id or apart. `ask` puts the run's questions to a person, each under the
    /// given short id.
    ///
    /// # Errors
    ///
    /// If it can't be taken over or its state is none of its agent's, and those of `ask`.
    pub async fn to_the_end<E>(
        &self,
        project: &OpenProject,
        way: ResumeIdentity,
        ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, E>,
        stop: &CancellationToken,
    ) -> Result<RunResult, E>
    where
        E: From<Error> + From<proem_engine::Error> + From<proem_store::Error>,
    {
        let (run, old) = (self.run.as_ref(), &self.detail.row);
        let booked = self.booking.as_ref().and_then(|booking| Some((booking, booking.records()?)));
        let Some((booking, records)) = booked else { return Err(Error::invalid(NONE_TO_GO_ON_IN).into()) };
        let kept = records.kept();
        // Its state opens under the rules of today only, so these are then the recorded ones.
        let policy = run.policy(&GuardFiles::load(&project.places)?.rules());
        let request = ResumeRequest { run: &old.id, identity: way, project: kept.project, policy: &policy };
        let resumed = resume(kept.store, kept.seal, request).await;
        // A run that can't go on is an answer about the record, not a fault of the system.
        let resumed = resumed.map_err(|error| Error::invalid(error.to_string()))?;
        let began = Instant::now();
        let mut machine = run.restore(&resumed.state.machine)?;
        let (id, parent) = match way {
            ResumeIdentity::On => (old.id.clone(), None),
            ResumeIdentity::Apart => (OpenRecords::id()?, Some(old.id.clone())),
        };
        let start = Start { parent, line: old.line, steps: resumed.step, ..run.start(id) };
        let recording = Recording::new(&kept, &start);
        let calls = call_performer(run, old.line.unwrap_or(1), booking, Some(&recording))?;
        let models = run.tool_models(booking, Some(&recording))?;
        let (sender, questions) = question_channel();
        let children = run.called_agents().map(|agents| agents.of_run(Some(recording.id()), sender));
        let end = {
            let agents = children.as_ref().map(|children| children as &dyn ChildAgents);
            let tied = WorldParts { calls: &calls, models: models.as_ref(), agents, recording: Some(&recording) };
            let (world, bounds, ask) = (run.world(tied)?, run_bounds(run, stop), Mutex::new(ask));
            let id = recording.id().short().to_owned();
            let asking = async |asked: &[Question]| (ask.lock().await)(&id, asked).await;
            let context = DriveContext { world: &world, bounds: &bounds, recording: &recording };
            answering_children(resumed.to_the_end(&mut machine, context, asking), questions, &ask).await?
        };
        let (earlier, asked) = (earlier_attempts(&resumed, way), asked_by_tools(models.as_ref()));
        let ended = EndedRun { end, traces: calls.into_made(), asked, earlier, began };
        Ok(run.finish(ended, Some(&recording)).await?)
    }

    /// Closes the records, with what was learned of servers and what there is to say about the records.
    pub async fn end(self) -> Vec<Note> {
        let mut notes = self.run.access().take_news();
        if let Some(booking) = self.booking {
            notes.extend(booking.end().await);
        }
        notes
    }
}

fn earlier_attempts(resumed: &ResumableRun, way: ResumeIdentity) -> EarlierAttempts {
    let attempts = resumed.detail.calls.iter().map(|call| call.attempts.len()).sum();
    let lost = match way {
        ResumeIdentity::On => resumed.lost(),
        // It belongs to the run that lost it, not to a fork.
        ResumeIdentity::Apart => 0,
    };
    EarlierAttempts { attempts, lost }
}
