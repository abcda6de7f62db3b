//! Attempts over the network.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use proem_engine::call::{CallFailure, FailureKind, Response};
use proem_engine::run::Time;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::attempt::{AnswerStream, headless};
use super::gate::{AttemptEnd, Last};
use super::listener;
use super::pending_call::{AttemptReport, PendingCall, cancelled_failure};
use crate::cassette::{Recorder, Tape, TapeEnd};
use crate::client::Client;
use crate::retry::{Advice, FailedAttempt, RetryDecision, RetryStop, advice};
use crate::wire::{Flow, ResponseHead};

/// The bounds that end a call before it has an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallBounds<'c> {
    /// When no wait may last any longer, if that is known.
    pub(super) end: Option<Instant>,
    /// Ends everything when it is cancelled.
    pub(super) stop: &'c CancellationToken,
}

/// Sends a request until there is an answer or a failure that stays.
pub(super) async fn carry_live(
    client: &Client,
    recorder: Option<&Recorder>,
    ready: &PendingCall<'_>,
    bounds: CallBounds<'_>,
    attempts: &mut Vec<AttemptReport>,
) -> Result<Response, CallFailure> {
    ready.paced.endpoint.check()?;
    let CallBounds { end, stop } = bounds;
    let body = ready.body;
    let mut backoff = Duration::ZERO;
    let mut begun: Option<CallFailure> = None;
    for number in 0_u32.. {
        let waiting = Instant::now();
        let entering = async {
            // A sleep of no time lasts until the timer's next tick, which is a millisecond.
            if !backoff.is_zero() {
                sleep(backoff).await;
            }
            ready.paced.pace.enter().await
        };
        let Some(permit) = unless(stop, entering).await else { break };
        let attempt = ready.attempt(number, body);
        match unless(stop, ready.gate.enter(&attempt)).await {
            Some(entered) => entered?,
            None => {
                let (sent, failure) = (unsent_attempt(waiting.elapsed()), cancelled_failure());
                let left = AttemptEnd { sent: &sent, result: Err(&failure), last: Last::Yes };
                ready.gate.leave(&attempt, left).await;
                break;
            }
        }
        let began = Instant::now();
        listener::of_text(ready).into_iter().for_each(listener::TextListener::begins);
        let mut course = Course::new(recorder);
        let ended =
            unless(stop, course.run(client, ready, body)).await.unwrap_or_else(|| broken_tape(cancelled_failure()));
        drop(permit);
        let mut made = course.end(ended, began.saturating_duration_since(waiting), began.elapsed());
        attempts.push(made.sent.clone());
        let written = recorder.map_or(Ok(()), |recorder| made.record(recorder, ready, number));
        let next = match &made.result {
            Err(failure) if written.is_ok() => Some(made.next(failure, ready, number, end)),
            _ => None,
        };
        if matches!(next, Some(RetryDecision::Over(_))) {
            made.result = made.result.map_err(|failure| super::named_cause(begun.as_ref(), failure));
        }
        let last = if matches!(next, Some(RetryDecision::Wait(_))) { Last::No } else { Last::Yes };
        ready.gate.leave(&attempt, AttemptEnd { sent: &made.sent, result: made.result.as_ref(), last }).await;
        written?;
        match (made.result, next) {
            (Err(failure), Some(RetryDecision::Wait(wait))) => {
                listener::tell_wait(ready, wait, made.head.as_ref());
                backoff = wait;
                if made.sent.status == Some(200) {
                    begun = Some(failure);
                }
            }
            (Err(failure), Some(RetryDecision::Over(over))) => {
                return Err(super::last_failure(failure, attempts.len(), over));
            }
            (result, _) => return result,
        }
    }
    Err(super::last_failure(cancelled_failure(), attempts.len(), RetryStop::Settled))
}

/// The longest that a list of models is waited for after a failure.
const LIST_PATIENCE: Duration = Duration::from_secs(5);

/// The result of a call with the context window that the server's list of models names, where the request was too long,
/// or the stream was empty, and the server did not say how long it may be.
pub(super) async fn with_listed_window(
    client: &Client,
    ready: &PendingCall<'_>,
    bounds: CallBounds<'_>,
    result: Result<Response, CallFailure>,
) -> Result<Response, CallFailure> {
    let mut failure = match result {
        Err(failure) if failure.window.is_none() => failure,
        result => return result,
    };
    if matches!(failure.kind, FailureKind::TooLong | FailureKind::Empty) {
        let mut endpoint = ready.paced.endpoint.clone();
        endpoint.limits.call = endpoint.limits.call.min(LIST_PATIENCE);
        let listing = async {
            let list = client.models(&endpoint).await.ok().filter(|list| list.head.status == 200)?;
            client.window(&endpoint, &list, &ready.model.name).await
        };
        failure.window = unless(bounds.stop, listing).await.flatten();
    }
    Err(failure)
}

