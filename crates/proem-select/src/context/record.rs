//! The record of a file, for ranking: its words by place, its definitions, its imports.
//!
//! A record is made once for a content and kept by the content's hash. It holds numbers of words and names of
//! definitions, no text. It is read where it is: a repository of thousands of files has millions of words, and a task
//! looks for twenty. All numbers have four bytes, the lowest first, and a word of a file two more, how often it is in
//! code and in prose.
//!
//! Invariants: [`FileRecord::from_bytes`] takes bytes whose lengths add up, and [`FileRecord::as_bytes`] gives them
//! back; whoever keeps records sees to it that they are the bytes that were written. No bytes make reading panic.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use super::document::{CommentStyle, TermCount, counts_of, record_parts};
use super::symbol::{CodeSymbol, LineSpan, SymbolKind};
use super::words::Term;

/// The bytes of a word with its counts, and of one without.
const COUNTED: usize = 6;
const NUMBER: usize = 4;

/// The fewest bytes of a definition: kind, depth, four lines, and the length of its name.
const LEAST_SYMBOL: usize = 22;

/// The sources of a record.
#[derive(Debug, Clone)]
pub(super) struct RecordParts {
    pub(super) lines: u32,
    pub(super) bytes: u32,
    pub(super) is_machine_made: bool,
    /// How many words are in code and in prose. `None` if [`Self::terms`] are all of them.
    pub(super) words: Option<(u32, u32)>,
    /// Sorted by number.
    pub(super) terms: Vec<TermCount>,
    /// Sorted and distinct.
    pub(super) imports: Vec<Term>,
    /// The words of all names that are defined, sorted and distinct.
    pub(super) defined: Vec<Term>,
    pub(super) symbols: Vec<CodeSymbol>,
}

/// Bytes that several records are in.
#[derive(Clone)]
pub struct SharedSlice {
    all: Arc<Vec<u8>>,
    range: Range<usize>,
}

/// Symbols, words and size of a file, as they are kept between runs.
#[derive(Clone)]
pub struct FileRecord {
    bytes: SharedSlice,
    heading: RecordHeading,
}

#[derive(Debug, Clone, Copy)]
struct RecordHeading {
    lines: u32,
    size: u32,
    /// How many words are in code and in prose.
    words: (u32, u32),
    terms: usize,
    imports: usize,
    defined: usize,
    symbols: usize,
    is_machine_made: bool,
}

impl RecordHeading {
    /// Eight numbers, and a byte that is 1 for what a program wrote.
    const BYTES: usize = 33;

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = RecordReader(bytes);
        let [lines, size, code, prose] = [rest.number()?, rest.number()?, rest.number()?, rest.number()?];
        let mut length = || usize::try_from(rest.number()?).ok();
        let [terms, imports, defined, symbols] = [length()?, length()?, length()?, length()?];
        let is_machine_made = match rest.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let heading = Self { lines, size, words: (code, prose), terms, imports, defined, symbols, is_machine_made };
        let least = heading.symbols_at()?.checked_add(symbols.checked_mul(LEAST_SYMBOL)?)?;
        (least <= bytes.len()).then_some(heading)
    }

    fn imports_at(&self) -> Option<usize> {
        self.terms.checked_mul(COUNTED)?.checked_add(Self::BYTES)
    }

    fn defined_at(&self) -> Option<usize> {
        self.imports.checked_mul(NUMBER)?.checked_add(self.imports_at()?)
    }

    fn symbols_at(&self) -> Option<usize> {
        self.defined.checked_mul(NUMBER)?.checked_add(self.defined_at()?)
    }
}

impl fmt::Debug for SharedSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedSlice").field(&self.range).finish()
    }
}

impl SharedSlice {
    /// A part of `all`. `None` if it hasn't got it.
    #[must_use]
    pub fn within(all: &Arc<Vec<u8>>, range: Range<usize>) -> Option<Self> {
        all.get(range.clone())?;
        Some(Self { all: Arc::clone(all), range })
    }

    fn as_slice(&self) -> &[u8] {
        self.all.get(self.range.clone()).unwrap_or_default()
    }
}

impl From<Vec<u8>> for SharedSlice {
    fn from(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), all: Arc::new(bytes) }
    }
}

impl FileRecord {
    /// Counts the words of `source`.
    #[must_use]
    pub fn new(source: &[u8], style: CommentStyle, symbols: Vec<CodeSymbol>, imports: Vec<Term>) -> Self {
        Self::of_parts(&record_parts(source, style, symbols, imports))
    }

    /// Counts in `source` how often it has each of `terms`, which are sorted; what it defines and imports is left out.
    #[must_use]
    pub fn of_words(source: &[u8], style: CommentStyle, terms: &[Term]) -> Self {
        Self::of_parts(&counts_of(source, style, terms))
    }

