//! Regular expressions: finding, and replacing what was found.

use super::{Row, native, sequence::Items};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    pattern::{Match, Regexp, Search},
    value::{Text, Value},
};
use alloc::{format, string::String, sync::Arc, vec::Vec};

pub(super) const ROWS: &[Row] = &[
    native("re-pattern", "s", "The regular expression that a string is the source of.", re_pattern)
        .examples(&[("(re-find (re-pattern \"b+\") \"abbc\")", "\"bb\"")]),
    native("re-find", "re s", "The first match; with groups, a vector of the match and its groups; or nil.", re_find)
        .examples(&[
            ("(re-find #\"\\d+\" \"a12b3\")", "\"12\""),
            ("(re-find #\"(\\w)=(\\d)\" \"x=1\")", "[\"x=1\" \"x\" \"1\"]"),
            ("(re-find #\"z\" \"abc\")", "nil"),
        ]),
    native("re-matches", "re s", "As `re-find`, of the whole string only.", re_matches).examples(&[
        ("(re-matches #\"\\d+\" \"12\")", "\"12\""),
        ("(re-matches #\"\\d+\" \"a12\")", "nil"),
        ("(re-matches #\"(\\d+)-(\\d+)?\" \"3-\")", "[\"3-\" \"3\" nil]"),
    ]),
    native("re-seq", "re s", "All matches, each as `re-find` gives it; or nil.", re_seq)
        .examples(&[("(re-seq #\"\\d\" \"a1b2\")", "(\"1\" \"2\")"), ("(re-seq #\"z\" \"abc\")", "nil")]),
    native("str/weave", "s re parts", "", weave),
];

/// An argument that is a regular expression.
pub(super) fn pattern(args: &Args<'_>, index: usize, function: &str) -> Result<Arc<Regexp>, Fault> {
    match args.get(index) {
        Value::Regex(pattern) => Ok(Arc::clone(pattern)),
        other => {
            let message = format!("`{function}` takes a regular expression, not {}", other.type_phrase());
            Err(Fault::of_type(message).help("write it as `#\"…\"`, or make one of a string with `re-pattern`"))
        }
    }
}

fn re_pattern(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if let Value::Regex(_) = args.get(0) {
        return Ok(args.take(0));
    }
    let source = args.text(0, "re-pattern")?;
    Ok(Value::Regex(Arc::new(Regexp::compile(source.as_str(), &mut context.meter)?)))
}

/// A part of a text as a value.
pub(super) fn part(text: &str, (start, end): (usize, usize), meter: &mut Meter) -> Result<Value, Fault> {
    let part = text.get(start..end).unwrap_or_default();
    meter.new_text(part.len())?;
    Ok(Value::text(part))
}

/// A match as the language has it: the text, or a vector of the text and the groups.
fn match_value(pattern: &Regexp, text: &str, found: &Match, meter: &mut Meter) -> Result<Value, Fault> {
    if pattern.group_count() == 0 {
        return part(text, found.span(), meter);
    }
    let mut groups = Items::default();
    for index in 0..=pattern.group_count() {
        let group = match found.group(index) {
            Some(span) => part(text, span, meter)?,
            None => Value::Nil,
        };
        groups.push(group, meter)?;
    }
    Ok(groups.into_vector())
}

fn re_find(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let (pattern, text) = (pattern(args, 0, "re-find")?, args.text(1, "re-find")?.clone());
    let meter = &mut context.meter;
    match Search::new(&pattern, text.as_str(), meter)?.next_match(meter)? {
        Some(found) => match_value(&pattern, text.as_str(), &found, meter),
        None => Ok(Value::Nil),
    }
}

fn re_matches(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let (pattern, text) = (pattern(args, 0, "re-matches")?, args.text(1, "re-matches")?.clone());
    let meter = &mut context.meter;
    match Search::new(&pattern, text.as_str(), meter)?.whole_match(meter)? {
        Some(found) => match_value(&pattern, text.as_str(), &found, meter),
        None => Ok(Value::Nil),
    }
}

fn re_seq(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let (pattern, text) = (pattern(args, 0, "re-seq")?, args.text(1, "re-seq")?.clone());
    let meter = &mut context.meter;
    let mut search = Search::new(&pattern, text.as_str(), meter)?;
    let mut out = Items::default();
    while let Some(found) = search.next_match(meter)? {
        out.push(match_value(&pattern, text.as_str(), &found, meter)?, meter)?;
    }
    let out = out.into_vec();
    Ok(if out.is_empty() { Value::Nil } else { Value::list(out) })
}

