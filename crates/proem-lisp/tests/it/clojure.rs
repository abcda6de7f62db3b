//! Clojure's answers, and where ours differ.

use crate::{
    answers::{ANSWERS, GENERATED, parse_answers},
    support::run,
};

const DIVERGENCES: &str = include_str!("../../../../docs/reference/lisp/divergences.md");

fn is_error(result: &str) -> bool {
    result.split_once(": ").is_some_and(|(reason, _)| reason.ends_with("_error") || reason == "unbound_var")
}

/// The numbers that the reference has.
fn divergence_count() -> u32 {
    u32::try_from(DIVERGENCES.lines().filter(|line| line.starts_with("## ")).count()).unwrap()
}

#[test]
fn every_disagreement_with_clojure_has_a_number_and_every_number_a_disagreement() {
    let answers = parse_answers(ANSWERS);
    let mut wrong = Vec::new();
    for answer in &answers {
        match (answer.disagreement(), answer.divergence) {
            (None, None) => {}
            (Some(_), Some(number)) if (1..=divergence_count()).contains(&number) => {}
            (Some(here), None) => {
                wrong.push(format!("{}\n  here:    {here}\n  Clojure: {}", answer.source, answer.answer));
            }
            (None, Some(number)) => wrong.push(format!("{} agrees, but has number {number}", answer.source)),
            (Some(_), Some(number)) => wrong.push(format!("{}: there is no number {number}", answer.source)),
        }
    }
    assert!(answers.len() >= 1_500 && ANSWERS.contains(GENERATED));
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
