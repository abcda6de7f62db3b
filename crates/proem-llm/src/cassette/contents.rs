//! The contents of a cassette's file.

use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proem_engine::call::FailureKind;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use url::Url;

use super::{Tape, TapeEnd};
use crate::wire::{ResponseHead, WireRequest};

/// The version of the format.
const FORMAT: u64 = 1;
/// The most chunks of an answer: one for every byte of the largest answer that makes sense.
const MOST_CHUNKS: usize = 64 * 1024 * 1024;

/// The headers of a request that are kept and compared.
const REQUEST_HEADERS: [&str; 4] = ["accept", "anthropic-beta", "anthropic-version", "content-type"];
/// The headers of an answer that are kept.
const ANSWER_HEADERS: [&str; 8] = [
    "content-type",
    "date",
    "openai-processing-ms",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "x-should-retry",
];
/// The beginnings of further names.
const ANSWER_PREFIXES: [&str; 2] = ["anthropic-ratelimit-", "x-ratelimit-"];

/// A cassette's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassetteFile {
    format: u64,
    /// Its address, without a user, password, query or fragment.
    pub(super) url: String,
    pub(super) request: TapedRequest,
    /// How the answer began.
    response: Option<TapedHead>,
    /// The bytes of all chunks.
    body: TapedBody,
    /// The chunks' lengths: `120 1x30` is one of 120 bytes and thirty of one.
    chunks: String,
    end: TapedEnd,
}

/// A request as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TapedRequest {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Json,
}

/// The head of an answer as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TapedHead {
    status: u16,
    headers: Vec<(String, String)>,
}

/// Bytes, as a reader can look at them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TapedBody {
    Text(String),
    Base64(String),
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum TapedEnd {
    Whole,
    Stopped,
    Broken { failure: FailureKind, message: String },
}

/// Why a file can't be read as a cassette, or an attempt not be written as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CassetteProblem(String);

impl fmt::Display for CassetteProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TapedRequest {
    /// A request as it is kept.
    pub(super) fn of(request: &WireRequest) -> Self {
        let kept = request.headers.iter().filter(|(name, _)| REQUEST_HEADERS.contains(name));
        let headers = kept.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { path: request.path.to_owned(), headers, body: request.body.clone() }
    }
}

impl CassetteFile {
    /// An attempt as it is kept.
    ///
    /// # Errors
    ///
    /// If its address is none.
    pub(super) fn of(tape: &Tape) -> Result<Self, CassetteProblem> {
        let response = tape.head.as_ref().map(|head| {
            let headers = head.headers.iter().filter(|(name, _)| is_kept(name)).cloned().collect();
            TapedHead { status: head.status, headers }
        });
        let body = match String::from_utf8(tape.chunks.concat()) {
            Ok(text) => TapedBody::Text(text),
            Err(error) => TapedBody::Base64(STANDARD.encode(error.as_bytes())),
        };
        let end = match &tape.end {
            TapeEnd::Whole => TapedEnd::Whole,
            TapeEnd::Stopped => TapedEnd::Stopped,
            TapeEnd::Broken { kind, message } => TapedEnd::Broken { failure: *kind, message: message.clone() },
        };
        Ok(Self {
            format: FORMAT,
            url: public_address(&tape.url)?,
            request: TapedRequest::of(&tape.request),
            response,
            body,
            chunks: lengths(&tape.chunks),
            end,
        })
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        // A value of ours has no keys but texts, so that it always becomes JSON.
        let value = serde_json::to_value(self).unwrap_or_default();
        let mut text = proem_text::json::pretty(&value);
        text.push('\n');
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// With line and column where there are any.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, CassetteProblem> {
        #[derive(Deserialize)]
        struct CassetteVersion {
            format: Option<Json>,
        }
        let version = match serde_json::from_slice::<CassetteVersion>(bytes) {
            Ok(version) => version.format,
            Err(error) if error.is_eof() => return Err(CassetteProblem(format!("it was cut off: {error}"))),
            Err(error) => return Err(CassetteProblem(format!("it is not a cassette: {error}"))),
        };
        match version {
            Some(version) if version == FORMAT => {}
            Some(version) => {
                let version = proem_guard::show::terminal_str(&proem_text::json::compact(&version));
                return Err(CassetteProblem(format!(
                    "its format is `{version}`, and only `{FORMAT}` is known; record again"
                )));
            }
            None => return Err(CassetteProblem("it is not a cassette: it has no `format`".to_owned())),
        }
        let stored = serde_json::from_slice::<Self>(bytes);
        let stored = stored.map_err(|error| {
            let error = error.to_string();
            CassetteProblem(format!("it is not a cassette: {}", proem_guard::show::terminal_str(&error)))
        })?;
        stored.cut()?;
        Ok(stored)
    }

