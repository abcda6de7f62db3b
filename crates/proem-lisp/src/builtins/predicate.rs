//! Questions about one value.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    value::{Number, Value, compare_numbers},
};
use core::cmp::Ordering;

/// A row for a question about the type of its argument, which nothing can go wrong with.
macro_rules! question {
    ($name:literal, $doc:literal, $pattern:pat $(if $guard:expr)?, $examples:expr) => {
        native($name, "x", $doc, |_, args| Ok(Value::Bool(matches!(args.get(0), $pattern $(if $guard)?)))).examples($examples)
    };
}

pub(super) const ROWS: &[Row] = &[
    question!("nil?", "Whether it is nil.", Value::Nil, &[("(nil? nil)", "true")]),
    native("some?", "x", "Whether it isn't nil.", |_, args| Ok(Value::Bool(!args.get(0).is_nil())))
        .examples(&[("(some? false)", "true")]),
    native("not", "x", "Whether it is nil or false.", |_, args| Ok(Value::Bool(!args.get(0).is_truthy())))
        .examples(&[("(not nil)", "true")]),
    native("boolean", "x", "False for nil and false, else true.", |_, args| Ok(Value::Bool(args.get(0).is_truthy())))
        .examples(&[("(boolean 0)", "true")]),
    question!("true?", "Whether it is true.", Value::Bool(true), &[("(true? 1)", "false")]),
    question!("false?", "Whether it is false.", Value::Bool(false), &[("(false? nil)", "false")]),
    question!("boolean?", "Whether it is true or false.", Value::Bool(_), &[("(boolean? nil)", "false")]),
    question!(
        "number?",
        "Whether it is a number.",
        Value::Int(_) | Value::Float(_) | Value::Big(_),
        &[("(number? 1.5)", "true")]
    ),
    question!("int?", "Whether it is an integer of 64 bits.", Value::Int(_), &[("(int? 1)", "true")]),
    question!("integer?", "Whether it is an integer.", Value::Int(_) | Value::Big(_), &[("(integer? 1)", "true")]),
    question!("float?", "Whether it is a float.", Value::Float(_), &[("(float? 1.0)", "true")]),
    question!("string?", "Whether it is a string.", Value::Text(_), &[("(string? \"a\")", "true")]),
    question!("keyword?", "Whether it is a keyword.", Value::Keyword(_), &[("(keyword? :a)", "true")]),
    question!("symbol?", "Whether it is a symbol.", Value::Symbol(_), &[("(symbol? 'a)", "true")]),
    question!("map?", "Whether it is a map.", Value::Map(_), &[("(map? {})", "true")]),
    question!(
        "vector?",
        "Whether it is a vector.",
        Value::Vector(_),
        &[("(vector? [])", "true"), ("(vector? '(1))", "false")]
    ),
    question!("set?", "Whether it is a set.", Value::Set(_), &[("(set? #{})", "true")]),
    question!(
        "seq?",
        "Whether it is a sequence, not a vector.",
        Value::List(_) | Value::Stream(_),
        &[("(seq? '(1))", "true")]
    ),
    question!("list?", "Whether it is a sequence, not a vector.", Value::List(_), &[("(list? '(1))", "true")]),
    question!(
        "sequential?",
        "Whether it is a sequence or a vector.",
        Value::List(_) | Value::Stream(_) | Value::Vector(_),
        &[("(sequential? [1])", "true")]
    ),
    question!(
        "coll?",
        "Whether it is a collection.",
        Value::List(_) | Value::Stream(_) | Value::Vector(_) | Value::Map(_) | Value::Set(_),
        &[("(coll? {})", "true")]
    ),
    question!("fn?", "Whether it is a function.", Value::Builtin(_) | Value::Closure(_), &[("(fn? inc)", "true")]),
    native("ifn?", "x", "Whether it can be called.", |_, args| Ok(Value::Bool(args.get(0).is_callable())))
        .examples(&[("(ifn? :a)", "true")]),
    native("zero?", "n", "Whether it is 0.", |_, args| sign("zero?", args, Ordering::is_eq))
        .examples(&[("(zero? 0.0)", "true")]),
    native("pos?", "n", "Whether it is above 0.", |_, args| sign("pos?", args, Ordering::is_gt))
        .examples(&[("(pos? 1)", "true")]),
    native("neg?", "n", "Whether it is below 0.", |_, args| sign("neg?", args, Ordering::is_lt))
        .examples(&[("(neg? 1)", "false")]),
    native("even?", "n", "Whether it is a multiple of 2.", |context, args| parity(context, args, "even?", true))
        .examples(&[("(even? 4)", "true")]),
    native("odd?", "n", "Whether it isn't a multiple of 2.", |context, args| parity(context, args, "odd?", false))
        .examples(&[("(odd? 4)", "false")]),
];

fn sign(function: &str, args: &mut Args<'_>, wanted: fn(Ordering) -> bool) -> Result<Value, Fault> {
    if let Number::Float(float) = Number::of(args.get(0), function)?
        && float.is_nan()
    {
        return Ok(Value::Bool(false));
    }
    Ok(Value::Bool(wanted(compare_numbers(args.get(0), &Value::Int(0))?)))
}

fn parity(_: &mut Context, args: &mut Args<'_>, function: &str, is_even: bool) -> Result<Value, Fault> {
    let found = match args.get(0) {
        Value::Int(int) => int & 1 == 0,
        Value::Big(big) => !big.bit(0),
        other => {
            return Err(Fault::of_type(alloc::format!("`{function}` takes an integer, not {}", other.type_phrase())));
        }
    };
    Ok(Value::Bool(found == is_even))
}
