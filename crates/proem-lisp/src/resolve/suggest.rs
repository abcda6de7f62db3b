//! The nearest name, and the alternative to what doesn't exist here.

use alloc::vec::Vec;

/// The name that needs the fewest changes, if these are few for its length; the first of equals.
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

/// How many characters have to be changed, put in, taken out or swapped with the next; `None` for more than `most`.
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

/// What to use instead of something that Clojure has and this language hasn't.
pub(crate) fn missing_feature(name: &str) -> Option<&'static str> {
    Some(
        match name
            .rsplit_once('/')
            .map_or(name, |(namespace, rest)| if namespace == "clojure.core" { rest } else { name })
        {
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
            "goto" | "return-from" | "break" | "continue" => "use `loop` with `recur`, or `reduce` with `reduced`",
            _ if name.starts_with('.') && name.len() > 1 => {
                "look a key up with `(:key map)`; `doc` lists the members of strings that are there"
            }
            _ => return None,
        },
    )
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
