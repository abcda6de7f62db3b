//! The routes for deliveries, and the order of checks: the webhook, its handshake, the size, the sender, the form, the
//! age, the rate, and the records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use proem_app::places::Places;
use proem_app::webhooks::{Webhook, keep_webhook_secret};
use proem_app::{Error, when};
use proem_triage::{DeliveryEnvelope, WebhookSource};
use tokio::sync::Semaphore;
use url::form_urlencoded;

use crate::body::{DeliveryBody, MAX_IN_FLIGHT, read_body};
use crate::event::{ServeEvent, ServeListener};
use crate::hook::{HandshakeDoor, Hook};
use crate::outcome::WebhookOutcome;
use crate::writer::{ProjectWriter, WriterAnswer, WriterWork};

/// The prefix of every webhook's address.
const PREFIX: &str = "/hooks/";
/// How long a delivery waits for its records: sources give up after 10 seconds.
const ANSWER_TIME: Duration = Duration::from_secs(9);
/// The longest token that is answered, in bytes.
const MAX_TOKEN: usize = 2_048;
/// Jira's signature: `sha256=` and hexadecimal digits.
const JIRA_SIGNATURE: &str = "x-hub-signature";
/// Asana's signature, as hexadecimal digits.
const ASANA_SIGNATURE: &str = "x-hook-signature";
/// The secret that Asana chooses.
const ASANA_SECRET: HeaderName = HeaderName::from_static("x-hook-secret");

/// The webhooks to take.
#[derive(Debug, Clone)]
pub struct ReceiverOptions {
    /// The user's folders.
    pub places: Places,
    /// The webhooks of the configuration.
    pub webhooks: Vec<Webhook>,
    /// The names of webhooks of Asana whose next handshake may set their secret.
    pub handshakes: BTreeSet<String>,
}

/// Takes deliveries of webhooks, and stores them.
#[derive(Debug)]
pub struct Receiver {
    pub(crate) shared: Arc<ReceiverState>,
    writers: Vec<ProjectWriter>,
}

/// The state that all deliveries share.
pub(crate) struct ReceiverState {
    pub(crate) hooks: BTreeMap<String, Arc<Hook>>,
    /// Deliveries for no webhook that there is.
    pub(crate) unknown: AtomicU64,
    /// The bytes that bodies may still take.
    pub(crate) memory: Arc<Semaphore>,
    pub(crate) is_ending: AtomicBool,
    /// When the records were probed last, and whether they could be written.
    pub(crate) probed: tokio::sync::Mutex<Option<(Instant, bool)>>,
    places: Places,
    tell: ServeListener,
}

impl std::fmt::Debug for ReceiverState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceiverState").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

/// The answer to a delivery.
struct DeliveryReply {
    outcome: WebhookOutcome,
    reason: &'static str,
    echo: HandshakeEcho,
}

/// The answer to a handshake.
enum HandshakeEcho {
    Nothing,
    /// Asana's secret, in its header.
    Secret(HeaderValue),
    /// Graph's token, as plain text.
    Token(String),
}

impl From<WebhookOutcome> for DeliveryReply {
    fn from(outcome: WebhookOutcome) -> Self {
        Self { outcome, reason: outcome.reason(), echo: HandshakeEcho::Nothing }
    }
}

impl Receiver {
    /// Opens every project once, and starts a writer for each.
    ///
    /// # Errors
    ///
    /// If a project can't be triaged, its records can't be written, or a handshake is wanted of no webhook of Asana.
    pub async fn start(options: ReceiverOptions, tell: ServeListener) -> Result<Self, Error> {
        let ReceiverOptions { places, webhooks, handshakes } = options;
        let of_asana = |name: &String| {
            webhooks.iter().any(|webhook| webhook.name == *name && webhook.source == WebhookSource::Asana)
        };
        if let Some(name) = handshakes.iter().find(|name| !of_asana(name)) {
            let name = proem_guard::show::terminal_str(name);
            return Err(Error::invalid(format!("`{name}` is no webhook of Asana; only those have a handshake")));
        }
        let mut writers: BTreeMap<PathBuf, ProjectWriter> = BTreeMap::new();
        let mut hooks = BTreeMap::new();
        for webhook in webhooks {
            if !writers.contains_key(&webhook.root) {
                let writer = ProjectWriter::start(webhook.root.clone(), places.clone(), Arc::clone(&tell)).await?;
                writers.insert(webhook.root.clone(), writer);
            }
            let Some(writer) = writers.get(&webhook.root) else { continue };
            let is_wanted = handshakes.contains(&webhook.name);
            if webhook.secret.is_none() && !is_wanted {
                tell(&ServeEvent::NoSecret { webhook: webhook.name.clone() });
            }
            let door = if is_wanted { HandshakeDoor::Open } else { HandshakeDoor::Shut };
            hooks.insert(webhook.name.clone(), Arc::new(Hook::new(&webhook, writer.queue.clone(), door)));
        }
        let shared = ReceiverState {
            hooks,
            unknown: AtomicU64::new(0),
            memory: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            is_ending: AtomicBool::new(false),
            probed: tokio::sync::Mutex::new(None),
            places,
            tell,
        };
        Ok(Self { shared: Arc::new(shared), writers: writers.into_values().collect() })
    }

