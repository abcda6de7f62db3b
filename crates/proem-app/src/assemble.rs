//! The prompt for a task: gathering what is known, preparing, assembling and recording.
//!
//! The order is [`AssemblyChoice::new`], [`Start::gather`], [`AssemblyRecord::new`], [`MadeAssembly::new`],
//! [`MadeAssembly::record`]. The caller decides what goes to standard output, and when.

pub mod agent;
mod files;
mod finding;
pub mod send;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proem_agents::assemble::output::{Extra, capability_tokens, degraded_reasons};
use proem_agents::assemble::place_facts::{PlaceFacts, RuleText};
use proem_agents::assemble::settings::ContextDepth;
use proem_agents::assemble::{AssemblyAccount, AssemblyRequest, PROMPT, Task, assemble_task_prompt};
use proem_agents::screen::{Screening, ScreeningNote as Screened};
use proem_engine::budget::AnswerLength;
use proem_engine::cache::{CachePlan, plan};
use proem_engine::profile::Profiles;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{Model, Provider, Providers};
use proem_engine::tokens::CachingCounter;
use proem_engine::versions::Versions;
use proem_guard::{Untrusted, Verdict};
use proem_llm::endpoint::Endpoint;
use proem_runtime::records::{Start as RunStart, assembly_record as recorded_assembly};
use proem_runtime::{AllProcessors, Environment, GatherOptions};
use proem_select::mode::{Hints, ModeBasis};
use proem_store::record::Numbers;
use proem_text::{Label, Source};
use serde_json::{Value as Json, json};

use self::finding::Gathering;
pub use self::finding::TaskFinding;
use crate::agents::basis::of_assembly;
use crate::calling::{self, ModelEndpoint};
use crate::catalogue;
use crate::context::{ContextPatience, FileChoice};
use crate::error::Error;
use crate::factors::Factors;
use crate::guarding::{GuardSetup, tool_vocabularies};
use crate::message::{Hint, Message, Note, NoteKind};
use crate::project::OpenProject;
use crate::records::learning::{Adapting, PromptLessons, taught_profile};
use crate::records::writing::{CallTerms, OpenRecords, RecordChoice};
use crate::selecting::SelectionInputs;
use crate::windows::ContextWindows;

/// The kind of an assembly's record.
const KIND: &str = "assemble";

/// The longest task, in bytes. A longer one is a file, not a task.
pub const MAX_TASK_BYTES: u64 = 1024 * 1024;

/// The writer of the task, on whom its trust depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAuthor {
    /// The person or program that called, whose words are instructions.
    Caller,
    /// Somebody else: it is contained.
    Outside,
}

/// The options of an assembly.
#[derive(Debug)]
pub struct AssembleOptions {
    /// The person's words, with their author.
    pub task: Task,
    /// The task as it was named, for the record.
    pub named: String,
    /// The folder that the task is about.
    pub root: PathBuf,
    /// The caller's hints about the mode.
    pub hints: Hints,
    /// The model or role to count, plan and encode for, instead of the prompt's own.
    pub model: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The most input tokens.
    pub budget: Option<usize>,
    /// The tokens kept free for the answer, instead of what the configuration and the prompt say.
    pub output_tokens: Option<usize>,
    /// The version of the prompt, instead of the current one.
    pub prompt_version: Option<String>,
    /// The lessons and wishes that shape the prompt.
    pub adapting: Adapting,
    /// How much of the files that the task needs is shown, instead of what the configuration says.
    pub context: Option<ContextDepth>,
    /// How long files may be read for it.
    pub patience: ContextPatience,
    /// Files that are added or left out.
    pub choice: FileChoice,
    /// Whether it is recorded.
    pub record: RecordChoice,
}

/// A task in these words.
///
/// # Errors
///
/// If it is empty, or longer than [`MAX_TASK_BYTES`].
pub fn bounded_task(text: String, author: TaskAuthor) -> Result<Task, Error> {
    if text.len() as u64 > MAX_TASK_BYTES {
        return Err(Error::invalid(format!(
            "the task has more than {MAX_TASK_BYTES} bytes; put the details into a file and refer to it in the task"
        )));
    }
    if text.trim().is_empty() {
        return Err(Error::invalid("the task is empty; say what is to be done"));
    }
    Ok(match author {
        TaskAuthor::Outside => Task::Outside(Untrusted::new(text, Label::from_source(Source::named("task")))),
        TaskAuthor::Caller => Task::Caller(text),
    })
}

/// The prompt, and the model that it is counted, planned and encoded for.
#[derive(Debug)]
pub struct AssemblyChoice {
    prompt: Prompt,
    model: Model,
    role: String,
    endpoint: Endpoint,
    providers: Providers,
}

