//! Runs sources and shows what becomes of them as text.

use proem_lisp::{Inputs, Limits, Machine, Meter, Names, Outcome, Problem, print_readable, resolve_source};
use std::sync::Arc;

/// A machine for a source, or its problems.
pub(crate) fn machine(source: &str, inputs: Inputs, limits: Limits) -> Result<Machine, Vec<Problem>> {
    let program = resolve_source(source, &Names::of_memory(&inputs.memory), &limits)?;
    Ok(Machine::new(Arc::new(program), inputs, limits))
}

/// A source's result with default limits.
pub(crate) fn run(source: &str) -> String {
    run_with(source, Inputs::default(), Limits::default())
}

/// A source's result, as text: the value, or the kind of its end with its message.
pub(crate) fn run_with(source: &str, inputs: Inputs, limits: Limits) -> String {
    match machine(source, inputs, limits) {
        Ok(mut machine) => outcome_text(&machine.run(u64::MAX)),
        Err(problems) => problems.iter().map(problem_text).collect::<Vec<_>>().join("\n"),
    }
}

pub(crate) fn outcome_text(outcome: &Outcome) -> String {
    let print = |value| print_readable(value, &mut Meter::unlimited()).unwrap();
    match outcome {
        Outcome::Done(value) => print(value),
        Outcome::Return(value) => format!("return {}", print(value)),
        Outcome::Fail(value) => format!("fail {}", print(value)),
        Outcome::OutOfFuel => String::from("out of fuel"),
        Outcome::CallTools(calls) => {
            let calls: Vec<String> =
                calls.iter().map(|call| format!("{}:{}{}", call.id.0, call.name, print(&call.args))).collect();
            format!("call {}", calls.join(" "))
        }
        Outcome::Error(problem) => problem_text(problem),
    }
}

pub(crate) fn problem_text(problem: &Problem) -> String {
    let help = problem.diagnostic.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{}: {}{help}", problem.reason.as_str(), problem.diagnostic.message)
}

/// Checks many sources against the values that they give.
#[track_caller]
pub(crate) fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(run(source), *expected, "{source}");
    }
}
