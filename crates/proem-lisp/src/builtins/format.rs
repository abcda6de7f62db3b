//! `format`: text from a template, as Java's `String.format` without dates.

use super::{Row, native, regex::append};
use crate::{
    context::{Args, Context},
    error::{Fault, Reason},
    limits::Meter,
    print::{Style, print_into},
    value::{Number, Value},
};
use alloc::{format, string::String, vec, vec::Vec};
use core::str::Chars;
use unicode_segmentation::UnicodeSegmentation as _;

pub(super) const ROWS: &[Row] = &[
    native(
    "format",
    "template & args",
    "The template with its marks replaced: `%s` by any value, `%d` by an integer, `%.2f` by a number, `%x %e %b %c %%`.",
    format_of,
)
.examples(&[
    ("(format \"%s has %d\" \"Ada\" 3)", "\"Ada has 3\""),
    ("(format \"%.2f\" 3.14159)", "\"3.14\""),
    ("(format \"%05d|%-5s|%,d\" 42 \"ab\" 1234567)", "\"00042|ab   |1,234,567\""),
]),
    native("printf", "template & args", "Prints what `format` gives.", |context, args| {
        if let Value::Text(text) = format_of(context, args)? {
            context.print(text.as_str())?;
        }
        Ok(Value::Nil)
    })
    .examples(&[("(printf \"%d\" 1)", "nil")]),
];

/// One mark of a template.
#[derive(Debug, Default)]
struct Mark {
    flags: Vec<char>,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

/// The argument that a mark takes.
#[derive(Debug, Clone, Copy)]
enum Which {
    Next,
    Again,
    Number(usize),
}

fn format_of(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let template = args.text(0, "format")?.clone();
    let meter = &mut context.meter;
    meter.text(template.len())?;
    let mut out = String::new();
    let mut rest = template.as_str();
    let mut next: usize = 1;
    let mut last: usize = 0;
    while let Some((before, behind)) = rest.split_once('%') {
        append(&mut out, before, meter)?;
        let mut chars = behind.chars();
        let (which, mark) = read_mark(&mut chars)?;
        rest = chars.as_str();
        let body = match mark.conversion {
            'n' => String::from("\n"),
            '%' => String::from("%"),
            _ => {
                match which {
                    Which::Next => {
                        last = next;
                        next = next.saturating_add(1);
                    }
                    Which::Again => {}
                    Which::Number(number) => last = number,
                }
                if last == 0 || last >= args.len() {
                    return Err(Fault::eval(format!("`format` has no argument for its mark `%{}`", mark.conversion))
                        .help("give one argument for each mark, and write a percent sign as `%%`"));
                }
                mark.body(args.get(last), meter)?
            }
        };
        mark.pad(&mut out, &body, meter)?;
    }
    append(&mut out, rest, meter)?;
    meter.new_text(0)?;
    Ok(Value::from(out))
}

fn wrong(message: &str) -> Fault {
    Fault::eval(format!("`format`: {message}"))
        .help("the marks are `%s %d %f %.2f %e %g %x %o %b %c %n`; write a percent sign as `%%`")
}

fn take_number(chars: &mut Chars<'_>) -> Option<usize> {
    let digits = chars.as_str().bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = chars.as_str().split_at_checked(digits).filter(|(number, _)| !number.is_empty())?;
    *chars = rest.chars();
    Some(number.parse().unwrap_or(usize::MAX))
}

fn read_mark(chars: &mut Chars<'_>) -> Result<(Which, Mark), Fault> {
    let mut mark = Mark::default();
    let mut which = Which::Next;
    let before = chars.clone();
    match take_number(chars) {
        Some(number) if chars.as_str().starts_with('$') => {
            chars.next();
            which = Which::Number(number);
        }
        _ => *chars = before,
    }
    while let Some(flag) = chars.clone().next().filter(|c| "-#+ 0,(<".contains(*c)) {
        chars.next();
        if flag == '<' {
            which = Which::Again;
        } else if mark.has(flag) {
            return Err(wrong(&format!("the flag `{flag}` is there twice")));
        } else {
            mark.flags.push(flag);
        }
    }
    let width = take_number(chars);
    mark.width = width.unwrap_or(0);
    if chars.as_str().starts_with('.') {
        chars.next();
        mark.precision = Some(take_number(chars).ok_or_else(|| wrong("a precision has no digits"))?);
    }
    mark.conversion = chars.next().ok_or_else(|| wrong("the template ends inside a mark"))?;
    mark.check(width.is_some())?;
    Ok((which, mark))
}

impl Mark {
    fn has(&self, flag: char) -> bool {
        self.flags.contains(&flag)
    }

