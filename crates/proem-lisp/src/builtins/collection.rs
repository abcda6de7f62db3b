//! Collections of every kind: making, growing and asking them.

use super::{
    Row,
    lookup::{count, lookup, nth},
    native,
    sequence::{Items, elements_of, own_list, own_map, to_list},
};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    value::{Map, Set, Value},
};
use alloc::{format, sync::Arc, vec::Vec};

pub(super) const ROWS: &[Row] = &[
    native("count", "coll", "The number of elements; of a string, of graphemes.", count_of).examples(&[
        ("(count [1 2])", "2"),
        ("(count nil)", "0"),
        ("(count \"äb\")", "2"),
    ]),
    native("empty?", "coll", "Whether there are no elements.", is_empty)
        .examples(&[("(empty? [])", "true"), ("(empty? [1])", "false")]),
    native("get", "coll key default?", "The value under a key, or nil or the default.", get).examples(&[
        ("(get {:a 1} :a)", "1"),
        ("(get {\"a\" 1} :a)", "1"),
        ("(get [7] 1 0)", "0"),
    ]),
    native("nth", "coll index default?", "The element at an index; an error outside, without a default.", nth_of)
        .examples(&[("(nth [7 8] 1)", "8"), ("(nth [7] 5 0)", "0")]),
    native("contains?", "coll key", "Whether a map or set has a key, or a vector an index.", contains)
        .examples(&[("(contains? {:a nil} :a)", "true"), ("(contains? [7] 1)", "false")]),
    native("conj", "coll? & xs", "The collection with more elements: a list at the front, others at the end.", conj)
        .examples(&[
            ("(conj [1] 2 3)", "[1 2 3]"),
            ("(conj '(1) 2)", "(2 1)"),
            ("(conj {:a 1} [:b 2])", "{:a 1 :b 2}"),
        ]),
    native("into", "to from", "The first collection with all elements of the second.", into)
        .examples(&[("(into [1] '(2 3))", "[1 2 3]"), ("(into {} [[:a 1]])", "{:a 1}")]),
    native("vec", "coll", "The elements as a vector.", vec_of).examples(&[("(vec '(1 2))", "[1 2]")]),
    native("vector", "& xs", "A vector of the arguments.", vector).examples(&[("(vector 1 2)", "[1 2]")]),
    native("list", "& xs", "A sequence of the arguments.", list).examples(&[("(list 1 2)", "(1 2)")]),
    native("set", "coll", "The elements as a set.", set).examples(&[("(set [1 1 2])", "#{1 2}")]),
    native("hash-set", "& xs", "A set of the arguments.", hash_set).examples(&[("(hash-set 1 2)", "#{1 2}")]),
    native("hash-map", "& pairs", "A map of keys and values in turn.", hash_map)
        .examples(&[("(hash-map :a 1)", "{:a 1}")]),
    native("disj", "set & xs", "The set without elements.", |context, args| {
        if args.get(0).is_nil() {
            return Ok(Value::Nil);
        }
        let Value::Set(mut set) = args.take(0) else {
            return Err(Fault::of_type("`disj` takes a set")
                .help("take keys out of a map with `dissoc`, and elements out of a sequence with `remove`"));
        };
        for index in 1..args.len() {
            let element = args.take(index);
            if Arc::get_mut(&mut set).is_none() {
                context.meter.allocate(set.0.own_bytes())?;
            }
            Arc::make_mut(&mut set).0.remove(&element, &mut context.meter)?;
        }
        Ok(Value::Set(set))
    })
    .examples(&[("(disj #{1 2} 1)", "#{2}")]),
    native(
        "sorted-set",
        "& xs",
        "A set of the arguments in order; what is added later comes last.",
        |context, args| {
            let elements = arguments(context, args)?.into_vec();
            super::sort::check_comparable(elements.first(), &mut context.meter)?;
            let pairs = elements.into_iter().map(|element| (element.clone(), element)).collect();
            let sorted = super::sort::sort_by_keys(pairs, &Value::Nil, &mut context.meter)?;
            set_of(sorted, &mut context.meter)
        },
    )
    .examples(&[("(sorted-set 2 1)", "#{1 2}")]),
    native("peek", "coll", "The last element of a vector, the first of a sequence.", |context, args| {
        match args.get(0) {
            Value::Nil => Ok(Value::Nil),
            Value::Vector(vector) => {
                Ok(vector.len().checked_sub(1).and_then(|last| vector.get(last)).cloned().unwrap_or_default())
            }
            Value::List(_) | Value::Stream(_) => {
                nth(context, args.get(0), &Value::Int(0)).map(Option::unwrap_or_default)
            }
            other => Err(Fault::of_type(format!("`peek` takes a vector or a sequence, not {}", other.type_phrase()))),
        }
    })
    .examples(&[("(peek [1 2])", "2"), ("(peek '(1 2))", "1")]),
    native("pop", "coll", "The collection without the element that `peek` gives.", |context, args| {
        match args.take(0) {
            Value::Nil => Ok(Value::Nil),
            Value::Vector(mut vector) => {
                if vector.len() == 0 {
                    return Err(Fault::eval("there is nothing to `pop`: the vector is empty")
                        .help("test it first with `empty?`"));
                }
                if Arc::get_mut(&mut vector).is_none() {
                    context.meter.allocate(vector.own_bytes())?;
                }
                Arc::make_mut(&mut vector).pop(&mut context.meter)?;
                Ok(Value::Vector(vector))
            }
            list @ (Value::List(_) | Value::Stream(_)) => {
                if list.stored_len().is_ok_and(|length| length == 0) {
                    return Err(Fault::eval("there is nothing to `pop`: the sequence is empty")
                        .help("test it first with `empty?`"));
                }
                super::sequence::skip(list, 1, &mut context.meter)
            }
            other => Err(Fault::of_type(format!("`pop` takes a vector or a sequence, not {}", other.type_phrase()))),
        }
    })
    .examples(&[("(pop [1 2])", "[1]"), ("(pop '(1 2))", "(2)")]),
    native("empty", "coll", "An empty collection of the same kind.", |_, args| {
        Ok(match args.get(0) {
            Value::Vector(_) => Value::vector(Vec::new()),
            Value::Map(_) => Value::from(Map::default()),
            Value::Set(_) => Value::from(Set::default()),
            Value::List(_) | Value::Stream(_) => Value::list(Vec::new()),
            _ => Value::Nil,
        })
    })
    .examples(&[("(empty [1])", "[]")]),
    native("not-empty", "coll", "The collection, or nil if it has no elements.", |context, args| {
        let is_empty = match args.get(0) {
            Value::Stream(stream) => stream.count() == Some(0),
            other => count(other, &mut context.meter)? == 0,
        };
        Ok(if is_empty { Value::Nil } else { args.take(0) })
    })
    .examples(&[("(not-empty [])", "nil"), ("(not-empty [1])", "[1]")]),
];

