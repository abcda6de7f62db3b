//! Programs with an agent's tools, as runs that are recorded, replayed and gone on with.
//!
//! Invariants: a run goes on only under the definitions that it began with, which this user trusts today; what it was
//! made from is in its record, so that a replay needs nothing else. A replay calls nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proem_agents::lisp::{
    AgentDefinition, ProgramEnd as MachineEnd, ProgramMachine, ProgramOutcome, ProgramTerms, SharedTurns, parse_agent,
    policy_hash,
};
use proem_engine::assembly::PromptId;
use proem_engine::call::NanoDollars;
use proem_engine::ledger::Pricing;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::policy::CallRecords;
use proem_engine::run::{EventKind, ExchangeEnd, FallbackReason, Outcome as RunEndOutcome, Question, QuestionAnswer};
use proem_engine::versions::Versions;
use proem_guard::Untrusted;
use proem_lisp::{Meter, StateKey, label_secret_fields, print_source, read_json, write_json};
use proem_llm::secret::Secret;
use proem_runtime::driver::{DriveStart, RunBounds};
use proem_runtime::installation_key;
use proem_runtime::records::{
    DriveContext, Ledger, Recording, ReplayMeans, ReplayReport, ResumeIdentity, ResumeRequest, RunEnd, Start,
    drive_to_the_end, replay, resumable, resume,
};
use proem_runtime::tools::{ChildAgents, ToolModels, ToolPerformer, ToolSet};
use proem_store::Store;
use proem_store::query::RunDetail;
use proem_store::record::{Numbers, RunId, content_hash};
use proem_text::hex;
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agent::{LoadedAgent, load_agent, ready_tools};
use super::children::{CalledAgents, answering_children, question_channel};
use super::files::{MemoryFile, read_memory_text};
use super::models::AgentModels;
use super::recorded_questions::{QUESTIONS, RecordedQuestions};
use super::{CheckedProgram, DelimiterRepair, LispSession, LispSource};
use crate::agents::base::run_numbers;
use crate::agents::basis::RecordedTexts;
use crate::agents::running::drive_unrecorded;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;
use crate::records;
use crate::records::booking::Booking;
use crate::records::writing::{CallTerms, OpenRecords, RecordChoice};
use crate::run::options::Carriage;
use crate::when;

/// The kind of these runs in the records. It is stored, so it never changes.
pub const KIND: &str = "program";

/// The names of a run's files.
const PROGRAM: &str = "program.clj";
pub(super) const INPUT: &str = "input.json";
pub(super) const MEMORY: &str = "memory.clj";
/// The setting with the path of the file that keeps the memory.
const MEMORY_FILE: &str = "memory";
/// The folder of what tools answer with.
pub(super) const RESULTS: &str = "results/";

/// A program with all that it runs with.
#[derive(Debug)]
pub struct ProgramJob {
    agent: LoadedAgent,
    tools: ToolSet,
    secrets: Vec<Secret>,
    terms: ProgramTerms,
    files: BTreeMap<String, String>,
    settings: Json,
    inputs: OrderedJson,
    prompt: PromptId,
    /// Whether an input must stay hidden.
    has_hidden: bool,
    /// The models that its tools ask.
    models: Option<AgentModels>,
    /// The agents that its tools call.
    agents: Option<CalledAgents>,
    /// The most that a run may cost by its caller's word.
    most: Option<NanoDollars>,
}

/// The report of a program's run.
#[derive(Debug)]
pub struct ProgramReport {
    /// Its id, if it is recorded.
    pub run: Option<RunId>,
    /// Failures to record after something was called, in words.
    pub trouble: Option<String>,
    /// The outcome of the program.
    pub outcome: ProgramOutcome,
}

