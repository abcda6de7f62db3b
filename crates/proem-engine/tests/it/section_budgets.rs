//! Sections with a budget of their own, texts in named versions, and an order in which sections shrink.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::collections::BTreeMap;

use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Assembly;
use proem_engine::input::Inputs;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::report::Report;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_engine::{Error, ErrorKind};
use proem_guard::{InstallationKey, LabelTree};

const PROMPT: &str = r#"---
input:
  schema:
    manual(object): { long: string, short: string, none: string, shown?: string }
    notes(array): string
    last(array): string
proem:
  version: 1.0.0
  inputs: { manual: { trust: trusted }, notes: { trust: trusted }, last: { trust: trusted } }
  sections:
    - { name: role, trust: constitution }
    - { name: manual, trust: trusted, cache: static, shrinks: 1, priority: 90, ladder: { manual: { versions: [long, short, none] } } }
    - { name: notes, trust: trusted, cache: per-run, budget: 60, shrinks: 2, priority: 10, ladder: { notes: [full, count] } }
    - { name: last, trust: trusted, cache: per-run, shrinks: 3, priority: 1, ladder: { last: [full, count] } }
---
{{role "system"}}{{section "role"}}
Answer.
{{section "manual"}}
{{#if manual.shown}}
{{manual.shown}}
{{/if}}
{{section "notes"}}
{{#each notes}}
- {{this}}
{{/each}}
{{section "last"}}
{{#each last}}
- {{this}}
{{/each}}
"#;

fn prompt(text: &str) -> Result<Prompt, Error> {
    let files = BTreeMap::from([("a/b/1.0.0.prompt".to_owned(), PartialText::Template(text.into()))]);
    Book::new(vec![BookLayer { origin: Origin::User, files }]).unwrap().prompt("a/b", None)
}

fn run(text: &str, notes: usize, whole: Option<usize>) -> Result<(Assembly, Report), Error> {
    let lines = |count: usize| LabelTree::list((0..count).map(|n| format!("line {n} of a list of lines")));
    let long = "A sentence of a long manual. ".repeat(20);
    let manual = [("long", long.as_str().into()), ("short", "A short manual.".into()), ("none", "".into())];
    let inputs = [("manual", LabelTree::from(manual)), ("notes", lines(notes)), ("last", lines(10))];
    let inputs: Inputs = inputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let key = InstallationKey::new([7; 32]);
    let options = AssemblyOptions { input_tokens: whole, ..AssemblyOptions::new(&key) };
    assemble_request(&prompt(text)?, &inputs, &mut CachingCounter::new(&OpenAi::O200k), &options)
}

/// Each section that shrank with its reason.
fn shrunk(report: &Report) -> Vec<String> {
    let shrunk = report.sections.iter().filter(|section| !section.shrunk.is_empty());
    let step = |section: &proem_engine::report::SectionReport| {
        let of =
            section.shrunk.iter().map(|step| step.version.clone().unwrap_or_else(|| step.rung.as_str().to_owned()));
        format!("{} {}", section.name, of.collect::<Vec<_>>().join(" "))
    };
    shrunk.map(step).collect()
}

#[test]
fn a_section_keeps_to_its_own_budget_and_the_others_lose_nothing() {
    assert_eq!(shrunk(&run(PROMPT, 5, None).unwrap().1), Vec::<String>::new());
    let (assembly, report) = run(PROMPT, 30, None).unwrap();
    assert_eq!(shrunk(&report), ["notes count"]);
    assert!(assembly.text().contains("[notes: 30 items, not shown]"), "{}", assembly.text());
}

#[test]
fn sections_shrink_in_their_order_whatever_they_are_worth() {
    let at = |tokens| shrunk(&run(PROMPT, 5, Some(tokens)).unwrap().1);
    assert_eq!(at(2 * 320), Vec::<String>::new());
    assert_eq!(at(2 * 170), ["manual short"]);
    assert_eq!(at(2 * 130), ["manual short", "notes count"].as_slice(), "room that is left goes back to the manual");
    assert_eq!(at(2 * 40), ["manual short", "notes count", "last count"].as_slice());
    let (_, report) = run(PROMPT, 5, Some(2 * 170)).unwrap();
    let reason = report.sections.iter().find(|section| section.name == "manual").unwrap().reason.clone().unwrap();
    assert!(reason.starts_with("over budget (priority 90): manual in the version `short`, "), "{reason}");
}

#[test]
fn a_section_that_cannot_shrink_to_its_budget_is_named() {
    let text = PROMPT.replace("priority: 10, ladder: { notes: [full, count] }", "keep: required");
    let error = run(&text, 30, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    let problem = error.problems().join("\n");
    assert!(
        problem.starts_with("budget too small: section `notes` may have 60 tokens and needs at least 300"),
        "{problem}"
    );
    assert!(
        problem.ends_with("raise the `budget` of the section in the prompt file or shorten what it shows"),
        "{problem}"
    );
}

#[test]
fn wrong_budgets_orders_and_versions_are_errors_with_their_place() {
    for (from, to, problem) in [
        ("budget: 60", "budget: none", "section `notes`: budget is not a positive number of tokens"),
        ("shrinks: 2", "shrinks: 0", "section `notes`: shrinks is not a whole number from 1 to 9"),
        (
            "[long, short, none]",
            "[long]",
            "the versions of `manual` must be 2 to 6 names of its fields, the longest first",
        ),
        ("[long, short, none]", "[long, long]", "the versions of `manual` must be 2 to 6 names"),
        (
            "[long, short, none]",
            "[long, brief]",
            "has a ladder of versions for `manual`, whose schema has no field `brief`",
        ),
        (", shown?: string }", " }", "has a ladder of versions for `manual`, whose schema has no field `shown`"),
    ] {
        let error = prompt(&PROMPT.replace(from, to)).unwrap_err();
        let problems = error.problems().join("\n");
        assert!(problems.contains(problem) && problems.contains("-->"), "{problems}");
    }
}
