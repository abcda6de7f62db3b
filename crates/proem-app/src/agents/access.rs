//! A model with everything that is needed to ask it with some prompts of the book, and what of that a record keeps.

mod other_versions;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use proem_agents::screen::Screening;
use proem_engine::assembly::PromptId;
use proem_engine::call::{Arrival, NanoDollars};
use proem_engine::contract::AnswerContract;
use proem_engine::ledger::{Cap, Pricing};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::{Profile, Profiles};
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{Model, Providers};
use proem_engine::run::Outcome;
use proem_engine::tokens::TokenCounter;
use proem_guard::InstallationKey;
use proem_llm::caller::{Caller, Wire};
use proem_llm::cassette::{Recorder, Replayer};
use proem_llm::client::Client;
use proem_llm::endpoint::{Endpoint, EndpointKey};
use proem_llm::secret::Secret;
use proem_runtime::driver::{CallPerformer, Directory, ServedModel};
use proem_runtime::records::{Ledger, Recording, Start};
use proem_runtime::{Environment, installation_key};
use proem_store::query::RunDetail;
use proem_store::record::RunId;
use serde_json::Value as Json;
use tokio::time::Instant;

use super::basis::{BasisSource, RecordedTexts, RunBasis, unconnected_endpoint};
use super::record::RunRecord;
use super::server_lessons::{ModelLesson, ServerLessons};
use crate::answer_modes::AnswerModes;
use crate::book::experiments::watch_guardrails;
use crate::calling::{self, ModelEndpoint, WantedModel};
use crate::error::Error;
use crate::factors::Factors;
use crate::guarding::GuardSetup;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;
use crate::records;
use crate::records::booking::{Booking, Unbudgeted};
use crate::records::learning::{FailureHistory, PromptLessons};
use crate::records::writing::{CallTerms, OpenRecords, RecordChoice};
use crate::run::options::Carriage;
use crate::windows::ContextWindows;

/// A model and everything that is needed to ask it.
pub struct ModelAccess {
    /// The model that is asked, and where it is.
    pub asked: ModelEndpoint,
    /// Other models that the same run asks.
    pub also: Vec<ModelEndpoint>,
    /// The agent whose prompts it is asked with, by its folder in the book.
    pub agent: String,
    /// The requested role, such as `small`.
    pub role: String,
    /// The guard for text from outside.
    pub guarding: Arc<GuardSetup>,
    /// The installation's key.
    pub key: InstallationKey,
    /// Counts the model's tokens.
    pub counter: Box<dyn TokenCounter>,
    /// The files that a run's requests are made from, by name.
    pub files: BTreeMap<String, String>,
    /// The same, as far as it is no file.
    pub basis: RunBasis,
    /// The carrier of requests from here on.
    carriage: Carriage,
    /// The caps of runs with the agent's prompts, by the configuration that the access was made under.
    caps: Vec<Cap>,
    caller: Option<Caller>,
    directory: Directory,
    lessons: Arc<ServerLessons>,
    replayer: Option<Arc<Replayer>>,
}

impl fmt::Debug for ModelAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (model, endpoint) = (&self.asked.model.name, &self.asked.endpoint.name);
        f.debug_struct("ModelAccess")
            .field("model", model)
            .field("endpoint", endpoint)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// The options for asking a model.
#[derive(Debug)]
pub struct AccessOptions<'o> {
    /// The book with the prompts' files.
    pub book: &'o Book,
    /// The prompts that it is asked with.
    pub prompts: &'o [&'o Prompt],
    /// The carrier of requests.
    pub carriage: &'o Carriage,
    /// The most requests at once, instead of the endpoint's. `None` leaves it to that.
    pub concurrency: Option<NonZeroUsize>,
    /// Other models that the same run asks.
    pub also: &'o [ModelEndpoint],
}

/// The terms of an agent's run for its record, beside those of its access to models.
#[derive(Debug)]
pub struct RunTerms<'s> {
    /// The agent's kind.
    pub kind: &'s str,
    /// The run's own prompt.
    pub prompt: &'s PromptId,
    /// Its inputs, kept in their order.
    pub inputs: &'s OrderedJson,
    /// Everything else that it was started with.
    pub settings: &'s Json,
    /// The hash of the rules that it is held to.
    pub policy: &'s str,
    /// The lessons and wishes that its prompts show.
    pub profiles: Option<Profiles>,
}

