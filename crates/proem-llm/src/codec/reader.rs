//! Reads an answer, in one piece or as a stream of events.

use core::{mem, str};

use proem_engine::call::{Arrival, CallFailure, FailureKind, Request, Response};
use proem_engine::providers::Provider;
use proem_guard::Untrusted;
use serde_json::Value;

use super::draft::{AnswerDraft, StreamContinuation};
use super::refusal::provider_failed;
use crate::sse::{Events, SseEvent};
use crate::wire::Flow;
use crate::{anthropic, openai};

/// The most bytes of an answer that ended in the middle that are kept.
const MAX_CUT_BYTES: usize = 2_000;

/// The bytes of a stream for each byte of the answer that it may carry, above which it is no stream of an answer:
/// llama.cpp's server spends about 240 bytes on a token, which may be one byte.
const FRAMING: usize = 512;

/// Reads an answer of status 200, chunk by chunk.
///
/// Whether it is a stream shows in its first byte, not in what was asked for: some servers stream
/// unasked, others don't stream at all.
///
/// For a value that is asked for, an answer of text is stopped once its first JSON object has closed and 200 bytes have
/// followed that are no second one. It ends with [`proem_engine::call::FinishReason::Complete`]. The provider's last
/// count is then never seen: the output is unknown, and so is what the provider reports at the end only.
#[derive(Debug)]
pub struct AnswerReader {
    provider: Provider,
    /// The most bytes of what the model writes. Of an answer in one piece, with what encloses it.
    most_bytes: usize,
    /// The tokens of the prompt, where a stream was asked for.
    streamed_prompt: Option<usize>,
    taken: usize,
    draft: AnswerDraft,
    body: BodyShape,
    /// How many events were read.
    events: usize,
    /// Why nothing more is read.
    ended: Option<Result<(), CallFailure>>,
}

#[derive(Debug)]
enum BodyShape {
    /// Only white space so far.
    Blank,
    Whole(Vec<u8>),
    Stream(Events),
}

