//! What all runs of one command share: the prompt, its contract, the model, the guard, the wire, the
//! records.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proem_agents::prompted::{Ask, Given, Prepared, prepare};
use proem_agents::screen::Screening;
use proem_engine::call::NanoDollars;
use proem_engine::contract::Contract;
use proem_engine::ledger::{Cap, Period, Scope, Unit};
use proem_engine::ordered::Ordered;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::{Model, Providers};
use proem_engine::run::{Limits, Owed, Terms};
use proem_engine::tokens::{Counts, TokenCounter};
use proem_guard::Key;
use proem_llm::caller::{Caller, Wire};
use proem_llm::cassette::{Recorder, Replayer};
use proem_llm::client::Client;
use proem_llm::endpoint::{Endpoint, Key as EndpointKey};
use proem_llm::secret::Secret;
use proem_runtime::driver::{Directory, Served};
use proem_runtime::records::Ledger;
use proem_runtime::{Environment, installation_key};
use proem_store::query::RunDetail;

use super::made::{Based, Made, Making, Remade};
use crate::args::Run;
use crate::failure::Failure;
use proem_app::calling::{self, Asked};
use proem_app::factors::Factors;
use proem_app::guarding::Guarding;
use proem_app::places::Places;
use proem_app::project::Project;
use proem_app::records;
use proem_app::records::learning::{History, Taught, taught};
use proem_app::records::writing::{Asking, Record, Writing};

/// What all runs of one command share.
pub(in crate::commands) struct Setting {
    pub(super) prompt: Prompt,
    pub(super) contract: Option<Contract>,
    pub(super) asked: Asked,
    pub(super) given: Given,
    pub(in crate::commands) bounds: Duration,
    counter: Box<dyn TokenCounter>,
    key: Key,
    pub(super) guarding: Guarding,
    limits: Limits,
    input_tokens: Option<usize>,
    /// The most that one run may cost by its caller's word.
    most: Option<NanoDollars>,
    pub(super) directory: Directory,
    /// Cassettes that answers come from.
    pub(super) replayer: Option<Arc<Replayer>>,
    pub(super) caller: Option<Caller>,
    /// What was asked for, such as `small`.
    pub(super) role: String,
    /// What each run is made from.
    pub(super) made: Made,
    /// Where runs are recorded, if they are.
    pub(in crate::commands) records: Option<Writing>,
    /// What the prompt shows of what was learned and is wished for.
    pub(in crate::commands) taught: Option<Taught>,
}

