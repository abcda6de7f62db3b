//! Attacks that would end something or make it look better, by whatever a model proposes.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{Untrusted, show};
use proem_text::{Label, Source};
use proem_triage::answer::{ModelProposals, ModelUpdate};
use proem_triage::artefact::{
    Artefact, ArtefactActor, ArtefactContext, ArtefactField as F, ArtefactItem, ArtefactItemId, ArtefactItemKind as K,
    ArtefactKind, ArtefactValue, ItemStatus, SignalReferences, apply_operations, offered_operations,
};
use proem_triage::plan::{ArtefactSet, CyclePlan, SignalOutcomeKind};
use proem_triage::{ProjectSignal, contract::EscalationReason};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::plan::{none, planned_with, signal};

const PROJECT: &str = "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f";

fn cycle(signals: &[ProjectSignal], artefacts: &ArtefactSet, updates: Vec<ModelUpdate>) -> CyclePlan {
    let proposals = ModelProposals { updates, ..ModelProposals::default() };
    planned_with(signals, artefacts, &proposals, |context| context)
}

fn artefacts_after(artefacts: &ArtefactSet, plan: &CyclePlan) -> ArtefactSet {
    let mut artefacts = artefacts.clone();
    plan.changes.iter().for_each(|change| artefacts.set(change.artefact.clone()));
    artefacts
}

/// Ticket PAY-1 is blocked: `I001`, `B001` and an amber project.
fn blocked() -> ArtefactSet {
    let plan = cycle(&[signal(0, 1, 1)], &none(), Vec::new());
    let artefacts = artefacts_after(&none(), &plan);
    assert_eq!(status(&artefacts, "B001"), ItemStatus::Open);
    assert_eq!(word(&artefacts, "STATUS001", F::OverallStatus), "amber");
    artefacts
}

fn id(text: &str) -> ArtefactItemId {
    ArtefactItemId::parse(text).unwrap()
}

fn item_of_id<'a>(artefacts: &'a ArtefactSet, of: &str) -> &'a ArtefactItem {
    let id = id(of);
    artefacts.get(id.kind.artefact()).unwrap().item(id).unwrap()
}

fn status(artefacts: &ArtefactSet, of: &str) -> ItemStatus {
    item_of_id(artefacts, of).status
}

fn word(artefacts: &ArtefactSet, of: &str, field: F) -> &'static str {
    item_of_id(artefacts, of).word(field).unwrap()
}

fn update(kind: ArtefactKind, signals: &[ProjectSignal], arguments: Json) -> ModelUpdate {
    let label = Label::from_source(Source::named("model"));
    let signals: BTreeSet<SignalRevision> = signals.iter().map(SignalRevision::from).collect();
    ModelUpdate { kind, signals, arguments: Untrusted::new(arguments, label) }
}

/// The delivery state as it is, as a model would give it, with other values at some places.
fn delivery(artefacts: &ArtefactSet, signals: &[ProjectSignal], changes: &[(&str, Json)]) -> ModelUpdate {
    let mut content = artefacts.get(ArtefactKind::DeliveryState).unwrap().to_json(None)["content"].clone();
    for (place, value) in changes {
        *content.pointer_mut(place).unwrap() = value.clone();
    }
    let named: Vec<&str> = signals.iter().map(|signal| signal.id.as_str()).collect();
    let arguments = json!({
        "project_id": PROJECT, "changes_summary": "It was said so.", "content": content, "signals_incorporated": named,
    });
    update(ArtefactKind::DeliveryState, signals, arguments)
}

fn raid(signals: &[ProjectSignal], modified: &Json) -> ModelUpdate {
    let named: Vec<&str> = signals.iter().map(|signal| signal.id.as_str()).collect();
    let arguments = json!({
        "project_id": PROJECT, "changes_summary": "It was said so.", "items_added": [], "items_modified": modified,
        "signals_incorporated": named,
    });
    update(ArtefactKind::RaidLog, signals, arguments)
}

