//! Attempts from cassettes.
//!
//! They are taken as they were recorded, whatever would be decided about another attempt today. A
//! call that was cancelled between two attempts ends with the failure of the one before.

use std::time::Duration;

use proem_engine::call::{Failure, FailureKind, Response};
use proem_engine::run::Time;

use super::attempt::{Reading, headless};
use super::live::failed;
use super::{Ready, Sent, last};
use crate::cassette::{Replayer, Tape};
use crate::retry::{Advice, Failed, Next, Over, advice};
use crate::wire::Flow;

/// Takes recorded attempts until one is an answer or there are no more.
pub(super) fn carry(replayer: &Replayer, ready: &Ready<'_>, attempts: &mut Vec<Sent>) -> Result<Response, Failure> {
    let mut before = None;
    for attempt in 0_u32.. {
        let tape = match replayer.take(ready.slot, attempt, ready.url, ready.wire) {
            Ok(tape) => tape,
            Err(error) => {
                let unrecorded = || Failure::new(FailureKind::Replay, error.to_string());
                return Err(before.unwrap_or_else(unrecorded));
            }
        };
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
        let failed = Failed { bytes, ..failed(ready, &failure, advice, attempt) };
        let over = match ready.policy.next(&failed, u32::MAX) {
            Next::Over(over) => over,
            Next::Wait(_) => Over::Attempts,
        };
        before = Some(last(failure, attempts.len(), over));
    }
    Err(Failure::new(FailureKind::Replay, "no cassette of this call ends the answer; record the call again"))
}

fn play(tape: &Tape, ready: &Ready<'_>) -> (Sent, Result<Response, Failure>) {
    let mut bytes = 0;
    let result = match &tape.head {
        None => Err(headless(&tape.end)),
        Some(head) => {
            let mut reading = Reading::new(ready, head.clone());
            _ = tape.chunks.iter().find(|chunk| reading.push(chunk) == Flow::Stop);
            bytes = reading.bytes;
            reading.end(&tape.end)
        }
    };
    let (status, failed) = (tape.head.as_ref().map(|head| head.status), result.as_ref().err().map(|one| one.kind));
    (Sent { status, waited: Duration::ZERO, took: Duration::ZERO, bytes, failed }, result)
}
