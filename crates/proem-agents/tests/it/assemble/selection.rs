//! Tools and skills: what is where, whose words, and what changes with the task.

use proem_agents::assemble::Task;
use proem_agents::assemble::output::degraded_reasons;
use proem_agents::assemble::settings::{AssembleSettings, ModeSettings};
use proem_engine::prompt::book::Book;
use proem_engine::section::CacheClass;
use proem_select::catalogue::{Approvals, Catalogue, CatalogueEntryKind, parse_lines};
use proem_select::mode::Mode;
use proptest::prelude::*;

use crate::assemble::scene::{Scene, Shelf, prompt_with, text_of};

const LINES: &str = r#"{"name":"github__create_issue","description":"Opens a new issue in a GitHub repository.","parameters":{"type":"object","properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["title"]}}
{"name":"weather__forecast","description":"Tells the weather of the next days for a city."}
{"name":"postgres__query","description":"Runs a read-only SQL query against the database."}
{"name":"files__read","description":"Reads a file of the workspace."}
{"name":"calendar__delete","description":"Deletes a meeting from the calendar.","modes":["act"]}
{"name":"translate","kind":"skill","description":"Use when a text has to be put into another language.","examples":["traduzir o README para inglês"]}"#;

/// A catalogue of which the named entries are approved.
fn catalogue(approved: &[&str]) -> Catalogue {
    let parsed = parse_lines("tools.jsonl", LINES);
    let nobody = Catalogue::new(parsed.clone(), &Approvals::default());
    let mut approvals = Approvals::default();
    for name in approved {
        approvals.insert(name, *nobody.get(name).unwrap().hash());
    }
    Catalogue::new(parsed, &approvals)
}

fn scene(task: &str, approved: &[&str]) -> Scene {
    Scene {
        task: Task::Caller(task.to_owned()),
        shelf: Some(Shelf::new(catalogue(approved))),
        settings: AssembleSettings {
            tools: vec!["files__read".to_owned()],
            min_score: Some(0.05),
            ..AssembleSettings::default()
        },
        ..Scene::with("a clock")
    }
}

const ISSUE: &str = "open an issue in the github repository about the broken login";

#[test]
fn an_approved_definition_is_text_and_another_only_a_contained_signature() {
    let assembled = scene(ISSUE, &["github__create_issue", "files__read"]).assemble();
    let chosen: Vec<&str> = assembled.selected.as_ref().unwrap().chosen(CatalogueEntryKind::Tool).collect();
    assert_eq!(chosen.first(), Some(&"github__create_issue"));
    let selected = text_of(&assembled, "selected");
    assert!(
        selected.contains("- tool github__create_issue(title: string, labels?: string[]): Opens a new issue"),
        "{selected}"
    );
    // The base tool's definition is in the prefix, and only there.
    assert!(text_of(&assembled, "capabilities").contains("- tool files__read(): Reads a file of the workspace."));
    assert!(!selected.contains("files__read"), "{selected}");

    let assembled = scene(ISSUE, &[]).assemble();
    assert_eq!(text_of(&assembled, "selected"), "");
    let found = text_of(&assembled, "found");
    assert!(found.contains("<UNTRUSTED_CONTEXT id="), "{found}");
    assert!(found.contains("github__create_issue(title: string, labels?: string[])"), "{found}");
    assert!(!assembled.assembly.text().contains("Opens a new issue"), "nobody approved that sentence");
    assert!(!text_of(&assembled, "capabilities").contains("Reads a file"), "nor this one");
    assert!(assembled.left_out.iter().any(|text| text.contains("`files__read`, which is not approved")));
}

#[test]
fn words_alone_are_labelled() {
    let assembled = scene(ISSUE, &[]).assemble();
    let reasons = degraded_reasons(&assembled, &["the model could not be loaded".to_owned()]);
    assert_eq!(
        reasons,
        ["the model could not be loaded", "no embedding model: tools are chosen by shared words"],
        "the shelf has no model"
    );
    assert!(
        degraded_reasons(&Scene::with("a clock").assemble(), &[]).is_empty(),
        "without a catalogue nothing is lost"
    );
}

