//! Any text is cleaned, read and run within its limits, or refused with places that are in it. The same in pieces as at
//! once.

use proem_lisp::{
    Inputs, Limits, Machine, Names, Outcome, ToolAnswer, Value, repair_delimiters, resolve_source, sanitise_source,
};
use std::sync::Arc;

/// Limits at which any input ends at once.
pub(crate) const LIMITS: Limits = Limits {
    source_bytes: 8 << 10,
    nesting: 60,
    digits: 60,
    short_function_arity: 20,
    fuel: 50_000,
    bytes: 1 << 20,
    collection_size: 5_000,
    output_bytes: 4_000,
    tool_calls: 8,
    regex_steps: 100_000,
    parallel_branches: 8,
    memory_bytes: 1 << 18,
};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let clean = sanitise_source(text);
    assert_eq!(sanitise_source(&clean.text).text, clean.text);
    assert_eq!(clean.map.view_len(), clean.text.len());
    if let Some(repair) = repair_delimiters(&clean.text, &LIMITS) {
        assert!(repair_delimiters(&repair.text, &LIMITS).is_none(), "{text:?} is repaired twice");
        assert!(!repair.changes.is_empty());
    }
    match resolve_source(&clean.text, &Names::default(), &LIMITS) {
        Ok(program) => hold_machine(Arc::new(program)),
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                let span = problem.diagnostic.span.unwrap_or_default();
                assert!(clean.text.get(span.start..span.end).is_some(), "{span:?} isn't in {text:?}");
                assert!(!problem.render("program", &clean.text).is_empty());
            }
        }
    }
}

/// Runs a program at once and in pieces.
pub(crate) fn hold_machine(program: Arc<proem_lisp::Program>) {
    let whole = run_in_pieces(Arc::clone(&program), u64::MAX);
    assert_eq!(run_in_pieces(program, 7), whole);
}

fn run_in_pieces(program: Arc<proem_lisp::Program>, piece: u64) -> (String, u64, usize) {
    let mut machine = Machine::new(program, Inputs::default(), LIMITS);
    loop {
        match machine.run(piece) {
            Outcome::OutOfFuel => {}
            Outcome::CallTools(calls) => {
                for call in calls {
                    machine.answer(call.id, ToolAnswer::Value(Value::vector(vec![call.args, Value::Nil])));
                }
            }
            end => {
                let shown = format!("{end:?}");
                return (shown, machine.fuel_used(), machine.bytes_used());
            }
        }
    }
}
