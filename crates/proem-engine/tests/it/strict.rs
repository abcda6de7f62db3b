//! The texts that a strict prompt file may not hold, and the messages to its author.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proem_engine::prompt::file::{MAX_FILE_BYTES, PartialText, PromptFile, Section};
use proem_engine::{Error, ErrorKind};

/// Front matter whose inputs have every kind, trusted and untrusted.
const FRONT: &str = r#"---
input:
  schema:
    title: string
    notes: string
    subtitle?: string
    remark?: string
    tags(array): string
    words(array): string
    owner:
      name: string
      nick?: string
    team?:
      name: string
      lead?: string
      members(array): string
    files(array):
      path: string
      size?: integer
    env(object):
      (*): string
    outer(object):
      (*): string
proem:
  version: 1.0.0
  inputs:
    title: { trust: trusted }
    subtitle: { trust: trusted }
    tags: { trust: trusted }
    owner: { trust: trusted }
    team: { trust: trusted }
    env: { trust: trusted }
  sections:
    - { name: role, trust: constitution }
    - { name: facts, trust: trusted }
    - { name: evidence, trust: untrusted }
---
"#;

fn read(text: &str, partials: &[(&str, &str)]) -> Result<PromptFile, Error> {
    let partials = partials.iter().map(|(name, text)| ((*name).to_owned(), PartialText::Template((*text).to_owned())));
    PromptFile::parse("a.prompt", text, &partials.collect())
}

fn problems(text: &str, partials: &[(&str, &str)]) -> String {
    match read(text, partials) {
        Ok(_) => "(no problem)\n".into(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidFile);
            format!("{error}\n")
        }
    }
}

/// Each case with what its author is told.
fn strict_document<'c>(cases: impl IntoIterator<Item = (&'c str, String)>) -> String {
    let mut document = String::new();
    for (case, problems) in cases {
        _ = writeln!(document, "=== {case}\n{problems}");
    }
    document
}

/// A file with `facts` in a trusted and `evidence` in an untrusted section.
fn file(facts: &str, evidence: &str) -> String {
    format!(
        "{FRONT}{{{{role \"system\"}}}}{{{{section \"role\"}}}}\nYou judge.\n{{{{role \"user\"}}}}{{{{section \"facts\"}}}}\n{facts}\n{{{{section \"evidence\"}}}}\n{evidence}\n"
    )
}

/// Cases of one line each in the trusted section.
fn facts(lines: &[&str]) -> String {
    strict_document(lines.iter().map(|line| (*line, problems(&file(line, "-"), &[]))))
}

/// Cases of one line each in the untrusted section.
fn evidence(lines: &[&str]) -> String {
    strict_document(lines.iter().map(|line| (*line, problems(&file("-", line), &[]))))
}

/// A file from its sections' declarations and its body.
fn strict_sections(declared: &[&str], body: &str) -> String {
    let list: String = declared.iter().map(|section| format!("    - {{ {section} }}\n")).collect();
    format!("---\ninput:\n  schema: {{ a: string }}\nproem:\n  version: 1.0.0\n  sections:\n{list}---\n{body}")
}

const ROLE: &str = "name: role, trust: constitution";

