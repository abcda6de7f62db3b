//! Agents one after the other: the result of one is the input of the next.
//!
//! Invariants: by their signatures, what can't fit is refused before anything is asked. A result keeps its labels, so that
//! the next agent trusts of it only what the user wrote.

use std::collections::BTreeMap;

use proem_agents::lisp::AgentDefinition;
use proem_agents::lisp::turns::record::{MissionEnd, StepFailure, reason};
use proem_engine::run::CallLabel;
use proem_lisp::{Limits, Signature, SignatureProblem, Value};
use proem_store::record::{RunCaller, RunId};

use super::mission::{MissionInput, MissionReport, PassedInputs};
use crate::error::Error;

/// The run that the next one of a chain names as its caller.
#[must_use]
pub fn chained_caller(run: &RunId) -> RunCaller {
    RunCaller { run: run.clone(), effect: RunCaller::CHAINED }
}

/// Whether the result of one agent can be the input of another, as far as their signatures say.
///
/// # Errors
///
/// With every input that the result can't give.
pub fn check_chain(before: &AgentDefinition, after: &AgentDefinition) -> Result<(), Error> {
    let result = before.signature.result_type();
    let problems = match fields_of(&result) {
        Some(fields) => after
            .signature
            .parameters()
            .filter_map(|name| {
                let wanted = after.signature.parameter_type(name).unwrap_or_default();
                match fields.get(name) {
                    Some(found) if may_fit(found, &wanted) => None,
                    Some(found) => Some(format!("`{name}` is {found} there and {wanted} here")),
                    None if wanted.ends_with('?') => None,
                    None => Some(format!("it has no `{name}`")),
                }
            })
            .collect(),
        None if matches!(result.trim_end_matches('?'), ":any" | ":map") => Vec::new(),
        None => vec!["it is no map".to_owned()],
    };
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the result of `{}`, {result}, can't be the input of `{}`: {}",
        before.name,
        after.name,
        problems.join("; ")
    )))
}

/// The fields of a type that is a map with known ones, each with its type.
fn fields_of(of: &str) -> Option<BTreeMap<String, String>> {
    let inner = of.trim_end_matches('?').strip_prefix('{')?.strip_suffix('}')?;
    let signature = Signature::parse(&format!("({inner})"), &Limits::default()).ok()?;
    let field = |name: &str| Some((name.to_owned(), signature.parameter_type(name)?));
    signature.parameters().map(field).collect()
}

/// Whether a value of one type may be one of another: only plain types that differ can't.
fn may_fit(found: &str, wanted: &str) -> bool {
    const PLAIN: [&str; 7] = [":string", ":int", ":float", ":number", ":bool", ":keyword", ":datetime"];
    let is_number = |of: &str| matches!(of, ":int" | ":float" | ":number");
    let is_word = |of: &str| matches!(of, ":string" | ":keyword" | ":datetime");
    let (found, wanted) = (found.trim_end_matches('?'), wanted.trim_end_matches('?'));
    let are_plain = PLAIN.contains(&found) && PLAIN.contains(&wanted);
    !are_plain || found == wanted || is_number(found) && is_number(wanted) || is_word(found) && is_word(wanted)
}

/// The first input of the next agent: the fields of a result that are its inputs, with their labels.
///
/// # Errors
///
/// All that its signature doesn't take.
pub fn chained_input(value: &Value, after: &AgentDefinition) -> Result<(MissionInput, PassedInputs), Error> {
    let spine = value.own_label();
    let inner = value.unlabelled();
    let (mut entries, mut passed) = (Vec::new(), PassedInputs::new());
    for name in after.signature.parameters() {
        let Some(field) = inner.field(name) else { continue };
        let label = CallLabel::from(&field.label().join(&spine));
        passed.insert(name.to_owned(), CallLabel { secret: false, ..label });
        entries.push((Value::text(name), field.without_labels()));
    }
    let refused = |problems: Vec<SignatureProblem>| {
        let lines: String =
            problems.iter().map(|problem| format!("\n  {}: expected {}", problem.path, problem.expected)).collect();
        Error::negative(format!("the result isn't what the signature of `{}` takes{lines}", after.name))
    };
    let coerced = after.signature.coerce_inputs(&Value::map(entries)).map_err(refused)?;
    let problems = after.signature.check_arguments(&coerced.value);
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    Ok((MissionInput { context: coerced.value, memory: Value::map([]) }, passed))
}

/// Why the next agent of a chain asks nothing. `None` if the one before it has a result.
#[must_use]
pub fn chained_failure(before: &str, report: &MissionReport) -> Option<StepFailure> {
    let (MissionEnd::Fail(failure) | MissionEnd::NoAnswer(failure)) = &report.outcome.end else { return None };
    let message = format!("`{before}` failed before it: {}: {}", failure.reason, failure.message);
    Some(StepFailure::new(reason::CHAINED_FAILURE, message))
}

#[cfg(test)]
mod tests {
    use proem_agents::lisp::parse_agent;

    use super::*;

    #[track_caller]
    fn check(result: &str, inputs: &str, expected: Result<(), &str>) {
        let agent = |name: &str, signature: String| {
            parse_agent("x.agent.toml", &format!("version = 1\nname = \"{name}\"\nsignature = \"{signature}\""))
                .unwrap()
        };
        let checked = check_chain(&agent("a", format!("() -> {result}")), &agent("b", format!("({inputs}) -> :any")));
        match (checked, expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{result} {inputs}: {found:?}"),
        }
    }

    #[test]
    fn a_result_that_can_not_be_the_next_input_is_refused_before_anything_is_asked() {
        check("{total :int, day :string}", "total :number, day :string", Ok(()));
        check(":any", "total :number", Ok(()));
        check("{total :int}", "total :int, note :string?", Ok(()));
        check("{total :int}", "day :string", Err("it has no `day`"));
        check("{total :string}", "total :int", Err("`total` is :string there and :int here"));
        check(":int", "total :int", Err("it is no map"));
        check("{items [{id :int}]}", "items [{id :int}]", Ok(()));
    }
}
