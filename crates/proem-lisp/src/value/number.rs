//! Numbers: integers of any size and floats.
//!
//! An integer is stored in 64 bits when it fits and as a [`BigInt`] otherwise, so equal integers are
//! stored alike. Division is exact where it can be and a float elsewhere. Floats follow IEEE 754.

use super::Value;
use crate::{
    error::Fault,
    limits::{Meter, cost},
};
use alloc::{format, string::ToString as _, sync::Arc};
use core::cmp::Ordering;
use num_bigint::BigInt;

/// Decimal digits in 64 bits, rounded up, for estimating a size before there is a number.
const DIGITS_PER_WORD: u64 = 20;

/// A number to compute with.
pub(crate) enum Number<'a> {
    Int(i64),
    Big(&'a BigInt),
    Float(f64),
}

impl<'a> Number<'a> {
    /// The value as a number. `function` names who asks.
    pub(crate) fn of(value: &'a Value, function: &str) -> Result<Self, Fault> {
        match value {
            Value::Int(int) => Ok(Self::Int(*int)),
            Value::Float(float) => Ok(Self::Float(float.get())),
            Value::Big(big) => Ok(Self::Big(big)),
            other => Err(not_a_number(other, function)),
        }
    }

    pub(crate) fn to_float(&self) -> f64 {
        match self {
            Self::Int(int) => int_to_float(*int),
            Self::Float(float) => *float,
            Self::Big(big) => big_to_float(big),
        }
    }

    fn to_big(&self) -> Option<BigInt> {
        match self {
            Self::Int(int) => Some(BigInt::from(*int)),
            Self::Big(big) => Some((*big).clone()),
            Self::Float(_) => None,
        }
    }

    fn words(&self) -> u64 {
        match self {
            Self::Big(big) => big.bits() / 64,
            Self::Int(_) | Self::Float(_) => 0,
        }
    }
}

fn not_a_number(value: &Value, function: &str) -> Fault {
    let fault = Fault::of_type(format!("`{function}` takes numbers, not {}", value.type_phrase()));
    match value {
        Value::Text(_) => {
            fault.help("read a number from text with `parse-long` or `parse-double`, and join texts with `str`")
        }
        Value::Keyword(_) => {
            fault.help("a keyword gets its value from a map, `(:key map)`; `(sum-by :key maps)` adds up a key of many")
        }
        Value::Map(_) => fault.help("take the number out of it, such as with `(:key map)` or `(map :key maps)`"),
        value if crate::value::has_children(value) => {
            fault.help(format!("give it each number as an argument with `(apply {function} coll)`"))
        }
        Value::Nil => fault.help(format!(
            "give a missing value a default with `(or x 0)` or `(get m k 0)`, and in `update` with `(fnil {function} 0)`"
        )),
        _ => fault,
    }
}

/// The nearest float.
#[expect(clippy::cast_precision_loss, reason = "rounding to the nearest float is what is asked for")]
pub(crate) const fn int_to_float(int: i64) -> f64 {
    int as f64
}

fn big_to_float(big: &BigInt) -> f64 {
    // Decimal digits are read with correct rounding, which the bits alone don't give.
    big.to_string().parse().unwrap_or(f64::NAN)
}

/// The integer part of a float, or `None` if it has none.
pub(crate) fn float_to_integer(float: f64) -> Option<Value> {
    if !float.is_finite() {
        return None;
    }
    let whole = libm::trunc(float);
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&whole) {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 64 bits")]
        return Some(Value::Int(whole as i64));
    }
    format!("{whole:.0}").parse().ok().map(from_big)
}

/// An integer as it is stored.
pub(crate) fn from_big(big: BigInt) -> Value {
    match i64::try_from(&big) {
        Ok(int) => Value::Int(int),
        Err(_) => Value::Big(Arc::new(big)),
    }
}

/// An operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Quotient,
    Remainder,
    Modulus,
}

