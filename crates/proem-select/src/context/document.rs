//! Reads a source for its record: counts words, those of code apart from those of prose, and tells what a program wrote.
//!
//! Invariant: everything is bounded by [`MOST_BYTES`] of source.

use super::record::RecordParts;
use super::symbol::CodeSymbol;
use super::words::{Term, WordForm, each_word};

/// The most bytes of a content whose words are counted. Of a longer one the beginning is.
pub const MOST_BYTES: usize = 512 * 1024;

/// The most different words of a file that are kept. Generated tables have more.
const MOST_TERMS: usize = 20_000;

/// Within how many lines a file says that a program wrote it.
const GENERATED_WITHIN: usize = 20;

/// How comments and literals are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentStyle {
    /// `//` and `/* */`: C, Java, Rust, JavaScript, Go and their relatives.
    Slashes,
    /// `#`, and text in three quotes: Python, Ruby, shells, YAML, TOML.
    Hash,
    /// `--`: SQL, Lua, Haskell.
    Dashes,
    /// It is text for people throughout.
    Prose,
}

/// How often a word is in a file, by where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermCount {
    /// The word.
    pub term: Term,
    /// In names and keywords; 255 is "at least".
    pub code: u8,
    /// In comments, texts and literals; 255 is "at least".
    pub prose: u8,
}

/// Counts the words of `source`, and puts what is to be recorded in order.
pub(super) fn record_parts(
    source: &[u8],
    style: CommentStyle,
    symbols: Vec<CodeSymbol>,
    imports: Vec<Term>,
) -> RecordParts {
    let Shape { bytes, lines, is_machine_made } = Shape::of(source);
    let head = source.get(..MOST_BYTES).unwrap_or(source);
    let mut seen: Vec<(Term, bool)> = Vec::with_capacity(head.len() / 8);
    for (piece, is_prose) in Pieces::new(head, style) {
        each_word(piece, &mut |term, _| seen.push((term, is_prose)));
    }
    seen.sort_unstable();
    let mut terms: Vec<TermCount> = Vec::new();
    for same in seen.chunk_by(|a, b| a.0 == b.0) {
        let Some((term, _)) = same.first() else { continue };
        let prose = same.iter().filter(|(_, is_prose)| *is_prose).count();
        let count = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        terms.push(TermCount { term: *term, code: count(same.len().saturating_sub(prose)), prose: count(prose) });
    }
    terms.truncate(MOST_TERMS);
    let mut defined = Vec::new();
    for symbol in &symbols {
        each_word(symbol.name.as_bytes(), &mut |term, _| defined.push(term));
    }
    RecordParts {
        lines,
        bytes,
        is_machine_made,
        words: None,
        terms,
        imports: distinct_terms(imports),
        defined: distinct_terms(defined),
        symbols,
    }
}

/// Counts those words of `source` that are among `terms`, which are sorted, and how many words there are.
pub(super) fn counts_of(source: &[u8], style: CommentStyle, terms: &[Term]) -> RecordParts {
    let Shape { bytes, lines, is_machine_made } = Shape::of(source);
    let head = source.get(..MOST_BYTES).unwrap_or(source);
    let mut counts: Vec<TermCount> = terms.iter().map(|term| TermCount { term: *term, code: 0, prose: 0 }).collect();
    let mut words = (0_u32, 0_u32);
    for (piece, is_prose) in Pieces::new(head, style) {
        each_word(piece, &mut |term, _| {
            let all = if is_prose { &mut words.1 } else { &mut words.0 };
            *all = all.saturating_add(1);
            if let Some(count) = terms.binary_search(&term).ok().and_then(|at| counts.get_mut(at)) {
                let count = if is_prose { &mut count.prose } else { &mut count.code };
                *count = count.saturating_add(1);
            }
        });
    }
    counts.retain(|count| count.code > 0 || count.prose > 0);
    RecordParts {
        lines,
        bytes,
        is_machine_made,
        words: Some(words),
        terms: counts,
        imports: Vec::new(),
        defined: Vec::new(),
        symbols: Vec::new(),
    }
}

