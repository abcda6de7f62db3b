//! The nearest name, and the alternative to what doesn't exist here.

use alloc::vec::Vec;

/// The name that needs the fewest changes, if these are few for its length. The first of equals.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let most = length.div_ceil(3).min(3);
    let mut best: Option<(usize, &str)> = None;
    for other in names {
        // Any short name is near any other, so a short one only leads to longer ones.
        let is_short = length < 3 && other.chars().count() <= length;
        if other == name || is_short || length < 2 || other.starts_with('\0') {
            continue;
        }
        if let Some(distance) = distance(name, other, most)
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, other));
        }
    }
    best.map(|(_, name)| name)
}

/// How many characters have to be changed, put in, taken out or swapped with the next. `None` for more than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most.saturating_mul(4) || a.len() > 64 {
        return None;
    }
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for c in a.chars() {
        let mut row = Vec::with_capacity(last.len());
        row.push(last.first()?.saturating_add(1));
        for (at, other) in b.iter().enumerate() {
            let replaced = last.get(at)?.saturating_add(usize::from(c != *other));
            let removed = last.get(at.saturating_add(1))?.saturating_add(1);
            let added = row.last()?.saturating_add(1);
            let mut least = replaced.min(removed).min(added);
            if let Some(two) = at.checked_sub(1)
                && b.get(two) == Some(&c)
                && previous == Some(*other)
                && let Some(cost) = before.get(two)
            {
                least = least.min(cost.saturating_add(1));
            }
            row.push(least);
        }
        before = core::mem::replace(&mut last, row);
        previous = Some(c);
    }
    last.last().copied().filter(|distance| *distance <= most)
}

/// The replacement for a feature that Clojure or another language has and this one hasn't.
pub(crate) fn missing_feature(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("clojure.core/").unwrap_or(name);
    missing_in_clojure(name).or_else(|| foreign_name(name))
}

