//! Configurations of promptfoo as teams write them: what is outside the named subset is refused, each part by its line.

use std::collections::BTreeMap;

use proem_engine::prompt::cases::Cases;
use proem_engine::prompt::import::{ImportKind, ImportSource, UnknownChecks, read_prompts, write_prompt};
use proptest::prelude::*;

use super::{WrittenPrompt, import_beside};

/// A configuration with everything that teams use, in and outside the subset.
const TEAM: &str = r#"# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
description: Support answers
prompts:
  - file://prompts/answer.txt
  - id: file://prompts/answer_chat.json
    label: chat
providers:
  - id: openai:gpt-4o-mini
    config: { temperature: 0 }
outputPath: results.json
evaluateOptions: { maxConcurrency: 2 }
defaultTest:
  vars: { tone: friendly }
  assert:
    - { type: cost, threshold: 0.002 }
    - { type: latency, threshold: 3000 }
  options:
    provider: openai:gpt-4o
scenarios:
  - config: [{ vars: { tone: curt } }]
tests:
  - description: an opening hour
    vars: { question: When do you open? }
    assert:
      - { type: icontains, value: noon, weight: 2 }
      - { type: regex, value: '\d+' }
      - { type: is-json }
      - { type: similar, value: We open at noon., threshold: 0.8 }
      - type: llm-rubric
        value: names the hour
      - type: javascript
        value: output.length < 200
  - vars: file://vars/holidays.yaml
    threshold: 0.5
  - vars: { question: [Hm?, Ha?] }
    options: { disableVarExpansion: true, prefix: Dear }
redteam: { purpose: support }
"#;

const ANSWER: &str = "Answer in a {{tone}} tone: {{question}}";
const CHAT: &str = r#"[{"role": "user", "content": "{{question}}"}]"#;

fn team_files() -> [(&'static str, &'static str); 2] {
    [("prompts/answer.txt", ANSWER), ("prompts/answer_chat.json", CHAT)]
}

#[test]
fn everything_outside_the_subset_is_refused_by_its_line_at_once() {
    let problems = import_beside("support/promptfooconfig.yaml", TEAM, &team_files()).unwrap_err();
    let line_of = |text: &str| TEAM.lines().position(|line| line.contains(text)).unwrap() + 1;
    for (text, message) in [
        ("type: cost", "compares latency and cost"),
        ("type: latency", "compares latency and cost"),
        ("weight: 2", "`weight` of an assertion is not imported"),
        ("type: javascript", "is code, which is not imported"),
        ("vars/holidays.yaml", "variables in files of their own are not imported"),
        ("threshold: 0.5", "`threshold` of a test is not imported"),
        ("disableVarExpansion", "`options.disableVarExpansion` of a test is not imported"),
        ("prefix: Dear", "`options.prefix` changes what the model reads"),
        ("scenarios", "`scenarios` are not imported"),
        ("redteam", "`redteam` is no key that is imported"),
    ] {
        let place = format!("support/promptfooconfig.yaml:{}:", line_of(text));
        let found = problems
            .lines()
            .zip(problems.lines().skip(1))
            .any(|(first, second)| first.contains(message) && second.contains(&place));
        assert!(found, "{message} at {place}\n{problems}");
    }
    assert!(problems.contains("--known-checks-only"), "{problems}");
    // Keys about promptfoo's own run and about the model refuse nothing.
    for key in ["outputPath", "evaluateOptions", "options.provider", "temperature"] {
        assert!(!problems.contains(key), "{key}: {problems}");
    }
}

fn import_known(text: &str, beside: &[(&str, &str)]) -> Result<Vec<WrittenPrompt>, String> {
    let beside: BTreeMap<String, String> =
        beside.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let source = ImportSource {
        path: "support/promptfooconfig.yaml",
        folder: "support",
        text,
        beside: &beside,
        unknown_checks: UnknownChecks::LeftOut,
    };
    let prompts = read_prompts(ImportKind::Promptfoo, &source).map_err(|error| error.to_string())?;
    prompts.iter().map(|prompt| write_prompt(prompt, "imported").map_err(|error| error.to_string())).collect()
}