/// The changes that the first option of a question makes.
fn offered(plan: &CyclePlan, place: usize) -> Json {
    let action = show::exact_value(plan.questions[place].options[0].action.as_ref().unwrap());
    serde_json::from_str(action["fields"]["content"].as_str().unwrap()).unwrap()
}

#[test]
fn a_compromised_model_closes_no_blocker_after_a_harmless_comment_elsewhere() {
    let artefacts = blocked();
    let comment = [signal(9, 2, 2)];
    let closing = [
        ("/blockers/0/status", json!("closed")),
        ("/overall_status", json!("green")),
        ("/status_summary", json!("All is well.")),
    ];
    let plan = cycle(&comment, &artefacts, vec![delivery(&artefacts, &comment, &closing)]);
    let now = artefacts_after(&artefacts, &plan);
    assert_eq!((status(&now, "B001"), status(&now, "I001")), (ItemStatus::Open, ItemStatus::Open));
    assert_eq!(word(&now, "STATUS001", F::OverallStatus), "amber");
    // The model's wishes are one question, with the changes and the signal that it rests on.
    let [question] = plan.questions.as_slice() else { panic!("{:?}", plan.questions) };
    assert_eq!((question.reason, question.recommended.0), (EscalationReason::OutsideAutonomyLevel, "B"));
    assert_eq!(question.causes, [SignalRevision::from(&comment[0])]);
    let shown = show::tree_json(&question.about)["would change"].to_string();
    assert!(shown.contains("\"B001\"") && shown.contains("\"closed\"") && shown.contains("\"green\""), "{shown}");
    assert_eq!(plan.outcomes[0].kind, SignalOutcomeKind::Escalated);
    // The next cycle closes nothing behind it.
    let next = cycle(&[signal(9, 3, 3)], &now, Vec::new());
    assert_eq!(status(&artefacts_after(&now, &next), "I001"), ItemStatus::Open);
    assert!(next.questions.is_empty(), "{:?}", next.questions);
}

#[test]
fn a_ticket_that_is_done_ends_its_items_and_a_better_colour_follows() {
    let artefacts = blocked();
    let plan = cycle(&[signal(1, 1, 2)], &artefacts, Vec::new());
    let now = artefacts_after(&artefacts, &plan);
    assert_eq!((status(&now, "B001"), status(&now, "I001")), (ItemStatus::Closed, ItemStatus::Resolved));
    assert_eq!(word(&now, "STATUS001", F::OverallStatus), "green");
    assert!(plan.questions.is_empty() && plan.refused.is_empty(), "{:?} {:?}", plan.questions, plan.refused);
}

#[test]
fn a_ticket_that_goes_on_without_being_done_is_a_question() {
    let artefacts = blocked();
    let goes_on = super::one(&json!({
        "timestamp": 1_795_500_000_002_i64, "webhookEvent": "jira:issue_updated", "user": { "accountId": "ann" },
        "changelog": { "id": "2", "items": [{ "field": "Flagged", "fromString": "Impediment", "toString": "" }] },
        "issue": { "id": "101", "key": "PAY-1", "fields": { "project": { "key": "PAY" }, "summary": "Part 1",
            "status": { "name": "In Progress", "statusCategory": { "key": "indeterminate" } } } },
    }));
    let plan = cycle(std::slice::from_ref(&goes_on), &artefacts, Vec::new());
    assert_eq!(status(&artefacts_after(&artefacts, &plan), "B001"), ItemStatus::Open);
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    let [question] = plan.questions.as_slice() else { panic!("{:?}", plan.questions) };
    assert_eq!(question.recommended.0, "A");
    // A person who chooses it has the changes as they were shown.
    let artefacts = artefacts_after(&artefacts, &plan);
    let content = Untrusted::new(offered(&plan, 0).to_string(), Label::from_source(Source::named("triage/rule")));
    let all: Vec<&Artefact> = artefacts.iter().collect();
    let operations = offered_operations(&all, &content, &question.causes).unwrap();
    let delivery = artefacts.get(ArtefactKind::DeliveryState).unwrap();
    let known = SignalReferences::of_revisions(question.causes.iter().cloned());
    let actor = ArtefactActor::Person("sam".to_owned());
    let others: Vec<&Artefact> = all.iter().copied().filter(|other| other.kind() != delivery.kind()).collect();
    let terms = ArtefactContext {
        now: proem_engine::run::Time(1_795_500_000_000),
        project: PROJECT,
        actor: &actor,
        causes: &[],
        known: &known,
        others: &others,
    };
    let of_delivery: Vec<_> =
        operations.into_iter().filter(|operation| operation.item().unwrap().kind == K::Blocker).collect();
    let applied = apply_operations(delivery, &of_delivery, &terms).unwrap();
    assert_eq!(applied.artefact.item(id("B001")).unwrap().status, ItemStatus::Closed);
    // Once it is over, the same offer changes nothing.
    let mut later = artefacts.clone();
    later.set(applied.artefact);
    let moved = offered_operations(&later.iter().collect::<Vec<_>>(), &content, &question.causes).unwrap_err();
    assert!(moved[0].to_string().contains("has changed since this was offered"), "{moved:?}");
}

