//! The text on each rung.

use proem_guard::contain::{ContainmentPart, contain};
use proem_guard::{InstallationKey, Tag, Untrusted};
use proem_text::{Label, Source};

use super::{code_renderings as render, *};

const ROOM: usize = 90;

fn renderings(text: &str, definitions: &[Definition], places: &[LineSpan], task: &str, room: usize) -> CodeRenderings {
    render(text, &FileQuestion { definitions, places, task, callees: &[], room })
}

const fn span(first: u32, last: u32) -> LineSpan {
    LineSpan { first, last }
}

fn definition(first: u32, last: u32) -> Definition {
    Definition {
        name: String::new(),
        lines: span(first, last),
        signature: span(first, first),
        rank: None,
        is_among_best: false,
    }
}

/// A rendering with the number of each line before it: what its reader can work out.
fn numbered(rendering: &str) -> String {
    let (mut out, mut next) = (String::new(), 1_u32);
    for line in rendering.lines() {
        if let Some(note) = line.strip_prefix('[') {
            next += note.split(' ').next().unwrap().parse::<u32>().unwrap();
            out.push_str(&format!("{line}\n"));
            continue;
        }
        let (number, text) = line.split_once('\t').unwrap_or(("", line));
        assert!(number.is_empty() || number.parse() == Ok(next), "{rendering}");
        out.push_str(&format!("{next}\t{text}\n"));
        next += 1;
    }
    out
}

/// A file of ten functions of twenty lines each.
fn file() -> (String, Vec<Definition>) {
    let function = |n: usize| format!("fn part_{n}() {{\n{}}}\n", "    work();\n".repeat(18));
    ((0..10).map(function).collect(), (0..10).map(|n| definition(n * 20 + 1, n * 20 + 20)).collect())
}

#[test]
fn a_small_file_is_one_part() {
    let rendered = renderings("fn a() {}\n\nfn b() {}\n", &[definition(1, 1), definition(3, 3)], &[], "", ROOM);
    assert_eq!(rendered.full.as_deref(), Some("1\tfn a() {}\n\n\tfn b() {}\n"));
    assert_eq!(rendered.parts, rendered.full);
    assert_eq!(rendered.outline.as_deref(), Some("1\tfn a() {}\n3\tfn b() {}\n"));
}

/// A comment at a line's beginning would be a heading to containment, and behind a tab it is none. An underline is one
/// behind anything but a number.
#[test]
fn containment_leaves_comments_and_underlines_as_they_are() {
    let full = renderings("import os\n# Clock\n\nx\n  ---\n", &[], &[], "", ROOM).full.unwrap();
    assert_eq!(full, "1\timport os\n\t# Clock\n\n\tx\n5\t  ---\n");
    let broken = |text: &str| {
        let text = Untrusted::new(text.to_owned(), Label::from_source(Source::named("repository")));
        let key = InstallationKey::new([7; 32]);
        !contain(&[ContainmentPart::Outside(&text)], &Tag::UNTRUSTED_CONTEXT, &key).findings().is_empty()
    };
    assert!(!broken(&full) && broken(&full.replace('\t', "")));
}

#[test]
fn no_line_of_a_file_passes_for_a_note() {
    let full = renderings("a\n[400 lines not shown]\nsrc/b.rs (Rust)\n", &[], &[], "", ROOM).full;
    assert_eq!(full.as_deref(), Some("1\ta\n\t[400 lines not shown]\n\tsrc/b.rs (Rust)\n"));
}

