//! Sends spans to an endpoint of OpenTelemetry, by OTLP over HTTP with protobuf.
//!
//! Invariants: a request has at most [`MOST_SPANS`] spans and about [`MOST_BYTES`]. No redirect is followed. A credential
//! is the value of a header, never part of the address, and goes over an encrypted connection or to this machine. Spans
//! have ids that do not change, so a request that is sent again does no harm.

pub mod wire;

use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use proem_engine::call::FailureKind;
use proem_guard::show;
use proem_llm::caller::{random_backoff_share, wall_clock};
use proem_llm::client::hosts::{HostScope, check_url};
use proem_llm::client::once::{HostCredential, HostLimits, HostMethod, HostRequest, send_once};
use proem_llm::retry::{FailedAttempt, RetryDecision, RetryPolicy, advice};
use proem_llm::secret::Secret;
use proem_llm::wire::ResponseHead;
use prost::Message as _;

use self::wire::{AnyValue, AttributeValue, KeyValue, Resource, ResourceSpans, ScopeSpans, SpanScope};
use self::wire::{TraceAnswer, TraceRequest};

/// The most spans of one request, the default of OpenTelemetry's batch processor
/// (<https://opentelemetry.io/docs/specs/otel/trace/sdk/#batching-processor>).
pub const MOST_SPANS: usize = 512;

/// About the most bytes of the spans of one request. A span that is larger by itself goes alone.
pub const MOST_BYTES: usize = 4 << 20;

/// The most bytes of an answer that are read.
const MOST_ANSWER: usize = 64 << 10;

/// The most characters of an endpoint's own words that are shown.
const MOST_WORDS: usize = 200;

/// The path below an endpoint's address that takes spans.
const PATH: &str = "/v1/traces";

/// An endpoint that takes spans.
#[derive(Debug, Clone)]
pub struct TraceEndpoint {
    url: String,
    host: String,
    headers: Vec<(String, Secret)>,
}

/// An address that no spans are sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EndpointRefusal(String);

/// The headers that a credential may not be in, because the request has its own.
const OWN_HEADERS: [&str; 5] = ["content-type", "content-length", "content-encoding", "host", "transfer-encoding"];

impl TraceEndpoint {
    /// The endpoint at a base address, such as `http://127.0.0.1:4318`, or at the whole one, which ends in `/v1/traces`.
    /// `headers` are sent along, each with a secret as its value. In `authorization`, a secret that names no scheme is
    /// sent as `Bearer`.
    ///
    /// # Errors
    ///
    /// If the address is none, has a name, a password, a query or a fragment, or a header is none. No error shows a
    /// credential.
    pub fn new(url: &str, headers: Vec<(String, Secret)>) -> Result<Self, EndpointRefusal> {
        let parsed = check_url(url, HostScope::Private).map_err(|refusal| EndpointRefusal(refusal.to_string()))?;
        let host = parsed.host_str().unwrap_or_default();
        let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        if parsed.query().is_some() {
            let problem =
                format!("the URL of `{host}` holds `?`; leave out what follows it, and name a credential in a header");
            return Err(EndpointRefusal(problem));
        }
        let base = parsed.as_str().trim_end_matches('/');
        let url = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        let headers = headers.into_iter().map(|(name, secret)| header(&name, secret)).collect::<Result<_, _>>()?;
        Ok(Self { url, host, headers })
    }

