//! Agents that another agent's tools call: each a run of its own, which names its caller.
//!
//! Invariants: the id of such a run follows from the call that started it, so that a caller which goes on after a crash
//! goes on with it and starts no second one. Its inputs have the labels of the arguments, and only what the user wrote
//! counts as the user's. A person is asked through the first caller, and without an answer the whole tree of runs waits.
//! Its cost is booked to its callers, too. An agent whose caller is not recorded is not recorded either.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use proem_agents::lisp::turns::SharedTurns;
use proem_agents::lisp::turns::record::{MissionEnd, StepFailure, reason};
use proem_engine::call::NanoDollars;
use proem_engine::run::{CallLabel, EffectId, Question, QuestionAnswer, ToolLack, ToolOutcome, ToolUse};
use proem_guard::show;
use proem_lisp::{Meter, Value, open_secret_fields, read_json, write_json};
use proem_runtime::records::ResumeIdentity;
use proem_runtime::tools::ChildAgents;
use proem_store::query::{RunDetail, RunState};
use proem_store::record::{Replayable, RunCaller, RunId};
use proem_text::Label;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::agent::{LoadedAgent, load_agent};
use super::mission::{self, Mission, MissionInput, MissionOptions, MissionReport, PassedInputs};
use crate::agents::RunResult;
use crate::agents::record::RunRecord;
use crate::agents::running::{Resumption, start_run};
use crate::error::Error;
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::records;
use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;
use crate::run::options::Carriage;
use crate::shipped_agents;

/// Questions of agents that were called, to the person who started the first one.
#[derive(Debug)]
pub(crate) struct ChildQuestion {
    /// The short id of the run that asks.
    run: String,
    asked: Vec<Question>,
    answer: oneshot::Sender<Vec<QuestionAnswer>>,
}

/// The way of [`ChildQuestion`]s to a person.
pub(crate) type QuestionSender = mpsc::Sender<ChildQuestion>;

/// How many questions of children wait at one time.
const WAITING: usize = 16;

/// A way for the questions of children.
pub(crate) fn question_channel() -> (QuestionSender, mpsc::Receiver<ChildQuestion>) {
    mpsc::channel(WAITING)
}

/// Drives a run, and puts the questions of the agents that it calls to the person whom it asks itself.
///
/// # Errors
///
/// Those of the run, and those of `ask`: then the agent that asked waits for an answer, and so does the run, since its
/// call has no outcome.
pub(crate) async fn answering_children<T, E>(
    drive: impl Future<Output = Result<T, E>>,
    mut questions: mpsc::Receiver<ChildQuestion>,
    ask: &Mutex<impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, E>>,
) -> Result<T, E> {
    let mut drive = std::pin::pin!(drive);
    loop {
        tokio::select! {
            end = &mut drive => return end,
            Some(ChildQuestion { run, asked, answer }) = questions.recv() => {
                // Without an answer `answer` is dropped, by which the child knows that it has to wait.
                let answers = (ask.lock().await)(&run, &asked).await?;
                _ = answer.send(answers);
            }
        }
    }
}

/// The agents that the tools of an agent call.
#[derive(Debug, Clone)]
pub struct CalledAgents {
    /// Their files, by the name of the tool.
    pub files: BTreeMap<String, PathBuf>,
    /// A folder of the project.
    pub root: PathBuf,
    /// The user's places.
    pub places: Places,
    /// The carrier of requests.
    pub carriage: Carriage,
    /// The most that the whole tree of runs may cost by its caller's word.
    pub most: Option<NanoDollars>,
}

impl CalledAgents {
    /// The agents that the tools of an agent call. `None` if no tool calls one.
    pub(crate) fn of(project: &OpenProject, agent: &LoadedAgent, carriage: &Carriage) -> Option<Self> {
        if agent.agents.is_empty() {
            return None;
        }
        let root = project.root.clone().unwrap_or_else(|| PathBuf::from("."));
        let (files, places) = (agent.agents.clone(), project.places.clone());
        Some(Self { files, root, places, carriage: carriage.clone(), most: None })
    }

    /// The agents for the calls of one run. `caller` is `None` if that is not recorded.
    pub(crate) fn of_run(&self, caller: Option<&RunId>, questions: QuestionSender) -> ChildRuns {
        ChildRuns { agents: self.clone(), caller: caller.cloned(), questions }
    }
}

/// Runs the agents that one run calls.
#[derive(Debug)]
pub(crate) struct ChildRuns {
    agents: CalledAgents,
    caller: Option<RunId>,
    questions: QuestionSender,
}

