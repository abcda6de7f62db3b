//! An answer between the script and the wire.

use serde_json::Value as Json;

use super::reply::RawReply;

/// The protocol of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathProtocol {
    Anthropic,
    OpenAi,
    Embeddings,
}

impl PathProtocol {
    pub(super) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let ends =
            [("/messages", Self::Anthropic), ("/chat/completions", Self::OpenAi), ("/embeddings", Self::Embeddings)];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, protocol)| protocol)
    }
}

/// A request that an answer is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerRequest<'a> {
    /// The how manieth it is, from 1.
    pub(super) number: usize,
    pub(super) body: &'a Json,
}

impl AnswerRequest<'_> {
    /// The model that was asked for.
    pub(super) fn model(&self) -> &str {
        self.body.get("model").and_then(Json::as_str).unwrap_or_default()
    }
}

/// An answer before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderedAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The body: a piece for each event of a stream, one piece otherwise.
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) framing: Framing,
    /// The number of pieces up to the one that an endless answer repeats; without it, spaces are.
    pub(super) again: Option<usize>,
}

/// How a client knows where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    Chunks,
}

impl RenderedAnswer {
    pub(super) fn json(status: u16, body: &Json) -> Self {
        let mut rendered = Self::whole(status, proem_text::json::compact(body).into_bytes());
        rendered.headers.push(header_pair("content-type", "application/json"));
        rendered
    }

    pub(super) fn whole(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), pieces: vec![body], framing: Framing::Length, again: None }
    }

    pub(super) fn raw(raw: &RawReply) -> Self {
        let mut rendered = Self::whole(raw.status, raw.body.clone());
        rendered.headers.clone_from(&raw.headers);
        rendered
    }
}

pub(super) fn header_pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The headers of a stream of events.
pub(super) fn events() -> Vec<(String, String)> {
    vec![header_pair("content-type", "text/event-stream; charset=utf-8"), header_pair("cache-control", "no-cache")]
}

/// A text in pieces of a few tokens, as models stream it.
pub(super) fn token_pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(12).map(String::from_iter).collect();
    pieces.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_pieces_is_the_text() {
        for text in ["", "short", "a text that is longer than twelve characters, with é and 👍"] {
            assert_eq!(token_pieces(text).collect::<String>(), text);
            assert!(token_pieces(text).all(|piece| piece.chars().count() <= 12));
        }
    }
}
