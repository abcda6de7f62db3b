//! Servers that nobody configured: every command finds how they hold answers to a schema, and how long a prompt may be,
//! within the run that meets the refusal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::book::{CASES, SCHEMA, SORTING};
use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::risk::scene::shop;
use crate::triaged;

/// How a server takes a request.
type Taking = fn(&Json) -> Option<Reply>;

fn refusal_reply(status: u16, message: &str) -> Option<Reply> {
    Some(Reply::raw(status, json!({ "error": { "message": message } }).to_string()))
}

/// Refuses schemas and tools, each in the words of another server.
fn objects_only(body: &Json) -> Option<Reply> {
    if body["response_format"]["type"] == "json_schema" {
        return refusal_reply(500, "response_format type json_schema is not implemented");
    }
    body.get("tools").and_then(|_| refusal_reply(400, "registry/my-model:latest does not support tools"))
}

/// Refuses answers for which more than a quarter of 2,048 tokens is kept free.
fn small_window(body: &Json) -> Option<Reply> {
    let kept = body["max_tokens"].as_u64().unwrap_or_default();
    let message = "This model's maximum context length is 2048 tokens. However, you requested 8442 tokens.";
    if kept > 1_024 { refusal_reply(400, message) } else { None }
}

/// A server that answers with these texts in their order, the last one again and again, unless it refuses.
fn server(taking: Taking, texts: Vec<String>) -> ScriptedServer {
    let next = Arc::new(AtomicUsize::new(0));
    ScriptedServer::answering(move |request| {
        let body = request.json().unwrap_or_default();
        taking(&body).unwrap_or_else(|| {
            let place = next.fetch_add(1, Ordering::SeqCst).min(texts.len() - 1);
            Reply::text(&texts[place])
        })
    })
    .unwrap()
}

/// A user of whose server only the address is known.
fn configure(fixture: &Fixture, server: &ScriptedServer, more: &str) {
    let address = server.address();
    let roles = "[roles]\nsmall = \"local/my-model\"\nlarge = \"local/my-model\"\n";
    fixture
        .configure("config.toml", &format!("[providers.local]\nbase_url = \"http://{address}/v1\"\n{more}\n{roles}"));
    for (file, text) in [("1.0.0.prompt", SORTING), ("sorting.schema.json", SCHEMA), ("sorting.cases.yaml", CASES)] {
        fixture.configure(&format!("book/reviews/sorting/{file}"), text);
    }
}

fn user(server: &ScriptedServer) -> Fixture {
    let fixture = shop().repository();
    configure(&fixture, server, "");
    fixture
}

/// The ways of the requests that a server got: `json_schema`, `tools`, `json_object` or `text`.
fn request_ways(server: &ScriptedServer) -> Vec<String> {
    let way = |body: Json| match body["response_format"]["type"].as_str() {
        Some(way) => way.to_owned(),
        None if body.get("tools").is_some() => "tools".to_owned(),
        None => "text".to_owned(),
    };
    server.requests().iter().filter(|request| request.method == "POST").map(|r| way(r.json().unwrap())).collect()
}

const HIGH: &str = r#"{"severity": "high"}"#;
const FOUND: [&str; 3] = ["json_schema", "tools", "json_object"];

fn told_once(run: &Run) {
    let told = run.stderr().matches("`object` is used from here on, which is remembered").count();
    assert_eq!(told, 1, "{}", run.stderr());
}