#[test]
fn front_matter() {
    let body = "{{role \"system\"}}{{section \"role\"}}\nYou judge.\n";
    let with = |front: &str| problems(&format!("---\n{front}\n---\n{body}"), &[]);
    let own = |keys: &str| with(&format!("proem:\n  version: 1.0.0\n{keys}\n  sections:\n    - {{ {ROLE} }}"));
    let one =
        |section: &str| problems(&strict_sections(&[section], "{{role \"system\"}}{{section \"x\"}}\nText.\n"), &[]);
    let cases = [
        ("no front matter", problems(body, &[])),
        ("front matter that doesn't end", problems(&format!("---\nproem: {{}}\n{body}"), &[])),
        ("a plain dotprompt file", with("model: small")),
        ("front matter that is a list", with("- a\n- b")),
        ("broken YAML", with("proem:\n  version: 1.0.0\n  sections: [a, b")),
        ("a tab", with("proem:\n\tversion: 1.0.0")),
        ("two documents", with("a: 1\n...\n---x\nb: 2")),
        ("a key twice", with("proem:\n  version: 1.0.0\n  version: 1.0.0")),
        ("proem is a text", with("proem: yes please")),
        ("nothing in it", with("proem: {}")),
        ("unknown keys", own("  versoin: 1\n  budget: { inptu: 3 }\n  inputs: { a: { trusted: yes } }")),
        ("a bad budget", own("  budget: { input: -5, output: many }")),
        ("a profile that is neither wanted nor not", own("  profile: please")),
        ("version 1.0", with(&format!("proem:\n  version: 1.0\n  sections:\n    - {{ {ROLE} }}"))),
        ("version \"1.0\"", with(&format!("proem:\n  version: \"1.0\"\n  sections:\n    - {{ {ROLE} }}"))),
        ("sections that are no list", with("proem:\n  version: 1.0.0\n  sections: role")),
        ("a section that is a text", with("proem:\n  version: 1.0.0\n  sections: [role]")),
        ("a section without a name", one("trust: trusted")),
        ("the reserved name", one("name: output, trust: trusted")),
        ("a share of nothing", own("  budget: { stable: 0 }")),
        ("a share of more than all", own("  budget: { stable: 101 }")),
        ("a bad trust word", one("name: x, trust: high")),
        ("a section without a trust label", one("name: x")),
        ("a bad cache word", one("name: x, trust: rules, cache: always")),
        ("a bad layer", one("name: x, trust: rules, layer: task")),
        ("a bad tag", one("name: x, trust: untrusted, tag: \"<b>\"")),
        ("keep and priority", one("name: x, trust: rules, keep: sometimes, priority: 101")),
        ("a ladder that goes up", one("name: x, trust: rules, ladder: { a: [brief, full] }")),
        ("a ladder of unknown rungs", one("name: x, trust: rules, ladder: { a: [full, half] }")),
        (
            "a ladder of rungs that only items bring",
            one("name: x, trust: rules, ladder: { a: [full, outline, count] }"),
        ),
        (
            "a ladder for each item that shortens a list",
            one("name: x, trust: rules, ladder: { a: { each: [full, brief, count] } }"),
        ),
        (
            "a ladder for each item without an end",
            one("name: x, trust: rules, ladder: { a: { each: [full, outline] } }"),
        ),
        ("a ladder that is a word", one("name: x, trust: rules, ladder: { a: full }")),
        ("a ladder for an unknown input", one("name: x, trust: rules, ladder: { b: [full, count] }")),
        (
            "a ladder for an object",
            with(&format!(
                "input: {{ schema: {{ o: {{ p: string }} }} }}\nproem:\n  version: 1.0.0\n  sections:\n    - {{ {ROLE}, ladder: {{ o: [full, omitted] }} }}"
            )),
        ),
        ("trust of an unknown input", own("  inputs: { b: { trust: trusted } }")),
        ("a bad word for an input's trust", own("  inputs: { b: { trust: very } }")),
        (
            "a schema that can't be expanded",
            with(&format!(
                "input: {{ schema: {{ a: strnig }} }}\nproem:\n  version: 1.0.0\n  sections:\n    - {{ {ROLE} }}"
            )),
        ),
        (
            "a schema that does not compile",
            with(&format!(
                "input:\n  schema: {{ type: object, properties: {{ a: {{ type: strnig }} }} }}\nproem:\n  version: 1.0.0\n  sections:\n    - {{ {ROLE} }}"
            )),
        ),
        (
            "inputs named like helpers",
            with(&format!(
                "input: {{ schema: {{ if: string, raw: string, section: string }} }}\nproem:\n  version: 1.0.0\n  sections:\n    - {{ {ROLE} }}"
            )),
        ),
    ];
    insta::assert_snapshot!(strict_document(cases));
}

