//! The checks that a case makes on an answer: one table, each over a text, a list of texts or a value.
//!
//! Invariants: a check that can't be decided does not hold. A check takes time linear in the answer, since patterns run
//! on an engine without backtracking and words are counted.

use std::collections::BTreeMap;

use proem_text::json;
use proem_text::words::search_words;
use serde_json::{Value as Json, json};

use crate::schema::compile_schema;

/// Every check with what it asks for, as documents list it.
pub const ANSWER_CHECKS: [(&str, &str); 12] = [
    ("equals", "the answer is this value"),
    ("not-equals", "the answer is another value"),
    ("contains", "one of the answer's texts contains this text, or each text of this list"),
    ("not-contains", "the answer's texts contain neither this text nor any text of this list"),
    ("contains-all", "one of the answer's texts contains each text of this list"),
    ("contains-any", "one of the answer's texts contains at least one text of this list"),
    ("regex", "this regular expression matches in one of the answer's texts"),
    ("not-regex", "this regular expression matches in none of the answer's texts"),
    ("similar", "one of the answer's texts shares `least` percent of its words with this text"),
    ("not-similar", "none of the answer's texts shares `least` percent of its words with this text"),
    ("json", "`true`: the answer is JSON; a schema: it is JSON that meets the schema"),
    ("not-json", "`true`: the answer is no JSON; a schema: it doesn't meet the schema"),
];

/// The share of words, in percent, that makes texts similar where a check names no other.
pub const SIMILAR_PERCENT: u8 = 75;

/// The most bytes of a regular expression.
pub const MAX_PATTERN_BYTES: usize = 1_000;

/// The value or rule that a check compares an answer with.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerRule {
    /// The answer is this value. Numbers are compared by value. A text equals the number or boolean that it writes.
    Equals(Json),
    /// Each of these is in one of its texts.
    ContainsAll(Vec<String>),
    /// One of these does at least.
    ContainsAny(Vec<String>),
    /// This regular expression (ECMA-262 without look-around and back references) matches in one of its texts.
    Regex(String),
    /// One of its texts shares so many percent of its words with this one: twice the words that both have, by the words
    /// of both (Sørensen 1948, Dice 1945), repeated words counted, in the form that search uses ([`search_words`]).
    Similar {
        /// The other text.
        text: String,
        /// The least share in percent.
        least: u8,
    },
    /// It is JSON that meets this schema.
    Json(Json),
}

/// Whether letters that differ only in their case are equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LetterCase {
    /// They are not.
    #[default]
    Kept,
    /// They are.
    Ignored,
}

/// Whether a rule has to hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RuleSense {
    /// It must hold.
    #[default]
    Holds,
    /// It must not.
    Fails,
}

/// One check of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerCheck {
    /// The value or rule that the answer is compared with.
    pub rule: AnswerRule,
    /// Whether that must hold.
    pub sense: RuleSense,
    /// Whether case counts.
    pub letter_case: LetterCase,
    /// The part of the answer that is looked at, as a JSON pointer. `None` looks at all of it.
    pub at: Option<String>,
}

impl AnswerCheck {
    /// A check of the whole answer that must hold.
    #[must_use]
    pub const fn of(rule: AnswerRule) -> Self {
        Self { rule, sense: RuleSense::Holds, letter_case: LetterCase::Kept, at: None }
    }

    /// The failed parts of an answer, in words. `None` if the check passes.
    #[must_use]
    pub fn difference(&self, answer: &Json) -> Option<String> {
        let place = self.at.as_deref().unwrap_or_default();
        let Some(part) = answer.pointer(place) else {
            return Some(format!("`{place}` is missing"));
        };
        let problem = match self.sense {
            RuleSense::Holds => self.lack(part),
            RuleSense::Fails => self.excess(part),
        };
        problem.map(|problem| if place.is_empty() { problem } else { format!("`{place}` {problem}") })
    }

