//! Asana's events, tasks and stories, after its documents.

use proem_triage::{SenderAuthentication, SignalArrival, SignalLog};
use serde_json::json;

use super::{check_fixtures, field, fixture, one, read_as, sources, text};

#[test]
fn what_each_fixture_is() {
    check_fixtures(
        "asana",
        &[
            ("01-task-added.json", "ticket_created 2025-10-09T08:53:20.123Z Refunds fail"),
            ("02-task-changed.json", "ticket_updated 2025-10-09T08:53:20.123Z Refunds fail"),
            ("03-comment.json", "comment_created 2025-10-09T08:53:20.123Z Refunds fail"),
            ("04-system-story.json", "ticket_updated 2025-10-09T08:53:20.123Z Refunds fail"),
            ("05-removed-and-deleted.json", "ticket_updated 2025-10-09T08:53:20.123Z Refunds fail"),
            ("05-removed-and-deleted.json", "ticket_deleted 2025-10-09T08:54:00.000Z Refunds fail"),
            ("05-removed-and-deleted.json", "comment_deleted 2025-10-09T08:55:00.000Z –"),
            ("07-nobody-and-project.json", "unknown:project:changed 2025-10-09T08:53:20.123Z Payments"),
            ("08-task.json", "ticket_listed 2025-10-09T08:53:20.123Z Refunds fail"),
            ("09-tasks.json", "ticket_listed – One"),
            ("09-tasks.json", "ticket_listed – Two"),
            ("10-story.json", "comment_created 2025-10-09T08:53:20.123Z Refunds fail"),
            ("11-bare-tasks.json", "ticket_listed 2025-10-09T08:53:20.123Z Refunds fail"),
            ("11-bare-tasks.json", "ticket_listed 2025-10-09T08:53:20.123Z Other"),
            (
                "12-malformed.json",
                "malformed: item 0: an event without `resource.gid` or `action`; nothing tells what happened",
            ),
            (
                "12-malformed.json",
                "malformed: item 1: an event without `resource.gid` or `action`; nothing tells what happened",
            ),
            ("12-malformed.json", "malformed: item 2: no object; a signal is one"),
            ("13-attachment-and-undeleted.json", "unknown:attachment:added 2025-10-09T08:53:20.123Z –"),
            ("13-attachment-and-undeleted.json", "ticket_updated 2025-10-09T08:53:20.123Z Refunds fail"),
        ],
    );
}

#[test]
fn what_is_read_of_a_task_and_a_story() {
    let task = read_as(&fixture("asana", "08-task.json"), &[]).signals.remove(0);
    assert_eq!(text(task.ticket.as_ref()).as_deref(), Some("1200000000000042"));
    assert_eq!(text(task.project.as_ref()).as_deref(), Some("1200000000000007"));
    for (place, expected) in [
        ("/description", json!("They time out.\nSee the bank.")),
        ("/section", json!("Blocked")),
        ("/assignee", json!("Bob")),
        ("/due", json!("2025-10-15")),
        ("/completed", json!(false)),
        ("/custom_fields/0/display_value", json!("High")),
        ("/other/permalink_url", json!("https://app.asana.com/0/7/42")),
    ] {
        assert_eq!(field(&task, place), expected, "{place}");
    }
    assert_eq!(sources(&task, "/html_notes"), ["asana/description"]);
    let story = read_as(&fixture("asana", "10-story.json"), &[]).signals.remove(0);
    assert_eq!(text(story.ticket.as_ref()).as_deref(), Some("1200000000000042"));
    assert_eq!(sources(&story, "/comment"), ["asana/comment"]);
    assert_eq!(sources(&story, "/comments"), ["asana/comment"]);
    assert_eq!(story.sender.unwrap().authentication, SenderAuthentication::SourceAccount);
}

#[test]
fn an_event_that_comes_again_is_the_same_and_a_task_that_changed_a_revision() {
    let events = fixture("asana", "02-task-changed.json");
    let mut log = SignalLog::default();
    let mut arrive = |text: &str| log.add(read_as(text, &[]).signals.remove(0));
    assert_eq!((arrive(&events), arrive(&events)), (SignalArrival::New, SignalArrival::Same));
    assert_eq!(arrive(&events.replace("assignee", "due_on")), SignalArrival::New);
    let task = fixture("asana", "08-task.json");
    let done = task.replace("\"completed\": false", "\"completed\": true");
    assert_eq!((arrive(&task), arrive(&done)), (SignalArrival::New, SignalArrival::Revised));
    let project = one(&json!({ "gid": "5", "resource_type": "task", "name": "No project" }));
    assert!(project.notes.contains(&"project unknown".to_owned()), "{:?}", project.notes);
}
