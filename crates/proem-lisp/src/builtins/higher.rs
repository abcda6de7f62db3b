//! Functions that take functions.

use super::{
    EachPlan, EachResults, FoldPlan, FoldShape, Row, Run, Stop, lisp, native, row_of,
    sequence::{Cursor, Items, elements_of},
    sort::sort_by_keys,
};
use crate::{
    context::{Args, Context},
    error::Fault,
    value::{Map, Value},
};
use alloc::{sync::Arc, vec, vec::Vec};

pub(super) const ROWS: &[Row] = &[
    each("map", "f coll & colls", "What the function gives for each element.", list_of_results)
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
        Ok(Value::Bool(results.results.last().is_none_or(Value::is_truthy)))
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
    each_of("sort-by", "keyfn comparator? coll", "The elements in the order of what the function gives for them.",
        |args| EachPlan { function: first(args), sources: last(args), stop: Stop::Never }, sort_by)
        .examples(&[("(sort-by :n [{:n 2} {:n 1}])", "({:n 1} {:n 2})"), ("(sort-by - [1 3 2])", "(3 2 1)")]),
    native("sort", "comparator? coll", "The elements in order.", sort).examples(&[("(sort [3 1 2])", "(1 2 3)"), ("(sort > [1 2])", "(2 1)")]),
    lisp("comp", "& fs", "A function that calls all functions, the last first.",
        "(fn [& fs] (if (empty? fs) identity (let [[f & before] (reverse fs)] (fn [& args] (reduce (fn [x g] (g x)) (apply f args) before)))))")
        .examples(&[("((comp inc first) [1 2])", "2")]),
    lisp("partial", "f & args", "A function with its first arguments given.", "(fn [f & args] (fn [& more] (apply f (concat args more))))")
        .examples(&[("((partial + 1) 2)", "3")]),
    lisp("fnil", "f default & defaults", "A function that gets a default in place of nil.",
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
    let comparator = if results.args.len() == 3 { results.args.get(1).cloned() } else { None };
    let pairs = with_results(context, results)?;
    sort_by_keys(pairs, comparator.as_ref(), &mut context.meter).map(Value::list)
}

fn sort(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let last = args.len().saturating_sub(1);
    let elements = elements_of(args.take(last), &mut context.meter)?;
    let comparator = if last == 1 { Some(args.take(0)) } else { None };
    let pairs = elements.into_iter().map(|element| (element.clone(), element)).collect();
    sort_by_keys(pairs, comparator.as_ref(), &mut context.meter).map(Value::list)
}