    /// The routes for deliveries: `/hooks/NAME`, and 404 for everything else.
    pub fn delivery_routes(&self) -> Router {
        let routes = Router::new().route("/hooks/{name}", any(answer_delivery)).fallback(answer_delivery);
        routes.with_state(Arc::clone(&self.shared))
    }

    /// Says that the end has begun, so that nobody counts on new deliveries being taken.
    pub(crate) fn begin_end(&self) {
        self.shared.is_ending.store(true, Ordering::Release);
        (self.shared.tell)(&ServeEvent::Ending);
    }

    /// Stores what waits, and ends the writers.
    pub async fn end(self) {
        let writers = self.writers;
        let ended = tokio::task::spawn_blocking(move || writers.into_iter().for_each(ProjectWriter::end)).await;
        if let Err(error) = ended {
            (self.shared.tell)(&ServeEvent::Problem { error: format!("a writer did not end: {error}") });
        }
    }
}

async fn answer_delivery(State(shared): State<Arc<ReceiverState>>, request: Request) -> Response {
    let began = Instant::now();
    let name = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
    let hook = shared.hooks.get(name).filter(|_| request.method() == Method::POST);
    let Some(hook) = hook.cloned() else {
        shared.unknown.fetch_add(1, Ordering::Relaxed);
        return delivery_response(StatusCode::NOT_FOUND, Body::empty());
    };
    let reply = shared.take_delivery(&hook, request).await;
    hook.settle(reply.outcome, reply.reason, &shared.tell);
    if reply.outcome == WebhookOutcome::Stored {
        hook.counts.time(began.elapsed());
    }
    reply.into_response()
}