#[test]
fn a_run_goes_on_in_the_next_way_and_its_record_shows_each() {
    let server = server(objects_only, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let run = fixture.proem(&["run", "reviews/sorting", "--set", "title=It crashes"]);
    assert_eq!((run.code(), run.json()["severity"].as_str()), (0, Some("high")), "{}", run.stderr());
    told_once(&run);
    assert_eq!(request_ways(&server), FOUND);
    fixture.replay_last();
    assert_eq!(sql(&fixture, "SELECT outcome FROM runs"), ["answered"], "one run");
    let again = fixture.proem(&["run", "reviews/sorting", "--set", "title=It crashes"]);
    assert_eq!((again.code(), request_ways(&server).len()), (0, 4), "the way is remembered");
    assert!(!again.stderr().contains("remembered"), "{}", again.stderr());
    fixture.replay_last();
}

#[test]
fn a_batch_finds_the_way_once_for_all_its_lines() {
    let server = server(objects_only, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    configure(&fixture, &server, "concurrency = 1");
    let lines: String = (0..5).map(|line| format!("{{\"title\":\"It crashes {line} times\"}}\n")).collect();
    fixture.write("lines.jsonl", &lines);
    let run = fixture.proem(&["run", "reviews/sorting", "--batch", "lines.jsonl"]);
    assert_eq!((run.code(), run.stdout().lines().count()), (0, 5), "{}", run.stderr());
    told_once(&run);
    let ways = request_ways(&server);
    assert_eq!((&ways[..3], ways.len()), (&FOUND.map(str::to_owned)[..], 7), "{ways:?}");
    fixture.replay_last();
}

#[test]
fn lines_that_are_asked_at_once_all_get_their_answers() {
    let server = server(objects_only, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let lines: String = (0..20).map(|line| format!("{{\"title\":\"It crashes {line} times\"}}\n")).collect();
    fixture.write("lines.jsonl", &lines);
    let run = fixture.proem(&["run", "reviews/sorting", "--batch", "lines.jsonl", "--no-record"]);
    assert_eq!((run.code(), run.stdout().lines().count()), (0, 20), "{}", run.stderr());
    assert_eq!(run.stdout().matches("\"outcome\":\"answered\"").count(), 20, "{}", run.stdout());
    // A figure that no model was asked for leaves no gap in the others.
    assert_eq!(
        run.stdout()
            .matches("\"usage\":{\"cacheRead\":0,\"cacheWrites\":[],\"input\":100,\"output\":10},\"value\"")
            .count(),
        20
    );
    told_once(&run);
}

#[test]
fn a_batch_shrinks_for_the_window_within_the_run() {
    let server = server(small_window, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    configure(&fixture, &server, "concurrency = 1");
    let prompt = SORTING.replace("output: 100", "output: 4000");
    fixture.configure("book/reviews/sorting/1.0.0.prompt", &prompt);
    fixture
        .write("lines.jsonl", "{\"title\":\"It crashes\"}\n{\"title\":\"It is slow\"}\n{\"title\":\"It is ugly\"}\n");
    let run = fixture.proem(&["run", "reviews/sorting", "--batch", "lines.jsonl"]);
    assert_eq!((run.code(), run.stdout().lines().count()), (0, 3), "{}", run.stderr());
    assert_eq!(run.stdout().matches("\"outcome\":\"answered\"").count(), 3, "{}", run.stdout());
    assert!(run.stderr().contains("the server's context window has 2048 tokens, which is remembered"));
    assert_eq!(request_ways(&server).len(), 4, "one refusal for three lines");
    fixture.replay_last();
}

#[test]
fn a_live_test_of_the_book_finds_the_way() {
    let server = server(objects_only, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let run = fixture.proem(&["book", "test", "reviews/sorting", "--live", "--times", "1"]);
    assert!(run.stdout().contains("1 JSON, 1 matching the schema, 1 as expected"), "{}", run.transcript());
    told_once(&run);
    assert_eq!(request_ways(&server)[..3], FOUND);
}

/// The answers of an investigation: nothing else to measure, then the summary.
fn investigation_answers() -> Vec<String> {
    let last = json!({ "action": "FINALIZE", "reasoning": "Nothing else would change the result.", "target": null });
    let summary = json!({ "risk_level": "HIGH", "confidence": 0.8,
        "key_evidence": [{ "evidence": "E1", "text": "Many pages import it." }],
        "recommendations": ["Run the session tests."], "reasoning": "Many importers and few tests." });
    vec![last.to_string(), summary.to_string()]
}

#[test]
fn an_investigation_goes_on_in_the_next_way() {
    let server = server(objects_only, investigation_answers());
    let fixture = user(&server);
    let run = fixture.proem(&["risk", "HEAD", "--json"]);
    let report = run.json();
    assert_ne!(report["mode"], "DEGRADED", "{}", run.transcript());
    told_once(&run);
    // The second request of the same run takes the way that the first one found.
    assert_eq!(request_ways(&server), ["json_schema", "tools", "json_object", "json_object"]);
    fixture.replay_last();
}

#[test]
fn an_investigation_shrinks_for_the_window_within_the_run() {
    fn tiny(body: &Json) -> Option<Reply> {
        let kept = body["max_tokens"].as_u64().unwrap_or_default();
        let message = "This model's maximum context length is 3000 tokens. However, you requested 8442 tokens.";
        if kept > 750 { refusal_reply(400, message) } else { None }
    }
    let server = server(tiny, investigation_answers());
    let fixture = user(&server);
    let run = fixture.proem(&["risk", "HEAD", "--json"]);
    let tokens: Vec<Json> = server.requests().iter().map(|r| r.json().unwrap()["max_tokens"].clone()).collect();
    assert_ne!(run.json()["mode"], "DEGRADED", "{tokens:?} {}", run.transcript());
    fixture.replay_last();
}

#[test]
fn triage_goes_on_in_the_next_way() {
    let (fixture, texts) = triaged::one_local_comment();
    let server = server(objects_only, texts);
    let address = server.address();
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.local]\nbase_url = \"http://{address}/v1\"\n\n[triage]\nmodels = true\nretries = 0\n\n\
             [roles]\nsmall = \"local/my-model\"\nlarge = \"local/other-model\"\n"
        ),
    );
    let run = fixture.proem(&["triage", "run", "one.json"]);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    assert!(!run.transcript().contains("left to the rules"), "{}", run.transcript());
    let ways = request_ways(&server);
    // Each of the two models is refused twice, and then nothing more.
    assert_eq!(ways.iter().filter(|way| *way != "json_object").count(), 4, "{ways:?}");
    fixture.replay_last();
}

#[test]
fn a_server_that_ignores_the_schema_is_not_believed_again() {
    fn ignores(body: &Json) -> Option<Reply> {
        let is_told = body.to_string().contains("It has this form");
        (!is_told).then(|| Reply::text("It is bad, since nothing can be saved."))
    }
    let server = server(ignores, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let ask = || fixture.proem(&["ask", "How bad is it?", "--schema", "severity high|low", "--json"]);
    // Two answers are all that one question may have: by the schema, and by a tool.
    let first = ask();
    assert_eq!((first.code(), request_ways(&server)), (3, vec!["json_schema".to_owned(), "tools".to_owned()]));
    let second = ask();
    assert_eq!((second.code(), &second.json()["value"]), (0, &json!({ "severity": "high" })), "{}", second.stderr());
    assert_eq!(request_ways(&server)[2..], ["tools", "json_object"]);
    assert_eq!(ask().code(), 0);
    assert_eq!(request_ways(&server).len(), 5);
    fixture.replay_last();
}

#[test]
fn another_address_is_another_server() {
    let first = server(objects_only, vec![HIGH.to_owned()]);
    let fixture = user(&first);
    let ask = || fixture.proem(&["run", "reviews/sorting", "--set", "title=It crashes"]);
    assert_eq!(ask().code(), 0);
    let second = server(|_| None, vec![HIGH.to_owned()]);
    configure(&fixture, &second, "");
    assert_eq!((ask().code(), request_ways(&second)), (0, vec!["json_schema".to_owned()]));
}

#[test]
fn cassettes_hold_every_way_that_was_tried() {
    let server = server(objects_only, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let ask = |more: &[&str]| fixture.proem(&[&["run", "reviews/sorting", "--set", "title=It crashes"], more].concat());
    assert_eq!(ask(&["--record", "tapes", "--no-record"]).code(), 0);
    assert_eq!(request_ways(&server), FOUND);
    // A run onto cassettes teaches no way, so that they hold the requests of a replay.
    let replayed = ask(&["--replay", "tapes", "--no-record"]);
    assert_eq!(replayed.code(), 0, "{}", replayed.transcript());
    assert!(!replayed.stderr().contains("not requested in this run"), "{}", replayed.stderr());
    assert_eq!(request_ways(&server).len(), 3);
}

#[test]
fn a_sent_assembly_is_made_anew_for_the_window() {
    let server = server(small_window, vec!["Nothing can be done.".to_owned()]);
    let fixture = user(&server);
    let run = fixture.proem(&["assemble", "why do retries fail?", "--mode", "plan", "--send"]);
    assert_eq!((run.code(), run.stdout()), (0, "Nothing can be done.\n"), "{}", run.stderr());
    assert_eq!(request_ways(&server).len(), 2);
    // A task that was piped is read once.
    let other = user(&server);
    let run = other.proem_with(&["assemble", "-", "--mode", "plan", "--send"], b"why do retries fail?");
    assert_eq!(run.code(), 0, "{}", run.transcript());
}

#[test]
fn a_server_that_never_stops_writing_words_is_left_early() {
    fn endless(body: &Json) -> Option<Reply> {
        let is_told = body.to_string().contains("It has this form");
        (!is_told).then(|| Reply::text("It is bad, and it is bad again. ".repeat(100_000)))
    }
    let server = server(endless, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let ask = |more: &[&str]| fixture.proem(&[&["run", "reviews/sorting", "--set", "title=It crashes"], more].concat());
    let first = ask(&["--attempts", "3", "--json"]);
    assert_eq!((first.code(), &first.json()["value"]), (0, &json!({ "severity": "high" })), "{}", first.stderr());
    assert_eq!(request_ways(&server), FOUND);
    fixture.replay_last();
}

#[test]
fn a_server_that_changes_its_mind_is_found_anew() {
    fn changed(body: &Json) -> Option<Reply> {
        if body.to_string().contains("It is slow") { objects_only(body) } else { None }
    }
    let server = server(changed, vec![HIGH.to_owned()]);
    let fixture = user(&server);
    let ask = |title: &str| fixture.proem(&["run", "reviews/sorting", "--set", &format!("title={title}")]);
    assert_eq!((ask("It crashes").code(), request_ways(&server)), (0, vec!["json_schema".to_owned()]));
    let run = ask("It is slow");
    assert_eq!(run.code(), 0, "{}", run.transcript());
    assert_eq!(request_ways(&server)[1..], FOUND);
    assert_eq!((ask("It crashes").code(), request_ways(&server)[4..].to_vec()), (0, vec!["json_object".to_owned()]));
}
