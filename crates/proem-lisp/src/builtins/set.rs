//! `clojure.set`: sets, and relations as sets of maps.

use super::{Row, collection::conj_one, lisp, lookup::count, native, sequence::elements_of};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    value::{Map, Set, Value},
};
use alloc::{format, sync::Arc};

pub(super) const ROWS: &[Row] = &[
    native("set/union", "& sets", "The elements of all sets.", union)
        .examples(&[("(set/union #{1 2} #{2 3})", "#{1 2 3}"), ("(set/union)", "#{}")]),
    native("set/intersection", "s & sets", "The elements that all sets have.", intersection)
        .examples(&[("(set/intersection #{1 2} #{2 3})", "#{2}")]),
    native("set/difference", "s & sets", "The elements of the first set that no other has.", difference)
        .examples(&[("(set/difference #{1 2 3} #{2})", "#{1 3}")]),
    native("set/subset?", "s other", "Whether the second set has all elements of the first.", |context, args| {
        let (first, second) = (args.take(0), args.take(1));
        is_subset(first, &second, "set/subset?", &mut context.meter)
    })
    .examples(&[("(set/subset? #{1} #{1 2})", "true")]),
    native("set/superset?", "s other", "Whether the first set has all elements of the second.", |context, args| {
        let (first, second) = (args.take(1), args.take(0));
        is_subset(first, &second, "set/superset?", &mut context.meter)
    })
    .examples(&[("(set/superset? #{1 2} #{1})", "true")]),
    lisp(
        "set/select",
        "pred s",
        "The elements of a set for which a function holds.",
        "(fn [pred xset] (reduce (fn [s x] (if (pred x) s (disj s x))) xset xset))",
    )
    .examples(&[("(set/select even? #{1 2 4})", "#{2 4}")]),
    lisp(
        "set/project",
        "rel keys",
        "The maps of a relation with these keys only, as a set.",
        "(fn [xrel ks] (set (map (fn [m] (select-keys m ks)) xrel)))",
    )
    .examples(&[("(set/project #{{:a 1 :b 2} {:a 1 :b 3}} [:a])", "#{{:a 1}}")]),
    lisp(
        "set/rename-keys",
        "map names",
        "The map with keys replaced by others.",
        "(fn [m names] (reduce (fn [out [old new]] (if (contains? m old) (assoc out new (get m old)) out)) (apply dissoc m (keys names)) names))",
    )
    .examples(&[("(set/rename-keys {:a 1 :b 2} {:a :c})", "{:b 2 :c 1}")]),
    lisp(
        "set/rename",
        "rel names",
        "The maps of a relation with keys replaced by others, as a set.",
        "(fn [xrel names] (set (map (fn [m] (set/rename-keys m names)) xrel)))",
    )
    .examples(&[("(set/rename #{{:a 1}} {:a :b})", "#{{:b 1}}")]),
    lisp(
        "set/index",
        "rel keys",
        "A map from the values of these keys to the set of maps that have them.",
        "(fn [xrel ks] (reduce (fn [m x] (let [k (select-keys x ks)] (assoc m k (conj (get m k #{}) x)))) {} xrel))",
    )
    .examples(&[("(set/index #{{:a 1 :b 2}} [:a])", "{{:a 1} #{{:a 1 :b 2}}}")]),
    lisp(
        "set/map-invert",
        "map",
        "A map from values to keys.",
        "(fn [m] (reduce-kv (fn [out k v] (assoc out v k)) {} m))",
    )
    .examples(&[("(set/map-invert {:a 1 :b 2})", "{1 :a 2 :b}")]),
    lisp(
        "set/join",
        "rel other keys?",
        "All merged pairs of maps that agree in the keys that both have, or in keys paired by a map.",
        "(fn [xrel yrel & [km]]
           (if (or km (and (seq xrel) (seq yrel)))
             (let [by (or km (let [ks (set/intersection (set (keys (first xrel))) (set (keys (first yrel))))] (zipmap ks ks)))
                   [r s k] (if (<= (count xrel) (count yrel)) [xrel yrel (set/map-invert by)] [yrel xrel by])
                   idx (set/index r (vals k))]
               (reduce (fn [out x]
                         (reduce (fn [out y] (conj out (merge y x))) out (get idx (set/rename-keys (select-keys x (keys k)) k))))
                       #{} s))
             #{}))",
    )
    .examples(&[
        ("(set/join #{{:id 1 :a 2}} #{{:id 1 :b 3}})", "#{{:id 1 :a 2 :b 3}}"),
        ("(set/join #{{:id 1}} #{{:user 1 :b 3}} {:id :user})", "#{{:id 1 :user 1 :b 3}}"),
    ]),
];

/// A set, or an empty one for nil.
fn set_argument(value: Value, function: &str) -> Result<Arc<Set>, Fault> {
    match value {
        Value::Set(set) => Ok(set),
        Value::Nil => Ok(Arc::default()),
        other => Err(Fault::of_type(format!("`{function}` takes sets, not {}", other.type_phrase()))
            .help("make a set of a collection with `set`")),
    }
}

/// Adds to the largest, as Clojure does: the result is of its kind.
fn union(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    let mut largest: Option<(usize, usize)> = None;
    for index in 0..args.len() {
        let size = count(args.get(index), meter)?;
        if largest.is_none_or(|(_, most)| size > most) {
            largest = Some((index, size));
        }
    }
    let Some((largest, _)) = largest else { return Ok(Value::from(Set::default())) };
    let mut out = args.take(largest);
    for index in (0..args.len()).filter(|index| *index != largest) {
        for element in elements_of(args.take(index), meter)? {
            out = conj_one(out, element, meter)?;
        }
    }
    Ok(out)
}

/// The set with only the elements for which `keep` holds.
fn retain(
    mut set: Arc<Set>,
    meter: &mut Meter,
    keep: impl Fn(&Value, &mut Meter) -> Result<bool, Fault>,
) -> Result<Arc<Set>, Fault> {
    meter.elements(set.0.len())?;
    let mut out = Map::default();
    for (element, _) in set.0.iter() {
        if keep(element, meter)? {
            out.insert(element.clone(), Value::Nil, meter)?;
        }
    }
    if out.len() < set.0.len() {
        set = Arc::new(Set(out));
    }
    Ok(set)
}

/// Keeps the elements of the smaller of two, which may be nil, as Clojure does.
fn intersection(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    let mut smallest = (0, usize::MAX);
    for index in 0..args.len() {
        let size = count(args.get(index), meter)?;
        if size <= smallest.1 {
            smallest = (index, size);
        }
    }
    // Of three or more, the smallest comes first.
    let first = if args.len() > 2 { smallest.0 } else { 0 };
    let mut out = args.take(first);
    for index in (0..args.len()).filter(|index| *index != first) {
        let mut other = args.take(index);
        if count(&other, meter)? < count(&out, meter)? {
            core::mem::swap(&mut out, &mut other);
        }
        let other = set_argument(other, "set/intersection")?;
        if !out.is_nil() {
            let smaller = set_argument(out, "set/intersection")?;
            out = Value::Set(retain(smaller, meter, |element, meter| other.0.contains(element, meter))?);
        }
    }
    Ok(out)
}

fn difference(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if args.len() == 1 || args.get(0).is_nil() {
        return Ok(args.take(0));
    }
    let meter = &mut context.meter;
    let mut out = set_argument(args.take(0), "set/difference")?;
    for index in 1..args.len() {
        let other = match args.take(index) {
            Value::Set(set) => set,
            coll => match super::collection::set_of(elements_of(coll, meter)?, meter)? {
                Value::Set(set) => set,
                _ => continue,
            },
        };
        out = retain(out, meter, |element, meter| Ok(!other.0.contains(element, meter)?))?;
    }
    Ok(Value::Set(out))
}

fn is_subset(part: Value, whole: &Value, function: &str, meter: &mut Meter) -> Result<Value, Fault> {
    if count(&part, meter)? > count(whole, meter)? {
        return Ok(Value::bool(false));
    }
    let whole = match whole {
        Value::Map(map) => Arc::new(Set((**map).clone())),
        other => set_argument(other.clone(), function)?,
    };
    for element in elements_of(part, meter)? {
        if !whole.0.contains(&element, meter)? {
            return Ok(Value::bool(false));
        }
    }
    Ok(Value::bool(true))
}
