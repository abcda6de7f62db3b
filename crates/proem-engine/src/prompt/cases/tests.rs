use serde_json::json;

use super::*;

#[test]
fn a_case_file_is_read() {
    let cases = Cases::parse(
        "x.yaml",
        "cases:\n  - name: a\n    inputs: { question: why }\n    expect:\n      tokens: 40\n      sections: { role: { contains: [You] } }\n    live: { answer: { severity: high } }\n",
    );
    let cases = cases.unwrap();
    let [case] = cases.cases.as_slice() else { panic!("{cases:?}") };
    assert_eq!((case.name.as_str(), &case.inputs), ("a", &Some(json!({ "question": "why" }).into())));
    assert_eq!(case.expect.sections["role"].contains, ["You"]);
    assert!(case.expect.wants_request() && !RequestExpectation::default().wants_request());
}

/// `LINE:COLUMN: MESSAGE` of every problem.
#[track_caller]
fn check_refused(text: &str, expected: &[&str]) {
    let error = Cases::parse("x.cases.yaml", text).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::InvalidFile);
    let line = |problem: &String| {
        let mut lines = problem.lines();
        let message = lines.next().unwrap().strip_prefix("error: ").unwrap();
        let (_, place) = lines.next().unwrap().split_once("--> x.cases.yaml:").unwrap();
        assert!(problem.contains('^'), "{problem}");
        format!("{place}: {message}")
    };
    assert_eq!(error.problems().iter().map(line).collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn what_is_no_case_file_is_refused_with_every_problem_and_its_place() {
    check_refused("", &["1:1: it is empty; it needs a list `cases`"]);
    check_refused("cases: []", &["1:8: `cases` is empty; add a case, or remove the file"]);
    check_refused("kind: a/b\n", &["1:1: `cases` is missing; it is a list of cases"]);
    check_refused("cases: none\n", &["1:8: `cases` is not a list"]);
    check_refused("- a\n", &["1:1: a case file is not a mapping of keys to values"]);
    check_refused("cases:\n  - inputs: {}\n", &["2:5: a case has no `name`"]);
    check_refused("cases:\n  - { name: a, inputs: {}, wants: 1 }\n", &["2:28: a case has no key `wants`"]);
    check_refused(
        "cases:\n  - { name: a, inputs: {}, expect: { rules: { x: 1 } } }\n  - { name: a, given: {} }\n",
        &[
            "2:45: case `a` expects `rules`, which needs a `kind`",
            "3:5: case `a` needs `inputs`, and no `given` because it has no `kind`",
            "3:13: two cases are called `a`; rename one",
        ],
    );
    check_refused(
        "kind: risk/decision\ncases:\n  - { name: a, inputs: {} }\n",
        &["3:5: case `a` needs `given`, and no `inputs` because it has a `kind`"],
    );
    check_refused(
        "cases:\n  - name: a\n    inputs: {}\n    expect:\n      tokens: few\n      sections:\n        role: { contains: You }\n    live: {}\n",
        &[
            "5:15: expect.tokens is not a whole number of tokens",
            "7:27: contains is not a list of texts; write `contains: [\"…\"]`",
            "8:11: live has none of `answer`, `contains`, `checks` and `judge`",
        ],
    );
    // A message of the YAML parser itself has its place too.
    check_refused("cases:\n  - name: [a\n", &["3:1: while parsing a flow sequence, expected ',' or ']'"]);
}

#[test]
fn rules_are_compared_by_name() {
    let expect = RequestExpectation {
        rules: [("asked".to_owned(), json!(true)), ("x".to_owned(), json!(1))].into(),
        ..RequestExpectation::default()
    };
    let found = [("asked".to_owned(), json!(false)), ("other".to_owned(), json!(2))].into();
    assert_eq!(expect.broken_rules(&found), ["`asked` is false, expected true", "`x` is nothing, expected 1"]);
}

#[test]
fn an_answer_may_have_more_than_is_expected() {
    let check = |expected: Json, found: Json, differences: &[&str]| {
        assert_eq!(
            AnswerExpectation { answer: expected, ..AnswerExpectation::default() }.differences(&found),
            differences
        );
    };
    check(json!({ "a": 1 }), json!({ "a": 1.0, "b": 2 }), &[]);
    check(json!({ "a": { "b": "x" } }), json!({ "a": { "b": "y" } }), &["/a/b"]);
    check(json!({ "a": { "b": null } }), json!({ "a": {} }), &[]);
    check(json!({ "a": [{ "s": "S1" }] }), json!({ "a": [{ "s": "S2" }, { "s": "S1", "t": 1 }] }), &[]);
    check(json!({ "a": [{ "s": "S1" }] }), json!({ "a": [] }), &["/a/0"]);
    check(json!("x"), json!("y"), &["/"]);
}

#[test]
fn an_answer_contains_words_wherever_they_stand() {
    let expect = |contains: &[&str]| {
        let words = contains.iter().map(|words| (*words).to_owned()).collect();
        let check = AnswerCheck::of(AnswerRule::ContainsAll(words));
        let checks = vec![AnswerCheck { letter_case: LetterCase::Ignored, ..check }];
        AnswerExpectation { checks, ..AnswerExpectation::default() }
    };
    let found = json!({ "notes": ["The Deadlock is in `pool.rs`"], "level": 3 });
    assert_eq!(expect(&["deadlock", "pool.rs"]).differences(&found), Vec::<String>::new());
    assert_eq!(expect(&["deadlock", "level", "3"]).differences(&found), ["lacks `level` and `3`"]);
    assert_eq!(expect(&["x"]).differences(&Json::Null), ["lacks `x`"]);
    let cases = Cases::parse("c", "cases:\n  - name: a\n    inputs: {}\n    live: { contains: [deadlock] }\n").unwrap();
    assert_eq!(cases.cases[0].live, Some(expect(&["deadlock"])));
    let problem = Cases::parse("c", "cases:\n  - name: a\n    inputs: {}\n    live: {}\n").unwrap_err();
    assert!(problem.to_string().contains("live has none of `answer`, `contains`, `checks` and `judge`"), "{problem}");
}

#[test]
fn a_judge_has_a_prompt_and_a_verdict() {
    let parse = |judge: &str| {
        Cases::parse("c", &format!("cases:\n  - name: a\n    inputs: {{}}\n    live: {{ judge: {judge} }}\n"))
    };
    let cases = parse("{ prompt: me/grade, verdict: good }").unwrap();
    let judge = cases.cases[0].live.as_ref().unwrap().judge.as_ref().unwrap();
    assert_eq!((judge.prompt.as_str(), &judge.verdict), ("me/grade", &json!("good")));
    for broken in ["{ prompt: me/grade }", "{ verdict: true }", "{ prompt: me/grade, verdict: 3 }"] {
        let problem = parse(broken).unwrap_err();
        assert!(problem.to_string().contains("live.judge needs `prompt`"), "{broken}: {problem}");
    }
}

#[test]
fn a_check_that_checks_nothing_or_reads_elsewhere_is_refused() {
    let refused = |check: &str, words: &str| {
        let text = format!("cases:\n  - name: a\n    inputs: {{}}\n    live:\n      checks:\n        - {check}\n");
        let problem = Cases::parse("c", &text).unwrap_err().to_string();
        assert!(problem.contains(words) && problem.contains("c:6:"), "{check}: {problem}");
    };
    refused("{ contains: '' }", "checks nothing");
    refused("{ contains-any: [] }", "checks nothing");
    refused("{ contains: a, regex: b }", "a check has 2 rules");
    refused("{ json: { $ref: 'https://evil.example/schema.json' } }", "json is no schema");
    refused("{ json: { $ref: 'file:///etc/passwd' } }", "json is no schema");
    refused("{ json: yes please }", "write `true` or a JSON Schema");
    refused("{ similar: a, least: 0 }", "from 1 to 100");
    refused("{ regex: a, least: 3 }", "least belongs to `similar`");
    refused("{ similar: a, ignore-case: true }", "has no effect on `similar`");
    refused("{ contains: a, ignore-case: maybe }", "neither true nor false");
    refused("{ regex: '(?<=a)b' }", "no regular expression");
}
