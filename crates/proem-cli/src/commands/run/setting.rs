//! What all runs of one command share: the prompt, its contract, the model, the guard, the wire.

use std::sync::Arc;
use std::time::Duration;

use proem_agents::prompted::{Ask, Given, Prepared, prepare};
use proem_agents::screen::Screening;
use proem_engine::call::NanoDollars;
use proem_engine::contract::Contract;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::Providers;
use proem_engine::run::{Exchange, Limits, Outcome, Owed, Terms, What};
use proem_engine::tokens::{Counts, TokenCounter};
use proem_guard::Key;
use proem_llm::caller::{Caller, Sent, Wire};
use proem_llm::cassette::{Recorder, Replayer};
use proem_llm::client::Client;
use proem_llm::endpoint::Key as EndpointKey;
use proem_runtime::driver::{Bounds, Calls, Directory, Made, Reached, Served, drive};
use proem_runtime::{Environment, installation_key};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::args::Run;
use crate::calling::{self, Asked};
use crate::failure::Failure;
use crate::guarding::Guarding;
use crate::places::Places;
use crate::project::Project;

/// What all runs of one command share.
pub(super) struct Setting {
    pub(super) prompt: Prompt,
    pub(super) contract: Option<Contract>,
    pub(super) asked: Asked,
    pub(super) given: Given,
    pub(super) bounds: Duration,
    counter: Box<dyn TokenCounter>,
    key: Key,
    guarding: Guarding,
    limits: Limits,
    input_tokens: Option<usize>,
    directory: Directory,
    /// Cassettes that answers come from.
    pub(super) replayer: Option<Arc<Replayer>>,
    caller: Option<Caller>,
}

/// One run, over.
pub(super) struct Ran {
    pub(super) prepared: Prepared,
    pub(super) outcome: Outcome,
    pub(super) made: Vec<Made>,
}

impl Setting {
    pub(super) fn new(args: &Run, places: &Places, project: &mut Project) -> Result<Self, Failure> {
        let (name, version) = match args.prompt.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (args.prompt.as_str(), None),
        };
        let prompt = project.book()?.prompt(name, version)?;
        let contract = prompt.contract()?;
        let providers = Providers::load()?;
        let wanted = args.model.as_deref().or(project.config.model.as_deref());
        let wanted = wanted.or(prompt.file.header.model.as_deref()).unwrap_or("small");
        let environment = Environment::inherited();
        let mut asked = calling::ask(&project.config, &providers, wanted, args.provider.as_deref(), &environment)?;
        if let Some(concurrency) = args.concurrency {
            asked.endpoint.limits.concurrency = concurrency;
        }
        // The tokeniser's table takes as long to load as all the rest; meanwhile the guard is made.
        let model = asked.model.clone();
        let tokeniser = std::thread::spawn(move || model.counter().count("a"));
        let guarding = Guarding::load(places, &[])?;
        project.notes.extend(guarding.notes.iter().cloned());
        let (wire, replayer) = wire(args, &asked)?;
        tokeniser.join().map_err(|_| Failure::bug("the tokeniser can't be loaded", "its thread panicked"))?;
        let served = Served { model: asked.model.clone(), endpoint: asked.endpoint.name.clone() };
        Ok(Self {
            caller: wire.map(|wire| Caller::new(wire, vec![asked.endpoint.clone()])),
            counter: asked.model.counter(),
            key: installation_key(&places.key())?,
            given: if args.input_untrusted { Given::FromOutside } else { Given::ByCaller },
            bounds: Duration::from_secs(u64::from(args.timeout.get())),
            limits: Limits { attempts: args.attempts, tokens: args.max_tokens },
            input_tokens: args.budget,
            directory: Directory::from([(asked.model.name.clone(), served)]),
            prompt,
            contract,
            asked,
            guarding,
            replayer,
        })
    }

    /// The request for these inputs.
    pub(super) fn prepare(&self, inputs: &Json) -> Result<Prepared, Failure> {
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
        };
        let mut counts = Counts::new(self.counter.as_ref());
        Ok(prepare(&ask, &mut counts)?)
    }

    /// Asks with these inputs; `run` is the run's place among those of the command, from 1.
    pub(super) async fn ask(&self, inputs: &Json, run: u32, stop: &CancellationToken) -> Result<Ran, Failure> {
        // Connections that are done go back to their pool before a new one is asked for.
        tokio::task::yield_now().await;
        let prepared = self.prepare(inputs)?;
        let Some(caller) = &self.caller else {
            return Err(Failure::bug("nothing is sent", "a dry run was asked to send"));
        };
        let terms = Terms {
            owed: self.contract.as_ref().map_or(Owed::Text, Owed::Value),
            fallback: self.prompt.file.strict.fallback.as_ref(),
            limits: self.limits,
            key: &self.key,
            counter: self.counter.as_ref(),
        };
        let mut exchange = Exchange::new(terms, prepared.request.clone());
        let end = tokio::time::Instant::now().checked_add(self.bounds);
        let calls = Calls::new(caller, &self.directory, run);
        let calls = match end {
            Some(end) => calls.before(end),
            None => calls,
        };
        let bounds = Bounds { stop: stop.clone(), time: Some(self.bounds) };
        let driven = drive(&mut exchange, What::Started, &calls, &bounds).await?;
        let outcome = match driven.reached {
            Reached::Done(outcome) => outcome,
            Reached::Asked(_) => return Err(Failure::bug("the run went wrong", "a prompt asked a question")),
        };
        Ok(Ran { prepared, outcome, made: calls.into_made() })
    }
}

impl Setting {
    /// What a run cost; `None` if that is not known.
    pub(super) fn cost(&self, ran: &Ran) -> Option<NanoDollars> {
        // What a model wrote into an answer that broke off is paid for and was never reported.
        let broke_off =
            |sent: &Sent| matches!(sent.status, None | Some(200)) && sent.failed.is_some_and(|kind| !kind.is_unsent());
        if ran.made.iter().flat_map(|made| &made.attempts).any(broke_off) {
            return None;
        }
        ran.outcome.cost(|usage| self.asked.cost(usage))
    }
}

/// Who carries requests; nobody in a dry run.
fn wire(args: &Run, asked: &Asked) -> Result<(Option<Wire>, Option<Arc<Replayer>>), Failure> {
    let cassettes = |error: proem_llm::cassette::CassetteError| Failure::usage(error.to_string());
    if args.dry_run {
        return Ok((None, None));
    }
    if let Some(folder) = &args.replay {
        let replayer = Arc::new(Replayer::open(folder).map_err(cassettes)?);
        return Ok((Some(Wire::Replayed(replayer.clone())), Some(replayer)));
    }
    let client = Client::new();
    let Some(folder) = &args.record else { return Ok((Some(Wire::Live(client)), None)) };
    let secrets = match &asked.endpoint.key {
        EndpointKey::Loaded { secret, .. } => vec![secret.clone()],
        EndpointKey::None | EndpointKey::Missing { .. } => Vec::new(),
    };
    let recorder = Recorder::open(folder, secrets).map_err(cassettes)?;
    Ok((Some(Wire::Recorded(client, Arc::new(recorder))), None))
}
