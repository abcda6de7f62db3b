//! What all runs of one command share: the prompt, its contract, the model, the guard, the wire, the
//! records.

use std::time::Duration;

use proem_agents::prompted::{InputAuthor, PreparedRequest, PromptCall, prepare};
use proem_engine::call::{CacheInquiry, NanoDollars};
use proem_engine::contract::AnswerContract;
use proem_engine::ordered::OrderedJson;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::run::{ExchangeLimits, ExchangeTerms};
use proem_engine::tokens::CachingCounter;
use proem_llm::codec::encode;
use proem_store::query::{RunDetail, RunsWanted};
use serde_json::{Value as Json, json};

use super::made::{INQUIRY, KIND, RunRecipe, RunStart};
use super::named::{ChosenPrompt, chosen};
use super::options::{Carriage, RunOptions};
use crate::agents::access::{AccessOptions, ModelAccess, lessons_shown};
use crate::calling;
use crate::error::Error;
use crate::message::{Hint, Note, WithNotes};
use crate::project::OpenProject;
use crate::records;
use crate::records::booking::Booking;
use crate::records::learning::{PromptLessons, taught};
use crate::records::writing::OpenRecords;

/// What all runs of one command share. It makes requests; only an [`OpenRun`] sends them.
///
/// ```compile_fail,E0599
/// use proem_app::run::setting::RunSetting;
///
/// // A setting that was not begun can't ask.
/// async fn ask_unbooked(setting: RunSetting) {
///     let stop = tokio_util::sync::CancellationToken::new();
///     let _ = setting.ask(&serde_json::json!({}).into(), None, &stop).await;
/// }
/// ```
#[derive(Debug)]
pub struct RunSetting {
    /// What its runs are called in the records.
    pub(crate) kind: &'static str,
    /// The prompt.
    pub prompt: Prompt,
    pub(super) contract: AnswerContract,
    /// Who is asked.
    pub access: ModelAccess,
    pub(super) given: InputAuthor,
    pub(crate) bounds: Duration,
    limits: ExchangeLimits,
    input_tokens: Option<usize>,
    /// The most that one run may cost by its caller's word.
    pub(super) most: Option<NanoDollars>,
    /// What each run is started with, beside its files and inputs.
    pub(super) settings: Json,
    /// What the prompt shows of what was learned and is wished for.
    pub taught: Option<PromptLessons>,
    /// What the provider is asked of its cache.
    inquiry: Option<CacheInquiry>,
}

/// A setting whose runs are booked, or need not be.
///
/// ```compile_fail,E0451
/// use proem_app::records::booking::Booking;
/// use proem_app::run::setting::{OpenRun, RunSetting};
///
/// // Only `begin` makes one.
/// fn open_without_begin(setting: RunSetting) -> OpenRun {
///     OpenRun { setting, booking: Booking::Unsent }
/// }
/// ```
#[derive(Debug)]
pub struct OpenRun {
    setting: RunSetting,
    pub(super) booking: Booking,
}

impl OpenRun {
    /// What its runs share.
    #[must_use]
    pub const fn setting(&self) -> &RunSetting {
        &self.setting
    }

    /// Where runs are recorded, if they are.
    #[must_use]
    pub const fn records(&self) -> Option<&OpenRecords> {
        self.booking.records()
    }

    /// Closes the records, with what there is to say about that.
    pub async fn end(self) -> Option<Note> {
        self.booking.end().await
    }
}

impl RunSetting {
    /// What these options ask for. What there is to say goes to the project's notes, also where it fails.
    ///
    /// # Errors
    ///
    /// If the prompt, the model or the endpoint is not there or not readable, or a cassette can't be used.
    pub fn new(options: &RunOptions, project: &mut OpenProject) -> Result<Self, Error> {
        let ChosenPrompt { prompt, book } = chosen(&options.prompt, project)?;
        let contract = prompt.contract()?;
        Self::of_prompt(prompt, contract, &book, options, project)
    }

    /// The same with a prompt that the caller holds, of that book, and with what its answer must be; the prompt that
    /// the options name is not looked up.
    ///
    /// # Errors
    ///
    /// If the model or the endpoint is not there or not readable, or a cassette can't be used.
    pub fn of_prompt(
        prompt: Prompt,
        contract: AnswerContract,
        book: &Book,
        options: &RunOptions,
        project: &mut OpenProject,
    ) -> Result<Self, Error> {
        let wanted = calling::WantedModel {
            model: options.model.as_deref(),
            provider: options.provider.as_deref(),
            prompt: prompt.file.header.model.as_deref(),
        };
        let asked = ModelAccess::located(&wanted, project)?;
        let access = AccessOptions {
            book,
            prompts: &[&prompt],
            carriage: &options.carriage,
            concurrency: options.concurrency,
            also: &[],
        };
        let access = ModelAccess::new(asked, &access, project)?;
        let recipe = RunRecipe {
            basis: access.basis.clone(),
            given: options.given,
            limits: options.limits,
            input_tokens: options.input_tokens,
            most: options.most,
            seconds: u64::from(options.seconds.get()),
            arrival: access.asked.arrival,
        };
        Ok(Self {
            kind: KIND,
            settings: recipe.settings()?,
            bounds: Duration::from_secs(u64::from(options.seconds.get())),
            input_tokens: options.input_tokens,
            most: options.most,
            taught: None,
            inquiry: None,
            given: options.given,
            limits: options.limits,
            prompt,
            contract,
            access,
        })
    }

