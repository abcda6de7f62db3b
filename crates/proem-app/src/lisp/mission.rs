//! Missions of program agents, as one agent among the others: started, gone on with and replayed like any run.
//!
//! Invariants: a mission goes on only under the definitions that it began with, which this user trusts today. All that
//! makes its requests is in its record. The questions and calls of its tools are booked and recorded with its own
//! calls.

mod agent;
mod fit;
mod inputs;
mod preview;
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proem_agents::lisp::prompt::{ChosenPrompt, MissionPrompt, PromptFacts, PromptForm, choose};
use proem_agents::lisp::turns::record::{MissionEnd, MissionOutcome, StepFailure, reason};
use proem_agents::lisp::turns::{MissionTerms, SharedTurns};
use proem_agents::lisp::{AgentDefinition, ModelPrompt, ToolKind, TurnLimits, policy_hash};
use proem_engine::call::{Arrival, NanoDollars};
use proem_engine::contract::AnswerContract;
use proem_engine::effect::PolicyHash;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::policy::CallRecords;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::run::{CallLabel, CancelReason, ExchangeEnd, FallbackReason, Outcome};
use proem_engine::versions::Versions;
use proem_guard::Untrusted;
use proem_lisp::{Limits, Meter, StateKey, Value, label_secret_fields, print_source, write_json};
use proem_llm::secret::Secret;
use proem_runtime::installation_key;
use proem_runtime::tools::ToolSet;
use proem_store::record::{RunCaller, RunId};
use proem_text::{Label, hex};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use self::agent::{ProgramAgent, as_mission, recorded_turns};
pub use self::fit::{PromptFit, prompt_fit};
pub use self::inputs::{MissionInput, mission_input};
pub use self::preview::MissionPreview;
pub use self::world::MissionReport;
use super::agent::{LoadedAgent, load_agent, ready_tools};
use super::children::CalledAgents;
use super::models::AgentModels;
use super::recorded_questions::{QuestionsBasis, RecordedQuestions};
use super::running::{INPUT, MEMORY, RESULTS, agent_file};
use crate::agents::access::{AccessOptions, ContractedPrompt, ModelAccess};
use crate::agents::basis::RunBasis;
use crate::book::experiments::assign_versions;
use crate::calling::{ModelEndpoint, WantedModel};
use crate::config::lisp::LispFile;
use crate::error::Error;
use crate::message::Note;
use crate::project::OpenProject;
use crate::records::booking::Booking;
use crate::records::learning::{Adapting, taught_profile};
use crate::records::writing::RecordChoice;
use crate::run::options::Carriage;
use crate::trust::sha256_hex;

/// The kind of these runs in the records. It is stored, so it never changes.
pub const KIND: &str = "lisp-agent";

/// How a mission is run.
#[derive(Debug, Clone)]
pub struct MissionOptions {
    /// The model or role, instead of the configured one.
    pub model: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The carrier of requests.
    pub carriage: Carriage,
    /// The most that it may cost.
    pub most: Option<NanoDollars>,
    /// The most units of fuel of each program.
    pub fuel: Option<u64>,
    /// The budgets that it shares with the agents that call it.
    pub shared: Option<SharedTurns>,
    /// The labels of the inputs that another agent passed.
    pub passed: PassedInputs,
}

/// The labels of inputs that another agent passed, by name.
pub type PassedInputs = BTreeMap<String, CallLabel>;

impl Default for MissionOptions {
    fn default() -> Self {
        let (carriage, passed) = (Carriage::Network, PassedInputs::new());
        Self { model: None, provider: None, carriage, most: None, fuel: None, shared: None, passed }
    }
}

/// The settings of a mission, beside its files and inputs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MissionSettings {
    /// The version of Proem that made it.
    proem: String,
    /// The versions of what makes its requests.
    versions: Versions,
    /// The basis of its requests.
    #[serde(flatten)]
    basis: RunBasis,
    /// The agent's file.
    agent: PathBuf,
    /// The limits of each program that were configured.
    limits: LispFile,
    /// The turns that it may take.
    turns: TurnLimits,
    /// The turns that it may use of those that it shares.
    shared: SharedTurns,
    /// The labels of the inputs that another agent passed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    passed: PassedInputs,
    /// The descriptions of tools that another file than the agent's may give.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    described: BTreeMap<String, String>,
    /// The most that it may cost by its caller's word, in nano-dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most: Option<u64>,
    /// The questions of its tools to models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    questions: Option<QuestionsBasis>,
    /// The hash of the definitions.
    definitions: String,
    /// How the answers arrive.
    arrival: Arrival,
}

