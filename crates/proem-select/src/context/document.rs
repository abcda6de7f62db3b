//! What a file is made of, as ranking needs it: its words by where they stand, its definitions, what it imports.
//!
//! A record is made once for a content and kept by the content's hash. It holds numbers of words and names of
//! definitions, no text. Invariants: [`FileRecord::from_bytes`] takes exactly what [`FileRecord::to_bytes`] wrote;
//! everything is bounded by [`MOST_BYTES`] of source.

use super::symbol::{CodeSymbol, LineSpan, SymbolKind};
use super::words::{Term, WordForm, each_word};

/// The most bytes of a content whose words are counted; of a longer one the beginning is.
pub const MOST_BYTES: usize = 512 * 1024;

/// The most different words of a file that are kept; generated tables have more.
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

/// How often a word stands in a file, by where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermCount {
    /// The word.
    pub term: Term,
    /// In names and keywords; 255 is "at least".
    pub code: u8,
    /// In comments, texts and literals; 255 is "at least".
    pub prose: u8,
}

/// What a file is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileRecord {
    /// Its lines.
    pub lines: u32,
    /// Its bytes.
    pub bytes: u32,
    /// Its words, sorted by number.
    pub terms: Vec<TermCount>,
    /// What it defines, in the order of the source.
    pub symbols: Vec<CodeSymbol>,
    /// The last names of what it imports, sorted and distinct.
    pub imports: Vec<Term>,
    /// Whether a program wrote it: its lines are too long for a hand, or its head says so.
    pub is_machine_made: bool,
}

impl FileRecord {
    /// Counts the words of `source`.
    #[must_use]
    pub fn new(source: &[u8], style: CommentStyle, symbols: Vec<CodeSymbol>, mut imports: Vec<Term>) -> Self {
        let bytes = u32::try_from(source.len()).unwrap_or(u32::MAX);
        let lines = u32::try_from(source.iter().filter(|&&byte| byte == b'\n').count()).unwrap_or(u32::MAX);
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
        imports.sort_unstable();
        imports.dedup();
        let is_minified = bytes > 20_000 && bytes / lines.saturating_add(1) > 400;
        let is_machine_made = is_minified || says_generated(source);
        Self { lines, bytes, terms, symbols, imports, is_machine_made }
    }

    /// How often a word stands in it.
    #[must_use]
    pub fn count(&self, term: Term) -> Option<TermCount> {
        let at = self.terms.binary_search_by_key(&term, |count| count.term).ok()?;
        self.terms.get(at).copied()
    }

    /// How many words it has, in code and in prose.
    #[must_use]
    pub fn length(&self) -> (u32, u32) {
        self.terms.iter().fold((0, 0), |(code, prose), count| {
            (code.saturating_add(count.code.into()), prose.saturating_add(count.prose.into()))
        })
    }

    /// The record as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.terms.len().saturating_mul(6).saturating_add(64));
        let number = |out: &mut Vec<u8>, value: u32| out.extend_from_slice(&value.to_le_bytes());
        let length = |out: &mut Vec<u8>, value: usize| number(out, u32::try_from(value).unwrap_or(u32::MAX));
        number(&mut out, self.lines);
        number(&mut out, self.bytes);
        out.push(u8::from(self.is_machine_made));
        length(&mut out, self.terms.len());
        for count in &self.terms {
            number(&mut out, count.term);
            out.extend([count.code, count.prose]);
        }
        length(&mut out, self.imports.len());
        self.imports.iter().for_each(|term| number(&mut out, *term));
        length(&mut out, self.symbols.len());
        for symbol in &self.symbols {
            let name = symbol.name.as_bytes();
            out.push(symbol.kind.code());
            out.push(symbol.depth);
            for line in [symbol.lines.first, symbol.own_line, symbol.signature_line, symbol.lines.last] {
                number(&mut out, line);
            }
            length(&mut out, name.len());
            out.extend_from_slice(name);
        }
        out
    }

    /// The record that these bytes are; `None` for any others.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = Reader(bytes);
        let (lines, all) = (rest.number()?, rest.number()?);
        let is_machine_made = match rest.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let count = rest.length(6)?;
        let mut terms = Vec::with_capacity(count);
        for _ in 0..count {
            terms.push(TermCount { term: rest.number()?, code: rest.byte()?, prose: rest.byte()? });
        }
        let count = rest.length(4)?;
        let imports = (0..count).map(|_| rest.number()).collect::<Option<Vec<_>>>()?;
        let count = rest.length(22)?;
        let mut symbols = Vec::with_capacity(count);
        for _ in 0..count {
            let (kind, depth) = (SymbolKind::of_code(rest.byte()?)?, rest.byte()?);
            let [first, own_line, signature_line, last] =
                [rest.number()?, rest.number()?, rest.number()?, rest.number()?];
            let length = rest.length(1)?;
            let name = core::str::from_utf8(rest.take(length)?).ok()?.to_owned();
            symbols.push(CodeSymbol { name, kind, depth, lines: LineSpan { first, last }, own_line, signature_line });
        }
        let is_sorted = terms.is_sorted_by(|a: &TermCount, b: &TermCount| a.term < b.term);
        (rest.0.is_empty() && is_sorted).then_some(Self { lines, bytes: all, terms, symbols, imports, is_machine_made })
    }
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

