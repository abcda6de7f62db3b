//! Clojure's answers, and where ours differ.

use crate::support::run;

/// Expressions with the answers of Clojure 1.11.1; `ERR` for an exception.
const ANSWERS: &str = include_str!("../data/families.txt");

const DIVERGENCES: &str = include_str!("../../../../docs/reference/lisp/divergences.md");

fn is_error(result: &str) -> bool {
    result.split_once(": ").is_some_and(|(reason, _)| reason.ends_with("_error") || reason == "unbound_var")
}

/// Whether a result is the value that Clojure printed, as a value where the texts differ.
fn agrees(source: &str, result: &str, answer: &str) -> bool {
    match answer {
        "ERR" => is_error(result),
        answer => result == answer || run(&format!("(= {source} '{answer})")) == "true",
    }
}

#[test]
fn strings_sets_and_numbers_answer_as_in_clojure() {
    let mut wrong = Vec::new();
    for line in ANSWERS.lines() {
        let (source, answer) = line.split_once("  =>  ").unwrap();
        let result = run(source);
        if !agrees(source, &result, answer) {
            wrong.push(format!("{source}\n  here:    {result}\n  Clojure: {answer}"));
        }
    }
    assert!(ANSWERS.lines().count() >= 750);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_numbered_divergence_still_diverges() {
    let mut number = 0;
    let mut examples = 0;
    for line in DIVERGENCES.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            assert!(number == 0 || examples > 0, "number {number} has no example");
            number += 1;
            examples = 0;
            assert!(title.starts_with(&format!("{number}. ")), "{title} isn't number {number}");
        } else if let Some((source, values)) = line.split_once(" => ")
            && source.starts_with('(')
        {
            let (here, clojure) = values.split_once(" | ").unwrap();
            let result = run(source);
            let is_here = if here == "error" { is_error(&result) } else { result == here };
            assert!(is_here, "{number}: {source} gives {result}");
            assert_ne!(here, clojure, "{number}: {source}");
            examples += 1;
        }
    }
    assert!(number >= 20 && examples > 0);
}