impl ChildAgents for ChildRuns {
    fn call_agent<'c>(
        &'c self,
        effect: EffectId,
        call: &'c ToolUse,
        stop: &'c CancellationToken,
    ) -> BoxFuture<'c, ToolOutcome> {
        Box::pin(async move {
            let Some(file) = self.agents.files.get(&call.tool).cloned() else {
                return ToolOutcome::failure("its agent's file is not known");
            };
            let carriage = self.agents.carriage.within_call(effect);
            let order = ChildOrder {
                agents: CalledAgents { carriage, ..self.agents.clone() },
                file,
                call: call.clone(),
                caller: self.caller.clone().map(|run| RunCaller { run, effect }),
                questions: self.questions.clone(),
                stop: stop.clone(),
            };
            // On a thread of its own: a run waits for files and for its own children, however deep they are.
            let ran = tokio::task::spawn_blocking(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| Error::outside(format!("its run can't be started: {error}")))?;
                runtime.block_on(order.run())
            });
            match ran.await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => ToolOutcome::failure(show::terminal_str(&error.to_string()).into_string()),
                Err(error) => ToolOutcome::doubt(format!("its run broke off: {error}")),
            }
        })
    }
}

/// A call of an agent, with all that its run needs.
struct ChildOrder {
    agents: CalledAgents,
    file: PathBuf,
    call: ToolUse,
    caller: Option<RunCaller>,
    questions: QuestionSender,
    stop: CancellationToken,
}

impl ChildOrder {
    async fn run(self) -> Result<ToolOutcome, Error> {
        let project = OpenProject::open(&self.agents.root, &self.agents.places, BookReading::Trusted)?;
        let Some(caller) = self.caller.clone() else { return self.begin(project, None).await };
        let id = child_id(&caller);
        let store = records::look_at_records(&project).await?.value;
        let found = store.run(&id).await;
        let known = match &found {
            Ok(detail) if matches!(detail.row.state, RunState::Ended(_)) => {
                Some(recorded_outcome(&store, &project, detail).await)
            }
            _ => None,
        };
        store.close().await;
        match (known, found) {
            (Some(outcome), _) => Ok(outcome),
            (None, Ok(detail)) => self.go_on(&project, detail).await,
            (None, Err(proem_store::Error::NotFound(_))) => self.begin(project, Some((id, caller))).await,
            (None, Err(error)) => Err(error.into()),
        }
    }

    /// A new run, under this id if it is recorded.
    async fn begin(self, mut project: OpenProject, recorded: Option<(RunId, RunCaller)>) -> Result<ToolOutcome, Error> {
        let agent = load_agent(&project, &self.file)?;
        let limits = agent.definition.narrow_limits(project.config.lisp.limits());
        let context = read_json(&self.call.arguments, &mut Meter::new(limits))
            .map_err(|problem| Error::invalid(problem.diagnostic.message))?;
        let grant = self.call.grant.map(|grant| SharedTurns { turns: grant.turns, depth: grant.depth });
        let options = MissionOptions {
            carriage: self.agents.carriage.clone(),
            most: self.agents.most,
            shared: grant,
            passed: self.passed(),
            ..MissionOptions::default()
        };
        let input = MissionInput { context, memory: Value::map([]) };
        let record = if recorded.is_some() { RecordChoice::Needed } else { RecordChoice::No };
        let mut mission = Mission::new(&mut project, &agent, input, &options)?.with_call(recorded);
        let mut notes = Vec::new();
        let booking = mission.begin(&project, &Adapting::default(), record, &mut notes).await?;
        let ran: Result<RunResult, Error> = start_run(&mission, 1, &booking, self.asking(), &self.stop).await;
        booking.close().await;
        mission_outcome(ran?, &mission)
    }

    /// The run that an earlier process began.
    async fn go_on(self, project: &OpenProject, detail: RunDetail) -> Result<ToolOutcome, Error> {
        let store = records::look_at_records(project).await?.value;
        let agents = shipped_agents::agents();
        let read = agents.read_back(&RunRecord { store: &store, detail: &detail, places: &project.places }).await;
        store.close().await;
        let read = read.map_err(|why| Error::invalid(format!("its run can't be read back: {}", why.text)))?;
        let mut resuming = Resumption::new(project, detail, read, &self.agents.root, &|_| ())?;
        let mut notes = Vec::new();
        resuming.begin(project, &mut notes).await?;
        let ran = resuming.to_the_end(project, ResumeIdentity::On, self.asking(), &self.stop).await;
        let outcome = match (ran, mission::as_mission(resuming.run())) {
            (Ok(ran), Some(mission)) => mission_outcome(ran, mission),
            (Ok(_), None) => Err(Error::bug("an agent's run can't go on", "it is none of an agent's")),
            (Err(error), _) => Err(error),
        };
        _ = resuming.end().await;
        outcome
    }

