//! The cost of a program's borders next to the program itself: signatures and stored states, as ratios of one run.
//!
//! `cargo bench -p proem-lisp --bench borders`
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a bench")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use criterion::Criterion;
use proem_lisp::{
    Inputs, Limits, Machine, Meter, Names, Outcome, Signature, StateKey, Value, read_json, resolve_source, write_json,
};

const SMALL: &str = "(let [orders [{:id 1 :total 20} {:id 2 :total 30}]
      found (call \"search\" {:query ctx/topic :limit 3})
      good (filter #(> (:score %) 0.5) found)]
  {:titles (mapv :title good) :sum (reduce + (map :total orders))})";

fn limits() -> Limits {
    Limits::default()
}

fn begin(source: &str, inputs: Inputs) -> Machine {
    let program = resolve_source(source, &Names::of_memory(&inputs.memory), &limits()).expect("a program");
    let mut machine = Machine::new(Arc::new(program), inputs, limits());
    assert!(matches!(machine.run(u64::MAX), Outcome::CallTools(_)));
    machine
}

/// A JSON object of about this many bytes, with 8 to 10 scalars for each row.
fn rows(bytes: usize) -> String {
    let row = |at: usize| {
        format!(
            "{{\"id\":{at},\"name\":\"customer {at}\",\"total\":{}.25,\"paid\":{},\"tags\":[\"new\",\"t{at}\"],\"note\":\"paid by invoice no. {at}\"}}",
            at % 900,
            at.is_multiple_of(2)
        )
    };
    let rows: Vec<String> = (0..bytes / 110).map(row).collect();
    format!("{{\"rows\":[{}]}}", rows.join(","))
}

/// Every scalar and collection of a value, counted by going through it.
fn walk(value: &Value) -> usize {
    let mut open = vec![value];
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        value.entries().for_each(|(key, value)| open.extend([key, value]));
        open.extend(value.elements());
    }
    count
}

/// The time of one run.
fn time(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Prints the median of the ratios of 31 pairs in turns, with the quartiles: both of a pair meet the same machine, so
/// that what else it does changes neither.
fn ratio(name: &str, mut ours: impl FnMut(), mut base: impl FnMut(), aim: f64) {
    let mut ratios: Vec<f64> = (0..31).map(|_| time(&mut ours) / time(&mut base)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |place: usize| ratios.get(place).copied().unwrap_or_default();
    println!("{name}: {:.2} ({:.2} to {:.2}), at most {aim} wanted", at(15), at(7), at(23));
}

fn main() {
    let key = StateKey::new([3; 32]);
    let context = Value::map([(Value::keyword("topic"), Value::text("rust"))]);
    let inputs = Inputs { context, ..Inputs::default() };
    let parse_and_run = || drop(black_box(begin(SMALL, inputs.clone())));
    let machine = begin(SMALL, inputs.clone());
    let store = |machine: &Machine| {
        let state = machine.to_state(&key, Machine::MOST_STATE_BYTES).expect("a state");
        let mut again = Machine::from_state(&state, &limits(), &key).expect("a machine");
        assert!(matches!(again.run(0), Outcome::CallTools(_)));
        state.len()
    };

    let json = rows(1 << 20);
    let data = read_json(&json, &mut Meter::unlimited()).expect("data");
    let large = Inputs { memory: Value::map([(Value::keyword("data"), data.clone())]), ..Inputs::default() };
    let large = begin("(call \"t\" {})", large);
    let through_json = || {
        let text = write_json(&data, &mut Meter::unlimited()).expect("text");
        drop(black_box(read_json(&text, &mut Meter::unlimited()).expect("data")));
    };

    let thousand = read_json(&rows(110 * 1000), &mut Meter::unlimited()).expect("data");
    let signature = "() -> {rows [{id :int, name :string, total :float, paid :bool, tags [:string], note :string}]}";
    let signature = Signature::parse(signature, &limits()).expect("a signature");
    let check = || assert!(black_box(signature.check_result(&thousand)).is_empty());

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    criterion.bench_function("small/parse-and-run", |bencher| bencher.iter(parse_and_run));
    criterion.bench_function("small/store-and-resume", |bencher| bencher.iter(|| store(&machine)));
    criterion.bench_function("1-mib/json", |bencher| bencher.iter(through_json));
    criterion.bench_function("1-mib/store-and-resume", |bencher| bencher.iter(|| store(&large)));
    criterion.bench_function("1000-maps/walk", |bencher| bencher.iter(|| black_box(walk(&thousand))));
    criterion.bench_function("1000-maps/check", |bencher| bencher.iter(check));
    criterion.final_summary();

    println!("\nstates: {} bytes, and {} bytes for {} bytes of JSON", store(&machine), store(&large), json.len());
    ratio("small program, stored and resumed over parsed and run", || _ = store(&machine), parse_and_run, 5.0);
    ratio("1 MiB of memory, stored and resumed over JSON", || _ = store(&large), through_json, 2.0);
    ratio("1,000 maps, checked over walked", check, || _ = black_box(walk(&thousand)), 5.0);
}
