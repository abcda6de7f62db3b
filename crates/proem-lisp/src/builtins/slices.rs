//! Parts of sequences: ends, pieces, and elements between elements.

use super::{
    Row, lisp, native,
    sequence::{Cursor, Items, elements_of, seen_before, skip},
};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    value::{List, Map, Value, is_equal},
};
use alloc::{format, sync::Arc, vec::Vec};

pub(super) const ROWS: &[Row] = &[
    lisp("ffirst", "coll", "The first element of the first element.", "(fn [coll] (first (first coll)))")
        .examples(&[("(ffirst [[1] [2]])", "1")]),
    lisp("fnext", "coll", "The second element.", "(fn [coll] (first (next coll)))").examples(&[("(fnext [1 2])", "2")]),
    lisp("nfirst", "coll", "The first element without its own first one.", "(fn [coll] (next (first coll)))")
        .examples(&[("(nfirst [[1 2] [3]])", "(2)")]),
    lisp("nnext", "coll", "The elements after the first two, or nil if there are none.", "(fn [coll] (next (next coll)))")
        .examples(&[("(nnext [1 2 3])", "(3)")]),
    native("butlast", "coll", "All elements but the last, or nil if there are none.", |context, args| {
        let mut elements = elements_of(args.take(0), &mut context.meter)?;
        elements.pop();
        Ok(if elements.is_empty() { Value::Nil } else { Value::list(elements) })
    })
    .examples(&[("(butlast [1 2 3])", "(1 2)")]),
    native("drop-last", "n? coll", "All elements but the last n, or the last one.", |context, args| {
        let count = if args.len() == 2 { args.count(0, "drop-last")? } else { 1 };
        let mut elements = elements_of(args.take(args.len().saturating_sub(1)), &mut context.meter)?;
        elements.truncate(elements.len().saturating_sub(count));
        Ok(Value::list(elements))
    })
    .examples(&[("(drop-last 2 [1 2 3])", "(1)")]),
    native("take-last", "n coll", "The last n elements, or nil if there are none.", |context, args| {
        let count = args.count(0, "take-last")?;
        let mut elements = elements_of(args.take(1), &mut context.meter)?;
        let last = elements.split_off(elements.len().saturating_sub(count));
        Ok(if last.is_empty() { Value::Nil } else { Value::list(last) })
    })
    .examples(&[("(take-last 2 [1 2 3])", "(2 3)")]),
    native("nthrest", "coll n", "The elements after the first n.", |context, args| {
        let count = args.count(1, "nthrest")?;
        let is_empty = Cursor::over(args.get(0).clone(), &mut context.meter)?.next(&mut context.meter)?.is_none();
        if count == 0 || is_empty { Ok(args.take(0)) } else { skip(args.take(0), count, &mut context.meter) }
    })
    .examples(&[("(nthrest [1 2 3] 1)", "(2 3)")]),
    native("nthnext", "coll n", "The elements after the first n, or nil if there are none.", |context, args| {
        let count = args.count(1, "nthnext")?;
        let rest = skip(args.take(0), count, &mut context.meter)?;
        Ok(if rest.stored_len().is_ok_and(|length| length == 0) { Value::Nil } else { rest })
    })
    .examples(&[("(nthnext [1 2 3] 3)", "nil")]),
    native("take-nth", "n coll", "Every nth element, the first included.", |context, args| {
        let step = args.count(0, "take-nth")?;
        if step == 0 {
            return Err(Fault::eval("`take-nth` takes a number above 0"));
        }
        let elements = elements_of(args.take(1), &mut context.meter)?;
        Ok(Value::list(elements.into_iter().step_by(step).collect()))
    })
    .examples(&[("(take-nth 2 [1 2 3])", "(1 3)")]),
    native("split-at", "n coll", "The first n elements and the others.", |context, args| {
        let count = args.count(0, "split-at")?;
        let mut before = elements_of(args.take(1), &mut context.meter)?;
        let after = before.split_off(count.min(before.len()));
        Ok(Value::vector(alloc::vec![Value::list(before), Value::list(after)]))
    })
    .examples(&[("(split-at 1 [1 2 3])", "[(1) (2 3)]")]),
    native("partition", "n step? pad? coll", "Pieces of n elements, without a last one that is shorter; a pad fills that up.", partition)
        .examples(&[("(partition 2 [1 2 3])", "((1 2))"), ("(partition 2 1 [1 2 3])", "((1 2) (2 3))"), ("(partition 2 2 [0] [1 2 3])", "((1 2) (3 0))")]),
    native("partition-all", "n step? coll", "Pieces of n elements, and what is left.", partition_all)
        .examples(&[("(partition-all 2 [1 2 3])", "((1 2) (3))")]),
    native("interleave", "& colls", "The first elements of all collections, then the second ones, and so on.", interleave)
        .examples(&[("(interleave [1 2] [:a :b])", "(1 :a 2 :b)")]),
    native("interpose", "separator coll", "The elements with a separator between.", |context, args| {
        let separator = args.take(0);
        let mut out = Items::default();
        for (index, element) in elements_of(args.take(1), &mut context.meter)?.into_iter().enumerate() {
            if index > 0 {
                out.push(separator.clone(), &mut context.meter)?;
            }
            out.push(element, &mut context.meter)?;
        }
        Ok(out.into_list())
    })
    .examples(&[("(interpose 0 [1 2])", "(1 0 2)")]),
    native("flatten", "coll", "The elements of nested sequences and vectors in one sequence.", flatten)
        .examples(&[("(flatten [1 [2 (list 3)] {:a [4]}])", "(1 2 3 {:a [4]})"), ("(flatten 5)", "()")]),
    native("distinct", "coll", "The elements without those that came before.", |context, args| {
        let elements = elements_of(args.take(0), &mut context.meter)?;
        let mut seen = Map::default();
        let mut out = Items::default();
        for element in elements {
            if !seen_before(&mut seen, &element, &mut context.meter)? {
                out.push(element, &mut context.meter)?;
            }
        }
        Ok(out.into_list())
    })
    .examples(&[("(distinct [1 2 1])", "(1 2)")]),
    native("dedupe", "coll", "The elements without those that are equal to the one before.", |context, args| {
        let mut out: Vec<Value> = Vec::new();
        for element in elements_of(args.take(0), &mut context.meter)? {
            let is_same = match out.last() {
                Some(last) => is_equal(last, &element, &mut context.meter)?,
                None => false,
            };
            if !is_same {
                out.push(element);
            }
        }
        Ok(Value::list(out))
    })
    .examples(&[("(dedupe [1 1 2 1])", "(1 2 1)")]),
    native("frequencies", "coll", "How often each element is there.", |context, args| {
        let mut counts = Map::default();
        for element in elements_of(args.take(0), &mut context.meter)? {
            let count = match counts.get(&element, &mut context.meter)? {
                Some(Value::Int(count)) => count.saturating_add(1),
                _ => 1,
            };
            counts.insert(element, Value::Int(count), &mut context.meter)?;
        }
        Ok(Value::from(counts))
    })
    .examples(&[("(frequencies [:a :b :a])", "{:a 2 :b 1}")]),
    native("rseq", "coll", "The elements of a vector in reverse, or nil if there are none.", |context, args| {
        let Value::Vector(_) = args.get(0) else {
            return Err(Fault::of_type(format!("`rseq` takes a vector, not {}", args.get(0).type_phrase())).help("use `reverse`"));
        };
        let mut elements = elements_of(args.take(0), &mut context.meter)?;
        elements.reverse();
        Ok(if elements.is_empty() { Value::Nil } else { Value::list(elements) })
    })
    .examples(&[("(rseq [1 2])", "(2 1)")]),
    native("list*", "x & more", "A sequence of the arguments, the last of which is a sequence.", |context, args| {
        let last = args.len().saturating_sub(1);
        let mut out = Items::default();
        for index in 0..last {
            out.push(args.take(index), &mut context.meter)?;
        }
        out.extend(args.take(last), &mut context.meter)?;
        let elements = out.into_vec();
        Ok(if elements.is_empty() { Value::Nil } else { Value::list(elements) })
    })
    .examples(&[("(list* 1 2 [3])", "(1 2 3)")]),
    native("doall", "coll", "The collection; all sequences here are computed at once.", |context, args| {
        Cursor::over(args.get(0).clone(), &mut context.meter)?;
        Ok(args.take(0))
    })
    .examples(&[("(doall (map inc [1]))", "(2)")]),
    native("dorun", "coll", "Nil; all sequences here are computed at once.", |context, args| {
        Cursor::over(args.take(0), &mut context.meter)?;
        Ok(Value::Nil)
    })
    .examples(&[("(dorun [1])", "nil")]),
    lisp("tree-seq", "branch? children root", "All nodes of a tree, each before those below it.",
        "(fn [branch? children root] (loop [open (list root) out []] (if (empty? open) (seq out) (let [node (first open) below (if (branch? node) (children node) nil)] (recur (concat below (rest open)) (conj out node))))))")
        .examples(&[("(tree-seq sequential? seq [1 [2]])", "([1 [2]] 1 [2] 2)")]),
    lisp("replace", "smap coll", "The elements, with those that are keys replaced by their values.",
        "(fn [smap coll] (let [found (fn [x] (get smap x x))] (if (vector? coll) (mapv found coll) (map found coll))))")
    .examples(&[("(replace {1 :one} [1 2])", "[:one 2]")]),
    native("subvec", "v start end?", "The elements of a vector from start up to end.", subvec)
        .examples(&[("(subvec [1 2 3 4] 1 3)", "[2 3]")]),
    native("bounded-count", "n coll", "The number of elements, at most n where counting has no end.", |context, args| {
        let most = args.count(0, "bounded-count")?;
        match args.get(1) {
            Value::Stream(stream) => Ok(Value::from(stream.count().unwrap_or(most))),
            other => super::lookup::count(other, &mut context.meter).map(Value::from),
        }
    })
    .examples(&[("(bounded-count 3 (range))", "3")]),
];

