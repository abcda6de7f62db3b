//! A model's proposals, as operations.

use proem_guard::Untrusted;
use proem_text::{Label, Source};
use proem_triage::artefact::{
    Artefact, ArtefactContext, ArtefactField as F, ArtefactItemKind as K, ArtefactKind, ArtefactOperation,
    proposal_contract, proposed_operations,
};
use serde_json::{Value as Json, json};

use super::{PROJECT, Project, id, words};
use crate::NOW;

/// The operations that a proposal of a model comes to, after its contract accepted it.
#[track_caller]
fn operations(project: &Project, kind: ArtefactKind, update: &Json) -> Result<Vec<ArtefactOperation>, Vec<String>> {
    let label = Label::from_source(Source::named("model")).join(&Label::from_source(Source::named("jira/comment")));
    let problems = proposal_contract(kind).unwrap().problems(&Untrusted::new(update.clone(), label.clone()));
    let problems: Vec<String> = problems.iter().map(proem_engine::contract::Problem::in_words).collect();
    assert!(problems.is_empty(), "{problems:?}");
    let others: Vec<&Artefact> = project.artefacts.iter().collect();
    let context = ArtefactContext {
        now: NOW,
        project: PROJECT,
        actor: &project.actor,
        causes: &project.causes,
        known: &project.known,
        others: &others,
    };
    proposed_operations(project.artefact(kind), &Untrusted::new(update.clone(), label), &context)
        .map_err(|all| words(&all))
}

/// The delivery state of [`Project::running`] as a full content.
fn delivery_content(project: &Project) -> Json {
    json!({
        "project_id": PROJECT,
        "changes_summary": "The provider said so.",
        "content": {
            "overall_status": "green",
            "status_summary": "As planned.",
            "current_sprint": null,
            "milestones": [],
            "blockers": [{ "id": "B001", "description": "No sandbox of the provider", "severity": "critical",
                "raised_date": "2026-11-23T00:00:00Z", "source_ticket": "PAY-7", "raid_item": "I001" }],
            "key_metrics": { "velocity_trend": "increasing", "avg_cycle_time_days": 0.1, "open_blockers": 0,
                "active_risks": 77 },
            "next_actions": []
        },
        "signals_incorporated": [project.causes[0].id]
    })
}

const DELIVERY: ArtefactKind = ArtefactKind::DeliveryState;

#[test]
fn a_content_that_says_the_same_is_no_operation() {
    let mut project = Project::running();
    assert_eq!(operations(&project, DELIVERY, &delivery_content(&project)), Ok(vec![]));
    let mut update = delivery_content(&project);
    update["content"]["next_actions"] = json!(["Call the provider."]);
    update["content"]["milestones"] =
        json!([{ "name": "Beta", "due_date": "2026-12-18T00:00:00Z", "status": "on_track" }]);
    let all = operations(&project, DELIVERY, &update).unwrap();
    project.take(DELIVERY, &all);
    assert_eq!(operations(&project, DELIVERY, &update), Ok(vec![]));
}

#[test]
fn what_differs_is_an_operation_and_an_inference() {
    let mut project = Project::running();
    let mut update = delivery_content(&project);
    update["content"]["overall_status"] = json!("amber");
    update["content"]["status_summary"] = json!("The provider has no sandbox.");
    update["content"]["blockers"][0]["severity"] = json!("high");
    let all = operations(&project, DELIVERY, &update).unwrap();
    assert_eq!(all.len(), 2);
    project.take(DELIVERY, &all);
    let artefact = project.artefact(DELIVERY);
    let summary = artefact.item(id("STATUS001")).unwrap().text(F::StatusSummary).unwrap();
    assert_eq!(summary.certainty().as_str(), "inference");
    assert_eq!(super::super::sources_of(summary.words()), ["jira/comment", "model"]);
    let blocker = artefact.item(id("B001")).unwrap();
    assert_eq!(blocker.word(F::Severity), Some("high"));
    // A text that the model repeated stays as it was.
    assert_eq!(super::super::sources_of(blocker.text(F::Description).unwrap().words()), ["jira/comment"]);
}