/// The appearance of a source from afar.
struct Shape {
    bytes: u32,
    lines: u32,
    is_machine_made: bool,
}

impl Shape {
    fn of(source: &[u8]) -> Self {
        let bytes = u32::try_from(source.len()).unwrap_or(u32::MAX);
        let lines = u32::try_from(source.iter().filter(|&&byte| byte == b'\n').count()).unwrap_or(u32::MAX);
        let is_minified = bytes > 20_000 && bytes / lines.saturating_add(1) > 400;
        Self { bytes, lines, is_machine_made: is_minified || says_generated(source) }
    }
}

fn distinct_terms(mut terms: Vec<Term>) -> Vec<Term> {
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Whether one of the first lines says that a program wrote this: as Go's tools have it
/// (<https://go.dev/s/generatedcode>), or by the mark `@generated` alone in a comment, as Meta's and Rust's do.
fn says_generated(source: &[u8]) -> bool {
    source.split(|&byte| byte == b'\n').take(GENERATED_WITHIN).any(|line| {
        let line = line.trim_ascii();
        let says = |from: &[u8], to: &[u8]| line.starts_with(from) && line.ends_with(to);
        let comment = line.trim_ascii_start().strip_prefix(b"//").or_else(|| line.strip_prefix(b"#"));
        says(b"// Code generated ", b" DO NOT EDIT.")
            || says(b"# Code generated ", b" DO NOT EDIT.")
            || comment.is_some_and(|text| text.trim_ascii().starts_with(b"@generated"))
    })
}

/// The last names of imports: what a file is called that they may lead to.
#[must_use]
pub fn import_terms<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<Term> {
    let mut terms = Vec::new();
    for path in paths {
        let trimmed = path.trim_matches(|c: char| matches!(c, '"' | '<' | '>' | '\'')).trim_end_matches(".h");
        let mut parts: Vec<&str> =
            trimmed.split(['/', '.', ':', '\\']).filter(|part| !part.is_empty() && *part != "js").collect();
        // `crate::printer::Replacer` leads to `printer.rs`, `a.b.Widget` to `Widget.java`.
        for part in parts.drain(..).rev().take(2) {
            let mut whole = None;
            each_word(part.as_bytes(), &mut |term, form| {
                if form == WordForm::Whole || whole.is_none() {
                    whole = Some(term);
                }
            });
            terms.extend(whole);
        }
    }
    terms
}

/// Cuts a source into pieces of code and of prose. A wrong cut counts in the other field, nothing more.
struct Pieces<'s> {
    rest: &'s [u8],
    style: CommentStyle,
}

impl<'s> Pieces<'s> {
    const fn new(source: &'s [u8], style: CommentStyle) -> Self {
        Self { rest: source, style }
    }

    /// How long the prose is that begins here, with its marks. `None` where code goes on.
    fn prose_here(&self, at: &'s [u8]) -> Option<usize> {
        let until = |mark: &[u8], from: usize| {
            let body = at.get(from..).unwrap_or_default();
            let end = body.windows(mark.len()).position(|window| window == mark);
            end.map_or(at.len(), |end| from.saturating_add(end).saturating_add(mark.len()))
        };
        match (self.style, at) {
            (CommentStyle::Prose, _) => Some(at.len()),
            (CommentStyle::Slashes, [b'/', b'/', ..])
            | (CommentStyle::Hash, [b'#', ..])
            | (CommentStyle::Dashes, [b'-', b'-', ..]) => Some(until(b"\n", 0)),
            (CommentStyle::Slashes, [b'/', b'*', ..]) => Some(until(b"*/", 2)),
            (CommentStyle::Hash, [b'"', b'"', b'"', ..]) => Some(until(b"\"\"\"", 3)),
            (CommentStyle::Hash, [b'\'', b'\'', b'\'', ..]) => Some(until(b"'''", 3)),
            (_, [quote @ (b'"' | b'`'), rest @ ..]) => Some(literal_length(*quote, rest)),
            // A lifetime or an apostrophe opens nothing.
            (CommentStyle::Hash, [b'\'', rest @ ..]) => Some(literal_length(b'\'', rest)),
            (CommentStyle::Slashes, [b'\'', rest @ ..]) => {
                let end = rest.iter().take(200).position(|&byte| matches!(byte, b'\'' | b'\n'))?;
                (rest.get(end) == Some(&b'\'')).then(|| end.saturating_add(2))
            }
            _ => None,
        }
    }
}

