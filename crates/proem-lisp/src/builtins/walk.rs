//! `clojure.walk`: all parts of a nested value, one after the other. The levels are frames of the machine.

use super::{Row, lisp};

pub(super) const ROWS: &[Row] = &[
    lisp(
        "walk/walk",
        "inner outer form",
        "The value with each element replaced by what `inner` gives, and then `outer` of it.",
        "(fn [inner outer form]
           (cond (map? form) (outer (into {} (map inner form)))
                 (vector? form) (outer (mapv inner form))
                 (set? form) (outer (into #{} (map inner form)))
                 (seq? form) (outer (map inner form))
                 :else (outer form)))",
    )
    .examples(&[("(walk/walk inc (fn [xs] (reduce + xs)) [1 2])", "5")]),
    lisp(
        "walk/postwalk",
        "f form",
        "The value with a function called for each part, the innermost first.",
        "(fn go [f form] (walk/walk (fn [x] (go f x)) f form))",
    )
    .examples(&[("(walk/postwalk (fn [x] (if (number? x) (inc x) x)) {:a [1 {:b 2}]})", "{:a [2 {:b 3}]}")]),
    lisp(
        "walk/prewalk",
        "f form",
        "As `walk/postwalk`, the outermost first.",
        "(fn go [f form] (walk/walk (fn [x] (go f x)) identity (f form)))",
    )
    .examples(&[("(walk/prewalk (fn [x] (if (number? x) (inc x) x)) [1 [2]])", "[2 [3]]")]),
    lisp(
        "walk/postwalk-replace",
        "replacements form",
        "The value with each part replaced that a map has a replacement for, the innermost first.",
        "(fn [smap form] (walk/postwalk (fn [x] (if (contains? smap x) (get smap x) x)) form))",
    )
    .examples(&[("(walk/postwalk-replace {:a 1} [:a [:b :a]])", "[1 [:b 1]]")]),
    lisp(
        "walk/prewalk-replace",
        "replacements form",
        "As `walk/postwalk-replace`, the outermost first.",
        "(fn [smap form] (walk/prewalk (fn [x] (if (contains? smap x) (get smap x) x)) form))",
    )
    .examples(&[("(walk/prewalk-replace {:a [:b] :b 1} [:a])", "[[1]]")]),
    lisp(
        "walk/keywordize-keys",
        "form",
        "The value with all keys of maps that are strings as keywords.",
        "(fn [form] (walk/postwalk (fn [x] (if (map? x) (into {} (map (fn [[k v]] [(if (string? k) (keyword k) k) v]) x)) x)) form))",
    )
    .examples(&[("(walk/keywordize-keys {\"a\" [{\"b\" 1}]})", "{:a [{:b 1}]}")]),
    lisp(
        "walk/stringify-keys",
        "form",
        "The value with all keys of maps that are keywords as strings.",
        "(fn [form] (walk/postwalk (fn [x] (if (map? x) (into {} (map (fn [[k v]] [(if (keyword? k) (name k) k) v]) x)) x)) form))",
    )
    .examples(&[("(walk/stringify-keys {:a [{:b 1}]})", "{\"a\" [{\"b\" 1}]}")]),
];
