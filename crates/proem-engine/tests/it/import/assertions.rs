//! Assertions of promptfoo become checks that say the same, or are refused by their line.

use proem_engine::prompt::cases::Cases;

use super::{WrittenPrompt, import, import_beside, refuse, refuse_beside};

/// A configuration of one test with these assertions.
fn assertion_config(assertions: &str) -> String {
    format!(
        "prompts: ['Say {{{{word}}}}']\nproviders: [openai:gpt-4o]\ntests:\n  - vars: {{ word: hi }}\n    assert: [{assertions}]\n"
    )
}

fn cases_file(written: &WrittenPrompt) -> &str {
    written.files.iter().find(|(path, _)| path.ends_with("cases.yaml")).map_or("", |(_, text)| text)
}

/// The checks that an assertion becomes, one a line.
fn checks(assertion: &str) -> String {
    let written = import("x/promptfooconfig.yaml", &assertion_config(assertion));
    let file = cases_file(&written);
    Cases::parse("cases.yaml", file).unwrap();
    let lines = file.lines().filter_map(|line| line.trim().strip_prefix("- {"));
    lines.map(|line| format!("{{{line}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_assertion_becomes_the_check_that_says_the_same() {
    for (assertion, expected) in [
        ("{ type: contains, value: Hi }", r#"{"contains":"Hi"}"#),
        ("{ type: icontains, value: Hi }", r#"{"contains":"Hi","ignore-case":true}"#),
        ("{ type: not-icontains, value: Hi }", r#"{"not-contains":"Hi","ignore-case":true}"#),
        ("{ type: contains-all, value: [a, b] }", r#"{"contains-all":["a","b"]}"#),
        ("{ type: contains-any, value: 'a, b' }", r#"{"contains-any":["a","b"]}"#),
        ("{ type: icontains-any, value: [a] }", r#"{"contains-any":["a"],"ignore-case":true}"#),
        ("{ type: not-contains-any, value: [a, b] }", r#"{"not-contains":["a","b"]}"#),
        ("{ type: regex, value: '^h.$' }", r#"{"regex":"^h.$"}"#),
        ("{ type: not-regex, value: x }", r#"{"not-regex":"x"}"#),
        ("{ type: starts-with, value: 'a.b (c' }", r#"{"regex":"^a\\.b \\(c"}"#),
        ("{ type: is-json }", r#"{"json":true}"#),
        ("{ type: is-json, value: { required: [a] } }", r#"{"json":{"required":["a"]}}"#),
        ("{ type: not-is-json }", r#"{"not-json":true}"#),
        ("{ type: similar, value: hello, threshold: 0.8 }", r#"{"similar":"hello","least":80}"#),
        ("{ type: not-equals, value: hi }", r#"{"not-equals":"hi"}"#),
    ] {
        assert_eq!(checks(assertion), expected, "{assertion}");
    }
}

#[test]
fn an_assertion_that_no_check_says_is_refused_by_its_line_with_the_reason() {
    for (assertion, why) in [
        ("{ type: not-contains-all, value: [a, b] }", "no check says the same"),
        ("{ type: perplexity, threshold: 5 }", "no check says the same"),
        ("{ type: latency, threshold: 5 }", "compares latency and cost"),
        ("{ type: cost, threshold: 0.002 }", "compares latency and cost"),
        ("{ type: contains, value: '{{word}}' }", "its value has a placeholder"),
        ("{ type: contains }", "it has no value"),
        ("{ type: contains, value: a, threshold: 0.5 }", "`threshold`"),
        ("{ type: contains, value: a, weight: 0 }", "`weight` of an assertion"),
        ("{ type: llm-rubric, value: is polite, threshold: 0.8 }", "`threshold` is about a score"),
        ("{ type: similar, value: [a, b] }", "its value is no single text"),
        ("{ type: assert-set, assert: [{ type: contains, value: a }] }", "`assert` of an assertion"),
        ("{}", "the assertion `none`"),
    ] {
        refuse("p.yaml", &assertion_config(assertion), 5, why);
    }
}

#[test]
fn an_assertion_that_is_code_is_refused_by_its_line() {
    for assertion in [
        "{ type: javascript, value: 'output.length' }",
        "{ type: not-python, value: 'x' }",
        "{ type: ruby, value: 'x' }",
        "{ type: webhook, value: 'https://a.example' }",
        "{ type: contains, value: 'file://check.py' }",
        "{ type: contains, value: x, transform: 'output.trim()' }",
    ] {
        refuse("p.yaml", &assertion_config(assertion), 5, "code");
    }
}

#[test]
fn a_rubric_becomes_a_case_with_a_judge_of_the_same_book() {
    let rubrics = "{ type: llm-rubric, value: is polite }, { type: llm-rubric, value: is short }";
    let written = import("x/promptfooconfig.yaml", &assertion_config(rubrics));
    let cases = Cases::parse("cases.yaml", cases_file(&written)).unwrap();
    let judge = cases.cases[0].live.as_ref().unwrap().judge.as_ref().unwrap();
    assert_eq!((judge.prompt.as_str(), judge.verdict.as_bool()), ("imported/rubric-judge", Some(true)));
    assert_eq!(judge.inputs["rubric"], "is polite\nis short");
    assert!(written.shared.contains_key("imported/rubric-judge/1.0.0.prompt"), "{:?}", written.shared);

    let denied = import("x/promptfooconfig.yaml", &assertion_config("{ type: not-llm-rubric, value: is rude }"));
    assert!(cases_file(&denied).contains("verdict: false"), "{}", cases_file(&denied));
    // A prompt without a rubric brings no judge.
    assert!(import("x/promptfooconfig.yaml", &assertion_config("{ type: contains, value: a }")).shared.is_empty());
}

#[test]
fn assertions_of_every_test_and_of_a_table_come_over() {
    let config = "prompts: ['Say {{word}}']\nproviders: [x]\ndefaultTest:\n  assert: [{ type: icontains, value: a }]\ntests: t.csv\n";
    let table = "word,__expected,__expected2\nhi,\"contains-any: a, b\",similar(0.9): hello\nho,is-json,\n";
    let written = import_beside("x/promptfooconfig.yaml", config, &[("t.csv", table)]).unwrap().remove(0);
    let checks: Vec<&str> = cases_file(&written).lines().filter_map(|line| line.trim().strip_prefix("- {\"")).collect();
    let every = "contains\":\"a\",\"ignore-case\":true}";
    let rows = ["contains-any\":[\"a\",\"b\"]}", "similar\":\"hello\",\"least\":90}", "json\":true}"];
    assert_eq!(checks, [every, rows[0], rows[1], every, rows[2]]);
    refuse_beside("x/p.yaml", config, &[("t.csv", "word,__expected\nhi,python: x\n")], 2, "code");
}

#[test]
fn a_credential_in_a_rubric_or_a_check_is_refused() {
    for assertion in ["llm-rubric", "contains"] {
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let text = assertion_config(&format!("{{ type: {assertion}, value: 'has {secret}' }}"));
        let problem = import_beside("x/promptfooconfig.yaml", &text, &[]).unwrap_err();
        assert!(problem.contains("credential") && !problem.contains("ghp_"), "{problem}");
    }
}

#[test]
fn assertions_that_are_code_can_be_left_out_and_listed_but_no_other_code() {
    use proem_engine::prompt::import::{ImportKind, ImportSource, UnknownChecks, read_prompts};
    let import = |text: &str| {
        let source = ImportSource {
            path: "p.yaml",
            folder: "x",
            text,
            beside: &std::collections::BTreeMap::new(),
            unknown_checks: UnknownChecks::LeftOut,
        };
        read_prompts(ImportKind::Promptfoo, &source)
    };
    let read = import(&assertion_config("{ type: javascript, value: x }, { type: contains, value: a }")).unwrap();
    assert_eq!(read[0].cases[0].expected.checks.len(), 1);
    assert!(read[0].left_out.iter().any(|left| left.line == 5 && left.text.contains("`javascript` is code")));
    assert!(import(&assertion_config("{ type: contains, value: x, transform: f }")).is_err());
    assert!(import("prompts: [file://a.py]\nproviders: [x]\n").is_err());
}

#[test]
fn an_assertion_may_be_a_template_of_the_configuration() {
    let with = |reference: &str| {
        format!(
            "prompts: [file://prompts.txt]\nproviders: [x]\nassertionTemplates:\n  long: {{ type: icontains, value: Ahoy }}\ntests:\n  - vars: {{ word: hi }}\n    assert: [{{ $ref: '{reference}' }}]\n"
        )
    };
    let beside = [("prompts.txt", "Say {{word}}")];
    let written = import_beside("greet/p.yaml", &with("#/assertionTemplates/long"), &beside).unwrap().remove(0);
    assert!(cases_file(&written).contains(r#"{"contains":"Ahoy","ignore-case":true}"#), "{written:?}");
    // A file that is called `prompts.txt` says less than its folder.
    assert_eq!(written.prompt, "imported/greet");
    refuse_beside("greet/p.yaml", &with("#/assertionTemplates/short"), &beside, 7, "is not there");
}
