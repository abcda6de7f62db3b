//! Strings: `clojure.string`, and parts of strings.

use super::{
    Row, lisp, native,
    regex::{append, part, pattern, replace_text},
    sequence::{Cursor, Items},
};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    pattern::Search,
    print::{Style, print_into},
    value::{Text, Value},
};
use alloc::{format, string::String};

/// A row for what makes a text of a text, of at most three times the bytes.
macro_rules! converts {
    ($name:literal, $doc:literal, $convert:expr, $examples:expr) => {
        native($name, "s", $doc, |context, args| convert(context, args, $name, $convert)).examples($examples)
    };
}

/// As [`converts`], of anything but nil.
macro_rules! converts_any {
    ($name:literal, $doc:literal, $convert:expr, $examples:expr) => {
        native($name, "s", $doc, |context, args| {
            let text = displayed(context, args, $name)?;
            convert_text(context, &text, $convert)
        })
        .examples($examples)
    };
}

/// A row for a question about a text and a part.
macro_rules! asks {
    ($name:literal, $doc:literal, $ask:expr, $examples:expr) => {
        native($name, "s part", $doc, |context, args| ask(context, args, $name, $ask)).examples($examples)
    };
}

pub(super) const ROWS: &[Row] = &[
    native("subs", "s start end?", "The part of a string from a grapheme up to another, without it.", subs)
        .examples(&[("(subs \"hello\" 1)", "\"ello\""), ("(subs \"hello\" 1 3)", "\"el\"")]),
    native("char", "code", "The character of a code point, as a string.", char_of).examples(&[("(char 97)", "\"a\"")]),
    converts_any!("str/upper-case", "The string in capitals.", |s| s.to_uppercase(), &[("(str/upper-case \"aé\")", "\"AÉ\"")]),
    converts_any!("str/lower-case", "The string in small letters.", |s| s.to_lowercase(), &[("(str/lower-case \"AB\")", "\"ab\"")]),
    converts_any!("str/capitalize", "The first character in capitals, the others in small letters.", capitalize,
        &[("(str/capitalize \"hELLO\")", "\"Hello\"")]),
    converts!("str/trim", "The string without white space at both ends.", |s| trim(s, true, true), &[("(str/trim \" a \")", "\"a\"")]),
    converts!("str/triml", "The string without white space at its start.", |s| trim(s, true, false), &[("(str/triml \" a \")", "\"a \"")]),
    converts!("str/trimr", "The string without white space at its end.", |s| trim(s, false, true), &[("(str/trimr \" a \")", "\" a\"")]),
    converts!("str/trim-newline", "The string without line ends at its end.", |s| String::from(s.trim_end_matches(['\n', '\r'])),
        &[("(str/trim-newline \"a\\n\")", "\"a\"")]),
    native("str/reverse", "s", "The graphemes in reverse.", reverse).examples(&[("(str/reverse \"abc\")", "\"cba\"")]),
    native("str/blank?", "s", "Whether it is nil or has nothing but white space.", is_blank)
        .examples(&[("(str/blank? \" \")", "true"), ("(str/blank? nil)", "true"), ("(str/blank? \"a\")", "false")]),
    asks!("str/starts-with?", "Whether a string starts with another.", |s, part| s.starts_with(part),
        &[("(str/starts-with? \"abc\" \"ab\")", "true")]),
    asks!("str/ends-with?", "Whether a string ends with another.", |s, part| s.ends_with(part),
        &[("(str/ends-with? \"abc\" \"bc\")", "true")]),
    asks!("str/includes?", "Whether a string has a part.", |s, part| s.contains(part),
        &[("(str/includes? \"abc\" \"b\")", "true")]),
    native("str/index-of", "s part from?", "The index of the first grapheme of a part, or nil.", |context, args| {
        index_of(context, args, "str/index-of").map(|index| index.map_or(Value::Nil, Value::from))
    })
    .examples(&[("(str/index-of \"banana\" \"an\")", "1"), ("(str/index-of \"banana\" \"an\" 2)", "3"), ("(str/index-of \"a\" \"z\")", "nil")]),
    native("str/last-index-of", "s part from?", "As `str/index-of`, of the last such part.", |context, args| {
        last_index_of(context, args, "str/last-index-of").map(|index| index.map_or(Value::Nil, Value::from))
    })
    .examples(&[("(str/last-index-of \"banana\" \"an\")", "3")]),
    native("str/join", "separator? coll", "The elements as one string, with a separator between.", join)
        .examples(&[("(str/join \", \" [1 2 3])", "\"1, 2, 3\""), ("(str/join [\"a\" nil :b])", "\"a:b\"")]),
    native("str/split", "s separator limit?", "The parts between matches of a regular expression or a string; empty ones at the end are left out.", split)
        .examples(&[
            ("(str/split \"a, b,c\" #\",\\s*\")", "[\"a\" \"b\" \"c\"]"),
            ("(str/split \"a,b,c\" #\",\" 2)", "[\"a\" \"b,c\"]"),
            ("(str/split \"a.b\" \".\")", "[\"a\" \"b\"]"),
        ]),
    native("str/split-lines", "s", "The lines; empty ones at the end are left out.", split_lines)
        .examples(&[("(str/split-lines \"a\\nb\\r\\nc\\n\")", "[\"a\" \"b\" \"c\"]")]),
    lisp("str/replace", "s match replacement",
        "The string with all matches replaced: of a string by a string, of a regular expression by a string with groups as `$1`, or by what a function gives for each match.",
        "(fn [s match replacement] (if (or (string? match) (string? replacement)) (str/replace-text s match replacement nil) (str/weave s match (mapv replacement (re-seq match s)))))")
        .examples(&[
            ("(str/replace \"a.b.c\" \".\" \"-\")", "\"a-b-c\""),
            ("(str/replace \"x=1\" #\"(\\w)=(\\w)\" \"$2=$1\")", "\"1=x\""),
            ("(str/replace \"a1\" #\"\\d\" (fn [d] (str \"<\" d \">\")))", "\"a<1>\""),
        ]),
    lisp("str/replace-first", "s match replacement", "As `str/replace`, for the first match.",
        "(fn [s match replacement] (if (or (string? match) (string? replacement)) (str/replace-text s match replacement 1) (let [m (re-find match s)] (if (nil? m) s (str/weave s match [(replacement m)])))))")
        .examples(&[("(str/replace-first \"a.b.c\" \".\" \"-\")", "\"a-b.c\"")]),
    native("str/replace-text", "s match replacement most", "", replace),
    lisp("str/escape", "s replacements", "The string with each character replaced that a map has a replacement for.",
        "(fn [s replacements] (str/join (map (fn [c] (let [r (replacements c)] (if r r c))) (str/characters s))))")
        .examples(&[("(str/escape \"a<b\" {\\< \"&lt;\"})", "\"a&lt;b\"")]),
    native("str/characters", "s", "", characters),
    native("str/re-quote-replacement", "s", "The string as a replacement that means itself.", quote_replacement)
        .examples(&[("(str/replace \"a\" #\"a\" (str/re-quote-replacement \"$1\"))", "\"$1\"")]),
];

