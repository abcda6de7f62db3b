//! What all runs of one command share: the prompt, its contract, the model, the guard, the wire, the
//! records.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proem_agents::prompted::{InputAuthor, PreparedRequest, PromptCall, prepare};
use proem_agents::screen::Screening;
use proem_engine::call::NanoDollars;
use proem_engine::contract::Contract;
use proem_engine::ledger::{Cap, CapPeriod, CapScope, CapUnit};
use proem_engine::ordered::OrderedJson;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::{Model, Providers};
use proem_engine::run::{AnswerRequirement, ExchangeLimits, ExchangeTerms};
use proem_engine::tokens::{CachingCounter, TokenCounter};
use proem_guard::InstallationKey;
use proem_llm::caller::{Caller, Wire};
use proem_llm::cassette::{Recorder, Replayer};
use proem_llm::client::Client;
use proem_llm::codec::encode;
use proem_llm::endpoint::{Endpoint, EndpointKey};
use proem_llm::secret::Secret;
use proem_runtime::driver::{Directory, ServedModel};
use proem_runtime::records::Ledger;
use proem_runtime::{Environment, installation_key};
use proem_store::query::RunDetail;
use serde_json::{Value as Json, json};

use super::made::{BasisSource, RunMaterial, RunRecipe, RunStart};
use super::options::{Carriage, RunOptions};
use crate::calling::{self, ModelEndpoint};
use crate::error::Error as Failure;
use crate::factors::Factors;
use crate::guarding::GuardSetup;
use crate::message::{Note, Noted};
use crate::places::Places;
use crate::project::OpenProject;
use crate::records;
use crate::records::learning::{FailureHistory, PromptLessons, taught};
use crate::records::writing::{CallTerms, OpenRecords, RecordChoice};

/// What all runs of one command share.
pub struct RunSetting {
    /// The prompt.
    pub prompt: Prompt,
    pub(super) contract: Option<Contract>,
    /// Who is asked.
    pub asked: ModelEndpoint,
    pub(super) given: InputAuthor,
    pub(crate) bounds: Duration,
    counter: Box<dyn TokenCounter>,
    key: InstallationKey,
    pub(super) guarding: GuardSetup,
    limits: ExchangeLimits,
    input_tokens: Option<usize>,
    /// The most that one run may cost by its caller's word.
    most: Option<NanoDollars>,
    pub(super) directory: Directory,
    /// Cassettes that answers come from.
    pub replayer: Option<Arc<Replayer>>,
    pub(super) caller: Option<Caller>,
    /// What was asked for, such as `small`.
    pub(super) role: String,
    /// What each run is made from.
    pub(super) made: RunMaterial,
    /// Where runs are recorded, if they are.
    pub records: Option<OpenRecords>,
    /// What the prompt shows of what was learned and is wished for.
    pub taught: Option<PromptLessons>,
}

impl std::fmt::Debug for RunSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { prompt, asked, role, .. } = self;
        let (prompt, model) = (&prompt.id, &asked.model.name);
        f.debug_struct("Setting")
            .field("prompt", prompt)
            .field("model", model)
            .field("role", role)
            .finish_non_exhaustive()
    }
}