#[test]
fn markers() {
    let (facts, evidence, task) =
        ("name: facts, trust: trusted", "name: evidence, trust: untrusted", "name: task, trust: task");
    let system = "{{role \"system\"}}{{section \"role\"}}\nYou judge.\n";
    let check = |declared: &[&str], body: &str| problems(&strict_sections(declared, body), &[]);
    let cases = [
        ("a section twice", check(&[ROLE, ROLE], system)),
        ("declared without a marker", check(&[ROLE, facts], system)),
        ("a marker that is not declared", check(&[ROLE], &format!("{system}{{{{section \"other\"}}}}\nText.\n"))),
        ("a second marker", check(&[ROLE], &format!("{system}{{{{section \"role\"}}}}\nAgain.\n"))),
        ("text before any marker", check(&[ROLE], &format!("Hello.\n{system}"))),
        ("a value before any marker", check(&[ROLE], &format!("{{{{a}}}}\n{system}"))),
        (
            "text between a role and a section",
            check(
                &[ROLE, evidence],
                &format!("{system}{{{{role \"user\"}}}}\nHi\n{{{{section \"evidence\"}}}}\n{{{{a}}}}\n"),
            ),
        ),
        ("a section before a role", check(&[ROLE], "{{section \"role\"}}\nYou judge.\n")),
        (
            "a marker inside #if",
            check(
                &[ROLE, evidence],
                &format!("{system}{{{{role \"user\"}}}}{{{{#if a}}}}{{{{section \"evidence\"}}}}{{{{/if}}}}"),
            ),
        ),
        (
            "a role inside a section's #if",
            check(&[ROLE], &format!("{system}{{{{#if true}}}}{{{{role \"user\"}}}}{{{{/if}}}}")),
        ),
        ("a computed section", check(&[ROLE], &format!("{system}{{{{section a}}}}"))),
        ("a computed role", check(&[ROLE], "{{role a}}{{section \"role\"}}\nYou judge.\n")),
        ("the model's role", check(&[ROLE], &format!("{system}{{{{role \"model\"}}}}"))),
        ("history and media", check(&[ROLE], &format!("{system}{{{{history}}}}{{{{media url=a}}}}"))),
        (
            "the body against the order",
            check(
                &[ROLE, facts, evidence],
                &format!(
                    "{system}{{{{role \"user\"}}}}{{{{section \"evidence\"}}}}\n{{{{a}}}}\n{{{{section \"facts\"}}}}\nx\n"
                ),
            ),
        ),
        (
            "the declaration against the order",
            check(
                &[ROLE, evidence, facts],
                &format!(
                    "{system}{{{{role \"user\"}}}}{{{{section \"facts\"}}}}\nx\n{{{{section \"evidence\"}}}}\n{{{{a}}}}\n"
                ),
            ),
        ),
        (
            "untrusted under system",
            check(&[ROLE, evidence], &format!("{system}{{{{section \"evidence\"}}}}\n{{{{a}}}}\n")),
        ),
        ("the task under system", check(&[ROLE, task], &format!("{system}{{{{section \"task\"}}}}\nDo it.\n"))),
        ("a constitution under user", check(&[ROLE], "{{role \"user\"}}{{section \"role\"}}\nYou judge.\n")),
        (
            "a second system role",
            check(
                &[ROLE, facts, "name: more, trust: trusted"],
                &format!(
                    "{system}{{{{role \"user\"}}}}{{{{section \"facts\"}}}}\nx\n{{{{role \"system\"}}}}{{{{section \"more\"}}}}\ny\n"
                ),
            ),
        ),
    ];
    insta::assert_snapshot!(strict_document(cases));
}

