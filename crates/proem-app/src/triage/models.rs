//! The models that the stages of triage ask, and a cycle's stages as a recorded run.
//!
//! A run is one cycle's calls. It is made of the signals, the project's file and the artefacts of that moment, so that
//! its record alone makes every request anew. Its result goes into the plan that rules make. No effect is performed
//! here.

mod stage_versions;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use proem_agents::prompt_call::PreparedRequest;
use proem_engine::assembly::PromptId;
use proem_engine::call::{Arrival, NanoDollars};
use proem_engine::ledger::ModelMix;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::Profiles;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::run::{
    AnswerRequirement, Attempt, CancelReason, ExchangeEnd, ExchangeLimits, ExchangeTerms, FallbackReason, Outcome,
};
use proem_engine::tokens::{CachingCounter, PieceMemory, TokenCounter};
use proem_engine::versions::Versions;
use proem_guard::Verdict;
use proem_llm::codec::encode_request;
use proem_llm::endpoint::EndpointKey;
use proem_runtime::Environment;
use proem_runtime::records::{Recording, RunEnd, Start};
use proem_store::record::{Evaluation, Numbers, RunId};
use proem_triage::TriageLexicon;
use proem_triage::answer::DraftRules;
use proem_triage::pipeline::{
    Pipeline, PipelineEnd, PipelineLimits, PipelineModel, PipelineStage, PipelineSubject, PipelineTerms, StageAsker,
    StagePrompt, StageSubject, prepare_stage,
};
use proem_triage::plan::{ArtefactGate, ArtefactSet};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::charter;
use crate::agents::access::{AccessOptions, ContractedPrompt, ModelAccess, RunTerms};
use crate::agents::base::run_numbers;
use crate::agents::basis::{ModelBasis, RecordedPrompt, RecordedTexts, RunBasis, learned_settings};
use crate::agents::record::RunRecord;
use crate::agents::{Agent, AgentEnd, AgentMachine, AgentRun, EndedRun, OutcomeAdapter, ReadBack, RunResult, Today};
use crate::calling::{self, ModelEndpoint, WantedModel};
use crate::effects::policy;
use crate::error::Error;
use crate::message::{Message, Note, NoteKind};
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::records::booking::Booking;
use crate::records::learning::{Adapting, profiles, taught_profile};
use crate::records::writing::RecordChoice;
use crate::run::course::outcome_evaluation;
use crate::run::options::Carriage;
use crate::when;

/// The kind of its runs in the records.
pub(super) const KIND: &str = "triage";
/// The prompts of the stages, in their order.
const PROMPTS: [&str; 4] = [
    PipelineStage::Sanitise.prompt(),
    PipelineStage::Classify.prompt(),
    PipelineStage::Reasoning.prompt(),
    PipelineStage::ArtefactUpdate.prompt(),
];

/// The stages of triage that ask models.
#[derive(Debug, Clone, Copy)]
pub struct TriageAgent;

impl Agent for TriageAgent {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn prompts(&self) -> &'static [&'static str] {
        &PROMPTS
    }

    fn read_back<'r>(&'r self, record: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        Box::pin(async move {
            let (run, changed) = TriageRun::recorded(record).await?;
            Ok(ReadBack { run: Box::new(run), changed })
        })
    }
}

/// How models are asked.
#[derive(Debug, Clone)]
pub struct TriageModelOptions {
    /// The carrier of requests.
    pub carriage: Carriage,
    /// The most that a cycle may cost.
    pub most: Option<NanoDollars>,
    /// The influences on prompts beside their inputs.
    pub adapting: Adapting,
    /// Whether runs are recorded.
    pub record: RecordChoice,
}

/// Opens the models of a project, if its user's configuration has any. Messages go to the project's notes.
///
/// # Errors
///
/// As [`TriageRun::new`].
pub fn open_triage_run(
    root: &Path,
    places: &Places,
    options: &TriageModelOptions,
) -> Result<(OpenProject, Option<TriageRun>), Error> {
    let project = OpenProject::without_book(root, places)?;
    if project.config.triage.models != Some(true) {
        return Ok((project, None));
    }
    let mut project = OpenProject::open(root, places, BookReading::Trusted)?;
    let run = TriageRun::new(options, &mut project)?;
    let needs_keys = matches!(options.carriage, Carriage::Network | Carriage::Recorder(_));
    match run.missing_key().filter(|_| needs_keys) {
        Some(variable) => {
            project.notes.push(Note::new(NoteKind::Model, format!("no model is asked: {variable} is not set")));
            Ok((project, None))
        }
        None => Ok((project, Some(run))),
    }
}