    /// The setting of a run that was recorded.
    ///
    /// # Errors
    ///
    /// If the contract can't be made from what was recorded.
    pub(super) fn recorded(start: RunStart, detail: &RunDetail) -> Result<Self, Error> {
        Ok(Self {
            kind: KIND,
            contract: start.prompt.contract()?,
            taught: lessons_shown(&start.prompt, detail),
            prompt: start.prompt,
            access: start.access,
            given: start.given,
            bounds: Duration::from_secs(start.seconds),
            limits: start.limits,
            input_tokens: start.input_tokens,
            most: start.most,
            settings: detail.settings.clone(),
            inquiry: start.inquiry,
        })
    }

    /// Opens the records that the runs are booked in. What there is to say goes to `notes`, also where it fails.
    ///
    /// # Errors
    ///
    /// If the records that are on, or that a budget needs, can't be kept.
    pub async fn book(
        &self,
        options: &RunOptions,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<Booking, Error> {
        self.access.book(project, options.record, self.most, notes).await
    }

    /// Looks up what the prompt learned, and lets runs ask under `booking`. What there is to say goes to `notes`, also
    /// where it fails.
    ///
    /// # Errors
    ///
    /// If the booking was made for less than the runs may spend at most, or a wish is none.
    pub async fn begin(
        mut self,
        booking: Booking,
        options: &RunOptions,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<OpenRun, Error> {
        if !booking.holds(&self.most.map(records::run_cap).into_iter().collect::<Vec<_>>()) {
            return Err(Error::bug("nothing is sent", "the booking leaves out the most that a run may cost"));
        }
        let history = self.access.history(booking.records(), options.record, project);
        self.taught = taught(project, &self.prompt, &options.adapting, history).await?.collect(notes);
        notes.extend(self.taught.as_ref().and_then(|taught| taught.said.clone()));
        if let Some(records) = booking.records() {
            self.inquire(records, options, project).await?;
        }
        Ok(OpenRun { setting: self, booking })
    }

    /// Asks the provider's cache, where that is possible and recorded, how a request differs from the one before of the same
    /// prompt, as far as that was asked, too. What goes into or comes from cassettes asks nothing, so that it is the
    /// same the next time.
    async fn inquire(
        &mut self,
        records: &OpenRecords,
        options: &RunOptions,
        project: &OpenProject,
    ) -> Result<(), Error> {
        if !self.access.asked.diagnoses_cache || options.carriage != Carriage::Network {
            return Ok(());
        }
        let id = &self.prompt.id;
        let wanted = RunsWanted {
            project: Some(crate::records::owner(project)),
            prompt: Some(format!("{}/{}", id.agent, id.name)),
            limit: Some(1),
            ..RunsWanted::default()
        };
        let store = records.store();
        let before = match store.runs(&wanted).await?.first() {
            Some(row) => Some(store.run(&row.id).await?),
            None => None,
        };
        let attempts = before.iter().flat_map(|run| run.calls.iter().flat_map(|call| call.attempts.iter())).rev();
        let previous = attempts.filter_map(|attempt| attempt.usage.as_ref()?.diagnosis.as_ref()?.answer.clone()).next();
        let inquiry = CacheInquiry { previous };
        if let Some(settings) = self.settings.as_object_mut() {
            settings.insert(INQUIRY.to_owned(), json!(inquiry));
        }
        self.inquiry = Some(inquiry);
        Ok(())
    }

    /// The request for these inputs.
    ///
    /// # Errors
    ///
    /// If they are not what the prompt takes, or the request can't be made of them.
    pub fn prepare(&self, inputs: &OrderedJson) -> Result<PreparedRequest, Error> {
        let ask = PromptCall {
            prompt: &self.prompt,
            owed: self.contract.owed(),
            inputs,
            given: self.given,
            model: &self.access.asked.model,
            key: &self.access.key,
            screening: self.access.screening(),
            input_tokens: self.input_tokens,
            arrival: self.access.asked.arrival,
            profile: self.taught.as_ref().map(|taught| &taught.adapted.profile),
            inquiry: self.inquiry.as_ref(),
        };
        let mut counts = CachingCounter::new(self.access.counter.as_ref());
        Ok(prepare(&ask, &mut counts)?)
    }

    /// The request for these inputs as it would be sent, without a key.
    ///
    /// # Errors
    ///
    /// Those of [`RunSetting::prepare`], and if the model can't be asked for that.
    pub fn request(&self, inputs: &OrderedJson) -> Result<WithNotes<Json>, Error> {
        let prepared = self.prepare(inputs)?;
        let endpoint = &self.access.asked.endpoint;
        let encoded = encode(&prepared.request, &self.access.asked.model, &prepared.plan)?;
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
        Ok(WithNotes { value, notes })
    }

    /// Whether somebody can be expected to give the prompt's inputs.
    ///
    /// # Errors
    ///
    /// If they are found out in a repository, which is another use case.
    pub fn takes_inputs_from_callers(&self) -> Result<(), Error> {
        let id = &self.prompt.id;
        if format!("{}/{}", id.agent, id.name) == proem_agents::assemble::PROMPT {
            let problem = format!("the inputs of `{}` are found out in a repository", proem_agents::assemble::PROMPT);
            return Err(Error::invalid(problem).hinting(Hint::SendAssembly));
        }
        Ok(())
    }

    /// Whether the answer is a text, which is read as it arrives; a value says nothing before it is checked.
    #[must_use]
    pub const fn owes_text(&self) -> bool {
        matches!(self.contract, AnswerContract::Text)
    }

    /// What each exchange is held to.
    pub(crate) fn terms(&self) -> ExchangeTerms<'_> {
        ExchangeTerms {
            owed: self.contract.owed(),
            fallback: self.prompt.file.strict.fallback.as_ref(),
            limits: self.limits,
            key: &self.access.key,
            counter: self.access.counter.as_ref(),
        }
    }
}
