//! What is wrong with a result.

use std::collections::BTreeSet;

use super::{Completeness, Issue, Quality, Resulted, Status};
use crate::call::FailureKind;
use crate::run::{Because, Ended, Outcome};

/// The tags that are given here; each is in [`super::known_risks`].
pub(super) const EXECUTION_FAILED: &str = "execution_failed";
pub(super) const MISSING_OUTPUT: &str = "missing_output";
pub(super) const WARNINGS_PRESENT: &str = "warnings_present";
pub(super) const SCHEMA_FAILED: &str = "schema_failed";
pub(super) const REFUSED: &str = "refused";
pub(super) const CUT_OFF: &str = "cut_off";

/// What people and tools write where there is no warning.
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
/// A status other than success makes it low, partial and `execution_failed`; an output of nothing but
/// white space makes it partial and `missing_output`; a warning makes it `warnings_present`.
#[must_use]
pub fn evaluate(result: &Resulted<'_>) -> Issue {
    let mut risks = BTreeSet::new();
    let mut risk = |tag: &str, is_there: bool| {
        if is_there {
            risks.insert(tag.to_owned());
        }
        is_there
    };
    let failed = risk(EXECUTION_FAILED, result.status != Status::Success);
    let missing = risk(MISSING_OUTPUT, result.output.trim().is_empty());
    risk(WARNINGS_PRESENT, result.warnings.iter().any(|warning| is_warning(warning)));
    Issue {
        quality: if failed { Quality::Low } else { Quality::High },
        completeness: if failed || missing { Completeness::Partial } else { Completeness::Complete },
        risks,
    }
}

/// Whether a report of warnings reports one.
fn is_warning(text: &str) -> bool {
    let text = text.trim().trim_matches(|c: char| matches!(c, '.' | '!' | '-' | '(' | ')' | '[' | ']')).trim();
    let text = text.to_lowercase();
    !NO_WARNINGS.contains(&text.as_str())
}

/// Evaluates how an exchange ended; `None` where that says nothing about the prompt: nothing reached
/// the model, its provider failed, or a person stopped it.
#[must_use]
pub fn of_outcome(outcome: &Outcome) -> Option<Issue> {
    let because = match &outcome.ended {
        Ended::Answered { .. } => {
            return Some(evaluate(&Resulted { status: Status::Success, output: "value", warnings: &[] }));
        }
        Ended::FellBack { because, .. } | Ended::Failed { because } => because,
    };
    let tag = match because {
        Because::Refusal => REFUSED,
        Because::CutOff => CUT_OFF,
        Because::Invalid => SCHEMA_FAILED,
        Because::Failed(FailureKind::Cut) => CUT_OFF,
        Because::Failed(FailureKind::TooLarge | FailureKind::UnknownTool | FailureKind::TimedOut) => EXECUTION_FAILED,
        // What providers and networks do is nothing that another prompt would change.
        Because::Failed(_) | Because::Cancelled(_) => return None,
    };
    let mut issue = evaluate(&Resulted { status: Status::Other, output: "value", warnings: &[] });
    issue.risks.insert(tag.to_owned());
    Some(issue)
}
