//! Any text is a signature or refused with places in it. Its printed form reads back, and so does its JSON Schema.

use crate::lisp_source::LIMITS;
use proem_lisp::{Meter, Signature, Value, read_json, write_json};

/// Holds one input to the laws: a signature, or a JSON Schema, and behind a line of `---` a value as JSON.
pub fn feed(text: &str) {
    let (text, value) = text.split_once("\n---\n").unwrap_or((text, "{}"));
    let value = read_json(value, &mut Meter::new(LIMITS)).unwrap_or_default();
    if let Ok(schema) = read_json(text, &mut Meter::new(LIMITS)) {
        match Signature::of_schema("f", &schema, Some(&schema)) {
            Ok(read) => hold_signature(&read.signature, &value),
            Err(problems) => assert!(!problems.is_empty()),
        }
    }
    match Signature::parse(text, &LIMITS) {
        Ok(signature) => hold_signature(&signature, &value),
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                let span = problem.diagnostic.span.unwrap_or_default();
                assert!(text.get(span.start..span.end).is_some(), "{span:?} isn't in {text:?}");
            }
        }
    }
}

fn hold_signature(signature: &Signature, value: &Value) {
    let printed = signature.to_string();
    match Signature::parse(&printed, &proem_lisp::Limits { source_bytes: usize::MAX, nesting: 200, ..LIMITS }) {
        Ok(read) => assert_eq!(read.to_string(), printed),
        Err(problems) => panic!("{printed} doesn't read back: {problems:?}"),
    }
    for problem in signature.check_result(value).iter().chain(&signature.check_arguments(value)) {
        assert!(problem.found.as_ref().is_none_or(|found| found.len() <= 80), "{problem}");
    }
    if let Ok(corrected) = signature.coerce_inputs(value) {
        // A corrected input needs no correction. Only inputs that no parameter names are noted again.
        let again = signature.coerce_inputs(&corrected.value).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(again.value, corrected.value, "{printed}");
    }
    let schema = signature.parameters_schema();
    assert!(write_json(&schema.schema, &mut Meter::unlimited()).is_ok());
}