/// White space as Java's `Character.isWhitespace` has it: without no-break spaces.
pub(super) fn is_space(c: char) -> bool {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        '\u{1c}'..='\u{1f}' => true,
        c => c.is_whitespace(),
    }
}

fn trim(text: &str, at_start: bool, at_end: bool) -> String {
    let text = if at_start { text.trim_start_matches(is_space) } else { text };
    String::from(if at_end { text.trim_end_matches(is_space) } else { text })
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    out.push_str(&chars.as_str().to_lowercase());
    out
}

/// The first argument as text: where Clojure calls `toString`, everything but nil has one.
fn displayed(context: &mut Context, args: &Args<'_>, function: &str) -> Result<Text, Fault> {
    if let Value::Nil | Value::Text(_) = args.get(0) {
        return args.text(0, function).cloned();
    }
    let mut out = String::new();
    print_into(&mut out, args.get(0), Style::Display, &mut context.meter)?;
    Ok(Text::from(out))
}

pub(super) fn convert(
    context: &mut Context,
    args: &mut Args<'_>,
    function: &str,
    convert: fn(&str) -> String,
) -> Result<Value, Fault> {
    let text = args.text(0, function)?.clone();
    convert_text(context, &text, convert)
}

fn convert_text(context: &mut Context, text: &Text, convert: fn(&str) -> String) -> Result<Value, Fault> {
    // No character's other case takes more than three times its bytes.
    let growth: usize = if text.is_plain() { 1 } else { 3 };
    context.meter.new_text(text.len().saturating_mul(growth))?;
    Ok(Value::from(convert(text.as_str())))
}

pub(super) fn ask(
    context: &mut Context,
    args: &mut Args<'_>,
    function: &str,
    ask: fn(&str, &str) -> bool,
) -> Result<Value, Fault> {
    let (text, part) = (displayed(context, args, function)?, args.text(1, function)?);
    context.meter.text(text.len().saturating_add(part.len()))?;
    Ok(Value::bool(ask(text.as_str(), part.as_str())))
}

