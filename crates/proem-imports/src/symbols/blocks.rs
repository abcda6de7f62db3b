//! Symbols of files that are lists of blocks: targets of make, stages of images, blocks of Terraform, statements of SQL.
//!
//! Invariants: one pass over the lines. A block ends where the next begins at the latest.

use super::mask::{HIDDEN, is_name_character};
use super::{MOST, Symbol, SymbolKind, kept_name};
use crate::dialect::Dialect;

/// A block that isn't closed yet.
#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    last: BlockEnd,
    /// Braces, or words that end with `end`, that are open in it.
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockEnd {
    /// A line that isn't indented.
    Outdent,
    NextBlock,
    /// The brace that closes its own.
    Brace,
    /// The word `endef`.
    Endef,
    /// A semicolon outside of `begin … end`. Whether such are counted.
    Semicolon(bool),
}

struct NewBlock {
    kind: SymbolKind,
    name: String,
    ends: BlockEnd,
}

pub(super) fn read_block_symbols(source: &[u8], masked: &[u8], dialect: Dialect) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = Vec::new();
    let mut open: Option<OpenBlock> = None;
    let lines = source.split(|&byte| byte == b'\n').zip(masked.split(|&byte| byte == b'\n'));
    for (number, (line, masked)) in (1_u32..).zip(lines) {
        if masked.trim_ascii().is_empty() {
            continue;
        }
        let is_free = open.is_none_or(|block| matches!(block.last, BlockEnd::Outdent | BlockEnd::NextBlock));
        let new = if is_free && found.len() < MOST { new_block(line, masked, dialect) } else { None };
        let is_outdented = !masked.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == HIDDEN);
        if new.is_some() || (is_outdented && open.is_some_and(|block| block.last == BlockEnd::Outdent)) {
            open = None;
        }
        if let Some(NewBlock { kind, name, ends }) = new {
            open = Some(OpenBlock { last: ends, depth: 0 });
            found.push(Symbol {
                name,
                kind,
                first_line: number,
                own_line: number,
                signature_line: number,
                last_line: number,
                depth: 0,
            });
        }
        if let Some(block) = &mut open {
            if let Some(symbol) = found.last_mut() {
                symbol.last_line = number;
            }
            if ends_block(block, masked) {
                open = None;
            }
        }
    }
    found
}

/// Whether a block ends on this line.
fn ends_block(block: &mut OpenBlock, masked: &[u8]) -> bool {
    match block.last {
        BlockEnd::Outdent | BlockEnd::NextBlock => false,
        BlockEnd::Endef => masked.trim_ascii().starts_with(b"endef"),
        BlockEnd::Brace => {
            let mut closes = false;
            for byte in masked {
                match byte {
                    b'{' => block.depth = block.depth.saturating_add(1),
                    b'}' => {
                        block.depth = block.depth.saturating_sub(1);
                        closes = true;
                    }
                    _ => {}
                }
            }
            block.depth == 0 && closes
        }
        BlockEnd::Semicolon(counts) => {
            if counts {
                let lower = masked.to_ascii_lowercase();
                let words: Vec<&[u8]> =
                    lower.split(|&byte| !is_name_character(byte)).filter(|word| !word.is_empty()).collect();
                for (at, word) in words.iter().enumerate() {
                    let after_end = at.checked_sub(1).and_then(|before| words.get(before)) == Some(&&b"end"[..]);
                    match *word {
                        b"begin" | b"case" if !after_end => block.depth = block.depth.saturating_add(1),
                        // `end if` and `end loop` close what isn't counted.
                        b"end"
                            if !matches!(
                                words.get(at.saturating_add(1)),
                                Some(&(b"if" | b"loop" | b"while" | b"repeat"))
                            ) =>
                        {
                            block.depth = block.depth.saturating_sub(1);
                        }
                        _ => {}
                    }
                }
            }
            block.depth == 0 && masked.contains(&b';')
        }
    }
}

fn new_block(line: &[u8], masked: &[u8], dialect: Dialect) -> Option<NewBlock> {
    match dialect {
        Dialect::Makefile => make_target(masked),
        Dialect::Dockerfile => image_stage(masked),
        Dialect::Terraform => terraform(line, masked),
        Dialect::Sql => statement(line),
        _ => None,
    }
}

