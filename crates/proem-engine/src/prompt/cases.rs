//! The case file of a prompt: inputs, what the request must look like, and what an answer should be.
//!
//! It is YAML beside the prompt, named by `proem.cases`. Reading it makes no request: `proem book test`
//! assembles each case's inputs and holds the result against [`RequestExpectation`] or [`AnswerExpectation`]; a `kind` names the agent whose
//! rules make the inputs from [`Case::given`].

mod read;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::call::Request;
use crate::ordered::OrderedJson;
use crate::report::{Report, SectionState};

/// The cases of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Cases {
    /// Whose rules make the inputs, such as `risk/decision`; `None` if each case has its inputs.
    pub kind: Option<String>,
    /// The cases, in the file's order.
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What it is called; no two have the same name.
    pub name: String,
    /// The inputs in their order, in a file without a kind.
    pub inputs: Option<OrderedJson>,
    /// What the kind's rules make the inputs from.
    pub given: Option<Json>,
    /// What must hold before anybody is asked.
    pub expect: RequestExpectation,
    /// What a model's answer should be.
    pub live: Option<AnswerExpectation>,
}

/// What must hold of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestExpectation {
    /// What the kind's rules must say, by name.
    pub rules: BTreeMap<String, Json>,
    /// The most tokens of the request, the answer not counted.
    pub tokens: Option<usize>,
    /// The tools that the answer may call, by name; `None` doesn't look at them.
    pub tools: Option<Vec<String>>,
    /// What must and must not stand in sections.
    pub sections: BTreeMap<String, SectionExpectation>,
    /// The SHA-256 of the request's text under a key of 32 zero bytes, in hexadecimal digits.
    pub hash: Option<String>,
}

/// What a section holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionExpectation {
    /// Each of these stands in it.
    pub contains: Vec<String>,
    /// None of these does.
    pub absent: Vec<String>,
    /// What limits leave of it.
    pub state: Option<SectionState>,
}

/// What an answer should be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerExpectation {
    /// Fields that it has, with their values; it may have others. Each item of a list is found somewhere
    /// in the answer's. Null says nothing of it.
    pub answer: Json,
    /// Each of these stands in one of its texts, in upper or lower case.
    pub contains: Vec<String>,
    /// What another prompt says of it.
    pub judge: Option<JudgeExpectation>,
}

/// What a prompt of the book says of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeExpectation {
    /// The prompt that judges, `agent/name`; its input `answer` is the answer, and inputs of the case with names of its own
    /// inputs are given to it.
    pub prompt: String,
    /// The value of the field `verdict` in its answer: yes or no, or one of a closed list.
    pub verdict: Json,
}

impl RequestExpectation {
    /// What does not hold of the rules, in words.
    #[must_use]
    pub fn broken_rules(&self, rules: &BTreeMap<String, Json>) -> Vec<String> {
        let broken = self.rules.iter().filter(|(name, expected)| rules.get(*name) != Some(expected));
        let found = |name: &str| rules.get(name).map_or("nothing".to_owned(), Json::to_string);
        broken.map(|(name, expected)| format!("`{name}` is {}, expected {expected}", found(name))).collect()
    }

    /// Whether it speaks of a request at all.
    #[must_use]
    pub fn wants_request(&self) -> bool {
        self.tokens.is_some() || self.tools.is_some() || !self.sections.is_empty() || self.hash.is_some()
    }

    /// Which sections limits leave in another state than expected, in words.
    #[must_use]
    pub fn broken_states(&self, report: &Report) -> Vec<String> {
        let mut broken = Vec::new();
        for (name, section) in &self.sections {
            let Some(expected) = section.state else { continue };
            let found = report.sections.iter().find(|section| section.name == *name).map(|section| section.state);
            if found != Some(expected) {
                let found = found.map_or("not declared", SectionState::as_str);
                broken.push(format!("section `{name}` is {found}, expected {}", expected.as_str()));
            }
        }
        broken
    }

    /// What does not hold of a request, in words; `hash` is that of its text.
    #[must_use]
    pub fn broken_request(&self, request: &Request, hash: &str) -> Vec<String> {
        let (mut broken, assembly) = (Vec::new(), &request.assembly);
        if let Some(expected) = &self.tools {
            let found: BTreeSet<&str> = request.answer.tools().iter().map(|tool| tool.name.as_str()).collect();
            let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
            let missing = expected.difference(&found).map(|tool| format!("the tool `{tool}` is not offered"));
            broken.extend(missing);
            let unwanted = found.difference(&expected).map(|tool| format!("the tool `{tool}` is offered"));
            broken.extend(unwanted);
        }
        if let Some(most) = self.tokens.filter(|most| assembly.tokens() > *most) {
            broken.push(format!("the request has {} tokens, expected at most {most}", assembly.tokens()));
        }
        for (name, words) in &self.sections {
            let texts = assembly.sections.iter().filter(|section| section.name == *name);
            let text: String = texts.map(|section| section.text.as_str()).collect();
            let missing = words.contains.iter().filter(|words| !text.contains(words.as_str()));
            broken.extend(missing.map(|words| format!("section `{name}` lacks `{words}`")));
            let unwanted = words.absent.iter().filter(|words| text.contains(words.as_str()));
            broken.extend(unwanted.map(|words| format!("section `{name}` has `{words}`, which must be absent")));
        }
        if let Some(expected) = self.hash.as_ref().filter(|expected| expected.as_str() != hash) {
            broken.push(format!("the request's hash is {hash}, expected {expected}"));
        }
        broken
    }
}

impl AnswerExpectation {
    /// Where an answer is not what it should be, as JSON pointers, and which words it lacks.
    #[must_use]
    pub fn differences(&self, answer: &Json) -> Vec<String> {
        let mut differences = Vec::new();
        if !self.answer.is_null() {
            differ(&self.answer, answer, String::new(), &mut differences);
        }
        let mut texts = Vec::new();
        collect_answer_texts(answer, &mut texts);
        let lacks = |words: &&String| !texts.iter().any(|text| text.contains(&words.to_lowercase()));
        differences.extend(self.contains.iter().filter(lacks).map(|words| format!("lacks `{words}`")));
        differences
    }
}

/// All texts of an answer in lower case, wherever they stand.
fn collect_answer_texts(answer: &Json, texts: &mut Vec<String>) {
    match answer {
        Json::String(text) => texts.push(text.to_lowercase()),
        Json::Array(items) => items.iter().for_each(|item| collect_answer_texts(item, texts)),
        Json::Object(fields) => fields.values().for_each(|field| collect_answer_texts(field, texts)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn differ(expected: &Json, found: &Json, at: String, differences: &mut Vec<String>) {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            for (key, expected) in expected {
                differ(expected, found.get(key).unwrap_or(&Json::Null), format!("{at}/{key}"), differences);
            }
        }
        (Json::Array(expected), Json::Array(found)) => {
            for (index, expected) in expected.iter().enumerate() {
                let is_there = |found: &Json| {
                    let mut inner = Vec::new();
                    differ(expected, found, String::new(), &mut inner);
                    inner.is_empty()
                };
                if !found.iter().any(is_there) {
                    differences.push(format!("{at}/{index}"));
                }
            }
        }
        (Json::Number(expected), Json::Number(found)) if expected.as_f64() == found.as_f64() => {}
        _ if expected == found => {}
        _ => differences.push(if at.is_empty() { "/".to_owned() } else { at }),
    }
}

#[cfg(test)]
mod tests;