/// The settings of a run as they are recorded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TriageSettings {
    /// The version of Proem that made it.
    proem: String,
    /// The versions of what makes its requests.
    versions: Versions,
    #[serde(flatten)]
    basis: RunBasis,
    /// The large model.
    large: ModelBasis,
    /// The prompts that it asks with, in the order of the stages.
    prompts: Vec<PromptId>,
    limits: PipelineLimits,
    arrival: Arrival,
}

/// A cycle's calls with everything that they are made of.
pub struct TriageRun {
    access: ModelAccess,
    /// Counts the large model's tokens.
    counter: Box<dyn TokenCounter>,
    /// The counted and contained pieces for the small and for the large model: most of a request repeats the previous
    /// one.
    counted: Mutex<[PieceMemory; 2]>,
    /// In the order of the stages.
    prompts: Vec<ContractedPrompt>,
    /// The one that the run is listed by: nothing happens without it.
    own: PromptId,
    lexicon: TriageLexicon,
    rules: DraftRules,
    limits: PipelineLimits,
    most: Option<NanoDollars>,
    settings: Json,
    subject: PipelineSubject,
    inputs: OrderedJson,
}

impl std::fmt::Debug for TriageRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TriageRun").field("access", &self.access).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl TriageRun {
    /// Sets up the models of the roles `small` and `large`. The signals come with [`Self::about`]. Messages go to the
    /// project's notes.
    ///
    /// # Errors
    ///
    /// If a prompt is missing or calls no tools, or a model can't be asked.
    pub fn new(options: &TriageModelOptions, project: &mut OpenProject) -> Result<Self, Error> {
        let charter = charter::read_charter(project)?;
        let subject = PipelineSubject {
            charter_text: charter::charter_text(project)?,
            signals: Vec::new(),
            artefacts: ArtefactSet::new(&charter.id),
            level: charter.level,
            gate: ArtefactGate::Withheld,
            mix: ModelMix::default(),
            policy: policy::policy_texts(project)?,
            actions: Vec::new(),
            situations: Vec::new(),
            now: when::time_now(),
            charter,
        };
        let book = project.book()?;
        let prompts = stage_prompts(&book)?;
        let all: Vec<&Prompt> = prompts.iter().map(|contracted| &contracted.prompt).collect();
        let located = |role: PipelineModel, project: &OpenProject| {
            ModelAccess::located(&WantedModel { model: Some(role.as_str()), ..WantedModel::default() }, project)
        };
        let (large, _) = located(PipelineModel::Large, project)?;
        let asked = located(PipelineModel::Small, project)?;
        let also = [large];
        let access =
            AccessOptions { book: &book, prompts: &all, carriage: &options.carriage, concurrency: None, also: &also };
        let access = ModelAccess::new(asked, &access, project)?;
        let [located] = also;
        let large = access.also.first().cloned().unwrap_or(located);
        let provider = project.config.providers.get(&large.endpoint.name).cloned().unwrap_or_default();
        let mut limits = PipelineLimits::default();
        if let Some(retries) = project.config.triage.retries {
            limits.0.iter_mut().for_each(|limits| limits.retries = retries);
        }
        let settings = TriageSettings {
            proem: env!("CARGO_PKG_VERSION").to_owned(),
            versions: Versions::TODAY,
            basis: access.basis.clone(),
            large: ModelBasis::new(&large, provider, None),
            prompts: all.iter().map(|prompt| prompt.id.clone()).collect(),
            limits,
            arrival: access.asked.arrival,
        };
        let settings =
            serde_json::to_value(settings).map_err(|error| Error::bug("the settings can't be serialised", error))?;
        let (lexicon, rules) = shipped_words()?;
        let inputs = subject.write()?;
        let counter = large.model.counter();
        let most = options.most;
        let own = listing_prompt(&prompts)?;
        let counted = Mutex::default();
        Ok(Self { access, counter, counted, prompts, own, lexicon, rules, limits, most, settings, subject, inputs })
    }

    /// Books the runs, and looks up the prompts' lessons. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If the records that something depends on can't be kept, or a wish is none.
    pub async fn begin(
        &mut self,
        project: &OpenProject,
        options: &TriageModelOptions,
        notes: &mut Vec<Note>,
    ) -> Result<Booking, Error> {
        let booking = self.access.book(project, options.record, options.most, notes).await?;
        self.learn(&booking, project, options, notes).await?;
        Ok(booking)
    }

    /// Looks up the lessons of its prompts.
    async fn learn(
        &mut self,
        booking: &Booking,
        project: &OpenProject,
        options: &TriageModelOptions,
        notes: &mut Vec<Note>,
    ) -> Result<(), Error> {
        for contracted in &mut self.prompts {
            let history = self.access.history(booking.records(), options.record, project);
            contracted.taught =
                taught_profile(project, &contracted.prompt, &options.adapting, history).await?.collect(notes);
        }
        Ok(())
    }

    /// The same about other signals.
    ///
    /// # Errors
    ///
    /// If they have more labels than can be written down.
    pub fn about(&mut self, subject: PipelineSubject) -> Result<(), Error> {
        self.inputs = subject.write()?;
        self.subject = subject;
        self.access.follow_lessons();
        let large = self.large().map(|large| learned_settings(&large.model).collect::<Vec<_>>());
        if let Some(settings) = self.settings.as_object_mut() {
            settings.extend(learned_settings(&self.access.asked.model));
            if let Some(Json::Object(kept)) = settings.get_mut("large") {
                kept.extend(large.into_iter().flatten());
            }
        }
        Ok(())
    }

    /// The same, which may cost no more than this.
    pub(super) fn costing_at_most(self, most: Option<NanoDollars>) -> Self {
        Self { most, ..self }
    }

    /// Whether the project's file and the policy are unchanged. Signals admitted under others are not acted on.
    ///
    /// # Errors
    ///
    /// If they can't be read.
    pub(super) fn is_held_to_the_same(&self, project: &OpenProject) -> Result<bool, Error> {
        Ok(charter::charter_text(project)? == self.subject.charter_text
            && policy::policy_texts(project)? == self.subject.policy)
    }

    /// The project, with its policy and its people.
    #[must_use]
    pub const fn subject(&self) -> &PipelineSubject {
        &self.subject
    }

    /// The stages as they would be asked.
    #[must_use]
    pub fn pipeline(&self) -> Pipeline<'_> {
        Pipeline::new(self.terms_of_all())
    }

    /// The variable that should hold a key, where one is missing that a model needs.
    #[must_use]
    pub fn missing_key(&self) -> Option<&str> {
        let asked = [&self.access.asked].into_iter().chain(&self.access.also);
        asked.map(|asked| &asked.endpoint.key).find_map(|key| match key {
            EndpointKey::Missing { variable } => Some(variable.as_str()),
            EndpointKey::None | EndpointKey::Loaded { .. } => None,
        })
    }

    /// The first request of each stage as it would be sent, with what it takes for granted, and the stages that would
    /// then ask nobody.
    ///
    /// # Errors
    ///
    /// If one can't be made.
    pub fn forecast(&self) -> Result<(Vec<Json>, Vec<PipelineStage>), Error> {
        let forecasts = self.pipeline().forecast()?;
        let encoded = forecasts.iter().map(|forecast| {
            let asked = self.asked(forecast.model).0;
            let encoded = encode_request(&forecast.prepared.request, &asked.model, &forecast.prepared.plan)?;
            Ok(json!({
                "stage": forecast.stage.as_str(),
                "model": forecast.model.as_str(),
                "signals": forecast.signals,
                "callsOfStage": forecast.calls,
                "assumes": forecast.assumes(),
                "method": "POST",
                "url": format!("{}{}", asked.endpoint.base_url, encoded.wire.path),
                "key": asked.endpoint.key.variable(),
                "body": encoded.wire.body,
            }))
        });
        let encoded = encoded.collect::<Result<_, Error>>()?;
        let is_silent = |stage: &PipelineStage| forecasts.iter().all(|forecast| forecast.stage != *stage);
        Ok((encoded, PipelineStage::ALL.into_iter().filter(is_silent).collect()))
    }

    /// A run as it is recorded. The second is what of it was changed since.
    pub(super) async fn recorded(record: &RunRecord<'_>) -> Result<(Self, Option<String>), Message> {
        let detail = record.detail;
        let settings = TriageSettings::deserialize(&detail.settings)
            .map_err(|error| format!("its settings were written by another version of Proem: {error}"))?;
        settings.basis.under(&record.key()?)?;
        let texts = RecordedTexts::read(record.store, detail).await?;
        let mut changed = texts.changed.clone();
        let mut prompts = Vec::with_capacity(PROMPTS.len());
        for (place, name) in PROMPTS.iter().enumerate() {
            let id = settings.prompts.get(place).ok_or_else(|| format!("it did not ask with `{name}`"))?;
            let RecordedPrompt { prompt, changed: why } = settings.basis.prompt(id, &texts)?;
            changed = changed.or(why);
            prompts.push(ContractedPrompt::recorded(prompt, "triage", detail)?);
        }
        let model = settings.basis.model(&detail.row, &texts)?;
        let arrival = settings.arrival;
        let large = settings.large.read(&texts, arrival)?;
        let counter = large.model.counter();
        let access = ModelAccess::recorded(model, settings.basis, &texts, arrival, record)?.with(vec![large]);
        let subject = PipelineSubject::read(&texts.inputs).map_err(Error::from)?;
        let (lexicon, rules) = shipped_words()?;
        let (inputs, limits) = (texts.inputs, settings.limits);
        let settings = detail.settings.clone();
        let own = listing_prompt(&prompts)?;
        let counted = Mutex::default();
        let run = Self {
            access,
            counter,
            counted,
            prompts,
            own,
            lexicon,
            rules,
            limits,
            most: None,
            settings,
            subject,
            inputs,
        };
        Ok((run, changed))
    }

    fn terms_of_all(&self) -> PipelineTerms<'_> {
        PipelineTerms {
            asker: self,
            subject: &self.subject,
            lexicon: &self.lexicon,
            rules: &self.rules,
            screening: self.access.screening(),
            limits: self.limits,
        }
    }

    fn large(&self) -> Option<&ModelEndpoint> {
        self.access.also.first()
    }

    fn asked(&self, model: PipelineModel) -> (&ModelEndpoint, &dyn TokenCounter) {
        match (model, self.large()) {
            (PipelineModel::Large, Some(large)) => (large, self.counter.as_ref()),
            _ => (&self.access.asked, self.access.counter.as_ref()),
        }
    }

    fn prompt(&self, stage: PipelineStage) -> Option<&ContractedPrompt> {
        let place = PipelineStage::ALL.iter().position(|known| *known == stage)?;
        self.prompts.get(place)
    }

    fn told(&self, end: PipelineEnd) -> AgentEnd {
        let attempts = || end.exchanges.iter().flat_map(|exchange| exchange.outcome.attempts.iter().cloned());
        let last = end.exchanges.last().map(|exchange| exchange.outcome.ended.clone());
        let unasked = ExchangeEnd::Failed { because: FallbackReason::Cancelled(CancelReason::Deadline) };
        let outcome = Outcome { ended: last.unwrap_or(unasked), attempts: attempts().collect() };
        let mut evaluations: Vec<Evaluation> = Vec::new();
        for stage in PipelineStage::ALL {
            let last = end.exchanges.iter().rfind(|exchange| exchange.stage == stage);
            let evaluated = last
                .zip(self.prompt(stage))
                .and_then(|(exchange, contracted)| outcome_evaluation(&contracted.prompt.id, &exchange.outcome));
            evaluations.extend(evaluated);
        }
        AgentEnd { outcome, evaluations, detail: Some(Box::new(end)) }
    }
}

