//! Sources: <https://developers.openai.com/api/reference/resources/chat>; what compatible servers
//! do differently was seen in
//! <https://docs.rs/crate/openai-interface/0.12.0/source/src/chat/create/response.rs> (vLLM).

use proem_engine::call::AnswerForm;
use proem_engine::providers::Provider::OpenAi;
use serde_json::{Value, json};

use crate::codec::{check, chunks, read, request, response_text, tools, value};

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_694_268_190, "model": "gpt-4o",
        "service_tier": "default", "usage": null,
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
    })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99,
        "prompt_tokens_details": { "cached_tokens": 64, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 5 } })
}

fn last() -> Value {
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [], "usage": usage() })
}

const END: &str = "82 in, 64 read, 17 out | chatcmpl-1 gpt-4o";

#[test]
fn a_streamed_text() {
    let events = [
        chunk(json!({ "role": "assistant", "content": "", "refusal": null }), None),
        chunk(json!({ "content": "Hello" }), None),
        chunk(json!({ "content": " é👍" }), None),
        chunk(json!({}), Some("stop")),
        last(),
    ];
    check(OpenAi, &request(AnswerForm::Text), chunks(&events), &format!("text \"Hello é👍\" | stop | {END}"));
    // The reason is enough, and so is the last word.
    let unknown = "? in, ? read, ? out | chatcmpl-1 gpt-4o";
    let cut = chunks(&events[..4]).replace("data: [DONE]\n\n", "");
    check(OpenAi, &request(AnswerForm::Text), cut, &format!("text \"Hello é👍\" | stop | {unknown}"));
    check(
        OpenAi,
        &request(AnswerForm::Text),
        chunks(&events[..3]),
        &format!("text \"Hello é👍\" | unknown | {unknown}"),
    );
    let cut = chunks(&events[..2]).replace("data: [DONE]\n\n", "");
    check(OpenAi, &request(AnswerForm::Text), cut, "cut: the answer is incomplete; try again | said \"Hello\"");
}

#[test]
fn streamed_calls() {
    let call = |index: u64, call: Value| {
        let mut call = call;
        call["index"] = json!(index);
        chunk(json!({ "tool_calls": [call] }), None)
    };
    let function = |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
    let events = [
        call(0, json!({ "id": "call_1", "type": "function", "function": function("get_weather", "") })),
        call(0, json!({ "function": { "arguments": "{\"a\":" } })),
        call(1, json!({ "id": "call_2", "type": "function", "function": function("get_time", "") })),
        call(0, json!({ "function": { "arguments": "1}" } })),
        call(1, json!({ "function": { "arguments": "{}" } })),
        chunk(json!({}), Some("tool_calls")),
        last(),
    ];
    let request = tools(&["get_time", "get_weather"]);
    let expected = format!(
        "call \"call_1\" \"get_weather\" \"{{\\\"a\\\":1}}\" | call \"call_2\" \"get_time\" \"{{}}\" | calls | {END}"
    );
    check(OpenAi, &request, chunks(&events), &expected);
    // Every call under number 0, names in every chunk, no number at all, arguments as an object.
    let same = [
        call(0, json!({ "id": "call_1", "function": function("get_weather", "{\"a\":") })),
        call(0, json!({ "id": "call_1", "function": function("get_weather", "1}") })),
        call(0, json!({ "id": "call_2", "function": { "name": "get_time" } })),
        chunk(json!({}), Some("stop")),
        last(),
    ];
    check(OpenAi, &request, chunks(&same), &expected);
    let none = [
        chunk(
            json!({ "tool_calls": [{ "id": "call_1", "function": { "name": "get_weather", "arguments": { "a": 1 } } }] }),
            None,
        ),
        chunk(json!({ "tool_calls": [{ "id": "call_2", "function": function("get_time", "") }] }), Some("tool_calls")),
        last(),
    ];
    check(OpenAi, &request, chunks(&none), &expected);
}

#[test]
fn the_number_of_a_call_says_where_its_pieces_belong() {
    let piece = |index: Option<u64>, id: &str, function: Value| {
        chunk(json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }), None)
    };
    let expected = format!("call \"call_1\" \"f\" \"{{\\\"a\\\":1}}\" | calls | {END}");
    for name in [json!({ "name": "f", "arguments": "" }), json!({ "name": "f" })] {
        let events = [
            piece(Some(0), "call_1", name),
            piece(Some(0), "call_2", json!({ "arguments": "{\"a\":" })),
            piece(Some(0), "call_3", json!({ "name": "", "arguments": "1}" })),
            chunk(json!({}), Some("tool_calls")),
            last(),
        ];
        check(OpenAi, &tools(&["f"]), chunks(&events), &expected);
    }
    // A name begins another call under a number that a server repeats.
    let events = [
        piece(Some(0), "call_1", json!({ "name": "f", "arguments": "{\"a\":1}" })),
        piece(Some(0), "call_2", json!({ "name": "f", "arguments": "{}" })),
        chunk(json!({}), Some("tool_calls")),
        last(),
    ];
    let both = format!("call \"call_1\" \"f\" \"{{\\\"a\\\":1}}\" | call \"call_2\" \"f\" \"{{}}\" | calls | {END}");
    check(OpenAi, &tools(&["f"]), chunks(&events), &both);
}