impl ProgramJob {
    /// A program that was checked, with an agent's tools.
    ///
    /// # Errors
    ///
    /// All that its tools lack, or if the session's values can't be written down.
    pub fn new(
        project: &mut OpenProject,
        mut agent: LoadedAgent,
        session: &LispSession,
        checked: &CheckedProgram,
        most: Option<NanoDollars>,
    ) -> Result<Self, Error> {
        let (tools, secrets) = ready_tools(project, &agent)?;
        let agents =
            CalledAgents::of(project, &agent, &Carriage::Network).map(|agents| CalledAgents { most, ..agents });
        let models = AgentModels::new(&agent.definition, &Carriage::Network, project)?;
        if let Some(models) = &models {
            let own = hex::encode_hex(agent.policy.0);
            agent.policy = policy_hash(&[vec![own.as_str()], models.closures()].concat());
        }
        let key = StateKey::new(installation_key(&project.places.key())?.seal("state of a program", b""));
        let terms = ProgramTerms {
            agent: Arc::new(agent.definition.clone()),
            program: Arc::clone(&checked.program),
            context: session.context.clone(),
            memory: session.memory.clone(),
            limits: session.limits,
            key,
            records: CallRecords::Content,
            policy: agent.policy,
            shared: SharedTurns::of_person(&agent.definition),
        };
        let unwritten = |fault: proem_lisp::Fault| Error::invalid(fault.message().to_owned());
        let meter = || Meter::new(session.limits);
        // Secrets are written as `[Hidden]`.
        let shown = label_secret_fields(session.context.clone());
        let has_hidden = shown.label().is_secret();
        let input = write_json(&shown, &mut meter()).map_err(unwritten)?;
        let mut files = BTreeMap::from([
            (agent_file(&agent.path), agent.text.clone()),
            (PROGRAM.to_owned(), checked.source.given.text.clone()),
            (INPUT.to_owned(), input.clone()),
            (MEMORY.to_owned(), print_source(&session.memory, &mut meter()).map_err(unwritten)?),
        ]);
        files.extend(agent.results.iter().map(|(tool, text)| (format!("{RESULTS}{tool}"), text.clone())));
        let inputs = serde_json::from_str(&input).map_err(|error| Error::bug("an input is no JSON", error))?;
        let written: String =
            files.iter().map(|(name, text)| format!("{name}\n{}\n", content_hash(text.as_bytes()))).collect();
        let prompt = PromptId {
            agent: agent.definition.name.clone(),
            name: KIND.to_owned(),
            version: "1".to_owned(),
            closure: content_hash(written.as_bytes()),
        };
        let path = std::fs::canonicalize(&agent.path).unwrap_or_else(|_| agent.path.clone());
        let mut settings = json!({
            "agent": path,
            "program": checked.source.given.name,
            "fuel": session.limits.fuel,
            "most": most,
            "proem": env!("CARGO_PKG_VERSION"),
            "versions": Versions::TODAY,
        });
        if let (Some(models), Some(settings)) = (&models, settings.as_object_mut()) {
            settings.insert(QUESTIONS.to_owned(), json!(models.basis()));
            // Added behind the hash above, by which the states of a run are bound to what it was made from.
            files.extend(models.access.files.clone());
        }
        Ok(Self { agent, tools, secrets, terms, files, settings, inputs, prompt, has_hidden, models, agents, most })
    }

    /// Names the file that keeps the memory, so that a run which is resumed can write it.
    #[must_use]
    pub fn with_memory_file(mut self, file: Option<&MemoryFile>) -> Self {
        if let (Some(file), Some(settings)) = (file, self.settings.as_object_mut()) {
            settings.insert(MEMORY_FILE.to_owned(), json!(file.path()));
        }
        self
    }

    fn start<'s>(&'s self, id: RunId, policy: &'s str) -> Start<'s> {
        let access = self.models.as_ref().map(|models| &models.access);
        Start {
            id,
            parent: None,
            kind: KIND,
            prompt: &self.prompt,
            role: access.map_or("", |access| &access.role),
            model: access.map_or("", |access| &access.asked.model.name),
            endpoint: access.map_or("", |access| &access.asked.endpoint.name),
            line: None,
            files: &self.files,
            inputs: &self.inputs,
            settings: &self.settings,
            policy,
            profiles: None,
            report: None,
            monolithic_tokens: None,
            steps: 0,
        }
    }

