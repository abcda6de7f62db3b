//! Answers with more than one reading: each is read as it was meant, or the model is asked again.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::contract::Contract;
use proem_engine::decode::decode_value;
use serde_json::{Value as Json, json};

/// Reads each input against an object with these properties, of which those in `required` must be there.
fn check_all(properties: &Json, required: &[&str], cases: &[(&str, &str)]) {
    let schema =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let contract = Contract::bounded("answer", "", schema).unwrap().0;
    let wrong: Vec<String> = cases
        .iter()
        .map(|(input, expected)| {
            let found = match decode_value(input, &contract) {
                Ok(decoded) if contract.accepts(&decoded.value) => decoded.value.to_string(),
                Ok(decoded) => format!("! refused {}", decoded.value),
                Err(failure) => format!("! {}", failure.as_str()),
            };
            (input, expected, found)
        })
        .filter(|(_, expected, found)| *expected != found)
        .map(|(input, expected, found)| format!("{input:?}\n  expected {expected}\n  found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn an_example_or_a_quotation_never_replaces_the_answer() {
    check_all(
        &json!({"title": {"type": "string"}}),
        &["title"],
        &[
            ("{\"title\": \"mine\"}\n\nThe shape is {\"title\": \"<title>\"}.", r#"{"title":"mine"}"#),
            ("{\"title\": \"mine\"}\n\nTemplate:\n{\"title\": \"...\"}", r#"{"title":"mine"}"#),
            ("{\"title\": \"mine\"}\nThe report contained {\"title\": \"theirs\"}, which I left alone.", "! ambiguous"),
            ("{\"title\": \"mine\"}\n\nFor example: {\"title\": \"Other\"}", "! ambiguous"),
            ("The report says {\"title\": \"theirs\"}.\n\n```json\n{\"title\": \"mine\"}\n```", r#"{"title":"mine"}"#),
            ("{\"title\": \"draft\"}\nCorrected: {\"title\": \"mine\"}", r#"{"title":"mine"}"#),
            ("{\"title\": \"draft\"}\nNein, besser: {\"title\": \"mine\"}", r#"{"title":"mine"}"#),
            ("{\"title\": \"mine\"} and once more {\"title\": \"mine\"}", r#"{"title":"mine"}"#),
            ("{\"title\": \"<b>\"}", r#"{"title":"<b>"}"#),
        ],
    );
}

#[test]
fn a_damaged_answer_is_not_replaced_by_a_draft() {
    check_all(
        &json!({"title": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}),
        &["title"],
        &[
            (
                "<think>Maybe {\"title\": \"draft\"}.</think>\n{\"title\": \"mine\", \"tags\": [\"x\", }",
                r#"{"tags":["x"],"title":"mine"}"#,
            ),
            ("<think>Maybe {\"title\": \"draft\"}.</think>\n{\"title\": ", "! refused {}"),
            ("<think>Maybe {\"title\": \"draft\"}.</think>\nI can't say.", "! no-value"),
            ("<think>Maybe {\"title\": \"draft\"} or", "! no-value"),
            ("<THINK>Perhaps {\"title\": \"dra</THINK>{\"title\": \"mine\"}", r#"{"title":"mine"}"#),
            ("Maybe {\"title\": \"draft\"}.</think>\n{\"title\": \"mine\"}", r#"{"title":"mine"}"#),
            ("Sure: {\"title\": \"about <think> and </think>\"}", r#"{"title":"about <think> and </think>"}"#),
            ("It says {\"title\": \"theirs\"}. I say {\"title\": \"mine", r#"{"title":"mine"}"#),
            ("It says {\"title\": \"theirs\"}. I say {\"title\": NaN}", "! refused {}"),
            ("It says {\"title\": \"theirs\"}. I say {\"title\": \"mine, \"tags\": [\"x\"]}", "! ambiguous"),
        ],
    );
}

#[test]
fn structure_behind_an_early_end_is_no_prose() {
    check_all(
        &json!({"items": {"type": "array", "items": {"type": ["object", "string"], "properties": {"k": {"type": "string"}}}}, "count": {"type": "integer"}, "k": {"type": "string"}}),
        &[],
        &[
            ("{\"items\": [{\"k\": \"a\"}]},\n{\"k\": \"b\"}]}", "! ambiguous"),
            ("{\"items\": [{\"k\": \"a\"}]}\n{\"k\": \"b\"}]}", "! ambiguous"),
            ("{\"items\": [{\"k\": \"a\"}], {\"k\": \"b\"}]}", "! ambiguous"),
            ("{\"items\": [\"a\"], \"b\"]}", "! ambiguous"),
            ("{\"items\": [\"a\"]}, \"count\": 2}", "! ambiguous"),
            ("{\"items\": [\"a\"]}}\n\"count\": 2}", "! ambiguous"),
            ("{\"items\": [\"a\"]}, {\"items\": [\"b\"]}", "! ambiguous"),
            ("{\"items\": [\"a\"]}}", r#"{"items":["a"]}"#),
            ("{\"items\": [\"a\"]},", r#"{"items":["a"]}"#),
            ("{\"items\": [\"a\"]}, as you asked", r#"{"items":["a"]}"#),
        ],
    );
}

#[test]
fn a_text_without_its_closing_quote_swallows_nothing() {
    check_all(
        &json!({"from": {"type": "string"}, "to": {"type": "string"}, "list": {"type": "array", "items": {"type": ["object", "string"], "properties": {"from": {"type": "string"}}}}}),
        &[],
        &[
            ("{\"list\": [{\"from\": \"0\", \"to\": \"10},\n{\"from\": \"11\", \"to\": \"23\"}]}", "! ambiguous"),
            ("{\"from\": \"a, \"to\": \"b\"}", "! ambiguous"),
            ("{\"from\": \"a\n\"to\": \"b\"}", "! ambiguous"),
            ("{\"list\": [\"a, \"b\", \"c\"]}", "! ambiguous"),
            ("{\"list\": [\"a, \"b\"]}", "! ambiguous"),
            ("{\"list\": [\"a\", \"b]}", "! ambiguous"),
            ("{\"from: \"a\", \"to\": \"b\"}", "! no-value"),
            ("{\"from\": \"a}", "! ambiguous"),
            ("{\"from\": \"a 5\" pipe\"}", r#"{"from":"a 5\" pipe"}"#),
            ("{\"from\": \"he said, \"hi\" and left\"}", r#"{"from":"he said, \"hi\" and left"}"#),
        ],
    );
}

#[test]
fn the_backslashes_of_one_text_have_one_meaning() {
    check_all(
        &json!({"f": {"type": "string"}}),
        &["f"],
        &[
            (r#"{"f": "\alpha = \frac{1}{2} \times \beta"}"#, r#"{"f":"\\alpha = \\frac{1}{2} \\times \\beta"}"#),
            (r#"{"f": "\\alpha = \frac{1}{2}"}"#, r#"{"f":"\\alpha = \\frac{1}{2}"}"#),
            (r#"{"f": "\sum_{i} \nu_i \rho"}"#, r#"{"f":"\\sum_{i} \\nu_i \\rho"}"#),
            (r#"{"f": "\underline{x} \text{if}"}"#, r#"{"f":"\\underline{x} \\text{if}"}"#),
            (r#"{"f": "C:\Users\new\temp"}"#, r#"{"f":"C:\\Users\\new\\temp"}"#),
            (r#"{"f": "\alpha\nthe next line"}"#, "! refused {}"),
            (r#"{"f": "\d+\t\w+"}"#, "! refused {}"),
            (r#"{"f": "one\ntwo\tthree"}"#, r#"{"f":"one\ntwo\tthree"}"#),
            (r#"{"f": "a \\n and a\nline"}"#, r#"{"f":"a \\n and a\nline"}"#),
            (r#"{"f": "**Note\!**\nNext"}"#, r#"{"f":"**Note\\!**\nNext"}"#),
        ],
    );
}

#[test]
fn dots_for_more_are_no_element() {
    check_all(
        &json!({"t": {"type": "array", "items": {"type": "string"}}, "s": {"type": "string"}}),
        &["t"],
        &[
            (r#"{"t": ["red", "blue", ...]}"#, r#"{"t":["red","blue"]}"#),
            ("{\"t\": [\"red\", \"blue\"\n …\n]}", r#"{"t":["red","blue"]}"#),
            (r#"{"t": ["red", "blue", ...], ...}"#, r#"{"t":["red","blue"]}"#),
            (r#"{"t": ["red"], ..., "s": "x"}"#, r#"{"s":"x","t":["red"]}"#),
            (r#"{"t": ["red", ..., "blue"]}"#, "! refused {}"),
            (r#"{"t": ["red", ... and more]}"#, "! refused {}"),
            (r#"{"t": [...]}"#, "! refused {}"),
            (r#"{"t": ["red"], "s": ...}"#, r#"{"t":["red"]}"#),
        ],
    );
}

#[test]
fn an_integer_keeps_its_digits_or_is_none() {
    let any_number = json!({"n": {"type": ["integer", "string"]}, "i": {"type": "integer"}, "x": {"type": "number"}, "a": {"type": "array", "items": {"type": "integer"}}});
    check_all(
        &any_number,
        &[],
        &[
            (r#"{"n": 25227143063332189585438}"#, r#"{"n":"25227143063332189585438"}"#),
            (r#"{"i": 18446744073709551615}"#, r#"{"i":18446744073709551615}"#),
            (r#"{"i": -9223372036854775808}"#, r#"{"i":-9223372036854775808}"#),
            (r#"{"i": 18446744073709551616}"#, "{}"),
            (r#"{"x": -9223372036854775809}"#, "{}"),
            (r#"{"x": 25227143063332189585438.}"#, "{}"),
            (r#"{"x": "25227143063332189585438"}"#, "! refused {\"x\":\"25227143063332189585438\"}"),
            (r#"{"a": [25227143063332189585438]}"#, "{}"),
            (r#"{"x": 1e300}"#, r#"{"x":1e+300}"#),
        ],
    );
}
