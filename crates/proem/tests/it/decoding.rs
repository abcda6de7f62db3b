//! Values read from answers.

use proem::{ErrorKind, decode};
use serde_json::Value;

fn check(text: &str, expected: Result<(Value, usize), (ErrorKind, &str)>) {
    let schema = serde_json::json!({ "type": "object", "required": ["urgent"], "additionalProperties": false,
        "properties": { "urgent": { "type": "boolean" }, "title": { "type": "string" } } });
    match (decode(text, &schema), expected) {
        (Ok(decoded), Ok(expected)) => assert_eq!((decoded.value, decoded.repairs.len()), expected, "{text}"),
        (Err(error), Err((kind, words))) => {
            assert_eq!(error.kind(), kind, "{text}");
            assert!(error.to_string().contains(words), "{text}: {error}");
        }
        (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
    }
}

#[test]
fn reads_what_is_clear_and_refuses_the_rest() {
    let urgent = || serde_json::json!({ "urgent": true });
    check(r#"{"urgent": true}"#, Ok((urgent(), 0)));
    check("It is:\n```json\n{\"urgent\": true,}\n```", Ok((urgent(), 4)));
    check("", Err((ErrorKind::Negative, "the answer is empty")));
    check("No.", Err((ErrorKind::Negative, "there is no JSON value in the answer")));
    check(r#"{"urgent": "perhaps"}"#, Err((ErrorKind::Negative, "/urgent: expected")));
    check(r#"{"urgent": true, "title": "The ket"#, Err((ErrorKind::Negative, "`/title`, line 1: a text had no end")));
    check(r#"{"urgent": true"#, Err((ErrorKind::Negative, "the answer ended inside the value")));
    check(r#"{"urgent": true} or {"urgent": false}"#, Err((ErrorKind::Negative, "more than one way")));
}

#[test]
fn a_wrong_schema_is_the_callers_mistake() {
    let error = decode("{}", &serde_json::json!({ "type": "nonsense" })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
