//! What all investigations of one command share: the model, the prompts, the guard, the records.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use proem_agents::risk::feedback::Meter;
use proem_agents::risk::investigation::{
    InvestigationEnd, InvestigationLimits, InvestigationPrompt as AskedPrompt, InvestigationTerms,
};
use proem_agents::risk::report::{PromptUsed, Rate};
use proem_agents::screen::Screening;
use proem_engine::call::Arrival;
use proem_engine::contract::Contract;
use proem_engine::profile::Profiles;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::Providers;
use proem_engine::run::Time;
use proem_engine::tokens::TokenCounter;
use proem_guard::InstallationKey;
use proem_llm::caller::{Caller, Wire};
use proem_llm::cassette::Replayer;
use proem_llm::client::Client;
use proem_llm::endpoint::{Endpoint, EndpointKey};
use proem_runtime::driver::Directory;
use proem_runtime::records::Ledger;
use proem_runtime::{Environment, installation_key};
use proem_store::query::RunDetail;

use super::feedback;
use super::made::InvestigationStart;
use super::options::RiskOptions;
use crate::calling::{self, ModelEndpoint};
use crate::error::Error as Failure;
use crate::factors::Factors;
use crate::guarding::GuardSetup;
use crate::message::{Hint, Note};
use crate::places::Places;
use crate::project::OpenProject;
use crate::records::learning::{FailureHistory, PromptLessons, profiles, taught};
use crate::records::writing::{CallTerms, OpenRecords, RecordChoice};
use crate::run::made::{BasisSource, RunBasis};
use crate::run::setting::{CallUse, CassetteFolders, directory, secrets, wire};
use crate::{records, when};

/// The prompts of an investigation.
pub(super) const DECISION: &str = "risk/decision";
pub(super) const SYNTHESIS: &str = "risk/synthesis";

/// For how many days verdicts of people count as false-positive rates.
const JUDGED_DAYS: i64 = 365;

/// What all investigations of one command share.
#[derive(Debug)]
pub struct RiskSetting {
    pub(super) decision: ContractedPrompt,
    pub(super) synthesis: ContractedPrompt,
    /// Who investigates; without it, why nobody does.
    investigator: Result<Investigator, String>,
    pub(super) limits: InvestigationLimits,
    /// How often a HIGH was said to be a false alarm.
    pub(super) false_positives: BTreeMap<Meter, Rate>,
    /// Where assessments are recorded, if they are.
    pub(super) records: Option<OpenRecords>,
}

/// A prompt with its contract, and what it shows of what was learned.
#[derive(Debug)]
pub(super) struct ContractedPrompt {
    pub(super) prompt: Prompt,
    pub(super) contract: Contract,
    pub(super) taught: Option<PromptLessons>,
}

/// A model and everything that is needed to ask it.
#[derive(Debug)]
pub struct Investigator {
    /// The model that is asked, and where it is.
    pub asked: ModelEndpoint,
    pub(super) role: String,
    caller: Option<Caller>,
    pub(super) directory: Directory,
    replayer: Option<Arc<Replayer>>,
    pub(super) guarding: GuardSetup,
    pub(super) key: InstallationKey,
    counter: Box<dyn TokenCounter>,
    /// What each investigation keeps of what it is made from.
    pub(super) files: BTreeMap<String, String>,
    pub(super) basis: RunBasis,
}

impl Investigator {
    /// Cassettes that answers come from.
    #[must_use]
    pub fn replayer(&self) -> Option<&Replayer> {
        self.replayer.as_deref()
    }

    /// Who carries requests.
    ///
    /// # Errors
    ///
    /// If nothing is to be sent, which is a bug.
    pub(super) fn caller(&self) -> Result<&Caller, Failure> {
        self.caller.as_ref().ok_or_else(|| Failure::bug("nothing is sent", "a replay tried to send a request"))
    }
}

impl RiskSetting {
    /// The setting that options, configuration and the book's prompts give; its notes go to the project's.
    ///
    /// # Errors
    ///
    /// If a prompt is missing or declares no output schema, or a model is named and can't be asked.
    pub fn new(options: &RiskOptions, places: &Places, project: &mut OpenProject) -> Result<Self, Failure> {
        let book = project.book()?;
        let (decision, synthesis) = (ContractedPrompt::of(&book, DECISION)?, ContractedPrompt::of(&book, SYNTHESIS)?);
        let seconds = |seconds: NonZeroU32| seconds.get().saturating_mul(1_000);
        let limits = InvestigationLimits {
            total_ms: seconds(options.investigation.seconds),
            hop_ms: seconds(options.investigation.hop_seconds),
            ..InvestigationLimits::default()
        };
        let prompts = [&decision.prompt, &synthesis.prompt];
        let investigator = investigator(options, (places, project), (&book, prompts))?;
        let false_positives = BTreeMap::new();
        Ok(Self { decision, synthesis, investigator, limits, false_positives, records: None })
    }

