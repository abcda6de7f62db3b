//! Experiments: what is refused, and who meets which version.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::collections::BTreeMap;

use proem_engine::ErrorKind;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::book::experiment::{AssignmentUnit, Experiment, VersionAssignment};
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proptest::prelude::*;

use crate::book::layer;

const PROMPT: &str = r#"---
input:
  schema: { a: string }
proem:
  version: 1.0.0
  output_schema: answer.schema.json
  sections:
    - { name: role, trust: constitution }
    - { name: evidence, trust: untrusted }
---
{{role "system"}}{{section "role"}}
You are a judge. You must answer. Never guess.
{{role "user"}}{{section "evidence"}}
{{a}}
"#;

const DECLARED: &str = r#"[current]
"one/judge" = "1.0.0"

[experiments.shorter]
prompt = "one/judge"
versions = { "1.0.0" = 0.9, "1.1.0" = 0.1 }
outcome = "first-attempt"
better = "higher"
smallest_difference = 0.02
guardrails = [{ outcome = "cost", worse_by = 0.10 }]
until = "2026-12-31"
"#;

/// A book of two versions, `other` being the second one's file, with this `book.toml`.
fn book(other: &str, declared: &str) -> Result<Book, proem_engine::Error> {
    let files = [
        ("one/judge/1.0.0.prompt", PROMPT),
        ("one/judge/1.1.0.prompt", other),
        ("one/judge/answer.schema.json", "{\"type\":\"object\"}"),
        ("one/judge/other.schema.json", "{\"type\":\"string\",\"maxLength\":9}"),
        ("book.toml", declared),
    ];
    Book::new(vec![layer(Origin::User, &files)])
}

fn second() -> String {
    PROMPT.replace("1.0.0", "1.1.0").replace("You must answer", "Answer in one word")
}

fn check_refusal(declared: &str, other: &str, expected: &str) {
    let error = book(other, declared).and_then(|book| book.experiment("shorter")).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}\n\nwithout\n\n{expected}");
}

#[test]
fn an_experiment_with_other_words_alone_may_run() {
    let experiment = book(&second(), DECLARED).unwrap().experiment("shorter").unwrap();
    assert_eq!((experiment.base.as_str(), experiment.declared.versions.len()), ("1.0.0", 2));
}

#[test]
fn a_wrong_declaration_names_its_line_and_the_remedy() {
    let with = |from: &str, to: &str| DECLARED.replace(from, to);
    for (declared, expected) in [
        (
            with("0.9,", "1.5,"),
            "book.toml:6: experiments.shorter.versions: the share of 1.0.0 is 1.5; a share is above 0",
        ),
        (
            with("0.9,", "0.8,"),
            "book.toml:6: experiments.shorter.versions: the shares add up to 0.900; they must add up to 1",
        ),
        (with("0.9, \"1.1.0\" = 0.1", "1.0"), "an experiment has two versions or more, and this has 1"),
        (with("1.1.0", "2.0.0"), "`one/judge` has no version `2.0.0`; there are 1.0.0, 1.1.0"),
        (with("\"one/judge\" = \"1.0.0\"", "\"one/judge\" = \"1.2.0\""), "the version in use, 1.2.0, has no share"),
        (
            with("prompt = \"one/judge\"", "prompt = \"one/jury\""),
            "book.toml:5: experiments.shorter.prompt: no prompt `one/jury`",
        ),
        (with("0.02", "0"), "book.toml:9: experiments.shorter.smallest_difference: 0 is out of range"),
        (
            with("worse_by = 0.10", "worse_by = -1.0"),
            "book.toml:10: experiments.shorter.guardrails: worse_by = -1 of `cost`",
        ),
        (
            with("2026-12-31", "soon"),
            "book.toml:11: experiments.shorter.until: `soon` is no day; write one such as 2026-12-31",
        ),
        (with("2026-12-31", "2026-13-01"), "`2026-13-01` is no day"),
        (
            with("\"cost\"", "\"joy\""),
            "unknown outcome `joy`; use first-attempt, feedback, check:NAME, tokens, cost or latency",
        ),
        (with("better =", "bettre ="), "bettre"),
        (with("0.9,", "nan,"), "the share of 1.0.0 is NaN"),
    ] {
        check_refusal(&declared, &second(), expected);
    }
}

#[test]
fn a_version_with_other_inputs_contract_or_limits_is_refused_with_the_difference() {
    for (from, to, expected) in [
        ("a: string", "a: integer", "1.1.0 has other inputs than 1.0.0: `schema."),
        ("answer.schema.json", "other.schema.json", "1.1.0 has other contract than 1.0.0: `answer."),
        (
            "  sections:",
            "  budget: { output: 77 }\n  sections:",
            "other limits than 1.0.0: `output_budget` is `77` instead of `null`",
        ),
        ("---\ninput:", "---\nmodel: large\ninput:", "`model` is `\"large\"` instead of `null`; only words may differ"),
        (
            "  sections:",
            "  inputs: { a: { trust: trusted } }\n  sections:",
            "1.1.0 has other inputs than 1.0.0: `trust.a`",
        ),
    ] {
        check_refusal(DECLARED, &second().replace(from, to), expected);
    }
}