/// How long a literal is: to its closing quote, or to the line's end.
fn literal_length(quote: u8, rest: &[u8]) -> usize {
    let mut escaped = false;
    for (at, &byte) in rest.iter().enumerate() {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if byte == quote {
            return at.saturating_add(2);
        } else if byte == b'\n' && quote != b'`' {
            return at.saturating_add(1);
        }
    }
    rest.len().saturating_add(1)
}

impl<'s> Iterator for Pieces<'s> {
    type Item = (&'s [u8], bool);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some(length) = self.prose_here(self.rest) {
            let (piece, rest) = self.rest.split_at_checked(length.max(1)).unwrap_or((self.rest, &[]));
            self.rest = rest;
            return Some((piece, true));
        }
        let opens = |byte: &u8| matches!(byte, b'/' | b'#' | b'"' | b'\'' | b'`' | b'-');
        let mut length = 1;
        loop {
            let Some(more) = self.rest.get(length..).and_then(|rest| rest.iter().position(opens)) else {
                length = self.rest.len();
                break;
            };
            length = length.saturating_add(more);
            if self.rest.get(length..).is_some_and(|at| self.prose_here(at).is_some()) {
                break;
            }
            length = length.saturating_add(1);
        }
        let (piece, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        Some((piece, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, style: CommentStyle, expected: &[(&str, bool)]) {
        let pieces: Vec<(String, bool)> = Pieces::new(source.as_bytes(), style)
            .map(|(p, prose)| (String::from_utf8_lossy(p).into(), prose))
            .collect();
        let expected: Vec<(String, bool)> = expected.iter().map(|(p, prose)| ((*p).to_owned(), *prose)).collect();
        assert_eq!(pieces, expected, "{source}");
    }

    #[test]
    fn comments_and_literals_are_prose() {
        check("a // b\nc", CommentStyle::Slashes, &[("a ", false), ("// b\n", true), ("c", false)]);
        check("f(\"x\\\"y\", 1)", CommentStyle::Slashes, &[("f(", false), ("\"x\\\"y\"", true), (", 1)", false)]);
    }

    #[test]
    fn a_file_says_that_a_program_wrote_it() {
        for (source, expected) in [
            ("// Code generated by moq; DO NOT EDIT.\npackage a\n", true),
            ("/* licence */\r\n\r\n// Code generated by protoc-gen-go. DO NOT EDIT.\r\n", true),
            ("# Code generated by x. DO NOT EDIT.\n", true),
            ("# @generated by protobuf\nimport a\n", true),
            ("// Code generated by hand, so edit it.\n", false),
            ("let text = \"// Code generated DO NOT EDIT.\";\n", false),
            ("    def test(self):\n        # the word @generated is no mark here\n", false),
            ("", false),
        ] {
            let parts = record_parts(source.as_bytes(), CommentStyle::Slashes, Vec::new(), Vec::new());
            assert_eq!(parts.is_machine_made, expected, "{source}");
        }
        let late = format!("{}// Code generated by moq; DO NOT EDIT.\n", "\n".repeat(GENERATED_WITHIN));
        assert!(!record_parts(late.as_bytes(), CommentStyle::Slashes, Vec::new(), Vec::new()).is_machine_made);
    }
}
