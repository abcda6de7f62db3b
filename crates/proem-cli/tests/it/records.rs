//! Runs that are kept: what is refused, what survives, what is learned, and what never is on the disk.

mod unusable;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use proem_llm::scripted::{
    AnswerBlock, Delivery, ModelAnswer, RawReply, Reply, ReplyContent, ScriptedFinish, ScriptedServer, ScriptedUsage,
};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, Run};
use crate::run::{fixture, low, start};
use crate::skipped::skip;
use crate::test_server::test_server;

const TRIAGE: [&str; 4] = ["run", "reviews/strict", "--set", "title=It crashes"];

/// A good answer that used that many tokens of the prompt.
fn reply_with_usage(input: u64) -> Reply {
    let value = AnswerBlock::Value(json!({ "severity": "low" }));
    let usage = Some(ScriptedUsage { input, output: 10, ..ScriptedUsage::default() });
    let answer = ModelAnswer { content: vec![value], finish: ScriptedFinish::Natural, usage };
    Reply { say: ReplyContent::Answer(answer), how: Delivery::default() }
}

pub(crate) fn late_reply(reply: Reply, delay_ms: u64) -> Reply {
    Reply { how: Delivery { delay_ms, ..reply.how }, ..reply }
}

/// A fixture whose configuration says more at its end.
fn configured(server: &ScriptedServer, more: &str) -> Fixture {
    let fixture = fixture(server, "attempts = 1\n");
    let path = fixture.base.join("config/proem/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{text}\n{more}\n")).unwrap();
    fixture
}

pub(crate) fn records_file(fixture: &Fixture) -> PathBuf {
    fixture.base.join("state/proem/records.db")
}

/// Has SQLite do something to the records, and gives the first column of what it says.
pub(crate) fn sql(fixture: &Fixture, statement: &str) -> Vec<String> {
    let connection = Connection::open(records_file(fixture)).unwrap();
    let mut query = connection.prepare(statement).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// How each run ended, the oldest first.
fn recorded_outcomes(fixture: &Fixture) -> Vec<String> {
    sql(fixture, "SELECT coalesce(outcome, state) FROM runs ORDER BY seq")
}

fn run_triage(fixture: &Fixture, more: &[&str]) -> Run {
    fixture.proem(&[&TRIAGE[..], more].concat())
}

/// Whether a text is in a file below the state folder.
fn lies_in(folder: &Path, text: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lies_in(&path, text)
        } else {
            fs::read(&path).unwrap().windows(text.len()).any(|window| window == text)
        }
    })
}

pub(crate) fn is_kept(fixture: &Fixture, text: &str) -> bool {
    lies_in(&fixture.base.join("state"), text.as_bytes())
}

/// Starts the binary and leaves it alone.
pub(crate) fn spawn(fixture: &Fixture, args: &[&str]) -> Child {
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills a run while its provider thinks about the answer.
fn killed(fixture: &Fixture, server: &ScriptedServer) {
    killed_with(fixture, server, &[]);
}

fn killed_with(fixture: &Fixture, server: &ScriptedServer, more: &[&str]) {
    let before = server.requests().len();
    let mut child = spawn(fixture, &[&TRIAGE[..], more].concat());
    server.await_requests(before + 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_is_recorded_unless_that_is_not_wanted() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    let output = run_triage(&fixture, &["--json"]).json();
    assert_eq!((output["recorded"].as_bool(), output["run"].as_str().map(str::len)), (Some(true), Some(16)));
    assert_eq!(sql(&fixture, "SELECT id FROM runs"), [output["run"].as_str().unwrap()]);
    assert_eq!(sql(&fixture, "SELECT state FROM attempts"), ["reported"]);
    let output = run_triage(&fixture, &["--json", "--no-record"]).json();
    assert_eq!((output["recorded"].as_bool(), output.get("run")), (Some(false), None));
    run_triage(&fixture, &["--dry-run"]).json();
    run_triage(&fixture, &["--record", "tapes"]).json();
    run_triage(&fixture, &["--replay", "tapes"]).json();
    assert_eq!(recorded_outcomes(&fixture), ["answered", "answered"], "a cassette's call was paid for too");
    let run = run_triage(&fixture, &[]);
    let id = sql(&fixture, "SELECT substr(id, 1, 8) FROM runs ORDER BY seq DESC LIMIT 1").remove(0);
    assert!(run.stderr().trim_end().ends_with(&format!("run {id}")), "{}", run.stderr());
}

#[test]
fn an_assembly_is_recorded_and_never_fails_for_it() {
    let fixture = Fixture::folder().committed();
    crate::run::let_learn(&fixture);
    fixture.proem(&["assemble", "mend the clock"]).answer();
    assert_eq!(sql(&fixture, "SELECT kind || ' ' || outcome FROM runs"), ["assemble assembled"]);
    fixture.proem(&["assemble", "mend the clock", "--no-record"]).answer();
    assert_eq!(recorded_outcomes(&fixture).len(), 1);
    fs::write(records_file(&fixture), "no database").unwrap();
    let run = fixture.proem(&["assemble", "mend the clock"]);
    assert_eq!((run.code(), run.stderr().contains("nothing is recorded")), (0, true), "{}", run.stderr());
    assert_eq!(run.stderr().matches("records.db").count(), 1, "one cause is said once: {}", run.stderr());
    let run = fixture.proem(&["assemble", "mend the clock", "--explain"]);
    assert!(run.stderr().contains("the learned profile is left out of the prompt"), "{}", run.stderr());
    let run = fixture.proem(&["assemble", "mend the clock", "--no-record"]);
    assert_eq!(run.stderr().matches("records.db").count(), 1, "{}", run.stderr());
}

#[test]
fn a_retry_after_a_server_that_broke_costs_what_nobody_knows() {
    let broken = RawReply { status: 503, headers: Vec::new(), body: Vec::new() };
    let broken = Reply { say: ReplyContent::Raw(broken), how: Delivery::default() };
    let server = start(vec![broken, reply_with_usage(100)]);
    let fixture = fixture(&server, "attempts = 2\n");
    let output = run_triage(&fixture, &["--json"]).json();
    assert_eq!((&output["costNanoDollars"], &output["usage"]["input"]), (&Json::Null, &json!(100)));
    assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id"), ["unknown", "reported"]);
}

#[test]
fn what_is_cancelled_may_be_paid_for() {
    let server = start(vec![late_reply(low(), 60_000)]);
    let fixture = fixture(&server, "");
    let child = spawn(&fixture, &TRIAGE);
    server.await_requests(1);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && said.contains("tokens unknown  cost unknown"), "{said}");
    assert_eq!(sql(&fixture, "SELECT state FROM attempts"), ["unknown"]);
}

#[test]
fn what_runs_is_not_deleted() {
    let server = start(vec![low(), late_reply(low(), 600_000)]);
    let fixture = fixture(&server, "");
    run_triage(&fixture, &[]).json();
    let mut child = spawn(&fixture, &TRIAGE);
    server.await_requests(2);
    let run = fixture.proem(&["runs", "purge", "last", "last~1"]);
    assert!(run.code() == 1 && run.stderr().contains("deleted 1 run "), "{}", run.stderr());
    assert!(run.stderr().contains("1 run still running"), "{}", run.stderr());
    child.kill().unwrap();
    child.wait().unwrap();
    fixture.proem(&["runs", "purge", "last"]).answer();
    assert!(recorded_outcomes(&fixture).is_empty());
}

#[test]
fn runs_of_all_projects_are_listed_with_their_folders() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    fixture.git(&["init", "-q", "-b", "main", "shop"]);
    for root in [".", "shop"] {
        run_triage(&fixture, &["--root", root]).json();
    }
    let listed = fixture.proem(&["runs", "list", "--all"]);
    let folders: Vec<&str> =
        listed.stdout().lines().skip(1).filter_map(|line| line.split_whitespace().nth(4)).collect();
    assert_eq!(folders, ["shop", "repo"], "{}", listed.stdout());
    let cost = fixture.proem(&["cost", "--all"]);
    let spent = |folder: &str| cost.stdout().lines().any(|line| line.starts_with(&format!("{folder}  ")));
    assert!(spent("shop") && spent("repo"), "{}", cost.stdout());
    assert!(!fixture.proem(&["cost"]).stdout().contains("shop"), "the other project's");
}

