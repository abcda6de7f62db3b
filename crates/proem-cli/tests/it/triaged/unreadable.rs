//! An artefact of the records that can't be read: it is set aside with a question, and the others go on.

use serde_json::{Value as Json, json};

use super::{artefact, count, project, triaged};
use crate::approvals::scene::answered;
use crate::fixture::Fixture;
use crate::records::{records_file, sql};
use crate::triage_scene::changed_items;
use crate::triage_signals::{added_to_sprint, flag_change, moved};

fn damage(fixture: &Fixture, kind: &str) {
    let connection = rusqlite::Connection::open(records_file(fixture)).unwrap();
    let newest = format!("SELECT content FROM artefact_versions WHERE kind = '{kind}' ORDER BY version DESC LIMIT 1");
    connection
        .execute_batch(&format!("UPDATE contents SET bytes = CAST('{{' AS BLOB) WHERE hash = ({newest})"))
        .unwrap();
}

/// A ticket of the backlog that nobody has touched for long.
fn listing(number: u32) -> Json {
    json!({ "id": number.to_string(), "key": format!("TES-{number}"), "fields": {
        "project": { "key": "TES" }, "summary": "Vouchers", "priority": { "name": "High" },
        "updated": "2026-10-01T10:00:00.000+0000",
        "status": { "name": "In Progress", "statusCategory": { "key": "indeterminate" } },
    } })
}

fn versions(fixture: &Fixture, kind: &str) -> String {
    sql(fixture, &format!("SELECT max(version) || '' FROM artefact_versions WHERE kind = '{kind}'")).concat()
}

#[test]
fn an_unreadable_log_stops_neither_the_backlog_nor_the_project_and_is_restored_by_a_person() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(7), moved(1, "To Do", "In Progress")]);
    triaged(&fixture, &[flag_change(8)]);
    assert_eq!(versions(&fixture, "raid_log"), "2");
    damage(&fixture, "raid_log");
    let report = triaged(&fixture, &[flag_change(9), listing(3)]);
    let questions = report["questions"].to_string();
    assert!(questions.contains("An artefact of the records can't be read"), "{report}");
    assert!(changed_items(&report).iter().any(|item| item.starts_with('H')), "the backlog goes on: {report}");
    assert_eq!((versions(&fixture, "raid_log"), versions(&fixture, "delivery_state")), ("2".into(), "2".into()));
    let blocked = report["signals"].as_array().unwrap().iter().find(|one| one["category"] == "blocker").unwrap();
    assert_eq!(blocked["outcome"], "escalated", "whoever restores the log hears of it: {report}");
    // It is asked once, and reading goes on with the version that can be read.
    let again = triaged(&fixture, &[moved(2, "To Do", "In Progress")]);
    assert_eq!(count(&again["questions"]), 0, "{again}");
    assert_eq!(fixture.proem(&["triage", "status"]).code(), 0);
    let id = report["questions"][0]["id"].as_str().unwrap();
    let shown = fixture.proem(&["escalations", "show", id]);
    assert!(shown.stdout().contains("proem artefacts restore raid-log 1"), "{}", shown.transcript());
    let Some((said, code)) = answered(&fixture, &["artefacts", "restore", "raid-log", "1"], "y") else { return };
    assert_eq!(code, 0, "{said}");
    assert_eq!(versions(&fixture, "raid_log"), "3");
    // Of the item that version 2 added the log knows the id: it is there to be filled in, and given to no other.
    let report = triaged(&fixture, &[flag_change(10)]);
    let changed = changed_items(&report);
    assert!(changed.contains(&"I003") && changed.contains(&"B003") && !changed.contains(&"I002"), "{report}");
    let log = artefact(&fixture, "raid-log");
    assert_eq!(count(&log["content"]["items"]), 3, "{log}");
    assert!(log.to_string().contains("I002, whose words could not be read"), "{log}");
}

#[test]
fn nothing_is_decided_into_a_log_that_can_not_be_read() {
    let fixture = project("artefact");
    let added = [added_to_sprint(150, "Gift cards"), added_to_sprint(151, "Loyalty points")];
    let first = triaged(&fixture, &added[..1])["questions"][0]["id"].as_str().unwrap().to_owned();
    let second = triaged(&fixture, &added[1..])["questions"][0]["id"].as_str().unwrap().to_owned();
    let Some((said, code)) = answered(&fixture, &["escalations", "decide", &first, "A"], "y") else { return };
    assert_eq!(code, 0, "{said}");
    damage(&fixture, "decision_log");
    let Some((said, code)) = answered(&fixture, &["escalations", "decide", &second, "A"], "y") else { return };
    assert!(code != 0 && said.contains("nothing was decided: the decision log can't be read"), "{said}");
    assert_eq!(versions(&fixture, "decision_log"), "1");
}

#[test]
fn nobody_restores_a_version_without_a_person() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(7)]);
    let alone = fixture.proem(&["artefacts", "restore", "raid-log", "1"]);
    assert!(alone.code() != 0 && versions(&fixture, "raid_log") == "1", "{}", alone.transcript());
}
