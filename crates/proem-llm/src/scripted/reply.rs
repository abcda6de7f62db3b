//! The content of an answer, and the way it is sent.

use core::num::NonZeroUsize;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value as Json;

/// One answer of a script: its content, and how that goes over the wire.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The content.
    pub say: ReplyContent,
    /// The pauses, pieces and end that it is sent with; without them all of it at once.
    #[serde(default)]
    pub how: Delivery,
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyContent {
    /// A model's answer, in the words of the requested protocol, whole or streamed as requested.
    Answer(ModelAnswer),
    /// Vectors of the texts that were sent.
    Embeddings(Vectors),
    /// A status, headers and a body as they are given, whatever was asked.
    Raw(RawReply),
}

/// A model's answer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelAnswer {
    /// The model's output: texts, calls and refusals, in order.
    pub content: Vec<AnswerBlock>,
    /// Why the model stopped.
    #[serde(default)]
    pub finish: ScriptedFinish,
    /// The usage that the provider reports. It reports none if this is missing.
    #[serde(default)]
    pub usage: Option<ScriptedUsage>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerBlock {
    /// A text, streamed in pieces where a stream was asked for.
    Text(String),
    /// One value: the arguments of the tool whose call was forced, else text.
    Value(Json),
    /// A call of a tool.
    Call {
        /// The tool's name.
        name: String,
        /// The arguments, as JSON of any kind.
        arguments: Json,
    },
    /// A call whose arguments are this text, whether it is JSON or not.
    CallText {
        /// The tool's name.
        name: String,
        /// The arguments' text, sent as it is.
        arguments: String,
    },
    /// A refusal, with the words that the model refuses in.
    Refusal(String),
}

/// Why an answer ended, in the words of each protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptedFinish {
    /// As its content says: all was said, tools are wanted, or it refused.
    #[default]
    Natural,
    /// It reached the most tokens.
    Length,
    /// A filter stopped it.
    Filter,
    /// The provider's reason is this.
    Other(String),
}

/// The usage: `input` is the whole prompt, as OpenAI counts. Anthropic's `input_tokens` are computed from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedUsage {
    /// The tokens of the prompt, cached ones included.
    pub input: u64,
    /// Those read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Those written to the cache for five minutes, or for as long as the provider keeps them.
    #[serde(default)]
    pub cache_write: u64,
    /// Those written to the cache for an hour.
    #[serde(default)]
    pub cache_write_hour: u64,
    /// The tokens of the answer.
    pub output: u64,
}

impl ScriptedUsage {
    /// The usage of an answer that gives none.
    const USUAL: Self = Self { input: 100, cache_read: 0, cache_write: 0, cache_write_hour: 0, output: 10 };
}

impl ModelAnswer {
    /// It as the answer to a body of so many bytes: the usual usage grows with what it is about, so that it stays a
    /// figure that can be right.
    pub(super) fn counted(&self, body_bytes: usize) -> Self {
        let mut answer = self.clone();
        if let Some(usage) = answer.usage.as_mut().filter(|usage| **usage == ScriptedUsage::USUAL) {
            let bytes: usize = self.content.iter().map(AnswerBlock::bytes).fold(0, usize::saturating_add);
            let tokens = |bytes: usize| u64::try_from(bytes / 16).unwrap_or(u64::MAX);
            usage.input = usage.input.max(tokens(body_bytes));
            usage.output = usage.output.max(tokens(bytes));
        }
        answer
    }
}

impl AnswerBlock {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Refusal(text) | Self::CallText { arguments: text, .. } => text.len(),
            Self::Value(value) | Self::Call { arguments: value, .. } => proem_text::json::compact(value).len(),
        }
    }
}

/// Vectors, right or wrong.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// How many numbers each has, unless the request says it.
    pub dimensions: usize,
    /// The vectors, in the order of the texts; without them they are a function of each text.
    #[serde(default)]
    pub given: Option<Vec<Vec<f32>>>,
    /// Their fault.
    #[serde(default)]
    pub fault: VectorFault,
}

/// A defect of the vectors that an endpoint gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VectorFault {
    /// Nothing is.
    #[default]
    None,
    /// The last to be sent is first. Their numbers say where they belong, so that it is no fault.
    Reversed,
    /// The first number of the last vector is none.
    NotANumber,
    /// The last vector has a number too many.
    OtherDimension,
    /// The last vector is missing.
    TooFew,
    /// One vector comes twice.
    Twice,
}

/// An answer byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawReply {
    /// The HTTP status, sent as it is given.
    pub status: u16,
    /// Its headers; what frames the body is added.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body. In a file `{"text": …}`, `{"base64": …}` or `{"json": …}`.
    #[serde(default, deserialize_with = "deserialize_body")]
    pub body: Vec<u8>,
}

/// How an answer is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// How long nothing comes, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// The bytes of each HTTP chunk. Without it an answer in one piece has a length, and each event
    /// of a stream is a chunk.
    #[serde(default)]
    pub chunk_bytes: Option<NonZeroUsize>,
    /// How long nothing comes after each chunk, in milliseconds.
    #[serde(default)]
    pub pause_ms: u64,
    /// Whether all of it is sent, and what cuts it off otherwise.
    #[serde(default)]
    pub ending: DeliveryEnd,
    /// The fate of the connection.
    #[serde(default)]
    pub connection: Connection,
    /// The header `retry-after`.
    #[serde(default)]
    pub retry_after: Option<String>,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryEnd {
    /// All of it is sent, and its end marked as HTTP wants it.
    #[default]
    Whole,
    /// The connection is closed after so many bytes of the body.
    CutAfter(usize),
    /// The connection is reset after so many bytes of the body; with 0, before the head.
    ResetAfter(usize),
    /// A stream says its last piece again and again and other answers go on with spaces, until the client goes away or
    /// so many bytes were sent. Then the connection is closed.
    Endless(usize),
}

