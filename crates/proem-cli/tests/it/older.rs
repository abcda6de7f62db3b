//! Records that an older Proem made: shown, replayed, gone on with and learned from by the one of today.
//!
//! `older/form-3.db` is what [`scenario`] left behind when the Proem of store form 3 ran it. It is in a folder of the
//! same path every time, for states are sealed for their project. Another one is made by
//! `PROEM_OLDER=/path/to/older/proem cargo test -p proem-cli --test it older::the_scenario`.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proem_engine::versions::Versions;
use proem_llm::scripted::{DeliveryEnd, Reply, ScriptedServer};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

use crate::fixture::{BEAT, Fixture, Run};
use crate::learning::failure_count;
use crate::records::sql;
use crate::risk::scene::shop;
use crate::risk::{metric, synthesis};
use crate::run::{low, set_up, start};

/// An hour after the records were made, in milliseconds since 1970: they are kept for a time only.
const AN_HOUR_LATER: i64 = 1_795_427_873_704;

/// The records of store form 3.
fn older_stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/older/form-3.db")
}

/// A user in the scenario's folder, whose provider is the server.
fn user(server: &ScriptedServer) -> Fixture {
    let mut fixture = shop().within(Fixture::fixed("older"));
    set_up(&mut fixture, server, "attempts = 1\n");
    fixture
}

fn records_file(fixture: &Fixture) -> PathBuf {
    fixture.base.join("state/proem/records.db")
}

/// A provider's answers in the scenario, one by one.
fn older_replies() -> Vec<Reply> {
    let worst = || Reply::value(json!({ "severity": "worst" }));
    let cut = || Reply::text("It crashes because nobody looked.").ending(DeliveryEnd::CutAfter(60));
    let owner = || metric("ownership_churn", "shop/permissions.py");
    let mut all = vec![low(), worst(), worst(), cut(), cut(), Reply::text("Look at it.")];
    all.extend((0..4).map(|_| Reply::text("no")));
    all.extend([owner(), synthesis("HIGH", &[("E1", "Twelve pages import the permission check.")])]);
    all.extend([low().delayed(600_000), owner(), low().delayed(600_000)]);
    all
}

/// A day of runs: good, against the contract, cut off by the network, learned from them, an assembly, an
/// investigation that failed, one with two prompts, and two that were killed while their provider thought.
fn scenario(fixture: &Fixture, server: &ScriptedServer) {
    let run = |prompt: &str, title: &str| fixture.proem(&["run", prompt, "--set", &format!("title={title}")]).code();
    assert_eq!(run("reviews/triage", "It crashes"), 0);
    assert_eq!(run("reviews/strict", "It burns"), 3);
    assert_eq!((run("reviews/free", "It hangs"), run("reviews/free", "It hangs")), (3, 3));
    assert_eq!(run("reviews/free", "It hangs"), 0);
    fixture.proem(&["assemble", "fix the crash of the permission check", "--time-sensitive"]).answer();
    fixture.proem(&["risk", "HEAD"]).answer();
    fixture.proem(&["risk", "HEAD"]).answer();
    killed(fixture, server, &["run", "reviews/strict", "--set", "title=It froze"], 1);
    killed(fixture, server, &["risk", "HEAD"], 2);
}

