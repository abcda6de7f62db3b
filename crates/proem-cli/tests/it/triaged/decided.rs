//! The decision log's record of a question: the options with their reasons, the choice, and the consequence.

use proem_store::record::EscalationState;
use serde_json::{Value as Json, json};

use super::models::{TEXT, calls_reply, classified, comment_id, one_comment, run, sanitised};
use super::{artefact, project, triaged};
use crate::approvals::scene::answered;
use crate::fixture::Fixture;
use crate::run::start;
use crate::triage_scene::changed_items;
use crate::triage_signals::{charter_text, flag_change};

/// A model's question whose options move a ticket and a milestone.
fn question_call(id: &str) -> Json {
    let option = |id: &str, label: &str, pros: Json, cons: Json, actions: Json| {
        json!({ "id": id, "label": label, "description": "as it says", "pros": pros, "cons": cons,
                "actions_if_chosen": actions })
    };
    json!({
        "project_id": "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f", "title": "Who tells the vendor?",
        "context": { "summary": "The vendor waits.", "background": "They asked twice.", "signals_involved": [id],
                     "time_sensitivity": "today" },
        "options": [
            option("1", "Block the ticket", json!(["honest"]), json!(["late"]),
                json!([{ "action": "jira_status_change", "target": "TES-1", "detail": "blocked" }])),
            option("2", "Move the launch", json!([]), json!(["costly"]),
                json!([{ "action": "milestone_change", "target": "Beta launch", "detail": "one week later" }])),
        ],
        "agent_recommendation": "1", "agent_rationale": "It is so.", "escalation_reason": "policy_ambiguity",
    })
}

/// A project whose milestone has a name of two words, with that question open. Its id.
fn questioned(policy: &str) -> Option<(Fixture, String)> {
    let id = comment_id(1, TEXT);
    let server = start(vec![
        calls_reply(vec![sanitised(&id, &format!("Vendor certification\n{TEXT}"))]),
        calls_reply(vec![classified(&id, "stakeholder", "escalate"), ("create_escalation", question_call(&id))]),
    ]);
    let fixture = one_comment("tactical", &server);
    fixture.trust_charter(&charter_text("tactical").replace("\"Beta\"", "\"Beta launch\""));
    fixture.configure("policy.toml", policy);
    let report = run(&fixture, &["--json"]).json();
    assert_eq!(report["questions"][0]["heading"], "Who tells the vendor?", "{report}");
    let question = report["questions"][0]["id"].as_str().unwrap().to_owned();
    Some((fixture, question))
}

fn decide_question(fixture: &Fixture, question: &str, option: &str) -> Json {
    let (said, code) =
        answered(fixture, &["escalations", "decide", question, option, "--because", "so be it"], "y").unwrap();
    assert_eq!(code, 0, "{said}");
    artefact(fixture, "decision-log")["content"]["items"][0].clone()
}

#[test]
fn a_decision_keeps_labels_and_reasons_and_says_what_came_of_it() {
    let shipped = include_str!("../../../../proem-engine/data/policy.toml");
    let Some((fixture, question)) = questioned(shipped) else { return };
    let entry = decide_question(&fixture, &question, "B");
    let options = &entry["options_considered"];
    let told = |place: usize| [&options[place]["option"], &options[place]["pros"], &options[place]["cons"]];
    assert_eq!(told(0), [&json!("Block the ticket"), &json!(["honest"]), &json!(["late"])], "{entry}");
    assert_eq!(told(1), [&json!("Move the launch"), &json!([]), &json!(["costly"])], "{entry}");
    assert_eq!(entry["decision"], "Move the launch", "{entry}");
    assert!(entry["context"].as_str().unwrap().contains("`milestone_change`"), "{entry}");
}

#[test]
fn a_refused_option_is_not_written_down_as_done() {
    let shipped = include_str!("../../../../proem-engine/data/policy.toml");
    let Some((fixture, question)) = questioned(shipped) else { return };
    // The policy changes between question and choice.
    fixture
        .configure("policy.toml", &shipped.replace("\"in-review\", \"blocked\", \"done\"", "\"in-review\", \"done\""));
    let entry = decide_question(&fixture, &question, "A");
    assert!(entry["context"].as_str().unwrap().contains("It did not happen"), "{entry}");
    let open = fixture.triage().questions(Some(EscalationState::Open));
    assert_eq!(open.len(), 1, "the refusal is a question: {open:?}");
}

#[test]
fn a_decision_names_the_items_of_the_raid_log_that_it_is_about() {
    let fixture = project("monitoring");
    let mut critical = flag_change(142);
    critical["issue"]["fields"]["priority"] = json!({ "name": "Blocker" });
    let report = triaged(&fixture, &[critical.clone()]);
    assert!(report["changes"].as_array().unwrap().is_empty(), "{report}");
    let fixture = project("artefact");
    let report = triaged(&fixture, &[critical]);
    assert!(changed_items(&report).contains(&"I001"), "{report}");
    let Some(question) = report["questions"][0]["id"].as_str() else { panic!("{report}") };
    let entry = decide_question(&fixture, question, "A");
    assert_eq!(entry["related_raid_items"], json!(["I001"]), "{entry}");
}