#[test]
fn an_item_that_vanished_is_refused() {
    let mut project = Project::running();
    let mut update = delivery_content(&project);
    update["content"]["blockers"] = json!([]);
    let vanished = "B001: an open item is left out; nothing is deleted, close it with a reason";
    assert_eq!(operations(&project, DELIVERY, &update), Err(vec![vanished.to_owned()]));
    project.take(DELIVERY, &[project.close("B001")]);
    assert_eq!(operations(&project, DELIVERY, &update), Ok(vec![]));
}

#[test]
fn another_project_and_another_signal_are_refused() {
    let project = Project::running();
    let mut update = delivery_content(&project);
    update["project_id"] = json!("another");
    update["signals_incorporated"] = json!(["jira:unknown"]);
    let expected =
        ["this is another project's; set it aside", "this revision of a signal is not known; name one that is"];
    assert_eq!(operations(&project, DELIVERY, &update), Err(expected.map(str::to_owned).to_vec()));
}

#[test]
fn added_and_modified_items_of_the_raid_log_are_operations() {
    let mut project = Project::running();
    let mut update = json!({
        "project_id": PROJECT,
        "changes_summary": "Two comments.",
        "items_added": [{ "id": "D001", "type": "dependency", "title": "Sandbox", "description": "By the provider",
            "severity": "medium", "status": "open", "raised_date": "2026-11-20T00:00:00Z",
            "due_date": "2026-12-01T00:00:00+01:00", "mitigation": "Ask weekly.", "source": "agent_detected" }],
        "items_modified": [{ "id": "I001", "changes": { "status": "mitigating", "owner": "Bo" },
            "change_reason": "Bo took it." }],
        "signals_incorporated": [project.causes[0].id]
    });
    let all = operations(&project, ArtefactKind::RaidLog, &update).unwrap();
    let applied = project.take(ArtefactKind::RaidLog, &all);
    assert_eq!(applied.entry.changes.len(), 3);
    let dependency = applied.artefact.open(K::Dependency).next().unwrap();
    assert_eq!(dependency.0, id("D001"));
    assert_eq!(dependency.1.date(F::DueDate).unwrap().0, 1_796_079_600_000);
    update["items_added"][0]["id"] = json!("R002");
    assert_eq!(
        operations(&project, ArtefactKind::RaidLog, &update),
        Err(vec!["ids are given in sequence; the next is D002".to_owned()])
    );
}

#[test]
fn backlog_and_decisions_are_read_too() {
    let mut project = Project::running();
    let counts = json!({ "to_do": 1, "in_progress": null, "done_this_sprint": 0, "blocked": 0 });
    let priorities = json!({ "critical": 0, "high": 0, "medium": 1, "low": null });
    let update = json!({
        "project_id": PROJECT, "changes_summary": "Synced.",
        "content": { "source": "jira", "last_synced": "2026-11-22T10:00:00Z",
            "summary": { "total_items": 9000, "by_status": counts, "by_priority": priorities },
            "highlights": [{ "ticket_id": "PAY-8", "title": "Refunds", "flag": "stale", "detail": "Nine days",
                "suggested_action": "Ask Ann." }],
            "refinement_candidates": [{ "ticket_id": "PAY-7", "title": "Sandbox", "issue": "No criteria" }],
            "scope_notes": "Two stories were added." },
        "signals_incorporated": [project.causes[0].id]
    });
    let all = operations(&project, ArtefactKind::BacklogSummary, &update).unwrap();
    assert_eq!(project.take(ArtefactKind::BacklogSummary, &all).entry.changes.len(), 3);
    assert_eq!(operations(&project, ArtefactKind::BacklogSummary, &update), Ok(vec![]));
    let update = json!({
        "project_id": PROJECT, "changes_summary": "Decided.",
        "decisions_added": [{ "id": "DEC001", "title": "Provider", "context": "It is late.",
            "options_considered": [{ "option": "Wait", "pros": ["Cheap"], "cons": [] }], "decision": "Wait",
            "rationale": "Cheap", "made_by": "agent", "date": "2026-11-22T10:00:00Z", "status": "active",
            "related_raid_items": ["R001", "I001"] }],
        "signals_incorporated": [project.causes[0].id]
    });
    let all = operations(&project, ArtefactKind::DecisionLog, &update).unwrap();
    let applied = project.take(ArtefactKind::DecisionLog, &all);
    let decision = applied.artefact.item(id("DEC001")).unwrap();
    assert_eq!(decision.raid_items(F::RelatedRaidItems).len(), 2);
    assert_eq!(decision.statements().count(), 6);
}