fn missing_in_clojure(name: &str) -> Option<&'static str> {
    Some(match name {
        "eval" | "read-string" | "load-string" | "clojure.edn/read-string" | "edn/read-string" => {
            "write the code itself; read data with `json/parse`, `parse-long` or `parse-double`"
        }
        "defmacro" | "macroexpand" | "gensym" => "write a function with `defn`",
        "atom" | "swap!" | "reset!" | "deref" | "ref" | "agent" | "volatile!" | "vswap!" | "vreset!" | "dosync"
        | "alter" | "send" | "set!" | "var-set" => {
            "values don't change: use `reduce` or `loop` with `recur` for state, and `memory/put` to keep a value"
        }
        "try" | "catch" | "finally" | "throw" | "ex-info" | "ex-message" | "ex-data" => {
            "there are no exceptions: missing data is nil, so test for it, and end the program with `(fail {:reason … :message …})`"
        }
        "defprotocol" | "defrecord" | "deftype" | "reify" | "proxy" | "extend-type" | "extend-protocol"
        | "gen-class" => "use maps and functions",
        "defmulti" | "defmethod" => "use `case` or `cond` in a function",
        "transduce" | "eduction" | "sequence" | "completing" | "halt-when" => {
            "use `->>` with `map`, `filter` and `reduce`"
        }
        "lazy-seq" | "lazy-cat" | "delay" | "force" | "realized?" => {
            "sequences are computed at once; use `take`, `take-while` or `loop`"
        }
        "transient" | "persistent!" | "conj!" | "assoc!" | "dissoc!" | "pop!" | "disj!" => {
            "use `conj`, `assoc` or `into`: they change a value in place where nobody else has it"
        }
        "future" | "promise" | "deliver" | "pvalues" | "Thread/sleep" | "locking" => {
            "call tools at the same time with `pmap` or `pcalls`"
        }
        "slurp" | "spit" | "read-line" | "line-seq" | "flush" | "with-open" => {
            "read inputs as `ctx/name`, and call a tool for anything outside"
        }
        "rand" | "rand-int" | "rand-nth" | "shuffle" | "random-uuid" | "random-sample" => {
            "the same program gives the same result here, so nothing is random; take an input or sort by a key"
        }
        "System/currentTimeMillis"
        | "System/nanoTime"
        | "inst-ms"
        | "time"
        | "java.time.LocalDate/now"
        | "LocalDate/now" => "there is no clock here; take the time as an input, and compute with `date/…`",
        "binding" | "with-redefs" | "var" | "resolve" | "intern" | "alter-var-root" | "find-var" => {
            "pass the value as an argument"
        }
        "Integer/parseInt" | "Long/parseLong" | "Long/valueOf" | "Integer/valueOf" => {
            "use `parse-long`, which gives nil for text that isn't an integer"
        }
        "Double/parseDouble" | "Double/valueOf" | "Float/parseFloat" => {
            "use `parse-double`, which gives nil for text that isn't a number"
        }
        "String/valueOf" | "String/format" | "String/join" | "String." => "use `str`, `format` or `str/join`",
        "re-matcher" | "re-groups" => "use `re-find`, or `re-seq` for all matches",
        "new" | "." | ".." | "doto" | "instance?" | "class" | "import" => {
            "Java can't be called; use the functions of `doc`"
        }
        "with-out-str" => "make text with `str`, `str/join` or `format`; `println` only shows it",
        "assert" => "test with `if` or `when-not`, and end the program with `(fail {:reason … :message …})`",
        "meta" | "with-meta" | "vary-meta" | "alter-meta!" | "reset-meta!" => {
            "values have no metadata; keep what belongs together in a map"
        }
        "newline" => "use `(println)`",
        "pr" => "use `prn` or `print`",
        "bigdec" | "with-precision" | "rationalize" | "numerator" | "denominator" => {
            "numbers are integers of any size and floats; round for people with `(format \"%.2f\" x)`"
        }
        "sorted-map-by" | "sorted-set-by" | "subseq" | "rsubseq" => "use `sort-by`, and `filter` for a part",
        "aget" | "aset" | "alength" | "make-array" | "to-array" | "into-array" | "object-array" | "amap"
        | "areduce" => "there are no arrays: use a vector with `nth` and `assoc`",
        "replicate" => "use `repeat`",
        "hash" => "compare values with `=`, and use them as keys of a map",
        "isa?" | "derive" | "underive" | "parents" | "ancestors" | "descendants" | "satisfies?" | "extends?" => {
            "use `case` or `cond` on a key of a map"
        }
        "use" | "refer" | "in-ns" | "alias" | "load" | "load-file" => "all functions are there; leave this out",
        "goto" | "return-from" | "break" | "continue" => "use `loop` with `recur`, or `reduce` with `reduced`",
        _ if name.starts_with('.') && name.len() > 1 => {
            "look a key up with `(:key map)`; `doc` lists the members of strings that are there"
        }
        _ => return None,
    })
}