    /// The address that requests go to.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its host, with the port if that is named.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

fn header(name: &str, secret: Secret) -> Result<(String, Secret), EndpointRefusal> {
    let name = name.to_ascii_lowercase();
    let is_token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !is_token || OWN_HEADERS.contains(&name.as_str()) {
        let shown = show::terminal_str(&name);
        return Err(EndpointRefusal(format!(
            "`{shown}` is no header for a credential; write one such as `authorization`"
        )));
    }
    let bare = name == "authorization" && !secret.expose().contains(' ');
    let secret = if bare { Secret::new(secret.name(), format!("Bearer {}", secret.expose())) } else { secret };
    Ok((name, secret))
}

/// How long an endpoint may take, and how often it is asked.
#[derive(Debug, Clone, Copy)]
pub struct TraceLimits {
    /// The limits of one request.
    pub host: HostLimits,
    /// How often a request is sent at most, the first time included.
    pub attempts: NonZeroU32,
    /// The waits between attempts.
    pub policy: RetryPolicy,
}

impl Default for TraceLimits {
    /// Eight attempts of 10 s each, the time-out that OTLP's exporters have
    /// (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>), with waits of 20 s at most.
    fn default() -> Self {
        Self::of_attempts(NonZeroU32::MIN.saturating_add(7), Duration::from_secs(10))
    }
}

impl TraceLimits {
    /// So many attempts of so long.
    #[must_use]
    pub fn of_attempts(attempts: NonZeroU32, whole: Duration) -> Self {
        let wait = Duration::from_secs(20);
        Self {
            host: HostLimits { connect: whole.min(Duration::from_secs(5)), whole, answer_bytes: MOST_ANSWER },
            attempts,
            policy: RetryPolicy { longest_backoff: wait, longest_asked: wait, ..RetryPolicy::default() },
        }
    }
}

/// The endpoint's answer to spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanReceipt {
    /// The spans that it did not take, although it took the request.
    pub rejected: u64,
    /// Its reason for that, or a warning, escaped.
    pub message: Option<String>,
}

/// Spans were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpanFailure {
    /// The event and the remedy, in our words.
    pub message: String,
    /// The time that the endpoint asks to wait.
    pub wait: Option<Duration>,
}

/// A request that was not taken.
struct BrokenAttempt {
    status: Option<u16>,
    head: ResponseHead,
    message: String,
}

/// Sends spans, each as [`TraceSpan::encode`](wire::TraceSpan::encode) writes it, in one request, again where OTLP permits that: after the statuses 429, 502, 503 and 504.
///
/// # Errors
///
/// [`SpanFailure`] if no answer came, or one that refuses.
pub async fn send_spans(
    endpoint: &TraceEndpoint,
    spans: Vec<Vec<u8>>,
    limits: &TraceLimits,
) -> Result<SpanReceipt, SpanFailure> {
    let body = Bytes::from(trace_request(spans).encode_to_vec());
    let mut attempt = 1_u32;
    loop {
        let broken = match post_spans(endpoint, body.clone(), &limits.host).await {
            Ok(receipt) => return Ok(receipt),
            Err(broken) => broken,
        };
        let advice = advice(&broken.head, wall_clock());
        let passes = matches!(broken.status, Some(429 | 502..=504));
        let failed = FailedAttempt {
            kind: if broken.status == Some(429) { FailureKind::RateLimited } else { FailureKind::Server },
            status: broken.status,
            bytes: 0,
            advice,
            attempt,
            most: if passes { limits.attempts } else { NonZeroU32::MIN },
            left: None,
        };
        match limits.policy.next(&failed, random_backoff_share()) {
            RetryDecision::Wait(wait) => tokio::time::sleep(wait).await,
            RetryDecision::Over(_) => return Err(SpanFailure { message: broken.message, wait: advice.wait }),
        }
        attempt = attempt.saturating_add(1);
    }
}

/// The request that carries these spans.
#[must_use]
pub fn trace_request(spans: Vec<Vec<u8>>) -> TraceRequest {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let attributes = vec![text_attribute("service.name", "proem"), text_attribute("service.version", &version)];
    let scope = SpanScope { name: "proem".to_owned(), version };
    TraceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource { attributes }),
            scope_spans: vec![ScopeSpans { scope: Some(scope), spans }],
        }],
    }
}

/// An attribute that is a text.
#[must_use]
pub fn text_attribute(key: &str, text: &str) -> KeyValue {
    attribute(key, AttributeValue::Text(text.to_owned()))
}

/// An attribute with a value of any type.
#[must_use]
pub fn attribute(key: &str, value: AttributeValue) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

