//! Sequences: what takes elements in order and gives a sequence.

use super::{Row, lookup::count, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::{Meter, cost},
    value::{Chunk, List, Map, Stream, StreamKind, Value, endless, has_children},
};
use alloc::{format, sync::Arc, vec, vec::Vec};

pub(super) const ROWS: &[Row] = &[
    native("seq", "coll", "The elements as a sequence, or nil if there are none.", seq).examples(&[
        ("(seq [1 2])", "(1 2)"),
        ("(seq {})", "nil"),
        ("(seq \"ab\")", "(\"a\" \"b\")"),
    ]),
    native("first", "coll", "The first element, or nil.", first)
        .examples(&[("(first [1 2])", "1"), ("(first nil)", "nil")]),
    native("second", "coll", "The second element, or nil.", second).examples(&[("(second [1 2])", "2")]),
    native("last", "coll", "The last element, or nil.", last).examples(&[("(last [1 2 3])", "3")]),
    native("rest", "coll", "All elements but the first.", rest)
        .examples(&[("(rest [1 2 3])", "(2 3)"), ("(rest [])", "()")]),
    native("next", "coll", "All elements but the first, or nil if there are none.", next)
        .examples(&[("(next [1 2])", "(2)"), ("(next [1])", "nil")]),
    native("cons", "x coll", "A sequence with one more element at the front.", cons)
        .examples(&[("(cons 1 [2 3])", "(1 2 3)")]),
    native("take", "n coll", "The first n elements.", take)
        .examples(&[("(take 2 [1 2 3])", "(1 2)"), ("(take 3 (range))", "(0 1 2)")]),
    native("drop", "n coll", "The elements after the first n.", drop_elements)
        .examples(&[("(drop 1 [1 2 3])", "(2 3)")]),
    native("reverse", "coll", "The elements in reverse.", reverse).examples(&[("(reverse [1 2 3])", "(3 2 1)")]),
    native("concat", "& colls", "The elements of all collections.", concat)
        .examples(&[("(concat [1] nil [2 3])", "(1 2 3)")]),
    native(
        "range",
        "start? end? step?",
        "Integers from start (0) up to end, without it; without an end, endless.",
        range,
    )
    .examples(&[("(range 3)", "(0 1 2)"), ("(range 1 7 2)", "(1 3 5)"), ("(take 2 (range))", "(0 1)")]),
    native("seq->list", "coll", "", |context, args| elements_of(args.take(0), &mut context.meter).map(Value::list)),
    native("repeat", "n? x", "A value n times, or endlessly.", repeat)
        .examples(&[("(repeat 2 :a)", "(:a :a)"), ("(take 2 (repeat 1))", "(1 1)")]),
    native("cycle", "coll", "The elements again and again, endlessly.", cycle)
        .examples(&[("(take 3 (cycle [1 2]))", "(1 2 1)")]),
];

/// A place in a sequence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursor {
    sequence: Value,
    at: usize,
}

impl Cursor {
    /// The start of a collection.
    pub(crate) fn over(coll: Value, meter: &mut Meter) -> Result<Self, Fault> {
        Ok(Self { sequence: to_sequence(coll, meter)?, at: 0 })
    }

    pub(crate) const fn sequence(&self) -> &Value {
        &self.sequence
    }

    /// The place of the next element.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// A place in what [`to_sequence`] gives.
    pub(crate) fn at_place(sequence: Value, at: usize) -> Option<Self> {
        has_children(&sequence).then_some(Self { sequence, at })
    }

    /// The index of the last element in a vector. `None` if this is another sequence.
    pub(crate) fn last_index(&self) -> Option<usize> {
        if let Value::Vector(_) = &self.sequence { self.at.checked_sub(1) } else { None }
    }

    /// The next element if it is stored as it is. `None` at the end, and for other sequences.
    #[inline]
    pub(crate) fn next_stored(&mut self) -> Option<&Value> {
        let element = match &self.sequence {
            Value::Vector(vector) => vector.get(self.at),
            Value::List(list) => list.get(self.at),
            _ => None,
        }?;
        self.at = self.at.saturating_add(1);
        Some(element)
    }

