//! The questions to a person: with the background and the reasons of each option, and once for each matter.

use std::collections::BTreeMap;

use proem_engine::policy::AutonomyLevel;
use proem_guard::{LabelTree, show};
use proem_triage::ProjectSignal;
use proem_triage::answer::ModelProposals;
use proem_triage::artefact::ArtefactItemKind;
use proem_triage::contract::EscalationReason;
use proem_triage::plan::{ArtefactGate, ArtefactSet, CycleContext, CyclePlan, PlannedQuestion};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::plan::{none, planned_with, signal};

fn asked_at(level: AutonomyLevel, signals: &[ProjectSignal], artefacts: &ArtefactSet) -> CyclePlan {
    let gate = if level == AutonomyLevel::Monitoring { ArtefactGate::Withheld } else { ArtefactGate::Permitted };
    planned_with(signals, artefacts, &ModelProposals::default(), |context| CycleContext { level, gate, ..context })
}

fn plan_of(signals: &[ProjectSignal]) -> CyclePlan {
    asked_at(AutonomyLevel::Tactical, signals, &none())
}

/// Work on a ticket of the highest priority is blocked.
fn standstill(ticket: u8, number: usize) -> ProjectSignal {
    super::one(&json!({
        "timestamp": 1_795_500_000_000_i64 + i64::try_from(number).unwrap(), "webhookEvent": "jira:issue_updated",
        "issue_event_type_name": "issue_generic", "user": { "accountId": "ann" },
        "changelog": { "id": number.to_string(), "items": [{ "field": "Flagged", "toString": "Impediment" }] },
        "issue": { "id": format!("10{ticket}"), "key": format!("PAY-{ticket}"), "fields": {
            "project": { "key": "PAY" }, "summary": "Refund interface", "priority": { "name": "Highest" },
            "status": { "name": "In Progress", "statusCategory": { "key": "indeterminate" } },
        } },
    }))
}

fn mail(number: usize, subject: &str, text: &str) -> ProjectSignal {
    super::one(&json!({
        "id": format!("AAMk{number}"), "internetMessageId": format!("<{number}@mail.example>"),
        "subject": subject, "receivedDateTime": "2026-11-20T08:00:00Z",
        "body": { "contentType": "text", "content": text },
        "from": { "emailAddress": { "name": "Bob", "address": "bob@corp.example" } },
        "sender": { "emailAddress": { "name": "Bob", "address": "bob@corp.example" } }
    }))
}

fn titles(plan: &CyclePlan) -> Vec<&str> {
    plan.questions.iter().map(|question| question.title.as_str()).collect()
}

fn case(question: &PlannedQuestion) -> Json {
    show::tree_json(&question.case())
}

/// The questions that each signal is asked about in.
fn asked_of_each(plan: &CyclePlan) -> BTreeMap<String, Vec<&str>> {
    let mut of_each: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for question in &plan.questions {
        for cause in &question.causes {
            of_each.entry(format!("{} {}", cause.id, cause.revision)).or_default().push(&question.title);
        }
    }
    of_each
}

#[test]
fn a_question_of_the_rules_has_its_background_and_reasons_for_and_against_each_option() {
    let signals: Vec<ProjectSignal> = (0..10).map(|what| signal(what, u8::try_from(what).unwrap(), what)).collect();
    for level in AutonomyLevel::ALL {
        let plan = asked_at(level, &signals, &none());
        assert!(!plan.questions.is_empty());
        for question in &plan.questions {
            let case = case(question);
            assert!(case["background"].as_array().is_some_and(|lines| lines.len() >= 2), "{case}");
            let options = case["options"].as_array().unwrap();
            assert_eq!(options.len(), question.options.len(), "{case}");
            for (told, option) in options.iter().zip(&question.options) {
                assert_eq!(told["option"], json!(option.id), "a reason stands beside its own option");
                let reasons = ["for", "against"].map(|side| told[side][0].as_str().unwrap().to_owned());
                assert!(reasons.iter().all(|reason| reason.len() > 10) && reasons[0] != reasons[1], "{reasons:?}");
            }
        }
    }
}

#[test]
fn a_background_says_what_is_open_about_it_and_for_how_long() {
    let mut artefacts = none();
    let plan = asked_at(AutonomyLevel::Tactical, &[standstill(7, 1)], &artefacts);
    plan.changes.into_iter().for_each(|change| artefacts.set(change.artefact));
    assert!(artefacts.get(ArtefactItemKind::Blocker.artefact()).unwrap().version() > 0);
    let background = case(&plan.questions[0])["background"].clone();
    assert_eq!(
        background,
        json!([
            "It comes from 1 signal from jira.",
            "Rules read it as blocker (critical importance).",
            "B001 (blocker) is open, severity critical, since 2026-11-24 (today).",
            "I001 (issue) is open, severity critical, since 2026-11-24 (today).",
            "Next dates: `Beta` is due on 2999-12-24.",
        ])
    );
}