impl ModelAccess {
    /// The beginning of the record of a run of several requests.
    pub(crate) fn start<'s>(&'s self, id: RunId, terms: RunTerms<'s>) -> Start<'s> {
        let RunTerms { kind, prompt, inputs, settings, policy, profiles } = terms;
        Start {
            id,
            parent: None,
            kind,
            prompt,
            role: &self.role,
            model: &self.asked.model.name,
            endpoint: &self.asked.endpoint.name,
            line: None,
            files: &self.files,
            inputs,
            settings,
            policy,
            profiles,
            report: None,
            monolithic_tokens: None,
            steps: 0,
        }
    }

    /// The model that is wanted, and where it is, with what is on the way there left out: to be looked at before
    /// everything else is read.
    ///
    /// # Errors
    ///
    /// If nobody is known by that name, several have the model, or configuration is wrong.
    pub fn located(wanted: &WantedModel<'_>, project: &OpenProject) -> Result<(ModelEndpoint, String), Error> {
        let providers = Providers::load()?;
        let role = wanted.name(&project.config).to_owned();
        Ok((calling::wanted_endpoint(&project.config, &providers, wanted, &Environment::inherited())?, role))
    }

    /// Makes everything that is needed to ask a model that was [`Self::located`]. Messages go to the project's notes.
    ///
    /// # Errors
    ///
    /// If the guard or a cassette is unreadable, or there is no key of the installation.
    pub fn new(
        (mut asked, role): (ModelEndpoint, String),
        options: &AccessOptions<'_>,
        project: &mut OpenProject,
    ) -> Result<Self, Error> {
        let AccessOptions { book, prompts, carriage, concurrency, also } = options;
        let token_percent = Factors::load(&project.places)?.apply(&mut asked.model);
        let (windows, modes) = (ContextWindows::load(&project.places)?, AnswerModes::load(&project.places)?);
        let learned = |asked: &mut ModelEndpoint| ModelLesson {
            window: windows.apply(&project.config, &asked.endpoint, &mut asked.model),
            way: modes.apply(&asked.endpoint, &mut asked.model),
        };
        let lesson = learned(&mut asked);
        let mut also = also.to_vec();
        also.iter_mut().for_each(|asked| _ = learned(asked));
        let provider = project.config.providers.get(&asked.endpoint.name).cloned().unwrap_or_default();
        if let Some(concurrency) = concurrency {
            asked.endpoint.limits.concurrency = *concurrency;
        }
        let guarding = Arc::new(GuardSetup::load(&project.places, &[])?);
        project.notes.extend(guarding.notes.iter().cloned());
        let (wire, replayer) = request_wire(carriage, &asked, &also)?;
        let mut notes = Vec::new();
        let key = project.delimiting_key(&mut notes)?;
        project.notes.extend(notes);
        let source = BasisSource {
            book,
            prompts,
            guard: &guarding.files,
            model: &asked.model,
            provider,
            token_percent,
            lesson,
            key: &key,
        };
        let (files, basis) = source.kept();
        let agent = prompts.first().map(|prompt| prompt.id.agent.clone()).unwrap_or_default();
        Ok(Self {
            caps: agent_caps(project, &agent)?,
            agent,
            carriage: (*carriage).clone(),
            caller: wire.map(|wire| Caller::new(wire, endpoints(&asked, &also))),
            directory: directory(&asked, &also),
            lessons: Arc::new(
                ServerLessons::remembered(project.places.clone(), [&asked].into_iter().chain(&also))
                    .taped(matches!(carriage, Carriage::Recorder(_))),
            ),
            counter: asked.model.counter(),
            replayer,
            guarding,
            key,
            files,
            basis,
            role,
            asked,
            also,
        })
    }

    /// The model of a recorded run, as it was known then. Nothing is sent before there is an endpoint.
    ///
    /// # Errors
    ///
    /// If the guard can't be made from what was recorded, or there is no key of the installation.
    pub fn recorded(
        model: Model,
        basis: RunBasis,
        texts: &RecordedTexts,
        arrival: Arrival,
        record: &RunRecord<'_>,
    ) -> Result<Self, Error> {
        let row = &record.detail.row;
        let endpoint = unconnected_endpoint(&row.endpoint, model.provider());
        let asked = ModelEndpoint { model, endpoint, arrival, diagnoses_cache: false, pricing: Pricing::Listed };
        Ok(Self {
            agent: row.prompt.agent.clone(),
            carriage: Carriage::Nobody,
            caps: Vec::new(),
            caller: None,
            directory: directory(&asked, &[]),
            lessons: Arc::default(),
            counter: asked.model.counter(),
            replayer: None,
            guarding: Arc::new(GuardSetup::of(texts.guard(), record.places, &[])?),
            key: installation_key(&record.places.key())?,
            role: row.role.clone(),
            files: texts.files.clone(),
            basis,
            asked,
            also: Vec::new(),
        })
    }

