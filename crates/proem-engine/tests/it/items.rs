//! Items that climb a ladder of their own.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::collections::BTreeMap;

use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Assembly;
use proem_engine::input::Inputs;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::report::{Report, SectionState};
use proem_engine::section::{Layer, Rung};
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_engine::{Error, ErrorKind};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::{Label, Source};
use proptest::{collection::vec, prelude::*};

const PROMPT: &str = r#"---
input:
  schema:
    code(array):
      path: string
      share?: integer
      full?: string
      parts?: string
      excerpt?: string
      outline?: string
      named?: string
      shown?: string
    notes(array): string
proem:
  version: 1.0.0
  sections:
    - { name: role, trust: constitution }
    - { name: code, trust: untrusted, layer: code, priority: 80, ladder: { code: { each: [full, parts, excerpt, outline, named, count] } } }
    - { name: notes, trust: untrusted, priority: 20, ladder: { notes: [full, count] } }
---
{{role "system"}}{{section "role"}}
Mend it.
{{role "user"}}{{section "code"}}
{{#each code}}
## {{this.path}}
{{#if this.shown}}
{{this.shown}}
{{/if}}
{{/each}}
{{section "notes"}}
{{#each notes}}
- {{this}}
{{/each}}
"#;

fn prompt() -> Prompt {
    let files = BTreeMap::from([("a/b/1.0.0.prompt".to_owned(), PartialText::Template(PROMPT.into()))]);
    Book::new(vec![BookLayer { origin: Origin::User, files }]).unwrap().prompt("a/b", None).unwrap()
}

fn outside(text: &str) -> LabelTree {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("repository"))).into()
}

/// A file with a share and these renderings.
fn file(path: &str, share: u64, renderings: &[(&str, &str)]) -> LabelTree {
    let fields = [("path", outside(path)), ("share", share.into())];
    LabelTree::map(fields.into_iter().chain(renderings.iter().map(|(rung, text)| (*rung, outside(text)))))
}

struct Caps {
    code: Option<usize>,
    both: Option<usize>,
    whole: Option<usize>,
}

const OPEN: Caps = Caps { code: None, both: None, whole: None };

fn run(code: Vec<LabelTree>, notes: usize, caps: &Caps) -> Result<(Assembly, Report), Error> {
    let notes = LabelTree::list((0..notes).map(|n| format!("note {n} says that nothing is to be done here")));
    let inputs = Inputs::from([("code".to_owned(), LabelTree::list(code)), ("notes".to_owned(), notes)]);
    let key = InstallationKey::new([7; 32]);
    let options = AssemblyOptions {
        layers: &caps.code.map(|tokens| (Layer::Code, tokens)).into_iter().collect(),
        context_and_code: caps.both,
        input_tokens: caps.whole,
        ..AssemblyOptions::new(&key)
    };
    assemble_request(&prompt(), &inputs, &mut CachingCounter::new(&OpenAi::O200k), &options)
}

fn text(assembly: &Assembly, name: &str) -> String {
    assembly.sections.iter().find(|section| section.name == name).map_or_else(String::new, |s| s.text.clone())
}

fn rungs(report: &Report) -> Vec<(Option<usize>, Rung)> {
    let code = report.sections.iter().find(|section| section.name == "code").unwrap();
    code.shrunk.iter().map(|shrunk| (shrunk.item, shrunk.rung)).collect()
}

fn two() -> Vec<LabelTree> {
    let body = "let x = compute_the_time(now); assert_eq!(x, later);\n".repeat(20);
    vec![
        file("src/a.rs", 90, &[("full", &body), ("parts", "fn a() { noon() }"), ("outline", "fn a()"), ("named", "a")]),
        file("src/b.rs", 30, &[("full", &body), ("outline", "fn b()"), ("named", "b")]),
    ]
}

#[test]
fn each_item_goes_down_as_far_as_the_budget_asks_the_least_worth_first() {
    let (assembly, report) = run(two(), 0, &OPEN).unwrap();
    assert_eq!(rungs(&report), []);
    assert_eq!(text(&assembly, "code").matches("compute_the_time").count(), 40);
    let (assembly, report) = run(two(), 0, &Caps { code: Some(440), ..OPEN }).unwrap();
    assert_eq!(rungs(&report), [(Some(0), Rung::Parts)], "it loses a tenth of its worth and the most tokens");
    assert!(text(&assembly, "code").contains("fn a() { noon() }"));
    let (assembly, report) = run(two(), 0, &Caps { code: Some(90), ..OPEN }).unwrap();
    assert_eq!(rungs(&report), [(Some(0), Rung::Parts), (Some(1), Rung::Outline)]);
    let reason = report.sections.iter().find(|section| section.name == "code").unwrap().reason.clone().unwrap();
    assert!(reason.starts_with("over budget (priority 80): 1 of code in parts, 1 of code as an outline, "), "{reason}");
    let shown = text(&assembly, "code");
    assert!(shown.contains("## src/b.rs\nfn b()\n") && !shown.contains("compute_the_time"), "{shown}");
}

#[test]
fn an_item_that_is_only_counted_is_said_to_be_there() {
    let many = (0..40).map(|n| file(&format!("src/{n}.rs"), 10, &[("named", "one line of why it could matter")]));
    let (assembly, report) = run(many.collect(), 0, &Caps { code: Some(200), ..OPEN }).unwrap();
    let counted = rungs(&report).len();
    assert!(counted > 20 && rungs(&report).iter().all(|(_, rung)| *rung == Rung::Count));
    assert!(text(&assembly, "code").contains(&format!("[code: {counted} more items, not shown]")));
}

#[test]
fn a_limit_can_hold_for_context_and_code_together() {
    let sum = |report: &Report| report.sections.iter().filter(|s| s.name != "role").map(|s| s.tokens).sum::<usize>();
    let (_, free) = run(two(), 10, &OPEN).unwrap();
    let (_, bound) = run(two(), 10, &Caps { both: Some(150), ..OPEN }).unwrap();
    assert!(sum(&free) > 600 && sum(&bound) <= 150, "{} {}", sum(&free), sum(&bound));
    let error = run(two(), 10, &Caps { both: Some(3), ..OPEN }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    assert!(error.to_string().contains("layer `context` with layer `code` may have 3 tokens"), "{error}");
}

fn files() -> impl Strategy<Value = Vec<LabelTree>> {
    let words = || "([a-z]{1,7}[ \n]){0,60}";
    let file = (any::<[bool; 5]>(), 0u64..=120, words(), "[a-z/]{1,12}").prop_map(|(brings, share, words, path)| {
        let at = |share: usize| words.chars().take(words.len() / share).collect::<String>();
        let all = [("full", at(1)), ("parts", at(2)), ("excerpt", at(3)), ("outline", at(5)), ("named", at(9))];
        let brought: Vec<(&str, &str)> = all
            .iter()
            .zip(brings)
            .filter(|(_, brings)| *brings)
            .map(|((rung, text), _)| (*rung, text.as_str()))
            .collect();
        self::file(&path, share, &brought)
    });
    vec(file, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_limit_is_exceeded_and_every_item_is_shown_or_counted(
        files in files(), code in 0usize..900, both in prop::option::of(60usize..900), whole in prop::option::of(80usize..1200),
    ) {
        let items = files.len();
        let Ok((assembly, report)) = run(files, 3, &Caps { code: Some(code), both, whole }) else { return Ok(()) };
        let of = |layer: Layer| report.sections.iter().filter(|s| s.layer == layer).map(|s| s.tokens).sum::<usize>();
        prop_assert!(of(Layer::Code) <= code);
        prop_assert!(both.is_none_or(|both| of(Layer::Code) + of(Layer::Context) <= both));
        prop_assert!(whole.is_none_or(|whole| report.totals.tokens <= whole));
        prop_assert!(report.fit.worth <= report.fit.bound);
        let section = report.sections.iter().find(|section| section.name == "code").unwrap();
        if section.state != SectionState::Dropped && section.state != SectionState::Empty {
            let shown = text(&assembly, "code").matches("## ").count();
            let note = text(&assembly, "code");
            let counted = note.split("[code: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
            prop_assert_eq!(shown + counted, items);
        }
    }
}