    /// The next element. A key and its value as a vector.
    #[inline]
    pub(crate) fn next(&mut self, meter: &mut Meter) -> Result<Option<Value>, Fault> {
        match step(&self.sequence, self.at, meter)? {
            Some((at, value)) => {
                self.at = at;
                Ok(Some(value))
            }
            None => Ok(None),
        }
    }
}

/// The element at a position of a sequence, and the position behind it.
#[inline]
pub(crate) fn step(sequence: &Value, at: usize, meter: &mut Meter) -> Result<Option<(usize, Value)>, Fault> {
    let next = at.saturating_add(1);
    Ok(match sequence {
        Value::Vector(vector) => vector.get(at).cloned().map(|value| (next, value)),
        Value::List(list) => list.get(at).cloned().map(|value| (next, value)),
        Value::Stream(stream) => stream.get(at).map(|value| (next, value)),
        Value::Map(map) => match map.next_entry(at) {
            Some((next, key, value)) => {
                // Places of keys that were taken away are gone through too.
                meter.elements(next.saturating_sub(at))?;
                meter.allocate(cost::OBJECT)?;
                Some((next, Value::vector(vec![key.clone(), value.clone()])))
            }
            None => None,
        },
        Value::Set(set) => match set.0.next_entry(at) {
            Some((next, key, _)) => {
                meter.elements(next.saturating_sub(at))?;
                Some((next, key.clone()))
            }
            None => None,
        },
        _ => None,
    })
}

/// The collection as something with positions: text as a sequence of graphemes, nil as an empty one.
pub(crate) fn to_sequence(coll: Value, meter: &mut Meter) -> Result<Value, Fault> {
    super::stream::check_stored(&coll)?;
    match coll {
        Value::List(_) | Value::Vector(_) | Value::Map(_) | Value::Set(_) | Value::Stream(_) => Ok(coll),
        Value::Nil => Ok(Value::from(List::default())),
        Value::Text(text) => {
            let mut out = Items::default();
            for grapheme in text.graphemes() {
                meter.new_text(grapheme.len())?;
                out.push(Value::text(grapheme), meter)?;
            }
            Ok(out.into_list())
        }
        // Most often the arguments are in the wrong order, and how they follow each other helps more.
        other if other.is_function() => Err(Fault::of_type("a function isn't a collection")),
        other => Err(Fault::of_type(format!("{} isn't a collection", other.type_phrase()))
            .help("sequences, vectors, maps, sets, strings and nil are; put one value into a vector with `[x]`")),
    }
}

/// Elements of a collection that is being made, each charged before it is there.
#[derive(Debug, Default)]
pub(crate) struct Items(Vec<Value>);

impl Items {
    #[inline]
    pub(crate) fn push(&mut self, value: Value, meter: &mut Meter) -> Result<(), Fault> {
        meter.collection(self.0.len().saturating_add(1))?;
        meter.allocate(cost::SLOT.saturating_mul(2))?;
        self.0.push(value);
        Ok(())
    }

    /// Adds all elements of a collection.
    pub(crate) fn extend(&mut self, coll: Value, meter: &mut Meter) -> Result<(), Fault> {
        if let Value::Stream(stream) = &coll
            && stream.count().is_none()
        {
            return Err(endless());
        }
        let mut cursor = Cursor::over(coll, meter)?;
        while let Some(value) = cursor.next(meter)? {
            self.push(value, meter)?;
        }
        Ok(())
    }

    pub(crate) fn into_vec(self) -> Vec<Value> {
        self.0
    }

    pub(crate) fn into_list(self) -> Value {
        Value::list(self.0)
    }

    pub(crate) fn into_vector(self) -> Value {
        Value::vector(self.0)
    }
}

/// The elements of a collection that has an end.
pub(crate) fn elements_of(coll: Value, meter: &mut Meter) -> Result<Vec<Value>, Fault> {
    let mut items = Items::default();
    items.extend(coll, meter)?;
    Ok(items.into_vec())
}

