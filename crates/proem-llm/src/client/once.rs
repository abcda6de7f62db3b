//! A request to a server that is no provider, sent once.
//!
//! Invariants: a connection serves one request. Nothing is sent twice, no redirect is followed and no proxy is asked,
//! since a proxy would look the name up where nobody judges its address. A failure says whether the request may have
//! reached anybody.

use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderValue;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::hosts::{HostRefusal, HostScope, ScopedResolver, check_url};
use super::{builder, cause, response_head, tls_problem};
use crate::endpoint::{HostLocation, host_location};
use crate::retry::whole_seconds;
use crate::secret::Secret;
use crate::wire::ResponseHead;

/// A request to a server that is no provider.
#[derive(Debug, Clone)]
pub struct HostRequest<'a> {
    /// The method of HTTP that is used.
    pub method: HostMethod,
    /// The whole address.
    pub url: &'a str,
    /// Which addresses its host may have.
    pub scope: HostScope,
    /// Its headers but for the credential.
    pub headers: &'a [(String, String)],
    /// The proof of the caller's identity. `None` if nothing is sent.
    pub credential: Option<HostCredential<'a>>,
    /// Its body, sent as it is.
    pub body: Bytes,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostMethod {
    /// The value there.
    Get,
    /// That something be taken away.
    Delete,
    /// Something new.
    Post,
    /// This in the place of what is there.
    Put,
    /// Some of what is there changed.
    Patch,
}

proem_text::word_table! {
    /// Its name on the wire.
    pub HostMethod {
        Get = "GET",
        Delete = "DELETE",
        Post = "POST",
        Put = "PUT",
        Patch = "PATCH",
    }
}

/// A credential and how it is in the `authorization` header.
#[derive(Debug, Clone, Copy)]
pub enum HostCredential<'a> {
    /// `Bearer` and the secret.
    Bearer(&'a Secret),
    /// `Basic` with a user's name and the secret.
    Basic {
        /// The user's name.
        user: &'a str,
        /// The password, or the token that represents it.
        secret: &'a Secret,
    },
}

/// How long a server may take, and how much it may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// How long a connection may take, encryption included.
    pub connect: Duration,
    /// How long everything may take.
    pub whole: Duration,
    /// The most bytes of an answer that are read.
    pub answer_bytes: usize,
}

impl Default for HostLimits {
    /// 10 s to connect, 60 s in all (what an execution may take in the triage agent's limits), 64 KiB of answer.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), whole: Duration::from_secs(60), answer_bytes: 64 * 1024 }
    }
}

/// A server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAnswer {
    /// Its status and headers.
    pub head: ResponseHead,
    /// The beginning of its body, as far as it could be read.
    pub body: Vec<u8>,
}

/// No answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFailure {
    /// Whether the request may have reached somebody.
    pub stage: HostStage,
    /// The event and the remedy, in our words.
    pub message: String,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostStage {
    /// Nothing of it has left.
    Unsent,
    /// Some of it may have left.
    Begun,
}

/// Sends a request once and reads what comes back.
///
/// An answer counts from its head on: a body that breaks off changes no status, and is cut.
///
/// # Errors
///
/// [`HostFailure`].
pub async fn send_once(request: HostRequest<'_>, limits: &HostLimits) -> Result<HostAnswer, HostFailure> {
    let unsent = |message: String| HostFailure { stage: HostStage::Unsent, message };
    let url = check_url(request.url, request.scope).map_err(|refusal| unsent(refusal.to_string()))?;
    let host = shown_host(&url);
    let credential =
        request.credential.map(|credential| authorization(&url, credential)).transpose().map_err(unsent)?;
    let client = builder(limits.connect)
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(0)
        .dns_resolver(Arc::new(ScopedResolver(request.scope)))
        .build()
        .map_err(|_| unsent("the system's certificates can't be read; install them (`ca-certificates`)".to_owned()))?;
    let method = match request.method {
        HostMethod::Get => Method::GET,
        HostMethod::Delete => Method::DELETE,
        HostMethod::Post => Method::POST,
        HostMethod::Put => Method::PUT,
        HostMethod::Patch => Method::PATCH,
    };
    let mut sending = client.request(method, url).body(request.body);
    for (name, value) in request.headers {
        sending = sending.header(name, value);
    }
    if let Some(value) = credential {
        sending = sending.header("authorization", value);
    }
    // A header that is none is found here, before anything is connected.
    let sending = sending.build().map_err(|_| unsent("a header of the request is not valid; change it".to_owned()))?;
    let now = Instant::now();
    let until = now.checked_add(limits.whole).unwrap_or(now + Duration::from_secs(86_400));
    match timeout_at(until, client.execute(sending)).await {
        Ok(Ok(response)) => Ok(read_wanted_body(response, until, limits.answer_bytes).await),
        Ok(Err(error)) => Err(host_failure(&host, &error, limits)),
        Err(_) => {
            let message = format!("`{host}` has not answered within {}", whole_seconds(limits.whole));
            Err(HostFailure { stage: HostStage::Begun, message })
        }
    }
}

/// Reads as much of the body as is wanted. Its end, however it comes, is the end.
async fn read_wanted_body(mut response: reqwest::Response, until: Instant, most: usize) -> HostAnswer {
    let head = response_head(&response);
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await {
        let left = most.saturating_sub(body.len());
        body.extend(chunk.iter().take(left));
        // An answer that never stops coming would never be looked at for its time.
        if chunk.len() >= left || Instant::now() >= until {
            break;
        }
    }
    HostAnswer { head, body }
}

fn authorization(url: &Url, credential: HostCredential<'_>) -> Result<HeaderValue, String> {
    use base64::Engine;
    if url.scheme() != "https" && host_location(url) != HostLocation::Loopback {
        return Err(HostRefusal::Unencrypted { host: shown_host(url) }.to_string());
    }
    let (text, secret) = match credential {
        HostCredential::Bearer(secret) => (format!("Bearer {}", secret.expose()), secret),
        HostCredential::Basic { user, secret } => {
            let pair = format!("{user}:{}", secret.expose());
            (format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)), secret)
        }
    };
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| format!("the credential `{}` can't stand in a header; set it again", secret.name()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn shown_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn host_failure(host: &str, error: &reqwest::Error, limits: &HostLimits) -> HostFailure {
    // An event that is not known to have happened before the connection was made may have happened after it.
    let stage = if error.is_connect() { HostStage::Unsent } else { HostStage::Begun };
    let message = if let Some(refusal) = cause::<HostRefusal>(error) {
        refusal.to_string()
    } else if error.is_connect() && error.is_timeout() {
        format!("no connection to `{host}` within {}; check the network", whole_seconds(limits.connect))
    } else if error.is_dns() {
        format!("`{host}` has no address; check its name and the network")
    } else if let Some(broken) = cause::<rustls::Error>(error) {
        format!("{}; check its address and any proxy in between", tls_problem(host, broken))
    } else if error.is_connect() {
        format!("`{host}` can't be reached; check that it runs, its address and the network")
    } else {
        format!("`{host}` ended the connection without an answer")
    };
    HostFailure { stage, message }
}