    /// The labels of its inputs: of each argument, and of what decided that it is called.
    fn passed(&self) -> PassedInputs {
        let labels = &self.call.labels;
        labels.arguments.iter().map(|(name, label)| (name.clone(), label.join(&labels.decision))).collect()
    }

    /// Puts questions to the person who started the first caller. Without an answer the run waits with its question.
    fn asking(&self) -> impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
        let questions = self.questions.clone();
        async move |run: &str, asked: &[Question]| {
            let waiting = || Error::outside(format!("run {run} has a question and waits for an answer"));
            let (answer, answered) = oneshot::channel();
            let question = ChildQuestion { run: run.to_owned(), asked: asked.to_vec(), answer };
            questions.send(question).await.map_err(|_| waiting())?;
            answered.await.map_err(|_| waiting())
        }
    }
}

/// The id of the run that a call starts.
fn child_id(caller: &RunCaller) -> RunId {
    let hashed = Sha256::new()
        .chain_update(b"proem called run 1")
        .chain_update(caller.effect.0.to_be_bytes())
        .chain_update(&caller.run.0)
        .finalize();
    let mut first = [0; 8];
    first.iter_mut().zip(hashed).for_each(|(to, from)| *to = from);
    RunId::new(first)
}

/// The outcome of a call that a mission's end is.
fn mission_outcome(ran: RunResult, mission: &Mission) -> Result<ToolOutcome, Error> {
    let report = ran.output.downcast::<MissionReport>();
    let report = report.map_err(|_| Error::bug("an agent's run can't be used", "its output is none of a mission"))?;
    let outcome = report.outcome;
    let (inner, label) = match &outcome.end {
        MissionEnd::Return { value, .. } => {
            let label = value.label().join(&outcome.shown);
            // Its fields that begin with `_` are the caller's to keep secret.
            let open = open_secret_fields(value.clone());
            let text = write_json(&open, &mut Meter::new(*mission.limits()));
            match text {
                Ok(result) => (ToolOutcome::Answered { result }, label),
                Err(fault) => (ToolOutcome::failure(fault.message().to_owned()), label),
            }
        }
        MissionEnd::Fail(failure) => (failed_outcome(failure), outcome.shown.clone()),
        MissionEnd::NoAnswer(failure) => (lacking_outcome(failure), outcome.shown.clone()),
    };
    // A secret that its fields hold is named by the caller's signature.
    let label = CallLabel { secret: false, ..CallLabel::from(&label) };
    Ok(ToolOutcome::OfAgent { outcome: Box::new(inner), turns: outcome.usage.all_turns, label })
}

fn failed_outcome(failure: &StepFailure) -> ToolOutcome {
    let message = format!("{}: {}", failure.reason, failure.message);
    ToolOutcome::failure(show::terminal_str(&message).into_string())
}

/// The outcome of a mission without an answer.
fn lacking_outcome(failure: &StepFailure) -> ToolOutcome {
    let lack = match failure.reason.as_str() {
        reason::LLM_REQUIRED => ToolLack::Model,
        reason::LLM_ERROR => ToolLack::Answer,
        reason::MAX_DEPTH_EXCEEDED => ToolLack::Depth,
        reason::TURN_BUDGET_EXHAUSTED => ToolLack::Turns,
        reason::MISSION_TIMEOUT => ToolLack::Time,
        _ => return failed_outcome(failure),
    };
    ToolOutcome::Unavailable { lack, message: show::terminal_str(&failure.message).into_string() }
}

/// The outcome of a run that ended before its caller heard of it. Its label is not kept, so it may be anything's.
async fn recorded_outcome(store: &proem_store::Store, project: &OpenProject, detail: &RunDetail) -> ToolOutcome {
    let record = RunRecord { store, detail, places: &project.places };
    let turns = mission::recorded_turns(&record).await.map_or(0, |turns| turns.len());
    let value = match (&detail.value, &detail.replayable) {
        (Some(hash), Replayable::Yes) => {
            let texts = store.contents(std::slice::from_ref(hash)).await.unwrap_or_default();
            texts.get(hash).and_then(|bytes| String::from_utf8(bytes.clone()).ok())
        }
        _ => None,
    };
    let outcome = match value {
        Some(result) => ToolOutcome::Answered { result },
        None => ToolOutcome::failure("its run has ended, and no answer of it is kept"),
    };
    let label = CallLabel::from(&Label::from_many());
    ToolOutcome::OfAgent { outcome: Box::new(outcome), turns: u32::try_from(turns).unwrap_or(u32::MAX), label }
}
