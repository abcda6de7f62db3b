//! Operations that end something or make it look better, and the persons who may do that.

use std::fmt::Write as _;

use proem_engine::effect::key::SignalRevision;
use proem_triage::ProjectSignal;
use proem_triage::artefact::{
    ArtefactActor, ArtefactField as F, ArtefactItem, ArtefactItemKind as K, ArtefactKind, ArtefactOperation,
    ArtefactStatement, ArtefactValue, FieldForm, ItemStatus, SignalReferences, operation_bearing,
};
use serde_json::json;

use super::{Project, day, id, one, outside};

const RAID: ArtefactKind = ArtefactKind::RaidLog;
const DELIVERY: ArtefactKind = ArtefactKind::DeliveryState;

fn statement(text: &str) -> ArtefactStatement {
    let signal = SignalRevision { id: "jira:1".to_owned(), revision: "0".to_owned() };
    ArtefactStatement::inference(outside(text), vec![signal])
}

/// Two values of a form, the worse one first where there is one.
fn value_pair(form: FieldForm) -> [ArtefactValue; 2] {
    match form {
        FieldForm::Text(_) | FieldForm::Ticket => ["a", "b"].map(|text| ArtefactValue::Text(statement(text))),
        FieldForm::Word(words) if words.contains(&"green") => ["red", "green"].map(ArtefactValue::Word),
        FieldForm::Word(words) => [words[0], words[words.len() - 1]].map(ArtefactValue::Word),
        FieldForm::Date => [day(1), day(2)],
        FieldForm::RaidItems(_) => ["R001", "R002"].map(|item| ArtefactValue::RaidItems(vec![id(item)])),
        FieldForm::Options(_) => [vec![], vec![decision_option()]].map(ArtefactValue::Options),
    }
}

fn decision_option() -> proem_triage::artefact::DecisionOption {
    proem_triage::artefact::DecisionOption { option: statement("a"), pros: vec![], cons: vec![] }
}

/// For each kind and field what becomes of it if it says the other thing, first for the worse and then for the better,
/// and if it says something for the first time; and of each status what may follow it.
#[test]
fn every_kind_field_and_operation_is_classified() {
    let mut table = String::new();
    for kind in K::ALL {
        let item = |status| ArtefactItem { status, fields: [].into(), changed_in: 1 };
        for rule in kind.fields() {
            let [worse, better] = value_pair(rule.form);
            let of = |before: Option<&ArtefactValue>, after: &ArtefactValue| {
                let fields = before.map(|before| (rule.field, before.clone())).into_iter().collect();
                let item = ArtefactItem { fields, ..item(kind.first_status()) };
                let changes = [(rule.field, after.clone())].into();
                let operation = ArtefactOperation::Modify { id: kind_id(kind), changes, reason: statement("it is so") };
                format!("{:?}", operation_bearing(Some(&item), &operation))
            };
            let cells = [of(Some(&better), &worse), of(Some(&worse), &better), of(None, &better)];
            writeln!(table, "{} {}: {}", kind.as_str(), rule.field.as_str(), cells.join(", ")).unwrap();
            assert_eq!(of(Some(&worse), &worse), "Neutral", "the same again");
        }
        for from in ItemStatus::ALL.into_iter().filter(|from| !kind.after(*from).is_empty()) {
            for to in kind.after(from) {
                let operation =
                    ArtefactOperation::ChangeStatus { id: kind_id(kind), to: *to, reason: statement("it is so") };
                let bearing = operation_bearing(Some(&item(from)), &operation);
                writeln!(table, "{} {from} to {to}: {bearing:?}", kind.as_str()).unwrap();
            }
        }
        let close = ArtefactOperation::Close { id: kind_id(kind), reason: statement("it is so") };
        writeln!(table, "{} closed: {:?}", kind.as_str(), operation_bearing(Some(&item(kind.first_status())), &close))
            .unwrap();
    }
    assert_eq!(table, include_str!("endings.txt"));
}