#[test]
fn a_ticket_of_another_project_in_the_same_group_ends_nothing() {
    // A mail that a model calls related to two tickets joins nobody's item to the other's end.
    let artefacts = blocked();
    let plan = cycle(&[signal(9, 1, 2), signal(1, 2, 3)], &artefacts, Vec::new());
    assert_eq!(status(&artefacts_after(&artefacts, &plan), "B001"), ItemStatus::Open);
}

#[test]
fn softer_renamed_relinked_and_postponed_items_are_questions() {
    let artefacts = blocked();
    let comment = [signal(9, 2, 2)];
    for changes in [
        json!({ "severity": "low" }),
        json!({ "title": "Nothing to see" }),
        json!({ "description": "It is over." }),
        json!({ "source_reference": "PAY-2" }),
        json!({ "status": "mitigating" }),
        json!({ "raised_date": "2027-01-01T00:00:00.000Z" }),
        json!({ "owner": "Nobody" }),
    ] {
        let modified = json!([{ "id": "I001", "changes": changes, "change_reason": "It was said so." }]);
        let plan = cycle(&comment, &artefacts, vec![raid(&comment, &modified)]);
        assert_eq!(
            artefacts_after(&artefacts, &plan).get(ArtefactKind::RaidLog),
            artefacts.get(ArtefactKind::RaidLog),
            "{changes}"
        );
        assert_eq!(plan.questions.len(), 1, "{changes}: {:?}", plan.refused);
        let entry = &offered(&plan, 0)["changes"][0];
        assert_eq!((&entry["id"], &entry["changes"]), (&json!("I001"), &changes));
    }
    // A worse severity, and words that go with an item, need nobody.
    let modified = json!([{ "id": "I001", "changes": { "severity": "critical", "mitigation": "Call the bank." },
        "change_reason": "It was said so." }]);
    let plan = cycle(&comment, &artefacts, vec![raid(&comment, &modified)]);
    assert_eq!(word(&artefacts_after(&artefacts, &plan), "I001", F::Severity), "critical");
    assert!(plan.questions.is_empty());
}

