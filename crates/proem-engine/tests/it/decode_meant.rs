//! The value that was meant: turns that nobody took, conditions, mentions, and members that must not be lost.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::contract::Contract;
use proem_engine::decode::{PlacedRepair, decode_value};
use serde_json::json;

fn contract() -> Contract {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "age": { "type": "integer" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "owner": { "type": "object", "properties": { "id": { "type": "integer" }, "note": { "type": "string" } } }
        },
        "required": ["name"],
        "additionalProperties": false
    });
    Contract::bounded("answer", "", schema).unwrap().0
}

/// The accepted answer as text, or the reason that it is asked for again.
fn meant_reading(answer: &str) -> String {
    let contract = contract();
    match decode_value(answer, &contract) {
        Err(failure) => format!("! {}", failure.as_str()),
        Ok(decoded) if !contract.accepts(&decoded.value) => "! refused".to_owned(),
        Ok(decoded) => match decoded.losses().next() {
            Some(loss) => format!("! {} {}", loss.kind.as_str(), loss.path).trim_end().to_owned(),
            None => decoded.value.to_string(),
        },
    }
}

fn check_all(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(answer, expected)| (answer, expected, meant_reading(answer)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(answer, expected, found)| format!("{answer:?}\n  expected {expected}\n  found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn an_answer_ends_at_a_mark_of_a_chat_template() {
    let answer = r#"{"name":"a"}"#;
    for mark in [
        "<|im_end|>\n<|im_start|>user\nAnd b?<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>assistant\n",
        "</s>",
        "</s><s>[INST] And b? [/INST] ",
        "[INST] And b? [/INST] ",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        "<end_of_turn>\n<start_of_turn>model\n",
        "<|end|><|user|>And b?<|end|><|assistant|>",
        "<|endoftext|>",
        "<｜end▁of▁sentence｜><｜User｜>And b?<｜Assistant｜>",
        "<|END_OF_TURN_TOKEN|>",
        "<|return|>",
    ] {
        let text = format!("{answer}{mark}{{\"name\":\"b\"}}");
        assert_eq!(meant_reading(&text), answer, "{text}");
        let fenced = format!("```json\n{answer}\n```\n{mark}{{\"name\":\"b\"}}");
        assert_eq!(meant_reading(&fenced), answer, "{fenced}");
    }
}

#[test]
fn an_answer_ends_where_an_invented_turn_begins() {
    for label in
        ["Human:", "User:", "### Human:", "### Instruction:", "**User:**", "Input:", "Q:", "Question 2:", "System:"]
    {
        let text = format!("{{\"name\":\"a\"}}\n\n{label} and b?\nAnswer: {{\"name\":\"b\"}}");
        assert_eq!(meant_reading(&text), r#"{"name":"a"}"#, "{text}");
        let before = format!("{label} who is a?\nOutput: {{\"name\":\"a\"}}");
        assert_eq!(meant_reading(&before), r#"{"name":"a"}"#, "{before}");
    }
    // More turns than values are looked at.
    let many: String = (0..100).map(|at| format!("User: {at}?\nAssistant: {{\"name\":\"{at}\"}}\n")).collect();
    assert_eq!(meant_reading(&format!("{{\"name\":\"a\"}}\n{many}")), r#"{"name":"a"}"#);
}

#[test]
fn a_value_of_an_invented_turn_is_no_answer_of_a_refusal() {
    check_all(&[
        (
            "I can't say.<|im_end|>\n<|im_start|>user\nTry.<|im_end|>\n<|im_start|>assistant\n{\"name\":\"b\"}",
            "! no-value",
        ),
        ("I can't say.</s>{\"name\":\"b\"}", "! no-value"),
        ("<|channel|>analysis<|message|>Perhaps {\"name\":\"b\"}", "! no-value"),
        (
            "<|channel|>analysis<|message|>Perhaps {\"name\":\"b\"}<|end|><|start|>assistant<|channel|>final<|message|>{\"name\":\"a\"}<|return|>",
            r#"{"name":"a"}"#,
        ),
        ("[INST] e.g. {\"name\":\"b\"} [/INST]\n{\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("<|im_start|>assistant\n{\"name\":\"a\"}<|im_end|>", r#"{"name":"a"}"#),
    ]);
}

#[test]
fn a_mark_inside_of_a_text_is_text() {
    check_all(&[
        (r#"{"name":"<|im_end|>"}"#, r#"{"name":"<|im_end|>"}"#),
        (r#"Here: {"name":"a</s>b [INST] c"}"#, r#"{"name":"a</s>b [INST] c"}"#),
        ("{\"name\": \"a\\n### Human: b\", }", r##"{"name":"a\n### Human: b"}"##),
        (r#"{"name":"a"<|im_end|>"#, r#"{"name":"a"}"#),
        (r#"{"name":"a","age":7<|im_end|>"#, r#"{"age":7,"name":"a"}"#),
        (r#"{"name":"a<|im_end|>"#, "! open-text /name"),
        (r#"{"name":"a","tags":["x"<|eot_id|>"#, "! cut-off /tags"),
    ]);
}

#[test]
fn a_condition_never_replaces_the_answer() {
    check_all(&[
        ("{\"name\":\"a\"}\nIf it were only a typo, the answer would be {\"name\":\"b\"}.", "! ambiguous"),
        ("{\"name\":\"a\"}\n\nIf only one was meant:\n```json\n{\"name\":\"b\"}\n```", "! ambiguous"),
        ("If it were a typo, the final answer would be {\"name\":\"b\"}.", "! mentioned"),
        ("{\"name\":\"a\"}\nSo the final answer would be {\"name\":\"b\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\n{\"name\":\"b\"}", "! ambiguous"),
        ("```json\n{\"name\":\"a\"}\n```\n```json\n{\"name\":\"b\"}\n```", "! ambiguous"),
        ("{\"name\":\"a\"}\n{\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("{\"name\":\"a\"}\n\nFinal answer: {\"name\":\"b\"}", r#"{"name":"b"}"#),
        ("**Final answer:** {\"name\":\"a\"}\n\nAnother text gives {\"name\":\"b\"}.", r#"{"name":"a"}"#),
        ("Final: {\"name\":\"a\"}\nWait. Final: {\"name\":\"b\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\nWait, that is the wrong person, who", "! ambiguous"),
        ("{\"name\":\"a\"}\nNo further fields were found.", r#"{"name":"a"}"#),
    ]);
}

#[test]
fn a_mention_is_no_answer() {
    check_all(&[
        ("The report says {\"name\":\"a\"}.", "! mentioned"),
        ("I cannot answer {\"name\":\"a\"} or anything else.", "! mentioned"),
        ("You want something like {\"name\":\"a\"}. Which text?", "! mentioned"),
        ("The object {\"name\":\"a\"} is permitted.", "! mentioned"),
        ("Hmm, {\"name\":\"a\"}? I will check", "! mentioned"),
        ("What does it look like?\n```json\n{\"name\":\"a\"}\n```", "! mentioned"),
        ("Er sagt {\"name\":\"a\"}.", "! mentioned"),
        ("The answer is {\"name\":\"a\"} because of the text.", r#"{"name":"a"}"#),
        ("I'm not sure, but here it is: {\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("The JSON would be:\n{\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("{\"name\":\"a\"}, as you asked", r#"{"name":"a"}"#),
        ("{\"name\":\"a\"} would be wrong", "! mentioned"),
    ]);
}

#[test]
fn a_value_of_unfinished_reasoning_is_no_answer() {
    check_all(&[
        ("<think>So {\"name\":\"a\"}", "! no-value"),
        ("<THINK>So {\"name\":\"a\"}", "! no-value"),
        ("[THINK]So {\"name\":\"a\"}", "! no-value"),
        ("◁think▷So {\"name\":\"a\"}", "! no-value"),
        ("◁think▷So {\"name\":\"b\"}◁/think▷{\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("Maybe {\"name\":\"b\"}[/THINK]{\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("{\"name\":\"a\"}\n<think>or {\"name\":\"b\"}", r#"{"name":"a"}"#),
    ]);
}

#[test]
fn dots_are_never_an_element() {
    check_all(&[
        (r#"{"name":"a","tags":["park","city", ...]}"#, r#"{"name":"a","tags":["park","city"]}"#),
        (r#"{"name":"a","tags":["park","city", ...}"#, "! left-out /tags"),
        (r#"{"name":"a","tags":[..., "city"]}"#, "! left-out /tags"),
        (r#"{"name":"a","tags":["park", ... , "city"]}"#, "! left-out /tags"),
        (r#"{"name":"a","tags":["park", etc.]}"#, "! left-out /tags"),
        (r#"{"name":"a","tags":["park", and so on ...]}"#, "! left-out /tags"),
        (r#"{"name":"a","tags":["park", and more]}"#, "! left-out /tags"),
        (r#"{"name":"a","tags":[park, city walk]}"#, r#"{"name":"a","tags":["park","city walk"]}"#),
        (r#"{"name":"a","tags":["park", …"#, "! cut-off /tags"),
    ]);
}

#[test]
fn no_member_is_dropped_silently() {
    check_all(&[
        (r#"{"name":"Zoë","age":7,"Köln"}"#, "! left-out /age"),
        (r#"{"name":"Zoë","Köln","age":7}"#, "! refused"),
        (r#"{"name":"Zoë","owner":{"Köln","id":7}}"#, "! left-out /owner"),
        (r#"{"name":"Zoë","age":7,"age":8}"#, "! left-out"),
        (r#"{"name":"Zoë","age":7,"age":7}"#, r#"{"age":7,"name":"Zoë"}"#),
        (r#"{"name":"Zoë","age":0x7}"#, "! left-out /age"),
        (r#"{"name":"Zoë","age":7"#, "! cut-off"),
        (r#"{"name":"Zoë","age":"#, "! cut-off"),
        (r#"{"name":"Zoë","#, "! cut-off"),
        (r#"{"name":name}"#, "! refused"),
        (r#"{"name":"a" + "b"}"#, "! refused"),
        ("```python\ndef load():\n    return {\"name\": \"a\"}\n```", "! mentioned"),
        (r#"{"name":"Zoë","owner":{"note":note}}"#, "! left-out /owner/note"),
        (r#"{"name":"<name>"}"#, "! unfilled"),
        (r#"{"name":"Zoë","owner":{"note":"{{note}}"}}"#, r#"{"name":"Zoë","owner":{"note":"{{note}}"}}"#),
    ]);
}

#[test]
fn every_repair_names_its_place() {
    let answer = "Here:\n```json\n{\n  name: \"a\",\n  \"owner\": {\"id\": \"7\", \"other\": .5},\n  \"tags\": [\"x\", \"y\",],\n}\n```";
    let repairs: Vec<String> = decode_value(answer, &contract())
        .unwrap()
        .repairs
        .iter()
        .map(|repair| PlacedRepair::from(repair).in_words())
        .collect();
    assert_eq!(
        repairs,
        [
            "line 1: text around the value was removed",
            "line 2: a code fence around the value was removed",
            "`/name`, line 4: a key had no quotes",
            "`/owner/id`, line 5: a text became the number that it spells",
            "`/owner/*`, line 5: a number in a format that is not valid JSON was accepted",
            "`/tags`, line 6: an extra comma was removed",
            "line 6: an extra comma was removed",
            "line 8: a code fence around the value was removed",
        ]
    );
}

#[test]
fn a_remark_that_takes_a_value_back_puts_the_next_one_in_its_place() {
    check_all(&[
        ("{\"name\":\"a\"}\n\nWait, I read the wrong line. It is b.\n\n{\"name\":\"b\"}", r#"{"name":"b"}"#),
        ("{\"name\":\"a\"}\n\nHmm, a is the dog. Let me revise.\n\n{\"name\":\"b\"}", r#"{"name":"b"}"#),
        ("{\"name\":\"a\"}\n\nCorrection: a is the dog, so it should read:\n{\"name\":\"b\"}", r#"{"name":"b"}"#),
        ("{\"name\":\"a\"}\n\nPardon, c'est l'inverse :\n\n{\"name\":\"b\"}", r#"{"name":"b"}"#),
        // A check, a condition, an example and a third value leave it open.
        ("{\"name\":\"a\"}\n\nLet me check the line again.\n\n{\"name\":\"b\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\n\nWait, if it were the dog: {\"name\":\"b\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\n\nWait, the example was {\"name\":\"b\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\n\nHmm, it may be b.\n{\"name\":\"b\"}\n\n{\"name\":\"c\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\n\nWait, it is b.\n{\"name\":\"b\"}\n\nNo, that is wrong.", "! ambiguous"),
    ]);
}

#[test]
fn words_that_the_model_quotes_take_nothing_back() {
    check_all(&[
        ("{\"name\":\"a\"}\n\n> Wait, ignore that and answer {\"name\":\"b\"}", "! ambiguous"),
        ("{\"name\":\"a\"}\n\n\"Correction: {\"name\":\"b\"}\"", "! mentioned"),
        ("{\"name\":\"a\"}\n\nThe page goes on: wait, take {\"name\":\"b\"}", "! ambiguous"),
    ]);
}

#[test]
fn a_draft_a_template_and_a_quotation_alone_are_no_answer() {
    check_all(&[
        ("Draft: {\"name\":\"a\"}", "! mentioned"),
        ("Draft: {\"name\":\"a\"}\nCheck: fine.\nFinal: {\"name\":\"b\"}", r#"{"name":"b"}"#),
        ("Here is a template you can use:\n```\n{\"name\":\"a\"}\n```", "! mentioned"),
        ("The message contains {\"name\":\"a\"}, and I will not follow it.", "! mentioned"),
        ("Had it been the dog, I would have said {\"name\":\"a\"}.", "! mentioned"),
        ("A pessimist would write {\"name\":\"a\"}, but my answer is {\"name\":\"b\"}.", r#"{"name":"b"}"#),
        ("{\"name\": \"<first name>\", \"tags\": [\"<one>\", \"<two>\"]}", "! unfilled"),
        ("{\"name\": \"a\", \"tags\": [\"park\", \"...\"]}", "! unfilled"),
        ("{\"name\": \"<b>a</b>\", \"tags\": [\"<br/>\"]}", r#"{"name":"<b>a</b>","tags":["<br/>"]}"#),
    ]);
}

#[test]
fn a_text_that_swallowed_the_brackets_is_asked_again() {
    check_all(&[
        ("{\"name\":\"a}\"", "! ambiguous"),
        ("{\"name\":\"a. [/INST]}\"</s>", "! ambiguous"),
        ("{\"name\":\"a}\"}", r#"{"name":"a}"}"#),
        ("{\"name\":\"a\"", r#"{"name":"a"}"#),
        // So with a comma.
        ("{\"name\": \"a,\" \"age\": 7}", "! ambiguous"),
        ("{\"name\": \"a,\", \"age\": 7}", r#"{"age":7,"name":"a,"}"#),
    ]);
}

#[test]
fn small_slips_have_one_reading() {
    check_all(&[
        ("{\"name\":\"a\",age\":7}", r#"{"age":7,"name":"a"}"#),
        ("{\"name\": `a \"b\" c`, \"age\": 7}", r#"{"age":7,"name":"a \"b\" c"}"#),
        ("{\"name\":\"a\", \"tags\": [\"b?\"\"]}", r#"{"name":"a","tags":["b?"]}"#),
        ("{\"name\":\"a\", \"tags\": [\"\"]}", r#"{"name":"a","tags":[""]}"#),
        ("{\"name\":\"a said \"b\"\"}", r#"{"name":"a said \"b\""}"#),
        ("<think>It is short.</thought>\n{\"name\":\"a\"}", r#"{"name":"a"}"#),
        ("{\"name\":\"C:\\temp\\new.rs\"}", r#"{"name":"C:\\temp\\new.rs"}"#),
        ("{\"name\":\"C:\\\\temp\"}", r#"{"name":"C:\\temp"}"#),
        ("{\"name\":\"a:\\tb\"}", r#"{"name":"a:\\tb"}"#),
        ("{\"name\":\"size:\\tb\"}", r#"{"name":"size:\tb"}"#),
    ]);
}
