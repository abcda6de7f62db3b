//! Credentials: what is loaded reaches no output and no record, what has the shape of one goes by who asked.

use proem_llm::scripted::Reply;
use proem_llm::secret::{Secret, find_secret};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, Run};
use crate::records::is_kept;
use crate::run::{fixture, start};

/// The key of every fixture's provider.
const KEY: &str = "sk-ant-api-0123456789abcdef";

/// The shape of a token, put together here so that no scanner of sources takes it for one.
fn github_token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

/// The key in each form in which something may echo it.
fn key_forms() -> Vec<(&'static str, String)> {
    let spaced = |by: &str| KEY.chars().map(|c| format!("{c}{by}")).collect::<String>();
    vec![
        ("raw", KEY.to_owned()),
        ("base64", "c2stYW50LWFwaS0wMTIzNDU2Nzg5YWJjZGVm".to_owned()),
        ("hexadecimal", KEY.bytes().map(|byte| format!("{byte:02x}")).collect()),
        ("capitals of it", KEY.bytes().map(|byte| format!("{byte:02X}")).collect()),
        ("turned", KEY.chars().rev().collect()),
        ("capitals", KEY.to_uppercase()),
        ("spaced", spaced(" ")),
        ("percent", KEY.replace('-', "%2D")),
    ]
}

fn run_triage(fixture: &Fixture, more: &[&str]) -> Run {
    fixture.proem(&[&["run", "reviews/strict", "--set", "title=It crashes"], more].concat())
}

/// That nothing of what a run printed holds the key.
#[track_caller]
fn is_silent(form: &str, run: &Run) {
    let secrets = [Secret::new("KEY", KEY)];
    for text in [run.stdout(), run.stderr()] {
        assert!(find_secret(&secrets, text.as_bytes()).is_none(), "{form}: {text}");
    }
}

#[test]
fn what_a_provider_echoes_of_a_loaded_secret_is_printed_and_kept_nowhere() {
    for (form, text) in key_forms() {
        let answer = || Reply::value(json!({ "severity": "low", "reason": text }));
        let wrong = Reply::value(json!({ "severity": text, (text.clone()): 1 }));
        let refused = Reply::raw(401, json!({ "error": { "message": format!("bad key {text}") } }).to_string());
        let server = start(vec![answer(), answer(), wrong, refused]);
        let fixture = fixture(&server, "attempts = 1\n");
        let plain = run_triage(&fixture, &["--explain"]);
        is_silent(form, &plain);
        assert!(plain.answer().contains("[redacted:ANTHROPIC_API_KEY]"), "{form}: {}", plain.stdout());
        let whole = run_triage(&fixture, &["--json"]);
        is_silent(form, &whole);
        assert_eq!(whole.json()["value"]["severity"], "low", "{form}: the rest stays what it is");
        for more in [&["--json"][..], &[]] {
            let failed = run_triage(&fixture, more);
            assert_ne!(failed.code(), 0, "{form}");
            is_silent(form, &failed);
        }
        for args in [&["runs", "show", "last~3", "--full"][..], &["runs", "show", "--json"]] {
            is_silent(form, &fixture.proem(args));
        }
        if form == "raw" {
            // A list shows no text of an answer.
            is_silent(form, &fixture.proem(&["runs", "list", "--json"]));
        }
        assert!(!is_kept(&fixture, &text), "{form}");
    }
}

#[test]
fn what_is_gathered_is_sent_and_kept_without_what_looks_like_a_credential() {
    let token = github_token();
    let fixture = Fixture::folder().committed();
    fixture.git(&["checkout", "-q", "-b", &format!("fix/{token}")]);
    fixture.write("AGENTS.md", format!("Call the server with {token}.\n"));
    fixture.write(
        ".proem/private/memory.jsonl",
        json!({ "text": format!("the clock: {token}"), "kind": "n" }).to_string(),
    );
    fixture.write(".git/info/exclude", ".proem/private/\n");
    fixture.write(&format!("{token}.txt"), "x\n");
    let run = fixture.proem(&["assemble", "mend the clock", "--json"]);
    let output = run.json();
    assert!(!run.stdout().contains(&token) && !run.stderr().contains(&token), "{}", run.stdout());
    let prompt = output["messages"].to_string();
    assert_eq!(prompt.matches("[redacted:github-token]").count(), 4, "{prompt}");
    assert!(prompt.contains("parts of 4 texts"), "it is said: {prompt}");
    assert!(!is_kept(&fixture, &token));
    let sent = "Call the server with [redacted:github-token].";
    assert!(prompt.contains(sent) && is_kept(&fixture, sent), "record and request agree");
}

/// Why the last run can't be replayed. Null if it can.
fn not_replayable(fixture: &Fixture) -> Json {
    fixture.proem(&["runs", "show", "--json"]).json()["notReplayable"].clone()
}

#[test]
fn what_a_caller_passes_is_sent_as_it_is_and_kept_without() {
    let token = github_token();
    let server = start(vec![Reply::value(json!({ "severity": "low" }))]);
    let fixture = fixture(&server, "");
    let run =
        fixture.proem(&["run", "reviews/strict", "--set", &format!("title=Why is {token} refused?"), "--explain"]);
    run.answer();
    let sent = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    assert!(sent.contains(&token), "{sent}");
    assert!(!run.stderr().contains(&token), "{}", run.stderr());
    assert!(!is_kept(&fixture, &token) && is_kept(&fixture, "[redacted:github-token]"));
    assert_eq!(not_replayable(&fixture), "it contained a credential, which was removed");
    let replayed = fixture.proem(&["runs", "replay"]);
    assert_eq!((replayed.code(), replayed.stderr().contains("can't be replayed")), (1, true), "{}", replayed.stderr());
    // The task of an assembly is the caller's too.
    let task = fixture.proem(&["assemble", &format!("replace {token}")]);
    assert!(task.answer().contains(&token) && !is_kept(&fixture, &token), "{}", task.stdout());
}

#[test]
fn an_answer_is_exact_on_a_pipe_and_as_json() {
    let token = github_token();
    let answer = || Reply::value(json!({ "severity": "low", "reason": format!("use {token}") }));
    let server = start(vec![answer(), answer()]);
    let fixture = fixture(&server, "");
    assert!(run_triage(&fixture, &[]).answer().contains(&token));
    assert_eq!(run_triage(&fixture, &["--json"]).json()["value"]["reason"], format!("use {token}"));
    assert!(!is_kept(&fixture, &token));
}
