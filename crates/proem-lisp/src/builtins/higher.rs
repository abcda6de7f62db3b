//! Functions that take functions.

use super::{
    Control, EachPlan, EachResults, FoldPlan, FoldShape, Row, Run, Stop,
    control::control,
    id_of, lisp, native, row_of,
    sequence::{Cursor, Items, elements_of, skip, to_sequence},
    sort::{is_native_order, sort_by_keys},
};
use crate::{
    context::Context,
    error::Fault,
    value::{Map, Stream, Value, compare_numbers, is_equal},
};
use alloc::{sync::Arc, vec, vec::Vec};
use core::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    each("map", "f coll & colls", "The function's results, one for each element.", list_of_results)
        .examples(&[("(map inc [1 2])", "(2 3)"), ("(map + [1 2] [10 20])", "(11 22)"), ("(map :a [{:a 1}])", "(1)")]),
    each("mapv", "f coll & colls", "As `map`, as a vector.", vector_of_results).examples(&[("(mapv inc [1 2])", "[2 3]")]),
    each("filter", "pred coll", "The elements for which the function holds.", |context, results| {
        kept(context, results, true).map(Items::into_list)
    })
    .examples(&[("(filter even? [1 2 4])", "(2 4)")]),
    each("filterv", "pred coll", "As `filter`, as a vector.", |context, results| {
        kept(context, results, true).map(Items::into_vector)
    })
    .examples(&[("(filterv even? [1 2])", "[2]")]),
    each("remove", "pred coll", "The elements for which the function doesn't hold.", |context, results| {
        kept(context, results, false).map(Items::into_list)
    })
    .examples(&[("(remove even? [1 2 3])", "(1 3)")]),
    stopping("some", "pred coll", "The first true result of the function, or nil.", Stop::AtTrue, |_, mut results| {
        Ok(results.results.pop().filter(Value::is_truthy).unwrap_or_default())
    })
    .examples(&[("(some even? [1 2])", "true"), ("(some #{3} [1 2])", "nil")]),
    stopping("every?", "pred coll", "Whether the function holds for every element.", Stop::AtFalse, |_, results| {
        Ok(Value::bool(results.results.last().is_none_or(Value::is_truthy)))
    })
    .examples(&[("(every? pos? [1 2])", "true"), ("(every? pos? [])", "true")]),
    row_of("reduce", "f start? coll", "The result of the function for the result so far and each element.", Run::Fold(reduce))
        .examples(&[("(reduce + [1 2 3])", "6"), ("(reduce conj [] '(1 2))", "[1 2]"), ("(reduce + [])", "0")]),
    row_of("reduce-kv", "f start map", "As `reduce`, with each key and its value.", Run::Fold(reduce_kv))
        .examples(&[("(reduce-kv (fn [sum k v] (+ sum v)) 0 {:a 1 :b 2})", "3")]),
    native("reduced", "x", "Ends a `reduce` with this result.", |_, args| Ok(Value::reduced(args.take(0))))
        .examples(&[("(reduce (fn [sum x] (if (> sum 3) (reduced sum) (+ sum x))) 0 [1 2 3 4])", "6")]),
    each("group-by", "f coll", "A map from what the function gives to the elements that it gives it for.", group_by)
        .examples(&[("(group-by even? [1 2 3])", "{false [1 3] true [2]}")]),
    control("sort-by", "keyfn comparator? coll", "The elements in the order of what the function gives for them.", |context, args| {
        let coll = to_sequence(args.take(args.len().saturating_sub(1)), &mut context.meter)?;
        let comparator = if args.len() == 3 { args.take(1) } else { Value::Nil };
        context.meter.elements(1)?;
        let name = if is_native_order(&comparator) { "sort/by-key" } else { "sort/by-key-with" };
        call_ours(name, vec![args.take(0), comparator, coll])
    })
    .examples(&[("(sort-by :n [{:n 2} {:n 1}])", "({:n 1} {:n 2})"), ("(sort-by - [1 3 2])", "(3 2 1)"), ("(sort-by count > [\"a\" \"bb\"])", "(\"bb\" \"a\")")]),
    control("sort", "comparator? coll", "The elements in order.", |context, args| {
        let coll = to_sequence(args.take(args.len().saturating_sub(1)), &mut context.meter)?;
        let comparator = if args.len() == 2 { args.take(0) } else { Value::Nil };
        if !is_native_order(&comparator) {
            return call_ours("sort/with", vec![comparator, coll]);
        }
        let elements = elements_of(coll, &mut context.meter)?;
        let pairs = elements.into_iter().map(|element| (element.clone(), element)).collect();
        sort_by_keys(pairs, &comparator, &mut context.meter).map(Value::list).map(Control::Value)
    })
    .examples(&[("(sort [3 1 2])", "(1 2 3)"), ("(sort > [1 2])", "(2 1)"), ("(sort (fn [a b] (> (:n a) (:n b))) [{:n 1} {:n 2}])", "({:n 2} {:n 1})")]),
    each_of("sort/by-key", "keyfn comparator coll", "",
        |args| EachPlan { function: first(args), sources: last(args), stop: Stop::Never }, sort_by),
    lisp("sort/by-key-with", "keyfn comparator coll", "",
        "(fn [k cmp coll] (map second (sort/with (fn [a b] (cmp (first a) (first b))) (map (fn [x] [(k x) x]) coll))))"),
    lisp("sort/with", "comparator coll", "", SORT_WITH),
    each("keep", "f coll", "The function's results, one for each element, without nils.", |context, results| {
        let mut out = Items::default();
        for result in results.results.into_iter().filter(|result| !result.is_nil()) {
            out.push(result, &mut context.meter)?;
        }
        Ok(out.into_list())
    })
    .examples(&[("(keep :a [{:a 1} {}])", "(1)")]),
    each_of("map-indexed", "f coll", "The function's results, one for each index and element.", indexed, list_of_results)
        .examples(&[("(map-indexed vector [:a :b])", "([0 :a] [1 :b])")]),
    each_of("keep-indexed", "f coll", "As `map-indexed`, without nils.", indexed, |context, results| {
        let mut out = Items::default();
        for result in results.results.into_iter().filter(|result| !result.is_nil()) {
            out.push(result, &mut context.meter)?;
        }
        Ok(out.into_list())
    })
    .examples(&[("(keep-indexed (fn [i x] (if (odd? i) x)) [:a :b])", "(:b)")]),
    each("mapcat", "f coll & colls", "The elements of all that the function gives.", |context, results| {
        let mut out = Items::default();
        for result in results.results {
            out.extend(result, &mut context.meter)?;
        }
        Ok(out.into_list())
    })
    .examples(&[("(mapcat reverse [[1 2] [3]])", "(2 1 3)")]),
    stopping("take-while", "pred coll", "The elements before the first for which the function doesn't hold.", Stop::AtFalse, |context, results| {
        kept(context, results, true).map(Items::into_list)
    })
    .examples(&[("(take-while pos? [1 2 -1 3])", "(1 2)")]),
    stopping("drop-while", "pred coll", "The elements from the first for which the function doesn't hold.", Stop::AtFalse, |context, mut results| {
        let held = results.results.iter().take_while(|result| result.is_truthy()).count();
        skip(results.args.pop().unwrap_or_default(), held, &mut context.meter)
    })
    .examples(&[("(drop-while pos? [1 2 -1 3])", "(-1 3)")]),
    stopping("split-with", "pred coll", "What `take-while` and `drop-while` give.", Stop::AtFalse, |context, mut results| {
        let held = results.results.iter().take_while(|result| result.is_truthy()).count();
        let mut before = elements_of(results.args.pop().unwrap_or_default(), &mut context.meter)?;
        let after = before.split_off(held.min(before.len()));
        Ok(Value::vector(vec![Value::list(before), Value::list(after)]))
    })
    .examples(&[("(split-with pos? [1 -1 2])", "[(1) (-1 2)]")]),
    stopping("not-every?", "pred coll", "Whether the function doesn't hold for some element.", Stop::AtFalse, |_, results| {
        Ok(Value::bool(!results.results.last().is_none_or(Value::is_truthy)))
    })
    .examples(&[("(not-every? pos? [1 -1])", "true")]),
    stopping("not-any?", "pred coll", "Whether the function holds for no element.", Stop::AtTrue, |_, results| {
        Ok(Value::bool(!results.results.last().is_some_and(Value::is_truthy)))
    })
    .examples(&[("(not-any? neg? [1 2])", "true")]),
    each("run!", "f coll", "Calls the function for each element and gives nil.", |_, _| Ok(Value::Nil)).examples(&[("(run! inc [1])", "nil")]),
    each("partition-by", "f coll", "Pieces of elements for which the function gives the same.", |context, results| {
        let mut out: Vec<(Value, Vec<Value>)> = Vec::new();
        for (element, key) in with_results(context, results)? {
            match out.last_mut() {
                Some((last, piece)) if is_equal(last, &key, &mut context.meter)? => piece.push(element),
                _ => {
                    context.meter.allocate(crate::cost::OBJECT)?;
                    out.push((key, vec![element]));
                }
            }
        }
        Ok(Value::list(out.into_iter().map(|(_, piece)| Value::list(piece)).collect()))
    })
    .examples(&[("(partition-by even? [2 4 1 6])", "((2 4) (1) (6))")]),
    each_of("max-key", "f x & more", "The argument for which the function gives the greatest number.", arguments_as_source, |context, results| {
        extreme_key(context, results, Ordering::Greater)
    })
    .examples(&[("(max-key count [1] [1 2])", "[1 2]")]),
    each_of("min-key", "f x & more", "The argument for which the function gives the least number.", arguments_as_source, |context, results| {
        extreme_key(context, results, Ordering::Less)
    })
    .examples(&[("(min-key count [1] [1 2])", "[1]")]),
    lisp("reductions", "f start? coll", "All results on the way of a `reduce`.",
        "(fn ([f coll] (if (empty? coll) (list (f)) (reductions f (first coll) (rest coll)))) ([f start coll] (seq (reduce (fn [out x] (let [r (f (peek out) x)] (if (reduced? r) (reduced (conj out (reduce (fn [_ _] r) nil [nil]))) (conj out r)))) [start] coll))))")
        .examples(&[("(reductions + [1 2 3])", "(1 3 6)")]),
    lisp("juxt", "f & fs", "A function that gives a vector of what all functions give.",
        "(fn [& fs] (fn [& args] (mapv (fn [f] (apply f args)) fs)))").examples(&[("((juxt inc dec) 1)", "[2 0]")]),
    lisp("complement", "f", "A function that holds where this one doesn't.", "(fn [f] (fn [& args] (not (apply f args))))")
        .examples(&[("((complement even?) 1)", "true")]),
    lisp("constantly", "x", "A function that always gives the same.", "(fn [x] (fn [& _] x))").examples(&[("((constantly 1) 2 3)", "1")]),
    lisp("every-pred", "pred & preds", "A function that holds where all of these hold for all arguments.",
        "(fn [& preds] (fn [& args] (every? (fn [p] (every? p args)) preds)))").examples(&[("((every-pred pos? even?) 2 4)", "true")]),
    lisp("some-fn", "pred & preds", "A function that gives the first true result of these for any argument.",
        SOME_FN).examples(&[("((some-fn neg? even?) 1 2)", "true")]),
    lisp("memoize", "f", "The function itself: results aren't kept here.", "(fn [f] f)").examples(&[("((memoize inc) 1)", "2")]),
    lisp("comparator", "pred", "A comparator of a function that tells whether one value comes before another.",
        "(fn [pred] (fn [a b] (cond (pred a b) -1 (pred b a) 1 :else 0)))").examples(&[("((comparator <) 2 1)", "1")]),
    lisp("trampoline", "f & args", "Calls a function, and what it gives as long as that is a function.",
        "(fn [f & args] (loop [x (apply f args)] (if (fn? x) (recur (x)) x)))").examples(&[("(trampoline (fn [] (fn [] 1)))", "1")]),
    lisp("comp", "& fs", "A function that calls all functions, the last first.",
        "(fn [& fs] (if-not (next fs) (if fs (first fs) identity) (let [[f & before] (reverse fs)] (fn [& args] (reduce (fn [x g] (g x)) (apply f args) before)))))")
        .examples(&[("((comp inc first) [1 2])", "2")]),
    lisp("partial", "f & args", "A function with its first arguments given.", "(fn [f & args] (fn [& more] (apply f (concat args more))))")
        .examples(&[("((partial + 1) 2)", "3")]),
    lisp("fnil", "f default second? third?", "A function that gets a default in place of nil.",
        "(fn [f & defaults] (fn [& args] (let [n (count defaults)] (apply f (concat (map (fn [x d] (if (nil? x) d x)) (take n args) defaults) (drop n args))))))")
        .examples(&[("((fnil + 0) nil 1)", "1")]),
    native("identity", "x", "The argument.", |_, args| Ok(args.take(0))).examples(&[("(identity 1)", "1")]),
];

