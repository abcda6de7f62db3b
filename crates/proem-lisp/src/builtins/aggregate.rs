//! Functions for data tables: sums, averages, and elements chosen by a key.
//!
//! Missing values, nil, are left out of sums and averages.

use super::{
    EachPlan, EachResults, Row, Run, Stop, higher::with_results, lisp, native, row_of, sequence::elements_of,
    sequence::seen_before,
};
use crate::{
    context::Context,
    error::Fault,
    limits::Meter,
    value::{Arithmetic, Map, Value, compare},
};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A row that calls its first argument for each element of its second.
const fn by_key(
    name: &'static str,
    doc: &'static str,
    finish: fn(&mut Context, EachResults) -> Result<Value, Fault>,
) -> Row {
    row_of(name, "keyfn coll", doc, Run::Each { plan: key_and_coll, finish })
}

fn key_and_coll(args: &[Value]) -> EachPlan {
    let [function, coll] = args else {
        return EachPlan { function: Value::Nil, sources: Vec::new(), stop: Stop::Never };
    };
    EachPlan { function: function.clone(), sources: alloc::vec![coll.clone()], stop: Stop::Never }
}

pub(super) const ROWS: &[Row] = &[
    lisp("pluck", "key coll", "The values under a key.", "(fn [k coll] (map (fn [m] (get m k)) coll))")
        .examples(&[("(pluck :a [{:a 1} {}])", "(1 nil)")]),
    native("sum", "coll", "The sum of the numbers.", |context, args| {
        let numbers = elements_of(args.take(0), &mut context.meter)?;
        sum(&numbers, &mut context.meter)
    })
    .examples(&[("(sum [1 nil 2])", "3"), ("(sum [])", "0")]),
    by_key("sum-by", "The sum of what the function gives.", |context, results| {
        sum(&results.results, &mut context.meter)
    })
    .examples(&[("(sum-by :n [{:n 1} {:n 2}])", "3")]),
    native("avg", "coll", "The average of the numbers, or nil if there are none.", |context, args| {
        let numbers = elements_of(args.take(0), &mut context.meter)?;
        average(&numbers, &mut context.meter)
    })
    .examples(&[("(avg [1 2])", "1.5"), ("(avg [])", "nil")]),
    by_key("avg-by", "The average of what the function gives, or nil if there is nothing.", |context, results| {
        average(&results.results, &mut context.meter)
    })
    .examples(&[("(avg-by :n [{:n 1} {:n 3}])", "2")]),
    by_key("min-by", "The first element with the least key that isn't nil, or nil.", |context, results| {
        extreme(context, results, Ordering::Less)
    })
    .examples(&[("(min-by :n [{:n 2} {:n 1} {}])", "{:n 1}")]),
    by_key("max-by", "The first element with the greatest key that isn't nil, or nil.", |context, results| {
        extreme(context, results, Ordering::Greater)
    })
    .examples(&[("(max-by :n [{:n 2} {:n 1}])", "{:n 2}"), ("(max-by :n [])", "nil")]),
    by_key("distinct-by", "The elements without those whose key came before.", |context, results| {
        let mut seen = Map::default();
        let mut out = Vec::new();
        for (element, key) in with_results(context, results)? {
            if !seen_before(&mut seen, &key, &mut context.meter)? {
                out.push(element);
            }
        }
        Ok(Value::list(out))
    })
    .examples(&[("(distinct-by :a [{:a 1} {:a 1 :b 2}])", "({:a 1})")]),
    by_key("index-by", "A map from each key to the last element that has it.", |context, results| {
        let mut out = Map::default();
        for (element, key) in with_results(context, results)? {
            out.insert(key, element, &mut context.meter)?;
        }
        Ok(Value::from(out))
    })
    .examples(&[("(index-by :id [{:id 1} {:id 2}])", "{1 {:id 1} 2 {:id 2}}")]),
    by_key("count-by", "How many elements have each key.", |context, results| {
        let mut out = Map::default();
        for key in results.results {
            let count = match out.get(&key, &mut context.meter)? {
                Some(Value::Int(count)) => count.saturating_add(1),
                _ => 1,
            };
            out.insert(key, Value::Int(count), &mut context.meter)?;
        }
        Ok(Value::from(out))
    })
    .examples(&[("(count-by even? [1 2 3])", "{false 2 true 1}")]),
];

fn sum(numbers: &[Value], meter: &mut Meter) -> Result<Value, Fault> {
    let mut sum = Value::Int(0);
    meter.elements(numbers.len())?;
    for number in numbers.iter().filter(|number| !number.is_nil()) {
        sum = Arithmetic::Add.apply(&sum, number, meter)?;
    }
    Ok(sum)
}

fn average(numbers: &[Value], meter: &mut Meter) -> Result<Value, Fault> {
    let count = numbers.iter().filter(|number| !number.is_nil()).count();
    if count == 0 {
        return Ok(Value::Nil);
    }
    let sum = sum(numbers, meter)?;
    Arithmetic::Divide.apply(&sum, &Value::from(count), meter)
}

fn extreme(context: &mut Context, results: EachResults, wanted: Ordering) -> Result<Value, Fault> {
    let mut best: Option<(Value, Value)> = None;
    for (element, key) in with_results(context, results)? {
        if key.is_nil() {
            continue;
        }
        let is_better = match &best {
            Some((_, other)) => compare(&key, other, &mut context.meter)? == wanted,
            None => true,
        };
        if is_better {
            best = Some((element, key));
        }
    }
    Ok(best.map(|(element, _)| element).unwrap_or_default())
}