async fn post_spans(endpoint: &TraceEndpoint, body: Bytes, limits: &HostLimits) -> Result<SpanReceipt, BrokenAttempt> {
    let headers = [("content-type".to_owned(), "application/x-protobuf".to_owned())];
    let request = HostRequest {
        method: HostMethod::Post,
        url: &endpoint.url,
        scope: HostScope::Private,
        headers: &headers,
        credential: (!endpoint.headers.is_empty()).then_some(HostCredential::Headers(&endpoint.headers)),
        body,
    };
    let answer = send_once(request, limits).await.map_err(|failure| BrokenAttempt {
        status: None,
        head: ResponseHead::default(),
        message: failure.message,
    })?;
    let (host, status) = (&endpoint.host, answer.head.status);
    let message = match status {
        200..=299 => return Ok(receipt(&answer.body)),
        300..=399 => format!("`{host}` redirects (status {status}), which is not followed; write the address it names"),
        401 | 403 => format!("`{host}` refuses the credential (status {status}); name one in a header"),
        404 | 405 => format!("`{host}` takes no spans at `{}` (status {status}); check the address", endpoint.url),
        413 => format!("`{host}` takes no requests of this size (status 413); raise its limit to 8 MiB"),
        429 | 502..=504 => format!("`{host}` takes no spans at the moment (status {status}); try again later"),
        500..=599 => format!("`{host}` failed (status {status}); look at its log"),
        _ => format!("`{host}` refuses the spans (status {status}); check that it takes OTLP over HTTP with protobuf"),
    };
    Err(BrokenAttempt { status: Some(status), head: answer.head, message })
}

/// Reads what an endpoint that took a request says. An answer of another form says nothing, and the status counts.
fn receipt(body: &[u8]) -> SpanReceipt {
    let partial = TraceAnswer::decode(body).ok().and_then(|answer| answer.partial_success);
    let Some(partial) = partial else { return SpanReceipt::default() };
    let words: String = partial.error_message.chars().take(MOST_WORDS).collect();
    SpanReceipt {
        rejected: u64::try_from(partial.rejected_spans).unwrap_or(0),
        message: (!words.is_empty()).then(|| show::terminal_str(&words).into_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str, headers: Vec<(&str, &str)>) -> String {
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), Secret::new("NAME", value))).collect();
        match TraceEndpoint::new(url, headers) {
            Ok(endpoint) => format!("{} {:?}", endpoint.url(), endpoint),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn an_address_holds_no_credential_and_an_error_shows_none() {
        let check = |url: &str, expected: &str| assert_eq!(refusal(url, Vec::new()), expected, "{url}");
        check(
            "https://me:hunter2hunter2@traces.example",
            "the URL of `traces.example` contains a user name or password; remove it and name a credential",
        );
        check(
            "https://traces.example/otlp?key=hunter2",
            "the URL of `traces.example` holds `?`; leave out what follows it, and name a credential in a header",
        );
        check("grpc://127.0.0.1:4317", "`grpc:` is not asked; write `https:`");
        check("127.0.0.1:4318", "`127.0.0.1:4318` is not a URL; write it as `https://HOST/PATH`");
        let header = refusal("https://traces.example", vec![("Content-Type", "x")]);
        assert_eq!(header, "`content-type` is no header for a credential; write one such as `authorization`");
    }

    #[test]
    fn the_path_is_added_once() {
        let url = |text: &str| TraceEndpoint::new(text, Vec::new()).unwrap().url().to_owned();
        assert_eq!(url("http://127.0.0.1:4318"), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(url("https://traces.example/otlp/"), "https://traces.example/otlp/v1/traces");
        assert_eq!(url("https://traces.example/v1/traces"), "https://traces.example/v1/traces");
    }

    #[test]
    fn a_secret_without_a_scheme_is_a_bearers() {
        let value = |name: &str, secret: &str| header(name, Secret::new("N", secret)).unwrap().1.expose().to_owned();
        assert_eq!(value("Authorization", "abc"), "Bearer abc");
        assert_eq!(value("authorization", "Basic abc"), "Basic abc");
        assert_eq!(value("x-api-key", "abc"), "abc");
    }

    #[test]
    fn an_answer_of_any_form_is_read() {
        let partial = TraceAnswer {
            partial_success: Some(wire::PartialSuccess {
                rejected_spans: 3,
                error_message: "full\u{1b}[31m".to_owned(),
            }),
        };
        let read = receipt(&partial.encode_to_vec());
        assert_eq!(read.rejected, 3);
        assert!(!read.message.unwrap().contains('\u{1b}'));
        assert_eq!(receipt(b"{}"), SpanReceipt::default());
        assert_eq!(receipt(b""), SpanReceipt::default());
    }
}
