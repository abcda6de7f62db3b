//! Every rule, with what passes and what doesn't.

use proem_engine::effect::key::SignalRevision;
use proem_triage::artefact::{
    Artefact, ArtefactActor, ArtefactContext, ArtefactField as F, ArtefactItemKind as K, ArtefactKind,
    ArtefactOperation, ArtefactStatement, ArtefactValue, DecisionOption, EscalationNeed, ItemStatus, SignalReferences,
    apply_operations,
};

use super::{PROJECT, Project, day, id, outside, with, words};
use crate::NOW;

const RAID: ArtefactKind = ArtefactKind::RaidLog;
const DELIVERY: ArtefactKind = ArtefactKind::DeliveryState;
const BACKLOG: ArtefactKind = ArtefactKind::BacklogSummary;
const DECISIONS: ArtefactKind = ArtefactKind::DecisionLog;

#[test]
fn an_item_of_the_raid_log_takes_every_step() {
    let mut project = Project::running();
    for to in ["resolved", "accepted", "closed", "open"] {
        let expected = format!("operation 1: R001: open can't become {to}; take the steps between");
        assert_eq!(project.refusal(RAID, &[project.status("R001", to)]), [expected]);
    }
    project.take(RAID, &[project.status("R001", "mitigating")]);
    assert_eq!(project.refusal(RAID, &[project.status("R001", "open")]).len(), 1);
    for to in ["resolved", "accepted", "closed"] {
        let applied = project.try_apply(RAID, &[project.status("R001", to)]).unwrap();
        assert_eq!(applied.artefact.item(id("R001")).unwrap().status.as_str(), to);
    }
    project.take(RAID, &[project.close("R001")]);
    let over = ["operation 1: R001: an ended item is not changed; add a new one"];
    assert_eq!(project.refusal(RAID, &[project.status("R001", "mitigating")]), over);
    assert_eq!(project.refusal(RAID, &[project.modify("R001", [(F::Title, project.text("b"))])]), over);
}

#[test]
fn an_item_begins_open() {
    let project = Project::running();
    let begins = |kind, status| {
        let ArtefactOperation::Add { id, kind, fields, .. } = project.raid(kind, "A risk") else { return vec![] };
        let operation = ArtefactOperation::Add { id, kind, status: Some(status), fields };
        project.try_apply(RAID, &[operation]).err().map(|all| words(&all)).unwrap_or_default()
    };
    assert!(begins(K::Risk, ItemStatus::Open).is_empty());
    assert!(begins(K::Risk, ItemStatus::Mitigating).is_empty());
    assert_eq!(begins(K::Risk, ItemStatus::Closed), ["operation 1: R002: nothing begins as closed; add it open"]);
}

#[test]
fn an_open_item_without_an_owner_asks_for_one() {
    let mut project = Project::running();
    assert_eq!(project.take(RAID, &[project.raid(K::Risk, "Owned")]).asks, []);
    let nobodys = with(project.raid(K::Dependency, "Nobody's"), F::Owner, None);
    let asks = [EscalationNeed::Owner(id("D001"))];
    assert_eq!(project.take(RAID, &[nobodys]).asks, asks);
    assert_eq!(project.take(RAID, &[project.status("D001", "mitigating")]).asks, asks);
    let owned = project.modify("D001", [(F::Owner, project.text("Bo"))]);
    assert_eq!(project.take(RAID, &[owned]).asks, []);
}

#[test]
fn a_blocker_names_an_open_item_of_the_raid_log() {
    let mut project = Project::running();
    let unlinked = "an open blocker needs an open item in the RAID log; link one, or close the blocker first";
    let unknown = "the RAID log has no such item; add it there first";
    assert_eq!(
        project.refusal(DELIVERY, &[project.blocker("I002")]),
        [format!("B002: `raid_item`: {unlinked}"), format!("operation 1: B002: `raid_item`: {unknown}")]
    );
    let elsewhere = with(project.blocker("I001"), F::RaidItem, Some(ArtefactValue::RaidItems(vec![id("DEC001")])));
    assert_eq!(project.refusal(DELIVERY, &[elsewhere]).len(), 2);
    let nowhere = with(project.blocker("I001"), F::RaidItem, Some(ArtefactValue::RaidItems(vec![])));
    assert_eq!(project.refusal(DELIVERY, &[nowhere]), [format!("B002: `raid_item`: {unlinked}")]);
    // The RAID log can't close what blocks either, until the blocker is closed.
    project.take(RAID, &[project.status("I001", "mitigating")]);
    let resolve = [project.status("I001", "resolved")];
    assert_eq!(project.refusal(RAID, &resolve), [format!("B001: `raid_item`: {unlinked}")]);
    project.take(DELIVERY, &[project.close("B001")]);
    project.take(RAID, &resolve);
    assert_eq!(project.artefact(DELIVERY).open(K::Blocker).count(), 0);
}

