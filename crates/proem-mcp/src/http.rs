//! The server over streamable HTTP, on a loopback address.
//!
//! Invariants: only names of this machine are accepted as `Host`, and no `Origin` but the server's own address and those
//! that the user permitted, so that no page in a browser reaches the server by a name that it made point here. Bodies,
//! headers and connections are bounded.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use proem_app::Error;
use proem_llm::secret::Secret;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::McpServer;
use crate::stdio::{MAX_MESSAGE_BYTES, run_until_stopped};

/// The path of the endpoint.
const PATH: &str = "/mcp";

/// The most connections at once. Others wait until one ends.
const MOST_CONNECTIONS: usize = 64;

/// How long a client may take for its headers.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// How a server listens.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The address, which is a loopback one. Port 0 takes any that is free.
    pub address: SocketAddr,
    /// The token that clients have to send, if one is wanted.
    pub token: Option<Secret>,
    /// The origins whose pages may connect, such as `http://localhost:6274`. None, if there are none.
    pub origins: Vec<String>,
}

type McpService = StreamableHttpService<McpServer, LocalSessionManager>;
type BoxedResponse = Response<BoxBody<Bytes, Infallible>>;

/// Serves any number of clients, until somebody stops the process. `listening` hears the address of the endpoint.
///
/// # Errors
///
/// If the address is none of this machine alone, or can't be listened on.
pub fn serve_http(server: &McpServer, options: HttpOptions, listening: fn(&str)) -> Result<(), Error> {
    let HttpOptions { address, token, mut origins } = options;
    if !address.ip().is_loopback() {
        return Err(Error::invalid(format!(
            "{address} can be reached from other machines; listen on 127.0.0.1 or [::1], and put a proxy in front of it"
        )));
    }
    run_until_stopped(server, async |stop| {
        let unheard = |error: std::io::Error| Error::outside(format!("could not listen on {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(unheard)?;
        let origin = format!("http://{}", listener.local_addr().map_err(unheard)?);
        listening(&format!("{origin}{PATH}"));
        // Clients send the address that they connect to. No page comes from there, as the server has none.
        origins.push(origin);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
            .with_cancellation_token(stop.clone());
        let served = server.clone();
        let service: McpService =
            StreamableHttpService::new(move || Ok(served.clone()), Arc::new(LocalSessionManager::default()), config);
        let endpoint =
            Endpoint { service, token: token.map(|token| Arc::from(token_digest(token.expose().as_bytes()))) };
        endpoint.accept_connections(&listener, &stop).await
    })
}

/// The endpoint, as each connection has it.
#[derive(Clone)]
struct Endpoint {
    service: McpService,
    /// The token's digest. Digests are compared, which tells nothing about the token by how long it takes.
    token: Option<Arc<[u8]>>,
}

impl Endpoint {
    async fn accept_connections(&self, listener: &TcpListener, stop: &CancellationToken) -> Result<(), Error> {
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return Ok(()) };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => return Ok(()),
            };
            // A connection that failed before it was accepted is its client's affair.
            let Ok((stream, _)) = accepted else { continue };
            let (endpoint, stop) = (self.clone(), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = endpoint.serve_connection(stream) => {}
                    () = stop.cancelled() => {}
                }
                drop(permit);
            });
        }
    }

    async fn serve_connection(self, stream: TcpStream) {
        let service = service_fn(move |request| {
            let endpoint = self.clone();
            async move { Ok::<_, Infallible>(endpoint.answer_request(request).await) }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .serve_connection(TokioIo::new(stream), service)
            .await;
        // A client that breaks off, or speaks no HTTP, has nobody left who could be told.
        drop(served);
    }

    async fn answer_request(&self, request: Request<Incoming>) -> BoxedResponse {
        if request.uri().path() != PATH {
            return plain_response(StatusCode::NOT_FOUND, "the endpoint is /mcp");
        }
        if !self.is_authorised(&request) {
            let mut refused = plain_response(StatusCode::UNAUTHORIZED, "send `Authorization: Bearer` with the token");
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return refused;
        }
        let is_end = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await;
        // The official Python client takes only 200 and 204 for the end of a session, and warns of anything else.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }

    fn is_authorised(&self, request: &Request<Incoming>) -> bool {
        let Some(token) = &self.token else { return true };
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        given.is_some_and(|given| token_digest(given).as_slice() == token.as_ref())
    }
}

fn token_digest(token: &[u8]) -> Vec<u8> {
    Sha256::digest(token).to_vec()
}

fn plain_response(status: StatusCode, words: &'static str) -> BoxedResponse {
    let mut response = Response::new(Full::new(Bytes::from_static(words.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