#[test]
fn nothing_fits_is_said() {
    let assembled = Scene { settings: AssembleSettings::default(), ..scene("qwzx vrrt plmk", &[]) }.assemble();
    let selected = assembled.selected.as_ref().unwrap();
    assert!(selected.abstained && selected.chosen(CatalogueEntryKind::Tool).next().is_none(), "{selected:?}");
    assert!(text_of(&assembled, "selected").contains("No tool or skill of the catalogue fits this task."));
    assert!(selected.candidates.iter().all(|candidate| candidate.cut.is_some()), "each says why it was left out");
}

#[test]
fn modes_caps_and_results_hold() {
    let all = "delete the meeting, query the database, open an issue, tell the weather forecast, read the file";
    let names = |scene: &Scene| {
        let assembled = scene.assemble();
        assembled.selected.unwrap().chosen(CatalogueEntryKind::Tool).map(str::to_owned).collect::<Vec<_>>()
    };
    let act =
        Scene { settings: AssembleSettings { min_score: Some(0.0), ..AssembleSettings::default() }, ..scene(all, &[]) };
    assert!(names(&act).contains(&"calendar__delete".to_owned()));
    let plan = Scene {
        mode: Some(Mode::Plan),
        settings: AssembleSettings { min_score: Some(0.0), ..AssembleSettings::default() },
        ..scene(all, &[])
    };
    assert!(!names(&plan).contains(&"calendar__delete".to_owned()), "it may only be used to act");
    let capped = |settings: AssembleSettings| names(&Scene { settings, ..scene(all, &[]) }).len();
    assert_eq!(capped(AssembleSettings { min_score: Some(0.0), max_results: 2, ..AssembleSettings::default() }), 2);
    let base = vec!["files__read".to_owned()];
    assert_eq!(
        capped(AssembleSettings { min_score: Some(0.0), max_tools: 3, tools: base, ..AssembleSettings::default() }),
        2
    );
    let own = ModeSettings { max_tools: Some(1), ..ModeSettings::default() };
    let settings = AssembleSettings { min_score: Some(0.0), ..AssembleSettings::default() };
    let settings = AssembleSettings { modes: [(Mode::Act, own)].into(), ..settings };
    assert_eq!(capped(settings), 1);
}

#[test]
fn an_example_in_another_language_finds_its_skill() {
    let assembled = scene("preciso traduzir o README", &[]).assemble();
    let selected = assembled.selected.unwrap();
    let skill = selected.candidates.iter().find(|candidate| candidate.kind == CatalogueEntryKind::Skill).unwrap();
    assert_eq!((skill.name.as_str(), skill.cut), ("translate", None));
    assert!(skill.example.is_some(), "{skill:?}");
}

#[test]
fn an_older_version_of_the_prompt_still_works() {
    let old = Book::new(vec![proem_agents::book::embedded_book()])
        .unwrap()
        .prompt(proem_agents::assemble::PROMPT, Some("1.0.0"))
        .unwrap();
    let assembled = Scene { prompt: old, ..scene(ISSUE, &[]) }.assemble();
    assert_eq!(text_of(&assembled, "found"), "");
    assert!(
        assembled.left_out.iter().any(|text| text.contains("has no section for selected tools")),
        "{:?}",
        assembled.left_out
    );
    assert!(prompt_with(&[]).id.version.starts_with("1.6.0"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn changing_the_task_changes_no_byte_of_the_prefix(task in "[a-z ]{3,60}|\\PC{1,80}", approve in any::<bool>()) {
        prop_assume!(!task.trim().is_empty());
        let approved: &[&str] = if approve { &["github__create_issue", "files__read", "postgres__query"] } else { &[] };
        let one = scene(ISSUE, approved).assemble();
        let other = scene(&task, approved).assemble();
        let prefix = |assembled: &proem_agents::assemble::AssemblyAccount| {
            assembled.assembly.prefix().iter().map(|section| section.text.clone()).collect::<String>()
        };
        prop_assert_eq!(prefix(&one), prefix(&other));
        for section in one.assembly.prefix() {
            prop_assert_ne!(section.cache, CacheClass::Never);
        }
        prop_assert!(one.assembly.suffix().iter().any(|section| section.name == "selected" || section.name == "found"));
    }
}
