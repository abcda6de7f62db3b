//! The value in a response.

use proem_guard::Untrusted;
use serde_json::{Value as Json, json};

use super::feedback::Wrong;
use super::{Broken, Needed, Owed};
use crate::call::{Answering, Called, Content, Request, Response};
use crate::contract::Contract;
use crate::decode::{RepairKind, decode};

/// What a response holds.
#[derive(Debug)]
pub(super) enum Read {
    /// A value that meets the contract.
    Value { value: Untrusted<Json>, repairs: Vec<RepairKind> },
    /// Something else.
    Wrong { problems: Vec<Wrong>, repairs: Vec<RepairKind> },
    /// That the model won't answer.
    Refusal,
}

impl Read {
    fn wrong(rule: &str, expected: impl Into<String>, found: Option<Untrusted<String>>) -> Self {
        let broken = Broken { rule: rule.to_owned(), path: String::new(), expected: expected.into() };
        Self::Wrong { problems: vec![Wrong { broken, found }], repairs: Vec::new() }
    }
}

/// Reads a response as the request's answer.
pub(super) fn read(response: &Response, owed: Owed<'_>, request: &Request) -> Read {
    if response.content.iter().any(|content| matches!(content, Content::Refusal { .. })) {
        return Read::Refusal;
    }
    let text = text(response, request);
    let is_empty = text.measure(|text| text.trim().is_empty());
    let calls: Vec<&Called> = response.content.iter().filter_map(call).collect();
    match owed {
        Owed::Text if is_empty => Read::wrong("answer", "a text that is not empty", None),
        Owed::Text => Read::Value { value: text.map(Json::String), repairs: Vec::new() },
        Owed::Value(contract) => match calls.as_slice() {
            [] if is_empty => Read::wrong("answer", format!("one value of `{}`", contract.tool().name), None),
            [] => value(text, contract),
            calls => one_call(calls, contract, request),
        },
        Owed::Calls { needed: Needed::Some, .. } if calls.is_empty() => Read::wrong("tool", offered(request), None),
        Owed::Calls { .. } if calls.is_empty() && is_empty => {
            Read::wrong("answer", format!("a text, or {}", offered(request)), None)
        }
        Owed::Calls { tools, .. } => all_calls(&calls, tools, text, request),
    }
}

fn call(content: &Content) -> Option<&Called> {
    match content {
        Content::Call(called) => Some(called),
        _ => None,
    }
}

/// Everything that was written as text, under the request's label, whatever the pieces say.
fn text(response: &Response, request: &Request) -> Untrusted<String> {
    let empty = Untrusted::new(String::new(), request.label());
    let texts = response.content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text),
        _ => None,
    });
    Untrusted::join(&[&empty].into_iter().chain(texts).collect::<Vec<_>>(), "").0
}

/// The one value among calls that should be one.
fn one_call(calls: &[&Called], contract: &Contract, request: &Request) -> Read {
    let name = &contract.tool().name;
    if let Some(other) = calls.iter().find(|called| called.name.measure(|other| other != name)) {
        return Read::wrong("tool", offered(request), Some(other.name.clone()));
    }
    let [first, others @ ..] = calls else { return Read::wrong("tool", offered(request), None) };
    // The same call once more says nothing new.
    if others.iter().any(|other| other.arguments != first.arguments) {
        return Read::wrong("tool", format!("one call of `{name}`, found {}", calls.len()), None);
    }
    value(first.arguments.clone().map(or_empty), contract)
}

/// All calls, each against its own tool's contract.
fn all_calls(calls: &[&Called], tools: &[Contract], text: Untrusted<String>, request: &Request) -> Read {
    let (mut problems, mut repairs) = (Vec::new(), Vec::new());
    let mut values: Vec<(String, Untrusted<Json>)> = Vec::new();
    for (index, called) in calls.iter().enumerate() {
        let path = format!("/calls/{index}");
        let mut wrong = |rule: &str, expected: String, found| {
            let broken = Broken { rule: rule.to_owned(), path: path.clone(), expected };
            problems.push(Wrong { broken, found });
        };
        let Some(contract) = tools.iter().find(|tool| called.name.measure(|name| *name == tool.tool().name)) else {
            wrong("tool", offered(request), Some(called.name.clone()));
            continue;
        };
        match value(called.arguments.clone().map(or_empty), contract) {
            Read::Value { value, repairs: repaired } => {
                let name = contract.tool().name.clone();
                if values.iter().any(|(known, other)| *known == name && *other == value) {
                    wrong("tool", format!("each call once, found `{name}` twice with the same arguments"), None);
                }
                values.push((name, value));
                repairs.extend(repaired);
            }
            Read::Wrong { problems: inner, repairs: repaired } => {
                repairs.extend(repaired);
                for Wrong { broken, found } in inner {
                    problems.push(Wrong { broken: Broken { path: format!("{path}{}", broken.path), ..broken }, found });
                }
            }
            Read::Refusal => return Read::Refusal,
        }
    }
    if !problems.is_empty() {
        return Read::Wrong { problems, repairs };
    }
    let mut list = Vec::new();
    for (name, arguments) in values {
        _ = arguments.map(|arguments| list.push(json!({ "name": name, "arguments": arguments })));
    }
    Read::Value { value: text.map(|text| json!({ "calls": list, "text": text })), repairs }
}

/// The tools that a request offers, in our words.
pub(super) fn offered(request: &Request) -> String {
    let names: Vec<String> = request.answer.tools().iter().map(|tool| format!("`{}`", tool.name)).collect();
    match (&request.answer, names.as_slice()) {
        (Answering::Text, _) | (_, []) => "text, no call of a tool".to_owned(),
        (_, [name]) => format!("a call of {name}"),
        (_, names) => format!("calls of {}", names.join(", ")),
    }
}

/// No arguments at all are what some providers write for none.
fn or_empty(arguments: String) -> String {
    if arguments.trim().is_empty() { "{}".to_owned() } else { arguments }
}

fn value(text: Untrusted<String>, contract: &Contract) -> Read {
    let (mut repairs, mut unreadable) = (Vec::new(), None);
    let value = text.map(|text| match decode(&text, contract) {
        Ok(decoded) => {
            repairs = decoded.repairs.iter().map(|repair| repair.kind).collect();
            decoded.value
        }
        Err(why) => {
            unreadable = Some(why);
            Json::Null
        }
    });
    if let Some(why) = unreadable {
        return Read::wrong("json", format!("one JSON value ({})", why.in_words()), None);
    }
    if value.measure(|value| contract.accepts(value)) {
        return Read::Value { value, repairs };
    }
    let problems = contract.problems(&value).into_iter().map(|problem| Wrong {
        broken: Broken { rule: problem.rule, path: problem.path, expected: problem.expected },
        found: problem.found,
    });
    Read::Wrong { problems: problems.collect(), repairs }
}
