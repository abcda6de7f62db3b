//! Endings as a person meets them: a question, and what its choice changes.

use proem_store::record::EscalationState;
use serde_json::{Value as Json, json};

use super::{artefact, count, project, triaged};
use crate::approvals::scene::answered;
use crate::fixture::Fixture;
use crate::terminal::scene::proem;
use crate::terminal::screen::{WIDE, start_on};
use crate::triage_scene::{changed_items, signal_outcomes};
use crate::triage_signals::{change_signal, flag_change, moved};

/// Somebody takes the flag off. The ticket is not done.
fn unflagged(number: u32) -> Json {
    let flag = json!([{ "field": "Flagged", "fromString": "Impediment", "toString": "" }]);
    change_signal(number, "Payment provider sandbox", "In Progress", &flag)
}

fn blocker(fixture: &Fixture) -> Json {
    artefact(fixture, "delivery-state")["content"]["blockers"].clone()
}

/// The id of the one question that waits.
fn question(fixture: &Fixture) -> String {
    let questions = fixture.triage().questions(Some(EscalationState::Open));
    assert_eq!(questions.len(), 1, "{questions:?}");
    questions[0].id.0.clone()
}

#[test]
fn a_blocker_of_a_ticket_that_goes_on_ends_by_a_persons_choice() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(142)]);
    let report = triaged(&fixture, &[unflagged(142)]);
    assert_eq!(signal_outcomes(&report), ["escalated progress low"]);
    assert!(!changed_items(&report).contains(&"B001"), "{report}");
    assert_eq!(count(&blocker(&fixture)), 1);

    let id = question(&fixture);
    let page = fixture.proem(&["escalations", "show", &id]).stdout().to_owned();
    for said in ["B001", "I001", "would stand", "closed", "Payment provider sandbox"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let (said, code) = answered(&fixture, &["escalations", "decide", &id, "A", "--because", "it runs"], "y").unwrap();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("decided; changed B001, I001") || said.contains("decided; changed I001, B001"), "{said}");
    assert_eq!(count(&blocker(&fixture)), 0);
    assert_eq!(artefact(&fixture, "raid-log")["content"]["items"][0]["status"], "mitigating");
    assert_eq!(count(&artefact(&fixture, "decision-log")["content"]["items"]), 1);
    // The colour is no rule's to improve, since no ticket is done.
    let report = triaged(&fixture, &[moved(7, "To Do", "In Progress")]);
    assert_eq!(artefact(&fixture, "delivery-state")["content"]["overall_status"], "amber", "{report}");
}

/// A choice is void once its item has changed.
#[test]
fn a_choice_whose_item_has_changed_since_is_refused() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(142)]);
    triaged(&fixture, &[unflagged(142)]);
    let id = question(&fixture);
    triaged(&fixture, &[moved(142, "In Progress", "Done")]);
    assert_eq!(count(&blocker(&fixture)), 0, "the tracker's own event");
    let (said, code) = answered(&fixture, &["escalations", "decide", &id, "A"], "y").unwrap();
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("has changed since this was offered"), "{said}");
    let (said, code) = answered(&fixture, &["escalations", "decide", &id, "B"], "y").unwrap();
    assert_eq!(code, 0, "{said}");
}

/// The decision, its entry in the log and the changed items are there together or not at all.
#[test]
fn a_process_that_ends_leaves_a_choice_and_its_changes_together() {
    for (place, is_decided) in [("before-decision", false), ("after-decision", true)] {
        let mut fixture = project("artefact");
        triaged(&fixture, &[flag_change(142)]);
        triaged(&fixture, &[unflagged(142)]);
        let decide = ["escalations", "decide", &question(&fixture), "A"].map(str::to_owned);
        let decide: Vec<&str> = decide.iter().map(String::as_str).collect();
        fixture.set("PROEM_FAILPOINT", place);
        let mut terminal = start_on(WIDE, proem(&fixture, &decide)).unwrap();
        terminal.until("[y/N]");
        terminal.press("y\n");
        assert_ne!(terminal.end().code, Some(0), "{place}");
        fixture.set("PROEM_FAILPOINT", "");
        assert_eq!(count(&blocker(&fixture)), usize::from(!is_decided), "{place}");
        let logged = artefact(&fixture, "decision-log")["content"]["items"].as_array().map_or(0, Vec::len);
        assert_eq!(logged, usize::from(is_decided), "{place}");
    }
}
