//! C and C++: what a source includes.
//!
//! This is the preprocessor's view, which needs no grammar: comments, literals and spliced lines as the phases
//! of translation have them (ISO/IEC 9899:2018, 5.1.1.2; ISO/IEC 14882:2020, 5.2), and directives where `#` is
//! the first sign of a line. Macros are not expanded. Which branch of a condition is compiled is up to whoever
//! builds it, so that what any branch includes counts.

use crate::{
    extract::{ExtractError, NODES, facts::FactsBuilder},
    source_facts::ImportKind,
};

/// The longest delimiter of a raw string, in characters (ISO/IEC 14882:2020, 5.4 and 5.13.5).
const DELIMITER: usize = 16;

/// Adds what `source` includes to `facts`, delimiters and all: `"a.h"`, `<b/c.h>`, or the macro that represents it.
pub(super) fn read_includes(
    source: &[u8],
    facts: &mut FactsBuilder<'_>,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<(), ExtractError> {
    let mut scanner = IncludeScanner { rest: source, line: IncludeLine::default() };
    let mut lines: u32 = 0;
    while let Some((&byte, after)) = scanner.rest.split_first() {
        match (byte, after) {
            (b'\n', _) => {
                scanner.rest = after;
                scanner.line = IncludeLine::default();
                lines = lines.wrapping_add(1);
                if lines.is_multiple_of(NODES) && give_up() {
                    return Err(ExtractError::TimedOut);
                }
            }
            (b'#', rest) | (b'%', [b':', rest @ ..]) if !scanner.line.begun => {
                scanner.rest = rest;
                scanner.directive(facts);
            }
            _ if scanner.skip_blank(facts) => {}
            _ => scanner.token(facts),
        }
    }
    Ok(())
}

/// The state of the current line.
#[derive(Debug, Default)]
struct IncludeLine {
    /// Whether there is more than white space and comments on it so far.
    begun: bool,
    /// Quotes that nothing closes on this line: they are in text that is never compiled, such as that of an `#error`.
    /// Each is looked for once a line, so that the time for a source grows with its length alone.
    open: [Option<u8>; 2],
}

#[derive(Debug)]
struct IncludeScanner<'s> {
    rest: &'s [u8],
    line: IncludeLine,
}

impl<'s> IncludeScanner<'s> {
    /// Skips white space within a line, a spliced line's end or a comment. False if there is none.
    fn skip_blank(&mut self, facts: &mut FactsBuilder<'_>) -> bool {
        self.rest = match self.rest {
            [b' ' | b'\t' | b'\r' | 0x0b | 0x0c, rest @ ..] => rest,
            [b'\\', b'\n', rest @ ..] | [b'\\', b'\r', b'\n', rest @ ..] => rest,
            [b'/', b'/', rest @ ..] => after_line(rest),
            [b'/', b'*', rest @ ..] => text_after(rest, b"*/").unwrap_or_else(|| {
                facts.errors = true;
                &[]
            }),
            _ => return false,
        };
        true
    }

    /// Reads a directive behind its `#`.
    fn directive(&mut self, facts: &mut FactsBuilder<'_>) {
        while self.skip_blank(facts) {}
        let name = self.word();
        self.line.begun = true;
        if matches!(name, b"include" | b"include_next" | b"import") {
            self.header(facts);
        }
    }

    /// Reads the name of a header.
    fn header(&mut self, facts: &mut FactsBuilder<'_>) {
        while self.skip_blank(facts) {}
        let name = match self.rest {
            [b'"', rest @ ..] => self.delimited(rest, b'"'),
            [b'<', rest @ ..] => self.delimited(rest, b'>'),
            _ => Some(self.word()).filter(|word| !word.is_empty()),
        };
        match name.and_then(|name| facts.name_of(name)) {
            Some(name) => facts.import(name, ImportKind::Static, Vec::new()),
            None => facts.errors = true,
        }
    }

