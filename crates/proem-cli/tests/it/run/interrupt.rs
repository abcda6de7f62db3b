//! A second ^C, where the first one can't end what is under way: somebody else holds the records.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use proem_llm::scripted::{Delivery, Reply, ScriptedServer};

use super::{low, start};
use crate::fixture::{BEAT, Fixture, Locked};
use crate::records::sql;
use crate::risk::scene::shop;

const ASK: [&str; 4] = ["run", "reviews/triage", "--set", "title=It crashes"];

/// An answer that nobody waits for.
fn never() -> Reply {
    Reply { how: Delivery { delay_ms: 600_000, ..Delivery::default() }, ..low() }
}

fn interrupt(fixture: &Fixture, child: &Child) {
    let signal = fixture.command("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(signal.success());
}

/// Interrupts a command twice while a model is asked and nobody can write to the records. The second time after its
/// message about that. Returns both outputs and the exit code.
fn interrupt_run(fixture: &Fixture, server: &ScriptedServer, args: &[&str]) -> (Option<i32>, String, String) {
    let before = server.requests().len();
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    let command = command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !server.arrived(before + 1, BEAT) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it asked");
    }
    let locked = Locked::of(fixture);
    interrupt(fixture, &child);
    let mut said = String::new();
    while !said.contains("a second ^C stops at once") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended without a word about it: {said}");
    }
    interrupt(fixture, &child);
    let code = child.wait().unwrap().code();
    locked.let_go();
    stderr.read_to_string(&mut said).unwrap();
    let mut answer = String::new();
    child.stdout.unwrap().read_to_string(&mut answer).unwrap();
    (code, answer, said)
}

/// That a command ends at the second ^C, and that what it had booked before that stays booked.
#[track_caller]
fn check(fixture: &Fixture, server: &ScriptedServer, args: &[&str], before: &[&str]) {
    let (code, answer, said) = interrupt_run(fixture, server, args);
    assert_eq!((code, answer.as_str()), (Some(130), ""), "{args:?}: {said}");
    assert!(!said.contains("error:"), "it was ended, and nothing went wrong: {said}");
    assert_eq!(states(fixture), [before, &["open"]].concat(), "{args:?}");
}

fn states(fixture: &Fixture) -> Vec<String> {
    sql(fixture, "SELECT state FROM attempts ORDER BY id")
}

/// The reservations of the attempts whose use nobody knows, each beside its booking.
fn booked_in_full(fixture: &Fixture) -> Vec<String> {
    sql(
        fixture,
        "SELECT (a.most_tokens = u.tokens AND a.most_nanos IS u.nanos AND u.tokens > 0) || '' FROM attempts a \
         JOIN usage u ON u.attempt = a.id WHERE a.state = 'unknown'",
    )
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let server = start(vec![never(), never(), low()]);
    let fixture = super::fixture(&server, "");
    check(&fixture, &server, &ASK, &[]);
    // The command that goes on with the run first books the requests of the killed one.
    check(&fixture, &server, &["runs", "resume", "last"], &["unknown"]);
    fixture.proem(&ASK).answer();
    assert_eq!(states(&fixture), ["unknown", "unknown", "reported"]);
    assert_eq!(booked_in_full(&fixture), ["1", "1"]);
}

#[test]
fn a_second_ctrl_c_ends_an_assessment_at_once() {
    let server = start(vec![never()]);
    let mut fixture = shop().repository();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\n", server.address());
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}"));
    check(&fixture, &server, &["risk", "HEAD"], &[]);
}
