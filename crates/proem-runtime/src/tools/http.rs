//! Tools that are servers.
//!
//! Invariants: what fills a slot changes neither scheme, host and port nor the number of path segments. No redirect is
//! followed. A host has no private address unless its tool says so, which is judged for the address that is connected
//! to.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use proem_agents::lisp::{HttpMethod, HttpTool, ToolDefinition};
use proem_engine::run::{ToolPower, ToolUse};
use proem_llm::client::hosts::{HostScope, check_url};
use proem_llm::client::once::{HostAnswer, HostCredential, HostLimits, HostMethod, HostRequest, HostStage, send_once};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::attempt_end::{Attempt, AttemptEnd, MAX_RESULT, json_result, tool_words};
use super::set::ReadyServer;
use crate::effects::request::slots;
use crate::effects::request::template::{RequestRefusal, check_header};

/// The header that carries a call's key, by which a server can tell a repetition
/// (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>).
const KEY_HEADER: &str = "idempotency-key";

/// Whether requests can be made of a tool's definition.
///
/// # Errors
///
/// In words, what is wrong with its address or a header.
pub fn check_http(tool: &HttpTool) -> Result<(), String> {
    slots::check_places(&tool.url).map_err(in_words)?;
    let names = slots::slot_names(&tool.url).map_err(in_words)?;
    let values = names.into_iter().map(|name| (name, "x".to_owned())).collect();
    let url = slots::fill_url(&tool.url, &values).map_err(in_words)?;
    check_url(&url, scope(tool)).map_err(|refusal| refusal.to_string())?;
    tool.headers.iter().try_for_each(|(name, value)| check_header(name, value)).map_err(in_words)
}

fn in_words(refusal: RequestRefusal) -> String {
    match refusal {
        RequestRefusal::Missing(name) => format!("its address needs `{name}`, which the call does not have"),
        RequestRefusal::Value(name) => {
            format!("`{name}` can't be part of the address: it is empty, `.` or `..`, or has a control character")
        }
        RequestRefusal::SlotPlace(part) => {
            format!("the {part} of its address has a slot; only path segments and values of the query may have one")
        }
        RequestRefusal::Written(address) => format!("its address would be asked as `{address}`; write it like this"),
        RequestRefusal::Header(name) => {
            format!("it may not set the header `{name}`; leave it out, and name a `credential` if it needs one")
        }
        refusal => refusal.to_string(),
    }
}

const fn scope(tool: &HttpTool) -> HostScope {
    if tool.is_private { HostScope::Private } else { HostScope::Public }
}

/// Asks a server once.
pub(super) async fn call_server(
    server: &ReadyServer,
    definition: &ToolDefinition,
    call: &ToolUse,
    key: &str,
    stop: &CancellationToken,
) -> Attempt {
    let tool = &server.tool;
    let url = match address(tool, &call.arguments) {
        Ok(url) => url,
        Err(why) => return AttemptEnd::Refused(why).into(),
    };
    let mut headers: Vec<(String, String)> =
        tool.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
    headers.push(("accept".to_owned(), "application/json".to_owned()));
    let (method, has_body) = match tool.method {
        HttpMethod::Get => (HostMethod::Get, false),
        HttpMethod::Delete => (HostMethod::Delete, false),
        HttpMethod::Post => (HostMethod::Post, true),
        HttpMethod::Put => (HostMethod::Put, true),
        HttpMethod::Patch => (HostMethod::Patch, true),
    };
    if has_body {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    if definition.power != ToolPower::Free {
        headers.push((KEY_HEADER.to_owned(), key.to_owned()));
    }
    let body = if has_body { Bytes::from(call.arguments.clone()) } else { Bytes::new() };
    let credential = server.credential.as_ref().map(HostCredential::Bearer);
    let request = HostRequest { method, url: &url, scope: scope(tool), headers: &headers, credential, body };
    let whole = Duration::from_secs(definition.timeout_seconds.into());
    // One byte more than may come tells a result that is cut.
    let usual = HostLimits::default();
    let limits = HostLimits { connect: usual.connect.min(whole), whole, answer_bytes: MAX_RESULT.saturating_add(1) };
    let sent = tokio::select! {
        biased;
        sent = send_once(request, &limits) => sent,
        () = stop.cancelled() => {
            return AttemptEnd::Doubtful("the run was given up while it was asked".to_owned()).into();
        }
    };
    match sent {
        Ok(answer) => Attempt { wrote: tool_words(&answer.body), end: meaning(answer, tool.result.as_deref()) },
        Err(failure) => match failure.stage {
            HostStage::Unsent => AttemptEnd::Unbegun(failure.message).into(),
            HostStage::Begun => AttemptEnd::Doubtful(failure.message).into(),
        },
    }
}

/// The address with the parameters' values in their slots.
fn address(tool: &HttpTool, arguments: &str) -> Result<String, String> {
    let names = slots::slot_names(&tool.url).map_err(in_words)?;
    let given: BTreeMap<String, Json> =
        serde_json::from_str(arguments).map_err(|error| format!("its arguments can't be read: {error}"))?;
    let mut values = BTreeMap::new();
    for name in names {
        let value = match given.get(&name) {
            None | Some(Json::Null) => return Err(in_words(RequestRefusal::Missing(name))),
            Some(Json::String(text)) => text.clone(),
            Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_string(),
            Some(_) => return Err(format!("`{name}` is a list or a map, which can't be part of an address")),
        };
        values.insert(name, value);
    }
    slots::fill_url(&tool.url, &values).map_err(in_words)
}

/// The meaning of an answer, after RFC 9110, 15: a server behind a gate may have acted before the gate failed.
fn meaning(answer: HostAnswer, pointer: Option<&str>) -> AttemptEnd {
    match answer.head.status {
        200..=299 => result(answer.body, pointer).map_or_else(AttemptEnd::Doubtful, AttemptEnd::Answered),
        status @ 300..=399 => AttemptEnd::Refused(format!(
            "the server sends the request elsewhere (status {status}), which is not followed"
        )),
        status @ (429 | 500..=599) => AttemptEnd::Doubtful(format!("the server answered with status {status}")),
        status => AttemptEnd::Refused(format!("the server refused it (status {status})")),
    }
}

fn result(body: Vec<u8>, pointer: Option<&str>) -> Result<String, String> {
    if body.len() > MAX_RESULT {
        return Err(format!("its result has more than {} MiB", MAX_RESULT >> 20));
    }
    if body.is_empty() {
        return Ok("null".to_owned());
    }
    let text = json_result(body)?;
    let Some(pointer) = pointer.filter(|pointer| !pointer.is_empty()) else { return Ok(text) };
    let whole: Json = serde_json::from_str(&text).map_err(|error| format!("its result is not JSON: {error}"))?;
    match whole.pointer(pointer) {
        Some(part) => Ok(proem_text::json::compact(part)),
        None => Err(format!("its answer has nothing at `{pointer}`")),
    }
}
