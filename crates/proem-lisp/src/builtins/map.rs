//! Maps.

use super::{Row, lisp, lookup::lookup, native, sequence::own_map};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    value::{Map, Value},
};
use alloc::{format, sync::Arc};

pub(super) const ROWS: &[Row] = &[
    native(
        "assoc",
        "coll key value & more",
        "The map with values under keys, or the vector with elements at indices.",
        assoc,
    )
    .examples(&[
        ("(assoc {:a 1} :b 2)", "{:a 1 :b 2}"),
        ("(assoc [1 2] 0 7)", "[7 2]"),
        ("(assoc nil :a 1)", "{:a 1}"),
    ]),
    native("dissoc", "map & keys", "The map without keys.", dissoc).examples(&[("(dissoc {:a 1 :b 2} :a)", "{:b 2}")]),
    native("get-in", "coll path default?", "The value at the end of a path of keys.", get_in)
        .examples(&[("(get-in {:a {:b 1}} [:a :b])", "1"), ("(get-in {} [:a :b] 0)", "0")]),
    lisp(
        "assoc-in",
        "coll path value",
        "The nested maps with a value at the end of a path.",
        "(fn go [m [k & ks] v] (assoc m k (if ks (go (get m k) ks v) v)))",
    )
    .examples(&[("(assoc-in {} [:a :b] 1)", "{:a {:b 1}}")]),
    lisp(
        "update",
        "coll key f & args",
        "The map with the value under a key replaced by what a function makes of it.",
        "(fn [m k f & args] (assoc m k (apply f (get m k) args)))",
    )
    .examples(&[("(update {:a 1} :a inc)", "{:a 2}"), ("(update {} :n (fnil + 0) 2)", "{:n 2}")]),
];

/// A map, or an empty one for nil.
pub(super) fn map_argument(value: Value, function: &str) -> Result<Arc<Map>, Fault> {
    match value {
        Value::Map(map) => Ok(map),
        Value::Nil => Ok(Arc::default()),
        other => Err(Fault::of_type(format!("`{function}` takes a map, not {}", other.type_phrase()))),
    }
}

/// The collection with a value under a key.
pub(super) fn assoc_one(coll: Value, key: Value, value: Value, meter: &mut Meter) -> Result<Value, Fault> {
    match coll {
        Value::Map(mut map) => {
            own_map(&mut map, meter)?.insert(key, value, meter)?;
            Ok(Value::Map(map))
        }
        Value::Nil => {
            let mut map = Map::default();
            map.insert(key, value, meter)?;
            Ok(Value::from(map))
        }
        Value::Vector(mut vector) => {
            let index = match key {
                Value::Int(index) => usize::try_from(index).ok().filter(|index| *index <= vector.len()),
                other => {
                    return Err(Fault::of_type(format!("a vector's index is an integer, not {}", other.type_phrase())));
                }
            };
            let Some(index) = index else {
                let message = format!("there is no such index: the vector has {} elements", vector.len());
                return Err(Fault::eval(message).help("add an element at the end with `conj`"));
            };
            if Arc::get_mut(&mut vector).is_none() {
                meter.allocate(vector.own_bytes())?;
            }
            let elements = Arc::make_mut(&mut vector);
            if index == elements.len() {
                elements.push(value, meter)?;
            } else {
                elements.set(index, value, meter)?;
            }
            Ok(Value::Vector(vector))
        }
        other => Err(Fault::of_type(format!("`assoc` takes a map or a vector, not {}", other.type_phrase()))),
    }
}

fn assoc(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if args.len().is_multiple_of(2) {
        return Err(Fault::eval("`assoc` has a key without a value").help("give keys and values in turn"));
    }
    let mut coll = args.take(0);
    for index in (1..args.len()).step_by(2) {
        coll = assoc_one(coll, args.take(index), args.take(index.saturating_add(1)), &mut context.meter)?;
    }
    Ok(coll)
}

fn dissoc(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if args.get(0).is_nil() {
        return Ok(Value::Nil);
    }
    let mut map = map_argument(args.take(0), "dissoc")?;
    for index in 1..args.len() {
        let key = args.take(index);
        own_map(&mut map, &mut context.meter)?.remove(&key, &mut context.meter)?;
    }
    Ok(Value::Map(map))
}

fn get_in(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let path = super::sequence::elements_of(args.take(1), &mut context.meter)?;
    let mut value = args.take(0);
    for key in path {
        match lookup(&value, &key, &mut context.meter)? {
            Some(found) => value = found,
            None => return Ok(args.take(2)),
        }
    }
    Ok(value)
}
