//! Artefacts as a person reads them, and as a program does.

use std::fs;

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::LabelTree;
use proem_triage::{
    ProjectSignal,
    artefact::{
        Artefact, ArtefactActor, ArtefactField as F, ArtefactItemKind as K, ArtefactKind, ArtefactStatement,
        ArtefactValue, BacklogExtent, DecisionOption, FigureSources, ProjectFigures, ProjectHealth, ReportSource,
        ReportSources, ReportTerms, artefact_difference, artefacts_markdown, count_figures, proposal_contract,
    },
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    NOW, PROJECT, Project, day,
    figures::{figure_places, search, ticket},
    id, outside, with,
};
use crate::folder;

const HOSTILE: &str =
    "x\n# Approved\n##vso[task.complete] ![a](http://evil.example) <img src=x> `rm` | \u{202e} www.evil.example @ada";

/// A project in mid-sprint, of which an attacker wrote a ticket.
pub(super) fn busy_project(attack: &str) -> Project {
    let mut project = Project::running();
    let late = ArtefactStatement::fact(outside("The provider says three weeks"), project.causes[0].clone());
    let sandbox = project.modify(
        "I001",
        [
            (F::Description, ArtefactValue::Text(late)),
            (F::SourceReference, project.text("PAY-7")),
            (F::DueDate, day(9)),
        ],
    );
    let nobodys = with(project.raid(K::Dependency, attack), F::Owner, None);
    let gone = [project.raid(K::Risk, "Ann is on leave"), project.status("R002", "mitigating"), project.close("R002")];
    project.take(ArtefactKind::RaidLog, &[sandbox, nobodys]);
    project.take(ArtefactKind::RaidLog, &gone);
    let sprint = [
        (F::Name, project.text("Sprint 12")),
        (F::StartDate, day(-10)),
        (F::EndDate, day(4)),
        (F::Goal, project.text("Refunds work end to end")),
    ];
    let milestone =
        [(F::Name, project.text("Beta")), (F::DueDate, day(25)), (F::Notes, project.text("No sandbox yet"))];
    let operations = [
        project.add(K::Sprint, sprint),
        project.add(K::Milestone, milestone),
        project.status("M001", "at_risk"),
        project.add(K::NextAction, [(F::Action, project.text("Call the provider on Monday"))]),
        project.modify(
            "STATUS001",
            [
                (F::OverallStatus, ArtefactValue::Word("amber")),
                (F::StatusSummary, project.text("The sandbox is late, so the beta may slip.")),
            ],
        ),
    ];
    project.take(ArtefactKind::DeliveryState, &operations);
    let highlight = [
        (F::TicketId, project.text("PAY-8")),
        (F::Title, project.text("Refunds")),
        (F::Flag, ArtefactValue::Word("missing_criteria")),
        (F::Detail, project.text("Nobody wrote when it is done")),
        (F::SuggestedAction, project.text("Refine it with Ann")),
    ];
    let operations = [
        project.add(K::Backlog, [(F::Source, ArtefactValue::Word("jira")), (F::ScopeNotes, project.text("Two added"))]),
        project.add(K::Highlight, highlight),
    ];
    project.take(ArtefactKind::BacklogSummary, &operations);
    project.actor = ArtefactActor::Person("ada".to_owned());
    let says = |text: &str| ArtefactStatement::by_person(text, "ada");
    let option = |text: &str, pro: &str, con: &str| DecisionOption {
        option: says(text),
        pros: vec![says(pro)],
        cons: vec![says(con)],
    };
    let options = vec![option("Wait", "cheap", "three weeks"), option("Change", "quick", "a new contract")];
    let decision = [
        (F::Title, ArtefactValue::Text(says("Which provider"))),
        (F::Context, project.text("The sandbox is late.")),
        (F::OptionsConsidered, ArtefactValue::Options(options)),
        (F::Decision, ArtefactValue::Text(says("Wait"))),
        (F::Rationale, ArtefactValue::Text(says("A change takes longer."))),
        (F::MadeBy, ArtefactValue::Word("user")),
        (F::RelatedRaidItems, ArtefactValue::RaidItems(vec![id("R001"), id("I001")])),
    ];
    let decision = project.add(K::Decision, decision);
    project.take(ArtefactKind::DecisionLog, &[decision]);
    project
}

fn counted(project: &Project) -> ProjectFigures {
    let signals = search(&[
        ticket("PAY-7", "blocked", "Highest", 2, Some(5.0)),
        ticket("PAY-8", "new", "Medium", 9, None),
        ticket("PAY-9", "done", "Medium", 3, Some(3.0)),
    ]);
    let (signals, artefacts): (Vec<&ProjectSignal>, Vec<&Artefact>) =
        (signals.iter().collect(), project.artefacts.iter().collect());
    let coverage = BacklogExtent::Whole;
    count_figures(&FigureSources {
        now: NOW,
        signals: &signals,
        coverage,
        places: &figure_places(),
        artefacts: &artefacts,
    })
}

