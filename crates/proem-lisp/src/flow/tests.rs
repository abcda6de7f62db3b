use super::{rules::rule_of, *};
use crate::{
    Inputs, Limits, Machine, Meter, Names, Outcome, Problem, builtins::Run, code::Op, documentation::entries,
    print_readable, resolve_source,
};
use proem_text::{Label, Source};
use std::{collections::BTreeSet, format, string::String, vec::Vec};

/// A value with a label around it and around all that has one inside.
pub(crate) fn label_all(value: Value, flow: &Flow) -> Value {
    if flow.is_none() {
        return value;
    }
    let label_part = |part: &Value| label_all(part.clone(), flow);
    let inside = match &value {
        Value::Vector(vector) => Value::vector(vector.iter().map(label_part).collect()),
        Value::List(list) => Value::list(list.iter().map(label_part).collect()),
        Value::Map(map) => Value::map(map.iter().map(|(key, value)| (key.clone(), label_part(value)))),
        other => other.clone(),
    };
    inside.labelled(&flow.to_label())
}

fn label() -> Label {
    Label::from_source(Source::named("web"))
}

/// A machine that minds labels, with `of_constants` on all constants of its program.
fn labelled_machine(source: &str, of_constants: &Label) -> Result<Machine, Vec<Problem>> {
    let program = resolve_source(source, &Names::default(), &Limits::default())?;
    let context = Value::map([(Value::keyword("given"), Value::Int(1).labelled(&label()))]);
    let inputs = Inputs { context, ..Inputs::default() };
    let mut machine = Machine::new(Arc::new(program), inputs, Limits::default());
    machine.set_label_of_constants(of_constants);
    Ok(machine)
}

/// Every example of every function and form, run by the steps that mind labels: first without labels, then with one on
/// each constant, function and element.
#[test]
fn every_example_gives_the_same_with_labels_and_keeps_them() {
    let mut wrong = Vec::new();
    for entry in entries() {
        for (source, expected) in entry.examples {
            for of_constants in [Label::trusted(), label()] {
                let Ok(mut machine) = labelled_machine(source, &of_constants) else { continue };
                let Outcome::Done(value) = machine.run(u64::MAX) else {
                    let end = machine.run(u64::MAX);
                    wrong.push(format!("{}: {source} ends with {end:?} ({of_constants:?})", entry.name));
                    continue;
                };
                let text = print_readable(&value.without_labels(), &mut Meter::unlimited()).unwrap();
                if text != *expected {
                    wrong.push(format!("{}: {source} gives {text}, not {expected}", entry.name));
                }
                // A call without a constant in it, or one that asks for no more than a kind that it was given.
                let is_free = ["nil", "(budget/remaining)", "(reduced? (reduced 1))", "(+)", "(*)", "(set/union)"];
                let is_free = *expected == "nil" || is_free.iter().any(|part| source.contains(part));
                if !of_constants.is_empty() && value.label() != of_constants && !is_free {
                    wrong.push(format!("{}: {source} gives {text} without its label", entry.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_function_of_the_table_has_a_rule_and_every_rule_a_function() {
    let missing: Vec<&str> = builtins::rows()
        .filter(|(_, row)| !matches!(row.run, Run::Lisp(_)) && rule_of(row.name).is_none())
        .map(|(_, row)| row.name)
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    let named: Vec<&str> = rules::RULES.iter().flat_map(|(_, names)| names.split(' ')).collect();
    let unknown = named.iter().filter(|name| builtins::id_of(name).is_none_or(|id| builtins::row(id).is_none()));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new());
    let distinct: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(distinct.len(), named.len(), "a function has two rules");
}

/// All steps that are between a test and the end of its form, found by going along every way.
fn steps_between(ops: &[Op], at: usize, end: usize) -> BTreeSet<usize> {
    let mut open = branches::ways(ops, at);
    let mut seen = BTreeSet::new();
    while let Some(step) = open.pop() {
        if step != end && step < ops.len() && seen.insert(step) {
            open.extend(branches::ways(ops, step));
        }
    }
    seen
}

/// Whether every way from a test comes through its end or to the end of the function.
#[test]
fn a_form_knows_all_that_its_test_decides_on() {
    let sources = entries().flat_map(|entry| entry.examples.iter().map(|(source, _)| String::from(*source)));
    let own = builtins::rows().filter_map(|(_, row)| match row.run {
        Run::Lisp(source) => Some(String::from(source)),
        _ => None,
    });
    let mut forms = 0;
    for source in sources.chain(own).chain([String::from(LOOPS)]) {
        let Ok(program) = resolve_source(&source, &Names::default(), &Limits::default()) else { continue };
        let program = Arc::new(program);
        for (number, function) in program.functions.iter().enumerate() {
            for (arity, steps) in function.arities.iter().enumerate() {
                let found = Branches::of(&program, number, arity);
                for (at, form) in found.iter() {
                    forms += 1;
                    for step in steps_between(&steps.ops, at, form.at) {
                        let own = branches::reach_of_op(&program, steps.ops[step]);
                        assert_eq!(own.join(form.reach), form.reach, "{source}: step {step} of the form at {at}");
                        if let Op::Store(local) | Op::Append(local) = steps.ops[step] {
                            let is_known = form.locals >> local.min(63) & 1 == 1 || form.has_more;
                            assert!(is_known, "{source}: local {local} of the form at {at}");
                        }
                    }
                }
            }
        }
    }
    assert!(forms > 140, "{forms}");
}

const LOOPS: &str =
    "(for [x [1 2] :let [y x] :when (odd? y) z [3] :while z] (loop [i 0 j 1] (cond (> i 3) (println j) (odd? i)
  (recur (inc i) (do (def q i) j)) :else (if j (recur (+ 2 i) (when i (while (pos? i) (memory/put :a 1)) 2)) 5))))";
