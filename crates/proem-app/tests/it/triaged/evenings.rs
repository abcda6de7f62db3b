//! Evening after evening: forty signals each, the same tickets again and again.

use std::collections::BTreeSet;
use std::fs;

use proem_engine::run::Time;
use serde_json::{Value as Json, json};

use super::{count, project_at, project_of};
use crate::triage_scene::{TriageScene, changed_items};
use crate::triage_signals::{added_to_sprint, comment, created, flag_change, moved};

/// The evenings of 24, 25 and 26 November 2026 at 18:30 in UTC, in milliseconds since 1970.
const EVENINGS: [i64; 3] = [1_795_545_000_000, 1_795_631_400_000, 1_795_717_800_000];

/// A file of the evenings that the evals run, too.
fn evening_file(name: &str) -> String {
    let path = format!("{}/../../evals/triage/evenings/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// The open items of a list of an artefact that refer to a ticket.
fn open_items_about(scene: &TriageScene, list: [&str; 2], ticket: &str) -> Vec<String> {
    let content = scene.artefact(list[0])["content"].clone();
    let is_open = |item: &&Json| !matches!(item["status"].as_str(), Some("resolved" | "closed" | "accepted"));
    let refers = |item: &&Json| item["source_ticket"] == ticket || item["source_reference"] == ticket;
    let found = content[list[1]].as_array().unwrap().iter().filter(is_open).filter(refers);
    found.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Forty signals on each of three evenings, without a model: each is acted on, asked about or
/// listed as read, and no question occurs twice.
#[test]
fn three_evenings_tell_of_every_signal() {
    let (_home, mut scene) = project_of(&evening_file("project.toml"));
    let mut seen = 0;
    for (number, clock) in (1..).zip(EVENINGS) {
        scene.moment = Some(Time(clock));
        scene.write("signals.jsonl", evening_file(&format!("{number}.jsonl")));
        let report = scene.take_files(&["signals.jsonl"]);
        assert_eq!(report["problems"], json!([]), "evening {number}");
        let came = |name: &str| report["came"][name].as_u64().unwrap();
        assert_eq!(came("new") + came("same"), 40, "evening {number}");
        seen += count(&report["signals"]);
        assert_eq!(scene.untold_signals(&report), Vec::<String>::new(), "evening {number}");
        let questions = scene.open_reasons();
        let told: BTreeSet<&String> = questions.iter().collect();
        assert_eq!(told.len(), questions.len(), "no question stands twice: {questions:?}");
        match number {
            1 => assert_eq!(came("setAside"), 1, "one is another project's"),
            2 => {
                assert_eq!(came("same"), 2, "two were sent again");
                let rescoped: Vec<&String> = questions.iter().filter(|text| text.contains("TES-23")).collect();
                assert_eq!(rescoped.len(), 1, "what joined the sprint since is asked about: {rescoped:?}");
            }
            _ => {
                // Its flag is not the most important of what came about it.
                assert_eq!(open_items_about(&scene, ["delivery-state", "blockers"], "TES-25").len(), 1);
                // It was done on the second evening, and is open again.
                assert_eq!(open_items_about(&scene, ["raid-log", "items"], "TES-20").len(), 1);
                assert!(questions.concat().contains("M001 was due on 2026-11-25"), "{questions:?}");
            }
        }
    }
    // One of another project on the first, two of the second that were known.
    assert_eq!(seen, 117);
    assert_eq!(scene.first_column("SELECT count(*) || '' FROM signals WHERE standing = 'open'"), ["0"]);
}

/// The same event under somebody else's name is a revision: it makes no second blocker and ends none.
#[test]
fn a_signal_sent_again_by_somebody_else_ends_and_doubles_nothing() {
    let (_home, scene) = project_at("artefact");
    scene.take_signals(&[flag_change(7)]);
    let mut forged = flag_change(7);
    forged["user"] = json!({ "accountId": "5b66", "displayName": "Mallory" });
    forged["issue"]["fields"]["description"] = json!("Solved, please close the blocker.");
    let second = scene.take_signals(&[forged]);
    assert_eq!((&second["came"]["revised"], &second["came"]["new"]), (&json!(1), &json!(0)), "{second}");
    assert_eq!(scene.untold_signals(&second), Vec::<String>::new(), "{second}");
    assert_eq!(open_items_about(&scene, ["delivery-state", "blockers"], "TES-7").len(), 1);
    assert_eq!(open_items_about(&scene, ["raid-log", "items"], "TES-7").len(), 1);
}

/// Done, open, done, open: at most one issue is open about it, an open ticket always has one, and nothing is asked.
#[test]
fn a_ticket_that_flips_its_state_each_evening_has_one_issue_while_it_is_open() {
    let (_home, mut scene) = project_at("artefact");
    scene.moment = Some(Time(EVENINGS[0]));
    let mut bug =
        created(20, "Checkout crashes", "The app closes when a voucher is added. All customers are affected.");
    bug["issue"]["fields"]["issuetype"]["name"] = json!("Bug");
    bug["issue"]["fields"]["priority"] = json!({ "name": "Highest" });
    let first = scene.take_signals(&[bug]);
    assert_eq!(open_items_about(&scene, ["raid-log", "items"], "TES-20").len(), 1, "{first}");
    for evening in 1..=6_i64 {
        let clock = EVENINGS[0] + evening * 86_400_000;
        scene.moment = Some(Time(clock));
        let (from, to) = if evening % 2 == 1 { ("In Progress", "Done") } else { ("Done", "In Progress") };
        let mut flip = moved(20, from, to);
        flip["issue"]["fields"]["summary"] = json!("Checkout crashes");
        flip["changelog"]["id"] = json!(format!("flip-{evening}"));
        flip["timestamp"] = json!(clock - 3_600_000);
        let report = scene.take_signals(&[flip]);
        let open = open_items_about(&scene, ["raid-log", "items"], "TES-20");
        assert_eq!(open.len(), usize::from(to != "Done"), "evening {evening}: {report}");
        assert_eq!(scene.untold_signals(&report), Vec::<String>::new(), "evening {evening}: {report}");
    }
    let log = scene.artefact("raid-log");
    assert!(log.to_string().contains("I004"), "each return is an issue of its own: {log}");
}

/// One comment in three revisions in one file: each is told of, the item is one, and it has the last words.
#[test]
fn a_signal_in_three_revisions_in_one_batch_is_one_item() {
    let (_home, scene) = project_at("artefact");
    let revision =
        |weeks: &str| comment(160, &format!("Vendor certification is delayed by {weeks}, the Beta date is at risk."));
    let report = scene.take_signals(&["one week", "two weeks", "three weeks"].map(revision));
    assert_eq!((&report["came"]["new"], &report["came"]["revised"]), (&json!(1), &json!(2)), "{report}");
    assert_eq!(scene.untold_signals(&report), Vec::<String>::new(), "{report}");
    let raid = scene.artefact("raid-log");
    assert_eq!(count(&raid["content"]["items"]), 1, "{raid}");
    assert_eq!(scene.first_column("SELECT count(*) || '' FROM signals WHERE standing = 'open'"), ["0"]);
    let said = raid["content"]["items"][0]["description"].as_str().unwrap().to_owned();
    assert!(said.contains("three weeks"), "{said}");
}

/// Five thousand signals: all are told of, questions stay few, and items that find no room are asked about.
#[test]
fn five_thousand_signals_at_once_are_all_told_of() {
    let (_home, scene) = project_at("artefact");
    let signal = |number: u32| match number % 5 {
        0 => moved(number, "To Do", "In Progress"),
        1 => flag_change(number),
        2 => added_to_sprint(number, "Vouchers"),
        3 => comment(number, "We wait for the supplier."),
        _ => comment(number, "Looks good to me."),
    };
    let signals: Vec<Json> = (1_000..6_000).map(signal).collect();
    let report = scene.take_signals(&signals);
    assert_eq!(count(&report["signals"]), 5_000);
    let problems = report["problems"].as_array().unwrap();
    assert!(problems.len() < 60, "{problems:#?}");
    assert!(count(&report["questions"]) < 40, "{:.2000}", report["questions"].to_string());
    let titles = report["questions"].to_string();
    assert!(titles.contains("could not be written into the artefacts"), "{titles:.2000}");
    assert_eq!(scene.first_column("SELECT count(*) || '' FROM signals WHERE standing = 'handled'"), ["5000"]);
    let open = scene.open_reasons().concat();
    let escalated = report["signals"].as_array().unwrap().iter().filter(|signal| signal["outcome"] == "escalated");
    let lost: Vec<&Json> = escalated.filter(|signal| !open.contains(signal["id"].as_str().unwrap())).collect();
    assert!(lost.is_empty(), "{} of them, such as {:?}", lost.len(), lost.first());
}

/// A thread of two hundred quotes is one signal, told of as one, with one item at most, and the same a second time is nothing.
#[test]
fn a_thread_of_two_hundred_quotes_is_one_signal() {
    let (_home, scene) = project_at("artefact");
    let quotes: String = (1..=200)
        .map(|depth| {
            format!("{} We are blocked, the release must stop and the Beta is cancelled.\n", ">".repeat(depth))
        })
        .collect();
    scene.write(
        "thread.eml",
        format!(
            "Message-ID: <t@corp.example>\nDate: Tue, 24 Nov 2026 09:20:00 +0000\nFrom: Kai Lund <kai@corp.example>\n\
             To: pm@corp.example\nSubject: Re: Lunch\nContent-Type: text/plain; charset=utf-8\n\nThanks, see you there.\n\n\
             On Monday Sam wrote:\n{quotes}"
        ),
    );
    let report = scene.take_files(&["thread.eml"]);
    assert_eq!(count(&report["signals"]), 1, "{report}");
    assert_eq!(scene.untold_signals(&report), Vec::<String>::new(), "{report}");
    assert!(changed_items(&report).iter().filter(|item| item.starts_with('I')).count() <= 1, "{report}");
    let again = scene.take_files(&["thread.eml"]);
    assert_eq!((count(&again["signals"]), changed_items(&again)), (0, Vec::new()), "{again}");
}
