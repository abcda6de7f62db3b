//! `proem ask`: what reaches the model as what, what is refused, and who is told what.

use std::process::Stdio;

use proem_llm::scripted::{Reply, ScriptedServer};

use crate::fixture::Fixture;
use crate::guide;
use crate::run::{fixture, settled, start};

fn answers(texts: &[&str]) -> ScriptedServer {
    start(texts.iter().map(|text| Reply::text(*text)).collect())
}

fn sent(server: &ScriptedServer, number: usize) -> String {
    String::from_utf8(server.requests()[number].body.clone()).unwrap()
}

/// The text of the system message and of the user's, of a request in Anthropic's words.
fn asked_messages(server: &ScriptedServer, number: usize) -> (String, String) {
    let body: serde_json::Value = serde_json::from_str(&sent(server, number)).unwrap();
    (body["system"].to_string(), body["messages"].to_string())
}

#[test]
fn the_guide_is_true() {
    let server = answers(&[
        "A link or rename that would cross from one file system to another.",
        "It returns 12 (src/clock.rs, line 2).",
        "Whoever relies on noon being 12.",
        "Nothing says so.",
    ]);
    let fixture = fixture(&server, "");
    let address = format!("http://{}", server.address());
    let tried = guide::run(&fixture, "ask.md", &[(&address, "https://api.anthropic.com")]);
    assert_eq!((tried.files, tried.sessions), (1, 6));
}

#[test]
fn the_persons_words_are_instructions_and_everything_else_is_material() {
    let server = answers(&["one", "two"]);
    let fixture = fixture(&server, "");
    fixture.write("a.py", "# Counts.\nprint(1)\n");
    let args = ["ask", "what does it print?", "-f", "a.py", "-f", "a.py", "--system", "Answer in German."];
    let run = fixture.proem_with(&args, b"a diff");
    assert_eq!((run.code(), run.stdout()), (0, "one\n"), "{}", run.stderr());
    let (system, user) = asked_messages(&server, 0);
    assert!(system.contains("Answer in German.") && !system.contains("a diff"), "{system}");
    for material in ["a.py", "Python", "print", "a diff"] {
        assert!(user.contains(material), "{material}: {user}");
    }
    let (material, question) = user.rsplit_once("</UNTRUSTED_CONTEXT").unwrap();
    assert!(question.contains("what does it print?") && !material.contains("what does it print?"), "{user}");

    let next = fixture.proem(&["ask", "and in Ruby?", "--continue"]);
    assert_eq!(next.code(), 0, "{}", next.stderr());
    let (system, user) = asked_messages(&server, 1);
    assert!(!system.contains("German"), "{system}");
    let (earlier, question) = user.split_once("</UNTRUSTED_CONTEXT").unwrap();
    assert!(earlier.contains("what does it print?"), "{user}");
    assert!(question.contains("and in Ruby?") && !earlier.contains("and in Ruby?"), "{user}");

    fixture.replay_last();
}

#[test]
fn who_receives_what_is_said_once() {
    let server = answers(&["one", "two", "three"]);
    let fixture = fixture(&server, "");
    let said = |args: &[&str]| fixture.proem(args).stderr().contains("receives the question");
    assert!(said(&["ask", "one?"]));
    assert!(!said(&["ask", "two?"]));
    assert!(said(&["ask", "three?", "-v"]));
    assert!(!said(&["ask", "four?", "--dry-run"]), "nothing leaves");
}

#[test]
fn what_is_no_text_is_refused() {
    let server = answers(&[]);
    let fixture = fixture(&server, "");
    fixture.write("folder/a", "a");
    fixture.write("image.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    fixture.write("latin", b"caf\xe9");
    fixture.write("huge.log", "x".repeat(1024 * 1024 + 1));
    let refused: Vec<String> = [
        (&["ask", "what?", "-f", "folder"][..], &b""[..]),
        (&["ask", "what?", "-f", "image.png"], b""),
        (&["ask", "what?", "-f", "latin"], b""),
        (&["ask", "what?", "-f", "huge.log"], b""),
        (&["ask", "what?", "-f", "gone"], b""),
        (&["ask", "what?"], b"\0binary"),
        (&["ask", " "], b""),
        (&["ask", "what?", "--continue"], b""),
        (&["run", "assemble/task"], b""),
    ]
    .into_iter()
    .map(|(args, stdin)| settled(&server, &fixture.proem_with(args, stdin)))
    .collect();
    snapshot!(refused.join("\n").replace(fixture.base.to_str().unwrap(), "[base]"));
    assert_eq!(server.requests().len(), 0, "nothing was sent");
}

#[test]
fn a_pipe_that_never_ends_is_given_up_on() {
    let server = answers(&[]);
    let fixture = fixture(&server, "");
    let mut command = fixture.command(&fixture.binary);
    command
        .args(["ask", "what?", "--timeout", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let held = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(held);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let expected = "standard input has not ended within 1 s; end it, or give none with `< /dev/null`";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn the_shipped_prompt_keeps_its_cases() {
    let tested = Fixture::folder().proem(&["book", "test", "ask/question"]);
    assert_eq!(tested.code(), 0, "{}", tested.transcript());
}

#[test]
fn a_request_is_made_though_no_state_can_be_kept() {
    let server = answers(&["It is."]);
    let mut fixture = fixture(&server, "");
    fixture.set("PROEM_KEY_FILE", "/proc/no-folder/key");
    fixture.set("XDG_STATE_HOME", "/proc/no-folder");
    for args in [&["ask", "is it?", "--dry-run"][..], &["assemble", "fix it", "--no-record"], &["assemble", "fix it"]] {
        let run = fixture.proem(args);
        assert_eq!(run.code(), 0, "{args:?} {}", run.stderr());
        assert!(run.stderr().contains("other ones the next time"), "{args:?} {}", run.stderr());
    }
    // Unrecorded, and so under no budget.
    let sent = fixture.proem(&["ask", "is it?", "--no-record"]);
    assert_eq!((sent.code(), server.requests().len()), (0, 1), "{}", sent.stderr());
    let recorded = fixture.proem(&["ask", "is it?"]);
    assert_eq!((recorded.code(), server.requests().len()), (3, 1), "{}", recorded.stderr());
    assert!(recorded.stderr().contains("--no-record"), "{}", recorded.stderr());
}