#[test]
fn a_change_of_colour_is_justified() {
    let mut project = Project::running();
    let amber = (F::OverallStatus, ArtefactValue::Word("amber"));
    let unjustified =
        "STATUS001: `status_summary`: the colour changes without a justification; say why in status_summary";
    let same = (F::StatusSummary, project.text("As planned."));
    assert_eq!(project.refusal(DELIVERY, &[project.modify("STATUS001", [amber.clone()])]), [unjustified]);
    assert_eq!(project.refusal(DELIVERY, &[project.modify("STATUS001", [amber.clone(), same])]), [unjustified]);
    let why = (F::StatusSummary, project.text("The provider has no sandbox."));
    project.take(DELIVERY, &[project.modify("STATUS001", [amber, why])]);
    let health = project.artefact(DELIVERY).item(id("STATUS001")).unwrap();
    assert_eq!(health.word(F::OverallStatus), Some("amber"));
}

#[test]
fn what_is_open_has_a_next_step() {
    let project = Project::running();
    let missing = "an open item has no next step; give one";
    let raid = with(project.raid(K::Assumption, "It holds"), F::Mitigation, None);
    assert_eq!(project.refusal(RAID, &[raid]), [format!("A001: `mitigation`: {missing}")]);
    let highlight = [
        (F::TicketId, project.text("PAY-8")),
        (F::Title, project.text("Refunds")),
        (F::Flag, ArtefactValue::Word("stale")),
        (F::Detail, project.text("Nine days")),
    ];
    let highlight = project.add(K::Highlight, highlight);
    assert_eq!(
        project.refusal(BACKLOG, std::slice::from_ref(&highlight)),
        [format!("H001: `suggested_action`: {missing}")]
    );
    let highlight = with(highlight, F::SuggestedAction, Some(project.text("Ask Ann.")));
    assert!(project.try_apply(BACKLOG, &[highlight]).is_ok());
    let milestone = project.add(K::Milestone, [(F::Name, project.text("Beta")), (F::DueDate, day(25))]);
    let late = [milestone.clone(), project.status("M001", "at_risk")];
    assert_eq!(project.refusal(DELIVERY, &late), [format!("M001: `notes`: {missing}")]);
    assert!(project.try_apply(DELIVERY, &[milestone]).is_ok());
}

#[test]
fn references_are_known() {
    let mut project = Project::running();
    let ticket = with(project.blocker("I001"), F::SourceTicket, Some(project.text("PAY-9")));
    assert_eq!(
        project.refusal(DELIVERY, &[ticket]),
        ["operation 1: B002: `source_ticket`: no signal is about this ticket; name one that is known"]
    );
    let elsewhere = SignalRevision { id: "jira:x".to_owned(), revision: "0".to_owned() };
    let foreign = ArtefactValue::Text(ArtefactStatement::fact(outside("Beta slips"), elsewhere.clone()));
    let unknown = "this revision of a signal is not known; name one that is";
    assert_eq!(
        project.refusal(RAID, &[project.modify("R001", [(F::Title, foreign)])]),
        [format!("operation 1: R001: `title`: {unknown}")]
    );
    let nowhere = project.modify("R009", [(F::Title, project.text("b"))]);
    assert_eq!(
        project.refusal(RAID, &[nowhere]),
        ["operation 1: R009: there is no such item; add it, or name one that is there"]
    );
    let title = [project.modify("R001", [(F::Mitigation, project.text("b"))])];
    project.actor = ArtefactActor::Agent("triage".to_owned());
    project.causes.push(elsewhere);
    assert_eq!(project.refusal(RAID, &title), [unknown]);
    project.causes.clear();
    assert_eq!(project.refusal(RAID, &title), ["no signal is named as the cause; name one"]);
}