    /// The setting of an investigation that was recorded, asked again at `endpoint`; without [`Wanted::Calls`]
    /// nothing is sent.
    pub(super) fn again(
        remade: InvestigationStart,
        detail: &RunDetail,
        places: &Places,
        (endpoint, wanted): (Endpoint, CallUse),
    ) -> Result<Self, Failure> {
        let asked = ModelEndpoint { model: remade.model, endpoint, arrival: Arrival::Whole };
        let caller = || Caller::new(Wire::Live(Client::new()), vec![asked.endpoint.clone()]);
        let investigator = Investigator {
            caller: (wanted == CallUse::Calls).then(caller),
            directory: directory(&asked),
            replayer: None,
            guarding: GuardSetup::of(remade.guard, places, &[])?,
            key: installation_key(&places.key())?,
            counter: asked.model.counter(),
            role: detail.row.role.clone(),
            files: remade.files,
            basis: remade.kept.basis,
            asked,
        };
        Ok(Self {
            decision: ContractedPrompt::again(remade.decision, detail)?,
            synthesis: ContractedPrompt::again(remade.synthesis, detail)?,
            investigator: Ok(investigator),
            limits: remade.kept.limits,
            false_positives: BTreeMap::new(),
            records: None,
        })
    }

    /// Opens the records, and looks up what the prompts learned. What there is to say goes to `notes`, and holds
    /// also where it fails.
    ///
    /// # Errors
    ///
    /// If the records that something depends on can't be kept, or a wish is none.
    pub async fn begin(
        &mut self,
        options: &RiskOptions,
        (places, project): (&Places, &OpenProject),
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let RiskOptions { record, investigation, adapting, .. } = options;
        if investigation.replay.is_none() {
            self.record((places, project), *record, notes).await?;
        }
        if self.investigator.is_err() {
            return Ok(());
        }
        let history = match &self.records {
            _ if investigation.record.is_some() || investigation.replay.is_some() => FailureHistory::Fixed,
            records => OpenRecords::history(records.as_ref(), *record, project),
        };
        for shown in [&mut self.decision, &mut self.synthesis] {
            shown.taught = taught((places, project), &shown.prompt, adapting, history).await?.collect(notes);
        }
        Ok(())
    }

    /// Opens the records, and looks up what persons said of earlier assessments. What there is to say goes to
    /// `notes`, and holds also where it fails.
    ///
    /// # Errors
    ///
    /// If the records that something depends on can't be kept.
    pub(super) async fn record(
        &mut self,
        (places, project): (&Places, &OpenProject),
        record: RecordChoice,
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        // Without a model nothing is sent, so no cap binds.
        let asking = self.investigator.as_ref().ok().map(|investigator| CallTerms {
            ledger: Ledger { caps: records::caps(&project.config.budget), priced: investigator.asked.priced() },
            secrets: secrets(&investigator.asked),
        });
        self.records = OpenRecords::begin(places, project, record, asking).await?.collect(notes);
        if let Some(records) = &self.records {
            let since = Time(when::now().0.saturating_sub(JUDGED_DAYS.saturating_mul(when::DAY)));
            self.false_positives = feedback::rates(records.store(), project, since).await?;
        }
        Ok(())
    }

    /// Closes the records.
    pub async fn end(self, places: &Places) -> Option<Note> {
        match self.records {
            Some(records) => records.end(places).await,
            None => None,
        }
    }

    /// Who investigates; `None` where nobody does.
    #[must_use]
    pub fn investigator(&self) -> Option<&Investigator> {
        self.investigator.as_ref().ok()
    }

    /// Why nobody investigates; `None` where somebody does.
    pub(super) fn unasked(&self) -> Option<&str> {
        self.investigator.as_ref().err().map(String::as_str)
    }

    /// Who investigates.
    ///
    /// # Errors
    ///
    /// If nobody does, which is a bug where somebody was asked before.
    pub(super) fn asked(&self) -> Result<&Investigator, Failure> {
        self.investigator.as_ref().map_err(|why| Failure::bug("no model can be asked", why))
    }

    /// What an investigation is held to.
    pub(super) fn terms<'t>(&'t self, investigator: &'t Investigator) -> InvestigationTerms<'t> {
        InvestigationTerms {
            decision: self.decision.asked(),
            synthesis: self.synthesis.asked(),
            model: &investigator.asked.model,
            key: &investigator.key,
            screening: Screening { guard: &investigator.guarding.guard, policy: &investigator.guarding.policy },
            counter: investigator.counter.as_ref(),
            limits: self.limits,
        }
    }

    /// The prompts of an investigation.
    pub(super) fn prompts(&self) -> Vec<PromptUsed> {
        let used = |shown: &ContractedPrompt| {
            let id = &shown.prompt.id;
            PromptUsed { name: format!("{}/{}", id.agent, id.name), version: id.version.clone() }
        };
        vec![used(&self.decision), used(&self.synthesis)]
    }

