//! Reads a source into forms, with all errors.
//!
//! Brackets are kept on a list, never on the host's stack, and every limit is checked before the
//! work. The place of an unclosed bracket is that of the bracket.

mod atom;
mod short_function;

pub(crate) use atom::excerpt;

use crate::{
    error::{Problem, Reason},
    form::{FormId, FormKind, Forms},
    limits::Limits,
    value::Text,
};
use alloc::{format, string::String, vec, vec::Vec};
use proem_text::Span;

/// So many problems are listed. A source with more is not the text of a program.
const MOST_PROBLEMS: usize = 20;

/// A source as forms.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) forms: Forms,
    /// The forms that aren't inside others.
    pub(crate) top: Vec<FormId>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads all forms of a source.
pub(crate) fn read_source(source: &str, limits: &Limits) -> Reading {
    let mut reader = Reader { source, at: 0, limits, open: Vec::new(), reading: Reading::default(), stopped: false };
    reader.read_all();
    reader.reading
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opener {
    List,
    Vector,
    Map,
    Set,
    ShortFunction,
    /// `'x`
    Quote,
    /// `#_`, and `^` for metadata
    Discard,
    /// `@x` and others that have no meaning here. Read so that what follows is.
    Unsupported,
}

impl Opener {
    const fn closing(self) -> Option<char> {
        match self {
            Self::List | Self::ShortFunction => Some(')'),
            Self::Vector => Some(']'),
            Self::Map | Self::Set => Some('}'),
            Self::Quote | Self::Discard | Self::Unsupported => None,
        }
    }
}

/// A bracket, or a prefix that waits for the form after it.
struct OpenForm {
    opener: Opener,
    span: Span,
    elements: Vec<FormId>,
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    limits: &'a Limits,
    open: Vec<OpenForm>,
    reading: Reading,
    stopped: bool,
}

impl Reader<'_> {
    fn read_all(&mut self) {
        if self.source.len() > self.limits.source_bytes {
            let message = format!("the source has {} bytes, more than {}", self.source.len(), self.limits.source_bytes);
            let problem = Problem::new(Reason::ParseError, Span::new(0, 0), message);
            self.reading.problems.push(problem.help("raise `lisp.source_bytes`, or pass data as an input"));
            return;
        }
        while !self.stopped && self.read_one() {}
        self.close_all();
    }

    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn problem(&mut self, span: Span, message: impl Into<String>, help: &str) {
        if self.reading.problems.len() >= MOST_PROBLEMS {
            self.stopped = true;
            return;
        }
        let problem = Problem::new(Reason::ParseError, span, message);
        self.reading.problems.push(if help.is_empty() { problem } else { problem.help(help) });
    }

    /// Skips white space and comments, and reads one token. False at the end.
    fn read_one(&mut self) -> bool {
        let Some(c) = self.peek() else { return false };
        let start = self.at;
        match c {
            c if c.is_whitespace() || c == ',' => self.at = start.saturating_add(c.len_utf8()),
            ';' => self.at = start.saturating_add(self.rest().find('\n').unwrap_or(self.rest().len())),
            '(' => self.open(Opener::List, 1),
            '[' => self.open(Opener::Vector, 1),
            '{' => self.open(Opener::Map, 1),
            ')' | ']' | '}' => self.close(c),
            '\'' => self.read_quote(),
            '#' => self.read_dispatch(),
            '"' => self.read_string(),
            '\\' => self.read_character(),
            '@' | '^' | '`' | '~' => self.read_unsupported(c),
            _ => self.read_atom(),
        }
        true
    }

    fn read_quote(&mut self) {
        if self.rest().chars().nth(1).is_some_and(char::is_whitespace) {
            self.problem(self.span(1), "`'` quotes the form behind it, and here is none", QUOTE_HELP);
        }
        self.open(Opener::Quote, 1);
    }

    fn read_dispatch(&mut self) {
        let rest = self.rest();
        match rest.chars().nth(1) {
            Some('(') => self.open(Opener::ShortFunction, 2),
            Some('{') => self.open(Opener::Set, 2),
            Some('_') => self.open(Opener::Discard, 2),
            Some('"') => self.read_regex(),
            Some('#') => self.read_symbolic(),
            Some('\'') => self.open(Opener::Quote, 2),
            Some('?') => {
                self.problem(self.span(2), "reader conditionals don't exist here", "write the Clojure branch alone");
                self.open(Opener::Unsupported, 2);
            }
            _ => {
                self.problem(self.span(1), "tagged literals don't exist here", "write the value as a string or a map");
                self.open(Opener::Unsupported, 1);
            }
        }
    }

    fn read_unsupported(&mut self, c: char) {
        let (message, help) = match c {
            // Metadata changes nothing here, so it is read and left out.
            '^' => {
                self.open(Opener::Discard, 1);
                return;
            }
            '@' => (
                "`@` reads a reference, and there are none here",
                "use the value itself; keep state with `memory/put` or `loop`",
            ),
            _ => ("macros don't exist here", "write a function with `defn`"),
        };
        self.problem(self.span(1), message, help);
        self.open(Opener::Unsupported, 1);
    }

    fn span(&self, bytes: usize) -> Span {
        Span::new(self.at, self.at.saturating_add(bytes).min(self.source.len()))
    }

    fn open(&mut self, opener: Opener, bytes: usize) {
        let span = self.span(bytes);
        self.at = span.end;
        if self.open.len() >= self.limits.nesting {
            let message = format!("brackets nest more than {} levels deep", self.limits.nesting);
            self.problem(span, message, "raise `lisp.nesting`, or split the form with `let` or `defn`");
            self.stopped = true;
            return;
        }
        self.open.push(OpenForm { opener, span, elements: Vec::new() });
    }

    /// Puts a form where it belongs, and closes the prefixes that waited for it.
    fn add(&mut self, kind: FormKind, span: Span) {
        let mut id = self.reading.forms.add(kind, span);
        loop {
            let Some(top) = self.open.last_mut() else {
                self.reading.top.push(id);
                return;
            };
            if top.opener.closing().is_some() {
                top.elements.push(id);
                return;
            }
            let Some(prefix) = self.open.pop() else { return };
            match prefix.opener {
                Opener::Discard => return,
                Opener::Quote => {
                    let end = self.reading.forms.span(id).end;
                    let quote = self.reading.forms.add(FormKind::Symbol(Text::from("quote")), prefix.span);
                    id = self.reading.forms.add(FormKind::List(vec![quote, id]), Span::new(prefix.span.start, end));
                }
                _ => {}
            }
        }
    }

    fn close(&mut self, c: char) {
        let span = self.span(1);
        self.at = span.end;
        self.drop_prefixes();
        let Some(place) = self.open.iter().rposition(|open| open.opener.closing() == Some(c)) else {
            self.problem(span, format!("`{c}` closes nothing"), "take it out, or add its opening bracket");
            return;
        };
        while self.open.len() > place.saturating_add(1) {
            if let Some(unclosed) = self.open.pop() {
                self.report_unclosed(&unclosed, Some(c));
            }
        }
        if let Some(open) = self.open.pop() {
            let span = Span::new(open.span.start, span.end);
            self.finish(open, span);
        }
    }

    fn report_unclosed(&mut self, open: &OpenForm, found: Option<char>) {
        let Some(closing) = open.opener.closing() else {
            self.problem(open.span, "nothing follows this prefix", "add the form that it is for");
            return;
        };
        match found {
            Some(found) => self.problem(
                open.span,
                format!("this bracket is closed by `{found}` instead of `{closing}`"),
                "close it with its own bracket",
            ),
            None => {
                self.problem(
                    open.span,
                    "this bracket is never closed",
                    &format!("add `{closing}` where its form ends"),
                );
            }
        }
    }

    fn drop_prefixes(&mut self) {
        while self.open.last().is_some_and(|open| open.opener.closing().is_none()) {
            if let Some(prefix) = self.open.pop() {
                self.report_unclosed(&prefix, None);
            }
        }
    }

    fn close_all(&mut self) {
        if self.stopped {
            return;
        }
        while let Some(open) = self.open.pop() {
            self.report_unclosed(&open, None);
        }
        self.reading.problems.sort_by_key(|problem| problem.diagnostic.span);
    }

    fn finish(&mut self, open: OpenForm, span: Span) {
        let elements = open.elements;
        let kind = match open.opener {
            Opener::Vector => FormKind::Vector(elements),
            Opener::Map => {
                if !elements.len().is_multiple_of(2) {
                    self.problem(open.span, "this map has a key without a value", "add the value, or take the key out");
                }
                self.check_repeated(&elements, 2, "key");
                FormKind::Map(elements)
            }
            Opener::Set => {
                self.check_repeated(&elements, 1, "element");
                FormKind::Set(elements)
            }
            Opener::ShortFunction => {
                self.finish_short_function(elements, span);
                return;
            }
            _ => FormKind::List(elements),
        };
        self.add(kind, span);
    }

    /// Reports literals that are twice among keys or elements.
    fn check_repeated(&mut self, elements: &[FormId], step: usize, what: &str) {
        let forms = &self.reading.forms;
        let mut literals: Vec<(String, FormId)> =
            elements.iter().step_by(step).filter_map(|id| Some((literal_text(forms.kind(*id))?, *id))).collect();
        literals.sort();
        let repeated: Vec<(String, Span)> = literals
            .windows(2)
            .filter_map(|pair| match pair {
                [(first, _), (second, id)] if first == second => Some((second.clone(), forms.span(*id))),
                _ => None,
            })
            .collect();
        for (text, span) in repeated {
            self.problem(span, format!("the {what} `{}` stands twice", excerpt(&text)), "keep one of them");
        }
    }
}

/// The advice for text in single quotes.
pub(crate) const QUOTE_HELP: &str = "write text in double quotes, such as `\"text\"`";

/// The text of a literal that can be compared before the program runs.
fn literal_text(kind: &FormKind) -> Option<String> {
    Some(match kind {
        FormKind::Nil => "nil".into(),
        FormKind::Bool(value) => format!("{value}"),
        FormKind::Int(value) => format!("{value}"),
        FormKind::Text(text) => format!("{text:?}"),
        FormKind::Keyword(name) => format!(":{name}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
