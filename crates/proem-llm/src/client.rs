//! The one place that speaks HTTP: here with providers, in [`once`] with other servers.
//!
//! Invariants: one request is one request, nothing is sent twice and no redirect is followed. The key is in one header,
//! which is never shown. No cookie is kept, nothing is unpacked. Every wait has an end.
//!
//! Requests to this machine go there directly, whatever the environment says. Everything else goes through the proxy
//! that `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY` names, unless `NO_PROXY` excludes the host: in many networks there
//! is no other way out. For `https:` a proxy sees the host only.

pub mod hosts;
pub mod once;

use core::error::Error;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, Once, PoisonError};

use bytes::Bytes;
use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::providers::Provider;
use reqwest::header::HeaderValue;
use rustls::CertificateError;
use tokio::time::{Instant, timeout_at};

use crate::anthropic::ask::VERSION;
use crate::endpoint::{Authorities, Endpoint, EndpointLimits, HostLocation};
use crate::models::{ListedWindow, props_window, window_in_list};
use crate::retry::whole_seconds;
use crate::wire::{ResponseHead, WireRequest};

/// Sends requests. Cheap to clone. Clones share connections.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// One for each way of connecting, made when it is first needed: reading the system's
    /// certificates takes time, and may fail where nobody needs them.
    ready: Arc<Mutex<BTreeMap<Route, reqwest::Client>>>,
}

/// A way of connecting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Route {
    place: HostLocation,
    encryption: Encryption,
    /// How long a connection may take.
    connect: Duration,
    /// The authorities whose signatures count beside the system's.
    authorities: Option<Authorities>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Encryption {
    Plain,
    Tls,
}

/// An answer whose head is there. Dropping it closes the connection, unless all of it was read.
#[derive(Debug)]
pub struct HttpAnswer {
    head: ResponseHead,
    response: reqwest::Response,
    until: Instant,
    /// Whom to name in messages.
    asked: HostDescription,
}

/// The host's names, for messages.
#[derive(Debug, Clone)]
struct HostDescription {
    /// The host with its port, in ASCII.
    host: String,
    /// The configuration key of its address.
    base_url: String,
    /// The prefix of a setting's name.
    settings: String,
    limits: EndpointLimits,
}

impl Client {
    /// A client without connections.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request and waits for the head of its answer, whatever its status. `body` is the request's body in
    /// canonical JSON.
    ///
    /// Dropping the future closes the connection.
    ///
    /// # Errors
    ///
    /// The errors of [`Endpoint::check`], before anything is sent. [`FailureKind::Unreachable`],
    /// [`FailureKind::TimedOut`], or [`FailureKind::Cut`] if the connection ended before the head.
    pub async fn send(
        &self,
        endpoint: &Endpoint,
        request: &WireRequest,
        body: Bytes,
    ) -> Result<HttpAnswer, CallFailure> {
        self.sent(endpoint, (request.path, &request.headers), Some(body)).await
    }

