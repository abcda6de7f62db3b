//! The providers' reports and their reading. Sources:
//! <https://platform.claude.com/docs/en/build-with-claude/prompt-caching> (`input_tokens` leaves out the tokens that
//! the cache read and wrote), <https://developers.openai.com/api/docs/guides/prompt-caching> (`prompt_tokens` includes
//! them).

use core::num::NonZeroU32;

use proem_engine::call::{AnswerForm, CacheWriteUsage, Request, Usage, UsageDoubt};
use proem_engine::providers::Provider::{Anthropic, OpenAi};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::codec::{chunks, named, read, request};

/// Anthropic's usage, as it is in a whole message.
fn apart(usage: &Value) -> Usage {
    let message = json!({ "content": [], "stop_reason": "end_turn", "usage": usage }).to_string();
    read(Anthropic, &request(AnswerForm::Text), [message.as_bytes()]).0.unwrap().usage
}

/// Anthropic's usage, as it is at the start and at the end of a stream.
fn apart_streamed(start: &Value, end: &Value) -> Usage {
    let stream = named(&[
        json!({ "type": "message_start", "message": { "usage": start } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": end }),
    ]);
    read(Anthropic, &request(AnswerForm::Text), [stream.as_bytes()]).0.unwrap().usage
}

/// OpenAI's usage, as it is in a whole completion and in the last chunk of a stream.
fn usage_within(usage: &Value) -> Usage {
    let whole = json!({ "choices": [{ "message": {} }], "usage": usage }).to_string();
    let stream = chunks(&[json!({ "choices": [], "usage": usage })]);
    let [whole, streamed] =
        [whole, stream].map(|answer| read(OpenAi, &request(AnswerForm::Text), [answer.as_bytes()]).0.unwrap().usage);
    assert_eq!(whole, streamed);
    whole
}

fn cache_write(seconds: u32, tokens: u64) -> CacheWriteUsage {
    CacheWriteUsage { seconds: NonZeroU32::new(seconds), tokens }
}

fn usage(input: Option<u64>, read: Option<u64>, writes: &[CacheWriteUsage], output: Option<u64>) -> Usage {
    Usage { input, cache_read: read, cache_writes: writes.to_vec(), output, ..Usage::default() }
}

#[test]
fn what_is_not_reported_is_unknown() {
    assert_eq!(apart(&Value::Null), Usage::default());
    assert_eq!(apart(&json!({})), Usage::default());
    assert_eq!(apart(&json!({ "input_tokens": 3 })), usage(Some(3), None, &[], None));
    assert_eq!(apart(&json!({ "cache_read_input_tokens": 3, "output_tokens": 0 })), usage(None, Some(3), &[], Some(0)));
    assert_eq!(usage_within(&Value::Null), Usage::default());
    assert_eq!(usage_within(&json!({ "total_tokens": 9 })), Usage::default());
    assert_eq!(
        usage_within(&json!({ "prompt_tokens": 3, "completion_tokens": null })),
        usage(Some(3), None, &[], None)
    );
}

#[test]
fn writes_keep_their_lifetimes() {
    let split = |all: Value, short: u64, long: u64| {
        let split = json!({ "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long });
        json!({ "input_tokens": 1, "cache_creation_input_tokens": all, "cache_creation": split })
    };
    assert_eq!(
        apart(&split(json!(7), 3, 4)),
        usage(Some(8), None, &[cache_write(300, 3), cache_write(3_600, 4)], None)
    );
    assert_eq!(
        apart(&split(Value::Null, 3, 4)),
        usage(Some(8), None, &[cache_write(300, 3), cache_write(3_600, 4)], None)
    );
    assert_eq!(
        apart(&split(json!(9), 3, 4)),
        usage(Some(10), None, &[cache_write(300, 3), cache_write(3_600, 4), cache_write(0, 2)], None)
    );
    let all = json!({ "input_tokens": 1, "cache_creation_input_tokens": 7 });
    assert_eq!(apart(&all), usage(Some(8), None, &[cache_write(0, 7)], None));
    let of_5_6 =
        json!({ "prompt_tokens": 9, "prompt_tokens_details": { "cached_tokens": 2, "cache_write_tokens": 7 } });
    assert_eq!(usage_within(&of_5_6), usage(Some(9), Some(2), &[cache_write(0, 7)], None));
}

#[test]
fn contradictions_are_unknown() {
    let split = json!({ "ephemeral_5m_input_tokens": 8 });
    let more = json!({ "input_tokens": 1, "cache_creation_input_tokens": 7, "cache_creation": split });
    let unknown = Usage { doubt: Some(UsageDoubt::Contradictory), ..Usage::default() };
    assert_eq!(apart(&more), unknown);
    let more = json!({ "prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": { "cached_tokens": 10 } });
    assert_eq!(usage_within(&more), unknown);
    let huge = json!({ "input_tokens": u64::MAX, "cache_read_input_tokens": 1 });
    assert_eq!(apart(&huge), unknown);
    for total in [11, 9, 8, 0] {
        let less = json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": total });
        assert_eq!(usage_within(&less), unknown, "{total}");
    }
}

#[test]
fn no_count_makes_the_rest_unknown() {
    let unknown = Usage { doubt: Some(UsageDoubt::Contradictory), ..Usage::default() };
    for broken in [json!(-3), json!("7"), json!(7.5), json!([7]), json!(1e300), json!(true)] {
        let read = json!({ "cached_tokens": broken });
        assert_eq!(apart(&json!({ "input_tokens": broken, "output_tokens": 7 })), unknown, "{broken}");
        assert_eq!(apart(&json!({ "input_tokens": 7, "cache_creation_input_tokens": broken })), unknown, "{broken}");
        assert_eq!(usage_within(&json!({ "prompt_tokens": 7, "completion_tokens": broken })), unknown, "{broken}");
        assert_eq!(usage_within(&json!({ "prompt_tokens": 7, "prompt_tokens_details": read })), unknown, "{broken}");
        // Later parts of a stream mend nothing.
        assert_eq!(
            apart_streamed(&json!({ "input_tokens": broken }), &json!({ "input_tokens": 7 })),
            unknown,
            "{broken}"
        );
    }
}

#[test]
fn thinking_that_stands_in_the_total_alone_is_part_of_the_answer() {
    let reported = json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 112 });
    assert_eq!(usage_within(&reported), usage(Some(9), None, &[], Some(103)));
}

#[test]
fn a_stream_counts_what_was_last_said() {
    let start = json!({ "input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1 });
    let end = json!({ "output_tokens": 20 });
    assert_eq!(apart_streamed(&start, &end), usage(Some(15), Some(5), &[], Some(20)));
    // Gateways know the input at the end only; and what is known stays known.
    let end = json!({ "input_tokens": 12, "cache_read_input_tokens": 0, "output_tokens": 20 });
    assert_eq!(apart_streamed(&start, &end), usage(Some(17), Some(5), &[], Some(20)));
    let nothing = json!({ "input_tokens": 0, "output_tokens": 0 });
    assert_eq!(apart_streamed(&nothing, &end), usage(Some(12), Some(0), &[], Some(20)));
    // The count at the start is no count of the output.
    assert_eq!(apart_streamed(&start, &Value::Null), usage(Some(15), Some(5), &[], None));
}

/// The whole answer with this usage: a text, or nothing.
fn answered(text: &str, reported: &Value, request: &Request) -> [(Option<u64>, Option<u64>); 2] {
    let blocks = if text.is_empty() { json!([]) } else { json!([{ "type": "text", "text": text }]) };
    let message = json!({ "content": blocks, "stop_reason": "end_turn", "usage": reported }).to_string();
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] });
    let stream = chunks(&[chunk, json!({ "choices": [], "usage": reported })]);
    let counted = |usage: Usage| (usage.input, usage.output);
    [
        counted(read(Anthropic, request, [message.as_bytes()]).0.unwrap().usage),
        counted(read(OpenAi, request, [stream.as_bytes()]).0.unwrap().usage),
    ]
}

#[test]
fn zero_is_no_count_of_what_was_not_empty() {
    let asked = request(AnswerForm::Text);
    let zero = json!({ "input_tokens": 0, "output_tokens": 0, "prompt_tokens": 0, "completion_tokens": 0 });
    assert_eq!(answered("hello", &zero, &asked), [(None, None); 2]);
    // Nothing was answered, and nothing is what it took.
    assert_eq!(answered("", &zero, &asked), [(None, Some(0)); 2]);
    let half = json!({ "input_tokens": 7, "output_tokens": 0, "prompt_tokens": 7, "completion_tokens": 0 });
    assert_eq!(answered("hello", &half, &asked), [(Some(7), None); 2]);
    // All of the prompt came from the cache.
    let cached = json!({ "input_tokens": 0, "cache_read_input_tokens": 9, "output_tokens": 3,
        "prompt_tokens": 9, "prompt_tokens_details": { "cached_tokens": 9 }, "completion_tokens": 3 });
    assert_eq!(answered("hello", &cached, &asked), [(Some(9), Some(3)); 2]);
    let mut empty = asked;
    empty.assembly.sections.clear();
    assert_eq!(answered("hello", &half, &empty), [(Some(7), None); 2]);
    assert_eq!(answered("", &zero, &empty), [(Some(0), Some(0)); 2]);
}

proptest! {
    #[test]
    fn sums_are_the_providers(
        fresh in 0u64..1 << 40, read in 0u64..1 << 40, short in 0u64..1 << 40, long in 0u64..1 << 40, output in 0u64..1 << 40,
    ) {
        let split = json!({ "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long });
        let reported = json!({ "input_tokens": fresh, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": short + long, "cache_creation": split, "output_tokens": output });
        // Anthropic: the whole prompt is the sum of the three.
        for usage in [apart(&reported), apart_streamed(&reported, &json!({ "output_tokens": output }))] {
            prop_assert_eq!(usage.input, Some(fresh + read + short + long).filter(|tokens| *tokens > 0));
            let uncached = usage.input.map(|_| fresh);
            prop_assert_eq!((usage.uncached(), usage.cache_read, usage.cache_written()), (uncached, Some(read), short + long));
            prop_assert_eq!(usage.output, Some(output));
        }
        // OpenAI: the whole prompt is `prompt_tokens`, and with the answer it is `total_tokens`.
        let prompt = fresh + read + short;
        let reported = json!({ "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": { "cached_tokens": read, "cache_write_tokens": short } });
        let usage = usage_within(&reported);
        let total = reported["total_tokens"].as_u64().filter(|_| prompt > 0);
        prop_assert_eq!(usage.input.zip(usage.output).map(|(input, output)| input + output), total);
        prop_assert_eq!((usage.uncached(), usage.cache_read, usage.cache_written()), (usage.input.map(|_| fresh), Some(read), short));
    }

    #[test]
    fn whatever_is_reported_what_was_cached_is_part_of_the_whole(
        counts in prop::collection::vec(prop::option::of(prop_oneof![0u64..50, Just(u64::MAX)]), 6),
    ) {
        let apart = apart(&json!({ "input_tokens": counts[0], "cache_read_input_tokens": counts[1],
            "cache_creation_input_tokens": counts[2], "output_tokens": counts[5],
            "cache_creation": { "ephemeral_5m_input_tokens": counts[3], "ephemeral_1h_input_tokens": counts[4] } }));
        let within = usage_within(&json!({ "prompt_tokens": counts[0], "completion_tokens": counts[5],
            "prompt_tokens_details": { "cached_tokens": counts[1], "cache_write_tokens": counts[2] } }));
        for usage in [apart, within] {
            prop_assert!(usage.input.is_none() || usage.uncached().is_some(), "{:?}", usage);
            prop_assert!(usage.input.is_none() || counts[0].is_some());
            let expected = if usage.doubt.is_some() { (None, None) } else { (counts[1], counts[5]) };
            prop_assert_eq!((usage.cache_read, usage.output), expected);
        }
    }
}
