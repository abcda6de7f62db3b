//! Programs with an agent's tools: recorded, shown, replayed, gone on with, and killed at every place around a call.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use proem_llm::scripted::{Reply, ScriptedServer};
use proem_store::failpoint;

use crate::fixture::{Fixture, Run};
use crate::guide;
use crate::records::sql;
use crate::run::set_up;
use crate::views;

/// A server that counts how often each number came, and under which keys.
pub(crate) struct Oracle {
    server: ScriptedServer,
    seen: Arc<Mutex<BTreeMap<u64, Vec<String>>>>,
}

impl Oracle {
    pub(crate) fn new() -> Self {
        let seen: Arc<Mutex<BTreeMap<u64, Vec<String>>>> = Arc::default();
        let counted = Arc::clone(&seen);
        let server = ScriptedServer::answering(move |request| {
            let number = request.json().and_then(|body| body["n"].as_u64()).unwrap();
            let key = request.header("idempotency-key").unwrap_or_default().to_owned();
            counted.lock().unwrap().entry(number).or_default().push(key);
            Reply::raw(200, (number * 10).to_string())
        });
        Self { server: server.unwrap(), seen }
    }

    /// How often each number came and how many keys it had.
    pub(crate) fn counts(&self) -> Vec<(usize, usize)> {
        let seen = self.seen.lock().unwrap();
        let keys = |keys: &Vec<String>| keys.iter().collect::<std::collections::BTreeSet<_>>().len();
        seen.values().map(|times| (times.len(), keys(times))).collect()
    }
}

/// Twenty calls, five at once.
pub(crate) const TWENTY: &str =
    "(reduce + 0 (mapcat (fn [round] (pmap (fn [n] (tool/put {:n (+ (* 5 round) n)})) (range 5))) (range 4)))";
/// Their sum.
pub(crate) const SUM: &str = "1900\n";

/// A fixture with an agent outside its folder, so that it needs no trust, whose tool posts to the oracle.
pub(crate) fn fixture(oracle: &Oracle, flags: &str) -> Fixture {
    let fixture = Fixture::folder();
    let agent = format!(
        "version = 1\nname = \"poster\"\n[tools.put]\nsignature = \"(n :int) -> :int\"\ndescription = \"Post a number\"\n\
         {flags}\nhttp = {{ url = \"http://{}/t/put\", method = \"POST\", private = true }}\n",
        oracle.server.address()
    );
    std::fs::write(fixture.base.join("poster.agent.toml"), agent).unwrap();
    fixture.write("twenty.clj", TWENTY);
    fixture
}

pub(crate) const RUN: [&str; 5] = ["lisp", "run", "twenty.clj", "--agent", "../poster.agent.toml"];

/// Runs the program with a place at which it is killed. Whether it was.
fn killed(fixture: &Fixture, place: &str) -> bool {
    killed_at(fixture, &RUN, place)
}

