//! Equality, order and hashes of values of any depth, without recursion and paid for in fuel.
//!
//! A key that is a map is looked up in another map while both are compared. That goes one call
//! deeper for each map inside a key, which [`Meter::inside_key`] bounds.

use super::{
    Value,
    children::{Children, has_children},
    number::compare_numbers,
};
use crate::{
    error::Fault,
    limits::{Meter, cost},
};
use alloc::{borrow::Cow, format, sync::Arc, vec::Vec};
use core::cmp::Ordering;

/// Whether two values are equal as Clojure's `=` has it.
///
/// Sequences are equal by their elements, whether lists or vectors. A float never equals an integer. `NaN` equals
/// nothing.
///
/// # Errors
///
/// The fuel ran out, a sequence has no end, or maps nest too deep inside keys.
pub fn is_equal(a: &Value, b: &Value, meter: &mut Meter) -> Result<bool, Fault> {
    meter.work(cost::STEP)?;
    match shallow_equality(a, b, meter)? {
        Some(answer) => Ok(answer),
        None => is_deeply_equal(a, b, meter),
    }
}

/// The answer if it needs no look at children that both have.
fn shallow_equality(a: &Value, b: &Value, meter: &mut Meter) -> Result<Option<bool>, Fault> {
    let answer = match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.get() == b.get(),
        (Value::Big(a), Value::Big(b)) => a == b,
        (Value::Text(a), Value::Text(b))
        | (Value::Keyword(a), Value::Keyword(b))
        | (Value::Symbol(a), Value::Symbol(b)) => {
            // Paid for even if both are one object: what a program costs doesn't depend on what is shared.
            meter.text(a.len().min(b.len()))?;
            a.is_same(b) || a == b
        }
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (Value::Closure(a), Value::Closure(b)) => Arc::ptr_eq(a, b),
        (Value::Regex(a), Value::Regex(b)) => Arc::ptr_eq(a, b),
        (Value::Map(a), Value::Map(b)) => return Ok((a.len() != b.len()).then_some(false)),
        (Value::Set(a), Value::Set(b)) => return Ok((a.0.len() != b.0.len()).then_some(false)),
        (a, b) if a.is_sequential() && b.is_sequential() => {
            return Ok((a.stored_len()? != b.stored_len()?).then_some(false));
        }
        (Value::Labelled(_), _) | (_, Value::Labelled(_)) => return Err(labelled_inside()),
        _ => false,
    };
    Ok(Some(answer))
}

/// Two collections that are compared, as far as the comparison has come.
enum Pair<'a> {
    Sequences(Children<'a>, Children<'a>),
    /// The entries of one map or set, and the other one.
    Entries(Children<'a>, &'a Value),
}

fn is_deeply_equal(a: &Value, b: &Value, meter: &mut Meter) -> Result<bool, Fault> {
    let mut open = Vec::new();
    open.push(pair(a, b));
    while let Some(mut top) = open.pop() {
        meter.elements(1)?;
        let (a, b) = match &mut top {
            Pair::Sequences(a, b) => match (a.next(), b.next()) {
                (Some(a), Some(b)) => (a, b),
                (None, None) => continue,
                _ => return Ok(false),
            },
            Pair::Entries(entries, other) => {
                let Some((key, value)) = entries.next_entry() else { continue };
                let found = match other {
                    Value::Map(map) => meter.inside_key(|meter| map.get(key, meter))?,
                    Value::Set(set) => {
                        if !meter.inside_key(|meter| set.0.contains(key, meter))? {
                            return Ok(false);
                        }
                        open.push(top);
                        continue;
                    }
                    _ => None,
                };
                let Some(found) = found else { return Ok(false) };
                (Cow::Borrowed(value), Cow::Borrowed(found))
            }
        };
        open.push(top);
        match shallow_equality(&a, &b, meter)? {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => {
                // Only what is stored has children, and that is borrowed.
                if let (Cow::Borrowed(a), Cow::Borrowed(b)) = (a, b) {
                    open.push(pair(a, b));
                }
            }
        }
    }
    Ok(true)
}

fn pair<'a>(a: &'a Value, b: &'a Value) -> Pair<'a> {
    match a {
        Value::Map(_) | Value::Set(_) => Pair::Entries(Children::of(a), b),
        _ => Pair::Sequences(Children::of(a), Children::of(b)),
    }
}