    fn of_parts(parts: &RecordParts) -> Self {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let sum = || {
            parts.terms.iter().fold((0_u32, 0_u32), |(code, prose), count| {
                (code.saturating_add(count.code.into()), prose.saturating_add(count.prose.into()))
            })
        };
        let words = parts.words.unwrap_or_else(sum);
        let heading = RecordHeading {
            lines: parts.lines,
            size: parts.bytes,
            words,
            terms: parts.terms.len(),
            imports: parts.imports.len(),
            defined: parts.defined.len(),
            symbols: parts.symbols.len(),
            is_machine_made: parts.is_machine_made,
        };
        let mut out = Vec::with_capacity(heading.symbols_at().unwrap_or_default());
        let lengths = [heading.terms, heading.imports, heading.defined, heading.symbols].map(count);
        let numbers = [heading.lines, heading.size, words.0, words.1].into_iter().chain(lengths);
        numbers.for_each(|value| out.extend(value.to_le_bytes()));
        out.push(u8::from(heading.is_machine_made));
        for count in &parts.terms {
            out.extend(count.term.to_le_bytes());
            out.extend([count.code, count.prose]);
        }
        parts.imports.iter().chain(&parts.defined).for_each(|term| out.extend(term.to_le_bytes()));
        for symbol in &parts.symbols {
            let name = symbol.name.as_bytes();
            out.extend([symbol.kind.code(), symbol.depth]);
            let lines = [symbol.lines.first, symbol.own_line, symbol.signature_line, symbol.lines.last];
            lines.into_iter().chain([count(name.len())]).for_each(|value| out.extend(value.to_le_bytes()));
            out.extend_from_slice(name);
        }
        Self { bytes: out.into(), heading }
    }

    /// The record that these bytes are. `None` where lengths don't add up.
    #[must_use]
    pub fn from_bytes(bytes: SharedSlice) -> Option<Self> {
        let heading = RecordHeading::read(bytes.as_slice())?;
        let record = Self { bytes, heading };
        let mut rest = record.symbol_reader();
        // Only the definitions say themselves how long they are.
        for _ in 0..heading.symbols {
            rest.symbol()?;
        }
        rest.0.is_empty().then_some(record)
    }

    /// The record as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The number of lines that the file has.
    #[must_use]
    pub const fn lines(&self) -> u32 {
        self.heading.lines
    }

    /// The bytes of its content.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.heading.size
    }

    /// Whether a program wrote it: its lines are too long for a hand, or its head says so.
    #[must_use]
    pub const fn is_machine_made(&self) -> bool {
        self.heading.is_machine_made
    }

    /// How many words it has, in code and in prose.
    #[must_use]
    pub const fn length(&self) -> (u32, u32) {
        self.heading.words
    }

    /// How often a word is in it.
    #[must_use]
    pub fn count(&self, term: Term) -> Option<TermCount> {
        let rows = self.part(Some(RecordHeading::BYTES), self.heading.imports_at());
        row_of::<COUNTED>(rows, term).and_then(read_term_count)
    }

    /// Its words, sorted by number.
    pub fn terms(&self) -> impl Iterator<Item = TermCount> {
        let rows = self.part(Some(RecordHeading::BYTES), self.heading.imports_at());
        rows.as_chunks::<COUNTED>().0.iter().filter_map(read_term_count)
    }

    /// The last names of what it imports, sorted and distinct.
    pub fn imports(&self) -> impl Iterator<Item = Term> {
        self.import_rows().as_chunks::<NUMBER>().0.iter().map(|row| Term::from_le_bytes(*row))
    }

    /// Whether it imports something of this last name.
    #[must_use]
    pub fn has_import(&self, term: Term) -> bool {
        row_of::<NUMBER>(self.import_rows(), term).is_some()
    }

    /// How many words the names have that it defines.
    #[must_use]
    pub const fn defined(&self) -> usize {
        self.heading.defined
    }

    /// Whether a name that it defines has this word.
    #[must_use]
    pub fn is_defined(&self, term: Term) -> bool {
        row_of::<NUMBER>(self.part(self.heading.defined_at(), self.heading.symbols_at()), term).is_some()
    }

    /// Its definitions, in the order of the source.
    #[must_use]
    pub fn symbols(&self) -> Vec<CodeSymbol> {
        let mut rest = self.symbol_reader();
        (0..self.heading.symbols).map_while(|_| rest.symbol()).map(SymbolEntry::owned).collect()
    }

    fn import_rows(&self) -> &[u8] {
        self.part(self.heading.imports_at(), self.heading.defined_at())
    }

    fn symbol_reader(&self) -> RecordReader<'_> {
        RecordReader(self.part(self.heading.symbols_at(), Some(self.as_bytes().len())))
    }

    fn part(&self, from: Option<usize>, to: Option<usize>) -> &[u8] {
        from.zip(to).and_then(|(from, to)| self.as_bytes().get(from..to)).unwrap_or_default()
    }
}