/// A mission with all that it runs with.
#[derive(Debug)]
pub struct Mission {
    access: ModelAccess,
    asked: ContractedPrompt,
    definition: Arc<AgentDefinition>,
    chosen: ChosenPrompt,
    context: Value,
    memory: Value,
    limits: Limits,
    key: StateKey,
    records: CallRecords,
    policy: PolicyHash,
    shared: SharedTurns,
    /// The means of its calls. `None` of a run that was read back and is not gone on with.
    bench: Option<Bench>,
    /// The recorded questions of its tools to models, of a run that was read back.
    questions: Option<RecordedQuestions>,
    inputs: OrderedJson,
    settings: Json,
    /// The hash of what it is held to.
    held: String,
    has_hidden: bool,
    most: Option<NanoDollars>,
    /// The id that a call of another run gives it, and that call.
    call: Option<(RunId, RunCaller)>,
}

/// The means of the calls of a mission's tools.
#[derive(Debug)]
struct Bench {
    tools: ToolSet,
    secrets: Vec<Secret>,
    models: Option<AgentModels>,
    agents: Option<CalledAgents>,
}

impl Bench {
    fn new(project: &mut OpenProject, agent: &LoadedAgent, carriage: &Carriage) -> Result<Self, Error> {
        let (tools, secrets) = ready_tools(project, agent)?;
        let agents = CalledAgents::of(project, agent, carriage);
        Ok(Self { tools, secrets, models: AgentModels::new(&agent.definition, carriage, project)?, agents })
    }

    /// The hash of the definitions, the prompts of its tools among them.
    fn policy(&self, agent: &LoadedAgent) -> PolicyHash {
        let Some(models) = &self.models else { return agent.policy };
        let own = hex::encode_hex(agent.policy.0);
        policy_hash(&[vec![own.as_str()], models.closures()].concat())
    }

    /// The models that its tools ask.
    fn endpoints(&self) -> Vec<ModelEndpoint> {
        let access = self.models.as_ref().map(|models| &models.access);
        access.map_or_else(Vec::new, |access| [&access.asked].into_iter().chain(&access.also).cloned().collect())
    }
}

impl Mission {
    /// A mission of an agent with this input and memory. Messages go to the project's notes.
    ///
    /// # Errors
    ///
    /// All that its tools lack, if its prompt can't be made of its inputs, or its model can't be asked.
    pub fn new(
        project: &mut OpenProject,
        agent: &LoadedAgent,
        MissionInput { context, memory }: MissionInput,
        options: &MissionOptions,
    ) -> Result<Self, Error> {
        let configured = LispFile { fuel: options.fuel.or(project.config.lisp.fuel), ..project.config.lisp.clone() };
        let limits = agent.definition.narrow_limits(configured.limits());
        let files = mission_files(agent, (&context, &memory), limits)?;
        let inputs = files.get(INPUT).map_or("{}", String::as_str);
        assign_versions(project, &sha256_hex(inputs.as_bytes()))?;
        let bench = Bench::new(project, agent, &options.carriage)?;
        let policy = bench.policy(agent);
        let turns = project.config.lisp.narrow_turns(agent.definition.turns);
        let passed = passed_labels(&options.passed);
        let mut definition = AgentDefinition { turns, passed, ..agent.definition.clone() };
        bench.models.iter().try_for_each(|models| models.describe(&mut definition))?;
        let definition = Arc::new(definition);
        let (mut access, prompt) = prompt_access(project, &definition, options, &bench.endpoints())?;
        let mut bench = bench;
        bench.models.iter_mut().for_each(|models| models.access.book_with(&access));
        let inputs = serde_json::from_str(inputs).map_err(|error| Error::bug("an input is no JSON", error))?;
        access.files.extend(bench.models.iter().flat_map(|models| models.access.files.clone()));
        access.files.extend(files);
        let path = std::fs::canonicalize(&agent.path).unwrap_or_else(|_| agent.path.clone());
        let shared = options.shared.unwrap_or(SharedTurns { turns: definition.turns.turn_budget, depth: 1 });
        let settings = MissionSettings {
            proem: env!("CARGO_PKG_VERSION").to_owned(),
            versions: Versions::TODAY,
            basis: access.basis.clone(),
            agent: path,
            limits: configured,
            turns: definition.turns,
            shared,
            passed: options.passed.clone(),
            described: descriptions_elsewhere(&definition),
            most: options.most.map(|most| most.0),
            questions: bench.models.as_ref().map(|models| models.basis().clone()),
            definitions: hex::encode_hex(policy.0),
            arrival: access.asked.arrival,
        };
        let asked = ContractedPrompt { prompt, contract: AnswerContract::Text, taught: None };
        let made = MadeMission { access, asked, definition, context, memory, limits, inputs };
        Ok(Self { bench: Some(bench), policy, ..Self::of(made, settings, &project.places)? })
    }

