//! Java's syntax of regular expressions in the syntax of the parser below us.
//!
//! Most of it is the same text. Java's classes are ASCII, its `.` stops at five kinds of line end, and `$` also holds
//! before the last of them. `\h`, `\R`, `\Q…\E` and others have no counterpart. A pattern that can't be matched in
//! linear time is refused by name, so that nothing means something else here.

use crate::{error::Fault, limits::Meter};
use alloc::{format, string::String, vec::Vec};
use core::{fmt::Write as _, str::Chars};

/// Any character but an end of a line.
const NO_LINE_END: &str = r"[^\n\r\x{85}\x{2028}\x{2029}]";
/// `$`, and `\Z`, as [`super::search`] reads it.
const LAST_END: &str = "(?mR:$)";
/// Bytes of the largest class of Unicode when it is parsed: about 700 ranges of 8 bytes.
const CLASS_BYTES: usize = 8 << 10;
/// Work of parsing and compiling such a class: as much as so many steps of a program take.
const CLASS_WORK: u64 = 10_000;
const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";
const HORIZONTAL: &str = r" \t\xA0\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}";

/// The changes of `(?…)`.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    dot_all: bool,
    multi_line: bool,
    /// Spaces and comments are no part of the expression.
    extended: bool,
    /// `\w`, `\d` and `\s` are those of Unicode.
    unicode: bool,
}

struct Translator<'a, 'm> {
    rest: Chars<'a>,
    meter: &'m mut Meter,
    out: String,
    flags: Flags,
    /// The flags outside each open group.
    outer: Vec<Flags>,
    /// How many brackets of classes are open.
    classes: usize,
}

/// The expression in the syntax of `regex-syntax`.
pub(super) fn translate(source: &str, meter: &mut Meter) -> Result<String, Fault> {
    let mut translator = Translator {
        rest: source.chars(),
        meter,
        out: String::new(),
        flags: Flags::default(),
        outer: Vec::new(),
        classes: 0,
    };
    while let Some(c) = translator.rest.next() {
        if translator.classes > 0 { translator.in_class(c)? } else { translator.outside(c)? }
    }
    Ok(translator.out)
}

fn missing(what: &str, help: &str) -> Fault {
    Fault::eval(format!("regular expressions here have no {what}")).help(help)
}

fn malformed(message: &str) -> Fault {
    Fault::eval(format!("this isn't a regular expression: {message}"))
        .help("to match text as it is, escape it with `\\Q…\\E`")
}