/// Kills a command while its provider thinks about so many answers.
fn killed(fixture: &Fixture, server: &ScriptedServer, args: &[&str], answers: usize) {
    let before = server.requests().len();
    let mut command = fixture.command(&fixture.binary);
    let mut child =
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !server.arrived(before + answers, BEAT) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kind, prompt and end of each run, the oldest first.
fn runs(fixture: &Fixture) -> Vec<String> {
    sql(
        fixture,
        "SELECT kind || ' ' || agent || '/' || prompt || ' ' || coalesce(outcome, state) FROM runs ORDER BY seq",
    )
}

/// Puts the records of a fixture into one file.
fn keep(fixture: &Fixture, to: &Path) {
    _ = fs::remove_file(to);
    let connection = Connection::open(records_file(fixture)).unwrap();
    connection.execute("VACUUM INTO ?", [to.to_str().unwrap()]).unwrap();
}

#[test]
fn the_scenario_gives_the_runs_of_the_records() {
    let server = start(older_replies());
    let mut fixture = user(&server);
    if let Some(binary) = env::var_os("PROEM_OLDER") {
        fixture.binary = binary.into();
        scenario(&fixture, &server);
        keep(&fixture, &older_stores());
        return;
    }
    scenario(&fixture, &server);
    let made = runs(&fixture);
    drop(fixture);
    assert_eq!(made, runs(&with_records(vec![]).0));
}

/// A user whose records are those of store form 3, and whose provider says this.
fn with_records(replies: Vec<Reply>) -> (Fixture, ScriptedServer) {
    let server = start(replies);
    let mut fixture = user(&server);
    fixture.set("PROEM_CLOCK", AN_HOUR_LATER.to_string());
    let to = records_file(&fixture);
    DirBuilder::new().mode(0o700).create(to.parent().unwrap()).unwrap();
    fs::copy(older_stores(), &to).unwrap();
    fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
    (fixture, server)
}

/// The ids of the runs of which this holds, the oldest first.
fn run_ids(fixture: &Fixture, condition: &str) -> Vec<String> {
    sql(fixture, &format!("SELECT id FROM runs WHERE {condition} ORDER BY seq"))
}

#[test]
fn older_records_are_shown() {
    let (fixture, _server) = with_records(vec![low()]);
    snapshot!("older_list", fixture.proem(&["runs", "list", "--any"]).transcript());
    for id in run_ids(&fixture, "TRUE") {
        let shown = fixture.proem(&["runs", "show", &id, "--json"]).json();
        assert_eq!(shown["versions"], json!({ "profile": 1, "containment": 1, "rendering": 1, "form": 1 }), "{id}");
        let sections = shown["calls"][0]["sections"].as_array().unwrap();
        assert!(sections.iter().all(|section| section["text"].is_string()), "{id}: {sections:?}");
        fixture.proem(&["runs", "show", &id]).answer();
    }
    let learned = run_ids(&fixture, "prompt = 'free' AND outcome = 'answered'").remove(0);
    snapshot!("older_shown", fixture.proem(&["runs", "show", &learned]).answer());
    assert_eq!(
        sql(&fixture, "SELECT format('%d', user_version) FROM pragma_user_version"),
        ["3"],
        "who reads changes nothing"
    );
}

#[test]
fn older_records_are_replayed_to_the_byte_or_to_the_version_that_made_them() {
    let (fixture, server) = with_records(vec![low()]);
    let replayable = run_ids(&fixture, "kind <> 'assemble'");
    assert_eq!(replayable.len(), 9);
    replayable.iter().for_each(|id| is_replayed(&fixture, id));
    assert_eq!(server.requests().len(), 0, "a replay sends nothing");
}

/// That a run of the first versions is rebuilt to the byte, or that another version is named: bytes may differ
/// only where one of those makes them.
#[track_caller]
fn is_replayed(fixture: &Fixture, id: &str) {
    let run = fixture.proem(&["runs", "replay", id, "--json"]);
    assert!(run.code() <= 1 && !run.stdout().is_empty(), "{id}: {}", run.stderr());
    let output: Json = serde_json::from_str(run.stdout()).unwrap();
    let difference = &output["difference"];
    if output["equal"] == true {
        assert_eq!((run.code(), difference), (0, &Json::Null), "{id}");
        return;
    }
    let Versions { containment, rendering, .. } = Versions::TODAY;
    assert_ne!((containment, rendering), (1, 1), "{id}: {difference}");
    assert_eq!((run.code(), &difference["byte"]), (1, &Json::Null), "{id}: {difference}");
    assert!(difference["recorded"].as_str().unwrap().ends_with(" 1"), "{id}: {difference}");
}

#[test]
fn a_replay_that_differs_names_the_version_that_made_the_record() {
    let (fixture, _server) = with_records(vec![low()]);
    let id = run_ids(&fixture, "prompt = 'triage'").remove(0);
    // Another containment made it, and it contained the input otherwise.
    let made_by = |versions: &Json| {
        sql(
            &fixture,
            &format!(
                "UPDATE runs SET settings = json_set(settings, '$.versions', json('{versions}')) WHERE id = '{id}'"
            ),
        );
    };
    let Versions { profile, containment, rendering, form } = Versions::TODAY;
    made_by(&json!({ "profile": profile, "containment": 0, "rendering": rendering, "form": form }));
    sql(
        &fixture,
        &format!(
            "UPDATE contents SET bytes = CAST(replace(CAST(bytes AS TEXT), 'It crashes', 'It froze') AS BLOB)
             WHERE hash = (SELECT inputs FROM runs WHERE id = '{id}')"
        ),
    );
    let said = |run: &Run| run.transcript().replace(&format!("containment {containment}"), "containment TODAY");
    let human = fixture.proem(&["runs", "replay", &id]);
    let json = fixture.proem(&["runs", "replay", &id, "--json"]);
    assert_eq!((human.code(), json.code()), (1, 1));
    snapshot!("older_replayed", format!("{}\n{}", said(&human), said(&json)));
    // A record that says its versions in a form that is unknown is not compared with anything.
    made_by(&json!("new"));
    let run = fixture.proem(&["runs", "replay", &id]);
    assert_eq!((run.code(), run.stdout()), (1, ""));
    assert!(run.stderr().ends_with("the versions that made it are unknown\n"), "{}", run.stderr());
}

#[test]
fn older_runs_go_on() {
    let (fixture, server) = with_records(vec![low()]);
    let [prompt, risk] =
        ["prompt", "risk"].map(|kind| run_ids(&fixture, &format!("outcome IS NULL AND kind = '{kind}'")).remove(0));
    let output = fixture.proem(&["runs", "resume", &prompt, "--json"]).json();
    assert_eq!((&output["run"], &output["value"]["severity"]), (&json!(prompt), &json!("low")));
    // An assessment from before findings has other evidence today, so its investigation does not go on with it.
    let refused = fixture.proem(&["runs", "resume", &risk, "--json"]);
    assert_eq!((refused.code(), server.requests().len()), (2, 1), "{}", refused.transcript());
    let advice = "the evidence for files differs; assess the change again with `proem risk`";
    assert!(refused.stderr().contains(advice), "{}", refused.stderr());
    assert_eq!(run_ids(&fixture, "state <> 'ended'"), [risk]);
    // A resumed run can be replayed, and was made from its beginning.
    let shown = fixture.proem(&["runs", "show", &prompt, "--json"]).json();
    assert_eq!(shown["versions"]["containment"], 1);
    is_replayed(&fixture, &prompt);
}

#[test]
fn older_failures_are_counted_and_teach_nothing_since_they_name_no_part_of_a_contract() {
    let (fixture, server) = with_records(vec![Reply::text("Look at it.")]);
    crate::run::let_learn(&fixture);
    // The success that came after the cut connections never was.
    sql(&fixture, "DELETE FROM outcomes WHERE agent = 'reviews/free' AND quality = 'high'");
    let form = || sql(&fixture, "SELECT format('%d', user_version) FROM pragma_user_version").remove(0);
    let learned = |prompt: &str| {
        let json = fixture.proem(&["adapt", prompt, "--json"]).json();
        json["learned"]["results"].as_array().map_or(0, Vec::len)
    };
    let failures = || failure_count(&fixture);
    let counts = || (learned("reviews/free"), learned("reviews/strict"), learned("risk/decision"), failures());
    // Two connections were cut. One answer was against its contract. A bad decision was followed by a good one.
    assert_eq!((form().as_str(), counts()), ("3", (0, 0, 0, 2)));
    let run = fixture.proem(&["run", "reviews/free", "--set", "title=It hangs"]);
    assert!(!run.stderr().contains("learned: "), "{}", run.stderr());
    assert_eq!((run.code(), form().as_str()), (0, "14"));
    assert_eq!(counts(), (0, 0, 0, 2));
    assert_eq!(server.requests().len(), 1);
}