    /// Gives a recorded run's model an endpoint, where requests are sent from now on, under the project's budget.
    ///
    /// # Errors
    ///
    /// As [`records::agent_caps`].
    pub fn connect(&mut self, endpoint: Endpoint, project: &OpenProject) -> Result<(), Error> {
        self.asked.endpoint = endpoint;
        self.caps = agent_caps(project, &self.agent)?;
        self.carriage = Carriage::Network;
        let asked = [&self.asked].into_iter().chain(&self.also);
        self.lessons = Arc::new(ServerLessons::remembered(project.places.clone(), asked));
        self.directory = directory(&self.asked, &self.also);
        self.caller = Some(Caller::new(Wire::Live(Client::new()), endpoints(&self.asked, &self.also)));
        Ok(())
    }

    /// The same run's access with other models beside.
    #[must_use]
    pub fn with(mut self, also: Vec<ModelEndpoint>) -> Self {
        self.directory = directory(&self.asked, &also);
        self.also = also;
        self
    }

    /// The same access for calls that another access books: under its caps.
    pub(crate) fn book_with(&mut self, other: &Self) {
        self.caps.clone_from(&other.caps);
    }

    /// The model as it is known by now, and what a record keeps of what was learned of it.
    pub(crate) fn known_model(&self) -> (Model, ModelLesson) {
        let (mut model, lesson) = (self.asked.model.clone(), self.lessons.of(&self.asked.model.name));
        lesson.apply(&mut model);
        (model, lesson)
    }

    /// Has the runs from here on made for what was learned, as it is of a process that asks for days.
    pub(crate) fn follow_lessons(&mut self) {
        for asked in [&mut self.asked].into_iter().chain(&mut self.also) {
            self.lessons.of(&asked.model.name).apply(&mut asked.model);
        }
        self.directory = directory(&self.asked, &self.also);
    }

    /// Whether a run that failed for want of room is started anew for the window that its server named: it is smaller
    /// than the one that its request was made for, and nothing is kept on cassettes, which hold one call for each place.
    pub(crate) fn permits_shorter(&self, outcome: &Outcome, made_for: &Model) -> bool {
        let failure = outcome.attempts.last().and_then(|attempt| attempt.failure.as_ref());
        let window = failure.and_then(|failure| failure.window);
        let is_smaller = |window| made_for.context_tokens.is_none_or(|known| window < known);
        matches!(self.carriage, Carriage::Network) && window.is_some_and(is_smaller)
    }

    /// The news about servers since the last call of this function, in words.
    #[must_use]
    pub fn take_news(&self) -> Vec<Note> {
        self.lessons.take_news()
    }

    /// All models that may be asked, the run's own first.
    #[must_use]
    pub fn models(&self) -> Vec<&Model> {
        [&self.asked].into_iter().chain(&self.also).map(|asked| &asked.model).collect()
    }

    /// Whether prices hold, or all of it runs on this machine and costs nothing.
    fn priced(&self) -> Pricing {
        let is_free = |asked: &ModelEndpoint| asked.priced() == Pricing::Free;
        if is_free(&self.asked) && self.also.iter().all(is_free) { Pricing::Free } else { Pricing::Listed }
    }

