//! The cost of a call beside the call: assemble, plan the cache, encode, write the body, read the streamed answer,
//! decode it, check it. 64 sections, about 20,000 tokens, another task each time.
//!
//! `cargo bench -p proem-llm --bench overhead`
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reads the clock and prints")]

#[path = "../../proem-engine/benches/large/mod.rs"]
mod large;

use std::hint::black_box;
use std::time::{Duration, Instant};

use large::Large;
use proem_engine::cache::plan_request;
use proem_engine::call::{AnswerForm, Arrival, Request};
use proem_engine::contract::Contract;
use proem_engine::providers::{Model, Providers};
use proem_engine::run::{
    AnswerRequirement, EffectId, EffectResult, Event, EventKind, Exchange, ExchangeEnd, ExchangeLimits, ExchangeTerms,
    Machine as _, Step, Time,
};
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::InstallationKey;
use proem_llm::codec::{AnswerReader, encode_request};
use proem_text::json;
use serde_json::json;

/// How many runs, unless the first argument says.
const RUNS: usize = 5_000;

/// The parts of a call, as the table names them.
const PARTS: [&str; 5] = ["assemble", "plan and encode", "write the body", "read the stream", "decode and check"];

fn contract() -> Contract {
    let schema = json!({
        "type": "object",
        "properties": {
            "risk_level": { "enum": ["LOW", "MEDIUM", "HIGH"] },
            "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
            "key_evidence": { "type": "array", "maxItems": 5, "items": { "type": "string", "maxLength": 300 } },
            "recommendations": { "type": "array", "maxItems": 3, "items": { "type": "string", "maxLength": 300 } },
            "reasoning": { "type": "string", "maxLength": 300 },
        },
        "required": ["risk_level", "confidence", "key_evidence", "recommendations", "reasoning"],
        "additionalProperties": false,
    });
    Contract::new("assessment", "The risk of one change.", schema).unwrap()
}

/// An answer of Anthropic's, streamed: the tool's arguments in pieces of a few tokens.
fn stream() -> Vec<u8> {
    let value = json!({
        "risk_level": "HIGH",
        "confidence": 0.8,
        "key_evidence": ["twelve files import this one", "its owner changed 14 days ago", "it failed like this before"],
        "recommendations": ["test the time-out of the permission check", "let the former owner review it"],
        "reasoning": "Many files depend on it, its owner is new, and a similar change failed before.",
    });
    let text = json::compact(&value);
    let mut out = String::new();
    let mut event = |name: &str, data: serde_json::Value| {
        out.push_str(&format!("event: {name}\ndata: {}\n\n", json::compact(&data)));
    };
    let usage = json!({ "input_tokens": 21_947, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1 });
    event(
        "message_start",
        json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant",
            "model": "claude-haiku-4-5", "content": [], "stop_reason": null, "usage": usage } }),
    );
    event(
        "content_block_start",
        json!({ "type": "content_block_start", "index": 0, "content_block":
            { "type": "tool_use", "id": "toolu_1", "name": "assessment", "input": {} } }),
    );
    for piece in text.as_bytes().chunks(12) {
        let piece = String::from_utf8_lossy(piece);
        event(
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": 0, "delta":
                { "type": "input_json_delta", "partial_json": piece } }),
        );
    }
    event("content_block_stop", json!({ "type": "content_block_stop", "index": 0 }));
    event(
        "message_delta",
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 120 } }),
    );
    event("message_stop", json!({ "type": "message_stop" }));
    out.into_bytes()
}

/// One call without the network. How long each part took.
fn call(
    large: &Large,
    counts: &mut CachingCounter<'_>,
    model: &Model,
    contract: &Contract,
    answer: &[u8],
) -> [Duration; 5] {
    let key = InstallationKey::new([7; 32]);
    let mut times = [Duration::ZERO; 5];
    let mut start = Instant::now();
    let mut lap = |index: usize| {
        let now = Instant::now();
        if let Some(time) = times.get_mut(index) {
            *time = now - start;
        }
        start = now;
    };
    let (assembly, _) = large.assemble(counts);
    lap(0);
    let answering = AnswerForm::Value { tool: contract.tool().clone() };
    let request = Request {
        model: model.name.clone(),
        assembly,
        answer: answering,
        sampling: Default::default(),
        arrival: Arrival::Streamed,
        way: None,
        inquiry: None,
    };
    let plan = plan_request(&request, model, &OpenAi::O200k);
    let encoded = encode_request(&request, model, &plan).unwrap();
    lap(1);
    let body = json::compact(&encoded.wire.body);
    black_box(&body);
    lap(2);
    let mut reader = AnswerReader::new(model.provider(), &request, 4 * 1024 * 1024);
    for chunk in answer.chunks(1_400) {
        reader.push(chunk);
    }
    let response = reader.end().unwrap();
    lap(3);
    let terms = ExchangeTerms {
        owed: AnswerRequirement::Value(contract),
        fallback: None,
        limits: ExchangeLimits::default(),
        key: &key,
        counter: &OpenAi::O200k,
    };
    let mut exchange = Exchange::new(terms, request);
    let event = |what| Event { now: Time(0), what };
    exchange.step(event(EventKind::Started)).unwrap();
    let results = vec![(EffectId(0), EffectResult::Response { response: Box::new(response) })];
    let Step::Done(outcome) = exchange.step(event(EventKind::Performed { results })).unwrap() else { return times };
    assert!(matches!(outcome.ended, ExchangeEnd::Answered { .. }), "the answer meets its contract");
    lap(4);
    times
}

fn main() {
    let runs = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(RUNS);
    let (mut large, contract, answer) = (Large::new(), contract(), stream());
    let providers = Providers::load().unwrap();
    let model = providers.model("claude-haiku-4-5").unwrap();
    let mut counts = CachingCounter::new(&OpenAi::O200k);
    call(&large, &mut counts, model, &contract, &answer);
    let mut all: Vec<[Duration; 5]> = Vec::with_capacity(runs);
    for task in 1..=runs {
        large.set_task(task);
        all.push(call(&large, &mut counts, model, &contract, &answer));
    }
    let show = |name: &str, mut micros: Vec<u128>| {
        micros.sort_unstable();
        let at = |percent: usize| micros.get(micros.len() * percent / 100).copied().unwrap_or_default();
        println!("{name:<18} p50 {:>5} µs, p90 {:>5} µs, p99 {:>5} µs", at(50), at(90), at(99));
    };
    println!("{runs} calls, {} bytes of answer", answer.len());
    for (index, name) in PARTS.iter().enumerate() {
        show(name, all.iter().filter_map(|times| times.get(index)).map(Duration::as_micros).collect());
    }
    show("all of it", all.iter().map(|times| times.iter().sum::<Duration>().as_micros()).collect());
}