    /// Refuses what Java refuses: flags that contradict each other, or that the conversion has no use for.
    fn check(&self, has_width: bool) -> Result<(), Fault> {
        let allowed = match self.conversion {
            'd' => "-+ 0,(",
            'f' => "-#+ 0,(",
            'e' | 'E' => "-#+ 0(",
            'g' | 'G' => "-+ 0,(",
            'x' | 'X' | 'o' => "-#0",
            's' | 'S' | 'b' | 'B' | 'c' | 'C' | '%' => "-",
            'n' => "",
            't' | 'T' => {
                return Err(wrong("there is no mark for dates").help("take the parts with `date/year` and the like"));
            }
            other => return Err(wrong(&format!("`%{other}` isn't a mark"))),
        };
        if let Some(flag) = self.flags.iter().find(|flag| !allowed.contains(**flag)) {
            return Err(wrong(&format!("`%{}` has no flag `{flag}`", self.conversion)));
        }
        if (self.has('-') || self.has('0')) && !has_width {
            return Err(wrong("a flag for filling up needs a width"));
        }
        // Java checks the width first, and programs that were written for Clojure expect its error.
        if self.has('-') && self.has('0') || self.has('+') && self.has(' ') {
            return Err(wrong("two flags contradict each other"));
        }
        if self.precision.is_some() && "dxXocCn%".contains(self.conversion) {
            return Err(wrong(&format!("`%{}` has no precision", self.conversion)));
        }
        if self.conversion == 'n' && has_width {
            return Err(wrong("`%n` has no width"));
        }
        Ok(())
    }

    /// Appends a text, filled up to the width.
    fn pad(&self, out: &mut String, body: &str, meter: &mut Meter) -> Result<(), Fault> {
        meter.text(body.len())?;
        let fill = self.width.saturating_sub(body.graphemes(true).count());
        meter.allocate(fill)?;
        let spaces = core::iter::repeat_n(' ', fill);
        if self.has('-') {
            append(out, body, meter)?;
            out.extend(spaces);
        } else {
            out.extend(spaces);
            append(out, body, meter)?;
        }
        Ok(())
    }

    /// The text of an argument, without spaces to fill it up.
    fn body(&self, value: &Value, meter: &mut Meter) -> Result<String, Fault> {
        let body = match self.conversion.to_ascii_lowercase() {
            's' => self.cut(&display(value, meter)?),
            'b' => self.cut(if value.is_truthy() { "true" } else { "false" }),
            _ if value.is_nil() => String::from("null"),
            'c' => character(value)?,
            'd' => self.decimal(value, meter)?,
            'x' | 'o' => self.radix(value, meter)?,
            _ => self.float(value, meter)?,
        };
        Ok(if self.conversion.is_ascii_uppercase() { body.to_uppercase() } else { body })
    }

    fn cut(&self, text: &str) -> String {
        match self.precision {
            Some(precision) => text.graphemes(true).take(precision).collect(),
            None => String::from(text),
        }
    }

    fn mismatch(&self, value: &Value, wanted: &str) -> Fault {
        let message = format!("`format`: `%{}` takes {wanted}, not {}", self.conversion, value.type_phrase());
        Fault::of_type(message).help("use `%s` for any value, `%d` for integers and `%.2f` for floats")
    }