/// `name: what it needs`, which is no assignment, or `define name`.
fn make_target(masked: &[u8]) -> Option<NewBlock> {
    if let Some(rest) = masked.strip_prefix(b"define ") {
        let name = rest.trim_ascii().split(|byte| byte.is_ascii_whitespace()).next().and_then(kept_name)?;
        return Some(NewBlock { kind: SymbolKind::Macro, name, ends: BlockEnd::Endef });
    }
    let colon = masked.iter().position(|&byte| byte == b':')?;
    let (targets, rest) = masked.split_at_checked(colon)?;
    let is_indented = targets.first().is_none_or(u8::is_ascii_whitespace);
    let assigns = targets.contains(&b'=') || rest.iter().find(|&&byte| byte != b':') == Some(&b'=');
    let name = targets.split(u8::is_ascii_whitespace).find(|name| !name.is_empty())?;
    // `.PHONY` and its like are rules about targets.
    let is_special =
        name.strip_prefix(b".").is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_'));
    let is_word = name.iter().all(|&byte| is_name_character(byte) || b"-./%$(){}+@".contains(&byte));
    let is_target = !is_indented && !assigns && !is_special && is_word;
    let name = kept_name(name).filter(|_| is_target)?;
    Some(NewBlock { kind: SymbolKind::Function, name, ends: BlockEnd::Outdent })
}

fn image_stage(masked: &[u8]) -> Option<NewBlock> {
    let words: Vec<&[u8]> = masked.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(8).collect();
    let (first, rest) = words.split_first()?;
    if !first.eq_ignore_ascii_case(b"from") {
        return None;
    }
    let named =
        rest.iter().position(|word| word.eq_ignore_ascii_case(b"as")).and_then(|at| rest.get(at.saturating_add(1)));
    let name = named.or_else(|| rest.iter().find(|word| !word.starts_with(b"--"))).and_then(|name| kept_name(name))?;
    Some(NewBlock { kind: SymbolKind::Function, name, ends: BlockEnd::NextBlock })
}

/// `resource "type" "name" {` as the address that Terraform gives it.
fn terraform(line: &[u8], masked: &[u8]) -> Option<NewBlock> {
    if masked.first().is_none_or(|byte| !byte.is_ascii_alphabetic()) || !masked.contains(&b'{') {
        return None;
    }
    let head = line.split(|&byte| byte == b'{').next()?;
    let mut parts = head.split(|byte| byte.is_ascii_whitespace() || *byte == b'"').filter(|part| !part.is_empty());
    let block = parts.next()?;
    let labels: Vec<&[u8]> = parts.take(4).collect();
    if labels.iter().any(|label| label.contains(&b'=')) {
        return None;
    }
    let kind: &[&[u8]] = match block {
        b"resource" => &[],
        b"variable" => &[b"var"],
        b"locals" | b"terraform" if labels.is_empty() => &[block],
        b"data" | b"module" | b"output" | b"provider" | b"moved" | b"import" | b"check" => &[block],
        _ => return None,
    };
    let name = [kind, &labels].concat().join(&b'.');
    Some(NewBlock {
        kind: SymbolKind::Type,
        name: kept_name(&name).filter(|name| !name.is_empty())?,
        ends: BlockEnd::Brace,
    })
}

/// `create or replace function name`.
fn statement(line: &[u8]) -> Option<NewBlock> {
    let text = line.trim_ascii_start();
    if text.get(..6).is_none_or(|word| !word.eq_ignore_ascii_case(b"create")) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let words = lower.split(u8::is_ascii_whitespace).zip(text.split(u8::is_ascii_whitespace));
    let mut words = words.filter(|(word, _)| !word.is_empty()).skip(1).take(16);
    let (kind, ends) = words.find_map(|(word, _)| match word {
        b"table" | b"view" | b"type" | b"domain" => Some((SymbolKind::Type, BlockEnd::Semicolon(false))),
        b"function" | b"procedure" | b"trigger" => Some((SymbolKind::Function, BlockEnd::Semicolon(true))),
        _ => None,
    })?;
    let (_, name) = words.find(|(word, _)| !matches!(*word, b"if" | b"not" | b"exists" | b"or" | b"replace"))?;
    let end = name.iter().position(|byte| matches!(byte, b'(' | b';')).unwrap_or(name.len());
    let bare: Vec<u8> = name.get(..end)?.iter().copied().filter(|byte| !b"\"`[]".contains(byte)).collect();
    Some(NewBlock { kind, name: kept_name(&bare)?, ends })
}