/// The order of two values as Clojure's `compare` has it: nil first, numbers by value, texts by
/// code point, vectors by length and then by their elements.
///
/// # Errors
///
/// [`crate::Reason::TypeError`] if they have no order. The fuel ran out.
pub fn compare(a: &Value, b: &Value, meter: &mut Meter) -> Result<Ordering, Fault> {
    let mut open: Vec<(Children<'_>, Children<'_>)> = Vec::new();
    let order = compare_one(a, b, &mut open, meter)?;
    if order != Ordering::Equal {
        return Ok(order);
    }
    while let Some((mut a, mut b)) = open.pop() {
        let (Some(first), Some(second)) = (a.next(), b.next()) else { continue };
        open.push((a, b));
        let order = match (first, second) {
            (Cow::Borrowed(first), Cow::Borrowed(second)) => compare_one(first, second, &mut open, meter)?,
            (first, second) => compare_one(&first, &second, &mut Vec::new(), meter)?,
        };
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

fn compare_one<'a>(
    a: &'a Value,
    b: &'a Value,
    open: &mut Vec<(Children<'a>, Children<'a>)>,
    meter: &mut Meter,
) -> Result<Ordering, Fault> {
    meter.work(cost::COMPARISON)?;
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Nil, Value::Nil) => Ordering::Equal,
        (Value::Nil, _) => Ordering::Less,
        (_, Value::Nil) => Ordering::Greater,
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => {
            meter.text(a.len().min(b.len()))?;
            a.cmp(b)
        }
        (Value::Keyword(a), Value::Keyword(b)) | (Value::Symbol(a), Value::Symbol(b)) => {
            // Those without a namespace come first.
            meter.text(a.len().saturating_add(b.len()))?;
            a.qualified_name().cmp(&b.qualified_name())
        }
        (Value::Vector(left), Value::Vector(right)) => match left.len().cmp(&right.len()) {
            Ordering::Equal => {
                open.push((Children::of(a), Children::of(b)));
                Ordering::Equal
            }
            order => order,
        },
        (a, b) if a.is_number() && b.is_number() => compare_numbers(a, b)?,
        (a, b) => {
            let message = format!("can't compare {} with {}", a.type_phrase(), b.type_phrase());
            return Err(Fault::of_type(message).help("compare values of one type, or sort by a key with `sort-by`"));
        }
    })
}

/// The hash of a value: equal values have equal hashes, in every process.
///
/// # Errors
///
/// The fuel ran out or a sequence has no end.
pub(crate) fn hash(value: &Value, meter: &mut Meter) -> Result<u32, Fault> {
    let hash = match leaf_hash(value, meter)? {
        Some(hash) => hash,
        None => deep_hash(value, meter)?,
    };
    let folded = (hash ^ hash.wrapping_shr(32)) & u64::from(u32::MAX);
    Ok(u32::try_from(folded).unwrap_or_default())
}

/// A collection whose elements are being hashed.
struct Hashing<'a> {
    children: Children<'a>,
    hash: u64,
    is_ordered: bool,
}

fn deep_hash(value: &Value, meter: &mut Meter) -> Result<u64, Fault> {
    let mut open = Vec::new();
    open.push(hashing(value)?);
    loop {
        let Some(top) = open.last_mut() else { return Ok(0) };
        let child = top.children.next();
        meter.elements(1)?;
        let mut hashed = match child {
            Some(child) => match leaf_hash(&child, meter)? {
                Some(hash) => hash,
                None => {
                    if let Cow::Borrowed(child) = child {
                        open.push(hashing(child)?);
                    }
                    continue;
                }
            },
            None => {
                let Some(done) = open.pop() else { return Ok(0) };
                let hash = mix(done.hash, if done.is_ordered { 11 } else { 12 });
                let Some(above) = open.last_mut() else { return Ok(hash) };
                above.add(hash);
                continue;
            }
        };
        if !top.is_ordered {
            // Elements of sets are added up, so each is mixed once more first.
            hashed = mix(hashed, 13);
        }
        top.add(hashed);
    }
}

impl Hashing<'_> {
    fn add(&mut self, hash: u64) {
        self.hash = if self.is_ordered { mix(self.hash, hash) } else { self.hash.wrapping_add(hash) };
    }
}

fn hashing(value: &Value) -> Result<Hashing<'_>, Fault> {
    value.stored_len()?;
    // Of a map only the keys are hashed: equal maps have equal keys, and no order would do for both.
    let is_ordered = value.is_sequential();
    let children = if is_ordered { Children::of(value) } else { Children::keys_of(value) };
    Ok(Hashing { children, hash: 7, is_ordered })
}

fn leaf_hash(value: &Value, meter: &mut Meter) -> Result<Option<u64>, Fault> {
    Ok(Some(match value {
        Value::Nil => mix(1, 0),
        Value::Bool(value) => mix(2, u64::from(value.get())),
        Value::Int(value) => mix(3, value.cast_unsigned()),
        Value::Float(value) => mix(4, if value.get() == 0.0 { 0 } else { value.get().to_bits() }),
        Value::Big(value) => value.iter_u64_digits().fold(mix(5, 0), mix),
        // A keyword and the string of its name have different hashes, so that maps hold both.
        Value::Text(text) => hash_text(6, text.as_str(), meter)?,
        Value::Keyword(text) => hash_text(7, text.as_str(), meter)?,
        Value::Symbol(text) => hash_text(8, text.as_str(), meter)?,
        Value::Builtin(id) => mix(9, u64::from(id.get().0)),
        // Functions and patterns are equal only to themselves and seldom keys: one bucket holds them.
        Value::Closure(_) | Value::Regex(_) | Value::Reduced(_) => mix(10, 0),
        Value::Labelled(_) => return Err(labelled_inside()),
        value if has_children(value) => return Ok(None),
        _ => 0,
    }))
}

/// A comparison takes labels off first and keeps them, so this shows a rule that is missing, and nothing leaks.
#[cold]
fn labelled_inside() -> Fault {
    Fault::eval("a labelled value can't be compared as it is")
}

fn hash_text(seed: u64, text: &str, meter: &mut Meter) -> Result<u64, Fault> {
    meter.text(text.len())?;
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(mix(seed, 0), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    Ok(rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte))))
}

/// Multiplies and folds, with the odd constant of the golden ratio.
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
    product ^ product.wrapping_shr(32)
}
