//! Names that definitions share with the language.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::{outcome_text, problem_text, run, run_with};
use proem_lisp::{Inputs, Limits, Machine, Names, Signature, Value, resolve_source};

/// The result of the last of several programs, each with the memory of those before.
fn run_in_turn(sources: &[&str]) -> String {
    let mut memory = Value::map([]);
    let mut result = String::new();
    for source in sources {
        let inputs = || Inputs { memory: memory.clone(), ..Inputs::default() };
        result = run_with(source, inputs(), Limits::default());
        if let Ok(mut machine) = crate::support::machine(source, inputs(), Limits::default()) {
            machine.run(u64::MAX);
            memory = machine.memory().clone();
        }
    }
    result
}

#[test]
fn a_function_kept_under_a_builtins_name_is_the_next_programs() {
    for (sources, expected) in [
        (["(defn sum [xs] [:mine xs])", "(sum [1])"], "[:mine [1]]"),
        (["(defn sum [xs] [:mine xs])", "(map sum [[1] [2]])"], "([:mine [1]] [:mine [2]])"),
        (["(def double (fn [x] (* 2 x)))", "(double 4)"], "8"),
        (["(def total +)", "(total 1 2)"], "3"),
        (["(def sum +)", "(sum 1 2)"], "3"),
        (["{:index-by (fn [k rows] :mine)}", "(index-by :id [])"], ":mine"),
        (["(memory/put :inc dec)", "(-> 5 inc)"], "4"),
        (["(defn inc [x] (+ x 100))", "(defn inc [x] (+ x 1000)) (inc 1)"], "1001"),
        (["(defonce inc (fn [x] 7))", "(defonce inc (fn [x] 8)) (inc 1)"], "7"),
        // A function written in the language goes on to call the language.
        (["(defn reduce [& _] :mine)", "(sum-by :n [{:n 1} {:n 2}])"], "3"),
        (["(defn = [& _] :mine)", "(filter (where :n = 1) [{:n 1} {:n 2}])"], "({:n 1})"),
        (["(defn + [a b] (clojure.core/+ a b 1))", "[(+ 1 1) (reduce + [1 1])]"], "[3 3]"),
    ] {
        assert_eq!(run_in_turn(&sources), expected, "{sources:?}");
    }
}

#[test]
fn data_kept_under_a_builtins_name_leaves_the_name_to_the_builtin() {
    for (sources, expected) in [
        (["{:count 3 :first nil}", "(map count [[1 2]])"], "(2)"),
        (["{:count 3}", "[memory/count (memory/get :count) (count [])]"], "[3 3 0]"),
        (["(memory/put :max 9)", "(max 1 memory/max)"], "9"),
        (["{:when (fn [x] :mine)}", "(when true 1)"], "1"),
        (["{:str/join (fn [& _] :mine)}", "(str/join [1 2])"], "\"12\""),
    ] {
        assert_eq!(run_in_turn(&sources), expected, "{sources:?}");
    }
}

#[test]
fn a_definition_that_a_later_program_would_not_find_is_refused() {
    let refused = |reason: &str, name: &str| {
        format!(
            "{reason}_error: `{name}` is a function of the language, so a later program would not find this (choose another name, such as `my-{name}`, or use `let` if only this program needs it)"
        )
    };
    for (source, reason, name) in [
        ("(def count 3)", "analysis", "count"),
        ("(def sum (reduce + [1 2]))", "eval", "sum"),
        ("(defonce max [1])", "analysis", "max"),
        ("(def name \"x\") name", "analysis", "name"),
        ("(def first (keyword \"k\"))", "eval", "first"),
        ("(map (fn [x] (def key x)) [1])", "eval", "key"),
    ] {
        assert_eq!(run(source), refused(reason, name), "{source}");
    }
    for (source, what) in [
        ("(defn where [k] k)", "`where` can't be defined, since it is a form of the language"),
        ("(def if 1)", "`if` can't be defined, since it is a form of the language"),
        ("(def *1 (fn [] 1))", "`*1` can't be defined, since it is one of the last results"),
    ] {
        assert!(run(source).starts_with(&format!("analysis_error: {what} (choose another name")), "{}", run(source));
    }
}

/// The result of a source with tools under names of the language.
fn run_with_tools(source: &str) -> String {
    let tools = ["find", "count", "keep", "when", "search-all"];
    let signature = Arc::new(Signature::parse("(id :int?) -> :any", &Limits::default()).unwrap());
    let names = Names {
        tools: Some(tools.map(String::from).into_iter().collect::<BTreeSet<_>>()),
        signatures: tools.map(|name| (name.to_owned(), Arc::clone(&signature))).into_iter().collect::<BTreeMap<_, _>>(),
        ..Names::default()
    };
    match resolve_source(source, &names, &Limits::default()) {
        Ok(program) => {
            outcome_text(&Machine::new(Arc::new(program), Inputs::default(), Limits::default()).run(u64::MAX))
        }
        Err(problems) => problems.iter().map(problem_text).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn a_tool_under_a_functions_name_is_called_with_its_namespace_and_the_function_without() {
    for (source, expected) in [
        ("(tool/find {:id 1})", "call 0:find{:id 1}"),
        ("(tool/count :id 1)", "call 0:count{:id 1}"),
        ("(tool/when {})", "call 0:when{}"),
        ("(call \"keep\" {:id 1})", "call 0:keep{:id 1}"),
        ("[(count [1 2]) (keep :a [{:a 1}]) (when true 1)]", "[2 (1) 1]"),
        ("(let [m {:a 1}] (count m))", "1"),
        ("(clojure.core/count {:id 1})", "1"),
        ("(let [find (fn [x] [:mine x])] (find {:id 1}))", "[:mine {:id 1}]"),
        ("(map count [[1] {}])", "(1 0)"),
    ] {
        assert_eq!(run_with_tools(source), expected, "{source}");
    }
    let meant = |name: &str| {
        format!(
            "analysis_error: `{name}` is a function, and this program has a tool `{name}`: either may be meant (write \
             `(tool/{name} …)` for the tool, and `(clojure.core/{name} …)` for the function)"
        )
    };
    assert_eq!(run_with_tools("(count {:id 1})"), meant("count"));
    assert!(run_with_tools("(find {:id 1})").starts_with(&meant("find")));
    assert_eq!(run_with_tools("(keep :id 1)"), meant("keep"));
    let bare = run_with_tools("(search_all {:id 1})");
    assert!(bare.contains("`search-all` is a tool: call it as `(tool/search-all {…})`"), "{bare}");
}
