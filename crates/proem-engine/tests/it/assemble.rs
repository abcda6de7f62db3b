//! The contents of an assembly, and its report.
#![expect(clippy::unwrap_used, clippy::string_slice, reason = "a test may stop at what it didn't expect")]

use std::collections::BTreeMap;

use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Assembly;
use proem_engine::input::Inputs;
use proem_engine::profile::Profile;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::report::{Report, SectionState};
use proem_engine::section::{Layer, Rung};
use proem_engine::tokens::{CachingCounter, OpenAi, TokenCounter};
use proem_engine::{Error, ErrorKind};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::{Label, Source};
use serde_json::json;

/// A prompt from its schema (in YAML), what else it declares, and its body.
fn prompt(schema: &str, declared: &str, body: &str, partials: &[(&str, PartialText)]) -> Prompt {
    let text = format!("---\ninput:\n  schema: {schema}\nproem:\n  version: 1.0.0\n{declared}---\n{body}");
    let mut files = BTreeMap::from([("a/b/1.0.0.prompt".to_owned(), PartialText::Template(text))]);
    files.extend(partials.iter().map(|(name, text)| (format!("a/b/_{name}.prompt"), text.clone())));
    let book = Book::new(vec![BookLayer { origin: Origin::User, files }]).unwrap();
    book.prompt("a/b", None).map_err(|e| e.to_string()).unwrap()
}

#[derive(Debug, Clone, Default)]
struct Limits {
    layers: BTreeMap<Layer, usize>,
    whole: Option<usize>,
    /// The model's window, and what is kept free of it.
    window: Option<(usize, usize)>,
    monolithic: Option<usize>,
    profile: Option<Profile>,
    key: u8,
}

impl Limits {
    fn whole(tokens: usize) -> Self {
        Self { whole: Some(tokens), ..Self::default() }
    }

    fn layer(layer: Layer, tokens: usize) -> Self {
        Self { layers: BTreeMap::from([(layer, tokens)]), ..Self::default() }
    }
}

fn run(prompt: &Prompt, inputs: &Inputs, limits: &Limits) -> Result<(Assembly, Report), Error> {
    let key = InstallationKey::new([limits.key; 32]);
    let options = AssemblyOptions {
        layers: &limits.layers,
        input_tokens: limits.whole,
        window: limits.window.map(|(tokens, _)| tokens),
        output_tokens: limits.window.map(|(_, answer)| answer),
        monolithic: limits.monolithic,
        profile: limits.profile.as_ref(),
        ..AssemblyOptions::new(&key)
    };
    assemble_request(prompt, inputs, &mut CachingCounter::new(&OpenAi::O200k), &options)
}

fn outside(text: &str) -> LabelTree {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("git/log"))).into()
}