impl AssemblyChoice {
    /// The choices that the options and the configuration lead to.
    ///
    /// # Errors
    ///
    /// If there is no such prompt, or the model can't be told.
    pub fn new(options: &AssembleOptions, project: &OpenProject) -> Result<Self, Error> {
        let prompt = project.book()?.prompt(PROMPT, options.prompt_version.as_deref())?;
        let providers = Providers::load()?;
        let wanted = calling::WantedModel {
            model: options.model.as_deref(),
            provider: options.provider.as_deref(),
            prompt: prompt.file.header.model.as_deref(),
        };
        let role = wanted.name(&project.config).to_owned();
        // Nothing is sent, so a key is not needed.
        let ModelEndpoint { model, endpoint, .. } =
            calling::wanted_endpoint(&project.config, &providers, &wanted, &Environment::inherited())?;
        Ok(Self { prompt, model, role, endpoint, providers })
    }

    /// The model whose limits and tokeniser the request is fitted to.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// The requested name of the model.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The models whose requests are in the words of `provider`.
    #[must_use]
    pub fn speaking(&self, provider: Provider) -> Vec<&str> {
        self.providers.models().filter(|m| m.provider() == provider).map(|m| m.name.as_str()).collect()
    }
}

/// The start of an assembly.
#[derive(Debug)]
pub struct Start {
    prompt: Prompt,
    model: Model,
    role: String,
    gathered: PlaceFacts,
    finding: Option<TaskFinding>,
    depth: ContextDepth,
    /// The tools that are loaded already.
    tools: Option<AssemblyTools>,
}

/// The selector of capabilities, and the guard for text from outside.
#[derive(Debug)]
struct AssemblyTools {
    prepared: SelectionInputs,
    guarding: GuardSetup,
}

impl AssemblyTools {
    fn load(options: &AssembleOptions, gathered: &PlaceFacts, project: &OpenProject) -> Result<Self, Error> {
        let prepared = SelectionInputs::new(project, &options.task, &options.hints, gathered)?;
        let guarding = GuardSetup::load(&project.places, &tool_vocabularies(prepared.catalogue()))?;
        Ok(Self { prepared, guarding })
    }
}

impl Start {
    /// Finds out what is known about the folder.
    ///
    /// # Errors
    ///
    /// If it can't be looked at.
    pub fn gather(options: &AssembleOptions, chosen: AssemblyChoice, project: &OpenProject) -> Result<Self, Error> {
        let AssemblyChoice { prompt, mut model, role, endpoint, .. } = chosen;
        Factors::load(&project.places)?.apply(&mut model);
        ContextWindows::load(&project.places)?.apply(&project.config, &endpoint, &mut model);
        let mut gathering = GatherOptions::new(Environment::inherited());
        gathering.trusted = project.trusted_rules();
        gathering.set_up = project.set_up();
        gathering.answers = Some(project.answers.branched());
        gathering.limits = gathering.limits.with_git(project.config.git.limits());
        let depth = options.context.unwrap_or(project.config.assemble.context);
        // A provider that embeds is asked when the records are open, and no earlier.
        let is_local = project.config.embedding.provider.is_none();
        let beside =
            |gathered: &PlaceFacts| is_local.then(|| AssemblyTools::load(options, gathered, project)).transpose();
        let Gathering { gathered, finding, beside } =
            finding::gather_and_find(options, depth, &gathering, project, beside)?;
        let is_by_path_alone = finding.as_ref().is_some_and(|finding| finding.is_by_path_alone);
        let depth = if is_by_path_alone { ContextDepth::Paths } else { depth };
        Ok(Self { prompt, model, role, gathered, finding, depth, tools: beside? })
    }
}

/// The records, and what the prompt learned.
#[derive(Debug)]
pub struct AssemblyRecord {
    records: Option<OpenRecords>,
    taught: Option<PromptLessons>,
}

impl AssemblyRecord {
    /// Opens the records, and looks up what the prompt learned. The notes are there also if it fails.
    ///
    /// # Errors
    ///
    /// If the records are needed and can't be kept, or a wish is none.
    pub async fn new(
        options: &AssembleOptions,
        start: &Start,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        // Texts are sent where a provider embeds them, and a budget keeps them on this machine: caps have nothing to
        // bind.
        let asking = project.config.embedding.provider.is_some().then(CallTerms::free);
        let records = OpenRecords::begin(project, options.record, asking).await?.collect(notes);
        let history = OpenRecords::history(records.as_ref(), options.record, project);
        let taught = taught_profile(project, &start.prompt, &options.adapting, history).await?.collect(notes);
        notes.extend(taught.iter().filter_map(|taught| taught.said.clone()));
        Ok(Self { records, taught })
    }
}