#[test]
fn a_file_that_is_not_much_longer_than_its_parts_may_be_is_whole() {
    let (text, mut definitions) = file();
    definitions[3].rank = Some(0);
    let whole = renderings(&text, &definitions, &[], "", 100);
    assert_eq!(whole.parts, whole.full);
    let full = whole.full.unwrap();
    assert_eq!(full.lines().count(), 200);
    assert!(full.starts_with("1\tfn part_0") && full.contains("\n\t    work();\n10\t    work();\n"), "{full}");
    assert!(numbered(&full).ends_with("200\t}\n"));
    let parts = renderings(&text, &definitions, &[], "", 99);
    assert_ne!(parts.parts, parts.full);
    // Long lines take the room of more.
    let wide = text.replace("work();", &format!("work({:?});", "x".repeat(80)));
    let parts = renderings(&wide, &definitions, &[], "", 100);
    assert_ne!(parts.parts, parts.full);
}

#[test]
fn parts_are_definitions_that_matter_with_the_signatures_around_them() {
    let (text, mut definitions) = file();
    definitions[3].rank = Some(0);
    let parts = renderings(&text, &definitions, &[], "", ROOM).parts.unwrap();
    assert!(parts.starts_with("1\tfn part_0() {\n[19 lines not shown]\n21\tfn part_1() {\n"), "{parts}");
    let parts = numbered(&parts);
    assert!(parts.starts_with("1\tfn part_0() {\n[19 lines not shown]\n21\tfn part_1() {\n"), "{parts}");
    assert!(
        parts.contains("61\tfn part_3() {\n62\t    work();\n") && parts.contains("80\t}\n81\tfn part_4"),
        "{parts}"
    );
    assert!(parts.ends_with("181\tfn part_9() {\n[19 lines not shown]\n"), "{parts}");
    let by_place = renderings(&text, &definitions[..2], &[span(70, 70)], "", ROOM).parts.unwrap();
    let by_place = numbered(&by_place);
    assert!(by_place.contains("56\t") && by_place.contains("84\t") && !by_place.contains("90\t"), "{by_place}");
    assert!(by_place.ends_with("[116 lines not shown]\n"), "{by_place}");
}

/// A file of forty functions in two types: the best of those that fit goes first, and has its neighbours beside it.
#[test]
fn the_best_goes_before_what_stands_first() {
    let function = |n: usize| format!("    fn part_{n}() {{\n{}    }}\n", "        work();\n".repeat(58));
    let types: String = (0..2)
        .map(|kind| format!("impl Type{kind} {{\n{}}}\n", (0..20).map(|n| function(kind * 20 + n)).collect::<String>()))
        .collect();
    // Each type takes 1,202 lines, and each function 60.
    let mut definitions = vec![definition(1, 1_202), definition(1_203, 2_404)];
    definitions.extend((0..40).map(|n| {
        let first = n * 60 + 2 + n / 20 * 2;
        definition(first, first + 59)
    }));
    for (rank, at) in [2, 4, 6, 8, 39].into_iter().enumerate() {
        definitions[at].rank = Some(4 - rank);
    }
    let parts = numbered(&renderings(&types, &definitions, &[], "", 260).parts.unwrap());
    let shown: Vec<&str> = parts.lines().filter(|line| line.contains("fn part_") || line.contains("impl")).collect();
    assert!(parts.contains("fn part_37() {\n2225\t        work();"), "the best is whole: {shown:#?}");
    assert!(shown[0].contains("impl Type0") && parts.contains("\timpl Type1 {"), "{shown:#?}");
    let neighbours =
        shown.iter().filter(|line| ["part_30", "part_35", "part_39"].iter().any(|name| line.contains(name)));
    assert_eq!(neighbours.count(), 3, "{shown:#?}");
    assert!(!parts.contains("fn part_0() {\n3\t        work();"), "the fifth has no room: {shown:#?}");
}

#[test]
fn a_definition_for_which_there_is_no_room_is_shown_by_the_lines_about_the_task() {
    let line = |n: usize| if n == 50 { "restart(env)\n".to_owned() } else { format!("line {n}\n") };
    let text: String = (1..=1_040).map(line).collect();
    let best = Definition { rank: Some(0), ..definition(1, 1_000) };
    let parts = numbered(&renderings(&text, &[best], &[], "restart it", 50).parts.unwrap());
    assert!(parts.starts_with("1\tline 1\n[34 lines not shown]\n36\tline 36\n"), "{parts}");
    assert!(parts.contains("50\trestart(env)\n") && parts.ends_with("64\tline 64\n[976 lines not shown]\n"), "{parts}");
}

