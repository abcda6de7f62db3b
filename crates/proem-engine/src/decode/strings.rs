//! Reads texts between quotes of any kind.
//!
//! A quote ends a text only if something that may follow a text comes next: a comma, a bracket, the end of the line,
//! another quote. Any other quote is part of the text. If two readings remain, the text is not read.

use proem_text::Span;

use super::RepairKind;
use super::around::is_space_between_values;
use super::backslash::{Backslashes, Reading};
use super::cursor::LenientReader;
use super::turns::{first_template_token, is_template_token};

/// Quotes that open a text, and what closes it.
const QUOTES: [(char, &[char]); 11] = [
    ('"', &['"']),
    ('\'', &['\'']),
    ('“', &['”', '“', '‟', '"']),
    ('”', &['”', '"']),
    ('„', &['“', '”', '"']),
    ('‟', &['”', '"']),
    ('‘', &['’', '‘', '\'']),
    ('’', &['’', '\'']),
    ('‚', &['‘', '’', '\'']),
    ('«', &['»']),
    ('`', &['`']),
];

/// The position of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringPosition {
    Key,
    Value,
}

/// A text between quotes.
#[derive(Debug, Default)]
pub(super) struct QuotedText {
    pub(super) text: String,
    /// Whether the closing quote is behind the end.
    pub(super) open: bool,
    /// Whether it can be read in more than one way.
    pub(super) ambiguous: bool,
}

/// The closing quotes of a text that starts with `c`, if there are any.
fn closers(c: char) -> Option<&'static [char]> {
    QUOTES.iter().find(|(open, _)| *open == c).map(|(_, close)| *close)
}

/// Whether a text starts with `c`.
pub(super) fn is_quote(c: char) -> bool {
    closers(c).is_some()
}