    fn decimal(&self, value: &Value, meter: &mut Meter) -> Result<String, Fault> {
        let (Value::Int(_) | Value::Big(_)) = value else { return Err(self.mismatch(value, "an integer")) };
        let text = display(value, meter)?;
        let digits = text.strip_prefix('-').unwrap_or(&text);
        self.signed(text.starts_with('-'), digits, "", meter)
    }

    /// As in Java, a negative integer of 64 bits is its two's complement.
    fn radix(&self, value: &Value, meter: &mut Meter) -> Result<String, Fault> {
        let is_octal = self.conversion == 'o';
        let digits = match value {
            Value::Int(int) if is_octal => format!("{int:o}"),
            Value::Int(int) => format!("{int:x}"),
            Value::Big(big) => {
                let words = big.bits() / 64;
                meter.work(words.saturating_mul(words))?;
                let big = &**big;
                if is_octal { format!("{big:o}") } else { format!("{big:x}") }
            }
            other => return Err(self.mismatch(other, "an integer")),
        };
        let prefix = match (self.has('#'), is_octal) {
            (true, true) => "0",
            (true, false) => "0x",
            (false, _) => "",
        };
        meter.allocate(self.width)?;
        let fill = if self.has('0') { self.width.saturating_sub(prefix.len()).saturating_sub(digits.len()) } else { 0 };
        Ok(format!("{prefix}{}{digits}", "0".repeat(fill)))
    }

    fn float(&self, value: &Value, meter: &mut Meter) -> Result<String, Fault> {
        let float = match value {
            Value::Int(_) | Value::Float(_) | Value::Big(_) => Number::of(value, "format")?.to_float(),
            other => return Err(self.mismatch(other, "a number")),
        };
        let is_negative = float.is_sign_negative() && !float.is_nan();
        if !float.is_finite() {
            let name = if float.is_nan() { "NaN" } else { "Infinity" };
            let sign = if is_negative && !self.has('(') { "-" } else { "" };
            let plus = if !is_negative && !float.is_nan() && self.has('+') { "+" } else { "" };
            return Ok(if is_negative && self.has('(') { format!("({name})") } else { format!("{sign}{plus}{name}") });
        }
        let precision = self.precision.unwrap_or(6);
        meter.allocate(precision.saturating_mul(2).saturating_add(400))?;
        let digits = Digits::of(float);
        let (whole, rest) = match self.conversion.to_ascii_lowercase() {
            'f' => digits.fixed(precision),
            'e' => digits.scientific(precision),
            _ => digits.general(precision.max(1)),
        };
        self.signed(is_negative, &whole, &rest, meter)
    }

    /// The digits with their sign, grouped and filled up with zeros as the flags say.
    fn signed(&self, is_negative: bool, whole: &str, rest: &str, meter: &mut Meter) -> Result<String, Fault> {
        let (start, end) = match (is_negative, self.has('(')) {
            (true, true) => ("(", ")"),
            (true, false) => ("-", ""),
            (false, _) if self.has('+') => ("+", ""),
            (false, _) if self.has(' ') => (" ", ""),
            (false, _) => ("", ""),
        };
        let mut grouped = String::new();
        for (at, digit) in whole.chars().enumerate() {
            if self.has(',') && at > 0 && whole.len().saturating_sub(at).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        let mut fill = 0;
        if self.has('0') {
            let taken = [start, &grouped, rest, end].iter().map(|part| part.len()).fold(0, usize::saturating_add);
            fill = self.width.saturating_sub(taken);
        }
        meter.allocate(grouped.len().saturating_add(rest.len()).saturating_add(fill))?;
        Ok(format!("{start}{}{grouped}{rest}{end}", "0".repeat(fill)))
    }
}

fn display(value: &Value, meter: &mut Meter) -> Result<String, Fault> {
    let mut out = String::new();
    match value {
        Value::Nil => out.push_str("null"),
        value => print_into(&mut out, value, Style::Display, meter)?,
    }
    Ok(out)
}

fn character(value: &Value) -> Result<String, Fault> {
    let c = match value {
        Value::Text(text) if text.grapheme_count() == 1 => return Ok(String::from(text.as_str())),
        Value::Int(code) => u32::try_from(*code).ok().and_then(char::from_u32),
        _ => None,
    };
    let message =
        || Fault::new(Reason::TypeError, format!("`format`: `%c` takes a character, not {}", value.type_phrase()));
    c.map(String::from).ok_or_else(message)
}

/// The shortest decimal digits of a float: `0.d₁d₂… × 10^point`.
#[derive(Debug, Clone)]
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    fn of(float: f64) -> Self {
        let text = format!("{:e}", libm::fabs(float));
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit.wrapping_sub(b'0')).collect();
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let point = if float == 0.0 { 1 } else { exponent.saturating_add(1) };
        Self { digits, point }
    }