/// A row that calls its first argument for each element of the others.
const fn each(
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    finish: fn(&mut Context, EachResults) -> Result<Value, Fault>,
) -> Row {
    each_of(name, signature, doc, all_sources, finish)
}

const fn each_of(
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    plan: fn(&[Value]) -> EachPlan,
    finish: fn(&mut Context, EachResults) -> Result<Value, Fault>,
) -> Row {
    row_of(name, signature, doc, Run::Each { plan, finish })
}

const fn stopping(
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    stop: Stop,
    finish: fn(&mut Context, EachResults) -> Result<Value, Fault>,
) -> Row {
    let plan = match stop {
        Stop::Never => all_sources,
        Stop::AtTrue => |args: &[Value]| EachPlan { stop: Stop::AtTrue, ..all_sources(args) },
        Stop::AtFalse => |args: &[Value]| EachPlan { stop: Stop::AtFalse, ..all_sources(args) },
    };
    each_of(name, signature, doc, plan, finish)
}

fn all_sources(args: &[Value]) -> EachPlan {
    EachPlan { function: first(args), sources: args.get(1..).unwrap_or_default().to_vec(), stop: Stop::Never }
}

fn first(args: &[Value]) -> Value {
    args.first().cloned().unwrap_or_default()
}

fn last(args: &[Value]) -> Vec<Value> {
    args.last().cloned().into_iter().collect()
}

