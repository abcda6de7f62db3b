//! Symbols of the languages that write types and functions as C does, by their braces.
//!
//! A definition is a head and a block: the signs since the last `;`, `{` or `}` that holds definitions say what the
//! block is (`braces/head.rs`). Within a function only braces are counted, so that nothing in it is a definition.
//! Branches of the preprocessor begin with the braces that were open at their `#if`. A `}` no further right than its
//! head ends an indented body even if a macro has braces that nobody sees.
//!
//! Invariants: one pass over the signs, in time that grows with the length alone. A head is bounded.

mod head;

use core::ops::Range;

use self::head::{Head, Holds, Opening, Sign};
use super::mask::{HIDDEN, find_bytes, is_name_character};
use super::{MOST, Symbol, SymbolKind, kept_name, line_number};
use crate::dialect::Dialect;

/// The most blocks that are open around a definition.
const DEEPEST: usize = 200;

/// A block that isn't closed yet.
struct Block {
    symbol: Option<usize>,
    holds: Holds,
    /// Braces that are open in it.
    depth: usize,
    /// How far its head is indented.
    indent: usize,
    /// Whether its first line is indented further.
    is_indented: Option<bool>,
    /// Whether its head goes on behind it, as an initialiser's.
    goes_on: bool,
}

/// The state at an `#if`.
struct Condition {
    blocks: usize,
    depth: usize,
}

struct BraceScan<'s> {
    source: &'s [u8],
    dialect: Dialect,
    found: Vec<Symbol>,
    blocks: Vec<Block>,
    conditions: Vec<Condition>,
    head: Head,
    /// Round and square brackets that are open in the head.
    brackets: usize,
    line: usize,
    /// How far the line is indented, and whether nothing but blanks were on it so far.
    indent: usize,
    is_at_start: bool,
    /// A type without a name, which may follow its block: `typedef struct { … } name;`.
    unnamed: Option<usize>,
}

pub(super) fn read_brace_symbols(source: &[u8], masked: &[u8], dialect: Dialect) -> Vec<Symbol> {
    let mut scan = BraceScan {
        source,
        dialect,
        found: Vec::new(),
        blocks: Vec::new(),
        conditions: Vec::new(),
        head: Head::default(),
        brackets: 0,
        line: 0,
        indent: 0,
        is_at_start: true,
        unnamed: None,
    };
    let mut at = 0_usize;
    while let Some(rest) = masked.get(at..).filter(|rest| !rest.is_empty()) {
        at = at.saturating_add(scan.step(at, rest));
    }
    scan.finish()
}

