//! Sources: <https://platform.claude.com/docs/en/build-with-claude/streaming>,
//! <https://platform.claude.com/docs/en/api/messages>.

use proem_engine::call::{AnswerForm, Arrival, DiagnosedDifference};
use proem_engine::providers::Provider::Anthropic;
use serde_json::{Value, json};

use crate::codec::{check, named, read, request, tools, value};

fn start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "content": [], "model": "claude-haiku-4-5",
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 25, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 100,
            "cache_creation": { "ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0 }, "output_tokens": 1 },
    } })
}

fn block_start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn text(index: u64, text: &str) -> Value {
    delta(index, json!({ "type": "text_delta", "text": text }))
}

fn block_stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn end(reason: &str) -> [Value; 2] {
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    [
        json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 15 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn message_stream(middle: &[Value], reason: &str) -> String {
    named(&[&[start()], middle, &end(reason)].concat())
}

#[test]
fn a_streamed_text() {
    let ping = json!({ "type": "ping" });
    let block = block_start(0, json!({ "type": "text", "text": "" }));
    let middle = [block, ping, text(0, "Hello"), text(0, "! é👍"), block_stop(0)];
    check(
        Anthropic,
        &request(AnswerForm::Text),
        message_stream(&middle, "end_turn"),
        "text \"Hello! é👍\" | stop | 125 in, 100 read, 15 out | msg_01 claude-haiku-4-5",
    );
}

#[test]
fn streamed_calls_after_thinking() {
    let json_delta = |index, json: &str| delta(index, json!({ "type": "input_json_delta", "partial_json": json }));
    let middle = [
        block_start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "The user wants the weather." })),
        delta(0, json!({ "type": "signature_delta", "signature": "EqQBCgIYAhIM" })),
        block_stop(0),
        block_start(1, json!({ "type": "text", "text": "I'll look." })),
        block_stop(1),
        block_start(2, json!({ "type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {} })),
        json_delta(2, ""),
        json_delta(2, "{\"location\":"),
        json_delta(2, " \"San Francisco, CA\"}"),
        block_stop(2),
        block_start(3, json!({ "type": "tool_use", "id": "toolu_2", "name": "get_time", "input": {} })),
        block_stop(3),
        json!({ "type": "something_new", "index": 9 }),
    ];
    check(
        Anthropic,
        &tools(&["get_time", "get_weather"]),
        message_stream(&middle, "tool_use"),
        "other \"thinking\" | text \"I'll look.\" | \
         call \"toolu_1\" \"get_weather\" \"{\\\"location\\\": \\\"San Francisco, CA\\\"}\" | \
         call \"toolu_2\" \"get_time\" \"{}\" | calls | 125 in, 100 read, 15 out | msg_01 claude-haiku-4-5",
    );
}

#[test]
fn reasons_to_stop() {
    for (reason, expected) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "unknown"),
        ("tired", "unknown"),
    ] {
        let usage = "125 in, 100 read, 15 out | msg_01 claude-haiku-4-5";
        check(Anthropic, &request(AnswerForm::Text), message_stream(&[], reason), &format!("{expected} | {usage}"));
    }
}