    /// Whether a tool may change something.
    fn has_effects(&self) -> bool {
        self.agent.definition.tools.values().any(|tool| tool.power != proem_engine::run::ToolPower::Free)
    }

    /// Opens the records; where none can be kept, a program without effects runs all the same.
    async fn book(&self, project: &OpenProject, choice: RecordChoice, notes: &mut Vec<Note>) -> Result<Booking, Error> {
        if let Some(models) = &self.models {
            return models.access.book_beside(project, choice, (self.most, &self.secrets), notes).await;
        }
        let ledger = Ledger { caps: Vec::new(), priced: Pricing::Free };
        let terms = CallTerms { ledger, secrets: self.secrets.clone() };
        // Agents that are called ask models, which is booked.
        let needs_records =
            self.has_effects() || self.agents.is_some() || !self.secrets.is_empty() || choice == RecordChoice::Needed;
        let opened = OpenRecords::begin(project, choice, needs_records.then_some(terms)).await?;
        // Without records and without a model, nothing is sent that would have to be booked.
        Ok(opened.collect(notes).map_or(Booking::Unsent, |records| Booking::Recorded(Box::new(records))))
    }

    /// The models for one run.
    fn models<'m>(
        &'m self,
        booking: &Booking,
        recording: Option<&'m Recording<'_>>,
    ) -> Result<Option<ToolModels<'m>>, Error> {
        self.models.as_ref().map(|models| models.of_run(booking, recording)).transpose()
    }

    /// Runs the program to its end. `ask` puts its questions to a person. An answer without an option is nobody's.
    /// Messages go to `notes`.
    ///
    /// # Errors
    ///
    /// If the records can't be kept, and those of `ask`.
    pub async fn run(
        self,
        project: &OpenProject,
        choice: RecordChoice,
        ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
        (stop, notes): (&CancellationToken, &mut Vec<Note>),
    ) -> Result<ProgramReport, Error> {
        let booking = self.book(project, choice, notes).await?;
        let (began, policy, bounds) = (Instant::now(), hex::encode_hex(self.agent.policy.0), bounds(stop));
        let from = DriveStart::Event(EventKind::Started);
        let report = async {
            let kept = booking.records().map(OpenRecords::kept);
            let Some(kept) = &kept else {
                let terms = ProgramTerms { records: CallRecords::Missing, ..self.terms.clone() };
                let models = self.models(&booking, None)?;
                let (sender, questions) = question_channel();
                let children = self.agents.as_ref().map(|agents| agents.of_run(None, sender));
                let world = ToolPerformer::new(&self.tools, None, self.agent.policy)
                    .asking(models.as_ref())
                    .calling(children.as_ref().map(|children| children as &dyn ChildAgents));
                let mut machine = ProgramMachine::new(terms);
                let ask = Mutex::new(ask);
                let asking = async |asked: &[Question]| (ask.lock().await)("", asked).await;
                let drive = drive_unrecorded(&mut machine, from, &world, &bounds, asking);
                let outcome = answering_children(drive, questions, &ask).await?;
                notes.extend(guard_notes(models.as_ref().map(ToolModels::take_asked).unwrap_or_default().noted));
                return Ok(ProgramReport { run: None, trouble: None, outcome });
            };
            let recording = Recording::new(kept, &self.start(OpenRecords::id()?, &policy));
            if self.has_hidden {
                recording.note_hidden();
            }
            let records = if recording.keeps_content() { CallRecords::Content } else { CallRecords::Missing };
            let models = self.models(&booking, Some(&recording))?;
            let (sender, questions) = question_channel();
            let children = self.agents.as_ref().map(|agents| agents.of_run(Some(recording.id()), sender));
            let world = ToolPerformer::new(&self.tools, Some(&recording), self.agent.policy)
                .asking(models.as_ref())
                .calling(children.as_ref().map(|children| children as &dyn ChildAgents));
            let mut machine = ProgramMachine::new(ProgramTerms { records, ..self.terms.clone() });
            let id = recording.id().short().to_owned();
            let context = DriveContext { world: &world, bounds: &bounds, recording: &recording };
            let ask = Mutex::new(ask);
            let asking = async |asked: &[Question]| (ask.lock().await)(&id, asked).await;
            let drive = drive_to_the_end(&mut machine, from, context, asking);
            let outcome = answering_children(drive, questions, &ask).await?;
            Ok(self.finish(outcome, (&recording, models.as_ref()), began, notes).await)
        };
        let report = report.await;
        notes.extend(self.models.iter().flat_map(|models| models.access.take_news()));
        notes.extend(booking.end().await);
        report
    }

    /// Writes the end of a run into its record.
    async fn finish(
        &self,
        outcome: ProgramOutcome,
        (recording, models): (&Recording<'_>, Option<&ToolModels<'_>>),
        began: Instant,
        notes: &mut Vec<Note>,
    ) -> ProgramReport {
        let asked = models.map(ToolModels::take_asked).unwrap_or_default();
        notes.extend(guard_notes(asked.noted));
        let counted = run_numbers(&asked.attempts.iter().collect::<Vec<_>>(), began);
        let end = RunEnd {
            at: when::time_now(),
            outcome: RunEndOutcome { attempts: asked.attempts, ..recorded_end(&outcome, &self.terms) },
            assembly: None,
            numbers: Numbers { embedding_calls: None, ..counted },
            evaluations: Vec::new(),
        };
        recording.finish(end).await;
        ProgramReport { run: Some(recording.id().clone()), trouble: recording.trouble(), outcome }
    }
}