fn list_of_results(_: &mut Context, results: EachResults) -> Result<Value, Fault> {
    Ok(Value::list(results.results))
}

fn vector_of_results(_: &mut Context, results: EachResults) -> Result<Value, Fault> {
    Ok(Value::vector(results.results))
}

/// The elements that were gone through, in order, with the result for each.
pub(super) fn with_results(context: &mut Context, mut results: EachResults) -> Result<Vec<(Value, Value)>, Fault> {
    let coll = results.args.pop().unwrap_or_default();
    let meter = &mut context.meter;
    meter.elements(results.results.len())?;
    let mut cursor = Cursor::over(coll, meter)?;
    let mut pairs = Vec::with_capacity(results.results.len());
    for result in results.results {
        let Some(element) = cursor.next(meter)? else { break };
        pairs.push((element, result));
    }
    Ok(pairs)
}

fn kept(context: &mut Context, mut results: EachResults, wanted: bool) -> Result<Items, Fault> {
    let meter = &mut context.meter;
    let mut cursor = Cursor::over(results.args.pop().unwrap_or_default(), meter)?;
    let mut out = Items::default();
    for result in results.results {
        let Some(element) = cursor.next(meter)? else { break };
        if result.is_truthy() == wanted {
            out.push(element, meter)?;
        }
    }
    Ok(out)
}

