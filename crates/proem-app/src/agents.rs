//! The agents whose runs are kept: what each of them must say of itself.
//!
//! A run of any agent goes through the same hands: [`running`] drives it, live or from the place where it stopped, and
//! `runs` makes its requests anew. The differences are behind two traits: an [`Agent`] prepares runs and reads them
//! back from their records, an [`AgentRun`] makes the machine of one and interprets its end.

pub mod access;
pub mod base;
pub mod basis;
pub mod person;
pub mod record;
pub mod running;
mod server_lessons;

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use proem_engine::call::NanoDollars;
use proem_engine::run::{Event, ExchangeEnd, Machine, Outcome, Step};
use proem_llm::secret::Secret;
use proem_runtime::driver::{CallPerformer, CallTrace, ObjectPerform};
use proem_runtime::records::{Recording, RunEnd, Start};
use proem_runtime::tools::{AskedModels, ChildAgents, ToolModels, ToolQuestions};
use proem_store::query::RunDetail;
use proem_store::record::{Evaluation, Numbers, RunCaller, RunId, RunOutcome};
use serde_json::Value as Json;
use tokio::time::Instant;

use self::access::ModelAccess;
use self::base::{RunBase, run_numbers};
use self::record::RunRecord;
use crate::error::Error;
use crate::lisp::children::CalledAgents;
use crate::message::Message;
use crate::project::OpenProject;
use crate::records::booking::Booking;
use crate::records::writing::OpenRecords;
use crate::when;

/// The start of an agent's runs, and their reconstruction from records.
pub trait Agent: fmt::Debug + Send + Sync {
    /// The kind of its runs in the records, such as `risk`. It is stored, so it never changes.
    fn kind(&self) -> &'static str;

    /// The prompts of the book that it asks with, the run's own first. None where the caller names one.
    fn prompts(&self) -> &'static [&'static str];

    /// Whether what a person thinks of a run that ended so counts as a result of the run's prompt.
    fn is_result(&self, ended: RunOutcome) -> bool {
        ended == RunOutcome::Answered
    }

    /// A run of what it is made from. An agent whose runs need more than a model and inputs, such as a change of a
    /// repository, starts them itself and only reads them back.
    ///
    /// # Errors
    ///
    /// If its inputs are none of this agent's, or a prompt lacks what the agent needs.
    fn prepare(&self, base: RunBase) -> Result<Box<dyn AgentRun>, Error> {
        _ = base;
        Err(Error::invalid(format!("a run of the kind `{}` can't be started from inputs alone", self.kind())))
    }

    /// A run as it was prepared, from its record alone. Nothing can be sent before it is given an endpoint.
    ///
    /// # Errors
    ///
    /// In words that go on after "can't be replayed:", if something is missing or has changed.
    fn read_back<'r>(&'r self, record: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        Box::pin(async move {
            let (base, changed) = RunBase::recorded(record, self.prompts()).await?;
            let run = self.prepare(base).map_err(Message::from)?;
            Ok(ReadBack { run, changed })
        })
    }
}

/// One run of an agent, with everything that its machine is made of.
pub trait AgentRun: Any + fmt::Debug + Send + Sync {
    /// The model to ask, and the guard for text from outside.
    fn access(&self) -> &ModelAccess;

    /// The same, to be given an endpoint.
    fn access_mut(&mut self) -> &mut ModelAccess;

    /// The beginning of its record.
    fn start(&self, id: RunId) -> Start<'_>;

    /// The longest that it may take, from its first event to its last.
    fn time(&self) -> Duration;

    /// The most that it may cost by its caller's word. `None` leaves that to the budgets.
    fn most(&self) -> Option<NanoDollars> {
        None
    }

    /// The credentials that it uses beside those of its models' endpoints.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }

    /// The hash of what it is held to, under guard rules with that hash. A state that was sealed for another opens no
    /// more.
    fn policy(&self, rules: &str) -> String {
        rules.to_owned()
    }

    /// Its machine, which has taken no event.
    fn machine(&self) -> AgentMachine<'_>;

    /// Its machine where a state of it is.
    ///
    /// # Errors
    ///
    /// [`proem_engine::ErrorKind::InvalidInput`] if it is none of its states.
    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, proem_engine::Error>;