    /// Asks for the list of an endpoint's models, which costs nothing: whether the endpoint is there and takes the key, and
    /// what it says of its models.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    pub async fn models(&self, endpoint: &Endpoint) -> Result<ModelList, CallFailure> {
        let (path, headers) = match endpoint.provider {
            Provider::Anthropic => ("/v1/models", vec![("anthropic-version", VERSION.to_owned())]),
            Provider::OpenAi => ("/models", Vec::new()),
        };
        let mut answer = self.sent(endpoint, (path, &headers), None).await?;
        let body = answer.short_body().await;
        Ok(ModelList { head: answer.head, body })
    }

    /// The context window that an endpoint's list of models names for one of them, or llama.cpp's server under
    /// `/props`. `None` if nobody says so. `list` is what [`Self::models`] gave.
    pub async fn window(&self, endpoint: &Endpoint, list: &ModelList, model: &str) -> Option<NonZeroUsize> {
        match window_in_list(&list.body, model) {
            ListedWindow::Tokens(tokens) => Some(tokens),
            ListedWindow::Unsaid => None,
            ListedWindow::AskProps => {
                let base_url = endpoint.base_url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
                let server = Endpoint { base_url, ..endpoint.clone() };
                let mut answer = self.sent(&server, ("/props", &[]), None).await.ok()?;
                props_window(&answer.short_body().await)
            }
        }
    }

    /// Sends a request with a body, or asks for what is at a path.
    async fn sent(
        &self,
        endpoint: &Endpoint,
        (path, headers): (&str, &[(&'static str, String)]),
        body: Option<Bytes>,
    ) -> Result<HttpAnswer, CallFailure> {
        let (url, place) = endpoint.address(path)?;
        let key = endpoint.credential()?.map(|key| key_header(endpoint.provider, key)).transpose()?;
        let encryption = if url.scheme() == "https" { Encryption::Tls } else { Encryption::Plain };
        let asked = HostDescription::new(endpoint, &url);
        let authorities = endpoint.authorities.clone();
        let route = Route { place, encryption, connect: endpoint.limits.connect, authorities };
        let client = self.route(route)?;
        let mut sending = match body {
            Some(body) => client.post(url).body(body),
            None => client.get(url),
        };
        for (name, value) in headers {
            sending = sending.header(*name, value);
        }
        if let Some((name, value)) = key {
            sending = sending.header(name, value);
        }
        let now = Instant::now();
        // An end that lies beyond all times is none that could be missed in a day.
        let until = now.checked_add(endpoint.limits.call).unwrap_or(now + Duration::from_secs(86_400));
        match timeout_at(until, sending.send()).await {
            Ok(Ok(response)) => Ok(HttpAnswer { head: response_head(&response), response, until, asked }),
            Ok(Err(error)) => Err(asked.unsent(&error)),
            Err(_) => Err(asked.slow("call_seconds", endpoint.limits.call, "answered")),
        }
    }

    fn route(&self, route: Route) -> Result<reqwest::Client, CallFailure> {
        // Nothing panics while the lock is held but the making of a client, which then isn't kept.
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = ready.get(&route) {
            return Ok(client.clone());
        }
        let client = route.client()?;
        ready.insert(route, client.clone());
        Ok(client)
    }
}

/// An endpoint's answer to a request for its models.
#[derive(Debug, Clone)]
pub struct ModelList {
    /// Status and headers.
    pub head: ResponseHead,
    /// The list, as far as it came. A longer one is cut.
    pub body: Vec<u8>,
}

/// The most bytes of a list of models that are read: OpenRouter's has about half of it.
const MAX_LIST_BYTES: usize = 1024 * 1024;

impl HttpAnswer {
    /// The first [`MAX_LIST_BYTES`] of the body, as far as they come: what only informs may be cut.
    async fn short_body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            let room = MAX_LIST_BYTES.saturating_sub(body.len());
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if body.len() >= MAX_LIST_BYTES {
                break;
            }
        }
        body
    }

    /// Its status and headers.
    #[must_use]
    pub const fn head(&self) -> &ResponseHead {
        &self.head
    }

    /// Its next bytes. `None` if it ended as HTTP says.
    ///
    /// # Errors
    ///
    /// [`FailureKind::Cut`] if the connection broke, [`FailureKind::TimedOut`] if nothing came for
    /// too long or the whole took too long.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, CallFailure> {
        let limits = self.asked.limits;
        let now = Instant::now();
        let idle = now.checked_add(limits.idle).unwrap_or(self.until);
        let until = idle.min(self.until);
        // Without this an answer that never stops coming would never be looked at for its time.
        if now >= self.until {
            return Err(self.asked.slow("call_seconds", limits.call, "ended its answer"));
        }
        match timeout_at(until, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes.map(Vec::from)),
            Ok(Err(_)) => Err(self.asked.cut()),
            Err(_) if idle < self.until => Err(self.asked.slow("idle_seconds", limits.idle, "continued its answer")),
            Err(_) => Err(self.asked.slow("call_seconds", limits.call, "ended its answer")),
        }
    }
}

