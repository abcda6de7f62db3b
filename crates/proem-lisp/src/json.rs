//! JSON as values: read with an explicit stack under the program's limits, and written.
//!
//! Reading is strict (RFC 8259), so that two readers never see two things in one text: a name that an object has twice,
//! a number beyond a float and half a surrogate pair are problems, not guesses. Keys stay strings. Programs find them
//! by keyword too. Written text has its keys in order of code points, as [`proem_text::json`] has them.

use crate::{
    builtins::Items,
    error::{Fault, Problem, Reason},
    limits::{Limits, Meter, cost},
    value::{Children, Map, Text, Value, from_big, has_children},
};
use alloc::{borrow::Cow, collections::BTreeMap, format, string::String, vec, vec::Vec};
use num_bigint::BigInt;
use proem_text::Span;

/// Reads one JSON text.
///
/// # Errors
///
/// The first problem with its place, of [`Reason::ParseError`] if the text isn't JSON, else the limit
/// that it goes beyond.
pub fn read_json(text: &str, meter: &mut Meter) -> Result<Value, Problem> {
    let mut reader = Reader::new(text, meter);
    match reader.read() {
        Ok(value) => Ok(value),
        Err(Stop::Malformed { span, message, help }) => Err(Problem::new(Reason::ParseError, span, message).help(help)),
        Err(Stop::Limit(fault)) => Err(fault.at(Span::new(reader.at, reader.at))),
    }
}

/// As [`read_json`]. `None` for text that isn't JSON.
pub(crate) fn parse_json(text: &str, meter: &mut Meter) -> Result<Option<Value>, Fault> {
    match Reader::new(text, meter).read() {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Malformed { .. }) => Ok(None),
        Err(Stop::Limit(fault)) => Err(fault),
    }
}

/// Why reading ended.
enum Stop {
    Malformed { span: Span, message: String, help: &'static str },
    Limit(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Limit(fault)
    }
}

/// An array or object that is being read.
enum Open {
    Array(Items),
    Object(Map, Value),
}

struct Reader<'a, 'm> {
    text: &'a str,
    at: usize,
    meter: &'m mut Meter,
    /// Names of objects so far: most occur again and again, and are shared.
    names: BTreeMap<&'a str, Text>,
}

/// So many names are shared.
const MOST_NAMES: usize = 1_000;

impl<'a, 'm> Reader<'a, 'm> {
    const fn new(text: &'a str, meter: &'m mut Meter) -> Self {
        Self { text, at: 0, meter, names: BTreeMap::new() }
    }

    fn read(&mut self) -> Result<Value, Stop> {
        self.meter.text(self.text.len())?;
        if self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        let mut open: Vec<Open> = Vec::new();
        loop {
            let Some(mut value) = self.begin_value(&mut open)? else { continue };
            loop {
                value = match open.pop() {
                    None => return self.end(value),
                    Some(Open::Array(mut items)) => {
                        items.push(value, self.meter)?;
                        if self.goes_on(']')? {
                            open.push(Open::Array(items));
                            break;
                        }
                        items.into_vector()
                    }
                    Some(Open::Object(mut map, key)) => {
                        map.insert(key, value, self.meter)?;
                        if self.goes_on('}')? {
                            let key = self.key(&map)?;
                            open.push(Open::Object(map, key));
                            break;
                        }
                        Value::from(map)
                    }
                };
            }
        }
    }

    /// The value that begins here if it is complete. An array or object with elements is opened.
    fn begin_value(&mut self, open: &mut Vec<Open>) -> Result<Option<Value>, Stop> {
        self.skip_space();
        let opening = self.peek();
        if !matches!(opening, Some('[' | '{')) {
            return self.scalar().map(Some);
        }
        self.at = self.at.saturating_add(1);
        self.check_nesting(open.len())?;
        self.meter.allocate(cost::OBJECT)?;
        self.skip_space();
        let is_array = opening == Some('[');
        if self.take(if is_array { ']' } else { '}' }) {
            return Ok(Some(if is_array { Value::vector(vec![]) } else { Value::from(Map::default()) }));
        }
        if is_array {
            open.push(Open::Array(Items::default()));
        } else {
            let key = self.key(&Map::default())?;
            open.push(Open::Object(Map::default(), key));
        }
        Ok(None)
    }