impl RunSetting {
    /// What these options ask for. What there is to say goes to the project's notes, also where it fails.
    ///
    /// # Errors
    ///
    /// If the prompt, the model or the endpoint is not there or not readable, or a cassette can't be used.
    pub fn new(options: &RunOptions, places: &Places, project: &mut OpenProject) -> Result<Self, Failure> {
        let (name, version) = match options.prompt.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (options.prompt.as_str(), None),
        };
        let book = project.book()?;
        let prompt = book.prompt(name, version)?;
        let contract = prompt.contract()?;
        let providers = Providers::load()?;
        let wanted = calling::WantedModel {
            model: options.model.as_deref(),
            provider: options.provider.as_deref(),
            prompt: prompt.file.header.model.as_deref(),
        };
        let role = wanted.name(&project.config).to_owned();
        let mut asked = calling::ask(&project.config, &providers, &wanted, &Environment::inherited())?;
        let token_percent = Factors::load(places)?.apply(&mut asked.model);
        if let Some(concurrency) = options.concurrency {
            asked.endpoint.limits.concurrency = concurrency;
        }
        let guarding = GuardSetup::load(places, &[])?;
        project.notes.extend(guarding.notes.iter().cloned());
        let (wire, replayer) = match &options.carriage {
            Carriage::Nobody => (None, None),
            Carriage::Network => wire(CassetteFolders { record: None, replay: None }, &asked)?,
            Carriage::Recorder(folder) => wire(CassetteFolders { record: Some(folder), replay: None }, &asked)?,
            Carriage::Cassettes(folder) => wire(CassetteFolders { record: None, replay: Some(folder) }, &asked)?,
        };
        let key = installation_key(&places.key())?;
        let based = BasisSource {
            book: &book,
            prompts: &[&prompt],
            guard: &guarding.files,
            model: &asked.model,
            provider: project.config.providers.get(&asked.endpoint.name).cloned().unwrap_or_default(),
            token_percent,
            key: &key,
        };
        let made = RunRecipe {
            based,
            given: options.given,
            limits: options.limits,
            input_tokens: options.input_tokens,
            most: options.most,
            seconds: u64::from(options.seconds.get()),
            arrival: asked.arrival,
        };
        Ok(Self {
            made: made.made()?,
            role,
            caller: wire.map(|wire| Caller::new(wire, vec![asked.endpoint.clone()])),
            counter: asked.model.counter(),
            bounds: Duration::from_secs(u64::from(options.seconds.get())),
            input_tokens: options.input_tokens,
            most: options.most,
            directory: directory(&asked),
            records: None,
            taught: None,
            key,
            given: options.given,
            limits: options.limits,
            prompt,
            contract,
            asked,
            guarding,
            replayer,
        })
    }

    /// The setting of a run that was recorded, asked again at `endpoint` if calls are wanted.
    ///
    /// # Errors
    ///
    /// If the guard or the contract can't be made from what was recorded.
    pub fn again(
        remade: RunStart,
        detail: &RunDetail,
        places: &Places,
        endpoint: (Endpoint, CallUse),
    ) -> Result<Self, Failure> {
        let (endpoint, wanted) = endpoint;
        let guarding = GuardSetup::of(remade.guard, places, &[])?;
        let asked = ModelEndpoint { model: remade.model, endpoint, arrival: remade.arrival };
        let wire = match wanted {
            CallUse::Calls => Some(Wire::Live(Client::new())),
            CallUse::NoCalls => None,
        };
        let name = format!("{}/{}", remade.prompt.id.agent, remade.prompt.id.name);
        let profile = detail.profiles.as_ref().and_then(|profiles| profiles.of(&name)).cloned();
        Ok(Self {
            contract: remade.prompt.contract()?,
            prompt: remade.prompt,
            counter: asked.model.counter(),
            given: remade.given,
            bounds: Duration::from_secs(remade.seconds),
            key: installation_key(&places.key())?,
            limits: remade.limits,
            input_tokens: remade.input_tokens,
            most: remade.most,
            directory: directory(&asked),
            replayer: None,
            caller: wire.map(|wire| Caller::new(wire, vec![asked.endpoint.clone()])),
            role: detail.row.role.clone(),
            made: remade.made,
            records: None,
            taught: profile.map(PromptLessons::again),
            asked,
            guarding,
        })
    }

    /// Opens the records, and looks up what the prompt learned. What there is to say goes to `notes`, also where it
    /// fails.
    ///
    /// # Errors
    ///
    /// If the records that are on can't be kept, or a wish is none.
    pub async fn begin(
        &mut self,
        options: &RunOptions,
        (places, project): (&Places, &OpenProject),
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let record = if options.carriage == Carriage::Nobody { RecordChoice::No } else { options.record };
        if matches!(options.carriage, Carriage::Network | Carriage::Recorder(_)) {
            notes.extend(self.record(places, project, record, records::caps(&project.config.budget)).await?);
        }
        let history = match (&options.carriage, &self.records) {
            (Carriage::Recorder(_) | Carriage::Cassettes(_), _) => FailureHistory::Fixed,
            (_, records) => OpenRecords::history(records.as_ref(), record, project),
        };
        self.taught = taught((places, project), &self.prompt, &options.adapting, history).await?.collect(notes);
        notes.extend(self.taught.as_ref().and_then(|taught| taught.said.clone()));
        Ok(())
    }

    /// Opens the records under these caps, and that of the run's caller, with what there is to say about them.
    ///
    /// # Errors
    ///
    /// If the records that are on can't be kept.
    pub async fn record(
        &mut self,
        places: &Places,
        project: &OpenProject,
        record: RecordChoice,
        mut caps: Vec<Cap>,
    ) -> Result<Vec<Note>, Failure> {
        let (scope, period, unit) = (CapScope::Project, CapPeriod::Run, CapUnit::NanoDollars);
        caps.extend(self.most.map(|most| Cap { scope, period, unit, most: most.0 }));
        let asking = CallTerms { ledger: Ledger { caps, priced: self.asked.priced() }, secrets: secrets(&self.asked) };
        let Noted { value, notes } = OpenRecords::begin(places, project, record, Some(asking)).await?;
        self.records = value;
        Ok(notes)
    }

    /// Closes the records, with what there is to say about that.
    pub async fn end(self, places: &Places) -> Option<Note> {
        self.records?.end(places).await
    }

    /// The request for these inputs.
    ///
    /// # Errors
    ///
    /// If they are not what the prompt takes, or the request can't be made of them.
    pub fn prepare(&self, inputs: &OrderedJson) -> Result<PreparedRequest, Failure> {
        let ask = PromptCall {
            prompt: &self.prompt,
            contract: self.contract.as_ref(),
            inputs,
            given: self.given,
            model: &self.asked.model,
            key: &self.key,
            screening: Screening { guard: &self.guarding.guard, policy: &self.guarding.policy },
            input_tokens: self.input_tokens,
            arrival: self.asked.arrival,
            profile: self.taught.as_ref().map(|taught| &taught.adapted.profile),
        };
        let mut counts = CachingCounter::new(self.counter.as_ref());
        Ok(prepare(&ask, &mut counts)?)
    }

    /// The request for these inputs as it would be sent, without a key.
    ///
    /// # Errors
    ///
    /// Those of [`Setting::prepare`], and if the model can't be asked for that.
    pub fn request(&self, inputs: &OrderedJson) -> Result<Noted<Json>, Failure> {
        let prepared = self.prepare(inputs)?;
        let endpoint = &self.asked.endpoint;
        let encoded = encode(&prepared.request, &self.asked.model, &prepared.plan)?;
        let headers = encoded.wire.headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let dropped = encoded.dropped.iter().map(|dropped| json!({ "path": dropped.path, "why": dropped.why }));
        let notes = prepared.noted.iter().map(|noted| format!("guard: {}", noted.in_words()).into()).collect();
        let value = json!({
            "method": "POST",
            "url": format!("{}{}", endpoint.base_url, encoded.wire.path),
            "headers": Json::Object(headers),
            "key": endpoint.key.variable(),
            "body": encoded.wire.body,
            "dropped": dropped.collect::<Vec<_>>(),
        });
        Ok(Noted { value, notes })
    }

    /// The model that is asked.
    pub(crate) const fn model(&self) -> &Model {
        &self.asked.model
    }

    /// What each exchange is held to.
    pub(crate) fn terms(&self) -> ExchangeTerms<'_> {
        ExchangeTerms {
            owed: self.contract.as_ref().map_or(AnswerRequirement::Text, AnswerRequirement::Value),
            fallback: self.prompt.file.strict.fallback.as_ref(),
            limits: self.limits,
            key: &self.key,
            counter: self.counter.as_ref(),
        }
    }
}

