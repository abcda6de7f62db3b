//! Reading a case file, with every problem where it is.

use std::collections::{BTreeMap, BTreeSet};

use proem_text::span::Span;
use serde_json::Value as Json;

use super::check_read::read_checks;
use super::{
    AnswerCheck, AnswerExpectation, AnswerRule, Case, Cases, JudgeExpectation, LetterCase, RequestExpectation,
    SectionExpectation,
};
use crate::error::{Error, error_at};
use crate::prompt::header::{Diagnostics, expect_map, expect_string, expect_word, known_keys};
use crate::prompt::yaml::{self, YamlNode, YamlValue};
use crate::report::SectionState;

impl Cases {
    /// Reads a case file. `name` is what problems call it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`](crate::ErrorKind::InvalidFile) with the place of every problem: another
    /// form, no case, two of the same name, a case without what its inputs are made from.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let mut problems = Diagnostics::new();
        let cases = match yaml::parse_yaml(text, 0) {
            Ok(Some(root)) => read_case_list(&root, &mut problems),
            Ok(None) => {
                problems.push(error_at("it is empty; it needs a list `cases`", Span::new(0, 0)));
                None
            }
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        match cases {
            Some(cases) if problems.is_empty() => Ok(cases),
            _ => {
                problems.sort_by_key(|problem| problem.span.map(|span| span.start));
                Err(Error::in_file(name, text, &problems))
            }
        }
    }
}

pub(super) fn push_case_error(problems: &mut Diagnostics, message: impl Into<String>, span: Span) {
    problems.push(error_at(message, span));
}

fn read_case_list(root: &YamlNode, problems: &mut Diagnostics) -> Option<Cases> {
    let entries = expect_map(root, "a case file", problems)?;
    known_keys(entries, &["kind", "cases"], "a case file", problems);
    let kind = given_value(root, "kind").and_then(|node| expect_string(node, "kind", problems));
    let Some(node) = root.get("cases") else {
        push_case_error(
            problems,
            "`cases` is missing; it is a list of cases",
            Span::new(root.span.start, root.span.start),
        );
        return None;
    };
    let YamlValue::List(items) = &node.data else {
        push_case_error(problems, "`cases` is not a list", node.span);
        return None;
    };
    if items.is_empty() {
        push_case_error(problems, "`cases` is empty; add a case, or remove the file", node.span);
    }
    let mut names = BTreeSet::new();
    let mut cases = Vec::new();
    for item in items {
        let Some(case) = read_case(item, kind.is_some(), problems) else { continue };
        if !names.insert(case.name.clone()) {
            push_case_error(
                problems,
                format!("two cases are called `{}`; rename one", case.name),
                key_span(item, "name"),
            );
        }
        cases.push(case);
    }
    Some(Cases { kind, cases })
}

fn read_case(node: &YamlNode, has_kind: bool, problems: &mut Diagnostics) -> Option<Case> {
    let entries = expect_map(node, "a case", problems)?;
    known_keys(entries, &["name", "inputs", "given", "expect", "live"], "a case", problems);
    let Some(name) = given_value(node, "name") else {
        push_case_error(problems, "a case has no `name`", node.span);
        return None;
    };
    let name = expect_string(name, "name", problems)?;
    let json = |key: &str| given_value(node, key).map(YamlNode::to_json);
    let case = Case {
        // JSON has no order. The file has.
        inputs: given_value(node, "inputs").map(YamlNode::to_ordered),
        given: json("given"),
        expect: node.get("expect").map(|node| expect(node, problems)).unwrap_or_default(),
        live: node.get("live").and_then(|node| live(node, problems)),
        name,
    };
    let name = &case.name;
    let wrong = match (has_kind, &case.inputs, &case.given) {
        (false, Some(_), None) | (true, None, Some(_)) => None,
        (false, ..) => Some("`inputs`, and no `given` because it has no `kind`"),
        (true, ..) => Some("`given`, and no `inputs` because it has a `kind`"),
    };
    if let Some(wanted) = wrong {
        push_case_error(problems, format!("case `{name}` needs {wanted}"), node.span);
    }
    if !has_kind && !case.expect.rules.is_empty() {
        let at = node.get("expect").map_or(node.span, |expect| key_span(expect, "rules"));
        push_case_error(problems, format!("case `{name}` expects `rules`, which needs a `kind`"), at);
    }
    Some(case)
}