/// Notes on the guard's changes to texts that models were asked with.
fn guard_notes(noted: Vec<String>) -> impl Iterator<Item = Note> {
    noted.into_iter().map(|words| Note::new(NoteKind::Guard, format!("guard: {words}")))
}

fn bounds(stop: &CancellationToken) -> RunBounds {
    // Each tool has a time of its own, and a person who is asked may take any.
    RunBounds { stop: stop.clone(), time: None }
}

/// The name of an agent's file in a record, which says how it is written.
pub(super) fn agent_file(path: &std::path::Path) -> String {
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    if is_json { "agent.json".to_owned() } else { "agent.toml".to_owned() }
}

/// A program's end as a record has it.
fn recorded_end(outcome: &ProgramOutcome, terms: &ProgramTerms) -> RunEndOutcome {
    let ended = match &outcome.end {
        MachineEnd::Value(value) => {
            let text = write_json(value, &mut Meter::new(terms.limits)).ok();
            let json = text.and_then(|text| serde_json::from_str(&text).ok());
            // A value without a form in JSON, such as a function, is a value all the same.
            let value = json.unwrap_or_else(|| Json::String("a value that JSON has no form for".to_owned()));
            ExchangeEnd::Answered { value: Untrusted::new(value, outcome.label.clone()) }
        }
        MachineEnd::Cancelled(why) => ExchangeEnd::Failed { because: FallbackReason::Cancelled(*why) },
        MachineEnd::Mismatch(..) | MachineEnd::Fail(_) | MachineEnd::Problem(_) => {
            ExchangeEnd::Failed { because: FallbackReason::Program }
        }
    };
    RunEndOutcome { ended, attempts: Vec::new() }
}

/// The sources of a recorded program.
#[derive(Debug)]
pub struct RecordedProgram {
    /// The values that it began with.
    pub session: LispSession,
    /// The program.
    pub checked: CheckedProgram,
    /// The agent's definition, as it was.
    pub definition: AgentDefinition,
    /// The questions of its tools to models.
    questions: Option<RecordedQuestions>,
    /// Why this is not what it was made from, if it isn't.
    pub changed: Option<String>,
}

