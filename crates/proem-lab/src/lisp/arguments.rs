//! Expressions for each documented function, made from a table of arguments by the names of its parameters.

use proem_lisp::documentation::{Entry, EntryKind, entries};

/// At most this many expressions for a function. More are thinned out evenly.
const MOST_EACH: usize = 14;

type Arguments = &'static [&'static str];

/// Of all types: nil, empty, negative, mixed, nested, beyond ASCII.
const ANY: Arguments = &[
    "3",
    "nil",
    "[]",
    "-1",
    "2.5",
    "\"\"",
    "\"aé😀\"",
    ":k",
    "[1 [2 nil]]",
    "'(1 2)",
    "{:a 1 \"b\" [2]}",
    "#{1 2}",
    "true",
    "'sym",
];
const NUMBERS: Arguments = &[
    "7",
    "0",
    "-7",
    "2.5",
    "-0.5",
    "nil",
    "\"1\"",
    "10000000000000000000000",
    "-9007199254740993",
    "##Inf",
    "##NaN",
    "[1]",
];
const COUNTS: Arguments = &["2", "0", "-1", "nil", "1.5", "100", "\"1\"", "1"];
const COLLECTIONS: Arguments = &[
    "[3 1 2]",
    "nil",
    "[]",
    "'(4 5 6)",
    "#{7}",
    "{:a 1 :b 2}",
    "\"héllo\"",
    "[nil false -1]",
    "[[1 2] [3 [4]]]",
    "5",
    ":k",
    "(range 6)",
    "()",
    "[1 1 2.0 \"é\" nil]",
    "{}",
    "#{}",
    "\"\"",
];
const NUMBER_COLLECTIONS: Arguments =
    &["[5 -2 8 5]", "nil", "[]", "'(1.5 2)", "#{7}", "(range 5)", "[nil 1]", "[\"a\" 1]", "4"];
const MAPS: Arguments =
    &["{:a 1 :b 2}", "nil", "{}", "{\"é\" [1] nil 2}", "{1 {:x nil}}", "[[:a 1]]", "5", "\"ab\"", "#{:a}"];
const MAP_LISTS: Arguments =
    &["#{{:a 1 :b 2} {:a 2 :b 3}}", "nil", "#{}", "[{:a 1 :b 2}]", "#{{:a nil}}", "[{}]", "5", "#{{:a 1 :c \"é\"}}"];
const SETS: Arguments = &["#{1 2 3}", "nil", "#{}", "#{2}", "#{nil \"é\"}", "#{[1] {:a 1}}", "5"];
/// For functions that look things up.
const STRUCTURES: Arguments = &[
    "{:a {:b 1} \"é\" [2]}",
    "nil",
    "{}",
    "[[5 6] {:x 1}]",
    "'(4 5)",
    "#{:a 0}",
    "\"héllo\"",
    "5",
    "{0 nil nil 1}",
    "[]",
];
const KEYS: Arguments = &[":a", "0", "nil", "-1", "\"é\"", "5", "1.5", "[1]", "7"];
const KEY_LISTS: Arguments = &["[:a]", "nil", "[]", "'(:a :c)", "[1 \"é\" nil]", "#{:b}", "5"];
const PATHS: Arguments = &["[:a]", "nil", "[]", "[0]", "[1 :x]", "[:a :b]", "[\"é\" 0]", "'(:b)", "5"];
const PAIRS: Arguments = &[":a 1", "nil nil", ":a", "1 2 1 3", "\"é\" []", "[] {}"];
const FUNCTIONS: Arguments = &["str", "inc", "identity", ":a", "{1 2}", "nil", "count", "#{1 3}", "5", "vector"];
const PREDICATES: Arguments =
    &["some?", "#{1 3}", "odd?", ":a", "nil", "(fn [_] nil)", "string?", "(constantly true)", "5", "neg?"];
const KEY_FUNCTIONS: Arguments = &["-", "identity", ":a", "(constantly 1)", "count", "str", "nil", "5"];
const COMPARATORS: Arguments = &[">", "<", "compare", "(fn [a b] (compare b a))", "nil", "(fn [_ _] false)"];
const REDUCERS: Arguments = &["conj", "+", "str", "(fn [a b] (reduced b))", "max", "nil", "vector", "merge"];
const TEXTS: Arguments =
    &["\"Hello Wörld\"", "\"\"", "nil", "\"  a b \\n\"", "\"ÀÉ😀ß\"", "5", ":key", "\"a,b,,c,,\"", "\"aXbXc\"", "[1]"];
