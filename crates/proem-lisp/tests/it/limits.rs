//! Bad inputs: each ends with its limit, the setting that raises it, and little memory.

use crate::support::{machine, outcome_text, problem_text, run, run_with};
use proem_lisp::{CallId, Inputs, Limits, Outcome, ToolAnswer, Value};
use std::process::Command;

/// Programs that ask for too much, and how each ends.
const TOO_MUCH: &[(&str, &str)] = &[
    ("(loop [s \"ab\"] (recur (str s s)))", "memory_exceeded"),
    ("(loop [v [1]] (recur (into v v)))", "memory_exceeded"),
    ("(vec (range 1000000000))", "memory_exceeded"),
    ("(vec (repeat 1000000000 1))", "memory_exceeded"),
    ("(apply str (repeat 1000000000 \"x\"))", "memory_exceeded"),
    ("(println (range))", "memory_exceeded"),
    ("(str (repeat 900000 (vec (range 1000))))", "memory_exceeded"),
    ("(def f (fn [n] (inc (f n)))) (f 1)", "memory_exceeded"),
    ("(loop [f inc] (recur (comp f f)))", "memory_exceeded"),
    ("(loop [m {} i 0] (recur (assoc m i (str i)) (inc i)))", "memory_exceeded"),
    ("(loop [v []] (recur [v v]))", "memory_exceeded"),
    ("(loop [s #{}] (recur (conj s s)))", "fuel_exhausted"),
    ("(count (set (map (fn [i] (fn [] i)) (range 100000))))", "fuel_exhausted"),
    ("(loop [] (recur))", "fuel_exhausted"),
    ("(reduce (fn [a b] (reduced? a) a) 0 (range))", "fuel_exhausted"),
    ("(first (filter neg? (range)))", "fuel_exhausted"),
    ("(loop [v (vec (range 100000))] (sort v) (recur v))", "fuel_exhausted"),
    ("(let [a (vec (range 100000)) b (vec (range 100000))] (loop [] (= a b) (recur)))", "fuel_exhausted"),
    ("(reduce * (range 1 100000))", "eval_error"),
    ("(loop [x 2] (recur (* x x)))", "eval_error"),
    ("(loop [] (println \"more and more\") (recur))", "output_limit"),
    ("(println (apply str (repeat 100000 \"x\")))", "output_limit"),
    ("(pmap inc (range 1000000))", "memory_exceeded"),
    ("((fn bomb [] (pcalls bomb bomb)))", "memory_exceeded"),
    (
        "(defn deep [n] (if (pos? n) (inc (deep (dec n))) (call \"t\"))) (pmap (fn [_] (deep 20000)) (range 64))",
        "memory_exceeded",
    ),
    ("(memory/put :big (vec (range 100000)))", "memory_exceeded"),
    ("(map #(loop [v []] (recur (conj v %))) (range 10))", "fuel_exhausted"),
    ("(partition 900000 1 (range 999999))", "memory_exceeded"),
    ("(reduce (fn [k _] {k 1}) 1 (range 100))", "done"),
    ("(get {(reduce (fn [k _] {k 1}) 1 (range 100)) 2} (reduce (fn [k _] {k 1}) 1 (range 100)))", "eval_error"),
    ("(let [deep #(reduce (fn [a _] [a]) nil (range 50000))] (= (deep) (deep)))", "done"),
    ("(count (hash-set (reduce (fn [a _] [a]) nil (range 60000))))", "done"),
    ("(count (str (reduce (fn [a _] [a]) nil (range 60000))))", "done"),
    ("(flatten (reduce (fn [a _] [a]) 1 (range 100000)))", "done"),
    ("(defn again [n] (fn [] (if (pos? n) (again (dec n)) :end))) (trampoline (again 1000))", "done"),
    // Regular expressions: built to backtrack, to look far ahead again and again, to be large.
    ("(re-matches #\"(a+)+b\" (.repeat \"a\" 100000))", "done"),
    ("(re-matches #\"(a|aa)+$\" (str (.repeat \"a\" 100000) \"b\"))", "done"),
    ("(count (re-seq #\"[^z]*z|a\" (.repeat \"a\" 20000)))", "fuel_exhausted"),
    ("(str/replace (.repeat \"a\" 20000) #\"(?s).*z|a\" \"\")", "fuel_exhausted"),
    ("(re-find (re-pattern (.repeat \"(a?)\" 500)) \"aaa\")", "memory_exceeded"),
    ("(re-find (re-pattern (str \"(?:\" (.repeat \"(a?)\" 60) \")*b\")) (.repeat \"a\" 100000))", "fuel_exhausted"),
    ("(re-pattern \"(a{1000}){1000}\")", "memory_exceeded"),
    ("(re-pattern \"((\\\\p{L}{100}){100}){100}\")", "memory_exceeded"),
    ("(re-pattern (.repeat \"\\\\pL\" 100000))", "fuel_exhausted"),
    ("(re-pattern (str \"[\" (.repeat \"\\\\pL\" 100000) \"]\"))", "fuel_exhausted"),
    ("(re-pattern (.repeat \"(\" 50000))", "eval_error"),
    ("(re-pattern (.repeat \"[\" 50000))", "eval_error"),
    ("(re-pattern (.repeat \"a\" 1000000))", "fuel_exhausted"),
    ("(loop [i 0] (re-find (re-pattern (str \"\\\\pL\" i)) \"x\") (recur (inc i)))", "fuel_exhausted"),
    // Texts that grow.
    ("(format \"%999999999d\" 1)", "memory_exceeded"),
    ("(format \"%-999999999999999999999s\" 1)", "memory_exceeded"),
    ("(format \"%.999999999f\" 1.5)", "memory_exceeded"),
    ("(format \"%0999999999x\" 1)", "memory_exceeded"),
    ("(.repeat \"ab\" 1000000000)", "memory_exceeded"),
    ("(loop [s \"ab\"] (recur (str/replace s \"\" s)))", "memory_exceeded"),
    ("(loop [s \"ab\"] (recur (str/replace s #\"[ab]+\" \"$0$0$0\")))", "fuel_exhausted"),
    ("(str/join (.repeat \"x\" 100000) (range 1000))", "memory_exceeded"),
    ("(str/join (cycle [1]))", "memory_exceeded"),
    ("(str/join \",\" (iterate inc 0))", "memory_exceeded"),
    ("(loop [s (.repeat \"é\" 100000)] (str/index-of s \"x\") (recur s))", "fuel_exhausted"),
    ("(count (str/split (.repeat \",\" 2000000) #\"\"))", "memory_exceeded"),
    // JSON.
    ("(json/parse (.repeat \"[\" 100000))", "eval_error"),
    ("(json/parse (.repeat \"{\\\"a\\\":\" 100000))", "eval_error"),
    ("(json/parse (.repeat \"9\" 1000000))", "eval_error"),
    ("(json/parse (str \"[\" (.repeat \"0,\" 2000000) \"0]\"))", "memory_exceeded"),
    ("(count (json/write (reduce (fn [a _] [a]) nil (range 60000))))", "done"),
    ("(json/write (range))", "memory_exceeded"),
    ("(loop [v \"\\u0001\"] (recur (json/write v)))", "memory_exceeded"),
    // Nested values, and sets.
    ("(walk/postwalk identity (reduce (fn [a _] [a]) nil (range 10000)))", "done"),
    ("(walk/prewalk (fn [x] [x]) 1)", "memory_exceeded"),
    ("(set/union (range 10) (range))", "memory_exceeded"),
    ("(loop [v (vec (range 100000))] (reduce-kv (fn [n _ _] n) 0 v) (recur v))", "fuel_exhausted"),
    ("(reduce-kv (fn [n _ _] n) 0 (vec (repeat 200000 nil)))", "done"),
    ("(bigint (.repeat \"9\" 100000))", "eval_error"),
    ("(doall (iterate inc 0))", "memory_exceeded"),
    ("(reductions (fn [a x] (reduced [a a])) (range 1000000))", "done"),
    ("((apply some-fn (repeat 100 neg?)) (range))", "type_error"),
    ("(loop [s (set (range 10000))] (set/intersection s s) (recur s))", "fuel_exhausted"),
    // Closures: chains of them, many over one value, one that calls what hides a builtin without an end.
    ("(loop [f (fn [] 0)] (recur (fn [] f)))", "memory_exceeded"),
    ("(loop [fs [] v (vec (range 10000))] (recur (conj fs (fn [] v)) v))", "memory_exceeded"),
    ("(defn inc [x] (inc x)) (inc 1)", "memory_exceeded"),
    ("(map (fn [x] (loop [] (recur))) [1 2])", "fuel_exhausted"),
    ("(reduce (fn [m x] (loop [v [m]] (recur (conj v v)))) 0 [1 2])", "memory_exceeded"),
    ("(last (map (fn [& xs] xs) (range)))", "memory_exceeded"),
    // Names: long ones that differ at their end, and more than memory holds.
    (
        "(let [a (.repeat \"a\" 100000) m (into {} (map (fn [i] [(keyword (str a i)) i]) (range 10))) k (keyword (str a \"x\"))] (loop [] (k m) (recur)))",
        "fuel_exhausted",
    ),
    (
        "(let [a (.repeat \"a\" 100000) ms [{(str a 1) 1 (str a 2) 2}] k (keyword (str a 3))] (loop [] (mapv k ms) (recur)))",
        "fuel_exhausted",
    ),
    ("(memory/put (keyword (.repeat \"k\" 2000000)) 1)", "memory_exceeded"),
    ("(count (assoc-in {} (range 100000) 1))", "memory_exceeded"),
    ("(run! print (range))", "output_limit"),
    ("(run! (fn [i] (print i)) (range 100000))", "output_limit"),
    ("(prn (vec (range 100000)))", "output_limit"),
    ("(re-seq #\"(?:a*)*\" (.repeat \"a\" 100000))", "done"),
    ("(str/replace (.repeat \"ab\" 200000) #\"x*\" (.repeat \"-\" 1000))", "memory_exceeded"),
    ("(loop [] (re-find #\"(a|b|ab)*c\" (.repeat \"ab\" 5000)) (recur))", "fuel_exhausted"),
];