impl Route {
    fn client(&self) -> Result<reqwest::Client, CallFailure> {
        let mut builder = builder(self.connect);
        if self.place == HostLocation::Loopback {
            // The name is not looked up: no resolver can lead a key off this machine.
            let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
            builder = builder.no_proxy().resolve_to_addrs("localhost", &addresses);
            if self.encryption == Encryption::Plain {
                builder = builder.tls_certs_only([]);
            }
        }
        if let Some(authorities) = self.authorities.as_ref().filter(|_| self.encryption == Encryption::Tls) {
            builder = builder.tls_certs_merge(authorities.certificates()?);
        }
        builder.build().map_err(|_| {
            let message = "the system's certificates can't be read; install them (`ca-certificates` on most Linux)";
            CallFailure::new(FailureKind::Unreachable, message)
        })
    }
}

impl Authorities {
    /// The certificates, as they are given to a client.
    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, CallFailure> {
        self.der().map(reqwest::Certificate::from_der).collect::<Result<_, _>>().map_err(|_| {
            let message = "the file under `authorities` holds a certificate that can't be read; write it again";
            CallFailure::new(FailureKind::Insecure, message)
        })
    }
}

/// The common part of all connections.
fn builder(connect: Duration) -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    // An error only says that the process has one already, which serves as well.
    PROVIDER.call_once(|| _ = rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .user_agent(concat!("proem/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
}

impl HostDescription {
    fn new(endpoint: &Endpoint, url: &url::Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let (base_url, settings) = (endpoint.setting("base_url"), endpoint.setting(""));
        Self { host, base_url, settings, limits: endpoint.limits }
    }

    /// Nothing happened for as long as a setting allows.
    fn slow(&self, setting: &str, limit: Duration, what: &str) -> CallFailure {
        let Self { host, settings, .. } = self;
        let limit = whole_seconds(limit);
        let message = format!("`{host}` has not {what} within {limit}; raise `{settings}{setting}` or ask for less");
        CallFailure::new(FailureKind::TimedOut, message)
    }

    fn cut(&self) -> CallFailure {
        let message = format!("the connection to `{}` broke in the middle of the answer; try again", self.host);
        CallFailure::new(FailureKind::Cut, message)
    }

    /// No head came. The words are ours: what is in certificates was written by others.
    fn unsent(&self, error: &reqwest::Error) -> CallFailure {
        let Self { host, base_url, settings, limits } = self;
        let (kind, message) = if error.is_connect() && error.is_timeout() {
            let limit = whole_seconds(limits.connect);
            let message = format!(
                "no connection to `{host}` within {limit}; check the network, or raise `{settings}connect_seconds`"
            );
            (FailureKind::TimedOut, message)
        } else if error.is_dns() {
            (FailureKind::Unreachable, format!("`{host}` has no address; check `{base_url}` and the network"))
        } else if let Some(broken) = cause::<rustls::Error>(error) {
            let kind = match broken {
                rustls::Error::InvalidCertificate(_) | rustls::Error::InvalidMessage(_) => FailureKind::Insecure,
                _ if error.is_connect() => FailureKind::Unreachable,
                // Behind the handshake something may have been sent.
                _ => FailureKind::Cut,
            };
            let remedy = match broken {
                rustls::Error::InvalidMessage(_) => {
                    format!("write `http:` in `{base_url}` if that server is meant to be used without encryption")
                }
                rustls::Error::InvalidCertificate(_) => format!(
                    "if you know who signed it, name the authority's certificate in `{settings}authorities` or \
                     `SSL_CERT_FILE`; else check `{base_url}` and any proxy in between"
                ),
                _ => format!("check `{base_url}` and any proxy in between"),
            };
            (kind, format!("{}; {remedy}", tls_problem(host, broken)))
        } else if cause::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            (FailureKind::Unreachable, format!("nothing listens at `{host}`; start the server or check `{base_url}`"))
        } else if error.is_connect() {
            let message = format!("`{host}` can't be reached; check the network, its proxy and `{base_url}`");
            (FailureKind::Unreachable, message)
        } else {
            (
                FailureKind::Cut,
                format!("`{host}` ended the connection without an answer; try again or check `{base_url}`"),
            )
        };
        CallFailure::new(kind, message)
    }
}

/// The fault of an encrypted connection.
fn tls_problem(host: &str, error: &rustls::Error) -> String {
    use CertificateError as E;
    match error {
        rustls::Error::InvalidCertificate(E::UnknownIssuer) => {
            format!("the certificate of `{host}` is not signed by an authority that this system trusts")
        }
        rustls::Error::InvalidCertificate(E::Expired | E::ExpiredContext { .. }) => {
            format!("the certificate of `{host}` has expired")
        }
        rustls::Error::InvalidCertificate(E::NotValidYet | E::NotValidYetContext { .. }) => {
            format!("the certificate of `{host}` is not valid yet")
        }
        rustls::Error::InvalidCertificate(E::NotValidForName | E::NotValidForNameContext { .. }) => {
            format!("the certificate of `{host}` is for other hosts")
        }
        rustls::Error::InvalidCertificate(_) => format!("the certificate of `{host}` is not valid"),
        rustls::Error::InvalidMessage(_) => format!("`{host}` answers without encryption, and `https:` asks for it"),
        _ => format!("no encrypted connection to `{host}` could be made"),
    }
}

/// The error of that type that an error was caused by.
fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // The error that a system error wraps is not the source that it names.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = inner.map_or_else(|| error.source(), |inner| Some(inner as &(dyn Error + 'static)));
    }
    None
}