const PARTS: Arguments = &["\"l\"", "\"\"", "nil", "\"é\"", "\"Hello\"", "5", "\"X\"", "\",\""];
const PATTERNS: Arguments =
    &["#\"[a-z]\"", "#\"(\\w)(\\w)?\"", "#\"\"", "#\",\"", "#\"[éß]+\"", "\"l\"", "nil", "#\"^\\s*|$\"", "#\"X\""];
const PATTERN_TEXTS: Arguments = &["\"l\"", "\"\"", "\"(o)\"", "\"[lX,]\"", "nil", "5", "\"\\\\s+\""];
const REPLACEMENTS: Arguments = &["\"_\"", "\"\"", "\"$0-$0\"", "nil", "\"é\"", "5"];
const NUMBER_TEXTS: Arguments = &[
    "\"42\"",
    "\"\"",
    "nil",
    "\"-7\"",
    "\"+5\"",
    "\" 1\"",
    "\"1.5\"",
    "\"1e3\"",
    "\"abc\"",
    "\"99999999999999999999\"",
    "42",
    ":a",
    "\"true\"",
    "\"False\"",
    "\"0x1F\"",
    "\"NaN\"",
    "\"-Infinity\"",
    "\"1.\"",
    "\".5\"",
    "\"007\"",
];
const TEMPLATES: Arguments = &[
    "\"%s|%s\"",
    "\"\"",
    "\"%5s\"",
    "\"%d\"",
    "\"%.2f\"",
    "\"%05d\"",
    "\"%x\"",
    "nil",
    "\"%-4s|\"",
    "\"%%\"",
    "\"%b\"",
];
const FORMS: Arguments = &[
    "[1 {:a [2 \"é\"]}]",
    "nil",
    "[]",
    "{\"a\" 1 :b {\"c\" 2}}",
    "'(1 (2 nil))",
    "#{1 [2]}",
    "5",
    "\"ab\"",
    "{1 2}",
    "{:a nil}",
];
const FORM_FUNCTIONS: Arguments = &[
    "identity",
    "(fn [x] (if (number? x) (inc x) x))",
    "str",
    "(fn [x] (if (map? x) (vec x) x))",
    "(constantly 0)",
    "nil",
];
const ENTRIES: Arguments = &["(first {:a 1})", "(first {nil [1]})", "nil", "5", "(find {\"é\" 2} \"é\")"];

/// Functions whose parameters `x`, `y` and `more` are numbers.
const ON_NUMBERS: Arguments =
    &["inc", "dec", "max", "min", "<", ">", "<=", ">=", "==", "abs", "long", "int", "double", "float", "bigint", "num"];

/// Functions that take a path or a key.
const LOOK_UP: Arguments = &["get", "get-in", "assoc", "assoc-in", "update", "update-in", "find", "contains?"];

/// The arguments that a parameter of a function takes. The first one is what is meant.
fn arguments_of(function: &str, parameter: &str) -> Arguments {
    let is_on_numbers = ON_NUMBERS.contains(&function.trim_end_matches('\''))
        || ["Math/", "bit-", "unsigned-bit", "+", "-", "*", "/"].iter().any(|family| function.starts_with(family));
    let is_set = function.starts_with("set/");
    // The rows go from the special to the general. A parameter's name means the same in most functions, and the
    // exceptions must be met before the name's own row.
    match parameter {
        "x" | "y" | "more" | "numbers" if is_on_numbers => NUMBERS,
        "numbers" | "divisor" | "code" => NUMBERS,
        "n" if matches!(function, "quot" | "rem" | "mod" | "Math/floorDiv" | "Math/floorMod")
            || function.ends_with('?') =>
        {
            NUMBERS
        }
        "n" | "index" | "start" | "end" | "step" | "limit" | "from?" => COUNTS,
        "s" | "other" if function.starts_with("set/") && function != "set/join" => SETS,
        "sets" | "set" => SETS,
        "rel" | "other" if is_set => MAP_LISTS,
        "names" if is_set => &["{:a :z}", "nil", "{}", "{:a :b}", "{:q :r}", "5"],
        "x" | "name" if matches!(function, "keyword" | "symbol" | "name" | "namespace") => {
            &["\"a\"", "nil", ":k/x", "'s/y", "\"\"", "\"a/b\"", "5", "\"é\"", "[]"]
        }
        "f" if matches!(function, "reduce" | "reductions" | "merge-with" | "reduce-kv") => REDUCERS,
        "f" | "inner" | "outer" if function.starts_with("walk/") => FORM_FUNCTIONS,
        "coll" if LOOK_UP.contains(&function) => STRUCTURES,
        "default" | "value" | "args" => &["3", "nil", "[]", "\"é\""],
        "pred" if function == "comparator" => COMPARATORS,
        "coll" | "colls" if function == "sort" => NUMBER_COLLECTIONS,
        "s" if function.starts_with("parse-") => NUMBER_TEXTS,
        "s" if function == "re-pattern" => PATTERN_TEXTS,
        "match" | "re" => PATTERNS,
        "separator" if function == "str/split" => PATTERNS,
        "replacements" if function.starts_with("str/") => {
            &["{\\a \"1\"}", "nil", "{}", "{\\é 2}", "{\"l\" \"L\"}", "5"]
        }
        _ => arguments_by_name(parameter),
    }
}

