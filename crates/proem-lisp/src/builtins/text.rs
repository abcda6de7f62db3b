//! Text from values, and printing.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    print::{Style, print_into},
    value::{Text, Value},
};
use alloc::{format, string::String};

pub(super) const ROWS: &[Row] = &[
    native("str", "& xs", "The arguments as one string; nil is empty.", str_of)
        .examples(&[("(str \"a\" 1 nil :b)", "\"a1:b\""), ("(str [1 \"a\"])", "\"[1 \\\"a\\\"]\"")]),
    native("pr-str", "& xs", "The arguments as a string that reads back.", pr_str)
        .examples(&[("(pr-str \"a\")", "\"\\\"a\\\"\"")]),
    native("print-str", "& xs", "The text that `print` would print.", |context, args| {
        joined(context, args, Style::Plain, " ").map(Value::from)
    })
    .examples(&[("(print-str 1 nil)", "\"1 nil\"")]),
    native("println-str", "& xs", "The text that `println` would print.", |context, args| {
        line(context, args, Style::Plain).map(Value::from)
    })
    .examples(&[("(println-str 1)", "\"1\\n\"")]),
    native("prn-str", "& xs", "The text that `prn` would print.", |context, args| {
        line(context, args, Style::Readable).map(Value::from)
    })
    .examples(&[("(prn-str \"a\")", "\"\\\"a\\\"\\n\"")]),
    native("println", "& xs", "Prints the arguments with spaces between and a line break behind.", println)
        .examples(&[("(println 1 2)", "nil")]),
    native("print", "& xs", "Prints the arguments with spaces between.", print).examples(&[("(print 1)", "nil")]),
    native("prn", "& xs", "Prints the arguments so that they read back.", prn).examples(&[("(prn \"a\")", "nil")]),
    native("name", "x", "The name of a keyword or symbol without its namespace, or the string.", name)
        .examples(&[("(name :a/b)", "\"b\"")]),
    native("namespace", "x", "The namespace of a keyword or symbol, or nil.", namespace)
        .examples(&[("(namespace :a/b)", "\"a\"")]),
    native("keyword", "x name?", "A keyword of a name, or of a namespace and a name.", keyword)
        .examples(&[("(keyword \"a\")", ":a")]),
    native("symbol", "x name?", "A symbol of a name, or of a namespace and a name.", symbol)
        .examples(&[("(symbol \"a\")", "a")]),
];

/// The arguments in a style, with something between them.
fn joined(context: &mut Context, args: &mut Args<'_>, style: Style, between: &str) -> Result<String, Fault> {
    let mut out = String::new();
    for index in 0..args.len() {
        if index > 0 {
            out.push_str(between);
        }
        print_into(&mut out, args.get(index), style, &mut context.meter)?;
    }
    Ok(out)
}

/// As [`joined`] with spaces, and a line break behind.
fn line(context: &mut Context, args: &mut Args<'_>, style: Style) -> Result<String, Fault> {
    let mut line = joined(context, args, style, " ")?;
    line.push('\n');
    Ok(line)
}

fn str_of(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let mut out = String::new();
    for index in 0..args.len() {
        if !args.get(index).is_nil() {
            print_into(&mut out, args.get(index), Style::Display, &mut context.meter)?;
        }
    }
    Ok(Value::from(out))
}

fn pr_str(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    joined(context, args, Style::Readable, " ").map(Value::from)
}

fn println(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let line = line(context, args, Style::Plain)?;
    context.print(&line)?;
    Ok(Value::Nil)
}

fn print(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = joined(context, args, Style::Plain, " ")?;
    context.print(&text)?;
    Ok(Value::Nil)
}

fn prn(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let line = line(context, args, Style::Readable)?;
    context.print(&line)?;
    Ok(Value::Nil)
}

fn named<'a>(value: &'a Value, function: &str) -> Result<&'a Text, Fault> {
    match value {
        Value::Keyword(name) | Value::Symbol(name) | Value::Text(name) => Ok(name),
        other => Err(Fault::of_type(format!(
            "`{function}` takes a keyword, a symbol or a string, not {}",
            other.type_phrase()
        ))),
    }
}

fn name(_: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let full = named(args.get(0), "name")?;
    if let Value::Text(_) = args.get(0) {
        return Ok(args.get(0).clone());
    }
    Ok(Value::text(full.qualified_name().1))
}

fn namespace(_: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let full = named(args.get(0), "namespace")?;
    if let Value::Text(_) = args.get(0) {
        return Err(Fault::of_type("`namespace` takes a keyword or a symbol, not a string"));
    }
    Ok(full.qualified_name().0.map_or(Value::Nil, Value::text))
}

fn full_name(args: &mut Args<'_>, function: &str) -> Result<Text, Fault> {
    if args.len() == 1 {
        return named(args.get(0), function).cloned();
    }
    let name = args.text(1, function)?;
    if args.get(0).is_nil() {
        return Ok(name.clone());
    }
    Ok(Text::from(format!("{}/{name}", args.text(0, function)?)))
}

fn keyword(_: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if args.get(0).is_nil() && args.len() == 1 {
        return Ok(Value::Nil);
    }
    full_name(args, "keyword").map(Value::Keyword)
}

fn symbol(_: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    full_name(args, "symbol").map(Value::Symbol)
}