    /// Why the rule does not hold.
    fn lack(&self, part: &Json) -> Option<String> {
        match &self.rule {
            AnswerRule::ContainsAll(wanted) => {
                let missing: Vec<&String> = wanted.iter().filter(|words| !self.has_text(part, words)).collect();
                (!missing.is_empty()).then(|| format!("lacks {}", quoted(missing, " and ")))
            }
            AnswerRule::ContainsAny(wanted) => (!wanted.iter().any(|words| self.has_text(part, words)))
                .then(|| format!("lacks {}", quoted(wanted, " or "))),
            AnswerRule::Similar { text, least } => {
                let most = texts_of(part).iter().map(|own| shared_percent(own, text)).max().unwrap_or(0);
                (most < *least).then(|| format!("is {most} % similar to `{text}`, expected at least {least} %"))
            }
            AnswerRule::Equals(_) | AnswerRule::Regex(_) | AnswerRule::Json(_) => {
                (!self.holds(part)).then(|| format!("does not {}", self.predicate()))
            }
        }
    }

    /// Why the rule holds that must not.
    fn excess(&self, part: &Json) -> Option<String> {
        match &self.rule {
            AnswerRule::ContainsAll(unwanted) | AnswerRule::ContainsAny(unwanted) => {
                let found: Vec<&String> = unwanted.iter().filter(|words| self.has_text(part, words)).collect();
                (!found.is_empty()).then(|| format!("has {}", quoted(found, " and ")))
            }
            AnswerRule::Similar { text, least } => {
                let most = texts_of(part).iter().map(|own| shared_percent(own, text)).max().unwrap_or(0);
                (most >= *least).then(|| format!("is {most} % similar to `{text}`, expected less than {least} %"))
            }
            // A pattern that can't be compiled is no proof that nothing matches.
            AnswerRule::Regex(pattern) if compile_pattern(pattern, self.letter_case).is_err() => {
                Some(format!("can't be held against `{pattern}`"))
            }
            AnswerRule::Equals(_) | AnswerRule::Regex(_) | AnswerRule::Json(_) => {
                self.holds(part).then(|| format!("does {}", self.predicate()))
            }
        }
    }

    fn holds(&self, part: &Json) -> bool {
        match &self.rule {
            AnswerRule::Equals(expected) => is_same(expected, part, self.letter_case),
            AnswerRule::Regex(pattern) => compile_pattern(pattern, self.letter_case).is_ok_and(|validator| {
                texts_of(part).iter().any(|text| validator.is_valid(&Json::from(text.as_str())))
            }),
            AnswerRule::Json(schema) => match part {
                Json::String(text) => serde_json::from_str(text).is_ok_and(|value| meets(schema, &value)),
                value => meets(schema, value),
            },
            AnswerRule::ContainsAll(_) | AnswerRule::ContainsAny(_) | AnswerRule::Similar { .. } => {
                self.lack(part).is_none()
            }
        }
    }

    fn has_text(&self, part: &Json, wanted: &str) -> bool {
        let fold = |text: &str| match self.letter_case {
            LetterCase::Kept => text.to_owned(),
            LetterCase::Ignored => text.to_lowercase(),
        };
        let wanted = fold(wanted);
        texts_of(part).iter().any(|text| fold(text).contains(&wanted))
    }

    /// Describes passing answers, as the end of a sentence about several of them.
    #[must_use]
    pub fn in_words(&self) -> String {
        let denial = if self.sense == RuleSense::Fails { "do not " } else { "" };
        let place = self.at.as_ref().map_or(String::new(), |at| format!(" at `{at}`"));
        format!("{denial}{}{place}", self.predicate())
    }

    fn predicate(&self) -> String {
        match &self.rule {
            AnswerRule::Equals(value) => format!("equal {}", json::compact(value)),
            AnswerRule::ContainsAll(texts) if self.sense == RuleSense::Holds => {
                format!("contain {}", quoted(texts, " and "))
            }
            AnswerRule::ContainsAll(texts) | AnswerRule::ContainsAny(texts) => {
                format!("contain {}", quoted(texts, " or "))
            }
            AnswerRule::Regex(pattern) => format!("match `{pattern}`"),
            AnswerRule::Similar { text, least } => format!("share {least} % of their words with `{text}`"),
            AnswerRule::Json(schema) if *schema == Json::Bool(true) => "parse as JSON".to_owned(),
            AnswerRule::Json(_) => "meet the schema of `json`".to_owned(),
        }
    }
}