/// Reads a program back from its record.
///
/// # Errors
///
/// If something of it isn't kept or is unreadable.
pub async fn read_back(store: &Store, project: &OpenProject, detail: &RunDetail) -> Result<RecordedProgram, Error> {
    let refused = |why: String| Error::negative(format!("run {} can't be read back: {why}", detail.row.id.short()));
    let texts = RecordedTexts::read(store, detail).await.map_err(refused)?;
    let text = |name: &str| texts.files.get(name).cloned().ok_or_else(|| refused(format!("`{name}` is missing")));
    let toml = texts.files.contains_key("agent.toml");
    let name = if toml { "agent.toml" } else { "agent.json" };
    let definition = parse_agent(name, &text(name)?)?;
    let mut configured = project.config.lisp.clone();
    configured.fuel = detail.settings.get("fuel").and_then(Json::as_u64).or(configured.fuel);
    let limits = definition.narrow_limits(configured.limits());
    let mut meter = Meter::new(limits);
    let input = read_json(&text(INPUT)?, &mut meter).map_err(|problem| refused(problem.diagnostic.message))?;
    let memory = read_memory_text(&text(MEMORY)?, &limits).map_err(|why| refused(why.to_string()))?;
    let session = agent_session(LispSession::new(limits, input, memory), &definition);
    let program = detail.settings.get("program").and_then(Json::as_str).unwrap_or(PROGRAM).to_owned();
    let source = LispSource { name: program, text: text(PROGRAM)? };
    let questions = RecordedQuestions::read(&detail.settings, &definition, &texts, &project.places)
        .map_err(|why| refused(why.text))?;
    let checked = session
        .check(source, DelimiterRepair::Offer)
        .map_err(|_| refused("its program has problems by this version of the language; run it again".to_owned()))?;
    Ok(RecordedProgram { session, checked, definition, questions, changed: texts.changed })
}

/// A session whose programs have an agent's inputs, result and tools.
#[must_use]
pub fn agent_session(session: LispSession, agent: &AgentDefinition) -> LispSession {
    let tools = agent.tools.iter().map(|(name, tool)| (name.clone(), Arc::clone(&tool.signature))).collect();
    session.with_signature(agent.signature.clone()).with_tools(tools)
}

/// A recorded program with all that it goes on with.
#[derive(Debug)]
pub struct ResumedProgram {
    /// Its sources.
    pub recorded: RecordedProgram,
    job: ProgramJob,
    detail: RunDetail,
}

impl ResumedProgram {
    /// Before a run is taken over: its definitions are those of today, and its tools are there.
    ///
    /// # Errors
    ///
    /// If they are not, or this user doesn't trust them.
    pub async fn new(project: &mut OpenProject, detail: RunDetail, notes: &mut Vec<Note>) -> Result<Self, Error> {
        resumable(&detail, &records::records_owner(project)).map_err(|error| Error::invalid(error.to_string()))?;
        let store = records::look_at_records(project).await?.collect(notes);
        let recorded = read_back(&store, project, &detail).await;
        store.close().await;
        let recorded = recorded?;
        if let Some(why) = &recorded.changed {
            return Err(Error::invalid(format!("run {} can't go on: {why}", detail.row.id.short())));
        }
        let path = detail.settings.get("agent").and_then(Json::as_str).map(PathBuf::from);
        let path = path.ok_or_else(|| Error::invalid("the run does not say which agent it is of; start it again"))?;
        let agent = load_agent(project, &path)?;
        let most = detail.settings.get("most").and_then(Json::as_u64).map(NanoDollars);
        let job = ProgramJob::new(project, agent, &recorded.session, &recorded.checked, most)?;
        Ok(Self { recorded, job, detail })
    }

    /// The file that the run was to keep its memory in, if it still has the memory that the run began with.
    ///
    /// # Errors
    ///
    /// As [`MemoryFile::reopen`].
    pub fn memory_file(&self) -> Result<Option<MemoryFile>, Error> {
        let Some(path) = self.detail.settings.get(MEMORY_FILE).and_then(Json::as_str) else { return Ok(None) };
        let session = &self.recorded.session;
        MemoryFile::reopen(Path::new(path), &session.limits, &session.memory).map(Some)
    }