impl Setting {
    pub(in crate::commands) fn new(args: &Run, places: &Places, project: &mut Project) -> Result<Self, Failure> {
        let (name, version) = match args.prompt.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (args.prompt.as_str(), None),
        };
        let book = project.book()?;
        let prompt = book.prompt(name, version)?;
        let contract = prompt.contract()?;
        let providers = Providers::load()?;
        let wanted = calling::WantedModel {
            model: args.model.as_deref(),
            provider: args.provider.as_deref(),
            prompt: prompt.file.header.model.as_deref(),
        };
        let role = wanted.name(&project.config).to_owned();
        let mut asked = calling::ask(&project.config, &providers, &wanted, &Environment::inherited())?;
        let token_percent = Factors::load(places)?.apply(&mut asked.model);
        if let Some(concurrency) = args.concurrency {
            asked.endpoint.limits.concurrency = concurrency;
        }
        let guarding = Guarding::load(places, &[])?;
        project.notes.extend(guarding.notes.iter().cloned());
        let tape = Tape { record: args.record.as_deref(), replay: args.replay.as_deref() };
        let (wire, replayer) = if args.dry_run { (None, None) } else { wire(tape, &asked)? };
        let key = installation_key(&places.key())?;
        let given = if args.input_untrusted { Given::FromOutside } else { Given::ByCaller };
        let limits = Limits { attempts: args.attempts, tokens: args.max_tokens };
        let based = Based {
            book: &book,
            prompts: &[&prompt],
            guard: &guarding.files,
            model: &asked.model,
            provider: project.config.providers.get(&asked.endpoint.name).cloned().unwrap_or_default(),
            token_percent,
            key: &key,
        };
        let made = Making {
            based,
            given,
            limits,
            input_tokens: args.budget,
            most: args.max_cost,
            seconds: u64::from(args.timeout.get()),
            arrival: asked.arrival,
        };
        Ok(Self {
            made: made.made()?,
            role,
            caller: wire.map(|wire| Caller::new(wire, vec![asked.endpoint.clone()])),
            counter: asked.model.counter(),
            bounds: Duration::from_secs(u64::from(args.timeout.get())),
            input_tokens: args.budget,
            most: args.max_cost,
            directory: directory(&asked),
            records: None,
            taught: None,
            key,
            given,
            limits,
            prompt,
            contract,
            asked,
            guarding,
            replayer,
        })
    }

    /// The setting of a run that was recorded, asked again at `endpoint`; without one nothing is sent.
    pub(in crate::commands) fn again(
        remade: Remade,
        detail: &RunDetail,
        places: &Places,
        endpoint: (Endpoint, Wanted),
    ) -> Result<Self, Failure> {
        let (endpoint, wanted) = endpoint;
        let guarding = Guarding::of(remade.guard, places, &[])?;
        let asked = Asked { model: remade.model, endpoint, arrival: remade.arrival };
        let wire = match wanted {
            Wanted::Calls => Some(Wire::Live(Client::new())),
            Wanted::NoCalls => None,
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
            taught: profile.map(Taught::again),
            asked,
            guarding,
        })
    }

    /// Opens the records, and looks up what the prompt learned.
    ///
    /// # Errors
    ///
    /// If the records that are on can't be kept, or a wish is none.
    pub(in crate::commands) async fn begin(
        &mut self,
        args: &Run,
        places: &Places,
        project: &Project,
    ) -> Result<(), Failure> {
        let record = if args.no_record || args.dry_run { Record::No } else { Record::AsConfigured };
        if !args.dry_run && args.replay.is_none() {
            self.record(places, project, record, records::caps(&project.config.budget)).await?;
        }
        let history = match &self.records {
            _ if args.record.is_some() || args.replay.is_some() => History::Fixed,
            records => Writing::history(records.as_ref(), record, project),
        };
        self.taught = crate::ui::tell(taught((places, project), &self.prompt, &args.wishes.adapting(), history).await?);
        if let Some(taught) = &self.taught {
            crate::ui::notes(&taught.said);
        }
        Ok(())
    }

    /// Opens the records under these caps, and that of the run's caller.
    pub(in crate::commands) async fn record(
        &mut self,
        places: &Places,
        project: &Project,
        record: Record,
        mut caps: Vec<Cap>,
    ) -> Result<(), Failure> {
        let (scope, period, unit) = (Scope::Project, Period::Run, Unit::NanoDollars);
        caps.extend(self.most.map(|most| Cap { scope, period, unit, most: most.0 }));
        let asking = Asking { ledger: Ledger { caps, priced: self.asked.priced() }, secrets: secrets(&self.asked) };
        self.records = crate::ui::tell(Writing::begin(places, project, record, Some(asking)).await?);
        Ok(())
    }

    /// Closes the records.
    pub(in crate::commands) async fn end(self, places: &Places) {
        if let Some(records) = self.records {
            crate::ui::notes(&records.end(places).await);
        }
    }

    /// The request for these inputs.
    pub(in crate::commands) fn prepare(&self, inputs: &Ordered) -> Result<Prepared, Failure> {
        let ask = Ask {
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
        let mut counts = Counts::new(self.counter.as_ref());
        Ok(prepare(&ask, &mut counts)?)
    }

    /// The model that is asked.
    pub(in crate::commands) const fn model(&self) -> &Model {
        &self.asked.model
    }

    /// What each exchange is held to.
    pub(in crate::commands) fn terms(&self) -> Terms<'_> {
        Terms {
            owed: self.contract.as_ref().map_or(Owed::Text, Owed::Value),
            fallback: self.prompt.file.strict.fallback.as_ref(),
            limits: self.limits,
            key: &self.key,
            counter: self.counter.as_ref(),
        }
    }
}

/// Whether a setting is for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Wanted {
    /// It is.
    Calls,
    /// Nothing is sent.
    NoCalls,
}

pub(in crate::commands) fn directory(asked: &Asked) -> Directory {
    let served = Served { model: asked.model.clone(), endpoint: asked.endpoint.name.clone() };
    Directory::from([(asked.model.name.clone(), served)])
}

pub(in crate::commands) fn secrets(asked: &Asked) -> Vec<Secret> {
    match &asked.endpoint.key {
        EndpointKey::Loaded { secret, .. } => vec![secret.clone()],
        EndpointKey::None | EndpointKey::Missing { .. } => Vec::new(),
    }
}

/// Folders of cassettes.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Tape<'t> {
    /// What goes over the wire is kept there.
    pub(in crate::commands) record: Option<&'t Path>,
    /// Answers come from there, and nothing is sent.
    pub(in crate::commands) replay: Option<&'t Path>,
}

/// Who carries requests, and the cassettes that answers come from.
pub(in crate::commands) fn wire(
    tape: Tape<'_>,
    asked: &Asked,
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