impl AnswerReader {
    /// A reader for the answer to `request`. `most_bytes` is the most that is read: of a stream what the model wrote,
    /// of an answer in one piece all of it.
    #[must_use]
    pub fn new(provider: Provider, request: &Request, most_bytes: usize) -> Self {
        Self {
            provider,
            most_bytes,
            streamed_prompt: (request.arrival == Arrival::Streamed).then(|| request.assembly.tokens()),
            taken: 0,
            draft: AnswerDraft::new(request),
            body: BodyShape::Blank,
            events: 0,
            ended: None,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Flow {
        if self.ended.is_none() {
            let room = self.most_wire_bytes(bytes).saturating_sub(self.taken);
            let (fitting, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.take(fitting);
            self.taken = self.taken.saturating_add(fitting.len());
            if self.ended.is_none() && !rest.is_empty() {
                self.ended = Some(Err(self.too_large()));
            }
        }
        if self.ended.is_none() { Flow::More } else { Flow::Stop }
    }

    /// The bytes that the model wrote, kept or not.
    pub(crate) const fn content_bytes(&self) -> usize {
        self.draft.content_bytes()
    }

    /// The most bytes that are read, now that these come.
    fn most_wire_bytes(&self, bytes: &[u8]) -> usize {
        let is_stream = match &self.body {
            // Nothing is kept of blank bytes.
            BodyShape::Blank => {
                bytes.iter().find(|byte| !is_json_blank(**byte)).is_none_or(|byte| begins_stream(*byte))
            }
            BodyShape::Whole(_) => false,
            BodyShape::Stream(_) => true,
        };
        if is_stream { self.most_bytes.saturating_mul(FRAMING) } else { self.most_bytes }
    }

    /// The text that was read since this was asked the last time. `None` if there is none.
    pub(crate) fn more_text(&mut self) -> Option<Untrusted<String>> {
        self.draft.more_text()
    }

    /// The text that was read, for an answer that nobody waits for any longer.
    pub(crate) fn said_so_far(&self) -> Option<Untrusted<String>> {
        self.draft.said_so_far()
    }

    /// The answer, when no more bytes come or [`Flow::Stop`] was said.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if the bytes are no answer, or not all of one.
    pub fn end(mut self) -> Result<Response, CallFailure> {
        if let Some(ended) = self.ended.take() {
            ended?;
            return self.draft.response();
        }
        match mem::replace(&mut self.body, BodyShape::Blank) {
            BodyShape::Blank => {
                return Err(self.empty_stream().unwrap_or_else(|| malformed_answer("the answer is empty; try again")));
            }
            BodyShape::Whole(bytes) => self.read_whole(&bytes)?,
            BodyShape::Stream(mut events) => {
                let last = events.finish();
                let is_read =
                    |event: &SseEvent| is_done(event) || event.name == "error" || event_object(event).is_some();
                if let Some(event) = last.filter(is_read)
                    && self.read_event(&event)? == StreamContinuation::Done
                {
                    return self.draft.response();
                }
                if self.events == 0 && events.is_strange() {
                    return Err(malformed_answer(
                        "the answer is neither JSON nor a stream of events; check `base_url`",
                    ));
                }
                if self.draft.finish.is_none() {
                    return Err(self.empty_stream().unwrap_or_else(|| self.draft.cut()));
                }
            }
        }
        self.draft.response()
    }

    /// A server that finds only while it streams that a prompt is too long for its model can't say so any more: it ends
    /// the stream.
    fn empty_stream(&self) -> Option<CallFailure> {
        self.streamed_prompt.filter(|_| self.events == 0).map(empty)
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        if matches!(self.body, BodyShape::Blank) {
            let blank = bytes.iter().take_while(|byte| is_json_blank(**byte)).count();
            let Some((_, rest)) = bytes.split_at_checked(blank).filter(|(_, rest)| !rest.is_empty()) else { return };
            let start = self.taken.saturating_add(blank);
            self.body = match rest.first() {
                Some(first) if begins_stream(*first) => BodyShape::Stream(Events::starting_at(start)),
                _ => BodyShape::Whole(Vec::new()),
            };
            bytes = rest;
        }
        match &mut self.body {
            BodyShape::Blank => {}
            BodyShape::Whole(whole) => whole.extend_from_slice(bytes),
            BodyShape::Stream(events) => {
                for event in events.push(bytes) {
                    let next = match event {
                        Ok(event) => self.read_event(&event),
                        Err(broken) => Err(malformed_answer(format!("{broken} in the answer; try again"))),
                    };
                    // After each event, so that what is kept does not depend on the chunks.
                    let is_too_large = next.is_ok() && self.draft.content_bytes() > self.most_bytes;
                    let next = if is_too_large { Err(self.too_large()) } else { next };
                    if next != Ok(StreamContinuation::More) {
                        self.ended = Some(next.map(|_| ()));
                        return;
                    }
                }
            }
        }
    }

    /// The failure of an answer of which more came than is read; what is read of a stream is kept.
    fn too_large(&self) -> CallFailure {
        self.draft.too_large(format!(
            "the answer is larger than {} bytes, and was not read to its end; request a shorter answer, or raise \
             `answer_bytes` of the provider",
            self.most_bytes
        ))
    }

    fn read_event(&mut self, event: &SseEvent) -> Result<StreamContinuation, CallFailure> {
        if event.data.trim().is_empty() {
            return Ok(StreamContinuation::More);
        }
        self.events = self.events.saturating_add(1);
        if is_done(event) {
            return Ok(StreamContinuation::Done);
        }
        if event.name == "error" && event_object(event).is_none() {
            return Err(provider_failed(&self.draft, &Value::String(event.data.clone())));
        }
        let Some(value) = event_object(event) else {
            return Err(malformed_answer(format!(
                "event {} of the answer is not a JSON object; try again",
                self.events
            )));
        };
        match self.provider {
            Provider::Anthropic => anthropic::answer::read_anthropic_event(&mut self.draft, &event.name, &value),
            Provider::OpenAi => openai::answer::read_openai_chunk(&mut self.draft, &event.name, &value),
        }
    }

    fn read_whole(&mut self, bytes: &[u8]) -> Result<(), CallFailure> {
        let start = self.taken.saturating_sub(bytes.len());
        let text = str::from_utf8(bytes).map_err(|error| {
            let place = start.saturating_add(error.valid_up_to());
            malformed_answer(format!("byte {place} of the answer is not UTF-8; try again"))
        })?;
        let value: Value = serde_json::from_str(text).map_err(|error| self.no_json(text, &error))?;
        // Gemini puts an error into a list.
        let value = match value {
            Value::Array(list) if list.first().is_some_and(|first| first.get("error").is_some()) => {
                list.into_iter().next().unwrap_or_default()
            }
            value => value,
        };
        if !value.is_object() {
            return Err(malformed_answer("the answer is not a JSON object; check `base_url`"));
        }
        match self.provider {
            Provider::Anthropic => anthropic::answer::read_anthropic_message(&mut self.draft, &value),
            Provider::OpenAi => openai::answer::read_openai_completion(&mut self.draft, &value),
        }
    }

    fn no_json(&self, text: &str, error: &serde_json::Error) -> CallFailure {
        let (line, column) = (error.line(), error.column());
        if text.starts_with('<') {
            malformed_answer("the answer is a web page, not JSON; check `base_url`")
        } else if error.is_eof() {
            let said = self.draft.said(text, MAX_CUT_BYTES);
            CallFailure { said, ..CallFailure::new(FailureKind::Cut, "the answer is incomplete; try again") }
        } else {
            // A sentence of the server's says more than the place.
            let said = self.draft.provider_said(text.trim());
            CallFailure {
                said,
                ..malformed_answer(format!("the answer is not JSON at line {line}, column {column}; check `base_url`"))
            }
        }
    }
}

const fn is_json_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether a stream of events begins with that byte: a comment, or the first letter of a field. A byte order mark may
/// be before it.
const fn begins_stream(byte: u8) -> bool {
    matches!(byte, b':' | b'd' | b'e' | b'i' | b'r' | 0xEF)
}

fn is_done(event: &SseEvent) -> bool {
    event.data.trim() == "[DONE]"
}

fn event_object(event: &SseEvent) -> Option<Value> {
    serde_json::from_str::<Value>(&event.data).ok().filter(Value::is_object)
}

fn malformed_answer(message: impl Into<String>) -> CallFailure {
    CallFailure::new(FailureKind::Malformed, message)
}

/// A stream that ended before anything of an answer came, to a prompt of so many tokens.
fn empty(tokens: usize) -> CallFailure {
    let message = format!(
        "the server ended the answer before anything of it came; the prompt of about {tokens} tokens is probably longer \
         than the model's context window: shorten the input, or enlarge the window at the server"
    );
    CallFailure::new(FailureKind::Empty, message)
}
