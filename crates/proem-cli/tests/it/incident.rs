//! The guide through an incident: what it shows is what a user sees.

use proem_llm::scripted::{
    AnswerBlock, Delivery, ModelAnswer, Reply, ReplyContent, ScriptedFinish, ScriptedServer, ScriptedUsage,
    ServerScript,
};
use serde_json::json;

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
}
