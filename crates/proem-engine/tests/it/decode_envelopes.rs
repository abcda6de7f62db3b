//! The wrappings that a model puts around the value: calls of tools, objects with one member, bare lists, escapes.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::contract::Contract;
use proem_engine::decode::decode_value;
use serde_json::{Value as Json, json};

fn reading(answer: &str, schema: Json) -> String {
    let contract = Contract::bounded("answer", "", schema).unwrap().0;
    match decode_value(answer, &contract) {
        Err(failure) => format!("! {}", failure.as_str()),
        Ok(decoded) if decoded.losses().next().is_some() || !contract.accepts(&decoded.value) => "! refused".to_owned(),
        Ok(decoded) => decoded.value.to_string(),
    }
}

fn person_schema() -> Json {
    json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "age": { "type": "integer" }, "home": { "type": "string" } },
        "required": ["name", "age"],
        "additionalProperties": false
    })
}

fn ranking() -> Json {
    json!({
        "type": "object",
        "properties": { "ranking": { "type": "array", "items": { "type": "integer" } } },
        "required": ["ranking"],
        "additionalProperties": false
    })
}

#[test]
fn a_call_of_a_tool_and_an_object_with_one_member_hold_the_answer() {
    let value = r#"{"name":"Zoë","age":7}"#;
    for answer in [
        format!("<tool_call>\n{{\"name\": \"answer\", \"arguments\": {value}}}\n</tool_call>"),
        format!("[TOOL_CALLS][{{\"name\": \"answer\", \"arguments\": {value}}}]"),
        format!("{{\"type\": \"function\", \"name\": \"answer\", \"parameters\": {value}}}"),
        format!("{{\"response\": {value}}}"),
        format!("```json\n{{\"person\": {value}}}\n```"),
        format!("[{value}]"),
    ] {
        let read: Json = serde_json::from_str(&reading(&answer, person_schema())).unwrap_or_default();
        assert_eq!(read, serde_json::from_str::<Json>(value).unwrap(), "{answer}");
    }
}

#[test]
fn an_envelope_that_says_something_itself_stays_closed() {
    let value = r#"{"name":"Zoë","age":7}"#;
    for answer in [
        format!("{{\"error\": {value}}}"),
        format!("{{\"example\": {value}}}"),
        format!("{{\"draft\": {value}}}"),
        format!("{{\"person\": {value}, \"confidence\": 0.2}}"),
        format!("{{\"first\": {value}, \"second\": {{\"name\":\"Li\",\"age\":9}}}}"),
        format!("[{value}, {{\"name\":\"Li\",\"age\":9}}]"),
        format!("{{\"name\": \"Li\", \"age\": 9, \"friend\": {value}}}"),
    ] {
        assert!(reading(&answer, person_schema()).starts_with('!'), "{answer}");
    }
}

#[test]
fn a_bare_list_is_the_only_field_where_it_stands_alone() {
    for answer in
        ["[2, 3, 1]", "```json\n[2, 3, 1]\n```", "Final: [2, 3, 1]", "[\"2\", 3, 1]", " [2,3,1]\n\nUser: again\n[1]"]
    {
        assert_eq!(reading(answer, ranking()), r#"{"ranking":[2,3,1]}"#, "{answer}");
    }
    for answer in [
        "The second chair [2] is best.",
        "See [2].",
        "[2]: the new chair",
        "[2]\nor\n[3]",
        "[2, 3, ...]",
        "[INPUT]",
        "[x]",
        "[2, 3]\n... and 4 more",
        "> [2, 3]",
        "[2][3]",
        "[1] [2]",
    ] {
        assert!(reading(answer, ranking()).starts_with('!'), "{answer}: {}", reading(answer, ranking()));
    }
    // Of two fields it could be either.
    let two = json!({
        "type": "object",
        "properties": {
            "a": { "type": "array", "items": { "type": "integer" } },
            "b": { "type": "array", "items": { "type": "integer" } }
        },
        "additionalProperties": false
    });
    assert!(reading("[2, 3]", two).starts_with('!'));
}

#[test]
fn an_answer_that_is_escaped_as_a_whole_is_read_once() {
    let value = r#"{"name":"Zoë","age":7}"#;
    let escaped = value.replace('"', "\\\"");
    assert_eq!(reading(&escaped, person_schema()), reading(value, person_schema()));
    assert_eq!(reading(&format!("```json\n{escaped}\n```"), person_schema()), reading(value, person_schema()));
    // A quotation in a sentence is none.
    let quoted = format!("The page says \"answer {escaped}\".");
    assert!(reading(&quoted, person_schema()).starts_with('!'), "{}", reading(&quoted, person_schema()));
}
