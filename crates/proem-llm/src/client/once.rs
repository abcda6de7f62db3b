//! A request to a server that is no provider, sent once.
//!
//! Invariants: a connection serves one request. Nothing is sent twice, no redirect is followed and no proxy is asked,
//! since a proxy would look the name up where nobody judges its address. A failure says whether the request may have
//! reached anybody.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use reqwest::header::HeaderValue;
use reqwest::{Client, Method};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::hosts::{HostRefusal, HostScope, LookUp, ScopedResolver, check_url, look_up_by_system};
use super::{Encryption, builder, cause, response_head, tls_problem};
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
    /// The addresses that its host may have.
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

/// A credential and the header that carries it: `authorization`, unless it names others.
#[derive(Debug, Clone, Copy)]
pub enum HostCredential<'a> {
    /// Secrets as the values of headers, by the headers' names.
    Headers(&'a [(String, Secret)]),
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
    send_with(request, limits, system_client).await
}

/// A way of connecting: the addresses that are reached, the time to connect, and whether certificates are needed.
type ClientKey = (HostScope, Duration, Encryption);

/// The clients so far. Each that encrypts has read the certificates of the system, which takes longer than most requests
/// to a server nearby. None of them keeps a connection.
static CLIENTS: Mutex<BTreeMap<ClientKey, Client>> = Mutex::new(BTreeMap::new());

/// A client whose names the system looks up.
fn system_client(key: ClientKey) -> reqwest::Result<Client> {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = clients.get(&key) {
        return Ok(client.clone());
    }
    let client = new_client(key, look_up_by_system)?;
    clients.insert(key, client.clone());
    Ok(client)
}

fn new_client((scope, connect, encryption): ClientKey, look_up: LookUp) -> reqwest::Result<Client> {
    let names = Arc::new(ScopedResolver { scope, look_up });
    let builder = builder(connect).no_proxy().http1_only().pool_max_idle_per_host(0).dns_resolver(names);
    match encryption {
        Encryption::Tls => builder,
        // No redirect is followed, so nothing is encrypted behind such an address.
        Encryption::Plain => builder.tls_certs_only([]),
    }
    .build()
}

/// As [`send_once`], with a client of the caller's.
async fn send_with(
    request: HostRequest<'_>,
    limits: &HostLimits,
    client: impl FnOnce(ClientKey) -> reqwest::Result<Client>,
) -> Result<HostAnswer, HostFailure> {
    let unsent = |message: String| HostFailure { stage: HostStage::Unsent, message };
    let url = check_url(request.url, request.scope).map_err(|refusal| unsent(refusal.to_string()))?;
    let host = shown_host(&url);
    let credential =
        request.credential.map_or_else(|| Ok(Vec::new()), |credential| credential_headers(&url, credential));
    let credential = credential.map_err(unsent)?;
    let encryption = if url.scheme() == "https" { Encryption::Tls } else { Encryption::Plain };
    let client = client((request.scope, limits.connect, encryption))
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
    for (name, value) in credential {
        sending = sending.header(name, value);
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

fn credential_headers(url: &Url, credential: HostCredential<'_>) -> Result<Vec<(String, HeaderValue)>, String> {
    use base64::Engine;
    if url.scheme() != "https" && host_location(url) != HostLocation::Loopback {
        return Err(HostRefusal::Unencrypted { host: shown_host(url) }.to_string());
    }
    let authorization =
        |text: &str, secret: &Secret| Ok(vec![("authorization".to_owned(), secret_value(text, secret)?)]);
    match credential {
        HostCredential::Headers(headers) => {
            headers.iter().map(|(name, secret)| Ok((name.clone(), secret_value(secret.expose(), secret)?))).collect()
        }
        HostCredential::Bearer(secret) => authorization(&format!("Bearer {}", secret.expose()), secret),
        HostCredential::Basic { user, secret } => {
            let pair = format!("{user}:{}", secret.expose());
            authorization(&format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)), secret)
        }
    }
}

/// The text as the value of a header that is never shown.
fn secret_value(text: &str, secret: &Secret) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| format!("the credential `{}` can't be sent in a header; set it again", secret.name()))?;
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// How often the name was looked up. Its address is another from the second time on.
    static LOOKED_UP: AtomicUsize = AtomicUsize::new(0);

    fn change_after_once(_name: String) -> super::super::hosts::FoundAddresses {
        let last = if LOOKED_UP.fetch_add(1, Ordering::SeqCst) == 0 { 1 } else { 2 };
        Box::pin(async move { Ok(vec![SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0))]) })
    }

    fn private_behind_public(_name: String) -> super::super::hosts::FoundAddresses {
        Box::pin(async { Ok(["93.184.216.34:0", "10.0.0.1:0"].map(|text| text.parse().unwrap()).to_vec()) })
    }

    fn this_machine(_name: String) -> super::super::hosts::FoundAddresses {
        Box::pin(async { Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]) })
    }

    /// A server at one address of this machine that answers one request with its name.
    fn server(listener: TcpListener, name: &'static str) -> std::thread::JoinHandle<()> {
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).unwrap() > 0);
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{name}", name.len()).unwrap();
        })
    }

    async fn ask(port: u16, scope: HostScope, look_up: LookUp) -> Result<String, HostFailure> {
        let url = format!("http://changes.example:{port}/x");
        let (method, headers, body) = (HostMethod::Get, [], bytes::Bytes::new());
        let request = HostRequest { method, url: &url, scope, headers: &headers, credential: None, body };
        let answer = send_with(request, &HostLimits::default(), |key| new_client(key, look_up)).await?;
        Ok(String::from_utf8(answer.body).unwrap())
    }

    #[tokio::test]
    async fn a_name_that_changes_its_address_between_check_and_use_leads_nowhere_else() {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let serving = server(first, "checked");
        assert_eq!(ask(port, HostScope::Private, change_after_once).await.unwrap(), "checked");
        assert_eq!(LOOKED_UP.load(Ordering::SeqCst), 1, "the connection takes the address that was checked");
        serving.join().unwrap();
        for look_up in [this_machine as LookUp, private_behind_public] {
            let refused = ask(port, HostScope::Public, look_up).await.unwrap_err();
            assert_eq!(refused.stage, HostStage::Unsent, "{refused:?}");
            assert!(refused.message.contains("declare it as private"), "{refused:?}");
        }
    }
}
