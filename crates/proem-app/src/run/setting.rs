//! The common part of all runs of one command: the prompt, its contract, the model, the guard, the wire, the records.

use std::time::Duration;

use proem_agents::prompt_call::{InputAuthor, PreparedRequest, PromptCall, prepare_prompt_call};
use proem_engine::ErrorKind;
use proem_engine::call::{CacheInquiry, NanoDollars};
use proem_engine::contract::{AnswerContract, CallChoice, Contract, schema_from_line};
use proem_engine::ledger::bound_of_attempt;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{Model, Providers};
use proem_engine::report::Report;
use proem_engine::run::{ExchangeLimits, ExchangeTerms};
use proem_engine::tokens::CachingCounter;
use proem_llm::codec::encode_request;
use proem_llm::projection::Omission;
use proem_store::query::{RunDetail, RunsWanted};
use serde_json::{Value as Json, json};

use super::line_versions::LineVersions;
use super::options::{Carriage, RunOptions};
use super::prompt_choice::{ChosenPrompt, chosen_prompt};
use super::settings_record::{INQUIRY, KIND, RunRecipe, RunStart, WAY, WINDOW};
use crate::agents::access::{AccessOptions, ModelAccess, lessons_shown};
use crate::book::experiments::assign_versions;
use crate::calling;
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind, WithNotes};
use crate::project::OpenProject;
use crate::records;
use crate::records::booking::Booking;
use crate::records::learning::{PromptLessons, taught_profile};
use crate::records::writing::OpenRecords;

/// The common part of all runs of one command. It makes requests. Only an [`OpenRun`] sends them.
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
    /// The kind of its runs in the records.
    pub(crate) kind: &'static str,
    /// The prompt file that is run, parsed and checked.
    pub prompt: Prompt,
    pub(super) contract: AnswerContract,
    /// Whether the contract is the caller's and not the prompt's.
    is_contract_given: bool,
    /// The access to the model.
    pub access: ModelAccess,
    pub(super) given: InputAuthor,
    pub(crate) bounds: Duration,
    limits: ExchangeLimits,
    input_tokens: Option<usize>,
    output_tokens: Option<usize>,
    /// The most that one run may cost by its caller's word.
    pub(super) most: Option<NanoDollars>,
    /// The settings of each run, beside its files and inputs.
    pub(super) settings: Json,
    /// The lessons and wishes that the prompt shows.
    pub taught: Option<PromptLessons>,
    /// The question to the provider about its cache.
    inquiry: Option<CacheInquiry>,
}

/// The model as it is known when a run starts, and what the run's record says of that.
#[derive(Debug)]
pub(super) struct KnownModel {
    pub(super) model: Model,
    pub(super) settings: Json,
}

/// A setting whose runs are booked, or need not be.
///
/// ```compile_fail,E0451
/// use proem_app::records::booking::Booking;
/// use proem_app::run::setting::{OpenRun, RunSetting};
///
/// // Only `begin` makes one.
/// fn open_without_begin(setting: RunSetting) -> OpenRun {
///     OpenRun { setting, booking: Booking::Unsent, versions: None }
/// }
/// ```
#[derive(Debug)]
pub struct OpenRun {
    pub(super) setting: RunSetting,
    pub(super) booking: Booking,
    /// The versions that its lines meet, where an experiment runs on its prompt.
    pub(super) versions: Option<LineVersions>,
}

impl OpenRun {
    /// The common part of its runs.
    #[must_use]
    pub const fn setting(&self) -> &RunSetting {
        &self.setting
    }

    /// The records of the runs, if there are any.
    #[must_use]
    pub const fn records(&self) -> Option<&OpenRecords> {
        self.booking.records()
    }

    /// Closes the records, with what was learned of the server and what there is to say about the records.
    pub async fn end(self) -> Vec<Note> {
        let mut notes = self.setting.access.take_news();
        notes.extend(self.booking.end().await);
        notes
    }
}

impl RunSetting {
    /// Makes the setting for these options. Messages go to the project's notes, also on failure.
    ///
    /// # Errors
    ///
    /// If the prompt, the model or the endpoint is not there or not readable, or a cassette can't be used.
    pub fn new(options: &RunOptions, project: &mut OpenProject) -> Result<Self, Error> {
        let ChosenPrompt { prompt, book } = chosen_prompt(&options.prompt, project)?;
        let contract = wanted_contract(&prompt, options.schema.as_deref(), options.tool_choice.as_ref())
            .map_err(|error| explain_missing_schema(error, &prompt, project))?;
        Self::of_prompt(prompt, contract, &book, options, project)
    }

    /// The setting for a subject: the same, or another version of the prompt where an experiment runs on it and the
    /// options name no version. Versions of an experiment take the same inputs.
    ///
    /// # Errors
    ///
    /// As [`RunSetting::new`], or if the starts of experiments can't be read.
    pub fn in_experiment(self, subject: &str, options: &RunOptions, project: &mut OpenProject) -> Result<Self, Error> {
        assign_versions(project, subject)?;
        let name = format!("{}/{}", self.prompt.id.agent, self.prompt.id.name);
        if options.prompt != name || !project.assignments.iter().any(|assigned| assigned.prompt == name) {
            return Ok(self);
        }
        let known = project.notes.len();
        let setting = Self::new(options, project);
        // The rest was noted before.
        project.notes.truncate(known);
        setting
    }