    /// Goes on to the run's end, under its own id or apart. `ask` puts its questions to a person.
    ///
    /// # Errors
    ///
    /// If it can't be taken over, as when what its tools do has changed, and those of `ask`.
    pub async fn run(
        &self,
        project: &OpenProject,
        way: ResumeIdentity,
        ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
        (stop, notes): (&CancellationToken, &mut Vec<Note>),
    ) -> Result<ProgramReport, Error> {
        let (job, old) = (&self.job, &self.detail.row);
        let booking = job.book(project, RecordChoice::Needed, notes).await?;
        let Some(opened) = booking.records() else {
            return Err(Error::invalid(records::writing::NONE_TO_GO_ON_IN));
        };
        let began = Instant::now();
        let policy = hex::encode_hex(job.agent.policy.0);
        let report = {
            let kept = opened.kept();
            let request = ResumeRequest { run: &old.id, identity: way, project: kept.project, policy: &policy };
            let resumed = resume(kept.store, kept.seal, request).await;
            let resumed = resumed.map_err(|error| Error::invalid(error.to_string()))?;
            let mut machine = ProgramMachine::restore(job.terms.clone(), &resumed.state.machine)?;
            let (id, parent) = match way {
                ResumeIdentity::On => (old.id.clone(), None),
                ResumeIdentity::Apart => (OpenRecords::id()?, Some(old.id.clone())),
            };
            let start = Start { parent, steps: resumed.step, ..job.start(id, &policy) };
            let recording = Recording::new(&kept, &start);
            let models = job.models(&booking, Some(&recording))?;
            let (sender, questions) = question_channel();
            let children = job.agents.as_ref().map(|agents| agents.of_run(Some(recording.id()), sender));
            let world = ToolPerformer::new(&job.tools, Some(&recording), job.agent.policy)
                .asking(models.as_ref())
                .calling(children.as_ref().map(|children| children as &dyn ChildAgents));
            let bounds = bounds(stop);
            let context = DriveContext { world: &world, bounds: &bounds, recording: &recording };
            let id = recording.id().short().to_owned();
            let ask = Mutex::new(ask);
            let asking = async |asked: &[Question]| (ask.lock().await)(&id, asked).await;
            let drive = resumed.to_the_end(&mut machine, context, asking);
            let outcome = answering_children(drive, questions, &ask).await?;
            job.finish(outcome, (&recording, models.as_ref()), began, notes).await
        };
        notes.extend(booking.end().await);
        Ok(report)
    }
}

/// Feeds a recorded program its recorded events and compares every call and the end. Nothing is called.
///
/// # Errors
///
/// If something of the record is missing, damaged or changed.
pub async fn replay_program(store: &Store, project: &OpenProject, detail: &RunDetail) -> Result<ReplayReport, Error> {
    let recorded = read_back(store, project, detail).await?;
    if let Some(why) = recorded.changed {
        return Err(Error::negative(format!("run {} can't be replayed: {why}", detail.row.id.short())));
    }
    let RecordedProgram { session, checked, definition, questions, .. } = recorded;
    let terms = ProgramTerms {
        shared: SharedTurns::of_person(&definition),
        agent: Arc::new(definition),
        program: Arc::clone(&checked.program),
        context: session.context.clone(),
        memory: session.memory.clone(),
        limits: session.limits,
        // No state of a replay is written down.
        key: StateKey::new([0; 32]),
        records: CallRecords::Content,
        policy: policy_hash(&[]),
    };
    let mut machine = ProgramMachine::new(terms.clone());
    let means = ReplayMeans { models: &[], questions: questions.as_ref().map(RecordedQuestions::of_replay) };
    Ok(replay(store, detail, means, &mut machine, |outcome| recorded_end(outcome, &terms)).await?)
}
