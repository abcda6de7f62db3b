//! The value in a response.

use proem_guard::Untrusted;
use serde_json::{Value as Json, json};

use super::feedback::AnswerDefect;
use super::{AnswerRequirement, BrokenRule, CallRequirement, FORMAT_SECTION};
use crate::call::{AnswerForm, Request, Response, ResponsePart, ToolCall, ToolChoice};
use crate::contract::{Contract, ToolContracts};
use crate::decode::{DecodeFailure, PlacedRepair, RepairKind, decode_value};

/// The reading of a response.
#[derive(Debug)]
pub(super) enum AnswerReading {
    /// A value that meets the contract.
    Value { value: Untrusted<Json>, repairs: Vec<PlacedRepair> },
    /// Something else.
    Wrong { problems: Vec<AnswerDefect>, repairs: Vec<PlacedRepair> },
    /// That the model won't answer.
    Refusal,
}

impl AnswerReading {
    fn wrong(rule: &str, expected: impl Into<String>, found: Option<Untrusted<String>>) -> Self {
        let broken = BrokenRule { rule: rule.to_owned(), path: String::new(), expected: expected.into() };
        Self::Wrong { problems: vec![AnswerDefect { broken, found }], repairs: Vec::new() }
    }
}

impl AnswerReading {
    /// The answer that the value means.
    fn into_answer(self, contract: &Contract) -> Self {
        match self {
            Self::Value { value, repairs } => {
                Self::Value { value: value.map(|value| contract.to_answer(value)), repairs }
            }
            other => other,
        }
    }

    /// The reading of an answer whose end nobody explained: a text may go on behind it, and so may a value that was
    /// closed for the model.
    pub(super) fn unless_cut(self) -> Self {
        match self {
            Self::Value { value, repairs }
                if repairs.iter().any(|repair| repair.kind == RepairKind::OpenEnd)
                    || value.measure(Json::is_string) =>
            {
                Self::wrong("answer", "a whole answer; the provider gave no known reason for its end", None)
            }
            other => other,
        }
    }
}

/// Reads a response as the request's answer. The form that the request shows is none, even where it meets the contract.
pub(super) fn read_answer(response: &Response, owed: AnswerRequirement<'_>, request: &Request) -> AnswerReading {
    let is_shown = request.assembly.sections.iter().any(|section| section.name == FORMAT_SECTION);
    match (read_any(response, owed, request), owed) {
        (AnswerReading::Value { value, .. }, AnswerRequirement::Value(contract))
            if is_shown && value.measure(|value| contract.is_form_copy(value)) =>
        {
            AnswerReading::wrong("json", format!("one JSON value ({})", DecodeFailure::Unfilled.in_words()), None)
        }
        (reading, _) => reading,
    }
}

fn read_any(response: &Response, owed: AnswerRequirement<'_>, request: &Request) -> AnswerReading {
    // A refusal outweighs the rest: a model that declines may have begun an answer.
    if response.content.iter().any(|content| matches!(content, ResponsePart::Refusal { .. })) {
        return AnswerReading::Refusal;
    }
    let text = response_text(response, request);
    let is_empty = text.measure(|text| text.trim().is_empty());
    let calls: Vec<&ToolCall> = response.content.iter().filter_map(tool_call_of_part).collect();
    match owed {
        AnswerRequirement::Text if is_empty => AnswerReading::wrong("answer", "a text that is not empty", None),
        AnswerRequirement::Text => AnswerReading::Value { value: text.map(Json::String), repairs: Vec::new() },
        AnswerRequirement::Value(contract) => match calls.as_slice() {
            [] if is_empty => AnswerReading::wrong("answer", format!("one value of `{}`", contract.tool().name), None),
            [] => text_answer(text, contract),
            calls => one_call(calls, contract, request).into_answer(contract),
        },
        AnswerRequirement::Calls { tools, .. } if matches!(request.answer, AnswerForm::Value { .. }) => {
            one_object(&calls, tools, text, request)
        }
        AnswerRequirement::Calls { needed: CallRequirement::Some, .. } if calls.is_empty() => {
            AnswerReading::wrong("tool", offered_tools(request), None)
        }
        AnswerRequirement::Calls { needed: CallRequirement::None, .. } if is_empty || !calls.is_empty() => {
            AnswerReading::wrong("answer", "a text, no call of a tool", None)
        }
        AnswerRequirement::Calls { .. } if calls.is_empty() && is_empty => {
            AnswerReading::wrong("answer", format!("a text, or {}", offered_tools(request)), None)
        }
        AnswerRequirement::Calls { tools, .. } => all_calls(&calls, tools, text, request),
    }
}