/// The function here that is meant by a name of another language, or of a library for Clojure.
fn foreign_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "length" | "len" | "size" | "str/length" | "str/count" => "use `count`",
        "append" | "push" | "add" | "add!" | "append!" => "use `conj` for one element, and `into` or `concat` for many",
        "fold" | "foldl" | "foldr" | "inject" | "accumulate" => "use `reduce`",
        "foreach" | "forEach" | "for-each" => "use `doseq` for effects, and `map` or `for` for values",
        "top" | "top-k" | "top-n" | "nlargest" => "use `(take n (sort-by f > coll))`",
        "unique" | "uniq" | "distinct-values" => "use `distinct`, or `distinct-by` for a key",
        "mean" | "average" | "avg-of" => "use `avg`, or `avg-by` for a key of maps",
        "mean-by" | "average-by" => "use `avg-by`",
        "sum-of" | "total-by" => "use `sum`, or `sum-by` for a key of maps",
        "sort-desc" | "sort-by-desc" | "order-by" | "sorted" | "reverse-sort" => {
            "use `sort-by` with `>` as its second argument to begin with the largest"
        }
        "map-vals" | "mapvals" | "map-values" | "update-values" => "use `(update-vals map f)`",
        "map-keys" | "mapkeys" => "use `(update-keys map f)`",
        "filter-vals" | "filter-keys" | "map-kv" | "filter-kv" | "remove-vals" => {
            "go through the entries: `(into {} (filter (fn [[key value]] …) map))`"
        }
        "ctx" | "data" => "write each input by its name, such as `ctx/orders`",
        "memory" => "write what was kept by its name, such as `memory/count`",
        "find-first" | "first-where" | "detect" | "find-by" => "use `(first (filter f coll))` or `some`",
        "includes?" | "include?" | "member?" | "in?" | "has?" | "contains" | "elem" => {
            "use `(some #{x} coll)` for an element, `contains?` for a key and `str/includes?` for a part of a string"
        }
        "has-key?" | "key?" => "use `contains?`",
        "null?" | "none?" => "use `nil?`, or `empty?` for a collection",
        "car" => "use `first`",
        "cdr" => "use `rest`",
        "lambda" | "function" | "func" => "use `fn`, or `#(…)` with `%`",
        "define" | "defun" | "let*" | "setq" | "setf" => "use `def`, `defn` or `let`",
        "elif" | "else-if" | "switch" => "use `cond` or `case`",
        "progn" | "begin" => "use `do`",
        "null" | "None" | "undefined" => "use `nil`",
        "True" | "TRUE" => "use `true`",
        "False" | "FALSE" => "use `false`",
        "!=" | "<>" | "/=" => "use `not=`",
        "&&" => "use `and`",
        "||" => "use `or`",
        "!" => "use `not`",
        "**" | "pow" | "expt" => "use `Math/pow`",
        "round" | "floor" | "ceil" | "sqrt" => "it is a function of `Math`, such as `Math/round`",
        "upper-case" | "lower-case" | "capitalize" | "trim" | "split" | "join" | "starts-with?" | "ends-with?"
        | "blank?" | "split-lines" | "index-of" | "replace-first" => "functions of strings begin with `str/`",
        "uppercase" | "upper" | "upcase" | "str/upper" | "str/uppercase" => "use `str/upper-case`",
        "lowercase" | "lower" | "downcase" | "str/lower" | "str/lowercase" => "use `str/lower-case`",
        "substring" | "substr" | "str/substring" | "str/subs" | "str/slice" => "use `subs`",
        "str/contains?" | "str/contains" | "string-contains?" => "use `str/includes?`",
        "str/format" | "sprintf" => "use `format`",
        "str/concat" | "concat-str" | "string-append" => "use `str`",
        "to-string" | "toString" | "number->string" => "use `str`",
        "parse-float" | "parse-number" | "to-number" | "parse-num" | "string->number" => {
            "use `parse-double` or `parse-long`, which give nil for other text"
        }
        "union" | "intersection" | "difference" | "subset?" => "functions of sets begin with `set/`",
        "postwalk" | "prewalk" | "keywordize-keys" => "functions of nested data begin with `walk/`",
        "json/read-str"
        | "json/read-json"
        | "json/parse-string"
        | "json/decode"
        | "json/read"
        | "json/loads"
        | "parse-json"
        | "clojure.data.json/read-str"
        | "cheshire.core/parse-string" => "use `json/parse`; keywords find the values of its string keys",
        "json/write-str"
        | "json/generate-string"
        | "json/encode"
        | "json/stringify"
        | "json/dumps"
        | "to-json"
        | "clojure.data.json/write-str"
        | "cheshire.core/generate-string" => "use `json/write`",
        "print-line" | "printf-line" | "console.log" => "use `println`",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["filter", "filterv", "first", "map", "mapv", "group-by"];
        for (name, expected) in [
            ("fitler", Some("filter")),
            ("flter", Some("filter")),
            ("groupby", Some("group-by")),
            ("mp", Some("map")),
            ("elephant", None),
            ("x", None),
        ] {
            assert_eq!(nearest(name, names.into_iter()), expected, "{name}");
        }
    }
}