/// Whether a setting is for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallUse {
    /// It is.
    Calls,
    /// Nothing is sent.
    NoCalls,
}

/// Where the model that is asked is served.
pub fn directory(asked: &ModelEndpoint) -> Directory {
    let served = ServedModel { model: asked.model.clone(), endpoint: asked.endpoint.name.clone() };
    Directory::from([(asked.model.name.clone(), served)])
}

/// The credentials that go to the endpoint that is asked.
#[must_use]
pub fn secrets(asked: &ModelEndpoint) -> Vec<Secret> {
    match &asked.endpoint.key {
        EndpointKey::Loaded { secret, .. } => vec![secret.clone()],
        EndpointKey::None | EndpointKey::Missing { .. } => Vec::new(),
    }
}

/// Folders of cassettes.
#[derive(Debug, Clone, Copy)]
pub struct CassetteFolders<'t> {
    /// What goes over the wire is kept there.
    pub record: Option<&'t Path>,
    /// Answers come from there, and nothing is sent.
    pub replay: Option<&'t Path>,
}

/// Who carries requests, and the cassettes that answers come from.
///
/// # Errors
///
/// If a folder can't be read or written.
pub fn wire(
    tape: CassetteFolders<'_>,
    asked: &ModelEndpoint,
) -> Result<(Option<Wire>, Option<Arc<Replayer>>), Failure> {
    let cassettes = |error: proem_llm::cassette::CassetteError| Failure::usage(error.to_string());
    if let Some(folder) = tape.replay {
        let replayer = Arc::new(Replayer::open(folder).map_err(cassettes)?);
        return Ok((Some(Wire::Replayed(replayer.clone())), Some(replayer)));
    }
    let client = Client::new();
    let Some(folder) = tape.record else { return Ok((Some(Wire::Live(client)), None)) };
    let recorder = Recorder::open(folder, secrets(asked)).map_err(cassettes)?;
    Ok((Some(Wire::Recorded(client, Arc::new(recorder))), None))
}

/// Says which cassettes nobody asked for.
#[must_use]
pub fn unused(replayer: Option<&Replayer>) -> Option<Note> {
    let unused = replayer.map(Replayer::unused).unwrap_or_default();
    (!unused.is_empty()).then(|| format!("recorded but not requested in this run: {}", unused.join(", ")).into())
}
