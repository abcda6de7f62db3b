//! The cost of labels: programs of the language without labels, and with one on each input.
//!
//! `cargo bench -p proem-lisp --bench labels`
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a bench")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proem_lisp::{Inputs, Limits, Machine, Meter, Names, Outcome, Program, Value, read_json, resolve_source};
use proem_text::{Label, Source};

/// Work of each kind: steps, calls, functions over collections, maps, sorting, text.
const PROGRAMS: &[(&str, &str)] = &[
    ("steps", "(loop [i 0 sum ctx/n] (if (< i 20000) (recur (inc i) (+ sum i)) sum))"),
    ("calls", "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib (+ 17 ctx/n))"),
    ("filter, map, reduce", "(reduce + (map :total (filter :paid ctx/rows)))"),
    ("group-by", "(update-vals (group-by :customer ctx/rows) count)"),
    ("sort-by", "(take 5 (sort-by :total > ctx/rows))"),
    ("for, assoc", "(into {} (for [r ctx/rows :when (:paid r)] [(:id r) (assoc r :sum (* 2 (:total r)))]))"),
    ("text", "(str/join \",\" (map (fn [r] (str (:id r) \"=\" (:customer r))) ctx/rows))"),
];

fn labelled_context(label: &Label) -> Value {
    let row = |at: usize| {
        format!(
            "{{\"id\":{at},\"customer\":\"c{}\",\"total\":{},\"paid\":{}}}",
            at % 40,
            at * 7 % 900,
            at.is_multiple_of(2)
        )
    };
    let rows: Vec<String> = (0..1_000).map(row).collect();
    let rows = read_json(&format!("[{}]", rows.join(",")), &mut Meter::unlimited()).expect("rows");
    let labelled = rows
        .elements()
        .map(|row| Value::map(row.entries().map(|(name, value)| (name.clone(), value.clone().labelled(label)))));
    let rows = Value::vector(labelled.collect()).labelled(label);
    Value::map([(Value::keyword("rows"), rows), (Value::keyword("n"), Value::Int(0).labelled(label))])
}

/// The least time of 30 runs, which says most about the work itself on a busy machine.
fn least_run_time(program: &Arc<Program>, context: &Value) -> Duration {
    let times = (0..30).map(|_| {
        let inputs = Inputs { context: context.clone(), ..Inputs::default() };
        let start = Instant::now();
        let mut machine = Machine::new(Arc::clone(program), inputs, Limits::default());
        let outcome = machine.run(u64::MAX);
        let time = start.elapsed();
        assert!(matches!(black_box(outcome), Outcome::Done(_)));
        time
    });
    times.min().unwrap_or_default()
}

fn main() {
    let (open, labelled) =
        (labelled_context(&Label::trusted()), labelled_context(&Label::from_source(Source::named("web"))));
    for (name, source) in PROGRAMS {
        let program = Arc::new(resolve_source(source, &Names::default(), &Limits::default()).expect("a program"));
        let (without, with) = (least_run_time(&program, &open), least_run_time(&program, &labelled));
        println!(
            "{name}: {without:?} without labels, {with:?} with, {:.1}",
            with.as_secs_f64() / without.as_secs_f64()
        );
    }
}