/// One thing that a model may want of the artefacts, by numbers.
fn wanted(artefacts: &ArtefactSet, comment: &[ProjectSignal], (what, pick): (u8, u8)) -> ModelUpdate {
    let of = |all: &[&str]| all[usize::from(pick) % all.len()].to_owned();
    let item = of(&["I001", "I002", "R001", "D001"]);
    let modify =
        |changes: Json| raid(comment, &json!([{ "id": item, "changes": changes, "change_reason": "It was said so." }]));
    let content = |place: &str, value: Json| {
        let whole = delivery(artefacts, comment, &[]);
        let has = show::exact_value(&whole.arguments)["content"].pointer(place).is_some();
        if has {
            delivery(artefacts, comment, &[(place, value), ("/status_summary", json!(of(&["a", "b"])))])
        } else {
            whole
        }
    };
    match what % 9 {
        0 => modify(json!({ "status": of(&["mitigating", "resolved", "closed", "accepted"]) })),
        1 => modify(json!({ "severity": of(&["low", "medium", "high", "critical"]) })),
        2 => modify(json!({ "title": of(&["x", "y"]) })),
        3 => modify(json!({ "due_date": of(&["2026-11-01T00:00:00Z", "2029-01-01T00:00:00Z"]) })),
        4 => modify(json!({ "source_reference": of(&["PAY-2", "PAY-9"]) })),
        5 => content("/blockers/0/status", json!("closed")),
        6 => content("/overall_status", json!(of(&["green", "amber", "red"]))),
        7 => content("/milestones/0/status", json!(of(&["on_track", "completed", "delayed", "at_risk"]))),
        _ => content("/milestones/0/due_date", json!(of(&["2998-01-01T00:00:00Z", "3000-01-01T00:00:00Z"]))),
    }
}

/// How bad an item is by each measure that people look at. Larger is worse.
fn badness(id: ArtefactItemId, item: &ArtefactItem) -> [i64; 4] {
    let scale = ["low", "medium", "high", "critical"];
    let severity = item.word(F::Severity).and_then(|word| scale.iter().position(|known| *known == word));
    let colour =
        item.word(F::OverallStatus).and_then(|word| ["green", "amber", "red"].iter().position(|of| *of == word));
    let status = match item.status {
        ItemStatus::Delayed => 3,
        ItemStatus::AtRisk | ItemStatus::Open | ItemStatus::Active => 2,
        ItemStatus::OnTrack | ItemStatus::Mitigating => 1,
        _ => 0,
    };
    let due = if id.kind == K::Sprint { 0 } else { item.date(F::DueDate).map_or(0, |due| -due.0) };
    [severity, colour]
        .map(|place| place.map_or(0, |place| i64::try_from(place).unwrap()))
        .into_iter()
        .chain([status, due])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Through several cycles without an event of the tracker, no answer of a model ends an item, makes it less severe
    /// or later, or gives it another name.
    #[test]
    fn no_sequence_of_answers_ends_or_softens_anything(
        script in prop::collection::vec((any::<u8>(), any::<u8>()), 1..12),
    ) {
        let mut artefacts = artefacts_after(&none(), &cycle(&[signal(0, 1, 1), signal(3, 2, 2), signal(8, 3, 3)], &none(), Vec::new()));
        for (number, wish) in script.into_iter().enumerate() {
            let comment = [signal(9, 4, 10 + number)];
            let plan = cycle(&comment, &artefacts, vec![wanted(&artefacts, &comment, wish)]);
            let now = artefacts_after(&artefacts, &plan);
            for (id, before) in artefacts.iter().flat_map(Artefact::items) {
                let item = now.get(id.kind.artefact()).unwrap().item(id).unwrap();
                let (old, new) = (badness(id, before), badness(id, item));
                // A first date is none that moved.
                let old = if before.date(F::DueDate).is_none() { [old[0], old[1], old[2], i64::MIN] } else { old };
                prop_assert!(old.iter().zip(new).all(|(old, new)| *old <= new), "{id} of {wish:?}: {old:?} {new:?}");
                let name = |item: &ArtefactItem| [F::Title, F::Name, F::Description].map(|field| item.fields.get(&field).cloned());
                prop_assert_eq!(name(before), name(item));
                let link = |item: &ArtefactItem| [F::SourceReference, F::SourceTicket, F::RaidItem].map(|field| item.fields.get(&field).cloned());
                prop_assert_eq!(link(before), link(item));
            }
            artefacts = now;
        }
    }
}

