//! Programs that bytes make up, of every form and function, run within their limits and print what reads back.

use crate::lisp_source::{LIMITS, hold_machine};
use proem_lisp::{
    Inputs, Machine, Meter, Names, Outcome, documentation::EntryKind, documentation::entries, print_readable,
    resolve_source,
};
use std::sync::Arc;

/// Data that functions are tried with.
const ATOMS: &[&str] = &[
    "nil",
    "true",
    "0",
    "1",
    "-3",
    "7.5",
    "##NaN",
    "##Inf",
    "99999999999999999999",
    "\"\"",
    "\"aé日👍🏽\"",
    "\"2024-02-29\"",
    ":a",
    ":n/b",
    "'s",
    "[]",
    "[1 2 3]",
    "'(3 1 2)",
    "{}",
    "{:a 1 \"b\" [2]}",
    "#{1 :a}",
    "(range 5)",
    "(range)",
    "inc",
    "+",
    "#(+ % 1)",
    "(fn [a b] [b a])",
    "identity",
    "#\"a.\"",
    "(iterate inc 0)",
    "[[1 :x] [2 :y]]",
    "[{:a 1} {:a nil} {}]",
    "x",
];

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let source = program_source(bytes);
    let Ok(program) = resolve_source(&source, &Names::default(), &LIMITS) else { return };
    let program = Arc::new(program);
    hold_machine(Arc::clone(&program));
    let Outcome::Done(value) = Machine::new(program, Inputs::default(), LIMITS).run(u64::MAX) else { return };
    let Ok(printed) = print_readable(&value, &mut Meter::new(LIMITS)) else { return };
    // Functions and what isn't a number print as something else.
    if printed.contains("#function") || printed.contains("##NaN") || printed.contains("#reduced") {
        return;
    }
    let quoted = format!("'{printed}");
    let Ok(read) = resolve_source(&quoted, &Names::default(), &LIMITS) else { return };
    if let Outcome::Done(read) = Machine::new(Arc::new(read), Inputs::default(), LIMITS).run(u64::MAX) {
        assert_eq!(print_readable(&read, &mut Meter::unlimited()).unwrap_or_default(), printed, "{source}");
    }
}

/// Each byte adds an atom, calls a function with what is there, or wraps it in a form.
fn program_source(bytes: &[u8]) -> String {
    let functions: Vec<&str> =
        entries().filter(|entry| entry.kind == EntryKind::Function).map(|entry| entry.name).collect();
    let mut open: Vec<String> = Vec::new();
    let mut bytes = bytes.iter().copied().map(usize::from);
    while let Some(byte) = bytes.next() {
        let choice = bytes.next().unwrap_or_default();
        match byte % 8 {
            0..=2 => open.push(ATOMS.get(choice % ATOMS.len()).map_or_else(String::new, |atom| (*atom).to_owned())),
            3..=5 => {
                let place = bytes.next().unwrap_or_default().wrapping_mul(256).wrapping_add(choice) % functions.len();
                let args = open.split_off(open.len().saturating_sub(byte / 8 % 4));
                open.push(format!("({} {})", functions.get(place).unwrap_or(&"str"), args.join(" ")));
            }
            _ => {
                let inner = open.pop().unwrap_or_else(|| String::from("1"));
                let other = open.pop().unwrap_or_else(|| String::from("[1 2]"));
                open.push(match choice % 9 {
                    0 => format!("(let [x {other}] {inner})"),
                    1 => format!("(for [x {other}] {inner})"),
                    2 => format!("(if {other} {inner} x)"),
                    3 => format!("(loop [x {other} n 3] (if (pos? n) (recur {inner} (dec n)) x))"),
                    4 => format!("(fn [x] {inner})"),
                    5 => format!("(map (fn [x] {inner}) {other})"),
                    6 => format!("(-> {other} (vector {inner}))"),
                    7 => format!("(pmap (fn [x] {inner}) {other})"),
                    _ => format!("(do (def x {other}) {inner})"),
                });
            }
        }
    }
    format!("(let [x 1] [{}])", open.join(" "))
}