fn kind_id(kind: K) -> proem_triage::artefact::ArtefactItemId {
    proem_triage::artefact::ArtefactItemId { kind, number: 1 }
}

/// The tracker's own word on a ticket.
fn moved_ticket(ticket: &str, category: &str) -> ProjectSignal {
    one(&json!({
        "timestamp": 1_795_300_000_000_i64, "webhookEvent": "jira:issue_updated", "user": { "accountId": "ann" },
        "changelog": { "id": "1", "items": [{ "field": "status", "toString": category }] },
        "issue": { "id": "7", "key": ticket, "fields": { "summary": "S",
            "status": { "name": category, "statusCategory": { "key": category } } } },
    }))
}

/// A project whose issue, risk and blocker are of ticket PAY-7, under rules, with these words of trackers.
fn ruled(signals: &[ProjectSignal]) -> Project {
    let mut project = Project::empty();
    let of_ticket = |operation| super::with(operation, F::SourceReference, Some(project.text("PAY-7")));
    let (issue, risk) = (of_ticket(project.raid(K::Issue, "No sandbox")), project.raid(K::Risk, "It may be late"));
    project.take(RAID, &[issue, risk]);
    project.take(DELIVERY, &[project.health("amber"), project.blocker("I001")]);
    project.actor = ArtefactActor::System("triage".to_owned());
    project.known = SignalReferences::of(signals);
    project.causes = signals.iter().map(SignalRevision::from).collect();
    project
}

const PERSON: &str = "no event of the tracker says that this ends or is better; ask a person";

#[test]
fn rules_end_what_the_tracker_calls_done_and_nothing_else() {
    let done = ruled(&[moved_ticket("PAY-7", "done")]);
    assert!(done.try_apply(DELIVERY, &[done.close("B001")]).is_ok());
    // The risk is of no ticket, so no event of the tracker ends it.
    assert_eq!(done.refusal(RAID, &[done.status("R001", "mitigating")]), [format!("operation 1: R001: {PERSON}")]);
    let others = [
        vec![moved_ticket("PAY-7", "indeterminate")],
        vec![moved_ticket("PAY-8", "done")],
        vec![super::signal("PAY-7", "It is done.")],
        // It was done, and is open again.
        vec![moved_ticket("PAY-7", "done"), moved_ticket("PAY-7", "indeterminate")],
    ];
    for signals in others {
        let project = ruled(&signals);
        assert_eq!(
            project.refusal(DELIVERY, &[project.close("B001")]),
            [format!("operation 1: B001: {PERSON}")],
            "{signals:?}"
        );
    }
}

#[test]
fn an_item_linked_to_a_done_ticket_in_the_same_change_does_not_end_with_it() {
    let project = ruled(&[moved_ticket("PAY-8", "done")]);
    let link = project.modify("B001", [(F::SourceTicket, project.text("PAY-8"))]);
    let refused = project.refusal(DELIVERY, &[link, project.close("B001")]);
    assert_eq!(refused, [format!("operation 1: B001: {PERSON}"), format!("operation 2: B001: {PERSON}")]);
}

#[test]
fn a_colour_improves_by_rules_only_if_a_done_ticket_ended_something() {
    let green = |project: &Project| {
        let summary = project.text("0 open blockers.");
        project.modify("STATUS001", [(F::OverallStatus, ArtefactValue::Word("green")), (F::StatusSummary, summary)])
    };
    let project = ruled(&[moved_ticket("PAY-8", "done")]);
    assert_eq!(project.refusal(DELIVERY, &[green(&project)]), [format!("operation 1: STATUS001: {PERSON}")]);
    let done = ruled(&[moved_ticket("PAY-7", "done")]);
    assert!(done.try_apply(DELIVERY, &[done.close("B001"), green(&done)]).is_ok());
    let refused = done.refusal(DELIVERY, &[green(&done)]);
    assert_eq!(refused, [format!("operation 1: STATUS001: {PERSON}")], "nothing has ended yet");
}