#[test]
fn values() {
    let document = facts(&[
        "{{titel}}",
        "{{#if titel}}x{{/if}}",
        "{{#unless titel}}x{{/unless}}",
        "{{#each titel}}x{{/each}}",
        "{{#with titel}}x{{/with}}",
        "{{json titel}}",
        "{{#ifEquals titel \"a\"}}x{{/ifEquals}}",
        "{{#if (eq titel \"a\")}}x{{/if}}",
        "{{owner.nmae}}",
        "{{title.length}}",
        "{{tags.first}}",
        "{{owner}}",
        "{{tags}}",
        "{{this}}",
        "{{json this}}",
        "{{#if (eq this title)}}x{{/if}}",
        "{{subtitle}}",
        "{{owner.nick}}",
        "{{#if owner.nick}}{{owner.nick}}{{/if}}",
        "{{#if owner.nick}}{{else}}{{owner.nick}}{{/if}}",
        "{{#unless subtitle}}{{else}}{{subtitle}}{{/unless}}",
        "{{team.name}}",
        "{{#if team}}{{team.name}} {{team.lead}}{{/if}}",
        "{{#if team.lead}}{{team.name}} {{team.lead}}{{/if}}",
        "{{#each team.members}}{{this}}{{/each}}",
        "{{#with team}}{{name}}{{/with}}",
        "{{#with team}}{{name}}{{else}}nobody{{/with}}",
        "{{#each tags}}{{@index}} {{this}} {{../title}}{{/each}}",
        "{{#each tags as |tag at|}}{{tag}} {{at}} {{this}}{{/each}}",
        "{{#each tags}}{{title}}{{/each}}",
        "{{#each tags}}{{../../title}}{{/each}}",
        "{{@index}}",
        "{{#each env}}{{@key}}={{this}}{{/each}}",
        "{{#each owner}}{{this}}{{/each}}",
        "{{env.HOME}}",
    ]);
    insta::assert_snapshot!(document);
}

#[test]
fn trust() {
    let partials: [(&str, &str); 3] = [("show", "{{notes}}"), ("print", "{{this}}"), ("name", "{{name}}")];
    let one = |line: &'static str| (line, problems(&file(line, "-"), &partials));
    let cases = [
        one("{{notes}}"),
        one("{{#if notes}}x{{/if}}"),
        one("{{#unless notes}}x{{/unless}}"),
        one("{{#each words}}x{{/each}}"),
        one("{{#each words as |word|}}{{word}}{{/each}}"),
        one("{{#each tags}}{{../notes}}{{/each}}"),
        one("{{#each tags}}{{@root.notes}}{{/each}}"),
        one("{{#each outer}}{{@key}}{{/each}}"),
        one("{{json notes}}"),
        one("{{json files indent=2}}"),
        one("{{#ifEquals notes \"a\"}}x{{/ifEquals}}"),
        one("{{#if (and title notes)}}x{{/if}}"),
        one("{{len words}}"),
        one("{{> show}}"),
        one("{{> print notes}}"),
        one("{{> name name=notes}}"),
        one("{{> name name=title}}"),
        one("{{#each files}}{{path}}{{/each}}"),
    ];
    insta::assert_snapshot!(strict_document(cases));
}

#[test]
fn trust_in_untrusted_sections() {
    let document = evidence(&[
        "{{notes}} {{title}} {{#each words}}{{this}}{{/each}}",
        "{{#each files}}{{path}} {{#if size}}{{size}}{{/if}}{{/each}}",
        "{{#each files}}{{size}}{{/each}}",
        "{{#each outer}}{{@key}}{{/each}}",
        "{{#each outer as |value key|}}{{key}}{{/each}}",
        "{{json notes}}",
        "{{json this}}",
        "{{#ifEquals notes \"a\"}}x{{/ifEquals}}",
        "{{#each files}}{{#if (gt size 3)}}large{{/if}}{{/each}}",
        "{{#if notes}}some{{/if}} {{#if (len words)}}{{len words}}{{/if}}",
    ]);
    insta::assert_snapshot!(document);
}