#[test]
fn an_edited_version_is_refused() {
    let fine = book(&second(), DECLARED).unwrap();
    let mut layer = fine.layers().first().unwrap().clone();
    layer.files.insert("book.lock".to_owned(), PartialText::Template(fine.lock(Origin::User).unwrap()));
    assert!(Book::new(vec![layer.clone()]).unwrap().experiment("shorter").is_ok());
    let edited = PartialText::Template(second().replace("one word", "two words"));
    layer.files.insert("one/judge/1.1.0.prompt".to_owned(), edited);
    let error = Book::new(vec![layer]).unwrap().experiment("shorter").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Edited, "{error}");
}

#[test]
fn an_assigned_version_is_used_only_where_no_version_is_named() {
    let assigned = VersionAssignment {
        experiment: "shorter".to_owned(),
        started: 1,
        prompt: "one/judge".to_owned(),
        version: "1.1.0".to_owned(),
        subject: "s".to_owned(),
    };
    let book = book(&second(), DECLARED).unwrap().with_assignments(vec![assigned.clone()]);
    let (without, with) = (book.prompt("one/judge", None).unwrap(), book.prompt("one/judge", Some("1.0.0")).unwrap());
    assert!(without.id.version.starts_with("1.1.0"), "{}", without.id.version);
    assert_eq!(book.assignments_of(&[&without]), [assigned]);
    assert_eq!(book.assignments_of(&[&with]), []);
    assert_eq!(book.current("one/judge").unwrap(), "1.0.0");
}

fn version(experiment: &str, subject: usize, shares: &BTreeMap<String, f64>) -> String {
    let subject = format!("TICKET-{subject}");
    let unit = AssignmentUnit { project: "p", subject: &subject };
    unit.version(experiment, shares).unwrap().to_owned()
}

fn shares(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
    let total: f64 = of.iter().map(|(_, share)| share).sum();
    of.iter().map(|(version, share)| ((*version).to_owned(), share / total)).collect()
}

#[test]
fn shares_are_kept_and_experiments_are_independent() {
    let nine_to_one = shares(&[("1.0.0", 0.9), ("1.1.0", 0.1)]);
    let second = |experiment: &str| -> Vec<bool> {
        (0..10_000).map(|subject| version(experiment, subject, &nine_to_one) == "1.1.0").collect()
    };
    let (one, other) = (second("one"), second("other"));
    let both = one.iter().zip(&other).filter(|(one, other)| **one && **other).count();
    let count = one.iter().filter(|is_second| **is_second).count();
    // Five standard deviations of 10,000 draws, around 1,000 and 100.
    assert!((850..=1150).contains(&count) && (50..=150).contains(&both), "{count} {both}");
}

proptest! {
    #[test]
    fn a_new_version_only_takes_from_the_others(weights in prop::collection::vec(0.05_f64..1.0, 3), subjects in 0_usize..1_000_000) {
        let [a, b, c] = [weights[0], weights[1], weights[2]];
        let (two, three) = (shares(&[("1.0.0", a), ("1.1.0", b)]), shares(&[("1.0.0", a), ("1.1.0", b), ("1.2.0", c)]));
        for subject in subjects..subjects + 50 {
            let (before, after) = (version("e", subject, &two), version("e", subject, &three));
            prop_assert!(after == before || after == "1.2.0", "{before} → {after}");
        }
    }

    #[test]
    fn a_larger_share_loses_nobody(weights in prop::collection::vec(0.05_f64..1.0, 3), more in 1.0_f64..5.0, subjects in 0_usize..1_000_000) {
        let [a, b, c] = [weights[0], weights[1], weights[2]];
        let (before, after) = (
            shares(&[("1.0.0", a), ("1.1.0", b), ("1.2.0", c)]),
            shares(&[("1.0.0", a), ("1.1.0", b * more), ("1.2.0", c)]),
        );
        for subject in subjects..subjects + 50 {
            let (was, is) = (version("e", subject, &before), version("e", subject, &after));
            prop_assert!(is == was || is == "1.1.0", "{was} → {is}");
        }
    }
}

#[test]
fn the_version_of_a_subject_is_the_same_on_every_machine() {
    let experiment: Experiment = book(&second(), DECLARED).unwrap().experiment("shorter").unwrap();
    let versions: Vec<String> = (0..40)
        .map(|subject| {
            experiment.version_for(&AssignmentUnit { project: "", subject: &subject.to_string() }).to_owned()
        })
        .collect();
    let seconds: Vec<usize> = (0..40).filter(|subject| versions[*subject] == "1.1.0").collect();
    assert_eq!(seconds, [10, 39]);
    assert_eq!(AssignmentUnit { project: "", subject: "TICKET-1" }.subject_hash(), "7971a63bee6235f3");
}
