//! Triage with models that goes on: after a kill, and cycle after cycle.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use proem_llm::scripted::{Reply, ScriptedServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use super::models::{TEXT, answers, comment_id, one_comment, run, with_models};
use crate::fixture::Fixture;
use crate::records::sql;
use crate::run::start;
use crate::triage_signals::comment;

/// How long an answer stays away that nobody lives to hear.
const NEVER: u64 = 120_000;

/// `proem triage run` over one comment, killed while it waits for its second answer. A third answer, and what is behind
/// it, is for whoever asks next.
fn killed() -> (Fixture, ScriptedServer) {
    let id = comment_id(1, TEXT);
    let [sanitised, classified, drafted] = <[Reply; 3]>::try_from(answers(&id)).unwrap();
    let server = start(vec![sanitised, classified.clone().delayed(NEVER), classified, drafted]);
    let fixture = one_comment("tactical", &server);
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    let mut child = command.args(["triage", "run", "one.json"]).stdout(Stdio::null()).spawn().unwrap();
    assert!(server.arrived(2, Duration::from_secs(60)));
    child.kill().unwrap();
    child.wait().unwrap();
    (fixture, server)
}

#[test]
fn a_run_that_was_killed_goes_on_with_its_cycle() {
    let (fixture, server) = killed();
    assert_eq!(fixture.triage().status()["signals"], json!({ "open": 1 }));
    let resumed = fixture.proem(&["runs", "resume", "last", "--json"]);
    let report = resumed.json();
    assert_eq!(report["signals"][0]["outcome"], "drafted", "{}", resumed.transcript());
    assert_eq!(report["actions"][0]["action"], "email_stakeholder", "{report}");
    assert_eq!(server.requests().len(), 4, "what was answered before is not asked again");
    assert_eq!(fixture.triage().status()["signals"], json!({ "handled": 1 }));
    let again = fixture.proem(&["runs", "resume", "last"]);
    assert_ne!(again.code(), 0, "{}", again.transcript());
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM actions"), ["1"]);
}

#[test]
fn the_next_cycle_goes_on_with_a_run_that_was_killed() {
    let (fixture, server) = killed();
    let done = run(&fixture, &["--json"]);
    let report = done.json();
    assert_eq!(report["signals"][0]["outcome"], "drafted", "{}", done.transcript());
    assert!(done.stderr().contains("a cycle broke off behind its calls"), "{}", done.stderr());
    assert_eq!(server.requests().len(), 4, "what was answered before is not asked again");
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM runs"), ["1"]);
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM actions"), ["1"]);
    // If it may not go on, its signals are asked about anew, with the reason.
    let (fixture, _server) = killed();
    let verdicts = include_str!("../../../../proem-guard/data/verdicts.tsv");
    fixture.configure("guard/verdicts.tsv", &format!("{verdicts}# the same, and other bytes\n"));
    let done = run(&fixture, &["--json"]);
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM runs"), ["2"]);
    assert!(done.stderr().contains("its signals are asked about anew"), "{}", done.stderr());
}

/// The action is written, and the cycle is not: no model may draft to somebody else because of it.
#[test]
fn answers_of_a_cycle_that_could_not_be_written_are_used_by_the_next() {
    let id = comment_id(1, TEXT);
    let server = start(answers(&id));
    let mut fixture = one_comment("tactical", &server);
    fixture.set("PROEM_FAILPOINT", "fail:finish-cycle");
    let failed = run(&fixture, &["--json"]);
    assert_eq!(failed.code(), 3, "{}", failed.transcript());
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM actions"), ["1"]);
    fixture.set("PROEM_FAILPOINT", "");
    // Later signals have a cycle of their own, which asks.
    fixture.write("two.json", comment(2, TEXT).to_string());
    let done = fixture.proem(&["triage", "run", "two.json", "--json"]);
    let report = done.json();
    let outcomes: Vec<&str> =
        report["signals"].as_array().unwrap().iter().filter_map(|signal| signal["outcome"].as_str()).collect();
    assert_eq!((outcomes.len(), outcomes[0]), (2, "drafted"), "{}", done.transcript());
    assert!(done.stderr().contains("a cycle broke off behind its calls"), "{}", done.stderr());
    let sent: Vec<String> = server.requests().iter().map(|request| request.json().unwrap().to_string()).collect();
    assert_eq!(sent.iter().filter(|body| body.contains(&format!("**ID:** {id}"))).count(), 3);
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM actions"), ["1"]);
}

/// Answers that were admitted under other rules are not acted on, and a run that was killed doesn't go on under them.
#[test]
fn answers_under_other_rules_are_asked_for_anew() {
    let policy = include_str!("../../../../proem-engine/data/policy.toml");
    let verdicts = include_str!("../../../../proem-guard/data/verdicts.tsv");
    for (file, text) in [("policy.toml", policy), ("guard/verdicts.tsv", verdicts)] {
        let id = comment_id(1, TEXT);
        let server = start(answers(&id).into_iter().chain(answers(&id)).collect());
        let mut fixture = one_comment("tactical", &server);
        fixture.set("PROEM_FAILPOINT", "fail:finish-cycle");
        assert_eq!(run(&fixture, &["--json"]).code(), 3);
        fixture.set("PROEM_FAILPOINT", "");
        fixture.configure(file, &format!("{text}# the same, and other bytes\n"));
        let done = run(&fixture, &["--json"]);
        assert_eq!(done.json()["signals"][0]["outcome"], "drafted", "{}", done.transcript());
        assert!(
            done.stderr().contains("was held to other rules; its signals are asked about anew"),
            "{}",
            done.stderr()
        );
        assert_eq!(server.requests().len(), 6, "{file}");
    }
    let (fixture, _server) = killed();
    fixture.configure("policy.toml", &format!("{policy}# the same, and other bytes\n"));
    let resumed = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!(resumed.code(), 2, "{}", resumed.transcript());
    assert!(resumed.stderr().contains("the project's file or the policy was changed since"), "{}", resumed.stderr());
}