/// Appends to a text that is being made.
pub(super) fn append(out: &mut String, part: &str, meter: &mut Meter) -> Result<(), Fault> {
    meter.allocate(part.len())?;
    out.push_str(part);
    Ok(())
}

/// The text with the first matches replaced, one by each string of a vector.
fn weave(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let (pattern, text) = (pattern(args, 1, "str/replace")?, args.text(0, "str/replace")?.clone());
    let parts = args.take(2);
    let mut parts = parts.elements();
    replace_matches(&pattern, text.as_str(), &mut context.meter, |out, _, meter| match parts.next() {
        Some(Value::Text(part)) => append(out, part.as_str(), meter).map(|()| true),
        Some(other) => {
            Err(Fault::of_type(format!("a replacement function gives a string, not {}", other.type_phrase()))
                .help("make a string of the result with `str`"))
        }
        None => Ok(false),
    })
}

/// Replaces matches until `replace`, which appends for each, says that there are no more.
fn replace_matches(
    pattern: &Regexp,
    text: &str,
    meter: &mut Meter,
    mut replace: impl FnMut(&mut String, &Match, &mut Meter) -> Result<bool, Fault>,
) -> Result<Value, Fault> {
    let mut search = Search::new(pattern, text, meter)?;
    let mut out = String::new();
    let mut done = 0;
    while let Some(found) = search.next_match(meter)? {
        let (start, end) = found.span();
        let before = out.len();
        append(&mut out, text.get(done..start).unwrap_or_default(), meter)?;
        if !replace(&mut out, &found, meter)? {
            out.truncate(before);
            break;
        }
        done = end;
    }
    append(&mut out, text.get(done..).unwrap_or_default(), meter)?;
    meter.new_text(0)?;
    Ok(Value::from(out))
}

/// A piece of a replacement.
enum Piece {
    Text(String),
    Group(usize),
}

/// Replaces the first `most` matches by a replacement in which `$1` and `${name}` represent groups.
pub(super) fn replace_text(
    pattern: &Regexp,
    text: &Text,
    replacement: &Text,
    most: usize,
    meter: &mut Meter,
) -> Result<Value, Fault> {
    meter.text(replacement.len())?;
    let pieces = pieces(pattern, replacement.as_str())?;
    let text = text.as_str();
    let mut left = most;
    replace_matches(pattern, text, meter, |out, found, meter| {
        let Some(less) = left.checked_sub(1) else { return Ok(false) };
        left = less;
        meter.elements(pieces.len())?;
        for piece in &pieces {
            match piece {
                Piece::Text(text) => append(out, text, meter)?,
                Piece::Group(index) => {
                    let (start, end) = found.group(*index).unwrap_or_default();
                    append(out, text.get(start..end).unwrap_or_default(), meter)?;
                }
            }
        }
        Ok(true)
    })
}

fn pieces(pattern: &Regexp, replacement: &str) -> Result<Vec<Piece>, Fault> {
    let wrong = |message: String| {
        Fault::eval(message).help("`$1` means a group; write `\\\\$` for a dollar, or use `str/re-quote-replacement`")
    };
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) => text.push(escaped),
                None => return Err(wrong(String::from("the replacement ends with a backslash"))),
            },
            '$' => {
                let group = match chars.as_str().strip_prefix('{').and_then(|rest| rest.split_once('}')) {
                    Some((name, rest)) => {
                        chars = rest.chars();
                        pattern.group_of(name)
                    }
                    None => group_number(&mut chars, pattern.group_count()),
                };
                let Some(group) = group else {
                    return Err(wrong(String::from("the replacement names a group that the expression doesn't have")));
                };
                pieces.push(Piece::Text(core::mem::take(&mut text)));
                pieces.push(Piece::Group(group));
            }
            c => text.push(c),
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// As many digits as there are groups for.
fn group_number(chars: &mut core::str::Chars<'_>, groups: usize) -> Option<usize> {
    let mut number: Option<usize> = None;
    while let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(10)) {
        let longer = number.unwrap_or(0).checked_mul(10)?.checked_add(usize::try_from(digit).ok()?)?;
        if longer > groups {
            break;
        }
        number = Some(longer);
        chars.next();
    }
    number
}
