//! A call that the budget forbids is refused, whatever asks and whatever replaces the answer.

use proem_llm::scripted::ScriptedServer;

use super::{low, start};
use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::risk::scene::shop;

/// Tells a fixture's configuration of the server, with room for no call.
fn capped(fixture: &mut Fixture, server: &ScriptedServer) {
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\n", server.address());
    let budget = "[budget.project]\nrun = 0.000001\n";
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}{budget}"));
}

/// That nothing was sent, and that the record, what shows it and its replay agree on that.
#[track_caller]
fn refused(fixture: &Fixture, server: &ScriptedServer, run: &Run, code: i32) {
    assert_eq!((run.code(), server.requests().len()), (code, 0), "{}", run.transcript());
    assert_eq!(sql(fixture, "SELECT outcome || ' ' || because FROM runs"), [REFUSED]);
    assert_eq!(sql(fixture, "SELECT state FROM attempts"), [""; 0]);
    let listed = fixture.proem(&["runs", "list", "--outcome", "refused", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let shown = fixture.proem(&["runs", "show", "last"]);
    let shown = shown.answer();
    assert!(shown.contains("never sent\n  │ a call that may cost up to $"), "what it was told: {shown}");
    fixture.replay_last();
}

const REFUSED: &str = r#"refused {"kind":"failed","what":"not-booked"}"#;

#[test]
fn a_prompt_that_was_not_asked_is_refused_with_a_fallback_and_without() {
    let server = start(vec![low()]);
    for prompt in ["reviews/strict", "reviews/triage"] {
        let mut fixture = super::fixture(&server, "");
        capped(&mut fixture, &server);
        let run = fixture.proem(&["run", prompt, "--set", "title=It crashes"]);
        refused(&fixture, &server, &run, 3);
        assert!(
            run.stderr().contains("exceeds the budget") && run.stderr().contains("raise the cap on this run's cost"),
            "{}",
            run.stderr()
        );
    }
}

#[test]
fn an_investigation_that_was_not_asked_is_refused() {
    let server = start(vec![low()]);
    let mut fixture = shop().repository();
    capped(&mut fixture, &server);
    let run = fixture.proem(&["risk", "HEAD"]);
    refused(&fixture, &server, &run, 0);
    assert!(run.stdout().contains("HIGH"), "the level is the code's: {}", run.stdout());
    let said = run.stderr();
    assert!(said.contains("exceeds the budget") && said.contains("; the level comes from the rules alone"), "{said}");
}
