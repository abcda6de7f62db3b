//! Members of Java's strings, as many programs in Clojure call them.

use super::{
    Row, native,
    regex::replace_text,
    string::{ask, convert, index_of, is_space, last_index_of, replace_literal, split_by, substring},
};
use crate::{
    context::{Args, Context},
    error::Fault,
    pattern::{Regexp, Search},
    print::{Style, print_into},
    value::Value,
};
use alloc::{format, string::String};

/// A row for what makes a text of a text.
macro_rules! converts {
    ($name:literal, $doc:literal, $convert:expr, $example:expr) => {
        native($name, "s", $doc, |context, args| convert(context, args, $name, $convert)).examples(&[$example])
    };
}

/// A row for a question about a text and another.
macro_rules! asks {
    ($name:literal, $doc:literal, $ask:expr, $example:expr) => {
        native($name, "s part", $doc, |context, args| {
            args.text(0, $name)?;
            ask(context, args, $name, $ask)
        })
        .examples(&[$example])
    };
}

pub(super) const ROWS: &[Row] = &[
    converts!(".toUpperCase", "As `str/upper-case`.", |s| s.to_uppercase(), ("(.toUpperCase \"a\")", "\"A\"")),
    converts!(".toLowerCase", "As `str/lower-case`.", |s| s.to_lowercase(), ("(.toLowerCase \"A\")", "\"a\"")),
    converts!(
        ".trim",
        "The string without spaces and control characters at both ends.",
        |s| String::from(s.trim_matches(|c| c <= ' ')),
        ("(.trim \" a \")", "\"a\"")
    ),
    converts!(".strip", "As `str/trim`.", |s| String::from(s.trim_matches(is_space)), ("(.strip \" a \")", "\"a\"")),
    asks!(
        ".startsWith",
        "As `str/starts-with?`.",
        |s, part| s.starts_with(part),
        ("(.startsWith \"ab\" \"a\")", "true")
    ),
    asks!(".endsWith", "As `str/ends-with?`.", |s, part| s.ends_with(part), ("(.endsWith \"ab\" \"b\")", "true")),
    asks!(".contains", "As `str/includes?`.", |s, part| s.contains(part), ("(.contains \"ab\" \"b\")", "true")),
    native(".equalsIgnoreCase", "s other", "Whether two strings are equal in small letters.", |context, args| {
        if args.get(1).is_nil() {
            return args.text(0, ".equalsIgnoreCase").map(|_| Value::bool(false));
        }
        args.text(0, ".equalsIgnoreCase")?;
        ask(context, args, ".equalsIgnoreCase", |s, other| {
            s.chars().flat_map(char::to_lowercase).eq(other.chars().flat_map(char::to_lowercase))
        })
    })
    .examples(&[("(.equalsIgnoreCase \"a\" \"A\")", "true")]),
    native(".length", "s", "The number of graphemes.", |context, args| {
        let text = args.text(0, ".length")?;
        context.meter.text(text.len())?;
        Ok(Value::from(text.grapheme_count()))
    })
    .examples(&[("(.length \"abc\")", "3")]),
    native(".isEmpty", "s", "Whether a string has no character.", |_, args| {
        Ok(Value::bool(args.text(0, ".isEmpty")?.is_empty()))
    })
    .examples(&[("(.isEmpty \"\")", "true")]),
    native(".isBlank", "s", "Whether a string has nothing but white space.", |context, args| {
        let text = args.text(0, ".isBlank")?;
        context.meter.text(text.len())?;
        Ok(Value::bool(text.as_str().chars().all(is_space)))
    })
    .examples(&[("(.isBlank \" \")", "true")]),
    native(".substring", "s start end?", "As `subs`.", |context, args| substring(context, args, ".substring"))
        .examples(&[("(.substring \"abc\" 1)", "\"bc\"")]),
    native(".charAt", "s index", "The grapheme at an index.", char_at).examples(&[("(.charAt \"abc\" 1)", "\"b\"")]),
    native(".indexOf", "s part from?", "As `str/index-of`; -1 if there is no such part.", |context, args| {
        args.text(0, ".indexOf")?;
        index_of(context, args, ".indexOf").map(|index| index.map_or(Value::Int(-1), Value::from))
    })
    .examples(&[("(.indexOf \"abc\" \"c\")", "2"), ("(.indexOf \"abc\" \"z\")", "-1")]),
    native(".lastIndexOf", "s part from?", "As `str/last-index-of`; -1 if there is no such part.", |context, args| {
        args.text(0, ".lastIndexOf")?;
        last_index_of(context, args, ".lastIndexOf").map(|index| index.map_or(Value::Int(-1), Value::from))
    })
    .examples(&[("(.lastIndexOf \"aba\" \"a\")", "2")]),
    native(".concat", "s other", "Two strings as one.", concat).examples(&[("(.concat \"a\" \"b\")", "\"ab\"")]),
    native(".repeat", "s n", "The string n times.", repeat).examples(&[("(.repeat \"ab\" 2)", "\"abab\"")]),
    native(".replace", "s part replacement", "The string with all such parts replaced.", |context, args| {
        let wanted = args.text(1, ".replace")?;
        replace_literal(args.text(0, ".replace")?, wanted, args.text(2, ".replace")?, usize::MAX, &mut context.meter)
    })
    .examples(&[("(.replace \"a.b\" \".\" \"-\")", "\"a-b\"")]),
    native(".replaceAll", "s regex replacement", "As `str/replace` with a regular expression.", |context, args| {
        replace(context, args, ".replaceAll", usize::MAX)
    })
    .examples(&[("(.replaceAll \"a1\" \"\\\\d\" \"x\")", "\"ax\"")]),
    native(".replaceFirst", "s regex replacement", "As `.replaceAll`, for the first match.", |context, args| {
        replace(context, args, ".replaceFirst", 1)
    })
    .examples(&[("(.replaceFirst \"11\" \"\\\\d\" \"x\")", "\"x1\"")]),
    native(".split", "s regex limit?", "As `str/split` with a regular expression.", split)
        .examples(&[("(.split \"a,b\" \",\")", "[\"a\" \"b\"]")]),
    native(".matches", "s regex", "Whether a regular expression matches the whole string.", matches)
        .examples(&[("(.matches \"abc\" \"a.c\")", "true")]),
    native(".toString", "x", "As `str`.", to_string).examples(&[("(.toString 12)", "\"12\"")]),
    native(".equals", "x y", "As `=`.", |context, args| {
        if args.get(0).is_nil() {
            return Err(Fault::of_type("`.equals` takes a value, not nil").help("compare with `=`"));
        }
        crate::value::is_equal(args.get(0), args.get(1), &mut context.meter).map(Value::bool)
    })
    .examples(&[("(.equals \"a\" \"a\")", "true")]),
];

