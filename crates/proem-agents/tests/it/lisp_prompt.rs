//! The prompt of the program agent: seven sections, the shown part of data, and turns that change nothing before them.
#![expect(clippy::unwrap_used, reason = "helpers may stop the test; clippy's exceptions cover test functions only")]

use std::sync::LazyLock;

use proem_agents::book::embedded_book;
use proem_agents::lisp::prompt::{ChosenPrompt, FeedbackPart, PromptFacts, TurnText, choose};
use proem_agents::lisp::{AgentDefinition, parse_agent};
use proem_agents::screen::Screening;
use proem_engine::Error;
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

fn choose_prompt(agent: &AgentDefinition, context: &Value, shown: &[&str]) -> ChosenPrompt {
    let shows = shown.iter().map(|source| (*source).to_owned()).collect();
    let agent = &AgentDefinition { shows, ..agent.clone() };
    choose(&PromptFacts { agent, context, screening: screening() }).unwrap()
}

fn assembled(prompt: &ChosenPrompt, turns: &[TurnText]) -> Assembly {
    within(prompt, turns, None).unwrap()
}

/// The request of a run that may have so many tokens.
fn within(prompt: &ChosenPrompt, turns: &[TurnText], input_tokens: Option<usize>) -> Result<Assembly, Error> {
    let file = Book::new(vec![embedded_book()]).unwrap().prompt(prompt.form().prompt(), None).unwrap();
    let (inputs, _) = prompt.inputs(turns, screening());
    let mut counts = CachingCounter::new(&OpenAi::O200k);
    let options = AssemblyOptions { input_tokens, ..AssemblyOptions::new(&KEY) };
    Ok(assemble_request(&file, &inputs, &mut counts, &options)?.0)
}

/// An agent as the specification's example of a prompt has it.
const EXAMPLE: &str = r#"
version = 1
name = "mail"
mission = "Find all urgent emails for {{user.name}} and draft acknowledgment replies."
signature = "(user_id :int, emails [{id :int, subject :string}], _token :string, user {name :string}) -> {count :int, draft_ids [:int]}"
trusted_inputs = ["user_id", "emails", "user"]
catalogue = { email_agent = "(prompt :string) -> {summary :string, _ids [:int]}" }

[tools.search]
signature = "search(query :string, limit :int?) -> [{id :int, title :string}]"
description = "Search for items that match the query; 10 unless `limit` says otherwise."
recorded = { file = "search.json" }

[tools.get_user]
signature = "get_user(id :int) -> {name :string, email :string?}"
description = "Fetch a user by id."
recorded = { file = "user.json" }
"#;

const EXAMPLE_INPUT: &str = r#"{
    "user_id": 123,
    "emails": [
        { "id": 1, "subject": "Hello" }, { "id": 2, "subject": "Urgent" }, { "id": 3, "subject": "Re: Urgent" },
        { "id": 4, "subject": "News" }, { "id": 5, "subject": "Invoice" }
    ],
    "_token": "t-1",
    "user": { "name": "Ann" }
}"#;

fn example() -> Assembly {
    assembled(&choose_prompt(&agent(EXAMPLE), &value(EXAMPLE_INPUT), &[]), &[])
}