    fn check_nesting(&self, levels: usize) -> Result<(), Fault> {
        let Limits { nesting, .. } = self.meter.limits();
        if levels >= *nesting {
            let message = format!("JSON nests more than {nesting} levels deep");
            return Err(Fault::limit(Reason::EvalError, message, "nesting"));
        }
        Ok(())
    }

    /// Whether a comma follows, and not the end.
    fn goes_on(&mut self, closing: char) -> Result<bool, Stop> {
        self.skip_space();
        if self.take(',') {
            self.skip_space();
            return Ok(true);
        }
        if self.take(closing) {
            return Ok(false);
        }
        Err(self.malformed(format!("`,` or `{closing}` is missing here"), "close what is open"))
    }

    /// A key that the object doesn't have yet, and its colon.
    fn key(&mut self, map: &Map) -> Result<Value, Stop> {
        let start = self.at;
        if self.peek() != Some('"') {
            return Err(
                self.malformed(String::from("a name in double quotes is missing here"), "write `\"name\": value`")
            );
        }
        let key = self.name(start)?;
        if map.contains(&key, self.meter)? {
            let message = format!("the name {key:?} is in this object twice");
            let span = Span::new(start, self.at);
            return Err(Stop::Malformed { span, message, help: "leave one of them out" });
        }
        self.skip_space();
        if !self.take(':') {
            return Err(self.malformed(String::from("`:` is missing here"), "write `\"name\": value`"));
        }
        Ok(key)
    }

    /// The string that begins here, as the one object that all names of this text are.
    fn name(&mut self, start: usize) -> Result<Value, Stop> {
        let key = self.string()?;
        let (Value::Text(name), Some(written)) = (&key, self.text.get(start..self.at)) else { return Ok(key) };
        if let Some(known) = self.names.get(written) {
            return Ok(Value::Text(known.clone()));
        }
        if self.names.len() < MOST_NAMES {
            self.names.insert(written, name.clone());
        }
        Ok(key)
    }