/// The prompt that a run is listed by.
fn listing_prompt(prompts: &[ContractedPrompt]) -> Result<PromptId, Error> {
    let classify = PROMPTS.iter().position(|name| *name == PipelineStage::Classify.prompt());
    let own = classify.and_then(|place| prompts.get(place)).map(|own| own.prompt.id.clone());
    own.ok_or_else(|| Error::bug("triage has no prompt", "a stage is missing"))
}

/// The words of the rules, which ship.
fn shipped_words() -> Result<(TriageLexicon, DraftRules), Error> {
    let damaged = |error| Error::bug("a file of triage is damaged", error);
    Ok((TriageLexicon::shipped().map_err(damaged)?, DraftRules::shipped().map_err(damaged)?))
}

impl StageAsker for TriageRun {
    fn request(
        &self,
        stage: PipelineStage,
        model: PipelineModel,
        subject: StageSubject<'_>,
    ) -> Result<PreparedRequest, proem_engine::Error> {
        let missing = || proem_engine::Error::new(proem_engine::ErrorKind::NotFound, "a stage has no prompt");
        let contracted = self.prompt(stage).ok_or_else(missing)?;
        let (asked, counter) = self.asked(model);
        let known = subject.server.apply_to(&asked.model);
        let prompt = StagePrompt {
            prompt: &contracted.prompt,
            contract: &contracted.contract,
            model: &known,
            key: &self.access.key,
            arrival: asked.arrival,
            output_tokens: subject.answer_tokens,
            profile: contracted.profile(),
        };
        // A panic leaves a usable value: a memory is put back or is empty.
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let [small, large] = &mut *counted;
        let memory = if model == PipelineModel::Large { large } else { small };
        let mut counts = CachingCounter::remembering(counter, std::mem::take(memory));
        let prepared = prepare_stage(&prompt, stage, subject, &mut counts);
        *memory = counts.into_memory();
        prepared
    }

