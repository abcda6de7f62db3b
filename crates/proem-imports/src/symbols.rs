//! What a source defines, and where: functions, types and their members, each with its lines.
//!
//! By tree-sitter for the languages that have a grammar, by the words at the start of a line for all others. Lines
//! are counted from 1. Invariants: symbols come in the order of the source, parents first; nothing recurses along a
//! syntax tree; a source has at most [`MOST`] symbols, and what is beyond them is left out.

mod lines;
mod tree;

use crate::{
    SourceLanguage,
    extract::{ExtractError, ParsedSource, SourceLimits},
};

/// The most symbols that are kept of one source.
pub const MOST: usize = 4_000;

/// The longest name that is kept, in bytes.
const LONGEST: usize = 200;

/// What kind of thing a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class, struct, enum, union or alias.
    Type,
    /// A trait, interface or protocol.
    Interface,
    /// A block of members for a type that is defined elsewhere: Rust's `impl`.
    Extension,
    /// A module or namespace with its own body.
    Module,
    /// A constant or static value.
    Constant,
    /// A macro.
    Macro,
}

impl SymbolKind {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 8] = [
        Self::Function,
        Self::Method,
        Self::Type,
        Self::Interface,
        Self::Extension,
        Self::Module,
        Self::Constant,
        Self::Macro,
    ];

    /// Whether other symbols stand inside it.
    #[must_use]
    pub const fn holds_others(self) -> bool {
        matches!(self, Self::Type | Self::Interface | Self::Extension | Self::Module)
    }

    /// Whether it is code that runs.
    #[must_use]
    pub const fn runs(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro)
    }
}

/// A definition in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, as it is written; of Rust's `impl` the type that it is for.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The line on which its documentation begins, or it itself where it has none.
    pub first_line: u32,
    /// The line on which its name stands, behind attributes, decorators and documentation.
    pub own_line: u32,
    /// The last line of its signature: what stands before its body.
    pub signature_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// How many symbols it stands inside.
    pub depth: u8,
}

/// The definitions of `source`; `give_up` is asked now and then, and ends the work by answering true.
///
/// `language` is `None` for a language without a parser here.
///
/// # Errors
///
/// [`ExtractError`] if the source is too long, has no parser that fits, or `give_up` said so.
pub fn symbols(
    language: Option<SourceLanguage>,
    source: &[u8],
    limits: &SourceLimits,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Vec<Symbol>, ExtractError> {
    if source.len() > limits.bytes {
        return Err(ExtractError::TooLarge);
    }
    match language {
        Some(language) => ParsedSource::new(language, source, limits, give_up)?.symbols(give_up),
        None => Ok(lines::read(source)),
    }
}

impl ParsedSource<'_> {
    /// The definitions; `give_up` is asked now and then, and ends the work by answering true.
    ///
    /// # Errors
    ///
    /// [`ExtractError::TimedOut`] if `give_up` said so.
    pub fn symbols(&self, give_up: &mut dyn FnMut() -> bool) -> Result<Vec<Symbol>, ExtractError> {
        match &self.tree {
            Some(tree) => tree::read((self.language, self.source), tree, give_up),
            None => Ok(lines::read(self.source)),
        }
    }
}

/// A name that is kept.
fn name_of(bytes: &[u8]) -> Option<String> {
    let short = Some(bytes).filter(|bytes| !bytes.is_empty() && bytes.len() <= LONGEST);
    short.and_then(|bytes| core::str::from_utf8(bytes).ok()).map(str::to_owned)
}
