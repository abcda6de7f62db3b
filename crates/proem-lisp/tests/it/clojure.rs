//! Clojure's answers, and where ours differ.

use crate::{
    answers::{
        ANSWERS, DIVERGENCES, DivergenceExample, EXCEPTION, GENERATED, canonical_text, divergence_examples,
        parse_answers,
    },
    support::run,
};

fn is_error(result: &str) -> bool {
    result
        .split_once(": ")
        .is_some_and(|(reason, _)| reason.ends_with("_error") || ["unbound_var", "memory_exceeded"].contains(&reason))
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
    let titles: Vec<&str> = DIVERGENCES.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let examples = divergence_examples();
    let answers = parse_answers(ANSWERS);
    for (number, title) in (1..).zip(titles) {
        assert!(title.starts_with(&format!("{number}. ")), "{title} isn't number {number}");
        assert!(examples.iter().any(|example| example.number == number), "number {number} has no example");
    }
    for DivergenceExample { number, source, here, clojure } in examples {
        let result = run(source);
        let is_here = if here == "error" { is_error(&result) } else { result == here };
        assert!(is_here, "{number}: {source} gives {result}");
        assert_ne!(here, clojure, "{number}: {source}");
        let answer = answers.iter().find(|answer| answer.source == source);
        let stated = canonical_text(if clojure == "error" { EXCEPTION } else { clojure });
        assert!(
            answer.is_some_and(|answer| canonical_text(&answer.answer) == stated),
            "{number}: {source} gives {answer:?} in Clojure"
        );
    }
}
