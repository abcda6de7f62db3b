//! Questions about one value.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    value::{Number, Truth, Value, compare_numbers},
};
use core::cmp::Ordering;

/// A row for a question about the type of its argument, which nothing can go wrong with.
macro_rules! question {
    ($name:literal, $doc:literal, $pattern:pat $(if $guard:expr)?, $examples:expr) => {
        native($name, "x", $doc, |_, args| Ok(Value::bool(matches!(args.get(0), $pattern $(if $guard)?)))).examples($examples)
    };
}

pub(super) const ROWS: &[Row] = &[
    question!("nil?", "Whether it is nil.", Value::Nil, &[("(nil? nil)", "true")]),
    native("some?", "x", "Whether it isn't nil.", |_, args| Ok(Value::bool(!args.get(0).is_nil())))
        .examples(&[("(some? false)", "true")]),
    native("not", "x", "Whether it is nil or false.", |_, args| Ok(Value::bool(!args.get(0).is_truthy())))
        .examples(&[("(not nil)", "true")]),
    native("boolean", "x", "False for nil and false, else true.", |_, args| Ok(Value::bool(args.get(0).is_truthy())))
        .examples(&[("(boolean 0)", "true")]),
    question!("true?", "Whether it is true.", Value::Bool(Truth::True), &[("(true? 1)", "false")]),
    question!("false?", "Whether it is false.", Value::Bool(Truth::False), &[("(false? nil)", "false")]),
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
    native("ifn?", "x", "Whether it can be called.", |_, args| Ok(Value::bool(args.get(0).is_callable())))
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
    question!("double?", "Whether it is a float.", Value::Float(_), &[("(double? 1)", "false")]),
    question!("ratio?", "Whether it is a ratio: never, as there are none.", Value::Nil if false, &[("(ratio? 0.5)", "false")]),
    question!("decimal?", "Whether it is a decimal: never, as there are none.", Value::Nil if false, &[("(decimal? 0.5)", "false")]),
    question!("rational?", "Whether it is an integer.", Value::Int(_) | Value::Big(_), &[("(rational? 1)", "true")]),
    question!("pos-int?", "Whether it is an integer above 0.", Value::Int(1..), &[("(pos-int? 1)", "true")]),
    question!("neg-int?", "Whether it is an integer below 0.", Value::Int(..0), &[("(neg-int? 1)", "false")]),
    question!("nat-int?", "Whether it is an integer that isn't below 0.", Value::Int(0..), &[("(nat-int? 0)", "true")]),
    question!(
        "ident?",
        "Whether it is a keyword or a symbol.",
        Value::Keyword(_) | Value::Symbol(_),
        &[("(ident? :a)", "true")]
    ),
    question!("any?", "Always true.", _, &[("(any? nil)", "true")]),
    question!(
        "associative?",
        "Whether `assoc` takes it: a map or a vector.",
        Value::Map(_) | Value::Vector(_),
        &[("(associative? [])", "true")]
    ),
    question!("indexed?", "Whether it is a vector.", Value::Vector(_), &[("(indexed? '(1))", "false")]),
    question!("reversible?", "Whether it is a vector.", Value::Vector(_), &[("(reversible? [])", "true")]),
    question!("sorted?", "Whether it keeps an order of its own: never.", Value::Nil if false, &[("(sorted? {})", "false")]),
    question!(
        "reduced?",
        "Whether it is what `reduced` gives.",
        Value::Reduced(_),
        &[("(reduced? (reduced 1))", "true")]
    ),
    question!("uuid?", "Whether it is a UUID: never, as they are strings.", Value::Nil if false, &[("(uuid? \"a\")", "false")]),
    question!("inst?", "Whether it is a point in time: never, as they are strings.", Value::Nil if false, &[("(inst? \"2024-01-01\")", "false")]),
    native("counted?", "x", "Whether counting it takes no going through.", |_, args| {
        Ok(Value::bool(crate::value::has_children(args.get(0)) && args.get(0).stored_len().is_ok()))
    })
    .examples(&[("(counted? [1])", "true")]),
    native("seqable?", "x", "Whether `seq` takes it.", |_, args| {
        Ok(Value::bool(crate::value::has_children(args.get(0)) || matches!(args.get(0), Value::Nil | Value::Text(_))))
    })
    .examples(&[("(seqable? nil)", "true")]),
    native("map-entry?", "x", "Whether it is a vector of a key and a value.", |_, args| {
        Ok(Value::bool(matches!(args.get(0), Value::Vector(entry) if entry.len() == 2)))
    })
    .examples(&[("(map-entry? (first {:a 1}))", "true")]),
    native("char?", "x", "Whether it is a string of one character.", |_, args| {
        Ok(Value::bool(matches!(args.get(0), Value::Text(text) if text.grapheme_count() == 1)))
    })
    .examples(&[("(char? \\a)", "true")]),
    native("infinite?", "n", "Whether it is infinite.", |_, args| {
        Number::of(args.get(0), "infinite?")?;
        Ok(Value::bool(matches!(args.get(0), Value::Float(float) if float.get().is_infinite())))
    })
    .examples(&[("(infinite? ##Inf)", "true")]),
    native("NaN?", "n", "Whether it is the float that isn't a number.", |_, args| {
        Number::of(args.get(0), "NaN?")?;
        Ok(Value::bool(matches!(args.get(0), Value::Float(float) if float.get().is_nan())))
    })
    .examples(&[("(NaN? ##NaN)", "true")]),
    native("simple-keyword?", "x", "Whether it is a keyword without a namespace.", |_, args| {
        Ok(Value::bool(has_namespace(args, true) == Some(false)))
    })
    .examples(&[("(simple-keyword? :a/b)", "false")]),
    native("qualified-keyword?", "x", "Whether it is a keyword with a namespace.", |_, args| {
        Ok(Value::bool(has_namespace(args, true) == Some(true)))
    })
    .examples(&[("(qualified-keyword? :a/b)", "true")]),
    native("simple-symbol?", "x", "Whether it is a symbol without a namespace.", |_, args| {
        Ok(Value::bool(has_namespace(args, false) == Some(false)))
    })
    .examples(&[("(simple-symbol? 'a)", "true")]),
    native("qualified-symbol?", "x", "Whether it is a symbol with a namespace.", |_, args| {
        Ok(Value::bool(has_namespace(args, false) == Some(true)))
    })
    .examples(&[("(qualified-symbol? 'a)", "false")]),
    native("distinct?", "x & more", "Whether no two arguments are equal.", |context, args| {
        let mut seen = crate::value::Map::default();
        for index in 0..args.len() {
            if super::sequence::seen_before(&mut seen, args.get(index), &mut context.meter)? {
                return Ok(Value::bool(false));
            }
        }
        Ok(Value::bool(true))
    })
    .examples(&[("(distinct? 1 2 1)", "false")]),
    native("identical?", "x y", "Whether both are equal: nothing else can be told apart here.", |context, args| {
        crate::value::is_equal(args.get(0), args.get(1), &mut context.meter).map(Value::bool)
    })
    .examples(&[("(identical? :a :a)", "true")]),
    native("type", "x", "The type as a keyword.", |_, args| {
        let phrase = args.get(0).type_phrase();
        Ok(Value::keyword(phrase.split_once(' ').map_or(phrase, |(_, noun)| noun)))
    })
    .examples(&[("(type 1)", ":integer"), ("(type nil)", ":nil")]),
];

