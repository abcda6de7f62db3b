//! Programs as a model writes them, right and wrong, with what each gives.
//!
//! A file holds lines of settings (`ctx` for the inputs, `memory` for the memory, `tools` for the names of the tools
//! and `tool` for their answers in order, as data of the language), and then pairs of `--- program` with `--- gives`:
//! the right program, and three mistakes. With `UPDATE_GOLDEN=1` the second of each pair is written anew.

use crate::support::outcome_text;
use proem_lisp::{
    Inputs, Limits, Machine, Meter, Names, Outcome, ToolAnswer, Value, print_readable, repair_delimiters,
    resolve_source, sanitise_source,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) inputs: Inputs,
    pub(crate) tools: Vec<Value>,
    pub(crate) names: BTreeSet<String>,
}

fn data(source: &str) -> Value {
    let program = resolve_source(&format!("'{source}"), &Names::default(), &Limits::default()).unwrap();
    let Outcome::Done(value) = Machine::new(Arc::new(program), Inputs::default(), Limits::default()).run(u64::MAX)
    else {
        panic!("{source}")
    };
    value
}

fn settings(head: &str) -> Settings {
    let mut settings = Settings::default();
    for line in head.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = line.split_once(' ').unwrap();
        match name {
            "ctx" => settings.inputs.context = data(value),
            "memory" => settings.inputs.memory = data(value),
            "tools" => settings.names.extend(value.split(' ').map(String::from)),
            "tool" => settings.tools.push(data(value)),
            other => panic!("there is no setting {other}"),
        }
    }
    settings
}

/// A program's result: problems with their places, or output, calls, end and memory.
fn result_of(source: &str, settings: &Settings) -> String {
    let clean = sanitise_source(source);
    let mut out: Vec<String> = clean.changes.iter().map(|change| change.render("program", source)).collect();
    let limits = Limits::default();
    let names = Names { tools: Some(settings.names.clone()), ..Names::of_memory(&settings.inputs.memory) };
    let program = match resolve_source(&clean.text, &names, &limits) {
        Ok(program) => program,
        Err(problems) => {
            out.extend(problems.iter().map(|problem| problem.render("program", &clean.text)));
            if let Some(repair) = repair_delimiters(&clean.text, &limits) {
                out.push(format!("repair: {}\n{}\n", repair.changes.join(", "), repair.text.trim_end()));
            }
            return out.concat();
        }
    };
    let program = Arc::new(program);
    let mut machine = Machine::new(Arc::clone(&program), settings.inputs.clone(), limits);
    let mut tools = settings.tools.iter();
    loop {
        let outcome = machine.run(u64::MAX);
        let printed = machine.take_output();
        if !printed.is_empty() {
            out.push(format!("prints {printed}"));
        }
        match outcome {
            Outcome::CallTools(calls) => {
                for call in calls {
                    let args = print_readable(&call.args, &mut Meter::unlimited()).unwrap();
                    out.push(format!("calls {} {args}\n", call.name));
                    let answer = tools.next().cloned().map_or_else(
                        || ToolAnswer::unknown_tool(call.name.as_str(), "the file has no answer for it"),
                        ToolAnswer::Value,
                    );
                    machine.answer(call.id, answer);
                }
            }
            Outcome::Error(problem) => {
                out.push(problem.render("program", program.source()));
                return out.concat();
            }
            end => {
                out.push(format!("{}\n", outcome_text(&end)));
                if *machine.memory() != settings.inputs.memory {
                    out.push(format!("memory {:?}\n", machine.memory()));
                }
                return out.concat();
            }
        }
    }
}

/// The folder's files with their text.
fn golden_files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The right program of each file, with its settings.
pub(crate) fn golden_programs() -> Vec<(Settings, String)> {
    let right = |text: &str| {
        let (head, pairs) = text.split_once("--- program\n").unwrap();
        (settings(head), pairs.split_once("--- gives\n").unwrap().0.to_owned())
    };
    golden_files().iter().map(|(_, text)| right(text)).collect()
}

#[test]
fn programs_give_what_their_files_say() {
    let mut wrong = Vec::new();
    for (path, text) in golden_files() {
        let (head, pairs) = text.split_once("--- program\n").unwrap();
        let settings = settings(head);
        let mut anew = String::from(head);
        for pair in pairs.split("--- program\n") {
            let source = pair.split_once("--- gives\n").map_or(pair, |(source, _)| source);
            let result = result_of(source, &settings);
            anew.push_str(&format!("--- program\n{source}--- gives\n{result}"));
        }
        if anew != text {
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &anew).unwrap();
            } else {
                wrong.push(format!("{} gives\n{anew}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_wrong_version_is_told_the_place_a_name_and_what_to_write() {
    let files = golden_files();
    assert!(files.len() >= 20);
    for (path, text) in files {
        let (_, pairs) = text.split_once("--- program\n").unwrap();
        let mut results = pairs.split("--- program\n").map(|pair| pair.split_once("--- gives\n").unwrap().1);
        let right = results.next().unwrap();
        assert!(!right.contains("error: "), "{}: {right}", path.display());
        let wrong: Vec<&str> = results.collect();
        assert!(wrong.len() >= 3, "{} has {} wrong versions", path.display(), wrong.len());
        for message in wrong {
            let said = message.split_once("error: ").map_or("", |(_, rest)| rest).lines().next().unwrap_or_default();
            let remedy =
                message.split_once("\n  = help: ").map_or("", |(_, rest)| rest).lines().next().unwrap_or_default();
            assert!(
                message.contains("\n --> program:")
                    && !remedy.is_empty()
                    && (said.contains('`') || remedy.contains('`')),
                "{}: {message}",
                path.display()
            );
        }
    }
}