    /// The same with another version of the prompt, of that book. Versions of an experiment take the same inputs.
    pub(super) fn with_version(&self, prompt: Prompt, options: &RunOptions, book: &Book) -> Result<Self, Error> {
        let contract = wanted_contract(&prompt, options.schema.as_deref(), options.tool_choice.as_ref())?;
        let access = self.access.with_versions(book, &[&prompt]);
        let mut settings = self.settings.clone();
        access.basis.write_into(&mut settings)?;
        Ok(Self {
            kind: self.kind,
            prompt,
            contract,
            is_contract_given: self.is_contract_given,
            access,
            given: self.given,
            bounds: self.bounds,
            limits: self.limits,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            most: self.most,
            settings,
            taught: None,
            inquiry: self.inquiry.clone(),
        })
    }

    /// The same with a prompt that the caller holds, of that book, and with what its answer must be. The prompt that
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
        project.notes.extend(
            prompt.file.remarks.iter().map(|remark| Note::new(NoteKind::Prompt, format!("the prompt file, {remark}"))),
        );
        let wanted = calling::WantedModel {
            model: options.model.as_deref(),
            provider: options.provider.as_deref(),
            prompt: prompt.file.header.model.as_deref(),
        };
        let asked = ModelAccess::located(&wanted, project)?;
        let name = &asked.0.model.name;
        if let Some(family) = Providers::load()?.family(name) {
            let known = format!("`{name}` has the limits and prices of its family, `{}`", family.name);
            project.notes.push(Note::new(NoteKind::Model, known));
        }
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
            schema: options.schema.clone(),
            tool_choice: options.tool_choice.clone(),
            limits: options.limits,
            input_tokens: options.input_tokens,
            output_tokens: options.output_tokens,
            most: options.most,
            seconds: u64::from(options.seconds.get()),
            arrival: access.asked.arrival,
        };
        Ok(Self {
            kind: KIND,
            settings: recipe.settings()?,
            bounds: Duration::from_secs(u64::from(options.seconds.get())),
            input_tokens: options.input_tokens,
            output_tokens: options.output_tokens,
            most: options.most,
            taught: None,
            inquiry: None,
            given: options.given,
            limits: options.limits,
            prompt,
            contract,
            is_contract_given: options.schema.is_some(),
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
            is_contract_given: start.schema.is_some(),
            contract: wanted_contract(&start.prompt, start.schema.as_deref(), start.tool_choice.as_ref())?,
            taught: lessons_shown(&start.prompt, detail),
            prompt: start.prompt,
            access: start.access,
            given: start.given,
            bounds: Duration::from_secs(start.seconds),
            limits: start.limits,
            input_tokens: start.input_tokens,
            output_tokens: start.output_tokens,
            most: start.most,
            settings: detail.settings.clone(),
            inquiry: start.inquiry,
        })
    }

    /// Opens the records that the runs are booked in. Messages go to `notes`, also on failure.
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

    /// Looks up the prompt's lessons, and lets runs ask under `booking`. Messages go to `notes`, also on failure.
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
        self.taught = taught_profile(project, &self.prompt, &options.adapting, history).await?.collect(notes);
        notes.extend(self.taught.as_ref().and_then(|taught| taught.said.clone()));
        if let Some(records) = booking.records() {
            self.inquire(records, options, project).await?;
        }
        Ok(OpenRun { setting: self, booking, versions: None })
    }

    /// Asks the provider's cache how a request differs from the previous one of the same prompt, if the provider can
    /// answer, the run is recorded, and the earlier request was asked about, too. Requests recorded to or replayed from
    /// cassettes ask nothing, so that they are the same the next time.
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
            project: Some(crate::records::records_owner(project)),
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
    /// If they don't suit the prompt, or the request can't be made of them.
    pub fn prepare(&self, inputs: &OrderedJson) -> Result<PreparedRequest, Error> {
        self.prepare_for(&self.access.asked.model, inputs)
    }

    /// The same for the model as it is known by now.
    pub(super) fn prepare_for(&self, model: &Model, inputs: &OrderedJson) -> Result<PreparedRequest, Error> {
        let ask = PromptCall {
            prompt: &self.prompt,
            owed: self.contract.owed(),
            inputs,
            given: self.given,
            model,
            key: &self.access.key,
            screening: self.access.screening(),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            arrival: self.access.asked.arrival,
            profile: self.taught.as_ref().map(|taught| &taught.adapted.profile),
            inquiry: self.inquiry.as_ref(),
        };
        let mut counts = CachingCounter::new(self.access.counter.as_ref());
        Ok(prepare_prompt_call(&ask, &mut counts)?)
    }

    /// The model as it is known by now, and what a run is started with that asks it.
    pub(super) fn known_model(&self) -> KnownModel {
        let (model, lesson) = self.access.known_model();
        let mut settings = self.settings.clone();
        if let Some(settings) = settings.as_object_mut() {
            settings.extend(lesson.window.map(|window| (WINDOW.to_owned(), json!(window))));
            settings.extend(lesson.way.map(|way| (WAY.to_owned(), json!(way))));
        }
        KnownModel { model, settings }
    }

    /// The request for these inputs as it would be sent, without a key.
    ///
    /// # Errors
    ///
    /// Those of [`RunSetting::prepare`], and if the model can't be asked for that.
    pub fn request(&self, inputs: &OrderedJson) -> Result<WithNotes<Json>, Error> {
        let prepared = self.prepare(inputs)?;
        let endpoint = &self.access.asked.endpoint;
        let encoded = encode_request(&prepared.request, &self.access.asked.model, &prepared.plan)?;
        let headers = encoded.wire.headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let dropped = encoded.dropped.iter().map(|dropped| json!({ "path": dropped.path, "why": dropped.why }));
        let guard =
            prepared.noted.iter().map(|noted| Note::new(NoteKind::Guard, format!("guard: {}", noted.in_words())));
        let notes = guard.chain(cut_notes(&prepared.report)).chain(setting_notes(&encoded.dropped)).collect();
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

    /// The most that one attempt with this request can cost. `None` where the price is not known.
    ///
    /// # Errors
    ///
    /// If the model can't be asked for that.
    pub fn most_cost(&self, prepared: &PreparedRequest) -> Result<Option<NanoDollars>, Error> {
        let asked = &self.access.asked;
        let encoded = encode_request(&prepared.request, &asked.model, &prepared.plan)?;
        let bytes = proem_text::json::compact_in_order(&encoded.wire.body).len();
        Ok(bound_of_attempt(bytes, &prepared.request, &asked.model, asked.priced()).and_then(|bound| bound.nanos))
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

    /// Whether the answer is a text, which is read as it arrives. A value says nothing before it is checked.
    #[must_use]
    pub const fn owes_text(&self) -> bool {
        matches!(self.contract, AnswerContract::Text)
    }

    /// The terms of each exchange.
    pub(crate) fn terms(&self) -> ExchangeTerms<'_> {
        ExchangeTerms {
            owed: self.contract.owed(),
            // The prompt's fallback meets the prompt's contract only.
            fallback: self.prompt.file.strict.fallback.as_ref().filter(|_| !self.is_contract_given),
            limits: self.limits,
            key: &self.access.key,
            counter: self.access.counter.as_ref(),
        }
    }
}

