//! Assertions of promptfoo as checks of an answer.
//!
//! Source: <https://www.promptfoo.dev/docs/configuration/expected-outputs/>.

use proem_text::OrderedMap;

use super::super::document::{items, mapping_entries};
use super::super::source::{ImportReader, SourceFile};
use super::super::{ImportedExpectation, ImportedJudgement};
use super::PROGRAMS;
use crate::ordered_json::OrderedJson;
use crate::prompt::cases::{ANSWER_CHECKS, SIMILAR_PERCENT};
use crate::prompt::yaml::YamlNode;

/// Assertions that are programs.
const CODE: [&str; 5] = ["javascript", "python", "ruby", "webhook", "fn"];

/// The names of assertions here, and whether they ignore case: `(theirs, ours, ignores case)`.
const NAMES: [(&str, &str, bool); 9] = [
    ("equals", "equals", false),
    ("contains", "contains", false),
    ("icontains", "contains", true),
    ("contains-all", "contains-all", false),
    ("icontains-all", "contains-all", true),
    ("contains-any", "contains-any", false),
    ("icontains-any", "contains-any", true),
    ("regex", "regex", false),
    ("is-json", "json", false),
];

/// One assertion as a test or a row states it.
pub(super) struct Assertion<'a> {
    /// Its type, with `not-` if it is denied.
    pub(super) kind: &'a str,
    /// The value that it compares with.
    pub(super) value: Option<OrderedJson>,
    /// The least similarity, from 0 to 1.
    pub(super) threshold: Option<f64>,
    /// The place of its beginning.
    pub(super) at: usize,
}

/// Reads the list `assert` of a test.
///
/// One may be in `assertionTemplates` of the configuration, `root`, and be named by `$ref`.
pub(super) fn read_assertions(
    test: &YamlNode,
    root: &YamlNode,
    file: SourceFile<'_>,
    expected: &mut ImportedExpectation,
    reader: &mut ImportReader<'_>,
) {
    for node in items(test.get("assert")) {
        let at = node.span.start;
        let reference = node.get("$ref").and_then(YamlNode::as_str);
        let node = match reference.map(|reference| referred_node(root, reference)) {
            Some(None) => {
                let message = format!("`{}` is not there", reference.unwrap_or_default());
                reader.refuse(file, at, &message, "known: `#/assertionTemplates/NAME`");
                continue;
            }
            Some(Some(template)) => template,
            None => node,
        };
        for (key, value) in mapping_entries(Some(node)) {
            match key.name.as_str() {
                "type" | "value" | "threshold" => {}
                "transform" | "contextTransform" => {
                    reader.refuse(file, value.span.start, "`transform` is code, which is not imported", "take it out");
                }
                "metric" | "provider" => {
                    reader.leave_out(file, key.span.start, format!("`{}` of an assertion is left out", key.name));
                }
                other => {
                    reader.refuse_check(file, key.span.start, &format!("`{other}` of an assertion is not imported"));
                }
            }
        }
        let assertion = Assertion {
            kind: node.get("type").and_then(YamlNode::as_str).unwrap_or("none"),
            value: node.get("value").map(YamlNode::to_ordered),
            threshold: node.get("threshold").and_then(|node| node.to_json().as_f64()),
            at,
        };
        add_assertion(&assertion, file, expected, reader);
    }
}

/// The assertion that `#/assertionTemplates/NAME` means.
fn referred_node<'n>(root: &'n YamlNode, reference: &str) -> Option<&'n YamlNode> {
    root.get("assertionTemplates")?.get(reference.strip_prefix("#/assertionTemplates/")?)
}

/// Adds an assertion to what is expected. One that no check says is refused.
pub(super) fn add_assertion(
    assertion: &Assertion<'_>,
    file: SourceFile<'_>,
    expected: &mut ImportedExpectation,
    reader: &mut ImportReader<'_>,
) {
    let Assertion { kind, at, .. } = *assertion;
    let (bare, is_denied) = kind.strip_prefix("not-").map_or((kind, false), |bare| (bare, true));
    let text = match &assertion.value {
        Some(OrderedJson::Text(text)) => text.as_ref(),
        _ => "",
    };
    let is_program = text.starts_with("file://") && PROGRAMS.iter().any(|ending| text.contains(ending));
    if CODE.contains(&bare) || is_program {
        return refuse_code(kind, file, at, reader);
    }
    if assertion.threshold.is_some() && bare != "similar" && NAMES.iter().any(|(theirs, ..)| *theirs == bare) {
        return reader.refuse_check(file, at, &format!("the `threshold` of an assertion `{kind}` is not imported"));
    }
    if let Err(why) = read_check(assertion, bare, is_denied, expected) {
        reader.refuse_check(file, at, &format!("the assertion `{kind}` is not imported: {why}"));
    } else if bare == "similar" {
        let text =
            "`similar` counts the words that two texts share, and promptfoo compares embeddings: look at `least`";
        reader.leave_out(file, at, text);
    }
}

fn refuse_code(kind: &str, file: SourceFile<'_>, at: usize, reader: &mut ImportReader<'_>) {
    reader.refuse_check(file, at, &format!("the assertion `{kind}` is code, which is not imported"));
}