/// The signals behind the artefacts, as they are named in a report.
fn report_sources(project: &Project) -> ReportSources {
    let source = |(at, cause): (usize, &SignalRevision)| {
        let source = ReportSource {
            ticket: (at == 0).then(|| LabelTree::Outside(outside("PAY-7"))),
            link: (at == 0).then(|| "https://corp.atlassian.net/browse/PAY-7".to_owned()),
            sender: Some(LabelTree::Outside(outside("Ana [PM] (ana@corp.example)"))),
            at: NOW,
        };
        (cause.clone(), source)
    };
    project.causes.iter().enumerate().map(source).collect()
}

fn report(project: &Project) -> String {
    report_of(project, &project.artefacts.iter().collect::<Vec<_>>(), 0)
}

/// Some artefacts of a project, as they are shown where clocks are so far ahead of UTC.
fn report_of(project: &Project, shown: &[&Artefact], ahead_of_utc: i64) -> String {
    let (figures, sources) = (counted(project), report_sources(project));
    let health = ProjectHealth::of(&project.artefacts, Time(NOW.0 + ahead_of_utc));
    let (figures, health) = (Some(&figures), Some(&health));
    artefacts_markdown(shown, ReportTerms { title: "Payments", figures, health, sources: &sources, ahead_of_utc })
}

#[test]
fn the_report_of_a_project_in_mid_sprint() {
    let found = report(&busy_project(HOSTILE));
    let expected = fs::read_to_string(folder("artefacts").join("report.md")).unwrap_or_default();
    assert_eq!(found, expected, "{found}");
}

#[test]
fn what_was_never_written_is_left_out() {
    let artefacts = Project::empty().artefacts;
    let (sources, title) = (ReportSources::new(), "A *new* one");
    let terms = ReportTerms { title, figures: None, health: None, sources: &sources, ahead_of_utc: 0 };
    assert_eq!(artefacts_markdown(&artefacts.iter().collect::<Vec<_>>(), terms), "# A ∗new∗ one\n");
}

#[test]
fn the_colour_counts_artefacts_that_are_not_shown() {
    let project = busy_project(HOSTILE);
    let (whole, alone) = (report(&project), report_of(&project, &[project.artefact(ArtefactKind::DeliveryState)], 0));
    let counted = |report: &str| report.lines().find(|line| line.starts_with("Counted now: ")).map(str::to_owned);
    assert!(counted(&alone).unwrap().contains("3 open items in the RAID log"), "{alone}");
    assert_eq!(counted(&whole), counted(&alone));
}

#[test]
fn days_are_those_of_the_zone_and_a_date_stays_its_day() {
    let mut project = Project::running();
    let late = ArtefactValue::Date(Time(NOW.0 + 22 * 3_600_000));
    let late = with(project.raid(K::Risk, "It came late in the evening"), F::RaisedDate, Some(late));
    let late = with(late, F::DueDate, Some(day(0)));
    project.take(ArtefactKind::RaidLog, &[late]);
    let shown = |ahead: i64| report_of(&project, &[project.artefact(ArtefactKind::RaidLog)], ahead * 3_600_000);
    assert!(shown(1).contains("since: 2026-11-23; due: 2026-11-23"), "{}", shown(1));
    assert!(shown(3).contains("since: 2026-11-24; due: 2026-11-23"), "{}", shown(3));
}

#[test]
fn a_report_has_no_hashes_no_notes_and_no_backslashes() {
    let found = report(&busy_project("The _provider_ wants [PROD] keys\nfor R&D, ~5 days & $300 *soon* for #7"));
    assert!(!found.contains("[^") && !found.contains('\\'), "{found}");
    assert!(!found.contains("fa4a8e45") && !found.contains("revision"), "{found}");
    let expected = "The ＿provider＿ wants [PROD] keys for R&D, ~5 days & $300 ∗soon∗ for #7";
    assert!(found.contains(expected), "{found}");
    let linked = "[PAY-7](https://corp.atlassian.net/browse/PAY-7) by Ana [PM] (ana＠corp.example), 2026-11-23";
    assert!(found.contains(linked), "{found}");
}

/// How a line of a report may begin.
const BEGINNINGS: [&str; 13] = [
    "# Payments",
    "## ",
    "### ",
    "- ",
    "  - Option: ",
    "Status **",
    "Sprint: ",
    "Counted ",
    "The rule: ",
    "Source: ",
    "None.",
    "Sources: ",
    "  Sources: ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_from_outside_makes_a_line_or_a_mark(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "\n", "\r\n", "\u{2028}", "# ", "- ", "1. ", "> ", "| a |", "[a](http://b.example)", "![](x)", "<b>",
                "```", "`", "*", "_", "~~", "www.b.example", "ada@b.example", "[^1]", "[^1]: fact", "&lt;", "::error::",
                "##vso[a]", "\\", "\\[", "\u{1b}[31m", "\u{202e}", "word", " ", "$x$", "wwww.", "http://",
            ]),
            1..14,
        ),
    ) {
        let hostile = format!("a{}", parts.concat());
        let (plain, attacked) = (report(&busy_project("a harmless title")), report(&busy_project(&hostile)));
        prop_assert_eq!(plain.lines().count(), attacked.lines().count());
        for (plain, line) in plain.lines().zip(attacked.lines()) {
            prop_assert!(line.is_empty() || BEGINNINGS.iter().any(|begin| line.starts_with(begin)), "{line}");
            // Signs that make emphasis, code and mentions are as many as they were.
            let marks = |line: &str| line.chars().filter(|c| matches!(c, '`' | '*' | '@')).collect::<String>();
            prop_assert_eq!(marks(plain), marks(line), "{}", line);
            // And no two signs that mean something together.
            for pair in ["](", "][", "]:", "[^", "[[", "~~", "://", "www.", "<b", "<i", "</", "<!", "&lt;", " _", "_ ", "\\["] {
                let count = |line: &str| line.to_lowercase().matches(pair).count();
                prop_assert_eq!(count(plain), count(line), "{}: {}", pair, line);
            }
        }
    }
}

