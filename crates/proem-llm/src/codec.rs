//! Requests and answers in a provider's words, without sending anything.
//!
//! Invariants: the same request makes the same bytes; what an answer is read as does not depend on how its bytes were
//! cut into chunks. Everything a model or a provider wrote is untrusted, under the request's label.

pub(crate) mod body;
mod complete;
pub(crate) mod draft;
mod reader;
mod refusal;
mod restoration;
pub(crate) mod usage;
mod window;

pub use self::reader::AnswerReader;
pub(crate) use self::refusal::{error_in, provider_failed};
pub(crate) use self::restoration::restore_response;
pub(crate) use self::window::POSSIBLE_WINDOWS;

use proem_engine::cache::CachePlan;
use proem_engine::call::{AnswerForm, Arrival, CallFailure, Request, ToolChoice};
use proem_engine::providers::{Model, Provider};
use serde_json::{Value, json};

use self::body::BodyBuilder;
use crate::projection::Omission;
use crate::wire::{ResponseHead, WireRequest};
use crate::{Error, anthropic, openai};

/// The header of every request with a body.
pub(crate) const CONTENT_TYPE: (&str, &str) = ("content-type", "application/json");

/// A request in a provider's words.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedRequest {
    /// Path, headers and body, without the key.
    pub wire: WireRequest,
    /// The parts that the provider doesn't get.
    pub dropped: Vec<Omission>,
    /// The tools whose schemas are sent in strict form: their optional fields come back as null.
    pub strict: Vec<String>,
}

/// Writes a request in the words of its model's provider.
///
/// Parts that its model refuses are left out and listed in [`EncodedRequest::dropped`]: a temperature, the part of a
/// schema that can't be enforced, the demand that a tool be called. Paths there lead into the body, or, for keywords of
/// a schema, into the schema of the value, or of a tool behind `/tools/NAME`.
///
/// # Errors
///
/// [`Error`] if the provider would refuse it or read it in another order.
pub fn encode_request(request: &Request, model: &Model, plan: &CachePlan) -> Result<EncodedRequest, Error> {
    let held = request.way.map(|way| model.held_by(way));
    let model = held.as_ref().unwrap_or(model);
    let fields = match model.provider() {
        Provider::Anthropic => anthropic::anthropic_fields(&request.assembly, model, plan)?,
        Provider::OpenAi => openai::openai_fields(&request.assembly, model, plan)?,
    };
    let mut draft = BodyBuilder { fields, dropped: Vec::new(), strict: Vec::new() };
    if let AnswerForm::Tools { tools, choice } = &request.answer {
        let is_possible = match choice {
            ToolChoice::Auto | ToolChoice::None => true,
            ToolChoice::Any => !tools.is_empty(),
            ToolChoice::One(name) => tools.iter().any(|tool| tool.name == *name),
        };
        if !is_possible {
            return Err(Error::NoSuchTool);
        }
    }
    if request.arrival == Arrival::Streamed {
        draft.set("stream", json!(true));
    }
    let (path, mut headers) = match model.provider() {
        Provider::Anthropic => anthropic::ask::set_anthropic_answer(&mut draft, request, model),
        Provider::OpenAi => openai::ask::set_openai_answer(&mut draft, request, model),
    };
    headers.push((CONTENT_TYPE.0, CONTENT_TYPE.1.to_owned()));
    let BodyBuilder { fields, dropped, strict } = draft;
    Ok(EncodedRequest { wire: WireRequest { path, headers, body: Value::Object(fields) }, dropped, strict })
}

/// The names of the endpoint and the model, for messages.
#[derive(Debug, Clone, Copy)]
pub struct EndpointNames<'n> {
    /// The endpoint's name in the configuration.
    pub endpoint: &'n str,
    /// The variable that holds its key, if it wants one.
    pub variable: Option<&'n str>,
    /// The model that was asked for.
    pub model: &'n str,
    /// The address that the request went to.
    pub url: &'n str,
    /// The bytes of the request's body.
    pub body_bytes: usize,
}

/// The failure in an answer of another status than 200.
///
/// Providers differ in statuses more than in words for what is wrong, so both are read the same way whoever answers: a
/// proxy may be in between anyway.
#[must_use]
pub fn refusal_failure(provider: Provider, head: &ResponseHead, body: &[u8], names: &EndpointNames<'_>) -> CallFailure {
    _ = provider;
    refusal::read_refusal(head, body, names)
}

#[cfg(test)]
mod tests;