fn tool_call_of_part(content: &ResponsePart) -> Option<&ToolCall> {
    match content {
        ResponsePart::Call(called) => Some(called),
        _ => None,
    }
}

/// Everything that was written as text, under the request's label, whatever the pieces say.
fn response_text(response: &Response, request: &Request) -> Untrusted<String> {
    let texts = response.content.iter().filter_map(|content| match content {
        ResponsePart::Text { text } => Some(text),
        _ => None,
    });
    text_under_request_label(&texts.collect::<Vec<_>>(), request)
}

/// Texts of a response as one, under the request's label.
fn text_under_request_label(texts: &[&Untrusted<String>], request: &Request) -> Untrusted<String> {
    let empty = Untrusted::new(String::new(), request.label());
    Untrusted::join(&[&[&empty], texts].concat(), "").0
}

/// The one value in a text. A model that isn't held to an object may write an answer that is none as it is.
fn text_answer(text: Untrusted<String>, contract: &Contract) -> AnswerReading {
    let mut bare = None;
    text.measure(|text| bare = contract.bare_answer(text));
    match bare {
        Some(answer) => AnswerReading::Value { value: text.map(|_| answer), repairs: Vec::new() },
        None => decoded_answer(text, contract).into_answer(contract),
    }
}

/// The one value among calls that should be one.
fn one_call(calls: &[&ToolCall], contract: &Contract, request: &Request) -> AnswerReading {
    let name = &contract.tool().name;
    if let Some(other) = calls.iter().find(|called| called.name.measure(|other| other != name)) {
        return AnswerReading::wrong("tool", offered_tools(request), Some(other.name.clone()));
    }
    let [first, others @ ..] = calls else { return AnswerReading::wrong("tool", offered_tools(request), None) };
    // The same call once more says nothing new.
    if others.iter().any(|other| other.arguments != first.arguments) {
        return AnswerReading::wrong("tool", format!("one call of `{name}`, found {}", calls.len()), None);
    }
    decoded_answer(text_under_request_label(&[&first.arguments], request).map(or_empty), contract)
}

/// The calls in the one object that represents them.
fn one_object(calls: &[&ToolCall], tools: &ToolContracts, text: Untrusted<String>, request: &Request) -> AnswerReading {
    let is_empty = text.measure(|text| text.trim().is_empty());
    let reading = match calls {
        [] if is_empty => AnswerReading::wrong("answer", "one object of `calls`", None),
        [] => decoded_answer(text, tools.object()),
        calls => one_call(calls, tools.object(), request),
    };
    match reading {
        AnswerReading::Value { value, repairs } => AnswerReading::Value {
            value: value.map(|object| json!({ "calls": object.get("calls"), "text": "" })),
            repairs,
        },
        other => other,
    }
}