    /// Takes a name with its delimiters, of which the closing one must be on the same line.
    fn delimited(&mut self, behind: &'s [u8], close: u8) -> Option<&'s [u8]> {
        let end = behind.iter().position(|&byte| byte == close || byte == b'\n')?;
        if behind.get(end) != Some(&close) || end == 0 {
            return None;
        }
        self.take(end.saturating_add(2))
    }

    /// Skips a word, a number, a literal or another sign.
    fn token(&mut self, facts: &mut FactsBuilder<'_>) {
        let is_first = !self.line.begun;
        self.line.begun = true;
        match self.rest {
            [b'0'..=b'9', ..] => self.number(),
            [quote @ (b'"' | b'\''), rest @ ..] => self.literal(*quote, rest),
            [first, ..] if is_of_word(*first) => match (self.word(), self.rest) {
                (b"R" | b"LR" | b"uR" | b"UR" | b"u8R", [b'"', rest @ ..]) => self.raw(rest, facts),
                // A header as a unit of its own (ISO/IEC 14882:2020, 10.3).
                (b"import", [b' ' | b'\t' | b'"' | b'<', ..]) if is_first => self.header_unit(facts),
                _ => {}
            },
            [_, rest @ ..] => self.rest = rest,
            [] => {}
        }
    }

    fn header_unit(&mut self, facts: &mut FactsBuilder<'_>) {
        while self.skip_blank(facts) {}
        if matches!(self.rest, [b'"' | b'<', ..]) {
            self.header(facts);
        }
    }

    fn word(&mut self) -> &'s [u8] {
        let end = self.rest.iter().position(|&byte| !is_of_word(byte)).unwrap_or(self.rest.len());
        self.take(end).unwrap_or_default()
    }

    /// Skips a number, whose digits may be separated by quotes.
    fn number(&mut self) {
        while let [first, rest @ ..] = self.rest {
            self.rest = match (first, rest) {
                (b'\'', [next, ..]) if is_of_word(*next) => rest,
                (b'.', _) => rest,
                _ if is_of_word(*first) => rest,
                _ => return,
            };
        }
    }

    /// Skips a literal that ends on its line, else its quote alone.
    fn literal(&mut self, quote: u8, behind: &'s [u8]) {
        self.rest = behind;
        if self.line.open.contains(&Some(quote)) {
            return;
        }
        let mut rest = behind;
        loop {
            rest = match rest {
                [b'\\', b'\r', b'\n', rest @ ..] | [b'\\', _, rest @ ..] => rest,
                [] | [b'\n', ..] => break self.line.open = [Some(quote), self.line.open[0]],
                [byte, rest @ ..] if *byte == quote => break self.rest = rest,
                [_, rest @ ..] => rest,
            }
        }
    }

    /// Skips a raw string behind its first quote. Nothing is special in it but its end.
    fn raw(&mut self, behind: &'s [u8], facts: &mut FactsBuilder<'_>) {
        let open = behind.iter().take(DELIMITER.saturating_add(1)).position(|&byte| byte == b'(');
        let Some((delimiter, text)) = open.and_then(|open| behind.split_at_checked(open)) else {
            return self.literal(b'"', behind);
        };
        let end = [b")", delimiter, b"\""].concat();
        self.rest = text_after(text, &end).unwrap_or_else(|| {
            facts.errors = true;
            &[]
        });
    }

    fn take(&mut self, count: usize) -> Option<&'s [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// The text behind the first `end`.
fn text_after<'s>(text: &'s [u8], end: &[u8]) -> Option<&'s [u8]> {
    let (&last, head) = end.split_last()?;
    let mut from = 0_usize;
    while let Some(at) = text.get(from..)?.iter().position(|&byte| byte == last) {
        let at = from.saturating_add(at);
        from = at.saturating_add(1);
        if text.get(..at).is_some_and(|before| before.ends_with(head)) {
            return text.get(from..);
        }
    }
    None
}

/// The text behind a line, with those that are spliced to it. Its end is left.
fn after_line(mut text: &[u8]) -> &[u8] {
    loop {
        let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        let Some((line, rest)) = text.split_at_checked(end) else { return &[] };
        match (line, rest) {
            ([.., b'\\'] | [.., b'\\', b'\r'], [_, rest @ ..]) => text = rest,
            _ => return rest,
        }
    }
}
