//! Numbers: arithmetic, order and rounding.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    value::{Arithmetic, Number, Value, compare_numbers, divide_by_zero, is_equal},
};
use core::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    native("+", "& numbers", "The sum.", add).examples(&[("(+ 1 2 3)", "6"), ("(+)", "0"), ("(+ 1 0.5)", "1.5")]),
    native("-", "x & numbers", "The difference, or the negative of one number.", subtract)
        .examples(&[("(- 5 2)", "3"), ("(- 5)", "-5")]),
    native("*", "& numbers", "The product.", multiply).examples(&[("(* 2 3)", "6"), ("(*)", "1")]),
    native("/", "x & numbers", "The quotient: an integer where it is exact, else a float.", divide)
        .examples(&[("(/ 6 3)", "2"), ("(/ 1 4)", "0.25")]),
    native("quot", "n divisor", "The quotient without its fraction.", quot).examples(&[("(quot -7 2)", "-3")]),
    native("rem", "n divisor", "The remainder with the sign of n.", rem).examples(&[("(rem -7 2)", "-1")]),
    native("mod", "n divisor", "The remainder with the sign of the divisor.", modulus).examples(&[("(mod -7 2)", "1")]),
    native("inc", "x", "One more.", inc).examples(&[("(inc 1)", "2")]),
    native("dec", "x", "One less.", dec).examples(&[("(dec 1)", "0")]),
    native("max", "x & more", "The greatest number.", max).examples(&[("(max 1 3 2)", "3")]),
    native("min", "x & more", "The least number.", min).examples(&[("(min 1 3 2)", "1")]),
    native("=", "x & more", "Whether all are equal; sequences by their elements.", equal)
        .examples(&[("(= [1 2] '(1 2))", "true"), ("(= 1 1.0)", "false")]),
    native("not=", "x & more", "Whether not all are equal.", not_equal).examples(&[("(not= 1 2)", "true")]),
    native("==", "x & more", "Whether all numbers have the same value.", same_number)
        .examples(&[("(== 1 1.0)", "true")]),
    native("<", "x & more", "Whether the numbers rise.", less).examples(&[("(< 1 2 3)", "true"), ("(< 1 1)", "false")]),
    native(">", "x & more", "Whether the numbers fall.", greater).examples(&[("(> 2 1)", "true")]),
    native("<=", "x & more", "Whether the numbers never fall.", at_most).examples(&[("(<= 1 1 2)", "true")]),
    native(">=", "x & more", "Whether the numbers never rise.", at_least).examples(&[("(>= 2 2 1)", "true")]),
    native("compare", "x y", "-1, 0 or 1 by the order of two values.", compare_values)
        .examples(&[("(compare \"a\" \"b\")", "-1"), ("(compare nil 1)", "-1")]),
];

/// The number itself, or a fault that names the function.
fn checked(value: Value, function: &str) -> Result<Value, Fault> {
    Number::of(&value, function)?;
    Ok(value)
}

fn accumulate(operation: Arithmetic, start: i64, context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if let [a, b] = &*args.0 {
        return operation.apply(a, b, &mut context.meter);
    }
    if args.len() == 0 {
        return Ok(Value::Int(start));
    }
    context.meter.elements(args.len())?;
    let mut result = checked(args.take(0), operation.name())?;
    for index in 1..args.len() {
        result = operation.apply(&result, args.get(index), &mut context.meter)?;
    }
    Ok(result)
}

fn add(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    accumulate(Arithmetic::Add, 0, context, args)
}

fn multiply(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    accumulate(Arithmetic::Multiply, 1, context, args)
}

fn subtract(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    match &*args.0 {
        // The negative of 0.0 is -0.0, which 0 - 0.0 isn't.
        [Value::Float(float)] => Ok(Value::float(-float.get())),
        [only] => Arithmetic::Subtract.apply(&Value::Int(0), only, &mut context.meter),
        _ => accumulate(Arithmetic::Subtract, 0, context, args),
    }
}

fn divide(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    match &*args.0 {
        [Value::Int(0)] => Err(divide_by_zero(Arithmetic::Divide)),
        [only] => Arithmetic::Divide.apply(&Value::Int(1), only, &mut context.meter),
        _ => accumulate(Arithmetic::Divide, 1, context, args),
    }
}

fn quot(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    Arithmetic::Quotient.apply(args.get(0), args.get(1), &mut context.meter)
}

fn rem(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    Arithmetic::Remainder.apply(args.get(0), args.get(1), &mut context.meter)
}

fn modulus(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    Arithmetic::Modulus.apply(args.get(0), args.get(1), &mut context.meter)
}

fn inc(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    Number::of(args.get(0), "inc")?;
    Arithmetic::Add.apply(args.get(0), &Value::Int(1), &mut context.meter)
}

fn dec(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    Number::of(args.get(0), "dec")?;
    Arithmetic::Subtract.apply(args.get(0), &Value::Int(1), &mut context.meter)
}

fn extreme(wanted: Ordering, function: &str, context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    context.meter.elements(args.len())?;
    let mut best = checked(args.take(0), function)?;
    for index in 1..args.len() {
        let next = checked(args.take(index), function)?;
        // As in Clojure, NaN wins, and of equal numbers the last does.
        let is_nan = matches!(&best, Value::Float(float) if float.get().is_nan());
        let next_is_nan = matches!(&next, Value::Float(float) if float.get().is_nan());
        if !is_nan && (next_is_nan || compare_numbers(&best, &next)? != wanted) {
            best = next;
        }
    }
    Ok(best)
}

fn max(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    extreme(Ordering::Greater, "max", context, args)
}

fn min(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    extreme(Ordering::Less, "min", context, args)
}

fn all_equal(context: &mut Context, args: &mut Args<'_>) -> Result<bool, Fault> {
    for pair in args.0.windows(2) {
        if let [a, b] = pair
            && !is_equal(a, b, &mut context.meter)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    all_equal(context, args).map(Value::bool)
}

fn not_equal(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    all_equal(context, args).map(|equal| Value::bool(!equal))
}

/// Whether each number and the next are in order. NaN is in none.
fn in_order(
    function: &str,
    context: &mut Context,
    args: &mut Args<'_>,
    wanted: fn(Ordering) -> bool,
) -> Result<Value, Fault> {
    context.meter.elements(args.len())?;
    for pair in args.0.windows(2) {
        let [a, b] = pair else { continue };
        if let (Value::Int(a), Value::Int(b)) = (a, b) {
            if !wanted(a.cmp(b)) {
                return Ok(Value::bool(false));
            }
            continue;
        }
        let is_nan = |number: &Number<'_>| matches!(number, Number::Float(float) if float.is_nan());
        let (left, right) = (Number::of(a, function)?, Number::of(b, function)?);
        if is_nan(&left) || is_nan(&right) || !wanted(compare_numbers(a, b)?) {
            return Ok(Value::bool(false));
        }
    }
    Ok(Value::bool(true))
}

fn same_number(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    in_order("==", context, args, Ordering::is_eq)
}

fn less(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    in_order("<", context, args, Ordering::is_lt)
}

fn greater(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    in_order(">", context, args, Ordering::is_gt)
}

fn at_most(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    in_order("<=", context, args, Ordering::is_le)
}

fn at_least(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    in_order(">=", context, args, Ordering::is_ge)
}

fn compare_values(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let order = crate::value::compare(args.get(0), args.get(1), &mut context.meter)?;
    Ok(Value::Int(match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}