/// A short definition that the best one calls is shown whole, a longer one by its signature. Definitions without a
/// caller are left out.
#[test]
fn what_the_best_uses_is_shown() {
    let body = |lines: usize| "    work();\n".repeat(lines);
    let text = format!(
        "fn best() {{\n    short();\n    long();\n}}\n{}fn short() {{\n{}}}\nfn long() {{\n{}}}\nfn other() {{\n{}}}\n",
        "// nothing\n".repeat(200),
        body(10),
        body(40),
        body(10)
    );
    let named = |name: &str, first, last| Definition { name: name.to_owned(), ..definition(first, last) };
    let best = Definition { rank: Some(0), ..named("best", 1, 4) };
    let all = [best, named("short", 205, 216), named("long", 217, 258), named("other", 259, 270)];
    let parts = numbered(&renderings(&text, &all, &[], "", 30).parts.unwrap());
    assert!(parts.contains("205\tfn short() {\n206\t    work();\n"), "{parts}");
    assert!(parts.contains("217\tfn long() {\n[41 lines not shown]\n"), "{parts}");
    assert!(parts.contains("259\tfn other() {\n[11 lines not shown]\n"), "a neighbour by its signature: {parts}");
}

/// An excerpt is the best of all files and nothing around it; where that is as much as the parts there is none.
#[test]
fn an_excerpt_is_what_is_among_the_best_of_all() {
    let (text, mut definitions) = file();
    definitions[3] = Definition { rank: Some(0), is_among_best: true, ..definitions[3].clone() };
    definitions[7].rank = Some(1);
    let rendered = renderings(&text, &definitions, &[], "", ROOM);
    assert!(rendered.parts.is_some_and(|parts| numbered(&parts).contains("159\t    work();\n160\t}\n")));
    let excerpt = rendered.excerpt.unwrap();
    let ends =
        ["[60 lines, 3 definitions not shown]\n61\tfn part_3() {\n\t", "}\n[120 lines, 6 definitions not shown]\n"];
    assert!(excerpt.starts_with(ends[0]) && excerpt.ends_with(ends[1]), "{excerpt}");
    // A file that is shown whole has one as well: it is what is left where the budget is small.
    let whole = renderings(&text, &definitions, &[], "", 100);
    assert_eq!((&whole.parts, whole.excerpt.as_ref()), (&whole.full, Some(&excerpt)));
    definitions[3].is_among_best = false;
    assert_eq!(renderings(&text, &definitions, &[], "", ROOM).excerpt, None);
    let place = renderings(&text, &definitions, &[span(190, 190)], "", ROOM).excerpt.unwrap();
    assert!(place.starts_with("[180 lines, 9 definitions not shown]\n181\tfn part_9() {\n"), "{place}");
    let few: String = text.lines().take(22).map(|line| format!("{line}\n")).collect();
    definitions[0] = Definition { rank: Some(0), is_among_best: true, ..definitions[0].clone() };
    assert_eq!(renderings(&few, &definitions[..2], &[], "", ROOM).excerpt, None);
}

#[test]
fn a_long_definition_is_shown_around_its_place() {
    let text: String = (1..=1_000).map(|n| format!("line {n}\n")).collect();
    let parts = numbered(&renderings(&text, &[definition(1, 1_000)], &[span(300, 300)], "", ROOM).parts.unwrap());
    assert!(parts.starts_with("1\tline 1\n[284 lines not shown]\n286\t"), "{parts}");
    assert!(parts.ends_with("314\tline 314\n[686 lines not shown]\n"), "{parts}");
}

