//! The base of most agents' runs: a model, the prompts to ask it with, and inputs.

use std::num::NonZeroU32;
use std::time::Duration;

use proem_agents::prompt_call::{InputAuthor, PreparedRequest, PromptCall, prepare_prompt_call};
use proem_engine::assembly::PromptId;
use proem_engine::call::Arrival;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::Profiles;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::run::{Attempt, ExchangeLimits, ExchangeTerms};
use proem_engine::tokens::CachingCounter;
use proem_engine::versions::Versions;
use proem_runtime::records::Start;
use proem_store::record::{Numbers, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio::time::Instant;

use super::access::{AccessOptions, ContractedPrompt, ModelAccess, RunTerms};
use super::basis::{RecordedPrompt, RecordedTexts, RunBasis};
use super::record::RunRecord;
use crate::book::experiments::{assign_versions, subject_of_inputs};
use crate::calling::WantedModel;
use crate::error::Error;
use crate::message::{Message, Note};
use crate::project::OpenProject;
use crate::records::booking::Booking;
use crate::records::learning::{Adapting, profiles, taught_profile};
use crate::records::writing::RecordChoice;
use crate::run::options::Carriage;

/// The base of most runs. An agent with needs of its own keeps more beside it.
#[derive(Debug)]
pub struct RunBase {
    /// The access to the model.
    pub access: ModelAccess,
    /// The prompts that ask, the run's own first.
    pub prompts: Vec<ContractedPrompt>,
    /// The run's inputs.
    pub inputs: OrderedJson,
    /// Other settings of the run, as its record keeps them.
    pub settings: Json,
    /// The longest that it may take, in seconds.
    pub seconds: NonZeroU32,
}

/// How a run of an agent is started.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The model or role, instead of the prompt's own.
    pub model: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The carrier of requests.
    pub carriage: Carriage,
    /// The longest that the run may take, in seconds.
    pub seconds: NonZeroU32,
}

/// The settings of a run as they are recorded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BaseSettings {
    /// The version of Proem that made it.
    proem: String,
    /// The versions of what makes its requests.
    versions: Versions,
    #[serde(flatten)]
    basis: RunBasis,
    /// The prompts that it asks with, the run's own first.
    prompts: Vec<PromptId>,
    seconds: NonZeroU32,
    arrival: Arrival,
}

impl RunBase {
    /// Makes the base of a run of that kind, which asks with these prompts of the book, the run's own first. Messages
    /// go to the project's notes.
    ///
    /// # Errors
    ///
    /// If a prompt is missing or declares no schema of its output, or the model can't be asked.
    pub fn new(
        kind: &str,
        names: &[&str],
        options: &AgentOptions,
        inputs: OrderedJson,
        project: &mut OpenProject,
    ) -> Result<Self, Error> {
        assign_versions(project, &subject_of_inputs(&inputs))?;
        let book = project.book()?;
        let whose = contract_need(kind);
        let contracted = |name: &&str| ContractedPrompt::new(book.prompt(name, None)?, &whose);
        let prompts: Vec<ContractedPrompt> = names.iter().map(contracted).collect::<Result<_, _>>()?;
        let all: Vec<&Prompt> = prompts.iter().map(|contracted| &contracted.prompt).collect();
        let wanted = WantedModel {
            model: options.model.as_deref(),
            provider: options.provider.as_deref(),
            prompt: all.first().and_then(|prompt| prompt.file.header.model.as_deref()),
        };
        let asked = ModelAccess::located(&wanted, project)?;
        let access =
            AccessOptions { book: &book, prompts: &all, carriage: &options.carriage, concurrency: None, also: &[] };
        let access = ModelAccess::new(asked, &access, project)?;
        let settings = BaseSettings {
            proem: env!("CARGO_PKG_VERSION").to_owned(),
            versions: Versions::TODAY,
            basis: access.basis.clone(),
            prompts: all.iter().map(|prompt| prompt.id.clone()).collect(),
            seconds: options.seconds,
            arrival: access.asked.arrival,
        };
        let settings =
            serde_json::to_value(settings).map_err(|error| Error::bug("the settings can't be serialised", error))?;
        Ok(Self { access, prompts, inputs, settings, seconds: options.seconds })
    }

