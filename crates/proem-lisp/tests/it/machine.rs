//! Stopping, going on, tools and memory.

use crate::support::{check, machine, outcome_text, run, run_with};
use proem_lisp::{CallId, Inputs, Limits, Machine, Outcome, ToolAnswer, Value};

fn begin(source: &str) -> Machine {
    machine(source, Inputs::default(), Limits::default()).unwrap()
}

#[test]
fn functions_call_each_other_and_themselves() {
    check(&[
        ("(defn fact [n] (if (zero? n) 1 (* n (fact (dec n))))) (fact 20)", "2432902008176640000"),
        (
            "(defn even [n] (if (zero? n) true (odd (dec n)))) (defn odd [n] (if (zero? n) false (even (dec n)))) (even 101)",
            "false",
        ),
        ("((fn down [n] (if (pos? n) (down (dec n)) :done)) 10000)", ":done"),
        ("(let [k 3 add (fn [x] (fn [y] (+ x y k)))] ((add 1) 2))", "6"),
        ("((fn ([a] [:one a]) ([a b] [:two a b]) ([a b & c] [:more c])) 1 2 3 4)", "[:more (3 4)]"),
        ("(loop [[x & xs] [1 2 3] sum 0] (if x (recur xs (+ sum x)) sum))", "6"),
        ("(reduce (fn [m [k v]] (assoc m k v)) {} [[:a 1] [:b 2]])", "{:a 1 :b 2}"),
        ("(let [{:keys [a b] :or {b 2} :as m} {:a 1}] [a b m])", "[1 2 {:a 1}]"),
        ("((fn [& {:keys [a]}] a) :a 1)", "1"),
        ("(map (fn [x] (map (fn [y] [x y]) [1 2])) [:a])", "(([:a 1] [:a 2]))"),
    ]);
}

#[test]
fn arithmetic_with_literals_is_done_before_the_program_runs() {
    let fuel = |source: &str| {
        let mut machine = begin(source);
        let value = outcome_text(&machine.run(u64::MAX));
        (value, machine.fuel_used())
    };
    for (source, same) in [
        ("(* 24 60 60)", "86400"),
        ("(+ 1 (* 2 3) (- 10 4 1))", "12"),
        ("(* 1.5 2.0)", "3.0"),
        ("(fn [x] x) (< 1 2)", "(fn [x] x) true"),
        ("(let [day (* 24 60 60)] (* 7 day))", "(let [day 86400] (* 7 day))"),
    ] {
        assert_eq!(fuel(source), fuel(same), "{source}");
    }
    // A jump may come between the operands, and what doesn't fit or isn't a number waits for the program.
    check(&[
        ("(map #(+ (if % 1 2) 3) [true false])", "(4 5)"),
        ("(let [f false] (+ 1 (or f 2) 3))", "6"),
        ("(let [f false] (* (if f 5 (do 1 7)) 2 3))", "42"),
        ("(* 9223372036854775807 2)", "18446744073709551614"),
        ("(< 1 2 2)", "false"),
        ("(= 1 1 1)", "true"),
        ("(let [+ -] (+ 5 3))", "2"),
        ("(defn + [a b] 7) (+ 1 1)", "7"),
    ]);
    assert_eq!(run("(+ 1 nil 2)"), run("(+ (do 1) nil 2)"));
}

#[test]
fn a_million_calls_deep_needs_no_stack_of_the_host() {
    let deep = "((fn down [n] (if (pos? n) (inc (down (dec n))) 0)) 200000)";
    let on_small_stack = || assert_eq!(run(deep), "200000");
    std::thread::Builder::new().stack_size(256 << 10).spawn(on_small_stack).unwrap().join().unwrap();
}

#[test]
fn a_tool_call_suspends_and_goes_on_with_its_answer() {
    let mut machine = begin("(let [users (call \"get-users\" {:limit 2})] (mapv :name users))");
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "call 0:get-users{:limit 2}");
    // Asked again before it is answered, it waits for the same.
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "call 0:get-users{:limit 2}");
    let user = Value::map([(Value::text("name"), Value::text("Ada"))]);
    machine.answer(CallId(0), ToolAnswer::Value(Value::vector(vec![user])));
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "[\"Ada\"]");
    assert_eq!(machine.tool_calls(), 1);
}

