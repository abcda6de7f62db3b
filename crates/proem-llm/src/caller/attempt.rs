//! The reading of an attempt, whether it is live or comes from a cassette.

use proem_engine::call::{CallFailure, FailureKind, PlausibleUsage, Response, Usage, most_plausible_usage};

use super::listener;
use super::pending_call::{PendingCall, TRY_AGAIN};
use crate::cassette::TapeEnd;
use crate::codec::{AnswerReader, refusal_failure};
use crate::wire::{Flow, ResponseHead};

/// The most bytes of an answer that is no success: its message is cut far below that anyway.
const MOST_REFUSAL_BYTES: usize = 64 * 1024;

/// An answer that is being read.
#[derive(Debug)]
pub(super) struct AnswerStream<'c> {
    ready: PendingCall<'c>,
    pub(super) head: ResponseHead,
    body: AnswerBody,
    flow: Flow,
    /// The bytes that came.
    pub(super) bytes: usize,
}

#[derive(Debug)]
enum AnswerBody {
    Answer(Box<AnswerReader>),
    Refusal(Vec<u8>),
}

impl<'c> AnswerStream<'c> {
    pub(super) fn new(ready: &PendingCall<'c>, head: ResponseHead) -> Self {
        let endpoint = &ready.paced.endpoint;
        let body = if head.status == 200 {
            let reader = AnswerReader::new(endpoint.provider, ready.request, endpoint.limits.answer_bytes);
            AnswerBody::Answer(Box::new(reader))
        } else {
            AnswerBody::Refusal(Vec::new())
        };
        Self { ready: *ready, head, body, flow: Flow::More, bytes: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Flow {
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.flow = match &mut self.body {
            AnswerBody::Answer(reader) => {
                let flow = reader.push(bytes);
                if let Some(listener) = listener::of_text(&self.ready)
                    && let Some(more) = reader.more_text()
                {
                    listener.hears(&more);
                }
                flow
            }
            AnswerBody::Refusal(body) => {
                let room = MOST_REFUSAL_BYTES.saturating_sub(body.len());
                body.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
                if body.len() < MOST_REFUSAL_BYTES { Flow::More } else { Flow::Stop }
            }
        };
        self.flow
    }

    /// The response at this end. The listener is told if it is no answer.
    pub(super) fn end(self, end: &TapeEnd) -> Result<Response, CallFailure> {
        let listener = listener::of_text(&self.ready);
        let ended = self.ended(end);
        if ended.is_err() {
            listener.into_iter().for_each(listener::TextListener::breaks_off);
        }
        ended
    }

    /// The response at this end.
    ///
    /// A connection that broke after a whole answer still gave an answer, and a provider's words before it breaks are
    /// more exact than the fact that it broke. Impossible figures are left out of its usage.
    fn ended(self, end: &TapeEnd) -> Result<Response, CallFailure> {
        let status = self.head.status;
        if let TapeEnd::Broken { kind: kind @ FailureKind::Cancelled, message } = end {
            let said = match &self.body {
                AnswerBody::Answer(reader) => reader.said_so_far(),
                AnswerBody::Refusal(_) => None,
            };
            return Err(CallFailure { status: Some(status), said, ..CallFailure::new(*kind, message.as_str()) });
        }
        if *end == TapeEnd::Stopped && self.flow == Flow::More {
            let message = "the recorded answer ends too early; record it again";
            return Err(CallFailure::new(FailureKind::Replay, message));
        }
        let reader = match self.body {
            AnswerBody::Answer(reader) => reader,
            AnswerBody::Refusal(body) => {
                return Err(refusal_failure(
                    self.ready.paced.endpoint.provider,
                    &self.head,
                    &body,
                    &self.ready.names(),
                ));
            }
        };
        let PendingCall { request, model, body, .. } = self.ready;
        let content_bytes = reader.content_bytes();
        let ended = reader.end().map(|mut response| {
            let plausible = PlausibleUsage::new(body.len(), request, model, &response.content);
            response.usage = plausible.judge(response.usage);
            let estimate = most_plausible_usage(body.len(), request, &response, content_bytes);
            Response { usage: Usage { estimate, ..response.usage }, ..response }
        });
        ended.map_err(|failure| {
            let failure = match end {
                TapeEnd::Broken { kind, message }
                    if matches!(failure.kind, FailureKind::Cut | FailureKind::Malformed) =>
                {
                    CallFailure { kind: *kind, message: message.clone(), ..failure }
                }
                // Why nothing came is guessed either way, so both guesses are named.
                TapeEnd::Broken { kind, message } if failure.kind == FailureKind::Empty => {
                    let broke = message.trim_end_matches(TRY_AGAIN);
                    CallFailure { kind: *kind, message: format!("{broke}: {}", failure.message), ..failure }
                }
                _ => failure,
            };
            CallFailure { status: failure.status.or(Some(status)), ..failure }
        })
    }
}

/// The failure of an attempt that brought no head.
pub(super) fn headless(end: &TapeEnd) -> CallFailure {
    match end {
        TapeEnd::Broken { kind, message } => CallFailure::new(*kind, message.as_str()),
        TapeEnd::Whole | TapeEnd::Stopped => CallFailure::new(
            FailureKind::Replay,
            "the cassette has the end of an answer without its start; record it again",
        ),
    }
}