    fn terms(&self, stage: PipelineStage, model: PipelineModel) -> ExchangeTerms<'_> {
        let contracted = self.prompt(stage);
        ExchangeTerms {
            owed: contracted.map_or(AnswerRequirement::Text, |contracted| contracted.contract.owed()),
            // Rules are in where there is no answer.
            fallback: None,
            limits: ExchangeLimits::default(),
            key: &self.access.key,
            counter: self.asked(model).1,
        }
    }
}

impl AgentRun for TriageRun {
    fn access(&self) -> &ModelAccess {
        &self.access
    }

    fn access_mut(&mut self) -> &mut ModelAccess {
        &mut self.access
    }

    fn start(&self, id: RunId) -> Start<'_> {
        let terms = RunTerms {
            kind: KIND,
            prompt: &self.own,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: &self.access.guarding.rules,
            profiles: self.profiles(),
        };
        self.access.start(id, terms)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(u64::from(self.limits.seconds()))
    }

    fn most(&self) -> Option<NanoDollars> {
        self.most
    }

    fn machine(&self) -> AgentMachine<'_> {
        Box::new(OutcomeAdapter::new(self.pipeline(), |end| self.told(end)))
    }

    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, proem_engine::Error> {
        let pipeline = Pipeline::restore(self.terms_of_all(), state)?;
        Ok(Box::new(OutcomeAdapter::new(pipeline, |end| self.told(end))))
    }

    fn renew(&mut self, today: &Today<'_>) -> Result<(), Message> {
        if !self.is_held_to_the_same(today.project)? {
            return Err("the project's file or the policy was changed since".to_owned().into());
        }
        for other in &mut self.access.also {
            let environment = Environment::inherited();
            other.endpoint = calling::locate_provider(&today.project.config, &other.endpoint.name, &environment)?;
        }
        Ok(())
    }

    fn finish<'r>(
        &'r self,
        ended: EndedRun,
        recording: Option<&'r Recording<'r>>,
    ) -> BoxFuture<'r, Result<RunResult, Error>> {
        Box::pin(async move {
            let EndedRun { end, began, .. } = ended;
            let Some(detail) = end.detail.and_then(|detail| detail.downcast::<PipelineEnd>().ok()) else {
                return Err(Error::bug("triage failed", "its end is none of triage"));
            };
            if let Some(recording) = recording {
                let attempts: Vec<&Attempt> = end.outcome.attempts.iter().collect();
                let degraded = detail.signals.iter().any(|judged| judged.classification.is_degraded);
                let of = |least: Verdict| {
                    let found = detail.signals.iter().filter(|judged| judged.sanitised.verdict >= least).count();
                    Some(u64::try_from(found).unwrap_or(u64::MAX))
                };
                let numbers = Numbers {
                    degraded,
                    scanned: of(Verdict::Allow),
                    threats: of(Verdict::Flag),
                    filtered: of(Verdict::Quarantine),
                    escalated: !detail.proposals.escalations.is_empty(),
                    ..run_numbers(&attempts, began)
                };
                let (outcome, evaluations) = (end.outcome.clone(), end.evaluations);
                recording.finish(RunEnd { at: when::time_now(), outcome, assembly: None, numbers, evaluations }).await;
            }
            Ok(RunResult {
                run: recording.map(|recording| recording.id().clone()),
                trouble: recording.and_then(Recording::trouble),
                output: detail,
            })
        })
    }
}

/// The prompts of the stages in a book, in their order.
fn stage_prompts(book: &Book) -> Result<Vec<ContractedPrompt>, Error> {
    PROMPTS.iter().map(|name| ContractedPrompt::new(book.prompt(name, None)?, "triage")).collect()
}

impl TriageRun {
    /// The lessons and wishes that the prompts show, as a record keeps them.
    fn profiles(&self) -> Option<Profiles> {
        profiles(self.prompts.iter().map(|shown| (&shown.prompt.id, shown.taught.as_ref())))
    }
}
