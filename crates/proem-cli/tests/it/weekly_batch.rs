//! `proem feedback batch` and its guide.

use proem_llm::scripted::{ReceivedRequest, Reply, ScriptedServer};
use serde_json::json;

use crate::fixture::Fixture;
use crate::guide::{self, Tried};

/// Answers that break the contract for urgent tickets, until they are asked again.
fn sorted(request: &ReceivedRequest) -> Reply {
    let body = String::from_utf8_lossy(&request.body);
    let is_wrong = body.contains("Urgent") && !body.contains("\"assistant\"");
    Reply::value(json!({ "kind": if is_wrong { "urgent" } else { "bug" } }))
}

#[test]
fn the_guide_of_the_weekly_batch_runs() {
    let server = ScriptedServer::answering(sorted).unwrap();
    let fixture = Fixture::folder();
    let address = format!("http://{}/v1", server.address());
    let tried = guide::run(&fixture, "weekly-batch.md", &[(&address, "http://127.0.0.1:11434/v1")]);
    assert_eq!(tried, Tried { files: 3, sessions: 2 });
    let written = fixture.proem(&["feedback", "batch", "--json"]).json();
    let id = written["proposals"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(written["proposals"][0]["state"], "new");
    let again = fixture.proem(&["feedback", "batch", "--json"]).json();
    assert_eq!((&again["proposals"][0]["state"], &again["proposals"][0]["id"]), (&json!("open"), &json!(id)));
    let listed = fixture.proem(&["book", "proposals"]);
    assert!(listed.stdout().contains("a better wording of support/sort"), "{}", listed.stdout());
    assert_eq!(fixture.proem(&["book", "check", "--proposals"]).code(), 0);
}

#[test]
fn nothing_to_propose_is_no_failure() {
    let run = Fixture::folder().proem(&["feedback", "batch"]);
    assert_eq!(run.code(), 0);
    assert!(run.stdout().starts_with("no outcome is recorded of this project"), "{}", run.stdout());
}

#[test]
fn timers_name_this_project_and_this_program() {
    let fixture = Fixture::folder();
    let run = fixture.proem(&["doctor", "--timers"]);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let root = fixture.repo.canonicalize().unwrap();
    for part in ["ExecStart=\"", "OnCalendar=Mon 07:00", "<key>ProgramArguments</key>", "0 7 * * 1 "] {
        assert!(run.stdout().contains(part), "{part}: {}", run.stdout());
    }
    assert_eq!(run.stdout().matches(root.to_str().unwrap()).count(), 3, "{}", run.stdout());
}