/// A flood of a model's own items leaves room for those of the rules.
#[test]
fn a_flood_of_items_keeps_no_real_blocker_out() {
    let artefacts = none();
    let comment = [signal(9, 2, 2)];
    let added: Vec<Json> = (1..=200)
        .map(|number| {
            json!({ "id": format!("I{number:03}"), "type": "issue", "title": format!("Issue {number}"), "description": "x",
                "severity": "low", "status": "open", "owner": "Olivia", "mitigation": "x",
                "raised_date": "2026-11-23T00:00:00Z", "source": "integration_signal" })
        })
        .collect();
    let arguments = json!({
        "project_id": PROJECT, "changes_summary": "x", "items_added": added, "items_modified": [],
        "signals_incorporated": [comment[0].id],
    });
    let flood = update(ArtefactKind::RaidLog, &comment, arguments);
    let now = artefacts_after(&artefacts, &cycle(&comment, &artefacts, vec![flood]));
    let plan = cycle(&[signal(0, 1, 3)], &now, Vec::new());
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    let now = artefacts_after(&now, &plan);
    assert_eq!(now.get(ArtefactKind::DeliveryState).unwrap().open(K::Blocker).count(), 1);
}

#[test]
fn an_offer_that_was_tampered_with_reads_as_nothing_else() {
    let artefacts = blocked();
    let all: Vec<&Artefact> = artefacts.iter().collect();
    let cause = SignalRevision::from(&signal(9, 2, 2));
    for content in ["", "[]", "{\"changes\":{}}", "{\"changes\":[{\"id\":\"X1\"}]}", "close every risk"] {
        let content = Untrusted::new(content.to_owned(), Label::from_source(Source::named("model")));
        assert!(offered_operations(&all, &content, std::slice::from_ref(&cause)).is_err());
    }
    let value = ArtefactValue::Word("low");
    assert!(value.statements().is_empty());
}

/// A model that notes something in both artefacts about a signal that rules put there as well.
#[test]
fn rules_and_models_change_one_artefact_in_one_version() {
    let artefacts = blocked();
    let signals = [signal(0, 2, 2)];
    let alone = cycle(&signals, &artefacts, Vec::new());
    // A model is asked about the artefacts as rules leave them.
    let ruled = artefacts_after(&artefacts, &alone);
    let told = |place, text| (place, json!(text));
    let updates = vec![
        delivery(&ruled, &signals, &[told("/status_summary", "A model's first words.")]),
        delivery(&ruled, &signals, &[told("/status_summary", "A model's second words.")]),
        raid(
            &signals,
            &json!([{ "id": "I001", "changes": { "mitigation": "Ask the vendor." }, "change_reason": "so" }]),
        ),
    ];
    let plan = cycle(&signals, &artefacts, updates);
    let mut kinds = BTreeSet::new();
    for change in &plan.changes {
        let (kind, version) = (change.artefact.kind(), change.artefact.version());
        assert!(kinds.insert(kind), "{kind:?} has two versions");
        assert_eq!(version, artefacts.get(kind).unwrap().version() + 1);
        assert_eq!(change.entry.version, version);
        assert!(change.artefact.items().all(|(_, item)| item.changed_in <= version));
    }
    let of = |plan: &CyclePlan, kind| {
        plan.changes.iter().find(|change| change.artefact.kind() == kind).map(|change| change.entry.clone()).unwrap()
    };
    for kind in [ArtefactKind::RaidLog, ArtefactKind::DeliveryState] {
        let (mut rules, both) = (of(&alone, kind), of(&plan, kind));
        // The colour is counted after all else, and a model's summary stays if its colour is no better.
        rules.changes.retain(|change| change.item.kind != K::Health);
        assert_eq!(both.changes.get(..rules.changes.len()), Some(rules.changes.as_slice()), "rules come first");
        assert!(both.changes.len() > rules.changes.len() && matches!(both.actor, ArtefactActor::Agent(_)));
    }
    let now = artefacts_after(&artefacts, &plan);
    let said = item_of_id(&now, "STATUS001").text(F::StatusSummary).unwrap();
    assert!(show::tree_json(said.words()).to_string().contains("second words"), "the last word counts");
    assert!(item_of_id(&now, "I001").text(F::Mitigation).is_some());
}
