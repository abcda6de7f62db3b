//! `proem worker` and `proem workers` as processes over one database: what a webhook stores is worked on.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::Fixture;
use crate::guide;
use crate::skipped::skip;
use crate::test_server::test_server;
use crate::triage_signals::{charter_text, moved};

/// The address of a database of the tests' server.
fn address(name: &str) -> String {
    format!("postgres:///{name}?host={}&user=postgres", test_server().unwrap().folder.display())
}

/// A user whose records are in a database, with a project that the records call `tea`.
fn user(name: &str) -> Option<Fixture> {
    let server = match test_server() {
        Ok(server) => server,
        Err(why) => {
            skip("postgresql", why);
            return None;
        }
    };
    server.run("postgres", &format!("CREATE DATABASE {name}")).unwrap();
    let fixture = Fixture::folder().unborn();
    fixture.trust_charter(&charter_text("artefact"));
    let (url, root) = (address(name), fixture.repo.display());
    fixture.configure("config.toml", &format!("[store]\nurl = \"{url}\"\n[store.projects]\n\"{root}\" = \"tea\"\n"));
    Some(fixture)
}

/// A worker, and what it says.
struct Working {
    child: Child,
    notes: BufReader<ChildStderr>,
}

impl Working {
    fn start(fixture: &Fixture, more: &[&str]) -> Self {
        let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
        let mut child = command.arg("worker").args(more).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let notes = BufReader::new(child.stderr.take().unwrap());
        Self { child, notes }
    }

    /// Reads until a line has these words; that line.
    fn hear(&mut self, words: &str) -> String {
        let mut heard = String::new();
        loop {
            let mut line = String::new();
            assert!(self.notes.read_line(&mut line).unwrap() > 0, "it ended without `{words}`: {heard}");
            if line.contains(words) {
                return line;
            }
            heard.push_str(&line);
        }
    }

    /// Ends it in order; its exit code, and what it said meanwhile.
    fn stop(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut said = String::new();
        self.notes.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

#[test]
fn a_worker_does_what_is_wanted_and_says_so() {
    let Some(fixture) = user("team") else { return };
    let run = |args: &[&str]| fixture.proem(args);
    fixture.write("inbox.json", moved(1, "To Do", "In Progress").to_string());
    let taken = run(&["triage", "run", "inbox.json"]);
    assert_eq!(taken.code(), 0, "{}", taken.transcript());
    let idle = run(&["workers"]);
    assert!(idle.stdout().starts_with("idle       triage  tea\n"), "{}", idle.transcript());
    // As another machine does that stores a signal.
    test_server().unwrap().run("team", "UPDATE proem.work SET wanted = wanted + 1").unwrap();
    let waiting = run(&["workers"]);
    assert!(waiting.stdout().starts_with("waiting    triage  tea\n"), "{}", waiting.transcript());
    let mut working = Working::start(&fixture, &["--only", "triage"]);
    assert!(working.hear("working for").contains("1 project, at most 2 steps at the same time"));
    let done = working.hear("done (");
    assert!(done.contains("triage of tea: done ("), "{done}");
    let (code, said) = working.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("ended; the steps in hand are done"), "{said}");
    let idle = run(&["workers", "--json"]);
    let idle = idle.json();
    assert_eq!((&idle["work"][0]["state"], &idle["work"][0]["attempts"]), (&"idle".into(), &0.into()), "{idle}");
    assert_eq!(run(&["workers", "--stuck"]).code(), 0);
    fixture.configure("records.password", "not asked for here\n");
    let password = fixture.base.join("config/proem/records.password");
    fs::set_permissions(password, Permissions::from_mode(0o600)).unwrap();
    let (url, root) = (address("team"), fixture.repo.display().to_string());
    let shown = [(url.as_str(), "postgres://proem@db.example/records"), (root.as_str(), "/srv/tea")];
    assert_eq!(guide::run(&fixture, "team.md", &shown), guide::Tried { files: 1, sessions: 1 });
    let none = run(&["workers", "--retry", "triage"]);
    assert_eq!(none.code(), 1, "{}", none.transcript());
    assert!(none.stderr().contains("there is nothing to retry"), "{}", none.stderr());
}

#[test]
fn a_worker_without_a_database_or_a_project_says_what_to_do() {
    let fixture = Fixture::folder().unborn();
    let none = fixture.proem(&["worker"]);
    assert_eq!(none.code(), 2, "{}", none.transcript());
    assert!(none.stderr().contains("[store.projects]"), "{}", none.stderr());
    let file = fixture.proem(&["worker", "--root", "."]);
    assert_eq!(file.code(), 2, "{}", file.transcript());
    assert!(file.stderr().contains("proem triage watch"), "{}", file.stderr());
    let workers = fixture.proem(&["workers"]);
    assert_eq!(workers.code(), 0, "{}", workers.transcript());
}