fn reduce(args: &[Value]) -> FoldPlan {
    let start = if args.len() == 3 { args.get(1).cloned() } else { None };
    FoldPlan {
        function: first(args),
        start,
        source: args.last().cloned().unwrap_or_default(),
        shape: FoldShape::Element,
    }
}

fn reduce_kv(args: &[Value]) -> FoldPlan {
    FoldPlan { shape: FoldShape::KeyValue, ..reduce(args) }
}

fn group_by(context: &mut Context, results: EachResults) -> Result<Value, Fault> {
    let mut groups = Map::default();
    for (element, key) in with_results(context, results)? {
        let meter = &mut context.meter;
        // The group is taken out while it grows, so that it grows in place.
        let mut group = match groups.get(&key, meter)? {
            Some(group) => group.clone(),
            None => Value::vector(vec![]),
        };
        groups.insert(key.clone(), Value::Nil, meter)?;
        group = super::collection::conj_one(group, element, meter)?;
        groups.insert(key, group, meter)?;
    }
    Ok(Value::Map(Arc::new(groups)))
}

fn sort_by(context: &mut Context, results: EachResults) -> Result<Value, Fault> {
    let comparator = results.args.get(1).cloned().unwrap_or_default();
    let pairs = with_results(context, results)?;
    sort_by_keys(pairs, &comparator, &mut context.meter).map(Value::list)
}