/// Pieces of `size` elements that start every `step`. `last` says what becomes of a shorter one.
fn pieces(
    elements: &[Value],
    (size, step): (usize, usize),
    meter: &mut Meter,
    mut last: impl FnMut(&[Value]) -> Option<Vec<Value>>,
) -> Result<Value, Fault> {
    if size == 0 || step == 0 {
        return Err(Fault::eval("pieces have at least one element, and steps too"));
    }
    let mut out = Items::default();
    let mut rest = elements;
    while !rest.is_empty() {
        meter.elements(size.min(rest.len()))?;
        meter.allocate(size.min(rest.len()).saturating_mul(crate::cost::SLOT).saturating_add(crate::cost::OBJECT))?;
        let piece = match rest.get(..size) {
            Some(piece) => Some(piece.to_vec()),
            None => last(rest),
        };
        let Some(piece) = piece else { break };
        out.push(Value::list(piece), meter)?;
        rest = rest.get(step..).unwrap_or_default();
    }
    Ok(out.into_list())
}

fn partition(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let size = args.count(0, "partition")?;
    let step = if args.len() > 2 { args.count(1, "partition")? } else { size };
    let elements = elements_of(args.take(args.len().saturating_sub(1)), &mut context.meter)?;
    let pad = if args.len() == 4 { Some(elements_of(args.take(2), &mut context.meter)?) } else { None };
    // A piece that is filled up is the last.
    let mut is_done = false;
    pieces(&elements, (size, step), &mut context.meter, |rest| {
        let pad = pad.as_ref().filter(|_| !is_done)?;
        is_done = true;
        let missing = size.saturating_sub(rest.len());
        Some(rest.iter().chain(pad.iter().take(missing)).cloned().collect())
    })
}