fn arguments_by_name(parameter: &str) -> Arguments {
    match parameter {
        "coll" | "colls" | "to" | "from" | "v" | "root" | "vals" => COLLECTIONS,
        "map" | "maps" | "smap" | "replacements" => MAPS,
        "key" => KEYS,
        "keys" => KEY_LISTS,
        "path" => PATHS,
        "pairs" => PAIRS,
        "f" | "fs" | "children" => FUNCTIONS,
        "pred" | "preds" | "branch" => PREDICATES,
        "keyfn" => KEY_FUNCTIONS,
        "comparator" => COMPARATORS,
        "s" => TEXTS,
        "part" | "other" => PARTS,
        "regex" => PATTERN_TEXTS,
        "replacement" => REPLACEMENTS,
        "template" => TEMPLATES,
        "form" => FORMS,
        "entry" => ENTRIES,
        _ => ANY,
    }
}

/// One call for each argument of each parameter while the others are what is meant, one for each number of
/// arguments, and some in which all change together.
fn calls_of(entry: &Entry) -> Vec<String> {
    let words: Vec<&str> = entry.signature.split_whitespace().collect();
    let is_variadic = words.contains(&"&");
    let columns: Vec<Arguments> = words
        .iter()
        .filter(|word| **word != "&")
        .map(|word| arguments_of(entry.name, word.trim_end_matches('?')))
        .collect();
    let at = |column: Arguments, index: usize| column.iter().cycle().nth(index).copied().unwrap_or("nil");
    let mut calls = Vec::new();
    let mut add = |arguments: Vec<&str>| {
        let space = if arguments.is_empty() { "" } else { " " };
        let call = format!("({}{space}{})", entry.name, arguments.join(" "));
        if !calls.contains(&call) {
            calls.push(call);
        }
    };
    for length in 0..=columns.len() {
        add(columns.iter().take(length).map(|column| at(column, 0)).collect());
    }
    let longest = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    for index in 1..longest {
        // From optional parameters on, a call may end before them.
        add(columns.iter().map(|column| at(column, index)).collect());
        for (varied, column) in columns.iter().enumerate() {
            if index < column.len() {
                add(columns
                    .iter()
                    .enumerate()
                    .map(|(place, other)| at(other, if place == varied { index } else { 0 }))
                    .collect());
            }
        }
        if is_variadic && let Some(last) = columns.last() {
            add(columns.iter().map(|column| at(column, 0)).chain([at(last, index), at(last, index + 1)]).collect());
        }
    }
    calls
}

/// Keeps calls from all parts of the list.
fn thin_out(calls: Vec<String>) -> Vec<String> {
    let count = calls.len();
    let is_kept = |place: usize| place * MOST_EACH / count != (place + 1) * MOST_EACH / count;
    if count <= MOST_EACH {
        return calls;
    }
    calls.into_iter().enumerate().filter(|(place, _)| is_kept(*place)).map(|(_, call)| call).collect()
}

/// Expressions for all documented functions, also those that Clojure doesn't have.
pub(crate) fn generate_expressions() -> Vec<String> {
    let functions = entries().filter(|entry| entry.kind == EntryKind::Function && !entry.signature.is_empty());
    functions.flat_map(|entry| thin_out(calls_of(&entry))).collect()
}
