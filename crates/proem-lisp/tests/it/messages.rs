//! The messages for mistakes: each names the function that was called and the right form.

use crate::support::run;
use proem_lisp::documentation::{alternative, entries};

#[test]
fn a_wrong_argument_is_told_how_the_function_is_called() {
    for (source, message) in [
        ("(take [1] 2)", "type_error: `take` takes an integer, not a vector (it is called as `(take n coll)`)"),
        ("(map [1 2] inc)", "type_error: a function isn't a collection (it is called as `(map f coll & colls)`)"),
        (
            "(filter 1 [1])",
            "type_error: `filter` takes a function, not an integer (it is called as `(filter pred coll)`)",
        ),
        (
            "(reduce 1 [1 2])",
            "type_error: `reduce` takes a function, not an integer (it is called as `(reduce f start? coll)`)",
        ),
        (
            "(sort-by count [[1]] >)",
            "type_error: a function isn't a collection (it is called as `(sort-by keyfn comparator? coll)`)",
        ),
        // A function that is written in the language is named, and not what it calls.
        ("(sum-by :n inc)", "type_error: a function isn't a collection (it is called as `(sum-by keyfn coll)`)"),
        (
            "(map name [{}])",
            "type_error: `name` takes a keyword, a symbol or a string, not a map (it is called as `(name x)`)",
        ),
        // A mistake in a function of the program is that function's, whatever calls it.
        (
            "(sum-by (fn [x] (subs x :a)) [\"b\"])",
            "type_error: `subs` takes an index, not a keyword (it is called as `(subs s start end?)`)",
        ),
    ] {
        assert_eq!(run(source), message, "{source}");
    }
}

#[test]
fn a_mistake_that_clojure_lets_pass_is_told() {
    for (source, part) in [
        ("(contains? [\"a\"] \"a\")", "(some #{x} coll)"),
        ("(str/join [\"a\"] \", \")", "(str/join \", \" coll)"),
        ("(get-in {} \"a.b\")", "[:a :b]"),
        ("(update-in {} :a inc)", "[:a :b]"),
        ("(assoc-in {} :a 1)", "[:a :b]"),
        ("(= 'open' 1)", "`\"open\"`"),
        ("(str hello' 1)", "\"text\""),
        ("(str ' hello')", "\"text\""),
        ("(map #(inc) [1])", "(inc x)"),
        ("(map #(rand) [1])", "nothing is random"),
        ("(map #(str \"a\") [1])", "#(f %)"),
        ("(map (fn [k v] k) {:a 1})", "(fn [[key value]] …)"),
        ("(reduce (fn [x] x) [1 2])", "(fn [result x] …)"),
        ("(map [:a :b] [{:a 1}])", "(juxt :a :b)"),
        ("(:a)", "(:a map default)"),
        ("(apply :a [])", "(:a map default)"),
        ("({:a 1} :a :b :c)", "`select-keys`"),
        ("(memory/put [1] 2)", "(memory/put :name …)"),
        ("(+ [1 2])", "(apply + coll)"),
        ("(+ 1 {:n 2})", "(map :key maps)"),
        ("(length [1])", "use `count`"),
        ("(map-vals count {:a [1]})", "use `(update-vals map f)`"),
        ("(let [{:keys [orders]} ctx] orders)", "`ctx/orders`"),
        ("(filter (and map? (where :a)) [])", "(all-of f g)"),
        ("(filter (or (where :a) (where :b)) [])", "(any-of f g)"),
        ("(filter (not (where :a)) [])", "(none-of f)"),
        ("(parse-double 1.5)", "(if (string? x) (parse-double x) x)"),
        ("(with-out-str 1)", "make text with `str`"),
        ("(letfn [(a [] (b)) (b [] 1)] (a))", "define `b` and what calls it with `defn`"),
        ("(str/contains? \"ab\" \"a\")", "use `str/includes?`"),
        ("(cheshire.core/parse-string \"{}\")", "use `json/parse`"),
    ] {
        let result = run(source);
        assert!(result.ends_with(')') && result.contains(part), "{source}: {result}");
    }
    // These look alike and are right.
    for (source, value) in [
        ("(contains? [7] 0)", "true"),
        ("('+' {(symbol \"+'\") 1})", "1"),
        ("(get-in {:a 1} nil)", "{:a 1}"),
        ("(get-in {:a {:b 1}} '(:a :b))", "1"),
        ("(str/join nil [1 2])", "\"12\""),
        ("(memory/put 7 2)", "2"),
        ("(let [x' 1] (inc x'))", "2"),
        ("(filter (or nil (where :a)) [{:a 1}])", "({:a 1})"),
        ("(let [ctx {:n 1}] (:n ctx))", "1"),
    ] {
        assert_eq!(run(source), value, "{source}");
    }
}

#[test]
fn nothing_that_exists_is_told_not_to() {
    // Of members, which begin with a dot, all that don't exist are told the same.
    for entry in entries().filter(|entry| !entry.name.starts_with('.')) {
        assert_eq!(alternative(entry.name), None, "{}", entry.name);
    }
}