/// An attempt that was given up before anything was sent.
const fn unsent_attempt(waited: Duration) -> AttemptReport {
    AttemptReport { status: None, waited, took: Duration::ZERO, bytes: 0, failed: Some(FailureKind::Cancelled) }
}

/// An attempt that is over.
#[derive(Debug)]
struct LiveAttempt {
    sent: AttemptReport,
    head: Option<ResponseHead>,
    chunks: Vec<Vec<u8>>,
    ended: TapeEnd,
    result: Result<Response, CallFailure>,
}

impl LiveAttempt {
    /// Keeps it on a cassette.
    fn record(&mut self, recorder: &Recorder, ready: &PendingCall<'_>, number: u32) -> Result<(), CallFailure> {
        let tape = Tape {
            url: ready.url.to_owned(),
            request: ready.wire.clone(),
            head: self.head.clone(),
            chunks: std::mem::take(&mut self.chunks),
            end: self.ended.clone(),
        };
        let written = recorder.write(ready.slot, number, &tape);
        written.map_err(|error| CallFailure::new(FailureKind::Replay, error.to_string()))
    }

    /// The consequence of its failure. Other calls to the endpoint wait if it asked for that.
    fn next(&self, failure: &CallFailure, ready: &PendingCall<'_>, number: u32, end: Option<Instant>) -> RetryDecision {
        let now = Instant::now();
        let advice = self.head.as_ref().map_or_else(Advice::default, |head| advice(head, wall_clock()));
        let left = end.map(|end| end.saturating_duration_since(now));
        let failed = FailedAttempt { left, bytes: self.sent.bytes, ..failed_attempt(ready, failure, advice, number) };
        if let Some(hold) = ready.policy.hold(&failed).and_then(|hold| now.checked_add(hold)) {
            ready.paced.pace.hold(hold);
        }
        ready.policy.next(&failed, random_backoff_share())
    }
}

/// The basis of the decision about another attempt. Attempts are counted from 0 here.
pub(super) fn failed_attempt(
    ready: &PendingCall<'_>,
    failure: &CallFailure,
    advice: Advice,
    attempt: u32,
) -> FailedAttempt {
    let most = ready.paced.endpoint.limits.attempts;
    let CallFailure { kind, status, .. } = *failure;
    FailedAttempt { kind, status, bytes: 0, advice, attempt: attempt.saturating_add(1), most, left: None }
}

/// How far an attempt has come. It outlives the attempt if that is cancelled.
#[derive(Debug)]
struct Course<'c> {
    reading: Option<AnswerStream<'c>>,
    keep: ChunkRetention,
    chunks: Vec<Vec<u8>>,
}

/// Whether the bytes of an answer are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkRetention {
    Chunks,
    Nothing,
}

impl<'c> Course<'c> {
    const fn new(recorder: Option<&Recorder>) -> Self {
        let keep = if recorder.is_some() { ChunkRetention::Chunks } else { ChunkRetention::Nothing };
        Self { reading: None, keep, chunks: Vec::new() }
    }

    fn end(self, ended: TapeEnd, waited: Duration, took: Duration) -> LiveAttempt {
        let head = self.reading.as_ref().map(|reading| reading.head.clone());
        let bytes = self.reading.as_ref().map_or(0, |reading| reading.bytes);
        let result = self.reading.map_or_else(|| Err(headless(&ended)), |reading| reading.end(&ended));
        let status = head.as_ref().map(|head| head.status);
        let failed = result.as_ref().err().map(|failure| failure.kind);
        LiveAttempt {
            sent: AttemptReport { status, waited, took, bytes, failed },
            head,
            chunks: self.chunks,
            ended,
            result,
        }
    }

    async fn run(&mut self, client: &Client, ready: &PendingCall<'c>, body: &Bytes) -> TapeEnd {
        let mut answer = match client.send(&ready.paced.endpoint, ready.wire, body.clone()).await {
            Ok(answer) => answer,
            Err(failure) => return broken_tape(failure),
        };
        let reading = self.reading.insert(AnswerStream::new(ready, answer.head().clone()));
        loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => {
                    let flow = reading.push(&bytes);
                    if self.keep == ChunkRetention::Chunks {
                        self.chunks.push(bytes);
                    }
                    if flow == Flow::Stop {
                        return TapeEnd::Stopped;
                    }
                }
                Ok(None) => return TapeEnd::Whole,
                Err(failure) => return broken_tape(failure),
            }
        }
    }
}

fn broken_tape(failure: CallFailure) -> TapeEnd {
    TapeEnd::Broken { kind: failure.kind, message: failure.message }
}

/// The result of a future, unless `stop` is cancelled first.
async fn unless<F: Future>(stop: &CancellationToken, future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        output = future => Some(output),
    }
}

/// How much of a backoff is waited. All of it where the system has nothing random to give.
#[must_use]
pub fn random_backoff_share() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}

/// The system's time, for the dates that an endpoint names.
#[must_use]
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
