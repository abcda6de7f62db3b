//! The same work in PTC-Lisp, Lua 5.4, CPython and Clojure, by processor time. Prints the ratios at the end.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use mlua::Lua;
use proem_lisp::{Inputs, Limits, Names, Value, read_json, resolve_source};
use proem_lisp_peers::{Peer, limits, processor_time, program, value_of};

const TINY: &str = "(let [x 3] (* x (+ x 1)))";
const TINY_LUA: &str = "local x = 3; return x * (x + 1)";
const ROWS: &str = "(->> ctx/rows (filter (fn [row] (> (:n row) 500))) (map :price) (reduce +))";
const ROWS_LUA: &str = "local sum = 0
for _, row in ipairs(rows) do if row.n > 500 then sum = sum + row.price end end
return sum";
const SUM: &str = "(reduce + (range 1000000))";
const SUM_LUA: &str = "local sum = 0; for i = 0, 999999 do sum = sum + i end; return sum";

fn peers() -> Vec<(&'static str, Peer)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    let all = [("cpython", "python3", "peer.py"), ("clojure", "clojure", "peer.clj")];
    all.into_iter().filter_map(|(name, command, script)| Some((name, Peer::start(command, &format!("{folder}{script}"))?))).collect()
}

/// The rows as JSON: 1,000 maps of an id, two numbers and a name.
fn rows() -> String {
    let rows: Vec<serde_json::Value> = (0..1000)
        .map(|i| serde_json::json!({"id": i, "n": i * 7919 % 1000, "price": i % 97, "name": format!("row {i}")}))
        .collect();
    serde_json::Value::from(rows).to_string()
}

fn same_work(criterion: &mut Criterion, name: &str, peers: &mut [(&str, Peer)], mut ours: impl FnMut(), mut lua: impl FnMut()) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    group.bench_function("proem", |bencher| bencher.iter_custom(|count| processor_time(|| (0..count).for_each(|_| ours()))));
    group.bench_function("lua", |bencher| bencher.iter_custom(|count| processor_time(|| (0..count).for_each(|_| lua()))));
    for (peer, process) in peers {
        // Until a compiler at run time has done its work.
        process.time(name, if name == "sum" { 20 } else { 300 });
        group.bench_function(*peer, |bencher| bencher.iter_custom(|count| process.time(name, count)));
    }
    group.finish();
}

fn next_to_peers(criterion: &mut Criterion) {
    let mut peers = peers();
    let lua = Lua::new();
    let limits = limits();
    let run_source = || {
        let program = std::sync::Arc::new(resolve_source(TINY, &Names::default(), &limits).expect("a program"));
        assert_eq!(black_box(value_of(&program, Inputs::default(), limits)), Value::from(12_i64));
    };
    same_work(criterion, "tiny", &mut peers, run_source, || {
        assert_eq!(black_box(lua.load(TINY_LUA).call::<i64>(()).expect("a value")), 12);
    });

    let json = rows();
    let data = read_json(&json, &mut proem_lisp::Meter::unlimited()).expect("rows");
    let inputs = Inputs { context: Value::map([(Value::text("rows"), data)]), ..Inputs::default() };
    let rows_program = program(ROWS, &limits);
    let table = lua.create_table().expect("a table");
    for row in serde_json::from_str::<Vec<serde_json::Value>>(&json).expect("rows") {
        let entry = lua.create_table().expect("a table");
        for (key, value) in row.as_object().expect("a row") {
            match value.as_i64() {
                Some(number) => entry.set(key.as_str(), number),
                None => entry.set(key.as_str(), value.as_str().expect("a name")),
            }
            .expect("a field");
        }
        table.push(entry).expect("an element");
    }
    lua.globals().set("rows", table).expect("a global");
    let rows_lua = lua.load(ROWS_LUA).into_function().expect("a function");
    let expected: i64 = rows_lua.call(()).expect("a sum");
    let filter_map_reduce = || assert_eq!(black_box(value_of(&rows_program, inputs.clone(), limits)), Value::from(expected));
    same_work(criterion, "rows", &mut peers, filter_map_reduce, || {
        assert_eq!(black_box(rows_lua.call::<i64>(()).expect("a sum")), expected);
    });

    let (sum_program, sum_lua) = (program(SUM, &limits), lua.load(SUM_LUA).into_function().expect("a function"));
    let sum = || assert_eq!(black_box(value_of(&sum_program, Inputs::default(), limits)), Value::from(499_999_500_000_i64));
    same_work(criterion, "sum", &mut peers, sum, || {
        assert_eq!(black_box(sum_lua.call::<i64>(()).expect("a sum")), 499_999_500_000);
    });
}

/// The cost per element as collections grow.
fn growth(criterion: &mut Criterion) {
    let limits: Limits = limits();
    let kinds = [
        ("vector-conj", "(count (loop [i 0 v []] (if (< i N) (recur (inc i) (conj v i)) v)))"),
        ("map-assoc", "(count (loop [i 0 m {}] (if (< i N) (recur (inc i) (assoc m i i)) m)))"),
        ("map-get", "(let [m (zipmap (range N) (range N))] (loop [i 0 k 7 s 0] (if (< i N) (recur (inc i) (rem (+ k 7919) N) (+ s (get m k))) N)))"),
    ];
    let mut group = criterion.benchmark_group("growth");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for (kind, source) in kinds {
        for size in [1_000_u64, 10_000, 100_000, 1_000_000] {
            let program = program(&source.replace('N', &size.to_string()), &limits);
            group.throughput(Throughput::Elements(size));
            group.bench_function(BenchmarkId::new(kind, size), |bencher| {
                bencher.iter_custom(|count| {
                    processor_time(|| (0..count).for_each(|_| drop(black_box(value_of(&program, Inputs::default(), limits)))))
                });
            });
        }
    }
    group.finish();
}

/// Criterion's mean in nanoseconds. `None` for what this machine has no program for.
fn mean(id: &str) -> Option<f64> {
    let path = Path::new("target/criterion").join(id).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    estimates.get("mean")?.get("point_estimate")?.as_f64()
}

fn print_ratios() {
    println!("\n| work | proem | Lua 5.4 | CPython | Clojure | proem / Lua | proem / CPython | proem / Clojure |\n|---|---|---|---|---|---|---|---|");
    for work in ["tiny", "rows", "sum"] {
        let Some(ours) = mean(&format!("{work}/proem")) else { continue };
        let others = ["lua", "cpython", "clojure"].map(|peer| mean(&format!("{work}/{peer}")));
        let times = others.map(|time| time.map_or("–".into(), |time| format!("{:.1} µs", time / 1000.0)));
        let ratios = others.map(|time| time.map_or("–".into(), |time| format!("{:.2}", ours / time)));
        println!("| {work} | {:.1} µs | {} | {} |", ours / 1000.0, times.join(" | "), ratios.join(" | "));
    }
    println!("\n| per element, in ns | 10³ | 10⁴ | 10⁵ | 10⁶ |\n|---|---|---|---|---|");
    for kind in ["vector-conj", "map-assoc", "map-get"] {
        let sizes = [1_000.0, 10_000.0, 100_000.0, 1_000_000.0];
        let times = sizes.map(|size| mean(&format!("growth/{kind}/{size}")).map_or("–".into(), |time| format!("{:.0}", time / size)));
        println!("| {kind} | {} |", times.join(" | "));
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    next_to_peers(&mut criterion);
    growth(&mut criterion);
    criterion.final_summary();
    print_ratios();
}