impl BraceScan<'_> {
    /// Takes the next sign. How long it is.
    fn step(&mut self, at: usize, rest: &[u8]) -> usize {
        let Some(&byte) = rest.first() else { return 1 };
        match byte {
            b'\n' => {
                self.line = self.line.saturating_add(1);
                (self.indent, self.is_at_start) = (0, true);
                1
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c | HIDDEN => {
                self.indent = self.indent.saturating_add(usize::from(self.is_at_start));
                1
            }
            b'#' if self.is_at_start && self.dialect != Dialect::Dart => self.directive(at, rest),
            _ if is_name_character(byte) => {
                let length = rest.iter().position(|&byte| !is_name_character(byte)).unwrap_or(rest.len());
                self.sign(Sign::Word, at..at.saturating_add(length));
                length
            }
            b':' if rest.starts_with(b"::") => {
                self.sign(Sign::Scope, at..at.saturating_add(2));
                2
            }
            _ => {
                self.sign(Sign::Mark(byte), at..at.saturating_add(1));
                1
            }
        }
    }

    /// Reads a directive of the preprocessor, with the lines that it goes on over. How long it is.
    fn directive(&mut self, at: usize, rest: &[u8]) -> usize {
        let mut length = 0_usize;
        let first = self.line;
        for line in rest.split_inclusive(|&byte| byte == b'\n') {
            length = length.saturating_add(line.len());
            let text = line.trim_ascii_end();
            if !text.ends_with(b"\\") {
                // The line feed is a sign of its own.
                length = length.saturating_sub(usize::from(line.ends_with(b"\n")));
                break;
            }
            self.line = self.line.saturating_add(1);
        }
        let text = rest.get(1..).unwrap_or_default().trim_ascii_start();
        let word = text
            .get(..text.iter().position(|&byte| !is_name_character(byte)).unwrap_or(text.len()))
            .unwrap_or_default();
        match word {
            b"if" | b"ifdef" | b"ifndef" => {
                let depth = self.blocks.last().map_or(0, |block| block.depth);
                self.conditions.push(Condition { blocks: self.blocks.len(), depth });
            }
            b"else" | b"elif" => self.branch(),
            b"endif" => drop(self.conditions.pop()),
            b"define" => self.macro_definition((at, rest), word, first),
            _ => {}
        }
        length.max(1)
    }

    /// Goes back to what was open at the `#if`.
    fn branch(&mut self) {
        let Some(condition) = self.conditions.last() else { return };
        let (blocks, depth) = (condition.blocks, condition.depth);
        while self.blocks.len() > blocks {
            self.close();
        }
        if self.blocks.len() == blocks
            && let Some(block) = self.blocks.last_mut()
        {
            block.depth = depth;
        }
        self.forget_head();
    }

    /// A macro with parameters. Others are values.
    fn macro_definition(&mut self, (at, rest): (usize, &[u8]), word: &[u8], first: usize) {
        let behind = find_bytes(rest, word).and_then(|at| rest.get(at.saturating_add(word.len())..));
        let Some(text) = behind.map(<[u8]>::trim_ascii_start) else { return };
        let end = text.iter().position(|&byte| !is_name_character(byte)).unwrap_or(text.len());
        let is_called = text.get(end) == Some(&b'(') && self.holds_definitions();
        let start = at.saturating_add(rest.len()).saturating_sub(text.len());
        if is_called && matches!(self.dialect, Dialect::C | Dialect::Cpp | Dialect::ObjectiveC) {
            self.push(SymbolKind::Macro, self.text(start..start.saturating_add(end)), [first, first, first]);
            self.end(self.found.len().checked_sub(1), self.line);
        }
    }

    /// Whether definitions may be here.
    fn holds_definitions(&self) -> bool {
        self.blocks.last().is_none_or(|block| block.holds != Holds::Nothing)
    }

    fn sign(&mut self, sign: Sign, range: Range<usize>) {
        let is_first = core::mem::take(&mut self.is_at_start);
        if !self.holds_definitions() {
            return self.inside(sign, is_first);
        }
        match sign {
            Sign::Mark(b'(' | b'[') => {
                self.keep(sign, range);
                self.brackets = self.brackets.saturating_add(1);
            }
            Sign::Mark(b')' | b']') => {
                self.brackets = self.brackets.saturating_sub(1);
                self.keep(sign, range);
            }
            Sign::Mark(b'{') => self.open(is_first),
            Sign::Mark(b'}') => {
                self.forget_head();
                self.close();
            }
            Sign::Mark(b';') => {
                // No head has one within brackets: something was left open.
                self.brackets = 0;
                self.statement();
            }
            Sign::Mark(b':') if self.head.is_access(self.source) => self.forget_head(),
            _ => self.keep(sign, range),
        }
    }

    fn keep(&mut self, sign: Sign, range: Range<usize>) {
        if let Some(symbol) = self.unnamed.take()
            && sign == Sign::Word
            && let Some(name) = self.source.get(range.clone()).and_then(kept_name)
            && let Some(symbol) = self.found.get_mut(symbol)
        {
            symbol.name = name;
        }
        if self.head.is_empty() {
            self.head.indent = self.indent;
        }
        self.head.push(head::HeadSign { sign, range, line: self.line, depth: self.brackets });
    }

    /// A sign within a block that holds no definitions.
    fn inside(&mut self, sign: Sign, is_first: bool) {
        let Some(block) = self.blocks.last_mut() else { return };
        let is_indented = *block.is_indented.get_or_insert(is_first && self.indent > block.indent);
        match sign {
            Sign::Mark(b'{') => block.depth = block.depth.saturating_add(1),
            Sign::Mark(b'}') => {
                let is_end = is_first && is_indented && self.indent <= block.indent && !block.goes_on;
                if block.depth == 0 || is_end {
                    self.close();
                } else {
                    block.depth = block.depth.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, is_first: bool) {
        // In the first column of a line nothing but the body of a definition begins.
        if self.brackets > 0 && is_first && self.indent == 0 {
            self.brackets = 0;
        }
        let inside = self.blocks.last().map_or(Holds::Definitions, |block| block.holds);
        let opening = if self.brackets > 0 || self.blocks.len() >= DEEPEST {
            Opening { holds: Holds::Nothing, definition: None, goes_on: true }
        } else {
            self.head.opening(self.source, self.dialect, inside)
        };
        let Opening { holds, definition, goes_on } = opening;
        let symbol = definition.and_then(|definition| {
            let lines = [self.head.first_line().unwrap_or(self.line), definition.line, self.line];
            self.push_named(definition.kind, definition.name, lines)
        });
        let block = Block { symbol, holds, depth: 0, indent: self.head.indent, is_indented: None, goes_on };
        self.blocks.push(block);
        if !goes_on {
            self.head = Head::default();
        }
    }

    fn close(&mut self) {
        let Some(block) = self.blocks.pop() else { return };
        self.end(block.symbol, self.line);
        if block.goes_on {
            self.head.push(head::HeadSign {
                sign: Sign::Mark(b'}'),
                range: 0..0,
                line: self.line,
                depth: self.brackets,
            });
        }
        self.unnamed =
            block.symbol.filter(|symbol| self.found.get(*symbol).is_some_and(|symbol| symbol.name.is_empty()));
    }

    /// The end of a statement that has no block, or whose blocks are values.
    fn statement(&mut self) {
        self.unnamed = None;
        let inside = self.blocks.last().map_or(Holds::Definitions, |block| block.holds);
        if self.head.is_old_style(self.source, self.dialect) {
            self.head.wait();
            return;
        }
        if let Some(definition) = self.head.alone(self.source, self.dialect, inside) {
            let first = self.head.first_line().unwrap_or(self.line);
            if let Some(symbol) =
                self.push_named(definition.kind, definition.name, [first, definition.line, definition.line])
            {
                self.end(Some(symbol), self.line);
            }
        }
        self.forget_head();
    }

    fn forget_head(&mut self) {
        self.head = Head::default();
        self.brackets = 0;
        self.unnamed = None;
    }

    fn text(&self, range: Range<usize>) -> String {
        self.source.get(range).and_then(kept_name).unwrap_or_default()
    }

    fn push(&mut self, kind: SymbolKind, name: String, lines: [usize; 3]) {
        if !name.is_empty() {
            self.push_named(kind, name, lines);
        }
    }

    fn push_named(&mut self, kind: SymbolKind, name: String, [first, own, signature]: [usize; 3]) -> Option<usize> {
        if self.found.len() >= MOST {
            return None;
        }
        let around = self.blocks.iter().filter(|block| block.symbol.is_some()).count();
        self.found.push(Symbol {
            name,
            kind,
            first_line: line_number(first),
            own_line: line_number(own),
            signature_line: line_number(signature),
            last_line: line_number(signature),
            depth: u8::try_from(around).unwrap_or(u8::MAX),
        });
        self.found.len().checked_sub(1)
    }

    fn end(&mut self, symbol: Option<usize>, line: usize) {
        if let Some(symbol) = symbol.and_then(|symbol| self.found.get_mut(symbol)) {
            symbol.last_line = symbol.last_line.max(line_number(line));
        }
    }

    fn finish(mut self) -> Vec<Symbol> {
        while !self.blocks.is_empty() {
            self.close();
        }
        self.found.retain(|symbol| !symbol.name.is_empty());
        self.found
    }
}
