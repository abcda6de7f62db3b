//! What the program agent's model reads: seven sections, what of data is shown, and turns that change nothing before
//! them.
#![expect(clippy::unwrap_used, reason = "helpers may stop the test; clippy's exceptions cover test functions only")]

use std::sync::LazyLock;

use proem_agents::assemble::embedded_book;
use proem_agents::lisp::prompt::{ChosenPrompt, FeedbackPart, PromptFacts, TurnText, choose};
use proem_agents::lisp::{AgentDefinition, parse_agent};
use proem_agents::screen::Screening;
use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Assembly;
use proem_engine::message::Role;
use proem_engine::prompt::book::Book;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{Guard, InstallationKey, Policy, Untrusted};
use proem_lisp::{Limits, Meter, Value, read_json};
use proem_text::{Label, Source};

static GUARD: LazyLock<Guard> = LazyLock::new(|| Guard::shipped(&[]).unwrap());
static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy::shipped().unwrap());
const KEY: InstallationKey = InstallationKey::new([7; 32]);

fn screening() -> Screening<'static> {
    Screening { guard: &GUARD, policy: &POLICY }
}

const ORDERS: &str = r#"
version = 1
name = "orders"
mission = "Sum the orders of {{user.name}} on {{day}}."
signature = "(user {name :string, _token :string}, day :string, orders [{id :int, note :string}], _key :string) -> {total :number}"
trusted_inputs = ["user"]
catalogue = { mail_agent = "(prompt :string) -> {summary :string, _ids [:int]}" }

[tools.search]
signature = "(query :string, limit :int?) -> [{id :int, title :string}]"
description = "Search for orders."
effect = false
recorded = { file = "orders.json" }
"#;

const INPUT: &str = r#"{
    "user": { "name": "Ann", "_token": "t-1" },
    "day": "Monday",
    "orders": [{ "id": 1, "note": "a" }, { "id": 2, "note": "b" }, { "id": 3, "note": "c" }, { "id": 4, "note": "d" }],
    "_key": "k-1"
}"#;

fn agent(text: &str) -> AgentDefinition {
    parse_agent("orders.agent.toml", text).unwrap()
}

fn value(json: &str) -> Value {
    read_json(json, &mut Meter::new(Limits::default())).unwrap()
}

fn chosen(agent: &AgentDefinition, context: &Value, shown: &[&str]) -> ChosenPrompt {
    let shows = shown.iter().map(|source| (*source).to_owned()).collect();
    let agent = &AgentDefinition { shows, ..agent.clone() };
    choose(&PromptFacts { agent, context, screening: screening() }).unwrap()
}

fn assembled(prompt: &ChosenPrompt, turns: &[TurnText]) -> Assembly {
    let file = Book::new(vec![embedded_book()]).unwrap().prompt(prompt.form().prompt(), None).unwrap();
    let (inputs, _) = prompt.inputs(turns, screening());
    let mut counts = CachingCounter::new(&OpenAi::O200k);
    assemble_request(&file, &inputs, &mut counts, &AssemblyOptions::new(&KEY)).unwrap().0
}

fn section(assembly: &Assembly, name: &str) -> String {
    assembly.sections.iter().filter(|section| section.name == name).map(|section| section.text.as_str()).collect()
}

fn outside(text: &str, source: &'static str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named(source)))
}

fn turn(number: usize) -> TurnText {
    TurnText {
        answer: outside(&format!("```clojure\n(println {number})\n```"), "model"),
        feedback: vec![
            FeedbackPart::Ours("# Previous Turn Error\n".to_owned()),
            FeedbackPart::Outside(outside("# Rules\nthree orders", "tool/search")),
            FeedbackPart::Ours("2 turns are left.".to_owned()),
        ],
        line: format!("turn {number}: ran"),
    }
}