impl Arithmetic {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Quotient => "quot",
            Self::Remainder => "rem",
            Self::Modulus => "mod",
        }
    }

    /// The result for two numbers.
    #[inline]
    pub(crate) fn apply(self, a: &Value, b: &Value, meter: &mut Meter) -> Result<Value, Fault> {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => {
                if let Some(result) = self.apply_ints(*a, *b) {
                    return Ok(result);
                }
            }
            (Value::Float(a), Value::Float(b)) if !self.is_division() || (self == Self::Divide && b.get() != 0.0) => {
                return Ok(Value::float(self.apply_floats(a.get(), b.get())));
            }
            _ => {}
        }
        self.apply_any(a, b, meter)
    }

    const fn is_division(self) -> bool {
        matches!(self, Self::Divide | Self::Quotient | Self::Remainder | Self::Modulus)
    }

    fn apply_ints(self, a: i64, b: i64) -> Option<Value> {
        let result = match self {
            Self::Add => a.checked_add(b)?,
            Self::Subtract => a.checked_sub(b)?,
            Self::Multiply => a.checked_mul(b)?,
            Self::Divide => {
                if a.checked_rem(b)? != 0 {
                    return Some(Value::float(int_to_float(a) / int_to_float(b)));
                }
                a.checked_div(b)?
            }
            Self::Quotient => a.checked_div(b)?,
            Self::Remainder => a.checked_rem(b)?,
            Self::Modulus => {
                let remainder = a.checked_rem(b)?;
                if remainder != 0 && (remainder < 0) != (b < 0) { remainder.checked_add(b)? } else { remainder }
            }
        };
        Some(Value::Int(result))
    }

    fn apply_floats(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            // Adding zero makes the -0.0 of a small quotient 0.0.
            Self::Quotient => libm::trunc(a / b) + 0.0,
            // Clojure's formula, which rounds where `fmod` is exact.
            Self::Remainder => a - libm::trunc(a / b) * b,
            Self::Modulus => {
                let remainder = a - libm::trunc(a / b) * b;
                if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) { remainder + b } else { remainder }
            }
        }
    }

    fn apply_any(self, a: &Value, b: &Value, meter: &mut Meter) -> Result<Value, Fault> {
        let (a, b) = (Number::of(a, self.name())?, Number::of(b, self.name())?);
        if let (Some(left), Some(right)) = (a.to_big(), b.to_big()) {
            if self.is_division() && right == BigInt::ZERO {
                return Err(divide_by_zero(self));
            }
            charge(self, &a, &b, meter)?;
            return self.apply_bigs(&left, &right, meter);
        }
        let (left, right) = (a.to_float(), b.to_float());
        // As in Clojure: `/` with a float follows IEEE 754 unless it divides by an integer zero.
        if right == 0.0 && self.is_division() && (self != Self::Divide || matches!(b, Number::Int(_))) {
            return Err(divide_by_zero(self));
        }
        if matches!(self, Self::Quotient | Self::Remainder | Self::Modulus) && !(left / right).is_finite() {
            let message = format!("`{}` has no result for {left} and {right}", self.name());
            return Err(Fault::eval(message).help("test for it with `infinite?` and `NaN?`"));
        }
        Ok(Value::float(self.apply_floats(left, right)))
    }

    fn apply_bigs(self, a: &BigInt, b: &BigInt, meter: &Meter) -> Result<Value, Fault> {
        let quotient = || a.checked_div(b);
        let remainder = || a.checked_sub(&b.checked_mul(&a.checked_div(b)?)?);
        let result = match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => match remainder() {
                Some(rest) if rest == BigInt::ZERO => quotient(),
                _ => return Ok(Value::float(big_to_float(a) / big_to_float(b))),
            },
            Self::Quotient => quotient(),
            Self::Remainder => remainder(),
            Self::Modulus => remainder().and_then(|rest| {
                let is_other_sign = rest != BigInt::ZERO && (rest < BigInt::ZERO) != (*b < BigInt::ZERO);
                if is_other_sign { rest.checked_add(b) } else { Some(rest) }
            }),
        };
        let Some(result) = result else { return Err(divide_by_zero(self)) };
        meter.digits(digit_count(&result))?;
        Ok(from_big(result))
    }
}

/// Charges the work before it is done: the product of the sizes for all but sums.
fn charge(operation: Arithmetic, a: &Number<'_>, b: &Number<'_>, meter: &mut Meter) -> Result<(), Fault> {
    let (a, b) = (a.words().saturating_add(1), b.words().saturating_add(1));
    if operation == Arithmetic::Multiply {
        let digits = a.saturating_add(b).saturating_sub(2).saturating_mul(DIGITS_PER_WORD.saturating_sub(1));
        meter.digits(usize::try_from(digits).unwrap_or(usize::MAX))?;
    }
    let is_sum = matches!(operation, Arithmetic::Add | Arithmetic::Subtract);
    meter.work(if is_sum { a.saturating_add(b) } else { a.saturating_mul(b) })?;
    let words = usize::try_from(a.saturating_add(b)).unwrap_or(usize::MAX);
    meter.allocate(words.saturating_mul(8).saturating_add(cost::OBJECT))
}

/// The number of decimal digits, at most one too many.
pub(crate) fn digit_count(big: &BigInt) -> usize {
    // 1233 / 4096 is the logarithm of 2 to the base 10, rounded up in the fifth digit.
    let digits = big.bits().saturating_mul(1233) / 4096;
    usize::try_from(digits).unwrap_or(usize::MAX).saturating_add(1)
}

pub(crate) fn divide_by_zero(operation: Arithmetic) -> Fault {
    Fault::eval(format!("`{}` divides by zero", operation.name()))
        .help("test the divisor first, such as with `(if (zero? n) …)`")
}

/// The order of two numbers by value. `NaN` comes after all others, so that sorting has an order.
pub(crate) fn compare_numbers(a: &Value, b: &Value) -> Result<Ordering, Fault> {
    Ok(match (Number::of(a, "compare")?, Number::of(b, "compare")?) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (Number::Float(a), Number::Float(b)) => compare_floats(a, b),
        (Number::Float(a), b) => compare_with_float(&b, a).reverse(),
        (a, Number::Float(b)) => compare_with_float(&a, b),
        (a, b) => a.to_big().cmp(&b.to_big()),
    })
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Exact, as conversion to a float would make neighbours equal and the order no order.
fn compare_with_float(integer: &Number<'_>, float: f64) -> Ordering {
    let Some(Some(whole)) = float_to_integer(float).map(|whole| match whole {
        Value::Int(int) => Some(BigInt::from(int)),
        Value::Big(big) => Some((*big).clone()),
        _ => None,
    }) else {
        return if float == f64::NEG_INFINITY { Ordering::Greater } else { Ordering::Less };
    };
    let order = integer.to_big().cmp(&Some(whole));
    order.then_with(|| compare_floats(0.0, float - libm::trunc(float)))
}
