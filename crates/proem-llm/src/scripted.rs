//! A server on loopback that says what a script tells it to, for tests, benches and walkthroughs.
//!
//! It speaks HTTP/1.1 and the wire protocols of Anthropic's Messages and OpenAI's Chat Completions and embeddings, well
//! or as badly as the script wants. Invariants: a request that a real provider would refuse is refused in the
//! provider's words, whatever the script says about it. Nothing but loopback is listened on. The same request as the
//! nth one gets the same bytes. When the server is dropped, its threads have ended.
//!
//! One thread serves one connection: good for hundreds of them, no server for the open network.

mod anthropic;
mod check;
mod embeddings;
mod http;
mod openai;
mod rendered_answer;
mod reply;
mod serve;

pub use self::reply::{
    AnswerBlock, Connection, Delivery, DeliveryEnd, ModelAnswer, RawReply, Reply, ReplyContent, ScriptedFinish,
    ScriptedUsage, VectorFault, Vectors,
};

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value as Json;

use self::serve::{Answerer, SharedScript, lock_always};

/// The answers of a server, by request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerScript {
    /// The key that requests must carry; without one none is asked for.
    #[serde(default)]
    pub key: Option<String>,
    /// The models that exist; without any, every model does.
    #[serde(default)]
    pub models: Vec<String>,
    /// How strictly requests are checked.
    #[serde(default)]
    pub checks: Checks,
    /// The first rule that fits a request answers it.
    pub rules: Vec<ScriptRule>,
}

/// How strictly a request is checked before a rule answers it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checks {
    /// As the provider itself would do.
    #[default]
    Provider,
    /// Nothing but the key and the model.
    None,
}

/// Whom to answer, and what.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRule {
    /// The requests that it is about. All of them if nothing is said.
    #[serde(default)]
    pub when: ScriptCondition,
    /// The answers, one for each request, in this order.
    pub then: Vec<Reply>,
    /// The answer once all of them have been given.
    #[serde(default)]
    pub after: ScriptEnd,
}

/// Which requests a rule is about: those of which everything holds that is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCondition {
    /// The end of the path, such as `/messages`.
    #[serde(default)]
    pub path: Option<String>,
    /// A text in the body.
    #[serde(default)]
    pub body: Option<String>,
    /// Its place among all requests of the server, from 1.
    #[serde(default)]
    pub nth: Option<usize>,
}

/// The end of a rule's answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptEnd {
    /// The last answer again, without end.
    #[default]
    Repeat,
    /// Status 500: the script is over.
    End,
}

/// Why a script can't be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script is not readable: {0}")]
pub struct ScriptError(String);

impl ServerScript {
    /// A script that gives `replies` to all requests, one after the other. The last repeats.
    #[must_use]
    pub fn of(replies: Vec<Reply>) -> Self {
        Self::default().and(ScriptRule { when: ScriptCondition::default(), then: replies, after: ScriptEnd::Repeat })
    }

    /// Reads a script's JSON file.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] with line and column.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(text).map_err(|error| ScriptError(error.to_string()))
    }

    /// Anthropic's Messages answering with a text.
    #[must_use]
    pub fn anthropic_text(text: impl Into<String>) -> Self {
        Self::at("/messages", Reply::text(text))
    }

    /// Anthropic's Messages answering with a call of a tool.
    #[must_use]
    pub fn anthropic_tool(name: impl Into<String>, arguments: Json) -> Self {
        Self::at("/messages", Reply::call(name, arguments))
    }

    /// Anthropic's Messages answering with a value, as the request asks for it.
    #[must_use]
    pub fn anthropic_value(value: Json) -> Self {
        Self::at("/messages", Reply::value(value))
    }

    /// OpenAI's Chat Completions answering with a text.
    #[must_use]
    pub fn openai_text(text: impl Into<String>) -> Self {
        Self::at("/chat/completions", Reply::text(text))
    }

    /// OpenAI's Chat Completions answering with a call of a tool.
    #[must_use]
    pub fn openai_tool(name: impl Into<String>, arguments: Json) -> Self {
        Self::at("/chat/completions", Reply::call(name, arguments))
    }

    /// OpenAI's Chat Completions answering with a value, as the request asks for it.
    #[must_use]
    pub fn openai_value(value: Json) -> Self {
        Self::at("/chat/completions", Reply::value(value))
    }

    /// OpenAI's embeddings, by a function of each text's words.
    #[must_use]
    pub fn embeddings(dimensions: usize) -> Self {
        Self::at("/embeddings", Reply::embeddings(Vectors::of(dimensions)))
    }

    /// The script with a rule more, which counts where the others don't fit.
    #[must_use]
    pub fn and(mut self, rule: ScriptRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The script for requests that carry `key`.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    fn at(path: &str, reply: Reply) -> Self {
        let when = ScriptCondition { path: Some(path.to_owned()), ..ScriptCondition::default() };
        Self::default().and(ScriptRule { when, then: vec![reply], after: ScriptEnd::Repeat })
    }
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in the order in which they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes, its chunks put together.
    pub body: Vec<u8>,
    /// When all of it was there.
    pub at: Instant,
}

impl ReceivedRequest {
    /// The first header of that name, which is lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON. `None` if it is none.
    #[must_use]
    pub fn json(&self) -> Option<Json> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// A server that plays a script until it is dropped.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<SharedScript>,
    listening: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Starts it on a free port of `127.0.0.1`.
    ///
    /// # Errors
    ///
    /// If the system has no port or no thread to give.
    pub fn start(script: ServerScript) -> io::Result<Self> {
        Self::serving(SharedScript::new(script, None))
    }

    /// Starts one on a free port of `127.0.0.1` that has a function answer each request, for answers that have to name
    /// what was asked about. Requests are checked as the provider itself would do.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn answering(answer: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> io::Result<Self> {
        Self::serving(SharedScript::new(ServerScript::default(), Some(Answerer::new(answer))))
    }

    fn serving(script: SharedScript) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(script);
        let serving = Arc::clone(&shared);
        let named = std::thread::Builder::new().name("scripted".to_owned());
        let listening = Some(named.spawn(move || serve::accept_connections(&listener, &serving))?);
        Ok(Self { address, shared, listening })
    }

    /// The base of paths, as with the providers themselves: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address that it listens at. The port is a free one that the system chose.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, in order of arrival. Refused ones are among them.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        lock_always(&self.shared.received).clone()
    }

    /// Waits until that many requests have arrived in all, but no longer than `patience`. Whether they have.
    #[must_use]
    pub fn arrived(&self, count: usize, patience: Duration) -> bool {
        self.shared.arrived(count, patience)
    }

    /// Waits until that many requests have arrived in all.
    pub fn await_requests(&self, count: usize) {
        while !self.arrived(count, Duration::from_secs(60)) {}
    }

    /// The most requests that were being answered at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.most.load(Ordering::SeqCst)
    }

    /// How many answers were not read to their end: the client went away.
    #[must_use]
    pub fn abandoned(&self) -> usize {
        self.shared.abandoned.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.stop();
        // The listening thread waits for a connection. This one tells it to look up. If it can't be made, the thread is
        // left to itself rather than waited for without end.
        let woken = TcpStream::connect(self.address);
        if let (Some(listening), Ok(_)) = (self.listening.take(), woken) {
            // A thread that panicked has said so on standard error.
            _ = listening.join();
        }
    }
}