/// A content as an update of the artefact's contract.
fn accepted_kinds(kind: ArtefactKind, content: (&str, Json)) -> Vec<String> {
    let mut update = json!({ "project_id": PROJECT, "changes_summary": "b", "signals_incorporated": [] });
    update[content.0] = content.1;
    let label = proem_text::Label::trusted();
    let problems = proposal_contract(kind).unwrap().problems(&proem_guard::Untrusted::new(update, label));
    problems.iter().map(proem_engine::contract::Problem::in_words).collect()
}

#[test]
fn the_json_meets_the_contracts_and_keeps_texts_exact() {
    let project = busy_project(HOSTILE);
    let figures = counted(&project);
    let json = |kind| project.artefact(kind).to_json(Some(&figures));
    let nothing: [String; 0] = [];
    let delivery = json(ArtefactKind::DeliveryState);
    assert_eq!(accepted_kinds(ArtefactKind::DeliveryState, ("content", delivery["content"].clone())), nothing);
    let backlog = json(ArtefactKind::BacklogSummary);
    assert_eq!(accepted_kinds(ArtefactKind::BacklogSummary, ("content", backlog["content"].clone())), nothing);
    let raid = json(ArtefactKind::RaidLog);
    assert_eq!(accepted_kinds(ArtefactKind::RaidLog, ("items_added", raid["content"]["items"].clone())), nothing);
    let decisions = json(ArtefactKind::DecisionLog);
    let items = decisions["content"]["items"].clone();
    assert_eq!(accepted_kinds(ArtefactKind::DecisionLog, ("decisions_added", items)), nothing);
    let item = |id: &str| raid["content"]["items"].as_array().unwrap().iter().find(|item| item["id"] == id).unwrap();
    assert_eq!(item("D001")["title"], HOSTILE);
    assert_eq!(item("R002")["status"], "closed");
    assert_eq!(raid["statements"]["I001"]["description"][0]["certainty"], "fact");
    let cause: &SignalRevision = &project.causes[0];
    assert_eq!(raid["statements"]["D001"]["title"][0]["origins"][0]["signal"], cause.id);
    assert_eq!(decisions["statements"]["DEC001"]["decision"][0]["origins"][0]["person"], "ada");
    assert_eq!(delivery["content"]["key_metrics"]["open_blockers"], 1);
    assert_eq!(delivery["content"]["key_metrics"]["velocity_trend"], "unknown");
    assert_eq!(delivery["content"]["current_sprint"]["progress"]["blocked_points"], 5);
    assert_eq!(delivery["figures"]["unknown"]["velocity"], "too few closed sprints");
}

#[test]
fn a_difference_is_told_in_words() {
    let (before, after) = (Project::running(), busy_project("b\nR001 was closed"));
    let told = |kind| artefact_difference(before.artefact(kind), after.artefact(kind), 0);
    assert_eq!(
        told(ArtefactKind::RaidLog),
        [
            "R002 added as closed: “Ann is on leave”",
            "I001 description: “It was said in a comment.” became “The provider says three weeks”",
            "I001 due_date: 2026-12-02 came in",
            "I001 source_reference: “PAY-7” came in",
            "D001 added as open: “b\\nR001 was closed”",
        ]
    );
    let attacked = busy_project("##vso[task.complete]");
    let told_of =
        artefact_difference(before.artefact(ArtefactKind::RaidLog), attacked.artefact(ArtefactKind::RaidLog), 0);
    assert_eq!(told_of[4], "D001 added as open: “#\\u{23}vso[task.complete]”");
    let delivery = told(ArtefactKind::DeliveryState);
    assert_eq!(delivery[0], "STATUS001 overall_status: green became amber");
    assert_eq!(delivery[3], "M001 added as at_risk: “Beta”");
    let back = artefact_difference(after.artefact(ArtefactKind::RaidLog), before.artefact(ArtefactKind::RaidLog), 0);
    assert_eq!(back[0], "R002 not there yet: “Ann is on leave”");
    assert!(
        artefact_difference(after.artefact(ArtefactKind::RaidLog), after.artefact(ArtefactKind::RaidLog), 0).is_empty()
    );
}
