//! Looking things up: what `get`, `nth`, keywords and collections as functions share.

use crate::{
    context::Context,
    error::Fault,
    limits::Meter,
    value::{Value, endless},
};
use alloc::format;

/// The value under a key of a map, a set's element, or the element at an index. `None` if there is none.
///
/// A keyword finds the string of its name and the other way round.
pub(crate) fn lookup(coll: &Value, key: &Value, meter: &mut Meter) -> Result<Option<Value>, Fault> {
    Ok(match coll {
        Value::Map(map) => map.lookup(key, meter)?.cloned(),
        Value::Set(set) => set.0.entry(key, meter)?.map(|entry| entry.key.clone()),
        Value::Vector(_) | Value::Text(_) => match key {
            Value::Int(index) => {
                if let Value::Text(text) = coll {
                    meter.text(text.len())?;
                }
                usize::try_from(*index).ok().and_then(|index| element(coll, index))
            }
            _ => None,
        },
        _ => None,
    })
}

/// The element at an index of a sequence or text.
pub(crate) fn element(coll: &Value, index: usize) -> Option<Value> {
    match coll {
        Value::Vector(vector) => vector.get(index).cloned(),
        Value::List(list) => list.get(index).cloned(),
        Value::Stream(stream) => stream.get(index),
        Value::Text(text) => text.grapheme(index).map(Value::text),
        _ => None,
    }
}

/// The element at an index, or a fault if the index is outside.
pub(crate) fn nth(context: &mut Context, coll: &Value, index: &Value) -> Result<Option<Value>, Fault> {
    let place = match index {
        Value::Int(place) => usize::try_from(*place).ok(),
        other => return Err(Fault::of_type(format!("an index is an integer, not {}", other.type_phrase()))),
    };
    match coll {
        Value::Nil => Ok(None),
        Value::Vector(_) | Value::List(_) | Value::Stream(_) => Ok(place.and_then(|place| element(coll, place))),
        Value::Text(text) => {
            context.meter.text(text.len())?;
            Ok(place.and_then(|place| element(coll, place)))
        }
        other => Err(Fault::of_type(format!("{} has no elements by index", other.type_phrase()))
            .help("make a sequence of it with `seq`, or look a key up with `get`")),
    }
}

/// The number of elements.
pub(crate) fn count(value: &Value, meter: &mut Meter) -> Result<usize, Fault> {
    match value {
        Value::Nil => Ok(0),
        Value::Text(text) => {
            meter.text(text.len())?;
            Ok(text.grapheme_count())
        }
        Value::Stream(stream) => stream.count().ok_or_else(endless),
        value if crate::value::has_children(value) => value.stored_len(),
        other => Err(Fault::of_type(format!("{} has no count", other.type_phrase()))),
    }
}
