//! The reference below `docs/reference/lisp`: its pages are generated from the tables, and what people wrote of it
//! runs.
//!
//! `cargo xtask docs` runs this with `PROEM_UPDATE_REFERENCE=1`, which writes the generated pages instead.

use crate::support::run;
use proem_lisp::documentation::{Chapter, PromptReference, chapters, entry};
use proem_lisp::{Limits, Names, cost, resolve_source};
use std::{collections::BTreeSet, fs, path::PathBuf};

fn reference_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lisp")
}

/// Compares a page with the committed one, or writes it.
#[track_caller]
fn check_page(name: &str, generated: &str) {
    let path = reference_folder().join(name);
    if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        fs::create_dir_all(reference_folder()).unwrap();
        fs::write(&path, generated).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == generated, "docs/reference/lisp/{name} is out of date; run `cargo xtask docs`");
}

fn page_name(chapter: &Chapter) -> String {
    format!("{}.md", chapter.title.to_lowercase().replace(',', "").replace(' ', "-"))
}

#[test]
fn the_chapters_are_generated() {
    for chapter in chapters() {
        let mut out = format!("# {}\n", chapter.title);
        for entry in &chapter.entries {
            out.push_str(&format!("\n## `{}`\n\n`{}`\n\n{}\n", entry.name, entry.usage(), entry.doc));
            if !entry.examples.is_empty() {
                let example = |(source, value): &(&str, &str)| format!("{source}\n; => {value}\n");
                let examples: String = entry.examples.iter().map(example).collect();
                out.push_str(&format!("\n```clojure\n{examples}```\n"));
            }
        }
        check_page(&page_name(&chapter), &out);
    }
}

#[test]
fn the_front_page_lists_every_name() {
    let mut out = String::from(
        "# PTC-Lisp\n\n[The language](language.md) says how it is read and run, [limits](limits.md) how much a program may \
         do, and\n[divergences](divergences.md) where it differs from Clojure. `proem lisp doc NAME` shows an entry at a \
         terminal, and\n`proem lisp doc --prompt lean` what a prompt tells a model.\n\nIn signatures `?` marks an argument \
         that may be missing, and `&` any number of them.\n",
    );
    for chapter in chapters() {
        let names: Vec<String> = chapter.entries.iter().map(|entry| format!("`{}`", entry.name)).collect();
        out.push_str(&format!("\n## [{}]({})\n\n{}\n", chapter.title, page_name(&chapter), names.join(" ")));
    }
    check_page("README.md", &out);
}

#[test]
fn the_limits_are_generated() {
    let Limits {
        source_bytes,
        nesting,
        digits,
        short_function_arity,
        fuel,
        bytes,
        collection_size,
        output_bytes,
        tool_calls,
        regex_steps,
        parallel_branches,
        memory_bytes,
    } = Limits::default();
    let row = |setting: &str, usual: String, meaning: &str| format!("| `lisp.{setting}` | {usual} | {meaning} |\n");
    let limits = [
        row("source_bytes", source_bytes.to_string(), "bytes of the source"),
        row("nesting", nesting.to_string(), "levels of brackets in the source, and of arrays and objects in JSON"),
        row("digits", digits.to_string(), "decimal digits of an integer, read or computed"),
        row("short_function_arity", short_function_arity.to_string(), "the highest `%n`"),
        row("fuel", fuel.to_string(), "units of work"),
        row("bytes", bytes.to_string(), "bytes of values that are alive at one time"),
        row("collection_size", collection_size.to_string(), "elements of one collection"),
        row("output_bytes", output_bytes.to_string(), "bytes printed"),
        row("tool_calls", tool_calls.to_string(), "calls of tools"),
        row(
            "regex_steps",
            regex_steps.to_string(),
            "steps of one regular expression: its size times the text's length",
        ),
        row("parallel_branches", parallel_branches.to_string(), "branches of `pmap` and `pcalls` open at one time"),
        row("memory_bytes", memory_bytes.to_string(), "bytes of the memory that a program leaves"),
    ];
    let price = |work: &str, fuel: String| format!("| {work} | {fuel} |\n");
    let prices = [
        price("a step of the machine", cost::STEP.to_string()),
        price("a call of a function of the program, beyond its steps", cost::CALL.to_string()),
        price("an element that a function over a collection visits", cost::ELEMENT.to_string()),
        price("a comparison of two elements when sorting", cost::COMPARISON.to_string()),
        price("text read or compared", format!("1 for {} bytes", cost::TEXT_BYTES)),
        price("bytes allocated, which are dropped later", format!("1 for {} bytes", cost::ALLOCATED_BYTES)),
        price("steps of a regular expression", format!("1 for {} steps", cost::REGEX_STEPS)),
    ];
    let sizes = [
        price("a value in a collection", cost::SLOT.to_string()),
        price("a collection, text or function, before its contents", cost::OBJECT.to_string()),
        price("an entry of a map or set", cost::ENTRY.to_string()),
    ];
    check_page(
        "limits.md",
        &format!(
            "# Limits\n\nEverything is counted and nothing is timed, so the same program with the same inputs stops at the \
             same place on every\nmachine. Each limit is checked before the work. The message names the setting that raises \
             it, in `config.toml` or\n`proem.toml`; a project's file that you don't trust can only lower it.\n\n\
             | setting | default | what it limits |\n|---|---:|---|\n{}\n## Fuel\n\n| work | units |\n|---|---:|\n{}\n\
             ## Bytes\n\n| value | bytes |\n|---|---:|\n{}\nTexts and integers add their own bytes.\n",
            limits.concat(),
            prices.concat(),
            sizes.concat()
        ),
    );
}

#[test]
fn no_page_is_left_over() {
    let generated = chapters().iter().map(page_name).collect::<Vec<_>>();
    let others = ["README.md", "divergences.md", "language.md", "limits.md"].map(String::from);
    let expected: BTreeSet<String> = generated.into_iter().chain(others).collect();
    let found =
        fs::read_dir(reference_folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(found.collect::<BTreeSet<_>>().is_subset(&expected));
}

#[test]
fn the_examples_of_the_language_page_run() {
    let text = fs::read_to_string(reference_folder().join("language.md")).unwrap();
    let examples: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(" ; => ")).collect();
    assert!(examples.len() > 25, "{}", examples.len());
    for (source, value) in examples {
        assert_eq!(run(source).trim_start_matches("return "), value, "{source}");
    }
}

#[test]
fn what_prompts_say_of_the_language_is_true() {
    let lean = PromptReference::Lean.text();
    let headings: Vec<&str> = lean.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, ["Syntax", "Core Functions", "Context Access", "Collections", "Common Patterns"]);
    let (prose, patterns) = lean.split_once("```clojure\n").unwrap();
    let resolve = |source: &str| resolve_source(source, &Names::default(), &Limits::default()).map(|_| ());
    let patterns: Vec<&str> = patterns.trim_end().trim_end_matches("```").split("\n\n").collect();
    assert_eq!(patterns.len(), 3);
    for pattern in patterns {
        assert_eq!(resolve(pattern), Ok(()), "{pattern}");
    }
    for code in prose.split('`').skip(1).step_by(2).filter(|code| *code != "try") {
        let body = code.replace('…', "nil");
        let is_known = code.split(' ').all(|name| entry(name).is_some());
        assert!(is_known || resolve(&format!("(fn [f coll m x] [{body}])")).is_ok(), "{code}");
    }
    let full = PromptReference::Full.text();
    assert!(full.starts_with(&*lean) && full.contains("- `(group-by f coll)` "), "{full}");
    assert_eq!(PromptReference::None.text(), "");
}
