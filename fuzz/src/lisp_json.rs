//! JSON is read or refused as another reader does it, within our limits; what is written is read again as the same value.

use crate::lisp_source::LIMITS;
use proem_lisp::{Meter, Reason, Value, print_readable, read_json, write_json};
use serde_json::Value as Json;

/// Holds one input to the laws.
pub fn feed(text: &str) {
    // The other reader knows no byte-order mark.
    let theirs = serde_json::from_str::<Json>(text.strip_prefix('\u{feff}').unwrap_or(text));
    match (read_json(text, &mut Meter::new(LIMITS)), theirs) {
        (Ok(ours), Ok(theirs)) => {
            hold_equal(&ours, &theirs, text);
            hold_written(&ours, text);
        }
        (Ok(ours), Err(error)) => panic!("{ours:?} is read of {text:?}, which is refused elsewhere: {error}"),
        (Err(problem), theirs) => {
            let span = problem.diagnostic.span.unwrap_or_default();
            assert!(text.get(span.start..span.end).is_some(), "{span:?} isn't in {text:?}");
            assert!(!problem.render("input.json", text).is_empty());
            // A name that is there twice is refused here alone. All else is a limit.
            let is_ours =
                problem.reason != Reason::ParseError || problem.diagnostic.message.ends_with("in this object twice");
            assert!(theirs.is_err() || is_ours, "{text:?} is refused here alone: {}", problem.diagnostic.message);
        }
    }
}

fn hold_equal(ours: &Value, theirs: &Json, text: &str) {
    match theirs {
        Json::Null => assert!(ours.is_nil(), "{text:?}"),
        Json::Bool(theirs) => assert_eq!(*ours, Value::bool(*theirs), "{text:?}"),
        Json::String(theirs) => assert_eq!(*ours, Value::text(theirs), "{text:?}"),
        Json::Number(theirs) => hold_equal_numbers(ours, theirs, text),
        Json::Array(theirs) => {
            assert_eq!(ours.elements().count(), theirs.len(), "{text:?}");
            ours.elements().zip(theirs).for_each(|(ours, theirs)| hold_equal(ours, theirs, text));
        }
        Json::Object(theirs) => {
            assert_eq!(ours.entries().count(), theirs.len(), "{text:?}");
            for (name, ours) in ours.entries() {
                let Some(theirs) = name.as_str().and_then(|name| theirs.get(name)) else {
                    panic!("{name:?} in {text:?}")
                };
                hold_equal(ours, theirs, text);
            }
        }
    }
}

/// Large integers are floats elsewhere, and those may be off by their last digit.
fn hold_equal_numbers(ours: &Value, theirs: &serde_json::Number, text: &str) {
    assert!(ours.is_number(), "{ours:?} of {text:?}");
    let printed = print_readable(ours, &mut Meter::unlimited()).unwrap_or_default();
    if let Some(theirs) = theirs.as_i64() {
        assert_eq!(printed, theirs.to_string(), "{text:?}");
        return;
    }
    let ours: f64 = printed.parse().unwrap_or(f64::NAN);
    let theirs = theirs.as_f64().unwrap_or(f64::NAN);
    let is_near = (ours - theirs).abs() <= theirs.abs() * 4.0 * f64::EPSILON + f64::MIN_POSITIVE;
    assert!(is_near, "{ours} and {theirs} of {text:?}");
}

fn hold_written(value: &Value, text: &str) {
    // Written text may be longer than what was read, so only the limits of writing are the usual ones.
    let Ok(written) = write_json(value, &mut Meter::unlimited()) else { panic!("{text:?} can't be written") };
    match read_json(&written, &mut Meter::unlimited()) {
        Ok(again) => assert_eq!(again, *value, "{text:?}"),
        Err(problem) => panic!("{written:?} isn't read again: {}", problem.diagnostic.message),
    }
}
