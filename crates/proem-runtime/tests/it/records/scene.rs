//! A store in a folder of its own, a provider that says what a script wants, and runs between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proem_engine::assembly::{Appendix, Assembly, PromptId};
use proem_engine::call::{AnswerForm, Arrival, NanoDollars, Request};
use proem_engine::ledger::{Cap, CapPeriod, CapScope, CapUnit, Pricing};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::providers::{Model, Provider, Providers};
use proem_engine::report::{CounterReport, FitReport, PromptReport, Report, Totals};
use proem_engine::run::{AnswerRequirement, EventKind, Exchange, ExchangeLimits, ExchangeTerms, Outcome};
use proem_engine::tokens::{Exactness, OpenAi};
use proem_guard::InstallationKey;
use proem_llm::caller::{Caller, Wire, wall_clock};
use proem_llm::client::Client;
use proem_llm::endpoint::{Endpoint, EndpointKey as ProviderKey, EndpointLimits};
use proem_llm::retry::RetryPolicy;
use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use proem_llm::secret::Secret;
use proem_runtime::driver::{CallPerformer, Directory, DriveEnd, DriveStart, RunBounds, ServedModel, go_on};
use proem_runtime::records::{
    Ledger, RecordDepth, Recording, RecordingContext, ResumableRun, ResumeIdentity, ResumeRequest, RunEnd, SealKey,
    Start, resume,
};
use proem_store::query::RunDetail;
use proem_store::record::{Actor, ActorKind, Numbers, Project, RunId};
use proem_store::{Store, StoreAccess, StoreOptions};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const MODEL: &str = "gpt-4o";

/// The key of this installation.
pub(crate) fn key() -> InstallationKey {
    InstallationKey::new([7; 32])
}

/// A run's texts, and its limits.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) folder: PathBuf,
    pub(crate) base_url: String,
    pub(crate) caps: Vec<Cap>,
    pub(crate) priced: Pricing,
    pub(crate) keeping: RecordDepth,
    pub(crate) secrets: Vec<Secret>,
    /// The beginning of every request of it.
    pub(crate) rules: String,
    pub(crate) text: String,
    pub(crate) project: Project,
    pub(crate) attempts: u32,
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) trouble: Option<String>,
}

/// A server that gives these answers, the last again and again.
pub(crate) fn server(replies: impl Into<Vec<Reply>>) -> ScriptedServer {
    ScriptedServer::start(ServerScript::of(replies.into())).unwrap()
}

/// A cap of this user's in dollars' billionths for a day.
pub(crate) fn nanos_a_day(most: u64) -> Cap {
    Cap { scope: CapScope::User, period: CapPeriod::Day, unit: CapUnit::NanoDollars, most }
}

pub(crate) fn id(name: &str) -> RunId {
    RunId(name.to_owned())
}

impl Scene {
    pub(crate) fn new(folder: &Path, server: &ScriptedServer) -> Self {
        Self::at(folder, &server.base_url())
    }

    pub(crate) fn at(folder: &Path, base_url: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            base_url: base_url.to_owned(),
            caps: Vec::new(),
            priced: Pricing::Listed,
            keeping: RecordDepth::Content,
            secrets: Vec::new(),
            rules: "Answer in one line.\n\"Quotes\" and\ttabs stay.".to_owned(),
            text: "Say hello to everybody who reads this line.".to_owned(),
            project: Project("/home/a/project".to_owned()),
            attempts: 1,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("records.sqlite")
    }

    pub(crate) async fn store(&self) -> Store {
        let opening = StoreOptions {
            path: self.path(),
            key: key(),
            access: StoreAccess::Write,
            project: self.project.clone(),
            actor: actor(),
            zone: jiff::tz::TimeZone::UTC,
        };
        Store::open(opening).await.unwrap().store
    }

    pub(crate) fn model(&self) -> Model {
        Providers::load().unwrap().model(MODEL).unwrap().clone()
    }

    pub(crate) fn request(&self) -> Request {
        let mut assembly =
            Assembly { prompt: prompt(), sections: Vec::new(), boundaries: Vec::new(), output_tokens: 200 };
        assembly.append("rules", Appendix::Ours(&self.rules), &OpenAi::O200k);
        assembly.append("task", Appendix::Ours(&self.text), &OpenAi::O200k);
        let (model, answer, sampling) = (MODEL.to_owned(), AnswerForm::Text, Default::default());
        Request { model, assembly, answer, sampling, arrival: Arrival::Whole, way: None, inquiry: None }
    }

    /// The reservation of one call, found by making one.
    pub(crate) async fn bound(&self) -> u64 {
        let folder = TempDir::new().unwrap();
        let scene = Self { folder: folder.path().to_owned(), caps: Vec::new(), ..self.clone() };
        let store = scene.store().await;
        scene.run(&store, "1").await;
        store.run(&id("1")).await.unwrap().calls[0].attempts[0].most.unwrap().0
    }

