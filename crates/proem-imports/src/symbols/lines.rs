//! Symbols by the words at the start of a line, for languages that introduce each definition with one.
//!
//! A definition goes on as long as lines are indented further than it, braces that it opened are open, or a line closes
//! what it began (`end`, `}`, `rescue`). That is how people format what they write; where somebody doesn't, a symbol is too
//! long or too short, and nothing else. Nothing within a function is a definition.

mod introductions;

use self::introductions::{Introduction, introduction};
use super::mask::{HIDDEN, is_name_character};
use super::{MOST, Symbol, SymbolKind, kept_name};
use crate::dialect::Dialect;

/// A definition whose end isn't reached yet.
struct OpenDefinition {
    symbol: usize,
    indent: usize,
    /// Braces that were open before it.
    braces: usize,
    runs: bool,
    /// Whether a line of it is indented further.
    is_indented: bool,
}

struct CodeLine<'s> {
    number: u32,
    indent: usize,
    /// The line's code, trimmed, with strings and comments removed.
    masked: &'s [u8],
    /// The same, as it is written.
    text: &'s [u8],
}

struct LineScan {
    dialect: Dialect,
    found: Vec<Symbol>,
    open: Vec<OpenDefinition>,
    braces: usize,
    last_full: u32,
}

pub(super) fn read_line_symbols(source: &[u8], masked: &[u8], dialect: Dialect) -> Vec<Symbol> {
    let mut scan = LineScan { dialect, found: Vec::new(), open: Vec::new(), braces: 0, last_full: 0 };
    let lines = source.split(|&byte| byte == b'\n').zip(masked.split(|&byte| byte == b'\n'));
    for (number, (line, masked)) in (1_u32..).zip(lines) {
        let begun = masked.trim_ascii_start();
        let indent = masked.len().saturating_sub(begun.len());
        let masked = begun.trim_ascii_end();
        let text = line.get(indent..).unwrap_or_default();
        let text = text.get(..masked.len()).unwrap_or(text);
        if masked == b"__END__" {
            break;
        }
        if !masked.is_empty() {
            scan.line(&CodeLine { number, indent, masked, text });
        }
    }
    scan.close_to(0);
    scan.found
}

impl LineScan {
    fn line(&mut self, line: &CodeLine<'_>) {
        // The inside of a string is indented as it likes.
        if line.masked.first() == Some(&HIDDEN) {
            self.last_full = line.number;
            return self.count_braces(line.masked);
        }
        let found = introduction(line.masked, line.text, line.indent, self.dialect);
        let closes = closes(line.masked, self.dialect);
        let keep = self.open.iter().rposition(|around| !self.is_over(around, line, closes, found.is_some()));
        self.close_to(keep.map_or(0, |keep| keep.saturating_add(1)));
        self.last_full = line.number;
        if let Some(around) = self.open.last_mut() {
            around.is_indented |= line.indent > around.indent;
        }
        if let Some(introduction) = found.filter(|_| !self.open.iter().any(|around| around.runs)) {
            self.begin(introduction, line);
        }
        self.count_braces(line.masked);
        // `end` and the brace that it opened end it for good.
        let ends = closes && (is_end_line(line.masked) || line.masked.first() == Some(&b'}'));
        if ends && self.open.last().is_some_and(|around| around.indent == line.indent && self.braces <= around.braces) {
            self.close_to(self.open.len().saturating_sub(1));
        }
    }

    /// Whether a line is behind the end of a definition.
    fn is_over(&self, around: &OpenDefinition, line: &CodeLine<'_>, closes: bool, introduces: bool) -> bool {
        if line.indent > around.indent || (line.indent == around.indent && closes) {
            return false;
        }
        // Braces that nobody closes don't hold what is written as a definition of its own.
        self.braces <= around.braces || (around.is_indented && introduces)
    }

    fn begin(&mut self, introduction: Introduction, line: &CodeLine<'_>) {
        if self.found.len() >= MOST {
            return;
        }
        let in_type = self.open.last().and_then(|around| self.found.get(around.symbol)).is_some_and(|symbol| {
            matches!(symbol.kind, SymbolKind::Type | SymbolKind::Interface | SymbolKind::Extension)
                || (symbol.kind == SymbolKind::Module && matches!(self.dialect, Dialect::Ruby))
        });
        let kind = match introduction.kind {
            SymbolKind::Function if in_type => SymbolKind::Method,
            kind => kind,
        };
        self.open.push(OpenDefinition {
            symbol: self.found.len(),
            indent: line.indent,
            braces: self.braces,
            runs: kind.runs(),
            is_indented: false,
        });
        self.found.push(Symbol {
            name: introduction.name,
            kind,
            first_line: line.number,
            own_line: line.number,
            signature_line: line.number,
            last_line: line.number,
            depth: u8::try_from(self.open.len().saturating_sub(1)).unwrap_or(u8::MAX),
        });
    }

    /// Ends all but the first definitions that are open.
    fn close_to(&mut self, keep: usize) {
        for around in self.open.drain(keep.min(self.open.len())..) {
            if let Some(symbol) = self.found.get_mut(around.symbol) {
                symbol.last_line = symbol.last_line.max(self.last_full);
            }
        }
    }

    fn count_braces(&mut self, masked: &[u8]) {
        if has_braces(self.dialect) {
            for byte in masked {
                match byte {
                    b'{' => self.braces = self.braces.saturating_add(1),
                    b'}' => self.braces = self.braces.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
}

const fn has_braces(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Ruby | Dialect::Elixir | Dialect::Julia | Dialect::Lua | Dialect::Dashes)
}

fn is_end_line(line: &[u8]) -> bool {
    line.strip_prefix(b"end").is_some_and(|rest| rest.first().is_none_or(|&byte| !is_name_character(byte)))
}

/// Whether a line that is indented as a definition is still one of it.
fn closes(line: &[u8], dialect: Dialect) -> bool {
    if matches!(line.first(), Some(b'}' | b')' | b']' | b'{')) || is_end_line(line) {
        return true;
    }
    let word =
        line.get(..line.iter().position(|&byte| !is_name_character(byte)).unwrap_or(line.len())).unwrap_or_default();
    match dialect {
        Dialect::Ruby | Dialect::Elixir | Dialect::Julia => {
            matches!(
                word,
                b"rescue" | b"ensure" | b"else" | b"elsif" | b"elseif" | b"when" | b"catch" | b"after" | b"finally"
            )
        }
        Dialect::Lua => matches!(word, b"else" | b"elseif" | b"until"),
        Dialect::Kotlin | Dialect::Swift | Dialect::Scala => {
            matches!(word, b"where" | b"with" | b"extends" | b"else" | b"catch")
        }
        _ => false,
    }
}

/// The name of a definition, unless it is a number.
fn definition_name(bytes: &[u8]) -> Option<String> {
    kept_name(bytes).filter(|name| !name.bytes().all(|byte| byte.is_ascii_digit()))
}
