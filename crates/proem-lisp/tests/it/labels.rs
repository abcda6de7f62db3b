//! Programs with the labels that are expected of them.
//!
//! A file in `tests/labels` holds lines of settings (`ctx` for the inputs, `memory` for the memory, `tools` for the
//! names of tools and `tool` for their answers in order, as data of the language, in which `(as web secret x)` is x with
//! these labels), and then pairs of `--- program` with `--- gives`. Programs of one file run one after the other on one
//! memory. Labels are printed as `#web+secret x`. With `UPDATE_GOLDEN=1` the second of each pair is written anew.

use proem_lisp::{
    Inputs, Limits, Machine, Meter, Names, Outcome, StateKey, ToolAnswer, Value, print_readable, print_source,
    read_memory, resolve_source,
};
use proem_text::{Audience, Label, Source, Sources};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

fn data(source: &str) -> Value {
    let program = resolve_source(&format!("'{source}"), &Names::default(), &Limits::default()).unwrap();
    let Outcome::Done(value) = Machine::new(Arc::new(program), Inputs::default(), Limits::default()).run(u64::MAX)
    else {
        panic!("{source}")
    };
    with_labels(&value)
}

fn label_of(word: &str) -> Label {
    match (word, Audience::parse(word)) {
        ("secret", _) => Label::trusted().made_secret(),
        (_, Some(audience)) => Label::trusted().narrowed_to(audience),
        _ => Label::from_source(Source::parse(word).unwrap()),
    }
}

/// The data with what `(as label x)` says.
fn with_labels(value: &Value) -> Value {
    let elements: Vec<&Value> = value.elements().collect();
    let inside = || elements.iter().map(|element| with_labels(element)).collect();
    match (value.type_phrase(), elements.as_slice()) {
        ("a sequence", [Value::Symbol(word), labels @ .., inner]) if word.as_str() == "as" => {
            labels.iter().fold(with_labels(inner), |value, label| value.labelled(&label_of(label.as_str().unwrap())))
        }
        ("a sequence", _) => Value::list(inside()),
        ("a vector", _) => Value::vector(inside()),
        ("a map", _) => Value::map(value.entries().map(|(key, value)| (key.clone(), with_labels(value)))),
        _ => value.clone(),
    }
}

fn label_text(label: &Label) -> String {
    let mut words: Vec<String> = match label.sources() {
        Sources::Many => vec![String::from("many")],
        Sources::Named(named) => named.iter().map(|source| source.as_str().to_owned()).collect(),
    };
    words.extend(label.is_secret().then(|| String::from("secret")));
    words.extend((label.audience() != Audience::Public).then(|| label.audience().as_str().to_owned()));
    if words.is_empty() { String::from("-") } else { words.join("+") }
}

