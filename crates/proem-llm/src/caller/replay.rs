//! Attempts from cassettes.
//!
//! They are taken as they were recorded, whatever would be decided about another attempt today. A
//! call that was cancelled between two attempts ends with the failure of the one before.

use std::time::Duration;

use proem_engine::call::{CallFailure, FailureKind, Response};
use proem_engine::run::Time;

use super::attempt::{AnswerStream, headless};
use super::live::failed_attempt;
use super::{AttemptReport, PendingCall, last_failure, listener};
use crate::cassette::{Replayer, Tape};
use crate::retry::{Advice, FailedAttempt, RetryDecision, RetryStop, advice};
use crate::wire::Flow;

/// Takes recorded attempts until one is an answer or there are no more.
pub(super) fn carry_replayed(
    replayer: &Replayer,
    ready: &PendingCall<'_>,
    attempts: &mut Vec<AttemptReport>,
) -> Result<Response, CallFailure> {
    let mut before = None;
    let mut begun: Option<CallFailure> = None;
    for attempt in 0_u32.. {
        let tape = match replayer.take(ready.slot, attempt, ready.url, ready.wire) {
            Ok(tape) => tape,
            Err(error) => {
                let unrecorded = || CallFailure::new(FailureKind::Replay, error.to_string());
                return Err(before.unwrap_or_else(unrecorded));
            }
        };
        listener::of_text(ready).into_iter().for_each(listener::TextListener::begins);
        let (sent, result) = play(&tape, ready);
        let bytes = sent.bytes;
        attempts.push(sent);
        let failure = match result {
            Ok(response) => return Ok(response),
            Err(failure) => failure,
        };
        if failure.kind == FailureKind::Replay {
            return Err(failure);
        }
        let advice = tape.head.as_ref().map_or_else(Advice::default, |head| advice(head, Time(0)));
        let failed = FailedAttempt { bytes, ..failed_attempt(ready, &failure, advice, attempt) };
        let over = match ready.policy.next(&failed, u32::MAX) {
            RetryDecision::Over(over) => over,
            RetryDecision::Wait(_) => RetryStop::Attempts,
        };
        if tape.head.as_ref().is_some_and(|head| head.status == 200) {
            begun = Some(failure.clone());
        }
        let failure = super::named_cause(begun.as_ref(), failure);
        before = Some(last_failure(failure, attempts.len(), over));
    }
    Err(CallFailure::new(FailureKind::Replay, "no cassette of this call ends the answer; record the call again"))
}

fn play(tape: &Tape, ready: &PendingCall<'_>) -> (AttemptReport, Result<Response, CallFailure>) {
    let mut bytes = 0;
    let result = match &tape.head {
        None => Err(headless(&tape.end)),
        Some(head) => {
            let mut reading = AnswerStream::new(ready, head.clone());
            _ = tape.chunks.iter().find(|chunk| reading.push(chunk) == Flow::Stop);
            bytes = reading.bytes;
            reading.end(&tape.end)
        }
    };
    let (status, failed) = (tape.head.as_ref().map(|head| head.status), result.as_ref().err().map(|one| one.kind));
    (AttemptReport { status, waited: Duration::ZERO, took: Duration::ZERO, bytes, failed }, result)
}
