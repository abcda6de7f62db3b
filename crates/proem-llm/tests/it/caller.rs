//! Calls over real sockets of this machine.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

mod answers;
mod cassettes;
mod failures;
mod gate;
mod limits;
mod listener;
mod recorded;
#[path = "../../src/sample.rs"]
#[expect(dead_code, reason = "some samples are for unit tests alone")]
mod sample;

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use proem_engine::cache::CachePlan;
use proem_engine::call::{AnswerForm, Arrival, Request, ResponsePart};
use proem_engine::providers::{Model, Provider};
use proem_guard::show;
use proem_llm::caller::gate::{Gate, OpenGate};
use proem_llm::caller::{CallOutcome, Caller, ProviderCall, Wire};
use proem_llm::client::Client;
use proem_llm::endpoint::{Endpoint, EndpointKey, EndpointLimits};
use proem_llm::retry::RetryPolicy;
use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use proem_llm::secret::Secret;
use proem_llm::wire::CallSlot;
use tokio_util::sync::CancellationToken;

/// A question and whom to ask it.
pub(crate) struct Asking {
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Request,
    pub(crate) model: Model,
    pub(crate) plan: CachePlan,
    pub(crate) slot: CallSlot,
}

impl Asking {
    /// A short question to that address, without a key, without waits between attempts.
    pub(crate) fn at(provider: Provider, base_url: &str) -> Self {
        let limits = EndpointLimits::default();
        let (name, base_url, key) = ("test".to_owned(), base_url.to_owned(), EndpointKey::None);
        let endpoint = Endpoint { name, provider, base_url, key, limits, authorities: None };
        let (assembly, plan) = sample::parse_sample("system:be_brief user:say_hello");
        let name = if provider == Provider::Anthropic { "claude-haiku-4-5" } else { "gpt-4o" };
        let request = Request {
            model: name.to_owned(),
            assembly,
            answer: AnswerForm::Text,
            sampling: Default::default(),
            arrival: Arrival::Whole,
            way: None,
            inquiry: None,
        };
        Self { endpoint, request, model: sample::built_in_model(name), plan, slot: CallSlot { run: 1, effect: 0 } }
    }

    /// The same to a scripted server.
    pub(crate) fn of(server: &ScriptedServer) -> Self {
        Self::at(Provider::OpenAi, &server.base_url())
    }

    pub(crate) fn streamed(mut self) -> Self {
        self.request.arrival = Arrival::Streamed;
        self
    }

    pub(crate) fn keyed(mut self, key: &str) -> Self {
        self.endpoint.key = EndpointKey::Loaded { variable: "TEST_KEY".into(), secret: Secret::new("TEST_KEY", key) };
        self
    }

    pub(crate) fn limited(mut self, change: impl FnOnce(&mut EndpointLimits)) -> Self {
        change(&mut self.endpoint.limits);
        self
    }

    pub(crate) fn attempts(self, attempts: u32) -> Self {
        self.limited(|limits| limits.attempts = NonZeroU32::new(attempts).unwrap())
    }

    pub(crate) fn at_once(self, concurrency: usize) -> Self {
        self.limited(|limits| limits.concurrency = NonZeroUsize::new(concurrency).unwrap())
    }

    pub(crate) fn caller(&self) -> Caller {
        self.caller_over(Wire::Live(Client::new()))
    }

    pub(crate) fn caller_over(&self, wire: Wire) -> Caller {
        let policy = RetryPolicy { first_backoff: Duration::ZERO, ..RetryPolicy::default() };
        Caller::new(wire, vec![self.endpoint.clone()]).with_policy(policy)
    }

    pub(crate) fn call(&self) -> ProviderCall<'_> {
        self.call_through(&OpenGate)
    }

    pub(crate) fn call_through<'c>(&'c self, gate: &'c dyn Gate) -> ProviderCall<'c> {
        let Self { endpoint, request, model, plan, slot } = self;
        ProviderCall { endpoint: &endpoint.name, request, model, plan, slot: *slot, gate, listener: None }
    }

    pub(crate) async fn ask(&self) -> CallOutcome {
        self.caller().call(&self.call(), &CancellationToken::new()).await
    }
}

/// A server that gives these answers, the last one again and again.
pub(crate) fn server(replies: impl Into<Vec<Reply>>) -> ScriptedServer {
    ScriptedServer::start(ServerScript::of(replies.into())).unwrap()
}

/// The text of an answer.
pub(crate) fn text(called: &CallOutcome) -> String {
    let response = called.result.as_ref().unwrap();
    let text = |content: &ResponsePart| match content {
        ResponsePart::Text { text } => show::exact_json(text).as_str().unwrap().to_owned(),
        other => format!("{other:?}"),
    };
    response.content.iter().map(text).collect()
}

/// Every attempt: its status and what failed.
pub(crate) fn attempts(called: &CallOutcome) -> Vec<String> {
    let status = |status: Option<u16>| status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let failed =
        |sent: &proem_llm::caller::AttemptReport| sent.failed.map_or("fine", proem_engine::call::FailureKind::as_str);
    called.attempts.iter().map(|sent| format!("{} {}", status(sent.status), failed(sent))).collect()
}

/// The word and the message of a failure.
pub(crate) fn call_failure(called: &CallOutcome) -> (&'static str, String) {
    let failure = called.result.as_ref().unwrap_err();
    (failure.kind.as_str(), failure.message.clone())
}
