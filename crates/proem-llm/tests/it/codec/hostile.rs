//! Answers that are no answers, or mean harm.

use core::fmt::Write;

use proem_engine::call::{AnswerForm, Arrival, FailureKind, Request};
use proem_engine::providers::Provider::{self, Anthropic, OpenAi};
use proem_llm::codec::AnswerReader;
use proem_llm::wire::Flow;
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use crate::codec::{check, read, request, tools, value};

/// Both providers' readers say the same.
#[track_caller]
fn both(answer: impl AsRef<[u8]>, expected: &str) {
    for provider in [Anthropic, OpenAi] {
        check(provider, &request(AnswerForm::Text), &answer, expected);
    }
}

#[test]
fn what_is_no_answer_says_what_to_check() {
    both("", crate::codec::EMPTY);
    both(" \r\n\n\t", crate::codec::EMPTY);
    for answer in ["", " \r\n"] {
        let whole = Request { arrival: Arrival::Whole, ..request(AnswerForm::Text) };
        check(OpenAi, &whole, answer, "malformed: the answer is empty; try again");
    }
    both("\n<!DOCTYPE html><title>Sign in</title>", "malformed: the answer is a web page, not JSON; check `base_url`");
    both(
        "Internal error",
        "malformed: the answer is not JSON at line 1, column 1; check `base_url` | said \"Internal error\"",
    );
    both(
        "error: no upstream",
        "server: the provider stopped the answer with an error; try again | said \"no upstream\"",
    );
    both("rate: no upstream", "malformed: the answer is neither JSON nor a stream of events; check `base_url`");
    both("[1]", "malformed: the answer is not a JSON object; check `base_url`");
    both(
        "{\"a\": 1} {",
        "malformed: the answer is not JSON at line 1, column 10; check `base_url` | said \"{\\\"a\\\": 1} {\"",
    );
    both("data: {\"a\": }\n\n", "malformed: event 1 of the answer is not a JSON object; try again");
    both("data: {}\n\ndata: 5\n\n", "malformed: event 2 of the answer is not a JSON object; try again");
    both(
        "{\"content\": [{\"text\": \"On",
        "cut: the answer is incomplete; try again | said \"{\\\"content\\\": [{\\\"text\\\": \\\"On\"",
    );
}

#[test]
fn what_is_not_utf_8_has_a_place() {
    both(b"data: {}\n\ndata: \xff{}\n\n", "malformed: byte 16 is not UTF-8 in the answer; try again");
    both(b"\n\n: \xe2\x82", crate::codec::EMPTY);
    both(b"\n\n: \xe2\x82\n", "malformed: byte 4 is not UTF-8 in the answer; try again");
    both(b" {\"a\": \"\xc3\x28\"}", "malformed: byte 8 of the answer is not UTF-8; try again");
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let depth = 100_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for answer in [deep.clone(), format!("data: {{\"choices\": {deep}}}\n\n"), format!("{{\"content\": {deep}}}")] {
            for provider in [Anthropic, OpenAi] {
                let failure = read(provider, &value(), [answer.as_bytes()]).0.unwrap_err();
                assert_eq!(failure.kind, FailureKind::Malformed, "{}", failure.message);
            }
        }
    }
    // Arguments are a text, which nobody reads here.
    let deep = "{\"a\":".repeat(depth);
    let call = json!({ "index": 0, "id": "c", "function": { "name": "f", "arguments": deep } });
    let chunk = json!({ "choices": [{ "delta": { "tool_calls": [call] }, "finish_reason": "length" }] });
    assert!(read(OpenAi, &tools(&["f"]), [format!("data: {chunk}\n\n").as_bytes()]).0.is_ok());
}

#[test]
fn no_line_and_no_answer_is_endless() {
    let line = format!("data: {{\"a\": \"{}", "x".repeat(1 << 20));
    let long = "malformed: the server-sent event at byte 0 is longer than 1048576 bytes in the answer; try again";
    for provider in [Anthropic, OpenAi] {
        assert_eq!(
            crate::codec::response_text(&read(provider, &request(AnswerForm::Text), line.as_bytes().chunks(1 << 16)).0),
            long
        );
    }
    let answer = format!("{{\"content\": [{}]}}", " ".repeat(90));
    for size in 1..=answer.len() {
        let (told, taken) = read_at_most_40_bytes(&answer, size);
        assert!(taken <= 40 + size, "{size}");
        assert_eq!(told, TOO_LARGE, "{size}");
    }
    // Comments are no answer, however many come.
    let (told, taken) = read_at_most_40_bytes(&": ping\n\n".repeat(10_000), 100);
    assert_eq!(told, TOO_LARGE);
    assert!(taken <= 40 * 512 + 100, "{taken}");
}

const TOO_LARGE: &str = "too-large: the answer is larger than 40 bytes, and was not read to its end; request a shorter \
                         answer, or raise `answer_bytes` of the provider";

