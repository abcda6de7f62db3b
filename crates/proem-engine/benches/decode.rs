//! How long valid JSON takes beside `serde_json`, and hostile text as it gets longer.
//!
//! `cargo bench -p proem-engine --bench decode`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use proem_engine::contract::Contract;
use proem_engine::decode::decode_value;
use serde_json::{Value as Json, json};

/// How many rounds. Both are timed in each.
const ROUNDS: usize = 21;

fn main() {
    let contract = contract();
    for items in [1, 32, 1600] {
        let text = answer(items).to_string();
        assert!(decode_value(&text, &contract).unwrap().repairs.is_empty());
        let calls = 1 + 500_000 / text.len();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(nanos(calls, || _ = black_box(serde_json::from_str::<Json>(black_box(&text)).unwrap())));
            ours.push(nanos(calls, || _ = black_box(decode_value(black_box(&text), &contract).unwrap())));
        }
        let value = answer(items);
        let check = median((0..ROUNDS).map(|_| nanos(calls, || _ = black_box(contract.accepts(&value)))).collect());
        let (ours, theirs) = (median(ours), median(theirs));
        println!(
            "{} bytes: decode {ours} ns (of it the contract's check {check} ns), serde_json {theirs} ns, ratio {:.2}",
            text.len(),
            time_ratio(ours, theirs)
        );
    }
    let sloppy =
        format!("Here:\n```json\n{}\n```", answer(32).to_string().replace("\"id\"", "id").replace("]}", ",],}"));
    let micros =
        median((0..ROUNDS).map(|_| nanos(20, || _ = black_box(decode_value(&sloppy, &contract)))).collect()) / 1000;
    println!("{} bytes with repairs: {micros} µs", sloppy.len());
    for piece in ["[", "{\"items\":", "{a:'x' ", "[a {", "{\"a\": \"x\" y\"", "{}", "\"", "word "] {
        let [short, long] = [1_000_000, 10_000_000].map(|len: usize| {
            let text = piece.repeat(len / piece.len());
            nanos(1, || _ = black_box(decode_value(&text, &contract))) / 1_000_000
        });
        println!("{piece:?} again and again: 1 MB {short} ms, 10 MB {long} ms");
    }
}

fn contract() -> Contract {
    let item = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "title": {"type": "string", "maxLength": 200},
            "score": {"type": "number"},
            "state": {"enum": ["open", "done"]},
            "tags": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 40}},
        },
        "required": ["id", "title", "score", "state"],
    });
    let schema = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "maxItems": 10_000, "items": item}},
        "required": ["items"],
    });
    Contract::bounded("answer", "", schema).unwrap().0
}

fn answer(items: usize) -> Json {
    let item = |id: usize| {
        json!({
            "id": id,
            "title": format!("Review the \"{id}\" figures before Monday"),
            "score": 0.25,
            "state": if id.is_multiple_of(2) { "open" } else { "done" },
            "tags": ["finance", "q3"],
        })
    };
    json!({"items": (0..items).map(item).collect::<Vec<Json>>()})
}

/// The mean of some calls.
fn nanos(calls: usize, mut call: impl FnMut()) -> u128 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_nanos() / calls.max(1) as u128
}

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn time_ratio(ours: u128, theirs: u128) -> f64 {
    let hundredths = ours.saturating_mul(100).checked_div(theirs).unwrap_or_default();
    f64::from(u32::try_from(hundredths).unwrap_or(u32::MAX)) / 100.0
}
