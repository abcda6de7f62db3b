//! Servers' reports of tokens: impossible ones are settled in full, and honest servers are believed.

use std::fs;

use proem_llm::scripted::{Reply, ScriptedServer, ScriptedUsage};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::run::{fixture, start};

/// Prose of about so many bytes.
fn prose(bytes: usize) -> String {
    "The clock of the station stands still at noon, and nobody mends it. ".repeat(bytes / 68)
}

fn user(server: &ScriptedServer) -> Fixture {
    let fixture = fixture(server, "attempts = 1\nconcurrency = 1\n");
    let before = fs::read_to_string(fixture.base.join("config/proem/config.toml")).unwrap();
    fixture.configure("config.toml", &format!("{before}\n[budget.user]\nday_tokens = 1_000_000\n"));
    fixture
}

fn ask(fixture: &Fixture, model: &str, more: &[&str]) -> Run {
    let title = format!("title={}", prose(10_000));
    let args = [&["run", "reviews/free", "--set", &title, "--model", model][..], more].concat();
    fixture.proem(&args)
}

/// The booking of the last attempt: its state, and whether that is all that was reserved.
fn booked(fixture: &Fixture) -> (String, bool) {
    let rows = sql(
        fixture,
        "SELECT state || ' ' || (usage.tokens = attempts.most_tokens) FROM attempts \
         JOIN usage ON usage.attempt = attempts.id ORDER BY attempts.id DESC LIMIT 1",
    );
    let (state, is_all) = rows[0].split_once(' ').unwrap();
    (state.to_owned(), is_all == "1")
}

#[test]
fn impossible_usage_is_settled_in_full_and_said() {
    let reported = |input, output| Some(ScriptedUsage { input, output, ..ScriptedUsage::default() });
    for (usage, model, words) in [
        (reported(1, 1), "claude-haiku-4-5", "the provider reports 1 tokens for a prompt of at least "),
        (reported(1, 1), "local/tiny", "the provider reports 1 tokens for a prompt of at least "),
        (reported(2_300, 1), "local/tiny", "the provider reports 1 tokens for an answer of at least "),
        (reported(900_000_000, 500), "local/tiny", "the provider reports 900000000 tokens for a prompt of at most "),
        (reported(2_300, 900_000_000), "local/tiny", "tokens for an answer of at most "),
        (None, "local/tiny", "the provider does not report how many tokens were used"),
    ] {
        let server = start(vec![Reply::text(prose(2_000)).using(usage)]);
        let fixture = user(&server);
        let run = ask(&fixture, model, &[]);
        assert_eq!(run.code(), 0, "{}", run.stderr());
        let note = run.stderr().lines().find(|line| line.contains(words)).unwrap_or_default();
        // An impossible report is charged in full. Missing usage is bounded by the bytes of both directions.
        let (booking, words_of_show) = match usage {
            Some(_) => ("charged in full", "charged in full"),
            None => ("under `[providers.local]`", "(estimated), "),
        };
        assert!(note.starts_with("note: attempt 1: ") && note.ends_with(booking), "{}", run.stderr());
        assert_eq!(booked(&fixture), ("unknown".to_owned(), usage.is_some()), "{usage:?}");
        let shown = fixture.proem(&["runs", "show", "last"]);
        let said = shown.answer().split_whitespace().collect::<Vec<_>>().join(" ");
        // A model on this machine has no price that could be charged.
        let is_free = usage.is_some() && model.starts_with("local/");
        assert!(said.contains(if is_free { "free on this machine" } else { words_of_show }), "{said}");
        assert_eq!(
            usage.is_some(),
            said.contains(&format!("because: {}", words.trim_end())) || said.contains(words),
            "{said}"
        );
        let json = fixture.proem(&["runs", "show", "last", "--json"]).json();
        assert_eq!(json["calls"][0]["attempts"][0]["usage"]["doubt"].is_null(), usage.is_none(), "{json}");
    }
}