/// The fate of a connection after an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// It stays for the next request.
    #[default]
    Kept,
    /// It is closed, and the answer says so.
    Closed,
}

impl Reply {
    /// An answer of these blocks that reports 100 tokens in and 10 out, or one for 16 bytes where that is more.
    #[must_use]
    pub fn answer(content: Vec<AnswerBlock>) -> Self {
        let usage = Some(ScriptedUsage::USUAL);
        Self::new(ReplyContent::Answer(ModelAnswer { content, finish: ScriptedFinish::Natural, usage }))
    }

    /// An answer with a text. Usage as in [`Self::answer`].
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::answer(vec![AnswerBlock::Text(text.into())])
    }

    /// An answer with a call of a tool. Usage as in [`Self::answer`].
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Json) -> Self {
        Self::answer(vec![AnswerBlock::Call { name: name.into(), arguments }])
    }

    /// An answer with a value, as the request asks for it. Usage as in [`Self::answer`].
    #[must_use]
    pub fn value(value: Json) -> Self {
        Self::answer(vec![AnswerBlock::Value(value)])
    }

    /// An answer that refuses in these words. Usage as in [`Self::answer`].
    #[must_use]
    pub fn refusal(text: impl Into<String>) -> Self {
        Self::answer(vec![AnswerBlock::Refusal(text.into())])
    }

    /// Vectors.
    #[must_use]
    pub fn embeddings(vectors: Vectors) -> Self {
        Self::new(ReplyContent::Embeddings(vectors))
    }

    /// A real server's answer, byte for byte from its status line to the end of its body. Its chunks are put together
    /// and framed anew. `None` if that is no HTTP response.
    #[must_use]
    pub fn recorded(response: &[u8]) -> Option<Self> {
        let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = core::str::from_utf8(response.get(..end)?).ok()?;
        let mut body = response.get(end.saturating_add(4)..)?.to_vec();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
            match name.as_str() {
                "transfer-encoding" => body = joined_chunks(&body)?,
                "content-length" | "connection" => {}
                _ => headers.push((name, value)),
            }
        }
        Some(Self::new(ReplyContent::Raw(RawReply { status, headers, body })))
    }

    /// Any status and body, as JSON.
    #[must_use]
    pub fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self::new(ReplyContent::Raw(RawReply { status, headers, body: body.into() }))
    }

    /// The answer for another reason; what is no model's answer stays as it is.
    #[must_use]
    pub fn finishing(mut self, finish: ScriptedFinish) -> Self {
        if let ReplyContent::Answer(answer) = &mut self.say {
            answer.finish = finish;
        }
        self
    }

    /// The answer with another account; what is no model's answer stays as it is.
    #[must_use]
    pub fn using(mut self, counts: Option<ScriptedUsage>) -> Self {
        if let ReplyContent::Answer(answer) = &mut self.say {
            answer.usage = counts;
        }
        self
    }

    /// The answer with a header more. Only a raw one has its own.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ReplyContent::Raw(raw) = &mut self.say {
            raw.headers.push((name.into(), value.into()));
        }
        self
    }

    /// The answer after a delay, in milliseconds.
    #[must_use]
    pub const fn delayed(mut self, delay_ms: u64) -> Self {
        self.how.delay_ms = delay_ms;
        self
    }

    /// The answer in chunks of so many bytes; 0 leaves them as they are.
    #[must_use]
    pub const fn in_chunks_of(mut self, bytes: usize) -> Self {
        self.how.chunk_bytes = NonZeroUsize::new(bytes);
        self
    }

    /// The answer with a pause after each chunk, in milliseconds.
    #[must_use]
    pub const fn pausing(mut self, pause_ms: u64) -> Self {
        self.how.pause_ms = pause_ms;
        self
    }

    /// The answer with another end.
    #[must_use]
    pub const fn ending(mut self, ending: DeliveryEnd) -> Self {
        self.how.ending = ending;
        self
    }

    /// The answer, after which the connection is closed.
    #[must_use]
    pub const fn closing(mut self) -> Self {
        self.how.connection = Connection::Closed;
        self
    }

    /// The answer with a header that says when to come again.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        self.how.retry_after = Some(value.into());
        self
    }

    fn new(say: ReplyContent) -> Self {
        Self { say, how: Delivery::default() }
    }
}

impl Vectors {
    /// Vectors of so many numbers, a function of each text.
    #[must_use]
    pub const fn of(dimensions: usize) -> Self {
        Self { dimensions, given: None, fault: VectorFault::None }
    }

    /// These vectors with something wrong.
    #[must_use]
    pub const fn with(mut self, fault: VectorFault) -> Self {
        self.fault = fault;
        self
    }
}

fn deserialize_body<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum RawBody {
        Text(String),
        Base64(String),
        Json(Json),
    }
    match RawBody::deserialize(deserializer)? {
        RawBody::Text(text) => Ok(text.into_bytes()),
        RawBody::Base64(text) => STANDARD.decode(text).map_err(de::Error::custom),
        RawBody::Json(value) => Ok(proem_text::json::compact(&value).into_bytes()),
    }
}

/// The bytes of a body in chunks.
fn joined_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let (mut joined, mut rest) = (Vec::new(), body);
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let length = core::str::from_utf8(rest.get(..line)?).ok()?;
        let length = usize::from_str_radix(length.split(';').next()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(joined);
        }
        let start = line.saturating_add(2);
        let end = start.checked_add(length)?;
        joined.extend(rest.get(start..end)?);
        rest = rest.get(end.saturating_add(2)..)?;
    }
}
