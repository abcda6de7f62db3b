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

/// An event of a prompt, as both agents write it.
fn hook_event(fixture: &Fixture, session: &str, prompt: &str) -> Json {
    json!({
        "session_id": session, "transcript_path": null, "cwd": fixture.repo.to_str().unwrap(), "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit", "prompt": prompt, "model": "m", "turn_id": "t",
    })
}

/// A hook's answer to an event.
fn hooked(fixture: &Fixture, args: &[&str], event: &Json) -> Run {
    fixture.proem_with(&[&["hook"], args].concat(), event.to_string().as_bytes())
}

/// The context that a hook gives for a prompt. Empty if it says nothing.
fn hook_context(fixture: &Fixture, args: &[&str], session: &str, prompt: &str) -> String {
    let run = hooked(fixture, args, &hook_event(fixture, session, prompt));
    assert_eq!(run.code(), 0, "{}", run.stderr());
    if run.stdout().is_empty() {
        return String::new();
    }
    let output = &run.json()["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "UserPromptSubmit");
    output["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn a_coding_agent_gets_context_in_its_own_form() {
    let (server, fixture) = scene(&[]);
    fixture.write("src/clock.rs", "pub fn forward() {}\n");
    for agent in ["claude-code", "codex"] {
        let context = hook_context(&fixture, &[agent], agent, "fix the clock");
        assert!(context.contains("UNTRUSTED_CONTEXT") && context.contains("src/clock.rs:1"), "{context}");
        assert!(!context.contains("fix the clock") && !context.contains("Your responsibilities"), "{context}");
        let init = fixture.proem(&["init", "--hook", agent]);
        let command = init.json()["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].clone();
        assert_eq!(command, format!("proem hook {agent}"), "{}", init.transcript());
    }
    assert_eq!(server.requests().len(), 0, "nothing is sent");
    // Exit code 2 would keep the person's prompt from the model.
    for event in [json!({}), json!([]), json!({ "hook_event_name": "Stop", "prompt": "x", "cwd": "/" })] {
        let run = hooked(&fixture, &["claude-code"], &event);
        assert_eq!((run.code(), run.stdout()), (1, ""), "{}", run.stderr());
    }
}

#[test]
fn a_coding_agent_is_told_nothing_for_a_reply_and_nothing_twice() {
    let (_server, fixture) = scene(&[]);
    fixture.write("src/clock.rs", "pub fn forward() {}\n");
    fixture.write("src/bell.rs", "pub fn ring() {}\n");
    let told = |session: &str, prompt: &str| hook_context(&fixture, &["claude-code"], session, prompt);
    for reply in ["ok", "commit it", "yes, the second", "now run the tests and push"] {
        assert_eq!(told("one", reply), "", "{reply}");
    }
    assert!(told("one", "fix the clock").contains("src/clock.rs"));
    assert_eq!(told("one", "why is the clock wrong?"), "", "it was said");
    assert!(told("one", "ring the bell").contains("src/bell.rs"));
    assert!(told("two", "fix the clock").contains("src/clock.rs"), "another session");
    fixture.write("src/clock.rs", "pub fn forward() {}\npub fn back() {}\n");
    assert!(told("one", "fix the clock").contains("src/clock.rs"), "the file changed");
}

#[test]
fn a_coding_agent_reads_on_though_nothing_can_be_remembered() {
    let (_server, fixture) = scene(&[]);
    fixture.write("src/clock.rs", "pub fn forward() {}\n");
    assert!(hook_context(&fixture, &["codex"], "one", "fix the clock").contains("src/clock.rs"));
    let folder = fixture.base.join("state/proem/hook");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "no folder").unwrap();
    for _ in 0..2 {
        let run = hooked(&fixture, &["codex"], &hook_event(&fixture, "one", "fix the clock"));
        assert!(run.code() == 0 && run.stdout().contains("src/clock.rs"), "{}", run.transcript());
        assert!(run.stderr().contains("its record could not be written"), "{}", run.stderr());
    }
}

/// More files than there is room for: where the likeliest begin comes first, then its code.
#[test]
fn a_coding_agent_gets_no_more_than_it_has_room_for() {
    let (_server, fixture) = scene(&[]);
    let body: String = (0..60).map(|line| format!("    let hand_{line} = clock.hand({line});\n")).collect();
    for number in 0..40 {
        fixture.write(&format!("src/part_{number}/mod.rs"), format!("fn part_{number}(clock: &Clock) {{\n{body}}}\n"));
    }
    let quick = "    clock.forward(Duration::from_secs(3600));\n";
    fixture.write("src/summer_time.rs", format!("fn switch_to_summer_time(clock: &mut Clock) {{\n{quick}}}\n"));
    // A prompt may be of any length.
    for (session, more) in [("short", String::new()), ("long", "\nIt is like that each year.".repeat(3_000))] {
        let prompt = format!("the clock is wrong after the switch to summer time{more}");
        for (args, most) in [(&["claude-code"][..], 1_500), (&["claude-code", "--bytes", "9000"], 9_000)] {
            let context = hook_context(&fixture, args, &format!("{session} {most}"), &prompt);
            assert!(context.contains("src/summer_time.rs:1 switch_to_summer_time 1-3"), "{context}");
            assert!(context.len() <= most, "{} {context}", context.len());
            assert!(most < 9_000 || context.contains(quick.trim_end()), "{context}");
        }
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