    /// Whether what goes over the network is kept, which is one call for each place.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        matches!(self.carriage, Carriage::Recorder(_))
    }

    /// Cassettes that answers come from.
    #[must_use]
    pub fn replayer(&self) -> Option<&Replayer> {
        self.replayer.as_deref()
    }

    /// The calls of the run with that place among those of one command, from 1, over by `end`. Each attempt is booked
    /// by `recording`, which belongs to `booking`.
    ///
    /// # Errors
    ///
    /// If nothing is to be sent, or a request would be sent unbooked. Both are bugs.
    pub(crate) fn calls<'c>(
        &'c self,
        place: u32,
        booking: &Booking,
        recording: Option<&'c Recording<'_>>,
        end: Option<Instant>,
    ) -> Result<CallPerformer<'c>, Error> {
        let Some(caller) = &self.caller else {
            return Err(Error::bug("nothing is sent", "a dry run tried to send a request"));
        };
        let is_sent = matches!(self.carriage, Carriage::Network | Carriage::Recorder(_));
        let calls = CallPerformer::new(caller, &self.directory, place);
        let calls = if is_sent { calls.teaching(self.lessons.as_ref()) } else { calls };
        let calls = match (booking, recording) {
            (Booking::Recorded(_), Some(recording)) if booking.holds(&self.caps) => calls.through(recording),
            (Booking::Unrecorded(_), None) if booking.holds(&self.caps) => calls,
            (Booking::Unsent, None) if !is_sent => calls,
            _ => return Err(Error::bug("nothing is sent", "the request is not booked under the budget that holds")),
        };
        Ok(match end {
            Some(end) => calls.before(end),
            None => calls,
        })
    }

    /// The guard for text from outside.
    #[must_use]
    pub fn screening(&self) -> Screening<'_> {
        Screening { guard: &self.guarding.guard, policy: &self.guarding.policy }
    }

    /// Books runs that ask this model, under the caps of the configuration and the given ones. A run without network is
    /// not recorded. Messages go to `notes`.
    ///
    /// # Errors
    ///
    /// If the records that something depends on can't be kept.
    pub async fn book(
        &self,
        project: &OpenProject,
        record: RecordChoice,
        most: Option<NanoDollars>,
        notes: &mut Vec<Note>,
    ) -> Result<Booking, Error> {
        self.book_beside(project, record, (most, &[]), notes).await
    }

    /// The same for runs that use other credentials beside those of their endpoints, which are no more written down.
    ///
    /// # Errors
    ///
    /// As [`Self::book`].
    pub async fn book_beside(
        &self,
        project: &OpenProject,
        record: RecordChoice,
        (most, others): (Option<NanoDollars>, &[Secret]),
        notes: &mut Vec<Note>,
    ) -> Result<Booking, Error> {
        if matches!(self.carriage, Carriage::Cassettes(_) | Carriage::Nobody) {
            return Ok(Booking::Unsent);
        }
        let mut caps = agent_caps(project, &self.agent)?;
        caps.extend(most.map(records::run_cap));
        let secrets = [secrets(&self.asked, &self.also), others.to_vec()].concat();
        let asking = CallTerms { ledger: Ledger { caps, priced: self.priced() }, secrets };
        Ok(match OpenRecords::begin(project, record, Some(asking)).await?.collect(notes) {
            Some(records) => {
                watch_guardrails(project, records.store(), self.basis.experiments(), notes).await;
                Booking::Recorded(Box::new(records))
            }
            None => Booking::Unrecorded(Unbudgeted::of_agent(&project.config.budget, &self.agent, most)?),
        })
    }

    /// The history that prompts learn from before they ask this model. Requests recorded to or replayed from cassettes
    /// show nothing learned, so that they are the same the next time.
    #[must_use]
    pub fn history<'r>(
        &self,
        records: Option<&'r OpenRecords>,
        record: RecordChoice,
        project: &'r OpenProject,
    ) -> FailureHistory<'r> {
        match self.carriage {
            Carriage::Recorder(_) | Carriage::Cassettes(_) => FailureHistory::Fixed,
            // Opened only to send.
            Carriage::Nobody => OpenRecords::history(None, RecordChoice::No, project),
            Carriage::Network => OpenRecords::history(records, record, project),
        }
    }
}

/// A prompt with its contract, and what it shows of what was learned.
#[derive(Debug)]
pub struct ContractedPrompt {
    /// The prompt file, parsed and checked.
    pub prompt: Prompt,
    /// The required form of its answers: a value or calls, never any text.
    pub contract: AnswerContract,
    /// The lessons and wishes that it shows.
    pub taught: Option<PromptLessons>,
}

impl ContractedPrompt {
    /// A prompt that shows nothing learned. `whose` names who needs its contract, such as `an investigation`.
    ///
    /// # Errors
    ///
    /// If it declares no schema of its output, or one that is unusable.
    pub fn new(prompt: Prompt, whose: &str) -> Result<Self, Error> {
        let contract = prompt.contract()?;
        if matches!(contract, AnswerContract::Text) {
            let name = prompt_name(&prompt);
            let problem = format!("the prompt `{name}` of your book declares no output schema; {whose} needs one");
            return Err(Error::invalid(problem));
        }
        Ok(Self { prompt, contract, taught: None })
    }