impl DeliveryReply {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.outcome.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = match self.echo {
            HandshakeEcho::Nothing => delivery_response(status, Body::empty()),
            HandshakeEcho::Secret(secret) => {
                let mut answer = delivery_response(status, Body::empty());
                answer.headers_mut().insert(ASANA_SECRET, secret);
                answer
            }
            HandshakeEcho::Token(token) => {
                let mut answer = delivery_response(status, Body::from(token));
                let plain = HeaderValue::from_static("text/plain; charset=utf-8");
                answer.headers_mut().insert(header::CONTENT_TYPE, plain);
                answer
            }
        };
        if let Some(seconds) = self.outcome.retry_after() {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}

/// No browser reads more into an answer than its type.
pub(crate) fn delivery_response(status: StatusCode, body: Body) -> Response {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

impl ReceiverState {
    async fn take_delivery(&self, hook: &Arc<Hook>, request: Request) -> DeliveryReply {
        let (head, body) = request.into_parts();
        match hook.source {
            WebhookSource::Graph => {
                let query = head.uri.query().unwrap_or_default().as_bytes();
                let mut pairs = form_urlencoded::parse(query);
                if let Some((_, token)) = pairs.find(|(name, _)| name == "validationToken") {
                    return token_reply(token.into_owned());
                }
            }
            WebhookSource::Asana => {
                if head.headers.contains_key(ASANA_SECRET) {
                    return self.take_handshake(hook, &head.headers).await;
                }
            }
            WebhookSource::Jira => {}
        }
        match self.check_delivery(hook, &head.headers, body).await {
            Ok(body) => self.store_delivery(hook, body).await,
            Err(reply) => reply,
        }
    }

    /// Keeps the secret that Asana chose, once, if this user asked for it.
    async fn take_handshake(&self, hook: &Arc<Hook>, headers: &HeaderMap) -> DeliveryReply {
        let secret = single_header(headers, ASANA_SECRET.as_str()).map(str::to_owned);
        if hook.shut_door() == HandshakeDoor::Shut {
            return DeliveryReply {
                reason: "nobody asked for a handshake; open the webhook for one",
                ..WebhookOutcome::Unauthorised.into()
            };
        }
        let (places, name) = (self.places.clone(), hook.name.clone());
        let given = secret.clone().unwrap_or_default();
        let kept = tokio::task::spawn_blocking(move || keep_webhook_secret(&places, &name, &given).map(drop)).await;
        let failure = match kept {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let echo = secret.as_deref().and_then(|secret| HeaderValue::from_str(secret).ok());
        match (failure, secret.zip(echo)) {
            (None, Some((secret, echo))) => {
                hook.set_key(&secret);
                (self.tell)(&ServeEvent::Handshake { webhook: hook.name.clone() });
                DeliveryReply { echo: HandshakeEcho::Secret(echo), ..WebhookOutcome::Handshake.into() }
            }
            (failure, _) => {
                hook.open_door();
                let error = failure.unwrap_or_else(|| WebhookOutcome::Malformed.reason().to_owned());
                (self.tell)(&ServeEvent::Problem { error });
                WebhookOutcome::Unstored.into()
            }
        }
    }

    /// The body of a delivery whose sender, form and age are right.
    async fn check_delivery(
        &self,
        hook: &Hook,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Option<DeliveryBody>, DeliveryReply> {
        let signature = match hook.source {
            WebhookSource::Jira => {
                let signature = single_header(headers, JIRA_SIGNATURE).and_then(|text| text.strip_prefix("sha256="));
                Some(signature.ok_or(WebhookOutcome::Unauthorised)?)
            }
            WebhookSource::Asana => Some(single_header(headers, ASANA_SIGNATURE).ok_or(WebhookOutcome::Unauthorised)?),
            WebhookSource::Graph => None,
        };
        let body = read_body(body, &self.memory).await?;
        if let Some(signature) = signature
            && !hook.has_key_that(|key| key.has_signed(&body.bytes, signature))
        {
            return Err(WebhookOutcome::Unauthorised.into());
        }
        let envelope = match DeliveryEnvelope::read(hook.source, &body.bytes) {
            Ok(envelope) => envelope,
            Err(_) if signature.is_none() => return Err(WebhookOutcome::Unauthorised.into()),
            Err(fault) => {
                return Err(DeliveryReply { reason: fault.as_str(), ..WebhookOutcome::Malformed.into() });
            }
        };
        if signature.is_none() && !hook.has_key_that(|key| envelope.has_known_states(|state| key.is_secret(state))) {
            return Err(WebhookOutcome::Unauthorised.into());
        }
        if envelope.is_empty() {
            return Ok(None);
        }
        if envelope.is_stale(when::time_now()) {
            return Err(WebhookOutcome::Stale.into());
        }
        // The rate counts known senders alone, so that nobody else can use it up.
        if !hook.take_token() {
            return Err(WebhookOutcome::Limited.into());
        }
        for news in envelope.subscription_news() {
            (self.tell)(&ServeEvent::Subscription { webhook: hook.name.clone(), news });
        }
        Ok(Some(body))
    }

    async fn store_delivery(&self, hook: &Hook, body: Option<DeliveryBody>) -> DeliveryReply {
        let Some(body) = body else { return WebhookOutcome::Heartbeat.into() };
        let Some(answer) = hook.queue.offer(WriterWork::Delivery { source: hook.source, body }) else {
            return WebhookOutcome::Busy.into();
        };
        match tokio::time::timeout(ANSWER_TIME, answer).await {
            Ok(Ok(WriterAnswer::Stored)) => WebhookOutcome::Stored.into(),
            Ok(Ok(WriterAnswer::Refused(fault))) => {
                DeliveryReply { reason: fault.as_str(), ..WebhookOutcome::Malformed.into() }
            }
            Ok(Ok(WriterAnswer::Failed) | Err(_)) => WebhookOutcome::Unstored.into(),
            Err(_) => WebhookOutcome::Busy.into(),
        }
    }
}

/// Graph's token as it was before it was encoded for the address.
fn token_reply(token: String) -> DeliveryReply {
    let is_text = !token.is_empty() && token.len() <= MAX_TOKEN && !token.chars().any(char::is_control);
    if is_text {
        DeliveryReply { echo: HandshakeEcho::Token(token), ..WebhookOutcome::Handshake.into() }
    } else {
        WebhookOutcome::Malformed.into()
    }
}

/// The value of a header that is there once.
fn single_header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}