#[test]
fn a_run_whose_signals_were_handled_meanwhile_does_nothing() {
    let (fixture, _server) = killed();
    let by_rules = fixture.triage().take_files(&["one.json"]);
    assert_eq!(by_rules["signals"][0]["degraded"], true, "{by_rules}");
    let resumed = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!(resumed.code(), 1, "{}", resumed.transcript());
    assert!(resumed.stderr().contains("its signals are not all open any more"), "{}", resumed.stderr());
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM actions"), ["0"]);
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM triage_cycles"), ["1"]);
}

/// A process that watches a folder.
struct Watching {
    child: Child,
    heard: Vec<Json>,
}

impl Watching {
    fn new(fixture: &Fixture, more: &[&str]) -> Self {
        let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
        command.args(["triage", "watch", "inbox", "--cycle", "1s", "--sweep", "1h", "--json"]).args(more);
        Self { child: command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), heard: Vec::new() }
    }

    /// Ends it when a cycle had a signal; that cycle, and what was said on standard error.
    fn first_work(mut self) -> (Json, String) {
        let lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        let events = lines.map(|line| serde_json::from_str::<Json>(&line.unwrap()).unwrap());
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let (mut work, began) = (None, Instant::now());
        for event in events {
            self.heard.push(event.clone());
            if began.elapsed() > Duration::from_mins(2) {
                // It says something each second, and never what is waited for.
                kill_process(id, Signal::KILL).unwrap();
            }
            if work.is_none() && event["report"]["signals"].as_array().is_some_and(|signals| !signals.is_empty()) {
                work = Some(event);
                kill_process(id, Signal::TERM).unwrap();
            }
        }
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(work.is_some(), "{:#?} {said}", self.heard);
        (work.unwrap_or_default(), said)
    }
}

/// A project with a comment in a folder that is watched. `more` is in the user's configuration.
fn inbox(server: &ScriptedServer, more: &str) -> Fixture {
    let fixture = with_models("tactical", server, more);
    fixture.write("inbox/one.json", comment(1, TEXT).to_string());
    fixture
}

#[test]
fn a_watcher_asks_models_on_the_same_conditions_and_slows_down_as_the_budget_says() {
    let id = comment_id(1, TEXT);
    let server = start(answers(&id));
    let steps = "[budget.agent.triage]\nsteps = [{ from = 0.0, models = \"small-only\", every_minutes = 30 }]\n";
    let mut fixture = inbox(&server, steps);
    let (cycle, said) = Watching::new(&fixture, &[]).first_work();
    let report = &cycle["report"];
    assert_eq!(report["signals"][0]["outcome"], "drafted", "{cycle} {said}");
    let place = "step 1 of 1 of the day's budget: the small model only, a cycle every 30 minutes";
    assert_eq!(report["budget"], place, "{report}");
    let sent: Vec<Json> = server.requests().iter().map(|request| request.json().unwrap()).collect();
    assert_eq!((sent.len(), &sent[0]["model"]), (3, &sent[2]["model"]));
    assert_eq!(sql(&fixture, "SELECT kind FROM runs"), ["triage"]);

    // Without a key, and with a person's word against it, nobody is asked.
    fixture.write("inbox/two.json", comment(2, TEXT).to_string());
    let (cycle, _) = Watching::new(&fixture, &["--no-model"]).first_work();
    assert_eq!((&cycle["report"]["degraded"], &cycle["report"]["budget"]), (&json!(true), &Json::Null), "{cycle}");
    fixture.write("inbox/three.json", comment(3, TEXT).to_string());
    fixture.set("ANTHROPIC_API_KEY", "");
    let (cycle, said) = Watching::new(&fixture, &[]).first_work();
    assert_eq!(cycle["report"]["degraded"], true, "{cycle}");
    assert_eq!(said.matches("no model is asked: ANTHROPIC_API_KEY is not set").count(), 1, "{said}");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_watcher_that_is_told_to_end_breaks_its_calls_off_and_leaves_their_signals_open() {
    let id = comment_id(1, TEXT);
    let replies = [Reply::text("late").delayed(NEVER)].into_iter().chain(answers(&id)).collect();
    let server = start(replies);
    let fixture = inbox(&server, "");
    let watching = Watching::new(&fixture, &[]);
    assert!(server.arrived(1, Duration::from_secs(60)));
    kill_process(Pid::from_raw(i32::try_from(watching.child.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
    let output = watching.child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("the calls were broken off") && said.contains("\"ended\""), "{said}");
    assert_eq!(fixture.triage().status()["signals"], json!({ "open": 1 }));
    // A run that a person broke off is nobody's answer: models are asked anew.
    let done = fixture.proem(&["triage", "run", "inbox/one.json", "--json"]);
    assert_eq!(done.json()["signals"][0]["outcome"], "drafted", "{}", done.transcript());
    assert!(!done.stderr().contains("a cycle broke off behind its calls"), "{}", done.stderr());
    assert_eq!((server.requests().len(), sql(&fixture, "SELECT kind FROM runs").len()), (4, 2));
}