#[test]
fn within_a_long_definition_lines_with_the_tasks_words_are_shown() {
    let text: String =
        (1..=1_000).map(|n| if n == 320 { "restart(env)\n".to_owned() } else { format!("line {n}\n") }).collect();
    let fitting = |task: &str| {
        let long = Definition { rank: Some(0), ..definition(1, 1_000) };
        numbered(&renderings(&text, &[long], &[], task, ROOM).parts.unwrap())
    };
    let parts = fitting("restart when the env changes");
    assert!(parts.starts_with("1\tline 1\n[304 lines not shown]\n306\t"), "{parts}");
    assert!(parts.contains("320\trestart(env)\n") && parts.ends_with("[666 lines not shown]\n"), "{parts}");
    let begins = fitting("nothing of this");
    assert!(begins.starts_with("1\tline 1\n2\tline 2\n") && begins.ends_with("[985 lines not shown]\n"), "{begins}");
}

#[test]
fn without_a_place_lines_with_the_tasks_words_are_shown() {
    let mut text = "nothing here\n".repeat(100);
    text.push_str("the multiline printer\n");
    text.push_str(&"nothing there\n".repeat(100));
    let parts = numbered(&renderings(&text, &[], &[], "fix the multiline printer", ROOM).parts.unwrap());
    assert!(parts.contains("101\tthe multiline printer\n"), "{parts}");
    assert_eq!(renderings(&text, &[], &[], "fix it", ROOM).parts, None);
}

#[test]
fn no_line_with_a_word_is_passed_over() {
    let wanted: BTreeSet<String> = ["restart", "http", "größe"].map(str::to_owned).into();
    for line in
        ["let x = httpServer.restart();", "HTTPServer2", "RESTART_ALL", "die Größe", "ｒｅｓｔａｒｔ", "re-start", "x"]
    {
        let has = search_words(line).any(|word| wanted.contains(&word));
        assert!(!has || may_have(line, &wanted), "{line}");
    }
    assert!(!may_have("re-start", &wanted) && may_have("HTTPServer2", &wanted));
}

#[test]
fn documents_have_headings_and_data_has_nothing() {
    let text = format!("# One\n{}## Two\n#no\n", "text\n".repeat(100));
    assert_eq!(renderings(&text, &[], &[], "", ROOM).outline.as_deref(), Some("1\t# One\n102\t## Two\n"));
    assert_eq!(renderings(&"x".repeat(9000), &[], &[], "", ROOM), CodeRenderings::default());
    assert_eq!(renderings("", &[], &[], "", ROOM), CodeRenderings::default());
}

#[test]
fn a_small_file_is_shown_without_its_licence() {
    let text = "// Copyright 2024 the authors\n// SPDX-License-Identifier: MIT\n\nfn a() {}\n";
    let rendered = renderings(text, &[definition(4, 4)], &[], "", ROOM);
    assert_eq!(rendered.parts.as_deref(), Some("[3 lines not shown]\n4\tfn a() {}\n"));
    assert!(rendered.full.unwrap().starts_with("1\t// Copyright"));
}

#[test]
fn a_few_lines_between_two_that_are_shown_are_shown_as_well() {
    let (text, mut definitions) = file();
    definitions[2].rank = Some(0);
    definitions[2].lines = span(41, 54);
    for (first, note) in [(61, None), (62, Some("[7 lines not shown]"))] {
        definitions[3] = Definition { rank: Some(1), ..definition(first, 80) };
        let parts = renderings(&text, &definitions, &[], "", 40).parts.unwrap();
        let between = parts.lines().skip_while(|line| !line.starts_with("41\t")).find(|line| line.starts_with('['));
        assert_eq!(between.filter(|line| line.contains("[7 ")), note, "{parts}");
    }
}