/// All calls, each against its own tool's contract.
fn all_calls(calls: &[&ToolCall], tools: &ToolContracts, text: Untrusted<String>, request: &Request) -> AnswerReading {
    let most = ToolContracts::MAX_CALLS;
    if calls.len() > most {
        return AnswerReading::wrong("answer", format!("at most {most} calls, found {}", calls.len()), None);
    }
    let (mut problems, mut repairs) = (Vec::new(), Vec::new());
    let mut values: Vec<(String, Untrusted<Json>)> = Vec::new();
    // All of them are read though one is wrong: the model is told everything at once, not one thing an attempt.
    for (index, called) in calls.iter().enumerate() {
        let path = format!("/calls/{index}");
        let mut wrong = |rule: &str, expected: String, found| {
            let broken = BrokenRule { rule: rule.to_owned(), path: path.clone(), expected };
            problems.push(AnswerDefect { broken, found });
        };
        let Some(contract) = tools
            .contracts()
            .iter()
            .find(|tool| called.name.measure(|name| *name == tool.tool().name) && tools.allows(&tool.tool().name))
        else {
            wrong("tool", offered_tools(request), Some(called.name.clone()));
            continue;
        };
        match decoded_answer(called.arguments.clone().map(or_empty), contract) {
            AnswerReading::Value { value, repairs: repaired } => {
                let name = contract.tool().name.clone();
                // The same call again would do twice what is likely meant once.
                if values.iter().any(|(known, other)| *known == name && *other == value) {
                    wrong("tool", format!("each call once, found `{name}` twice with the same arguments"), None);
                }
                values.push((name, value));
                repairs.extend(repairs_below(&path, repaired));
            }
            AnswerReading::Wrong { problems: inner, repairs: repaired } => {
                repairs.extend(repairs_below(&path, repaired));
                for AnswerDefect { broken, found } in inner {
                    problems.push(AnswerDefect {
                        broken: BrokenRule { path: format!("{path}{}", broken.path), ..broken },
                        found,
                    });
                }
            }
            AnswerReading::Refusal => return AnswerReading::Refusal,
        }
    }
    if !problems.is_empty() {
        return AnswerReading::Wrong { problems, repairs };
    }
    let mut list = Vec::new();
    for (name, arguments) in values {
        _ = arguments.map(|arguments| list.push(json!({ "name": name, "arguments": arguments })));
    }
    AnswerReading::Value { value: text.map(|text| json!({ "calls": list, "text": text })), repairs }
}

/// The tools that a request offers, in our words.
pub(super) fn offered_tools(request: &Request) -> String {
    let names: Vec<String> = request.answer.tools().iter().map(|tool| format!("`{}`", tool.name)).collect();
    match (&request.answer, names.as_slice()) {
        (AnswerForm::Text | AnswerForm::Tools { choice: ToolChoice::None, .. }, _) | (_, []) => {
            "text, no call of a tool".to_owned()
        }
        (AnswerForm::Tools { choice: ToolChoice::One(name), .. }, _) => format!("a call of `{name}`"),
        (_, [name]) => format!("a call of {name}"),
        (_, names) => format!("calls of {}", names.join(", ")),
    }
}

/// No arguments at all are what some providers write for none.
fn or_empty(arguments: String) -> String {
    if arguments.trim().is_empty() { "{}".to_owned() } else { arguments }
}

/// Repairs of a part as repairs of the whole.
fn repairs_below(path: &str, repairs: Vec<PlacedRepair>) -> impl Iterator<Item = PlacedRepair> {
    repairs.into_iter().map(move |repair| PlacedRepair { path: format!("{path}{}", repair.path), ..repair })
}

fn decoded_answer(text: Untrusted<String>, contract: &Contract) -> AnswerReading {
    let (mut repairs, mut unreadable) = (Vec::new(), None);
    let value = text.map(|text| match decode_value(&text, contract) {
        Ok(decoded) => {
            repairs = decoded.repairs.iter().map(PlacedRepair::from).collect();
            decoded.value
        }
        Err(why) => {
            unreadable = Some(why);
            Json::Null
        }
    });
    if let Some(why) = unreadable {
        return AnswerReading::wrong("json", format!("one JSON value ({})", why.in_words()), None);
    }
    if value.measure(|value| contract.accepts(value)) {
        let problems: Vec<AnswerDefect> = repairs.iter().filter_map(loss).collect();
        return match problems.as_slice() {
            [] => AnswerReading::Value { value, repairs },
            _ => AnswerReading::Wrong { problems, repairs },
        };
    }
    let problems = contract.problems(&value).into_iter().map(|problem| AnswerDefect {
        broken: BrokenRule { rule: problem.rule, path: problem.path, expected: problem.expected },
        found: problem.found,
    });
    AnswerReading::Wrong { problems: problems.collect(), repairs }
}

/// The defect of a value that meets its contract only because something was left out of it.
fn loss(repair: &PlacedRepair) -> Option<AnswerDefect> {
    let expected = match repair.kind {
        RepairKind::CutOff => "a whole value; the answer ends within it",
        kind if kind.is_loss() => "a value that can be read in one way only",
        _ => return None,
    };
    let broken = BrokenRule { rule: "json".to_owned(), path: repair.path.clone(), expected: expected.to_owned() };
    Some(AnswerDefect { broken, found: None })
}