/// The result of a reader of at most 40 bytes for an answer in chunks of that size, and the number of bytes it took.
fn read_at_most_40_bytes(answer: &str, size: usize) -> (String, usize) {
    let mut reader = AnswerReader::new(OpenAi, &request(AnswerForm::Text), 40);
    let mut taken = 0;
    for chunk in answer.as_bytes().chunks(size) {
        taken += chunk.len();
        if reader.push(chunk) == Flow::Stop {
            break;
        }
    }
    (crate::codec::response_text(&reader.end()), taken)
}

#[test]
fn the_limit_counts_what_a_model_writes_and_keeps_what_arrived() {
    let event = |text: &str| {
        let choice = json!({ "delta": { "content": text }, "finish_reason": null });
        let frame = json!({ "choices": [choice], "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m" });
        format!("data: {frame}\n\n")
    };
    let end = "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n";
    let fitting: String = ["0123456789"; 4].map(event).concat();
    for size in [1, 7, 4_096] {
        let (told, taken) = read_at_most_40_bytes(&format!("{fitting}{end}"), size);
        assert!(told.starts_with("text \"0123456789012345678901234567890123456789\" | stop"), "{told}");
        assert!(taken > 400, "a frame is larger than what it holds");
        let (told, _) = read_at_most_40_bytes(&format!("{fitting}{}{end}", event("more")), size);
        assert_eq!(told, format!("{TOO_LARGE} | said \"0123456789012345678901234567890123456789more\""));
    }
    // A model's thoughts and its arguments count, too.
    let thought = json!({ "choices": [{ "delta": { "reasoning_content": "x".repeat(41) } }] });
    assert_eq!(read_at_most_40_bytes(&format!("data: {thought}\n\n{end}"), 9).0, TOO_LARGE);
}

/// The work of a reader, in events, on ten megabytes of tiny ones: one each, and no more memory
/// than the text.
#[test]
fn ten_megabytes_of_tiny_events() {
    let mut answer = String::new();
    while answer.len() < 10_000_000 {
        write!(answer, "data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}}}}]}}\n\n").unwrap();
    }
    let events = answer.len() / 46;
    let (response, _) = read(OpenAi, &value(), answer.as_bytes().chunks(16 * 1024));
    let failure = response.unwrap_err();
    assert_eq!((failure.kind, failure.said.unwrap().len()), (FailureKind::Cut, 2_000));
    assert!(events > 200_000);
}

#[test]
fn names_that_are_none_are_left_out() {
    for (id, expected) in [("a\u{202e}b", "?"), ("", "?"), ("chatcmpl-1:x/y z", "chatcmpl-1:x/y z")] {
        let answer = json!({ "id": id, "model": "x".repeat(201), "choices": [{ "message": { "content": "" } }] });
        let expected = format!("unknown | ? in, ? read, ? out | {expected} ?");
        check(OpenAi, &request(AnswerForm::Text), answer.to_string(), &expected);
    }
}

/// Parts of streams of both providers, whole and broken.
fn answer() -> impl Strategy<Value = Vec<u8>> {
    let parts: Vec<String> = [
        json!({ "type": "message_start", "message": { "id": "m", "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "{\"a\":" } }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "t", "name": "f" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "é\"b\"}" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{}" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 5 } }),
        json!({ "choices": [{ "delta": { "content": "{\"a\": [1]}" } }] }),
        json!({ "choices": [{ "delta": { "content": "x".repeat(150), "refusal": "no" } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "{" } }] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 5 } }),
        json!({ "error": { "message": "no" } }),
    ]
    .iter()
    .map(|event| format!("data: {event}\n\n"))
    .collect();
    let part = prop_oneof![
        12 => prop::sample::select(parts).prop_map(String::into_bytes),
        3 => prop::sample::select(vec!["data: [DONE]\n\n", "\n", "\r", "event: error\n", ": c\n", "data", "{", "<"]).prop_map(|part| part.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..4),
    ];
    vec(part, 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn chunks_make_no_difference(answer in answer(), sizes in vec(1usize..50, 1..20), most in 0usize..2_000) {
        for provider in [Anthropic, OpenAi] {
            for request in [request(AnswerForm::Text), value(), tools(&["f"])] {
                let read = |sizes: &mut dyn Iterator<Item = usize>, provider: Provider| {
                    let mut reader = AnswerReader::new(provider, &request, most);
                    let mut rest = answer.as_slice();
                    while !rest.is_empty() {
                        let (chunk, behind) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                        rest = behind;
                        // A caller that goes on after a stop changes nothing.
                        reader.push(chunk);
                    }
                    reader.end()
                };
                let whole = read(&mut core::iter::repeat(answer.len()), provider);
                prop_assert_eq!(&read(&mut core::iter::repeat(1), provider), &whole);
                prop_assert_eq!(&read(&mut sizes.iter().copied().cycle(), provider), &whole);
            }
        }
    }
}