    pub(crate) fn caller(&self) -> Caller {
        let limits =
            EndpointLimits { attempts: std::num::NonZeroU32::new(self.attempts).unwrap(), ..EndpointLimits::default() };
        let endpoint = Endpoint {
            authorities: None,
            name: "test".to_owned(),
            provider: Provider::OpenAi,
            base_url: self.base_url.clone(),
            key: ProviderKey::None,
            limits,
        };
        let policy = RetryPolicy { first_backoff: Duration::ZERO, ..RetryPolicy::default() };
        Caller::new(Wire::Live(Client::new()), vec![endpoint]).with_policy(policy)
    }

    pub(crate) fn directory(&self) -> Directory {
        Directory::from([(MODEL.to_owned(), ServedModel { model: self.model(), endpoint: "test".to_owned() })])
    }

    /// The ledger's part of its runs.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger { caps: self.caps.clone(), priced: self.priced }
    }

    /// The owner that its recordings refer to.
    pub(crate) fn owned(&self) -> Owned {
        Owned { seal: SealKey::derived(&key()), ledger: self.ledger(), actor: actor() }
    }

    /// Runs a prompt from its start, under that id.
    pub(crate) async fn run(&self, store: &Store, run: &str) -> Ran {
        self.run_until(store, run, &CancellationToken::new()).await
    }

    /// The same until it is cancelled.
    pub(crate) async fn run_until(&self, store: &Store, run: &str, stop: &CancellationToken) -> Ran {
        let terms = terms();
        let mut machine = Exchange::new(terms.of(), self.request());
        let from = DriveStart::Event(EventKind::Started);
        let start = Begun { id: id(run), parent: None, steps: 0 };
        self.drive(store, (&start, None), (&mut machine, from), stop).await
    }

    /// A run of this project to go on with, under the rules that all of them are held to.
    pub(crate) fn resuming<'r>(&'r self, run: &'r RunId, identity: ResumeIdentity) -> ResumeRequest<'r> {
        ResumeRequest { run, identity, project: &self.project, policy: "rules" }
    }

    /// Goes on with a run, or with a fork of it.
    pub(crate) async fn resume(&self, store: &Store, run: &str, fork: Option<&str>) -> Result<Ran, String> {
        let seal = SealKey::derived(&key());
        let going = if fork.is_some() { ResumeIdentity::Apart } else { ResumeIdentity::On };
        let broken_off = id(run);
        let resumed = resume(store, &seal, self.resuming(&broken_off, going)).await;
        let resumed = resumed.map_err(|error| error.to_string())?;
        let terms = terms();
        let mut machine = Exchange::restore(terms.of(), &resumed.state.machine).unwrap();
        let from = resumed.onward(Vec::new());
        let start = Begun { id: id(fork.unwrap_or(run)), parent: fork.map(|_| id(run)), steps: resumed.step };
        Ok(self.drive(store, (&start, Some(&resumed)), (&mut machine, from), &CancellationToken::new()).await)
    }

    async fn drive(
        &self,
        store: &Store,
        (begun, resumed): (&Begun, Option<&ResumableRun>),
        (machine, from): (&mut Exchange<'_>, DriveStart),
        stop: &CancellationToken,
    ) -> Ran {
        let owned = self.owned();
        let kept = owned.kept(self, store);
        let given = Given::new(&self.text);
        let recording = Recording::new(&kept, &given.start(begun));
        let (caller, directory) = (self.caller(), self.directory());
        let calls = CallPerformer::new(&caller, &directory, 1).through(&recording);
        let bounds = RunBounds { stop: stop.clone(), time: Some(Duration::from_secs(60)) };
        let driven = match resumed {
            Some(resumed) => go_on(machine, from, &resumed.remembering(&calls), &bounds, &recording).await,
            None => go_on(machine, from, &calls, &bounds, &recording).await,
        };
        let DriveEnd::Done(outcome) = driven.unwrap().reached else { panic!("an exchange asks nobody") };
        let end = RunEnd {
            at: wall_clock(),
            outcome: outcome.clone(),
            assembly: None,
            numbers: Numbers::default(),
            evaluations: Vec::new(),
        };
        recording.finish(end).await;
        Ran { outcome, trouble: recording.trouble() }
    }
}

/// The owner that recordings refer to.
pub(crate) struct Owned {
    seal: SealKey,
    ledger: Ledger,
    actor: Actor,
}

impl Owned {
    /// The common part of all runs of a scene.
    pub(crate) fn kept<'k>(&'k self, scene: &'k Scene, store: &'k Store) -> RecordingContext<'k> {
        RecordingContext {
            store,
            seal: &self.seal,
            keeping: scene.keeping,
            ledger: &self.ledger,
            secrets: &scene.secrets,
            project: &scene.project,
            actor: &self.actor,
        }
    }
}