/// The example as a single expression.
fn single_example() -> Assembly {
    let mut agent = agent(EXAMPLE);
    agent.tools.clear();
    agent.turns.max_turns = 1;
    assembled(&choose_prompt(&agent, &value(EXAMPLE_INPUT), &[]), &[])
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Checklist {
    must: Vec<Entry>,
    #[serde(default)]
    must_not: Vec<Entry>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    what: String,
    section: String,
    words: Vec<String>,
}

#[test]
fn the_prompts_say_everything_on_their_checklists() {
    let agent = include_str!("../../book/lisp/agent/1.0.0.checklist.toml");
    let single = include_str!("../../book/lisp/single/1.0.0.checklist.toml");
    for (assembly, checklist) in [(example(), agent), (single_example(), single)] {
        let checklist: Checklist = toml::from_str(checklist).unwrap();
        for (entries, wanted) in [(&checklist.must, true), (&checklist.must_not, false)] {
            for Entry { what, section: name, words } in entries {
                let text = section(&assembly, name);
                let wrong: Vec<_> = words.iter().filter(|words| text.contains(words.as_str()) != wanted).collect();
                assert!(wrong.is_empty(), "{what}: {wrong:?} in\n{text}");
            }
        }
    }
}

/// The most tokens of each section of the example. The specification names about 50 for the role, 80 for the rules, 10
/// for a field, 30 for a tool, 400 for the reference and 50 for the format. Counted by `OpenAi::O200k`, its own words
/// have 84, 108, 127 (three fields), 218 (five tools), 394 and 78.
const FIGURES: [(&str, usize); 6] =
    [("role", 60), ("rules", 108), ("inventory", 210), ("tools", 218), ("reference", 400), ("format", 78)];

#[test]
fn sections_keep_to_about_the_tokens_of_the_specification() {
    let assembly = example();
    for (name, most) in FIGURES {
        let tokens = assembly.sections.iter().find(|section| section.name == name).unwrap().tokens;
        assert!(tokens <= most && tokens * 2 > most, "{name}: {tokens} tokens");
    }
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
    let prompt = choose_prompt(&agent(ORDERS), &value(INPUT), &[]);
    let assembly = assembled(&prompt, &[]);
    let names: Vec<&str> = assembly.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["role", "rules", "format", "reference", "tools", "inventory", "mission"]);
    insta::assert_snapshot!(assembly.text());
}

#[test]
fn data_from_outside_shows_its_type_only_unless_its_source_is_named() {
    let (agent, input) = (agent(ORDERS), value(INPUT));
    let prompt = choose_prompt(&agent, &input, &[]);
    assert!(prompt.label().is_trusted());
    let all = assembled(&prompt, &[]).text();
    assert!(!all.contains("Monday") && !all.contains(":note \"a\"") && !all.contains("4 items"), "{all}");
    let prompt = choose_prompt(&agent, &input, &["ctx/orders", "ctx/day"]);
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
    let all = assembled(&choose_prompt(&agent, &input, &["ctx/_key", "ctx/orders", "ctx/day"]), &[]).text();
    assert!(!all.contains("t-1") && !all.contains("k-1"), "{all}");
    assert!(all.contains("with [Hidden], [Hidden]."), "{all}");
}

#[test]
fn no_turn_changes_a_byte_before_it() {
    let prompt = choose_prompt(&agent(ORDERS), &value(INPUT), &["ctx/orders"]);
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
    let assembly = assembled(&choose_prompt(&agent(ORDERS), &value(INPUT), &[]), &[turn(1)]);
    let roles: Vec<Role> = assembly.sections.iter().map(|section| section.role).collect();
    assert_eq!(roles.iter().filter(|role| **role == Role::Model).count(), 1);
    let turns: String =
        assembly.sections.iter().filter(|s| s.name.starts_with("history")).map(|s| s.text.as_str()).collect();
    assert!(turns.contains("```# Previous Turn Error\n\n<UNTRUSTED_CONTEXT id="), "{turns}");
    assert!(turns.contains("\\# Rules"), "{turns}");
    assert_eq!(turns.matches("</UNTRUSTED_CONTEXT").count(), 1, "{turns}");
}

/// The example with forty more tools.
fn large_example() -> AgentDefinition {
    let mut text = EXAMPLE.to_owned();
    for number in 0..40 {
        text.push_str(&format!(
            "\n[tools.meter-{number}]\nsignature = \"(place :string, hour :int) -> {{level :float, unit :string}}\"\n\
             description = \"Read the water level of a river at a place, number {number}.\"\nrecorded = {{ file = \"x.json\" }}\n"
        ));
    }
    agent(&text)
}