/// The collection as a sequence without its first elements.
pub(crate) fn skip(coll: Value, count: usize, meter: &mut Meter) -> Result<Value, Fault> {
    Ok(match to_sequence(coll, meter)? {
        Value::Vector(vector) => Value::from(List::view(vector, count)),
        Value::List(list) => Value::from(list.skip(count, meter)?),
        Value::Stream(stream) => {
            meter.allocate(cost::OBJECT)?;
            Value::Stream(Arc::new(stream.skip(count)))
        }
        other => {
            let mut out = Items::default();
            let mut cursor = Cursor { sequence: other, at: 0 };
            let mut left = count;
            while let Some(value) = cursor.next(meter)? {
                match left.checked_sub(1) {
                    Some(less) => left = less,
                    None => out.push(value, meter)?,
                }
            }
            out.into_list()
        }
    })
}

fn is_empty(sequence: &Value) -> bool {
    sequence.stored_len().is_ok_and(|length| length == 0)
}

fn seq(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let sequence = skip(args.take(0), 0, &mut context.meter)?;
    Ok(if is_empty(&sequence) { Value::Nil } else { sequence })
}

fn first(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if let Value::Text(text) = args.get(0) {
        return Ok(text.grapheme(0).map_or(Value::Nil, Value::text));
    }
    let sequence = to_sequence(args.take(0), &mut context.meter)?;
    Ok(step(&sequence, 0, &mut context.meter)?.map(|(_, value)| value).unwrap_or_default())
}

fn second(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut cursor = Cursor::over(args.take(0), &mut context.meter)?;
    cursor.next(&mut context.meter)?;
    Ok(cursor.next(&mut context.meter)?.unwrap_or_default())
}

fn last(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    let sequence = to_sequence(args.take(0), meter)?;
    let length = count(&sequence, meter)?;
    if sequence.is_sequential() {
        return Ok(length.checked_sub(1).and_then(|at| super::lookup::element(&sequence, at)).unwrap_or_default());
    }
    meter.elements(length)?;
    let mut cursor = Cursor { sequence, at: 0 };
    let mut last = Value::Nil;
    while let Some(value) = cursor.next(meter)? {
        last = value;
    }
    Ok(last)
}

fn rest(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    skip(args.take(0), 1, &mut context.meter)
}

fn next(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let rest = skip(args.take(0), 1, &mut context.meter)?;
    Ok(if is_empty(&rest) { Value::Nil } else { rest })
}

fn cons(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let first = args.take(0);
    let meter = &mut context.meter;
    let mut list = to_list(args.take(1), meter)?;
    own_list(&mut list, meter)?.push_front(first, meter)?;
    Ok(Value::List(list))
}

/// The collection as a list, whose elements are shared where they can be.
pub(crate) fn to_list(coll: Value, meter: &mut Meter) -> Result<Arc<List>, Fault> {
    match skip(coll, 0, meter)? {
        Value::List(list) => Ok(list),
        other => Ok(Arc::new(List::from_vec(elements_of(other, meter)?))),
    }
}

/// The list to be changed, copied first if somebody else holds it.
pub(crate) fn own_list<'a>(list: &'a mut Arc<List>, meter: &mut Meter) -> Result<&'a mut List, Fault> {
    if Arc::get_mut(list).is_none() {
        meter.allocate(list.own_bytes())?;
    }
    Ok(Arc::make_mut(list))
}

fn take(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let count = args.count(0, "take")?;
    let meter = &mut context.meter;
    let sequence = to_sequence(args.take(1), meter)?;
    if let Value::Stream(stream) = &sequence
        && let Some(stream) = stream.take(count)
    {
        return Ok(Value::Stream(Arc::new(stream)));
    }
    let mut out = Items::default();
    let mut cursor = Cursor { sequence, at: 0 };
    for _ in 0..count {
        let Some(value) = cursor.next(meter)? else { break };
        out.push(value, meter)?;
    }
    Ok(out.into_list())
}