    /// The mission that these make, without what its calls are made with.
    fn of(made: MadeMission, settings: MissionSettings, places: &crate::places::Places) -> Result<Self, Error> {
        let MadeMission { access, asked, definition, context, memory, limits, inputs } = made;
        let facts = PromptFacts { agent: &definition, context: &context, screening: access.screening() };
        let chosen = choose(&facts)?;
        let key = StateKey::new(installation_key(&places.key())?.seal("state of a program", b""));
        let policy = hex::decode_hex(&settings.definitions).and_then(|bytes| bytes.try_into().ok());
        let policy = PolicyHash(policy.ok_or_else(|| Error::invalid("its definitions have no hash"))?);
        let held = held_to(&access.guarding.rules, policy);
        let (shared, most) = (settings.shared, settings.most.map(NanoDollars));
        let settings =
            serde_json::to_value(settings).map_err(|error| Error::bug("the settings can't be serialised", error))?;
        let has_hidden = label_secret_fields(context.clone()).label().is_secret();
        Ok(Self {
            access,
            asked,
            definition,
            chosen,
            context,
            memory,
            limits,
            key,
            records: CallRecords::Content,
            policy,
            shared,
            bench: None,
            questions: None,
            inputs,
            settings,
            held,
            has_hidden,
            most,
            call: None,
        })
    }

    /// The same as a run that a call of another one starts, under this id. Without one, it is no other's.
    #[must_use]
    pub fn with_call(self, call: Option<(RunId, RunCaller)>) -> Self {
        Self { call, ..self }
    }

    /// The call of another run that started it.
    #[must_use]
    pub fn caller(&self) -> Option<&RunCaller> {
        self.call.as_ref().map(|(_, caller)| caller)
    }

    /// The agent.
    #[must_use]
    pub fn definition(&self) -> &AgentDefinition {
        &self.definition
    }

    /// The limits of each program.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether something that it has must stay hidden.
    #[must_use]
    pub const fn has_hidden(&self) -> bool {
        self.has_hidden
    }

    /// Books the mission, and looks up its prompt's lessons. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If the records that something depends on can't be kept, or a wish is none.
    pub async fn begin(
        &mut self,
        project: &OpenProject,
        adapting: &Adapting,
        record: RecordChoice,
        notes: &mut Vec<Note>,
    ) -> Result<Booking, Error> {
        let secrets = self.bench.as_ref().map(|bench| bench.secrets.clone()).unwrap_or_default();
        let booking = self.access.book_beside(project, record, (self.most, &secrets), notes).await?;
        let history = self.access.history(booking.records(), record, project);
        self.asked.taught = taught_profile(project, &self.asked.prompt, adapting, history).await?.collect(notes);
        let keeps = booking.records().is_some_and(|records| records.keeps_content());
        self.records = if keeps { CallRecords::Content } else { CallRecords::Missing };
        Ok(booking)
    }

    /// The terms of its machine.
    fn terms(&self) -> MissionTerms<'_> {
        let prompt = MissionPrompt {
            chosen: &self.chosen,
            prompt: &self.asked.prompt,
            model: &self.access.asked.model,
            key: &self.access.key,
            screening: self.access.screening(),
            input_tokens: None,
            output_tokens: None,
            profile: self.asked.profile(),
            counter: self.access.counter.as_ref(),
        };
        MissionTerms {
            agent: Arc::clone(&self.definition),
            prompt: Arc::new(prompt),
            context: self.context.clone(),
            memory: self.memory.clone(),
            limits: self.limits,
            key: self.key.clone(),
            records: self.records,
            policy: self.policy,
            installation: &self.access.key,
            counter: self.access.counter.as_ref(),
            shared: self.shared,
        }
    }

    /// Its end as a record has it.
    fn recorded_end(&self, outcome: &MissionOutcome) -> Outcome {
        let attempts = outcome.exchanges.iter().flat_map(|exchange| exchange.attempts.clone()).collect();
        let ended = match &outcome.end {
            MissionEnd::Return { value, .. } => {
                let text = write_json(value, &mut Meter::new(self.limits)).ok();
                let json = text.and_then(|text| serde_json::from_str(&text).ok());
                let json = json.unwrap_or_else(|| Json::String("a value that JSON has no form for".to_owned()));
                ExchangeEnd::Answered { value: Untrusted::new(json, value.label()) }
            }
            MissionEnd::Fail(failure) | MissionEnd::NoAnswer(failure) => {
                ExchangeEnd::Failed { because: recorded_reason(failure, outcome) }
            }
        };
        Outcome { ended, attempts }
    }
}