#[test]
fn reasons_to_stop_are_known_or_unknown() {
    for (reason, expected) in [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refusal"),
        ("abort", "unknown"),
        ("error", "unknown"),
        ("insufficient_system_resource", "unknown"),
        ("", "unknown"),
    ] {
        let events = [chunk(json!({ "content": "Hi" }), None), chunk(json!({}), Some(reason)), last()];
        let request = request(AnswerForm::Text);
        let piece = if expected == "refusal" { "text \"Hi\" | refusal" } else { &format!("text \"Hi\" | {expected}") };
        check(OpenAi, &request, chunks(&events), &format!("{piece} | {END}"));
    }
}

#[test]
fn errors_in_unusual_places_are_failures_with_the_servers_words() {
    let broke = "server: the provider stopped the answer with an error; try again | said \"full\"";
    let long = "too-long: the provider stopped the answer: the request is too long; shorten the input | said \"full\"";
    let unknown =
        "unknown-model: the provider does not know the model; check the model's name and `base_url` | said \"full\"";
    let said = |answer: &str, expected: &str| check(OpenAi, &request(AnswerForm::Text), answer, expected);
    for (error, expected) in [
        (json!({ "object": "error", "message": "full", "type": "NotFoundError", "param": null, "code": 404 }), unknown),
        (json!({ "object": "error", "message": "full", "code": "404" }), unknown),
        (json!({ "error": { "error": { "message": "full" } } }), broke),
        (json!({ "error": true, "message": "full" }), broke),
        (json!({ "choices": [{ "error": { "message": "full", "code": 502 }, "finish_reason": "error" }] }), broke),
        (json!({ "success": false, "errors": [{ "code": 7003, "message": "full" }], "messages": [] }), broke),
        (json!({ "detail": [{ "loc": ["body"], "msg": "full" }] }), broke),
        (json!({ "code": 1113, "msg": "full", "success": false }), broke),
        (json!({ "choices": null, "base_resp": { "status_code": 1008, "status_msg": "full" } }), broke),
        (json!({ "error": { "message": "full", "type": "exceed_context_size_error" } }), long),
    ] {
        said(&error.to_string(), expected);
        said(&format!("data: {error}\n\n"), expected);
    }
    said("error: {\"code\":400,\"message\":\"full\",\"type\":\"exceed_context_size_error\"}\n\n", long);
    said("event: error\ndata: full\n\n", broke);
    said("error: full", broke);
    said("[{\"error\": {\"message\": \"full\", \"status\": \"INTERNAL\"}}]", broke);
    said("full", "malformed: the answer is not JSON at line 1, column 2; check `base_url` | said \"full\"");
}

#[test]
fn whole_completions_asked_for_or_not() {
    let completion = |message: Value, reason: &str| {
        json!({ "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o", "usage": usage(),
            "choices": [{ "index": 0, "message": message, "finish_reason": reason }] })
        .to_string()
    };
    let text = |answer: String, expected: &str| check(OpenAi, &request(AnswerForm::Text), answer, expected);
    text(completion(json!({ "role": "assistant", "content": "Hi" }), "stop"), &format!("text \"Hi\" | stop | {END}"));
    text(
        completion(json!({ "content": null, "refusal": "I can't." }), "stop"),
        &format!("refusal \"I can't.\" | refusal | {END}"),
    );
    text(completion(json!({ "content": "Hm" }), "length"), &format!("text \"Hm\" | length | {END}"));
    text(completion(json!({ "content": "" }), "content_filter"), &format!("refusal | {END}"));
    text(
        completion(json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }), "abort"),
        &format!("text \"ab\" | unknown | {END}"),
    );
    text(
        completion(json!({ "reasoning_content": "Well", "content": "Hi" }), "stop"),
        &format!("other \"reasoning_content\" | text \"Hi\" | stop | {END}"),
    );
    // A forced function stops with `stop`. Calls without ids or numbers are several.
    let calls = json!({ "content": null, "tool_calls": [
        { "type": "function", "function": { "name": "f", "arguments": "{\"a\":1}" } },
        { "type": "function", "function": { "name": "f", "arguments": " " } },
    ] });
    let expected = format!("call \"\" \"f\" \"{{\\\"a\\\":1}}\" | call \"\" \"f\" \"{{}}\" | calls | {END}");
    check(OpenAi, &tools(&["f"]), completion(calls, "stop"), &expected);
    let elsewhere =
        "malformed: the answer has no `choices`; check that `base_url` is the address of a Chat Completions API";
    text("{\"models\": []}".to_owned(), elsewhere);
    text("{\"choices\": [], \"usage\": {}}".to_owned(), elsewhere);
}

