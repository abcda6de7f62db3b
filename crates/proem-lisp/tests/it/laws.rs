//! Laws that hold for all programs and values.

use crate::support::{machine, outcome_text};
use proem_lisp::{
    CallId, Inputs, Limits, Machine, Meter, Names, Outcome, ToolAnswer, Value, print_readable, resolve_source,
};
use proptest::prelude::*;

/// Programs with loops, functions over collections, recursion, tools and errors.
const PROGRAMS: &[&str] = &[
    "(reduce + (map inc (range 50)))",
    "(for [x (range 5) y [1 2] :when (odd? x)] (* x y))",
    "(loop [i 0 out []] (if (< i 20) (recur (inc i) (conj out (str i))) out))",
    "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (map fib (range 8))",
    "(group-by #(mod % 3) (range 20))",
    "(sort-by - (filter even? (range 20)))",
    "(pmap (fn [x] (+ x (call \"t\" {:x x}))) (range 4))",
    "(reduce (fn [m x] (assoc m x (call \"t\" {:x x}))) {} [1 2])",
    "(apply apply apply [+ [[[1 2]]]])",
    "(map (fn [x] (/ 6 x)) [3 2 1 0])",
    "(println 1) (fail {:reason :x})",
    "(loop [] (recur))",
];

fn run_in_pieces(mut machine: Machine, mut pieces: impl FnMut() -> u64) -> (String, u64, usize, String) {
    loop {
        match machine.run(pieces()) {
            Outcome::OutOfFuel => {}
            Outcome::CallTools(calls) => {
                for call in calls {
                    machine.answer(call.id, ToolAnswer::Value(Value::Int(i64::try_from(call.id.0).unwrap())));
                }
            }
            end => {
                let output = machine.take_output();
                return (outcome_text(&end), machine.fuel_used(), machine.bytes_used(), output);
            }
        }
    }
}

fn small() -> Limits {
    Limits { fuel: 20_000, ..Limits::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn running_in_pieces_is_running_at_once(pieces in prop::collection::vec(1_u64..200, 1..20)) {
        for source in PROGRAMS {
            let begin = || machine(source, Inputs::default(), small()).unwrap();
            let whole = run_in_pieces(begin(), || u64::MAX);
            let mut next = pieces.iter().cycle();
            prop_assert_eq!(run_in_pieces(begin(), || *next.next().unwrap()), whole, "{}", source);
        }
    }

    #[test]
    fn reading_what_is_printed_gives_the_value(value in any_value()) {
        let printed = print_readable(&value, &mut Meter::unlimited()).unwrap();
        let source = format!("'{printed}");
        let program = resolve_source(&source, &Names::default(), &Limits::default());
        prop_assert!(program.is_ok(), "{source}: {program:?}");
        let mut machine = Machine::new(program.unwrap().into(), Inputs::default(), Limits::default());
        let Outcome::Done(read) = machine.run(u64::MAX) else { panic!("{source}") };
        prop_assert_eq!(print_readable(&read, &mut Meter::unlimited()).unwrap(), printed);
        prop_assert_eq!(read, value);
    }

    #[test]
    fn no_source_panics(source in "[-a-z0-9 ()\\[\\]{}\"#'%&:;.,/\\\\^~@*+]{0,80}") {
        let _ended = crate::support::run_with(&source, Inputs::default(), Limits { fuel: 1_000, ..Limits::default() });
    }
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("NaN equals nothing", |float| !float.is_nan()).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z][a-z0-9-]{0,5}".prop_map(|name| Value::keyword(&name)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::vector),
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::list),
            prop::collection::vec((inner.clone(), inner), 0..20).prop_map(Value::map),
        ]
    })
}

#[test]
fn ids_of_calls_count_from_zero() {
    let mut machine = machine("(call \"a\")", Inputs::default(), Limits::default()).unwrap();
    let Outcome::CallTools(calls) = machine.run(u64::MAX) else { panic!("no call") };
    assert_eq!(calls.first().map(|call| call.id), Some(CallId(0)));
}