/// An assembly with what it was made from.
#[derive(Debug)]
pub struct MadeAssembly {
    prompt: Prompt,
    role: String,
    guarding: GuardSetup,
    records: Option<OpenRecords>,
    took: Duration,
    /// The gathered facts.
    pub gathered: PlaceFacts,
    /// The assembly.
    pub assembled: AssemblyAccount,
    /// The model that it is for.
    pub model: Model,
    /// The expected treatment by the provider's cache.
    pub cache: CachePlan,
    /// The candidates of the selection.
    pub prepared: SelectionInputs,
    /// The lessons of the prompt.
    pub taught: Option<PromptLessons>,
    /// The findings for the task. `None` if nothing was searched.
    pub finding: Option<TaskFinding>,
}

impl MadeAssembly {
    /// Assembles. Notes about the project go to its notes, also on failure.
    ///
    /// # Errors
    ///
    /// If something that the prompt needs can't be read, or the prompt can't be made.
    pub fn new(
        options: &AssembleOptions,
        start: Start,
        begun: AssemblyRecord,
        project: &mut OpenProject,
    ) -> Result<Self, Error> {
        let Start { prompt, model, role, gathered, finding, depth, tools } = start;
        project.config.assemble.context = depth;
        let AssemblyRecord { records, taught } = begun;
        let task = &options.task;
        let outside = gathered.rule_files.iter().filter(|file| matches!(file.text, RuleText::Outside(_)));
        outside.for_each(|file| project.distrust(&file.name, "used as reference, not as instructions".into()));
        let mut notes = Vec::new();
        let key = project.delimiting_key(&mut notes)?;
        project.notes.extend(notes);
        let counter = model.counter();
        let mut counts = CachingCounter::new(counter.as_ref());
        let tools = tools.map_or_else(|| AssemblyTools::load(options, &gathered, project), Ok)?;
        let AssemblyTools { prepared, guarding } = tools;
        project.notes.extend(prepared.notes.iter().cloned());
        project.notes.extend(guarding.notes.iter().cloned());
        let (selecting, entries) = (prepared.selecting(), prepared.entries());
        let monolithic = project.baseline.as_deref().map(|baseline| counts.count(baseline));
        let chosen = options.output_tokens.or(project.config.assemble.output_tokens);
        let answer = AnswerLength::of(chosen, &prompt);
        let request = AssemblyRequest {
            task,
            gathered: &gathered,
            settings: &project.config.assemble,
            hints: options.hints,
            prompt: &prompt,
            key: &key,
            input_tokens: options.budget,
            window: model.context_tokens.map(NonZeroUsize::get),
            output_tokens: answer.tokens(&model),
            replaces_budget: options.budget.is_some(),
            monolithic,
            profile: taught.as_ref().map(|taught| &taught.adapted.profile),
            selecting: selecting.as_ref(),
            entries: entries.as_ref(),
            screening: Screening { guard: &guarding.guard, policy: &guarding.policy },
            mode_examples: prepared.mode_examples(),
            context: finding.as_ref().map(|finding| &finding.context),
            workers: &AllProcessors,
        };
        let began = Instant::now();
        let assembled = assemble_task_prompt(&request, &mut counts)?;
        let took = began.elapsed();
        let cache = plan(&assembled.assembly, &model, counter.exactness());
        Ok(Self { prompt, role, guarding, records, took, gathered, assembled, model, cache, prepared, taught, finding })
    }

    /// The gaps of the prompt.
    #[must_use]
    pub fn shortfalls(&self) -> Vec<Note> {
        let Self { assembled, gathered, .. } = self;
        let cut = assembled.report.sections.iter().filter_map(|section| {
            let reason = section.reason.as_deref()?;
            (section.full_tokens > section.tokens).then(|| format!("`{}` {reason}", section.name))
        });
        let missed = self.finding.iter().flat_map(|finding| &finding.context.gaps);
        let unknown = gathered.gaps.iter().chain(missed).map(|gap| format!("{}: {}", gap.what, gap.why));
        let guarded = assembled.noted.iter().map(Screened::in_words);
        let mode = &assembled.mode;
        let open = (mode.basis == ModeBasis::Default).then(|| {
            Note::hinting(NoteKind::Prompt, format!("mode {}: {}", mode.mode.as_str(), mode.reason), Hint::ChooseMode)
        });
        let short = self.finding.as_ref().filter(|finding| finding.is_by_path_alone).map(|_| {
            let words = "files for the task: because of that doubt only their paths are given";
            Note::hinting(NoteKind::Prompt, words, Hint::ChooseDepth)
        });
        let others = unknown.map(|words| Note::new(NoteKind::Prompt, words)).chain(short);
        let others = others.chain(
            guarded
                .map(|words| Note::new(NoteKind::Guard, words))
                .chain(cut.chain(assembled.left_out.iter().cloned()).map(|words| Note::new(NoteKind::Prompt, words))),
        );
        open.into_iter().chain(others).collect()
    }