#[test]
fn sections_by_name() {
    let document = facts(&[
        "{{#tags}}{{.}} {{@index}} {{../title}}{{/tags}}",
        "{{#tags}}{{title}}{{/tags}}",
        "{{#tags}}{{.}}{{^}}none{{/tags}}",
        "{{#tags as |tag at|}}{{tag}} {{at}}{{/tags}}",
        "{{^tags}}none, {{title}}{{/tags}}",
        "{{^tags}}none, {{.}}{{/tags}}",
        "{{#owner}}{{name}} {{../title}}{{/owner}}",
        "{{#owner}}{{nmae}}{{/owner}}",
        "{{#owner as |who at|}}{{who.name}}{{/owner}}",
        "{{#team}}{{name}} {{#members}}{{.}} {{../name}} {{../../title}}{{/members}}{{else}}nobody{{/team}}",
        "{{#team}}{{lead}}{{/team}}",
        "{{#team.members}}{{.}}{{/team.members}}",
        "{{#subtitle}}{{.}}{{/subtitle}}{{^subtitle}}no subtitle{{/subtitle}}",
        "{{#subtitle}}{{title}}{{/subtitle}}",
        "{{^subtitle}}{{subtitle}}{{/subtitle}}",
        "{{#env}}{{HOME}}{{/env}}",
        "{{#titel}}x{{/titel}}",
        "{{#notes}}x{{/notes}}",
        "{{^words}}none{{/words}}",
        "{{#words}}{{.}}{{/words}}",
        "{{#tags}}{{#../words}}x{{/../words}}{{/tags}}",
        "{{#tags}}{{../notes}}{{/tags}}",
        "{{#tags}}{{#with ..}}{{notes}}{{/with}}{{/tags}}",
        "{{#with owner}}{{#with .}}{{name}} {{../title}}{{/with}}{{/with}}",
        "{{#with owner}}{{#with this}}{{../../title}}{{/with}}{{/with}}",
        "{{#.}}{{title}}{{/.}}",
        "{{#tags}}{{#@first}}x{{/@first}}{{/tags}}",
        "{{..}}",
        "{{#tags}}{{..}}{{/tags}}",
        "{{#tags}}{{> whole ..}}{{/tags}}",
        "{{\"title\"}} {{[title]}} {{\"ti tle\"}}",
        "{{#if (len tags)}}{{~title~}}{{else~}} {{title}} {{~/if}}",
        "{{#*inline \"a\"}}{{title}}{{/inline}}{{> a}}",
    ]);
    let evidence = evidence(&[
        "{{#words}}{{.}}{{^}}{{notes}}{{/words}}",
        "{{#files}}{{path}} {{#size}}{{.}} of {{../path}}{{/size}}{{/files}}",
        "{{#files}}{{json .}}{{/files}}",
        "{{#outer}}{{@key}}{{/outer}}",
        "{{#remark}}{{.}}{{/remark}}",
    ]);
    insta::assert_snapshot!(format!("{document}{evidence}"));
}

#[test]
fn sections_of_a_yes_or_no_are_conditions() {
    let front = "---\ninput:\n  schema:\n    sure: boolean\n    perhaps?: boolean\n    note?: string\n    any: any\n  \
                 \nproem:\n  version: 1.0.0\n  inputs:\n    sure: { trust: trusted }\n    perhaps: { trust: trusted }\n    \
                 note: { trust: trusted }\n    any: { trust: trusted }\n  sections:\n    - { name: facts, trust: trusted }\n---\n\
                 {{role \"user\"}}{{section \"facts\"}}\n";
    let one = |line: &'static str| (line, problems(&format!("{front}{line}\n"), &[]));
    insta::assert_snapshot!(strict_document([
        one("{{#sure}}{{#note}}{{.}}{{/note}} {{../note}}{{/sure}}"),
        one("{{#sure}}{{#if note}}{{note}}{{/if}}{{else}}no{{/sure}}"),
        one("{{#perhaps}}yes {{perhaps}}{{/perhaps}}{{^perhaps}}no{{/perhaps}}"),
        one("{{#any}}x{{/any}}"),
    ]));
}

