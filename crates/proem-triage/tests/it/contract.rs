//! The eight tools of triage, beside the lists that were decided.

use proem_engine::contract::Contract;
use proem_triage::contract::{
    ClassifySignal, RecommendedAction, SanitiseSignal, SignalCategory, SignalImportance, TimeSensitivity,
    stage_contracts,
};
use serde_json::{Value as Json, json};

/// The required members of each object of a tool: tool, place, names. A place ends in `[]` for the items of a list.
const REQUIRED: &str = "
sanitise_signal: signal_id original_source original_type sanitised_content threat_detected threats_found content_preserved_ratio confidence_score requires_human_review
classify_signal: signal_id importance category recommended_action action_rationale requires_sonnet time_sensitivity confidence
draft_communication: project_id communication_type recipient subject body tone urgency context requires_approval signals_referenced
draft_communication recipient: email name is_external
create_escalation: project_id title context options agent_recommendation agent_rationale escalation_reason
create_escalation context: summary background signals_involved time_sensitivity
create_escalation options[]: id label description pros cons actions_if_chosen
jira_comment: ticket_id body signals_referenced
";

/// The words of each closed list, with later decisions: mail and plain lines are sources.
const WORDS: &str = "
sanitise_signal original_source: jira outlook asana mail plain
classify_signal importance: critical high medium low
classify_signal category: blocker risk dependency progress stakeholder scope quality administrative
classify_signal secondary_categories[]: blocker risk dependency progress stakeholder scope quality administrative
classify_signal recommended_action: update_artefact escalate draft_communication add_jira_comment no_action defer_to_sonnet
classify_signal artefacts_affected[]: delivery_state raid_log backlog_summary decision_log
classify_signal time_sensitivity: immediate today this_week no_deadline
draft_communication communication_type: status_update escalation_notice follow_up request acknowledgement
draft_communication tone: formal professional casual
draft_communication urgency: urgent normal low
create_escalation context/time_sensitivity: immediate today this_week no_deadline
create_escalation escalation_reason: outside_autonomy_level low_confidence conflicting_signals strategic_impact external_communication scope_change policy_ambiguity first_time_pattern
";

fn schema(contract: &str) -> Json {
    let all = stage_contracts().unwrap();
    all.iter().find(|found| found.tool().name == contract).unwrap().schema().clone()
}

/// The schema at a place, without the null that a value may also be.
fn at(root: &Json, place: &str) -> Json {
    let mut found = root.clone();
    for step in place.split('/').filter(|step| !step.is_empty()) {
        found = found["properties"][step.trim_end_matches("[]")].clone();
        if let Some(options) = found["anyOf"].as_array() {
            found = options.iter().find(|option| option["type"] != "null").unwrap().clone();
        }
        if step.ends_with("[]") {
            found = found["items"].clone();
        }
    }
    found
}

