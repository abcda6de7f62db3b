//! The prompt for a task on its way to a model: sent, copied, or handed to a coding agent.

use std::process::Stdio;

use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::run::{set_up, start};
use crate::terminal::scene::proem;
use crate::terminal::screen;

/// A repository, and a user whose provider is a server that gives these answers.
fn scene(texts: &[&str]) -> (ScriptedServer, Fixture) {
    let server = start(texts.iter().map(|text| Reply::text(*text)).collect());
    let mut fixture = Fixture::folder().committed();
    set_up(&mut fixture, &server, "");
    (server, fixture)
}

fn body(server: &ScriptedServer, number: usize) -> String {
    String::from_utf8(server.requests()[number].body.clone()).unwrap()
}

const PATCH: &str = "The answer is the change as a patch";
const NOTHING: &str = "Nothing can be called in this conversation";

#[test]
fn a_prompt_is_sent_where_that_is_asked_for() {
    let (server, fixture) = scene(&["--- a/src/main.rs", "It is sound."]);
    let unsent = fixture.proem(&["assemble", "fix the clock"]);
    assert_eq!((unsent.code(), server.requests().len()), (0, 0), "{}", unsent.stderr());

    let sent = fixture.proem(&["assemble", "fix the clock", "--mode", "act", "--send"]);
    assert_eq!((sent.code(), sent.stdout()), (0, "--- a/src/main.rs\n"), "{}", sent.stderr());
    assert!(sent.stderr().contains("receives the prompt for the task ("), "{}", sent.stderr());
    let act = body(&server, 0);
    assert!(act.contains(PATCH) && act.contains(NOTHING) && act.contains("fix the clock"), "{act}");

    let review = fixture.proem(&["assemble", "fix the clock", "--mode", "review", "--send"]);
    assert_eq!(review.code(), 0, "{}", review.stderr());
    assert!(!review.stderr().contains("receives"), "it was said: {}", review.stderr());
    let review = body(&server, 1);
    assert!(!review.contains(PATCH) && review.contains(NOTHING), "{review}");

    let runs = sql(&fixture, "SELECT kind || ' ' || outcome FROM runs ORDER BY started, rowid");
    assert_eq!(runs, ["assemble assembled", "assemble answered", "assemble answered"]);
    let shown = fixture.proem(&["runs", "show", "last"]);
    assert_eq!(shown.code(), 0, "{}", shown.transcript());
    let replayed = fixture.proem(&["runs", "replay", "last"]);
    assert!(replayed.stderr().contains("a folder as it was then"), "{}", replayed.transcript());
}

#[test]
fn a_cap_holds_for_what_is_sent() {
    let (server, fixture) = scene(&["never"]);
    let run = fixture.proem(&["assemble", "fix the clock", "--send", "--max-cost", "0.000001"]);
    assert_eq!((run.code(), run.stdout(), server.requests().len()), (3, "", 0), "{}", run.stderr());
    let refused = fixture.proem(&["assemble", "fix the clock", "--max-cost", "1"]);
    assert_eq!(refused.code(), 2, "it has no meaning without --send: {}", refused.stderr());
}

/// What a hook answers to an event.
fn hooked(fixture: &Fixture, agent: &str, event: &Json) -> Run {
    fixture.proem_with(&["hook", agent], event.to_string().as_bytes())
}

#[test]
fn a_coding_agent_gets_context_in_its_own_form() {
    let (server, fixture) = scene(&[]);
    fixture.write("src/main.rs", "fn main() {}\n");
    let event = json!({
        "session_id": "s", "transcript_path": null, "cwd": fixture.repo.to_str().unwrap(), "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit", "prompt": "fix the clock", "model": "m", "turn_id": "t",
    });
    for agent in ["claude-code", "codex"] {
        let run = hooked(&fixture, agent, &event);
        assert_eq!(run.code(), 0, "{}", run.stderr());
        let output = &run.json()["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "UserPromptSubmit");
        let context = output["additionalContext"].as_str().unwrap();
        assert!(context.contains("UNTRUSTED_CONTEXT") && context.contains("src/main.rs"), "{context}");
        assert!(!context.contains("fix the clock") && !context.contains("Your responsibilities"), "{context}");
        assert!(context.chars().count() <= 10_000, "{}", context.len());
        let init = fixture.proem(&["init", "--hook", agent]);
        assert_eq!(
            init.json()["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"],
            format!("proem hook {agent}"),
            "{}",
            init.transcript()
        );
    }
    assert_eq!(server.requests().len(), 0, "nothing is sent");
    // Exit code 2 would keep the person's prompt from the model.
    for event in [json!({}), json!([]), json!({ "hook_event_name": "Stop", "prompt": "x", "cwd": "/" })] {
        let run = hooked(&fixture, "claude-code", &event);
        assert_eq!((run.code(), run.stdout()), (1, ""), "{}", run.stderr());
    }
}

/// More files than a coding agent has room for: the code of the likeliest comes first.
#[test]
fn a_coding_agent_gets_code_also_of_a_large_repository() {
    let (_server, fixture) = scene(&[]);
    let body: String = (0..60).map(|line| format!("    let hand_{line} = clock.hand({line});\n")).collect();
    for number in 0..40 {
        fixture.write(&format!("src/part_{number}/mod.rs"), format!("fn part_{number}(clock: &Clock) {{\n{body}}}\n"));
    }
    let quick = "    clock.forward(Duration::from_secs(3600));\n";
    fixture.write("src/summer_time.rs", format!("fn switch_to_summer_time(clock: &mut Clock) {{\n{quick}}}\n"));
    // A prompt may be of any length.
    for more in [String::new(), "\nIt is like that each year.".repeat(3_000)] {
        let event = json!({
            "session_id": "s", "transcript_path": null, "cwd": fixture.repo.to_str().unwrap(), "permission_mode": "default",
            "hook_event_name": "UserPromptSubmit",
            "prompt": format!("the clock is wrong after the switch to summer time{more}"),
        });
        let run = hooked(&fixture, "claude-code", &event);
        let context = run.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
        assert!(context.contains(quick.trim_end()), "{context}");
        assert!(context.contains("src/part_") && context.chars().count() <= 10_000, "{context}");
    }
}

#[test]
fn a_prompt_is_put_on_the_clipboard_of_a_terminal() {
    let (_server, mut fixture) = scene(&[]);
    fixture.set("TERM", "xterm-256color");
    let piped = fixture.proem(&["assemble", "fix the clock", "--copy"]);
    assert_eq!((piped.code(), piped.stdout()), (2, ""), "{}", piped.stderr());
    let mut command = proem(&fixture, &["assemble", "fix the clock", "--copy"]);
    command.stdin(Stdio::null());
    let Some(terminal) = screen::start(command) else { return };
    let left = terminal.end();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    let (_, copied) = left.raw.split_once("\u{1b}]52;c;").unwrap();
    let (copied, _) = copied.split_once('\u{7}').unwrap();
    assert!(copied.len() > 2_000 && copied.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
    assert!(left.shown.contains("bytes are on the clipboard"), "{}", left.shown);
    assert!(!left.shown.contains("Your responsibilities"), "{}", left.shown);
}
