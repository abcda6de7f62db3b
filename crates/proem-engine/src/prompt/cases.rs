//! The case file of a prompt: inputs, what the request must look like, and what an answer should be.
//!
//! It is YAML beside the prompt, named by `proem.cases`. Reading it makes no request: `proem book test`
//! assembles each case's inputs and holds the result against [`Expect`]; a `kind` names the agent whose
//! rules make the inputs from [`Case::given`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value as Json;

use super::yaml;
use crate::assembly::Assembly;
use crate::error::{Error, ErrorKind};

/// The cases of a prompt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// Whose rules make the inputs, such as `risk/decision`; `None` if each case has its inputs.
    #[serde(default)]
    pub kind: Option<String>,
    /// The cases, in the file's order.
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is called; no two have the same name.
    pub name: String,
    /// The inputs, in a file without a kind.
    #[serde(default)]
    pub inputs: Option<Json>,
    /// What the kind's rules make the inputs from.
    #[serde(default)]
    pub given: Option<Json>,
    /// What must hold before anybody is asked.
    #[serde(default)]
    pub expect: Expect,
    /// What a model's answer should be.
    #[serde(default)]
    pub live: Option<Live>,
}

/// What must hold of a request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// What the kind's rules must say, by name.
    #[serde(default)]
    pub rules: BTreeMap<String, Json>,
    /// The most tokens of the request, the answer not counted.
    #[serde(default)]
    pub tokens: Option<usize>,
    /// What must and must not stand in sections.
    #[serde(default)]
    pub sections: BTreeMap<String, Words>,
    /// The SHA-256 of the request's text under a key of 32 zero bytes, in hexadecimal digits.
    #[serde(default)]
    pub hash: Option<String>,
}

/// Words of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Each of these stands in it.
    #[serde(default)]
    pub contains: Vec<String>,
    /// None of these does.
    #[serde(default)]
    pub absent: Vec<String>,
}

/// What an answer should be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Fields that it has, with their values; it may have others. Each item of a list is found somewhere
    /// in the answer's.
    pub answer: Json,
}

impl Cases {
    /// Reads a case file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with every problem: another form, no case, two of the same name, a case
    /// without what its inputs are made from.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidFile, problem);
        let root = yaml::parse(text, 0).map_err(|problem| invalid(problem.message))?;
        let root = root.ok_or_else(|| invalid("it is empty; it needs a list `cases`".to_owned()))?;
        let cases: Self = serde_json::from_value(root.to_json()).map_err(|e| invalid(e.to_string()))?;
        let mut problems = Vec::new();
        if cases.cases.is_empty() {
            problems.push("`cases` is empty; give one, or leave the file out".to_owned());
        }
        let mut names = BTreeSet::new();
        for case in &cases.cases {
            let name = &case.name;
            if !names.insert(name.as_str()) {
                problems.push(format!("two cases are called `{name}`; rename one"));
            }
            match (&cases.kind, &case.inputs, &case.given) {
                (None, Some(_), None) | (Some(_), None, Some(_)) => {}
                (None, ..) => problems.push(format!("case `{name}` needs `inputs` and, without a `kind`, no `given`")),
                (Some(_), ..) => problems.push(format!("case `{name}` needs `given` and, with a `kind`, no `inputs`")),
            }
            if cases.kind.is_none() && !case.expect.rules.is_empty() {
                problems.push(format!("case `{name}` expects `rules`, which only a `kind` has"));
            }
        }
        if problems.is_empty() { Ok(cases) } else { Err(Error::all(ErrorKind::InvalidFile, problems)) }
    }
}

impl Expect {
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
        self.tokens.is_some() || !self.sections.is_empty() || self.hash.is_some()
    }

    /// What does not hold of a request, in words; `hash` is that of its text.
    #[must_use]
    pub fn broken_request(&self, assembly: &Assembly, hash: &str) -> Vec<String> {
        let mut broken = Vec::new();
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

impl Live {
    /// Where an answer is not what it should be, as JSON pointers.
    #[must_use]
    pub fn differences(&self, answer: &Json) -> Vec<String> {
        let mut differences = Vec::new();
        differ(&self.answer, answer, String::new(), &mut differences);
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