fn count_of(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    count(args.get(0), &mut context.meter).map(Value::from)
}

fn is_empty(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if let Value::Stream(stream) = args.get(0) {
        return Ok(Value::bool(stream.count() == Some(0)));
    }
    Ok(Value::bool(count(args.get(0), &mut context.meter)? == 0))
}

fn get(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let found = lookup(args.get(0), args.get(1), &mut context.meter)?;
    Ok(found.unwrap_or_else(|| args.take(2)))
}

fn nth_of(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let found = nth(context, args.get(0), args.get(1))?;
    match found {
        Some(value) => Ok(value),
        None if args.len() == 3 || args.get(0).is_nil() => Ok(args.take(2)),
        None => {
            let length = count(args.get(0), &mut context.meter)?;
            Err(Fault::eval(format!("there is no such index: the collection has {length} elements"))
                .help("give `nth` a default as its third argument, or use `get`"))
        }
    }
}

fn contains(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    Ok(Value::bool(match args.get(0) {
        Value::Nil => false,
        Value::Map(map) => map.lookup(args.get(1), meter)?.is_some(),
        Value::Set(set) => set.0.contains(args.get(1), meter)?,
        Value::Text(_) if !matches!(args.get(1), Value::Int(_) | Value::Float(_)) => {
            let message = format!("`contains?` asks a string for an index, not for {}", args.get(1).type_phrase());
            return Err(Fault::of_type(message).help("test for a part with `str/includes?`"));
        }
        Value::Vector(_) if !args.get(1).is_number() => {
            let message = format!("`contains?` asks a vector for an index, not for {}", args.get(1).type_phrase());
            return Err(
                Fault::of_type(message).help("test for an element with `(some #{x} coll)`, or make a set of it first")
            );
        }
        coll @ (Value::Vector(_) | Value::Text(_)) => lookup(coll, args.get(1), meter)?.is_some(),
        other => {
            return Err(Fault::of_type(format!("`contains?` asks for keys, and {} has none", other.type_phrase()))
                .help("test for an element with `(some #{x} coll)`"));
        }
    }))
}

