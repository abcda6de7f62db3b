//! Triage with models: what is sent, what is taken of the answers, and what happens without one.

use proem_llm::scripted::{AnswerBlock, Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use super::{comment, project};
use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::run::{set_up, start};

const PROJECT: &str = "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f";

/// A project at a level, with a provider that is the server and models asked for.
fn with_models(level: &str, server: &ScriptedServer) -> Option<Fixture> {
    let mut fixture = project(level)?;
    set_up(&mut fixture, server, "");
    let address = server.address();
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.anthropic]\nbase_url = \"http://{address}\"\nkey = \"ANTHROPIC_API_KEY\"\n\n\
             [triage]\nmodels = true\nretries = 0\n"
        ),
    );
    Some(fixture)
}

fn id(number: u32, fixture: &Fixture) -> String {
    let written = fixture.proem(&["triage", "normalise", "one.json", "--json"]);
    assert!(written.stdout().contains(&format!("TES-{number}")), "{}", written.stdout());
    let signal: Json = serde_json::from_str(written.stdout().lines().next().unwrap()).unwrap();
    signal["id"].as_str().unwrap().to_owned()
}

fn calls(calls: Vec<(&str, Json)>) -> Reply {
    let block = |(name, arguments): (&str, Json)| AnswerBlock::Call { name: name.to_owned(), arguments };
    Reply::answer(calls.into_iter().map(block).collect())
}

fn sanitised(id: &str, content: &str) -> (&'static str, Json) {
    let arguments = json!({
        "signal_id": id, "original_source": "jira", "original_type": "comment_created", "sanitised_content": content,
        "threat_detected": false, "threats_found": [], "content_preserved_ratio": 1.0, "confidence_score": 0.9,
        "requires_human_review": false,
    });
    ("sanitise_signal", arguments)
}

fn classified(id: &str, category: &str, action: &str) -> (&'static str, Json) {
    let arguments = json!({
        "signal_id": id, "importance": "medium", "category": category, "recommended_action": action,
        "action_rationale": "a person asks", "requires_sonnet": false, "time_sensitivity": "this_week",
        "confidence": 0.8, "artefacts_affected": ["raid_log"],
    });
    ("classify_signal", arguments)
}

fn drafted(id: &str, to: &str) -> (&'static str, Json) {
    let arguments = json!({
        "project_id": PROJECT, "communication_type": "follow_up",
        "recipient": { "email": to, "name": "Sam Okoro", "is_external": false }, "subject": "Refunds",
        "body": "The refunds are in review. Please name a day for the release.", "tone": "professional",
        "urgency": "normal", "context": "asked", "requires_approval": false, "signals_referenced": [id],
    });
    ("draft_communication", arguments)
}

const TEXT: &str = "Sam asks where the refunds stand and when they are released.";

fn run(fixture: &Fixture, args: &[&str]) -> Run {
    let mut all = vec!["triage", "run", "one.json"];
    all.extend(args);
    fixture.proem(&all)
}

/// A project with one comment, and its id.
fn one_comment(level: &str, server: &ScriptedServer) -> Option<(Fixture, String)> {
    let fixture = with_models(level, server)?;
    fixture.write("one.json", comment(1, TEXT).to_string());
    let id = id(1, &fixture);
    Some((fixture, id))
}

/// What the stages answer about the signal of this id.
fn answers(id: &str) -> Vec<Reply> {
    vec![
        calls(vec![sanitised(id, TEXT)]),
        calls(vec![classified(id, "stakeholder", "draft_communication")]),
        calls(vec![drafted(id, "sam@corp.example")]),
    ]
}

#[test]
fn a_signal_goes_through_the_stages_and_its_record_makes_them_anew() {
    // The id is a hash of what came, the same in every project.
    let probe = start(Vec::new());
    let Some((_, id)) = one_comment("tactical", &probe) else { return };
    let server = start(answers(&id));
    let Some((fixture, same)) = one_comment("tactical", &server) else { return };
    assert_eq!(id, same);
    let done = run(&fixture, &["--json", "--explain", &id]);
    let report = done.json();
    assert_eq!(report["signals"][0]["outcome"], "drafted", "{}", done.transcript());
    assert_eq!((&report["degraded"], &report["signals"][0]["degraded"]), (&json!(false), &json!(false)));
    assert_eq!(report["actions"][0]["action"], "email_stakeholder", "{report}");
    let explained = done.stderr();
    assert!(explained.contains("large drafts a mail") && explained.contains("it says: a person asks"), "{explained}");
    let sent: Vec<Json> = server.requests().iter().map(|request| request.json().unwrap()).collect();
    assert_eq!(sent.len(), 3);
    assert_ne!(sent[0]["model"], sent[2]["model"], "reasoning asks the large model");
    assert_eq!(sent[0]["temperature"], json!(0.0), "{}", sent[0]["temperature"]);
    let tools: Vec<&str> =
        sent[0]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(tools, ["sanitise_signal"]);
    assert_eq!(sql(&fixture, "SELECT kind FROM runs"), ["triage"]);
    let replayed = fixture.proem(&["runs", "replay", "last"]);
    assert!(replayed.answer().contains('3'), "{}", replayed.transcript());
    // The same file once more asks nobody anything.
    assert_eq!(run(&fixture, &["--json"]).json()["signals"], json!([]));
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_provider_that_fails_leaves_everything_to_the_rules_and_says_so() {
    let down = || Reply::raw(400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#);
    let server = start((0..8).map(|_| down()).collect());
    let Some((fixture, _)) = one_comment("tactical", &server) else { return };
    let report = run(&fixture, &["--json"]).json();
    assert_eq!((&report["degraded"], &report["signals"][0]["degraded"]), (&json!(true), &json!(true)), "{report}");
    let problems = report["problems"].to_string();
    assert!(problems.contains("sanitise: 1 signal is left to the rules: the call failed"), "{problems}");
}

#[test]
fn nobody_is_asked_without_the_users_word_a_key_or_where_it_is_forbidden() {
    let server = start(Vec::new());
    let Some((mut fixture, _)) = one_comment("tactical", &server) else { return };
    assert!(run(&fixture, &["--no-model", "--json"]).json()["degraded"].as_bool().unwrap());
    fixture.set("ANTHROPIC_API_KEY", "");
    let done = run(&fixture, &[]);
    assert!(done.stderr().contains("no model is asked: ANTHROPIC_API_KEY is not set"), "{}", done.transcript());
    fixture.configure("config.toml", "");
    let refused = run(&fixture, &["--dry-run"]);
    assert_eq!(refused.code(), 2);
    assert!(refused.stderr().contains("set `triage.models = true`"), "{}", refused.transcript());
    assert!(server.requests().is_empty());
}

#[test]
fn a_dry_run_shows_what_would_be_sent_and_changes_nothing() {
    let server = start(Vec::new());
    let Some((fixture, id)) = one_comment("tactical", &server) else { return };
    let shown = run(&fixture, &["--dry-run"]);
    let text = shown.answer();
    assert!(text.contains(&id) && text.contains("sanitise_signal") && text.contains("classify_signal"), "{text:.300}");
    assert!(server.requests().is_empty());
    let status = fixture.proem(&["triage", "status", "--json"]).json();
    assert_eq!(status["signals"], json!({}), "{status}");
}
