use serde_json::json;

use super::*;

#[test]
fn a_case_file_is_read() {
    let cases = Cases::parse(
        "cases:\n  - name: a\n    inputs: { question: why }\n    expect:\n      tokens: 40\n      sections: { role: { contains: [You] } }\n    live: { answer: { severity: high } }\n",
    );
    let cases = cases.unwrap();
    let [case] = cases.cases.as_slice() else { panic!("{cases:?}") };
    assert_eq!((case.name.as_str(), &case.inputs), ("a", &Some(json!({ "question": "why" }))));
    assert_eq!(case.expect.sections["role"].contains, ["You"]);
    assert!(case.expect.wants_request() && !Expect::default().wants_request());
}

#[test]
fn what_is_no_case_file_is_refused_with_every_problem() {
    let check = |text: &str, expected: &[&str]| {
        let error = Cases::parse(text).unwrap_err();
        let found: Vec<String> = error.problems().to_vec();
        assert_eq!(found, expected, "{text}");
    };
    check("", &["it is empty; it needs a list `cases`"]);
    check("cases: []", &["`cases` is empty; give one, or leave the file out"]);
    check("cases:\n  - inputs: {}\n", &["missing field `name`"]);
    check(
        "cases:\n  - { name: a, inputs: {}, wants: 1 }\n",
        &["unknown field `wants`, expected one of `name`, `inputs`, `given`, `expect`, `live`"],
    );
    check(
        "cases:\n  - { name: a, inputs: {}, expect: { rules: { x: 1 } } }\n  - { name: a, given: {} }\n",
        &[
            "case `a` expects `rules`, which only a `kind` has",
            "two cases are called `a`; rename one",
            "case `a` needs `inputs` and, without a `kind`, no `given`",
        ],
    );
    check(
        "kind: risk/decision\ncases:\n  - { name: a, inputs: {} }\n",
        &["case `a` needs `given` and, with a `kind`, no `inputs`"],
    );
}

#[test]
fn rules_are_compared_by_name() {
    let expect =
        Expect { rules: [("asked".to_owned(), json!(true)), ("x".to_owned(), json!(1))].into(), ..Expect::default() };
    let found = [("asked".to_owned(), json!(false)), ("other".to_owned(), json!(2))].into();
    assert_eq!(expect.broken_rules(&found), ["`asked` is false, expected true", "`x` is nothing, expected 1"]);
}

#[test]
fn an_answer_may_have_more_than_is_expected() {
    let check = |expected: Json, found: Json, differences: &[&str]| {
        assert_eq!(Live { answer: expected }.differences(&found), differences);
    };
    check(json!({ "a": 1 }), json!({ "a": 1.0, "b": 2 }), &[]);
    check(json!({ "a": { "b": "x" } }), json!({ "a": { "b": "y" } }), &["/a/b"]);
    check(json!({ "a": { "b": null } }), json!({ "a": {} }), &[]);
    check(json!({ "a": [{ "s": "S1" }] }), json!({ "a": [{ "s": "S2" }, { "s": "S1", "t": 1 }] }), &[]);
    check(json!({ "a": [{ "s": "S1" }] }), json!({ "a": [] }), &["/a/0"]);
    check(json!("x"), json!("y"), &["/"]);
}
