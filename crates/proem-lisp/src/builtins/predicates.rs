//! Predicates over the keys of maps: `where` and what joins predicates.
//!
//! A missing value matches no order: `(where :n < 1)` doesn't hold for a map without `:n`.

use super::{Row, lisp};

/// A predicate that compares the value under a key, or at the end of a path.
macro_rules! compares {
    ($name:literal, $test:literal) => {
        lisp(
            $name,
            "key value",
            "",
            concat!("(fn [k v] (fn [m] (let [x (if (vector? k) (get-in m k) (get m k))] ", $test, ")))"),
        )
    };
}

pub(super) const ROWS: &[Row] = &[
    lisp("where/present", "key", "", "(fn [k] (fn [m] (boolean (if (vector? k) (get-in m k) (get m k)))))"),
    compares!("where/=", "(= x v)"),
    compares!("where/not=", "(not= x v)"),
    compares!("where/<", "(and (some? x) (some? v) (neg? (compare x v)))"),
    compares!("where/<=", "(and (some? x) (some? v) (not (pos? (compare x v))))"),
    compares!("where/>", "(and (some? x) (some? v) (pos? (compare x v)))"),
    compares!("where/>=", "(and (some? x) (some? v) (not (neg? (compare x v))))"),
    compares!(
        "where/includes",
        "(cond (nil? x) false (string? x) (str/includes? x v) (set? x) (contains? x v) :else (boolean (some (fn [y] (= y v)) x)))"
    ),
    compares!("where/in", "(if (set? v) (contains? v x) (boolean (some (fn [y] (= y x)) v)))"),
    lisp(
        "all-of",
        "& preds",
        "A predicate that holds where all of these hold.",
        "(fn [& preds] (fn [x] (every? (fn [p] (p x)) preds)))",
    )
    .examples(&[("(filter (all-of (where :a) (where :b > 1)) [{:a 1 :b 2} {:b 2}])", "({:a 1 :b 2})")]),
    lisp(
        "any-of",
        "& preds",
        "A predicate that holds where one of these holds.",
        "(fn [& preds] (fn [x] (boolean (some (fn [p] (p x)) preds))))",
    )
    .examples(&[("(filter (any-of even? neg?) [1 2 -1])", "(2 -1)")]),
    lisp(
        "none-of",
        "& preds",
        "A predicate that holds where none of these holds.",
        "(fn [& preds] (fn [x] (not (some (fn [p] (p x)) preds))))",
    )
    .examples(&[("(filter (none-of even? neg?) [1 2 -1])", "(1)")]),
];
