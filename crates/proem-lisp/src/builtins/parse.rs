//! Numbers and booleans from text. Text that isn't one gives nil, and so does nil.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    value::{Text, Value},
};
use alloc::format;

pub(super) const ROWS: &[Row] = &[
    native("parse-long", "s", "The integer of 64 bits that a string is, or nil.", |context, args| {
        parsed(context, args, "parse-long", |text| text.parse().ok().map(Value::Int))
    })
    .examples(&[("(parse-long \"42\")", "42"), ("(parse-long \"4.2\")", "nil"), ("(parse-long nil)", "nil")]),
    native("parse-int", "s", "As `parse-long`.", |context, args| {
        parsed(context, args, "parse-int", |text| text.parse().ok().map(Value::Int))
    })
    .examples(&[("(parse-int \"-7\")", "-7")]),
    native("parse-double", "s", "The float that a string is, or nil.", |context, args| {
        parsed(context, args, "parse-double", |text| double(text).map(Value::float))
    })
    .examples(&[
        ("(parse-double \"1.5\")", "1.5"),
        ("(parse-double \"2\")", "2.0"),
        ("(parse-double \"x\")", "nil"),
    ]),
    native("parse-boolean", "s", "True for \"true\", false for \"false\", or nil.", |context, args| {
        parsed(context, args, "parse-boolean", |text| text.parse().ok().map(Value::bool))
    })
    .examples(&[("(parse-boolean \"true\")", "true"), ("(parse-boolean \"yes\")", "nil")]),
];

fn parsed(
    context: &mut Context,
    args: &mut Args<'_>,
    function: &str,
    parse: fn(&str) -> Option<Value>,
) -> Result<Value, Fault> {
    if args.get(0).is_nil() {
        return Ok(Value::Nil);
    }
    if args.get(0).is_number() {
        let message = format!("`{function}` takes a string, not {}", args.get(0).type_phrase());
        return Err(Fault::of_type(message)
            .help(format!("it is a number already; where both occur, write `(if (string? x) ({function} x) x)`")));
    }
    let text: &Text = args.text(0, function)?;
    context.meter.text(text.len())?;
    Ok(parse(text.as_str()).unwrap_or_default())
}

/// As Java reads a float: with white space around it, and a letter for its type behind it.
fn double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c| c <= ' ');
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "Infinity" | "NaN" => {}
        digits => {
            let without_type = text.strip_suffix(['d', 'D', 'f', 'F']);
            // `inf` and `nan` are floats to Rust only.
            let is_digits = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            return if is_digits { without_type.unwrap_or(text).parse().ok() } else { None };
        }
    }
    text.parse().ok()
}
