//! Recorded investigations: replayed from their record alone, gone on with after a crash, and refused where
//! their change is not what it was.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use proem_llm::scripted::{Delivery, Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use super::scene::{code, shop};
use super::{configure_model, expand, finalise, hub, judged, metric, shown, synthesis, with_model};
use crate::fixture::{BEAT, Fixture, Run};
use crate::records::sql;
use crate::run::start;
use crate::views;

/// The file that every scene of the shop changes last.
const PERMISSIONS: &str = "shop/permissions.py";

/// An answer that a test doesn't wait for.
fn late() -> Reply {
    Reply { how: Delivery { delay_ms: 600_000, ..Delivery::default() }, ..finalise() }
}

fn last_word() -> Reply {
    synthesis("HIGH", &[("E1", "Twelve pages import the permission check.")])
}

/// Assesses, and kills it while its provider thinks about so many answers.
fn killed(fixture: &Fixture, server: &ScriptedServer, args: &[&str], answers: usize) {
    let before = server.requests().len();
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    command.arg("risk").args(args);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !server.arrived(before + answers, BEAT) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A shop whose last commit was being investigated when the process was killed, at the second answer.
fn interrupted(more: Vec<Reply>) -> (Fixture, ScriptedServer) {
    interrupted_at(&["HEAD"], more)
}

fn interrupted_at(args: &[&str], more: Vec<Reply>) -> (Fixture, ScriptedServer) {
    let server = start([vec![metric("ownership_churn", PERMISSIONS), late()], more].concat());
    let mut fixture = shop().repository();
    with_model(&mut fixture, &server);
    if args[0] != "HEAD" {
        fixture.write(PERMISSIONS, code(70, 900));
        fixture.git(&["add", "-A"]);
    }
    killed(&fixture, &server, args, 2);
    (fixture, server)
}

fn bodies(server: &ScriptedServer) -> Vec<Vec<u8>> {
    server.requests().into_iter().map(|request| request.body).collect()
}

fn resume(fixture: &Fixture) -> Run {
    fixture.proem(&["runs", "resume", "last"])
}

/// That a run is refused with these words and nothing is sent, and that it is left as it was.
#[track_caller]
fn refused(fixture: &Fixture, server: &ScriptedServer, says: &str) {
    let sent = server.requests().len();
    let run = resume(fixture);
    assert_eq!((run.code(), run.stdout(), server.requests().len()), (2, "", sent), "{}", run.stderr());
    assert!(run.stderr().contains(says), "{}", run.stderr());
    assert_eq!(sql(fixture, "SELECT count(*) || ' ' || count(outcome) FROM runs"), ["1 0"], "it can still go on");
}

/// A report without what tells two investigations apart.
fn comparable(mut report: Json) -> Json {
    for key in ["id", "spent", "history", "chosen", "notes"] {
        report[key] = Json::Null;
    }
    report
}

#[test]
fn an_investigation_is_replayed_from_its_record_alone() {
    let server =
        start(vec![expand("hub/core.py"), finalise(), synthesis("MEDIUM", &[("E1", "Many pages import file 1.")])]);
    let mut fixture = hub().repository();
    with_model(&mut fixture, &server);
    fixture.proem(&["risk", "HEAD", "--json"]).json();
    // Neither the files that it saw, nor the book of today are needed.
    fs::remove_dir_all(fixture.repo.join("hub")).unwrap();
    fs::remove_dir_all(fixture.base.join("config/proem")).unwrap();
    let output = fixture.proem(&["runs", "replay", "last", "--json"]).json();
    let bytes: usize = bodies(&server).iter().map(Vec::len).sum();
    assert_eq!((&output["calls"], &output["bytes"], &output["equal"]), (&json!(3), &json!(bytes), &json!(true)));
    assert_eq!(server.requests().len(), 3, "a replay sends nothing");
    let same = shown(&fixture.proem(&["runs", "replay", "last"])).replace(&grouped(bytes), "N");
    // The synthesis gets another account of itself.
    let changed = |file: &str, from: &str, to: &str| {
        sql(
            &fixture,
            &format!(
                "UPDATE contents SET bytes = CAST(replace(CAST(bytes AS TEXT), '{from}', '{to}') AS BLOB)
                     WHERE hash = (SELECT file.value FROM runs, json_each(runs.files) AS file WHERE file.key = '{file}')"
            ),
        );
        shown(&fixture.proem(&["runs", "replay", "last"]))
    };
    let synthesis = changed("book/risk/synthesis/1.2.0.prompt", "You must never", "You may");
    let decision = changed("book/risk/decision/1.2.0.prompt", "Hops so far:", "Hops before:");
    let first: usize = bodies(&server)[..2].iter().map(Vec::len).sum();
    let told = format!("{same}{synthesis}{decision}").replace(&grouped(first), "M");
    snapshot!("risk_replayed", told);
}

#[test]
fn however_it_ended_it_is_replayed() {
    let bad = || Reply::text("no");
    let failed = || Reply::raw(500, "{}");
    let given_up: [(Vec<Reply>, &[&str]); 4] = [
        (vec![bad(), bad(), last_word()], &[]),
        (vec![failed(), failed()], &[]),
        (vec![late()], &["--hop-timeout", "1"]),
        (vec![late()], &["--hop-timeout", "1", "--timeout", "1"]),
    ];
    for (replies, args) in given_up {
        let server = start(replies);
        let mut fixture = shop().repository();
        with_model(&mut fixture, &server);
        fixture.proem(&[&["risk", "HEAD"], args].concat()).answer();
        let sent = server.requests().len();
        let replayed = fixture.proem(&["runs", "replay", "last", "--json"]).json();
        assert_eq!((&replayed["equal"], &replayed["calls"]), (&json!(true), &json!(sent)), "{args:?}: {replayed:#}");
    }
}

#[test]
fn what_no_budget_allowed_is_replayed_too() {
    let server = start(vec![last_word()]);
    let mut fixture = shop().repository();
    with_model(&mut fixture, &server);
    let path = fixture.base.join("config/proem/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{text}\n[budget.project]\nday = 0.000001\n")).unwrap();
    let report = fixture.proem(&["risk", "HEAD", "--json"]).json();
    assert_eq!((&report["mode"], server.requests().len()), (&json!("DEGRADED"), 0), "{report:#}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("budget"), "{notes}");
    assert_eq!(sql(&fixture, "SELECT outcome FROM runs"), ["refused"]);
    let replayed = fixture.proem(&["runs", "replay", "last", "--json"]).json();
    assert_eq!(replayed["equal"], true, "{replayed:#}");
}

/// A number as it is printed.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let (head, tail) = digits.split_at(digits.len() - 3);
    format!("{head},{tail}")
}