fn char_at(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = args.text(0, ".charAt")?;
    context.meter.text(text.len())?;
    let index = if let Value::Int(index) = args.get(1) { usize::try_from(*index).ok() } else { None };
    match index.and_then(|index| text.grapheme(index)) {
        Some(grapheme) => Ok(Value::text(grapheme)),
        None => Err(Fault::eval("`.charAt`: the string has no grapheme at that index")
            .help("use `get`, which gives nil or a default")),
    }
}

fn concat(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let (first, second) = (args.text(0, ".concat")?, args.text(1, ".concat")?);
    context.meter.new_text(first.len().saturating_add(second.len()))?;
    Ok(Value::from(format!("{first}{second}")))
}

fn repeat(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = args.text(0, ".repeat")?;
    if let Value::Int(count) = args.get(1)
        && *count < 0
    {
        return Err(Fault::eval(format!("`.repeat` can't repeat {count} times")));
    }
    let count = args.count(1, ".repeat")?;
    context.meter.new_text(text.len().saturating_mul(count))?;
    Ok(Value::from(text.as_str().repeat(count)))
}

/// The regular expression of a text argument.
fn compiled(context: &mut Context, args: &Args<'_>, function: &str) -> Result<Regexp, Fault> {
    Regexp::compile(args.text(1, function)?.as_str(), &mut context.meter)
}

fn replace(context: &mut Context, args: &mut Args<'_>, function: &str, most: usize) -> Result<Value, Fault> {
    let pattern = compiled(context, args, function)?;
    replace_text(&pattern, args.text(0, function)?, args.text(2, function)?, most, &mut context.meter)
}

fn split(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let pattern = compiled(context, args, ".split")?;
    let limit = match args.get(2) {
        Value::Int(limit) => *limit,
        Value::Nil if args.len() < 3 => 0,
        other => return Err(Fault::of_type(format!("`.split` takes a limit, not {}", other.type_phrase()))),
    };
    split_by(&pattern, args.text(0, ".split")?, limit, &mut context.meter)
}

fn matches(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let pattern = compiled(context, args, ".matches")?;
    let text = args.text(0, ".matches")?;
    let found = Search::new(&pattern, text.as_str(), &mut context.meter)?.whole_match(&mut context.meter)?;
    Ok(Value::bool(found.is_some()))
}

fn to_string(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    match args.get(0) {
        Value::Text(_) => Ok(args.take(0)),
        Value::Nil => Err(Fault::of_type("`.toString` takes a value, not nil").help("make a string of it with `str`")),
        value => {
            let mut out = String::new();
            print_into(&mut out, value, Style::Display, &mut context.meter)?;
            context.meter.new_text(0)?;
            Ok(Value::from(out))
        }
    }
}