impl LenientReader<'_> {
    /// The text that starts here. `None` if no quote is here.
    pub(super) fn quoted(&mut self, role: StringPosition) -> Option<QuotedText> {
        let opener = self.char()?;
        let closers = closers(opener)?;
        let start = self.at;
        self.at = self.at.saturating_add(opener.len_utf8());
        if opener != '"' {
            self.repairs.push(RepairKind::Quotes, Span::new(start, self.at));
        }
        let (mut quoted, mut backslashes) = (QuotedText::default(), Backslashes::default());
        let mut quotes = InnerQuotes::default();
        let mut lines = false;
        // The line inside the text that ends the fence around it, should the text have no end.
        let mut fence = None;
        loop {
            self.copy_plain(&mut quoted.text, opener);
            let Some(c) = self.char() else {
                quoted.open = true;
                break;
            };
            let here = Span::new(self.at, self.at.saturating_add(c.len_utf8()));
            if c == '\\' {
                self.escape(&mut quoted.text, &mut backslashes);
                continue;
            }
            self.at = here.end;
            if closers.contains(&c) {
                match self.after_quote(c) {
                    QuoteLookahead::End => break,
                    // A quote that closes the text twice. Behind one that opens a quotation it would close that.
                    QuoteLookahead::More if quotes.count == 0 && !quoted.text.is_empty() && self.is_doubled(c) => {
                        let start = self.at;
                        self.at = start.saturating_add(c.len_utf8());
                        self.repairs.push(RepairKind::Stray, Span::new(start, self.at));
                        break;
                    }
                    QuoteLookahead::Colon if role == StringPosition::Key => break,
                    QuoteLookahead::Colon => quotes.before_colon = true,
                    QuoteLookahead::More => {}
                }
                quotes.add(&quoted.text);
                quotes.joins |= self.joins_another(c);
                self.repairs.push(RepairKind::InnerQuote, here);
            } else if c < ' ' {
                lines |= c == '\n';
                self.repairs.push(RepairKind::ControlCharacter, here);
                if fence.is_none() && c == '\n' && self.is_fence() {
                    fence = Some((here.start, quoted.text.len()));
                }
            }
            quoted.text.push(c);
        }
        // Nor does the end of the model's turn belong to it.
        if quoted.open
            && let Some(len) = first_template_token(&quoted.text)
            && let Some(at) = self.text.get(start..self.at).and_then(first_template_token)
            && fence.is_none_or(|(_, fence)| len < fence)
        {
            fence = Some((start.saturating_add(at), len));
        }
        if quoted.open
            && let Some((end, len)) = fence
        {
            quoted.text.truncate(len);
            self.repairs.forget_from(end);
            self.looked = self.at;
            (self.at, self.end) = (end, end);
        }
        // A text without its closing quote goes on in what is behind it.
        self.closed_inside = !quoted.open && self.ends_with_closers(&quoted.text);
        let is_torn = quotes.may_open_another() || (quoted.open && self.ends_with_closers(&quoted.text));
        self.torn |= is_torn;
        quoted.ambiguous = is_torn || quotes.joins || (quotes.count > 0 && (quoted.open || lines));
        self.settle(&mut quoted, &backslashes);
        Some(quoted)
    }

    /// Gives the control characters of a text the meaning that its other backslashes show.
    fn settle(&mut self, quoted: &mut QuotedText, backslashes: &Backslashes) {
        match backslashes.reading(&quoted.text) {
            Reading::Escapes => {}
            Reading::Ambiguous => quoted.ambiguous = true,
            Reading::Literal => {
                quoted.text = backslashes.to_literal(&quoted.text);
                for (_, span) in &backslashes.controls {
                    self.repairs.push(RepairKind::InvalidEscape, *span);
                }
            }
        }
    }

    /// Whether a text ends with the brackets that would close everything open here.
    fn ends_with_closers(&self, text: &str) -> bool {
        let open = self.open_lists.saturating_add(self.open_objects);
        let closers = text.chars().rev().filter(|c| !c.is_whitespace()).take_while(|c| matches!(c, '}' | ']'));
        open > 0 && closers.count() >= open
    }

    /// Copies what needs no look.
    fn copy_plain(&mut self, text: &mut String, opener: char) {
        let rest = self.rest();
        let straight = opener == '"';
        let special = |byte: u8| match byte {
            b'\\' | b'"' | 0..=0x1f => true,
            b'\'' | b'`' | 0x80.. => !straight,
            _ => false,
        };
        let len = rest.bytes().position(special).unwrap_or(rest.len());
        // Quotes are ASCII or start a character, so this is a boundary.
        text.push_str(rest.get(..len).unwrap_or_default());
        self.at = self.at.saturating_add(len);
    }

    /// The text after the quote `c` that was just read.
    fn after_quote(&self, c: char) -> QuoteLookahead {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r']);
        match trimmed.chars().next() {
            None | Some(',' | '}' | ']' | '\n') => QuoteLookahead::End,
            Some(':') => QuoteLookahead::Colon,
            // Two texts without a comma. Two quotes in a row are the end of a quotation.
            Some(next) if next == c && trimmed.len() < rest.len() => QuoteLookahead::End,
            Some('/') if trimmed.starts_with("//") || trimmed.starts_with("/*") => QuoteLookahead::End,
            Some('<') if is_template_token(trimmed) => QuoteLookahead::End,
            Some(_) => QuoteLookahead::More,
        }
    }

    /// Whether the same quote again follows a quote that was just read, and then the end of a list or object.
    fn is_doubled(&self, quote: char) -> bool {
        let behind = self.rest().strip_prefix(quote);
        behind.is_some_and(|behind| behind.trim_start_matches(is_space_between_values).starts_with([']', '}']))
    }

    /// Whether a plus and another quote follow a quote that was just read.
    fn joins_another(&self, quote: char) -> bool {
        let part = self.rest().trim_start_matches([' ', '\t']).strip_prefix('+');
        part.is_some_and(|part| part.trim_start_matches([' ', '\t']).starts_with(quote))
    }

    /// Reads the escape that starts here.
    fn escape(&mut self, text: &mut String, backslashes: &mut Backslashes) {
        let start = self.at;
        let mut chars = self.rest().chars();
        chars.next();
        let c = match chars.next() {
            // Half an escape at the end says nothing.
            None => return self.at = self.end,
            Some('u') => {
                let follows = self.rest().get(2..).and_then(|rest| rest.chars().next());
                backslashes.kept |= follows.is_some_and(|c| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit());
                return self.unicode_escape(text);
            }
            Some('\\') => {
                backslashes.doubled |= self.rest().get(2..).is_some_and(starts_with_letter);
                '\\'
            }
            Some(c @ ('"' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c @ ('\'' | '_')) => {
                self.repairs.push(RepairKind::InvalidEscape, Span::new(start, start.saturating_add(2)));
                c
            }
            Some('x') => match self.hex(2, 2).and_then(|code| u8::try_from(code).ok()).filter(u8::is_ascii) {
                Some(byte) => {
                    self.at = start.saturating_add(4);
                    self.repairs.push(RepairKind::InvalidEscape, Span::new(start, self.at));
                    return text.push(char::from(byte));
                }
                None => {
                    backslashes.kept = true;
                    return self.keep_backslash(text);
                }
            },
            Some(c) => {
                backslashes.kept |= c.is_ascii_alphabetic();
                return self.keep_backslash(text);
            }
        };
        self.at = start.saturating_add(2);
        if c < ' ' {
            backslashes.controls.push((text.len(), Span::new(start, self.at)));
        }
        text.push(c);
    }

    fn keep_backslash(&mut self, text: &mut String) {
        let end = self.at.saturating_add(1);
        self.repairs.push(RepairKind::InvalidEscape, Span::new(self.at, end));
        text.push('\\');
        self.at = end;
    }

    /// Reads `\uXXXX`, or two of them for one character.
    fn unicode_escape(&mut self, text: &mut String) {
        let start = self.at;
        let Some(unit) = self.hex(2, 4) else {
            let digits = self.rest().bytes().skip(2).take(4).take_while(u8::is_ascii_hexdigit).count();
            if self.rest().len() == digits.saturating_add(2) {
                return self.at = self.end;
            }
            return self.keep_backslash(text);
        };
        let high = (0xd800..0xdc00).contains(&unit);
        if high && is_half_escape(self.rest().get(6..).unwrap_or_default()) {
            return self.at = self.end;
        }
        let low = if high && self.rest().get(6..8) == Some("\\u") { self.hex(8, 4) } else { None };
        let low = low.filter(|low| (0xdc00..0xe000).contains(low));
        let (code, len) = match low {
            Some(low) => (0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 12),
            None => (unit, 6),
        };
        self.at = start.saturating_add(len);
        text.push(char::from_u32(code).unwrap_or_else(|| {
            self.repairs.push(RepairKind::LoneSurrogate, Span::new(start, self.at));
            char::REPLACEMENT_CHARACTER
        }));
    }

    /// The number that `len` hexadecimal digits spell, `skip` bytes from here.
    fn hex(&self, skip: usize, len: usize) -> Option<u32> {
        let digits = self.rest().get(skip..skip.saturating_add(len))?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }
}