    /// The attempt as it was. Its request is `request`, which is the recorded one.
    pub(super) fn tape(&self, request: &WireRequest) -> Tape {
        let head = self
            .response
            .as_ref()
            .map(|response| ResponseHead { status: response.status, headers: response.headers.clone() });
        let end = match &self.end {
            TapedEnd::Whole => TapeEnd::Whole,
            TapedEnd::Stopped => TapeEnd::Stopped,
            TapedEnd::Broken { failure, message } => TapeEnd::Broken { kind: *failure, message: message.clone() },
        };
        // Reading the file has shown that the chunks fit.
        let chunks = self.cut().unwrap_or_default();
        Tape { url: self.url.clone(), request: request.clone(), head, chunks, end }
    }

    /// The place of a header, and its value.
    pub(super) fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let sent = self.request.headers.iter().map(|(_, value)| ("a header of the request", value.as_str()));
        let answered = self.response.iter().flat_map(|response| &response.headers);
        sent.chain(answered.map(|(_, value)| ("a header of the answer", value.as_str())))
    }

    /// The body in its chunks.
    fn cut(&self) -> Result<Vec<Vec<u8>>, CassetteProblem> {
        let decoded;
        let mut rest = match &self.body {
            TapedBody::Text(text) => text.as_bytes(),
            TapedBody::Base64(text) => {
                let wrong = |error| CassetteProblem(format!("its body is not base64: {error}"));
                decoded = STANDARD.decode(text).map_err(wrong)?;
                &decoded
            }
        };
        let body = rest.len();
        let mut chunks: Vec<Vec<u8>> = Vec::new();
        for word in self.chunks.split_ascii_whitespace() {
            let (length, times) = word.split_once('x').unwrap_or((word, "1"));
            let numbers = (length.parse::<usize>().ok(), times.parse::<usize>().ok());
            let (Some(length), Some(times)) = numbers else {
                let word = proem_guard::show::terminal_str(word);
                return Err(CassetteProblem(format!("`{word}` is not a valid chunk length")));
            };
            if chunks.len().saturating_add(times) > MOST_CHUNKS {
                return Err(CassetteProblem(format!("it has more than {MOST_CHUNKS} chunks")));
            }
            for _ in 0..times {
                let Some((chunk, after)) = rest.split_at_checked(length) else {
                    return Err(CassetteProblem(format!("its chunks are longer than its body of {body} bytes")));
                };
                chunks.push(chunk.to_vec());
                rest = after;
            }
        }
        match rest.len() {
            0 => Ok(chunks),
            left => Err(CassetteProblem(format!("{left} of the {body} bytes of its body are in no chunk"))),
        }
    }
}

fn is_kept(name: &str) -> bool {
    ANSWER_HEADERS.contains(&name) || ANSWER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The address without what may be secret in it.
fn public_address(url: &str) -> Result<String, CassetteProblem> {
    let wrong = || CassetteProblem("its address is not a URL with a host".to_owned());
    let mut url = Url::parse(url).map_err(|_| wrong())?;
    url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| wrong())?;
    url.set_query(None);
    url.set_fragment(None);
    Ok(url.into())
}

/// The chunks' lengths, as [`CassetteFile::chunks`] has them.
fn lengths(chunks: &[Vec<u8>]) -> String {
    let words = chunks.chunk_by(|one, other| one.len() == other.len()).map(|alike| {
        let length = alike.first().map_or(0, Vec::len);
        match alike.len() {
            1 => length.to_string(),
            times => format!("{length}x{times}"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_chunks() {
        let chunks = |lengths: &[usize]| -> Vec<Vec<u8>> { lengths.iter().map(|length| vec![0; *length]).collect() };
        for (given, expected) in [(&[][..], ""), (&[0], "0"), (&[120, 1, 1, 1, 7], "120 1x3 7"), (&[0, 0, 5], "0x2 5")]
        {
            assert_eq!(lengths(&chunks(given)), expected);
        }
    }

    #[test]
    fn addresses() {
        for (url, expected) in [
            ("https://api.openai.com/v1/chat/completions", Some("https://api.openai.com/v1/chat/completions")),
            ("http://user:pass@localhost:80/v1/a?key=b#c", Some("http://localhost/v1/a")),
            ("http://127.0.0.1:8080/v1", Some("http://127.0.0.1:8080/v1")),
            ("/v1", None),
            ("data:x", None),
        ] {
            assert_eq!(public_address(url).ok().as_deref(), expected, "{url}");
        }
    }
}
