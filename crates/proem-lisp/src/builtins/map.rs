//! Maps.

use super::{
    Row, lisp,
    lookup::lookup,
    native,
    sequence::{Cursor, own_map},
};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    value::{Map, Value},
};
use alloc::{format, sync::Arc, vec, vec::Vec};

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
        "(fn [m path v] ((fn go [m [k & ks] v] (assoc m k (if ks (go (get m k) ks v) v))) m (path/checked path) v))",
    )
    .examples(&[("(assoc-in {} [:a :b] 1)", "{:a {:b 1}}")]),
    lisp(
        "update",
        "coll key f & args",
        "The map with the value under a key replaced by what a function makes of it.",
        "(fn [m k f & args] (assoc m k (apply f (get m k) args)))",
    )
    .examples(&[("(update {:a 1} :a inc)", "{:a 2}"), ("(update {} :n (fnil + 0) 2)", "{:n 2}")]),
    lisp("update-in", "coll path f & args", "The nested maps with the value at the end of a path replaced by what a function makes of it.",
        "(fn [m path f & args] ((fn go [m [k & ks]] (assoc m k (if ks (go (get m k) ks) (apply f (get m k) args)))) m (path/checked path)))")
        .examples(&[("(update-in {:a {:n 1}} [:a :n] + 2)", "{:a {:n 3}}")]),
    native("path/checked", "path", "", |_, args| checked_path(args.take(0))),
    native("keys", "map", "The keys, or nil if there are none.", |context, args| parts(context, args, "keys", |key, _| key.clone()))
        .examples(&[("(keys {:a 1 :b 2})", "(:a :b)"), ("(keys {})", "nil")]),
    native("vals", "map", "The values, or nil if there are none.", |context, args| parts(context, args, "vals", |_, value| value.clone()))
        .examples(&[("(vals {:a 1 :b 2})", "(1 2)")]),
    native("key", "entry", "The key of an entry.", |_, args| part_of_entry(args, 0)).examples(&[("(key (first {:a 1}))", ":a")]),
    native("val", "entry", "The value of an entry.", |_, args| part_of_entry(args, 1)).examples(&[("(val (first {:a 1}))", "1")]),
    native("find", "coll key", "The entry of a key, or nil.", |context, args| {
        let found = find_value(args.get(0), args.get(1), "find", &mut context.meter)?;
        Ok(found.map_or(Value::Nil, |value| Value::vector(vec![args.take(1), value])))
    })
    .examples(&[("(find {:a nil} :a)", "[:a nil]"), ("(find {} :a)", "nil")]),
    native("merge", "& maps", "One map of all, where later values count.", merge)
        .examples(&[("(merge {:a 1 :b 1} {:b 2})", "{:a 1 :b 2}"), ("(merge nil nil)", "nil")]),
    lisp("merge-with", "f & maps", "One map of all, where a function joins the values of one key.",
        "(fn [f & maps] (if (some identity maps) (reduce (fn [m [k v]] (if (contains? m k) (assoc m k (f (get m k) v)) (assoc m k v))) (or (first maps) {}) (mapcat seq (rest maps))) nil))")
        .examples(&[("(merge-with + {:a 1} {:a 2 :b 3})", "{:a 3 :b 3}")]),
    native("select-keys", "map keys", "The map with some keys only.", |context, args| {
        let keys = super::sequence::elements_of(args.take(1), &mut context.meter)?;
        let mut out = Map::default();
        for key in keys {
            if let Some(value) = find_value(args.get(0), &key, "select-keys", &mut context.meter)? {
                out.insert(key, value, &mut context.meter)?;
            }
        }
        Ok(Value::from(out))
    })
    .examples(&[("(select-keys {:a 1 :b 2} [:a :c])", "{:a 1}")]),
    native("zipmap", "keys vals", "A map of keys and values side by side.", |context, args| {
        let meter = &mut context.meter;
        let (mut keys, mut values) = (Cursor::over(args.take(0), meter)?, Cursor::over(args.take(1), meter)?);
        let mut out = Map::default();
        while let (Some(key), Some(value)) = (keys.next(meter)?, values.next(meter)?) {
            out.insert(key, value, meter)?;
        }
        Ok(Value::from(out))
    })
    .examples(&[("(zipmap [:a :b] (range))", "{:a 0 :b 1}")]),
    lisp("update-vals", "map f", "The map with what a function makes of each value.",
        "(fn [m f] (reduce-kv (fn [out k v] (assoc out k (f v))) (if (vector? m) m {}) m))").examples(&[("(update-vals {:a 1} inc)", "{:a 2}")]),
    lisp("update-keys", "map f", "The map with what a function makes of each key.",
        "(fn [m f] (reduce-kv (fn [out k v] (assoc out (f k) v)) {} m))").examples(&[("(update-keys {:a 1} name)", "{\"a\" 1}")]),
    native("array-map", "& pairs", "A map of keys and values in turn.", super::collection::hash_map).examples(&[("(array-map :b 1 :a 2)", "{:b 1 :a 2}")]),
    native("sorted-map", "& pairs", "A map of keys and values in turn, in the order of the keys; what is added later comes last.", |context, args| {
        let map = super::collection::hash_map(context, args)?;
        let entries: Vec<(Value, Value)> = map.entries().map(|(key, value)| (Value::vector(vec![key.clone(), value.clone()]), key.clone())).collect();
        super::sort::check_comparable(map.entries().next().map(|(key, _)| key), &mut context.meter)?;
        let mut out = Map::default();
        for entry in super::sort::sort_by_keys(entries, &Value::Nil, &mut context.meter)? {
            let mut parts = entry.elements().cloned();
            if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                out.insert(key, value, &mut context.meter)?;
            }
        }
        Ok(Value::from(out))
    })
    .examples(&[("(sorted-map :b 1 :a 2)", "{:a 2 :b 1}")]),
];