#[test]
fn branches_call_their_tools_together_in_order() {
    let mut machine =
        begin("(pmap (fn [x] (let [a (tool/get {:id x})] (if (= x 2) (tool/more :a a :b 1) a))) [1 2 3])");
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "call 0:get{:id 1} 1:get{:id 2} 2:get{:id 3}");
    for id in [2, 0, 1] {
        machine.answer(CallId(id), ToolAnswer::Value(Value::Int(i64::try_from(id).unwrap() * 10)));
    }
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "call 3:more{:a 10 :b 1}");
    machine.answer(CallId(3), ToolAnswer::Value(Value::keyword("last")));
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "(0 :last 20)");
}

#[test]
fn branches_nest_and_call_tools_directly() {
    let mut machine =
        begin("(pcalls (fn [] (pmap (fn [x] (call \"t\" {:x x})) [1 2])) (fn [] (call \"u\")) (fn [] 3))");
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "call 0:t{:x 1} 1:t{:x 2} 2:u{}");
    for id in 0..3 {
        machine.answer(CallId(id), ToolAnswer::Value(Value::Int(7)));
    }
    assert_eq!(outcome_text(&machine.run(u64::MAX)), "((7 7) 7 3)");
}

#[test]
fn a_tool_inside_any_function_suspends() {
    for source in [
        "(map #(call \"t\" {:x %}) [1 2])",
        "(reduce (fn [s x] (+ s (call \"t\" {:x x}))) 0 [1 2])",
        "(for [x [1 2]] (call \"t\" {:x x}))",
    ] {
        let mut machine = begin(source);
        for (id, x) in [(0, 1), (1, 2)] {
            assert_eq!(outcome_text(&machine.run(u64::MAX)), format!("call {id}:t{{:x {x}}}"), "{source}");
            machine.answer(CallId(id), ToolAnswer::Value(Value::Int(5)));
        }
        let expected = if source.starts_with("(reduce") { "10" } else { "(5 5)" };
        assert_eq!(outcome_text(&machine.run(u64::MAX)), expected, "{source}");
    }
}

#[test]
fn a_tool_that_fails_ends_the_program_at_its_call() {
    let mut machine = begin("\n(call \"nope\")");
    machine.run(u64::MAX);
    machine.answer(CallId(0), ToolAnswer::unknown_tool("nope", "did you mean `hope`?"));
    let Outcome::Error(problem) = machine.run(u64::MAX) else { panic!("no error") };
    assert_eq!(
        problem.render("program", "\n(call \"nope\")"),
        "error: there is no tool `nope`\n --> program:2:1\n  |\n2 | (call \"nope\")\n  | ^^^^^^^^^^^^^\n  = help: did you mean `hope`?\n"
    );
}

#[test]
fn return_and_fail_end_the_program_from_anywhere() {
    check(&[
        ("(do (return {:a 1}) (/ 1 0))", "return {:a 1}"),
        ("(map (fn [x] (if (= x 2) (fail {:reason :two}) x)) [1 2 3])", "fail {:reason :two}"),
        ("(pmap (fn [x] (return x)) [1 2])", "return 1"),
        ("(let [f return] (f 1))", "return 1"),
        ("\"(return 1)\"", "\"(return 1)\""),
    ]);
}

#[test]
fn memory_is_committed_by_success_only() {
    let memory = |source: &str| {
        let mut machine = begin(source);
        machine.run(u64::MAX);
        format!("{:?}", machine.memory())
    };
    for (source, expected) in [
        ("1", "{}"),
        ("{:a 1}", "{:a 1}"),
        ("{:a 1 :return 2}", "{:a 1}"),
        ("(memory/put :a 1)", "{:a 1}"),
        ("(def a 1) (def b (inc a))", "{:a 1 :b 2}"),
        ("(map (fn [x] (memory/put x x)) [1 2])", "{1 1 2 2}"),
        ("(memory/put :a 1) (return {:b 1})", "{:a 1}"),
        ("(memory/put :a 1) (fail {:b 1})", "{}"),
        ("(memory/put :a 1) (/ 1 0)", "{}"),
        ("(memory/put :a 1) (call \"t\")", "{}"),
    ] {
        assert_eq!(memory(source), expected, "{source}");
    }
    assert_eq!(run("{:a 1 :return 2}"), "2");
}

#[test]
fn inputs_memory_and_history_are_names() {
    let map = |key: &str, value: Value| Value::map([(Value::text(key), value)]);
    let inputs = Inputs {
        context: map("user_id", Value::Int(7)),
        memory: map("seen", Value::vector(vec![Value::Int(1)])),
        history: [Value::Int(1), Value::Int(2), Value::Nil],
        ..Inputs::default()
    };
    let source = "[ctx/user_id data/user_id ctx/none memory/seen seen memory/none (memory/get :seen) *1 *2 *3]";
    assert_eq!(run_with(source, inputs, Limits::default()), "[7 7 nil [1] [1] nil [1] 1 2 nil]");
}