#[test]
fn feedback_is_said_again_as_json() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    let run = run_triage(&fixture, &["--json"]).json()["run"].take();
    let said = fixture.proem(&["runs", "feedback", "last", "good", "--note", "it was so", "--json"]).json();
    let counts = json!({ "prompt": "reviews/strict", "as": "success" });
    assert_eq!(said, json!({ "run": run, "verdict": "good", "note": "it was so", "counts": counts }));
}

#[test]
fn a_cap_of_nothing_is_full() {
    let server = start(vec![low()]);
    let fixture = configured(&server, "[budget.project]\nday = 0\n[budget.user]\nday = 1\n");
    run_triage(&fixture, &["--no-adapt"]).code();
    let shown = fixture.proem(&["cost"]);
    let caps: Vec<&str> = shown.stdout().lines().filter(|line| line.contains(" of $")).collect();
    assert!(matches!(caps[..], [user, project] if user.contains("▏  0%") && project.contains("▏100%")), "{caps:?}");
}

#[test]
fn a_call_over_the_days_cap_is_not_made() {
    let server = start(vec![reply_with_usage(4000)]);
    let fixture = configured(&server, "[budget.project]\nday = 0.012\n");
    run_triage(&fixture, &[]).json();
    while run_triage(&fixture, &[]).code() == 0 {
        assert!(server.requests().len() < 9, "the cap does not hold");
    }
    let sent = server.requests().len();
    let run = run_triage(&fixture, &[]);
    assert_eq!((run.code(), server.requests().len()), (3, sent), "{}", run.stderr());
    assert!(run.stderr().contains("0.012") && run.stderr().contains("budget"), "{}", run.stderr());
    assert_eq!(recorded_outcomes(&fixture).last().map(String::as_str), Some("refused"));
    // The other lines would meet the same cap.
    fixture.write("rows.jsonl", "{\"title\": \"a\"}\n{\"title\": \"b\"}\n");
    let run = fixture.proem(&["run", "reviews/strict", "--batch", "rows.jsonl", "--concurrency", "1"]);
    assert_eq!((run.code(), server.requests().len()), (3, sent), "{}", run.stderr());
    // One run may be capped on its own.
    let run = run_triage(&configured(&server, ""), &["--max-cost", "0.000001"]);
    assert_eq!((run.code(), server.requests().len()), (3, sent), "{}", run.stderr());
}

