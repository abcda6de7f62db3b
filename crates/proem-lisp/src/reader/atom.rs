//! Numbers, symbols, keywords, strings, characters and regular expressions.

use super::Reader;
use crate::{
    form::FormKind,
    value::{Text, Value, from_big},
};
use alloc::{format, string::String};
use num_bigint::BigInt;
use proem_text::Span;
use unicode_segmentation::UnicodeSegmentation as _;

/// Whether a token ends at a character.
const fn is_delimiter(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ';' | ',' | '@' | '^' | '`' | '~' | '\\')
}

impl Reader<'_> {
    fn token(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || is_delimiter(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    pub(super) fn read_atom(&mut self) {
        let token = String::from(self.token());
        let span = self.span(token.len().max(1));
        self.at = span.end;
        if token.contains(char::is_control) {
            self.problem(span, "a name has a control character", "take it out");
            return;
        }
        let kind = match token.as_str() {
            "nil" => FormKind::Nil,
            "true" => FormKind::Bool(true),
            "false" => FormKind::Bool(false),
            token => {
                let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
                if digits.starts_with(|c: char| c.is_ascii_digit()) {
                    self.number(token, digits, span)
                } else if let Some(name) = token.strip_prefix(':') {
                    self.keyword(name, span)
                } else {
                    if token.ends_with('/') && token != "/" || token.contains(':') && token.ends_with(':') {
                        self.problem(
                            span,
                            format!("`{}` isn't a name", excerpt(token)),
                            "take the last character away",
                        );
                    }
                    Self::symbol(token)
                }
            }
        };
        self.add(kind, span);
    }

    fn keyword(&mut self, name: &str, span: Span) -> FormKind {
        let name = name.strip_prefix(':').unwrap_or(name);
        if name.is_empty() || name.ends_with(['/', ':']) {
            self.problem(span, "a keyword has a name after its colon", "write it as `:name`");
        }
        FormKind::Keyword(Text::from(name))
    }

    /// The number of a token. `digits` is the token without its sign.
    fn number(&mut self, token: &str, digits: &str, span: Span) -> FormKind {
        let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
        let big = digits.strip_suffix('N').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(digits) = big.or_else(|| is_integer.then_some(digits)) {
            let radix = if digits.len() > 1 && digits.starts_with('0') { 8 } else { 10 };
            return self.integer(digits, token.starts_with('-'), radix, span);
        }
        if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            return self.integer(hexadecimal, token.starts_with('-'), 16, span);
        }
        if let Some((radix, rest)) = digits.split_once(['r', 'R'])
            && let Ok(radix @ 2..=36) = radix.parse()
        {
            return self.integer(rest, token.starts_with('-'), radix, span);
        }
        if let Some((numerator, denominator)) = token.split_once('/') {
            return self.ratio(numerator, denominator, span);
        }
        let decimal = token.strip_suffix('M').unwrap_or(token);
        let is_float =
            decimal.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
        match decimal.parse() {
            Ok(float) if is_float => FormKind::Float(float),
            _ => {
                self.problem(span, format!("`{}` isn't a number", excerpt(token)), "a name can't start with a digit");
                FormKind::Nil
            }
        }
    }

    fn integer(&mut self, digits: &str, is_negative: bool, radix: u32, span: Span) -> FormKind {
        if digits.len() > self.limits.digits {
            let message = format!("this integer has {} digits, more than {}", digits.len(), self.limits.digits);
            self.problem(span, message, "raise `lisp.digits`, or write it as a float");
            return FormKind::Nil;
        }
        let Some(big) = BigInt::parse_bytes(digits.as_bytes(), radix).filter(|_| !digits.starts_with(['+', '-']))
        else {
            self.problem(span, "this isn't an integer", "check its digits; one that begins with 0 is octal");
            return FormKind::Nil;
        };
        match from_big(if is_negative { BigInt::ZERO.checked_sub(&big).unwrap_or(big) } else { big }) {
            Value::Big(big) => FormKind::Big(big),
            Value::Int(int) => FormKind::Int(int),
            _ => FormKind::Nil,
        }
    }

    /// A ratio is the float or the integer that dividing gives.
    fn ratio(&mut self, numerator: &str, denominator: &str, span: Span) -> FormKind {
        let is_denominator = denominator.bytes().all(|byte| byte.is_ascii_digit());
        match (numerator.parse::<i64>(), denominator.parse::<i64>()) {
            (Ok(numerator), Ok(denominator)) if is_denominator && denominator > 0 => {
                match crate::value::Arithmetic::Divide.apply(
                    &Value::Int(numerator),
                    &Value::Int(denominator),
                    &mut crate::Meter::new(*self.limits),
                ) {
                    Ok(Value::Int(int)) => FormKind::Int(int),
                    Ok(Value::Float(float)) => FormKind::Float(float.get()),
                    _ => FormKind::Nil,
                }
            }
            _ => {
                self.problem(span, "this isn't a ratio", "write it as a division, such as `(/ 1 3)`");
                FormKind::Nil
            }
        }
    }

    /// `##Inf`, `##-Inf` and `##NaN`.
    pub(super) fn read_symbolic(&mut self) {
        self.at = self.at.saturating_add(2);
        let token = String::from(self.token());
        let span = Span::new(self.at.saturating_sub(2), self.at.saturating_add(token.len()));
        self.at = span.end;
        let float = match token.as_str() {
            "Inf" => f64::INFINITY,
            "-Inf" => f64::NEG_INFINITY,
            "NaN" => f64::NAN,
            _ => {
                self.problem(
                    span,
                    "this isn't a number",
                    "the numbers without digits are `##Inf`, `##-Inf` and `##NaN`",
                );
                f64::NAN
            }
        };
        self.add(FormKind::Float(float), span);
    }

    /// `\a`, `\newline`, `\u00e9`: strings of one grapheme.
    pub(super) fn read_character(&mut self) {
        let rest = self.rest().get(1..).unwrap_or_default();
        let first = rest.graphemes(true).next().unwrap_or_default();
        let word = rest.get(first.len()..).unwrap_or_default();
        let end = word.find(|c: char| c.is_whitespace() || is_delimiter(c)).unwrap_or(word.len());
        let name = String::from(rest.get(..first.len().saturating_add(end)).unwrap_or_default());
        let span = self.span(name.len().saturating_add(1));
        self.at = span.end;
        let text = match name.as_str() {
            "newline" => "\n",
            "space" => " ",
            "tab" => "\t",
            "return" => "\r",
            "backspace" => "\u{8}",
            "formfeed" => "\u{c}",
            name if name.graphemes(true).count() == 1 => name,
            name => {
                let code = name.strip_prefix('u').filter(|digits| digits.len() == 4);
                if let Some(c) = code.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32) {
                    self.add(FormKind::Text(Text::from(String::from(c))), span);
                    return;
                }
                self.problem(span, format!("`\\{}` isn't a character", excerpt(name)), "write text in double quotes");
                ""
            }
        };
        let text = Text::from(text);
        self.add(FormKind::Text(text), span);
    }

    pub(super) fn read_string(&mut self) {
        let start = self.at;
        let Some((text, end)) = self.string_body(start.saturating_add(1)) else { return };
        self.at = end;
        self.add(FormKind::Text(Text::from(text)), Span::new(start, end));
    }

    /// The characters up to the closing quote, and the offset after it.
    fn string_body(&mut self, from: usize) -> Option<(String, usize)> {
        let source = self.source;
        let mut text = String::new();
        let mut chars = source.get(from..)?.char_indices();
        while let Some((at, c)) = chars.next() {
            let here = from.saturating_add(at);
            match c {
                '"' => return Some((text, here.saturating_add(1))),
                '\\' => match chars.next() {
                    Some((_, escaped)) => match self.escape(escaped, here, &mut chars) {
                        Some(c) => text.push(c),
                        None => text.push(escaped),
                    },
                    None => break,
                },
                c => text.push(c),
            }
        }
        self.unclosed_string(from);
        None
    }

    fn unclosed_string(&mut self, from: usize) {
        let start = from.saturating_sub(1);
        self.problem(
            Span::new(start, from),
            "this string is never closed",
            "add `\"` where it ends; write a quote inside as `\\\"`",
        );
        self.at = self.source.len();
        // The brackets around it are open because the string took in their ends.
        self.open.clear();
    }

    fn escape(&mut self, escaped: char, at: usize, chars: &mut core::str::CharIndices<'_>) -> Option<char> {
        Some(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '"' | '\\' => escaped,
            '0'..='7' => return octal(escaped, chars),
            'u' => {
                let unit = hexadecimal(chars);
                // Two escapes of UTF-16 make one character beyond the first 65,536.
                let c = match unit {
                    Some(high @ 0xd800..=0xdbff) => {
                        let mut ahead = chars.clone();
                        let is_pair =
                            ahead.next().is_some_and(|(_, c)| c == '\\') && ahead.next().is_some_and(|(_, c)| c == 'u');
                        let low = if is_pair { hexadecimal(&mut ahead) } else { None };
                        let pair = low.and_then(|low| {
                            char::decode_utf16([u16::try_from(high).ok()?, u16::try_from(low).ok()?]).next()?.ok()
                        });
                        if pair.is_some() {
                            *chars = ahead;
                        }
                        pair
                    }
                    Some(unit) => char::from_u32(unit),
                    None => None,
                };
                if c.is_none() {
                    let span = Span::new(at, at.saturating_add(2));
                    self.problem(
                        span,
                        "`\\u` needs four hexadecimal digits of a character",
                        "write the character itself",
                    );
                    return Some('\u{fffd}');
                }
                c?
            }
            _ => {
                let span = Span::new(at, at.saturating_add(1).saturating_add(escaped.len_utf8()));
                let message = format!("`\\{escaped}` isn't an escape");
                self.problem(
                    span,
                    message,
                    "the escapes are `\\n \\t \\r \\b \\f \\\" \\\\ \\uXXXX`; in a regular expression use `#\"…\"`",
                );
                return None;
            }
        })
    }

    /// `#"…"`: nothing is escaped but the quote.
    pub(super) fn read_regex(&mut self) {
        let start = self.at;
        let from = start.saturating_add(2);
        let mut is_escaped = false;
        let end = self.source.get(from..).unwrap_or_default().char_indices().find(|(_, c)| {
            let ends = *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        let Some((length, _)) = end else {
            self.unclosed_string(from);
            return;
        };
        let end = from.saturating_add(length);
        let text = Text::from(self.source.get(from..end).unwrap_or_default());
        self.at = end.saturating_add(1);
        self.add(FormKind::Regex(text), Span::new(start, self.at));
    }
}

/// Up to two more octal digits.
fn octal(first: char, chars: &mut core::str::CharIndices<'_>) -> Option<char> {
    let mut code = first.to_digit(8)?;
    for _ in 0..2 {
        let Some(digit) = chars.clone().next().and_then(|(_, c)| c.to_digit(8)) else { break };
        code = code.saturating_mul(8).saturating_add(digit);
        chars.next();
    }
    char::from_u32(code)
}

fn hexadecimal(chars: &mut core::str::CharIndices<'_>) -> Option<u32> {
    let mut code: u32 = 0;
    for _ in 0..4 {
        let digit = chars.clone().next().and_then(|(_, c)| c.to_digit(16))?;
        code = code.saturating_mul(16).saturating_add(digit);
        chars.next();
    }
    Some(code)
}

/// The start of a token, for a message.
pub(crate) fn excerpt(token: &str) -> String {
    let end = token.floor_char_boundary(40);
    let start = token.get(..end).unwrap_or_default();
    if end < token.len() { format!("{start}…") } else { String::from(start) }
}