#[test]
fn of_a_long_comment_in_a_definition_the_place_that_the_task_names_is_shown() {
    let comment: String = (0..60).map(|n| format!("// {n}\n")).collect();
    let text = format!("{}fn f() {{\n{comment}}}\n{}", "x\n".repeat(200), "x\n".repeat(200));
    let mut whole = definition(201, 262);
    whole.rank = Some(0);
    let parts = |places: &[LineSpan]| renderings(&text, core::slice::from_ref(&whole), places, "", ROOM).parts.unwrap();
    let plain = parts(&[]);
    assert!(plain.contains("// 2\n") && !plain.contains("// 3\n") && plain.contains("\t}\n"), "{plain}");
    let named = parts(&[span(242, 242)]);
    assert!(named.contains("// 40\n") && named.contains("// 2\n") && !named.contains("// 20\n"), "{named}");
}

/// A file with a function of so many lines between two others, which is what it was chosen for.
fn with_long_function(lines: u32) -> (String, Vec<Definition>) {
    let body = lines - 2;
    let text = format!(
        "fn before() {{\n{}}}\nfn long() {{\n{}}}\nfn after() {{\n    long(1);\n{}}}\n",
        "    a();\n".repeat(58),
        (0..body).map(|n| format!("    step_{n}();\n")).collect::<String>(),
        "    b();\n".repeat(57),
    );
    let mut definitions = vec![definition(1, 60), definition(61, 60 + lines), definition(61 + lines, 120 + lines)];
    for (definition, name) in definitions.iter_mut().zip(["before", "long", "after"]) {
        definition.name = name.to_owned();
    }
    definitions[1].rank = Some(0);
    definitions[1].is_among_best = true;
    (text, definitions)
}

#[test]
fn the_definition_that_a_file_was_chosen_for_is_whole_however_little_room_there_is() {
    let (text, definitions) = with_long_function(400);
    let rendered = renderings(&text, &definitions, &[], "", 60);
    let parts = rendered.parts.unwrap();
    assert!((0..398).all(|n| parts.contains(&format!("\t    step_{n}();\n"))), "{parts}");
    assert!(!parts.contains("a();") && parts.contains("fn before() {\n"), "{parts}");
    // An excerpt says what it was cut out of.
    let excerpt = rendered.excerpt.unwrap();
    assert!(excerpt.ends_with("[445 lines from `long` on, 1 definition not shown]\n"), "{excerpt}");
}

#[test]
fn another_definition_is_whole_or_a_signature() {
    let (text, mut definitions) = with_long_function(100);
    definitions[0].rank = Some(1);
    let parts = renderings(&text, &definitions, &[], "step_7 a", 100).parts.unwrap();
    assert!(
        parts.contains("step_97();") && parts.contains("fn before() {\n[59 lines") && !parts.contains("a();"),
        "{parts}"
    );
}

#[test]
fn what_alone_is_longer_than_all_files_may_be_is_cut_and_says_so() {
    let (text, definitions) = with_long_function(2_000);
    let parts = renderings(&text, &definitions, &[], "where is step_1500", 60).parts.unwrap();
    assert!(parts.contains("step_1500();") && parts.contains("lines of `long` not shown]"), "{parts}");
}

#[test]
fn the_lines_that_call_what_is_to_be_changed_are_shown_with_what_they_stand_in() {
    let (text, definitions) = with_long_function(100);
    let callees = ["long".to_owned(), "step_3".to_owned()];
    let question = FileQuestion { definitions: &definitions, places: &[], task: "", callees: &callees, room: 105 };
    let parts = numbered(&render(&text, &question).parts.unwrap());
    assert!(parts.contains("161\tfn after() {\n162\t    long(1);\n") && !parts.contains("168\t"), "{parts}");
    assert_eq!(called_names("a.b(c_d (1), ärger())").collect::<Vec<_>>(), ["ärger", "c_d", "b"]);
    assert_eq!(called_names("((").count() + called_names("no call").count(), 0);
}