fn quoted<'t>(texts: impl IntoIterator<Item = &'t String>, between: &str) -> String {
    texts.into_iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(between)
}

/// A regular expression as the validator of texts, whose engine takes time linear in a text.
///
/// # Errors
///
/// The compiled pattern, or the reason why it can't be compiled.
pub(super) fn compile_pattern(pattern: &str, letter_case: LetterCase) -> Result<jsonschema::Validator, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!("it has more than {MAX_PATTERN_BYTES} bytes; shorten it"));
    }
    let flags = if letter_case == LetterCase::Ignored { "(?i)" } else { "" };
    compile_schema(&json!({ "type": "string", "pattern": format!("{flags}{pattern}") }))
}

/// Whether a value meets a schema. A schema that can't be compiled is met by nothing.
fn meets(schema: &Json, value: &Json) -> bool {
    compile_schema(schema).is_ok_and(|validator| validator.is_valid(value))
}

/// All texts of a part of an answer, wherever they are. A part that is a number or a boolean is its own text.
fn texts_of(part: &Json) -> Vec<String> {
    match part {
        Json::Number(_) | Json::Bool(_) => vec![part.to_string()],
        _ => {
            let mut texts = Vec::new();
            collect_texts(part, &mut texts);
            texts
        }
    }
}

fn collect_texts(value: &Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) => texts.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Json::Object(fields) => fields.values().for_each(|field| collect_texts(field, texts)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn is_same(expected: &Json, found: &Json, letter_case: LetterCase) -> bool {
    match (expected, found) {
        (Json::String(expected), Json::String(found)) => {
            expected == found || (letter_case == LetterCase::Ignored && expected.to_lowercase() == found.to_lowercase())
        }
        // A table writes numbers and texts alike.
        (Json::String(expected), Json::Number(number)) => *expected == number.to_string().as_str(),
        (Json::String(expected), Json::Bool(value)) => expected.parse() == Ok(*value),
        (Json::Number(expected), Json::Number(found)) => expected == found || expected.as_f64() == found.as_f64(),
        (Json::Array(expected), Json::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| is_same(expected, found, letter_case))
        }
        (Json::Object(expected), Json::Object(found)) => {
            expected.len() == found.len()
                && expected
                    .iter()
                    .all(|(name, expected)| found.get(name).is_some_and(|found| is_same(expected, found, letter_case)))
        }
        _ => expected == found,
    }
}

