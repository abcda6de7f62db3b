//! The conditions for being taken as a person who decides.

use std::process::Command;

use crate::fixture::Fixture;
use crate::terminal::screen::{Left, start};

/// A user with one file that is not trusted.
fn untrusted() -> Fixture {
    let fixture = Fixture::folder();
    fixture.write("AGENTS.md", "Be brief.\n");
    fixture
}

/// A line of a shell that has `$PROEM`.
fn shell(fixture: &Fixture, line: &str) -> Command {
    let mut command = fixture.command("/bin/sh");
    command.args(["-c", line]).env("PROEM", env!("CARGO_BIN_EXE_proem")).env("NO_COLOR", "1");
    command
}

fn has_trust(fixture: &Fixture) -> bool {
    fixture.base.join("state/proem/trust.json").exists()
}

const NOBODY: &str = "and there is no terminal: run it in an interactive shell, or review each file yourself";

#[track_caller]
fn refused(fixture: &Fixture, said: &str, code: Option<i32>, why: &str) {
    // The screen is narrower than the line.
    let said = said.replace(['\r', '\n'], "");
    assert!(said.contains(why), "{said}");
    assert_eq!((code, has_trust(fixture)), (Some(2), false), "{said}");
}

#[test]
fn who_is_at_no_terminal_decides_nothing() {
    let mut fixture = untrusted();
    for name in ["PROEM_OPERATOR", "PROEM_YES", "PROEM_TTY", "SSH_TTY", "GPG_TTY"] {
        fixture.set(name, "/dev/tty");
    }
    let piped = fixture.proem_with(&["trust"], b"y\nyes\n");
    refused(&fixture, piped.stderr(), Some(piped.code()), NOBODY);
}

#[test]
fn who_redirects_or_leaves_a_terminal_decides_nothing() {
    let check = |line: &str, why: &str| -> Option<Left> {
        let fixture = untrusted();
        let left = start(shell(&fixture, line))?.end();
        refused(&fixture, &left.raw, left.code, why);
        Some(left)
    };
    // Answers from a pipe or a file, with everything else on a terminal.
    if check("yes | \"$PROEM\" trust", NOBODY).is_none() {
        return;
    }
    check("echo yes > answers; \"$PROEM\" trust < answers", NOBODY);
    check("\"$PROEM\" trust < /dev/null", NOBODY);
    // Nobody sees what is asked.
    check("\"$PROEM\" trust 2> notes; code=$?; cat notes; exit $code", NOBODY);
    // Everything is on a terminal, which is another session's.
    if cfg!(target_os = "linux") {
        check("setsid --wait \"$PROEM\" trust", NOBODY);
    }
    // The foreground is the shell's.
    check("set -m; \"$PROEM\" trust < /dev/tty & wait $!", "it runs in the background: bring it to the foreground");
}

#[test]
fn what_was_typed_before_the_question_answers_nothing() {
    let fixture = untrusted();
    let Some(mut terminal) = start(shell(&fixture, "echo ready; read line; exec \"$PROEM\" trust")) else { return };
    terminal.until("ready");
    terminal.press("go\ny\n");
    terminal.until("Trust this file? [y/N] ");
    terminal.press("n\n");
    let left = terminal.end();
    assert_eq!((left.code, has_trust(&fixture)), (Some(1), false), "{}", left.shown);
}

#[test]
fn a_person_at_a_terminal_decides() {
    let fixture = untrusted();
    let Some(mut terminal) = start(shell(&fixture, "exec \"$PROEM\" trust")) else { return };
    terminal.until("Trust this file? [y/N] ");
    terminal.press("y\n");
    let left = terminal.end();
    left.is_tidy();
    assert_eq!((left.code, has_trust(&fixture)), (Some(0), true), "{}", left.shown);
}