fn expect(node: &YamlNode, problems: &mut Diagnostics) -> RequestExpectation {
    let Some(entries) = expect_map(node, "expect", problems) else { return RequestExpectation::default() };
    known_keys(entries, &["rules", "tokens", "tools", "sections", "hash"], "expect", problems);
    let tokens = given_value(node, "tokens").and_then(|node| {
        let tokens = node.to_json().as_u64().and_then(|tokens| usize::try_from(tokens).ok());
        if tokens.is_none() {
            push_case_error(problems, "expect.tokens is not a whole number of tokens", node.span);
        }
        tokens
    });
    let hash = given_value(node, "hash").and_then(|node| expect_string(node, "expect.hash", problems));
    let rules = given_value(node, "rules").and_then(|node| expect_map(node, "expect.rules", problems));
    let rules = rules.unwrap_or_default().iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect();
    let sections = given_value(node, "sections").and_then(|node| expect_map(node, "expect.sections", problems));
    let sections: BTreeMap<String, SectionExpectation> = sections
        .unwrap_or_default()
        .iter()
        .map(|(key, node)| (key.name.clone(), read_section_expectation(node, problems)))
        .collect();
    let tools = given_value(node, "tools").map(|_| read_text_list(node, "tools", problems));
    RequestExpectation { rules, tokens, tools, sections, hash }
}

fn read_section_expectation(node: &YamlNode, problems: &mut Diagnostics) -> SectionExpectation {
    let Some(entries) = expect_map(node, "what a section has", problems) else { return SectionExpectation::default() };
    known_keys(entries, &["contains", "absent", "state"], "what a section has", problems);
    let states = [SectionState::Kept, SectionState::Shrunk, SectionState::Dropped, SectionState::Empty];
    let words = states.map(|state| (state.as_str(), state));
    let state = given_value(node, "state").and_then(|node| expect_word(node, "state", &words, problems));
    SectionExpectation {
        contains: read_text_list(node, "contains", problems),
        absent: read_text_list(node, "absent", problems),
        state,
    }
}

fn read_text_list(node: &YamlNode, key: &str, problems: &mut Diagnostics) -> Vec<String> {
    let Some(node) = given_value(node, key) else { return Vec::new() };
    let YamlValue::List(items) = &node.data else {
        push_case_error(problems, format!("{key} is not a list of texts; write `{key}: [\"…\"]`"), node.span);
        return Vec::new();
    };
    items.iter().filter_map(|item| expect_string(item, key, problems)).collect()
}

fn live(node: &YamlNode, problems: &mut Diagnostics) -> Option<AnswerExpectation> {
    let entries = expect_map(node, "live", problems)?;
    known_keys(entries, &["answer", "contains", "checks", "judge"], "live", problems);
    let answer = node.get("answer").map(YamlNode::to_json);
    let mut checks: Vec<AnswerCheck> = Vec::new();
    let contained = read_text_list(node, "contains", problems);
    if !contained.is_empty() {
        let contains = AnswerCheck::of(AnswerRule::ContainsAll(contained));
        checks.push(AnswerCheck { letter_case: LetterCase::Ignored, ..contains });
    }
    let is_checked = given_value(node, "checks").is_some();
    checks.extend(given_value(node, "checks").map(|node| read_checks(node, problems)).unwrap_or_default());
    let is_judged = given_value(node, "judge").is_some();
    let judge = given_value(node, "judge").and_then(|node| read_judge(node, problems));
    if answer.is_none() && checks.is_empty() && !is_judged && !is_checked {
        push_case_error(problems, "live has none of `answer`, `contains`, `checks` and `judge`", node.span);
        return None;
    }
    Some(AnswerExpectation { answer: answer.unwrap_or_default(), checks, judge })
}

fn read_judge(node: &YamlNode, problems: &mut Diagnostics) -> Option<JudgeExpectation> {
    let entries = expect_map(node, "live.judge", problems)?;
    known_keys(entries, &["prompt", "verdict", "inputs", "second"], "live.judge", problems);
    let prompt = given_value(node, "prompt").and_then(|node| expect_string(node, "live.judge.prompt", problems));
    let verdict = given_value(node, "verdict")
        .map(YamlNode::to_json)
        .filter(|verdict| verdict.is_boolean() || verdict.is_string());
    if prompt.is_none() || verdict.is_none() {
        let needed = "live.judge needs `prompt`, a prompt of the book, and `verdict`, a text or a boolean";
        push_case_error(problems, needed, node.span);
    }
    let inputs = given_value(node, "inputs")
        .and_then(|node| expect_map(node, "live.judge.inputs", problems))
        .unwrap_or_default();
    let inputs = inputs.iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect();
    let second = given_value(node, "second").and_then(|node| expect_string(node, "live.judge.second", problems));
    let judge = JudgeExpectation { prompt: prompt?, verdict: verdict?, inputs, second };
    if judge.second.is_some() {
        let graders: Vec<&str> = judge.graders().collect();
        if let Some(loose) = graders.iter().find(|grader| !grader.contains('@')) {
            let message = format!("`{loose}` has no version; two graders are compared as `agent/name@version`");
            push_case_error(problems, message, node.span);
        }
        if graders.first() == graders.last() {
            push_case_error(problems, "live.judge.second is the first grader again; name another one", node.span);
        }
    }
    Some(judge)
}

/// A key's value, unless it is left empty.
pub(super) fn given_value<'n>(node: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
    node.get(key).filter(|node| node.data != YamlValue::Scalar(Json::Null))
}

/// The place of a key's value, or the whole.
fn key_span(node: &YamlNode, key: &str) -> Span {
    node.get(key).map_or(node.span, |node| node.span)
}