/// The value with its labels, at every depth, and with secrets: this is a test.
pub(crate) fn show(value: &Value) -> String {
    let label = value.own_label();
    let mark = if label.is_empty() { String::new() } else { format!("#{} ", label_text(&label)) };
    let inner = value.unlabelled();
    let elements = || inner.elements().map(show).collect::<Vec<_>>().join(" ");
    let text = match inner.type_phrase() {
        "a vector" => format!("[{}]", elements()),
        "a sequence" => format!("({})", elements()),
        "a map" => {
            let entries = inner.entries().map(|(key, value)| format!("{} {}", show(key), show(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
        }
        _ => print_readable(inner, &mut Meter::unlimited()).unwrap(),
    };
    format!("{mark}{text}")
}

#[derive(Default)]
struct Document {
    inputs: Inputs,
    names: BTreeSet<String>,
    answers: Vec<Value>,
    pairs: Vec<(String, String)>,
}

fn document(text: &str) -> (String, Document) {
    let (head, rest) = text.split_once("--- program\n").unwrap();
    let mut document = Document::default();
    for line in head.lines().filter(|line| !line.trim().is_empty() && !line.starts_with(';')) {
        let (name, value) = line.split_once(' ').unwrap();
        match name {
            "ctx" => document.inputs.context = data(value),
            "memory" => document.inputs.memory = data(value),
            "tools" => document.names.extend(value.split(' ').map(String::from)),
            "tool" => document.answers.push(data(value)),
            other => panic!("there is no setting {other}"),
        }
    }
    for pair in rest.split("--- program\n") {
        let (program, gives) = pair.split_once("--- gives\n").unwrap();
        document.pairs.push((program.to_owned(), gives.to_owned()));
    }
    (head.to_owned(), document)
}

fn key() -> StateKey {
    StateKey::new(*b"a key that nobody else may know!")
}

/// The memory after it was written as text and read. One with a secret isn't written.
fn reread(memory: &Value) -> Value {
    let Ok(text) = print_source(memory, &mut Meter::unlimited()) else {
        assert!(memory.label().is_secret(), "{}", show(memory));
        return memory.clone();
    };
    let read = read_memory(&text, &Limits::default()).unwrap();
    assert_eq!(show(&read), show(memory), "{text}");
    read
}

/// A program's result: prints, calls, its end, floor and memory. The machine is stored and read at each suspension if
/// `is_stored`.
fn gives(document: &mut Document, answers: &mut usize, source: &str, is_stored: bool) -> String {
    let names = Names { tools: Some(document.names.clone()), ..Names::of_memory(&document.inputs.memory) };
    let program = match resolve_source(source, &names, &Limits::default()) {
        Ok(program) => program,
        Err(problems) => panic!("{source}: {problems:?}"),
    };
    let mut machine = Machine::new(Arc::new(program), document.inputs.clone(), Limits::default());
    let mut out = String::new();
    let outcome = loop {
        let outcome = machine.run(if is_stored { 7 } else { u64::MAX });
        if is_stored && matches!(outcome, Outcome::CallTools(_) | Outcome::OutOfFuel) {
            let state = machine.to_state(&key(), Machine::MOST_STATE_BYTES).unwrap();
            machine = Machine::from_state(&state, &Limits::default(), &key()).unwrap();
            assert!(machine.to_state(&key(), Machine::MOST_STATE_BYTES).unwrap() == state, "{source}");
        }
        match outcome {
            Outcome::OutOfFuel => {}
            Outcome::CallTools(calls) => {
                for call in calls {
                    let (args, pc, floor) = (show(&call.args), label_text(&call.pc), label_text(&call.floor));
                    out.push_str(&format!("calls {} {args} pc {pc} floor {floor}\n", call.name));
                    let answer = document.answers.get(*answers).cloned().unwrap_or_default();
                    *answers += 1;
                    machine.answer(call.id, ToolAnswer::Value(answer));
                }
            }
            end => break end,
        }
    };
    let printed = machine.take_output();
    if !printed.is_empty() {
        out.push_str(&format!("prints {printed:?} with {}\n", label_text(&machine.output_label())));
    }
    match &outcome {
        Outcome::Done(value) => out.push_str(&format!("{}\n", show(value))),
        Outcome::Return(value) => out.push_str(&format!("return {}\n", show(value))),
        Outcome::Fail(value) => out.push_str(&format!("fail {}\n", show(value))),
        Outcome::Error(problem) => {
            out.push_str(&format!("{} with {}\n", problem.reason.as_str(), label_text(&machine.end_label())));
            out.push_str(&problem.render("program", machine.source()));
        }
        other => panic!("{other:?}"),
    }
    if !machine.floor().is_empty() {
        out.push_str(&format!("floor {}\n", label_text(&machine.floor())));
    }
    if !matches!(outcome, Outcome::Error(_) | Outcome::Fail(_)) {
        document.inputs.memory = if is_stored { reread(machine.memory()) } else { machine.memory().clone() };
    }
    let memory = show(&document.inputs.memory);
    if memory != "{}" {
        out.push_str(&format!("memory {memory}\n"));
    }
    out
}

fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/labels");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn programs_have_the_labels_that_are_expected_of_them() {
    let mut count = 0;
    for (path, text) in files() {
        let (head, mut parsed) = document(&text);
        let mut answers = 0;
        let mut written = head;
        for (program, _) in std::mem::take(&mut parsed.pairs) {
            let given = gives(&mut parsed, &mut answers, &program, false);
            written.push_str(&format!("--- program\n{program}--- gives\n{given}"));
            count += 1;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &written).unwrap();
            continue;
        }
        assert_eq!(written, text, "{}", path.display());
    }
    assert!(count >= 40, "{count}");
}

#[test]
fn programs_have_the_same_labels_when_they_and_their_memory_are_stored_at_every_step() {
    for (path, text) in files() {
        let (_, mut parsed) = document(&text);
        let mut answers = 0;
        for (program, expected) in std::mem::take(&mut parsed.pairs) {
            let given = gives(&mut parsed, &mut answers, &program, true);
            assert_eq!(given, expected, "{}: {program}", path.display());
        }
    }
}
