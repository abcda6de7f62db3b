//! The protocol's transport over HTTP (*streamable HTTP*), by the client that every other server is asked with: no
//! redirect is followed, and an address is judged before it is connected to.
//!
//! Invariant: an answer is read whole before it is taken apart. So a server that keeps the stream of an answer open is
//! waited for until the time of the request is over.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use http_body_util::Full;
use proem_llm::client::hosts::{HostScope, check_url};
use proem_llm::client::once::{HostAnswer, HostCredential, HostLimits, HostMethod, HostRequest, send_once};
use proem_llm::secret::Secret;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::McpAddress;

/// The most bytes of an answer.
const MAX_ANSWER: usize = 16 << 20;
/// The header with the session of a server that has sessions (revision 2025-11-25, basic/transports).
const SESSION: &str = "mcp-session-id";

/// A client of one server.
#[derive(Debug, Clone)]
pub(super) struct HostClient {
    scope: HostScope,
    credential: Option<Secret>,
    limits: HostLimits,
}

/// Why a request got no answer, in our words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(super) struct HostProblem(String);

/// The transport to a server. In words, why its address can't be asked.
pub(super) fn open_transport(
    address: &McpAddress,
    limit: Duration,
) -> Result<StreamableHttpClientTransport<HostClient>, String> {
    check_url(&address.url, address.scope).map_err(|refusal| refusal.to_string())?;
    let usual = HostLimits::default();
    let limits = HostLimits { connect: usual.connect.min(limit), whole: limit, answer_bytes: MAX_ANSWER };
    let client = HostClient { scope: address.scope, credential: address.credential.clone(), limits };
    let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str());
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

type Answered<T> = Result<T, StreamableHttpError<HostProblem>>;
type CustomHeaders = HashMap<HeaderName, HeaderValue>;

impl HostClient {
    async fn ask(&self, method: HostMethod, uri: &str, headers: &RequestHeaders, body: Bytes) -> Answered<HostAnswer> {
        let credential = self.credential.as_ref().map(HostCredential::Bearer);
        let request = HostRequest { method, url: uri, scope: self.scope, headers: &headers.all, credential, body };
        let answer = send_once(request, &self.limits).await.map_err(|failure| host_problem(failure.message))?;
        match answer.head.status {
            404 if headers.has_session => Err(StreamableHttpError::SessionExpired),
            200..=299 => Ok(answer),
            status @ 300..=399 => Err(host_problem(format!(
                "the server sends the request elsewhere (status {status}), which is not followed"
            ))),
            status @ (401 | 403) => Err(host_problem(format!("the server refused the credential (status {status})"))),
            // Errors of the protocol come with a status, too.
            _ if has_type(&answer, "application/json") => Ok(answer),
            status => Err(host_problem(format!("the server answered with status {status}"))),
        }
    }
}

/// The headers of a request but for the credential.
struct RequestHeaders {
    all: Vec<(String, String)>,
    has_session: bool,
}

impl RequestHeaders {
    fn new(session: Option<&str>, custom: &CustomHeaders) -> Answered<Self> {
        let usual = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
        let mut all = usual.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        all.extend(session.map(|session| (SESSION.to_owned(), session.to_owned())));
        let custom: BTreeMap<&str, &HeaderValue> = custom.iter().map(|(name, value)| (name.as_str(), value)).collect();
        for (name, value) in custom {
            let value = value.to_str().map_err(|_| host_problem(format!("the header `{name}` is not ASCII")))?;
            all.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self { all, has_session: session.is_some() })
    }
}

fn host_problem(message: String) -> StreamableHttpError<HostProblem> {
    StreamableHttpError::Client(HostProblem(message))
}

fn has_type(answer: &HostAnswer, wanted: &str) -> bool {
    let found = answer.head.header("content-type").and_then(|value| value.split(';').next());
    found.is_some_and(|found| found.trim().eq_ignore_ascii_case(wanted))
}

impl StreamableHttpClient for HostClient {
    type Error = HostProblem;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: CustomHeaders,
    ) -> Answered<StreamableHttpPostResponse> {
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let headers = RequestHeaders::new(session_id.as_deref(), &custom_headers)?;
        let answer = self.ask(HostMethod::Post, &uri, &headers, body).await?;
        let session = answer.head.header(SESSION).map(str::to_owned);
        if answer.body.len() >= MAX_ANSWER {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: MAX_ANSWER });
        }
        if has_type(&answer, "text/event-stream") {
            let stream = SseStream::new(Full::<Bytes>::from(answer.body)).boxed();
            return Ok(StreamableHttpPostResponse::Sse(stream, session));
        }
        if answer.body.is_empty() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !has_type(&answer, "application/json") {
            let found = answer.head.header("content-type").map(str::to_owned);
            return Err(StreamableHttpError::UnexpectedContentType(found));
        }
        Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&answer.body)?, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: CustomHeaders,
    ) -> Answered<()> {
        let headers = RequestHeaders::new(Some(&session_id), &custom_headers)?;
        self.ask(HostMethod::Delete, &uri, &headers, Bytes::new()).await.map(|_| ())
    }

    /// Nothing that a server says without being asked is listened to.
    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: CustomHeaders,
    ) -> Answered<BoxStream<'static, Result<Sse, SseError>>> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