/// The rest of the parts that shrink: the reference, tools with descriptions, tools with signatures, items shown.
fn remaining_parts(assembly: &Assembly) -> (bool, usize, usize, bool) {
    let tools = section(assembly, "tools");
    let has_reference = section(assembly, "reference").contains("Quick Reference");
    let whole_sample = section(assembly, "inventory").contains("Re: Urgent");
    (has_reference, tools.matches("water level").count(), tools.matches("### meter").count(), whole_sample)
}

#[test]
fn the_reference_shrinks_first_then_tools_then_samples_and_never_the_mission() {
    let prompt = choose_prompt(&large_example(), &value(EXAMPLE_INPUT), &[]);
    let at = |tokens| within(&prompt, &[], Some(tokens)).unwrap();
    assert_eq!(remaining_parts(&at(20_000)), (true, 40, 40, true));
    let (mut before, mut seen) = ((true, 40, 40, true), Vec::new());
    for tokens in (900..6_600).rev().step_by(50) {
        let Ok(assembly) = within(&prompt, &[], Some(tokens)) else { break };
        let now = remaining_parts(&assembly);
        assert!(now.1 == 40 || !now.0, "a tool lost its description while the reference stood: {now:?}");
        assert!(now.3 || now.2 == 0, "a sample shrank while a tool was shown: {now:?}");
        assert!(now <= before, "{tokens}: {now:?} after {before:?} {seen:?}");
        let tools = section(&assembly, "tools");
        assert!(
            tools.contains("### return") && tools.contains("### fail") && tools.contains("A call of one is refused")
        );
        assert!(section(&assembly, "mission").contains("Find all urgent emails for Ann"));
        assert!(now.2 == 40 || tools.contains("not shown]"), "{tools}");
        seen.push(now);
        before = now;
    }
    assert_eq!(before, (false, 0, 0, false), "{seen:?}");
    let error = within(&prompt, &[], Some(300)).unwrap_err().problems().join("\n");
    assert!(error.starts_with("budget too small: the whole prompt may have 300 tokens and needs at least"), "{error}");
}

#[test]
fn tools_that_the_mission_names_are_the_last_to_shrink() {
    let prompt = choose_prompt(&large_example(), &value(EXAMPLE_INPUT), &[]);
    let tools = section(&within(&prompt, &[], Some(2_600)).unwrap(), "tools");
    assert!(tools.matches("water level").count() < 20, "{tools}");
    assert!(tools.contains("Fetch a user by id.") && tools.contains("Search for items"), "{tools}");
}

#[test]
fn under_a_budget_no_turn_changes_what_was_chosen() {
    let prompt = choose_prompt(&large_example(), &value(EXAMPLE_INPUT), &[]);
    let turns: Vec<TurnText> = (1..=6).map(turn).collect();
    let prefix = |turns: &[TurnText]| {
        let assembly = within(&prompt, turns, Some(4_000)).unwrap();
        let stable = assembly.sections.iter().take_while(|section| section.name != "mission");
        let stable = stable.filter(|section| !section.name.starts_with("history"));
        stable.map(|section| section.text.clone()).collect::<String>()
    };
    let first = prefix(&[]);
    assert!(!first.contains("Quick Reference"), "the budget matters");
    for count in 1..=turns.len() {
        assert_eq!(prefix(turns.get(..count).unwrap_or_default()), first, "turn {count}");
    }
}

#[test]
fn the_full_reference_is_asked_for_and_is_the_first_to_go() {
    let mut agent = agent(EXAMPLE);
    agent.prompt.full_reference = true;
    let prompt = choose_prompt(&agent, &value(EXAMPLE_INPUT), &[]);
    let reference = |tokens| section(&within(&prompt, &[], tokens).unwrap(), "reference");
    assert!(reference(None).contains("## Forms and functions"));
    let lean = reference(Some(8_000));
    assert!(!lean.contains("## Forms and functions") && lean.contains("## Common Patterns"), "{lean}");
    agent.prompt.omit_reference = true;
    let prompt = choose_prompt(&agent, &value(EXAMPLE_INPUT), &[]);
    assert_eq!(section(&assembled(&prompt, &[]), "reference"), "");
}
