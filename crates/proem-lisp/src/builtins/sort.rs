//! Sorting: a stable merge sort whose comparisons may fail and are charged one by one.

use super::row;
use crate::{
    error::Fault,
    limits::{Meter, cost},
    value::{Value, compare},
};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Whether a comparator is one of those that need no call: nil, `compare`, `<`, `<=`, `>` or `>=`.
pub(super) fn is_native_order(comparator: &Value) -> bool {
    direction(comparator).is_some()
}

/// Whether a comparator sorts downwards. `None` if only calling it tells.
fn direction(comparator: &Value) -> Option<bool> {
    match comparator {
        Value::Nil => Some(false),
        Value::Builtin(id) => match row(id.get())?.name {
            "<" | "<=" | "compare" => Some(false),
            ">" | ">=" => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a value has an order at all. A sorted collection asks even for its only element.
pub(super) fn check_comparable(value: Option<&Value>, meter: &mut Meter) -> Result<(), Fault> {
    value.map_or(Ok(()), |value| compare(value, value, meter).map(|_| ()))
}

/// The elements of the pairs in the order of the keys behind them.
pub(super) fn sort_by_keys(
    mut pairs: Vec<(Value, Value)>,
    comparator: &Value,
    meter: &mut Meter,
) -> Result<Vec<Value>, Fault> {
    let is_reversed = direction(comparator).unwrap_or(false);
    merge_sort(&mut pairs, meter, |(_, a), (_, b), meter| {
        let order = compare(a, b, meter)?;
        Ok(if is_reversed { order.reverse() } else { order })
    })?;
    Ok(pairs.into_iter().map(|(element, _)| element).collect())
}

/// Sorts from the bottom up. Equal elements keep their order.
pub(crate) fn merge_sort<T: Clone>(
    elements: &mut Vec<T>,
    meter: &mut Meter,
    order: impl Fn(&T, &T, &mut Meter) -> Result<Ordering, Fault>,
) -> Result<(), Fault> {
    meter.allocate(elements.len().saturating_mul(cost::SLOT))?;
    let mut width: usize = 1;
    while width < elements.len() {
        let mut merged = Vec::with_capacity(elements.len());
        for run in elements.chunks(width.saturating_mul(2)) {
            let (mut left, mut right) = run.split_at_checked(width).unwrap_or((run, &[]));
            while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
                meter.work(cost::COMPARISON)?;
                if order(a, b, meter)? == Ordering::Greater {
                    merged.push(b.clone());
                    right = after_b;
                } else {
                    merged.push(a.clone());
                    left = after_a;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *elements = merged;
        width = width.saturating_mul(2);
    }
    Ok(())
}
