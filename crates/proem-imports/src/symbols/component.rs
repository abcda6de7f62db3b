//! Symbols of components of Vue and Svelte: their parts, and what their scripts define.

use super::mask::find_bytes;
use super::{MOST, Symbol, SymbolKind};
use crate::SourceLanguage;
use crate::extract::{ExtractError, ParsedSource, SourceLimits};

/// The parts of a component.
const PARTS: [&str; 3] = ["script", "style", "template"];

/// A part of a component: its name, its tag, and the lines of both.
struct Part<'s> {
    name: &'static str,
    tag: &'s [u8],
    inside: &'s [u8],
    first: u32,
    last: u32,
    /// The line on which the inside begins.
    inside_first: u32,
}

pub(super) fn read_component_symbols(
    source: &[u8],
    limits: &SourceLimits,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Vec<Symbol>, ExtractError> {
    let mut found: Vec<Symbol> = Vec::new();
    for part in component_parts(source) {
        found.push(Symbol {
            name: part.name.to_owned(),
            kind: SymbolKind::Module,
            first_line: part.first,
            own_line: part.first,
            signature_line: part.first,
            last_line: part.last,
            depth: 0,
        });
        if part.name != "script" {
            continue;
        }
        let is_typed = find_bytes(part.tag, b"lang=\"ts").or_else(|| find_bytes(part.tag, b"lang='ts")).is_some();
        let language = if is_typed { SourceLanguage::TypeScript } else { SourceLanguage::JavaScript };
        let inner = ParsedSource::new(language, part.inside, limits, give_up)?.symbols(give_up)?;
        let offset = part.inside_first.saturating_sub(1);
        found.extend(inner.into_iter().map(|symbol| Symbol {
            first_line: symbol.first_line.saturating_add(offset),
            own_line: symbol.own_line.saturating_add(offset),
            signature_line: symbol.signature_line.saturating_add(offset),
            last_line: symbol.last_line.saturating_add(offset),
            depth: symbol.depth.saturating_add(1),
            ..symbol
        }));
    }
    found.truncate(MOST);
    Ok(found)
}

/// The parts whose tags begin a line, in their order.
fn component_parts(source: &[u8]) -> Vec<Part<'_>> {
    let mut found: Vec<Part<'_>> = Vec::new();
    let (mut at, mut line) = (0_usize, 1_u32);
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end.saturating_add(1));
        let (begins, next) = (rest.strip_prefix(b"<"), at.saturating_add(length));
        let name = begins.and_then(|text| {
            PARTS.into_iter().find(|name| {
                text.strip_prefix(name.as_bytes()).is_some_and(|behind| {
                    behind.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'>')
                })
            })
        });
        let Some((name, tag_end)) = name.zip(rest.iter().position(|&byte| byte == b'>')) else {
            (at, line) = (next, line.saturating_add(1));
            continue;
        };
        let (tag, behind) = rest.split_at_checked(tag_end.saturating_add(1)).unwrap_or_default();
        // A template holds others, but none that begins a line.
        let close = format!("\n</{name}>");
        let is_empty = behind.starts_with(close.trim_start().as_bytes());
        let end = if is_empty { Some(0) } else { find_bytes(behind, close.as_bytes()) };
        let inside = behind.get(..end.unwrap_or(behind.len())).unwrap_or_default();
        let inside_first = line.saturating_add(count_line_breaks(tag));
        let last = inside_first
            .saturating_add(count_line_breaks(inside))
            .saturating_add(u32::from(end.is_some() && !is_empty));
        found.push(Part { name, tag, inside, first: line, last, inside_first });
        at = at.saturating_add(tag.len()).saturating_add(inside.len()).saturating_add(1);
        line = last;
        // The closing tag is passed over with its line.
        let rest = source.get(at..).unwrap_or_default();
        at = at.saturating_add(
            rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end.saturating_add(1)),
        );
        line = line.saturating_add(1);
    }
    found
}

fn count_line_breaks(text: &[u8]) -> u32 {
    u32::try_from(text.iter().filter(|&&byte| byte == b'\n').count()).unwrap_or(u32::MAX)
}
