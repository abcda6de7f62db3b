//! Requests to ticket systems: made of a declared template, recorded, and sent once.
//!
//! Invariants: what fills a template's slots changes no scheme, host, port, name of a parameter or number of path
//! segments. A value stands percent-encoded in an address and as a text in a body. No credential is in a template or in
//! recorded bytes. A recorded request goes to the origin that the configuration names, or nowhere.

pub(crate) mod slots;
pub(crate) mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use proem_engine::effect::key::EffectKey;
use proem_llm::client::once::{HostAnswer, HostFailure, HostMethod, HostRequest, HostStage, send_once};
use serde::{Deserialize, Serialize};
use url::Url;

pub use template::{RequestKind, RequestMethod, RequestRefusal, RequestTemplate};

use super::{DeliveryBytes, DeliveryOutcome, DeliveryTrouble, RequestRoute, receiver_words};

/// The most bytes of a request's body.
pub const MAX_REQUEST_BODY: usize = 256 * 1024;
/// The header that carries the action's key, by which a server can tell a repetition
/// (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>).
const REPETITION_HEADER: &str = "idempotency-key";
/// How the recorded request is written down. Raised when it changes.
const FORM: u32 = 1;

/// A request as it is recorded, in canonical JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedRequest {
    form: u32,
    method: RequestMethod,
    url: String,
    /// All headers but the credential, names in lower case.
    headers: BTreeMap<String, String>,
    /// The body's text, as it is sent.
    body: String,
}

/// The exact bytes of a request: the template with its slots filled.
///
/// # Errors
///
/// [`RequestRefusal`] for a template that is none, a slot without a value and a value without a slot.
pub fn write_ticket_request(
    template: &RequestTemplate,
    values: &BTreeMap<String, String>,
    key: &EffectKey,
) -> Result<Vec<u8>, RequestRefusal> {
    template.check()?;
    template.check_values(values)?;
    let url = slots::fill_url(&template.url, values)?;
    let body = slots::fill_body(&template.body, values)?;
    let body = proem_text::json::compact(&body);
    if body.len() > MAX_REQUEST_BODY {
        return Err(RequestRefusal::TooLong);
    }
    let mut headers: BTreeMap<String, String> =
        template.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
    headers.insert("content-type".to_owned(), "application/json".to_owned());
    headers.insert(REPETITION_HEADER.to_owned(), key.to_string());
    let recorded = RecordedRequest { form: FORM, method: template.method, url, headers, body };
    let json = serde_json::to_value(&recorded).map_err(|_| RequestRefusal::NotOurs)?;
    Ok(proem_text::json::compact(&json).into_bytes())
}

/// Sends a recorded request once.
pub(super) async fn send_ticket_request(delivery: &DeliveryBytes<'_>, route: &RequestRoute<'_>) -> DeliveryOutcome {
    let recorded = match read_recorded_request(delivery, route) {
        Ok(recorded) => recorded,
        Err(refusal) => return DeliveryOutcome::NotSent(DeliveryTrouble::new(refusal.to_string())),
    };
    let headers: Vec<_> = recorded.headers.into_iter().collect();
    let request = HostRequest {
        method: match recorded.method {
            RequestMethod::Post => HostMethod::Post,
            RequestMethod::Put => HostMethod::Put,
            RequestMethod::Patch => HostMethod::Patch,
        },
        url: &recorded.url,
        scope: route.scope,
        headers: &headers,
        credential: route.credential,
        body: Bytes::from(recorded.body),
    };
    match send_once(request, &route.limits).await {
        Ok(answer) => answered_outcome(&answer, route.not_done),
        Err(failure) => unanswered_outcome(failure),
    }
}

/// The outcome of a request without an answer.
pub(super) fn unanswered_outcome(failure: HostFailure) -> DeliveryOutcome {
    let trouble = DeliveryTrouble::new(failure.message);
    match failure.stage {
        HostStage::Unsent => DeliveryOutcome::NotSent(trouble),
        HostStage::Begun => DeliveryOutcome::Unknown(trouble),
    }
}

/// Reads a recorded request and sees to it that it goes where the configuration of this moment says.
fn read_recorded_request(
    delivery: &DeliveryBytes<'_>,
    route: &RequestRoute<'_>,
) -> Result<RecordedRequest, RequestRefusal> {
    let recorded: RecordedRequest = serde_json::from_slice(delivery.bytes).map_err(|_| RequestRefusal::NotOurs)?;
    let is_ours = recorded.form == FORM
        && recorded.headers.get(REPETITION_HEADER).is_some_and(|key| *key == delivery.key.to_string());
    if !is_ours || recorded.headers.keys().any(|name| template::is_reserved(name)) {
        return Err(RequestRefusal::NotOurs);
    }
    let (Ok(url), Ok(origin)) = (Url::parse(&recorded.url), Url::parse(route.origin)) else {
        return Err(RequestRefusal::NotOurs);
    };
    if url.origin() != origin.origin() {
        let found = url.host_str().unwrap_or_default().to_owned();
        return Err(RequestRefusal::OtherOrigin { found, wanted: route.origin.to_owned() });
    }
    Ok(recorded)
}

/// The meaning of an answer for the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerMeaning {
    Done,
    NotDone,
    Doubt,
}

/// The meaning of a status, after RFC 9110, 15. `not_done` are those of 429 and 5xx by which this server reports that
/// it did nothing.
fn status_meaning(status: u16, not_done: &[u16]) -> AnswerMeaning {
    match status {
        200..=299 => AnswerMeaning::Done,
        // To be sent again elsewhere, which is not done; 302 and 303 often follow on something done.
        301 | 307 | 308 => AnswerMeaning::NotDone,
        429 | 500..=599 if not_done.contains(&status) => AnswerMeaning::NotDone,
        // A gate may count what a server behind it has done already.
        429 => AnswerMeaning::Doubt,
        400..=499 => AnswerMeaning::NotDone,
        // The method or the version is unknown, so nothing was understood.
        501 | 505 => AnswerMeaning::NotDone,
        _ => AnswerMeaning::Doubt,
    }
}

/// The outcome of a request that was answered.
pub(super) fn answered_outcome(answer: &HostAnswer, not_done: &[u16]) -> DeliveryOutcome {
    let status = answer.head.status;
    let words = receiver_words(String::from_utf8_lossy(&answer.body).into_owned());
    match status_meaning(status, not_done) {
        AnswerMeaning::Done => DeliveryOutcome::Sent { answer: Some(words) },
        AnswerMeaning::NotDone => {
            let message = match status {
                300..=399 => format!(
                    "the server sends the request elsewhere (status {status}); configure the address that it moved to"
                ),
                401 | 403 => {
                    format!("the server refused the credential (status {status}); check it and what it may do")
                }
                _ => format!(
                    "the server refused the request (status {status}); see what it says, and propose the action anew"
                ),
            };
            DeliveryOutcome::Failed(DeliveryTrouble::told(message, words))
        }
        AnswerMeaning::Doubt => {
            let message =
                format!("the server answered with status {status}, which leaves open whether it acted; look there");
            DeliveryOutcome::Unknown(DeliveryTrouble::told(message, words))
        }
    }
}