/// The collection with one more element.
pub(super) fn conj_one(coll: Value, element: Value, meter: &mut Meter) -> Result<Value, Fault> {
    match coll {
        Value::Vector(mut vector) => {
            if Arc::get_mut(&mut vector).is_none() {
                meter.allocate(vector.own_bytes())?;
            }
            Arc::make_mut(&mut vector).push(element, meter)?;
            Ok(Value::Vector(vector))
        }
        Value::Set(mut set) => {
            if Arc::get_mut(&mut set).is_none() {
                meter.allocate(set.0.own_bytes())?;
            }
            Arc::make_mut(&mut set).0.insert(element, Value::Nil, meter)?;
            Ok(Value::Set(set))
        }
        Value::Map(mut map) => {
            put_entry(own_map(&mut map, meter)?, &element, meter)?;
            Ok(Value::Map(map))
        }
        Value::Nil | Value::List(_) | Value::Stream(_) => {
            let mut list = to_list(coll, meter)?;
            own_list(&mut list, meter)?.push_front(element, meter)?;
            Ok(Value::List(list))
        }
        other => Err(Fault::of_type(format!("nothing can be added to {}", other.type_phrase()))
            .help("`conj` takes the collection first: `(conj coll x)`")),
    }
}

/// Puts a pair, or all entries of a map, into a map.
fn put_entry(map: &mut Map, entry: &Value, meter: &mut Meter) -> Result<(), Fault> {
    match entry {
        Value::Nil => Ok(()),
        Value::Map(other) => {
            for (key, value) in other.iter() {
                map.insert(key.clone(), value.clone(), meter)?;
            }
            Ok(())
        }
        Value::Vector(pair) if pair.len() == 2 => {
            let mut pair = pair.iter().cloned();
            match (pair.next(), pair.next()) {
                (Some(key), Some(value)) => map.insert(key, value, meter),
                _ => Ok(()),
            }
        }
        other => Err(Fault::of_type(format!("a map takes entries as `[key value]`, not {}", other.type_phrase()))),
    }
}

fn conj(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut coll = if args.len() == 0 { Value::vector(Vec::new()) } else { args.take(0) };
    for index in 1..args.len() {
        coll = conj_one(coll, args.take(index), &mut context.meter)?;
    }
    Ok(coll)
}

fn into(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut coll = args.take(0);
    for element in elements_of(args.take(1), &mut context.meter)? {
        coll = conj_one(coll, element, &mut context.meter)?;
    }
    Ok(coll)
}

fn vec_of(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if let Value::Vector(_) = args.get(0) {
        return Ok(args.take(0));
    }
    elements_of(args.take(0), &mut context.meter).map(Value::vector)
}

fn arguments(context: &mut Context, args: &mut Args<'_>) -> Result<Items, Fault> {
    let mut items = Items::default();
    for index in 0..args.len() {
        items.push(args.take(index), &mut context.meter)?;
    }
    Ok(items)
}

fn vector(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    arguments(context, args).map(Items::into_vector)
}

fn list(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    arguments(context, args).map(Items::into_list)
}

/// A set of elements.
pub(super) fn set_of(elements: Vec<Value>, meter: &mut Meter) -> Result<Value, Fault> {
    let mut set = Set::default();
    for element in elements {
        set.0.insert(element, Value::Nil, meter)?;
    }
    Ok(Value::from(set))
}

fn set(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if let Value::Set(_) = args.get(0) {
        return Ok(args.take(0));
    }
    let elements = elements_of(args.take(0), &mut context.meter)?;
    set_of(elements, &mut context.meter)
}

fn hash_set(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let elements = arguments(context, args)?.into_vec();
    set_of(elements, &mut context.meter)
}

pub(super) fn hash_map(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if !args.len().is_multiple_of(2) {
        return Err(Fault::eval("a key has no value").help("give keys and values in turn"));
    }
    let mut map = Map::default();
    for index in (0..args.len()).step_by(2) {
        map.insert(args.take(index), args.take(index.saturating_add(1)), &mut context.meter)?;
    }
    Ok(Value::from(map))
}
