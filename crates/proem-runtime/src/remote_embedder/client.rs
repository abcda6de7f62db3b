//! Requests to a server of embeddings: batches, attempts, and what is read of an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use proem_engine::call::{CallFailure, FailureKind};
use proem_llm::caller::{last_failure, random_backoff_share, wall_clock};
use proem_llm::client::Client;
use proem_llm::codec::{EndpointNames, refusal_failure};
use proem_llm::embeddings::{decode_embeddings, encode_embeddings};
use proem_llm::endpoint::Endpoint;
use proem_llm::pace::Pace;
use proem_llm::retry::{Advice, FailedAttempt, RetryDecision, RetryPolicy, advice};
use proem_llm::wire::{ResponseHead, WireRequest};
use proem_text::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::{EmbedderLimits, MAX_REQUEST_BYTES, MAX_TEXTS};
use crate::task_vectors::MAX_DIMENSION;

/// The most bytes of an answer that is no success.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// The bytes that one number of a vector may take in an answer: sign, digits and exponent of a double, a comma, a line
/// break and its indentation.
const NUMBER_BYTES: usize = 40;
/// The numbers of a vector where nobody said how many: the most of the public models
/// (<https://developers.openai.com/api/docs/guides/embeddings>).
const USUAL_DIMENSIONS: usize = 3072;

/// Asks one model at one server.
#[derive(Debug)]
pub(super) struct EmbeddingClient {
    endpoint: Endpoint,
    model: String,
    dimensions: Option<u32>,
    limits: EmbedderLimits,
    policy: RetryPolicy,
    pace: Pace,
    client: Client,
    sent: Arc<AtomicUsize>,
}

/// The trace of an attempt, whether it failed or not.
#[derive(Debug, Default)]
struct AttemptTrace {
    head: Option<ResponseHead>,
    bytes: usize,
}

impl EmbeddingClient {
    pub(super) fn new(
        endpoint: Endpoint,
        model: &str,
        dimensions: Option<u32>,
        limits: EmbedderLimits,
        sent: Arc<AtomicUsize>,
    ) -> Self {
        let (model, policy, pace) = (model.to_owned(), RetryPolicy::default(), Pace::new(&endpoint.limits));
        Self { endpoint, model, dimensions, limits, policy, pace, client: Client::new(), sent }
    }

    /// The vectors of all texts, in their order.
    pub(super) async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, CallFailure> {
        self.endpoint.check()?;
        let now = Instant::now();
        // An end that lies beyond all times is none that could be missed in a day.
        let end = now.checked_add(self.limits.all).unwrap_or(now + Duration::from_secs(86_400));
        let batches = batches(texts, self.most_texts());
        let asked = stream::iter(&batches)
            .map(|batch| self.batch(batch, end))
            .buffered(self.endpoint.limits.concurrency.get())
            .try_concat();
        match timeout_at(end, asked).await {
            Ok(result) => result,
            Err(_) => Err(self.late()),
        }
    }

    /// So many texts that their vectors fit into an answer.
    fn most_texts(&self) -> usize {
        let numbers = self.dimensions.and_then(|n| usize::try_from(n).ok()).unwrap_or(USUAL_DIMENSIONS);
        let each = numbers.saturating_mul(NUMBER_BYTES).max(1);
        let fitting = self.endpoint.limits.answer_bytes.checked_div(each).unwrap_or(1);
        fitting.min(self.limits.texts.get()).clamp(1, MAX_TEXTS)
    }

