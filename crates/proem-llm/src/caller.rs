//! Calls a model: encodes, sends, reads, and tries again where that may help.
//!
//! Invariants: every attempt is in [`CallOutcome::attempts`]; what can't be recorded is not used. A replay opens no
//! connection, needs no key, passes no gate and never waits. A call that is cancelled, or whose future is dropped,
//! closes its connection and gives its place to the next.

mod attempt;
pub mod gate;
pub mod listener;
mod live;
mod replay;

pub use self::live::{random_backoff_share, wall_clock};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proem_engine::cache::CachePlan;
use proem_engine::call::{CallFailure, FailureKind, Request, Response};
use proem_engine::providers::Model;
use proem_text::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::gate::{CallAttempt, Gate};
use self::listener::TextListener;
use self::live::CallBounds;
use crate::cassette::{Recorder, Replayer};
use crate::client::Client;
use crate::codec::{EndpointNames, encode_request, restore_response};
use crate::endpoint::Endpoint;
use crate::pace::Pace;
use crate::projection::Omission;
use crate::retry::{RetryPolicy, RetryStop};
use crate::wire::{CallSlot, WireRequest};

/// The source of answers.
#[derive(Debug, Clone)]
pub enum Wire {
    /// The provider is asked.
    Live(Client),
    /// The network, with everything kept.
    Recorded(Client, Arc<Recorder>),
    /// Nobody: answers come from cassettes.
    Replayed(Arc<Replayer>),
}

/// Calls models at several endpoints, each within its limits. Cheap to clone. Clones share limits.
#[derive(Debug, Clone)]
pub struct Caller {
    wire: Wire,
    endpoints: Arc<BTreeMap<String, Paced>>,
    policy: RetryPolicy,
}

/// An endpoint and its pace.
#[derive(Debug)]
struct Paced {
    endpoint: Endpoint,
    pace: Pace,
}

/// A call of a model, with all that it needs.
#[derive(Debug, Clone, Copy)]
pub struct ProviderCall<'c> {
    /// Which endpoint is asked, by its name in configuration.
    pub endpoint: &'c str,
    /// The question.
    pub request: &'c Request,
    /// The model that is asked.
    pub model: &'c Model,
    /// The cache plan of the request.
    pub plan: &'c CachePlan,
    /// Which call of which run it is.
    pub slot: CallSlot,
    /// The gate before each attempt over the network.
    pub gate: &'c dyn Gate,
    /// The listener to an answer that is a text while it arrives.
    pub listener: Option<&'c dyn TextListener>,
}

/// How a call went.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The answer, or why there is none.
    pub result: Result<Response, CallFailure>,
    /// The wire traffic, attempt by attempt.
    pub attempts: Vec<AttemptReport>,
    /// The parts that were not sent to the provider.
    pub dropped: Vec<Omission>,
}

/// The wire traffic of one attempt of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptReport {
    /// The status of the answer. `None` if none came.
    pub status: Option<u16>,
    /// How long it was waited before, by rule or because the endpoint asked for it. Nothing in a replay.
    pub waited: Duration,
    /// How long it took. Nothing in a replay, where the network has no part in it.
    pub took: Duration,
    /// The bytes of the answer that were read.
    pub bytes: usize,
    /// The failure.
    pub failed: Option<FailureKind>,
}

/// A call as it is carried out.
#[derive(Debug, Clone, Copy)]
struct PendingCall<'c> {
    request: &'c Request,
    model: &'c Model,
    plan: &'c CachePlan,
    slot: CallSlot,
    paced: &'c Paced,
    wire: &'c WireRequest,
    /// The same bytes for whoever writes them down and for every attempt.
    body: &'c Bytes,
    url: &'c str,
    policy: &'c RetryPolicy,
    gate: &'c dyn Gate,
    listener: Option<&'c dyn TextListener>,
    dropped: &'c [Omission],
}

impl Caller {
    /// A caller over `wire` for these endpoints.
    #[must_use]
    pub fn new(wire: Wire, endpoints: Vec<Endpoint>) -> Self {
        let paced = |endpoint: Endpoint| {
            let pace = Pace::new(&endpoint.limits);
            (endpoint.name.clone(), Paced { endpoint, pace })
        };
        Self { wire, endpoints: Arc::new(endpoints.into_iter().map(paced).collect()), policy: RetryPolicy::default() }
    }

    /// The caller with other waits between attempts.
    #[must_use]
    pub const fn with_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Calls a model, until it answers, can't, or `stop` is cancelled.
    pub async fn call(&self, call: &ProviderCall<'_>, stop: &CancellationToken) -> CallOutcome {
        self.carry(call, CallBounds { end: None, stop }).await
    }

    /// [`Self::call`] for a caller that cancels `stop` at `end`: no wait is begun that would last
    /// longer, so that the reason is what the endpoint said and not that time was up.
    pub async fn call_before(&self, end: Instant, call: &ProviderCall<'_>, stop: &CancellationToken) -> CallOutcome {
        self.carry(call, CallBounds { end: Some(end), stop }).await
    }