#[test]
fn streams_of_compatible_servers() {
    let events = [
        chunk(json!({ "reasoning": "Let" }), None),
        chunk(json!({ "reasoning": " me" }), None),
        chunk(json!({ "content": "Hi" }), Some("stop")),
        json!({ "choices": null, "usage": { "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 } }),
    ];
    let stream = format!(": OPENROUTER PROCESSING\n\n{}", chunks(&events).replace('\n', "\r\n"));
    let expected = "other \"reasoning\" | text \"Hi\" | stop | 3 in, ? read, 2 out | chatcmpl-1 gpt-4o";
    check(OpenAi, &request(AnswerForm::Text), stream, expected);
    let whole = json!({ "choices": [{ "message": { "content": "Hi" }, "finish_reason": "stop" }] });
    check(OpenAi, &request(AnswerForm::Text), chunks(&[whole]), "text \"Hi\" | stop | ? in, ? read, ? out | ? ?");
    let second = json!({ "choices": [{ "index": 1, "delta": { "content": "b" } }, { "index": 0, "delta": { "content": "a" } }] });
    check(OpenAi, &request(AnswerForm::Text), chunks(&[second]), "text \"a\" | unknown | ? in, ? read, ? out | ? ?");
}

#[test]
fn errors_in_the_middle_are_failures() {
    let broke = "the provider stopped the answer";
    for (error, expected) in [
        (
            json!({ "error": { "message": "Boom", "type": "server_error", "code": null } }),
            format!("server: {broke} with an error; try again | said \"Boom\""),
        ),
        (
            json!({ "error": { "message": "Slow", "code": 429 }, "choices": [] }),
            format!("rate-limited: {broke}: the rate limit is reached; wait and try again | said \"Slow\""),
        ),
        (
            json!({ "error": { "message": "m", "code": "context_length_exceeded" } }),
            format!("too-long: {broke}: the request is too long; shorten the input | said \"m\""),
        ),
        (
            json!({ "error": { "message": "m", "code": "insufficient_quota" } }),
            format!("no-credit: {broke}: the account has no credit left; add some | said \"m\""),
        ),
        (
            json!({ "error": "out of memory" }),
            format!("server: {broke} with an error; try again | said \"out of memory\""),
        ),
    ] {
        check(
            OpenAi,
            &request(AnswerForm::Text),
            chunks(&[chunk(json!({ "content": "Hi" }), None), error.clone()]),
            &expected,
        );
        check(OpenAi, &request(AnswerForm::Text), error.to_string(), &expected);
    }
}

#[test]
fn an_unknown_tool_stops_the_stream_before_its_arguments() {
    let part =
        |function: Value| chunk(json!({ "tool_calls": [{ "index": 0, "id": "c", "function": function }] }), None);
    let events = [part(json!({ "name": "get_" })), part(json!({ "name": "weather", "arguments": "{" }))];
    let stream = chunks(&events);
    let flow = |names: &[&str]| read(OpenAi, &tools(names), [stream.replace("data: [DONE]\n\n", "").as_bytes()]).1;
    assert_eq!(flow(&["get_weather"]), proem_llm::wire::Flow::More);
    assert_eq!(flow(&["get_time"]), proem_llm::wire::Flow::Stop);
    let many: Vec<String> = (0..12).map(|index| format!("t{index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let expected = "unknown-tool: the model called a tool that was not offered; offered: `t0`, `t1`, `t2`, `t3`, `t4`, \
                    `t5`, `t6`, `t7`, `t8`, `t9` and 2 more; try again, or offer that tool | said \"get_weather\"";
    check(OpenAi, &tools(&many), &stream, expected);
}

#[test]
fn a_value_in_a_text_is_enough() {
    let mut events = vec![chunk(json!({ "content": "{\"a\": 1}" }), None)];
    events.extend((0..1_000).map(|_| chunk(json!({ "content": "\n" }), None)));
    let stream = chunks(&events);
    let expected = format!(
        "text {} | complete | ? in, ? read, ? out | chatcmpl-1 gpt-4o",
        json!(format!("{{\"a\": 1}}{}", "\n".repeat(201)))
    );
    check(OpenAi, &value(), &stream, &expected);
    let whole = json!({ "choices": [{ "message": { "content": format!("{{\"a\": 1}}{}", "x".repeat(500)) }, "finish_reason": "stop" }] });
    assert!(response_text(&read(OpenAi, &value(), [whole.to_string().as_bytes()]).0).contains("| stop |"));
}