    /// Before a recorded run is taken over: looks whether what it is about is still what it was.
    ///
    /// # Errors
    ///
    /// In words that go on after "can't go on:", if it is missing.
    fn renew(&mut self, today: &Today<'_>) -> Result<(), Message> {
        _ = today;
        Ok(())
    }

    /// Looks up what its report needs of the records.
    ///
    /// # Errors
    ///
    /// If they can't be read.
    fn consult<'r>(
        &'r mut self,
        records: &'r OpenRecords,
        project: &'r OpenProject,
    ) -> BoxFuture<'r, Result<(), Error>> {
        _ = (records, project);
        Box::pin(async { Ok(()) })
    }

    /// The models that tools of it ask within their calls.
    ///
    /// # Errors
    ///
    /// If something would be sent that is not booked, which is a bug.
    fn tool_models<'w>(
        &'w self,
        booking: &Booking,
        recording: Option<&'w Recording<'_>>,
    ) -> Result<Option<ToolModels<'w>>, Error> {
        _ = (booking, recording);
        Ok(None)
    }

    /// The id of its own that a call of another run gives it, and that call.
    fn starting_call(&self) -> Option<(RunId, RunCaller)> {
        None
    }

    /// The recorded questions of its tools to models, if it was read back from its record.
    fn recorded_questions(&self) -> Option<ToolQuestions<'_>> {
        None
    }

    /// The agents that its tools call.
    fn called_agents(&self) -> Option<CalledAgents> {
        None
    }

    /// The performer of its effects, calls among them.
    ///
    /// # Errors
    ///
    /// If what it measures can't be read.
    fn world<'w>(&'w self, tied: WorldParts<'w>) -> Result<Box<dyn ObjectPerform + 'w>, Error> {
        Ok(Box::new(tied.calls))
    }

    /// Writes its end to its record, and makes what its caller gets. `recording` is `None` where none is kept.
    ///
    /// # Errors
    ///
    /// If the output can't be made.
    fn finish<'r>(
        &'r self,
        ended: EndedRun,
        recording: Option<&'r Recording<'r>>,
    ) -> BoxFuture<'r, Result<RunResult, Error>> {
        Box::pin(finish_record(ended, recording))
    }
}

/// The parts of the performer of a run's effects.
#[derive(Debug, Clone, Copy)]
pub struct WorldParts<'w> {
    /// Calls models.
    pub calls: &'w CallPerformer<'w>,
    /// The models that tools ask within their calls.
    pub models: Option<&'w ToolModels<'w>>,
    /// Runs the agents that tools call.
    pub agents: Option<&'w dyn ChildAgents>,
    /// The record. `None` where none is kept.
    pub recording: Option<&'w Recording<'w>>,
}

/// Writes a run's end to its record. Its outcome is what the caller gets.
async fn finish_record(ended: EndedRun, recording: Option<&Recording<'_>>) -> Result<RunResult, Error> {
    let EndedRun { end, began, .. } = ended;
    if let Some(recording) = recording {
        let degraded = !matches!(end.outcome.ended, ExchangeEnd::Answered { .. });
        let counted = run_numbers(&end.outcome.attempts.iter().collect::<Vec<_>>(), began);
        let numbers = Numbers { degraded, ..counted };
        let (outcome, evaluations) = (end.outcome.clone(), end.evaluations);
        recording.finish(RunEnd { at: when::time_now(), outcome, assembly: None, numbers, evaluations }).await;
    }
    Ok(RunResult {
        run: recording.map(|recording| recording.id().clone()),
        trouble: recording.and_then(Recording::trouble),
        output: Box::new(end.outcome),
    })
}

/// A machine of any agent.
pub type AgentMachine<'m> = Box<dyn Machine<Outcome = AgentEnd> + Send + Sync + 'm>;

/// How the machine of an agent ended.
#[derive(Debug)]
pub struct AgentEnd {
    /// As a record has it: how the last exchange ended, with every attempt of the run.
    pub outcome: Outcome,
    /// How good the results of its prompts were.
    pub evaluations: Vec<Evaluation>,
    /// Data that only the agent itself can read.
    pub detail: Option<Box<dyn Any + Send>>,
}

/// A machine whose end is told in the words that all agents share.
#[derive(Debug)]
pub struct OutcomeAdapter<M, F> {
    machine: M,
    told: F,
}