    async fn carry(&self, call: &ProviderCall<'_>, bounds: CallBounds<'_>) -> CallOutcome {
        let refuse = |message: String| CallOutcome {
            result: Err(CallFailure::new(FailureKind::Refused, message)),
            attempts: Vec::new(),
            dropped: Vec::new(),
        };
        let Some(paced) = self.endpoints.get(call.endpoint) else {
            return refuse(format!("no provider `{}` is configured; {}", call.endpoint, self.configured()));
        };
        let encoded = match encode_request(call.request, call.model, call.plan) {
            Ok(encoded) => encoded,
            Err(error) => return refuse(error.to_string()),
        };
        let ProviderCall { request, model, plan, slot, gate, listener, .. } = *call;
        let url = paced.endpoint.url(encoded.wire.path);
        let body = Bytes::from(json::compact_in_order(&encoded.wire.body));
        let (wire, dropped, policy) = (&encoded.wire, encoded.dropped.as_slice(), &self.policy);
        let (body, url) = (&body, url.as_str());
        let ready = PendingCall { request, model, plan, slot, paced, wire, body, url, policy, gate, listener, dropped };
        let mut attempts = Vec::new();
        let result = match &self.wire {
            Wire::Live(client) => {
                let result = live::carry_live(client, None, &ready, bounds, &mut attempts).await;
                live::with_listed_window(client, &ready, bounds, result).await
            }
            Wire::Recorded(client, recorder) => {
                live::carry_live(client, Some(recorder), &ready, bounds, &mut attempts).await
            }
            Wire::Replayed(replayer) => replay::carry_replayed(replayer, &ready, &mut attempts),
        };
        let result = result.map(|response| restore_response(response, request, &encoded.strict));
        CallOutcome { result, attempts, dropped: encoded.dropped }
    }

    /// The configured choices.
    fn configured(&self) -> String {
        if self.endpoints.is_empty() {
            return "configure one under `providers`".to_owned();
        }
        let names: Vec<_> = self.endpoints.keys().map(|name| format!("`{name}`")).collect();
        format!("choose {} or configure it", names.join(", "))
    }
}

impl<'c> PendingCall<'c> {
    /// The attempt with that number, as a gate sees it. `body` is what goes over the wire.
    const fn attempt<'b>(&self, number: u32, body: &'b [u8]) -> CallAttempt<'b>
    where
        'c: 'b,
    {
        CallAttempt {
            slot: self.slot,
            number,
            request: self.request,
            model: self.model,
            endpoint: &self.paced.endpoint,
            plan: self.plan,
            wire: self.wire,
            body,
            dropped: self.dropped,
        }
    }

    /// The names of the endpoint and the model, for messages.
    fn names(&self) -> EndpointNames<'c> {
        let endpoint = &self.paced.endpoint;
        EndpointNames {
            endpoint: &endpoint.name,
            variable: endpoint.key.variable(),
            model: &self.model.name,
            url: self.url,
            body_bytes: self.body.len(),
        }
    }
}

/// How messages of failures end that may pass.
const TRY_AGAIN: &str = "; try again";

/// The failure of a call. If nobody could be reached after an answer had begun, what ended that answer is the cause, and
/// that nobody listens its consequence.
fn named_cause(begun: Option<&CallFailure>, last: CallFailure) -> CallFailure {
    match begun {
        Some(begun) if last.kind == FailureKind::Unreachable => {
            let message = format!("{}, and since then {}", begun.message.trim_end_matches(TRY_AGAIN), last.message);
            CallFailure { message, ..begun.clone() }
        }
        _ => last,
    }
}

/// The failure of the last attempt, with how many there were.
#[must_use]
pub fn last_failure(mut failure: CallFailure, attempts: usize, over: RetryStop) -> CallFailure {
    if attempts > 1 || over != RetryStop::Settled {
        let plural = if attempts == 1 { "" } else { "s" };
        let told = fmt::from_fn(|f| write!(f, "; gave up after {attempts} attempt{plural}{over}"));
        failure.message = format!("{}{told}", failure.message);
    }
    failure
}

fn cancelled_failure() -> CallFailure {
    CallFailure::new(FailureKind::Cancelled, "the call was cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failure_counts_attempts() {
        let check = |attempts, over, expected: &str| {
            let failure = CallFailure::new(FailureKind::Server, "the provider failed; try again");
            assert_eq!(
                last_failure(failure, attempts, over).message,
                format!("the provider failed; try again{expected}")
            );
        };
        check(1, RetryStop::Settled, "");
        check(2, RetryStop::Settled, "; gave up after 2 attempts");
        check(1, RetryStop::Attempts, "; gave up after 1 attempt");
        check(4, RetryStop::Attempts, "; gave up after 4 attempts");
        let (wait, most) = (Duration::from_secs(3_600), Duration::from_secs(120));
        check(
            1,
            RetryStop::Asked { wait, most },
            "; gave up after 1 attempt, because the provider asks to wait 3600 s and the maximum wait is 120 s",
        );
    }

    #[test]
    fn unknown_endpoints_name_the_known() {
        let caller = Caller::new(Wire::Live(Client::new()), Vec::new());
        assert_eq!(caller.configured(), "configure one under `providers`");
    }

    #[test]
    fn calls_can_be_carried_out_on_any_thread() {
        fn is_send<T: Send>(_: &T) {}
        let caller = Caller::new(Wire::Live(Client::new()), Vec::new());
        let carried = |call: &ProviderCall<'_>, stop: &CancellationToken| is_send(&caller.call(call, stop));
        _ = carried;
    }
}
