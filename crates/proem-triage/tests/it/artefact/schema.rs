//! The schemas of proposed changes, and that they and the table of fields say the same.

use std::collections::BTreeSet;

use proem_triage::artefact::{
    ArtefactField, ArtefactItemId, ArtefactItemKind, ArtefactKind, FieldForm, FieldNeed, ItemStatus, proposal_contract,
};
use serde_json::{Value as Json, json};

/// The definitions of a contract that a kind of item is written by.
fn shape_of_kind(kind: ArtefactItemKind) -> &'static str {
    match kind {
        ArtefactItemKind::Health => "DeliveryContent",
        ArtefactItemKind::Sprint => "SprintShape",
        ArtefactItemKind::Milestone => "MilestoneShape",
        ArtefactItemKind::Blocker => "BlockerShape",
        ArtefactItemKind::NextAction => "",
        ArtefactItemKind::Backlog => "BacklogContent",
        ArtefactItemKind::Highlight => "HighlightShape",
        ArtefactItemKind::RefinementCandidate => "CandidateShape",
        ArtefactItemKind::Decision => "DecisionShape",
        _ => "RaidItemShape",
    }
}

/// A schema behind its reference, and the type that is not null of a type that may be.
fn resolved_schema<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let schema = schema["anyOf"].get(0).unwrap_or(schema);
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

#[test]
fn fields_have_the_names_words_and_maxima_of_the_schemas() {
    let mut compared = 0;
    for kind in ArtefactItemKind::ALL.into_iter().filter(|kind| *kind != ArtefactItemKind::NextAction) {
        let contract = proposal_contract(kind.artefact()).unwrap();
        let root = contract.schema();
        let shape = &root["$defs"][shape_of_kind(kind)];
        let required: BTreeSet<&str> = shape["required"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        for rule in kind.fields() {
            let name = rule.field.as_str();
            let property = resolved_schema(root, &shape["properties"][name]);
            assert_eq!(required.contains(name), rule.need != FieldNeed::Optional, "{kind:?} {name}");
            match rule.form {
                FieldForm::Text(most) => assert_eq!(property["maxLength"], most, "{kind:?} {name}"),
                FieldForm::Ticket => assert_eq!(property["maxLength"], FieldForm::TICKET, "{kind:?} {name}"),
                FieldForm::Word(words) => assert_eq!(property["enum"], json!(words), "{kind:?} {name}"),
                FieldForm::Date => assert_eq!(property["format"], "date-time", "{kind:?} {name}"),
                FieldForm::RaidItems(1) => assert_eq!(property["maxLength"], 16, "{kind:?} {name}"),
                FieldForm::RaidItems(most) | FieldForm::Options(most) => {
                    assert_eq!(property["maxItems"], most, "{kind:?} {name}");
                }
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 70);
}

#[test]
fn a_proposal_in_the_form_of_the_seed_is_accepted() {
    let delivery = proposal_contract(ArtefactKind::DeliveryState).unwrap();
    let update = json!({
        "project_id": "0b9c2a4e-0000-4000-8000-000000000001",
        "changes_summary": "The payment provider is late.",
        "content": {
            "overall_status": "amber",
            "status_summary": "One blocker.",
            "current_sprint": {
                "name": "Sprint 12", "start_date": "2026-11-16T00:00:00Z", "end_date": "2026-11-27T00:00:00Z",
                "goal": "Refunds",
                "progress": { "total_points": 34, "completed_points": 8, "in_progress_points": 13.5,
                    "blocked_points": null }
            },
            "milestones": [{ "name": "Beta", "due_date": "2026-12-18T00:00:00Z", "status": "on_track" }],
            "blockers": [{ "id": "B001", "description": "No sandbox", "raised_date": "2026-11-20T09:00:00Z",
                "severity": "critical", "raid_item": "I001" }],
            "key_metrics": { "velocity_trend": "unknown", "avg_cycle_time_days": null, "open_blockers": 1,
                "active_risks": 0 },
            "next_actions": ["Ask for a sandbox."]
        },
        "signals_incorporated": ["jira:1"]
    });
    assert!(delivery.accepts(&update));
    let changed = |pointer: &str, value: Json| {
        let mut update = update.clone();
        *update.pointer_mut(pointer).unwrap() = value;
        delivery.accepts(&update)
    };
    assert!(changed("/content/current_sprint", Json::Null));
    assert!(!changed("/content/overall_status", json!("blue")));
    assert!(!changed("/content/status_summary", json!("a".repeat(2_001))));
    assert!(!changed("/content/milestones/0/due_date", json!("soon")));
    assert!(!changed("/content/next_actions", json!(vec!["a"; 51])));
    let mut without = update.clone();
    without["content"].as_object_mut().unwrap().remove("current_sprint");
    assert!(!delivery.accepts(&without), "no sprint is said, not left out");
}

#[test]
fn every_artefact_has_a_contract() {
    let names = ArtefactKind::ALL.map(|kind| proposal_contract(kind).unwrap().tool().name.clone());
    assert_eq!(names, ["update_raid_log", "update_delivery_state", "update_backlog_summary", "update_decision_log"]);
}

#[test]
fn ids_have_one_writing_and_one_owner() {
    for (text, kind) in [
        ("R001", Some(ArtefactItemKind::Risk)),
        ("D001", Some(ArtefactItemKind::Dependency)),
        ("DEC001", Some(ArtefactItemKind::Decision)),
        ("R1000", Some(ArtefactItemKind::Risk)),
        ("R01", None),
        ("R0001", None),
        ("R000", None),
        ("r001", None),
        ("X001", None),
        ("R", None),
        ("001", None),
        ("R001 ", None),
        ("R99999999999", None),
    ] {
        assert_eq!(ArtefactItemId::parse(text).map(|id| id.kind), kind, "{text}");
    }
    let prefixes: BTreeSet<&str> = ArtefactItemKind::ALL.into_iter().map(ArtefactItemKind::prefix).collect();
    assert_eq!(prefixes.len(), ArtefactItemKind::ALL.len());
}

#[test]
fn words_are_read_as_they_are_written() {
    for status in ItemStatus::ALL {
        assert_eq!(ItemStatus::parse(status.as_str()), Some(status));
    }
    for field in ArtefactField::ALL {
        assert_eq!(ArtefactField::parse(field.as_str()), Some(field));
    }
    for kind in ArtefactKind::ALL {
        assert_eq!(ArtefactKind::parse(kind.as_str()), Some(kind));
    }
}
