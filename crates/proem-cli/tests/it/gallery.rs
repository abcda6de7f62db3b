//! The gallery of cache misses: each cause is produced, and what is said of it is true.

use proem_llm::scripted::{
    AnswerBlock, Delivery, ModelAnswer, Reply, ReplyContent, ScriptedFinish, ScriptedServer, ScriptedUsage,
    ServerScript,
};
use serde_json::json;

use crate::fixture::Fixture;
use crate::guide;

/// The tokens of each prompt, as the provider counts them.
const PROMPT: u64 = 1_990;
/// Those of its stable prefix.
const PREFIX: u64 = 1_930;

/// The cache's behaviour for a request.
#[derive(Clone, Copy)]
enum Cache {
    Wrote,
    Read,
    Nothing,
}

fn reply(answer: &str, cache: Cache) -> Reply {
    said(AnswerBlock::Text(answer.to_owned()), cache)
}

/// An answer with a contract.
fn rated(sure: &str, cache: Cache) -> Reply {
    said(AnswerBlock::Value(json!({ "answer": "Between the years.", "sure": sure })), cache)
}

fn said(block: AnswerBlock, cache: Cache) -> Reply {
    let (cache_read, cache_write) = match cache {
        Cache::Wrote => (0, PREFIX),
        Cache::Read => (PREFIX, 0),
        Cache::Nothing => (0, 0),
    };
    let usage = Some(ScriptedUsage { input: PROMPT, cache_read, cache_write, output: 9, ..ScriptedUsage::default() });
    Reply {
        say: ReplyContent::Answer(ModelAnswer { content: vec![block], finish: ScriptedFinish::Natural, usage }),
        how: Delivery::default(),
    }
}

/// The behaviour of a provider's cache for the guide's requests, in their order.
fn gallery_replies() -> Vec<Reply> {
    let (closed, signs) = ("Between the years.", "The head of the department.");
    let (drill, bicycles) = ("On the first Monday of each month.", "In the yard.");
    vec![
        reply(closed, Cache::Wrote),
        reply(signs, Cache::Read),
        reply(closed, Cache::Wrote),
        reply(signs, Cache::Wrote),
        reply(closed, Cache::Nothing),
        reply(signs, Cache::Nothing),
        reply(closed, Cache::Read),
        reply(drill, Cache::Wrote),
        reply(bicycles, Cache::Nothing),
        reply(drill, Cache::Wrote),
        reply(closed, Cache::Read),
        reply(drill, Cache::Wrote),
        rated("perhaps", Cache::Wrote),
        rated("yes", Cache::Read),
        rated("perhaps", Cache::Nothing),
        rated("no", Cache::Wrote),
    ]
}

#[test]
fn every_cause_is_named() {
    let replies = gallery_replies();
    let requests = replies.len();
    let server = ScriptedServer::start(ServerScript::of(replies)).unwrap();
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.configure(
        "config.toml",
        &format!("[providers.anthropic]\nbase_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\n", server.address()),
    );
    let rule = "The office keeps a list of who has which key; whoever loses one says so on the same day. ";
    fixture.write("handbook.json", json!({ "handbook": rule.repeat(80) }).to_string());
    let run = guide::run_pages(&fixture, &["cache-misses.md", "cache-in-a-run.md"], &[]);
    // Two runs ask twice, and eight comparisons ask nobody.
    assert_eq!((run.files, run.sessions), (4, requests - 2 + 8));
    assert_eq!(server.requests().len(), requests);
}