#[test]
fn what_changes_no_request_is_a_changed_record_all_the_same() {
    let server = start(vec![metric("ownership_churn", PERMISSIONS), last_word()]);
    let mut fixture = shop().repository();
    with_model(&mut fixture, &server);
    fixture.proem(&["risk", "HEAD"]).answer();
    sql(
        &fixture,
        "UPDATE contents SET bytes = CAST(replace(CAST(bytes AS TEXT), 'No usable answer came', 'Nothing came') AS BLOB)
             WHERE CAST(bytes AS TEXT) LIKE '%No usable answer came%' AND CAST(bytes AS TEXT) LIKE '---%'",
    );
    let run = fixture.proem(&["runs", "replay", "last"]);
    assert_eq!((run.code(), run.stdout()), (1, ""));
    assert!(run.stderr().contains("was changed: its hash differs"), "{}", run.stderr());
}

#[test]
fn a_killed_investigation_asks_only_for_what_is_left() {
    let whole = {
        let server = start(vec![metric("ownership_churn", PERMISSIONS), last_word()]);
        let mut fixture = shop().repository();
        with_model(&mut fixture, &server);
        fixture.proem(&["risk", "HEAD", "--json"]).json()
    };
    let (fixture, server) = interrupted(vec![last_word()]);
    // The existing part of it replays.
    let replayed = fixture.proem(&["runs", "replay", "last", "--json"]).json();
    assert_eq!((&replayed["calls"], &replayed["equal"]), (&json!(2), &json!(true)), "{replayed:#}");
    let report = fixture.proem(&["runs", "resume", "last", "--json"]).json();
    let sent = bodies(&server);
    assert_eq!((sent.len(), &sent[1]), (3, &sent[2]), "the first answer is not asked for again");
    assert_eq!(comparable(report.clone()), comparable(whole));
    // The usage of the lost answer is unknown, so nobody knows the sum.
    let spent = &report["spent"];
    assert_eq!(
        (&spent["calls"], &spent["input_tokens"], &spent["cost_nano_dollars"]),
        (&json!(3), &Json::Null, &Json::Null)
    );
    assert_eq!(report["notes"], json!(["an answer was lost when the process ended, so the tokens used are not known"]));
    let id = report["id"].as_str().unwrap();
    assert_eq!(sql(&fixture, "SELECT substr(id, 1, 8) || ' ' || outcome FROM runs"), [format!("{id} answered")]);
    assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id"), ["reported", "unknown", "reported"]);
    let replayed = fixture.proem(&["runs", "replay", "last", "--json"]).json();
    assert_eq!((&replayed["calls"], &replayed["equal"]), (&json!(2), &json!(true)), "{replayed:#}");
    let over = resume(&fixture);
    assert_eq!((over.code(), server.requests().len()), (2, 3), "{}", over.stderr());
}

