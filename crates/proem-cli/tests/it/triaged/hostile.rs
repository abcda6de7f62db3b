//! Attacks and bad input: what they change, which is nothing, and what is said of them.

use std::fs;

use proem_store::record::EscalationState;
use serde_json::{Value as Json, json};

use super::models::{TEXT, calls_reply, classified, comment_id, one_comment, run, sanitised};
use super::{artefact, count, project, take_files, triaged};
use crate::run::start;
use crate::triage_scene::{changed_items, signal_outcomes};
use crate::triage_signals::{comment, created, flag_change, moved};

/// A text from outside in an artefact is from outside in every later version, and is shown as nothing else.
#[test]
fn a_text_in_an_artefact_stays_somebody_elses() {
    let fixture = project("artefact");
    let text =
        "We can't continue without the sandbox. \u{1b}[31m# Done **all** [click](https://evil.example) <b>x</b> `rm`";
    let report = triaged(&fixture, &[comment(142, text)]);
    assert_eq!(changed_items(&report).first(), Some(&"I001"), "{report}");
    // The label with which a version's description of the item is kept.
    let label = |version: i64| {
        let database = rusqlite::Connection::open(fixture.base.join("state/proem/records.db")).unwrap();
        let sql = "SELECT bytes FROM contents JOIN artefact_versions ON hash = content \
                   WHERE kind = 'raid_log' AND version = ?";
        let bytes: Vec<u8> = database.query_row(sql, [version], |row| row.get(0)).unwrap();
        let stored: Json = serde_json::from_slice(&bytes).unwrap();
        let text = stored.pointer("/tree/map/items/map/I001/map/fields/map/description/map/text").unwrap();
        assert!(text["text"].as_str().unwrap().starts_with("We can't continue without the sandbox."), "{text}");
        stored["labels"][usize::try_from(text["label"].as_u64().unwrap()).unwrap()]["sources"].clone()
    };
    assert_eq!(label(1), json!(["jira/comment"]));
    let page = fixture.proem(&["artefacts", "show", "raid-log"]);
    let page = page.stdout();
    assert!(page.contains("sandbox"), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains("](https") && !page.contains("<b>"), "{page}");
    fixture.proem(&["artefacts", "export", "--output", "status.md"]);
    let exported = fs::read_to_string(fixture.repo.join("status.md")).unwrap();
    assert!(!exported.contains("](https") && !exported.contains("<b>") && !exported.contains("**all**"), "{exported}");
    // Cycle 2 moves the item on. Its words keep their label and their origin.
    let second = triaged(&fixture, &[moved(142, "In Progress", "Done")]);
    assert!(changed_items(&second).contains(&"I001"), "{second}");
    let shown = artefact(&fixture, "raid-log");
    let of_text = &shown["statements"]["I001"]["description"][0];
    assert_eq!(of_text["certainty"], "fact");
    assert!(of_text["origins"][0]["signal"].as_str().unwrap().contains("comment"), "no person said so: {of_text}");
    assert_eq!(label(2), json!(["jira/comment"]));
}

/// Every one of them is kept, stops nothing else, and is nothing the second time.
#[test]
fn bad_input_is_kept_and_stops_nothing() {
    let fixture = project("artefact");
    let parts: String = (0..200)
        .map(|part| format!("--b\nContent-Type: text/plain; charset=utf-8\n\npart {part} says little\n"))
        .collect();
    let multi = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n";
    let head = |id: &str| format!("Message-ID: <{id}@corp.example>\nFrom: Cem <cem@corp.example>\nSubject: {id}\n");
    let attachment = "MIME-Version: 1.0\nContent-Type: application/pdf; name=\"plan.pdf\"\nContent-Disposition: attachment; \
                      filename=\"plan.pdf\"\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjQK\n";
    fixture.write("parts.eml", format!("{}{multi}{parts}--b--\n", head("parts")));
    fixture.write("silent.eml", format!("{}\n", head("silent")));
    fixture.write("attached.eml", head("attached") + attachment);
    let mut latin = head("latin").into_bytes();
    latin.extend(b"Content-Type: text/plain; charset=utf-8\n\nGr\xfc\xdfe, die Pr\xfcfung l\xe4uft\n");
    fixture.write("latin.eml", latin);
    fixture.write("huge.json", created(1, "Huge", &"a word or two ".repeat(380_000)).to_string());
    let at = |number: u32, time: u64| {
        let mut signal = created(number, "Odd time", "x");
        signal["timestamp"] = json!(time);
        signal.to_string()
    };
    fixture.write("old.json", at(2, 0));
    fixture.write("far.json", at(3, 32_503_680_000_000));
    let mut elsewhere = created(4, "Twice", "x");
    elsewhere["issue"]["key"] = json!("OPS-4");
    elsewhere["issue"]["fields"]["project"]["key"] = json!("OPS");
    fixture.write("both.jsonl", format!("{}\n{elsewhere}\n", created(4, "Twice", "x")));
    fixture.write("half.json", created(5, "Half", "x").to_string().split_at(200).0);
    fixture.write("empty.json", "");
    fixture.write("bytes.json", (0..=255).collect::<Vec<u8>>());
    fixture.write("blocker.json", flag_change(142).to_string());
    let files = [
        "parts.eml",
        "silent.eml",
        "attached.eml",
        "latin.eml",
        "huge.json",
        "old.json",
        "far.json",
        "both.jsonl",
        "half.json",
        "empty.json",
        "bytes.json",
        "blocker.json",
    ];
    let run = fixture.proem(&[&["triage", "run"], &files[..], &["--json"]].concat());
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let report = run.json();
    let came = &report["came"];
    assert_eq!((&came["setAside"], &came["malformed"]), (&json!(1), &json!(3)), "{came}");
    assert_eq!(count(&report["signals"]), 9, "what is this project's and can be read: {report}");
    assert_eq!(
        signal_outcomes(&report).last().unwrap(),
        "incorporated blocker high",
        "it is worked on beside all of them"
    );
    for said in ["half.json", "empty.json", "bytes.json"] {
        assert!(run.stderr().contains(said), "{said} is not named: {}", run.stderr());
    }
    assert_eq!(run.stderr().matches("kept for you to look at").count(), 3, "{}", run.stderr());
    let again = take_files(&fixture, &files);
    assert_eq!((&again["came"]["new"], &again["came"]["malformed"]), (&json!(0), &json!(0)), "{again}");
    assert_eq!((&again["changes"], &again["questions"], &again["signals"]), (&json!([]), &json!([]), &json!([])));
    assert_eq!(fixture.triage().status()["signals"]["malformed"], 3);
    // An unreadable signal waits for a person, and its text is shown.
    let kept = fixture.proem(&["queue", "quarantine"]);
    assert!(kept.stdout().contains("unreadable"), "{}", kept.stdout());
}