#[test]
fn another_projects_artefact_is_refused() {
    let project = Project::running();
    let stranger = Artefact::new(DELIVERY, "0b9c2a4e-0000-4000-8000-000000000002");
    let operations = [project.raid(K::Risk, "A risk")];
    let with_project = |name, others: &[&Artefact]| {
        let context = ArtefactContext {
            now: NOW,
            project: name,
            actor: &project.actor,
            causes: &project.causes,
            known: &project.known,
            others,
        };
        apply_operations(project.artefact(RAID), &operations, &context).err().map(|all| words(&all)).unwrap_or_default()
    };
    assert!(with_project(PROJECT, &[]).is_empty());
    let other = ["this is another project's; set it aside"];
    assert_eq!(with_project("another", &[]), other);
    assert_eq!(with_project(PROJECT, &[&stranger]), other);
}

#[test]
fn ids_are_given_in_sequence() {
    let project = Project::running();
    let named = |text| match project.raid(K::Risk, "A risk") {
        ArtefactOperation::Add { kind, status, fields, .. } => {
            ArtefactOperation::Add { id: Some(id(text)), kind, status, fields }
        }
        other => other,
    };
    assert!(project.try_apply(RAID, &[named("R002"), named("R003")]).is_ok());
    for text in ["R001", "R003", "A002"] {
        let expected = format!("operation 1: {text}: ids are given in sequence; the next is R002");
        assert_eq!(project.refusal(RAID, &[named(text)]), [expected]);
    }
    let elsewhere = project.refusal(DELIVERY, &[project.raid(K::Risk, "A risk")]);
    assert_eq!(elsewhere, ["operation 1: this belongs to the raid_log; change that one"]);
}

#[test]
fn fields_hold_what_fits_them() {
    let project = Project::running();
    let says = |field, value| project.refusal(RAID, &[with(project.raid(K::Risk, "A risk"), field, value)]);
    let at = |field: &str, words: &str| vec![format!("operation 1: R002: `{field}`: {words}")];
    assert_eq!(says(F::Title, None), at("title", "a required field is missing; give it"));
    assert_eq!(
        says(F::Title, Some(project.text(" \n"))),
        at("title", "the text is blank; say something or leave it out")
    );
    assert_eq!(says(F::Title, Some(project.text(&"é".repeat(201)))), at("title", "more than 200; shorten it"));
    assert!(project.try_apply(RAID, &[project.raid(K::Risk, &"é".repeat(200))]).is_ok());
    let wrong = "the field can't hold this; give what the schema says";
    assert_eq!(says(F::Title, Some(day(1))), at("title", wrong));
    assert_eq!(says(F::Severity, Some(ArtefactValue::Word("green"))), at("severity", wrong));
    assert_eq!(says(F::Goal, Some(project.text("b"))), at("goal", "this kind of item has no such field; leave it out"));
}

#[test]
fn a_change_has_a_reason_and_changes_something() {
    let project = Project::running();
    let reason = project.says(" ");
    let close = ArtefactOperation::Close { id: id("B001"), reason };
    assert_eq!(project.refusal(DELIVERY, &[close]), ["operation 1: B001: the change has no reason; give one"]);
    let nothing = ["nothing changes; leave the artefact as it is"];
    assert_eq!(project.refusal(RAID, &[]), nothing);
    let same = project.modify("R001", [(F::Title, project.text("The provider may be late"))]);
    assert_eq!(project.refusal(RAID, &[same]), nothing);
    let many = vec![project.modify("R001", [(F::Title, project.text("b"))]); 501];
    assert_eq!(project.refusal(RAID, &many), ["more than 500 operations; apply them in parts"]);
}

#[test]
fn there_is_one_health_and_one_open_sprint() {
    let mut project = Project::running();
    let most = "at most 1 may be open; close one first";
    assert_eq!(project.refusal(DELIVERY, &[project.health("green")]), [most]);
    let fields = [
        (F::Name, project.text("Sprint 12")),
        (F::StartDate, day(-7)),
        (F::EndDate, day(4)),
        (F::Goal, project.text("Refunds")),
    ];
    let sprint = project.add(K::Sprint, fields);
    project.take(DELIVERY, std::slice::from_ref(&sprint));
    assert_eq!(project.refusal(DELIVERY, std::slice::from_ref(&sprint)), [most]);
    project.take(DELIVERY, &[project.close("S001"), sprint]);
    assert!(project.artefact(DELIVERY).item(id("S002")).is_some());
}

#[test]
fn statements_say_where_they_come_from() {
    let project = Project::running();
    let nowhere = ArtefactValue::Text(ArtefactStatement::inference(outside("Beta slips"), vec![]));
    assert_eq!(
        project.refusal(RAID, &[project.modify("R001", [(F::Title, nowhere)])]),
        ["operation 1: R001: `title`: the statement has no origin; name its signals or the person"]
    );
}