impl PartialEq for FileRecord {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for FileRecord {}

impl fmt::Debug for FileRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileRecord").field("heading", &self.heading).finish_non_exhaustive()
    }
}

/// The row of sorted rows that begins with a number.
fn row_of<const N: usize>(rows: &[u8], term: Term) -> Option<&[u8; N]> {
    let rows = rows.as_chunks::<N>().0;
    let of = |row: &[u8; N]| row.first_chunk().map_or(0, |number| Term::from_le_bytes(*number));
    rows.get(rows.binary_search_by_key(&term, of).ok()?)
}

fn read_term_count(row: &[u8; COUNTED]) -> Option<TermCount> {
    let (number, [code, prose]) = row.split_first_chunk::<NUMBER>()? else { return None };
    Some(TermCount { term: Term::from_le_bytes(*number), code: *code, prose: *prose })
}

/// Takes bytes apart.
struct RecordReader<'b>(&'b [u8]);

/// A definition where it is.
struct SymbolEntry<'b> {
    kind: SymbolKind,
    depth: u8,
    /// First, own, of the signature, last.
    lines: [u32; 4],
    name: &'b str,
}

impl SymbolEntry<'_> {
    fn owned(self) -> CodeSymbol {
        let [first, own_line, signature_line, last] = self.lines;
        let Self { kind, depth, .. } = self;
        CodeSymbol {
            name: self.name.to_owned(),
            kind,
            depth,
            lines: LineSpan { first, last },
            own_line,
            signature_line,
        }
    }
}

impl<'b> RecordReader<'b> {
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

    fn symbol(&mut self) -> Option<SymbolEntry<'b>> {
        let (kind, depth) = (SymbolKind::of_code(self.byte()?)?, self.byte()?);
        let lines = [self.number()?, self.number()?, self.number()?, self.number()?];
        let length = usize::try_from(self.number()?).ok()?;
        let name = core::str::from_utf8(self.take(length)?).ok()?;
        Some(SymbolEntry { kind, depth, lines, name })
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::term_of_word;
    use super::*;

    fn made() -> FileRecord {
        let symbol = CodeSymbol {
            name: "Replacer".into(),
            kind: SymbolKind::Type,
            depth: 0,
            lines: LineSpan { first: 1, last: 9 },
            own_line: 2,
            signature_line: 2,
        };
        let source = b"// replaces matches\nstruct Replacer { matches: u32 }\n";
        FileRecord::new(source, CommentStyle::Slashes, vec![symbol], vec![3, 1, 3])
    }

    #[test]
    fn a_record_reads_back() {
        let record = made();
        let bytes = record.as_bytes().to_vec();
        assert_eq!(FileRecord::from_bytes(bytes.clone().into()), Some(record.clone()));
        for end in 0..bytes.len() {
            assert_eq!(FileRecord::from_bytes(bytes[..end].to_vec().into()), None, "cut at {end}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(FileRecord::from_bytes(longer.into()), None);
        let count = record.count(term_of_word("matches")).expect("it is there");
        assert_eq!((count.code, count.prose), (1, 1));
        assert_eq!(record.count(term_of_word("nothing")), None);
        let sum = |of: fn(&TermCount) -> u8| record.terms().map(|count| u32::from(of(&count))).sum::<u32>();
        assert_eq!(record.length(), (sum(|count| count.code), sum(|count| count.prose)));
        assert_eq!(record.imports().collect::<Vec<_>>(), [1, 3]);
        assert!(record.has_import(3) && !record.has_import(2));
        assert_eq!(record.defined(), 1);
        assert!(record.is_defined(term_of_word("Replacer")) && !record.is_defined(term_of_word("matches")));
        assert_eq!(
            record.symbols().first().map(|symbol| (symbol.name.as_str(), symbol.lines.last)),
            Some(("Replacer", 9))
        );
    }

    #[test]
    fn no_byte_that_is_damaged_makes_reading_panic() {
        let bytes = made().as_bytes().to_vec();
        for at in 0..bytes.len() {
            for flipped in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flipped;
                let Some(record) = FileRecord::from_bytes(damaged.into()) else { continue };
                assert!(record.terms().count() + record.imports().count() + record.symbols().len() <= bytes.len());
                assert!(record.count(7).is_none_or(|count| count.term == 7));
            }
        }
    }

    #[test]
    fn records_lie_in_the_same_bytes() {
        let one = made();
        let all = Arc::new([b"xx".as_slice(), one.as_bytes(), b"y"].concat());
        let range = 2..2 + one.as_bytes().len();
        let lies = SharedSlice::within(&all, range).and_then(FileRecord::from_bytes);
        assert_eq!(lies, Some(one));
        assert!(SharedSlice::within(&all, 0..all.len() + 1).is_none());
    }
}