/// As in Clojure, up to three functions of up to three arguments give the last result where none is true.
const SOME_FN: &str = "(fn [& preds]
  (fn [& args]
    (if (and (<= (count preds) 3) (<= (count args) 3))
      (reduce (fn [_ [p x]] (let [r (p x)] (if r (reduced r) r))) nil (for [p preds x args] [p x]))
      (some (fn [x] (some (fn [p] (p x)) preds)) args))))";

/// Merges runs of twice the length in each round. Equal elements keep their order.
const SORT_WITH: &str = "(fn [cmp coll]
  (let [after? (fn [a b] (let [r (cmp a b)] (if (number? r) (pos? r) (if r false (boolean (cmp b a))))))
        join (fn [xs ys]
               (loop [i 0 j 0 out []]
                 (cond (= i (count xs)) (into out (drop j ys))
                       (= j (count ys)) (into out (drop i xs))
                       (after? (nth xs i) (nth ys j)) (recur i (inc j) (conj out (nth ys j)))
                       :else (recur (inc i) j (conj out (nth xs i))))))]
    (loop [runs (mapv vector coll)]
      (if (<= (count runs) 1)
        (seq->list (first runs))
        (recur (mapv (fn [[xs ys]] (if ys (join xs ys) xs)) (partition-all 2 runs)))))))";

/// Calls an internal function of the table.
fn call_ours(name: &str, args: Vec<Value>) -> Result<Control, Fault> {
    let function = id_of(name).map(Value::builtin).unwrap_or_default();
    Ok(Control::Call { function, args })
}

fn indexed(args: &[Value]) -> EachPlan {
    let indices = Value::Stream(Arc::new(Stream::range(0, 1, None)));
    EachPlan {
        function: first(args),
        sources: core::iter::once(indices).chain(last(args)).collect(),
        stop: Stop::Never,
    }
}

fn arguments_as_source(args: &[Value]) -> EachPlan {
    let elements = args.get(1..).unwrap_or_default().to_vec();
    EachPlan { function: first(args), sources: vec![Value::list(elements)], stop: Stop::Never }
}

/// As in Clojure, the last of several with the same number.
fn extreme_key(_: &mut Context, results: EachResults, wanted: Ordering) -> Result<Value, Fault> {
    let mut best: Option<(Value, Value)> = None;
    for (element, key) in results.args.into_iter().skip(1).zip(results.results) {
        let is_worse = match &best {
            Some((_, other)) => compare_numbers(other, &key)? == wanted,
            None => false,
        };
        if !is_worse {
            best = Some((element, key));
        }
    }
    Ok(best.map(|(element, _)| element).unwrap_or_default())
}