/// Compares the words that a keyword lists at each place of a table.
#[track_caller]
fn check_lists(table: &str, keyword: &str) -> usize {
    let lines: Vec<&str> = table.lines().filter(|line| !line.is_empty()).collect();
    for line in &lines {
        let (place, words) = line.split_once(": ").unwrap();
        let (tool, place) = place.split_once(' ').unwrap_or((place, ""));
        let found = at(&schema(tool), place);
        let mut listed: Vec<String> = serde_json::from_value(found[keyword].clone()).unwrap_or_default();
        for more in found["allOf"].as_array().into_iter().flatten().filter(|_| keyword == "required") {
            listed.extend(more["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap().into()));
        }
        listed.sort_unstable();
        let mut words: Vec<&str> = words.split(' ').collect();
        words.sort_unstable();
        assert_eq!(listed, words, "{tool} {place}");
    }
    lines.len()
}

/// How many lists of a keyword are in a schema outside conditions.
fn count(schema: &Json, keyword: &str) -> usize {
    let below = |value: &Json| match value {
        Json::Object(fields) => {
            fields.iter().filter(|(name, _)| *name != "allOf").map(|(_, field)| count(field, keyword)).sum()
        }
        Json::Array(items) => items.iter().map(|item| count(item, keyword)).sum(),
        _ => 0,
    };
    usize::from(schema.get(keyword).is_some_and(Json::is_array)) + below(schema)
}

#[test]
fn objects_require_what_was_decided() {
    check_lists(REQUIRED, "required");
}

#[test]
fn closed_lists_have_the_words_that_were_decided() {
    let listed = check_lists(WORDS, "enum");
    // An option's action and what an escalation affects have one list each. Those of artefacts are beside their fields.
    let all = stage_contracts().unwrap();
    let own = all.iter().filter(|contract| !contract.tool().name.starts_with("update_"));
    let found: usize = own.map(|contract| count(contract.schema(), "enum")).sum();
    assert_eq!(found, listed + 2, "a closed list is not in the table");
}

fn sanitise_answer() -> SanitiseSignal {
    SanitiseSignal {
        signal_id: "jira:1".into(),
        original_source: "jira".into(),
        original_type: "ticket_updated".into(),
        sanitised_content: "PAY-7 moved to In Progress".into(),
        threat_detected: false,
        threats_found: Vec::new(),
        content_preserved_ratio: 1.0,
        confidence_score: 0.9,
        requires_human_review: false,
        review_reason: None,
    }
}

fn classify_answer() -> ClassifySignal {
    ClassifySignal {
        signal_id: "jira:1".into(),
        importance: SignalImportance::Low,
        category: SignalCategory::Progress,
        secondary_categories: Vec::new(),
        recommended_action: RecommendedAction::NoAction,
        action_rationale: "a routine change".into(),
        artefacts_affected: Vec::new(),
        related_signals: Vec::new(),
        requires_sonnet: false,
        sonnet_reason: None,
        time_sensitivity: TimeSensitivity::NoDeadline,
        confidence: 0.8,
    }
}

/// Whether a value with some of its fields changed meets a contract.
fn contract_accepts(contract: &Contract, value: &impl serde::Serialize, changes: &Json) -> bool {
    let mut value = serde_json::to_value(value).unwrap();
    for (name, change) in changes.as_object().unwrap() {
        value[name] = change.clone();
    }
    contract.accepts(&value)
}

#[test]
fn what_a_condition_requires_is_required() {
    let contract = Contract::of::<SanitiseSignal>("sanitise_signal").unwrap();
    for (changes, expected) in [
        (json!({}), true),
        (json!({ "requires_human_review": true }), false),
        (json!({ "requires_human_review": true, "review_reason": "" }), false),
        (json!({ "requires_human_review": true, "review_reason": null }), false),
        (json!({ "requires_human_review": true, "review_reason": "an order" }), true),
        (json!({ "threat_detected": true }), false),
        (json!({ "threat_detected": true, "threats_found": ["an order"] }), true),
        (json!({ "threats_found": ["an order"] }), false),
        (json!({ "content_preserved_ratio": 1.1 }), false),
        (json!({ "sanitised_content": "x".repeat(65_537) }), false),
        (json!({ "threats_found": vec!["x"; 21], "threat_detected": true }), false),
    ] {
        assert_eq!(contract_accepts(&contract, &sanitise_answer(), &changes), expected, "{:.100}", changes.to_string());
    }
    let contract = Contract::of::<ClassifySignal>("classify_signal").unwrap();
    for (changes, expected) in [
        (json!({}), true),
        (json!({ "recommended_action": "update_artefact" }), false),
        (json!({ "recommended_action": "update_artefact", "artefacts_affected": [] }), false),
        (json!({ "recommended_action": "update_artefact", "artefacts_affected": ["raid_log"] }), true),
        (json!({ "requires_sonnet": true }), false),
        (json!({ "requires_sonnet": true, "sonnet_reason": "three categories" }), true),
        (json!({ "recommended_action": "defer_to_sonnet" }), false),
        (json!({ "recommended_action": "defer_to_sonnet", "requires_sonnet": true, "sonnet_reason": "x" }), true),
        (json!({ "related_signals": vec!["jira:2"; 51] }), false),
        (json!({ "importance": "urgent" }), false),
    ] {
        assert_eq!(contract_accepts(&contract, &classify_answer(), &changes), expected, "{changes}");
    }
}

#[test]
fn a_project_without_a_sprint_says_so() {
    let contract =
        stage_contracts().unwrap().into_iter().find(|found| found.tool().name == "update_delivery_state").unwrap();
    let mut value = json!({
        "project_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "changes_summary": "first state",
        "content": {
            "overall_status": "green", "status_summary": "on track", "current_sprint": null, "milestones": [],
            "blockers": [], "next_actions": [],
            "key_metrics": {
                "velocity_trend": "stable", "avg_cycle_time_days": 2.5, "open_blockers": 0, "active_risks": 0
            }
        },
        "signals_incorporated": ["jira:1"]
    });
    assert!(contract.accepts(&value));
    value["content"].as_object_mut().unwrap().remove("current_sprint");
    assert!(!contract.accepts(&value));
}

#[test]
fn an_escalation_has_two_to_five_options_with_one_action_at_most() {
    let contract =
        stage_contracts().unwrap().into_iter().find(|found| found.tool().name == "create_escalation").unwrap();
    let value = |options: usize, actions: usize| {
        let action = json!({ "action": "scope_change", "target": "PAY-7" });
        let option = json!({
            "id": "A", "label": "keep", "description": "keeps the scope", "pros": [], "cons": [],
            "actions_if_chosen": vec![action; actions]
        });
        json!({
            "project_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
            "title": "Two stories came in mid-sprint",
            "context": {
                "summary": "s", "background": "b", "signals_involved": ["jira:1"], "time_sensitivity": "today"
            },
            "options": vec![option; options],
            "agent_recommendation": "A", "agent_rationale": "r", "escalation_reason": "scope_change"
        })
    };
    for (options, actions, expected) in [(1, 0, false), (2, 0, true), (5, 1, true), (6, 1, false), (2, 2, false)] {
        assert_eq!(contract.accepts(&value(options, actions)), expected, "{options} options, {actions} actions");
    }
}