    fn end(&mut self, value: Value) -> Result<Value, Stop> {
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.malformed(String::from("the text goes on after its value"), "give one value"));
        }
        Ok(value)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at = self.at.saturating_add(wanted.len_utf8());
        }
        is_there
    }

    fn skip_space(&mut self) {
        let spaces = self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at = self.at.saturating_add(spaces);
    }

    fn malformed(&self, message: String, help: &'static str) -> Stop {
        let end = self.at.saturating_add(self.peek().map_or(0, char::len_utf8));
        Stop::Malformed { span: Span::new(self.at, end), message, help }
    }

    fn scalar(&mut self) -> Result<Value, Stop> {
        for (word, value) in [("null", Value::Nil), ("true", Value::bool(true)), ("false", Value::bool(false))] {
            if self.rest().starts_with(word) {
                self.at = self.at.saturating_add(word.len());
                return Ok(value);
            }
        }
        match self.peek() {
            Some('"') => self.string(),
            Some('-' | '0'..='9') => self.number(),
            Some(_) => Err(self.malformed(String::from("this isn't a JSON value"), "put texts into double quotes")),
            None => Err(self.malformed(String::from("the text ends where a value is missing"), "give the whole text")),
        }
    }

    fn number(&mut self) -> Result<Value, Stop> {
        let start = self.at;
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = self.rest().bytes().take_while(is_part).count();
        let end = start.saturating_add(length);
        let token = self.text.get(start..end).unwrap_or_default();
        let wrong =
            |message: &str, help| Stop::Malformed { span: Span::new(start, end), message: String::from(message), help };
        let Some(is_integer) = number_shape(token) else {
            return Err(wrong("this isn't a JSON number", "write it as `12`, `-1.5` or `2e10`"));
        };
        self.at = end;
        if !is_integer {
            return match token.parse::<f64>() {
                Ok(float) if float.is_finite() => Ok(Value::float(float)),
                _ => Err(wrong("this number is too large for a float", "write it as a string")),
            };
        }
        if let Ok(int) = token.parse() {
            return Ok(Value::Int(int));
        }
        self.meter.digits(length)?;
        let words = u64::try_from(length / 16).unwrap_or(u64::MAX);
        self.meter.work(words.saturating_mul(words))?;
        self.meter.allocate(length.saturating_add(cost::OBJECT))?;
        match token.parse::<BigInt>() {
            Ok(big) => Ok(from_big(big)),
            Err(_) => Err(wrong("this isn't a JSON number", "write it as `12`, `-1.5` or `2e10`")),
        }
    }

    fn string(&mut self) -> Result<Value, Stop> {
        let start = self.at;
        self.at = self.at.saturating_add(1);
        let mut out = String::new();
        loop {
            let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
            let length = self.rest().bytes().take_while(is_plain).count();
            self.meter.allocate(length)?;
            out.push_str(self.rest().get(..length).unwrap_or_default());
            self.at = self.at.saturating_add(length);
            match self.peek() {
                Some('"') => {
                    self.at = self.at.saturating_add(1);
                    self.meter.new_text(0)?;
                    return Ok(Value::from(out));
                }
                Some('\\') => {
                    let c = self.escape()?;
                    self.meter.allocate(c.len_utf8())?;
                    out.push(c);
                }
                Some(_) => {
                    let message = String::from("a string has a control character");
                    return Err(self.malformed(message, "write it as an escape, such as `\\n`"));
                }
                None => {
                    let span = Span::new(start, start.saturating_add(1));
                    let message = String::from("this string is never closed");
                    return Err(Stop::Malformed { span, message, help: "add `\"` where it ends" });
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Stop> {
        let start = self.at;
        self.at = self.at.saturating_add(1);
        let escaped = self.peek();
        self.at = self.at.saturating_add(escaped.map_or(0, char::len_utf8));
        let c = match escaped {
            Some(c @ ('"' | '\\' | '/')) => Some(c),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('u') => self.unicode_escape(),
            _ => None,
        };
        c.ok_or_else(|| Stop::Malformed {
            span: Span::new(start, self.at),
            message: String::from("this escape isn't a character"),
            help: "the escapes are `\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX`; characters beyond \\uffff take two",
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let unit = u16::from_str_radix(digits, 16).ok()?;
        self.at = self.at.saturating_add(4);
        Some(unit)
    }

    fn unicode_escape(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(u32::from(first));
        }
        if !self.rest().starts_with("\\u") {
            return None;
        }
        self.at = self.at.saturating_add(2);
        let second = self.unit()?;
        char::decode_utf16([first, second]).next()?.ok()
    }
}

/// Whether a token that is a JSON number is an integer. `None` if it isn't a number.
fn number_shape(token: &str) -> Option<bool> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let skip_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = skip_digits(digits);
    if whole == 0 || whole > 1 && digits.starts_with('0') {
        return None;
    }
    let mut rest = digits.get(whole..)?;
    let is_integer = rest.is_empty();
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = skip_digits(fraction);
        rest = fraction.get(count..).filter(|_| count > 0)?;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = skip_digits(exponent);
        rest = exponent.get(count..).filter(|_| count > 0)?;
    }
    rest.is_empty().then_some(is_integer)
}

/// A collection that is being written.
enum Written<'a> {
    Array(Children<'a>),
    /// Keys as they are written, in order.
    Object(vec::IntoIter<(Text, &'a Value)>),
}

/// The value as JSON on one line, with the string `[Hidden]` in place of secrets.
///
/// # Errors
///
/// It holds what JSON has no form for, has no end, or is too large for the meter's limits.
pub fn write_json(value: &Value, meter: &mut Meter) -> Result<String, Fault> {
    let mut out = String::new();
    let mut open: Vec<Written<'_>> = Vec::new();
    begin(value, &mut out, &mut open, meter)?;
    while let Some(top) = open.last_mut() {
        meter.elements(1)?;
        meter.allocate(1)?;
        let is_first = out.ends_with(['[', '{']);
        match top {
            Written::Array(children) => match children.next() {
                Some(child) => {
                    out.push_str(if is_first { "" } else { "," });
                    match child {
                        Cow::Borrowed(child) => begin(child, &mut out, &mut open, meter)?,
                        Cow::Owned(child) => write_atom(&child, &mut out, meter)?,
                    }
                }
                None => {
                    out.push(']');
                    open.pop();
                }
            },
            Written::Object(entries) => match entries.next() {
                Some((key, value)) => {
                    out.push_str(if is_first { "" } else { "," });
                    write_text(key.as_str(), &mut out, meter)?;
                    out.push(':');
                    begin(value, &mut out, &mut open, meter)?;
                }
                None => {
                    out.push('}');
                    open.pop();
                }
            },
        }
    }
    meter.new_text(0)?;
    Ok(out)
}

fn begin<'a>(value: &'a Value, out: &mut String, open: &mut Vec<Written<'a>>, meter: &mut Meter) -> Result<(), Fault> {
    let value = if value.flow().is_secret() { value } else { value.unlabelled() };
    if !has_children(value) {
        return write_atom(value, out, meter);
    }
    // A sequence without an end is never written.
    value.stored_len()?;
    meter.allocate(2)?;
    let Value::Map(map) = value else {
        out.push('[');
        open.push(Written::Array(Children::of(value)));
        return Ok(());
    };
    meter.allocate(map.len().saturating_mul(cost::SLOT.saturating_mul(2)))?;
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map.iter() {
        entries.push((key_text(key, meter)?, value));
    }
    crate::builtins::merge_sort(&mut entries, meter, |(a, _), (b, _), meter| {
        meter.text(a.len().min(b.len()))?;
        Ok(a.cmp(b))
    })?;
    for pair in entries.windows(2) {
        if let [(a, _), (b, _)] = pair
            && a == b
        {
            return Err(Fault::eval(format!("two keys of a map are both written as {a:?}"))
                .help("leave one of them out with `dissoc`"));
        }
    }
    out.push('{');
    open.push(Written::Object(entries.into_iter()));
    Ok(())
}

fn key_text(key: &Value, meter: &mut Meter) -> Result<Text, Fault> {
    match key {
        Value::Text(text) | Value::Keyword(text) | Value::Symbol(text) => Ok(text.clone()),
        Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Bool(_) => {
            let mut out = String::new();
            write_atom(key, &mut out, meter)?;
            meter.new_text(0)?;
            Ok(Text::from(out))
        }
        other => Err(Fault::of_type(format!("{} can't be a name in JSON", other.type_phrase()))
            .help("make strings of the keys with `update-keys` and `str`")),
    }
}

fn write_text(text: &str, out: &mut String, meter: &mut Meter) -> Result<(), Fault> {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\');
    // No byte takes more than the six of an escape.
    let growth: usize = if is_plain { 1 } else { 6 };
    meter.allocate(text.len().saturating_mul(growth).saturating_add(2))?;
    out.push_str(&proem_text::json::quote_json(text));
    Ok(())
}

fn write_atom(value: &Value, out: &mut String, meter: &mut Meter) -> Result<(), Fault> {
    match value {
        Value::Nil => out.push_str("null"),
        Value::Labelled(labelled) if labelled.flow().is_secret() => {
            return write_text(crate::print::HIDDEN, out, meter);
        }
        Value::Labelled(labelled) => return write_atom(labelled.value(), out, meter),
        Value::Text(text) | Value::Keyword(text) | Value::Symbol(text) => return write_text(text.as_str(), out, meter),
        Value::Float(float) if !float.get().is_finite() => {
            return Err(
                Fault::eval("JSON has no infinite numbers and no NaN").help("write nil or a string in their place")
            );
        }
        // The shortest digits that read back, as `serde_json` writes them.
        Value::Float(float) => out.push_str(&format!("{:?}", float.get())),
        Value::Bool(_) | Value::Int(_) | Value::Big(_) => {
            return crate::print::print_into(out, value, crate::print::Style::Readable, meter);
        }
        other => {
            return Err(Fault::of_type(format!("{} can't be written as JSON", other.type_phrase()))
                .help("write strings, numbers, booleans, nil, sequences and maps"));
        }
    }
    meter.allocate(24)
}