/// The prompt of an agent, and the access to the model that it is for.
fn prompt_access(
    project: &mut OpenProject,
    definition: &AgentDefinition,
    options: &MissionOptions,
    also: &[ModelEndpoint],
) -> Result<(ModelAccess, Prompt), Error> {
    let book = project.book()?;
    let prompt = book.prompt(PromptForm::of(definition).prompt(), None)?;
    let role = project.config.lisp.model.clone();
    let wanted = WantedModel {
        model: options.model.as_deref().or(role.as_deref()),
        provider: options.provider.as_deref(),
        prompt: prompt.file.header.model.as_deref(),
    };
    let located = ModelAccess::located(&wanted, project)?;
    let carriage = &options.carriage;
    let accessed = AccessOptions { book: &book, prompts: &[&prompt], carriage, concurrency: None, also };
    Ok((ModelAccess::new(located, &accessed, project)?, prompt))
}

/// The descriptions of tools that another file than the agent's may give, by the name of the tool.
fn descriptions_elsewhere(agent: &AgentDefinition) -> BTreeMap<String, String> {
    let is_elsewhere = |kind: &ToolKind| match kind {
        ToolKind::Model(model) => matches!(model.prompt, ModelPrompt::Book(_)),
        kind => matches!(kind, ToolKind::Agent { .. }),
    };
    let tools = agent.tools.iter().filter(|(_, tool)| is_elsewhere(&tool.kind));
    tools.map(|(name, tool)| (name.clone(), tool.description.clone())).collect()
}

/// The labels of passed inputs.
fn passed_labels(passed: &PassedInputs) -> BTreeMap<String, Label> {
    passed.iter().map(|(name, label)| (name.clone(), label.to_label())).collect()
}

/// The parts of a mission, be it new or read back.
struct MadeMission {
    access: ModelAccess,
    asked: ContractedPrompt,
    definition: Arc<AgentDefinition>,
    context: Value,
    memory: Value,
    limits: Limits,
    inputs: OrderedJson,
}

fn recorded_reason(failure: &StepFailure, outcome: &MissionOutcome) -> FallbackReason {
    let last = outcome.exchanges.last().map(|exchange| &exchange.ended);
    match (failure.reason.as_str(), last) {
        (reason::CANCELLED, _) => FallbackReason::Cancelled(CancelReason::Asked),
        (reason::MISSION_TIMEOUT, _) => FallbackReason::Cancelled(CancelReason::Deadline),
        (reason::LLM_ERROR | reason::LLM_REQUIRED, Some(ExchangeEnd::Failed { because })) => *because,
        _ => FallbackReason::Program,
    }
}

/// The hash of what a mission is held to: the rules of the guard and the definitions of its tools.
fn held_to(rules: &str, policy: PolicyHash) -> String {
    sha256_hex(format!("rules {rules}\ndefinitions {}\n", hex::encode_hex(policy.0)).as_bytes())
}

/// The files of a mission's record beside those of its prompt. Secrets are written as `[Hidden]`.
fn mission_files(
    agent: &LoadedAgent,
    (context, memory): (&Value, &Value),
    limits: Limits,
) -> Result<BTreeMap<String, String>, Error> {
    let unwritten = |fault: proem_lisp::Fault| Error::invalid(fault.message().to_owned());
    let shown = label_secret_fields(context.clone());
    let mut files = BTreeMap::from([
        (agent_file(&agent.path), agent.text.clone()),
        (INPUT.to_owned(), write_json(&shown, &mut Meter::new(limits)).map_err(unwritten)?),
        (MEMORY.to_owned(), print_source(memory, &mut Meter::new(limits)).map_err(unwritten)?),
    ]);
    files.extend(agent.results.iter().map(|(tool, text)| (format!("{RESULTS}{tool}"), text.clone())));
    Ok(files)
}

/// An agent of a path, as it is today, with what its calls are made with.
fn bench_of_today(project: &OpenProject, path: &Path) -> Result<(PolicyHash, Bench), Error> {
    // Reading models takes notes on a project of its own.
    let folder = project.root.clone().unwrap_or_else(|| PathBuf::from("."));
    let mut project = OpenProject::open(&folder, &project.places, crate::project::BookReading::Trusted)?;
    let agent = load_agent(&project, path)?;
    let bench = Bench::new(&mut project, &agent, &Carriage::Network)?;
    Ok((bench.policy(&agent), bench))
}