impl Translator<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.rest.next();
        }
        is_there
    }

    /// The text up to a mark, which is taken too.
    fn take_until(&mut self, mark: char) -> Option<String> {
        let (text, behind) = self.rest.as_str().split_once(mark)?;
        let text = String::from(text);
        self.rest = behind.chars();
        Some(text)
    }

    fn outside(&mut self, c: char) -> Result<(), Fault> {
        match c {
            '\\' => self.escape()?,
            '[' => self.open_class(),
            '(' => self.open_group()?,
            ')' => {
                self.flags = self.outer.pop().unwrap_or(self.flags);
                self.out.push(')');
            }
            // Java's line ends are more than `\n`, so `.`, `^` and `$` are spelt out.
            '.' => self.out.push_str(if self.flags.dot_all { "(?s:.)" } else { NO_LINE_END }),
            '^' => self.out.push_str(if self.flags.multi_line { "(?m:^)" } else { "^" }),
            '$' => self.out.push_str(if self.flags.multi_line { "(?m:$)" } else { LAST_END }),
            '*' | '+' | '?' => {
                self.out.push(c);
                self.refuse_possessive()?;
            }
            '{' => {
                let Some(counts) = self.take_until('}') else { return Err(malformed("`{` is never closed")) };
                self.out.push('{');
                self.out.push_str(&counts);
                self.out.push('}');
                self.refuse_possessive()?;
            }
            '#' if self.flags.extended => {
                self.take_until('\n').map_or_else(|| self.rest = "".chars(), drop);
            }
            '|' => self.out.push('|'),
            c if self.flags.extended && c.is_ascii_whitespace() => {}
            c => self.literal(c),
        }
        Ok(())
    }

    /// Behind a quantifier.
    fn refuse_possessive(&self) -> Result<(), Fault> {
        match self.peek() {
            Some('+') => Err(missing(
                "possessive quantifiers",
                "write one quantifier, such as `a+`; it takes time in proportion to the text anyway",
            )),
            Some('*' | '{') => Err(malformed("a quantifier has nothing to repeat")),
            _ => Ok(()),
        }
    }

    fn open_class(&mut self) {
        self.classes = self.classes.saturating_add(1);
        self.out.push('[');
        if self.take_if('^') {
            self.out.push('^');
        }
        if self.take_if(']') {
            self.out.push_str("\\]");
        } else if self.take_if(':') {
            // `[:alpha:]` is a class to the parser, and in Java the characters of that text.
            self.out.push_str("\\:");
        }
    }

    fn in_class(&mut self, c: char) -> Result<(), Fault> {
        match c {
            '\\' => self.escape()?,
            '[' => self.open_class(),
            ']' => {
                self.classes = self.classes.saturating_sub(1);
                self.out.push(']');
            }
            '&' if self.take_if('&') => self.out.push_str("&&"),
            // Two of them mean a difference to the parser. In Java they end a range.
            '-' if self.take_if('-') => self.out.push_str("-\\-"),
            '-' => self.out.push('-'),
            c if self.flags.extended && c.is_ascii_whitespace() => {}
            c => self.literal(c),
        }
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), Fault> {
        self.outer.push(self.flags);
        self.out.push('(');
        if !self.take_if('?') {
            return Ok(());
        }
        let rest = self.rest.as_str();
        if ["=", "!", "<=", "<!"].iter().any(|look| rest.starts_with(look)) {
            return Err(missing(
                "look-around",
                "match what surrounds the text too, and take the text from a group: `(second (re-find #\"#(\\d+)\" s))`",
            ));
        }
        if rest.starts_with('>') {
            return Err(missing("atomic groups", "use a group without `?>`"));
        }
        self.out.push('?');
        if rest.starts_with('<') {
            let Some(name) = self.take_until('>') else { return Err(malformed("the name of a group is never closed")) };
            self.out.push_str(&name);
            self.out.push('>');
            return Ok(());
        }
        self.change_flags()
    }

    /// `(?i)`, `(?s-m:`.
    fn change_flags(&mut self) -> Result<(), Fault> {
        let mut on = true;
        loop {
            match self.rest.next() {
                Some('-') if on => {
                    on = false;
                    // Only the flag for case reaches the parser.
                    if self.rest.as_str().split([')', ':']).next().is_some_and(|flags| flags.contains('i')) {
                        self.out.push('-');
                    }
                }
                Some('i') => self.out.push('i'),
                Some('s') => self.flags.dot_all = on,
                Some('m') => self.flags.multi_line = on,
                Some('x') => self.flags.extended = on,
                Some('U') => self.flags.unicode = on,
                Some('u') => {}
                Some(':') => {
                    self.out.push(':');
                    return Ok(());
                }
                Some(')') => {
                    // These hold to the end of the group around them.
                    self.outer.pop();
                    if self.out.ends_with("(?") {
                        self.out.truncate(self.out.len().saturating_sub(2));
                    } else {
                        self.out.push(')');
                    }
                    return Ok(());
                }
                _ => return Err(missing("such flags", "the flags are `i`, `s`, `m`, `x`, `u` and `U`")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let Some(c) = self.rest.next() else { return Err(malformed("a backslash has nothing behind it")) };
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' if self.flags.unicode => {
                self.charge_class()?;
                self.out.push('\\');
                self.out.push(c);
            }
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str(r"[ \t\n\x0B\f\r]"),
            'S' => self.out.push_str(r"[^ \t\n\x0B\f\r]"),
            'h' => self.class("", HORIZONTAL),
            'H' => self.class("^", HORIZONTAL),
            'v' => self.class("", VERTICAL),
            'V' => self.class("^", VERTICAL),
            't' | 'n' | 'r' | 'f' | 'a' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'e' => self.code(0x1b),
            '0' | 'x' | 'u' | 'c' => self.numeric(c)?,
            'p' | 'P' => self.property(c == 'P')?,
            'Q' => self.quoted(),
            '1'..='9' | 'k' => {
                return Err(missing("back-references", "capture both texts in groups and compare them"));
            }
            _ if self.classes == 0 && "AzZbBR".contains(c) => self.assertion(c),
            c if c.is_ascii_alphabetic() => {
                return Err(malformed(&format!("`\\{c}` isn't an escape that is known here")));
            }
            c => self.literal(c),
        }
        Ok(())
    }

    fn class(&mut self, negation: &str, members: &str) {
        self.out.push('[');
        self.out.push_str(negation);
        self.out.push_str(members);
        self.out.push(']');
    }

    fn assertion(&mut self, c: char) {
        match c {
            'A' => self.out.push_str(r"\A"),
            'z' => self.out.push_str(r"\z"),
            'Z' => self.out.push_str(LAST_END),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            _ => {
                self.out.push_str(r"(?:\r\n|[");
                self.out.push_str(VERTICAL);
                self.out.push_str("])");
            }
        }
    }

    /// `\Q…\E`: everything between represents itself.
    fn quoted(&mut self) {
        let rest = self.rest.as_str();
        let (text, behind) = rest.split_once("\\E").unwrap_or((rest, ""));
        self.rest = behind.chars();
        text.chars().for_each(|c| self.literal(c));
    }

    fn code(&mut self, code: u32) {
        // Writing to a string never fails.
        if write!(self.out, "\\x{{{code:x}}}").is_err() {
            self.out.push('\u{fffd}');
        }
    }

    /// The number of `least` to `most` digits that comes next.
    fn number(&mut self, radix: u32, least: usize, most: usize) -> Option<u32> {
        let digits = self.rest.clone().take(most).take_while(|c| c.is_digit(radix)).count();
        if digits < least {
            return None;
        }
        let text: String = self.rest.by_ref().take(digits).collect();
        u32::from_str_radix(&text, radix).ok()
    }

    /// The character of `\0n`, `\xhh`, `\x{h…}`, `\uhhhh` and `\cX`.
    fn numeric(&mut self, kind: char) -> Result<(), Fault> {
        let code = match kind {
            '0' => self.number(8, 1, 3),
            'x' if self.take_if('{') => self.take_until('}').and_then(|digits| u32::from_str_radix(&digits, 16).ok()),
            'x' => self.number(16, 2, 2),
            'u' => self.number(16, 4, 4).and_then(|unit| self.utf16(unit)),
            _ => self.rest.next().filter(char::is_ascii).map(|c| u32::from(c) ^ 64),
        };
        match code {
            Some(code) => self.code(code),
            None => return Err(malformed(&format!("`\\{kind}` needs the digits of a character"))),
        }
        Ok(())
    }

    /// The character of one or two units of UTF-16.
    fn utf16(&mut self, unit: u32) -> Option<u32> {
        if !(0xd800..0xdc00).contains(&unit) {
            return Some(unit);
        }
        let behind = self.rest.as_str().strip_prefix("\\u")?;
        self.rest = behind.chars();
        let low = self.number(16, 4, 4)?;
        let units = [u16::try_from(unit).ok()?, u16::try_from(low).ok()?];
        char::decode_utf16(units).next()?.ok().map(u32::from)
    }

    fn charge_class(&mut self) -> Result<(), Fault> {
        self.meter.work(CLASS_WORK)?;
        self.meter.allocate(CLASS_BYTES)
    }

    /// `\p{Alpha}`, `\p{IsLatin}`, `\pL`.
    fn property(&mut self, is_negated: bool) -> Result<(), Fault> {
        self.charge_class()?;
        let name = if self.take_if('{') { self.take_until('}') } else { self.rest.next().map(String::from) };
        let Some(name) = name else { return Err(malformed("a property has no name")) };
        const POSIX: [&str; 12] = [
            "Lower", "Upper", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank", "Cntrl", "XDigit", "Space",
        ];
        let sign = if is_negated { "^" } else { "" };
        if POSIX.contains(&name.as_str()) && !self.flags.unicode {
            self.class("", &format!("[:{sign}{}:]", name.to_ascii_lowercase()));
        } else if name == "ASCII" {
            self.class(sign, r"\x00-\x7F");
        } else {
            let name = match name.as_str() {
                "javaLowerCase" => "Lowercase",
                "javaUpperCase" => "Uppercase",
                "javaWhitespace" => "White_Space",
                name => name.strip_prefix("Is").unwrap_or(name),
            };
            let letter = if is_negated { 'P' } else { 'p' };
            self.out.push_str(&format!("\\{letter}{{{name}}}"));
        }
        Ok(())
    }

    /// A character that represents itself.
    fn literal(&mut self, c: char) {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            self.out.push('\\');
        }
        self.out.push(c);
    }
}