impl<M, F> OutcomeAdapter<M, F>
where
    M: Machine,
    F: Fn(M::Outcome) -> AgentEnd,
{
    /// `machine`, of whose outcome `told` makes the end.
    #[must_use]
    pub const fn new(machine: M, told: F) -> Self {
        Self { machine, told }
    }
}

impl<M, F> Machine for OutcomeAdapter<M, F>
where
    M: Machine,
    F: Fn(M::Outcome) -> AgentEnd,
{
    type Outcome = AgentEnd;

    fn step(&mut self, event: Event) -> Result<Step<AgentEnd>, proem_engine::Error> {
        Ok(match self.machine.step(event)? {
            Step::Do(effects) => Step::Do(effects),
            Step::Ask(questions) => Step::Ask(questions),
            Step::Wait { until } => Step::Wait { until },
            Step::Done(outcome) => Step::Done((self.told)(outcome)),
        })
    }

    fn state(&self) -> Result<Json, proem_engine::Error> {
        self.machine.state()
    }

    fn account(&self, effect: proem_engine::run::EffectId) -> Option<&Json> {
        self.machine.account(effect)
    }
}

/// A run that has ended, before that is written down.
#[derive(Debug)]
pub struct EndedRun {
    /// How the run ended.
    pub end: AgentEnd,
    /// The wire traffic of each call in this process.
    pub traces: Vec<CallTrace>,
    /// The questions of its tools to models.
    pub asked: AskedModels,
    /// The attempts of earlier processes in it.
    pub earlier: EarlierAttempts,
    /// When this process began with it.
    pub began: Instant,
}

/// The attempts of earlier processes in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EarlierAttempts {
    /// How often something was sent, or may have been.
    pub attempts: usize,
    /// How many answers of them were lost, so that nobody knows what they used.
    pub lost: usize,
}

/// The result of a run, for a caller.
#[derive(Debug)]
pub struct RunResult {
    /// Its id, if it is recorded.
    pub run: Option<RunId>,
    /// Failures to record after something was sent, in words.
    pub trouble: Option<String>,
    /// The agent's output: an answer, a report. The code that shows it knows the types of the agents that it shows.
    pub output: Box<dyn Any + Send>,
}

/// The current state of the things that a recorded run refers to.
pub struct Today<'t> {
    /// The project that it was started in.
    pub project: &'t OpenProject,
    /// The record of the run.
    pub detail: &'t RunDetail,
    /// A folder of the repository.
    pub root: &'t Path,
    /// Is told how far a repository is read.
    pub progress: &'t (dyn Fn(String) + Sync),
}

impl fmt::Debug for Today<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Today").field("run", &self.detail.row.id).field("root", &self.root).finish_non_exhaustive()
    }
}

/// A run that was read back from its record.
#[derive(Debug)]
pub struct ReadBack {
    /// The agent's own form of the recorded run.
    pub run: Box<dyn AgentRun>,
    /// The change of its record since it was made, in words.
    pub changed: Option<String>,
}

/// The agents that are known, each under its kind.
#[derive(Debug)]
pub struct Agents(Vec<Box<dyn Agent>>);

impl Agents {
    /// These, each under its kind.
    #[must_use]
    pub fn new(agents: Vec<Box<dyn Agent>>) -> Self {
        Self(agents)
    }

    /// These and another one, which replaces one of its kind.
    #[must_use]
    pub fn with(mut self, agent: impl Agent + 'static) -> Self {
        self.0.retain(|known| known.kind() != agent.kind());
        self.0.push(Box::new(agent));
        self
    }

    /// The agent of a kind.
    #[must_use]
    pub fn of(&self, kind: &str) -> Option<&dyn Agent> {
        self.0.iter().find(|agent| agent.kind() == kind).map(|agent| &**agent)
    }

    /// A run read back from its record, by the agent whose it is.
    ///
    /// # Errors
    ///
    /// In words that go on after "can't be replayed:", if something prevents it.
    pub async fn read_back(&self, record: &RunRecord<'_>) -> Result<ReadBack, Message> {
        if record.detail.settings.is_null() {
            return Err("only its hashes are kept (see `records.keep`)".to_owned().into());
        }
        let kind = &record.detail.row.kind;
        match self.of(kind) {
            Some(agent) => agent.read_back(record).await,
            None => Err(format!("its kind `{kind}` is unknown to this version of Proem; update Proem").into()),
        }
    }
}