    /// The prompt of a recorded run, with what it showed then.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn recorded(prompt: Prompt, whose: &str, detail: &RunDetail) -> Result<Self, Error> {
        Ok(Self { taught: lessons_shown(&prompt, detail), ..Self::new(prompt, whose)? })
    }

    /// The same, as one value is wanted of it and no calls.
    ///
    /// # Errors
    ///
    /// If it declares tools.
    pub fn with_value(self, whose: &str) -> Result<Self, Error> {
        match &self.contract {
            AnswerContract::Value(_) => Ok(self),
            AnswerContract::Text | AnswerContract::Calls(_) => {
                let name = self.name();
                Err(Error::invalid(format!("the prompt `{name}` of your book calls tools; {whose} needs one value")))
            }
        }
    }

    /// Its name in the book.
    #[must_use]
    pub fn name(&self) -> String {
        prompt_name(&self.prompt)
    }

    /// The lessons that it shows.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        self.taught.as_ref().map(|taught| &taught.adapted.profile)
    }
}

/// The lessons that a prompt showed in a recorded run.
pub(crate) fn lessons_shown(prompt: &Prompt, detail: &RunDetail) -> Option<PromptLessons> {
    let profile = detail.profiles.as_ref().and_then(|profiles| profiles.of(&prompt_name(prompt)));
    profile.cloned().map(PromptLessons::again)
}

/// A prompt's name in the book.
fn prompt_name(prompt: &Prompt) -> String {
    format!("{}/{}", prompt.id.agent, prompt.id.name)
}

/// The caps of runs with an agent's prompts in a project.
fn agent_caps(project: &OpenProject, agent: &str) -> Result<Vec<Cap>, Error> {
    let budget = &project.config.budget;
    Ok([records::budget_caps(budget), records::agent_caps(budget, agent)?].concat())
}

/// The directory of the models that are asked.
fn directory(asked: &ModelEndpoint, also: &[ModelEndpoint]) -> Directory {
    let served = |asked: &ModelEndpoint| {
        let served = ServedModel { model: asked.model.clone(), endpoint: asked.endpoint.name.clone() };
        (asked.model.name.clone(), served)
    };
    also.iter().chain([asked]).map(served).collect()
}

/// The endpoints for requests, each once.
fn endpoints(asked: &ModelEndpoint, also: &[ModelEndpoint]) -> Vec<Endpoint> {
    let mut endpoints = vec![asked.endpoint.clone()];
    for other in also {
        if endpoints.iter().all(|known| known.name != other.endpoint.name) {
            endpoints.push(other.endpoint.clone());
        }
    }
    endpoints
}

/// The credentials that go to the endpoints that are asked.
fn secrets(asked: &ModelEndpoint, also: &[ModelEndpoint]) -> Vec<Secret> {
    let keys = endpoints(asked, also).into_iter().map(|endpoint| endpoint.key);
    let loaded = keys.filter_map(|key| match key {
        EndpointKey::Loaded { secret, .. } => Some(secret),
        EndpointKey::None | EndpointKey::Missing { .. } => None,
    });
    loaded.collect()
}

/// The carrier of requests, and the cassettes of answers.
///
/// # Errors
///
/// If a folder can't be read or written.
fn request_wire(
    carriage: &Carriage,
    asked: &ModelEndpoint,
    also: &[ModelEndpoint],
) -> Result<(Option<Wire>, Option<Arc<Replayer>>), Error> {
    let cassettes = |error: proem_llm::cassette::CassetteError| Error::invalid(error.to_string());
    Ok(match carriage {
        Carriage::Nobody => (None, None),
        Carriage::Network => (Some(Wire::Live(Client::new())), None),
        Carriage::Cassettes(folder) => {
            let replayer = Arc::new(Replayer::open(folder).map_err(cassettes)?);
            (Some(Wire::Replayed(replayer.clone())), Some(replayer))
        }
        Carriage::Recorder(folder) => {
            let client = Client::new();
            let recorder = Recorder::open(folder, secrets(asked, also)).map_err(cassettes)?;
            (Some(Wire::Recorded(client, Arc::new(recorder))), None)
        }
    })
}

/// Says which cassettes nobody asked for.
#[must_use]
pub fn unused_cassettes_note(replayer: Option<&Replayer>) -> Option<Note> {
    let unused = replayer.map(Replayer::unused).unwrap_or_default();
    (!unused.is_empty())
        .then(|| Note::new(NoteKind::Model, format!("recorded but not requested in this run: {}", unused.join(", "))))
}