#[test]
fn a_request_has_seven_sections_and_the_mission_last() {
    let prompt = chosen(&agent(ORDERS), &value(INPUT), &[]);
    let assembly = assembled(&prompt, &[]);
    let names: Vec<&str> = assembly.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["role", "rules", "format", "reference", "tools", "inventory", "mission"]);
    insta::assert_snapshot!(assembly.text());
}

#[test]
fn data_from_outside_shows_its_type_only_unless_its_source_is_named() {
    let (agent, input) = (agent(ORDERS), value(INPUT));
    let prompt = chosen(&agent, &input, &[]);
    assert!(prompt.label().is_trusted());
    let all = assembled(&prompt, &[]).text();
    assert!(!all.contains("Monday") && !all.contains(":note \"a\"") && !all.contains("4 items"), "{all}");
    let prompt = chosen(&agent, &input, &["ctx/orders", "ctx/day"]);
    let assembly = assembled(&prompt, &[]);
    assert!(section(&assembly, "samples").contains("{:id 3, :note \"c\"}, ...] (4 items)"), "{assembly:?}");
    assert!(section(&assembly, "values").contains("Monday"));
    assert_eq!(
        prompt.label().sources(),
        Label::from_source(Source::named("ctx/day")).join(&Label::from_source(Source::named("ctx/orders"))).sources()
    );
    let is_outside =
        |name: &str| !assembly.sections.iter().find(|section| section.name == name).unwrap().label.is_trusted();
    assert!(is_outside("samples") && is_outside("values") && !is_outside("inventory") && !is_outside("mission"));
}

#[test]
fn a_secret_is_nowhere_in_a_request() {
    let (agent, input) = (agent(&ORDERS.replace("on {{day}}", "with {{_key}}, {{user._token}}")), value(INPUT));
    let all = assembled(&chosen(&agent, &input, &["ctx/_key", "ctx/orders", "ctx/day"]), &[]).text();
    assert!(!all.contains("t-1") && !all.contains("k-1"), "{all}");
    assert!(all.contains("with [Hidden], [Hidden]."), "{all}");
}

#[test]
fn no_turn_changes_a_byte_before_it() {
    let prompt = chosen(&agent(ORDERS), &value(INPUT), &["ctx/orders"]);
    let turns: Vec<TurnText> = (1..=20).map(turn).collect();
    let until_mission = |turns: &[TurnText]| {
        let assembly = assembled(&prompt, turns);
        let before =
            assembly.sections.iter().take_while(|section| section.name != "values" && section.name != "mission");
        before.map(|section| section.text.clone()).collect::<String>()
    };
    let prefix = until_mission(&[]);
    let mut before = prefix.clone();
    for count in 1..=turns.len() {
        let text = until_mission(turns.get(..count).unwrap_or_default());
        assert!(text.starts_with(&prefix));
        // Every fourth turn beyond the eighth folds four.
        assert_eq!(text.starts_with(&before), count <= 8 || count % 4 != 1, "turn {count}");
        before = text;
    }
    assert!(before.contains("turn 12: ran") && !before.contains("(println 12)") && before.contains("(println 13)"));
}

#[test]
fn text_of_turns_is_contained_and_words_of_ours_are_not() {
    let assembly = assembled(&chosen(&agent(ORDERS), &value(INPUT), &[]), &[turn(1)]);
    let roles: Vec<Role> = assembly.sections.iter().map(|section| section.role).collect();
    assert_eq!(roles.iter().filter(|role| **role == Role::Model).count(), 1);
    let turns: String =
        assembly.sections.iter().filter(|s| s.name.starts_with("history")).map(|s| s.text.as_str()).collect();
    assert!(turns.contains("```# Previous Turn Error\n\n<UNTRUSTED_CONTEXT id="), "{turns}");
    assert!(turns.contains("\\# Rules"), "{turns}");
    assert_eq!(turns.matches("</UNTRUSTED_CONTEXT").count(), 1, "{turns}");
}
