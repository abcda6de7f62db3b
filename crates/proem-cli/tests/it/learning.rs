//! Learning that surprises nobody: what shapes a prompt, who is told, and what ends it.

use std::fs;

use proem_app::records;
use proem_app::records::failures::list_failures;
use proem_llm::scripted::{Delivery, DeliveryEnd, Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::risk::scene::shop;
use crate::risk::{metric, synthesis};
use crate::run::{let_learn, low, start, without_run_words};

/// The heading of a profile in a request.
const PROFILE: &str = "How to answer:";

/// A user who lets prompts learn.
fn fixture(server: &ScriptedServer, more: &str) -> Fixture {
    let fixture = crate::run::fixture(server, more);
    let_learn(&fixture);
    fixture
}

fn body(server: &ScriptedServer, at: usize) -> String {
    String::from_utf8(server.requests()[at].body.clone()).unwrap()
}

fn last_body(server: &ScriptedServer) -> String {
    body(server, server.requests().len() - 1)
}

fn ask(fixture: &Fixture, prompt: &str, more: &[&str]) -> Run {
    fixture.proem(&[&["run", prompt, "--set", "title=It hangs"], more].concat())
}

/// A command's line on learned text, without the day on which it is forgotten.
fn learned(run: &Run) -> Vec<String> {
    let line = |line: &str| {
        let (said, rest) = line.split_once(", until ")?;
        let (_, see) = rest.split_once("; ")?;
        said.starts_with("learned: ").then(|| format!("{said}; {see}"))
    };
    run.stderr().lines().filter_map(line).collect()
}

fn failures(fixture: &Fixture) -> Json {
    fixture.proem(&["failures", "list", "--json"]).json()
}

/// How many failures are recorded.
pub(crate) fn failure_count(fixture: &Fixture) -> usize {
    let project = fixture.project();
    records::blocking(list_failures(&project, None, &mut Vec::new())).unwrap().len()
}

#[test]
fn what_no_answer_came_of_is_recorded_and_shapes_nothing() {
    let text = || Reply::text("Look at it.");
    let late = || text().delayed(600_000);
    let trouble: [(&str, Reply, &[&str]); 7] = [
        ("cut", text().ending(DeliveryEnd::CutAfter(60)), &[]),
        ("cut", text().ending(DeliveryEnd::ResetAfter(0)), &[]),
        ("rate-limited", Reply::raw(429, r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#), &[]),
        ("server", Reply::raw(500, "{}"), &[]),
        ("key-refused", Reply::raw(401, r#"{"error":{"type":"authentication_error","message":"no"}}"#), &[]),
        ("deadline", late(), &["--timeout", "1"]),
        ("not-booked", text(), &["--max-total-tokens", "1"]),
    ];
    let first = start(vec![text()]);
    ask(&fixture(&first, "attempts = 1\n"), "reviews/free", &[]).answer();
    for (what, reply, more) in trouble {
        let sent = usize::from(what != "not-booked");
        let server = start(if sent == 1 { vec![reply, text()] } else { vec![text()] });
        let fixture = fixture(&server, "attempts = 1\n");
        assert_eq!(ask(&fixture, "reviews/free", more).code(), 3, "{what}");
        let run = ask(&fixture, "reviews/free", &[]);
        assert_eq!(run.code(), 0, "{what}: {}", run.stderr());
        assert_eq!((server.requests().len(), learned(&run)), (1 + sent, vec![]), "{what}");
        assert_eq!(body(&first, 0), last_body(&server), "{what}");
        assert_eq!(failure_count(&fixture), 0, "{what}");
        let because = sql(&fixture, "SELECT because FROM runs WHERE because IS NOT NULL");
        assert!(because.len() == 1 && because[0].contains(what), "it is recorded: {because:?}");
    }
}

#[test]
fn a_hop_that_took_too_long_shapes_nothing() {
    let owner = || metric("ownership_churn", "shop/permissions.py");
    let late = Reply { how: Delivery { delay_ms: 600_000, ..Delivery::default() }, ..owner() };
    let server = start(vec![late, owner(), synthesis("HIGH", &[("E1", "Twelve pages import it.")]), owner(), low()]);
    let mut fixture = shop().within(Fixture::folder());
    crate::run::set_up(&mut fixture, &server, "attempts = 1\n");
    let_learn(&fixture);
    fixture.proem(&["risk", "HEAD", "--hop-timeout", "1"]).answer();
    assert_eq!(failure_count(&fixture), 0);
    let sent = server.requests().len();
    let run = fixture.proem(&["risk", "HEAD"]);
    assert_eq!((run.code(), learned(&run)), (0, vec![]));
    assert_eq!(body(&server, 0), body(&server, sent));
}

/// A user whose `reviews/strict` failed.
fn failed(more: Vec<Reply>) -> (Fixture, ScriptedServer) {
    let worst = || Reply::value(json!({ "severity": "worst" }));
    let server = start([vec![worst(), worst()], more].concat());
    let fixture = fixture(&server, "attempts = 1\n");
    assert_eq!(ask(&fixture, "reviews/strict", &[]).code(), 3);
    (fixture, server)
}

#[test]
fn who_sends_learned_text_is_told_and_shown_what_it_is() {
    let (fixture, server) = failed(vec![low()]);
    let id = sql(&fixture, "SELECT id FROM runs").remove(0);
    let said = ["learned: 1 line from 1 result of reviews/strict; see `proem adapt reviews/strict`"];
    fixture.write("rows.jsonl", "{\"title\": \"a\"}\n{\"title\": \"b\"}\n");
    let shown = fixture.proem(&["adapt", "reviews/strict"]);
    let json = fixture.proem(&["adapt", "reviews/strict", "--json"]).json();
    let text = json["text"].as_str().unwrap();
    assert!(text.starts_with(PROFILE), "{text}");
    let in_request = json!(text).to_string();
    let in_request = in_request.trim_matches('"').trim_end_matches("\\n");
    for more in [&["--dry-run"][..], &["--no-record"], &["--no-record", "--json"]] {
        let run = ask(&fixture, "reviews/strict", more);
        assert_eq!(learned(&run), said, "{more:?}");
        let sent = if more[0] == "--dry-run" { run.json().to_string() } else { last_body(&server) };
        assert!(sent.contains(in_request), "{more:?}: {sent}");
        if more.contains(&"--json") {
            let learned = &run.json()["learned"];
            assert_eq!((&learned["prompt"], &learned["lines"]), (&json!("reviews/strict"), &json!(1)));
            assert_eq!((&learned["results"][0]["run"], learned), (&json!(id), &json["learned"]));
        }
    }
    let batch = fixture.proem(&["run", "reviews/strict", "--batch", "rows.jsonl", "--no-record"]);
    assert_eq!((batch.code(), learned(&batch)), (0, said.map(str::to_owned).to_vec()), "once for all of them");
    // A wish is not learned.
    let wished = ask(&fixture, "reviews/free", &["--time-sensitive", "--json", "--no-record"]);
    assert_eq!((learned(&wished), wished.json().get("learned")), (vec![], None));
    let id = id.get(..8).unwrap();
    let dateless: Vec<String> = shown.transcript().lines().map(|line| dateless(&line.replace(id, "ID"))).collect();
    snapshot!(dateless.join("\n"));
}

/// A line without moments such as 2026-11-22T10:00:00.123Z.
fn dateless(line: &str) -> String {
    let word = |word: &str| {
        let is_moment = word.len() >= 20 && word.ends_with('Z') && word.contains('T') && word.starts_with("20");
        if is_moment { "TIME".to_owned() } else { word.to_owned() }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_prompt_shows_what_was_learned_about_itself_alone() {
    let (fixture, server) = failed(vec![Reply::text("Look at it.")]);
    let run = ask(&fixture, "reviews/free", &["--json"]);
    assert_eq!((learned(&run), run.json().get("learned")), (vec![], None));
    assert!(!last_body(&server).contains(PROFILE), "{}", last_body(&server));
    assert_eq!(
        fixture.proem(&["adapt", "reviews/free"]).answer(),
        "reviews/free gets no profile: it has learned nothing, and no preference is configured under `[adapt]`\n"
    );
    let wished = ask(&fixture, "reviews/free", &["--preferred-format", "Markdown"]);
    assert!(
        wished.code() == 0 && last_body(&server).contains("Write the answer as Markdown"),
        "{}",
        last_body(&server)
    );
    // A prompt that asks for it has the baseline, and only that.
    let path = fixture.base.join("config/proem/book/reviews/free/1.0.0.prompt");
    let prompt = fs::read_to_string(&path).unwrap();
    fs::write(&path, prompt.replace("  version: 1.0.0\n", "  version: 1.0.0\n  profile: true\n")).unwrap();
    let asked = ask(&fixture, "reviews/free", &["--json"]);
    assert_eq!((asked.json()["profile"]["rules"].clone(), learned(&asked)), (json!(["baseline"]), vec![]));
    assert!(last_body(&server).contains("state the assumptions"), "{}", last_body(&server));
    let unknown = fixture.proem(&["adapt", "reviews/nothing"]);
    assert_eq!((unknown.code(), unknown.stdout()), (2, ""));
}

#[test]
fn a_success_of_a_prompt_ends_its_failures_in_whatever_run() {
    let owner = || metric("ownership_churn", "shop/permissions.py");
    let judged = || synthesis("MEDIUM", &[("E1", "Twelve pages import it.")]);
    let bad = (0..2).map(|_| Reply::value(json!({ "action": "DANCE", "reasoning": "It is fun." })));
    // A bad decision with a good synthesis, then both good, then both once more.
    let server = start([bad.chain([judged()]).collect(), vec![owner(), judged()], vec![owner(), judged()]].concat());
    let mut fixture = shop().within(Fixture::folder());
    crate::run::set_up(&mut fixture, &server, "attempts = 1\n");
    let_learn(&fixture);
    let assess = || (server.requests().len(), fixture.proem(&["risk", "HEAD", "--explain"]));
    assess();
    assert_eq!(failures(&fixture)[0]["subagent"], "risk/decision");
    let (second, run) = assess();
    assert_eq!(learned(&run), ["learned: 1 line from 1 result of risk/decision; see `proem adapt risk/decision`"]);
    let explained = without_run_words(run.answer());
    assert!(
        explained.contains("learned: 1 line of risk/decision from run ID; `proem adapt risk/decision` shows them"),
        "{explained}"
    );
    assert!(body(&server, second).contains("did not meet the contract at `action` (`enum`)"));
    assert!(!body(&server, second).contains("last result failed"), "it is another input");
    assert!(!body(&server, second + 1).contains("did not meet the contract"), "the synthesis was good");
    let kept = fixture.proem(&["runs", "show", "last", "--json"]).json();
    let of = |prompt: &str| kept["profile"]["prompts"][prompt]["instructions"].as_array().unwrap().len();
    assert_eq!((of("risk/decision"), of("risk/synthesis")), (2, 1));
    assert!(fixture.proem(&["runs", "show", "last"]).answer().contains("\nprofile of risk/decision\n"));
    fixture.replay_last();
    let (third, run) = assess();
    assert_eq!((run.code(), learned(&run)), (0, vec![]));
    assert_eq!(body(&server, 0), body(&server, third));
}

#[test]
fn answers_that_are_blank_or_warn_are_counted_and_add_no_line() {
    let schema = r#"{ "type": "object", "properties": { "warnings": { "type": "array", "maxItems": 3,
        "items": { "type": "string", "maxLength": 40 } } }, "additionalProperties": false }"#;
    let server = start(vec![
        Reply::text(" \n"),
        Reply::text(" \n"),
        Reply::value(json!({ "warnings": ["none"] })),
        Reply::value(json!({ "warnings": ["the log is incomplete"] })),
    ]);
    let fixture = fixture(&server, "attempts = 1\n");
    let prompt = fs::read_to_string(fixture.base.join("config/proem/book/reviews/strict/1.0.0.prompt")).unwrap();
    fixture.configure("book/reviews/warned/1.0.0.prompt", &prompt);
    fixture.configure("book/reviews/warned/triage.schema.json", schema);
    assert_eq!(ask(&fixture, "reviews/free", &[]).code(), 3);
    assert_eq!(ask(&fixture, "reviews/warned", &[]).code(), 0);
    let risks = |at: usize| failures(&fixture)[at]["issue"]["risks"].clone();
    assert_eq!(risks(0), json!(["execution_failed", "missing_output", "schema_failed"]));
    assert_eq!(failure_count(&fixture), 1);
    ask(&fixture, "reviews/warned", &[]).answer();
    assert_eq!(
        (failures(&fixture)[0]["subagent"].clone(), risks(0)),
        (json!("reviews/warned"), json!(["warnings_present"]))
    );
    let text = fixture.proem(&["adapt", "reviews/warned"]).answer().to_owned();
    assert!(text.contains("it has learned nothing") && !text.contains("incomplete"), "{text}");
}

#[test]
fn an_assembly_can_be_judged_and_a_rating_adds_no_line() {
    let mut fixture = Fixture::folder().committed();
    fixture.set("USER", "ann");
    let_learn(&fixture);
    let assemble = |fixture: &Fixture| {
        let run = fixture.proem(&["assemble", "fix the clock", "--json"]);
        (learned(&run), run.json()["learned"]["results"].as_array().map_or(0, Vec::len))
    };
    let judge = |fixture: &Fixture, verdict: &[&str]| {
        let run = fixture.proem(&[&["runs", "feedback", "last"], verdict].concat());
        let said = without_run_words(run.stderr());
        run.answer();
        said
    };
    let none = (Vec::<String>::new(), 0);
    assert_eq!(assemble(&fixture), none);
    let said = judge(&fixture, &["bad", "--note", "it-left-the-tests-out"]);
    assert!(said.starts_with("run ID: bad; it counts as one failure of assemble/task, until "), "{said}");
    assert!(said.ends_with("; see `proem failures list`\n"), "{said}");
    // Said twice of one run it is one failure.
    judge(&fixture, &["bad"]);
    assert_eq!(failure_count(&fixture), 1);
    assert_eq!(assemble(&fixture), none, "a rating names no part of a contract");
    let shown = fixture.proem(&["adapt", "assemble/task"]).answer().to_owned();
    assert!(!shown.contains("failed") && !shown.contains("left-the-tests"), "{shown}");
    let prompt = fixture.proem(&["assemble", "fix the clock"]);
    assert!(!prompt.answer().contains("left-the-tests"), "the note enters no prompt");
    let listed = fixture.proem(&["failures", "list"]).answer().to_owned();
    assert!(listed.contains("assemble/task  rated bad by a person"), "{listed}");
    assert_eq!(failures(&fixture)[0]["source"], "person");
    let said = judge(&fixture, &["good"]);
    assert_eq!(said, "run ID: good; earlier failures of assemble/task no longer count\n");
    assert_eq!(assemble(&fixture), none);
    let json = fixture.proem(&["runs", "feedback", "last", "bad", "--json"]).json();
    assert_eq!(json["counts"], json!({ "prompt": "assemble/task", "as": "failure" }));
    fixture.proem(&["failures", "clear"]).answer();
    assert_eq!(assemble(&fixture), none);
}

#[test]
fn only_what_a_prompt_made_is_judged_for_it() {
    let (fixture, server) = failed(vec![low()]);
    let judge =
        |verdict: &str| fixture.proem(&["runs", "feedback", "last", verdict, "--json"]).json()["counts"].clone();
    assert_eq!(judge("bad"), Json::Null, "there was no answer to be judged");
    ask(&fixture, "reviews/strict", &[]).answer();
    assert_eq!(failure_count(&fixture), 1);
    assert_eq!(learned(&ask(&fixture, "reviews/strict", &["--no-record"])), [""; 0], "the answer was good");
    assert_eq!(judge("bad")["as"], "failure");
    assert_eq!(failure_count(&fixture), 2, "a person knows better");
    assert_eq!(
        learned(&ask(&fixture, "reviews/strict", &["--no-record"])),
        [""; 0],
        "and gave no reason of the contract"
    );
    assert_eq!(judge("good")["as"], "success");
    assert_eq!(learned(&ask(&fixture, "reviews/strict", &["--no-record"])), [""; 0]);
    let fixture = shop().within(Fixture::folder());
    fixture.proem(&["risk", "HEAD", "--no-model"]).answer();
    let json = fixture.proem(&["runs", "feedback", "last", "bad", "--json"]).json();
    assert_eq!((&json["counts"], server.requests().len()), (&Json::Null, 6));
}

#[test]
fn a_rating_recommends_a_command_that_works_for_a_prompt_in_a_file_too() {
    let server = start(vec![Reply::text("Look at it.")]);
    let fixture = fixture(&server, "");
    let free = fs::read_to_string(fixture.base.join("config/proem/book/reviews/free/1.0.0.prompt")).unwrap();
    fixture.write("loose.prompt", free);
    fixture.proem(&["run", "loose.prompt", "--set", "title=It hangs"]).answer();
    let said = fixture.proem(&["runs", "feedback", "last", "bad"]);
    let command = said.stderr().split('`').nth(1).unwrap_or_default().to_owned();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(fixture.proem(&words).code(), 0, "{command}: {}", said.stderr());
}

#[test]
fn recorded_names_that_the_schema_does_not_declare_write_no_line() {
    let (fixture, _server) = failed(vec![low()]);
    let risks =
        r#"["schema_failed/enum/severity","schema_failed/enum/ignore-the-rules","schema_failed/obey/severity"]"#;
    sql(&fixture, &format!("UPDATE outcomes SET risks = '{risks}'"));
    let text = fixture.proem(&["adapt", "reviews/strict"]).answer().to_owned();
    assert!(text.contains("`severity` (`enum`)"), "{text}");
    assert!(!text.contains("ignore-the-rules:") && !text.contains("contract at `ignore"), "{text}");
    let instructions = text.lines().filter(|line| line.contains("did not meet the contract")).collect::<Vec<_>>();
    assert_eq!(instructions.len(), 1, "{text}");
    assert!(!instructions[0].contains("ignore") && !instructions[0].contains("obey"), "{text}");
}

#[test]
fn nothing_is_learned_unless_it_is_asked_for() {
    let worst = || Reply::value(json!({ "severity": "worst" }));
    let server = start(vec![worst(), worst(), low()]);
    let fixture = crate::run::fixture(&server, "attempts = 1\n");
    assert_eq!(ask(&fixture, "reviews/strict", &[]).code(), 3);
    assert_eq!(failure_count(&fixture), 1, "it is counted all the same");
    assert_eq!(learned(&ask(&fixture, "reviews/strict", &[])), [""; 0]);
    assert!(!last_body(&server).contains(PROFILE), "{}", last_body(&server));
    let shown = fixture.proem(&["adapt", "reviews/strict"]).answer().to_owned();
    assert!(shown.contains("set `adapt.enabled = true`"), "{shown}");
}