    /// The output's data beside the assembly. The caller words its notes.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub fn extra(&self, project: &OpenProject) -> Result<Extra, Error> {
        let mut plan = serde_json::to_value(&self.cache).map_err(|e| Error::bug("could not write JSON", e))?;
        if let Some(plan) = plan.as_object_mut() {
            plan.insert("sentence".into(), Json::String(self.cache.sentence()));
        }
        Ok(Extra {
            cache: Some(plan),
            untrusted_files: project.untrusted.clone(),
            degraded: self.prepared.degraded.clone(),
            embedding_calls: self.prepared.calls,
            catalogue_tokens: self.catalogue_tokens(),
            found: self.finding.as_ref().map(|finding| finding.context.clone()),
            ..Extra::default()
        })
    }

    /// The tokens of all definitions in the catalogue: what a prompt with every tool would hold.
    #[must_use]
    pub fn catalogue_tokens(&self) -> Option<usize> {
        let entries = self.prepared.catalogue().entries();
        (!entries.is_empty())
            .then(|| entries.iter().fold(0_usize, |sum, entry| sum.saturating_add(catalogue::definition_tokens(entry))))
    }

    /// Closes the records without a word about it: what is sent is recorded as a run.
    pub async fn leave_unrecorded(&mut self) -> Vec<Note> {
        match self.records.take() {
            Some(records) => records.end().await,
            None => Vec::new(),
        }
    }

    /// Records it, if that is wanted. A failure is only noted, since nothing depends on it.
    pub async fn record(&mut self, options: &AssembleOptions, project: &OpenProject) -> Vec<Note> {
        let Some(records) = self.records.take() else { return Vec::new() };
        let mut notes = Vec::new();
        if let Err(error) = self.kept(options, project, &records).await {
            let text = format!("the assembly is not recorded: {error}");
            notes.push(Note { kind: NoteKind::Records, message: Message { text, hint: error.hint().cloned() } });
        }
        notes.extend(records.end().await);
        notes
    }

    async fn kept(&self, options: &AssembleOptions, project: &OpenProject, records: &OpenRecords) -> Result<(), Error> {
        let Self { prompt, assembled, model, prepared, taught, guarding, took, .. } = self;
        let noted = |least| assembled.noted.iter().filter(|noted| noted.verdict >= least).count() as u64;
        let numbers = Numbers {
            took_ms: u64::try_from(took.as_millis()).ok(),
            assembled_us: u64::try_from(took.as_micros()).ok(),
            embedding_calls: u64::try_from(prepared.calls).ok(),
            scanned: u64::try_from(assembled.scanned).ok(),
            threats: Some(noted(Verdict::Flag)),
            filtered: Some(noted(Verdict::Quarantine)),
            degraded: !degraded_reasons(assembled, &prepared.degraded).is_empty(),
            ..Numbers::default()
        };
        let book = project.book()?;
        let mut settings = json!({
            "proem": env!("CARGO_PKG_VERSION"),
            "versions": Versions::TODAY,
            "mode": assembled.mode.mode.as_str(),
        });
        let experiments = book.assignments_of(&[prompt]);
        if let (false, Some(settings)) = (experiments.is_empty(), settings.as_object_mut()) {
            settings.insert("experiments".to_owned(), json!(experiments));
        }
        let start = RunStart {
            id: OpenRecords::id()?,
            parent: None,
            kind: KIND,
            prompt: &prompt.id,
            role: &self.role,
            model: &model.name,
            endpoint: "",
            line: None,
            files: &of_assembly(&book, prompt, &guarding.files),
            inputs: &json!({ "task": options.named }).into(),
            settings: &settings,
            policy: &guarding.rules,
            profiles: taught.as_ref().map(|taught| Profiles::Same(taught.adapted.profile.clone())),
            report: Some(&assembled.report),
            monolithic_tokens: self.monolithic(),
            steps: 0,
        };
        let finish = recorded_assembly(&records.kept(), &start, &assembled.assembly, numbers);
        match finish {
            Some(finish) => Ok(records.store().finish(finish).await?),
            None => Ok(()),
        }
    }

    /// The tokens of the prompt that lists everything: of the one that Proem's replaces, or of this one with
    /// every definition of the catalogue in the place of what was chosen.
    fn monolithic(&self) -> Option<u64> {
        let totals = &self.assembled.report.totals;
        let all = totals.monolithic.or_else(|| {
            let rest = totals.tokens.saturating_sub(capability_tokens(&self.assembled));
            Some(rest.saturating_add(self.catalogue_tokens()?))
        });
        u64::try_from(all?).ok()
    }
}