/// Takes bytes apart.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    /// A count of things that take so many bytes each: one that can't be true is refused before there is room for it.
    fn length(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count.checked_mul(each)? <= self.0.len()).then_some(count)
    }
}

/// Cuts a source into pieces of code and of prose. What is cut wrongly counts in the other field, nothing more.
struct Pieces<'s> {
    rest: &'s [u8],
    style: CommentStyle,
}

impl<'s> Pieces<'s> {
    const fn new(source: &'s [u8], style: CommentStyle) -> Self {
        Self { rest: source, style }
    }

    /// How long the prose is that begins here, with its marks; `None` where code goes on.
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
            (_, [quote @ (b'"' | b'`'), rest @ ..]) => Some(literal(*quote, rest)),
            // A lifetime or an apostrophe opens nothing.
            (CommentStyle::Hash, [b'\'', rest @ ..]) => Some(literal(b'\'', rest)),
            (CommentStyle::Slashes, [b'\'', rest @ ..]) => {
                let end = rest.iter().take(200).position(|&byte| matches!(byte, b'\'' | b'\n'))?;
                (rest.get(end) == Some(&b'\'')).then(|| end.saturating_add(2))
            }
            _ => None,
        }
    }
}

/// How long a literal is: to its closing quote, or to the line's end.
fn literal(quote: u8, rest: &[u8]) -> usize {
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
    use crate::context::words::term_of_word;

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
            let record = FileRecord::new(source.as_bytes(), CommentStyle::Slashes, Vec::new(), Vec::new());
            assert_eq!(record.is_machine_made, expected, "{source}");
        }
        let late = format!("{}// Code generated by moq; DO NOT EDIT.\n", "\n".repeat(GENERATED_WITHIN));
        assert!(!FileRecord::new(late.as_bytes(), CommentStyle::Slashes, Vec::new(), Vec::new()).is_machine_made);
    }

    #[test]
    fn a_record_reads_back() {
        let symbol = CodeSymbol {
            name: "Replacer".into(),
            kind: SymbolKind::Type,
            depth: 0,
            lines: LineSpan { first: 1, last: 9 },
            own_line: 2,
            signature_line: 2,
        };
        let source = b"// replaces matches\nstruct Replacer { matches: u32 }\n";
        let record = FileRecord::new(source, CommentStyle::Slashes, vec![symbol], vec![3, 1, 3]);
        let bytes = record.to_bytes();
        assert_eq!(FileRecord::from_bytes(&bytes), Some(record.clone()));
        for end in 0..bytes.len() {
            assert_eq!(FileRecord::from_bytes(&bytes[..end]), None, "cut at {end}");
        }
        let count = record.count(term_of_word("matches")).expect("it is there");
        assert_eq!((count.code, count.prose), (1, 1));
        assert_eq!(record.imports, [1, 3]);
    }
}