#[test]
fn functions_outlive_their_program() {
    let limits = Limits::default();
    let mut first = machine("(def k 2) (defn f [x] (* k x))", Inputs::default(), limits).unwrap();
    first.run(u64::MAX);
    let inputs = Inputs { memory: first.memory().clone(), ..Inputs::default() };
    assert_eq!(run_with("(map f [1 2])", inputs, limits), "(2 4)");
}

#[test]
fn endless_sequences_work_where_something_takes_from_them() {
    check(&[
        ("(take 5 (range))", "(0 1 2 3 4)"),
        ("(take 3 (filter even? (map inc (range))))", "(2 4 6)"),
        ("(take-while #(< % 20) (iterate #(* 2 %) 1))", "(1 2 4 8 16)"),
        ("(nth (iterate inc 5) 10)", "15"),
        ("(first (drop 3 (iterate inc 0)))", "3"),
        ("(take 2 (drop-while #(< % 5) (iterate inc 0)))", "(5 6)"),
        ("(some #(if (> % 5) %) (range))", "6"),
        ("(take 4 (cycle [1 2]))", "(1 2 1 2)"),
        ("(zipmap [:a :b] (range))", "{:a 0 :b 1}"),
        ("(map vector (range) [:a :b])", "([0 :a] [1 :b])"),
        ("(take 3 (repeatedly (fn [] 7)))", "(7 7 7)"),
        (
            "(let [[a b] (iterate inc 1)] a)",
            "memory_exceeded: this sequence has no end (take what you need with `take` or `take-while`; no setting makes room for a sequence without an end)",
        ),
        (
            "(count (range))",
            "memory_exceeded: this sequence has no end (take what you need with `take` or `take-while`; no setting makes room for a sequence without an end)",
        ),
        (
            "(sort (range))",
            "memory_exceeded: this sequence has no end (take what you need with `take` or `take-while`; no setting makes room for a sequence without an end)",
        ),
        (
            "(println (range))",
            "memory_exceeded: this sequence has no end (take what you need with `take` or `take-while`; no setting makes room for a sequence without an end)",
        ),
    ]);
}

#[test]
fn a_machine_goes_from_thread_to_thread() {
    fn assert_send<T: Send + 'static>(value: T) -> T {
        value
    }
    let mut machine = assert_send(begin("(+ 1 2)"));
    let end = std::thread::spawn(move || outcome_text(&machine.run(u64::MAX))).join().unwrap();
    assert_eq!(end, "3");
}

#[test]
fn what_the_host_keeps_changes_nothing() {
    let source = "(let [rows (call \"rows\")] (count (reduce (fn [v x] (conj v (assoc x :n 1))) rows (take 50 rows))))";
    let row = || Value::map([(Value::keyword("id"), Value::Int(1))]);
    let run = |kept: bool| {
        let mut machine = begin(source);
        machine.run(u64::MAX);
        let rows = Value::vector((0..100).map(|_| row()).collect());
        let _kept = kept.then(|| (rows.clone(), rows.elements().cloned().collect::<Vec<_>>()));
        machine.answer(CallId(0), ToolAnswer::Value(rows));
        (outcome_text(&machine.run(u64::MAX)), machine.fuel_used(), machine.bytes_used())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_function_for_entries_gets_a_key_and_a_value_and_nothing_that_lies_below() {
    // A value without entries is refused, rather than called with operands of the expression around it.
    for coll in ["#{:a}", "\"ab\"", "[[1 2 3] 4]", "(list :a)", "(list [1])", "(list [1 2 3])", "#{[1 2 3]}"] {
        let result = run(&format!("[:secret (reduce-kv (fn [out k v] (conj out [k v])) [] {coll})]"));
        let is_vector = coll.starts_with('[');
        assert!(
            if is_vector { result == "[:secret [[0 [1 2 3]] [1 4]]]" } else { result.starts_with("type_error") },
            "{coll}: {result}"
        );
    }
    check(&[
        ("(reduce-kv (fn [out k v] (conj out [k v])) [] {:a 1})", "[[:a 1]]"),
        ("(update-vals [1 2] inc)", "[2 3]"),
        ("(update-vals nil inc)", "{}"),
    ]);
    assert!(run("(update-vals \"ab\" str)").starts_with("type_error"));
}
