//! Reads JSON from a server, again and again where that helps.
//!
//! Invariants: a request that is sent again changes nothing by it. A wait is as long as the server asks for, or a random
//! part of a growing bound, and both have an end. An answer that is not whole JSON, or larger than permitted, is none. No
//! redirect is followed, and no credential is in a message.

pub mod token;

use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use proem_engine::call::FailureKind;
use proem_llm::caller::{random_backoff_share, wall_clock};
use proem_llm::client::hosts::{HostScope, check_url};
use proem_llm::client::once::{HostCredential, HostLimits, HostMethod, HostRequest, send_once};
use proem_llm::retry::{FailedAttempt, RetryDecision, RetryPolicy, advice};
use proem_llm::wire::ResponseHead;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

/// The most bytes of an answer: a page of a hundred tickets with all their comments has a tenth of it.
const MAX_ANSWER: usize = 32 << 20;

/// How long an answer may take, and how often it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// The limits of one attempt.
    pub host: HostLimits,
    /// How often a request is sent at most, the first time included.
    pub attempts: NonZeroU32,
    /// The waits between attempts.
    pub policy: RetryPolicy,
}

impl Default for FetchLimits {
    /// Five attempts of 60 s each, 32 MiB of answer.
    fn default() -> Self {
        Self {
            host: HostLimits { answer_bytes: MAX_ANSWER, ..HostLimits::default() },
            attempts: NonZeroU32::new(5).unwrap_or(NonZeroU32::MIN),
            policy: RetryPolicy::default(),
        }
    }
}

/// A request for JSON.
#[derive(Debug, Clone)]
pub struct FetchRequest<'a> {
    /// The whole address.
    pub url: &'a str,
    /// The addresses that its host may have.
    pub scope: HostScope,
    /// Its headers but for the credential.
    pub headers: &'a [(String, String)],
    /// The proof of the caller's identity.
    pub credential: Option<HostCredential<'a>>,
    /// The form to send by `POST`. `None` asks by `GET`.
    pub form: Option<Bytes>,
}

/// An answer, whatever its status. One of success has whole JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchedAnswer {
    /// The HTTP status, 100 to 599.
    pub status: u16,
    /// Its body. Null if it is not JSON.
    pub json: Json,
}

/// No answer came that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchFailure(String);

impl FetchFailure {
    /// A failure in words of ours.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// An attempt that gave no answer to go on with.
struct BrokenAttempt {
    kind: FailureKind,
    head: ResponseHead,
    bytes: usize,
    message: String,
}

/// Asks for JSON until there is an answer, or another attempt would not help.
///
/// Statuses that pass (408, 429, 500 and above), broken connections and broken bodies are tried again. Every other status
/// is an answer.
///
/// # Errors
///
/// [`FetchFailure`] with the last attempt's reason, also when `stop` is cancelled.
pub async fn fetch_json(
    request: &FetchRequest<'_>,
    limits: &FetchLimits,
    stop: &CancellationToken,
) -> Result<FetchedAnswer, FetchFailure> {
    check_url(request.url, request.scope).map_err(|refusal| FetchFailure::new(refusal.to_string()))?;
    let mut attempt = 1_u32;
    loop {
        let tried = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(exhausted_retries()),
            tried = try_once(request, &limits.host) => tried,
        };
        let broken = match tried {
            Ok(answer) => return Ok(answer),
            Err(broken) => broken,
        };
        let failed = FailedAttempt {
            kind: broken.kind,
            status: Some(broken.head.status).filter(|status| *status > 0),
            bytes: broken.bytes,
            advice: advice(&broken.head, wall_clock()),
            attempt,
            most: limits.attempts,
            left: None,
        };
        match limits.policy.next(&failed, random_backoff_share()) {
            RetryDecision::Over(why) => {
                let attempts = if attempt == 1 { "1 attempt".to_owned() } else { format!("{attempt} attempts") };
                return Err(FetchFailure::new(format!("{} ({attempts}{why})", broken.message)));
            }
            RetryDecision::Wait(wait) => wait_for(wait, stop).await?,
        }
        attempt = attempt.saturating_add(1);
    }
}

async fn wait_for(wait: Duration, stop: &CancellationToken) -> Result<(), FetchFailure> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Err(exhausted_retries()),
        () = tokio::time::sleep(wait) => Ok(()),
    }
}

fn exhausted_retries() -> FetchFailure {
    FetchFailure::new("the reading was stopped")
}

async fn try_once(request: &FetchRequest<'_>, limits: &HostLimits) -> Result<FetchedAnswer, BrokenAttempt> {
    let sent = HostRequest {
        method: if request.form.is_some() { HostMethod::Post } else { HostMethod::Get },
        url: request.url,
        scope: request.scope,
        headers: request.headers,
        credential: request.credential,
        body: request.form.clone().unwrap_or_default(),
    };
    // One byte more than may come tells an answer that is too large.
    let most = limits.answer_bytes;
    let limits = HostLimits { answer_bytes: most.saturating_add(1), ..*limits };
    let answer = send_once(sent, &limits).await.map_err(|failure| BrokenAttempt {
        kind: FailureKind::Unreachable,
        head: ResponseHead::default(),
        bytes: 0,
        message: failure.message,
    })?;
    let (status, bytes) = (answer.head.status, answer.body.len());
    let broken = |kind, message: String| BrokenAttempt { kind, head: answer.head.clone(), bytes, message };
    match status {
        408 | 500..=599 => Err(broken(FailureKind::Server, format!("the server failed (status {status})"))),
        429 => Err(broken(FailureKind::RateLimited, "the server has had too many requests (status 429)".to_owned())),
        200..=299 if bytes > most => {
            Err(broken(FailureKind::TooLarge, format!("the answer has more than {most} bytes")))
        }
        200..=299 => match serde_json::from_slice(&answer.body) {
            Ok(json) => Ok(FetchedAnswer { status, json }),
            Err(_) => {
                let message = "the answer is cut, or is not JSON; check the address of the source".to_owned();
                Err(BrokenAttempt { bytes: bytes.max(1), ..broken(FailureKind::Cut, message) })
            }
        },
        _ => Ok(FetchedAnswer { status, json: serde_json::from_slice(&answer.body).unwrap_or_default() }),
    }
}

#[cfg(test)]
mod tests;
