//! Symbols by the words at the start of a line, for languages without a grammar.
//!
//! A line that is indented less or as much as the definition's own, and is not its closing bracket, ends it. That is
//! how people format what they write; where somebody doesn't, a symbol is too long or too short, and nothing else.

use super::{MOST, Symbol, SymbolKind, name_of};

/// Words that introduce a definition, whose name follows.
const INTRODUCTIONS: [(&[u8], SymbolKind); 22] = [
    (b"class", SymbolKind::Type),
    (b"struct", SymbolKind::Type),
    (b"enum", SymbolKind::Type),
    (b"union", SymbolKind::Type),
    (b"record", SymbolKind::Type),
    (b"object", SymbolKind::Type),
    (b"interface", SymbolKind::Interface),
    (b"trait", SymbolKind::Interface),
    (b"protocol", SymbolKind::Interface),
    (b"extension", SymbolKind::Extension),
    (b"namespace", SymbolKind::Module),
    (b"module", SymbolKind::Module),
    (b"defmodule", SymbolKind::Module),
    (b"def", SymbolKind::Function),
    (b"defp", SymbolKind::Function),
    (b"fun", SymbolKind::Function),
    (b"func", SymbolKind::Function),
    (b"function", SymbolKind::Function),
    (b"sub", SymbolKind::Function),
    (b"proc", SymbolKind::Function),
    (b"fn", SymbolKind::Function),
    (b"macro", SymbolKind::Macro),
];

/// Words that may stand before such a word, or before a type and a name.
const MODIFIERS: [&[u8]; 26] = [
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"static",
    b"final",
    b"abstract",
    b"override",
    b"open",
    b"sealed",
    b"data",
    b"async",
    b"export",
    b"default",
    b"inline",
    b"virtual",
    b"extern",
    b"suspend",
    b"local",
    b"case",
    b"implicit",
    b"lazy",
    b"synchronized",
    b"native",
    b"partial",
    b"unsafe",
];

/// Words that begin a statement, so that what looks like a call is one.
const STATEMENTS: [&[u8]; 20] = [
    b"if", b"else", b"for", b"while", b"switch", b"return", b"catch", b"do", b"throw", b"new", b"case", b"try", b"in",
    b"sizeof", b"defer", b"using", b"when", b"assert", b"elif", b"until",
];

/// A definition whose end isn't reached yet.
struct OpenDefinition {
    symbol: usize,
    indent: usize,
}

pub(super) fn read(source: &[u8]) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = Vec::new();
    let mut open: Vec<OpenDefinition> = Vec::new();
    let mut last_full: u32 = 0;
    for (number, line) in (1_u32..).zip(source.split(|&byte| byte == b'\n')) {
        let text = line.trim_ascii_start();
        let shown = text.trim_ascii_end();
        if shown.is_empty() || is_comment(shown) {
            continue;
        }
        let indent = line.len().saturating_sub(text.len());
        let closes = matches!(shown.first(), Some(b'}' | b')' | b']')) || shown.starts_with(b"end");
        while let Some(around) = open.last() {
            if indent > around.indent || (indent == around.indent && (closes || shown.starts_with(b"{"))) {
                break;
            }
            end(&mut found, around.symbol, last_full);
            open.pop();
        }
        last_full = number;
        if found.len() >= MOST {
            continue;
        }
        let inside_function =
            open.iter().any(|around| found.get(around.symbol).is_some_and(|symbol| symbol.kind.runs()));
        let Some((kind, name)) = definition(shown, indent).filter(|_| !inside_function) else { continue };
        let in_type = open
            .last()
            .and_then(|around| found.get(around.symbol))
            .is_some_and(|symbol| matches!(symbol.kind, SymbolKind::Type | SymbolKind::Interface));
        let kind = if in_type && kind == SymbolKind::Function { SymbolKind::Method } else { kind };
        open.push(OpenDefinition { symbol: found.len(), indent });
        found.push(Symbol {
            name,
            kind,
            first_line: number,
            own_line: number,
            signature_line: number,
            last_line: number,
            depth: u8::try_from(open.len().saturating_sub(1)).unwrap_or(u8::MAX),
        });
    }
    while let Some(around) = open.pop() {
        end(&mut found, around.symbol, last_full);
    }
    found
}

fn end(found: &mut [Symbol], symbol: usize, line: u32) {
    if let Some(symbol) = found.get_mut(symbol) {
        symbol.last_line = symbol.last_line.max(line);
    }
}

fn is_comment(line: &[u8]) -> bool {
    [&b"//"[..], b"#", b"*", b"/*", b"--", b";"].iter().any(|mark| line.starts_with(mark))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The words of a line up to the first sign that is neither one nor a blank; with what follows.
fn words(line: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut words, mut rest) = (Vec::new(), line);
    loop {
        rest = rest.trim_ascii_start();
        let length = rest.iter().position(|&byte| !is_name(byte)).unwrap_or(rest.len());
        let Some((word, after)) = rest.split_at_checked(length).filter(|(word, _)| !word.is_empty()) else { break };
        words.push(word);
        rest = after;
        // A type may be a pointer, a reference, generic or an array.
        if words.len() > 8 {
            break;
        }
        while let [b'*' | b'&', after @ ..] = rest.trim_ascii_start() {
            rest = after;
        }
        rest = without_generics(rest);
    }
    (words, rest)
}

/// What follows `<…>` or `[]`.
fn without_generics(line: &[u8]) -> &[u8] {
    let close = match line.first() {
        Some(b'<') => b'>',
        Some(b'[') => b']',
        _ => return line,
    };
    let end = line.iter().rposition(|&byte| byte == close);
    end.and_then(|end| line.get(end.saturating_add(1)..)).unwrap_or(line)
}

fn definition(line: &[u8], indent: usize) -> Option<(SymbolKind, String)> {
    let (words, rest) = words(line);
    let mut left = words.iter().copied().skip_while(|word| MODIFIERS.contains(word));
    let first = left.next()?;
    if let Some((_, kind)) = INTRODUCTIONS.iter().find(|(word, _)| *word == first) {
        let name = left.next()?;
        return name_of(name).map(|name| (*kind, name));
    }
    // `int main(void) {` at the beginning of a line, or a member with a type before its name.
    let name = *words.last()?;
    let is_definition = words.len() >= 2
        && rest.starts_with(b"(")
        && !rest.ends_with(b";")
        && !words.iter().any(|word| STATEMENTS.contains(word))
        && (indent == 0 || rest.ends_with(b"{"));
    is_definition.then(|| name_of(name)).flatten().map(|name| (SymbolKind::Function, name))
}