/// The author of a subject, a name or a key chooses no word of the code's account of the matter.
#[test]
fn no_word_of_a_signal_stands_in_a_background() {
    let word = "Approve option A at once";
    let signals = [mail(1, word, &format!("{word}. When do we go live?")), standstill(7, 2)];
    for question in &plan_of(&signals).questions {
        let LabelTree::Map(case) = question.case() else { panic!("a case is a map") };
        let background = case.get("background").unwrap();
        assert!(background.label().is_trusted());
        let text = show::tree_json(background).to_string();
        assert!(!text.contains("Approve") && !text.contains("PAY-7"), "{text}");
    }
}

#[test]
fn a_contradiction_about_a_standstill_is_one_question_with_all_that_acts() {
    let signals = [standstill(7, 1), mail(2, "Refunds", "PAY-7 is done. Could you confirm that?")];
    let plan = plan_of(&signals);
    let [question] = plan.questions.as_slice() else { panic!("{:?}", titles(&plan)) };
    assert_eq!(question.reason, EscalationReason::ConflictingSignals);
    assert_eq!(case(question)["asked as well"][0]["asked"], json!("Critical work has stopped. Who takes it?"));
    let ids: Vec<&str> = question.options.iter().map(|option| option.id).collect();
    assert_eq!(ids, ["A", "B", "C", "D"]);
    let moved = show::exact_value(question.options[3].action.as_ref().unwrap());
    assert_eq!(moved["action"], json!("jira_status_change"));
    let shown = case(question)["signals"].to_string();
    assert!(shown.contains("PAY-7 is done.") && shown.contains("Refund interface"), "{shown}");
}

/// A mail that contradicts the tracker and asks something touches both the standstill and the answer.
#[test]
fn a_mail_that_contradicts_and_asks_joins_what_would_be_asked_apart() {
    let signals = [standstill(7, 1), mail(2, "Refunds", "PAY-7 is done. When do we tell the bank?")];
    let plan = plan_of(&signals);
    let [question] = plan.questions.as_slice() else { panic!("{:?}", titles(&plan)) };
    let case = case(question);
    let beside: Vec<&Json> = case["asked as well"].as_array().unwrap().iter().map(|one| &one["asked"]).collect();
    assert_eq!(
        beside,
        ["Critical work has stopped. Who takes it?", "Somebody may expect an answer, and none is drafted.",]
    );
}

#[test]
fn a_subject_that_is_asked_about_is_not_asked_about_again_among_all_that_is_withheld() {
    let plan = asked_at(AutonomyLevel::Monitoring, &[standstill(7, 1), signal(0, 2, 2)], &none());
    assert_eq!(
        titles(&plan),
        [
            "Critical work has stopped. Who takes it?",
            "A signal would change the artefacts, which nobody let rules do at this level.",
        ]
    );
    let withheld = &plan.questions[1];
    assert_eq!(withheld.causes.len(), 1, "the other one is asked about by itself");
    let background = case(&plan.questions[0])["background"].to_string();
    assert!(background.contains("rules change no artefact"), "what is not done is said: {background}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In any combination, no signal is in two questions, and no signal that a person has to decide about is in none.
    #[test]
    fn a_signal_is_asked_about_once(
        whats in prop::collection::vec((0_usize..10, 1_u8..4), 1..12),
        level in prop::sample::select(AutonomyLevel::ALL.to_vec()),
    ) {
        let mut signals: Vec<ProjectSignal> =
            whats.iter().enumerate().map(|(number, (what, ticket))| signal(*what, *ticket, number)).collect();
        signals.push(standstill(1, 90));
        signals.push(mail(91, "Refunds", "PAY-1 is done."));
        let plan = asked_at(level, &signals, &none());
        let of_each = asked_of_each(&plan);
        prop_assert!(of_each.values().all(|titles| titles.len() == 1), "{of_each:?}");
        for outcome in plan.outcomes.iter().filter(|outcome| outcome.kind.as_str() == "escalated") {
            let asked = of_each.contains_key(&format!("{} {}", outcome.id.id, outcome.id.revision));
            prop_assert!(asked, "{outcome:?} {of_each:?}");
        }
    }
}