#[test]
fn tags_of_another_language() {
    let partials: [(&str, &str); 1] = [("jinja", "a\n  {%- set b = 1 -%}")];
    let one = |line: &'static str| (line, problems(&file(line, "-"), &[]));
    insta::assert_snapshot!(strict_document([
        one("{% if title %}x{% endif %}"),
        one("For {{title}}: {% for tag in {{title}} %}"),
        ("{{> jinja}}", problems(&file("{{> jinja}}", "-"), &partials)),
        one("{{{{raw}}}}{% if title %}{{{{/raw}}}} 100 %} \\newcommand{%"),
    ]));
}

#[test]
fn helpers() {
    let document = facts(&[
        "{{shout title}}",
        "{{#shout title}}x{{/shout}}",
        "{{log title}}",
        "{{log}}",
        "{{lookup tags 0}}",
        "{{raw}}",
        "{{#if (lookup tags 0)}}x{{/if}}",
        "{{json}}",
        "{{json title tags}}",
        "{{json title indent=title}}",
        "{{if title}}",
        "{{#if}}x{{/if}}",
        "{{#if title tags}}x{{/if}}",
        "{{#ifEquals title}}x{{/ifEquals}}",
        "{{#json title}}x{{/json}}",
        "{{len title}}",
        "{{(title)}}",
        "{{title title}}",
        "{{#title}}x{{/title}}",
        "{{{title}}} {{&title}} {{~title~}}",
        "{{!-- a comment --}} {{! another }}",
        "{{* decorator}}",
        "{{#*inline \"x\"}}y{{/inline}}",
    ]);
    insta::assert_snapshot!(document);
}

#[test]
fn partials() {
    let partials: [(&str, &str); 12] = [
        ("self", "a {{> self}}"),
        ("one", "{{> two}}"),
        ("two", "{{> three}}"),
        ("three", "{{> one}}"),
        ("up", "{{../title}}"),
        ("root", "{{@root.title}}"),
        ("marker", "{{section \"facts\"}}"),
        ("person", "{{name}} {{#if nick}}{{nick}}{{/if}}"),
        ("nick", "{{nick}}"),
        ("list", "{{#each tags}}{{this}} {{label}} {{this.label}}{{/each}}"),
        ("fine", "{{title}}"),
        ("index", "{{@index}}"),
    ];
    let one = |line: &'static str| (line, problems(&file(line, "-"), &partials));
    let broken = |name, text| (name, problems(&file("{{> broken}}", "-"), &[("broken", text)]));
    let large = "x".repeat(MAX_FILE_BYTES + 1);
    let cases = [
        one("{{> fine}} {{> fine}}"),
        one("{{> missing}}"),
        one("{{> self}}"),
        one("{{> one}}"),
        one("{{> up}}"),
        one("{{> root}}"),
        one("{{> marker}}"),
        one("{{> person owner}}"),
        one("{{> person team}}"),
        one("{{> nick owner}}"),
        one("{{#if owner.nick}}{{> nick owner}}{{/if}}"),
        one("{{#if subtitle}}{{> nick nick=subtitle}}{{/if}}"),
        one("{{#if subtitle}}{{> nick owner}}{{/if}}"),
        one("{{> list label=title}}"),
        one("{{#each tags}}{{> index}}{{/each}}"),
        one("{{> fine title tags}}"),
        one("{{> (lookup . \"x\")}}"),
        one("{{> (lookup tags \"x\")}}"),
        one("{{> @partial-block}}"),
        one("{{#> fine}}x{{/fine}}"),
        one("{{> [fine]}}"),
        broken("a partial that doesn't parse", "a\n{{#if title}}"),
        broken("a partial with two problems", "{{titel}}\n {{notes}}"),
        ("a large partial", problems(&file("{{> large}}", "-"), &[("large", &large)])),
        ("two large sections, each partial twice", {
            let chain: Vec<(String, String)> =
                (0..40).map(|n| (format!("p{n}"), format!("{{{{> p{0}}}}}{{{{> p{0}}}}}", n + 1))).collect();
            let mut chain: Vec<(&str, &str)> =
                chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            chain.push(("p40", "x"));
            problems(&file("{{> p0}}", "-"), &chain)
        }),
        ("a long chain", {
            let chain: Vec<(String, String)> =
                (0..200).map(|n| (format!("p{n}"), format!("{{{{> p{}}}}}", n + 1))).collect();
            let mut chain: Vec<(&str, &str)> =
                chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            chain.push(("p200", "x"));
            problems(&file("{{> p0}}", "-"), &chain)
        }),
    ];
    insta::assert_snapshot!(strict_document(cases));
}