/// Runs a command with a place at which it is killed. Whether it was.
pub(crate) fn killed_at(fixture: &Fixture, args: &[&str], place: &str) -> bool {
    let mut command = fixture.command(&fixture.binary);
    command.args(args).env("PROEM_FAILPOINT", place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().signal().is_some()
}

#[test]
fn a_program_calls_tools_and_its_record_shows_replays_and_counts_them() {
    let oracle = Oracle::new();
    let fixture = fixture(&oracle, "idempotent = true");
    let run = fixture.proem(&RUN);
    assert_eq!(run.answer(), SUM);
    assert!(run.stderr().contains("recorded as run"), "{}", run.stderr());
    assert_eq!(oracle.counts(), [(1, 1); 20]);
    let shown = fixture.proem(&["runs", "show", "last"]);
    for part in
        ["20 tool calls", "├─ 0 put  answered", "└─ 19 put  answered", "arguments  {\"n\":19}", "result     190"]
    {
        assert!(shown.answer().contains(part), "{part}: {}", shown.answer());
    }
    let replayed = fixture.proem(&["runs", "replay", "last"]);
    assert!(replayed.answer().contains("20 calls rebuilt") && replayed.answer().contains("all as recorded"));
    assert_eq!(oracle.counts(), [(1, 1); 20], "a replay calls nothing");
    let stats = fixture.proem(&["stats"]);
    assert!(stats.answer().contains("put                       20 calls  0 failed"), "{}", stats.answer());
    let json = fixture.proem(&["runs", "show", "last", "--json"]).json();
    assert_eq!(
        (&json["tools"][3]["outcome"]["result"], &json["tools"][3]["power"]),
        (&"30".into(), &"idempotent".into())
    );
}

/// Kills at a place, goes on until the program ends, and gives what the last process said.
fn gone_on_with(fixture: &Fixture, place: &str) -> Run {
    assert!(killed(fixture, place), "{place} was never passed");
    if place == "before-tool-intent#1" {
        // Nothing is recorded before the first intent, and nothing was called.
        assert_eq!(fixture.proem(&["runs", "resume", "last"]).code(), 2);
        return fixture.proem(&RUN);
    }
    fixture.proem(&["runs", "resume", "last"])
}

#[test]
fn a_kill_around_any_call_of_an_idempotent_tool_changes_no_answer_and_no_key() {
    for place in failpoint::TOOLS {
        for time in [1, 13] {
            let oracle = Oracle::new();
            let fixture = fixture(&oracle, "idempotent = true");
            let run = gone_on_with(&fixture, &format!("{place}#{time}"));
            assert_eq!(run.answer(), SUM, "{place}#{time}: {}", run.stderr());
            let counts = oracle.counts();
            assert_eq!(counts.len(), 20, "{place}#{time}");
            assert!(counts.iter().all(|(_, keys)| *keys == 1), "{place}#{time}: {counts:?}");
            assert!(counts.iter().map(|(times, _)| times).sum::<usize>() <= 21, "{place}#{time}: {counts:?}");
        }
    }
}

#[test]
fn a_kill_around_any_call_that_may_not_be_made_twice_makes_none_twice() {
    for place in failpoint::TOOLS {
        // The places around an intent are passed once more for each step, whose state is written there.
        let times = if place.ends_with("tool-intent") { [2, 14] } else { [1, 13] };
        for time in times {
            let oracle = Oracle::new();
            let fixture = fixture(&oracle, "");
            let run = gone_on_with(&fixture, &format!("{place}#{time}"));
            let counts = oracle.counts();
            assert!(counts.iter().all(|count| *count == (1, 1)), "{place}#{time}: {counts:?}");
            // Between intent and outcome it is unknown, and nobody is there to ask.
            let is_doubtful = !matches!(place, "before-tool-intent" | "after-tool-outcome");
            if is_doubtful {
                assert_eq!(run.code(), 1, "{place}#{time}: {}", run.stderr());
                assert!(run.stderr().contains("may have happened, and nobody knows"), "{}", run.stderr());
                assert!(run.stderr().contains("What now?"), "the question is named: {}", run.stderr());
            } else {
                assert_eq!(run.answer(), SUM, "{place}#{time}: {}", run.stderr());
                assert_eq!(counts.len(), 20, "{place}#{time}");
            }
        }
    }
}

#[test]
fn without_records_only_tools_without_effects_are_called() {
    let oracle = Oracle::new();
    let fixture = fixture(&oracle, "");
    let refused = fixture.proem(&[&RUN[..], &["--no-record"]].concat());
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr().contains("without records of contents only tools with `effect = false`"),
        "{}",
        refused.stderr()
    );
    assert_eq!(oracle.counts().len(), 0);
    let free = self::fixture(&oracle, "effect = false");
    assert_eq!(free.proem(&[&RUN[..], &["--no-record"]].concat()).answer(), SUM);
}

#[test]
fn an_agent_of_the_project_and_what_it_runs_count_for_nothing_before_they_are_trusted() {
    let fixture = Fixture::folder();
    fixture.git(&["init", "-q"]);
    fixture.write("tool.sh", "echo 1\n");
    fixture.write(
        ".proem/agents/own.agent.toml",
        "version = 1\nname = \"own\"\n[tools.go]\nsignature = \"() -> :int\"\ndescription = \"x\"\neffect = false\n\
         command = { argv = [\"sh\", \"tool.sh\"] }\n",
    );
    for named in ["own", ".proem/agents/own.agent.toml"] {
        let run = fixture.proem(&["lisp", "run", "-e", "(tool/go {})", "--agent", named]);
        assert_eq!(run.code(), 2, "{named}: {}", run.stdout());
        let expected = "`.proem/agents/own.agent.toml` is part of this project and decides what tools do, but you have not trusted it";
        assert!(run.stderr().contains(expected), "{named}: {}", run.stderr());
    }
    let listed = fixture.proem(&["trust"]);
    assert!(listed.stderr().contains("not trusted: .proem/agents/own.agent.toml, tool.sh;"), "{}", listed.stderr());
    fixture.write("elsewhere.agent.toml", "version = 1\nname = \"own\"\n");
    let moved = fixture.proem(&["lisp", "run", "-e", "1", "--agent", "elsewhere.agent.toml"]);
    assert!(moved.stderr().contains("move it to `.proem/agents/`"), "{}", moved.stderr());
}

#[test]
fn an_agents_file_is_checked_with_every_problem_and_its_place() {
    let fixture = Fixture::folder();
    fixture.write("good.agent.toml", "version = 1\nname = \"a\"\n[tools.go]\nsignature = \"(n :int) -> :int\"\ndescription = \"x\"\ncommand = { argv = [\"sh\"] }\n");
    fixture.write("bad.agent.json", "{\"version\": 1, \"nam\": \"a\"}");
    let good = fixture.proem(&["lisp", "agent", "check", "good.agent.toml"]);
    assert_eq!(good.answer(), "good.agent.toml: agent a, 1 tool\n  go(n :int) -> :int  command, an effect\n");
    let bad = fixture.proem(&["lisp", "agent", "check", "good.agent.toml", "bad.agent.json"]);
    assert_eq!(bad.code(), 2);
    for part in ["unknown key `nam`", "bad.agent.json:1:16", "no `name`", "^^^^^"] {
        assert!(bad.stderr().contains(part), "{part}: {}", bad.stderr());
    }
    let json = fixture.proem(&["lisp", "agent", "check", "good.agent.toml", "--json"]).json();
    assert_eq!(json["files"][0]["tools"][0]["power"], "effectful");
}

