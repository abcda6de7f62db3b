//! Programs with tools, as runs of a scene.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proem_agents::lisp::{AgentDefinition, ProgramMachine, ProgramOutcome, ProgramTerms, SharedTurns, policy_hash};
use proem_engine::policy::CallRecords;
use proem_engine::run::{EventKind, ExchangeEnd, FallbackReason, Outcome, Question, QuestionAnswer};
use proem_lisp::{Limits, Meter, Names, StateKey, Value, read_json, resolve_source};
use proem_llm::caller::wall_clock;
use proem_runtime::Environment;
use proem_runtime::driver::{DriveEnd, DriveStart, NullJournal, RunBounds, go_on};
use proem_runtime::records::{DriveContext, Recording, ResumableRun, RunEnd, drive_to_the_end};
use proem_runtime::tools::{McpServers, ToolModels, ToolPerformer, ToolPlace, ToolSet};
use proem_store::record::Numbers;
use tokio_util::sync::CancellationToken;

/// An agent and its tools.
pub(crate) struct Workshop {
    pub(crate) agent: Arc<AgentDefinition>,
    tools: ToolSet,
}

impl Workshop {
    /// Tools that answer from these texts of results, by their names, or as the agent's file says.
    pub(crate) fn new(agent: AgentDefinition, folder: &Path, results: &BTreeMap<String, String>) -> Self {
        let (environment, secrets) = (Environment::inherited(), BTreeMap::new());
        let place = ToolPlace { root: folder, environment: &environment, secrets: &secrets, files: results };
        Self { tools: ToolSet::new(&agent, &place, McpServers::default()).unwrap(), agent: Arc::new(agent) }
    }

    /// A program of the agent. `input` is a JSON object.
    pub(crate) fn terms(&self, source: &str, input: &str) -> ProgramTerms {
        // Enough for a hundred calls at once.
        let (agent, limits) = (&self.agent, Limits { parallel_branches: 100, ..Limits::default() });
        let signatures = agent.tools.iter().map(|(name, tool)| (name.clone(), Arc::clone(&tool.signature))).collect();
        let names = Names { tools: Some(agent.tools.keys().cloned().collect()), signatures, ..Names::default() };
        ProgramTerms {
            shared: SharedTurns::of_person(agent),
            agent: Arc::clone(agent),
            program: Arc::new(resolve_source(source, &names, &limits).unwrap()),
            context: read_json(input, &mut Meter::new(limits)).unwrap(),
            memory: Value::map([]),
            limits,
            key: StateKey::new([7; 32]),
            records: CallRecords::Content,
            policy: policy_hash(&[]),
        }
    }

    /// Runs a program that asks no person. Its end is recorded.
    pub(crate) async fn run(
        &self,
        terms: ProgramTerms,
        course: ProgramCourse<'_>,
    ) -> Result<ProgramOutcome, BrokenOff> {
        let ProgramCourse { recording, resumed, models } = course;
        let world = ToolPerformer::new(&self.tools, recording, policy_hash(&[])).asking(models);
        let bounds = RunBounds { stop: CancellationToken::new(), time: None };
        let started = DriveStart::Event(EventKind::Started);
        let mut machine = match resumed {
            Some(resumed) => ProgramMachine::restore(terms, &resumed.state.machine)?,
            None => ProgramMachine::new(terms),
        };
        let Some(recording) = recording else {
            let driven = go_on(&mut machine, started, &world, &bounds, &NullJournal).await?;
            let DriveEnd::Done(outcome) = driven.reached else { panic!("the program asks nobody") };
            return Ok(outcome);
        };
        let context = DriveContext { world: &world, bounds: &bounds, recording };
        let outcome = match resumed {
            Some(resumed) => resumed.to_the_end(&mut machine, context, nobody).await?,
            None => drive_to_the_end(&mut machine, started, context, nobody).await?,
        };
        let ended = ExchangeEnd::Failed { because: FallbackReason::Program };
        finish_run(recording, Outcome { ended, attempts: Vec::new() }).await;
        Ok(outcome)
    }
}

/// Why a run broke off.
#[derive(Debug)]
pub(crate) enum BrokenOff {
    Engine(proem_engine::Error),
    Store(proem_store::Error),
}

impl From<proem_engine::Error> for BrokenOff {
    fn from(error: proem_engine::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<proem_store::Error> for BrokenOff {
    fn from(error: proem_store::Error) -> Self {
        Self::Store(error)
    }
}

async fn nobody(asked: &[Question]) -> Result<Vec<QuestionAnswer>, BrokenOff> {
    panic!("the program asks nobody: {asked:?}")
}

/// How a program is run.
#[derive(Clone, Copy, Default)]
pub(crate) struct ProgramCourse<'c> {
    pub(crate) recording: Option<&'c Recording<'c>>,
    /// The place where it was stopped. It starts anew without.
    pub(crate) resumed: Option<&'c ResumableRun>,
    /// The models that its tools ask.
    pub(crate) models: Option<&'c ToolModels<'c>>,
}

/// Records the end of a run.
pub(crate) async fn finish_run(recording: &Recording<'_>, outcome: Outcome) {
    let (at, numbers, evaluations) = (wall_clock(), Numbers::default(), Vec::new());
    recording.finish(RunEnd { at, outcome, assembly: None, numbers, evaluations }).await;
    assert_eq!(recording.trouble(), None);
}

/// A text in which no piece is like another one, nor like that of another seed.
pub(crate) fn distinct_text(seed: u64, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes);
    let mut number = seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
    while text.len() < bytes {
        // Xorshift (Marsaglia, 2003): any numbers do that don't repeat.
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        text.push_str(&format!("{number:016x} "));
    }
    text
}