#[test]
fn limits() {
    let deep = 3000;
    let front = |yaml: String| problems(&format!("---\n{yaml}\n---\n"), &[]);
    let bomb: String = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |mut text, n| {
        _ = writeln!(text, "a{n}: &a{n} [*a{0}, *a{0}]", n - 1);
        text
    });
    let wide = format!("a: &a \"{}\"\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(15_000));
    let cases = [
        ("a file of 1 MiB", problems(&file(&"x".repeat(1 << 20), "-"), &[])),
        ("aliases that double", front(bomb)),
        ("aliases of a long text", front(wide)),
        ("deep YAML lists", front(format!("a: {}", "[".repeat(deep)))),
        ("deep YAML maps", front(format!("a: {}", "{a: ".repeat(deep)))),
        ("many YAML values", front(format!("a: [{}]", "1,".repeat(40_000)))),
        ("deep blocks", problems(&file(&"{{#if title}}".repeat(deep), "-"), &[])),
        ("deep blocks with spaces", problems(&file(&"{{ #if title}}".repeat(deep), "-"), &[])),
        (
            "deep else-chains",
            problems(&file(&format!("{{{{#if title}}}}{}{{{{/if}}}}", "{{else if title}}".repeat(deep)), "-"), &[]),
        ),
        ("deep parentheses", problems(&file(&format!("{{{{#if {}", "(not ".repeat(deep)), "-"), &[])),
        (
            "deep parentheses with quotes",
            problems(&file(&format!("{{{{#if {}", "(not \"))\" ".repeat(deep)), "-"), &[]),
        ),
        ("deep brackets", problems(&file(&format!("{{{{json {}", "[".repeat(deep)), "-"), &[])),
        (
            "blocks at the limit",
            problems(&file(&format!("{}{}", "{{#if title}}".repeat(48), "{{/if}}".repeat(48)), "-"), &[]),
        ),
        ("unclosed comments", problems(&file(&"{{!--a}}".repeat(10_000), "-"), &[])),
        ("many tags", problems(&file(&"{{title}}".repeat(25_000), "-"), &[])),
        ("many unclosed tags", problems(&file(&"{{a ".repeat(10_000), "-"), &[])),
    ];
    let document = strict_document(cases);
    insta::assert_snapshot!(document);
}

#[test]
fn many_problems_are_listed_up_to_a_limit() {
    let error = read(&file(&"{{titel}}".repeat(1_500), "-"), &[]).unwrap_err();
    assert_eq!(error.problems().len(), 101);
    assert_eq!(error.problems().last().map(String::as_str), Some("and 1400 more problems"));
}

#[test]
fn several_problems_are_listed_at_once() {
    let text = file("{{titel}} {{notes}}\n{{shout title}} {{> missing}}", "{{remark}}")
        .replace("version: 1.0.0", "version: 1.0\n  color: red")
        .replace("- { name: role, trust: constitution }", "- { name: role, trust: constitution, keep: maybe }");
    insta::assert_snapshot!(problems(&text, &[("other", "x")]));
}

