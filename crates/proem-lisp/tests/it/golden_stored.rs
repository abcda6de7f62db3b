//! The right programs of the golden files, stored at every call of a tool and taken up by a second process: without
//! labels, and with one on everything that comes in.

use crate::golden::{Settings, golden_programs};
use crate::labels::show;
use crate::support::outcome_text;
use proem_lisp::{Limits, Machine, Names, Outcome, StateKey, ToolAnswer, Value, resolve_source, sanitise_source};
use proem_text::{Label, Source};
use std::{process::Command, sync::Arc};

/// The labels of what comes in: none, those of an untrusted source, and those of a secret.
const MARKS: [&str; 3] = ["none", "untrusted", "secret"];

/// The value with a label at each level.
fn mark(value: &Value, label: &Label) -> Value {
    let marked = match value.type_phrase() {
        "a vector" => Value::vector(value.elements().map(|element| mark(element, label)).collect()),
        "a map" => Value::map(value.entries().map(|(key, value)| (key.clone(), mark(value, label)))),
        _ => value.clone(),
    };
    marked.labelled(label)
}

/// The programs with everything that comes in under these labels.
fn marked_programs(marks: &str) -> Vec<(Settings, String)> {
    let mut programs = golden_programs();
    let of = |name| Label::from_source(Source::named(name));
    let (input, answer) = match marks {
        "untrusted" => (of("ctx/in"), of("tool/out")),
        "secret" => (of("ctx/in").made_secret(), of("tool/out")),
        _ => (Label::trusted(), Label::trusted()),
    };
    for (settings, _) in &mut programs {
        let inputs = settings.inputs.context.entries();
        settings.inputs.context = Value::map(inputs.map(|(key, value)| (key.clone(), mark(value, &input))));
        settings.tools = settings.tools.iter().map(|value| mark(value, &answer)).collect();
    }
    programs
}

/// An end with the labels of its value.
fn end_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(value) => show(value),
        Outcome::Return(value) => format!("return {}", show(value)),
        Outcome::Fail(value) => format!("fail {}", show(value)),
        end => outcome_text(end),
    }
}

fn key() -> StateKey {
    StateKey::new(*b"a key that nobody else may know!")
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

/// Units of fuel between two suspensions, besides the calls of tools.
const PIECE: u64 = 40;

/// Runs a machine to its end after `answered` calls: a line for each suspension with its state, and one for the end.
/// `suspend` is given the machine and its state.
fn run_on(
    mut machine: Machine,
    settings: &Settings,
    mut answered: usize,
    suspend: fn(Machine, &[u8]) -> Machine,
) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let outcome = machine.run(PIECE);
        if !matches!(outcome, Outcome::CallTools(_) | Outcome::OutOfFuel) {
            let used = (machine.fuel_used(), machine.bytes_used(), machine.tool_calls());
            let (end, output) = (end_text(&outcome), machine.take_output());
            let labels = (machine.end_label(), machine.floor(), machine.output_label(), machine.work_label());
            lines.push(format!("{end} {used:?} {output:?} {} {labels:?}", show(machine.memory())));
            return lines;
        }
        let state = machine.to_state(&key(), Machine::MOST_STATE_BYTES).unwrap();
        lines.push(format!("{answered} {}", to_hex(&state)));
        machine = suspend(machine, &state);
        if let Outcome::CallTools(calls) = outcome {
            for call in calls {
                machine.answer(call.id, ToolAnswer::Value(settings.tools.get(answered).unwrap().clone()));
                answered += 1;
            }
        }
    }
}

/// A machine made of the state alone.
fn from_state(machine: Machine, state: &[u8]) -> Machine {
    drop(machine);
    Machine::from_state(state, &Limits::default(), &key()).unwrap()
}

fn begin(source: &str, settings: &Settings) -> Machine {
    let names = Names { tools: Some(settings.names.clone()), ..Names::of_memory(&settings.inputs.memory) };
    let program = resolve_source(&sanitise_source(source).text, &names, &Limits::default()).unwrap();
    Machine::new(Arc::new(program), settings.inputs.clone(), Limits::default())
}

/// Set for the child: the labels, the number of the program, of the calls that were answered, and the state.
const CHILD: &str = "PROEM_LISP_STORED";

/// Run by the test below in a process of its own. Alone, it goes on from the first state of the first program.
#[test]
fn child_goes_on_from_a_state() {
    let given = std::env::var(CHILD).unwrap_or_else(|_| {
        let (settings, source) = &golden_programs()[0];
        format!("none 0 {}", run_on(begin(source, settings), settings, 0, from_state)[0])
    });
    let [marks, index, answered, state] = given.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let (settings, _) = &marked_programs(marks)[index.parse::<usize>().unwrap()];
    let machine = Machine::from_state(&from_hex(state), &Limits::default(), &key()).unwrap();
    for line in run_on(machine, settings, answered.parse().unwrap(), from_state) {
        println!("line {line}");
    }
}

#[test]
fn every_golden_program_goes_on_in_a_second_process_after_each_suspension() {
    for marks in MARKS {
        let suspensions = go_on_in_a_second_process(marks);
        assert!(suspensions >= 60, "{marks}: {suspensions}");
    }
}

/// Goes on with each program in a second process. How many suspensions there were.
fn go_on_in_a_second_process(marks: &str) -> usize {
    let mut suspensions = 0;
    for (index, (settings, source)) in marked_programs(marks).iter().enumerate() {
        let straight = run_on(begin(source, settings), settings, 0, |machine, _| machine);
        let lines = run_on(begin(source, settings), settings, 0, from_state);
        assert_eq!(lines.last(), straight.last(), "{marks}: {source}");
        let (first, others) = lines.split_first().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "golden_stored::child_goes_on_from_a_state", "--nocapture"])
            .env(CHILD, format!("{marks} {index} {first}"))
            .output()
            .unwrap();
        let output = String::from_utf8(child.stdout).unwrap();
        let found: Vec<&str> = output.lines().filter_map(|line| Some(line.split_once("line ")?.1)).collect();
        // A machine that waits gives its calls again, and so its first state.
        let found = found.strip_prefix(&[first.as_str()]).unwrap_or(&found);
        assert!(found == others, "{marks}: {source}\n{output}");
        suspensions += others.len();
    }
    suspensions
}