#[test]
fn a_batch_believes_no_more_than_a_run() {
    let impossible = Some(ScriptedUsage { input: 1, output: 1, ..ScriptedUsage::default() });
    let server = start(vec![Reply::text(prose(2_000)).using(impossible), Reply::text(prose(2_000))]);
    let fixture = user(&server);
    let row = json!({ "title": prose(10_000) }).to_string();
    fixture.write("rows.jsonl", format!("{row}\n{row}\n"));
    let run = fixture.proem(&["run", "reviews/free", "--batch", "rows.jsonl", "--model", "local/tiny"]);
    let lines: Vec<Json> = run.answer().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let doubts: Vec<&Json> = lines.iter().map(|line| &line["attempts"][0]["usage"]["doubt"]["kind"]).collect();
    assert_eq!(doubts, [&json!("input-too-low"), &Json::Null], "{lines:?}");
    assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id"), ["unknown", "reported"]);
}

#[test]
fn agents_say_it_too() {
    let impossible = Some(ScriptedUsage { input: 1, output: 1, ..ScriptedUsage::default() });
    let finalize =
        json!({ "action": "FINALIZE", "reasoning": "Nothing else would change the result.", "target": null });
    let server = start(vec![Reply::value(finalize).using(impossible), Reply::value(json!({}))]);
    let mut fixture = crate::risk::scene::shop().repository();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\nattempts = 1\n", server.address());
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}"));
    let report = fixture.proem(&["risk", "HEAD", "--model", "claude-sonnet-5", "--json"]).json();
    let notes = report["notes"].to_string();
    assert!(notes.contains("the provider reports 1 tokens for a prompt of at least"), "{report}");
    assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id LIMIT 1"), ["unknown"]);
}

/// Whole answers as servers of one's own and providers write them, with their own counts of the same text.
#[test]
fn honest_servers_are_believed() {
    let openai = |usage: Json| {
        let message = json!({ "role": "assistant", "content": prose(2_000) });
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "tiny",
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }], "usage": usage,
        })
    };
    let anthropic = |usage: Json| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": prose(2_000) }], "usage": usage,
        })
    };
    let cache = json!({ "ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 0 });
    for (name, model, body) in [
        // OpenAI, with what was cached in it.
        (
            "openai",
            "local/tiny",
            openai(json!({
                "prompt_tokens": 2_230, "completion_tokens": 435, "total_tokens": 2_665,
                "prompt_tokens_details": { "cached_tokens": 2_048, "audio_tokens": 0 },
                "completion_tokens_details": { "reasoning_tokens": 0, "audio_tokens": 0 },
            })),
        ),
        // Thinking in the answer, and beside it.
        (
            "reasoning",
            "local/tiny",
            openai(json!({
                "prompt_tokens": 2_230, "completion_tokens": 3_435, "total_tokens": 5_665,
                "completion_tokens_details": { "reasoning_tokens": 3_000 },
            })),
        ),
        (
            "gemini",
            "local/tiny",
            openai(json!({ "prompt_tokens": 2_230, "completion_tokens": 435, "total_tokens": 5_665 })),
        ),
        // llama.cpp's server and Ollama count the whole prompt.
        (
            "llama.cpp",
            "local/tiny",
            openai(json!({
                "completion_tokens": 455, "prompt_tokens": 2_320, "total_tokens": 2_775,
                "prompt_tokens_details": { "cached_tokens": 2_300 },
            })),
        ),
        (
            "ollama",
            "local/tiny",
            openai(json!({ "prompt_tokens": 2_320, "completion_tokens": 455, "total_tokens": 2_775 })),
        ),
        // Tokenisers of another kind: a byte each, and several words each.
        (
            "bytes",
            "local/tiny",
            openai(json!({ "prompt_tokens": 10_100, "completion_tokens": 1_975, "total_tokens": 12_075 })),
        ),
        (
            "superwords",
            "local/tiny",
            openai(json!({ "prompt_tokens": 800, "completion_tokens": 160, "total_tokens": 960 })),
        ),
        // Anthropic counts what is cached beside the rest.
        (
            "anthropic",
            "claude-haiku-4-5",
            anthropic(json!({
                "input_tokens": 30, "cache_read_input_tokens": 1_700, "cache_creation_input_tokens": 500,
                "cache_creation": cache, "output_tokens": 435, "service_tier": "standard",
            })),
        ),
    ] {
        let server = start(vec![Reply::raw(200, body.to_string())]);
        let fixture = user(&server);
        let run = ask(&fixture, model, &["--json"]);
        assert_eq!(run.code(), 0, "{name}: {}", run.transcript());
        assert_eq!(booked(&fixture).0, "reported", "{name}: {}", run.transcript());
    }
}
