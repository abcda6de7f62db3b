//! The guide through an incident: what it shows is what a user sees.

use std::fs;

use proem_llm::scripted::{
    AnswerBlock, Delivery, ModelAnswer, Reply, ReplyContent, ScriptedFinish, ScriptedServer, ScriptedUsage,
    ServerScript,
};
use serde_json::{Value as Json, json};

use crate::browser::browsed_page;
use crate::fixture::Fixture;
use crate::guide;

/// An answer whose prompt wrote so many tokens to the cache, and read so many from it.
fn reply(severity: &str, (write, read): (u64, u64)) -> Reply {
    let value = AnswerBlock::Value(json!({ "severity": severity }));
    let usage = Some(ScriptedUsage {
        input: 2_050,
        cache_read: read,
        cache_write: write,
        output: 12,
        ..ScriptedUsage::default()
    });
    Reply {
        say: ReplyContent::Answer(ModelAnswer { content: vec![value], finish: ScriptedFinish::Natural, usage }),
        how: Delivery::default(),
    }
}

#[test]
fn an_incident_is_gone_through_from_end_to_end() {
    let (wrote, read) = ((1_990, 0), (0, 1_990));
    let replies = vec![
        reply("high", wrote),
        reply("low", read),
        reply("low", wrote),
        reply("urgent", wrote),
        reply("urgent", read),
        reply("high", wrote),
        reply("low", read),
    ];
    let requests = replies.len();
    let server = ScriptedServer::start(ServerScript::of(replies)).unwrap();
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\n", server.address());
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}\n[budget.project]\nday = 5.00\n"));
    let rule = "Reports of lost data come first; a report that names no version is answered with a question. ";
    fixture.write("rules.json", json!({ "rules": rule.repeat(80) }).to_string());
    let run = guide::run_pages(&fixture, &["an-incident.md", "an-incident-fixed.md"], &[]);
    assert_eq!((run.files, run.sessions), (4, 16));
    assert_eq!(server.requests().len(), requests);
    a_run_is_drawn(&fixture);
}

/// The picture of the run that fell back: its two attempts, with words that neither leave it nor cover each other.
fn a_run_is_drawn(fixture: &Fixture) {
    let listed = fixture.proem(&["runs", "list", "--outcome", "fell-back", "--json"]);
    let listed: Json = serde_json::from_str(listed.stdout()).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    let draw = |file: &str| {
        let run = fixture.proem(&["runs", "show", id, "--svg", file]);
        assert_eq!(run.code(), 0, "{}", run.transcript());
        fs::read_to_string(fixture.repo.join(file)).unwrap()
    };
    let picture = draw("run.svg");
    assert_eq!(picture, draw("again.svg"));
    for words in ["desk/triage", "2 calls, 2 attempts", "call 1", "2,050 in", "12 out", "$0.0"] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    assert!(!picture.contains("<script") && !picture.contains("href"));
    let Some(seen) = browsed_page(&format!("<!doctype html><body style=\"margin: 0\">{picture}"), 1200) else { return };
    assert_eq!((&seen["outside"], &seen["overlapping"], &seen["fetched"]), (&json!(0), &json!(0), &json!(0)), "{seen}");
    let assembled = fixture.proem(&["assemble", "mend the clock"]);
    assert_eq!(assembled.code(), 0, "{}", assembled.transcript());
    let nothing = fixture.proem(&["runs", "show", "last", "--any", "--svg", "none.svg"]);
    assert_eq!(nothing.code(), 1, "{}", nothing.transcript());
    assert!(nothing.stderr().contains("asked no model, so there is nothing to draw"), "{}", nothing.transcript());
    assert!(!fixture.repo.join("none.svg").exists());
}