fn sign(function: &str, args: &mut Args<'_>, wanted: fn(Ordering) -> bool) -> Result<Value, Fault> {
    if let Number::Float(float) = Number::of(args.get(0), function)?
        && float.is_nan()
    {
        return Ok(Value::bool(false));
    }
    Ok(Value::bool(wanted(compare_numbers(args.get(0), &Value::Int(0))?)))
}

fn parity(_: &mut Context, args: &mut Args<'_>, function: &str, is_even: bool) -> Result<Value, Fault> {
    let found = match args.get(0) {
        Value::Int(int) => int & 1 == 0,
        Value::Big(big) => !big.bit(0),
        other => {
            return Err(Fault::of_type(alloc::format!("`{function}` takes an integer, not {}", other.type_phrase())));
        }
    };
    Ok(Value::bool(found == is_even))
}

/// Whether the name has a namespace. `None` if it isn't a keyword, or a symbol.
fn has_namespace(args: &Args<'_>, is_keyword: bool) -> Option<bool> {
    let name = match (args.get(0), is_keyword) {
        (Value::Keyword(name), true) | (Value::Symbol(name), false) => name.as_str(),
        _ => return None,
    };
    Some(name.split_once('/').is_some_and(|(namespace, rest)| !namespace.is_empty() && !rest.is_empty()))
}