/// The bytes before a grapheme. A fault outside the text.
pub(super) fn offset(text: &Text, index: &Value, function: &str) -> Result<usize, Fault> {
    let Value::Int(place) = index else {
        return Err(Fault::of_type(format!("`{function}` takes an index, not {}", index.type_phrase())));
    };
    usize::try_from(*place).ok().and_then(|place| text.byte_offset(place)).ok_or_else(|| {
        let message =
            format!("`{function}`: {place} is outside the string, which has {} graphemes", text.grapheme_count());
        Fault::eval(message).help("bound the index with `(min n (count s))`")
    })
}

fn subs(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    substring(context, args, "subs")
}

pub(super) fn substring(context: &mut Context, args: &mut Args<'_>, function: &str) -> Result<Value, Fault> {
    let text = args.text(0, function)?;
    context.meter.text(text.len())?;
    let start = offset(text, args.get(1), function)?;
    let end = if args.len() == 3 { offset(text, args.get(2), function)? } else { text.len() };
    if end < start {
        return Err(Fault::eval(format!("`{function}`: the end is before the start")));
    }
    part(text.as_str(), (start, end), &mut context.meter)
}

fn char_of(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    context.meter.new_text(4)?;
    match args.get(0) {
        Value::Text(text) if text.grapheme_count() == 1 => Ok(args.take(0)),
        Value::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => Ok(Value::from(String::from(c))),
            None => Err(Fault::eval(format!("{code} isn't the code point of a character"))),
        },
        other => Err(Fault::of_type(format!("`char` takes a code point, not {}", other.type_phrase()))),
    }
}

fn reverse(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = args.text(0, "str/reverse")?;
    context.meter.new_text(text.len())?;
    Ok(Value::from(text.graphemes().rev().collect::<String>()))
}

fn is_blank(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if args.get(0).is_nil() {
        return Ok(Value::bool(true));
    }
    let text = args.text(0, "str/blank?")?;
    context.meter.text(text.len())?;
    Ok(Value::bool(text.as_str().chars().all(is_space)))
}

/// The number of graphemes before a byte.
fn index_at(text: &Text, byte: usize) -> usize {
    if text.is_plain() { byte } else { Text::from(text.as_str().get(..byte).unwrap_or_default()).grapheme_count() }
}

/// The text, the part and the index to start from, if it is given.
fn needle(context: &mut Context, args: &Args<'_>, function: &str) -> Result<(Text, Text, Option<i64>), Fault> {
    let (text, part) = (displayed(context, args, function)?, args.text(1, function)?.clone());
    context.meter.text(text.len().saturating_mul(2).saturating_add(part.len()))?;
    if !text.is_plain() {
        context.meter.new_text(text.len())?;
    }
    let from = match args.get(2) {
        Value::Int(from) => Some(*from),
        Value::Nil if args.len() < 3 => None,
        other => return Err(Fault::of_type(format!("`{function}` takes an index, not {}", other.type_phrase()))),
    };
    Ok((text, part, from))
}

pub(super) fn index_of(context: &mut Context, args: &Args<'_>, function: &str) -> Result<Option<usize>, Fault> {
    let (text, part, from) = needle(context, args, function)?;
    let from = usize::try_from(from.unwrap_or(0)).unwrap_or(0);
    let start = text.byte_offset(from).unwrap_or(text.len());
    let found = text.as_str().get(start..).and_then(|rest| rest.find(part.as_str()));
    Ok(found.map(|at| index_at(&text, start.saturating_add(at))))
}

pub(super) fn last_index_of(context: &mut Context, args: &Args<'_>, function: &str) -> Result<Option<usize>, Fault> {
    let (text, part, from) = needle(context, args, function)?;
    let Ok(from) = usize::try_from(from.unwrap_or(i64::MAX)) else { return Ok(None) };
    let last = text.byte_offset(from).unwrap_or(text.len());
    let end = text.as_str().floor_char_boundary(last.saturating_add(part.len()));
    let found = text.as_str().get(..end).and_then(|start| start.rfind(part.as_str()));
    Ok(found.map(|at| index_at(&text, at)))
}

fn join(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let meter = &mut context.meter;
    let mut separator = String::new();
    if args.len() == 2 && crate::value::has_children(args.get(0)) {
        let message = format!("a separator is a string, not {}", args.get(0).type_phrase());
        return Err(Fault::of_type(message).help("it comes first: `(str/join \", \" coll)`"));
    }
    if args.len() == 2 && !args.get(0).is_nil() {
        print_into(&mut separator, args.get(0), Style::Display, meter)?;
    }
    let last = args.len().saturating_sub(1);
    let coll = args.take(last);
    coll.stored_len()?;
    let mut elements = Cursor::over(coll, meter)?;
    let mut out = String::new();
    let mut is_first = true;
    while let Some(element) = elements.next(meter)? {
        meter.elements(1)?;
        if !core::mem::take(&mut is_first) {
            append(&mut out, &separator, meter)?;
        }
        if !element.is_nil() {
            print_into(&mut out, &element, Style::Display, meter)?;
        }
    }
    meter.new_text(0)?;
    Ok(Value::from(out))
}

