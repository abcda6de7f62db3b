//! A disk that is full, and a store that somebody else holds: before a call, and after it.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use super::{TRIAGE, configured, late_reply, run_triage, sql};
use crate::fixture::{Fixture, Locked};
use crate::run::{low, start};
use crate::skipped::skip;

/// A cap that nothing here reaches.
const BUDGET: &str = "[budget.user]\nday_tokens = 1000000\n";

/// Runs the binary with a disk of its own for the state, and fills that when it reads a line.
const FULL: &str = "mount -t tmpfs -o \"size=$SIZE\" tmpfs \"$STATE\" || exit 99
\"$PROEM\" \"$@\" </dev/null &
read -r line && cat /dev/zero >\"$STATE/full\" 2>/dev/null
wait $!";

/// Runs the binary with the same state on a disk that is full already.
const FULL_ALREADY: &str =
    "cp -r \"$STATE\" \"$STATE.copy\" && mount -t tmpfs -o \"size=$SIZE\" tmpfs \"$STATE\" || exit 99
cp -r \"$STATE.copy/.\" \"$STATE\" || exit 98
cat /dev/zero >\"$STATE/full\" 2>/dev/null
\"$PROEM\" \"$@\" </dev/null";

/// A run in a name space where it may mount. `None` where that is not allowed.
fn on_disk(fixture: &Fixture, size: &str) -> Option<Command> {
    with_disk(fixture, size, (FULL, &TRIAGE))
}

/// A command in such a name space, which a script starts.
fn with_disk(fixture: &Fixture, size: &str, (script, args): (&str, &[&str])) -> Option<Command> {
    let state = fixture.base.join("state");
    std::fs::create_dir_all(&state).unwrap();
    let command = || {
        let mut command = fixture.command("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]).env("STATE", &state).env("SIZE", size);
        command
    };
    let try_it = command().arg("mount -t tmpfs -o \"size=$SIZE\" tmpfs \"$STATE\"").output();
    if !try_it.is_ok_and(|output| output.status.success()) {
        skip("mounts", "this user may mount no disk");
        return None;
    }
    let mut command = command();
    command.args([script, "sh"]).args(args).env("PROEM", env!("CARGO_BIN_EXE_proem"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

/// How a command ended: exit code, standard output, standard error.
fn ended(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn severity(answer: &str) -> Json {
    serde_json::from_str::<Json>(answer).unwrap()["severity"].take()
}

#[test]
fn a_disk_that_is_full_before_the_call() {
    for (budget, remedy) in
        [(BUDGET, "a budget is configured (`budget.user.day_tokens`)"), ("", "`--no-record` continues")]
    {
        let server = start(vec![low()]);
        let fixture = configured(&server, budget);
        let Some(mut command) = on_disk(&fixture, "64k") else { return };
        let (found, answer, said) = ended(command.stdin(Stdio::null()).spawn().unwrap());
        assert_eq!((found, server.requests().len(), answer.as_str()), (Some(3), 0, ""), "{said}");
        assert!(said.contains("full") && said.contains("records.db") && said.contains(remedy), "{said}");
    }
}

#[test]
fn a_home_that_can_only_be_read() {
    let read_only = "mount -t tmpfs -o \"ro,size=$SIZE\" tmpfs \"$STATE\" || exit 99
\"$PROEM\" \"$@\" </dev/null";
    for (budget, remedy) in
        [(BUDGET, "a budget is configured (`budget.user.day_tokens`)"), ("", "`--no-record` continues")]
    {
        let server = start(vec![low()]);
        let fixture = configured(&server, budget);
        let Some(mut command) = with_disk(&fixture, "64k", (read_only, &TRIAGE)) else { return };
        let (found, answer, said) = ended(command.stdin(Stdio::null()).spawn().unwrap());
        assert_eq!((found, server.requests().len(), answer.as_str()), (Some(3), 0, ""), "{said}");
        assert!(said.contains("Read-only file system") && said.contains(remedy), "{said}");
    }
}

#[test]
fn a_disk_that_is_full_after_the_call() {
    for budget in [BUDGET, ""] {
        let server = start(vec![late_reply(low(), 3_000)]);
        let fixture = configured(&server, budget);
        let Some(mut command) = on_disk(&fixture, "4m") else { return };
        let mut child = command.spawn().unwrap();
        server.await_requests(1);
        child.stdin.take().unwrap().write_all(b"fill it\n").unwrap();
        let (code, answer, said) = ended(child);
        assert_eq!((code, severity(&answer)), (Some(3), "low".into()), "{said}");
        assert!(said.contains("error: ") && said.contains("could not be recorded") && said.contains("full"), "{said}");
    }
}

#[test]
fn a_disk_that_is_full_for_those_who_read() {
    let server = start(vec![low()]);
    let fixture = configured(&server, "");
    run_triage(&fixture, &[]).json();
    let Some(mut command) = with_disk(&fixture, "700k", (FULL_ALREADY, &["runs", "list"])) else { return };
    let (code, listed, said) = ended(command.spawn().unwrap());
    assert_eq!((code, listed.as_str()), (Some(3), ""), "{said}");
    assert!(said.contains("can't be written: ") && said.contains("the disk may be full"), "{said}");
}

/// Starts the binary while somebody else writes, and says how it ended.
fn while_locked(fixture: &Fixture, until: impl FnOnce(), before: bool) -> (Option<i32>, String, String) {
    let locked = before.then(|| Locked::of(fixture));
    let child = super::spawn(fixture, &TRIAGE);
    until();
    let locked = locked.unwrap_or_else(|| Locked::of(fixture));
    let ended = ended(child);
    locked.let_go();
    ended
}

#[test]
fn a_store_that_somebody_else_holds() {
    let before = |budget: &str, remedy: &str| {
        let server = start(vec![low()]);
        let fixture = configured(&server, budget);
        run_triage(&fixture, &[]).json();
        let (found, answer, said) = while_locked(&fixture, || (), true);
        assert_eq!((found, server.requests().len(), answer.as_str()), (Some(3), 1, ""), "{said}");
        assert!(said.contains("another process") && said.contains("records.db") && said.contains(remedy), "{said}");
        assert_eq!(sql(&fixture, "SELECT state FROM runs"), ["ended"], "the other run left nothing");
    };
    let after = || {
        let server = start(vec![low(), late_reply(low(), 3_000)]);
        let fixture = configured(&server, BUDGET);
        run_triage(&fixture, &[]).json();
        let (code, answer, said) = while_locked(&fixture, || server.await_requests(2), false);
        assert_eq!((code, severity(&answer)), (Some(3), "low".into()), "{said}");
        assert!(said.contains("could not be recorded") && said.contains("another process"), "{said}");
        // The next process books the possible usage of the attempt.
        run_triage(&fixture, &[]).json();
        assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id"), ["reported", "unknown", "reported"]);
    };
    // Each waits for as long as a store is waited for, so they wait together.
    std::thread::scope(|scope| {
        scope.spawn(|| before(BUDGET, "a budget is configured"));
        scope.spawn(|| before("", "`--no-record` continues"));
        scope.spawn(after);
    });
}