/// The words that two texts share, in percent of the words of both. Two texts without words share all if they are
/// equal.
fn shared_percent(a: &str, b: &str) -> u8 {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut total, mut shared) = (0_usize, 0_usize);
    for word in search_words(a) {
        total = total.saturating_add(1);
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    for word in search_words(b) {
        total = total.saturating_add(1);
        if let Some(count) = counts.get_mut(&word).filter(|count| **count > 0) {
            *count = count.saturating_sub(1);
            shared = shared.saturating_add(2);
        }
    }
    let percent = shared.saturating_mul(100).checked_div(total);
    percent.map_or(if a == b { 100 } else { 0 }, |percent| u8::try_from(percent).unwrap_or(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: AnswerRule, answer: &Json, expected: Option<&str>) {
        assert_eq!(AnswerCheck::of(rule).difference(answer).as_deref(), expected);
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn each_rule_says_what_does_not_hold() {
        let answer = json!({ "notes": ["The bath opens at noon."], "hour": 12 });
        check(AnswerRule::ContainsAll(texts(&["bath", "noon"])), &answer, None);
        check(AnswerRule::ContainsAll(texts(&["Bath", "noon"])), &answer, Some("lacks `Bath`"));
        check(AnswerRule::ContainsAny(texts(&["midnight", "noon"])), &answer, None);
        check(AnswerRule::ContainsAny(texts(&["a.m.", "p.m."])), &answer, Some("lacks `a.m.` or `p.m.`"));
        check(AnswerRule::Regex("opens at (noon|[0-9]+)".to_owned()), &answer, None);
        check(AnswerRule::Regex("^noon".to_owned()), &answer, Some("does not match `^noon`"));
        check(AnswerRule::Equals(json!("noon")), &json!("noon"), None);
        check(AnswerRule::Equals(json!("noon")), &json!("Noon"), Some("does not equal \"noon\""));
        check(AnswerRule::Equals(json!({ "a": 1 })), &json!({ "a": 1.0 }), None);
        check(AnswerRule::Equals(json!({ "a": 1 })), &json!({ "a": 1, "b": 2 }), Some("does not equal {\"a\":1}"));
        check(AnswerRule::Json(json!(true)), &json!("{\"a\": 1}"), None);
        check(AnswerRule::Json(json!(true)), &json!("no {"), Some("does not parse as JSON"));
        check(AnswerRule::Json(json!({ "required": ["b"] })), &answer, Some("does not meet the schema of `json`"));
        let similar = |least| AnswerRule::Similar { text: "At noon the bath opens".to_owned(), least };
        check(similar(100), &answer, None);
        let other = json!("The bath closes at noon, and nobody knows why.");
        check(similar(75), &other, Some("is 57 % similar to `At noon the bath opens`, expected at least 75 %"));
    }

    #[test]
    fn a_check_looks_at_its_part_of_the_answer() {
        let answer = json!({ "hour": 12, "note": "noon" });
        let at = |rule, at: &str| AnswerCheck { at: Some(at.to_owned()), ..AnswerCheck::of(rule) };
        assert_eq!(at(AnswerRule::Equals(json!(12)), "/hour").difference(&answer), None);
        assert_eq!(at(AnswerRule::Regex("^1\\d$".to_owned()), "/hour").difference(&answer), None);
        assert_eq!(at(AnswerRule::Equals(json!(1)), "/hours").difference(&answer).unwrap(), "`/hours` is missing");
        let wrong = at(AnswerRule::ContainsAll(texts(&["x"])), "/note").difference(&answer);
        assert_eq!(wrong.unwrap(), "`/note` lacks `x`");
    }

    #[test]
    fn a_denied_rule_must_not_hold_and_case_can_be_ignored() {
        let deny = |rule, letter_case| AnswerCheck { sense: RuleSense::Fails, letter_case, ..AnswerCheck::of(rule) };
        let answer = json!("Noon");
        let cases = [
            (AnswerRule::ContainsAny(texts(&["noon", "x"])), LetterCase::Kept, None),
            (AnswerRule::ContainsAny(texts(&["noon", "x"])), LetterCase::Ignored, Some("has `noon`")),
            (AnswerRule::Regex("^noon$".to_owned()), LetterCase::Kept, None),
            (AnswerRule::Regex("^noon$".to_owned()), LetterCase::Ignored, Some("does match `^noon$`")),
            (AnswerRule::Equals(json!("noon")), LetterCase::Ignored, Some("does equal \"noon\"")),
            (AnswerRule::Json(json!(true)), LetterCase::Kept, None),
            // An invalid pattern proves nothing.
            (AnswerRule::Regex("(".to_owned()), LetterCase::Kept, Some("can't be held against `(`")),
        ];
        for (rule, letter_case, expected) in cases {
            assert_eq!(deny(rule.clone(), letter_case).difference(&answer).as_deref(), expected, "{rule:?}");
        }
    }

    #[test]
    fn a_pattern_is_bounded_and_takes_linear_time() {
        assert!(compile_pattern(&"a".repeat(1_001), LetterCase::Kept).is_err());
        assert!(compile_pattern("(?=a)b", LetterCase::Kept).is_err());
        assert!(compile_pattern("(a)\\1", LetterCase::Kept).is_err());
        assert!(compile_pattern("((a{1000}){1000}){1000}", LetterCase::Kept).is_err());
        // Exponential for an engine that backtracks.
        let check = AnswerCheck::of(AnswerRule::Regex("^(a+)+$".to_owned()));
        let text = format!("{}b", "a".repeat(50_000));
        assert!(check.difference(&json!(text)).is_some());
    }

    #[test]
    fn words_in_percent() {
        for (a, b, expected) in
            [("", "", 100), ("!", "?", 0), ("a b", "b a", 100), ("a a b", "a b b", 66), ("a", "b", 0), ("A", "a", 100)]
        {
            assert_eq!(shared_percent(a, b), expected, "{a:?} {b:?}");
        }
    }
}