    /// Rounded half up to `count` digits. Java rounds the shortest digits too, not the exact value.
    fn rounded(mut self, count: i32) -> Self {
        let Ok(keep) = usize::try_from(count) else { return Self { digits: vec![0], point: 1 } };
        let Some(next) = self.digits.get(keep).copied() else { return self };
        self.digits.truncate(keep);
        if next >= 5 {
            let carries = self.digits.iter().rev().take_while(|digit| **digit == 9).count();
            let kept = self.digits.len().saturating_sub(carries);
            self.digits.truncate(kept);
            match self.digits.last_mut() {
                Some(last) => *last = last.saturating_add(1),
                None => {
                    self.digits.push(1);
                    self.point = self.point.saturating_add(1);
                }
            }
        }
        self
    }

    fn digit(&self, at: i32) -> char {
        let digit = usize::try_from(at).ok().and_then(|at| self.digits.get(at)).copied().unwrap_or(0);
        char::from(b'0'.saturating_add(digit))
    }

    /// The digits before the point, and the point with those behind it.
    fn fixed(self, precision: usize) -> (String, String) {
        let precision = i32::try_from(precision).unwrap_or(i32::MAX);
        let point = self.point;
        let rounded = self.rounded(point.saturating_add(precision));
        let whole =
            (0..rounded.point.max(1)).map(|at| rounded.digit(if rounded.point > 0 { at } else { -1 })).collect();
        let mut rest = String::new();
        if precision > 0 {
            rest.push('.');
            rest.extend((0..precision).map(|at| rounded.digit(rounded.point.saturating_add(at))));
        }
        (whole, rest)
    }

    /// One digit before the point, the others behind it, and the exponent.
    fn scientific(self, precision: usize) -> (String, String) {
        let precision = i32::try_from(precision).unwrap_or(i32::MAX);
        let rounded = self.rounded(precision.saturating_add(1));
        let mut rest = String::new();
        if precision > 0 {
            rest.push('.');
            rest.extend((0..precision).map(|at| rounded.digit(at.saturating_add(1))));
        }
        let exponent = rounded.point.saturating_sub(1);
        let sign = if exponent < 0 { '-' } else { '+' };
        rest.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
        (String::from(rounded.digit(0)), rest)
    }

    /// So many significant digits, with an exponent only where it is shorter.
    fn general(self, precision: usize) -> (String, String) {
        let most = i32::try_from(precision).unwrap_or(i32::MAX);
        let rounded = self.clone().rounded(most);
        // From 0.0001 up to 10 to the power of the precision, as `java.util.Formatter` says.
        if rounded.digits.iter().all(|digit| *digit == 0) || (-3..=most).contains(&rounded.point) {
            let behind = most.saturating_sub(rounded.point);
            return rounded.fixed(usize::try_from(behind).unwrap_or(0));
        }
        self.scientific(precision.saturating_sub(1))
    }
}