#[test]
fn parts_of_tests_can_be_left_out_and_listed_but_never_what_a_model_reads() {
    let error = import_known(TEAM, &team_files()).unwrap_err();
    assert!(error.contains("options.prefix") && error.contains("holidays"), "{error}");
    assert!(!error.contains("latency") && !error.contains("redteam"), "{error}");
    let text = TEAM.replace(", prefix: Dear", "").replace("file://vars/holidays.yaml", "{ question: Easter? }");
    let written = import_known(&text, &team_files()).unwrap();
    let names: Vec<&str> = written.iter().map(|prompt| prompt.prompt.as_str()).collect();
    assert_eq!(names, ["imported/answer", "imported/answer-chat"]);
    let left: Vec<String> = written
        .iter()
        .flat_map(|prompt| &prompt.left_out)
        .map(|left| format!("{}: {}", left.line, left.text))
        .collect();
    for part in ["`cost`", "`latency`", "`weight`", "`javascript`", "`threshold`", "disableVarExpansion", "`redteam`"] {
        assert!(left.iter().any(|line| line.contains(part)), "{part}: {left:?}");
    }
    let cases = written[0].files.iter().find(|(path, _)| path.ends_with("cases.yaml")).unwrap().1;
    assert_eq!(Cases::parse("cases.yaml", cases).unwrap().cases.len(), 4, "{cases}");
}

#[test]
fn tests_that_are_no_list_are_refused() {
    let config = |tests: &str| format!("prompts: ['Say {{{{word}}}}']\nproviders: [x]\n{tests}\n");
    for (tests, beside, message) in [
        ("tests: { path: file://make.py }", None, "tests that a program makes"),
        ("tests: file://nowhere.csv", None, "is not there"),
        ("tests: t.xlsx", Some(("t.xlsx", "PK")), "are not imported"),
        ("defaultTest: file://default.yaml", None, "`defaultTest` in a file of its own"),
        ("tests: t.csv", Some(("t.csv", "word,__prefix\nhi,Dear\n")), "changes what the model reads"),
        ("tests: t.csv", Some(("t.csv", "word,__threshold\nhi,0.5\n")), "the column `__threshold` is not imported"),
    ] {
        let beside: Vec<(&str, &str)> = beside.into_iter().collect();
        let problem = import_beside("x/promptfooconfig.yaml", &config(tests), &beside).unwrap_err();
        assert!(problem.contains(message) && problem.contains(if beside.is_empty() { ":3" } else { ":" }), "{problem}");
    }
}

/// Words that configurations are made of, and others.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "prompts",
        "providers",
        "tests",
        "defaultTest",
        "vars",
        "assert",
        "type",
        "value",
        "threshold",
        "options",
        "file://a.txt",
        "file://../b",
        "{{word}}",
        "{{ a.b }}",
        "llm-rubric",
        "javascript",
        "contains-all",
        "similar",
        "$ref",
        "#/assertionTemplates/x",
        "assertionTemplates",
        "scenarios",
        "weight",
        "not-is-json",
        "é\u{202e}",
        "",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,8}"]
}

/// Any YAML tree of such words, as JSON, which is YAML.
fn tree() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        3 => word().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_tree_stops_the_reader_and_every_problem_has_a_place(tree in tree(), tests in tree(), is_whole in any::<bool>()) {
        let text = if is_whole {
            tree.to_string()
        } else {
            format!("prompts: ['Say {{{{word}}}}']\nproviders: [x]\ndefaultTest: {tree}\ntests: {tests}\n")
        };
        for imported in [import_beside_as_promptfoo(&text), import_known(&text, &[]).or_else(|problem| if problem.contains("promptfooconfig") { Err(problem) } else { Ok(Vec::new()) })] {
            if let Err(problem) = imported {
                prop_assert!(problem.contains("promptfooconfig.yaml"), "{}", problem);
            }
        }
    }
}

fn import_beside_as_promptfoo(text: &str) -> Result<Vec<WrittenPrompt>, String> {
    let source = ImportSource {
        path: "x/promptfooconfig.yaml",
        folder: "x",
        text,
        beside: &BTreeMap::new(),
        unknown_checks: UnknownChecks::Refused,
    };
    let prompts = read_prompts(ImportKind::Promptfoo, &source).map_err(|error| error.to_string())?;
    // The text of a prompt that no template can print is refused after its source was read.
    Ok(prompts.iter().filter_map(|prompt| write_prompt(prompt, "imported").ok()).collect())
}