/// Whether `rest` is the start of `\uXXXX` and no more.
fn is_half_escape(rest: &str) -> bool {
    let digits = rest.strip_prefix("\\u");
    rest.is_empty()
        || rest == "\\"
        || digits.is_some_and(|digits| digits.len() < 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether `rest` starts with a letter that a command or a part of a path may start with.
fn starts_with_letter(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The quotes inside a text that were not escaped.
#[derive(Debug, Default)]
struct InnerQuotes {
    count: usize,
    /// Whether a colon is behind one, as behind a key.
    before_colon: bool,
    /// Whether one is where a text could begin.
    opens: bool,
    /// Whether a plus and another quote follow one, as between the parts of a text in a piece of code.
    joins: bool,
}

impl InnerQuotes {
    /// Adds the quote that follows `text`.
    fn add(&mut self, text: &str) {
        self.count = self.count.saturating_add(1);
        let before = text.trim_end();
        self.opens |= before.is_empty() || before.ends_with([',', '[', '{', ':']);
    }

    /// Whether one of them may open another text: they don't come in pairs, or one ends a key.
    const fn may_open_another(&self) -> bool {
        self.before_colon || (self.opens && self.count % 2 == 1)
    }
}

/// The text after a quote.
enum QuoteLookahead {
    /// The end of a value.
    End,
    /// A colon, as after a key.
    Colon,
    /// More of the text.
    More,
}