fn inputs<const N: usize>(entries: [(&str, LabelTree); N]) -> Inputs {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// One trusted section with this body, rendered.
fn rendered(schema: &str, body: &str, values: &Inputs) -> String {
    // The trusted inputs are the schema's own keys: nested ones are in inner braces.
    let mut depth = 0;
    let top: String = schema
        .chars()
        .filter(|c| {
            depth += i32::from("{[".contains(*c)) - i32::from("}]".contains(*c));
            depth == 1
        })
        .collect();
    let keys = top.split(',').filter_map(|entry| entry.split([':', '?', '(']).next());
    let names: String =
        keys.map(|key| format!("    {}: {{ trust: trusted }}\n", key.trim_start_matches('{').trim())).collect();
    let declared = format!("  inputs:\n{names}  sections:\n    - {{ name: facts, trust: trusted }}\n");
    let partials = [
        ("greet", PartialText::Template("Hi {{name}}!".into())),
        ("plain", PartialText::Literal("{{name}} & <b>".into())),
    ];
    let prompt =
        prompt(schema, &declared, &format!("{{{{role \"user\"}}}}{{{{section \"facts\"}}}}\n{body}"), &partials);
    let text = run(&prompt, values, &Limits::default()).map_err(|e| e.to_string()).unwrap().0.text();
    // Every section ends with a blank line.
    text.strip_suffix('\n').unwrap_or_default().to_owned()
}

#[test]
fn templates_render() {
    let tags = || inputs([("tags", LabelTree::list(["a", "b", "c"]))]);
    let list = "{ tags(array): string }";
    let name = || inputs([("name", "Ada <ada@x> & \"co\" 'x'".into())]);
    for (schema, body, values, expected) in [
        (list, "{{#each tags}}{{@index}}{{this}}{{#unless @last}},{{/unless}}{{/each}}", tags(), "0a,1b,2c\n"),
        (list, "{{#each tags as |tag at|}}{{at}}={{tag}} {{/each}}", tags(), "0=a 1=b 2=c\n"),
        (list, "{{#each tags}}\n- {{this}}\n{{/each}}\n", tags(), "- a\n- b\n- c\n"),
        (list, "{{len tags}} {{#if (gt (len tags) 2)}}many{{else}}few{{/if}}", tags(), "3 many\n"),
        (
            list,
            "{{#each tags}}x{{else}}none{{/each}}",
            inputs([("tags", LabelTree::list(Vec::<LabelTree>::new()))]),
            "none\n",
        ),
        (list, "{{json tags}}", tags(), "[\"a\",\"b\",\"c\"]\n"),
        ("{ name: string }", "{{name}}", name(), "Ada <ada@x> & \"co\" 'x'\n"),
        ("{ name: string }", "{{{name}}}{{&name}}", inputs([("name", "<".into())]), "<<\n"),
        ("{ name: string }", "{{> greet}} {{> plain}}", inputs([("name", "Ada".into())]), "Hi Ada! {{name}} & <b>\n"),
        ("{ who: string }", "{{> greet name=who}}", inputs([("who", "Bo".into())]), "Hi Bo!\n"),
        ("{ name?: string }", "{{#if name}}{{name}}{{else}}nobody{{/if}}", Inputs::new(), "nobody\n"),
        (
            "{ list(array): { name: string, size?: integer }, at: string }",
            "{{#each list}}{{../at}}/{{name}}{{#if size}}={{size}}{{/if}} {{/each}}",
            inputs([
                ("at", "x".into()),
                ("list", LabelTree::from_trusted(&json!([{ "name": "a", "size": 3 }, { "name": "b" }])).unwrap()),
            ]),
            "x/a=3 x/b\n",
        ),
        (
            "{ who: { name: string } }",
            "{{> greet who}} {{#with who}}{{name}}{{/with}}",
            inputs([("who", LabelTree::from([("name", "Cy".into())]))]),
            "Hi Cy! Cy\n",
        ),
        (
            "{ mode(enum): [plan, act] }",
            "{{#ifEquals mode \"act\"}}do{{else}}think{{/ifEquals}}",
            inputs([("mode", "act".into())]),
            "do\n",
        ),
        (
            "{ log: string, lookup: string }",
            "{{log}} {{lookup}}",
            inputs([("log", "l".into()), ("lookup", "k".into())]),
            "l k\n",
        ),
        ("{ team?: { name: string } }", "{{#if team}}{{team.name}}{{else}}alone{{/if}}", Inputs::new(), "alone\n"),
        (
            "{ team?: { name: string, lead?: string } }",
            "{{#if team.lead}}{{team.name}} under {{team.lead}}{{else}}no lead{{/if}}",
            Inputs::new(),
            "no lead\n",
        ),
    ] {
        assert_eq!(rendered(schema, body, &values), expected, "{body}");
    }
}

const DECLARED: &str = "  inputs: { name: { trust: trusted }, size: { trust: trusted } }
  sections:
    - { name: facts, trust: trusted }
    - { name: people, trust: untrusted }
";

fn typed() -> Prompt {
    // Picoschema has no lengths, so the schema is written out.
    let schema = "{ type: object, additionalProperties: false, required: [name, size, color, people], properties: {
      name: { type: string }, size: { type: integer }, color: { enum: [red, green] }, short: { type: string, minLength: 2, maxLength: 4 },
      people: { type: array, items: { type: object, additionalProperties: false, required: [name], properties: { name: { type: string }, age: { type: [integer, \"null\"] } } } },
      env: { type: object, additionalProperties: { type: string } } } }";
    prompt(
        schema,
        DECLARED,
        "{{role \"user\"}}{{section \"facts\"}}\n{{name}} {{size}}\n{{section \"people\"}}\n{{color}}\n{{#each people}}- {{name}}\n{{/each}}{{#if short}}{{short}}{{/if}}",
        &[],
    )
}

/// The problems of wrong inputs, one a line.
fn refused(prompt: &Prompt, inputs: &Inputs) -> (ErrorKind, String) {
    let error = run(prompt, inputs, &Limits::default()).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn every_problem_with_inputs_is_listed_with_its_path() {
    let prompt = typed();
    let check = |values: Inputs, expected: &str| {
        assert_eq!(refused(&prompt, &values), (ErrorKind::InvalidInput, expected.to_owned()));
    };
    check(
        Inputs::new(),
        "input: `color` is missing\ninput: `name` is missing\ninput: `people` is missing\ninput: `size` is missing",
    );
    let person = |name: LabelTree| LabelTree::list(vec![LabelTree::from([("name", name)])]);
    let fine = inputs([
        ("name", "n".into()),
        ("size", 3.into()),
        ("color", outside("red")),
        ("people", person(outside("Ada"))),
    ]);
    assert!(run(&prompt, &fine, &Limits::default()).is_ok());
    let with = |name: &str, value: LabelTree| {
        let mut values = fine.clone();
        values.insert(name.to_owned(), value);
        values
    };
    check(with("size", "many".into()), "input/size: the value is not of type \"integer\"");
    check(with("people", "all".into()), "input/people: the value is not of type \"array\"");
    check(with("people", person(LabelTree::Null)), "input/people/0/name: the value is not of type \"string\"");
    check(
        with("colour", "red".into()),
        "input: `colour` not declared; the prompt takes name, size, color, short, people, env",
    );
    // The check covers the outside text itself, not the mark in its place.
    check(with("color", outside("blue")), "input/color: the value is not one of \"red\" or \"green\"");
    check(with("short", outside("too long")), "input/short: the value is longer than 4 characters");
    check(with("short", outside("x")), "input/short: the value is shorter than 2 characters");
    assert!(run(&prompt, &with("short", outside("fits")), &Limits::default()).is_ok());
    let stranger = LabelTree::from([("name", outside("Ada")), ("\u{1b}[2Jevil", outside("x"))]);
    check(with("people", LabelTree::list(vec![stranger])), "input/people/0: 1 names that the schema does not declare");
    check(with("env", LabelTree::from([("SECRET_KEY", 3.into())])), "input/env/*: the value is not of type \"string\"");
    let many = LabelTree::list((0..200u64).map(LabelTree::from));
    let (_, text) = refused(&prompt, &with("people", many));
    assert_eq!(text.lines().count(), 51, "{text}");
    assert!(text.ends_with("and 150 more problems of this kind"), "{text}");
}

#[test]
fn a_trusted_input_that_holds_outside_text_is_a_trust_violation() {
    let prompt = typed();
    let values = inputs([
        ("name", outside("n")),
        ("size", LabelTree::list(vec![LabelTree::from([("deep", outside("x"))])])),
        ("color", "red".into()),
        ("people", LabelTree::list(Vec::<LabelTree>::new())),
    ]);
    let expected = "trust_violation: input `name` is declared trusted but contains untrusted text\n\
                    trust_violation: input `size` is declared trusted but contains untrusted text";
    assert_eq!(refused(&prompt, &values), (ErrorKind::TrustViolation, expected.to_owned()));
}

const LADDERS: &str = "  inputs: { task: { trust: trusted } }
  sections:
    - { name: role, trust: constitution }
    - { name: log, trust: untrusted, priority: 50, ladder: { log: [full, brief, count, omitted] } }
    - { name: files, trust: untrusted, keep: required, ladder: { files: [full, brief, count, omitted] } }
    - { name: note, trust: untrusted, priority: 20, ladder: { note: [full, brief, count, omitted] } }
    - { name: extra, trust: trusted, priority: 10 }
    - { name: task, trust: task }
";

fn ladders() -> Prompt {
    prompt(
        "{ log(array): string, files(array): { path: string, diff: string }, note?: string, task: string, extra?: string }",
        &LADDERS.replace("extra, trust: trusted", "extra, trust: untrusted"),
        "{{role \"system\"}}{{section \"role\"}}\nYou judge.\n{{role \"user\"}}{{section \"log\"}}\nLog:\n{{#each log}}- {{this}}\n{{/each}}{{section \"files\"}}\nFiles:\n{{#each files}}{{path}}: {{diff}}\n{{/each}}{{section \"note\"}}\n{{#if note}}Note: {{note}}{{/if}}{{section \"extra\"}}\n{{#if extra}}{{extra}}{{/if}}{{section \"task\"}}\n{{task}}\n",
        &[],
    )
}

fn ladder_inputs(log: usize, files: usize, note: usize) -> Inputs {
    let line = |n: usize| outside(&format!("commit {n} fixes the parser of dates\nsecond line {n}"));
    let file = |n: usize| {
        LabelTree::from([
            ("path", outside(&format!("src/{n}.rs"))),
            ("diff", outside(&format!("+ added {n}\n- removed {n}"))),
        ])
    };
    inputs([
        ("log", LabelTree::list((0..log).map(line))),
        ("files", LabelTree::list((0..files).map(file))),
        ("note", outside(&"a line of the note\n".repeat(note))),
        ("task", "Judge it.".into()),
    ])
}

fn section<'r>(report: &'r Report, name: &str) -> &'r proem_engine::report::SectionReport {
    report.sections.iter().find(|section| section.name == name).unwrap()
}

/// A section's text without the blank line behind it.
fn text_of(assembly: &Assembly, name: &str) -> String {
    let section = assembly.sections.iter().find(|section| section.name == name);
    let text = section.map_or("", |section| section.text.as_str());
    text.strip_suffix('\n').unwrap_or_default().to_owned()
}

#[test]
fn ladders_go_down_as_far_as_the_budget_asks() {
    let prompt = ladders();
    let values = ladder_inputs(12, 2, 1);
    let (_, full) = run(&prompt, &values, &Limits::default()).unwrap();
    let mut seen = Vec::new();
    for limit in (40..=full.totals.tokens).rev() {
        let (assembly, report) = match run(&prompt, &values, &Limits::whole(limit)) {
            Ok(done) => done,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
                break;
            }
        };
        assert!(report.totals.tokens <= limit);
        let log = section(&report, "log");
        let rung = match log.state {
            SectionState::Kept => Rung::Full,
            SectionState::Dropped => Rung::Omitted,
            _ => log.shrunk[0].rung,
        };
        if seen.last() != Some(&rung) {
            seen.push(rung);
        }
        match rung {
            Rung::Brief => {
                let text = text_of(&assembly, "log");
                assert!(text.contains("[log: 5 of 12 items, first and last, the first line of each]"), "{text}");
                assert!(
                    text.contains("- commit 2 ") && text.contains("- commit 10 ") && !text.contains("commit 3 "),
                    "{text}"
                );
                assert!(!text.contains("second line"), "{text}");
                assert!(log.reason.as_deref().unwrap().starts_with("over budget (priority 50): log shortened, "));
            }
            Rung::Count => assert!(text_of(&assembly, "log").contains("Log:\n[log: 12 items, not shown]\n")),
            Rung::Omitted => {
                assert_eq!(text_of(&assembly, "log"), "");
                assert_eq!(
                    log.reason.as_deref(),
                    Some(format!("over budget (priority 50): {} tokens left out", log.full_tokens).as_str())
                );
                assert_eq!((log.tokens, log.range), (0, None));
            }
            Rung::Full => assert_eq!(log.reason, None),
            Rung::Parts | Rung::Excerpt | Rung::Outline | Rung::Named => panic!("no list brings these"),
        }
    }
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted, [Rung::Full, Rung::Brief, Rung::Count, Rung::Omitted], "{seen:?}");
}

#[test]
fn a_required_section_keeps_its_own_words_when_its_ladder_ends() {
    let prompt = ladders();
    let values = ladder_inputs(0, 60, 0);
    let mut omitted = 0;
    for limit in 20..120 {
        let Ok((assembly, report)) = run(&prompt, &values, &Limits::whole(limit)) else { continue };
        assert!(text_of(&assembly, "files").contains("Files:\n"), "{limit}");
        let files = section(&report, "files");
        assert_ne!(files.state, SectionState::Dropped);
        omitted += usize::from(files.shrunk.first().is_some_and(|shrunk| shrunk.rung == Rung::Omitted));
    }
    assert!(omitted > 0);
}

#[test]
fn lists_of_maps_and_texts_shrink_too() {
    let prompt = ladders();
    let (assembly, report) = run(&prompt, &ladder_inputs(0, 20, 0), &Limits::whole(200)).unwrap();
    let text = text_of(&assembly, "files");
    assert!(text.contains("src/0.rs: + added 0\n") && !text.contains("removed"), "{text}");
    assert!(text.contains("[files: 5 of 20 items, first and last, the first line of each]"), "{text}");
    assert_eq!(section(&report, "files").shrunk[0].rung, Rung::Brief);
    let (assembly, _) = run(&prompt, &ladder_inputs(0, 0, 90), &Limits::whole(150)).unwrap();
    let text = text_of(&assembly, "note");
    assert!(text.contains("Note: a line of the note\n") && text.contains("[note: the first of 90 lines]"), "{text}");
}

#[test]
fn layers_have_caps_of_their_own() {
    let prompt = ladders();
    let values = ladder_inputs(30, 2, 1);
    let (_, report) = run(&prompt, &values, &Limits::layer(Layer::Context, 160)).unwrap();
    let context: usize = report.sections.iter().filter(|s| s.layer == Layer::Context).map(|s| s.tokens).sum();
    assert!(context <= 160 && section(&report, "log").state != SectionState::Kept, "{context}");
    assert_eq!(report.totals.limit, None);
    let error = run(&prompt, &values, &Limits::layer(Layer::Constitution, 2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    assert_eq!(
        error.to_string(),
        "budget too small: layer `constitution` may have 2 tokens and needs at least 3 (`role` 3); raise the limit or \
         shorten these sections"
    );
}

#[test]
fn a_window_that_is_too_small_names_what_the_answer_takes_of_it() {
    let prompt = ladders();
    let limits = |window: usize, answer: usize| Limits { window: Some((window, answer)), ..Limits::default() };
    let values = ladder_inputs(30, 2, 1);
    let error = run(&prompt, &values, &limits(44, 16)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    let text = error.to_string();
    let start = "budget too small: the whole prompt may have 28 tokens, because the model's window has 44 and 16 are kept \
                 free for the answer, and needs at least ";
    let end = "; shorten these sections, keep less free for the answer, or ask a model with a larger window";
    assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    // A limit that somebody set and that is lower is what binds.
    let lower = Limits { whole: Some(20), ..limits(44, 16) };
    assert!(run(&prompt, &values, &lower).unwrap_err().to_string().contains("may have 20 tokens and needs"));
    // An answer that takes more than there is leaves nothing.
    assert!(run(&prompt, &values, &limits(44, 100)).unwrap_err().to_string().contains("may have 0 tokens, because"));
    let (assembly, report) = run(&prompt, &values, &limits(2_000, 500)).unwrap();
    assert_eq!((assembly.output_tokens, report.totals.limit), (500, Some(1_500)));
}

#[test]
fn a_budget_that_is_too_small_names_what_cannot_shrink() {
    let prompt = ladders();
    let error = run(&prompt, &ladder_inputs(30, 2, 1), &Limits::whole(20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    let text = error.to_string();
    let (start, end) = (
        "budget too small: the whole prompt may have 20 tokens and needs at least ",
        "; raise the limit or shorten these sections",
    );
    assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    let sum: usize = text[start.len()..].split(' ').next().unwrap().parse().unwrap();
    let listed = text.split_once('(').unwrap().1.split_once(')').unwrap().0;
    let each: Vec<(&str, usize)> = listed
        .split(", ")
        .map(|one| one.split_once(' ').unwrap())
        .map(|(name, n)| (name, n.parse().unwrap()))
        .collect();
    assert_eq!(each.iter().map(|(_, tokens)| tokens).sum::<usize>(), sum);
    assert_eq!(each.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["`role`", "`files`", "`task`"]);
    // The caller's limit and the file's hold together.
    assert!(run(&prompt, &ladder_inputs(0, 0, 0), &Limits::whole(sum)).is_ok());
}

#[test]
fn the_report_accounts_for_every_token_and_byte() {
    let prompt = ladders();
    let limits = Limits { monolithic: Some(5000), ..Limits::whole(150) };
    let (assembly, report) = run(&prompt, &ladder_inputs(30, 2, 0), &limits).unwrap();
    let text = assembly.text();
    assert_eq!(report.totals.tokens, OpenAi::O200k.count(&text));
    assert_eq!(report.sections.iter().map(|s| s.tokens).sum::<usize>(), report.totals.tokens);
    assert_eq!(report.totals.prefix + report.totals.suffix, report.totals.tokens);
    assert_eq!((report.totals.limit, report.totals.output), (Some(150), 4096));
    let saved = 5000 - i64::try_from(report.totals.tokens).unwrap();
    assert_eq!((report.totals.monolithic, report.totals.saved), (Some(5000), Some(saved)));
    let mut end = 0;
    for section in &report.sections {
        let Some(range) = section.range else { continue };
        assert_eq!(range.start, end);
        end = range.end;
        let placed = assembly.sections.iter().find(|placed| placed.name == section.name).unwrap();
        assert_eq!(&text[range.start..range.end], placed.text);
        assert!(section.contained.iter().all(|c| range.start <= c.start && c.end <= range.end && c.start < c.end));
        assert_eq!(section.sources.is_empty(), section.contained.is_empty());
    }
    assert_eq!(end, text.len());
    let states: Vec<(&str, SectionState)> = report.sections.iter().map(|s| (s.name.as_str(), s.state)).collect();
    assert_eq!(states.len(), 6, "{states:?}");
    let note = section(&report, "note");
    assert_eq!((note.state, note.reason.as_deref()), (SectionState::Empty, Some("it has no input")));
    let files = section(&report, "files");
    assert_eq!(files.sources, ["git/log"]);
    let paths: Vec<&str> = files.contained.iter().map(|range| &text[range.start..range.end]).collect();
    assert!(paths.contains(&"src/0.rs"), "{paths:?}");
    assert!(report.fit.worth <= report.fit.bound && report.fit.gap == report.fit.bound - report.fit.worth);
    assert_eq!(report.counter.name, "o200k");
    assert_eq!(report.prompt.name, "a/b");
}

#[test]
fn hashes_tell_what_the_key_changes() {
    let prompt = ladders();
    let run = |values: &Inputs, key: u8| run(&prompt, values, &Limits { key, ..Limits::default() }).unwrap().1;
    let values = ladder_inputs(2, 1, 1);
    let (a, b) = (run(&values, 1), run(&values, 2));
    assert_eq!(a.content_hash, b.content_hash);
    assert_ne!(a.hash, b.hash);
    assert_ne!(a.key_id, b.key_id);
    assert_eq!(run(&values, 1), a);
    assert_ne!(run(&ladder_inputs(2, 1, 2), 1).content_hash, a.content_hash);
    let plain = self::prompt(
        "{ a: string }",
        "  inputs: { a: { trust: trusted } }\n  sections:\n    - { name: facts, trust: trusted }\n",
        "{{role \"user\"}}{{section \"facts\"}}\n{{a}}",
        &[],
    );
    let values = inputs([("a", "x".into())]);
    let key = |key: u8| self::run(&plain, &values, &Limits { key, ..Limits::default() }).unwrap().1;
    assert_eq!(key(1).hash, key(2).hash);
}

#[test]
fn boundaries_stand_behind_the_last_section_of_each_stable_group() {
    let prompt = prompt(
        "{ a: string, b: string }",
        "  inputs: { a: { trust: trusted } }
  sections:
    - { name: role, trust: constitution }
    - { name: rules, trust: rules }
    - { name: static, trust: trusted, cache: static }
    - { name: run, trust: trusted, cache: per-run }
    - { name: summary, trust: untrusted, cache: static }
    - { name: cycle, trust: untrusted, cache: per-run }
    - { name: tools, trust: trusted, layer: capabilities }
    - { name: facts, trust: trusted }
    - { name: evidence, trust: untrusted }
    - { name: task, trust: task }
",
        "{{role \"system\"}}{{section \"role\"}}\nR\n{{section \"rules\"}}\n{{a}}\n{{section \"static\"}}\nS\n{{section \"run\"}}\n{{a}}\n{{role \"user\"}}{{section \"summary\"}}\n{{b}}\n{{section \"cycle\"}}\n{{#if b}}{{b}}{{/if}}\n{{section \"tools\"}}\nT\n{{section \"facts\"}}\n{{a}}\n{{section \"evidence\"}}\n{{b}}\n{{section \"task\"}}\n{{a}}\n",
        &[],
    );
    let check = |a: &str, b: &str, expected: &[&str]| {
        let (assembly, _) = run(&prompt, &inputs([("a", a.into()), ("b", outside(b))]), &Limits::default()).unwrap();
        let names: Vec<&str> = assembly.boundaries.iter().map(|at| assembly.sections[*at].name.as_str()).collect();
        assert_eq!(names, expected, "{a:?} {b:?}");
        assert_eq!(assembly.prefix().len() + assembly.suffix().len(), assembly.sections.len());
    };
    check("x", "y", &["static", "run", "summary", "cycle"]);
    check("x", "", &["static", "run"]);
    check("", "", &["static"]);
}

#[test]
fn stable_sections_have_the_share_that_the_file_gives_them() {
    let shown = |stable: &str| {
        let declared = format!(
            "  budget: {{ input: 200{stable} }}\n  inputs:\n    log: {{ trust: trusted }}\n    news: {{ trust: trusted }}\n  sections:\n    - {{ name: log, trust: trusted, cache: static, ladder: {{ log: [full, omitted] }} }}\n    - {{ name: news, trust: trusted, cache: never, ladder: {{ news: [full, omitted] }} }}\n"
        );
        let body = "{{role \"system\"}}{{section \"log\"}}\n{{#each log}}{{this}} {{/each}}\n{{role \"user\"}}{{section \"news\"}}\n{{#each news}}{{this}} {{/each}}\n";
        let prompt = prompt("{ log(array): string, news(array): string }", &declared, body, &[]);
        let words = |count: usize| LabelTree::list(vec!["word"; count]);
        let given = inputs([("log", words(140)), ("news", words(30))]);
        let (assembly, _) = run(&prompt, &given, &Limits::default()).unwrap();
        ["log", "news"].map(|name| text_of(&assembly, name).matches("word").count())
    };
    // More than half of the limit is no stable section's, unless the file says so.
    assert_eq!(shown(""), [0, 30]);
    assert_eq!(shown(", stable: 50"), [0, 30]);
    assert_eq!(shown(", stable: 80"), [140, 30]);
    assert_eq!(shown(", stable: 60"), [0, 30]);
}

#[test]
fn two_trusted_texts_do_not_make_a_mark_together() {
    let prompt = prompt(
        "{ a: string, b: string, c: string }",
        "  inputs: { a: { trust: trusted }, b: { trust: trusted } }\n  sections:\n    - { name: facts, trust: trusted }\n    - { name: evidence, trust: untrusted }\n",
        "{{role \"user\"}}{{section \"facts\"}}\n{{a}}{{b}}\n{{section \"evidence\"}}\n{{a}}{{b}} {{c}}\n",
        &[],
    );
    for (a, b) in
        [("\u{fdd0}", "0.\u{fdd1}"), ("\u{fdd0}0", ".\u{fdd1}"), ("\u{fdd0}0", "\u{fdd0}"), ("\u{fdd1}0", "\u{fdd1}")]
    {
        let values = inputs([("a", a.into()), ("b", b.into()), ("c", outside("SECRET"))]);
        let (assembly, _) = run(&prompt, &values, &Limits::default()).unwrap();
        assert_eq!(text_of(&assembly, "facts"), format!("{a}{b}\n"));
        assert_eq!(text_of(&assembly, "evidence").matches("SECRET").count(), 1);
    }
}

#[test]
fn texts_that_hold_many_marks_take_no_longer() {
    let marks: String = (0..60_000).map(|n| format!("\u{fdd0}{n}.")).collect();
    assert_eq!(rendered("{ a: string }", "{{a}}", &inputs([("a", marks.as_str().into())])), format!("{marks}\n"));
}

#[test]
fn defaults_stand_in_for_missing_inputs_and_callers_override_them() {
    let text = "---
input:
  schema: { a: string, b?: string }
  default: { a: standard, b: other }
proem:
  version: 1.0.0
  inputs: { a: { trust: trusted } }
  sections:
    - { name: facts, trust: trusted }
    - { name: evidence, trust: untrusted }
---
{{role \"user\"}}{{section \"facts\"}}
{{a}}
{{section \"evidence\"}}
{{#if b}}{{b}}{{/if}}
";
    let files = BTreeMap::from([("a/b/1.0.0.prompt".to_owned(), PartialText::Template(text.to_owned()))]);
    let prompt = Book::new(vec![BookLayer { origin: Origin::User, files }]).unwrap().prompt("a/b", None).unwrap();
    let (assembly, _) = run(&prompt, &Inputs::new(), &Limits::default()).unwrap();
    assert_eq!(text_of(&assembly, "facts"), "standard\n");
    let (assembly, _) =
        run(&prompt, &inputs([("a", "own".into()), ("b", LabelTree::Null)]), &Limits::default()).unwrap();
    assert_eq!(text_of(&assembly, "facts"), "own\n");
    assert_eq!(text_of(&assembly, "evidence"), "");
}

#[test]
fn loops_that_multiply_end_at_a_limit() {
    let list = LabelTree::list(std::iter::repeat_n("x", 300));
    let prompt = prompt(
        "{ a(array): string }",
        "  inputs: { a: { trust: trusted } }\n  sections:\n    - { name: facts, trust: trusted }\n",
        "{{role \"user\"}}{{section \"facts\"}}\n{{#each a}}{{#each ../a}}{{#each ../../a}}xxxxxxxx{{/each}}{{/each}}{{/each}}",
        &[],
    );
    let error = run(&prompt, &inputs([("a", list)]), &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Render);
    assert_eq!(error.to_string(), "section `facts`: its text is larger than 16777216 bytes");
}

fn profile() -> Profile {
    Profile { instructions: vec![String::from("Count twice.")], ..Profile::default() }
}

/// A prompt with trusted text that changes, text from outside and a task.
fn layered(name: &str) -> Prompt {
    let declared = format!(
        "  inputs: {{ state: {{ trust: trusted }}, task: {{ trust: trusted }} }}\n  sections:\n    \
         - {{ name: role, trust: constitution }}\n    - {{ name: {name}, trust: trusted, cache: never }}\n    \
         - {{ name: log, trust: untrusted, priority: 10, ladder: {{ log: [full, omitted] }} }}\n    \
         - {{ name: task, trust: task }}\n"
    );
    let body = format!(
        "{{{{role \"system\"}}}}{{{{section \"role\"}}}}\nYou count.\n{{{{role \"user\"}}}}{{{{section \"{name}\"}}}}\n\
         {{{{state}}}}\n{{{{section \"log\"}}}}\n{{{{#if log}}}}{{{{log}}}}{{{{/if}}}}\n{{{{section \"task\"}}}}\n{{{{task}}}}\n"
    );
    prompt("{ state: string, log?: string, task: string }", &declared, &body, &[])
}

fn layered_inputs() -> Inputs {
    inputs([("state", "It is noon.".into()), ("log", outside("seen")), ("task", "Count.".into())])
}

#[test]
fn a_profile_stands_behind_trusted_text_and_before_what_comes_from_outside() {
    let limits = Limits { profile: Some(profile()), ..Limits::default() };
    let (assembly, report) = run(&layered("state"), &layered_inputs(), &limits).unwrap();
    let names: Vec<&str> = assembly.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["role", "state", "profile", "log", "task"]);
    let shown = &report.sections[2];
    assert_eq!((shown.name.as_str(), shown.state, shown.tokens > 0), ("profile", SectionState::Kept, true));
    assert_eq!(assembly.sections[2].text, "How to answer:\n\nInstructions:\n- Count twice.\n\n");
    assert_eq!(report.totals.tokens, OpenAi::O200k.count(&assembly.text()));
    // Under another key the text's hash is another, the content's the same, the profile in both.
    let (_, other) = run(&layered("state"), &layered_inputs(), &Limits { key: 9, ..limits.clone() }).unwrap();
    let (_, without) = run(&layered("state"), &layered_inputs(), &Limits::default()).unwrap();
    assert_eq!(report.content_hash, other.content_hash);
    assert_ne!(report.hash, other.hash);
    assert_ne!(report.content_hash, without.content_hash);
}

#[test]
fn a_profile_takes_its_tokens_off_the_limits() {
    let (prompt, inputs) = (layered("state"), layered_inputs());
    let full = |profile: Option<Profile>| {
        let (_, report) = run(&prompt, &inputs, &Limits { profile, ..Limits::default() }).unwrap();
        report.totals.tokens
    };
    let (without, with) = (full(None), full(Some(profile())));
    let limits = Limits { profile: Some(profile()), ..Limits::whole(without) };
    let (assembly, report) = run(&prompt, &inputs, &limits).unwrap();
    assert!(with > without && report.totals.tokens <= without);
    assert!(assembly.sections.iter().any(|section| section.name == "profile"));
    assert_eq!(report.sections[3].state, SectionState::Dropped);

    let limits = Limits { profile: Some(profile()), ..Limits::layer(Layer::Context, 5) };
    let error = run(&prompt, &inputs, &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    assert!(error.to_string().contains("`profile`"), "{error}");
}

#[test]
fn a_prompt_with_a_section_of_that_name_is_refused_once_there_is_a_profile() {
    let (prompt, inputs) = (layered("profile"), layered_inputs());
    run(&prompt, &inputs, &Limits::default()).unwrap();
    let error = run(&prompt, &inputs, &Limits { profile: Some(profile()), ..Limits::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "section `profile` of `a/b` has the name that is reserved for what the prompt learns; rename the section in \
         the prompt file"
    );
}