fn key_header(provider: Provider, key: &str) -> Result<(&'static str, HeaderValue), CallFailure> {
    let (name, value) = match provider {
        Provider::Anthropic => ("x-api-key", HeaderValue::from_str(key)),
        Provider::OpenAi => ("authorization", HeaderValue::from_str(&format!("Bearer {key}"))),
    };
    let mut value = value.map_err(|_| {
        CallFailure::new(FailureKind::KeyRefused, "the key contains characters that are not allowed in a header")
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn response_head(response: &reqwest::Response) -> ResponseHead {
    let headers = response.headers().iter();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    ResponseHead {
        status: response.status().as_u16(),
        headers: headers.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_never_shown() {
        for provider in [Provider::Anthropic, Provider::OpenAi] {
            let shown = format!("{:?}", key_header(provider, "hunter2").unwrap());
            assert!(shown.contains("Sensitive") && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn tls_is_told_in_our_words() {
        let check = |error: rustls::Error, expected: &str| assert_eq!(tls_problem("host", &error), expected);
        let certificate = rustls::Error::InvalidCertificate;
        check(
            certificate(CertificateError::UnknownIssuer),
            "the certificate of `host` is not signed by an authority that this system trusts",
        );
        check(certificate(CertificateError::Expired), "the certificate of `host` has expired");
        check(certificate(CertificateError::NotValidYet), "the certificate of `host` is not valid yet");
        check(certificate(CertificateError::NotValidForName), "the certificate of `host` is for other hosts");
        check(certificate(CertificateError::BadEncoding), "the certificate of `host` is not valid");
        check(
            rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
            "`host` answers without encryption, and `https:` asks for it",
        );
        check(rustls::Error::DecryptError, "no encrypted connection to `host` could be made");
    }

    #[test]
    fn causes_are_found_behind_errors_of_the_system() {
        let inner = io::Error::other(rustls::Error::DecryptError);
        let outer = io::Error::other(inner);
        assert!(matches!(cause::<rustls::Error>(&outer), Some(rustls::Error::DecryptError)));
        assert!(cause::<core::fmt::Error>(&outer).is_none());
    }
}
