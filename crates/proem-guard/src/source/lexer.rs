//! Tells comments, strings and the rest of a text apart.

use alloc::vec::Vec;
use proem_text::{Span, first_bytes};

use super::syntax::{LexicalRules, Quote, StringExtent};

/// How long an escaped character in quotes may be, in bytes: `'\u{10ffff}'`.
const CHARACTER: usize = 12;

/// A part of a text, without the marks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceToken {
    pub(super) kind: SourceTokenKind,
    pub(super) span: Span,
}

/// The kind of a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceTokenKind {
    Comment,
    Literal,
    Code,
}

/// The parts of a text in order. Nothing but marks is between them.
pub(super) fn lex_source(text: &str, rules: LexicalRules) -> Vec<SourceToken> {
    let mut lexer = Lexer { text, rules, pieces: Vec::new(), code: 0, line_end: 0, unended: Vec::new() };
    let mut at = 0usize;
    while at < text.len() {
        at = lexer.mark(at).unwrap_or_else(|| at.saturating_add(1));
    }
    lexer.push(SourceTokenKind::Code, Span::new(lexer.code, text.len()));
    lexer.pieces
}

struct Lexer<'a> {
    text: &'a str,
    rules: LexicalRules,
    pieces: Vec<SourceToken>,
    /// The start of the current code.
    code: usize,
    /// The end of the line in which a string was read last: many strings may be on one line.
    line_end: usize,
    /// Marks whose end was looked for in vain, so that nobody looks for it again.
    unended: Vec<&'static str>,
}

impl Lexer<'_> {
    /// Takes what begins with a mark at this byte. Gives where it ends.
    fn mark(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        // A text's first line has no line break before it.
        let is_open = |mark: &str| {
            rest.starts_with(mark) || (at == 0 && mark.strip_prefix('\n').is_some_and(|mark| rest.starts_with(mark)))
        };
        for (open, close) in self.rules.blocks {
            if is_open(open) {
                let start = at.saturating_add(open.len());
                let end = self.find(close, start, false);
                return Some(self.take(
                    SourceTokenKind::Comment,
                    at,
                    Span::new(start, end.unwrap_or(self.text.len())),
                    close,
                ));
            }
        }
        if self.rules.lines.iter().any(|mark| is_open(mark)) && self.may_comment(at) {
            let length = rest.find('\n').unwrap_or(rest.len());
            return Some(self.take(SourceTokenKind::Comment, at, Span::new(at, at.saturating_add(length)), ""));
        }
        let quotes = self.rules.quotes;
        quotes.iter().filter(|quote| rest.starts_with(quote.open)).find_map(|quote| self.string(at, quote))
    }

    /// Whether a comment of one line may begin at this byte.
    fn may_comment(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.text.as_bytes().get(before));
        !self.rules.apart || before.is_none_or(u8::is_ascii_whitespace)
    }

    fn string(&mut self, at: usize, quote: &Quote) -> Option<usize> {
        let start = at.saturating_add(quote.open.len());
        let rest = self.text.get(start..)?;
        let end = match quote.reach {
            StringExtent::Ended => self.find(quote.close, start, quote.escapes)?,
            StringExtent::Line => {
                if self.line_end < start {
                    self.line_end = rest.find('\n').map_or(self.text.len(), |length| start.saturating_add(length));
                }
                let line = self.text.get(start..self.line_end).unwrap_or_default();
                start.saturating_add(closing_offset(line, quote.close, quote.escapes).unwrap_or(line.len()))
            }
            StringExtent::Character => {
                let first = rest.chars().next().filter(|c| *c != '\n' && *c != '\'')?;
                let most = if first == '\\' { CHARACTER } else { first.len_utf8() };
                let near = first_bytes(rest, most.saturating_add(1));
                start.saturating_add(closing_offset(near, quote.close, quote.escapes)?)
            }
        };
        Some(self.take(SourceTokenKind::Literal, at, Span::new(start, end), quote.close))
    }

    /// The place of `close` behind `start`.
    fn find(&mut self, close: &'static str, start: usize, escapes: bool) -> Option<usize> {
        if self.unended.contains(&close) {
            return None;
        }
        let found = closing_offset(self.text.get(start..).unwrap_or_default(), close, escapes);
        if found.is_none() {
            self.unended.push(close);
        }
        found.map(|found| start.saturating_add(found))
    }

    /// Adds the code before `at` and the piece. Gives where its closing mark ends, if it has one.
    fn take(&mut self, kind: SourceTokenKind, at: usize, span: Span, close: &str) -> usize {
        self.push(SourceTokenKind::Code, Span::new(self.code, at));
        self.push(kind, span);
        let rest = self.text.get(span.end..).unwrap_or_default();
        let closed = if rest.starts_with(close) { close.len() } else { 0 };
        self.code = span.end.saturating_add(closed);
        self.code
    }

    fn push(&mut self, kind: SourceTokenKind, span: Span) {
        if !span.is_empty() {
            self.pieces.push(SourceToken { kind, span });
        }
    }
}

/// The first place of `close` in `text`, escaped ones left out.
fn closing_offset(text: &str, close: &str, escapes: bool) -> Option<usize> {
    if !escapes {
        return text.find(close);
    }
    let mut at = 0usize;
    while let Some(rest) = text.get(at..) {
        let next = rest.find(|c: char| c == '\\' || close.starts_with(c))?;
        let here = rest.get(next..)?;
        if here.starts_with(close) {
            return Some(at.saturating_add(next));
        }
        let skipped = here.chars().take(if here.starts_with('\\') { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
        at = at.saturating_add(next).saturating_add(skipped);
    }
    None
}