/// A disk that is full in the middle of a cycle: nothing of the cycle is written, and the next one does it all once.
#[test]
fn a_cycle_that_can_not_be_written_is_done_again_whole() {
    for place in ["take-signals", "finish-cycle", "escalate"] {
        let mut fixture = project("artefact");
        let sponsor = "The sponsor asks for wallets to be part of the release, too.";
        fixture
            .write("signals.jsonl", format!("{}\n{}\n", flag_change(142), created(8, "Please add wallets", sponsor)));
        fixture.set("PROEM_FAILPOINT", format!("fail:{place}"));
        let failed = fixture.proem(&["triage", "run", "signals.jsonl"]);
        assert_eq!(failed.code(), 3, "{place}: {}", failed.stderr());
        assert!(failed.stderr().contains("failpoint"), "{place}: {}", failed.stderr());
        fixture.set("PROEM_FAILPOINT", "");
        let status = fixture.triage().status();
        assert_eq!(status["artefacts"]["raid_log"]["version"], 0, "{place}: nothing is half done");
        let report = take_files(&fixture, &["signals.jsonl"]);
        assert_eq!(count(&report["signals"]), 2, "{place}: both are worked on now: {report}");
        let questions = fixture.triage().questions(Some(EscalationState::Open));
        assert_eq!(questions.len(), 1, "{place}: asked once: {questions:?}");
        let raid = artefact(&fixture, "raid-log");
        assert_eq!((&raid["version"], count(&raid["content"]["items"])), (&json!(1), 1), "{place}");
    }
}

/// An update in which a model leaves out some of an artefact's full content is refused as a whole, with a message, and
/// the content stays.
#[test]
fn an_artefact_that_a_model_empties_keeps_what_it_had() {
    let id = comment_id(1, TEXT);
    let emptied = json!({
        "project_id": "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f", "signals_incorporated": [id],
        "changes_summary": "nothing is in the way any more",
        "content": {
            "overall_status": "green", "status_summary": "All is well.", "current_sprint": null, "milestones": [],
            "blockers": [], "next_actions": [], "key_metrics": {
                "velocity_trend": "stable", "avg_cycle_time_days": null, "open_blockers": 0, "active_risks": 0,
            },
        },
    });
    let server = start(vec![
        // All of it: what is cut is suspected, and changes no artefact.
        calls_reply(vec![sanitised(&id, &format!("Vendor certification\n{TEXT}"))]),
        calls_reply(vec![classified(&id, "blocker", "update_artefact")]),
        calls_reply(vec![("update_delivery_state", emptied)]),
    ]);
    let fixture = one_comment("artefact", &server);
    fixture.write("flagged.json", flag_change(142).to_string());
    let first = take_files(&fixture, &["flagged.json"]);
    assert_eq!(changed_items(&first), ["I001", "B001", "M001", "STATUS001"], "{first}");
    let report = run(&fixture, &["--json"]).json();
    assert_eq!(server.requests().len(), 3, "{report}");
    let problems = report["problems"].to_string();
    assert!(problems.contains("a change was left out: B001: an open item is left out"), "{problems}");
    let delivery = artefact(&fixture, "delivery-state")["content"].clone();
    let ids = |list: &str| delivery[list].as_array().unwrap().iter().map(|item| item["id"].clone()).collect::<Vec<_>>();
    // The second blocker is what rules make of the signal.
    assert_eq!((ids("blockers"), ids("milestones")), (vec![json!("B001"), json!("B002")], vec![json!("M001")]));
    assert_eq!(delivery["overall_status"], "amber", "{delivery}");
}