    /// Asks for the vectors of one batch until they come or a failure stays.
    async fn batch(&self, texts: &[&str], end: Instant) -> Result<Vec<Vec<f32>>, CallFailure> {
        let request = encode_embeddings(&self.model, texts, self.dimensions);
        let most = self.endpoint.limits.attempts;
        let mut attempt = 0_u32;
        loop {
            attempt = attempt.saturating_add(1);
            let permit = self.pace.enter().await;
            let mut heard = AttemptTrace::default();
            let failure = match self.attempt(&request, texts.len(), &mut heard).await {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            drop(permit);
            let now = Instant::now();
            let advice = heard.head.as_ref().map_or_else(Advice::default, |head| advice(head, wall_clock()));
            let (kind, status, bytes) = (failure.kind, failure.status, heard.bytes);
            let left = Some(end.saturating_duration_since(now));
            let failed = FailedAttempt { kind, status, bytes, advice, attempt, most, left };
            if let Some(hold) = self.policy.hold(&failed).and_then(|hold| now.checked_add(hold)) {
                self.pace.hold(hold);
            }
            match self.policy.next(&failed, random_backoff_share()) {
                RetryDecision::Wait(wait) => sleep(wait).await,
                RetryDecision::Over(over) => {
                    let attempts = usize::try_from(attempt).unwrap_or(usize::MAX);
                    return Err(last_failure(failure, attempts, over));
                }
            }
        }
    }

    async fn attempt(
        &self,
        request: &WireRequest,
        count: usize,
        heard: &mut AttemptTrace,
    ) -> Result<Vec<Vec<f32>>, CallFailure> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let sent = json::compact(&request.body);
        let sent_bytes = sent.len();
        let mut answer = self.client.send(&self.endpoint, request, sent.into()).await?;
        let head = heard.head.insert(answer.head().clone());
        let (status, is_answer) = (head.status, head.status == 200);
        let most = if is_answer { self.endpoint.limits.answer_bytes } else { MAX_REFUSAL_BYTES };
        let mut body = Vec::new();
        loop {
            let chunk = match answer.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                // A server's last words before it breaks off are more exact than the fact that it did.
                Err(_) if !is_answer => break,
                Err(failure) => return Err(CallFailure { status: Some(status), ..failure }),
            };
            heard.bytes = heard.bytes.saturating_add(chunk.len());
            let room = most.saturating_sub(body.len());
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if chunk.len() > room {
                if is_answer {
                    return Err(CallFailure { status: Some(status), ..self.too_large(most) });
                }
                break;
            }
        }
        if !is_answer {
            let Endpoint { name, key, provider, .. } = &self.endpoint;
            let url = self.endpoint.url(request.path);
            let (variable, model) = (key.variable(), self.model.as_str());
            let names = EndpointNames { endpoint: name, variable, model, url: &url, body_bytes: sent_bytes };
            return Err(self.advised(refusal_failure(*provider, head, &body, &names)));
        }
        let vectors = decode_embeddings(&body, count, self.dimensions)
            .map_err(|failure| CallFailure { status: failure.status.or(Some(status)), ..failure })?;
        match vectors.iter().map(Vec::len).find(|length| *length > MAX_DIMENSION) {
            Some(length) => Err(Self::too_long(length)),
            None => Ok(vectors),
        }
    }

    /// The failure with what is to be done about it here.
    fn advised(&self, failure: CallFailure) -> CallFailure {
        let message = match (failure.kind, self.dimensions) {
            (FailureKind::TooLong, _) => format!(
                "a text is longer than the model accepts; lower `text_bytes` under `[embedding]`, which is {}",
                self.limits.text_bytes
            ),
            (FailureKind::Refused, Some(dimensions)) => format!(
                "{}; not every model can give vectors of {dimensions} numbers: leave out `dimensions` if this model \
                 can't",
                failure.message
            ),
            _ => return failure,
        };
        CallFailure { message, ..failure }
    }

    fn late(&self) -> CallFailure {
        let seconds = self.limits.all.as_secs_f64();
        let message = format!(
            "the vectors did not arrive within {seconds} s; raise `seconds` under `[embedding]`, or choose a faster \
             server"
        );
        CallFailure::new(FailureKind::TimedOut, message)
    }

    fn too_large(&self, most: usize) -> CallFailure {
        let name = &self.endpoint.name;
        let message = format!(
            "the answer is longer than {most} bytes; raise `providers.{name}.answer_bytes`, or set `dimensions` under \
             `[embedding]`"
        );
        CallFailure::new(FailureKind::TooLarge, message)
    }

    fn too_long(length: usize) -> CallFailure {
        let message = format!(
            "its vectors have {length} numbers, and at most {MAX_DIMENSION} are read; set `dimensions` under \
             `[embedding]`, or choose another model"
        );
        CallFailure::new(FailureKind::Malformed, message)
    }
}

/// Cuts texts into requests, in their order.
fn batches(texts: &[String], most_texts: usize) -> Vec<Vec<&str>> {
    let mut batches: Vec<Vec<&str>> = Vec::new();
    let mut bytes = 0_usize;
    for text in texts {
        let with = bytes.saturating_add(text.len());
        match batches.last_mut() {
            Some(batch) if batch.len() < most_texts && with <= MAX_REQUEST_BYTES => {
                batch.push(text);
                bytes = with;
            }
            _ => {
                batches.push(vec![text]);
                bytes = text.len();
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[track_caller]
    fn check(lengths: &[usize], most_texts: usize, expected: &[usize]) {
        let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        let sizes: Vec<usize> = batches(&texts, most_texts).iter().map(Vec::len).collect();
        assert_eq!(sizes, expected, "{lengths:?}");
    }

    #[test]
    fn requests_are_small() {
        check(&[], 96, &[]);
        check(&[1; 5], 2, &[2, 2, 1]);
        check(&[1; 200], 96, &[96, 96, 8]);
        check(&[100_000, 100_000, 56_000, 1], 96, &[3, 1]);
        check(&[300_000, 1, 300_000], 96, &[1, 1, 1]);
    }

    proptest! {
        #[test]
        fn batches_keep_every_text_in_order(lengths in vec(0_usize..100_000, 0..40), most in 1_usize..10) {
            let texts: Vec<String> = lengths.iter().map(|length| "é".repeat(length / 2)).collect();
            let batches = batches(&texts, most);
            let bytes = |batch: &Vec<&str>| batch.iter().map(|text| text.len()).sum::<usize>();
            prop_assert!(batches.iter().all(|batch| batch.len() <= most && bytes(batch) <= MAX_REQUEST_BYTES));
            prop_assert_eq!(batches.concat(), texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