#[test]
fn places_count_characters_and_survive_line_ends() {
    let text = file("Größe „日本“ {{titel}}", "-").replace('\n', "\r\n");
    let error = read(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("a.prompt:41:12"), "{error}");
    assert!(read(&format!("\u{feff}{}", file("{{title}}", "-")), &[]).is_ok(), "a byte order mark is no text");
}

#[test]
fn a_plain_file_is_not_strict() {
    assert!(PromptFile::is_strict(&file("-", "-")));
    assert!(!PromptFile::is_strict("---\nmodel: small\n---\n{{a}}"));
    assert_eq!(PromptFile::parse("a", "", &BTreeMap::new()).unwrap_err().kind(), ErrorKind::InvalidFile);
}

/// The names, roles and inputs of a plain file's sections, or what is wrong with it.
fn plain_sections(front: &str, body: &str) -> String {
    let text = format!("---\nmodel: small\n{front}---\n{body}");
    match PromptFile::parse("a.prompt", &text, &BTreeMap::new()) {
        Ok(file) => {
            let section = |section: &Section| {
                let inputs: Vec<&str> = section.inputs.iter().map(String::as_str).collect();
                format!("{} {} [{}]", section.role.as_str(), section.spec.trust.as_str(), inputs.join(", "))
            };
            file.sections.iter().map(section).collect::<Vec<_>>().join("; ")
        }
        Err(error) => {
            error.problems().iter().filter_map(|problem| problem.lines().next()).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn a_plain_dotprompt_file_runs_with_a_section_for_each_role() {
    let name = "input:\n  schema: { name: string }\n";
    for (front, body, expected) in [
        (
            name,
            "{{role \"system\"}}You are polite.\n{{role \"user\"}}Hello {{name}}\n",
            "system constitution []; user untrusted [name]",
        ),
        (name, "Hello {{name}}\n", "user untrusted [name]"),
        ("", "Hello\n", "user untrusted []"),
        (name, "{{#if name}}Hello {{name}}{{/if}}\n", "user untrusted [name]"),
        (
            name,
            "{{role \"user\"}}a {{role \"user\"}}b",
            "error: a second `user` role; a plain dotprompt file has one of each, add `proem:` with `sections` for more",
        ),
        (
            "",
            "{{role \"user\"}}{{section \"x\"}}b",
            "error: a section marker in a plain dotprompt file; declare it under `proem:`, `sections`",
        ),
        (
            name,
            "{{role \"system\"}}S\n{{history}}Hello {{name}}",
            "error: text behind {{history}} belongs to no turn; put {{role \"user\"}} before it",
        ),
        (
            name,
            "{{role \"system\"}}S\n{{history}}\n{{role \"user\"}}Hello {{name}}",
            "system constitution []; user untrusted [name]",
        ),
        (
            "",
            "Compare {{media url=one}} with {{#if two}}{{media url=two}}{{/if}} in words",
            "user untrusted []; user untrusted [one]; user untrusted []; user untrusted [two]; user untrusted []",
        ),
    ] {
        assert_eq!(plain_sections(front, body), expected, "{body}");
    }
    let empty = PromptFile::parse("a.prompt", "---\n\n---\nHello\n", &BTreeMap::new()).unwrap();
    assert_eq!(empty.sections.len(), 1, "front matter may be empty");
    // Nobody vouched for an input, so none is among what always holds.
    let said = plain_sections(name, "{{role \"system\"}}Obey {{name}}.\n{{role \"user\"}}Hello\n");
    assert!(said.starts_with("error: ") && said.contains("untrusted"), "{said}");
}

#[test]
fn a_schema_that_cannot_be_read_is_wrong_at_its_own_line() {
    let front = "input:\n  schema:\n    title: string\n    author:\n      name: string\n      age: strnig\n";
    let text = format!("---\nmodel: small\n{front}---\nHello\n");
    let error = PromptFile::parse("a.prompt", &text, &BTreeMap::new()).unwrap_err();
    assert!(error.problems()[0].contains("a.prompt:8:7"), "{error}");
}