#[test]
fn only_a_person_speaks_for_a_person() {
    let mut project = Project::running();
    project.actor = ArtefactActor::Agent("triage".to_owned());
    let by_ada = ArtefactValue::Text(ArtefactStatement::by_person("Approved by Ada", "ada"));
    let operation = project.modify("R001", [(F::Mitigation, by_ada)]);
    let not_that = ["operation 1: R001: `mitigation`: only that person can say so; have it approved"];
    assert_eq!(project.refusal(RAID, std::slice::from_ref(&operation)), not_that);
    let user = with(project.raid(K::Risk, "A risk"), F::Source, Some(ArtefactValue::Word("user_added")));
    let only = "only a person can do this; escalate it";
    assert_eq!(project.refusal(RAID, std::slice::from_ref(&user)), [format!("operation 1: R002: `source`: {only}")]);
    assert_eq!(
        project.refusal(DECISIONS, &[decision(&project, "user", "R001")]),
        [format!("operation 1: DEC001: `made_by`: {only}")]
    );
    project.actor = ArtefactActor::Person("bo".to_owned());
    assert_eq!(project.refusal(RAID, std::slice::from_ref(&operation)), not_that);
    project.actor = ArtefactActor::Person("ada".to_owned());
    project.take(DECISIONS, &[decision(&project, "user", "R001")]);
    project.take(RAID, &[operation, user]);
}

#[test]
fn a_decision_links_items_that_are_there() {
    let mut project = Project::running();
    assert_eq!(
        project.refusal(DECISIONS, &[decision(&project, "agent", "R002")]),
        ["operation 1: DEC001: `related_raid_items`: the RAID log has no such item; add it there first"]
    );
    project.take(DECISIONS, &[decision(&project, "agent", "R001")]);
    project.take(DECISIONS, &[project.status("DEC001", "superseded")]);
    assert_eq!(
        project.refusal(DECISIONS, &[project.status("DEC001", "active")]),
        ["operation 1: DEC001: an ended item is not changed; add a new one"]
    );
}

fn decision(project: &Project, made_by: &'static str, related: &str) -> ArtefactOperation {
    let option = |text: &str| DecisionOption {
        option: project.says(text),
        pros: vec![project.says("Quick")],
        cons: vec![project.says("Dear")],
    };
    let fields = [
        (F::Title, project.text("Which provider")),
        (F::Context, project.text("The first one is late.")),
        (F::OptionsConsidered, ArtefactValue::Options(vec![option("Wait"), option("Change")])),
        (F::Decision, project.text("Wait")),
        (F::Rationale, project.text("Changing takes longer.")),
        (F::MadeBy, ArtefactValue::Word(made_by)),
        (F::RelatedRaidItems, ArtefactValue::RaidItems(vec![id(related)])),
    ];
    project.add(K::Decision, fields)
}

#[test]
fn lists_have_an_end() {
    let project = Project::running();
    let option = |reasons: usize| DecisionOption {
        option: project.says("Wait"),
        pros: vec![project.says("Quick"); reasons],
        cons: vec![],
    };
    let refused = |field, value| {
        let decision = with(decision(&project, "agent", "R001"), field, Some(value));
        project.try_apply(DECISIONS, &[decision]).err().map(|all| words(&all)).unwrap_or_default()
    };
    let options = |many, reasons| refused(F::OptionsConsidered, ArtefactValue::Options(vec![option(reasons); many]));
    assert!(options(10, 10).is_empty());
    let too_long = ["operation 1: DEC001: `options_considered`: more than 10; shorten it"];
    assert_eq!(options(11, 1), too_long);
    assert_eq!(options(1, 11), too_long);
    let related = |many| refused(F::RelatedRaidItems, ArtefactValue::RaidItems(vec![id("R001"); many]));
    assert!(related(50).is_empty());
    assert_eq!(related(51), ["operation 1: DEC001: `related_raid_items`: more than 50; shorten it"]);
}

#[test]
fn no_signal_is_known_where_there_is_none() {
    let mut project = Project::running();
    project.known = SignalReferences::default();
    let violations = project.refusal(RAID, &[project.modify("R001", [(F::Title, project.text("b"))])]);
    assert_eq!(violations.len(), 3, "{violations:?}");
}