fn split(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = args.text(0, "str/split")?.clone();
    let limit = match args.get(2) {
        Value::Int(limit) => *limit,
        Value::Nil if args.len() < 3 => 0,
        other => return Err(Fault::of_type(format!("`str/split` takes a limit, not {}", other.type_phrase()))),
    };
    let meter = &mut context.meter;
    if let Value::Text(separator) = args.get(1) {
        meter.text(text.len().saturating_add(separator.len()))?;
        let mut matches = text.as_str().match_indices(separator.as_str());
        let spans = |_: &mut Meter| Ok(matches.next().map(|(at, found)| (at, at.saturating_add(found.len()))));
        return split_at(text.as_str(), limit, meter, spans);
    }
    let pattern = pattern(args, 1, "str/split")?;
    split_by(&pattern, &text, limit, meter)
}

/// As Java's `Pattern.split`.
pub(super) fn split_by(
    pattern: &crate::pattern::Regexp,
    text: &Text,
    limit: i64,
    meter: &mut Meter,
) -> Result<Value, Fault> {
    let mut search = Search::new(pattern, text.as_str(), meter)?;
    split_at(text.as_str(), limit, meter, |meter| Ok(search.next_match(meter)?.map(|found| found.span())))
}

/// The parts between spans, at most `limit` if it is positive; without it, empty parts at the end
/// are left out.
fn split_at(
    text: &str,
    limit: i64,
    meter: &mut Meter,
    mut next_span: impl FnMut(&mut Meter) -> Result<Option<(usize, usize)>, Fault>,
) -> Result<Value, Fault> {
    let most = usize::try_from(limit).ok().filter(|most| *most > 0);
    let mut parts = Items::default();
    let mut count: usize = 0;
    let mut done = 0;
    while most.is_none_or(|most| count.saturating_add(1) < most)
        && let Some((start, end)) = next_span(meter)?
    {
        // As in Java, an empty match at the start splits nothing off.
        if end == 0 {
            continue;
        }
        parts.push(part(text, (done, start), meter)?, meter)?;
        count = count.saturating_add(1);
        done = end;
    }
    parts.push(part(text, (done, text.len()), meter)?, meter)?;
    let mut parts = parts.into_vec();
    if limit == 0 && parts.len() > 1 {
        while parts.last().is_some_and(|part| part.as_str() == Some("")) {
            parts.pop();
        }
    }
    Ok(Value::vector(parts))
}

fn split_lines(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = args.text(0, "str/split-lines")?;
    let meter = &mut context.meter;
    meter.text(text.len())?;
    let bytes = text.as_str().as_bytes();
    let mut breaks = text.as_str().match_indices('\n').map(|(at, _)| {
        let before = at.checked_sub(1).filter(|before| bytes.get(*before) == Some(&b'\r'));
        (before.unwrap_or(at), at.saturating_add(1))
    });
    split_at(text.as_str(), 0, meter, |_| Ok(breaks.next()))
}

fn replace(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let function = if args.get(3).is_nil() { "str/replace" } else { "str/replace-first" };
    let (text, replacement) = (displayed(context, args, function)?, args.text(2, function)?);
    let most = if args.get(3).is_nil() { usize::MAX } else { 1 };
    match args.get(1) {
        Value::Text(wanted) => replace_literal(&text, wanted, replacement, most, &mut context.meter),
        _ => {
            let pattern = pattern(args, 1, function)?;
            replace_text(&pattern, &text, replacement, most, &mut context.meter)
        }
    }
}

pub(super) fn replace_literal(
    text: &Text,
    wanted: &Text,
    replacement: &Text,
    most: usize,
    meter: &mut Meter,
) -> Result<Value, Fault> {
    meter.text(text.len().saturating_add(wanted.len()))?;
    let count = text.as_str().matches(wanted.as_str()).take(most).count();
    let taken = count.saturating_mul(wanted.len());
    let size = text.len().saturating_sub(taken).saturating_add(count.saturating_mul(replacement.len()));
    meter.new_text(size)?;
    Ok(Value::from(text.as_str().replacen(wanted.as_str(), replacement.as_str(), count)))
}

fn characters(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    args.text(0, "str/escape")?;
    super::to_sequence(args.take(0), &mut context.meter)
}

fn quote_replacement(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let text = displayed(context, args, "str/re-quote-replacement")?;
    context.meter.new_text(text.len().saturating_mul(2))?;
    Ok(Value::from(text.as_str().replace('\\', "\\\\").replace('$', "\\$")))
}
