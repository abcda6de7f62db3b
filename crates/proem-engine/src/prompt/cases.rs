//! The case file of a prompt: inputs, what the request must look like, and what an answer should be.
//!
//! It is YAML or comma-separated values beside the prompt, named by `proem.cases`. Reading it makes no request: `proem
//! book test` assembles each case's inputs and holds the result against [`RequestExpectation`] or
//! [`AnswerExpectation`]. A `kind` names the agent whose rules make the inputs from [`Case::given`].

mod check;
mod check_read;
mod reader;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::call::Request;
use crate::error::Error;
use crate::ordered_json::OrderedJson;
use crate::report::{Report, SectionState};

pub use self::check::{
    ANSWER_CHECKS, AnswerCheck, AnswerRule, LetterCase, MAX_PATTERN_BYTES, RuleSense, SIMILAR_PERCENT,
};

/// The cases of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Cases {
    /// The kind whose rules make the inputs, such as `risk/decision`. `None` if each case has its inputs.
    pub kind: Option<String>,
    /// The cases, in the file's order.
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name. No two have the same.
    pub name: String,
    /// The inputs in their order, in a file without a kind.
    pub inputs: Option<OrderedJson>,
    /// The source from which the kind's rules make the inputs.
    pub given: Option<Json>,
    /// The expectations before any model is asked.
    pub expect: RequestExpectation,
    /// The expectations of a model's answer.
    pub live: Option<AnswerExpectation>,
}

/// The demands of a case on the request, before any model is called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestExpectation {
    /// The expected results of the kind's rules, by name.
    pub rules: BTreeMap<String, Json>,
    /// The most tokens of the request, the answer not counted.
    pub tokens: Option<usize>,
    /// The tools that the answer may call, by name. `None` doesn't look at them.
    pub tools: Option<Vec<String>>,
    /// The texts that sections must and must not contain.
    pub sections: BTreeMap<String, SectionExpectation>,
    /// The SHA-256 of the request's text under a key of 32 zero bytes, in hexadecimal digits.
    pub hash: Option<String>,
}

/// The expected contents of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionExpectation {
    /// Each of these is in it.
    pub contains: Vec<String>,
    /// None of these does.
    pub absent: Vec<String>,
    /// Its expected state after limits.
    pub state: Option<SectionState>,
}

/// The demands of a case on a model's answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerExpectation {
    /// Fields that it has, with their values. It may have others. Each item of a list is found somewhere in the
    /// answer's. Null says nothing of it.
    pub answer: Json,
    /// Further checks of it.
    pub checks: Vec<AnswerCheck>,
    /// Another prompt's verdict on it.
    pub judge: Option<JudgeExpectation>,
}

/// The verdict of a prompt of the book on an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeExpectation {
    /// The prompt that judges, `agent/name`. Its input `answer` is the answer, and inputs of the case with names of its
    /// own inputs are given to it.
    pub prompt: String,
    /// Inputs that only the judge gets, such as the rubric that it judges by.
    pub inputs: BTreeMap<String, Json>,
    /// The value of the field `verdict` in its answer: yes or no, or one of a closed list.
    pub verdict: Json,
    /// A second prompt that judges the same, and how often both agree is counted. Both then name their version.
    pub second: Option<String>,
}

impl JudgeExpectation {
    /// The prompts that judge. An answer passes if each gives the expected verdict.
    pub fn graders(&self) -> impl Iterator<Item = &str> {
        [self.prompt.as_str()].into_iter().chain(self.second.as_deref())
    }
}

impl Cases {
    /// Reads the cases of a prompt whose inputs have this schema: comma-separated values if the file's name ends with
    /// `.csv`, else YAML.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`](crate::ErrorKind::InvalidFile) with the place of every problem.
    pub fn for_inputs(name: &str, text: &str, schema: &Json) -> Result<Self, Error> {
        if name.ends_with(".csv") { table::parse_table(name, text, schema) } else { Self::parse(name, text) }
    }
}

impl RequestExpectation {
    /// The expectations that the rules do not meet, in words.
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

    /// The sections that limits leave in another state than expected, in words.
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

    /// The expectations that a request does not meet, in words. `hash` is that of its text.
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
    /// The places at which an answer differs from its expectation, as JSON pointers, and the checks it fails.
    #[must_use]
    pub fn differences(&self, answer: &Json) -> Vec<String> {
        let mut differences = Vec::new();
        if !self.answer.is_null() {
            differ(&self.answer, answer, String::new(), &mut differences);
        }
        differences.extend(self.checks.iter().filter_map(|check| check.difference(answer)));
        differences
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