/// The required form of the answer: the caller's line, or the prompt's declaration.
fn wanted_contract(
    prompt: &Prompt,
    line: Option<&str>,
    choice: Option<&CallChoice>,
) -> Result<AnswerContract, proem_engine::Error> {
    let Some(line) = line else {
        return match (prompt.contract()?, choice) {
            (AnswerContract::Calls(tools), Some(choice)) => {
                Ok(AnswerContract::Calls(tools.with_choice(choice.clone())?))
            }
            (_, Some(_)) => {
                let problem = "the prompt has no tools to choose from; name them under `tools` of `proem`";
                Err(proem_engine::Error::new(ErrorKind::InvalidInput, problem))
            }
            (contract, None) => Ok(contract),
        };
    };
    let (contract, _) = Contract::bounded("answer", "", schema_from_line(line)?)?;
    Ok(AnswerContract::Value(contract))
}

/// The parts that limits kept out of a request, each with a remedy.
pub fn cut_notes(report: &Report) -> impl Iterator<Item = Note> + use<> {
    report.cuts().into_iter().map(|cut| Note::hinting(NoteKind::Prompt, cut, Hint::KeepSection))
}

/// The settings that a provider didn't get as the prompt file has them.
pub fn setting_notes(dropped: &[Omission]) -> impl Iterator<Item = Note> {
    let settings = dropped.iter().filter(|dropped| dropped.is_setting());
    settings.map(|dropped| {
        let words = format!("`{}` of the prompt file: {}", dropped.path.trim_start_matches('/'), dropped.why);
        Note::new(NoteKind::Model, words)
    })
}

/// Why a contract is unreadable, where a file that it needs is there and nobody trusted it.
fn explain_missing_schema(error: proem_engine::Error, prompt: &Prompt, project: &OpenProject) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error.into();
    }
    let strict = &prompt.file.strict;
    let mut named = strict.output_schema.iter().chain(&strict.tools);
    let untrusted = named.find_map(|file| {
        let path = format!("/{}/{}/{file}", prompt.id.agent, prompt.id.name);
        project.untrusted.iter().find(|untrusted| untrusted.path.ends_with(&path))
    });
    match untrusted {
        Some(file) => {
            let path = proem_guard::show::terminal_str(&file.path);
            Error::invalid(format!("the prompt's schema `{path}` is not trusted")).hinting(Hint::ReviewTrust)
        }
        None => error.into(),
    }
}
