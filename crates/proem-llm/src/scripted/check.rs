//! The requests that a real provider would refuse, so that no test passes with a bad one.
//!
//! The rules are the documented ones of the two protocols. The messages are close to the providers' own.

mod anthropic;
mod openai;
mod schema;

use serde_json::Value as Json;

use super::http::HttpRequest;
use super::rendered_answer::{AnswerRequest, PathProtocol, RenderedAnswer};
use super::{Checks, ServerScript};

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ScriptRefusal {
    /// The key is missing or another.
    Key(String),
    /// There is no such model.
    Model(String),
    /// Something else is wrong with it.
    Request(String),
}

/// The body, if the provider of that protocol would take the request; else its refusal.
///
/// A path of no protocol is checked for nothing.
pub(super) fn check_scripted_request(
    script: &ServerScript,
    protocol: Option<PathProtocol>,
    request: &HttpRequest,
    number: usize,
) -> Result<Json, RenderedAnswer> {
    let body = serde_json::from_slice::<Json>(&request.body);
    let Some(protocol) = protocol else { return Ok(body.unwrap_or_default()) };
    check_key(script, protocol, request).map_err(|refused| refused.rendered(protocol, number))?;
    let checked = body.map_err(|error| format!("The body of the request is not JSON: {error}")).and_then(|body| {
        if script.checks == Checks::Provider {
            check_request_head(protocol, request)?;
            match protocol {
                PathProtocol::Anthropic => anthropic::check_anthropic_body(&body)?,
                PathProtocol::OpenAi => openai::check_openai_body(&body)?,
                PathProtocol::Embeddings => openai::embeddings(&body)?,
            }
        }
        Ok(body)
    });
    let body = checked.map_err(|message| ScriptRefusal::Request(message).rendered(protocol, number))?;
    check_model(script, &AnswerRequest { number, body: &body })
        .map_err(|refused| refused.rendered(protocol, number))?;
    Ok(body)
}

fn check_key(script: &ServerScript, protocol: PathProtocol, request: &HttpRequest) -> Result<(), ScriptRefusal> {
    let Some(key) = &script.key else { return Ok(()) };
    let given = match protocol {
        PathProtocol::Anthropic => request.header("x-api-key"),
        PathProtocol::OpenAi | PathProtocol::Embeddings => {
            request.header("authorization").and_then(|value| value.strip_prefix("Bearer "))
        }
    };
    let message = match (protocol, given) {
        (_, Some(given)) if given == key => return Ok(()),
        (PathProtocol::Anthropic, Some(_)) => "invalid x-api-key",
        (PathProtocol::Anthropic, None) => "x-api-key header is required",
        // The real one repeats part of the key, which is left to the script.
        (_, Some(_)) => "Incorrect API key provided.",
        (_, None) => "You didn't provide an API key.",
    };
    Err(ScriptRefusal::Key(message.to_owned()))
}

fn check_request_head(protocol: PathProtocol, request: &HttpRequest) -> Result<(), String> {
    if request.method != "POST" {
        return Err(format!("Not allowed to {} on {}", request.method, request.path));
    }
    let kind = request.header("content-type").and_then(|value| value.split(';').next()).map(str::trim);
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err("content-type: the body must be application/json".to_owned());
    }
    if protocol == PathProtocol::Anthropic && request.header("anthropic-version").is_none() {
        return Err("anthropic-version: header is required".to_owned());
    }
    Ok(())
}

fn check_model(script: &ServerScript, asked: &AnswerRequest<'_>) -> Result<(), ScriptRefusal> {
    let model = asked.model();
    if script.models.is_empty() || script.models.iter().any(|known| known == model) {
        return Ok(());
    }
    Err(ScriptRefusal::Model(format!("The model `{model}` does not exist or you do not have access to it.")))
}

impl ScriptRefusal {
    fn rendered(&self, protocol: PathProtocol, number: usize) -> RenderedAnswer {
        let (status, anthropic_type, openai_code, message) = match self {
            Self::Key(message) => (401, "authentication_error", Some("invalid_api_key"), message),
            Self::Model(message) => (404, "not_found_error", Some("model_not_found"), message),
            Self::Request(message) => (400, "invalid_request_error", None, message),
        };
        match protocol {
            PathProtocol::Anthropic => {
                super::anthropic::render_anthropic_error(status, anthropic_type, message, number)
            }
            PathProtocol::OpenAi | PathProtocol::Embeddings => {
                super::openai::render_openai_error(status, openai_code, message, number)
            }
        }
    }
}

/// Refuses members that are not known.
fn refuse_unknown_members(body: &Json, names: &[&str]) -> Result<(), String> {
    let Some(members) = body.as_object() else { return Err("the body must be an object".to_owned()) };
    match members.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => Err(format!("{key}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

/// A text that must be there and not be empty.
fn required_text<'b>(value: &'b Json, name: &str) -> Result<&'b str, String> {
    match value.get(name).and_then(Json::as_str) {
        Some("") | None => Err(format!("{name}: Field required, as a text that is not empty")),
        Some(text) => Ok(text),
    }
}

/// A list that must be there and not be empty.
fn required_list<'b>(value: &'b Json, name: &str) -> Result<&'b [Json], String> {
    match value.get(name).and_then(Json::as_array) {
        Some(list) if !list.is_empty() => Ok(list),
        _ => Err(format!("{name}: Field required, as a list of at least one")),
    }
}

/// A number within limits, if it is there.
fn check_limits(value: &Json, name: &str, least: f64, most: f64) -> Result<(), String> {
    match value.get(name) {
        None => Ok(()),
        Some(given) if given.as_f64().is_some_and(|given| (least..=most).contains(&given)) => Ok(()),
        Some(_) => Err(format!("{name}: must be a number from {least} to {most}")),
    }
}

/// A truth value, if it is there.
fn truth(value: &Json, name: &str) -> Result<(), String> {
    match value.get(name) {
        None | Some(Json::Bool(_)) => Ok(()),
        Some(_) => Err(format!("{name}: must be true or false")),
    }
}

/// A name as both providers want those of tools.
fn check_tool_name(value: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&value.len()) && value.chars().all(fits) {
        return Ok(());
    }
    Err(format!("name `{value}`: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"))
}

/// How often a member of that name occurs, at any depth.
fn count_members(value: &Json, name: &str) -> usize {
    match value {
        Json::Array(items) => items.iter().map(|item| count_members(item, name)).sum(),
        Json::Object(members) => members
            .iter()
            .map(|(key, member)| usize::from(key == name).saturating_add(count_members(member, name)))
            .sum(),
        _ => 0,
    }
}