#[test]
fn a_run_whose_tools_have_changed_is_not_gone_on_with() {
    let oracle = Oracle::new();
    let fixture = fixture(&oracle, "idempotent = true");
    assert!(killed(&fixture, "after-tool#3"), "it passes three calls");
    let path = fixture.base.join("poster.agent.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("/t/put", "/t/other")).unwrap();
    let run = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!(run.code(), 2, "{}", run.stdout());
    assert!(run.stderr().contains("version of the rules"), "{}", run.stderr());
    std::fs::write(&path, text).unwrap();
    assert_eq!(fixture.proem(&["runs", "resume", "last"]).answer(), SUM);
}

/// A run with an input of a megabyte that was killed behind its third call.
fn killed_with_a_large_input(oracle: &Oracle) -> Fixture {
    let fixture = fixture(oracle, "idempotent = true");
    let words: Vec<String> = (0..60_000).map(|number| format!("word number {number}")).collect();
    fixture.write("large.json", serde_json::json!({ "words": words }).to_string());
    fixture.write("twenty.clj", "(str (reduce + (mapv (fn [n] (tool/put {:n n})) (range 5))) \" \" (count ctx/words))");
    let agent = fixture.base.join("poster.agent.toml");
    let text = std::fs::read_to_string(&agent).unwrap();
    let named = "name = \"poster\"\nsignature = \"(words [:string]?) -> :any\"";
    std::fs::write(&agent, text.replace("name = \"poster\"", named)).unwrap();
    let mut command = fixture.command(&fixture.binary);
    command.args(RUN).args(["--input", "large.json"]).env("PROEM_FAILPOINT", "after-tool-outcome#3");
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.signal().is_some());
    fixture
}

#[test]
fn the_parts_of_a_large_state_are_stored_once_and_go_with_the_run() {
    let oracle = Oracle::new();
    let fixture = killed_with_a_large_input(&oracle);
    let count = |of: &str| {
        sql(&fixture, &format!("SELECT format('%d', count(*)) FROM states WHERE {of}"))[0].parse::<usize>().unwrap()
    };
    let (all, old) = (count("1"), count("at < (SELECT at FROM snapshots)"));
    assert!(all > 10 && old * 10 > all * 6, "most parts are those of an earlier state: {old} of {all}");
    let sealed = sql(&fixture, "SELECT format('%d', max(length(sealed))) FROM snapshots")[0].parse::<usize>().unwrap();
    assert!(sealed < 100_000, "the state itself names them: {sealed}");
    let resumed = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!(resumed.answer(), "\"100 60000\"\n", "{}", resumed.stderr());
    assert_eq!(count("1"), 0, "a run that has ended keeps no state");
    assert_eq!(oracle.counts(), [(1, 1); 5]);
}

#[test]
fn a_state_whose_part_was_changed_taken_or_is_anothers_is_not_gone_on_from() {
    let changes = [
        "UPDATE states SET sealed = zeroblob(length(sealed)) WHERE name = (SELECT min(name) FROM states)",
        "DELETE FROM states WHERE name = (SELECT min(name) FROM states)",
        "UPDATE states SET sealed = (SELECT sealed FROM states ORDER BY name DESC LIMIT 1) \
         WHERE name = (SELECT min(name) FROM states)",
    ];
    for change in changes {
        let oracle = Oracle::new();
        let fixture = killed_with_a_large_input(&oracle);
        views::execute_sql(&fixture, change);
        let resumed = fixture.proem(&["runs", "resume", "last"]);
        assert_eq!(resumed.code(), 2, "{change}: {}", resumed.stderr());
        assert!(resumed.stderr().contains("part of its state is missing or was changed"), "{}", resumed.stderr());
        assert_eq!(oracle.counts(), [(1, 1); 3]);
    }
}

#[test]
fn the_guide_of_tools_runs() {
    // Chance decides on the first question, so the answer follows the question.
    let server = ScriptedServer::answering(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let is_late = body.contains("late again");
        if body.contains("one friendly sentence") {
            let words = if is_late { "We are sorry." } else { "Thank you!" };
            return Reply::text(format!("```clojure\n(return \"{words}\")\n```"));
        }
        Reply::value(serde_json::json!({ "value": if is_late { "complaint" } else { "praise" } }))
    });
    let server = server.unwrap();
    let mut fixture = Fixture::folder();
    set_up(&mut fixture, &server, "");
    let tried = guide::run_pages(&fixture, &["tools.md", "tools-that-ask.md"], &[]);
    assert_eq!((tried.files, tried.sessions), (9, 6));
}
