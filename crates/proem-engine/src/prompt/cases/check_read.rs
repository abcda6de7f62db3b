//! Reading the checks of an answer, with every problem where it is.

use serde_json::Value as Json;

use super::check::compile_pattern;
use super::reader::{given_value, push_case_error};
use super::{ANSWER_CHECKS, AnswerCheck, AnswerRule, LetterCase, RuleSense, SIMILAR_PERCENT};
use crate::prompt::header::{Diagnostics, expect_map, expect_string, known_keys};
use crate::prompt::yaml::{YamlNode, YamlValue};
use crate::schema::compile_schema;

/// The keys of a check beside its rule.
const BESIDE: [&str; 3] = ["at", "ignore-case", "least"];

/// The most checks of one case.
const MAX_CHECKS: usize = 100;

/// Reads the list `checks`.
pub(super) fn read_checks(node: &YamlNode, problems: &mut Diagnostics) -> Vec<AnswerCheck> {
    let YamlValue::List(items) = &node.data else {
        push_case_error(problems, "live.checks is not a list; write `checks: [{ contains: \"…\" }]`", node.span);
        return Vec::new();
    };
    if items.is_empty() || items.len() > MAX_CHECKS {
        push_case_error(
            problems,
            format!("live.checks has {} checks; it takes 1 to {MAX_CHECKS}", items.len()),
            node.span,
        );
    }
    items.iter().filter_map(|item| read_check(item, problems)).collect()
}

fn read_check(node: &YamlNode, problems: &mut Diagnostics) -> Option<AnswerCheck> {
    let entries = expect_map(node, "a check", problems)?;
    let known: Vec<&str> = ANSWER_CHECKS.iter().map(|(word, _)| *word).chain(BESIDE).collect();
    known_keys(entries, &known, "a check", problems);
    let rules: Vec<&(crate::prompt::yaml::MappingKey, YamlNode)> =
        entries.iter().filter(|(key, _)| ANSWER_CHECKS.iter().any(|(word, _)| *word == key.name)).collect();
    let [(key, value)] = rules.as_slice() else {
        let has_unknown = entries.iter().any(|(key, _)| !known.contains(&key.name.as_str()));
        // A misspelt rule has been named already.
        if !has_unknown || !rules.is_empty() {
            push_case_error(problems, format!("a check has {} rules; it takes one", rules.len()), node.span);
        }
        return None;
    };
    let letter_case = match given_value(node, "ignore-case").map(YamlNode::to_json) {
        None | Some(Json::Bool(false)) => LetterCase::Kept,
        Some(Json::Bool(true)) => LetterCase::Ignored,
        Some(_) => {
            push_case_error(problems, "ignore-case is neither true nor false", given_value(node, "ignore-case")?.span);
            return None;
        }
    };
    let word = key.name.strip_prefix("not-");
    let sense = if word.is_some() { RuleSense::Fails } else { RuleSense::Holds };
    let at = match given_value(node, "at") {
        None => None,
        Some(at) => Some(read_pointer(at, problems)?),
    };
    let word = word.unwrap_or(&key.name);
    if word != "similar" && given_value(node, "least").is_some() {
        push_case_error(
            problems,
            format!("least belongs to `similar`, not to `{}`", key.name),
            given_value(node, "least")?.span,
        );
        return None;
    }
    let rule = match word {
        "equals" => AnswerRule::Equals(value.to_json()),
        "contains" | "contains-all" => AnswerRule::ContainsAll(text_or_texts(value, &key.name, problems)?),
        "contains-any" => AnswerRule::ContainsAny(text_or_texts(value, &key.name, problems)?),
        "regex" => read_pattern(value, letter_case, &key.name, problems)?,
        "similar" => read_similar(node, value, &key.name, problems)?,
        _ => read_schema(value, &key.name, problems)?,
    };
    if letter_case == LetterCase::Ignored && matches!(word, "json" | "similar") {
        push_case_error(problems, format!("ignore-case has no effect on `{}`; take it out", key.name), key.span);
        return None;
    }
    Some(AnswerCheck { rule, sense, letter_case, at })
}

fn read_pointer(node: &YamlNode, problems: &mut Diagnostics) -> Option<String> {
    let pointer = expect_string(node, "at", problems)?;
    if pointer.is_empty() || pointer.starts_with('/') {
        return Some(pointer);
    }
    push_case_error(problems, format!("at is not a JSON pointer; write `/{}`", pointer.replace('.', "/")), node.span);
    None
}

/// A text, or a list of them. None is blank, for every answer has it.
fn text_or_texts(node: &YamlNode, key: &str, problems: &mut Diagnostics) -> Option<Vec<String>> {
    let texts: Vec<String> = match &node.data {
        YamlValue::List(items) => items.iter().filter_map(|item| expect_string(item, key, problems)).collect(),
        _ => vec![expect_string(node, key, problems)?],
    };
    if texts.is_empty() || texts.iter().any(String::is_empty) {
        push_case_error(problems, format!("{key} has an empty text or none, so it checks nothing"), node.span);
        return None;
    }
    Some(texts)
}

fn read_pattern(node: &YamlNode, letter_case: LetterCase, key: &str, problems: &mut Diagnostics) -> Option<AnswerRule> {
    let pattern = expect_string(node, key, problems)?;
    match compile_pattern(&pattern, letter_case) {
        Ok(_) => Some(AnswerRule::Regex(pattern)),
        Err(why) => {
            push_case_error(problems, format!("{key} is no regular expression that can be used: {why}"), node.span);
            None
        }
    }
}

fn read_similar(check: &YamlNode, node: &YamlNode, key: &str, problems: &mut Diagnostics) -> Option<AnswerRule> {
    let text = expect_string(node, key, problems)?;
    let least = match given_value(check, "least") {
        None => SIMILAR_PERCENT,
        Some(node) => {
            let least = node.to_json().as_u64().and_then(|least| u8::try_from(least).ok());
            let Some(least) = least.filter(|least| (1..=100).contains(least)) else {
                push_case_error(problems, "least is not a whole number of percent from 1 to 100", node.span);
                return None;
            };
            least
        }
    };
    Some(AnswerRule::Similar { text, least })
}

fn read_schema(node: &YamlNode, key: &str, problems: &mut Diagnostics) -> Option<AnswerRule> {
    let schema = node.to_json();
    let problem = match &schema {
        Json::Bool(true) => return Some(AnswerRule::Json(schema)),
        Json::Object(_) => compile_schema(&schema).err(),
        _ => Some("write `true` or a JSON Schema".to_owned()),
    };
    match problem {
        None => Some(AnswerRule::Json(schema)),
        Some(why) => {
            push_case_error(problems, format!("{key} is no schema: {why}"), node.span);
            None
        }
    }
}
