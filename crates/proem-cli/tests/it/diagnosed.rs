//! Anthropic's own account of its cache: asked for, recorded, and shown beside our finding.

use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use serde_json::{Value as Json, json};

use crate::fixture::Fixture;

const PROMPT: &str = "---\nmodel: small\ninput:\n  schema: { note: string, rule: string }\nproem:\n  version: 1.0.0\n  \
    purpose: answers\n  inputs:\n    rule: { trust: trusted }\n  sections:\n    - { name: rules, trust: rules, cache: static }\n    \
    - { name: note, trust: untrusted, cache: never }\n---\n{{role \"system\"}}{{section \"rules\"}}\n{{rule}}\n\
    {{role \"user\"}}{{section \"note\"}}\n{{note}}\n";

/// An answer with that id, which says this of the cache.
fn reply(id: &str, diagnostics: &Json) -> Reply {
    let usage = json!({ "input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1 });
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "diagnostics": diagnostics,
        "content": [{ "type": "text", "text": "ok" }], "stop_reason": "end_turn", "usage": usage,
    });
    Reply::raw(200, message.to_string()).header("content-type", "application/json")
}

fn changed(kind: &str) -> Json {
    json!({ "cache_miss_reason": { "type": kind, "cache_missed_input_tokens": 1_234 } })
}

#[test]
fn what_the_provider_says_stands_beside_ours() {
    let pending = json!({ "cache_miss_reason": null });
    let said = [json!(null), changed("system_changed"), changed("tools_changed"), pending];
    let replies = said.iter().enumerate().map(|(n, said)| reply(&format!("msg_{n}"), said)).collect();
    let server = ScriptedServer::start(ServerScript::of(replies)).unwrap();
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.anthropic]\nbase_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\nstream = false\n\
             cache_diagnostics = true\n",
            server.address()
        ),
    );
    fixture.configure("book/own/ask/1.0.0.prompt", PROMPT);
    for (n, rule) in ["Be brief.", "Be polite.", "Be kind.", "Be kind."].iter().enumerate() {
        let run = fixture.proem(&["run", "own/ask", "--set", "note=x", "--set", &format!("rule={rule}")]);
        assert_eq!(run.code(), 0, "{}", run.transcript());
        let request = server.requests()[n].clone();
        let previous = n.checked_sub(1).map(|before| format!("msg_{before}"));
        assert_eq!(request.json().unwrap()["diagnostics"], json!({ "previous_message_id": previous }));
        assert_eq!(request.header("anthropic-beta"), Some("cache-diagnosis-2026-04-07"));
    }
    for (first, second, expected, words) in [
        ("last~3", "last~2", "agrees", "agreeing: the system text changed, about 1,234 tokens missed"),
        ("last~2", "last~1", "disagrees", "disagreeing: the tools changed"),
        ("last~1", "last", "undecided", "undecided: it had not found out"),
        ("last~3", "last", "undecided", "undecided: it was not asked to compare these two"),
    ] {
        let diff = fixture.proem(&["runs", "diff", first, second, "--json"]).json();
        assert_eq!(diff["provider"]["agreement"], expected, "{diff}");
        let page = fixture.proem(&["runs", "diff", first, second]);
        assert!(page.answer().contains(&format!("anthropic's own word, {words}")), "{}", page.stdout());
    }
    // One run says the same of itself and of the one that it was compared with.
    for (run, theirs, agreement) in [
        ("last~2", "the system text changed, about 1,234", "agreeing"),
        ("last~1", "the tools changed", "disagreeing"),
        ("last", "it had not found out when it answered", "undecided"),
    ] {
        let show = fixture.proem(&["runs", "show", run]);
        let flat = show.answer().split_whitespace().filter(|word| *word != "·").collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&format!("in the provider's words: {theirs}")), "{flat}");
        assert!(flat.contains(&format!(", {agreement}: nothing was cached: the prefix has 4 tokens")), "{flat}");
        let json = fixture.proem(&["runs", "show", run, "--json"]).json();
        let cache = &json["calls"][0]["cache"];
        assert!(cache["provider"]["words"].as_str().unwrap().starts_with(&format!("{agreement}: {theirs}")), "{cache}");
    }
    let first = fixture.proem(&["runs", "show", "last~3", "--json"]).json();
    assert!(first["calls"][0]["cache"].is_null() && !first["calls"][0]["attempts"].is_null(), "{first}");
    // The question to the cache is a part of the request: it is made again byte for byte.
    let replay = fixture.proem(&["runs", "replay", "last~2"]);
    assert_eq!(replay.code(), 0, "{}", replay.transcript());
}

#[test]
fn nobody_is_asked_who_may_not_know_it() {
    let server = ScriptedServer::start(ServerScript::of(vec![reply("msg_0", &json!(null))])).unwrap();
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let address = server.address();
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.anthropic]\nbase_url = \"http://{address}\"\nkey = \"ANTHROPIC_API_KEY\"\nstream = false\n"
        ),
    );
    fixture.configure("book/own/ask/1.0.0.prompt", PROMPT);
    let run = fixture.proem(&["run", "own/ask", "--set", "note=x", "--set", "rule=Be brief."]);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    let request = server.requests()[0].clone();
    assert!(request.json().unwrap().get("diagnostics").is_none() && request.header("anthropic-beta").is_none());
}