fn partition_all(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let size = args.count(0, "partition-all")?;
    let step = if args.len() > 2 { args.count(1, "partition-all")? } else { size };
    let elements = elements_of(args.take(args.len().saturating_sub(1)), &mut context.meter)?;
    pieces(&elements, (size, step), &mut context.meter, |rest| Some(rest.to_vec()))
}

fn interleave(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    let mut cursors = Vec::new();
    for index in 0..args.len() {
        cursors.push(Cursor::over(args.take(index), meter)?);
    }
    let mut out = Items::default();
    if cursors.is_empty() {
        return Ok(out.into_list());
    }
    loop {
        let mut round = Vec::new();
        for cursor in &mut cursors {
            match cursor.next(meter)? {
                Some(value) => round.push(value),
                None => return Ok(out.into_list()),
            }
        }
        for value in round {
            out.push(value, meter)?;
        }
    }
}

fn flatten(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    let root = args.take(0);
    let mut out = Items::default();
    if !root.is_sequential() {
        return Ok(out.into_list());
    }
    root.stored_len()?;
    let mut open = alloc::vec![Cursor::over(root, meter)?];
    while let Some(top) = open.last_mut() {
        meter.elements(1)?;
        match top.next(meter)? {
            None => {
                open.pop();
            }
            Some(inner) if inner.is_sequential() => {
                inner.stored_len()?;
                meter.allocate(crate::cost::OBJECT)?;
                open.push(Cursor::over(inner, meter)?);
            }
            Some(value) => out.push(value, meter)?,
        }
    }
    Ok(out.into_list())
}

fn subvec(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let Value::Vector(vector) = args.get(0) else {
        return Err(Fault::of_type(format!("`subvec` takes a vector, not {}", args.get(0).type_phrase()))
            .help("make one with `vec`"));
    };
    let length = vector.len();
    let index = |value: &Value| match value {
        Value::Int(index) => usize::try_from(*index).ok(),
        _ => None,
    };
    let end = if args.len() == 3 { index(args.get(2)) } else { Some(length) };
    match (index(args.get(1)), end) {
        (Some(start), Some(end)) if start <= end && end <= length => {
            let list = List::view(Arc::clone(vector), start);
            let mut out = Items::default();
            for element in list.iter().take(end.saturating_sub(start)) {
                out.push(element.clone(), &mut context.meter)?;
            }
            Ok(out.into_vector())
        }
        _ => Err(Fault::eval(format!("there is no such part: the vector has {length} elements"))),
    }
}
