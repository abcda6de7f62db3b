//! The problem of a result.

use std::collections::BTreeSet;

use proem_guard::Untrusted;
use serde_json::Value as Json;

use super::{Completeness, Issue, Judgement, Quality, ResultExcerpt, ResultStatus};
use crate::call::{FailureKind, Response, ResponsePart};
use crate::run::{ExchangeEnd, FallbackReason, Outcome};

/// The tags that are given here. Each is in [`super::known_risks`].
pub(super) const EXECUTION_FAILED: &str = "execution_failed";
pub(super) const MISSING_OUTPUT: &str = "missing_output";
pub(super) const WARNINGS_PRESENT: &str = "warnings_present";
pub(super) const SCHEMA_FAILED: &str = "schema_failed";
pub(super) const REFUSED: &str = "refused";
pub(super) const CUT_OFF: &str = "cut_off";

/// The field of an answer in which it reports warnings.
const WARNINGS: &str = "warnings";

/// The words that people and tools write when there is no warning.
const NO_WARNINGS: [&str; 14] = [
    "",
    "0 warnings",
    "n/a",
    "nil",
    "no",
    "no warning",
    "no warnings",
    "no warnings found",
    "no warnings reported",
    "none",
    "none found",
    "none reported",
    "null",
    "without warnings",
];

/// Evaluates a result.
///
/// A status other than success makes it low, partial and `execution_failed`. An output of nothing but white space makes
/// it partial and `missing_output`. A warning makes it `warnings_present`.
#[must_use]
pub fn evaluate_result(result: &ResultExcerpt<'_>) -> Issue {
    let found = [
        (EXECUTION_FAILED, result.status != ResultStatus::Success),
        (MISSING_OUTPUT, is_blank_text(result.output)),
        (WARNINGS_PRESENT, result.warnings.iter().any(|warning| is_warning(warning))),
    ];
    issue(found)
}

/// The issue that these findings amount to.
fn issue(found: [(&str, bool); 3]) -> Issue {
    let [(_, failed), (_, missing), _] = found;
    let risks: BTreeSet<String> =
        found.into_iter().filter(|(_, is_there)| *is_there).map(|(tag, _)| tag.to_owned()).collect();
    Issue {
        quality: if failed { Quality::Low } else { Quality::High },
        completeness: if failed || missing { Completeness::Partial } else { Completeness::Complete },
        risks,
    }
}

fn is_blank_text(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether a report of warnings reports one.
fn is_warning(text: &str) -> bool {
    let text = text.trim().trim_matches(|c: char| matches!(c, '.' | '!' | '-' | '(' | ')' | '[' | ']')).trim();
    let text = text.to_lowercase();
    !NO_WARNINGS.contains(&text.as_str())
}

/// Evaluates how an exchange ended. `None` where no answer came back, which says nothing about the prompt: a connection
/// broke, a limit or a budget was reached, the time was up, something is configured wrongly, or a person stopped it.
///
/// An answer that did not meet its contract also has a tag for each part that the contract can name. An answer whose value
/// is blank is `missing_output`, and one that reports a warning in its field `warnings` is
/// `warnings_present`.
#[must_use]
pub fn of_outcome(outcome: &Outcome) -> Option<Issue> {
    let because = match &outcome.ended {
        ExchangeEnd::Answered { value } => return Some(of_value(value)),
        ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => because,
    };
    let tag = match because {
        FallbackReason::Refusal => REFUSED,
        FallbackReason::CutOff => CUT_OFF,
        FallbackReason::Invalid => SCHEMA_FAILED,
        FallbackReason::Failed(FailureKind::UnknownTool) => EXECUTION_FAILED,
        FallbackReason::Failed(_) | FallbackReason::Cancelled(_) | FallbackReason::Program => return None,
    };
    let answer = outcome.attempts.last().and_then(|attempt| attempt.response.as_ref());
    let missing = answer.is_some_and(says_nothing);
    let mut issue = issue([(EXECUTION_FAILED, true), (MISSING_OUTPUT, missing), (WARNINGS_PRESENT, false)]);
    issue.risks.insert(tag.to_owned());
    if *because == FallbackReason::Invalid {
        let last = outcome.attempts.last().map(|attempt| attempt.problems.as_slice()).unwrap_or_default();
        issue.risks.extend(super::parts::broken_part_tags(last));
    }
    Some(issue)
}

/// Evaluates what a person says of a result. The person's words are no part of it.
#[must_use]
pub fn of_judgement(judgement: Judgement) -> Issue {
    let quality = match judgement {
        Judgement::Good => Quality::High,
        Judgement::Bad => Quality::Low,
    };
    Issue { quality, completeness: Completeness::Complete, risks: BTreeSet::new() }
}

/// Evaluates a value that met its contract.
fn of_value(value: &Untrusted<Json>) -> Issue {
    let missing = value.measure(|value| match value {
        Json::Null => true,
        Json::String(text) => is_blank_text(text),
        _ => false,
    });
    let warned = value.measure(|value| value.get(WARNINGS).is_some_and(warns));
    issue([(EXECUTION_FAILED, false), (MISSING_OUTPUT, missing), (WARNINGS_PRESENT, warned)])
}

/// Whether what is in the field `warnings` reports one.
fn warns(warnings: &Json) -> bool {
    match warnings {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => is_warning(text),
        Json::Array(items) => items.iter().any(warns),
        Json::Object(fields) => !fields.is_empty(),
        Json::Number(count) => count.as_f64() != Some(0.0),
        Json::Bool(true) => true,
    }
}

/// Whether a model wrote nothing but white space.
fn says_nothing(response: &Response) -> bool {
    response.content.iter().all(|content| match content {
        ResponsePart::Text { text } | ResponsePart::Refusal { text } => text.measure(|text| is_blank_text(text)),
        ResponsePart::Call(_) => false,
        ResponsePart::Other { .. } => true,
    })
}