/// A map, or an empty one for nil.
fn is_empty(coll: &Value) -> Result<bool, Fault> {
    Ok(match coll {
        Value::Text(text) => text.is_empty(),
        coll => crate::value::has_children(coll) && coll.stored_len()? == 0,
    })
}

/// The value under a key of a map or index of a vector, which are what has entries.
pub(super) fn find_value(coll: &Value, key: &Value, function: &str, meter: &mut Meter) -> Result<Option<Value>, Fault> {
    match coll {
        Value::Nil | Value::Map(_) | Value::Vector(_) => lookup(coll, key, meter),
        other => Err(Fault::of_type(format!("`{function}` takes a map or a vector, not {}", other.type_phrase()))),
    }
}

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

/// A sequence of something of each entry, or nil if there are none.
fn parts(
    context: &mut Context,
    args: &mut Args<'_>,
    function: &str,
    part: fn(&Value, &Value) -> Value,
) -> Result<Value, Fault> {
    let map = match args.take(0) {
        // A sequence of entries will do, as in Clojure for what `seq` gives of a map.
        coll if !matches!(coll, Value::Map(_)) && is_empty(&coll)? => return Ok(Value::Nil),
        coll => map_argument(coll, function)?,
    };
    context.meter.collection(map.len())?;
    let mut out = super::sequence::Items::default();
    for (key, value) in map.iter() {
        out.push(part(key, value), &mut context.meter)?;
    }
    Ok(if map.len() == 0 { Value::Nil } else { out.into_list() })
}

fn part_of_entry(args: &Args<'_>, index: usize) -> Result<Value, Fault> {
    match args.get(0) {
        Value::Vector(entry) if entry.len() == 2 => Ok(entry.get(index).cloned().unwrap_or_default()),
        other => Err(Fault::of_type(format!("an entry is a vector of a key and a value, not {}", other.type_phrase()))),
    }
}

fn merge(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut out = args.take(0);
    for index in 1..args.len() {
        let next = args.take(index);
        if out.is_nil() {
            out = next;
        } else if !next.is_nil() {
            out = super::collection::conj_one(out, next, &mut context.meter)?;
        }
    }
    Ok(out)
}

/// A path, which is a collection of keys: one key alone, or a string with dots, is a mistake.
pub(crate) fn checked_path(path: Value) -> Result<Value, Fault> {
    if path.is_nil() || crate::value::has_children(&path) {
        return Ok(path);
    }
    let message = format!("a path is a vector of keys, not {}", path.type_phrase());
    Err(Fault::of_type(message).help("write it as `[:a :b]`"))
}

fn get_in(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let path = super::sequence::elements_of(checked_path(args.take(1))?, &mut context.meter)?;
    let mut value = args.take(0);
    for key in path {
        match lookup(&value, &key, &mut context.meter)? {
            Some(found) => value = found,
            None => return Ok(args.take(2)),
        }
    }
    Ok(value)
}