fn drop_elements(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let count = args.count(0, "drop")?;
    skip(args.take(1), count, &mut context.meter)
}

fn reverse(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut elements = elements_of(args.take(0), &mut context.meter)?;
    elements.reverse();
    Ok(Value::list(elements))
}

fn concat(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut out = Items::default();
    for index in 0..args.len() {
        out.extend(args.take(index), &mut context.meter)?;
    }
    Ok(out.into_list())
}

fn range(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let zero = Value::Int(0);
    let one = Value::Int(1);
    let (start, end, step) = match args.len() {
        0 => return Ok(Value::Stream(Arc::new(Stream::range(0, 1, None)))),
        1 => (&zero, args.get(0), &one),
        2 => (args.get(0), args.get(1), &one),
        _ => (args.get(0), args.get(1), args.get(2)),
    };
    match (start, end, step) {
        (Value::Int(start), Value::Int(end), Value::Int(step)) => {
            let count = range_count(*start, *end, *step);
            Ok(Value::Stream(Arc::new(match count {
                Some(count) => Stream::range(*start, *step, Some(count)),
                // As in Clojure, a step of 0 repeats the start for ever.
                None => {
                    Stream { kind: StreamKind::Repeat { count: None }, parts: Chunk::new(vec![Value::Int(*start)]) }
                }
            })))
        }
        _ => float_range(context, start, end, step),
    }
}

fn repeat(_: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let count = if args.len() == 2 { Some(args.count(0, "repeat")?) } else { None };
    let last = args.len().saturating_sub(1);
    let parts = Chunk::new(vec![args.take(last)]);
    Ok(Value::Stream(Arc::new(Stream { kind: StreamKind::Repeat { count }, parts })))
}

fn cycle(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let parts = elements_of(args.take(0), &mut context.meter)?;
    if parts.is_empty() {
        return Ok(Value::from(List::default()));
    }
    Ok(Value::Stream(Arc::new(Stream { kind: StreamKind::Cycle { start: 0 }, parts: Chunk::new(parts) })))
}

/// How many integers there are. `None` if a step of 0 never comes to the end.
fn range_count(start: i64, end: i64, step: i64) -> Option<usize> {
    let distance = i128::from(end).checked_sub(i128::from(start))?;
    if step == 0 {
        return (distance == 0).then_some(0);
    }
    let step = i128::from(step);
    if distance == 0 || (distance > 0) != (step > 0) {
        return Some(0);
    }
    let whole = distance.checked_div(step)?;
    let more = i128::from(distance.checked_rem(step)? != 0);
    usize::try_from(whole.checked_add(more)?).ok()
}

fn float_range(context: &mut Context, start: &Value, end: &Value, step: &Value) -> Result<Value, Fault> {
    use crate::value::{Arithmetic, compare_numbers};
    use core::cmp::Ordering;
    let meter = &mut context.meter;
    let towards = compare_numbers(step, &Value::Int(0))?;
    let mut out = Items::default();
    let mut value = start.clone();
    loop {
        let order = compare_numbers(&value, end)?;
        let goes_on = match towards {
            Ordering::Greater => order == Ordering::Less,
            Ordering::Less => order == Ordering::Greater,
            Ordering::Equal => return Err(endless()),
        };
        if !goes_on {
            return Ok(out.into_list());
        }
        out.push(value.clone(), meter)?;
        value = Arithmetic::Add.apply(&value, step, meter)?;
    }
}

/// The map to be changed, copied first if somebody else holds it.
pub(crate) fn own_map<'a>(map: &'a mut Arc<Map>, meter: &mut Meter) -> Result<&'a mut Map, Fault> {
    if Arc::get_mut(map).is_none() {
        meter.allocate(map.own_bytes())?;
    }
    Ok(Arc::make_mut(map))
}

/// Whether a value was given before. It is known from then on.
pub(crate) fn seen_before(seen: &mut Map, value: &Value, meter: &mut Meter) -> Result<bool, Fault> {
    let before = seen.len();
    seen.insert(value.clone(), Value::Nil, meter)?;
    Ok(seen.len() == before)
}
