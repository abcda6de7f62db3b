//! `proem runs export`: a line for each call, with what was spent on it and without a text.

use std::fs;

use proem_llm::scripted::{AnswerBlock, Delivery, ModelAnswer, Reply, ReplyContent, ScriptedFinish, ScriptedUsage};
use serde_json::{Value as Json, json};

use crate::fixture::Fixture;
use crate::records::{late_reply, spawn};
use crate::run::{fixture, low, start};

/// An answer that used the cache.
fn cached(value: Json) -> Reply {
    let usage =
        ScriptedUsage { input: 1000, cache_read: 600, cache_write: 300, output: 20, ..ScriptedUsage::default() };
    let content = vec![AnswerBlock::Value(value)];
    let answer = ModelAnswer { content, finish: ScriptedFinish::Natural, usage: Some(usage) };
    Reply { say: ReplyContent::Answer(answer), how: Delivery::default() }
}

fn exported(fixture: &Fixture, more: &[&str]) -> Vec<Json> {
    let run = fixture.proem(&[&["runs", "export"], more].concat());
    assert_eq!(run.code(), 0, "{}", run.transcript());
    run.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_call_is_a_line_that_meets_the_schema_and_has_no_text() {
    let server = start(vec![cached(json!({ "severity": "awful" })), cached(json!({ "severity": "low" }))]);
    let fixture = fixture(&server, "");
    fixture.proem(&["run", "reviews/strict", "--set", "title=It crashes", "--json"]).json();
    fixture.proem(&["assemble", "an assembly is no call"]);
    let calls = exported(&fixture, &[]);
    let told =
        |call: &Json| json!([call["call"], call["state"], call["contract"], call["problems"], call["runOutcome"]]);
    assert_eq!(
        calls.iter().map(told).collect::<Vec<_>>(),
        [json!([0, "answered", "broken", 1, "answered"]), json!([1, "answered", "met", 0, "answered"])]
    );
    for call in &calls {
        assert_eq!((&call["prompt"], &call["attempts"]), (&json!("reviews/strict"), &json!(1)));
        let [whole, uncached, read, written] =
            ["inputTokens", "uncachedInputTokens", "cacheReadTokens", "cacheWrittenTokens"]
                .map(|column| call[column].as_u64().unwrap());
        assert_eq!((whole, uncached, read, written), (1000, 100, 600, 300), "cached tokens count once");
        assert!(call["costNanoDollars"].as_u64() > Some(0) && call["tookMs"].is_u64(), "{call}");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/runs-export.schema.json");
    let schema: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for call in &calls {
        assert!(validator.is_valid(call), "{call}");
    }
    let text = json!(calls).to_string();
    assert!(!text.contains("crashes") && !text.contains("awful") && !text.contains("sk-ant"), "{text}");
    assert_eq!(exported(&fixture, &["--prompt", "reviews/strict", "--since", "1d", "--jsonl"]), calls);
    let other = fixture.proem(&["runs", "export", "--prompt", "risk"]);
    assert_eq!((other.code(), other.stdout()), (0, ""));
    assert!(other.stderr().contains("no recorded call matches"), "{}", other.stderr());
}

#[test]
fn a_call_whose_process_died_has_unknown_figures_and_no_zeros() {
    let server = start(vec![low(), late_reply(low(), 60_000)]);
    let fixture = fixture(&server, "attempts = 1\n");
    let run = ["run", "reviews/strict", "--set", "title=It crashes"];
    fixture.proem(&run);
    let mut child = spawn(&fixture, &run);
    server.await_requests(2);
    child.kill().unwrap();
    child.wait().unwrap();
    // The next writer settles what the dead one left.
    fixture.proem(&["assemble", "settle"]);
    let calls = exported(&fixture, &[]);
    let figures =
        |call: &Json| ["inputTokens", "outputTokens", "costNanoDollars", "tookMs"].map(|name| call[name].is_null());
    assert_eq!(calls.iter().map(figures).collect::<Vec<_>>(), [[false; 4], [true; 4]], "{calls:?}");
    assert_eq!((&calls[1]["state"], &calls[1]["contract"]), (&json!("unknown"), &Json::Null));
    let table = fixture.proem(&["runs", "export", "--csv"]);
    let rows: Vec<Vec<&str>> = table.stdout().lines().map(|line| line.split(',').collect()).collect();
    assert!(table.stdout().starts_with("run,call,at,project,kind,prompt,"), "{}", table.stdout());
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    let mut columns: Vec<&str> = rows[0].clone();
    columns.sort_unstable();
    assert_eq!(columns, calls[0].as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>());
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    assert_eq!((rows.len(), rows[2][column("inputTokens")], rows[2][column("state")]), (3, "", "unknown"));
    let both = fixture.proem(&["runs", "export", "--csv", "--json"]);
    assert_eq!(both.code(), 2, "{}", both.transcript());
}