#[test]
fn a_budget_needs_records_and_prices() {
    let server = start(vec![low()]);
    let fixture = configured(
        &server,
        "[budget.project]\nday = 1\n[providers.far]\nbase_url = \"https://far.example/v1\"\n[providers.far.models.m]\n\
         output_tokens = 100\n",
    );
    for (args, code, says) in
        [(&["--no-record"][..], 2, "--no-record"), (&["--provider", "far", "--model", "m"], 3, "price")]
    {
        let run = run_triage(&fixture, args);
        assert_eq!((run.code(), run.stderr().contains(says)), (code, true), "{args:?}: {}", run.stderr());
    }
    let run = run_triage(&configured(&server, "[records]\nkeep = \"nothing\"\n[budget.user]\nday = 1\n"), &[]);
    assert_eq!((run.code(), run.stderr().contains("records.keep")), (2, true), "{}", run.stderr());
    let run = run_triage(&configured(&server, "[budget]\nzone = \"Mars/Olympus\"\n[budget.user]\nday = 1\n"), &[]);
    assert_eq!((run.code(), run.stderr().contains("no time zone `Mars/Olympus`")), (2, true), "{}", run.stderr());
    assert_eq!(server.requests().len(), 0);
    // A call on this machine costs nothing.
    run_triage(&fixture, &["--provider", "local", "--model", "m", "--max-cost", "0"]).code();
}

/// Breaks the records of a fixture in which something ran.
type Breaking = fn(&mut Fixture);

#[test]
fn nothing_is_sent_that_cant_be_recorded() {
    let broken: [(&str, Breaking, &str); 6] = [
        ("damaged", |fixture| fs::write(records_file(fixture), "x".repeat(9000)).unwrap(), "records.db"),
        (
            "newer",
            |fixture| {
                sql(fixture, "PRAGMA user_version = 99");
            },
            "update Proem",
        ),
        (
            "foreign",
            |fixture| {
                let key = fixture.base.join("other");
                fs::write(&key, format!("{}\n", "ab".repeat(32))).unwrap();
                fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
                fixture.set("PROEM_KEY_FILE", key);
            },
            "proem store adopt",
        ),
        (
            "a folder",
            |fixture| {
                fs::remove_dir_all(fixture.base.join("state/proem")).unwrap();
                fs::create_dir_all(records_file(fixture)).unwrap();
                fs::set_permissions(
                    fixture.base.join("state/proem"),
                    std::os::unix::fs::PermissionsExt::from_mode(0o700),
                )
                .unwrap();
            },
            "records.db",
        ),
        (
            "a link",
            |fixture| {
                let elsewhere = fixture.base.join("elsewhere.db");
                fs::rename(records_file(fixture), &elsewhere).unwrap();
                std::os::unix::fs::symlink(elsewhere, records_file(fixture)).unwrap();
            },
            "it is a link or not a regular file",
        ),
        (
            "emptied",
            |fixture| fs::write(records_file(fixture), "").unwrap(),
            "the file is empty, but it used to contain runs",
        ),
    ];
    let server = start(vec![low()]);
    let before = configured(&server, "");
    run_triage(&before, &[]).json();
    for (name, breaking, says) in broken {
        for (more, remedy) in [
            ("", "nothing was sent, because records are on and could not be written; "),
            ("[budget.user]\nday_tokens = 1000000\n", "(`budget.user.day_tokens`), which can't do without records"),
        ] {
            let server = start(vec![low()]);
            let mut fixture = configured(&server, more);
            let [from, to] = [&before, &fixture].map(|fixture| fixture.base.join("state"));
            fs::remove_dir(&to).unwrap();
            assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
            breaking(&mut fixture);
            let run = run_triage(&fixture, &[]);
            assert_eq!((run.code(), run.stdout(), server.requests().len()), (3, "", 0), "{name}: {}", run.stderr());
            assert!(run.stderr().contains(says) && run.stderr().contains(remedy), "{name}: {}", run.stderr());
            let ways = ["`--no-record` continues without them", "take them over with `proem store adopt`"];
            let is_named = |way: &&str| run.stderr().contains(*way);
            assert_eq!(
                ways.iter().filter(|way| is_named(way)).count(),
                usize::from(more.is_empty() || name == "foreign")
            );
            // The way out that is named is one, or is refused in the words of the budget.
            let run = run_triage(&fixture, &["--no-record"]);
            let expected = if more.is_empty() { (0, 1) } else { (2, 0) };
            assert_eq!((run.code(), server.requests().len()), expected, "{name}: {}", run.stderr());
        }
    }
}

#[test]
fn an_emptied_store_is_not_read_as_one_without_runs() {
    let server = start(vec![low()]);
    let fixture = configured(&server, "");
    run_triage(&fixture, &[]).json();
    fs::write(records_file(&fixture), "").unwrap();
    for args in [&["runs", "list"][..], &["cost"], &["stats"], &["store", "status"]] {
        let run = fixture.proem(args);
        assert_eq!((run.code(), run.stdout()), (3, ""), "{args:?}: {}", run.stderr());
        assert!(run.stderr().contains("delete the file to start a new one"), "{args:?}: {}", run.stderr());
    }
    fs::remove_file(records_file(&fixture)).unwrap();
    run_triage(&fixture, &[]).json();
    assert_eq!(recorded_outcomes(&fixture), ["answered"]);
}