    /// Books the runs, and looks up the prompts' lessons. Messages go to `notes`, also on failure.
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
        let booking = self.access.book(project, record, None, notes).await?;
        for contracted in &mut self.prompts {
            let history = self.access.history(booking.records(), record, project);
            contracted.taught = taught_profile(project, &contracted.prompt, adapting, history).await?.collect(notes);
        }
        Ok(booking)
    }

    /// Reads back what a run was made of, with why that is not what it was, if it isn't. `names` are the prompts
    /// that its agent asks with.
    ///
    /// # Errors
    ///
    /// In words, if something isn't kept, or the run asked with other prompts.
    pub async fn recorded(record: &RunRecord<'_>, names: &[&str]) -> Result<(Self, Option<String>), Message> {
        let detail = record.detail;
        let settings = BaseSettings::deserialize(&detail.settings)
            .map_err(|error| format!("its settings were written by another version of Proem: {error}"))?;
        settings.basis.under(&record.key()?)?;
        let texts = RecordedTexts::read(record.store, detail).await?;
        let mut changed = texts.changed.clone();
        let mut prompts = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            let id = settings.prompts.get(place).ok_or_else(|| format!("it did not ask with `{name}`"))?;
            let RecordedPrompt { prompt, changed: why } = settings.basis.prompt(id, &texts)?;
            changed = changed.or(why);
            prompts.push(ContractedPrompt::recorded(prompt, &contract_need(&detail.row.kind), detail)?);
        }
        let model = settings.basis.model(&detail.row, &texts)?;
        let access = ModelAccess::recorded(model, settings.basis, &texts, settings.arrival, record)?;
        let (settings, seconds) = (detail.settings.clone(), settings.seconds);
        Ok((Self { access, prompts, inputs: texts.inputs, settings, seconds }, changed))
    }

    /// A prompt's request with these inputs, written by `given`.
    ///
    /// # Errors
    ///
    /// If they don't suit the prompt, or the request can't be made of them.
    pub fn request(
        &self,
        asked: &ContractedPrompt,
        inputs: &OrderedJson,
        given: InputAuthor,
    ) -> Result<PreparedRequest, proem_engine::Error> {
        let access = &self.access;
        let call = PromptCall {
            prompt: &asked.prompt,
            owed: asked.contract.owed(),
            inputs,
            given,
            model: &access.asked.model,
            key: &access.key,
            screening: access.screening(),
            input_tokens: None,
            output_tokens: None,
            arrival: access.asked.arrival,
            profile: asked.profile(),
            inquiry: None,
        };
        prepare_prompt_call(&call, &mut CachingCounter::new(access.counter.as_ref()))
    }

    /// The terms of an exchange of a prompt: its contract, its fallback, and the usual number of attempts.
    #[must_use]
    pub fn terms<'t>(&'t self, asked: &'t ContractedPrompt) -> ExchangeTerms<'t> {
        ExchangeTerms {
            owed: asked.contract.owed(),
            fallback: asked.prompt.file.strict.fallback.as_ref(),
            limits: ExchangeLimits::default(),
            key: &self.access.key,
            counter: self.access.counter.as_ref(),
        }
    }

    /// The beginning of the record of a run whose own prompt is `own`.
    #[must_use]
    pub fn start<'s>(&'s self, kind: &'s str, own: &'s ContractedPrompt, id: RunId) -> Start<'s> {
        let terms = RunTerms {
            kind,
            prompt: &own.prompt.id,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: &self.access.guarding.rules,
            profiles: self.profiles(),
        };
        self.access.start(id, terms)
    }

    /// The lessons and wishes that the prompts show, as a record keeps them.
    fn profiles(&self) -> Option<Profiles> {
        profiles(self.prompts.iter().map(|shown| (&shown.prompt.id, shown.taught.as_ref())))
    }

    /// The longest that the run may take.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds.get()))
    }
}

/// The owner of a prompt's contract, in words.
fn contract_need(kind: &str) -> String {
    format!("an agent of the kind `{kind}`")
}

/// The figures of the attempts of a run that began then.
pub(crate) fn run_numbers(attempts: &[&Attempt], began: Instant) -> Numbers {
    let sum = |count: &dyn Fn(&Attempt) -> usize| {
        attempts.iter().fold(0_u64, |sum, attempt| sum.saturating_add(count(attempt) as u64))
    };
    Numbers {
        took_ms: u64::try_from(began.elapsed().as_millis()).ok(),
        schema_failures: sum(&|attempt| usize::from(!attempt.problems.is_empty())),
        repairs: sum(&|attempt| attempt.repairs.len()),
        embedding_calls: Some(0),
        ..Numbers::default()
    }
}