#[test]
fn it_is_reported_as_it_would_have_been() {
    let (fixture, _server) = interrupted(vec![last_word()]);
    let run = resume(&fixture);
    snapshot!("risk_resumed", shown(&run));
}

#[test]
fn a_fork_has_an_id_of_its_own() {
    let (fixture, server) = interrupted(vec![last_word()]);
    let old = sql(&fixture, "SELECT id FROM runs").remove(0);
    let report = fixture.proem(&["runs", "resume", &old, "--fork", "--json"]).json();
    assert!(!old.starts_with(report["id"].as_str().unwrap()), "{report:#}");
    assert_eq!(sql(&fixture, "SELECT parent FROM runs WHERE parent IS NOT NULL"), std::slice::from_ref(&old));
    assert_eq!(sql(&fixture, "SELECT count(outcome) || '' FROM runs"), ["1"]);
    // The fork replays with what was asked before it.
    let replayed = fixture.proem(&["runs", "replay", "last", "--json"]).json();
    assert_eq!((&replayed["calls"], &replayed["equal"]), (&json!(2), &json!(true)), "{replayed:#}");
    fixture.proem(&["runs", "resume", &old, "--json"]).json();
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_commit_that_is_gone_is_not_gone_on_with() {
    let (fixture, server) = interrupted(vec![last_word()]);
    // Later commits do not matter, and neither do uncommitted changes.
    fixture.write(PERMISSIONS, code(90, 100));
    fixture.commit("Go on");
    fixture.write(PERMISSIONS, code(3, 100));
    fixture.git(&["reset", "-q", "--hard", "HEAD~2"]);
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    let sent = server.requests().len();
    let run = resume(&fixture);
    assert_eq!(server.requests().len(), sent);
    snapshot!("risk_commit_gone", shown(&run));
}

#[test]
fn lines_of_a_change_are_not_sent_after_their_permission_is_withdrawn() {
    let server = start(vec![metric("ownership_churn", PERMISSIONS), late(), last_word()]);
    let mut fixture = shop().repository();
    configure_model(&mut fixture, &server, "[risk]\nshow_diff = true\n");
    killed(&fixture, &server, &["HEAD", "--show-diff"], 2);
    with_model(&mut fixture, &server);
    refused(&fixture, &server, "your own configuration doesn't permit a model to see lines of a change");
    configure_model(&mut fixture, &server, "[risk]\nshow_diff = true\n");
    fixture.proem(&["runs", "resume", "last", "--json"]).json();
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_later_commit_is_no_matter() {
    let (fixture, server) = interrupted(vec![last_word()]);
    fixture.write(PERMISSIONS, code(90, 100));
    fixture.commit("Go on");
    fixture.proem(&["runs", "resume", "last", "--json"]).json();
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn what_is_not_committed_must_be_what_it_was() {
    let (fixture, server) = interrupted_at(&["--staged"], vec![finalise(), last_word()]);
    fixture.write(PERMISSIONS, code(75, 900));
    fixture.git(&["add", "-A"]);
    let sent = server.requests().len();
    let mut told = shown(&resume(&fixture));
    fixture.write("shop/new.py", code(3, 1));
    fixture.git(&["add", "-A"]);
    told.push_str(&shown(&resume(&fixture)));
    fixture.commit("Take it");
    told.push_str(&shown(&resume(&fixture)));
    assert_eq!(server.requests().len(), sent);
    snapshot!("risk_moved_on", without_commits(&told));
    fixture.git(&["reset", "-q", "--soft", "HEAD~1"]);
    fixture.git(&["rm", "-q", "-f", "shop/new.py"]);
    fixture.write(PERMISSIONS, code(70, 900));
    fixture.git(&["add", PERMISSIONS]);
    let report = fixture.proem(&["runs", "resume", "last", "--json"]).json();
    assert_eq!((&report["change"]["kind"], server.requests().len()), (&json!("staged"), sent + 2), "{report:#}");
}

/// A text without the ids of commits.
fn without_commits(text: &str) -> String {
    let blanked = |word: &str| {
        let (id, end) = word.split_at(word.trim_end_matches([' ', ',']).len());
        let is_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { format!("COMMIT{end}") } else { word.to_owned() }
    };
    text.split_inclusive([' ', ',']).map(blanked).collect()
}

#[test]
fn the_callers_files_must_be_what_they_were() {
    let server = start(vec![metric("ownership_churn", PERMISSIONS), late(), last_word()]);
    let mut fixture = shop().repository();
    with_model(&mut fixture, &server);
    let incidents =
        r#"[{"title": "Roles were not found", "at": "2026-03-01T00:00:00Z", "files": ["shop/permissions.py"]}]"#;
    fixture.write("incidents.json", incidents);
    killed(&fixture, &server, &["HEAD", "--incidents", "incidents.json"], 2);
    fixture.write("incidents.json", "[]");
    refused(&fixture, &server, "incidents.json` has changed since the assessment; restore the earlier version");
    fixture.write("incidents.json", incidents);
    fixture.proem(&["runs", "resume", "last", "--json"]).json();
}

#[test]
fn one_of_many_changes_goes_on_alone() {
    let server = start(vec![late(), finalise(), last_word()]);
    let mut fixture = shop().repository();
    with_model(&mut fixture, &server);
    killed(&fixture, &server, &["HEAD~2..HEAD", "--each", "--concurrency", "1"], 1);
    let report = fixture.proem(&["runs", "resume", "last", "--json"]).json();
    assert_eq!((&report["mode"], &report["change"]["kind"]), (&json!("INVESTIGATED"), &json!("commit")), "{report:#}");
}

#[test]
fn a_range_goes_on_as_one_change() {
    let server = start(vec![late(), finalise(), last_word()]);
    let mut fixture = shop().repository();
    with_model(&mut fixture, &server);
    killed(&fixture, &server, &["HEAD~2..HEAD"], 1);
    let report = fixture.proem(&["runs", "resume", "last", "--json"]).json();
    assert_eq!((&report["change"]["kind"], server.requests().len()), (&json!("range"), 3), "{report:#}");
}

#[test]
fn other_rules_or_no_key_let_nothing_go_on() {
    let (mut fixture, server) = interrupted(vec![last_word()]);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proem-guard/data/verdicts.tsv");
    fixture.configure("guard/verdicts.tsv", &fs::read_to_string(shipped).unwrap());
    refused(&fixture, &server, "version of the rules");
    fs::remove_file(fixture.base.join("config/proem/guard/verdicts.tsv")).unwrap();
    fixture.set("ANTHROPIC_API_KEY", "");
    refused(&fixture, &server, "`anthropic` needs a key in ANTHROPIC_API_KEY; set it");
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.proem(&["runs", "resume", "last", "--json"]).json();
}

#[test]
fn a_changed_record_is_not_gone_on_with() {
    let (fixture, server) = interrupted(vec![last_word()]);
    let change = |from: &str, to: &str| {
        let set = format!("bytes = CAST(replace(CAST(bytes AS TEXT), '{from}', '{to}') AS BLOB)");
        sql(&fixture, &format!("UPDATE contents SET {set} WHERE CAST(bytes AS TEXT) LIKE '---%{from}%'"));
    };
    change("You must never", "You shall hardly");
    refused(&fixture, &server, "was changed: its hash differs");
    change("You shall hardly", "You must never");
    let hops = |from: u8, to: u8| {
        let path = "$.investigation.limits.hops";
        let changed = format!("UPDATE runs SET settings = json_set(settings, '{path}', {to})");
        sql(&fixture, &format!("{changed} WHERE settings ->> '{path}' = {from}"));
    };
    hops(3, 2);
    refused(&fixture, &server, "its state was saved by another installation, or for another run");
    hops(2, 3);
    fixture.proem(&["runs", "resume", "last", "--json"]).json();
}

#[test]
fn thresholds_of_a_later_day_are_no_matter() {
    let (fixture, server) = interrupted(vec![last_word()]);
    let id = sql(&fixture, "SELECT id FROM runs").remove(0);
    let coupling = || {
        let report = fixture.proem(&["risk", "HEAD", "--no-model", "--json"]).json();
        let metrics = report["files"][0]["metrics"].as_array().unwrap().clone();
        metrics.iter().find(|metric| metric["name"] == "coupling").unwrap()["signal"].clone()
    };
    assert_eq!(coupling(), "HIGH");
    for verdict in [&["--false-positive", "a hub by design"][..], &["--caught"]] {
        assert_eq!(fixture.proem(&[&["risk", "feedback", "last"], verdict].concat()).code(), 0);
    }
    for i in 0..48 {
        let (verdict, value) = if i < 24 { ("false-positive", 12) } else { ("caught", 30) };
        views::execute_sql(&fixture, &judged(i, verdict, value));
    }
    assert_eq!(fixture.proem(&["risk", "feedback", "--apply", "--no-model"]).code(), 0);
    assert_eq!(coupling(), "MEDIUM");
    let report = fixture.proem(&["runs", "resume", &id, "--json"]).json();
    assert_eq!((&report["risk_level"], server.requests().len()), (&json!("HIGH"), 3), "{report:#}");
}

#[test]
fn an_older_record_is_refused_in_words() {
    let (fixture, server) = interrupted(vec![last_word()]);
    sql(&fixture, "UPDATE runs SET settings = json_remove(settings, '$.investigation')");
    let sent = server.requests().len();
    let told = ["replay", "resume"].map(|command| shown(&fixture.proem(&["runs", command, "last"])));
    assert_eq!(server.requests().len(), sent);
    snapshot!("risk_older_record", told.concat());
}