#[test]
fn an_answer_is_printed_even_if_it_cant_be_recorded() {
    // The store fails between the call and its settlement.
    let full = "CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'no room'); END";
    let broken = || {
        let server = start(vec![low()]);
        let fixture = configured(&server, "[budget.user]\nday_tokens = 1000000\n");
        run_triage(&fixture, &[]).json();
        sql(&fixture, full);
        (server, fixture)
    };
    let (server, fixture) = broken();
    let run = run_triage(&fixture, &[]);
    assert_eq!((run.code(), server.requests().len()), (3, 2), "{}", run.stderr());
    let value: Json = serde_json::from_str(run.stdout()).unwrap();
    assert_eq!(value["severity"], "low");
    assert!(run.stderr().contains("error: ") && run.stderr().contains("no room"), "{}", run.stderr());
    // An open attempt can't be settled in full either, so nothing more is spent.
    let run = run_triage(&fixture, &[]);
    assert_eq!((run.code(), server.requests().len(), run.stdout()), (3, 2, ""), "{}", run.stderr());
    let (_server, fixture) = broken();
    let run = run_triage(&fixture, &["--json"]);
    let output: Json = serde_json::from_str(run.stdout()).unwrap();
    assert_eq!((run.code(), output["recorded"].as_bool()), (3, Some(false)));
    let (_server, fixture) = broken();
    fixture.write("rows.jsonl", "{\"title\": \"a\"}\n{\"title\": \"b\"}\n");
    let run = fixture.proem(&["run", "reviews/strict", "--batch", "rows.jsonl"]);
    assert_eq!((run.code(), run.stdout().lines().count()), (3, 2), "{}", run.stderr());
}

#[test]
fn two_processes_share_a_cap() {
    let server = start(vec![late_reply(reply_with_usage(4000), 300)]);
    let fixture = configured(&server, "[budget.project]\nday = 0.012\n");
    let children: Vec<Child> = (0..6).map(|_| spawn(&fixture, &TRIAGE)).collect();
    let codes: Vec<Option<i32>> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();
    let answered = codes.iter().filter(|code| **code == Some(0)).count();
    assert_eq!(server.requests().len(), answered, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 3))), "{codes:?}");
    let booked = sql(&fixture, "SELECT printf('%d', sum(nanos)) FROM usage").remove(0).parse::<u64>().unwrap();
    assert!(answered >= 1 && booked <= 12_000_000, "{answered} answered, {booked} booked");
}

/// Sixteen processes on four machines, six of which are killed while their provider thinks: what is booked in the
/// database, those of the killed ones in full, never passes the cap, nor does what the provider was asked for.
#[test]
fn sixteen_processes_on_four_machines_share_a_cap() {
    let database = match test_server() {
        Ok(database) => database,
        Err(why) => return skip("postgresql", why),
    };
    database.run("postgres", "CREATE DATABASE capped").unwrap();
    let server = start(vec![late_reply(reply_with_usage(4000), 500)]);
    let url = format!("postgres:///capped?host={}&user=postgres", database.folder.display());
    let cap: u64 = 60_000_000;
    let fixture = configured(&server, &format!("[budget.project]\nday = 0.060\n\n[store]\nurl = \"{url}\"\n"));
    let machines = ["a", "b", "c", "d"].map(|name| fixture.machine(name));
    let spawn_on = |machine: &Path| {
        let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
        command.args(TRIAGE).env("XDG_STATE_HOME", machine).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<Child> = machines.iter().cycle().take(16).map(|machine| spawn_on(machine)).collect();
    for (number, child) in children.iter_mut().enumerate().filter(|(number, _)| number % 3 == 1).take(6) {
        server.await_requests(number / 3 + 1);
        child.kill().unwrap();
    }
    let codes: Vec<Option<i32>> = children.iter_mut().map(|child| child.wait().unwrap().code()).collect();
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 3) | None)), "{codes:?}");
    // The next process settles the reservations of the dead ones.
    assert!(matches!(spawn_on(&machines[0]).wait().unwrap().code(), Some(0 | 3)));
    let number = |query: &str| database.run("capped", query).unwrap().trim().parse::<u64>().unwrap();
    let booked = number("SELECT coalesce(sum(nanos), 0)::bigint FROM proem.usage");
    let one = number("SELECT coalesce(min(nanos), 0)::bigint FROM proem.usage WHERE nanos > 0");
    let open = number("SELECT count(*) FROM proem.attempts WHERE state = 'open'");
    let asked = server.requests().len() as u64;
    assert!(booked <= cap && open == 0, "{booked} booked, {open} open, {codes:?}");
    assert!(one > 0 && asked * one <= cap && codes.contains(&Some(0)), "{asked} asked for {one} each, {codes:?}");
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let server = start(vec![late_reply(low(), 600_000), low()]);
    let fixture = fixture(&server, "");
    killed(&fixture, &server);
    let stuck = fixture.proem(&["runs", "stuck"]);
    assert_eq!(stuck.code(), 1, "{}", stuck.transcript());
    assert!(stuck.stdout().contains("interrupted  reviews/strict\n"), "{}", stuck.transcript());
    assert!(stuck.stdout().contains("its process is gone; `proem runs resume "), "{}", stuck.transcript());
    let run = fixture.proem(&["runs", "resume", "last", "--json"]);
    let output = run.json();
    let stuck = fixture.proem(&["runs", "stuck"]);
    assert_eq!((stuck.code(), stuck.stdout(), stuck.stderr()), (0, "", "no run is stuck\n"));
    assert_eq!(sql(&fixture, "SELECT id FROM runs"), [output["run"].as_str().unwrap()], "no other run");
    assert_eq!(output["value"]["severity"], "low");
    assert_eq!(recorded_outcomes(&fixture), ["answered"]);
    assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id"), ["unknown", "reported"]);
    // Nobody knows what the answer cost that was lost.
    let listed = fixture.proem(&["runs", "list", "--json"]).json();
    assert!(listed[0]["nanoDollars"].is_null(), "{listed}");
    assert!(output.get("costNanoDollars").is_none() && run.stderr().contains("cost unknown"), "{output}");
    let sent = server.requests();
    assert_eq!(sent[0].body, sent[1].body, "it asks for the very same");
    let run = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!((run.code(), server.requests().len()), (2, 2), "it is over: {}", run.stderr());
}

