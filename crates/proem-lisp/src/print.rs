//! Values as text: to be read again, to be looked at, or as a source that gives them.

use crate::{
    builtins,
    code::Closure,
    error::Fault,
    limits::Meter,
    value::{Children, Value, has_children},
};
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::fmt::Write as _;

/// The text in place of a secret.
pub(crate) const HIDDEN: &str = "[Hidden]";

/// How a value is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// So that reading gives the value again.
    Readable,
    /// As `str` does: texts without quotes unless they are inside collections.
    Display,
    /// As `println` does: texts without quotes everywhere.
    Plain,
}

/// The value as text that reads back.
///
/// # Errors
///
/// It is too large for the meter's limits or has no end.
pub fn print_readable(value: &Value, meter: &mut Meter) -> Result<String, Fault> {
    let mut out = String::new();
    print_into(&mut out, value, Style::Readable, meter)?;
    Ok(out)
}

/// The value as `str` gives it.
///
/// # Errors
///
/// As [`print_readable`].
pub fn print_display(value: &Value, meter: &mut Meter) -> Result<String, Fault> {
    let mut out = String::new();
    print_into(&mut out, value, Style::Display, meter)?;
    Ok(out)
}

/// The start of the value, at most `most` bytes and a mark for the rest.
#[must_use]
pub(crate) fn print_excerpt(value: &Value, most: usize) -> String {
    let mut printer = Printer { out: String::new(), most };
    let mut meter = Meter::unlimited();
    // A text in it may be longer than what is asked for.
    let is_whole = printer.print(value, Style::Readable, &mut meter).is_ok() && printer.out.len() <= most;
    if !is_whole {
        let end = printer.out.floor_char_boundary(most);
        printer.out.truncate(end);
        printer.out.push('…');
    }
    printer.out
}

/// Appends the value to a text.
pub(crate) fn print_into(out: &mut String, value: &Value, style: Style, meter: &mut Meter) -> Result<(), Fault> {
    let mut printer = Printer { out: core::mem::take(out), most: usize::MAX };
    let printed = printer.print(value, style, meter);
    *out = printer.out;
    printed
}

struct Printer {
    out: String,
    most: usize,
}

/// A collection that is being printed.
struct Opened<'a> {
    children: Children<'a>,
    closing: char,
    is_first: bool,
}

impl Printer {
    fn print(&mut self, value: &Value, style: Style, meter: &mut Meter) -> Result<(), Fault> {
        let mut open = Vec::new();
        let inner = if style == Style::Plain { Style::Plain } else { Style::Readable };
        self.begin(value, style, &mut open, meter)?;
        while let Some(top) = open.last_mut() {
            if self.out.len() > self.most {
                return Err(Fault::eval("cut"));
            }
            let Some(child) = top.children.next() else {
                let closing = top.closing;
                self.out.push(closing);
                open.pop();
                continue;
            };
            meter.allocate(1)?;
            if !core::mem::take(&mut top.is_first) {
                self.out.push(' ');
            }
            match child {
                Cow::Borrowed(child) => self.begin(child, inner, &mut open, meter)?,
                Cow::Owned(child) => self.atom(&child, inner, meter)?,
            }
        }
        Ok(())
    }

    fn begin<'a>(
        &mut self,
        value: &'a Value,
        style: Style,
        open: &mut Vec<Opened<'a>>,
        meter: &mut Meter,
    ) -> Result<(), Fault> {
        let value = if value.flow().is_secret() { value } else { value.unlabelled() };
        if !has_children(value) {
            return self.atom(value, style, meter);
        }
        meter.allocate(2)?;
        if self.most == usize::MAX {
            // Without a cut, a sequence without an end is never printed.
            value.stored_len()?;
        }
        let (opening, closing) = match value {
            Value::Vector(_) => ("[", ']'),
            Value::Map(_) => ("{", '}'),
            Value::Set(_) => ("#{", '}'),
            _ => ("(", ')'),
        };
        self.out.push_str(opening);
        open.push(Opened { children: Children::of(value), closing, is_first: true });
        Ok(())
    }

    fn atom(&mut self, value: &Value, style: Style, meter: &mut Meter) -> Result<(), Fault> {
        let before = self.out.len();
        match value {
            Value::Nil => self.out.push_str("nil"),
            Value::Bool(value) => self.out.push_str(if value.get() { "true" } else { "false" }),
            Value::Int(int) => self.number(format_args!("{int}")),
            Value::Big(big) => {
                // Making digits of bits costs the square of their number.
                let words = big.bits() / 64;
                meter.work(words.saturating_mul(words))?;
                self.number(format_args!("{big}"));
            }
            Value::Float(float) => self.float(float.get(), style),
            Value::Text(text) => {
                meter.allocate(text.len())?;
                match style {
                    Style::Display | Style::Plain => self.out.push_str(text.as_str()),
                    Style::Readable => self.quoted(text.as_str()),
                }
                return Ok(());
            }
            Value::Keyword(name) => {
                self.out.push(':');
                self.out.push_str(name.as_str());
            }
            Value::Symbol(name) => self.out.push_str(name.as_str()),
            Value::Regex(pattern) if style == Style::Display => self.out.push_str(pattern.source()),
            Value::Regex(pattern) => {
                self.out.push_str("#\"");
                self.out.push_str(pattern.source());
                self.out.push('"');
            }
            Value::Builtin(id) => self.out.push_str(builtins::row(id.get()).map_or("", |row| row.name)),
            Value::Closure(closure) => self.out.push_str(&function_name(closure)),
            Value::Reduced(_) => self.out.push_str("#reduced"),
            // A value that isn't secret is printed as if it had no label: the label of the output names its sources.
            Value::Labelled(labelled) if labelled.flow().is_secret() => self.out.push_str(HIDDEN),
            Value::Labelled(labelled) => return self.atom(labelled.value(), style, meter),
            Value::List(_) | Value::Vector(_) | Value::Map(_) | Value::Set(_) | Value::Stream(_) => {}
        }
        meter.allocate(self.out.len().saturating_sub(before))
    }

    fn number(&mut self, digits: core::fmt::Arguments<'_>) {
        // Writing to a string never fails.
        if self.out.write_fmt(digits).is_err() {
            self.out.push('?');
        }
    }

    fn float(&mut self, float: f64, style: Style) {
        let prefix = if style == Style::Display { "" } else { "##" };
        if float.is_nan() {
            self.out.push_str(&format!("{prefix}NaN"));
        } else if float.is_infinite() {
            let sign = if float < 0.0 { "-" } else { "" };
            let name = if style == Style::Display { "Infinity" } else { "Inf" };
            self.out.push_str(&format!("{prefix}{sign}{name}"));
        } else {
            self.out.push_str(&float_digits(float));
        }
    }

    /// With the escapes that the reader knows.
    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if c.is_control() => self.out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

/// A float as Java prints it: plain from 0.001 up to 10 million, else with an exponent.
fn float_digits(float: f64) -> String {
    let size = if float < 0.0 { -float } else { float };
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{float:?}");
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => text,
    }
}

fn function_name(closure: &Closure) -> String {
    let name = closure.function().and_then(|function| function.name.clone());
    name.map_or_else(|| String::from("#function"), |name| format!("#function[{name}]"))
}