#[test]
fn whole_messages_asked_for_or_not() {
    let message = json!({
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
        "content": [
            { "type": "text", "text": "Here:" },
            { "type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": { "unit": "K", "location": "Ulm" } },
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": null,
            "cache_creation": { "ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20 }, "output_tokens": 9 },
    });
    let expected = "text \"Here:\" | call \"toolu_1\" \"get_weather\" \
                    \"{\\\"location\\\":\\\"Ulm\\\",\\\"unit\\\":\\\"K\\\"}\" | calls | \
                    35 in, ? read +10@300 +20@3600, 9 out | msg_01 claude-haiku-4-5";
    check(Anthropic, &tools(&["get_weather"]), message.to_string(), expected);
    check(Anthropic, &tools(&["get_weather"]), format!("\n \r\n{message:#}\n"), expected);
    check(Anthropic, &request(AnswerForm::Text), r#"{"content": []}"#, "unknown | ? in, ? read, ? out | ? ?");
    let no_content =
        "malformed: the answer has no `content`; check that `base_url` is the address of Anthropic's Messages API";
    check(Anthropic, &request(AnswerForm::Text), r#"{"choices": []}"#, no_content);
}

#[test]
fn a_stream_may_lack_its_last_event_but_not_its_reason() {
    let middle = [block_start(0, json!({ "type": "text", "text": "Half an" })), text(0, " answer")];
    let events = [&[start()], middle.as_slice(), &end("max_tokens")[..1]].concat();
    let complete = named(&events);
    let expected = "text \"Half an answer\" | length | 125 in, 100 read, 15 out | msg_01 claude-haiku-4-5";
    check(Anthropic, &request(AnswerForm::Text), &complete, expected);
    check(Anthropic, &request(AnswerForm::Text), complete.trim_end(), expected);
    let cut = "cut: the answer is incomplete; try again | said \"Half an answer\"";
    check(Anthropic, &request(AnswerForm::Text), named(&events[..3]), cut);
    check(Anthropic, &request(AnswerForm::Text), &complete.as_bytes()[..complete.len() - 9], cut);
    check(Anthropic, &request(AnswerForm::Text), ": ping\n\n", crate::codec::EMPTY);
}

#[test]
fn errors_in_the_middle_are_failures() {
    for (kind, message, expected) in [
        ("overloaded_error", "Overloaded", "server: the provider stopped the answer with an error; try again"),
        (
            "rate_limit_error",
            "Slow down",
            "rate-limited: the provider stopped the answer: the rate limit is reached; wait and try again",
        ),
        (
            "invalid_request_error",
            "No.",
            "refused: the provider refused the request while answering; correct what its message names",
        ),
    ] {
        let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
        let expected = format!("{expected} | said \"{message}\"");
        check(Anthropic, &request(AnswerForm::Text), named(&[start(), error.clone()]), &expected);
        check(Anthropic, &request(AnswerForm::Text), error.to_string(), &expected);
    }
}

#[test]
fn an_unknown_tool_stops_the_stream() {
    let call =
        |id: &str, name: &str| block_start(0, json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
    let unknown = "unknown-tool: the model called a tool that was not offered; offered: `get_weather`; try again, or \
                   offer that tool | said \"rm_rf\"";
    let begun = named(&[start(), call("toolu_1", "rm_rf")]);
    check(Anthropic, &tools(&["get_weather"]), &begun, unknown);
    assert_eq!(read(Anthropic, &tools(&["get_weather"]), [begun.as_bytes()]).1, proem_llm::wire::Flow::Stop);
    check(Anthropic, &request(AnswerForm::Text), &begun, &unknown.replace("offered: `get_weather`", "none was"));
    let twice = named(&[start(), call("toolu_1", "answer"), block_stop(0), call("toolu_1", "answer")]);
    let expected =
        "malformed: the answer has two tool calls with the same id; try again, or ask for one call | said \"toolu_1\"";
    check(Anthropic, &value(), twice, expected);
}

#[test]
fn a_value_in_a_text_is_enough() {
    let mut events = vec![start(), block_start(0, json!({ "type": "text", "text": "" })), text(0, "Sure: {\"a\": 1}")];
    events.extend((0..100).map(|_| text(0, " because")));
    let answer = named(&events);
    let (response, flow) = read(Anthropic, &value(), [answer.as_bytes()]);
    assert_eq!(flow, proem_llm::wire::Flow::Stop);
    let because = " because".repeat(26);
    let expected = format!(
        "text {:?} | complete | 125 in, 100 read, ? out | msg_01 claude-haiku-4-5",
        format!("Sure: {{\"a\": 1}}{because}")
    );
    assert_eq!(crate::codec::response_text(&response), expected);
    check(Anthropic, &value(), &answer, &expected);
    // Text that nobody owes a value is read to its end.
    let cut = read(Anthropic, &request(AnswerForm::Text), [answer.as_bytes()]);
    assert_eq!(cut.1, proem_llm::wire::Flow::More);
}

#[test]
fn a_block_that_never_began_is_malformed() {
    let expected = "malformed: an event of the answer continues a block that never started; try again";
    check(Anthropic, &request(AnswerForm::Text), named(&[start(), text(0, "a")]), expected);
}

/// Anthropic's account of its cache, in one piece and at the beginning of a stream.
#[test]
fn what_is_said_of_the_cache() {
    for (diagnostics, expected) in [
        ("", None),
        (r#""diagnostics":null,"#, Some((DiagnosedDifference::None, None))),
        (r#""diagnostics":{"cache_miss_reason":null},"#, Some((DiagnosedDifference::Pending, None))),
        (
            r#""diagnostics":{"cache_miss_reason":{"type":"system_changed","cache_missed_input_tokens":1210}},"#,
            Some((DiagnosedDifference::System, Some(1_210))),
        ),
        (r#""diagnostics":{"cache_miss_reason":{"type":"tools_changed"}},"#, Some((DiagnosedDifference::Tools, None))),
        (r#""diagnostics":{"cache_miss_reason":{"type":"model_changed"}},"#, Some((DiagnosedDifference::Model, None))),
        (r#""diagnostics":{"cache_miss_reason":"messages_changed"},"#, Some((DiagnosedDifference::Messages, None))),
        (
            r#""diagnostics":{"cache_miss_reason":{"type":"previous_message_not_found"}},"#,
            Some((DiagnosedDifference::NotFound, None)),
        ),
        (
            r#""diagnostics":{"cache_miss_reason":{"type":"unavailable"}},"#,
            Some((DiagnosedDifference::Unavailable, None)),
        ),
        (r#""diagnostics":{"cache_miss_reason":{"type":"<b>"}},"#, Some((DiagnosedDifference::Other, None))),
        (r#""diagnostics":7,"#, Some((DiagnosedDifference::Pending, None))),
    ] {
        let whole = format!(
            r#"{{"id":"msg_02","type":"message",{diagnostics}"content":[{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","usage":{{"input_tokens":5,"output_tokens":1}}}}"#
        );
        let streamed = format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg_02\",{diagnostics}\"usage\":{{\"input_tokens\":5}}}}}}\n\n\
             event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"ok\"}}}}\n\n\
             event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{{\"output_tokens\":1}}}}\n\n\
             event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        let mut asked = request(AnswerForm::Text);
        for (arrival, text) in [(Arrival::Whole, &whole), (Arrival::Streamed, &streamed)] {
            asked.arrival = arrival;
            let (answer, _) = read(Anthropic, &asked, [text.as_bytes()]);
            let found = answer.unwrap().usage.diagnosis;
            let said = found.as_ref().map(|found| (found.difference, found.missed_tokens));
            assert_eq!(said, expected, "{diagnostics}");
            assert!(found.is_none_or(|found| found.answer.as_deref() == Some("msg_02")));
        }
    }
}