#[test]
fn a_run_is_stuck_once_it_takes_long() {
    let server = start(vec![late_reply(low(), 600_000)]);
    let fixture = fixture(&server, "");
    let mut child = spawn(&fixture, &TRIAGE);
    server.await_requests(1);
    let quick = fixture.proem(&["runs", "stuck", "--json"]);
    assert_eq!((quick.code(), quick.json()), (0, serde_json::json!([])));
    let slow = fixture.proem(&["runs", "stuck", "--running", "0h", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(slow.stdout()).unwrap();
    assert_eq!((slow.code(), rows[0]["state"].as_str()), (1, Some("running")));
    child.kill().unwrap();
    child.wait().unwrap();
    let unclear = fixture.proem(&["runs", "stuck", "--running", "long"]);
    assert_eq!(unclear.code(), 2, "{}", unclear.transcript());
    assert!(unclear.stderr().contains("`long` is not a time; write 30d, 12h"), "{}", unclear.stderr());
}

#[test]
fn what_a_run_may_cost_holds_when_it_goes_on() {
    let server = start(vec![late_reply(low(), 600_000), low()]);
    let fixture = fixture(&server, "");
    // There is room for one attempt that nobody knows the cost of, and not for two.
    killed_with(&fixture, &server, &["--max-cost", "0.01"]);
    let run = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!((run.code(), server.requests().len()), (3, 1), "{}", run.stderr());
    assert!(run.stderr().contains("raise the cap on this run's cost or `budget.project.run`"), "{}", run.stderr());
}

#[test]
fn a_run_that_asks_waits_for_a_terminal() {
    let server = start(vec![late_reply(low(), 600_000), low()]);
    let fixture = fixture(&server, "");
    killed(&fixture, &server);
    sql(&fixture, "UPDATE runs SET state = 'asking'");
    let id = sql(&fixture, "SELECT substr(id, 1, 8) FROM runs").remove(0);
    let stuck = fixture.proem(&["runs", "stuck"]);
    assert_eq!(stuck.code(), 1, "{}", stuck.transcript());
    assert!(stuck.stdout().ends_with(&format!("it has a question; `proem runs resume {id}` asks it again\n")));
    for args in [&["runs", "resume", &id][..], &["runs", "resume", &id, "--fork"], &["runs", "resume", "--json"]] {
        let run = fixture.proem(args);
        let says = format!(
            "error: run {id} has a question, but there is no terminal to answer it; run `proem runs resume {id}` in a \
             terminal\n"
        );
        assert_eq!((run.code(), run.stdout(), run.stderr()), (2, "", says.as_str()));
    }
    let left = "SELECT runs.state || ' ' || count(*) FROM runs JOIN snapshots ON snapshots.run = runs.id";
    assert_eq!((sql(&fixture, left), server.requests().len()), (vec!["asking 1".to_owned()], 1), "nothing is lost");
}

#[test]
fn a_fork_leaves_the_old_run_as_it_is() {
    let server = start(vec![late_reply(low(), 600_000), low()]);
    let fixture = fixture(&server, "");
    killed(&fixture, &server);
    let old = sql(&fixture, "SELECT id FROM runs").remove(0);
    let output = fixture.proem(&["runs", "resume", &old, "--fork", "--json"]).json();
    assert_ne!(output["run"], old.as_str());
    assert_eq!(sql(&fixture, "SELECT parent FROM runs WHERE parent IS NOT NULL"), std::slice::from_ref(&old));
    assert_eq!(sql(&fixture, "SELECT run FROM snapshots"), std::slice::from_ref(&old));
    // The loss of the old run is the old run's: the fork's cost is known.
    let listed = fixture.proem(&["runs", "list", "--limit", "1", "--json"]).json();
    assert_eq!((&output["run"], &output["costNanoDollars"]), (&listed[0]["id"], &listed[0]["costNanoDollars"]));
    assert!(output["costNanoDollars"].is_u64(), "{output}");
    let shown = fixture.proem(&["runs", "show", &old]);
    let lost = "  attempt 1, try 1: its result is unknown\n    usage unknown, charged in full: $";
    assert!(shown.answer().contains(lost), "nobody knows of 0 bytes in 0 ms: {}", shown.stdout());
    fixture.proem(&["runs", "resume", &old]).json();
    // The fork's beginning goes with the old run.
    let fork = output["run"].as_str().unwrap();
    fixture.proem(&["runs", "replay", fork]).answer();
    fixture.proem(&["runs", "purge", &old]).answer();
    let run = fixture.proem(&["runs", "replay", fork]);
    let says = format!(
        "error: run `{}` can't be replayed: it is a fork of run `{}`, which held its first events and was deleted\n",
        fork.get(..8).unwrap(),
        old.get(..8).unwrap()
    );
    assert_eq!((run.code(), run.stdout(), run.stderr()), (1, "", says.as_str()));
}

#[test]
fn the_last_run_of_all_projects_is_meant_where_all_are() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    let [first, second] =
        [(); 2].map(|()| run_triage(&fixture, &["--json"]).json()["run"].as_str().unwrap().to_owned());
    fixture.write("other/README.md", "# Another project\n");
    let other = |args: &[&str]| fixture.proem(&[&["runs"][..], args, &["--root", "other"]].concat());
    let shown = |run: &str| other(&["show", run, "--all", "--json"]).json()["run"]["id"].clone();
    assert_eq!((shown("last"), shown("last~1")), (json!(second), json!(first)));
    assert_eq!(other(&["diff", "last~1", "last", "--all", "--json"]).json()["second"]["run"], json!(second));
    assert_eq!(other(&["replay", "--all", "--json"]).json()["run"], json!(second));
    other(&["feedback", "last", "good", "--all"]).answer();
    assert_eq!(other(&["purge", "last", "--all", "--json"]).json()["runs"], 1);
    assert_eq!(sql(&fixture, "SELECT id FROM runs"), [first]);
    for (args, expected) in [
        (
            &["show", "last"][..],
            "error: no run of this project asked a model; `proem runs list --any` lists what else is recorded\n",
        ),
        (
            &["show", "last~1", "--all"],
            "error: there is no `last~1`, because there are fewer runs; `proem runs list` lists the runs\n",
        ),
    ] {
        let run = other(args);
        assert_eq!((run.code(), run.stderr()), (2, expected));
    }
    // A folder that was moved, or the wrong one, has no runs of its own.
    let listed = other(&["list"]);
    assert!(listed.answer().is_empty() && listed.stderr().contains("`--all` lists them"), "{}", listed.stderr());
    fixture.proem(&["runs", "purge", "last"]).answer();
    assert!(!other(&["list"]).stderr().contains("--all"));
}

#[test]
fn a_run_with_other_rules_does_not_go_on() {
    let server = start(vec![late_reply(low(), 600_000), low()]);
    let fixture = fixture(&server, "");
    killed(&fixture, &server);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proem-guard/data/verdicts.tsv");
    fixture.configure("guard/verdicts.tsv", &fs::read_to_string(shipped).unwrap());
    let run = fixture.proem(&["runs", "resume"]);
    assert_eq!((run.code(), server.requests().len()), (2, 1), "{}", run.stderr());
    // Today's book does not matter: the run has its own prompt with it.
    fs::remove_file(fixture.base.join("config/proem/guard/verdicts.tsv")).unwrap();
    fs::remove_dir_all(fixture.base.join("config/proem/book/reviews")).unwrap();
    fixture.proem(&["runs", "resume"]).json();
}

#[test]
fn a_replay_is_equal_or_names_the_first_difference() {
    let server = start(vec![Reply::value(json!({ "severity": "worst" })), low()]);
    let fixture = fixture(&server, "");
    let id = run_triage(&fixture, &["--json"]).json()["run"].as_str().unwrap().to_owned();
    fs::remove_dir_all(fixture.base.join("config/proem")).unwrap();
    let output = fixture.proem(&["runs", "replay", &id, "--json"]).json();
    let bytes: usize = server.requests().iter().map(|request| request.body.len()).sum();
    assert_eq!(output, json!({ "run": id, "calls": 2, "bytes": bytes, "equal": true, "difference": null }));
    assert_eq!(server.requests().len(), 2, "a replay sends nothing");
    sql(
        &fixture,
        "UPDATE contents SET bytes = CAST(replace(CAST(bytes AS TEXT), 'It crashes', 'It froze') AS BLOB) \
         WHERE hash = (SELECT inputs FROM runs)",
    );
    let run = fixture.proem(&["runs", "replay", &id]);
    assert_eq!(run.code(), 1, "{}", run.stderr());
    assert!(run.stdout().contains("section report"), "{}", run.stdout());
    let run = fixture.proem(&["runs", "replay", "nothing-like-it"]);
    assert_eq!(run.code(), 2, "{}", run.stderr());
}

/// A prompt that goes through an object.
const ORDERED: &str = "---
model: small
input:
  schema:
    marks(object):
      (*): number
proem:
  version: 1.0.0
  inputs:
    marks: { trust: trusted }
  sections:
    - { name: role, trust: constitution }
    - { name: marks, trust: trusted, cache: never }
---
{{role \"system\"}}{{section \"role\"}}
You say which mark is the best.
{{role \"user\"}}{{section \"marks\"}}
{{#each marks}}{{@key}}={{.}} {{/each}}{{json marks}}
";

#[test]
fn inputs_are_shown_recorded_and_replayed_in_the_order_in_which_they_were_written() {
    let server = start(vec![Reply::text("zeta"), Reply::text("zeta")]);
    let fixture = fixture(&server, "");
    fixture.configure("book/reviews/ordered/1.0.0.prompt", ORDERED);
    fixture.write("marks.json", r#"{ "marks": { "zeta": 1.0, "alpha": 2.50 } }"#);
    fixture.write("batch.jsonl", "{ \"marks\": { \"zeta\": 1.0, \"alpha\": 2.50 } }\n");
    fixture.proem(&["run", "reviews/ordered", "--input", "marks.json"]).answer();
    fixture.proem(&["run", "reviews/ordered", "--batch", "batch.jsonl"]);
    for request in server.requests() {
        let body = String::from_utf8(request.body).unwrap();
        assert!(body.contains(r#"zeta=1 alpha=2.5 {\"zeta\":1,\"alpha\":2.5}"#), "{body}");
    }
    assert_eq!(server.requests().len(), 2);
    let recorded = sql(&fixture, "SELECT CAST(bytes AS TEXT) FROM contents JOIN runs ON inputs = hash");
    assert_eq!(recorded, [r#"{"marks":{"zeta":1.0,"alpha":2.5}}"#; 2]);
    for run in ["last", "last~1"] {
        assert_eq!(fixture.proem(&["runs", "replay", run, "--json"]).json()["equal"], json!(true));
    }
}

/// The bodies that were sent, without what is before the profile.
fn request_bodies(server: &ScriptedServer) -> Vec<String> {
    server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect()
}

#[test]
fn a_failure_changes_the_next_request_until_it_is_forgotten() {
    let bad = || Reply::value(json!({ "severity": "worst" }));
    let server = start(vec![bad(), bad(), low()]);
    let fixture = fixture(&server, "");
    crate::run::let_learn(&fixture);
    let ask = |args: &[&str]| {
        let before = server.requests().len();
        run_triage(&fixture, args);
        request_bodies(&server).remove(before)
    };
    let before = ask(&[]);
    let after = ask(&["--no-record"]);
    assert_ne!(before, after, "a failure was recorded");
    assert!(after.contains("did not meet the contract at `severity` (`enum`)"), "{after}");
    let aged = |days: i64| {
        let by = days * 86_400_000;
        sql(&fixture, &format!("UPDATE failures SET at = at - {by}"));
        sql(&fixture, &format!("UPDATE outcomes SET at = at - {by}"));
    };
    aged(8);
    assert_eq!(ask(&["--no-record"]), before, "it is too old");
    aged(-8);
    assert_eq!(ask(&["--no-record"]), after);
    fixture.proem(&["failures", "clear"]).answer();
    assert_eq!(ask(&["--no-record"]), before, "it was cleared");
    let cleared = || fixture.proem(&["failures", "list", "--json"]).json()[0]["cleared"].clone();
    assert!(cleared().is_string(), "{}", cleared());
    fixture.proem(&["failures", "clear", "--undo"]).answer();
    assert!(cleared().is_null(), "{}", cleared());
    assert_eq!(ask(&["--no-record"]), after, "that was undone");
}

#[test]
fn wishes_change_the_request() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    let body = |args: &[&str]| {
        run_triage(&fixture, args).json();
        request_bodies(&server).pop().unwrap()
    };
    let usual = body(&[]);
    let bare = body(&["--no-adapt"]);
    assert_eq!(usual, bare, "a prompt that asks for nothing shows nothing");
    let mut seen = vec![usual.clone()];
    for wish in [&["--time-sensitive"][..], &["--compliance-required"], &["--preferred-format", "json"]] {
        let body = body(wish);
        assert!(!seen.contains(&body), "{wish:?} changes nothing");
        seen.push(body);
    }
    let output = run_triage(&fixture, &["--json", "--time-sensitive"]).json();
    assert_eq!(output["profile"]["rules"], json!(["time"]));
    let run = run_triage(&fixture, &["--preferred-format", "papyrus"]);
    assert_eq!((run.code(), run.stderr().contains("Markdown")), (2, true), "{}", run.stderr());
    let run = run_triage(&fixture, &["--no-adapt", "--time-sensitive"]);
    assert_eq!(run.code(), 2, "{}", run.stderr());
    let cases = "cases:\n  - name: one\n    inputs: { title: It crashes }\n    live: { answer: { severity: low } }\n";
    let prompt = fs::read_to_string(fixture.base.join("config/proem/book/reviews/strict/1.0.0.prompt")).unwrap();
    let prompt = prompt.replace("proem:\n", "proem:\n  cases: one.cases.yaml\n");
    fixture.configure("book/reviews/tested/1.0.0.prompt", &prompt);
    let schema = fs::read_to_string(fixture.base.join("config/proem/book/reviews/strict/triage.schema.json")).unwrap();
    fixture.configure("book/reviews/tested/triage.schema.json", &schema);
    fixture.configure("book/reviews/tested/one.cases.yaml", cases);
    let tested = |wish: &[&str]| {
        let args = [&["book", "test", "reviews/tested", "--live", "--times", "1"], wish].concat();
        let run = fixture.proem(&args);
        assert_eq!(run.code(), 0, "{}", run.transcript());
        request_bodies(&server).pop().unwrap()
    };
    let usual = tested(&[]);
    assert!(tested(&["--time-sensitive", "--preferred-format", "YAML"]).contains("YAML"));
    assert!(!usual.contains("YAML"));
    let off = configured(&server, "[adapt]\nenabled = false\n");
    assert_eq!(run_triage(&off, &["--json"]).json().get("profile"), None);
}

#[test]
fn hashes_leave_no_text_behind() {
    let answer = || Reply::value(json!({ "severity": "low", "reason": "the-answers-own-words" }));
    let server = start(vec![answer(), late_reply(answer(), 600_000)]);
    let fixture = configured(&server, "[records]\nkeep = \"hashes\"\n");
    let args = ["run", "reviews/strict", "--set", "title=the-inputs-own-words"];
    fixture.proem(&args).json();
    for text in ["the-answers-own-words", "the-inputs-own-words", "Judge the severity"] {
        assert!(!is_kept(&fixture, text), "{text}");
    }
    assert_eq!(sql(&fixture, "SELECT state FROM attempts"), ["reported"]);
    let run = fixture.proem(&["runs", "replay"]);
    assert_eq!((run.code(), run.stderr().contains("can't be replayed")), (1, true), "{}", run.stderr());
    let run = fixture.proem(&["runs", "show", "last", "--body"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr().contains("is not kept; only hashes are kept (see `records.keep`)"), "{}", run.stderr());
    killed(&fixture, &server);
    assert!(!is_kept(&fixture, "It crashes"));
    let run = fixture.proem(&["runs", "resume"]);
    assert_eq!(run.code(), 2, "{}", run.stderr());
    assert!(run.stderr().contains("only its hashes are kept (see `records.keep`)"), "{}", run.stderr());
}

#[test]
fn what_is_deleted_is_gone_from_the_disk() {
    let server = start(vec![low()]);
    let fixture = configured(&server, "[records]\ndays = 30\n");
    let args = ["run", "reviews/strict", "--set", "title=the-inputs-own-words"];
    let id = fixture.proem(&[&args[..], &["--json"]].concat()).json()["run"].as_str().unwrap().to_owned();
    assert!(is_kept(&fixture, "the-inputs-own-words"));
    fixture.proem(&["runs", "purge", &id]).answer();
    assert!(!is_kept(&fixture, "the-inputs-own-words"));
    // An old run goes by itself, once a day.
    fixture.proem(&args).json();
    sql(&fixture, "UPDATE runs SET started = started - 31 * 86400000");
    let stamp = fixture.base.join("state/proem/purged");
    // A clock that has jumped is not believed at once.
    let today: i64 = fs::read_to_string(&stamp).unwrap().trim().parse().unwrap();
    fs::write(&stamp, (today - 3_650).to_string()).unwrap();
    let run = run_triage(&fixture, &[]);
    assert!(!run.stderr().contains("older than") && is_kept(&fixture, "the-inputs-own-words"), "{}", run.stderr());
    assert_eq!(fs::read_to_string(&stamp).unwrap().trim(), today.to_string());
    fs::write(&stamp, (today - 1).to_string()).unwrap();
    let run = run_triage(&fixture, &[]);
    assert!(run.stderr().contains("deleted 1 run older than 30 days"), "{}", run.stderr());
    assert!(!is_kept(&fixture, "the-inputs-own-words"));
    assert_eq!(recorded_outcomes(&fixture).len(), 2);
}

#[test]
fn a_key_never_lies_on_the_disk() {
    const KEY: &str = "sk-ant-api-0123456789abcdef";
    let server = start(vec![Reply::value(json!({ "severity": "low", "reason": KEY }))]);
    let fixture = fixture(&server, "");
    let title = format!("title=my key is {KEY}");
    fixture.proem(&["run", "reviews/strict", "--set", &title]).json();
    assert!(!is_kept(&fixture, KEY));
    assert!(is_kept(&fixture, "[redacted:ANTHROPIC_API_KEY]"));
    let run = fixture.proem(&["runs", "replay"]);
    assert_eq!((run.code(), run.stderr().contains("can't be replayed")), (1, true), "{}", run.stderr());
}

#[test]
fn a_repository_may_only_lower_what_is_spent_and_kept() {
    let server = start(vec![low()]);
    let fixture = configured(&server, "[budget.project]\nday = 1\n");
    fixture.write("proem.toml", "[budget.project]\nday = 2\n[records]\nkeep = \"nothing\"\ndays = 1\n");
    let run = run_triage(&fixture, &[]);
    run.json();
    assert!(
        run.stderr().contains("records.keep = \"hashes\"") && !run.stderr().contains("day = 2"),
        "{}",
        run.stderr()
    );
    fixture.write("proem.toml", "[budget.project]\nday = 0.000001\n");
    let run = run_triage(&fixture, &[]);
    assert_eq!((run.code(), server.requests().len()), (3, 1), "{}", run.stderr());
    assert!(run.stderr().contains("budget.project.day = 0.000001"), "{}", run.stderr());
}

#[test]
fn explained_runs_say_what_is_booked_and_learned() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    let run = run_triage(&fixture, &["--explain", "--time-sensitive"]);
    let said = run.stderr();
    assert!(said.contains("charged $0.000150 of $") && said.contains("reserved"), "{said}");
    assert!(said.contains("profile  time  (a short answer is requested)"), "{said}");
}

#[test]
fn counts_follow_what_was_found_out() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    let counted = |fixture: &Fixture| run_triage(fixture, &["--json"]).json()["countedTokens"].as_u64().unwrap();
    let before = counted(&fixture);
    let factors = fixture.base.join("state/proem/token-factors.json");
    let write = |percent: u32| {
        let models = json!({ "claude-haiku-4-5": { "percent": percent, "calls": 40, "previous": 130 } });
        fs::write(&factors, json!({ "version": 1, "models": models }).to_string()).unwrap();
    };
    write(200);
    assert!(counted(&fixture) > before, "{before}");
    write(50);
    let run = run_triage(&fixture, &[]);
    assert_eq!((run.code(), run.stderr().contains("proem cost fit --apply")), (2, true), "{}", run.stderr());
}

#[test]
fn a_prompt_that_nobody_could_be_asked_is_kept_too() {
    let server = start(vec![reply_with_usage(100)]);
    let mut fixture = fixture(&server, "attempts = 1\n");
    fixture.set("ANTHROPIC_API_KEY", "");
    let run = run_triage(&fixture, &[]);
    assert_eq!((run.code(), server.requests().len()), (3, 0), "{}", run.stderr());
    let shown = fixture.proem(&["runs", "show", "last", "--json"]).json();
    let sections: Vec<&str> = shown["calls"][0]["sections"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|section| section["name"].as_str())
        .collect();
    assert_eq!(sections, ["role", "report"]);
    assert!(shown["calls"][0]["body"].is_null(), "{shown}");
}

#[test]
fn an_assembly_says_that_nobody_was_asked() {
    let fixture = Fixture::folder();
    for task in ["fix the parser", "review this diff"] {
        fixture.proem(&["assemble", task]).answer();
    }
    let listed = fixture.proem(&["runs", "list", "--any"]).stdout().to_owned();
    assert!(listed.contains("assembled") && !listed.contains("$0"), "{listed}");
    let shown = fixture.proem(&["runs", "show", "last", "--any"]).stdout().to_owned();
    assert!(shown.contains("called no model") && !shown.contains("`proem runs replay"), "{shown}");
    let compared = fixture.proem(&["runs", "diff", "last~1", "last", "--any"]).stdout().to_owned();
    assert!(compared.contains("no model was asked, so no cache was read; the stable prefix changed"), "{compared}");
    let id = fixture.proem(&["runs", "show", "last", "--any", "--json"]).json()["run"]["id"].clone();
    assert_eq!(fixture.proem(&["runs", "replay", id.as_str().unwrap()]).code(), 1);
}
