//! Requests and answers in a provider's words, without sending anything.
//!
//! Invariants: the same request makes the same bytes; what an answer is read as does not depend on
//! how its bytes were cut into chunks; everything a model or a provider wrote is untrusted, under
//! the request's label.

mod complete;
pub(crate) mod draft;
mod reader;
mod refused;
mod restored;
pub(crate) mod usage;

pub use self::reader::Reader;
pub(crate) use self::refused::provider_failed;
pub(crate) use self::restored::restored;

use proem_engine::cache::CachePlan;
use proem_engine::call::{Answering, Arrival, Choice, Failure, Request, Tool};
use proem_engine::providers::{Model, Provider, Quirk};
use serde_json::{Map, Value, json};

use crate::projection::{Dropped, Target, project};
use crate::wire::{Head, WireRequest};
use crate::{Error, anthropic, openai};

/// The header of every request with a body.
pub(crate) const CONTENT_TYPE: (&str, &str) = ("content-type", "application/json");

/// A request in a provider's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// What is sent.
    pub wire: WireRequest,
    /// What the provider doesn't get.
    pub dropped: Vec<Dropped>,
    /// The tools whose schemas are sent in strict form: their optional fields come back as null.
    pub strict: Vec<String>,
}

/// Writes a request in the words of its model's provider.
///
/// What its model refuses is left out and listed in [`Encoded::dropped`]: a temperature, the part
/// of a schema that can't be enforced, the demand that a tool be called. Paths there lead into the
/// body, or, for keywords of a schema, into the schema of the value, or of a tool behind
/// `/tools/NAME`.
///
/// # Errors
///
/// [`Error`] if the provider would refuse it or read it in another order.
pub fn encode(request: &Request, model: &Model, plan: &CachePlan) -> Result<Encoded, Error> {
    let fields = match model.provider() {
        Provider::Anthropic => anthropic::fields(&request.assembly, model, plan)?,
        Provider::OpenAi => openai::fields(&request.assembly, model, plan)?,
    };
    let mut draft = Body { fields, dropped: Vec::new(), strict: Vec::new() };
    if let Answering::Tools { tools, choice } = &request.answer {
        let is_possible = match choice {
            Choice::Auto => true,
            Choice::Any => !tools.is_empty(),
            Choice::One(name) => tools.iter().any(|tool| tool.name == *name),
        };
        if !is_possible {
            return Err(Error::NoSuchTool);
        }
    }
    if request.arrival == Arrival::Streamed {
        draft.set("stream", json!(true));
    }
    let (path, mut headers) = match model.provider() {
        Provider::Anthropic => anthropic::ask::answer(&mut draft, request, model),
        Provider::OpenAi => openai::ask::answer(&mut draft, request, model),
    };
    headers.push((CONTENT_TYPE.0, CONTENT_TYPE.1.to_owned()));
    let Body { fields, dropped, strict } = draft;
    Ok(Encoded { wire: WireRequest { path, headers, body: Value::Object(fields) }, dropped, strict })
}

/// The path of a provider's endpoint, and its headers beside the type of the content.
pub(crate) type Place = (&'static str, Vec<(&'static str, String)>);

/// A body in the making.
#[derive(Debug)]
pub(crate) struct Body {
    fields: Map<String, Value>,
    dropped: Vec<Dropped>,
    strict: Vec<String>,
}

impl Body {
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    pub(crate) fn drop(&mut self, path: &str, why: impl Into<String>) {
        self.dropped.push(Dropped { path: path.to_owned(), why: why.into() });
    }

    /// The schema as `target` takes it, or as it must be sent instead; what is dropped of it is
    /// listed behind `prefix`.
    pub(crate) fn schema(&mut self, tool: &Tool, target: Target, prefix: &str) -> (Value, Target) {
        let projection = project(&tool.schema, target);
        self.drop_all(projection.dropped, prefix);
        // A schema that is tried in another form after all counts in that.
        self.strict.retain(|name| *name != tool.name);
        if projection.target == Target::OpenAiStrict {
            self.strict.push(tool.name.clone());
        }
        (projection.schema, projection.target)
    }

    /// Lists what is dropped of a schema behind `prefix`.
    pub(crate) fn drop_all(&mut self, dropped: Vec<Dropped>, prefix: &str) {
        let behind = |one: Dropped| Dropped { path: format!("{prefix}{}", one.path), why: one.why };
        self.dropped.extend(dropped.into_iter().map(behind));
    }

    /// Sets the temperature that was asked for, as far as the model takes it.
    pub(crate) fn set_temperature(&mut self, request: &Request, model: &Model, most_percent: u16) {
        let Some(percent) = request.temperature_percent else { return };
        if model.quirks.contains(&Quirk::NoTemperature) {
            return self.drop("/temperature", format!("model `{}` takes none", model.name));
        }
        if percent > most_percent {
            self.drop("/temperature", format!("lowered to {most_percent} hundredths, the most that is taken"));
        }
        self.set("temperature", json!(f64::from(percent.min(most_percent)) / 100.0));
    }
}

/// The tools by name: their order is part of the prefix that a provider caches.
pub(crate) fn sorted(tools: &[Tool]) -> Vec<&Tool> {
    let mut tools: Vec<&Tool> = tools.iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// Who is asked, for messages.
#[derive(Debug, Clone, Copy)]
pub struct Names<'n> {
    /// What configuration calls the endpoint.
    pub endpoint: &'n str,
    /// The variable that holds its key, if it wants one.
    pub variable: Option<&'n str>,
    /// The model that was asked for.
    pub model: &'n str,
}

/// What an answer of another status than 200 says.
///
/// Providers differ in statuses more than in words for what is wrong, so both are read the same way
/// whoever answers: a proxy may stand in between anyway.
#[must_use]
pub fn refused(provider: Provider, head: &Head, body: &[u8], names: &Names<'_>) -> Failure {
    _ = provider;
    refused::refused(head, body, names)
}

#[cfg(test)]
mod tests;