fn read_check(
    assertion: &Assertion<'_>,
    bare: &str,
    is_denied: bool,
    expected: &mut ImportedExpectation,
) -> Result<(), &'static str> {
    let mut check: OrderedMap<OrderedJson> = OrderedMap::default();
    if let Some(value) = &assertion.value
        && value.compact().contains("{{")
    {
        return Err("its value has a placeholder");
    }
    let named = NAMES.iter().find(|(theirs, ..)| *theirs == bare);
    let (rule, value) = match (bare, named) {
        ("equals", _) if !is_denied && expected.answer.is_none() => {
            expected.answer = Some(assertion.value.clone().ok_or("it has no value")?);
            return Ok(());
        }
        ("llm-rubric", _) => {
            if assertion.threshold.is_some() {
                return Err("a judge here says yes or no, and its `threshold` is about a score");
            }
            let rubric = assertion.value.as_ref().and_then(text_of).ok_or("its rubric is no text")?;
            return add_rubric(rubric, !is_denied, expected);
        }
        ("starts-with", _) => {
            let start = assertion.value.as_ref().and_then(text_of).ok_or("its value is no text")?;
            ("regex", OrderedJson::from(format!("^{}", escape_pattern(&start)).as_str()))
        }
        ("similar", _) => {
            let text = assertion.value.as_ref().and_then(text_of).ok_or("its value is no single text")?;
            ("similar", OrderedJson::from(text.as_str()))
        }
        ("is-json", _) => ("json", assertion.value.clone().unwrap_or(OrderedJson::Bool(true))),
        (_, Some((_, ours, _))) => (*ours, assertion_value(ours, assertion.value.as_ref())?),
        ("latency" | "cost", _) => return Err("`proem book experiment` compares latency and cost"),
        _ => return Err("no check says the same"),
    };
    let rule = match (is_denied, rule) {
        (false, rule) => rule.to_owned(),
        // Denied, promptfoo's `contains-all` holds if one of its texts is missing, which no check says.
        (true, "contains-all") => return Err("no check says the same"),
        (true, "contains-any") => "not-contains".to_owned(),
        (true, rule) => format!("not-{rule}"),
    };
    if !ANSWER_CHECKS.iter().any(|(word, _)| *word == rule) {
        return Err("no check says the same");
    }
    check.insert(rule.as_str(), value);
    if named.is_some_and(|(.., ignores_case)| *ignores_case) {
        check.insert("ignore-case", OrderedJson::Bool(true));
    }
    if let Some(threshold) = assertion.threshold.filter(|_| bare == "similar") {
        let wanted = threshold * 100.0;
        let least = (1..=100_u8).find(|percent| f64::from(*percent) >= wanted).unwrap_or(SIMILAR_PERCENT);
        check.insert("least", OrderedJson::from(serde_json::Value::from(least)));
    }
    expected.checks.push(check.into());
    Ok(())
}

/// The value of a check: a list for those that take one, which promptfoo also writes with commas.
fn assertion_value(rule: &str, value: Option<&OrderedJson>) -> Result<OrderedJson, &'static str> {
    let value = value.ok_or("it has no value")?;
    match (rule, value) {
        ("contains-all" | "contains-any", OrderedJson::Text(text)) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Ok(OrderedJson::List(parts.map(OrderedJson::from).collect::<Vec<_>>().into()))
        }
        ("contains-all" | "contains-any", OrderedJson::List(_)) | ("equals", _) => Ok(value.clone()),
        (_, value) => text_of(value).map(|text| OrderedJson::from(text.as_str())).ok_or("its value is no text"),
    }
}

/// Adds a rubric for a judge. Several that want the same verdict are judged together.
fn add_rubric(rubric: String, verdict: bool, expected: &mut ImportedExpectation) -> Result<(), &'static str> {
    match &mut expected.judgement {
        None => expected.judgement = Some(ImportedJudgement { rubric, verdict }),
        Some(other) if other.verdict == verdict => {
            other.rubric.push('\n');
            other.rubric.push_str(&rubric);
        }
        Some(_) => return Err("a case has one judge, which wants another verdict"),
    }
    Ok(())
}

fn text_of(value: &OrderedJson) -> Option<String> {
    match value {
        OrderedJson::Text(text) => Some(text.as_ref().to_owned()),
        OrderedJson::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A text as a regular expression that matches it alone.
fn escape_pattern(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// `contains: text`, `fn: code`, or the answer itself, as a field of a table holds it.
pub(super) fn add_field(
    field: &str,
    at: usize,
    file: SourceFile<'_>,
    expected: &mut ImportedExpectation,
    reader: &mut ImportReader<'_>,
) {
    if let Some(sign) =
        ["fn:", "eval:", "javascript:", "python:", "file://"].iter().find(|sign| field.starts_with(**sign))
    {
        return refuse_code(sign.split(':').next().unwrap_or(sign), file, at, reader);
    }
    let is_word = |kind: &str| {
        kind.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'(' | b')' | b'.' | b'0'..=b'9'))
    };
    let (kind, text) = match field.split_once(':').filter(|(kind, _)| is_word(kind)) {
        Some((kind, text)) => (kind, Some(text.trim())),
        None if matches!(field, "is-json" | "not-is-json") => (field, None),
        None => ("equals", Some(field)),
    };
    // `similar(0.8): text` names its threshold.
    let (kind, threshold) = match kind.split_once('(') {
        Some((kind, rest)) => (kind, rest.trim_end_matches(')').parse::<f64>().ok()),
        None => (kind, None),
    };
    let kind = if kind == "grade" { "llm-rubric" } else { kind };
    let value = text.filter(|text| !text.is_empty()).map(OrderedJson::from);
    add_assertion(&Assertion { kind, value, threshold, at }, file, expected, reader);
}