fn kind(text: &str) -> &str {
    text.split_once(':').map_or("done", |(kind, _)| if kind.contains('_') { kind } else { "done" })
}

/// A quarter of the default for bytes, so that the suite is quick and a leak still shows.
fn quick_limits() -> Limits {
    Limits { fuel: 10_000_000, bytes: 16 << 20, ..Limits::default() }
}

fn run_quick(source: &str) -> String {
    run_with(source, Inputs::default(), quick_limits())
}

#[test]
fn programs_that_ask_for_too_much_end_with_their_limit() {
    let on_small_stack = || {
        let mut wrong = Vec::new();
        for (source, expected) in TOO_MUCH {
            let result = run_quick(source);
            if kind(&result) != *expected {
                let start: String = result.chars().take(200).collect();
                wrong.push(format!("{source} gives {start}, not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(on_small_stack).unwrap().join().unwrap();
}

/// How a bad input ends, and after how much fuel and how many bytes.
fn end_of(index: usize) -> String {
    let (source, _) = TOO_MUCH.get(index).unwrap();
    let mut machine = machine(source, Inputs::default(), quick_limits()).unwrap();
    let end = outcome_text(&machine.run(u64::MAX));
    let start: String = end.chars().take(100).collect();
    format!("{start} after {} units and {} bytes", machine.fuel_used(), machine.bytes_used())
}

/// The output of a process of its own about a bad input.
fn child_output(index: usize) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::child_runs_one_bad_input", "--nocapture"])
        .env(CHILD, index.to_string())
        .output()
        .unwrap();
    String::from_utf8(child.stdout).unwrap()
}

/// Set for the child that runs one bad input.
const CHILD: &str = "PROEM_LISP_BAD_INPUT";

/// Run by the test below in a process of its own, which shows how much memory it used at most. Alone, it runs the first.
#[test]
#[cfg(target_os = "linux")]
fn child_runs_one_bad_input() {
    let index = std::env::var(CHILD).map_or(0, |index| index.parse().unwrap());
    println!("{}", end_of(index));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    assert!(peak.trim().ends_with(" kB"), "{peak}");
    println!("peak {}", peak.trim());
}

#[test]
#[cfg(target_os = "linux")]
fn no_program_uses_more_than_twice_its_byte_limit() {
    // The share of the process itself, with the test harness and the program's text.
    let overhead_kib = 8 << 10;
    let limit_kib = u64::try_from(quick_limits().bytes).unwrap() / 1024;
    let mut too_much = Vec::new();
    for (index, (source, _)) in TOO_MUCH.iter().enumerate() {
        let output = child_output(index);
        let peak =
            output.lines().find_map(|line| line.split_once("peak ")).unwrap_or_else(|| panic!("{source}: {output}"));
        let kib: u64 = peak.1.split(' ').next().unwrap().parse().unwrap();
        if kib > 2 * limit_kib + overhead_kib {
            too_much.push(format!("{source} uses {kib} KiB"));
        }
    }
    assert!(too_much.is_empty(), "{}", too_much.join("\n"));
}

#[test]
fn every_limit_names_its_setting() {
    let limits = Limits {
        source_bytes: 300,
        nesting: 5,
        digits: 10,
        short_function_arity: 3,
        fuel: 10_000,
        bytes: 100_000,
        collection_size: 100,
        output_bytes: 20,
        tool_calls: 1,
        parallel_branches: 3,
        memory_bytes: 2_000,
        ..Limits::default()
    };
    let long = " ".repeat(301);
    for (source, setting) in [
        (long.as_str(), "source_bytes"),
        ("[[[[[[1]]]]]]", "nesting"),
        ("12345678901", "digits"),
        ("(* 1234567890 1234567890 1000000000000000000000000000000)", "digits"),
        ("(reduce * (range 1 90))", "digits"),
        ("#(+ %1 %4)", "short_function_arity"),
        ("#(+ %999999999)", "short_function_arity"),
        ("(loop [] (recur))", "fuel"),
        ("(loop [s \"ab\"] (recur (str s s)))", "bytes"),
        ("(vec (range 101))", "collection_size"),
        ("(println \"0123456789 0123456789\")", "output_bytes"),
        ("(pmap identity [1 2 3 4])", "parallel_branches"),
        ("(memory/put :a (vec (range 90))) (memory/put :b (vec (range 90)))", "memory_bytes"),
    ] {
        let result = run_with(source, Inputs::default(), limits);
        assert!(result.contains(&format!("raise `lisp.{setting}`")), "{source} gives {result}");
    }
    let mut machine = machine("(call \"a\") (call \"b\")", Inputs::default(), limits).unwrap();
    machine.run(u64::MAX);
    machine.answer(CallId(0), ToolAnswer::Value(Value::Nil));
    let Outcome::Error(problem) = machine.run(u64::MAX) else { panic!("no error") };
    assert!(problem_text(&problem).contains("raise `lisp.tool_calls`"), "{}", problem_text(&problem));
}

#[test]
fn hostile_sources_are_refused_with_their_place() {
    let limits = Limits { source_bytes: 4 << 20, ..Limits::default() };
    let brackets = "(".repeat(1_000_000);
    let digits = "9".repeat(1_000_000);
    let prefixes = "'".repeat(1_000_000);
    let discards = "#_".repeat(500_000);
    let arrows = format!("(-> 0 {})", "inc ".repeat(100_000));
    let wide = format!("[{}]", "1 ".repeat(500_000));
    for (source, expected) in [
        ("", "nil"),
        ("  ; only a comment", "nil"),
        ("#_(anything)", "nil"),
        (
            brackets.as_str(),
            "parse_error: brackets nest more than 200 levels deep (raise `lisp.nesting`, or split the form with `let` or `defn`)",
        ),
        (
            prefixes.as_str(),
            "parse_error: brackets nest more than 200 levels deep (raise `lisp.nesting`, or split the form with `let` or `defn`)",
        ),
        (
            discards.as_str(),
            "parse_error: brackets nest more than 200 levels deep (raise `lisp.nesting`, or split the form with `let` or `defn`)",
        ),
        (
            digits.as_str(),
            "parse_error: this integer has 1000000 digits, more than 1000 (raise `lisp.digits`, or write it as a float)",
        ),
        ("\u{0}\u{1}", "parse_error: a name has a control character (take it out)"),
        ("\"open", "parse_error: this string is never closed (add `\"` where it ends; write a quote inside as `\\\"`)"),
    ] {
        let start: String = source.chars().take(20).collect();
        assert_eq!(run_with(source, Inputs::default(), limits), expected, "{start}");
    }
    assert_eq!(run_with(&arrows, Inputs::default(), limits), "100000");
    assert_eq!(run_with(&format!("(count {wide})"), Inputs::default(), limits), "500000");
}

#[test]
fn all_problems_are_listed_up_to_a_bound() {
    assert_eq!(
        run("(foo 1) (let [a] 2) (first) {:a}"),
        "parse_error: this map has a key without a value (add the value, or take the key out)"
    );
    assert_eq!(
        run("(foo 1)\n(let [a] 2)\n(first)"),
        "unbound_var: `foo` has no value (did you mean `for`?)\n\
         analysis_error: `let` has a name without a value (write it as `(let [pattern value …] body)`)\n\
         arity_error: `first` takes 1 argument, not 0 (it is called as `(first coll)`)"
    );
    assert_eq!(run(&"(x) ".repeat(100)).lines().count(), 20);
    assert_eq!(run(&") ".repeat(100)).lines().count(), 20);
}

#[test]
fn two_processes_stop_at_the_same_place() {
    for index in 0..12 {
        let child = child_output(index);
        let here = end_of(index);
        assert!(child.contains(&here), "{here} isn't in {child}");
    }
}

/// The fuel that a program used.
fn fuel_of(source: &str) -> u64 {
    let mut machine = machine(source, Inputs::default(), Limits::default()).unwrap();
    let outcome = machine.run(u64::MAX);
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    machine.fuel_used()
}

#[test]
fn the_gaps_of_a_map_are_paid_for() {
    let map = "(let [m (reduce dissoc (zipmap (range 20000) (range)) (range 9990))]";
    let with_firsts = fuel_of(&format!("{map} (dotimes [_ 100] (first m)))"));
    let without = fuel_of(&format!("{map} (dotimes [_ 100] (count m)))"));
    assert!(with_firsts - without > 100 * 9_000, "{with_firsts} {without}");
}

#[test]
fn looking_into_a_text_is_paid_for() {
    let text = "(let [s (apply str (repeat 20000 \"é\"))]";
    let with_gets = fuel_of(&format!("{text} (dotimes [_ 100] (get s 19999)))"));
    let without = fuel_of(&format!("{text} (dotimes [_ 100] (identity s)))"));
    assert!(with_gets - without > 100 * 2_000, "{with_gets} {without}");
}

#[test]
fn messages_cut_long_names() {
    let name = "x".repeat(100_000);
    for source in [
        name.clone(),
        format!("({name})"),
        format!("#{{\"{name}\" \"{name}\"}}"),
        format!("1{name}"),
        format!("tool/{name}"),
    ] {
        let message = run(&source);
        assert!(message.len() < 400, "{} bytes for {}", message.len(), source.chars().take(10).collect::<String>());
    }
}

#[test]
fn wide_scopes_and_many_captures_are_resolved() {
    let bindings: String = (0..3_000).map(|n| format!("v{n} {n} ")).collect();
    let sum: String = (0..3_000).map(|n| format!("v{n} ")).collect();
    assert_eq!(run(&format!("(let [{bindings}] (+ {sum}))")), "4498500");
    assert_eq!(run(&format!("(let [{bindings}] ((fn [] (fn [] (+ {sum})))))")), "#function");
    assert_eq!(run(&format!("(let [{bindings}] (((fn [] (fn [] (+ {sum}))))))")), "4498500");
}

#[test]
fn a_function_in_memory_counts_with_its_program() {
    let data = "\"some text\" ".repeat(20_000);
    let source = format!("(defn f [] 1) (count [{data}])");
    let limits = Limits { memory_bytes: 100_000, ..Limits::default() };
    let result = run_with(&source, Inputs::default(), limits);
    assert!(result.contains("raise `lisp.memory_bytes`"), "{result}");
    assert_eq!(run_with("(defn f [] 1) 2", Inputs::default(), limits), "2");
}