/// A run as it starts, in short.
pub(crate) struct Begun {
    pub(crate) id: RunId,
    pub(crate) parent: Option<RunId>,
    pub(crate) steps: u32,
}

/// The texts that a start refers to.
pub(crate) struct Given {
    prompt: PromptId,
    files: BTreeMap<String, String>,
    inputs: OrderedJson,
    settings: Json,
    report: Report,
}

impl Given {
    /// A run whose text is wherever one can.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            files: BTreeMap::from([("a/b/prompt.md".to_owned(), format!("---\n---\n{text}\n"))]),
            settings: json!({ "attempts": 2, "said": text }),
            ..Self::asked(text)
        }
    }

    /// A run of a prompt that shows its only input.
    pub(crate) fn asked(text: &str) -> Self {
        Self {
            prompt: prompt(),
            files: BTreeMap::from([("a/b/prompt.md".to_owned(), "---\n---\n{{text}}\n".to_owned())]),
            inputs: json!({ "text": text }).into(),
            settings: json!({ "attempts": 2 }),
            report: report(),
        }
    }

    pub(crate) fn start<'s>(&'s self, begun: &Begun) -> Start<'s> {
        Start {
            id: begun.id.clone(),
            parent: begun.parent.clone(),
            kind: "prompt",
            prompt: &self.prompt,
            role: "small",
            model: MODEL,
            endpoint: "test",
            line: None,
            files: &self.files,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: "rules",
            profiles: None,
            report: Some(&self.report),
            monolithic_tokens: Some(5_000),
            steps: begun.steps,
        }
    }
}

/// Terms with everything that they refer to.
pub(crate) struct Owns {
    key: InstallationKey,
    limits: ExchangeLimits,
}

pub(crate) fn terms() -> Owns {
    Owns { key: key(), limits: ExchangeLimits::default() }
}

impl Owns {
    pub(crate) fn of(&self) -> ExchangeTerms<'_> {
        ExchangeTerms {
            owed: AnswerRequirement::Text,
            fallback: None,
            limits: self.limits,
            key: &self.key,
            counter: &OpenAi::O200k,
        }
    }
}

pub(crate) fn actor() -> Actor {
    Actor { kind: ActorKind::Person, id: "alice".to_owned(), channel: "terminal".to_owned() }
}

pub(crate) fn prompt() -> PromptId {
    let closure = "0f".repeat(32);
    PromptId { agent: "a".to_owned(), name: "b".to_owned(), version: "1.0.0".to_owned(), closure }
}

fn report() -> Report {
    Report {
        prompt: PromptReport {
            name: "a/b".to_owned(),
            version: "1.0.0".to_owned(),
            closure: "0f".repeat(32),
            files: Vec::new(),
        },
        counter: CounterReport { name: "o200k".to_owned(), exactness: Exactness::Exact },
        sections: Vec::new(),
        totals: Totals { tokens: 20, prefix: 0, suffix: 20, limit: None, output: 200, monolithic: None, saved: None },
        fit: FitReport { worth: 1, bound: 1, gap: 0 },
        hash: "0a".repeat(32),
        content_hash: "0b".repeat(32),
        key_id: "0c0c0c0c".to_owned(),
    }
}

/// The text that a run ended with.
pub(crate) fn text(ran: &Ran) -> String {
    match &ran.outcome.ended {
        proem_engine::run::ExchangeEnd::Answered { value } => {
            proem_guard::show::exact_value(value).as_str().unwrap_or_default().to_owned()
        }
        other => panic!("no answer: {other:?}"),
    }
}

/// Why a run ended without an answer, and the message of its last failure.
pub(crate) fn failure(ran: &Ran) -> (String, String) {
    let proem_engine::run::ExchangeEnd::Failed { because } = &ran.outcome.ended else { panic!("{:?}", ran.outcome) };
    let failure = ran.outcome.attempts.last().and_then(|attempt| attempt.failure.clone());
    (because.in_words(), failure.map_or_else(String::new, |failure| failure.message))
}

/// Each attempt of a run: its state, what it had failed with and what is booked.
pub(crate) fn attempts(detail: &RunDetail) -> Vec<String> {
    let calls = detail.calls.iter();
    let lines = calls.flat_map(|call| call.attempts.iter().map(move |attempt| (call.effect, attempt)));
    let booked = |nanos: Option<NanoDollars>| nanos.map_or_else(|| "?".to_owned(), |nanos| nanos.0.to_string());
    lines
        .map(|(effect, attempt)| {
            let failed = attempt.failed.as_deref().map(|failed| format!(" {failed}")).unwrap_or_default();
            format!("{}.{} {}{failed} {}", effect.0, attempt.attempt, attempt.state, booked(attempt.booked))
        })
        .collect()
}