    /// What the prompts show of what was learned and is wished for, as a record keeps it.
    pub(super) fn profiles(&self) -> Option<Profiles> {
        profiles([&self.decision, &self.synthesis].map(|shown| (&shown.prompt.id, shown.taught.as_ref())))
    }

    /// What prompts that an investigation asked with had learned.
    pub(super) fn learned(&self, investigated: &InvestigationEnd) -> impl Iterator<Item = &PromptLessons> {
        let is_asked = |name: &str| investigated.exchanges.iter().any(|exchange| exchange.prompt == name);
        let all = [(DECISION, &self.decision), (SYNTHESIS, &self.synthesis)];
        let asked = all.into_iter().filter(move |(name, _)| is_asked(name));
        asked.filter_map(|(_, shown)| shown.taught.as_ref()).filter(|taught| taught.lessons.is_some())
    }
}

impl ContractedPrompt {
    fn of(book: &Book, name: &str) -> Result<Self, Failure> {
        Self::new(book.prompt(name, None)?)
    }

    fn new(prompt: Prompt) -> Result<Self, Failure> {
        let contract = prompt.contract()?.ok_or_else(|| {
            let (agent, name) = (&prompt.id.agent, &prompt.id.name);
            Failure::usage(format!(
                "the prompt `{agent}/{name}` of your book declares no output schema; an investigation needs one"
            ))
        })?;
        Ok(Self { prompt, contract, taught: None })
    }

    /// The prompt of a recorded run, with what it showed then.
    fn again(prompt: Prompt, detail: &RunDetail) -> Result<Self, Failure> {
        let name = format!("{}/{}", prompt.id.agent, prompt.id.name);
        let profile = detail.profiles.as_ref().and_then(|profiles| profiles.of(&name)).cloned();
        Ok(Self { taught: profile.map(PromptLessons::again), ..Self::new(prompt)? })
    }

    fn asked(&self) -> AskedPrompt<'_> {
        let profile = self.taught.as_ref().map(|taught| &taught.adapted.profile);
        AskedPrompt { prompt: &self.prompt, contract: &self.contract, profile }
    }
}

/// Who investigates, or why nobody does: the caller says so, or there is no key where none was asked for by name.
fn investigator(
    options: &RiskOptions,
    (places, project): (&Places, &mut OpenProject),
    (book, prompts): (&Book, [&Prompt; 2]),
) -> Result<Result<Investigator, String>, Failure> {
    let wished = &options.investigation;
    if let Some(why) = &wished.unasked {
        return Ok(Err(why.clone()));
    }
    let providers = Providers::load()?;
    let [_, synthesis] = prompts;
    let wanted = calling::WantedModel {
        model: wished.model.as_deref(),
        provider: wished.provider.as_deref(),
        prompt: synthesis.file.header.model.as_deref(),
    };
    let role = wanted.name(&project.config).to_owned();
    let mut asked = calling::ask(&project.config, &providers, &wanted, &Environment::inherited())?;
    if let (EndpointKey::Missing { .. }, None) = (&asked.endpoint.key, &wished.replay) {
        let variable = asked.endpoint.key.variable().unwrap_or("a key");
        if wished.model.is_some() || wished.provider.is_some() {
            let text = format!("`{}` needs a key in {variable}; set it", asked.endpoint.name);
            return Err(Failure::usage(text).hinting(Hint::DoWithoutModel));
        }
        return Ok(Err(format!("no model is asked: {variable} is not set")));
    }
    let token_percent = Factors::load(places)?.apply(&mut asked.model);
    asked.endpoint.limits.concurrency = asked.endpoint.limits.concurrency.min(options.concurrency);
    let guarding = GuardSetup::load(places, &[])?;
    project.notes.extend(guarding.notes.iter().cloned());
    let tape = CassetteFolders { record: wished.record.as_deref(), replay: wished.replay.as_deref() };
    let (wire, replayer) = wire(tape, &asked)?;
    let Some(wire) = wire else { return Err(Failure::bug("no connection to a provider", "one was needed")) };
    let key = installation_key(&places.key())?;
    let based = BasisSource {
        book,
        prompts: &prompts,
        guard: &guarding.files,
        model: &asked.model,
        provider: project.config.providers.get(&asked.endpoint.name).cloned().unwrap_or_default(),
        token_percent,
        key: &key,
    };
    let (files, basis) = based.kept();
    Ok(Ok(Investigator {
        caller: Some(Caller::new(wire, vec![asked.endpoint.clone()])),
        directory: directory(&asked),
        replayer,
        guarding,
        key,
        files,
        basis,
        counter: asked.model.counter(),
        role,
        asked,
    }))
}
